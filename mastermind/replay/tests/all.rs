//! The integration tests of this crate, a subject a file: `cargo test --release -p mastermind-replay --test all schedules::` runs those of one.

mod programs;
mod runs;
mod schedules;
