//! The value of a formula over numbers with units.
//!
//! The language is that of costs in program models. Sums and comparisons are of one dimension, products have the
//! product of both, and a sum of different dimensions is refused with the part that is wrong. `latency(network)` is an
//! attribute of the component that a request found.

use mastermind_programs::expression::{Binary, Builtin, Contention, Expression, Unary};

use crate::quantity::{Dimension, Quantity};

/// Meaning of the names of a formula.
pub trait Names {
    /// A parameter, the result of a request, or one of a unit.
    ///
    /// # Errors
    /// It has no value.
    fn name(&self, name: &str) -> Result<Quantity, FormulaError>;

    /// An attribute of the component that a request found.
    ///
    /// # Errors
    /// There is no such request, or the component it found has no such attribute.
    fn attribute(&self, attribute: &str, request: &str) -> Result<Quantity, FormulaError>;
}

/// A formula that has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaError {
    /// A name means nothing here.
    #[error("no name \"{name}\", expected one of {known}")]
    Name {
        /// The name.
        name: String,
        /// Those there are.
        known: String,
    },
    /// Nothing has such an attribute.
    #[error("no function or attribute \"{attribute}\", expected {known}")]
    Attribute {
        /// The attribute, and the component in which it was searched.
        attribute: String,
        /// Those there are.
        known: String,
    },
    /// Two things that are not alike.
    #[error("cannot convert units of \"{part}\": {found}, expected {expected}")]
    Units {
        /// The part of the formula.
        part: String,
        /// The dimension that it has.
        found: String,
        /// The expected dimension.
        expected: String,
    },
    /// An unknown unit.
    #[error(transparent)]
    Unit(#[from] crate::quantity::UnknownUnit),
    /// A function with another number of arguments.
    #[error("\"{function}\" has {found} arguments, expected {expected}")]
    Arguments {
        /// The function.
        function: String,
        /// Arguments given.
        found: usize,
        /// Arguments it takes.
        expected: usize,
    },
    /// A part that has no meaning in a system file.
    #[error(
        "cannot use \"{part}\" in a formula: a fitted model, expected a method with model = and models ="
    )]
    Fitted {
        /// The part.
        part: String,
    },
    /// A value that depends on itself.
    #[error("\"{name}\" depends on itself, expected an end")]
    Circle {
        /// The parameter or unit.
        name: String,
    },
}

/// Evaluates a formula. Both sides of a choice are evaluated, so that an error is found whatever the
/// condition.
///
/// # Errors
/// [`FormulaError`].
pub fn evaluate(formula: &Expression, names: &dyn Names) -> Result<Quantity, FormulaError> {
    match formula {
        Expression::Number(value) => Ok(Quantity::plain(*value)),
        Expression::Truth(truth) => Ok(Quantity::plain(f64::from(u8::from(*truth)))),
        Expression::Name(name) => names.name(name),
        Expression::Unary(operator, x) => {
            let mut x = evaluate(x, names)?;
            match operator {
                Unary::Minus => x.value = -x.value,
                Unary::Not => x = Quantity::plain(f64::from(u8::from(x.value == 0.0))),
            }
            Ok(x)
        }
        Expression::Binary(operator, a, b) => binary(*operator, [&**a, &**b], names),
        Expression::Choice(parts) => {
            let condition = evaluate(&parts[0], names)?;
            let sides = alike([&parts[1], &parts[2]], names)?;
            let [then, otherwise] = sides;
            Ok(if condition.value != 0.0 {
                then
            } else {
                otherwise
            })
        }
        Expression::Call(function, arguments) => call(function, arguments, names),
        Expression::Fitted(..) => Err(FormulaError::Fitted {
            part: formula.to_string(),
        }),
    }
}

/// Two parts of one dimension; a 0 is of any.
fn alike(parts: [&Expression; 2], names: &dyn Names) -> Result<[Quantity; 2], FormulaError> {
    let [mut a, mut b] = [evaluate(parts[0], names)?, evaluate(parts[1], names)?];
    let is_zero = |part: &Expression| *part == Expression::Number(0.0);
    if is_zero(parts[0]) {
        a.dimension = b.dimension.clone();
    }
    if is_zero(parts[1]) {
        b.dimension = a.dimension.clone();
    }
    require(parts[1], &b, &a.dimension)?;
    Ok([a, b])
}

/// Whether a part has a dimension.
fn require(part: &Expression, found: &Quantity, expected: &Dimension) -> Result<(), FormulaError> {
    if found.dimension == *expected {
        return Ok(());
    }
    Err(FormulaError::Units {
        part: part.to_string(),
        found: found.dimension.to_string(),
        expected: expected.to_string(),
    })
}

fn binary(
    operator: Binary,
    parts: [&Expression; 2],
    names: &dyn Names,
) -> Result<Quantity, FormulaError> {
    let power = match operator {
        Binary::Multiply => 1,
        Binary::Divide => -1,
        Binary::Power => {
            let (a, b) = (evaluate(parts[0], names)?, evaluate(parts[1], names)?);
            require(parts[1], &b, &Dimension::none())?;
            let value = a.value.powf(b.value);
            if a.dimension.is_none() {
                return Ok(Quantity::plain(value));
            }
            // The power of a unit is known before the values are.
            let whole = match parts[1] {
                Expression::Number(n) if n.fract() == 0.0 && n.abs() < 13.0 => *n as i32,
                other => {
                    return Err(FormulaError::Units {
                        part: other.to_string(),
                        found: "a power of a unit that is no whole number".into(),
                        expected: "a whole number, as in x ^ 2".into(),
                    });
                }
            };
            let dimension = Dimension::none().times(&a.dimension, whole);
            return Ok(Quantity { value, dimension });
        }
        Binary::And | Binary::Or => {
            let (a, b) = (evaluate(parts[0], names)?, evaluate(parts[1], names)?);
            return Ok(Quantity::plain(operator.apply(a.value, b.value)));
        }
        Binary::Add | Binary::Subtract | Binary::Modulo => {
            let [a, b] = alike(parts, names)?;
            return Ok(Quantity {
                value: operator.apply(a.value, b.value),
                dimension: a.dimension,
            });
        }
        _ => {
            let [a, b] = alike(parts, names)?;
            return Ok(Quantity::plain(operator.apply(a.value, b.value)));
        }
    };
    let (a, b) = (evaluate(parts[0], names)?, evaluate(parts[1], names)?);
    Ok(Quantity {
        value: operator.apply(a.value, b.value),
        dimension: a.dimension.times(&b.dimension, power),
    })
}

fn call(
    function: &str,
    arguments: &[Expression],
    names: &dyn Names,
) -> Result<Quantity, FormulaError> {
    let expected = |expected: usize| {
        let found = arguments.len();
        let function = function.to_owned();
        let wrong = FormulaError::Arguments {
            function,
            found,
            expected,
        };
        (found == expected).then_some(()).ok_or(wrong)
    };
    if let Some(contention) = Contention::named(function) {
        expected(Contention::ARGUMENTS)?;
        let is_time = match contention {
            Contention::ClosedQueue => [false, true, true, false],
            Contention::Lopc => [true, true, true, false],
        };
        let mut values = [0.0; Contention::ARGUMENTS];
        for ((value, argument), is_time) in values.iter_mut().zip(arguments).zip(is_time) {
            let found = evaluate(argument, names)?;
            let dimension = match is_time {
                true => Dimension::time(),
                false => Dimension::none(),
            };
            if *argument != Expression::Number(0.0) {
                require(argument, &found, &dimension)?;
            }
            *value = found.value;
        }
        return Ok(Quantity::seconds(contention.apply(values)));
    }
    let Some((builtin, n)) = Builtin::named(function) else {
        return match arguments {
            [Expression::Name(request)] => names.attribute(function, request),
            _ => Err(FormulaError::Attribute {
                attribute: function.into(),
                known: "a function of models, or ATTRIBUTE(REQUEST)".into(),
            }),
        };
    };
    expected(n)?;
    if let [a, b] = arguments {
        let [x, y] = alike([a, b], names)?;
        let value = builtin.apply(x.value, y.value);
        let dimension = match builtin {
            Builtin::Min | Builtin::Max => x.dimension,
            _ => Dimension::none(),
        };
        return Ok(Quantity { value, dimension });
    }
    let x = evaluate(&arguments[0], names)?;
    let dimension = match builtin {
        Builtin::Abs => x.dimension.clone(),
        Builtin::Sqrt => x.dimension.root().ok_or_else(|| FormulaError::Units {
            part: arguments[0].to_string(),
            found: x.dimension.to_string(),
            expected: "a square".into(),
        })?,
        _ => {
            require(&arguments[0], &x, &Dimension::none())?;
            match builtin {
                Builtin::Ms | Builtin::Us | Builtin::Ns => Dimension::time(),
                _ => Dimension::none(),
            }
        }
    };
    let value = builtin.apply(x.value, 0.0);
    Ok(Quantity { value, dimension })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mastermind_programs::expression::parse;

    struct Some2;

    impl Names for Some2 {
        fn name(&self, name: &str) -> Result<Quantity, FormulaError> {
            match name {
                "t" => Ok(Quantity::seconds(2.0)),
                "n" => Ok(Quantity::plain(3.0)),
                "cells" => Ok(Quantity {
                    value: 10.0,
                    dimension: Dimension::of("cell"),
                }),
                _ => Err(FormulaError::Name {
                    name: name.into(),
                    known: "t, n, cells".into(),
                }),
            }
        }

        fn attribute(&self, attribute: &str, request: &str) -> Result<Quantity, FormulaError> {
            match (attribute, request) {
                ("latency", "network") => Ok(Quantity::seconds(1e-6)),
                _ => Err(FormulaError::Attribute {
                    attribute: format!("{attribute} of {request}"),
                    known: "latency".into(),
                }),
            }
        }
    }

    fn value(text: &str) -> Result<(f64, String), FormulaError> {
        let found = evaluate(&parse(text).expect("an expression"), &Some2)?;
        Ok((found.value, found.dimension.to_string()))
    }

    #[test]
    fn units_follow_the_formula() {
        for (text, expected, dimension) in [
            ("n * t + latency(network)", 6.000_001, "s"),
            ("t / cells * cells", 2.0, "s"),
            ("t ^ 2", 4.0, "s^2"),
            ("sqrt(t * t)", 2.0, "s"),
            ("max(0, t)", 2.0, "s"),
            ("n > 2 ? t : 0", 2.0, "s"),
            ("div(t, us(1))", 2e6, "a plain number"),
            ("closed_queue(1, t, 0, 1)", 2.0, "s"),
            ("lopc(t, 0, us(1), 1) > t", 1.0, "a plain number"),
        ] {
            let (found, unit) = value(text).expect(text);
            assert!((found / expected - 1.0).abs() < 1e-9, "{text}: {found}");
            assert_eq!(unit, dimension, "{text}");
        }
        for text in [
            "t + n",
            "t + cells",
            "exp(t)",
            "t ^ n",
            "sqrt(t)",
            "n > 2 ? t : n",
            "closed_queue(t, t, t, 1)",
            "min(t, n)",
        ] {
            let error = value(text).expect_err(text);
            assert!(matches!(error, FormulaError::Units { .. }), "{text}");
        }
        for text in [
            "x",
            "foo(network)",
            "latency(t, n)",
            "abs(1, 2)",
            "model(\"a\")",
        ] {
            assert!(value(text).is_err(), "{text}");
        }
    }
}
