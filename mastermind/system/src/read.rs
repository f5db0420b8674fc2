//! System files: TOML to a [`System`].
//!
//! Reading has two steps. Serde reads the TOML into tables that have every key a file may have;
//! then each table is checked and converted to the types of `system.rs`, in which texts have become
//! formulas, units and conditions. The second step gives errors with the place in the file's own
//! words. No name is resolved here: whether a request finds a component is a question for the
//! composition.
//!
//! ```toml
//! [components.sweep]
//! domain = "application"
//! kind = "wavefront"
//! returns = "ms"
//!
//! [components.sweep.requests.work]
//! select = { domain = "application", kind = "k-block" }    # conditions: "k-block", ">= 4"
//! with = { amount = "1 * block" }                          # formulas
//!
//! [[components.sweep.methods]]
//! formula = "2 * work"       # the word that says which method it is: exactly one of METHODS
//! ```
//!
//! A value is a number, a quantity with a unit (`"25 us"`), or a formula; the three are
//! distinguished by their form alone (`quantity`).

use std::collections::BTreeMap;

use mastermind_programs::expression::{Expression, SyntaxError, parse};
use serde::Deserialize;
use toml::Value;

use crate::quantity::{Unit, is_name};
use crate::system::{
    Attribute, Component, Condition, CrossCheck, Domain, Given, Method, MethodKind, QueueMethod,
    Relation, Request, Solver, System, Tool, ToolMethod, UnitRule,
};

/// Longest system file, bytes.
pub const LONGEST_SYSTEM_BYTES: usize = 1 << 20;

/// Largest relative difference up to which a cheap method replaces an expensive one, if a file gives no other: the
/// greatest deviation of POEMS's models from measurements (V. Adve et al., IEEE TSE 2000, section 5.1).
const DEFAULT_BOUND: f64 = 0.07;

/// A file that is no system.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is no TOML, or has a key that means nothing.
    #[error("cannot read system: {found}")]
    Toml {
        /// The problem and its position.
        found: String,
    },
    /// It is longer than any system may be.
    #[error("cannot read system: {found} bytes, expected at most {LONGEST_SYSTEM_BYTES}")]
    TooLong {
        /// Its bytes.
        found: usize,
    },
    /// A formula cannot be read.
    #[error("cannot read {place}")]
    Formula {
        /// Its position.
        place: String,
        /// Why.
        source: SyntaxError,
    },
    /// A part has an unexpected value.
    #[error("cannot read {place}: {found}, expected {expected}")]
    Part {
        /// Its position.
        place: String,
        /// The value found.
        found: String,
        /// The expected value.
        expected: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemFile {
    system: SystemTable,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    #[serde(default)]
    units: BTreeMap<String, UnitTable>,
    #[serde(default)]
    components: BTreeMap<String, ComponentTable>,
    #[serde(default)]
    cross_check: CrossCheckTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemTable {
    name: String,
    total: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnitTable {
    count: Option<Value>,
    of: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct CrossCheckTable {
    bound: Option<f64>,
    #[serde(default)]
    at: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComponentTable {
    domain: String,
    kind: String,
    #[serde(default)]
    attributes: BTreeMap<String, Value>,
    machine: Option<String>,
    #[serde(default)]
    accepts: BTreeMap<String, String>,
    returns: Option<String>,
    #[serde(default)]
    requests: BTreeMap<String, RequestTable>,
    #[serde(default)]
    then: BTreeMap<String, RequestTable>,
    #[serde(default)]
    methods: Vec<MethodTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestTable {
    select: BTreeMap<String, Value>,
    #[serde(default)]
    with: BTreeMap<String, Value>,
}

/// A method: its first word gives its type.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodTable {
    name: Option<String>,
    constant: Option<Value>,
    interval: Option<[Value; 2]>,
    formula: Option<Value>,
    model: Option<String>,
    models: Option<String>,
    #[serde(default)]
    at: BTreeMap<String, Value>,
    records: Option<String>,
    call: Option<String>,
    simulate: Option<String>,
    loggp: Option<String>,
    #[serde(default)]
    with: BTreeMap<String, Value>,
    run: Option<String>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    ranks: Option<Value>,
    on: Option<String>,
    queue: Option<String>,
    solver: Option<String>,
    #[serde(default)]
    classes: BTreeMap<String, ClassTable>,
    #[serde(default)]
    stations: BTreeMap<String, StationTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassTable {
    customers: Value,
    think: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StationTable {
    servers: Option<Value>,
    #[serde(default)]
    delay: bool,
    demand: BTreeMap<String, Value>,
}

/// Reads a system file.
///
/// # Errors
/// [`ReadError`].
pub fn read_system(text: &str) -> Result<System, ReadError> {
    if text.len() > LONGEST_SYSTEM_BYTES {
        return Err(ReadError::TooLong { found: text.len() });
    }
    let file: SystemFile = toml::from_str(text).map_err(|error| ReadError::Toml {
        found: error.to_string().trim_end().to_owned(),
    })?;
    let units = file.units.into_iter().map(|(name, table)| {
        let place = format!("unit \"{name}\"");
        name_of("unit", &name)?;
        if Unit::is_known(&name) {
            return Err(part(&place, "a unit that every file knows", "another name"));
        }
        let rule = match (table.count, table.of) {
            (None, None) => UnitRule::Base,
            (Some(count), Some(of)) => UnitRule::Converted {
                count: formula(&place, &count)?,
                of: unit(&place, &of)?,
            },
            _ => {
                return Err(part(
                    &place,
                    "one of count and of",
                    "both, as { count = \"it * jt\", of = \"cell\" }, or neither",
                ));
            }
        };
        Ok((name, rule))
    });
    let units = units.collect::<Result<_, _>>()?;
    let components = file.components.into_iter();
    let components = components
        .map(|(name, table)| component(name, table))
        .collect::<Result<_, _>>()?;
    let bound = file.cross_check.bound.unwrap_or(DEFAULT_BOUND);
    if !(0.0..=10.0).contains(&bound) {
        let place = "bound of cross_check";
        return Err(part(place, &bound.to_string(), "a number from 0 to 10"));
    }
    Ok(System {
        name: file.system.name,
        total: file.system.total,
        parameters: givens("parameter", file.parameters)?,
        units,
        components,
        cross_check: CrossCheck {
            bound,
            at: givens("parameter of cross_check.at", file.cross_check.at)?,
        },
    })
}

/// A number as an option of the command line or a value of a file gives it.
///
/// # Errors
/// It is neither a quantity nor a formula.
pub fn read_given(place: &str, text: &str) -> Result<Given, ReadError> {
    Ok(match quantity(text) {
        Some((value, unit)) => Given::Quantity(value, unit),
        None => Given::Formula(read_formula(place, text)?),
    })
}

/// `25`, `25 us`; `None` for anything else.
fn quantity(text: &str) -> Option<(f64, Option<Unit>)> {
    let text = text.trim();
    let (number, unit) = match text.split_once(char::is_whitespace) {
        Some((number, unit)) => (number, Some(Unit::read(unit)?)),
        None => (text, None),
    };
    // Otherwise `inf` and `nan` would be numbers, and no names.
    let is_number = number.starts_with(|letter: char| matches!(letter, '0'..='9' | '.' | '-'));
    let value = number.parse::<f64>().ok()?;
    (is_number && value.is_finite()).then_some((value, unit))
}

fn read_formula(place: &str, text: &str) -> Result<Expression, ReadError> {
    parse(text).map_err(|source| ReadError::Formula {
        place: place.to_owned(),
        source,
    })
}

fn part(place: &str, found: &str, expected: &str) -> ReadError {
    ReadError::Part {
        place: place.to_owned(),
        found: found.to_owned(),
        expected: expected.to_owned(),
    }
}

fn name_of(what: &str, name: &str) -> Result<(), ReadError> {
    if is_name(name) {
        return Ok(());
    }
    let place = format!("{what} \"{name}\"");
    let expected = "letters, digits and _, since formulas have it";
    Err(part(&place, "no name", expected))
}

fn unit(place: &str, text: &str) -> Result<Unit, ReadError> {
    let wrong = || {
        let found = format!("\"{text}\" is no unit");
        part(place, &found, "one as s, ns/cell or 1")
    };
    Unit::read(text).ok_or_else(wrong)
}

/// The text of a value: numbers are formulas too.
fn text_of(place: &str, value: &Value) -> Result<String, ReadError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) if number.is_finite() => Ok(format!("{number:?}")),
        other => {
            let found = format!("{other}: no number");
            Err(part(place, &found, "a number, a quantity or a formula"))
        }
    }
}

fn formula(place: &str, value: &Value) -> Result<Expression, ReadError> {
    read_formula(place, &text_of(place, value)?)
}

fn given(place: &str, value: &Value) -> Result<Given, ReadError> {
    read_given(place, &text_of(place, value)?)
}

fn givens(
    what: &str,
    values: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Given>, ReadError> {
    let read = |(name, value): (String, Value)| {
        name_of(what, &name)?;
        let given = given(&format!("{what} \"{name}\""), &value)?;
        Ok((name, given))
    };
    values.into_iter().map(read).collect()
}

fn formulas(
    place: &str,
    values: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Expression>, ReadError> {
    let read = |(name, value): (&String, &Value)| {
        let formula = formula(&format!("{name} of {place}"), value)?;
        Ok((name.clone(), formula))
    };
    values.iter().map(read).collect()
}

fn component(name: String, table: ComponentTable) -> Result<Component, ReadError> {
    let place = format!("component \"{name}\"");
    let domain = Domain::named(&table.domain).ok_or_else(|| {
        let found = format!("domain \"{}\"", table.domain);
        part(&place, &found, "application, runtime or hardware")
    })?;
    let accepts = table.accepts.into_iter().map(|(parameter, text)| {
        name_of("parameter", &parameter)?;
        let unit = unit(&format!("parameter \"{parameter}\" of {place}"), &text)?;
        Ok((parameter, unit))
    });
    let attributes = table.attributes.into_iter().map(|(attribute, value)| {
        let at = format!("attribute \"{attribute}\" of {place}");
        Ok((attribute, read_attribute(&at, &value)?))
    });
    let requests = |tables: BTreeMap<String, RequestTable>| {
        let read = |(request, table): (String, RequestTable)| {
            name_of("request", &request)?;
            let at = format!("request \"{request}\" of {place}");
            Ok((request, read_request(&at, &table)?))
        };
        tables
            .into_iter()
            .map(read)
            .collect::<Result<_, ReadError>>()
    };
    let methods = table.methods.iter().enumerate().map(|(i, table)| {
        let at = format!("method {} of {place}", i + 1);
        method(&at, table)
    });
    let methods: Vec<Method> = methods.collect::<Result<_, _>>()?;
    if let Some(again) = (1..methods.len()).find(|i| {
        let earlier = &methods[..*i];
        earlier.iter().any(|other| other.name == methods[*i].name)
    }) {
        let found = format!("two methods \"{}\"", methods[again].name);
        return Err(part(&place, &found, "a name = for each"));
    }
    Ok(Component {
        domain,
        kind: table.kind,
        attributes: attributes.collect::<Result<_, _>>()?,
        machine: table.machine,
        accepts: accepts.collect::<Result<_, _>>()?,
        returns: unit(&place, table.returns.as_deref().unwrap_or("s"))?,
        requests: requests(table.requests)?,
        then: requests(table.then)?,
        methods,
        name,
    })
}

/// A word, a quantity, or `{ value = "formula" }`.
fn read_attribute(place: &str, value: &Value) -> Result<Attribute, ReadError> {
    Ok(match value {
        Value::String(text) => match quantity(text) {
            Some((value, unit)) => Attribute::Number(Given::Quantity(value, unit)),
            None => Attribute::Text(text.clone()),
        },
        Value::Boolean(truth) => Attribute::Text(truth.to_string()),
        Value::Table(table) => match (table.get("value"), table.len()) {
            (Some(value), 1) => Attribute::Number(given(place, value)?),
            _ => return Err(part(place, "another table", "{ value = \"a formula\" }")),
        },
        other => Attribute::Number(given(place, other)?),
    })
}

fn read_request(place: &str, table: &RequestTable) -> Result<Request, ReadError> {
    let select = table.select.iter().map(|(attribute, value)| {
        let text = match value {
            Value::Boolean(truth) => truth.to_string(),
            other => text_of(&format!("{attribute} in the selector of {place}"), other)?,
        };
        let sign = Relation::ALL
            .iter()
            .find(|(sign, _)| text.starts_with(sign));
        let (relation, value) = match sign {
            Some((sign, relation)) => (*relation, text[sign.len()..].trim().to_owned()),
            None => (Relation::Equal, text.trim().to_owned()),
        };
        Ok(Condition {
            attribute: attribute.clone(),
            relation,
            value,
        })
    });
    Ok(Request {
        select: select.collect::<Result<_, ReadError>>()?,
        with: formulas(place, &table.with)?,
    })
}

/// Words that give the type of a method, and the other words of each.
const METHODS: [(&str, &[&str]); 8] = [
    ("constant", &["interval"]),
    ("formula", &[]),
    ("queue", &["solver", "classes", "stations"]),
    ("model", &["models", "at"]),
    ("records", &["call", "at"]),
    ("simulate", &["models", "on", "ranks", "set"]),
    ("loggp", &["on", "with"]),
    ("run", &["call", "ranks", "set"]),
];

impl MethodTable {
    /// The words that it has.
    fn words(&self) -> Vec<&'static str> {
        let words = [
            ("constant", self.constant.is_some()),
            ("formula", self.formula.is_some()),
            ("queue", self.queue.is_some()),
            ("model", self.model.is_some()),
            ("records", self.records.is_some()),
            ("simulate", self.simulate.is_some()),
            ("loggp", self.loggp.is_some()),
            ("run", self.run.is_some()),
            ("interval", self.interval.is_some()),
            ("solver", self.solver.is_some()),
            ("classes", !self.classes.is_empty()),
            ("stations", !self.stations.is_empty()),
            ("models", self.models.is_some()),
            ("at", !self.at.is_empty()),
            ("call", self.call.is_some()),
            ("on", self.on.is_some()),
            ("ranks", self.ranks.is_some()),
            ("set", !self.set.is_empty()),
            ("with", !self.with.is_empty()),
        ];
        let has = words.into_iter().filter(|(_, is_there)| *is_there);
        has.map(|(word, _)| word).collect()
    }
}

fn method(place: &str, table: &MethodTable) -> Result<Method, ReadError> {
    let words = table.words();
    // One table has the words of all methods, so that serde refuses unknown ones; this finds words
    // of another method than the table's own.
    let mut which = METHODS.iter().filter(|(word, _)| words.contains(word));
    let (Some((word, others)), None) = (which.next(), which.next()) else {
        let expected: Vec<_> = METHODS.iter().map(|(word, _)| *word).collect();
        let found = if words.is_empty() {
            "nothing"
        } else {
            "not one of these"
        };
        let expected = format!("one of {}", expected.join(", "));
        return Err(part(place, found, &expected));
    };
    if let Some(foreign) = words
        .iter()
        .find(|one| *one != word && !others.contains(one))
    {
        let expected = match others.is_empty() {
            true => "none of them".to_owned(),
            false => others.join(", "),
        };
        let found = format!("{foreign} of a method with {word}");
        return Err(part(place, &found, &expected));
    }
    let kind = match *word {
        "constant" => MethodKind::Constant {
            value: given(place, table.constant.as_ref().unwrap_or(&Value::Integer(0)))?,
            interval: match &table.interval {
                Some([lower, upper]) => Some([given(place, lower)?, given(place, upper)?]),
                None => None,
            },
        },
        "formula" => MethodKind::Formula(formula(
            place,
            table.formula.as_ref().unwrap_or(&Value::Integer(0)),
        )?),
        "queue" => MethodKind::Queue(queue(place, table)?),
        word => MethodKind::Tool(tool(place, word, table)?),
    };
    let name = table.name.clone();
    Ok(Method {
        name: name.unwrap_or_else(|| kind.name().to_owned()),
        kind,
    })
}

fn tool(place: &str, word: &str, table: &MethodTable) -> Result<ToolMethod, ReadError> {
    let (tool, subject, numbers) = match word {
        "model" => (Tool::Model, &table.model, &table.at),
        "records" => (Tool::Records, &table.records, &table.at),
        "simulate" => (Tool::Simulation, &table.simulate, &table.set),
        "loggp" => (Tool::ClosedForm, &table.loggp, &table.with),
        _ => (Tool::Execution, &table.run, &table.set),
    };
    let needed = |has: bool, word: &str| match has {
        true => Ok(()),
        false => Err(part(
            place,
            "a method without its parameters",
            &format!("{word} ="),
        )),
    };
    match tool {
        Tool::Model => needed(table.models.is_some(), "models")?,
        Tool::Records => needed(table.call.is_some(), "call")?,
        Tool::Simulation | Tool::ClosedForm => needed(table.on.is_some(), "on")?,
        Tool::Execution => {}
    }
    let ranks = table.ranks.as_ref().map(|ranks| formula(place, ranks));
    Ok(ToolMethod {
        tool,
        subject: subject.clone().unwrap_or_default(),
        models: table.models.clone(),
        call: table.call.clone(),
        on: table.on.clone(),
        ranks: ranks.transpose()?,
        numbers: formulas(place, numbers)?,
    })
}

fn queue(place: &str, table: &MethodTable) -> Result<QueueMethod, ReadError> {
    let class = table.queue.clone().unwrap_or_default();
    if !table.classes.contains_key(&class) {
        let found = format!("queue = \"{class}\"");
        return Err(part(place, &found, "one of its classes"));
    }
    let solver = match table.solver.as_deref() {
        None | Some("linearizer") => Solver::Linearizer,
        Some("exact") => Solver::Exact,
        Some("bard-schweitzer") => Solver::BardSchweitzer,
        Some(other) => {
            let found = format!("solver \"{other}\"");
            return Err(part(place, &found, "exact, linearizer or bard-schweitzer"));
        }
    };
    let zero = Value::Integer(0);
    let classes = table.classes.iter().map(|(name, class)| {
        let customers = formula(place, &class.customers)?;
        let think = formula(place, class.think.as_ref().unwrap_or(&zero))?;
        Ok((name.clone(), [customers, think]))
    });
    let classes = classes.collect::<Result<_, ReadError>>()?;
    let stations = table.stations.iter().map(|(name, station)| {
        let at = format!("station \"{name}\" of {place}");
        let servers = match (station.delay, &station.servers) {
            (true, Some(_)) => return Err(part(&at, "servers and delay", "one of both")),
            (true, None) => None,
            (false, None) => Some(Expression::Number(1.0)),
            (false, Some(servers)) => Some(formula(&at, servers)?),
        };
        if let Some(foreign) = station
            .demand
            .keys()
            .find(|class| !table.classes.contains_key(*class))
        {
            let found = format!("a demand of class \"{foreign}\"");
            return Err(part(&at, &found, "one of its classes"));
        }
        Ok((name.clone(), (servers, formulas(&at, &station.demand)?)))
    });
    let stations = stations.collect::<Result<_, ReadError>>()?;
    Ok(QueueMethod {
        class,
        solver,
        classes,
        stations,
    })
}
