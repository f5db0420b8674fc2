//! The derivative of a formula by one of its unknowns, as a formula of the inputs.
//!
//! A fit with a missing term biases its unknowns, and its residuals then correlate with the slopes; so a term takes the
//! slopes as inputs in addition to those of the formula.

use std::collections::BTreeMap;

use mastermind_models::expression::{Binary, Expression, Unary};

use crate::formula_text::{add, call, divide, multiply, number, power, subtract};

/// The derivative of an expression by a name, with the values of the other names inserted where they have one.
///
/// # Returns
/// `None` where a function of the name has no derivative that is known here.
pub fn slope(
    expression: &Expression,
    by: &str,
    values: &BTreeMap<&str, f64>,
) -> Option<Expression> {
    let others = |name: &str| values.get(name).copied().filter(|_| name != by);
    let derived = derived(&with_values(expression, &others), by)?;
    Some(with_values(&derived, &|name| values.get(name).copied()))
}

/// The expression with values in the place of names, simplified.
fn with_values(expression: &Expression, value: &dyn Fn(&str) -> Option<f64>) -> Expression {
    let of = |part: &Expression| with_values(part, value);
    match expression {
        Expression::Name(name) => value(name).map_or_else(|| expression.clone(), number),
        Expression::Unary(Unary::Minus, x) => multiply(number(-1.0), of(x)),
        Expression::Binary(operator, a, b) => match operator {
            Binary::Add => add(of(a), of(b)),
            Binary::Subtract => subtract(of(a), of(b)),
            Binary::Multiply => multiply(of(a), of(b)),
            Binary::Divide => divide(of(a), of(b)),
            Binary::Power => power(of(a), of(b)),
            _ => Expression::Binary(*operator, Box::new(of(a)), Box::new(of(b))),
        },
        Expression::Call(function, arguments) => call(function, arguments.iter().map(of).collect()),
        other => other.clone(),
    }
}

fn has_name(expression: &Expression, name: &str) -> bool {
    match expression {
        Expression::Number(_) => false,
        Expression::Name(known) => known == name,
        Expression::Unary(_, x) => has_name(x, name),
        Expression::Binary(_, a, b) => has_name(a, name) || has_name(b, name),
        Expression::Call(_, arguments) => arguments.iter().any(|x| has_name(x, name)),
        _ => true,
    }
}

fn derived(expression: &Expression, by: &str) -> Option<Expression> {
    if !has_name(expression, by) {
        return Some(number(0.0));
    }
    match expression {
        Expression::Name(_) => Some(number(1.0)),
        Expression::Unary(Unary::Minus, x) => Some(multiply(number(-1.0), derived(x, by)?)),
        Expression::Binary(operator, a, b) => of_binary(*operator, a, b, by),
        Expression::Call(function, arguments) => {
            let [x] = &arguments[..] else {
                return None;
            };
            let inner = derived(x, by)?;
            match function.as_str() {
                "exp" => Some(multiply(expression.clone(), inner)),
                "ln" | "log" => Some(divide(inner, x.clone())),
                "sqrt" => Some(divide(multiply(number(0.5), inner), expression.clone())),
                _ => None,
            }
        }
        _ => None,
    }
}

fn of_binary(operator: Binary, a: &Expression, b: &Expression, by: &str) -> Option<Expression> {
    let (da, db) = (derived(a, by)?, derived(b, by)?);
    let is_zero = |x: &Expression| matches!(x, Expression::Number(0.0));
    let product = |x: &Expression, y: &Expression| match is_zero(x) || is_zero(y) {
        true => number(0.0),
        false => multiply(x.clone(), y.clone()),
    };
    match operator {
        Binary::Add => Some(add(da, db)),
        Binary::Subtract => Some(subtract(da, db)),
        Binary::Multiply => Some(add(product(&da, b), product(a, &db))),
        Binary::Divide => {
            let above = subtract(product(&da, b), product(a, &db));
            let below = power(b.clone(), number(2.0));
            Some(match is_zero(&db) {
                true => divide(da, b.clone()),
                false => divide(above, below),
            })
        }
        Binary::Power if is_zero(&db) => {
            let lower = power(a.clone(), subtract(b.clone(), number(1.0)));
            Some(product(&multiply(b.clone(), lower), &da))
        }
        Binary::Power if is_zero(&da) => {
            let whole = power(a.clone(), b.clone());
            let logarithm = call("ln", vec![a.clone()]);
            Some(product(&multiply(whole, logarithm), &db))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mastermind_models::Arithmetic;
    use mastermind_models::expression::parse;

    #[test]
    fn slopes_are_those_of_differences() {
        let values = BTreeMap::from([("x", 3.0), ("y", 40.0), ("a", 2.0), ("b", 0.7)]);
        let at = |text: &str, name: &str, value: f64| {
            let mut moved: BTreeMap<&str, f64> = values.clone();
            moved.insert(name, value);
            Arithmetic::parse(text)
                .unwrap()
                .evaluate(&|name: &str| moved.get(name).copied())
                .unwrap()
        };
        for text in [
            "4965*(a*x^2/y + (y-1)^b*(a + 2*a*x/y^2))",
            "(x/(y*a) + b)*y^b - a/(x - b*y)",
            "sqrt(a*x) + ln(b*y + a)*exp(-a*b) + 3",
        ] {
            for name in ["a", "b"] {
                let found = slope(&parse(text).unwrap(), name, &values).unwrap();
                let step = 1e-5 * values[name];
                let [above, below] = [step, -step].map(|s| at(text, name, values[name] + s));
                let exact = (above - below) / (2.0 * step);
                let Expression::Number(found) = found else {
                    panic!("{found:?}");
                };
                assert!(
                    (found / exact - 1.0).abs() < 1e-7,
                    "{text} by {name}: {found} {exact}"
                );
            }
        }
        assert_eq!(slope(&parse("max(a, x)").unwrap(), "a", &values), None);
        assert_eq!(
            slope(&parse("x^2").unwrap(), "a", &values),
            Some(number(0.0))
        );
    }
}
