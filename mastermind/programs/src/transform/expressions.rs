//! Expressions of a model as Rust.
//!
//! `convert` writes a model as a Rust program that a person may go on editing, so expressions keep
//! their form: a cost function stays a function, a variable a variable, and brackets appear where
//! Rust's precedence needs them. Rust is typed and the language of models is not, so the kind of
//! each expression is inferred first, and operators that Rust lacks or defines differently become
//! functions of the generated crate.
//!
//! ```text
//! n % p           modulo(n, p)                  floors, as models do; Rust's % truncates
//! n ^ 2           f64::powf(n, 2.0)
//! cost(n)         cost(p, g, n)                 p: the recorder, g: the globals
//! fitted model    fitted(&MODELS, "sort", &[], &[("n", n)])
//! chance(0.1)     refused: only a simulation draws it
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::TransformError;
use crate::Variable;
use crate::expression::{
    Argument, Binary, Builtin, Contention, CostFunction, Expression, Kind, Unary,
};

/// What a name of a model is in the generated Rust: its text, and whether it is a number or a truth
/// value.
#[derive(Debug, Clone)]
pub(super) struct Symbol {
    pub(super) rust: String,
    pub(super) kind: Kind,
}

impl Symbol {
    pub(super) fn new(rust: String, kind: Kind) -> Self {
        Self { rust, kind }
    }
}

/// Names and their Rust forms.
pub(super) type Scope = BTreeMap<String, Symbol>;

type Functions = BTreeMap<String, CostFunction>;

/// The properties of the system: fields of the recorder.
pub(super) fn system() -> Scope {
    let fields = [
        ("process", "process"),
        ("pid", "process"),
        ("thread", "thread"),
        ("tid", "thread"),
        ("threads", "threads"),
        ("node", "node"),
        ("nid", "node"),
        ("processes", "processes"),
        ("nodes", "nodes"),
        ("processors", "processors"),
        ("none", "none"),
        ("any", "any"),
    ];
    let symbol = |field: &str| Symbol::new(format!("p.{field}"), Kind::Number);
    let fields = fields.map(|(name, field)| (name.to_owned(), symbol(field)));
    fields.into_iter().collect()
}

pub(super) fn rust_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "f64",
        Kind::Truth => "bool",
    }
}

/// Variables in an order in which each first value knows those that it names.
pub(super) fn ordered<'a>(variables: &'a [Variable], functions: &Functions) -> Vec<&'a Variable> {
    let mut left: Vec<&Variable> = variables.iter().collect();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let open: BTreeSet<&str> = left.iter().map(|variable| variable.name.as_str()).collect();
        let (ready, later): (Vec<_>, Vec<_>) = left.iter().partition(|variable| {
            let mut names = BTreeSet::new();
            collect(&variable.value, functions, 0, &mut names);
            names.iter().all(|name| !open.contains(name.as_str()))
        });
        if ready.is_empty() {
            // A circle, which a sound model does not have.
            ordered.extend(later);
            return ordered;
        }
        ordered.extend(ready);
        left = later;
    }
    ordered
}

/// The names in an expression, including those of its cost functions.
fn collect(text: &Expression, functions: &Functions, depth: usize, names: &mut BTreeSet<String>) {
    match text {
        Expression::Number(_) | Expression::Truth(_) => {}
        Expression::Name(name) => drop(names.insert(name.clone())),
        Expression::Unary(_, x) => collect(x, functions, depth, names),
        Expression::Binary(_, a, b) => {
            collect(a, functions, depth, names);
            collect(b, functions, depth, names);
        }
        Expression::Choice(parts) => {
            parts
                .iter()
                .for_each(|part| collect(part, functions, depth, names));
        }
        Expression::Call(name, arguments) => {
            arguments
                .iter()
                .for_each(|part| collect(part, functions, depth, names));
            // Sound models do not go round.
            if let Some(function) = functions.get(name).filter(|_| depth < 64) {
                let mut inside = BTreeSet::new();
                collect(&function.value, functions, depth + 1, &mut inside);
                // Names of parameters are the function's own, not variables.
                inside.retain(|name| !function.parameters.contains(name));
                names.extend(inside);
            }
        }
        Expression::Fitted(_, arguments) => {
            for (_, argument) in arguments {
                if let Argument::Value(value) = argument {
                    collect(value, functions, depth, names);
                }
            }
        }
    }
}

/// Whether an expression is a number or a truth value.
pub(super) fn kind(
    text: &Expression,
    scope: &Scope,
    functions: &Functions,
) -> Result<Kind, TransformError> {
    Ok(match text {
        Expression::Number(_) | Expression::Unary(Unary::Minus, _) | Expression::Fitted(..) => {
            Kind::Number
        }
        Expression::Truth(_) | Expression::Unary(Unary::Not, _) => Kind::Truth,
        Expression::Name(name) => scope.get(name).map_or(Kind::Number, |symbol| symbol.kind),
        Expression::Binary(operator, ..) => match operator {
            Binary::Add
            | Binary::Subtract
            | Binary::Multiply
            | Binary::Divide
            | Binary::Modulo
            | Binary::Power => Kind::Number,
            _ => Kind::Truth,
        },
        Expression::Choice(parts) => kind(&parts[1], scope, functions)?,
        Expression::Call(name, _) if name == crate::CHANCE => Kind::Truth,
        Expression::Call(name, arguments) => {
            let Some(function) = functions.get(name) else {
                return Ok(Kind::Number);
            };
            let mut inside = scope.clone();
            for (parameter, argument) in function.parameters.iter().zip(arguments) {
                if kind(argument, scope, functions)? == Kind::Truth {
                    return Err(TransformError::Expression {
                        expression: text.to_string(),
                        found: "a truth value as an argument",
                        expected: "numbers alone",
                    });
                }
                let symbol = Symbol::new(String::new(), Kind::Number);
                inside.insert(parameter.clone(), symbol);
            }
            kind(&function.value, &inside, functions)?
        }
    })
}

/// An expression as Rust; `function` gives the name of a cost function.
pub(super) fn rust(
    text: &Expression,
    scope: &Scope,
    function: &dyn Fn(&str) -> Option<String>,
) -> Result<String, TransformError> {
    let inner = |text: &Expression| operand(text, scope, function);
    Ok(match text {
        Expression::Number(number) => format!("{number:?}"),
        Expression::Truth(truth) => truth.to_string(),
        Expression::Name(name) => match scope.get(name) {
            Some(symbol) => symbol.rust.clone(),
            None => name.clone(),
        },
        Expression::Unary(Unary::Minus, x) => format!("-{}", inner(x)?),
        Expression::Unary(Unary::Not, x) => format!("!{}", inner(x)?),
        Expression::Binary(Binary::Modulo, a, b) => {
            format!(
                "modulo({}, {})",
                rust(a, scope, function)?,
                rust(b, scope, function)?
            )
        }
        Expression::Binary(Binary::Power, a, b) => {
            format!(
                "f64::powf({}, {})",
                rust(a, scope, function)?,
                rust(b, scope, function)?
            )
        }
        Expression::Binary(operator, a, b) => {
            format!("{} {} {}", inner(a)?, operator.symbol(), inner(b)?)
        }
        Expression::Choice(parts) => format!(
            "if {} {{ {} }} else {{ {} }}",
            rust(&parts[0], scope, function)?,
            rust(&parts[1], scope, function)?,
            rust(&parts[2], scope, function)?
        ),
        Expression::Call(name, _) if name == crate::CHANCE => {
            return Err(TransformError::Expression {
                expression: text.to_string(),
                found: "a condition that holds with a probability",
                expected: "one that can be evaluated; simulate draws it",
            });
        }
        Expression::Call(name, arguments) => {
            let values = arguments
                .iter()
                .map(|argument| rust(argument, scope, function));
            let values = values.collect::<Result<Vec<_>, _>>()?.join(", ");
            match function(name) {
                Some(rust) if values.is_empty() => format!("{rust}(p, g)"),
                Some(rust) => format!("{rust}(p, g, {values})"),
                None => format!("{}({values})", builtin(name)),
            }
        }
        Expression::Fitted(method, arguments) => {
            let (mut labels, mut values) = (Vec::new(), Vec::new());
            for (name, argument) in arguments {
                match argument {
                    Argument::Label(label) => labels.push(format!("({name:?}, {label:?})")),
                    Argument::Value(value) => {
                        values.push(format!("({name:?}, {})", rust(value, scope, function)?));
                    }
                }
            }
            let (labels, values) = (labels.join(", "), values.join(", "));
            format!("fitted(&MODELS, {method:?}, &[{labels}], &[{values}])")
        }
    })
}

fn operand(
    text: &Expression,
    scope: &Scope,
    function: &dyn Fn(&str) -> Option<String>,
) -> Result<String, TransformError> {
    let rust = rust(text, scope, function)?;
    Ok(match text {
        Expression::Binary(Binary::Modulo | Binary::Power, ..) => rust,
        Expression::Binary(..) | Expression::Choice(_) | Expression::Unary(..) => {
            format!("({rust})")
        }
        _ => rust,
    })
}

/// A built-in function as a path of Rust.
fn builtin(name: &str) -> String {
    if Contention::named(name).is_some() {
        return name.to_owned();
    }
    match Builtin::named(name) {
        Some((
            Builtin::Div | Builtin::Xor | Builtin::Bits | Builtin::Ms | Builtin::Us | Builtin::Ns,
            _,
        )) => name.to_owned(),
        _ => format!("f64::{name}"),
    }
}
