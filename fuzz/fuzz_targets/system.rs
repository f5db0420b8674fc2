//! Any text as a system file: it is read or refused, and its requests are matched or not.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use mastermind_system::{
    Answer, Attributes, Comparison, Scope, ToolCall, ToolError, ToolMethod, Tools, compose,
    evaluate, read_system,
};

/// Tools that know no file.
struct NoFiles;

impl Tools for NoFiles {
    fn attributes(&self, _: &str) -> Result<Attributes, ToolError> {
        Ok(Attributes::new())
    }

    fn check(&self, _: &ToolMethod) -> Vec<ToolError> {
        Vec::new()
    }

    fn evaluate(&self, call: &ToolCall<'_>) -> Result<Answer, ToolError> {
        let value_s: f64 = call.numbers.values().sum();
        Ok(Answer {
            value_s,
            interval_s: Some([0.5 * value_s, f64::INFINITY]),
            notes: Vec::new(),
        })
    }
}

fuzz_target!(|input: &str| {
    let Ok(system) = read_system(input) else {
        return;
    };
    let scope = Scope::new(&system, BTreeMap::new());
    let (graph, problems) = compose(&system, &scope, &NoFiles);
    let _ = graph.unused();
    if problems.is_empty() {
        let _ = evaluate(&graph, &scope, &NoFiles, &BTreeMap::new(), Comparison::All);
    }
});
