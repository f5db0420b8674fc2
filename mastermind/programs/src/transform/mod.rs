//! A model as readable Rust source: globals, cost functions, declarations of elements, their flow.
//!
//! The source uses [`crate::record`]: each process's code writes down its operations, and the
//! engine runs those, with the result of the model itself.
//!
//! # Source
//! S. Pllana et al., "Towards an Environment for Performance Modeling", Figures 5 and 8: the order of the
//! transformation and the shape of its result, Rust for the paper's C++.

mod expressions;
mod flow;
mod names;

use std::fmt::Write as _;

use mastermind_models::ModelSet;

use crate::expression::{Expression, Kind};
use crate::{Finding, LowerError, Model, Program, System, Variable, lower};
use expressions::{Scope, Symbol};
use names::Names;

/// A model that has no Rust form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// The model is not sound.
    #[error(transparent)]
    Unsound(#[from] LowerError),
    /// An element has no Rust form.
    #[error(
        "cannot transform element \"{element}\" of \"{place}\" to Rust: {found}, expected {expected}"
    )]
    Element {
        /// The element.
        element: String,
        /// The activity, and the enclosing elements.
        place: String,
        /// Its value.
        found: &'static str,
        /// The allowed values.
        expected: &'static str,
    },
    /// An expression has no Rust form.
    #[error("cannot transform expression \"{expression}\" to Rust: {found}, expected {expected}")]
    Expression {
        /// The expression.
        expression: String,
        /// Its value.
        found: &'static str,
        /// The allowed values.
        expected: &'static str,
    },
}

/// Rust source of a program that is the model: `main` takes a machine file and a number of processes.
///
/// # Arguments
/// * `models` - fitted models that its costs may name; if there are any, the source reads them, as
///   [`ModelSet::to_json`] writes them, from `models.json` next to it
///
/// # Errors
/// [`TransformError`]: the model is not sound, or has a part that only a simulation can evaluate.
pub fn transform(model: &Model, models: &ModelSet) -> Result<String, TransformError> {
    // The elements, in the order that every system gives them.
    let program = lower(model, models, System::any_of(model))?;
    let mut writer = Writer::new(model, &program);
    writer.head(!models.models.is_empty());
    writer.globals()?;
    writer.functions()?;
    writer.declarations();
    writer.activities()?;
    writer.main();
    Ok(writer.text)
}

/// State of the source being written.
struct Writer<'a> {
    model: &'a Model,
    program: &'a Program,
    text: String,
    /// Depth of blocks.
    depth: usize,
    /// Meanings of globals and properties of the system.
    globals: Scope,
    names: Names,
    elements: Vec<String>,
    structures: Vec<String>,
    locks: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(model: &'a Model, program: &'a Program) -> Self {
        let mut constants = Names::constants();
        let mut declared = |infos: &[crate::ElementInfo]| {
            let names = infos.iter().map(|info| constants.give(&info.name));
            names.collect::<Vec<_>>()
        };
        let (elements, structures) = (declared(&program.elements), declared(&program.structures));
        let mut names = Names::functions();
        for name in model.functions.keys() {
            names.give(name);
        }
        Self {
            model,
            program,
            text: String::new(),
            depth: 0,
            globals: expressions::system(),
            names,
            elements,
            structures,
            locks: Vec::new(),
        }
    }

    /// Writes a line at the present depth.
    fn line(&mut self, line: &str) {
        if !line.is_empty() {
            let _ = write!(self.text, "{:1$}", "", 4 * self.depth);
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    fn close(&mut self, line: &str) {
        self.depth -= 1;
        self.line(line);
    }

    fn head(&mut self, has_models: bool) {
        let name = &self.model.name.replace(['\n', '\r'], " ");
        self.line(&format!(
            "//! The program model \"{name}\" as Rust, written from the model: each process's code writes down what"
        ));
        self.line("//! it does, and the engine runs that.");
        self.line("");
        self.line(
            "#![allow(unused, clippy::all, reason = \"the source has all that a model may use\")]",
        );
        self.line("");
        if has_models {
            self.line("use std::sync::LazyLock;");
            self.line("");
        }
        self.line("use mastermind_programs::record::*;");
        self.line("use mastermind_programs::{Program, System};");
        self.line("use mastermind_simulation::engine::simulate;");
        self.line("use mastermind_simulation::machine::read_machine;");
        self.line("");
        if has_models {
            self.line("// Fitted models");
            self.line("");
            self.line("static MODELS: LazyLock<FittedModels> = LazyLock::new(|| FittedModels::read(include_str!(\"models.json\")));");
            self.line("");
        }
    }

    fn globals(&mut self) -> Result<(), TransformError> {
        let model = self.model;
        let mut fields = Names::variables();
        let globals: Vec<(&Variable, String)> = model
            .globals
            .iter()
            .map(|global| (global, fields.give(&global.name)))
            .collect();
        let ordered = expressions::ordered(&model.globals, &model.functions);
        // Types first: an initial value may name any other global.
        for variable in &ordered {
            let kind = self.kind(&variable.value, &self.globals.clone())?;
            let field = globals
                .iter()
                .find(|(global, _)| global.name == variable.name);
            let Some((_, field)) = field else { continue };
            let symbol = Symbol::new(format!("g.{field}"), kind);
            self.globals.insert(variable.name.clone(), symbol);
        }
        self.line("// Globals");
        self.line("");
        self.line("#[derive(Clone, Copy, Default)]");
        self.open("struct Globals {");
        for (global, field) in &globals {
            let kind = self
                .globals
                .get(&global.name)
                .map_or(Kind::Number, |s| s.kind);
            self.line(&format!("{field}: {},", expressions::rust_kind(kind)));
        }
        self.close("}");
        self.line("");
        self.open("fn globals(p: &Recorder) -> Globals {");
        self.line("let mut globals = Globals::default();");
        self.line("let g = &mut globals;");
        for variable in ordered {
            let value = self.expression(&variable.value, &self.globals.clone())?;
            let place = &self.globals[&variable.name].rust;
            self.line(&format!("{place} = {value};"));
        }
        self.line("globals");
        self.close("}");
        self.line("");
        Ok(())
    }

    fn functions(&mut self) -> Result<(), TransformError> {
        let model = self.model;
        if model.functions.is_empty() {
            return Ok(());
        }
        self.line("// Cost functions");
        self.line("");
        for (name, function) in &model.functions {
            let mut scope = self.globals.clone();
            let mut parameters = Names::variables();
            let mut list = String::new();
            for parameter in &function.parameters {
                let rust = parameters.give(parameter);
                let _ = write!(list, ", {rust}: f64");
                scope.insert(parameter.clone(), Symbol::new(rust, Kind::Number));
            }
            let kind = expressions::rust_kind(self.kind(&function.value, &scope)?);
            let value = self.expression(&function.value, &scope)?;
            let rust = self.names.of(name);
            self.open(&format!(
                "fn {rust}(p: &Recorder, g: &Globals{list}) -> {kind} {{"
            ));
            self.line(&value);
            self.close("}");
            self.line("");
        }
        Ok(())
    }

    fn declarations(&mut self) {
        self.line("// Elements");
        self.line("");
        let program = self.program;
        let tables = [
            (
                "ELEMENTS",
                "Element",
                &program.elements,
                self.elements.clone(),
            ),
            (
                "STRUCTURES",
                "Structure",
                &program.structures,
                self.structures.clone(),
            ),
        ];
        for (table, kind, infos, names) in tables {
            for (at, name) in names.iter().enumerate() {
                self.line(&format!("const {name}: {kind} = {kind}({at});"));
            }
            self.open(&format!("const {table}: &[Declared] = &["));
            for info in infos {
                self.line(&format!(
                    "({:?}, {:?}, {:?}),",
                    info.name, info.place, info.kind
                ));
            }
            self.close("];");
            self.line("");
        }
    }

    fn activities(&mut self) -> Result<(), TransformError> {
        let model = self.model;
        self.line("// Program");
        self.line("");
        let mut names = Names::activities();
        for name in model.activities.keys() {
            names.give(name);
        }
        for (name, activity) in &model.activities {
            let rust = names.of(name);
            self.open(&format!("fn {rust}(p: &mut Recorder, g: &mut Globals) {{"));
            let mut scope = self.globals.clone();
            let mut variables = Names::variables();
            for variable in expressions::ordered(&activity.locals, &model.functions) {
                let kind = self.kind(&variable.value, &scope)?;
                let value = self.expression(&variable.value, &scope)?;
                let local = variables.give(&variable.name);
                self.line(&format!("let mut {local} = {value};"));
                scope.insert(variable.name.clone(), Symbol::new(local, kind));
            }
            let mut flow = flow::Flow {
                place: name.clone(),
                activities: &names,
                variables,
            };
            self.flow(&activity.flow, &scope, &mut flow)?;
            self.close("}");
            self.line("");
        }
        let main = names.of(&model.main);
        let name = &model.name;
        self.line("/// The program of the model for one system.");
        self.open("pub fn program(system: System) -> Program {");
        self.open(&format!(
            "record({name:?}, (ELEMENTS, STRUCTURES), system, |p| {{"
        ));
        self.line("let mut g = globals(p);");
        self.line(&format!("{main}(p, &mut g);"));
        self.close("})");
        self.close("}");
        self.line("");
        Ok(())
    }

    fn main(&mut self) {
        let check = self.model.ranks.as_ref().map_or_else(String::new, |ranks| {
            let condition = match (&ranks.recorded[..], ranks.most) {
                ([run], None) => format!("processes != {run}"),
                (recorded, None) => format!("!{recorded:?}.contains(&processes)"),
                (recorded, Some(most)) => {
                    let is_power = if ranks.powers_of_two { " || !processes.is_power_of_two()" } else { "" };
                    format!("!({}..={most}).contains(&processes){is_power}", recorded[0])
                }
            };
            let run = if ranks.recorded.len() == 1 { "in the recorded run" } else { "the recorded runs allow" };
            format!(
                "    if {condition} {{\n        return Err(format!(\"{{processes}} processes, expected {ranks} as {run}\").into());\n    }}\n"
            )
        });
        self.text.push_str(&MAIN.replace(CHECK_OF_RANKS, &check));
    }

    fn kind(&self, expression: &Expression, scope: &Scope) -> Result<Kind, TransformError> {
        expressions::kind(expression, scope, &self.model.functions)
    }

    fn expression(&self, text: &Expression, scope: &Scope) -> Result<String, TransformError> {
        let functions = &self.model.functions;
        expressions::rust(text, scope, &|name| {
            functions.contains_key(name).then(|| self.names.of(name))
        })
    }
}

/// The error's findings, for the messages of a verb.
impl TransformError {
    /// The findings of the checker, if it is those.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Unsound(error) => &error.findings,
            Self::Element { .. } | Self::Expression { .. } => &[],
        }
    }
}

/// `main` of every source.
const MAIN: &str = include_str!("main.rs.txt");

/// Line of [`MAIN`] that a check of the number of processes replaces.
const CHECK_OF_RANKS: &str = "@CHECK_OF_RANKS@\n";
