//! The wrappers, written by `build.rs`.

use crate::call::Call;
use crate::event::{self, Language};
use crate::message::{Counts, Message, Size};
use crate::request::{Completion, Role};
use crate::target::Target;

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
