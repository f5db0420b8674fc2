//! One model of application, runtime and hardware, whose parts are evaluated by different methods.
//!
//! A component declares what it **accepts**: its domain, its type of task or device, the parameters of a request with
//! their units, and the methods that evaluate it. And it declares what it **requests**: conditions over the profiles of
//! others that it runs on or continues with. [`compose`] matches requests to profiles; [`evaluate`] walks over the
//! resulting graph.
//!
//! Pure functions: simulations, readers of records and calls of components are behind the trait
//! [`Tools`].
//!
//! | function | from | to |
//! |---|---|---|
//! | [`read_system`] | TOML | a [`System`] |
//! | [`compose()`] | a system | a [`Graph`], and every [`Problem`] |
//! | [`evaluate()`] | a graph | an [`Evaluation`] |
//!
//! # Source
//! V. Adve et al., "POEMS: End-to-End Performance Design of Large Parallel Adaptive Computational Systems", IEEE TSE 2000, section 3.3:
//! compositional objects with associative interfaces, and their specification language.

mod check;
mod compose;
mod evaluate;
mod formula;
mod problem;
mod quantity;
mod read;
mod scope;
mod system;
mod tools;

pub use compose::{Edge, Graph, Protocol, compose, offered_method};
pub use evaluate::{Comparison, Evaluation, MethodValue, Node, evaluate};
pub use formula::FormulaError;
pub use problem::Problem;
pub use quantity::{Dimension, Quantity, Unit, UnknownUnit};
pub use read::{LONGEST_SYSTEM_BYTES, ReadError, read_given, read_system};
pub use scope::{Attributes, Scope};
pub use system::{
    Attribute, Component, Condition, CrossCheck, Domain, Given, Method, MethodKind, QueueMethod,
    Relation, Request, Solver, System, Tool, ToolMethod, UnitRule,
};
pub use tools::{Answer, ToolCall, ToolError, Tools};
