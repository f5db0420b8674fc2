//! The integration tests of this crate, one subject per file: `cargo test --release -p mastermind-measurement --test
//! all counters::` runs those of one.

mod counters;
mod interrupted;
mod killed;
mod recorder;
mod stepping;
