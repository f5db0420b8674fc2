//! The wrappers, written by `build.rs`.

#![expect(
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    clippy::missing_transmute_annotations,
    reason = "names and numbers of arguments are MPI's"
)]

use crate::call::Call;
use crate::target::Target;

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
