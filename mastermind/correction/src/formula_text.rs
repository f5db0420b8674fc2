//! Corrected models as text: built as an expression, simplified, and printed with no more brackets
//! than needed.
//!
//! A correction is found as a tree over columns of numbers and reported as a formula. Translated
//! node by node, that formula would be full of `1*x`, `x + 0` and `|n|`. The constructors here
//! ([`add`], [`multiply`], [`power`], …) therefore simplify on the spot: they fold numbers, gather
//! factors in front, and join powers of one base. There is no pass over a finished expression, so
//! an expression must be built by them to become short.
//!
//! ```text
//! multiply(number(2.0), multiply(name("n"), number(3.0)))    6*n
//! multiply(name("n"), power(name("n"), number(0.5)))         n^1.5
//! add(number(0.0), name("n"))                                n
//! magnitude(name("n"))                                       n, not abs(n)
//! ```
//!
//! The rules hold for positive names only, as sizes and counts are: `n^a * n^b` becomes `n^(a+b)`,
//! and `(n^a)^b` becomes `n^(a*b)`. [`exact`] prints every digit, for formulas that are read and
//! evaluated again; [`shown`] prints four, for people.

use mastermind_models::expression::{Binary, Expression, Unary};

/// Digits of the numbers of a displayed formula; a formula for calculation has all.
const SHOWN_DIGITS: usize = 4;

/// A number.
pub fn number(value: f64) -> Expression {
    Expression::Number(value)
}

/// A name.
pub fn name(text: &str) -> Expression {
    Expression::Name(text.to_owned())
}

/// A function of one or two arguments.
pub fn call(function: &str, arguments: Vec<Expression>) -> Expression {
    if let [Expression::Number(a)] = arguments[..]
        && let Some(f) = mastermind_models::function(function, 1)
    {
        return number(f(a, 0.0));
    }
    Expression::Call(function.to_owned(), arguments)
}

/// `a + b`, simplified.
pub fn add(a: Expression, b: Expression) -> Expression {
    match (&a, &b) {
        (Expression::Number(x), Expression::Number(y)) => number(x + y),
        (Expression::Number(0.0), _) => b,
        (_, Expression::Number(0.0)) => a,
        _ => binary(Binary::Add, a, b),
    }
}

/// `a - b`, simplified.
pub fn subtract(a: Expression, b: Expression) -> Expression {
    match (&a, &b) {
        (Expression::Number(x), Expression::Number(y)) => number(x - y),
        (_, Expression::Number(y)) => add(number(-y), a),
        _ if a == b => number(0.0),
        _ => binary(Binary::Subtract, a, b),
    }
}

/// `a * b`, simplified; factors that are numbers are gathered in front.
pub fn multiply(a: Expression, b: Expression) -> Expression {
    let ((x, a), (y, b)) = (factored(a), factored(b));
    let rest = match (a, b) {
        (None, None) => return number(x * y),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(a), Some(b)) if a == b => power(a, number(2.0)),
        (Some(a), Some(b)) => match (split_power(a), split_power(b)) {
            ((a, p), (b, q)) if a == b => power(a, number(p + q)),
            ((a, p), (b, q)) => binary(Binary::Multiply, power(a, number(p)), power(b, number(q))),
        },
    };
    in_front(x * y, rest)
}

/// `a / b`, simplified.
pub fn divide(a: Expression, b: Expression) -> Expression {
    let ((x, a), (y, b)) = (factored(a), factored(b));
    let rest = match (a, b) {
        (None, None) => return number(x / y),
        (Some(a), None) => a,
        (None, Some(b)) => return in_front_of_quotient(x / y, b),
        (Some(a), Some(b)) if a == b => return number(x / y),
        (Some(a), Some(b)) => binary(Binary::Divide, a, b),
    };
    in_front(x / y, rest)
}

/// `a ^ b`, simplified: a product of a positive number and a name is split.
pub fn power(a: Expression, b: Expression) -> Expression {
    match (&a, &b) {
        (Expression::Number(x), Expression::Number(y)) => number(x.powf(*y)),
        (_, Expression::Number(1.0)) => a,
        (_, Expression::Number(0.0)) => number(1.0),
        (Expression::Binary(Binary::Multiply, parts, rest), Expression::Number(y)) if matches!(**parts, Expression::Number(x) if x > 0.0) =>
        {
            let factor = match **parts {
                Expression::Number(x) => x.powf(*y),
                _ => 1.0,
            };
            in_front(factor, power((**rest).clone(), b))
        }
        (Expression::Binary(Binary::Power, base, inner), Expression::Number(y)) => match **inner {
            Expression::Number(x) if is_positive(base) => power((**base).clone(), number(x * y)),
            _ => binary(Binary::Power, a, b),
        },
        _ => binary(Binary::Power, a, b),
    }
}

/// Whether an expression is above 0 for all positive inputs.
pub fn is_positive(expression: &Expression) -> bool {
    match expression {
        Expression::Number(value) => *value > 0.0,
        Expression::Name(_) => true,
        Expression::Binary(Binary::Add | Binary::Multiply | Binary::Divide, a, b) => {
            is_positive(a) && is_positive(b)
        }
        Expression::Binary(Binary::Power, a, _) => is_positive(a),
        Expression::Call(function, arguments) => match function.as_str() {
            "exp" => true,
            "sqrt" | "abs" => is_positive(&arguments[0]),
            "max" => arguments.iter().any(is_positive),
            "min" => arguments.iter().all(is_positive),
            _ => false,
        },
        _ => false,
    }
}

/// `|a|`, or `a` if it is never negative.
pub fn magnitude(a: Expression) -> Expression {
    // `max(0, …)`, the form of a threshold, is never negative, but may be 0: `is_positive` denies
    // it.
    let is_ramp = matches!(&a, Expression::Call(function, arguments) if function == "max" && arguments[0] == number(0.0));
    match is_ramp || is_positive(&a) {
        true => a,
        false => call("abs", vec![a]),
    }
}

fn binary(operator: Binary, a: Expression, b: Expression) -> Expression {
    Expression::Binary(operator, Box::new(a), Box::new(b))
}

/// A factor and the rest.
fn factored(expression: Expression) -> (f64, Option<Expression>) {
    match expression {
        Expression::Number(value) => (value, None),
        Expression::Binary(Binary::Multiply, a, b) => match *a {
            Expression::Number(value) => (value, Some(*b)),
            a => (1.0, Some(binary(Binary::Multiply, a, *b))),
        },
        Expression::Binary(Binary::Divide, a, b) => match *a {
            Expression::Number(value) if value != 1.0 => {
                (value, Some(binary(Binary::Divide, number(1.0), *b)))
            }
            a => (1.0, Some(binary(Binary::Divide, a, *b))),
        },
        other => (1.0, Some(other)),
    }
}

/// A base and its fixed exponent.
fn split_power(expression: Expression) -> (Expression, f64) {
    match expression {
        Expression::Binary(Binary::Power, a, b) => match *b {
            Expression::Number(exponent) => (*a, exponent),
            b => (binary(Binary::Power, *a, b), 1.0),
        },
        other => (other, 1.0),
    }
}

fn in_front(factor: f64, rest: Expression) -> Expression {
    if factor == 1.0 {
        return rest;
    }
    if factor == 0.0 {
        return number(0.0);
    }
    match rest {
        Expression::Binary(Binary::Divide, a, b) if *a == Expression::Number(1.0) => {
            binary(Binary::Divide, number(factor), *b)
        }
        rest => binary(Binary::Multiply, number(factor), rest),
    }
}

fn in_front_of_quotient(factor: f64, divisor: Expression) -> Expression {
    binary(Binary::Divide, number(factor), divisor)
}

/// The text of an expression, numbers to the last digit.
pub fn exact(expression: &Expression) -> String {
    let mut text = String::new();
    write(expression, 0, &|x| format!("{x:?}"), &mut text);
    text
}

/// The text of an expression for people: numbers to four digits.
pub fn shown(expression: &Expression) -> String {
    let mut text = String::new();
    write(expression, 0, &short, &mut text);
    text
}

/// A number to four digits, in the shorter notation.
pub fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.*e}", SHOWN_DIGITS - 1)
        .parse()
        .unwrap_or(value);
    let (plain, scientific) = (format!("{rounded}"), format!("{rounded:e}"));
    match plain.len() <= scientific.len() + 1 {
        true => plain,
        false => scientific,
    }
}

/// How tightly an operator binds.
fn strength(operator: Binary) -> u8 {
    match operator {
        Binary::Add | Binary::Subtract => 1,
        Binary::Multiply | Binary::Divide => 2,
        _ => 4,
    }
}

/// Writes an expression in brackets where `least` binds tighter than it.
fn write(expression: &Expression, least: u8, digits: &dyn Fn(f64) -> String, text: &mut String) {
    match expression {
        Expression::Number(value) if *value < 0.0 && least > 0 => {
            *text += &format!("({})", digits(*value));
        }
        Expression::Number(value) => *text += &digits(*value),
        Expression::Name(name) => *text += name,
        Expression::Unary(Unary::Minus, x) => {
            text.push_str("(-");
            write(x, 3, digits, text);
            text.push(')');
        }
        Expression::Binary(operator, a, b) => {
            let own = strength(*operator);
            if own < least {
                text.push('(');
            }
            let is_power = *operator == Binary::Power;
            write(a, if is_power { own + 1 } else { own }, digits, text);
            let (symbol, b_shown) = match (operator, &**b) {
                // `a + -3` is `a - 3`.
                (Binary::Add, Expression::Number(x)) if *x < 0.0 => ("-", number(-x)),
                _ => (operator.symbol(), (**b).clone()),
            };
            match own {
                1 => *text += &format!(" {symbol} "),
                _ => *text += symbol,
            }
            // `a - (b - c)` and `a/(b/c)` need their brackets, `a + (b + c)` and `a*(b*c)` do not.
            let right = match operator {
                Binary::Add => own,
                Binary::Multiply => own,
                _ => own + 1,
            };
            write(&b_shown, right, digits, text);
            if own < least {
                text.push(')');
            }
        }
        Expression::Call(name, arguments) => {
            *text += name;
            text.push('(');
            for (i, argument) in arguments.iter().enumerate() {
                *text += if i > 0 { ", " } else { "" };
                write(argument, 0, digits, text);
            }
            text.push(')');
        }
        // A formula has no other nodes; their own text is right in any case.
        other => *text += &other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mastermind_models::Arithmetic;
    use mastermind_models::expression::parse;

    #[test]
    fn brackets_and_simplifications() {
        let x = || name("x");
        let cases = [
            (multiply(number(2.0), multiply(number(3.0), x())), "6*x"),
            (power(divide(x(), number(4.0)), number(2.0)), "0.0625*x^2"),
            (add(x(), number(-3.0)), "x - 3"),
            (subtract(x(), add(x(), number(1.0))), "x - (x + 1)"),
            (
                divide(x(), multiply(x(), add(x(), number(2.0)))),
                "x/(x*(x + 2))",
            ),
            (divide(number(2.0), x()), "2/x"),
            (power(number(-2.0), x()), "(-2)^x"),
            (
                multiply(power(x(), number(0.5)), power(x(), number(1.5))),
                "x^2",
            ),
            (multiply(x(), x()), "x^2"),
            (magnitude(subtract(x(), name("y"))), "abs(x - y)"),
        ];
        for (expression, text) in cases {
            assert_eq!(shown(&expression), text);
        }
    }

    #[test]
    fn what_is_written_means_the_same() {
        for text in [
            "a - (b - c)",
            "a/(b/c)",
            "(a^b)^c",
            "a^b^c",
            "-a^2 + b",
            "a*(-b) - -c",
            "-(a + b)*c",
        ] {
            let value = |text: &str| {
                let number = |name: &str| {
                    Some(match name {
                        "a" => 1.7,
                        "b" => 0.6,
                        _ => 2.3,
                    })
                };
                Arithmetic::parse(text).unwrap().evaluate(&number).unwrap()
            };
            let again = exact(&parse(text).unwrap());
            assert_eq!(value(text), value(&again), "{text} as {again}");
        }
    }
}
