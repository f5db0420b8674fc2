//! The integration tests of this crate, a subject a file: `cargo test --release -p hydro-efm-flux --test all c_kernel::` runs those of one.

mod c_kernel;
mod flux;
