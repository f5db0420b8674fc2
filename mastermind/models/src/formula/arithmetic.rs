//! The part of the expression language in which a user writes a cost: its value and its derivatives.
//!
//! It has numbers, names, `+ - * / ^`, and the functions abs floor ceil sqrt exp ln log2 log10 (of one argument), min and max (of two).
//! Conditions and fitted models, which only simulated programs have, are refused.

use std::collections::BTreeSet;

use crate::formula::expression::{self, Binary, Expression, SyntaxError, Unary};

/// A function of one or two numbers: its name, its value, and its derivatives by each argument.
pub(crate) type Function = (
    &'static str,
    usize,
    fn(f64, f64) -> f64,
    fn(f64, f64) -> [f64; 2],
);

/// The functions. The derivative of step functions (floor, ceil) is 0.
pub(crate) const FUNCTIONS: [Function; 10] = [
    ("abs", 1, |a, _| a.abs(), |a, _| [a.signum(), 0.0]),
    ("floor", 1, |a, _| a.floor(), |_, _| [0.0, 0.0]),
    ("ceil", 1, |a, _| a.ceil(), |_, _| [0.0, 0.0]),
    ("sqrt", 1, |a, _| a.sqrt(), |a, _| [0.5 / a.sqrt(), 0.0]),
    ("exp", 1, |a, _| a.exp(), |a, _| [a.exp(), 0.0]),
    ("ln", 1, |a, _| a.ln(), |a, _| [1.0 / a, 0.0]),
    (
        "log2",
        1,
        |a, _| a.log2(),
        |a, _| [1.0 / (a * std::f64::consts::LN_2), 0.0],
    ),
    (
        "log10",
        1,
        |a, _| a.log10(),
        |a, _| [1.0 / (a * std::f64::consts::LN_10), 0.0],
    ),
    ("min", 2, f64::min, |a, b| {
        if a <= b { [1.0, 0.0] } else { [0.0, 1.0] }
    }),
    ("max", 2, f64::max, |a, b| {
        if a >= b { [1.0, 0.0] } else { [0.0, 1.0] }
    }),
];

/// The function with this name and number of arguments, 1 or 2; a function of one argument ignores the second.
pub fn function(name: &str, n_arguments: usize) -> Option<fn(f64, f64) -> f64> {
    let named = |(known, n, ..): &&Function| *known == name && *n == n_arguments;
    FUNCTIONS.iter().find(named).map(|(_, _, value, _)| *value)
}

/// An operator between its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Number(f64),
    Name(String),
    Minus(Box<Node>),
    Binary(Operator, Box<[Node; 2]>),
    /// Index into [`FUNCTIONS`] and the arguments.
    Call(usize, Vec<Node>),
}

/// Arithmetic over named numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Arithmetic {
    root: Node,
}

/// Error of a text that is not arithmetic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArithmeticError {
    /// It does not follow the grammar of expressions.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// It is an expression with a part that has no derivative or no meaning here.
    #[error(
        "cannot use \"{part}\" in a formula: {found}, expected numbers, names, + - * / ^ and the functions {}",
        signatures()
    )]
    Foreign {
        /// The part, with its operands in brackets.
        part: String,
        /// Description of the part.
        found: &'static str,
    },
}

/// `abs(a), …, min(a, b), max(a, b)`.
fn signatures() -> String {
    let one = |(name, n, ..): &Function| format!("{name}({})", ["a", "a, b"][n - 1]);
    FUNCTIONS.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl Arithmetic {
    /// Reads a formula.
    ///
    /// # Errors
    /// [`ArithmeticError`] with the place or part that is wrong.
    pub fn parse(text: &str) -> Result<Self, ArithmeticError> {
        let root = Node::of(&expression::parse(text)?)?;
        Ok(Self { root })
    }

    /// The root of the expression tree.
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// The names in it.
    pub fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.root.names(&mut names);
        names
    }

    /// The value; not finite where a function has none.
    ///
    /// # Errors
    /// The name that `number` does not give.
    pub fn evaluate(&self, number: &dyn Fn(&str) -> Option<f64>) -> Result<f64, &str> {
        self.root.value(number)
    }

    /// The value, and its derivatives by `unknowns`, shape `[n_unknowns]`.
    ///
    /// # Errors
    /// The name that `number` does not give.
    pub fn gradient(
        &self,
        number: &dyn Fn(&str) -> Option<f64>,
        unknowns: &[&str],
    ) -> Result<(f64, Vec<f64>), &str> {
        self.root.dual(number, unknowns)
    }
}

impl Node {
    fn of(part: &Expression) -> Result<Self, ArithmeticError> {
        let foreign = |found| {
            let part = part.to_string();
            Err(ArithmeticError::Foreign { part, found })
        };
        match part {
            Expression::Number(value) => Ok(Self::Number(*value)),
            Expression::Name(name) => Ok(Self::Name(name.clone())),
            Expression::Unary(Unary::Minus, x) => Ok(Self::Minus(Box::new(Self::of(x)?))),
            Expression::Binary(operator, a, b) => match Operator::of(*operator) {
                Some(operator) => {
                    let operands = Box::new([Self::of(a)?, Self::of(b)?]);
                    Ok(Self::Binary(operator, operands))
                }
                None => foreign("an operator that only simulated programs have"),
            },
            Expression::Call(name, arguments) => {
                let named = |(known, n, ..): &Function| known == name && *n == arguments.len();
                let Some(function) = FUNCTIONS.iter().position(named) else {
                    return foreign("no function of that many arguments");
                };
                let arguments = arguments.iter().map(Self::of).collect::<Result<_, _>>()?;
                Ok(Self::Call(function, arguments))
            }
            Expression::Truth(_) | Expression::Unary(Unary::Not, _) | Expression::Choice(_) => {
                foreign("a condition")
            }
            Expression::Fitted(..) => foreign("a fitted model"),
        }
    }

    fn names<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => {
                names.insert(name);
            }
            Self::Minus(x) => x.names(names),
            Self::Binary(_, operands) => operands.iter().for_each(|x| x.names(names)),
            Self::Call(_, arguments) => arguments.iter().for_each(|x| x.names(names)),
        }
    }

    fn value(&self, number: &dyn Fn(&str) -> Option<f64>) -> Result<f64, &str> {
        Ok(match self {
            Self::Number(value) => *value,
            Self::Name(name) => number(name).ok_or(name.as_str())?,
            Self::Minus(x) => -x.value(number)?,
            Self::Binary(operator, operands) => {
                operator.apply(operands[0].value(number)?, operands[1].value(number)?)
            }
            Self::Call(function, arguments) => {
                let second = arguments.get(1).map_or(Ok(0.0), |x| x.value(number))?;
                FUNCTIONS[*function].2(arguments[0].value(number)?, second)
            }
        })
    }

    fn dual(
        &self,
        number: &dyn Fn(&str) -> Option<f64>,
        unknowns: &[&str],
    ) -> Result<(f64, Vec<f64>), &str> {
        let chain = |a: &[f64], da: f64, b: &[f64], db: f64| -> Vec<f64> {
            // An operand that does not depend on an unknown adds nothing, even if its slope is infinite.
            let part = |x: f64, slope: f64| if x == 0.0 { 0.0 } else { x * slope };
            let pairs = a.iter().zip(b);
            pairs.map(|(a, b)| part(*a, da) + part(*b, db)).collect()
        };
        let none = || vec![0.0; unknowns.len()];
        Ok(match self {
            Self::Number(value) => (*value, none()),
            Self::Name(name) => {
                let slopes = unknowns.iter().map(|u| f64::from(u8::from(u == name)));
                (number(name).ok_or(name.as_str())?, slopes.collect())
            }
            Self::Minus(x) => {
                let (value, slopes) = x.dual(number, unknowns)?;
                (-value, slopes.into_iter().map(|s| -s).collect())
            }
            Self::Binary(operator, operands) => {
                let (a, slopes_a) = operands[0].dual(number, unknowns)?;
                let (b, slopes_b) = operands[1].dual(number, unknowns)?;
                let [da, db] = operator.slopes(a, b);
                (operator.apply(a, b), chain(&slopes_a, da, &slopes_b, db))
            }
            Self::Call(function, arguments) => {
                let (a, slopes_a) = arguments[0].dual(number, unknowns)?;
                let second = arguments.get(1).map(|x| x.dual(number, unknowns));
                let (b, slopes_b) = second.unwrap_or_else(|| Ok((0.0, none())))?;
                let [da, db] = FUNCTIONS[*function].3(a, b);
                let value = FUNCTIONS[*function].2(a, b);
                (value, chain(&slopes_a, da, &slopes_b, db))
            }
        })
    }
}

impl Operator {
    fn of(operator: Binary) -> Option<Self> {
        Some(match operator {
            Binary::Add => Self::Add,
            Binary::Subtract => Self::Subtract,
            Binary::Multiply => Self::Multiply,
            Binary::Divide => Self::Divide,
            Binary::Power => Self::Power,
            _ => return None,
        })
    }

    fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Power => a.powf(b),
        }
    }

    fn slopes(self, a: f64, b: f64) -> [f64; 2] {
        match self {
            Self::Add => [1.0, 1.0],
            Self::Subtract => [1.0, -1.0],
            Self::Multiply => [b, a],
            Self::Divide => [1.0 / b, -a / (b * b)],
            // 0^b is 0 for all b above 0.
            Self::Power if a == 0.0 && b > 0.0 => [b * a.powf(b - 1.0), 0.0],
            Self::Power => [b * a.powf(b - 1.0), a.powf(b) * a.ln()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let number = |name: &str| (name == "x").then_some(3.0);
        Arithmetic::parse(text).unwrap().evaluate(&number).unwrap()
    }

    #[test]
    fn operators_bind_as_in_school() {
        assert_eq!(value("1 + 2*x^2 - 4/2"), 17.0);
        assert_eq!(value("-x^2"), -9.0);
        assert_eq!(value("2^-x^2 * 512"), 1.0);
        assert_eq!(value(" max(x, 1e1) - min(x,(2)) + ceil(x/2) "), 10.0);
        let text = Arithmetic::parse("1 - 2 - x^2^3 + exp(-x)").unwrap();
        assert_eq!(text.names().into_iter().collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let text = "a*exp(-b*x) + x^b/a + log2(a*x)*sqrt(b) - min(a, b)*abs(-a) + ln(b) + log10(a)";
        let expression = Arithmetic::parse(text).unwrap();
        let at = |a: f64, b: f64| {
            let number = move |name: &str| {
                Some(match name {
                    "a" => a,
                    "b" => b,
                    _ => 1.7,
                })
            };
            expression.gradient(&number, &["a", "b"]).unwrap()
        };
        let (h, (_, slopes)) = (1e-6, at(1.3, 2.1));
        let by_a = (at(1.3 + h, 2.1).0 - at(1.3 - h, 2.1).0) / (2.0 * h);
        let by_b = (at(1.3, 2.1 + h).0 - at(1.3, 2.1 - h).0) / (2.0 * h);
        assert!((slopes[0] - by_a).abs() < 1e-7 && (slopes[1] - by_b).abs() < 1e-7);
    }

    /// `(np - 1)^h` on one processor.
    #[test]
    fn a_power_of_zero_does_not_change_with_its_exponent() {
        let expression = Arithmetic::parse("a + (x - 3)^h").unwrap();
        let number = |name: &str| Some(if name == "x" { 3.0 } else { 1.2 });
        let slopes = expression.gradient(&number, &["a", "h"]).unwrap();
        assert_eq!(slopes, (1.2, vec![1.0, 0.0]));
    }

    #[test]
    fn functions_are_found_by_name_and_arguments() {
        let value = |name, n| function(name, n).map(|f| f(4.0, 7.0));
        assert_eq!((value("sqrt", 1), value("min", 2)), (Some(2.0), Some(4.0)));
        assert_eq!((value("sqrt", 2), value("sin", 1)), (None, None));
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let message = |text: &str| Arithmetic::parse(text).unwrap_err().to_string();
        assert_eq!(
            message("a * (b + "),
            "cannot read expression \"a * (b + \": nothing fits at character 10, \
             expected an operator, or the end"
        );
        assert_eq!(
            message("1 + sin(x)"),
            "cannot use \"sin(x)\" in a formula: no function of that many arguments, expected numbers, \
             names, + - * / ^ and the functions abs(a), floor(a), ceil(a), sqrt(a), exp(a), ln(a), \
             log2(a), log10(a), min(a, b), max(a, b)"
        );
        for text in [
            "",
            "a b",
            "sin(x)",
            "min(1)",
            "1..2",
            "x +* 2",
            "1e999",
            "ü",
            "x % 2",
            "x > 1",
            "!x",
            "x > 1 ? 2 : 3",
            "true",
            "model(\"f\", q = x)",
        ] {
            assert!(Arithmetic::parse(text).is_err(), "{text}");
        }
        let lacking = Arithmetic::parse("x + y").unwrap();
        assert_eq!(
            lacking.evaluate(&|name| (name == "x").then_some(1.0)),
            Err("y")
        );
    }
}
