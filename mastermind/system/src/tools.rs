//! Evaluates the methods that need more than arithmetic: a trait that the command line implements.

use std::collections::BTreeMap;
use std::error::Error;

use crate::scope::Attributes;
use crate::system::ToolMethod;

/// Why a tool has no answer.
pub type ToolError = Box<dyn Error + Send + Sync>;

/// Simulation, fitted models, records, the components themselves.
pub trait Tools {
    /// The attributes that a machine file gives: `latency`, `overhead`, `gap` in seconds, `gap_per_byte` in seconds a byte, …
    ///
    /// # Errors
    /// It cannot be read, or is no machine.
    fn attributes(&self, machine: &str) -> Result<Attributes, ToolError>;

    /// Reasons why a method cannot be evaluated, as far as they are known without its numbers.
    fn check(&self, method: &ToolMethod) -> Vec<ToolError>;

    /// Evaluates a method.
    ///
    /// # Errors
    /// It has no answer.
    fn evaluate(&self, call: &ToolCall<'_>) -> Result<Answer, ToolError>;
}

/// A method with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall<'a> {
    /// The method.
    pub method: &'a ToolMethod,
    /// The machine file that it runs on, and the attributes, some of which may differ from the file's.
    pub machine: Option<(&'a str, &'a Attributes)>,
    /// Ranks.
    pub ranks: Option<u32>,
    /// Numbers in base units: seconds, bytes, things that are counted.
    pub numbers: BTreeMap<String, f64>,
}

/// Result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Seconds.
    pub value_s: f64,
    /// Its interval in 95 of 100 cases, seconds; `None` if the tool does not know it.
    pub interval_s: Option<[f64; 2]>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}
