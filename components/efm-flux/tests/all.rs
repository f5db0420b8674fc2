//! The integration tests of this crate, one subject per file: `cargo test --release -p hydro-efm-flux --test all
//! c_kernel::` runs those of one.

mod c_kernel;
mod flux;
