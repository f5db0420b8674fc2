//! Requests matched to profiles: the dependence graph of a system, and everything that keeps it from being one.
//!
//! # Source
//! V. Adve et al., "POEMS", IEEE TSE 2000, section 3.3: a selector is a condition over the profile of a component; if
//! it holds for one, and the parameters conform, the request becomes an edge.

use std::collections::BTreeSet;

use crate::check::check_component;
use crate::formula::{FormulaError, Names};
use crate::problem::Problem;
use crate::read::read_given;
use crate::scope::{Attributes, Scope, listed};
use crate::system::{Attribute, Component, Condition, Domain, Given, Relation, Request, System};
use crate::tools::Tools;

/// How a requesting component continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// The component continues when the answer has arrived.
    CallReturn,
    /// The requested component begins when this one has ended.
    DataFlow,
}

impl Protocol {
    /// As POEMS has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::CallReturn => "call-return",
            Self::DataFlow => "data flow",
        }
    }
}

/// A request that found its component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Place of the requesting component.
    pub from: usize,
    /// Place of the accepting component.
    pub to: usize,
    /// The request.
    pub request: String,
    /// How it continues.
    pub protocol: Protocol,
    /// The method in the selector, by its place.
    pub method: Option<usize>,
}

/// A system whose requests were matched.
#[derive(Debug)]
pub struct Graph<'a> {
    /// The system.
    pub system: &'a System,
    /// By component: attributes that are numbers, those of its machine included.
    pub attributes: Vec<Attributes>,
    /// Requests that found their component.
    pub edges: Vec<Edge>,
    /// The component whose time is the system's.
    pub total: Option<usize>,
}

impl<'a> Graph<'a> {
    /// A component by its place.
    pub fn component(&self, place: usize) -> &'a Component {
        &self.system.components[place]
    }

    /// The edges that leave a component.
    pub fn edges_of(&self, place: usize) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.from == place)
    }

    /// The component with the machine that a method runs on: the one that a request found, or the one it runs on in
    /// turn.
    ///
    /// # Arguments
    /// * `place` - component that a request found
    pub fn machine_below(&self, place: usize) -> Option<usize> {
        let mut seen = BTreeSet::new();
        let mut open = vec![place];
        while let Some(place) = open.pop() {
            if self.component(place).machine.is_some() {
                return Some(place);
            }
            let calls = self.edges_of(place);
            let calls = calls.filter(|edge| edge.protocol == Protocol::CallReturn);
            open.extend(calls.map(|edge| edge.to).filter(|to| seen.insert(*to)));
        }
        None
    }

    /// Components that the total needs nothing of.
    pub fn unused(&self) -> Vec<&'a str> {
        let Some(total) = self.total else {
            return Vec::new();
        };
        let mut seen = BTreeSet::from([total]);
        let mut open = vec![total];
        while let Some(place) = open.pop() {
            let next = self.edges_of(place).map(|edge| edge.to);
            open.extend(next.filter(|to| seen.insert(*to)));
        }
        let all = 0..self.system.components.len();
        let unused = all.filter(|place| !seen.contains(place));
        unused.map(|place| &*self.component(place).name).collect()
    }
}

/// Matches all requests and checks all formulas.
///
/// # Returns
/// The graph, as far as there is one, and every problem that was found.
pub fn compose<'a>(
    system: &'a System,
    scope: &Scope<'a>,
    tools: &dyn Tools,
) -> (Graph<'a>, Vec<Problem>) {
    let mut problems = Vec::new();
    for name in system.parameters.keys() {
        let value = scope.name(name);
        keep(value, format!("parameter \"{name}\""), &mut problems);
    }
    for (name, given) in &system.cross_check.at {
        if !system.parameters.contains_key(name) {
            problems.push(Problem::NoParameter {
                name: name.clone(),
                known: listed(scope.parameters()),
            });
        }
        let place = format!("parameter \"{name}\" of cross_check.at");
        keep(scope.given(given), place, &mut problems);
    }
    let attributes: Vec<Attributes> = system
        .components
        .iter()
        .map(|component| attributes(component, scope, tools, &mut problems))
        .collect();
    let mut graph = Graph {
        system,
        attributes,
        edges: Vec::new(),
        total: None,
    };
    for from in 0..system.components.len() {
        let component = graph.component(from);
        let requests = component.requests.iter();
        let requests = requests.map(|one| (one, Protocol::CallReturn));
        let then = component.then.iter().map(|one| (one, Protocol::DataFlow));
        for ((name, request), protocol) in requests.chain(then) {
            match target(&graph, from, name, request, protocol, scope) {
                Ok(edge) => graph.edges.push(edge),
                Err(problem) => problems.push(problem),
            }
        }
    }
    circles(&graph, &mut problems);
    graph.total = total(&graph, &mut problems);
    for place in 0..system.components.len() {
        check_component(&graph, place, scope, tools, &mut problems);
    }
    (graph, problems)
}

pub(crate) fn keep<T>(
    found: Result<T, FormulaError>,
    place: String,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let failed = |source| problems.push(Problem::Formula { place, source });
    found.map_err(failed).ok()
}

/// Numerical attributes of a component: those of its machine, overridden by its own.
fn attributes(
    component: &Component,
    scope: &Scope<'_>,
    tools: &dyn Tools,
    problems: &mut Vec<Problem>,
) -> Attributes {
    let mut found = match &component.machine {
        Some(file) => tools.attributes(file).unwrap_or_else(|source| {
            let place = format!("machine of \"{}\"", component.name);
            problems.push(Problem::Tool { place, source });
            Attributes::new()
        }),
        None => Attributes::new(),
    };
    for (name, attribute) in &component.attributes {
        if let Attribute::Number(given) = attribute {
            let place = format!("attribute \"{name}\" of \"{}\"", component.name);
            if let Some(value) = keep(scope.given(given), place, problems) {
                found.insert(name.clone(), value);
            }
        }
    }
    found
}

/// Whether a condition holds for a profile; else the profile's value.
fn holds(
    graph: &Graph<'_>,
    place: usize,
    condition: &Condition,
    scope: &Scope<'_>,
) -> Result<(), String> {
    let component = graph.component(place);
    let text = |found: &str| match condition.relation {
        Relation::Equal if found == condition.value => Ok(()),
        Relation::Unequal if found != condition.value => Ok(()),
        _ => Err(format!("{} is {found}", condition.attribute)),
    };
    match &*condition.attribute {
        "domain" => return text(component.domain.name()),
        "kind" => return text(&component.kind),
        "name" => return text(&component.name),
        "method" => {
            let offered = component.methods.iter();
            let is_offered = offered_method(component, &condition.value).is_some();
            let offered: Vec<_> = offered.map(|method| &*method.name).collect();
            return match is_offered == (condition.relation == Relation::Equal) {
                true => Ok(()),
                false => Err(format!("its methods are {}", listed(offered))),
            };
        }
        _ => {}
    }
    let attribute = &condition.attribute;
    if let Some(Attribute::Text(found)) = component.attributes.get(attribute) {
        return text(found);
    }
    let Some(found) = graph.attributes[place].get(attribute) else {
        return Err(format!("it has no {attribute}"));
    };
    let wanted = read_given(attribute, &condition.value).ok();
    let wanted = wanted.and_then(|given| match given {
        Given::Quantity(..) => scope.given(&given).ok(),
        Given::Formula(_) => None,
    });
    let is_met = wanted.is_some_and(|wanted| {
        let is_alike = wanted.dimension == found.dimension;
        is_alike && condition.relation.holds(found.value, wanted.value)
    });
    match is_met {
        true => Ok(()),
        false => Err(format!(
            "{attribute} is {} in {}",
            found.value, found.dimension
        )),
    }
}

/// The method of that name, or the only one of that type.
pub fn offered_method(component: &Component, name: &str) -> Option<usize> {
    let methods = &component.methods;
    let by_name = methods.iter().position(|method| method.name == name);
    by_name.or_else(|| methods.iter().position(|method| method.kind.name() == name))
}

/// The one component that a request means.
fn target(
    graph: &Graph<'_>,
    from: usize,
    name: &str,
    request: &Request,
    protocol: Protocol,
    scope: &Scope<'_>,
) -> Result<Edge, Problem> {
    let component = graph.component(from);
    let failures = |place: usize| -> Vec<String> {
        let conditions = request.select.iter();
        conditions
            .filter_map(|condition| holds(graph, place, condition, scope).err())
            .collect()
    };
    let others = (0..graph.system.components.len()).filter(|place| *place != from);
    let tried: Vec<_> = others.map(|place| (place, failures(place))).collect();
    let found: Vec<usize> = tried
        .iter()
        .filter(|(_, failures)| failures.is_empty())
        .map(|(place, _)| *place)
        .collect();
    let (owner, request_name) = (component.name.clone(), name.to_owned());
    let to = match found[..] {
        [to] => to,
        [] => {
            // The candidate with the fewest failed conditions shows what to change.
            let nearest = tried.iter().min_by_key(|(_, failures)| failures.len());
            return Err(Problem::NoMatch {
                request: request_name,
                owner,
                selector: selector(request),
                nearest: nearest.map_or_else(String::new, |(place, failures)| {
                    let name = &graph.component(*place).name;
                    format!("; of \"{name}\" {}", failures.join(", "))
                }),
            });
        }
        _ => {
            let names = found.iter().map(|place| &*graph.component(*place).name);
            return Err(Problem::SeveralMatches {
                request: request_name,
                owner,
                selector: selector(request),
                found: listed(names),
            });
        }
    };
    let target = graph.component(to);
    let (own, other) = (component.domain, target.domain);
    let is_allowed = match protocol {
        Protocol::CallReturn => own <= other,
        Protocol::DataFlow => own == other,
    };
    if !is_allowed {
        return Err(Problem::Domain {
            request: request_name,
            owner,
            protocol: protocol.name(),
            own: own.name(),
            found: format!("{} \"{}\"", other.name(), target.name),
        });
    }
    let mut of_method = request.select.iter().filter(|condition| {
        condition.attribute == "method" && condition.relation == Relation::Equal
    });
    Ok(Edge {
        from,
        to,
        request: request_name,
        protocol,
        method: of_method
            .next()
            .and_then(|condition| offered_method(target, &condition.value)),
    })
}

fn selector(request: &Request) -> String {
    let conditions = request.select.iter().map(|condition| {
        let (attribute, value) = (&condition.attribute, &condition.value);
        format!("{attribute} {} {value}", condition.relation.sign())
    });
    let conditions: Vec<_> = conditions.collect();
    match conditions.is_empty() {
        true => "anything".into(),
        false => conditions.join(", "),
    }
}

/// Reports each circle of requests once, by its component that comes first.
fn circles(graph: &Graph<'_>, problems: &mut Vec<Problem>) {
    /// Where a search has been.
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; graph.system.components.len()];
    for start in 0..marks.len() {
        if marks[start] != Mark::New {
            continue;
        }
        // The path, each with the edges that are left to follow.
        let next = |place: usize| {
            graph
                .edges_of(place)
                .map(|edge| edge.to)
                .collect::<Vec<_>>()
        };
        let mut path = vec![(start, next(start))];
        marks[start] = Mark::Open;
        while let Some((place, left)) = path.last_mut() {
            let Some(to) = left.pop() else {
                marks[*place] = Mark::Done;
                path.pop();
                continue;
            };
            match marks[to] {
                Mark::New => {
                    marks[to] = Mark::Open;
                    path.push((to, next(to)));
                }
                Mark::Open => {
                    let begin = path.iter().position(|(place, _)| *place == to);
                    let circle = path[begin.unwrap_or(0)..].iter().map(|(place, _)| *place);
                    let names = circle
                        .chain([to])
                        .map(|place| &*graph.component(place).name);
                    let circle = names.collect::<Vec<_>>().join(" -> ");
                    problems.push(Problem::Circle { circle });
                }
                Mark::Done => {}
            }
        }
    }
}

/// The component that the file names, or the only one of the application that nothing requests.
fn total(graph: &Graph<'_>, problems: &mut Vec<Problem>) -> Option<usize> {
    let components = &graph.system.components;
    let named = |name: &str| components.iter().position(|one| one.name == name);
    if let Some(name) = &graph.system.total {
        let found = named(name);
        if found.is_none() {
            problems.push(Problem::NoTotal {
                found: format!("no component \"{name}\""),
                known: listed(components.iter().map(|one| &*one.name)),
            });
        }
        return found;
    }
    let is_requested = |place: &usize| graph.edges.iter().any(|edge| edge.to == *place);
    let first = (0..components.len())
        .filter(|place| components[*place].domain == Domain::Application && !is_requested(place));
    let first: Vec<_> = first.collect();
    match first[..] {
        [total] => Some(total),
        _ => {
            let names = first.iter().map(|place| &*components[*place].name);
            let names = listed(names);
            problems.push(Problem::NoTotal {
                found: format!("components of the application that nothing requests: {names}"),
                known: "one of them, or total = in [system]".into(),
            });
            None
        }
    }
}
