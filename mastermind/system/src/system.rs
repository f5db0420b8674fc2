//! Contents of a system file: components with their profiles, requests and evaluation methods.
//!
//! A system is a set of components in three domains, after POEMS. A component has a *profile*
//! (domain, kind, attributes) by which others find it; *requests* to components that it runs on or
//! continues with, each with conditions over profiles instead of a name; and *methods*, the cheapest
//! first, that compute its result from its parameters and the results of its requests. So a
//! component may be exchanged without an edit of those that use it.
//!
//! ```text
//! sweep (application, wavefront)  ── work ──▶  select kind = k-block       ─▶ k_block
//!                                 ── message ▶ select kind = point-to-point ─▶ mpi ─▶ network
//! methods of sweep, cheapest first:   formula, closed form, simulation
//! ```
//!
//! The types here are those of a file after reading: `read.rs` makes them, the composition connects
//! them, the evaluation runs their methods.

use std::collections::BTreeMap;

use mastermind_programs::expression::Expression;

use crate::quantity::Unit;

/// A model of application, runtime and hardware: components with their methods, and the parameters
/// and units that formulas use.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// Its name.
    pub name: String,
    /// The component whose time is the system's, if the file names it.
    pub total: Option<String>,
    /// Parameters that a study varies.
    pub parameters: BTreeMap<String, Given>,
    /// Units that the file declares.
    pub units: BTreeMap<String, UnitRule>,
    /// The components, by name.
    pub components: Vec<Component>,
    /// When a cheap method replaces an expensive one.
    pub cross_check: CrossCheck,
}

/// A number as a file gives it: a quantity with its unit, or a formula of parameters that is
/// calculated for each evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// `25 us`, `4`.
    Quantity(f64, Option<Unit>),
    /// Anything else is calculated.
    Formula(Expression),
}

/// Definition of a unit.
#[derive(Debug, Clone, PartialEq)]
pub enum UnitRule {
    /// Of nothing else: something that is counted.
    Base,
    /// A multiple of another unit.
    Converted {
        /// How many.
        count: Expression,
        /// The unit it is a multiple of.
        of: Unit,
    },
}

/// A semantic domain of POEMS. Components of one domain are implemented by those of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Domain {
    /// Tasks, assemblies, recorded runs.
    Application,
    /// MPI library, scheduler.
    Runtime,
    /// Processors, memory, network.
    Hardware,
}

impl Domain {
    /// All domains, from the implemented ones to the implementing ones.
    pub const ALL: [Self; 3] = [Self::Application, Self::Runtime, Self::Hardware];

    /// As a file has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Runtime => "runtime",
            Self::Hardware => "hardware",
        }
    }

    /// The domain of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|domain| domain.name() == name)
    }
}

/// A component of a system: a task, a library or a device, with the profile that requests select it
/// by and the methods that evaluate it.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Its domain.
    pub domain: Domain,
    /// The type of task or device, which selectors use.
    pub kind: String,
    /// Further attributes of its profile.
    pub attributes: BTreeMap<String, Attribute>,
    /// A machine file that gives further attributes.
    pub machine: Option<String>,
    /// Parameters that a request gives it, with their units.
    pub accepts: BTreeMap<String, Unit>,
    /// The unit of its result.
    pub returns: Unit,
    /// Components it runs on, by the name that its formulas have for the result: call and return.
    pub requests: BTreeMap<String, Request>,
    /// Components it continues with: data flow.
    pub then: BTreeMap<String, Request>,
    /// From the cheapest to the most expensive, which the others are compared with.
    pub methods: Vec<Method>,
}

/// An attribute of a profile.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// A word.
    Text(String),
    /// A number.
    Number(Given),
}

/// A request: the selection of a component, and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Conditions that the selected component must meet.
    pub select: Vec<Condition>,
    /// Values of the parameters that it accepts.
    pub with: BTreeMap<String, Expression>,
}

/// A condition over an attribute of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// `domain`, `kind`, `name`, `method`, or any other attribute.
    pub attribute: String,
    /// How it compares.
    pub relation: Relation,
    /// The value to compare with: a number if the text is one.
    pub value: String,
}

/// How an attribute compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It is that.
    Equal,
    /// It is something else.
    Unequal,
    /// It is more.
    Greater,
    /// It is more, or that.
    AtLeast,
    /// It is less.
    Less,
    /// It is less, or that.
    AtMost,
}

impl Relation {
    /// Each as it is written, longer signs first.
    pub const ALL: [(&'static str, Self); 6] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        ("!=", Self::Unequal),
        (">", Self::Greater),
        ("<", Self::Less),
        ("=", Self::Equal),
    ];

    /// As it is written.
    pub fn sign(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, relation)| *relation == self);
        found.map_or("", |(sign, _)| sign)
    }

    /// Whether it holds between two numbers.
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Equal => a == b,
            Self::Unequal => a != b,
            Self::Greater => a > b,
            Self::AtLeast => a >= b,
            Self::Less => a < b,
            Self::AtMost => a <= b,
        }
    }
}

/// One of the methods by which the result of a component may be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: MethodKind,
}

/// Type of a method.
#[derive(Debug, Clone, PartialEq)]
pub enum MethodKind {
    /// A value that is known.
    Constant {
        /// The value.
        value: Given,
        /// Its interval, lower and upper end.
        interval: Option<[Given; 2]>,
    },
    /// A formula over parameters, results of requests, and attributes of the components found.
    Formula(Expression),
    /// A closed queueing network.
    Queue(QueueMethod),
    /// Another part of the program evaluates it.
    Tool(ToolMethod),
}

impl MethodKind {
    /// The name of such methods.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Constant { .. } => "constant",
            Self::Formula(_) => "formula",
            Self::Queue(_) => "AMVA network",
            Self::Tool(method) => method.tool.name(),
        }
    }
}

/// A closed queueing network whose numbers are formulas; its result is the time of a round of one class.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueMethod {
    /// The class.
    pub class: String,
    /// How it is solved.
    pub solver: Solver,
    /// By name: customers, and time of a round at no station.
    pub classes: BTreeMap<String, [Expression; 2]>,
    /// By name: servers, none of a delay, and demands by class.
    pub stations: BTreeMap<String, (Option<Expression>, BTreeMap<String, Expression>)>,
}

/// How a network is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// Exact mean value analysis.
    Exact,
    /// Its approximation by Chandy and Neuse.
    Linearizer,
    /// Its approximation by Bard and Schweitzer.
    BardSchweitzer,
}

/// A method whose numbers are formulas, and which another part evaluates.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolMethod {
    /// The tool that evaluates it.
    pub tool: Tool,
    /// The file, folder or form that it works on.
    pub subject: String,
    /// A file of fitted models.
    pub models: Option<String>,
    /// The method of a component, by name.
    pub call: Option<String>,
    /// The request whose component has the machine.
    pub on: Option<String>,
    /// Ranks.
    pub ranks: Option<Expression>,
    /// Parameters of a call, variables of a program, settings of a run, or arguments of a closed form.
    pub numbers: BTreeMap<String, Expression>,
}

/// The tool that evaluates a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// A model that was fitted to records.
    Model,
    /// The recorded calls themselves.
    Records,
    /// A program, a schedule or a recorded run, simulated.
    Simulation,
    /// A LogGP formula.
    ClosedForm,
    /// The component itself, called and timed.
    Execution,
}

impl Tool {
    /// The name of its methods.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "fitted model",
            Self::Records => "recorded distribution",
            Self::Simulation => "LogGP simulation",
            Self::ClosedForm => "LogGP closed form",
            Self::Execution => "direct execution",
        }
    }
}

/// When a cheap method may replace an expensive one: the largest difference allowed, and the
/// parameters at which they are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossCheck {
    /// Largest relative difference.
    pub bound: f64,
    /// Parameters at which methods are compared, if a comparison at those of the evaluation is too
    /// expensive.
    pub at: BTreeMap<String, Given>,
}
