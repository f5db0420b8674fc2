//! Globals, locals and cost functions, as sections of a note.
//!
//! ```text
//! <<globals>>
//! GV = 0
//! double P = 0
//! <<functions>>
//! F_A1() = us(P)
//! ```

use std::collections::BTreeMap;

use super::collect::{Collected, Subject};
use super::words::expression;
use mastermind_programs::expression::{CostFunction, Expression};
use mastermind_programs::{Rule, Variable};

/// Names of types that may precede a variable.
const TYPES: [&str; 12] = [
    "int", "long", "double", "float", "bool", "integer", "real", "boolean", "number", "unsigned",
    "global", "local",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Globals,
    Locals,
    Functions,
}

/// Contents of the sections.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    pub(crate) globals: Vec<Variable>,
    pub(crate) locals: Vec<Variable>,
    pub(crate) functions: BTreeMap<String, CostFunction>,
    now: Option<Section>,
}

impl Sections {
    /// Whether they contain anything.
    pub(crate) fn declare(&self) -> bool {
        !(self.globals.is_empty() && self.locals.is_empty() && self.functions.is_empty())
    }

    /// Begins a note: no section is open.
    pub(crate) fn begin(&mut self) {
        self.now = None;
    }

    /// Reads a line; returns whether it opens a section or is in one.
    pub(crate) fn line(&mut self, line: &str, place: Subject<'_>, out: &mut Collected) -> bool {
        let line = line.trim();
        let opened = match line.to_ascii_lowercase().replace(' ', "").as_str() {
            "<<globals>>" | "«globals»" => Some(Section::Globals),
            "<<locals>>" | "«locals»" => Some(Section::Locals),
            "<<functions>>" | "«functions»" => Some(Section::Functions),
            _ => None,
        };
        if opened.is_some() {
            self.now = opened;
            return true;
        }
        let Some(section) = self.now else {
            return false;
        };
        let line = line.trim_end_matches(';');
        if !line.is_empty() {
            self.entry(section, line, place, out);
        }
        true
    }

    fn entry(&mut self, section: Section, line: &str, place: Subject<'_>, out: &mut Collected) {
        let (left, right) = match line.split_once('=') {
            Some((left, right)) if !right.starts_with('=') => (left.trim(), right),
            _ if section != Section::Functions => (line, "0"),
            _ => {
                let reason =
                    format!("\"{line}\" is no cost function, expected name(…) = expression");
                out.find(Rule::Annotation, place, reason);
                return;
            }
        };
        let value = expression(right, place, out);
        if section == Section::Functions {
            self.function(left, value, place, out);
            return;
        }
        let mut words = left.split_whitespace().peekable();
        while let Some(word) = words.peek() {
            if !TYPES.contains(&word.to_ascii_lowercase().as_str()) {
                break;
            }
            words.next();
        }
        match (words.next(), words.next()) {
            (Some(name), None) if is_name(name) => {
                let name = name.to_owned();
                let list = if section == Section::Globals {
                    &mut self.globals
                } else {
                    &mut self.locals
                };
                list.push(Variable { name, value });
            }
            _ => {
                let reason = format!("\"{left}\" is no variable, expected name = expression");
                out.find(Rule::Annotation, place, reason);
            }
        }
    }

    fn function(&mut self, left: &str, value: Expression, place: Subject<'_>, out: &mut Collected) {
        let (name, parameters) = match left.split_once('(') {
            Some((name, rest)) => (name.trim(), rest.trim().strip_suffix(')')),
            None => (left, Some("")),
        };
        let names = parameters.map(|parameters| {
            let names = parameters.split(',').map(str::trim);
            names.filter(|name| !name.is_empty()).collect::<Vec<_>>()
        });
        match names {
            Some(names) if is_name(name) && names.iter().all(|name| is_name(name)) => {
                let parameters = names.into_iter().map(str::to_owned).collect();
                let function = CostFunction { parameters, value };
                if self.functions.insert(name.to_owned(), function).is_some() {
                    let reason = format!("cost function \"{name}\" is there twice, expected once");
                    out.find(Rule::Annotation, place, reason);
                }
            }
            _ => {
                let reason =
                    format!("\"{left}\" is no cost function, expected name(…) = expression");
                out.find(Rule::Annotation, place, reason);
            }
        }
    }
}

/// Whether a text can name a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
