//! The integration tests of this crate, a subject a file: `cargo test --release -p proxy-generate --test all golden::` runs those of one.

mod corpora;
mod golden;
mod random;
mod sidl;
