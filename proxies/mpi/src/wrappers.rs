//! The wrappers, written by `build.rs`.

use crate::call::Call;
use crate::entry::{Signature, entry, error_in};
use crate::handle::{Handles, Kind};
use crate::message::{Counts, Language, Message, Size};
use crate::request::{Completion, Role};
use crate::target::Target;

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
