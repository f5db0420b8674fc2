//! Formulas as LaTeX equations.

use std::fmt::Write as _;

use super::node::Node;
use super::{range, time, title};
use crate::formula::{Exponent, Formula};
use crate::model::Model;

/// An equation for the time of each model, and one for its deviation.
pub(super) fn equations(models: &[Model]) -> String {
    let mut text = String::new();
    for model in models {
        let _ = writeln!(text, "% {} of {}", time(model), plain(&title(model)));
        for coefficient in &model.coefficients {
            let error = coefficient
                .std_error
                .map_or_else(String::new, |e| format!(" +- {e:.2e}"));
            let (name, unit) = (plain(&coefficient.name), plain(&coefficient.unit));
            let _ = writeln!(text, "% {name} = {:.6e}{error} {unit}", coefficient.value);
        }
        let range = plain(&range(model));
        if !range.is_empty() {
            let _ = writeln!(text, "% {range}");
        }
        text += &equation("T", model, &model.formula);
        if let Some(sigma) = &model.sigma {
            text += &equation("\\sigma", model, sigma);
        }
        text.push('\n');
    }
    text
}

/// A text within a comment: one line.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn equation(symbol: &str, model: &Model, formula: &Formula) -> String {
    let node = Node::of(formula);
    let params = node.params();
    let params: Vec<_> = model
        .params
        .iter()
        .filter(|p| params.contains(p.as_str()))
        .collect();
    let arguments: Vec<_> = params.iter().map(|param| symbol_of(param)).collect();
    let arguments = match arguments.is_empty() {
        true => String::new(),
        false => format!("({})", arguments.join(", ")),
    };
    let labels: Vec<_> = model.mode.values().map(|label| upright(label)).collect();
    let index = match labels.is_empty() {
        true => String::new(),
        false => format!("_{{{}}}", labels.join(",")),
    };
    let ranges = params.iter().filter_map(|param| {
        let [low, high] = model.range.get(*param)?;
        Some(format!(
            "{} \\le {} \\le {}",
            number(*low),
            symbol_of(param),
            number(*high)
        ))
    });
    let ranges: Vec<_> = ranges.collect();
    let ranges = match ranges.is_empty() {
        true => String::new(),
        false => format!(",\\qquad {}", ranges.join(",\\; ")),
    };
    let value = print(&node);
    format!(
        "\\begin{{equation}}\n  {symbol}{index}{arguments} = {value}\\;\\mathrm{{s}}{ranges}\n\\end{{equation}}\n"
    )
}

/// A parameter: one letter in italics, a word upright.
fn symbol_of(param: &str) -> String {
    if param.chars().count() == 1 && param.chars().all(char::is_alphabetic) {
        return param.into();
    }
    upright(param)
}

fn upright(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped += "\\backslash ",
            '^' | '~' => {
                let _ = write!(escaped, "\\{c}{{}}");
            }
            '_' | '%' | '&' | '#' | '$' | '{' | '}' => {
                let _ = write!(escaped, "\\{c}");
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    format!("\\mathrm{{{escaped}}}")
}

fn print(node: &Node) -> String {
    match node {
        Node::Number(value) => number(*value),
        Node::Param(param) => symbol_of(param),
        Node::Sum(parts) => {
            let mut text = String::new();
            for (i, part) in parts.iter().enumerate() {
                let printed = print(part);
                match (i, printed.strip_prefix('-')) {
                    (0, _) => text += &printed,
                    (_, Some(rest)) => text += &format!(" - {rest}"),
                    (_, None) => text += &format!(" + {printed}"),
                }
            }
            text
        }
        Node::Product(parts) => {
            let parts = parts.iter().map(|part| match part {
                Node::Sum(_) => format!("\\left({}\\right)", print(part)),
                _ => print(part),
            });
            parts.collect::<Vec<_>>().join("\\,")
        }
        Node::Powi(base, power) => match &**base {
            Node::Log2(x) => format!("\\log_2^{{{power}}} {}", print(x)),
            base => format!("{}^{{{power}}}", print(base)),
        },
        Node::Power(base, Exponent::Real(value)) => {
            format!("{}^{{{}}}", print(base), number(*value))
        }
        Node::Power(base, Exponent::Fraction(above, below)) => {
            format!("{}^{{{above}/{below}}}", print(base))
        }
        Node::Log2(x) => format!("\\log_2 {}", print(x)),
    }
}

/// A number to six digits: `0.25`, `1.5\times 10^{-6}`.
fn number(value: f64) -> String {
    let short = crate::formula::short(value);
    match short.split_once('e') {
        Some(("1", power)) => format!("10^{{{power}}}"),
        Some(("-1", power)) => format!("-10^{{{power}}}"),
        Some((mantissa, power)) => format!("{mantissa}\\times 10^{{{power}}}"),
        None => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Factor, Term};

    #[test]
    fn formulas_as_a_paper_sets_them() {
        let factor = |exponent, log_exponent| Factor {
            param: "n_cells".into(),
            exponent,
            log_exponent,
        };
        let term = |coefficient, factors| Term {
            coefficient,
            factors,
        };
        let formula = Formula {
            constant: 1.5e-6,
            terms: vec![
                term(-2e-9, vec![factor(Exponent::Fraction(3, 2), 1)]),
                term(0.25, vec![factor(Exponent::Fraction(1, 1), 2)]),
            ],
        };
        assert_eq!(
            print(&Node::of(&formula)),
            "1.5\\times 10^{-6} - 2\\times 10^{-9}\\,\\mathrm{n\\_cells}^{3/2}\\,\\log_2 \\mathrm{n\\_cells} \
             + 0.25\\,\\mathrm{n\\_cells}\\,\\log_2^{2} \\mathrm{n\\_cells}"
        );
    }
}
