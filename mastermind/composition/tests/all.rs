//! The integration tests of this crate, a subject a file: `cargo test --release -p mastermind-composition --test all call_graph::` runs those of one.

mod call_graph;
mod choose;
mod decide;
mod distinguished;
mod optimise;
mod patterns;
mod plan;
mod ranks;
mod scaling;
mod worlds;
