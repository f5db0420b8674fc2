//! The integration tests of this crate, one subject per file: `cargo test --release -p hydro-inviscid-flux --test all
//! circulation::` runs those of one.

mod circulation;
mod serial;
mod sod;
