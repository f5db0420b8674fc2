//! The results of `system evaluate`: the value of each component, its method, and the differences
//! of the other methods.
//!
//! The same structs are serialised for `--json` and printed as tables. A value is converted from
//! base units to the unit that its component returns. Every row names the method that gave it, and
//! intervals leave out components whose methods have none, which are then listed; so a wide
//! interval is distinguished from an unknown one.
//!
//! ```text
//! COMPONENT  METHOD      VALUE   UNIT  DIFFERENCE %
//! sweep      pipeline    24.151  ms          -1.20  used
//! sweep      simulation  24.444  ms
//! ```
//!
//! `agreeing` chooses from a comparison at other parameters. A component is evaluated once for each
//! set of parameters that it is requested with, and one method must serve all of them: the cheapest
//! that is within the bound at every one.

use std::collections::BTreeMap;

use mastermind_models::LEVEL;
use mastermind_system::{Evaluation, FormulaError, Graph, Node, Scope};
use serde::Serialize;

use crate::output;

/// The result of an evaluation as it is printed, as tables or as one JSON document.
#[derive(Serialize)]
pub struct Report {
    system: String,
    total: Value,
    /// Probability of the intervals.
    level: f64,
    nodes: Vec<Row>,
    /// Components whose methods have no error estimate, so that the intervals exclude it.
    without_interval: Vec<String>,
    /// The comparison at other parameters, by which the methods were chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    cross_check: Option<CrossChecked>,
}

/// A value in the unit of its component.
#[derive(Serialize)]
struct Value {
    value: f64,
    /// `null` if none of its inputs has an interval; infinite ends are `null` too.
    lower: Option<f64>,
    upper: Option<f64>,
    unit: String,
}

#[derive(Serialize)]
struct Row {
    component: String,
    domain: &'static str,
    kind: String,
    /// Its parameters, in base units.
    parameters: BTreeMap<String, f64>,
    /// Requests with these parameters.
    requests: usize,
    method: String,
    method_kind: &'static str,
    #[serde(flatten)]
    value: Value,
    notes: Vec<String>,
    /// All methods that were evaluated, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    methods: Vec<MethodRow>,
}

/// A method that was compared.
#[derive(Serialize)]
struct MethodRow {
    method: String,
    method_kind: &'static str,
    #[serde(flatten)]
    value: Value,
    /// From the dearest method.
    difference_percent: Option<f64>,
    used: bool,
}

/// A comparison at other parameters than those of the evaluation.
#[derive(Serialize)]
pub struct CrossChecked {
    /// The parameters, in base units.
    at: BTreeMap<String, f64>,
    nodes: Vec<Row>,
}

/// The cheapest method of each component that is within the bound for all requests to it; only for components with
/// several methods, none of which a selector requests.
pub fn agreeing(graph: &Graph<'_>, found: &Evaluation) -> BTreeMap<usize, usize> {
    let mut agreeing = BTreeMap::new();
    let is_asked = |place: usize| {
        let mut edges = graph.edges.iter();
        edges.any(|edge| edge.to == place && edge.method.is_some())
    };
    for node in found
        .nodes
        .iter()
        .filter(|node| node.methods.len() > 1 && !is_asked(node.component))
    {
        // Cheap methods come first, so the most expensive one that is needed anywhere suffices everywhere.
        let place = agreeing.entry(node.component).or_insert(node.used);
        *place = node.used.max(*place);
    }
    let bound = graph.system.cross_check.bound;
    for (component, used) in &mut agreeing {
        let of_component = |node: &&Node| node.component == *component;
        let is_within = |method: usize| {
            found.nodes.iter().filter(of_component).all(|node| {
                let of_method = node.methods.iter().find(|one| one.method == method);
                of_method
                    .and_then(|one| one.difference)
                    .is_some_and(|off| off.abs() <= bound)
            })
        };
        // The last one is the most expensive, which the others are compared with: taken if none
        // agrees.
        let last = graph.component(*component).methods.len() - 1;
        *used = (*used..last)
            .find(|method| is_within(*method))
            .unwrap_or(last);
    }
    agreeing
}

fn value(
    graph: &Graph<'_>,
    scope: &Scope<'_>,
    place: usize,
    value: f64,
    interval: Option<[f64; 2]>,
) -> Result<Value, FormulaError> {
    let unit = &graph.component(place).returns;
    let one = scope.unit(unit)?.value;
    Ok(Value {
        value: value / one,
        lower: interval.map(|[lower, _]| lower.max(0.0) / one),
        upper: interval.map(|[_, upper]| upper / one),
        unit: unit.text.clone(),
    })
}

fn row(graph: &Graph<'_>, scope: &Scope<'_>, node: &Node) -> Result<Row, FormulaError> {
    let component = graph.component(node.component);
    let of = |found, interval| value(graph, scope, node.component, found, interval);
    let used = &component.methods[node.used];
    let methods = node.methods.iter().map(|one| {
        let method = &component.methods[one.method];
        Ok(MethodRow {
            method: method.name.clone(),
            method_kind: method.kind.name(),
            value: of(one.value, one.interval)?,
            difference_percent: one.difference.map(|off| 100.0 * off),
            used: one.method == node.used,
        })
    });
    let methods = methods.collect::<Result<Vec<_>, FormulaError>>()?;
    let of_used = node.methods.iter().find(|one| one.method == node.used);
    let given = node.given.iter();
    Ok(Row {
        component: component.name.clone(),
        domain: component.domain.name(),
        kind: component.kind.clone(),
        parameters: given
            .map(|(name, given)| (name.clone(), given.value))
            .collect(),
        requests: node.requests,
        method: used.name.clone(),
        method_kind: used.kind.name(),
        value: of(node.value, node.interval)?,
        notes: of_used.map_or_else(Vec::new, |one| one.notes.clone()),
        methods: if methods.len() > 1 {
            methods
        } else {
            Vec::new()
        },
    })
}

impl CrossChecked {
    /// # Arguments
    /// * `chosen` - the methods chosen by the comparison
    ///
    /// # Errors
    /// A unit has no value.
    pub fn of(
        graph: &Graph<'_>,
        scope: &Scope<'_>,
        found: &Evaluation,
        chosen: &BTreeMap<usize, usize>,
    ) -> Result<Self, FormulaError> {
        let several = found.nodes.iter().filter(|node| node.methods.len() > 1);
        let nodes = several.map(|node| {
            let mut row = row(graph, scope, node)?;
            for (one, method) in row.methods.iter_mut().zip(&node.methods) {
                one.used = chosen.get(&node.component) == Some(&method.method);
            }
            Ok(row)
        });
        let at = graph.system.cross_check.at.iter();
        let at = at.map(|(name, given)| Ok((name.clone(), scope.given(given)?.value)));
        Ok(Self {
            at: at.collect::<Result<_, FormulaError>>()?,
            nodes: nodes.collect::<Result<_, FormulaError>>()?,
        })
    }
}

impl Report {
    /// # Errors
    /// A unit has no value.
    pub fn of(
        graph: &Graph<'_>,
        scope: &Scope<'_>,
        found: &Evaluation,
        cross_check: Option<CrossChecked>,
    ) -> Result<Self, FormulaError> {
        let nodes = found.nodes.iter().map(|node| row(graph, scope, node));
        let total = graph.total.unwrap_or(0);
        let without = found.without_interval.iter();
        Ok(Self {
            system: graph.system.name.clone(),
            total: value(graph, scope, total, found.value, found.interval)?,
            level: LEVEL,
            nodes: nodes.collect::<Result<_, _>>()?,
            without_interval: without
                .map(|place| graph.component(*place).name.clone())
                .collect(),
            cross_check,
        })
    }

    /// Prints it for a reader.
    pub fn print(&self) {
        if let Some(checked) = &self.cross_check {
            let at: Vec<_> = checked
                .at
                .iter()
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            output::line(format!("compared at {}:", at.join(", ")));
            output::line(compared(&checked.nodes));
        }
        let rows = self.nodes.iter().map(|row| {
            vec![
                row.component.clone(),
                row.domain.to_owned(),
                row.method.clone(),
                number(row.value.value),
                interval(&row.value),
                row.value.unit.clone(),
                row.requests.to_string(),
            ]
        });
        let header = [
            "COMPONENT",
            "DOMAIN",
            "METHOD",
            "VALUE",
            "INTERVAL",
            "UNIT",
            "REQUESTS",
        ];
        output::line(output::table(&header, &[3, 6], rows));
        if self.nodes.iter().any(|row| !row.methods.is_empty()) {
            output::line(compared(&self.nodes));
        }
        for row in &self.nodes {
            for note in &row.notes {
                output::line(format!("{}: {note}", row.component));
            }
        }
        let total = &self.total;
        let lies = match total.lower {
            Some(_) => format!(
                ", {} % interval {} {}",
                100.0 * self.level,
                interval(total),
                total.unit
            ),
            None => String::new(),
        };
        output::line(format!(
            "{}: {} {}{lies}",
            self.system,
            number(total.value),
            total.unit
        ));
        if !self.without_interval.is_empty() {
            output::line(format!(
                "intervals leave out how far these are off, which is not known: {}",
                self.without_interval.join(", ")
            ));
        }
    }
}

/// The table of methods that were compared.
fn compared(nodes: &[Row]) -> String {
    let rows = nodes.iter().flat_map(|row| {
        row.methods.iter().map(|one| {
            let off = one.difference_percent;
            vec![
                row.component.clone(),
                one.method.clone(),
                number(one.value.value),
                one.value.unit.clone(),
                off.map_or_else(String::new, |off| format!("{off:+.2}")),
                if one.used { "used" } else { "" }.to_owned(),
            ]
        })
    });
    let header = ["COMPONENT", "METHOD", "VALUE", "UNIT", "DIFFERENCE %", ""];
    output::table(&header, &[2, 4], rows)
}

/// Five digits.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = 4 - value.abs().log10().floor() as i64;
    match (0..=9).contains(&digits) {
        true => format!("{value:.*}", digits as usize),
        false => format!("{value:.4e}"),
    }
}

fn interval(value: &Value) -> String {
    match (value.lower, value.upper) {
        (Some(lower), Some(upper)) if upper.is_finite() => {
            format!("{} to {}", number(lower), number(upper))
        }
        (Some(lower), Some(_)) => format!("{} or more", number(lower)),
        _ => String::new(),
    }
}
