//! The integration tests of this crate, a subject a file: `cargo test --release -p hydro-inviscid-flux --test all circulation::` runs those of one.

mod circulation;
mod serial;
mod sod;
