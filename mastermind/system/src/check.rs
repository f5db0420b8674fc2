//! Whether the numbers of a component fit together: its requests' parameters, its formulas, its units, its tools.

use mastermind_programs::expression::Expression;

use crate::compose::{Edge, Graph, Protocol, keep};
use crate::formula::evaluate;
use crate::problem::Problem;
use crate::quantity::{Dimension, Quantity};
use crate::scope::{Locals, Scope, listed};
use crate::system::{MethodKind, QueueMethod, ToolMethod};
use crate::tools::Tools;

/// Checks the requests and methods of a component with numbers of the right units in place of those that only an evaluation has.
pub(crate) fn check_component(
    graph: &Graph<'_>,
    place: usize,
    scope: &Scope<'_>,
    tools: &dyn Tools,
    problems: &mut Vec<Problem>,
) {
    let component = graph.component(place);
    let name = &component.name;
    // A component that only has a profile is used for its attributes.
    let is_timed = graph.total == Some(place)
        || !component.accepts.is_empty()
        || graph
            .edges
            .iter()
            .any(|edge| edge.to == place && edge.protocol == Protocol::DataFlow);
    if component.methods.is_empty() && is_timed {
        let owner = name.clone();
        problems.push(Problem::NoMethod { owner });
    }
    let mut locals = Locals {
        scope,
        values: Default::default(),
        attributes: Default::default(),
    };
    for (parameter, unit) in &component.accepts {
        let at = format!("parameter \"{parameter}\" of \"{name}\"");
        if let Some(one) = keep(scope.unit(unit), at, problems) {
            locals.values.insert(parameter.clone(), one);
        }
    }
    for edge in graph.edges_of(place) {
        check_parameters(graph, edge, &locals, problems);
    }
    for edge in graph.edges_of(place) {
        if edge.protocol == Protocol::DataFlow {
            continue;
        }
        if locals.values.contains_key(&edge.request) {
            problems.push(Problem::TwoMeanings {
                name: edge.request.clone(),
                owner: name.clone(),
            });
        }
        // A wrong unit is reported with the component that has it.
        if !graph.component(edge.to).methods.is_empty()
            && let Ok(one) = scope.unit(&graph.component(edge.to).returns)
        {
            locals.values.insert(edge.request.clone(), one);
        }
        let attributes = &graph.attributes[edge.to];
        locals.attributes.insert(edge.request.clone(), attributes);
    }
    let at = format!("result of \"{name}\"");
    let Some(returns) = keep(scope.unit(&component.returns), at, problems) else {
        return;
    };
    for method in &component.methods {
        let at = format!("method \"{}\" of \"{name}\"", method.name);
        let is = |found: Option<Quantity>, expected: &Dimension, problems: &mut Vec<Problem>| {
            if let Some(found) = found.filter(|found| found.dimension != *expected) {
                problems.push(Problem::Units {
                    place: at.clone(),
                    found: found.dimension.to_string(),
                    expected: expected.to_string(),
                });
            }
        };
        let value = |formula: &Expression, problems: &mut Vec<Problem>| {
            keep(evaluate(formula, &locals), at.clone(), problems)
        };
        match &method.kind {
            MethodKind::Constant { value, interval } => {
                let ends = interval.iter().flatten();
                for given in [value].into_iter().chain(ends) {
                    let found = keep(scope.given(given), at.clone(), problems);
                    is(found, &returns.dimension, problems);
                }
            }
            MethodKind::Formula(formula) => {
                let found = value(formula, problems);
                is(found, &returns.dimension, problems);
            }
            MethodKind::Queue(queue) => {
                for (part, expected) in parts(queue) {
                    // A time may be written as 0.
                    if *part != Expression::Number(0.0) {
                        let found = value(part, problems);
                        is(found, &expected, problems);
                    }
                }
                is(Some(Quantity::seconds(1.0)), &returns.dimension, problems);
            }
            MethodKind::Tool(tool) => {
                for formula in tool.numbers.values() {
                    value(formula, problems);
                }
                let ranks = tool.ranks.as_ref().and_then(|ranks| value(ranks, problems));
                is(ranks, &Dimension::none(), problems);
                is(Some(Quantity::seconds(1.0)), &returns.dimension, problems);
                check_tool(graph, place, tool, &at, tools, problems);
            }
        }
    }
}

/// The formulas of a network, and the expected dimension of each.
fn parts(queue: &QueueMethod) -> Vec<(&Expression, Dimension)> {
    let mut parts = Vec::new();
    for [customers, think] in queue.classes.values() {
        parts.push((customers, Dimension::none()));
        parts.push((think, Dimension::time()));
    }
    for (servers, demands) in queue.stations.values() {
        parts.extend(servers.iter().map(|servers| (servers, Dimension::none())));
        parts.extend(demands.values().map(|demand| (demand, Dimension::time())));
    }
    parts
}

/// Checks that the parameters of a request are those that the component accepts.
fn check_parameters(
    graph: &Graph<'_>,
    edge: &Edge,
    locals: &Locals<'_>,
    problems: &mut Vec<Problem>,
) {
    let (owner, target) = (graph.component(edge.from), graph.component(edge.to));
    let requests = match edge.protocol {
        Protocol::CallReturn => &owner.requests,
        Protocol::DataFlow => &owner.then,
    };
    let Some(request) = requests.get(&edge.request) else {
        return;
    };
    let place = format!("request \"{}\" of \"{}\"", edge.request, owner.name);
    for (parameter, unit) in &target.accepts {
        let Some(formula) = request.with.get(parameter) else {
            problems.push(Problem::Missing {
                place: place.clone(),
                parameter: parameter.clone(),
                unit: unit.text.clone(),
                target: target.name.clone(),
            });
            continue;
        };
        let at = format!("{parameter} of {place}");
        let found = keep(evaluate(formula, locals), at.clone(), problems);
        let expected = locals.scope.unit(unit).ok();
        if let (Some(found), Some(expected)) = (found, expected)
            && found.dimension != expected.dimension
        {
            problems.push(Problem::Units {
                place: at,
                found: found.dimension.to_string(),
                expected: format!("{} of \"{}\"", expected.dimension, target.name),
            });
        }
    }
    let foreign = request
        .with
        .keys()
        .filter(|name| !target.accepts.contains_key(*name));
    for parameter in foreign {
        problems.push(Problem::Unaccepted {
            place: place.clone(),
            parameter: parameter.clone(),
            target: target.name.clone(),
            known: listed(target.accepts.keys().map(String::as_str)),
        });
    }
}

fn check_tool(
    graph: &Graph<'_>,
    place: usize,
    method: &ToolMethod,
    at: &str,
    tools: &dyn Tools,
    problems: &mut Vec<Problem>,
) {
    for source in tools.check(method) {
        let place = at.to_owned();
        problems.push(Problem::Tool { place, source });
    }
    let Some(on) = &method.on else {
        return;
    };
    let component = graph.component(place);
    let edge = graph.edges_of(place).find(|edge| edge.request == *on);
    let found = match edge {
        Some(edge) if graph.machine_below(edge.to).is_some() => return,
        Some(edge) => format!(
            "neither \"{}\" nor what it runs on has a machine",
            graph.component(edge.to).name
        ),
        // The request is there, and its own problem was reported.
        None if component.requests.contains_key(on) => return,
        None => format!("no request \"{on}\""),
    };
    problems.push(Problem::NoMachine {
        place: at.to_owned(),
        found,
    });
}
