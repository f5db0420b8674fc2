//! The integration tests of this crate, one subject per file: `cargo test --release -p mastermind-diagrams --test all
//! corpora::` runs those of one.

mod corpora;
mod diagrams;
