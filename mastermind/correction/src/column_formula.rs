//! A formula over columns of inputs, with everything that does not depend on its unknowns worked out beforehand.
//!
//! The search evaluates the base formula some hundred thousand times with other unknowns at the same points, so
//! `nx^2/np` is a column here, and only the parts that contain unknowns are evaluated again.

use mastermind_models::expression::{Binary, Expression, Unary};
use mastermind_models::function;

use crate::fast_math;

/// A formula bound to the points of a table.
#[derive(Debug, Clone)]
pub struct ColumnFormula {
    root: Part,
    n_points: usize,
}

/// A function of one or two numbers; a function of one ignores the second.
type Function = fn(f64, f64) -> f64;

#[derive(Debug, Clone)]
enum Part {
    Number(f64),
    /// Of inputs alone.
    Column(Vec<f64>),
    /// `ln` of a positive column of inputs alone, raised to a power that does not vary.
    Power(Vec<f64>, Box<Part>),
    Unknown(usize),
    Apply(Function, Box<[Part; 2]>),
}

/// Names that a formula may hold, with their values or columns.
pub struct Names<'a> {
    /// Columns of inputs, each `[n_points]`.
    pub inputs: &'a [(&'a str, &'a [f64])],
    /// Fixed numbers.
    pub constants: &'a [(&'a str, f64)],
    /// Names of the unknowns in their order.
    pub unknowns: &'a [&'a str],
}

impl ColumnFormula {
    /// Binds an expression to columns.
    ///
    /// # Returns
    /// `None` if the expression holds a name or a function that is not known, or a part that no formula has.
    pub fn bind(expression: &Expression, names: &Names<'_>, n_points: usize) -> Option<Self> {
        let root = Part::of(expression, names)?.folded(n_points);
        Some(Self { root, n_points })
    }

    /// Values at all points.
    ///
    /// # Arguments
    /// * `unknowns` - in the order of the names, shape `[n_unknowns]`
    /// * `out` - shape `[n_points]`
    pub fn evaluate(&self, unknowns: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.n_points, 0.0);
        self.root.column(unknowns, out);
    }
}

impl Part {
    fn of(expression: &Expression, names: &Names<'_>) -> Option<Self> {
        let apply = |f: Function, a: Self, b: Self| Some(Self::Apply(f, Box::new([a, b])));
        match expression {
            Expression::Number(value) => Some(Self::Number(*value)),
            Expression::Name(name) => Self::named(name, names),
            Expression::Unary(Unary::Minus, x) => {
                apply(|a, _| -a, Self::of(x, names)?, Self::Number(0.0))
            }
            Expression::Binary(operator, a, b) => {
                let f: Function = match operator {
                    Binary::Add => |a, b| a + b,
                    Binary::Subtract => |a, b| a - b,
                    Binary::Multiply => |a, b| a * b,
                    Binary::Divide => |a, b| a / b,
                    Binary::Power => f64::powf,
                    _ => return None,
                };
                let (a, b) = (Self::of(a, names)?, Self::of(b, names)?);
                if *operator == Binary::Power
                    && let Some(power) = Self::power(&a, &b)
                {
                    return Some(power);
                }
                apply(f, a, b)
            }
            Expression::Call(name, arguments) => {
                let f = function(name, arguments.len())?;
                let first = Self::of(arguments.first()?, names)?;
                let second = arguments.get(1).map(|x| Self::of(x, names));
                apply(f, first, second.unwrap_or(Some(Self::Number(0.0)))?)
            }
            _ => None,
        }
    }

    fn named(name: &str, names: &Names<'_>) -> Option<Self> {
        if let Some((_, column)) = names.inputs.iter().find(|(known, _)| *known == name) {
            return Some(Self::Column(column.to_vec()));
        }
        if let Some((_, value)) = names.constants.iter().find(|(known, _)| *known == name) {
            return Some(Self::Number(*value));
        }
        let place = names.unknowns.iter().position(|known| *known == name)?;
        Some(Self::Unknown(place))
    }

    /// A power of a positive column whose exponent does not vary over the points.
    fn power(base: &Self, exponent: &Self) -> Option<Self> {
        let n_points = base.n_points()?;
        let Self::Column(values) = base.clone().folded(n_points) else {
            return None;
        };
        let is_fixed = exponent.n_points().is_none() && exponent.has_unknown();
        let is_positive = values.iter().all(|x| *x > 0.0);
        (is_fixed && is_positive).then(|| {
            let logarithms = values.iter().map(|x| x.ln()).collect();
            Self::Power(logarithms, Box::new(exponent.clone()))
        })
    }

    /// Points of the columns in it; `None` if it does not vary.
    fn n_points(&self) -> Option<usize> {
        match self {
            Self::Number(_) | Self::Unknown(_) => None,
            Self::Column(values) | Self::Power(values, _) => Some(values.len()),
            Self::Apply(_, operands) => operands.iter().find_map(Self::n_points),
        }
    }

    fn has_unknown(&self) -> bool {
        match self {
            Self::Number(_) | Self::Column(_) => false,
            Self::Unknown(_) | Self::Power(..) => true,
            Self::Apply(_, operands) => operands.iter().any(Self::has_unknown),
        }
    }

    /// The same with parts that hold no unknown worked out.
    fn folded(self, n_points: usize) -> Self {
        if !self.has_unknown() {
            if self.n_points().is_none() {
                return Self::Number(self.scalar(&[]));
            }
            let mut values = vec![0.0; n_points];
            self.column(&[], &mut values);
            return Self::Column(values);
        }
        match self {
            Self::Apply(f, operands) => {
                let folded = operands.map(|operand| operand.folded(n_points));
                Self::Apply(f, Box::new(folded))
            }
            other => other,
        }
    }

    /// Value of a part that does not vary.
    fn scalar(&self, unknowns: &[f64]) -> f64 {
        match self {
            Self::Number(value) => *value,
            Self::Unknown(place) => unknowns[*place],
            Self::Apply(f, operands) => {
                f(operands[0].scalar(unknowns), operands[1].scalar(unknowns))
            }
            Self::Column(_) | Self::Power(..) => f64::NAN,
        }
    }

    fn column(&self, unknowns: &[f64], out: &mut [f64]) {
        match self {
            Self::Column(values) => out.copy_from_slice(values),
            Self::Power(logarithms, exponent) => {
                let exponent = exponent.scalar(unknowns);
                let pairs = out.iter_mut().zip(logarithms);
                pairs.for_each(|(out, ln)| *out = fast_math::exp(exponent * ln));
            }
            Self::Apply(f, operands) => apply(*f, operands, unknowns, out),
            fixed => out.fill(fixed.scalar(unknowns)),
        }
    }
}

/// A function of two parts over all points, at least one of which varies.
fn apply(f: Function, [a, b]: &[Part; 2], unknowns: &[f64], out: &mut [f64]) {
    if b.n_points().is_none() {
        a.column(unknowns, out);
        let b = b.scalar(unknowns);
        out.iter_mut().for_each(|out| *out = f(*out, b));
    } else if a.n_points().is_none() {
        b.column(unknowns, out);
        let a = a.scalar(unknowns);
        out.iter_mut().for_each(|out| *out = f(a, *out));
    } else if let Part::Column(values) = b {
        a.column(unknowns, out);
        let pairs = out.iter_mut().zip(values);
        pairs.for_each(|(out, b)| *out = f(*out, *b));
    } else {
        let mut second = vec![0.0; out.len()];
        a.column(unknowns, out);
        b.column(unknowns, &mut second);
        let pairs = out.iter_mut().zip(&second);
        pairs.for_each(|(out, b)| *out = f(*out, *b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mastermind_models::expression::parse;

    #[test]
    fn agrees_with_the_formula_point_by_point() {
        let text = "f*T*(g*nx^2/np + (np-1)^h*(i + j*nx^2/np^2)) - min(-g, sqrt(i))";
        let (nx, np, t) = ([256.0, 512.0], [4.0, 16.0], [1.0, 2.0]);
        let names = Names {
            inputs: &[("nx", &nx), ("np", &np), ("T", &t)],
            constants: &[("f", 10.0)],
            unknowns: &["g", "h", "i", "j"],
        };
        let formula = ColumnFormula::bind(&parse(text).unwrap(), &names, 2).unwrap();
        let (g, h, i, j) = (1e-3, 1.2, 2e-3, 3e-4);
        let mut out = Vec::new();
        formula.evaluate(&[g, h, i, j], &mut out);
        for (k, time) in out.iter().enumerate() {
            let (nx, np): (f64, f64) = (nx[k], np[k]);
            let inner = g * nx * nx / np + (np - 1.0).powf(h) * (i + j * nx * nx / (np * np));
            let exact = 10.0 * t[k] * inner + g;
            assert!((time / exact - 1.0).abs() < 1e-12, "{time} {exact}");
        }
        assert!(ColumnFormula::bind(&parse("a + 1").unwrap(), &names, 2).is_none());
    }
}
