//! The integration tests of this crate, one subject per file: `cargo test --release -p mastermind-replay --test all
//! schedules::` runs those of one.

mod programs;
mod runs;
mod schedules;
