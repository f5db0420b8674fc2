//! The program: activities made of elements, as people write it, and the machine form of it.
//!
//! [`Model`] is the human form, a hierarchy of activities; [`read_toml`] and [`read_json`] give it,
//! [`check`] says all that is wrong with it, and [`lower`] turns it into a [`Program`], a flat list of
//! operations that each process runs for itself.

mod chance;
mod check;
mod collectives;
mod flow;
mod lower;
mod model;
mod operation;
mod read;
pub mod record;
mod symbols;

pub use chance::{CHANCE, chance_calls};
pub(crate) use flow::assigned;

pub use check::{Finding, Rule, check};
pub use collectives::Collectives;
pub use lower::{LowerError, lower, lower_with};
pub use model::{
    Activity, Branch, Collective, CollectiveKind, Element, ElementKind, Group, Model, Variable,
    visit,
};
pub use operation::{ElementInfo, Mode, Operation, Program, Region, STRUCTURE};
pub use read::{LONGEST_MODEL_BYTES, ReadError, read_json, read_toml};
pub use symbols::{ANY, NOBODY, System};
