//! The integration tests of this crate, a subject a file.

mod composed;
mod evaluated;
mod properties;

use std::collections::BTreeMap;

use mastermind_system::{
    Answer, Attributes, Comparison, Evaluation, Given, Graph, Problem, Quantity, Scope, System,
    ToolCall, ToolError, ToolMethod, Tools, compose, evaluate, read_given, read_system,
};

/// Tools without files: a machine with a latency; every call takes the sum of its numbers, give or take a tenth.
struct Sums;

impl Tools for Sums {
    fn attributes(&self, machine: &str) -> Result<Attributes, ToolError> {
        match machine {
            "m.toml" => Ok(BTreeMap::from([(
                "latency".into(),
                Quantity::seconds(1e-6),
            )])),
            other => Err(format!("no machine {other}").into()),
        }
    }

    fn check(&self, method: &ToolMethod) -> Vec<ToolError> {
        match &*method.subject {
            "missing" => vec!["no such file".into()],
            _ => Vec::new(),
        }
    }

    fn evaluate(&self, call: &ToolCall<'_>) -> Result<Answer, ToolError> {
        let value_s: f64 = call.numbers.values().sum();
        let upper_s = match &*call.method.subject {
            "open" => f64::INFINITY,
            _ => 1.1 * value_s,
        };
        Ok(Answer {
            value_s,
            interval_s: Some([0.9 * value_s, upper_s]),
            notes: Vec::new(),
        })
    }
}

fn system(text: &str) -> System {
    read_system(&format!("[system]\nname = \"test\"\n{text}")).expect("a system")
}

fn problems(text: &str) -> Vec<Problem> {
    let system = system(text);
    let scope = Scope::new(&system, BTreeMap::new());
    compose(&system, &scope, &Sums).1
}

fn with_graph<T>(
    text: &str,
    set: &[(&str, &str)],
    use_it: impl FnOnce(&Graph<'_>, &Scope<'_>) -> T,
) -> T {
    let system = system(text);
    let set = set.iter().map(|(name, value)| {
        let given: Given = read_given(name, value).expect("a value");
        ((*name).to_owned(), given)
    });
    let scope = Scope::new(&system, set.collect());
    let (graph, problems) = compose(&system, &scope, &Sums);
    assert!(problems.is_empty(), "{problems:?}");
    use_it(&graph, &scope)
}

fn evaluated(text: &str, set: &[(&str, &str)], comparison: Comparison) -> Evaluation {
    with_graph(text, set, |graph, scope| {
        evaluate(graph, scope, &Sums, &BTreeMap::new(), comparison).expect("a value")
    })
}
