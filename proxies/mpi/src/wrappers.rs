//! The wrappers, written by `build.rs`.

use crate::call::Call;
use crate::target::Target;

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
