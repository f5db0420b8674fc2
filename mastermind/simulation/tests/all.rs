//! The integration tests of this crate, one subject per file: `cargo test --release -p mastermind-simulation --test all
//! corpora::` runs those of one.

mod corpora;
mod engine;
mod goal;
mod network;
mod noise;
mod paths;
mod report;
mod transformed;
