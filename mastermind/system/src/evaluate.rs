//! The values of a system: a walk over its dependence graph, with intervals and cross-checks.
//!
//! A component is evaluated when its requests are answered; each answer is a name in its formulas. The time of the
//! system is that of its total component, with the longest path of the components behind it.
//!
//! Intervals are propagated by evaluation: each method that knows its own interval is moved to both of its ends,
//! everywhere at once, and the system is evaluated again. The changes of all such methods are added as squares, since
//! they are independent of one another; so a simulation takes part like a formula does. A method without an interval
//! adds nothing, and is listed.
//!
//! # Source
//! The method is that of the Guide to the Expression of Uncertainty in Measurement (JCGM 100:2008), 5.1.3 note 2: the
//! combined uncertainty from changes that are evaluated numerically.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use mastermind_programs::expression::Expression;
use mastermind_queueing::{Class, Kind, Network, Station, bard_schweitzer, exact, linearizer};

use crate::compose::{Edge, Graph, Protocol};
use crate::formula::evaluate as value_of;
use crate::problem::Problem;
use crate::quantity::Quantity;
use crate::scope::{Locals, Scope};
use crate::system::{MethodKind, QueueMethod, Solver, ToolMethod};
use crate::tools::{Answer, ToolCall, Tools};

/// Most requests of one walk: a graph of tens of components has hundreds.
const MAX_VISITS: usize = 10_000;

/// Result of another method for the same parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodValue {
    /// The method, by its place.
    pub method: usize,
    /// Its value in base units.
    pub value: f64,
    /// Interval of the value.
    pub interval: Option<[f64; 2]>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Difference from the most expensive method, relative to that.
    pub difference: Option<f64>,
}

/// A component with the parameters of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The component, by its place.
    pub component: usize,
    /// The parameters, in base units.
    pub given: BTreeMap<String, Quantity>,
    /// Requests that it was evaluated for.
    pub requests: usize,
    /// The method whose value counts, by its place.
    pub used: usize,
    /// Its value, in base units.
    pub value: f64,
    /// Interval of the value, from all components below that have one; `None` if none has.
    pub interval: Option<[f64; 2]>,
    /// All methods that were evaluated.
    pub methods: Vec<MethodValue>,
}

/// A system that was evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Its time: that of the total component and of the longest path of the components behind it,
    /// in base units.
    pub value: f64,
    /// Interval of the time.
    pub interval: Option<[f64; 2]>,
    /// Components in the order in which they were evaluated, requested ones first.
    pub nodes: Vec<Node>,
    /// Components whose method has no interval; formulas are as good as their inputs.
    pub without_interval: Vec<usize>,
}

/// Methods that an evaluation compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Nothing: one method a component.
    None,
    /// All methods; the result is that of the cheapest one within the bound of the most expensive.
    All,
}

/// Evaluates a graph without problems.
///
/// # Arguments
/// * `chosen` - methods of components, by their places, that override selectors and comparisons
///
/// # Errors
/// A method has no value.
pub fn evaluate(
    graph: &Graph<'_>,
    scope: &Scope<'_>,
    tools: &dyn Tools,
    chosen: &BTreeMap<usize, usize>,
    comparison: Comparison,
) -> Result<Evaluation, Problem> {
    let Some(total) = graph.total else {
        return Err(Problem::NoTotal {
            found: "none".into(),
            known: "one component".into(),
        });
    };
    let mut walk = Walk {
        graph,
        scope,
        tools,
        chosen,
        comparison,
        answers: RefCell::default(),
        used: Vec::new(),
        shift: None,
        visits: Vec::new(),
        is_unbounded: Cell::new(false),
    };
    let value = walk.run(total)?;
    let center = std::mem::take(&mut walk.visits);
    walk.used = center.iter().map(|visit| visit.used).collect();
    let sources: BTreeSet<(usize, usize)> = center
        .iter()
        .filter(|visit| visit.own().interval.is_some())
        .map(|visit| (visit.component, visit.used))
        .collect();
    let mut spreads = vec![Spread::default(); center.len()];
    let mut total_spread = Spread::default();
    for source in sources {
        let mut moved = Vec::new();
        for end in [End::Lower, End::Upper] {
            walk.shift = Some((source, end));
            let shifted = walk.run(total)?;
            let is_unbounded = walk.is_unbounded.get();
            moved.push((shifted, std::mem::take(&mut walk.visits), is_unbounded));
        }
        total_spread.add(
            value,
            moved.iter().map(|(shifted, _, open)| (*shifted, *open)),
        );
        for (i, spread) in spreads.iter_mut().enumerate() {
            let values = moved
                .iter()
                .filter_map(|(_, visits, open)| visits.get(i).map(|visit| (visit.value, *open)));
            spread.add(center[i].value, values);
        }
    }
    let without_interval: BTreeSet<usize> = center
        .iter()
        .filter(|visit| {
            let kind = &graph.component(visit.component).methods[visit.used].kind;
            visit.own().interval.is_none() && !matches!(kind, MethodKind::Formula(_))
        })
        .map(|visit| visit.component)
        .collect();
    Ok(Evaluation {
        value,
        interval: total_spread.around(value),
        nodes: nodes(center, &spreads),
        without_interval: without_interval.into_iter().collect(),
    })
}

/// Visits with the same parameters are one node.
fn nodes(visits: Vec<Visit>, spreads: &[Spread]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (visit, spread) in visits.into_iter().zip(spreads) {
        let known = nodes.iter_mut().find(|node| {
            (node.component, node.used) == (visit.component, visit.used)
                && node.given == visit.given
        });
        match known {
            Some(node) => node.requests += 1,
            None => nodes.push(Node {
                component: visit.component,
                given: visit.given,
                requests: 1,
                used: visit.used,
                value: visit.value,
                interval: spread.around(visit.value),
                methods: visit.methods,
            }),
        }
    }
    nodes
}

/// An end of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Lower,
    Upper,
}

/// By how much a value changes: squares of the sums, below and above.
#[derive(Debug, Clone, Copy, Default)]
struct Spread {
    below: f64,
    above: f64,
    is_moved: bool,
}

impl Spread {
    /// Adds a source with the values at both of its ends; an unbounded end makes the change unbounded.
    fn add(&mut self, value: f64, moved: impl Iterator<Item = (f64, bool)>) {
        let (mut below, mut above) = (0.0_f64, 0.0_f64);
        for (shifted, is_unbounded) in moved {
            let change = shifted - value;
            if change == 0.0 {
                continue;
            }
            self.is_moved = true;
            let change = match is_unbounded {
                true => change.signum() * f64::INFINITY,
                false => change,
            };
            (below, above) = (below.min(change), above.max(change));
        }
        self.below += below * below;
        self.above += above * above;
    }

    fn around(&self, value: f64) -> Option<[f64; 2]> {
        let interval = [value - self.below.sqrt(), value + self.above.sqrt()];
        self.is_moved.then_some(interval)
    }
}

struct Visit {
    component: usize,
    given: BTreeMap<String, Quantity>,
    used: usize,
    value: f64,
    methods: Vec<MethodValue>,
}

impl Visit {
    fn own(&self) -> &MethodValue {
        let is_own = |one: &&MethodValue| one.method == self.used;
        self.methods.iter().find(is_own).unwrap_or(&self.methods[0])
    }
}

/// A call of a tool, as a key: the place of component and method, and the bits of its numbers.
type CallKey = (usize, usize, Option<u32>, Vec<u64>);

struct Walk<'a, 's> {
    graph: &'a Graph<'s>,
    scope: &'a Scope<'s>,
    tools: &'a dyn Tools,
    chosen: &'a BTreeMap<usize, usize>,
    comparison: Comparison,
    /// Results of earlier calls: most of a system is the same when one interval is moved.
    answers: RefCell<HashMap<CallKey, Answer>>,
    /// By visit, the method that counted in the first walk.
    used: Vec<usize>,
    /// A method of a component whose values are moved to an end of their interval.
    shift: Option<((usize, usize), End)>,
    visits: Vec<Visit>,
    /// Whether the interval that is moved has no upper end.
    is_unbounded: Cell<bool>,
}

impl<'s> Walk<'_, 's> {
    fn run(&mut self, total: usize) -> Result<f64, Problem> {
        self.is_unbounded.set(false);
        Ok(self.visit(total, BTreeMap::new(), None)?.1)
    }

    /// # Returns
    /// The value of a component, and the time until all components behind it have ended.
    fn visit(
        &mut self,
        place: usize,
        given: BTreeMap<String, Quantity>,
        asked: Option<usize>,
    ) -> Result<(f64, f64), Problem> {
        let graph = self.graph;
        let mut locals = Locals {
            scope: self.scope,
            values: given.clone(),
            attributes: BTreeMap::new(),
        };
        let (calls, then): (Vec<_>, Vec<_>) = graph
            .edges_of(place)
            .partition(|edge| edge.protocol == Protocol::CallReturn);
        for edge in &calls {
            let attributes = &graph.attributes[edge.to];
            locals.attributes.insert(edge.request.clone(), attributes);
            if graph.component(edge.to).methods.is_empty() {
                continue;
            }
            let with = self.parameters(edge, &given)?;
            let (value, _) = self.visit(edge.to, with, edge.method)?;
            let one = self.formula(edge.to, self.scope.unit(&graph.component(edge.to).returns))?;
            let dimension = one.dimension;
            let result = Quantity { value, dimension };
            locals.values.insert(edge.request.clone(), result);
        }
        if self.visits.len() >= MAX_VISITS {
            return Err(Problem::TooMany { most: MAX_VISITS });
        }
        let visit = self.own(place, given.clone(), asked, &locals)?;
        let value = visit.value;
        self.visits.push(visit);
        let mut longest = 0.0_f64;
        for edge in then {
            let with = self.parameters(edge, &given)?;
            longest = longest.max(self.visit(edge.to, with, edge.method)?.1);
        }
        Ok((value, value + longest))
    }

    fn formula<T>(
        &self,
        place: usize,
        found: Result<T, crate::formula::FormulaError>,
    ) -> Result<T, Problem> {
        found.map_err(|source| Problem::Formula {
            place: format!("\"{}\"", self.graph.component(place).name),
            source,
        })
    }

    /// The values that a request gives.
    fn parameters(
        &self,
        edge: &Edge,
        given: &BTreeMap<String, Quantity>,
    ) -> Result<BTreeMap<String, Quantity>, Problem> {
        let owner = self.graph.component(edge.from);
        let requests = match edge.protocol {
            Protocol::CallReturn => &owner.requests,
            Protocol::DataFlow => &owner.then,
        };
        let locals = Locals {
            scope: self.scope,
            values: given.clone(),
            attributes: BTreeMap::new(),
        };
        let with = requests.get(&edge.request).into_iter();
        let with = with
            .flat_map(|request| &request.with)
            .map(|(name, formula)| {
                let value = self.formula(edge.from, value_of(formula, &locals))?;
                Ok((name.clone(), value))
            });
        with.collect()
    }

    /// Evaluates the methods of a component, and chooses the one whose result counts.
    fn own(
        &self,
        place: usize,
        given: BTreeMap<String, Quantity>,
        asked: Option<usize>,
        locals: &Locals<'_>,
    ) -> Result<Visit, Problem> {
        let component = self.graph.component(place);
        let wanted = self.chosen.get(&place).copied().or(asked);
        let known = self.used.get(self.visits.len()).copied();
        let compares = known.is_none() && self.comparison == Comparison::All;
        let mut methods = Vec::new();
        if compares {
            for method in 0..component.methods.len() {
                methods.push(self.value(place, method, locals)?);
            }
        } else {
            let method = known.or(wanted).unwrap_or(0);
            methods.push(self.value(place, method, locals)?);
        }
        let mut used = wanted.unwrap_or(methods[0].method);
        if let (true, [_, .., dearest]) = (compares, &methods[..]) {
            let reference = dearest.value;
            for one in &mut methods {
                let difference = match one.value == reference {
                    true => 0.0,
                    false => one.value / reference - 1.0,
                };
                one.difference = Some(difference);
            }
            let bound = self.graph.system.cross_check.bound;
            let is_within =
                |one: &&MethodValue| one.difference.is_some_and(|off| off.abs() <= bound);
            let cheapest = methods.iter().find(is_within).map(|one| one.method);
            used = wanted.or(cheapest).unwrap_or(used);
        } else if let Some(known) = known {
            used = known;
        }
        let mut visit = Visit {
            component: place,
            given,
            used,
            value: 0.0,
            methods,
        };
        visit.value = visit.own().value;
        Ok(visit)
    }

    /// The value of a method, moved to an end of its interval if requested.
    fn value(
        &self,
        place: usize,
        method: usize,
        locals: &Locals<'_>,
    ) -> Result<MethodValue, Problem> {
        let component = self.graph.component(place);
        let at = || {
            let name = &component.methods[method].name;
            format!("method \"{name}\" of \"{}\"", component.name)
        };
        let formula = |found| {
            let failed = |source| Problem::Formula {
                place: at(),
                source,
            };
            Result::map_err(found, failed)
        };
        let (value, interval, notes) = match &component.methods[method].kind {
            MethodKind::Constant { value, interval } => {
                let value = formula(self.scope.given(value))?.value;
                let ends = interval.as_ref().map(|[lower, upper]| {
                    let lower = formula(self.scope.given(lower))?.value;
                    let upper = formula(self.scope.given(upper))?.value;
                    if !(lower <= value && value <= upper) {
                        return Err(Problem::Value {
                            place: at(),
                            found: format!("{value} outside of {lower} to {upper}"),
                            expected: "a value within its interval",
                        });
                    }
                    Ok([lower, upper])
                });
                (value, ends.transpose()?, Vec::new())
            }
            MethodKind::Formula(text) => (formula(value_of(text, locals))?.value, None, Vec::new()),
            MethodKind::Queue(queue) => {
                let number = |part: &Expression| Ok(formula(value_of(part, locals))?.value);
                (solve(queue, &at(), &number)?, None, Vec::new())
            }
            MethodKind::Tool(tool) => {
                let answer = self.answer((place, method), tool, &at(), locals)?;
                (answer.value_s, answer.interval_s, answer.notes)
            }
        };
        if !(value.is_finite() && value >= 0.0) {
            return Err(Problem::Value {
                place: at(),
                found: value.to_string(),
                expected: "a number of at least 0",
            });
        }
        let value = match (self.shift, interval) {
            (Some((source, end)), Some([lower, upper])) if source == (place, method) => match end {
                End::Lower => lower,
                End::Upper if upper.is_finite() => upper,
                // A larger value changes the total in the same direction.
                End::Upper => {
                    self.is_unbounded.set(true);
                    2.0 * value
                }
            },
            _ => value,
        };
        Ok(MethodValue {
            method,
            value,
            interval,
            notes,
            difference: None,
        })
    }

    fn answer(
        &self,
        (place, method): (usize, usize),
        tool: &ToolMethod,
        at: &str,
        locals: &Locals<'_>,
    ) -> Result<Answer, Problem> {
        let number = |part: &Expression| {
            let found = value_of(part, locals);
            let failed = |source| Problem::Formula {
                place: at.to_owned(),
                source,
            };
            found.map(|found| found.value).map_err(failed)
        };
        let numbers: BTreeMap<String, f64> = tool
            .numbers
            .iter()
            .map(|(name, part)| Ok((name.clone(), number(part)?)))
            .collect::<Result<_, Problem>>()?;
        let ranks = match &tool.ranks {
            Some(ranks) => Some(whole(
                number(ranks)?,
                at,
                "a whole number of ranks, at least 1",
            )?),
            None => None,
        };
        let on = tool.on.as_ref().and_then(|on| {
            let mut edges = self.graph.edges_of(place);
            let edge = edges.find(|edge| edge.request == *on)?;
            let owner = self.graph.machine_below(edge.to)?;
            let machine = self.graph.component(owner).machine.as_deref()?;
            Some((machine, &self.graph.attributes[owner]))
        });
        let bits = numbers.values().map(|number| number.to_bits()).collect();
        let key = (place, method, ranks, bits);
        if let Some(answer) = self.answers.borrow().get(&key) {
            return Ok(answer.clone());
        }
        let call = ToolCall {
            method: tool,
            machine: on,
            ranks,
            numbers,
        };
        let answer = self.tools.evaluate(&call).map_err(|source| Problem::Tool {
            place: at.to_owned(),
            source,
        })?;
        self.answers.borrow_mut().insert(key, answer.clone());
        Ok(answer)
    }
}

/// A whole number of at least 1.
fn whole(number: f64, at: &str, expected: &'static str) -> Result<u32, Problem> {
    if number.fract() == 0.0 && (1.0..=1e9).contains(&number) {
        return Ok(number as u32);
    }
    Err(Problem::Value {
        place: at.to_owned(),
        found: number.to_string(),
        expected,
    })
}

/// The time of a round of the requested class of a network.
fn solve(
    queue: &QueueMethod,
    at: &str,
    number: &dyn Fn(&Expression) -> Result<f64, Problem>,
) -> Result<f64, Problem> {
    let mut network = Network {
        stations: Vec::new(),
        classes: Vec::new(),
    };
    for (name, [customers, think]) in &queue.classes {
        network.classes.push(Class {
            name: name.clone(),
            customers: whole(
                number(customers)?,
                at,
                "a whole number of customers, at least 1",
            )?,
            think_s: number(think)?,
        });
    }
    for (name, (servers, demands)) in &queue.stations {
        let demand = |class: &String| demands.get(class).map_or(Ok(0.0), number);
        network.stations.push(Station {
            name: name.clone(),
            kind: match servers {
                Some(servers) => Kind::Queue {
                    servers: whole(
                        number(servers)?,
                        at,
                        "a whole number of servers, at least 1",
                    )?,
                },
                None => Kind::Delay,
            },
            demand_s: queue.classes.keys().map(demand).collect::<Result<_, _>>()?,
        });
    }
    let solve = match queue.solver {
        Solver::Exact => exact,
        Solver::Linearizer => linearizer,
        Solver::BardSchweitzer => bard_schweitzer,
    };
    let checked = network.check().and_then(|()| solve(&network));
    let solution = checked.map_err(|source| Problem::Network {
        place: at.to_owned(),
        source,
    })?;
    let class = queue.classes.keys().position(|name| *name == queue.class);
    Ok(solution.cycle_s(class.unwrap_or(0)))
}
