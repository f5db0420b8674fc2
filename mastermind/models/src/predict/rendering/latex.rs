//! Formulas as LaTeX equations.

use std::fmt::Write as _;

use super::node::Node;
use super::{range, title};
use crate::formula::exponent::Exponent;
use crate::formula::sum::{Formula, Regime};
use crate::select::model::Model;

/// An equation for the time of each model, and one for its deviation.
pub(super) fn equations(models: &[Model]) -> String {
    let mut text = String::new();
    for model in models {
        let _ = writeln!(
            text,
            "% {} of {}",
            plain(&model.metric.quantity()),
            plain(&title(model))
        );
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

/// A text for a comment, on one line.
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
    let unit = match model.metric.unit() {
        "" => String::new(),
        unit => format!("\\;{}", upright(unit)),
    };
    format!(
        "\\begin{{equation}}\n  {symbol}{index}{arguments} = {value}{unit}{ranges}\n\\end{{equation}}\n"
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
            let parts = parts.iter().map(factor);
            parts.collect::<Vec<_>>().join("\\,")
        }
        Node::Minus(x) => format!("-{}", factor(x)),
        Node::Difference(pair) => format!("{} - {}", print(&pair[0]), factor(&pair[1])),
        Node::Quotient(pair) => format!("\\frac{{{}}}{{{}}}", print(&pair[0]), print(&pair[1])),
        Node::Powi(base, power) => match &**base {
            Node::Call("log2", x) => format!(
                "\\log_2^{{{power}}} {}",
                x.iter().map(factor).collect::<String>()
            ),
            base => format!("{}^{{{power}}}", factor(base)),
        },
        Node::Power(base, Exponent::Real(value)) => {
            format!("{}^{{{}}}", factor(base), number(*value))
        }
        Node::Power(base, Exponent::Fraction(above, below)) => {
            format!("{}^{{{above}/{below}}}", factor(base))
        }
        Node::Raised(pair) => format!("{}^{{{}}}", factor(&pair[0]), print(&pair[1])),
        Node::Call(name, arguments) => call(name, arguments),
        Node::Within(regime, inner) => {
            format!("{}\\,\\left[{}\\right]", factor(inner), within(regime))
        }
    }
}

/// A node as a factor or below a power: in parentheses if it is a sum.
fn factor(node: &Node) -> String {
    match node {
        Node::Sum(_) | Node::Difference(_) | Node::Minus(_) => {
            format!("\\left({}\\right)", print(node))
        }
        _ => print(node),
    }
}

fn call(name: &str, arguments: &[Node]) -> String {
    let all = arguments.iter().map(print).collect::<Vec<_>>().join(", ");
    match name {
        "abs" => format!("\\left|{all}\\right|"),
        "ceil" => format!("\\left\\lceil {all} \\right\\rceil"),
        "floor" => format!("\\left\\lfloor {all} \\right\\rfloor"),
        "sqrt" => format!("\\sqrt{{{all}}}"),
        "exp" => format!("e^{{{all}}}"),
        "log2" => format!(
            "\\log_2 {}",
            arguments.iter().map(factor).collect::<String>()
        ),
        "log10" => format!(
            "\\log_{{10}} {}",
            arguments.iter().map(factor).collect::<String>()
        ),
        "ln" => format!("\\ln {}", arguments.iter().map(factor).collect::<String>()),
        name => format!("\\{name}\\left({all}\\right)"),
    }
}

/// The condition of a regime, in Iverson's brackets: 1 where it holds, else 0.
fn within(regime: &Regime) -> String {
    let x = symbol_of(&regime.param);
    match (regime.from, regime.to) {
        (None, None) => x,
        (Some(from), None) => format!("{x} \\ge {}", number(from)),
        (None, Some(to)) => format!("{x} < {}", number(to)),
        (Some(from), Some(to)) => format!("{} \\le {x} < {}", number(from), number(to)),
    }
}

/// A number to six digits: `0.25`, `1.5\times 10^{-6}`.
fn number(value: f64) -> String {
    let short = crate::formula::sum::short(value);
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
    use crate::formula::sum::{Factor, Term};

    #[test]
    fn formulas_as_a_paper_sets_them() {
        let factor = |exponent, log_exponent| Factor::new("n_cells", exponent, log_exponent);
        let formula = Formula::new(
            1.5e-6,
            vec![
                Term::new(-2e-9, vec![factor(Exponent::Fraction(3, 2), 1)]),
                Term::new(0.25, vec![factor(Exponent::Fraction(1, 1), 2)]),
            ],
        );
        assert_eq!(
            print(&Node::of(&formula)),
            "1.5\\times 10^{-6} - 2\\times 10^{-9}\\,\\mathrm{n\\_cells}^{3/2}\\,\\log_2 \\mathrm{n\\_cells} \
             + 0.25\\,\\mathrm{n\\_cells}\\,\\log_2^{2} \\mathrm{n\\_cells}"
        );
    }
}
