//! The integration tests of this crate, one subject per file: `cargo test --release -p proxy-generate --test all
//! golden::` runs those of one.

mod corpora;
mod golden;
mod random;
mod sidl;
