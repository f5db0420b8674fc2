//! Writes models as functions in Rust and C.
//!
//! Each model becomes one function of the parameters in its formulas that returns the predicted time, never below 0, and a
//! second one with `_deviation` behind its name that returns the standard deviation of one call. Where predictions
//! average over several formulas, the function returns their weighted median, which the file defines once.
//!
//! ```text
//! /// Predicted time of a call of flux.compute, seconds.
//! pub fn flux_compute(q: f64) -> f64         Rust
//! double flux_compute(double q)              C99, to be linked with -lm
//! ```

use std::fmt::Write as _;

use super::names::Names;
use super::node::Node;
use super::{range, title, unit};
use crate::formula::exponent::Exponent;
use crate::formula::sum::{Formula, Regime};
use crate::select::model::Model;

/// How a language is written.
pub(super) struct Syntax {
    /// The beginning of every file.
    head: &'static str,
    /// Source of the weighted median; included if predictions average over formulas.
    median: &'static str,
    comment: &'static str,
    is_rust: bool,
}

pub(super) const RUST: Syntax = Syntax {
    head: "// Predicted times of calls, seconds. Written by `mastermind fit --format rust`.\n",
    median: "
/// The median of (weight, value) by weight, the weights adding up to 1.
fn weighted_median(parts: &mut [(f64, f64)]) -> f64 {
    parts.sort_by(|a, b| a.1.total_cmp(&b.1));
    // Values that are not above 0 count only where all are so.
    let first = parts.partition_point(|part| part.1 <= 0.0) % parts.len();
    let parts = &parts[first..];
    let half = 0.5 * parts.iter().map(|part| part.0).sum::<f64>();
    let mut below = 0.0;
    for i in 0..parts.len() {
        let next = below + parts[i].0;
        if next >= half {
            return match parts.get(i + 1) {
                Some(above) if next == half => 0.5 * (parts[i].1 + above.1),
                _ => parts[i].1,
            };
        }
        below = next;
    }
    parts.last().map_or(0.0, |part| part.1)
}
",
    comment: "///",
    is_rust: true,
};

pub(super) const C: Syntax = Syntax {
    head: "/* Predicted times of calls, seconds. Written by `mastermind fit --format c`. C99; link with -lm. */\n\
           #include <math.h>\n",
    median: "
/* The median of {weight, value} by weight, the weights adding up to 1. */
static double weighted_median(double (*parts)[2], int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && parts[j][1] < parts[j - 1][1]; j--)
            for (int k = 0; k < 2; k++) {
                double swapped = parts[j][k];
                parts[j][k] = parts[j - 1][k];
                parts[j - 1][k] = swapped;
            }
    /* Values that are not above 0 count only where all are so. */
    int first = 0;
    while (first < n && parts[first][1] <= 0.0)
        first++;
    if (first == n)
        first = 0;
    double half = 0.0;
    for (int i = first; i < n; i++)
        half += parts[i][0];
    half *= 0.5;
    double below = 0.0;
    for (int i = first; i < n; i++) {
        double next = below + parts[i][0];
        if (next >= half)
            return next == half && i + 1 < n ? 0.5 * (parts[i][1] + parts[i + 1][1]) : parts[i][1];
        below = next;
    }
    return n > 0 ? parts[n - 1][1] : 0.0;
}
",
    comment: "//",
    is_rust: false,
};

/// A source file with the functions of all models.
pub(super) fn functions(models: &[Model], syntax: &Syntax) -> String {
    let mut text = match models.iter().all(|model| model.metric.is_time()) {
        true => syntax.head.to_owned(),
        false => syntax
            .head
            .replace("times of calls, seconds", "times and counts of calls"),
    };
    if models.iter().any(|model| !model.alternatives.is_empty()) {
        text += syntax.median;
    }
    let mut names = Names::default();
    for model in models {
        let name = names.make(&short_name(model));
        text += &value(model, &name, syntax);
        if let Some(sigma) = &model.sigma {
            let name = names.make(&format!("{name}_deviation"));
            text += &deviation(model, &name, sigma, syntax);
        }
    }
    text
}

/// Port and method, and the labels of the mode: `flux.compute axis x`.
fn short_name(model: &Model) -> String {
    let method = model.method.rsplit("::").next().unwrap_or(&model.method);
    let mode = model.mode.iter();
    let mode: Vec<_> = mode
        .map(|(name, label)| format!(" {name} {label}"))
        .collect();
    format!("{method}{}", mode.concat())
}

fn value(model: &Model, name: &str, syntax: &Syntax) -> String {
    let mut about = vec![format!(
        "Predicted {} of a call of {}, {}.",
        model.metric.quantity(),
        title(model),
        unit(model)
    )];
    let range = range(model);
    if !range.is_empty() {
        about.push(format!(
            "Measured for {range}; elsewhere it is extrapolated."
        ));
    }
    let formulas: Vec<(f64, Node)> = match model.alternatives.is_empty() {
        true => vec![(1.0, Node::of(&model.formula))],
        false => {
            let alternatives = model.alternatives.iter();
            alternatives
                .map(|a| (a.weight, Node::of(&a.formula)))
                .collect()
        }
    };
    function(model, name, &about, &formulas, syntax)
}

fn deviation(model: &Model, name: &str, sigma: &Formula, syntax: &Syntax) -> String {
    let about = format!(
        "Standard deviation of one call of {} about its {}, {}, within the measured range.",
        title(model),
        model.metric.quantity(),
        unit(model)
    );
    function(model, name, &[about], &[(1.0, Node::of(sigma))], syntax)
}

fn function(
    model: &Model,
    name: &str,
    about: &[String],
    formulas: &[(f64, Node)],
    syntax: &Syntax,
) -> String {
    let mut names = Names::default();
    let is_used = |param: &&String| {
        formulas
            .iter()
            .any(|(_, node)| node.params().contains(param.as_str()))
    };
    let params: Vec<(&str, String)> = model
        .params
        .iter()
        .filter(is_used)
        .map(|param| (param.as_str(), names.make(param)))
        .collect();
    let print = |node: &Node| {
        Printer {
            params: &params,
            is_rust: syntax.is_rust,
        }
        .bare(node)
    };
    let mut text = String::from("\n");
    for line in about {
        let line: String = line
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let _ = writeln!(text, "{} {line}", syntax.comment);
    }
    let arguments = params.iter().map(|(_, name)| match syntax.is_rust {
        true => format!("{name}: f64"),
        false => format!("double {name}"),
    });
    let arguments = arguments.collect::<Vec<_>>().join(", ");
    if syntax.is_rust {
        let _ = writeln!(text, "pub fn {name}({arguments}) -> f64 {{");
        if let [(_, node)] = formulas {
            let _ = writeln!(text, "    let value: f64 = {};", print(node));
        } else {
            text += "    let value = weighted_median(&mut [\n";
            for (weight, node) in formulas {
                let _ = writeln!(text, "        ({weight:?}, {}),", print(node));
            }
            text += "    ]);\n";
        }
        text += "    value.max(0.0)\n}\n";
    } else {
        let arguments = if arguments.is_empty() {
            "void"
        } else {
            &arguments
        };
        let _ = writeln!(text, "double {name}({arguments})\n{{");
        if let [(_, node)] = formulas {
            let _ = writeln!(text, "    double value = {};", print(node));
        } else {
            let n = formulas.len();
            let _ = writeln!(text, "    double parts[{n}][2] = {{");
            for (weight, node) in formulas {
                let _ = writeln!(text, "        {{{weight:?}, {}}},", print(node));
            }
            let _ = writeln!(
                text,
                "    }};\n    double value = weighted_median(parts, {n});"
            );
        }
        text += "    return value > 0.0 ? value : 0.0;\n}\n";
    }
    text
}

struct Printer<'a> {
    /// Parameters, each with its name in the function.
    params: &'a [(&'a str, String)],
    is_rust: bool,
}

impl Printer<'_> {
    /// A node as an operand.
    fn print(&self, node: &Node) -> String {
        match node {
            Node::Number(value) if *value < 0.0 => format!("({value:?})"),
            Node::Number(value) => format!("{value:?}"),
            Node::Param(param) => {
                let known = self.params.iter().find(|(name, _)| name == param);
                known.map_or_else(|| param.clone(), |(_, name)| name.clone())
            }
            Node::Sum(parts) => format!("({})", self.joined(parts, " + ")),
            Node::Product(parts) => format!("({})", self.joined(parts, " * ")),
            Node::Powi(base, power) if self.is_rust => {
                format!("{}.powi({power})", self.print(base))
            }
            Node::Powi(base, power) => format!("pow({}, {power}.0)", self.bare(base)),
            Node::Power(base, exponent) => {
                let exponent = match exponent {
                    Exponent::Fraction(above, below) => format!("{above}.0 / {below}.0"),
                    Exponent::Real(value) => format!("{value:?}"),
                };
                match self.is_rust {
                    true => format!("{}.powf({exponent})", self.print(base)),
                    false => format!("pow({}, {exponent})", self.bare(base)),
                }
            }
            Node::Minus(x) => format!("(-{})", self.print(x)),
            Node::Difference(pair) | Node::Quotient(pair) => format!("({})", self.pair(node, pair)),
            Node::Raised(pair) => match self.is_rust {
                true => format!(
                    "f64::powf({}, {})",
                    self.bare(&pair[0]),
                    self.bare(&pair[1])
                ),
                false => format!("pow({}, {})", self.bare(&pair[0]), self.bare(&pair[1])),
            },
            Node::Call(function, arguments) => {
                let arguments: Vec<_> = arguments.iter().map(|x| self.bare(x)).collect();
                format!("{}({})", self.function(function), arguments.join(", "))
            }
            Node::Within(regime, inner) => {
                let (within, inner) = (self.within(regime), self.bare(inner));
                match self.is_rust {
                    true => format!("(if {within} {{ {inner} }} else {{ 0.0 }})"),
                    false => format!("({within} ? {inner} : 0.0)"),
                }
            }
        }
    }

    fn pair(&self, node: &Node, [a, b]: &[Node; 2]) -> String {
        let operator = if matches!(node, Node::Quotient(_)) {
            "/"
        } else {
            "-"
        };
        format!("{} {operator} {}", self.print(a), self.print(b))
    }

    /// Name of a function of expressions in the language.
    fn function(&self, name: &str) -> String {
        match (self.is_rust, name) {
            (true, name) => format!("f64::{name}"),
            (false, "abs") => "fabs".into(),
            (false, "ln") => "log".into(),
            (false, "min") => "fmin".into(),
            (false, "max") => "fmax".into(),
            (false, name) => name.into(),
        }
    }

    fn within(&self, regime: &Regime) -> String {
        let x = self.print(&Node::Param(regime.param.to_string()));
        match (regime.from, regime.to) {
            (None, None) => format!("{x} == {x}"),
            (Some(from), None) => format!("{x} >= {from:?}"),
            (None, Some(to)) => format!("{x} < {to:?}"),
            (Some(from), Some(to)) if self.is_rust => format!("({from:?}..{to:?}).contains(&{x})"),
            (Some(from), Some(to)) => format!("{x} >= {from:?} && {x} < {to:?}"),
        }
    }

    /// A node without parentheses.
    fn bare(&self, node: &Node) -> String {
        match node {
            Node::Sum(parts) => self.joined(parts, " + "),
            Node::Product(parts) => self.joined(parts, " * "),
            Node::Difference(pair) | Node::Quotient(pair) => self.pair(node, pair),
            Node::Number(value) => format!("{value:?}"),
            _ => self.print(node),
        }
    }

    fn joined(&self, parts: &[Node], between: &str) -> String {
        let parts: Vec<_> = parts.iter().map(|part| self.print(part)).collect();
        parts.join(between)
    }
}
