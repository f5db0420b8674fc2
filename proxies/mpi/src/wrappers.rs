//! The wrappers, written by `build.rs`.

use crate::call::Call;
use crate::entry::{Entry, entry, error_in};
use crate::handle::{Handles, Kind};
use crate::message::{Counts, Language, Message, Size};
use crate::request::{Completion, Role};

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
