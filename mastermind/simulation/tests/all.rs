//! The integration tests of this crate, a subject a file: `cargo test --release -p mastermind-simulation --test all corpora::` runs those of one.

mod corpora;
mod engine;
mod expressions;
mod goal;
mod golden_transform;
mod network;
mod noise;
mod programs;
mod recorded_programs;
mod replay;
mod report;
mod transformed;
