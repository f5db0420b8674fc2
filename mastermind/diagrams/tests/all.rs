//! The integration tests of this crate, a subject a file: `cargo test --release -p mastermind-diagrams --test all corpora::` runs those of one.

mod corpora;
mod diagrams;
