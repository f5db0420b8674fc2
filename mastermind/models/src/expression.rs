//! The arithmetic in which a user writes a cost: text to a tree, its value, its derivatives.
//!
//! ```text
//! sum      = product { ("+"|"-") product }
//! product  = unary { ("*"|"/") unary }
//! unary    = { "-" } power              power = primary [ "^" unary ]
//! primary  = number | name | function "(" sum { "," sum } ")" | "(" sum ")"
//! function = abs floor ceil sqrt exp ln log2 log10 (one argument) min max (two)
//! ```

use std::collections::BTreeSet;
use std::fmt;

use winnow::ascii::multispace0;
use winnow::combinator::{alt, eof, opt, peek, preceded, separated, terminated};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::stream::Stateful;
use winnow::token::{one_of, take_while};

/// Longest text, bytes.
const LONGEST: usize = 4096;

/// Deepest nesting.
const DEEPEST: usize = 64;

/// A function of one or two numbers: its name, its value, and its derivatives by each argument.
pub(crate) type Function = (
    &'static str,
    usize,
    fn(f64, f64) -> f64,
    fn(f64, f64) -> [f64; 2],
);

/// The functions. Steps have the derivative 0.
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
pub struct Expression {
    root: Node,
}

/// Text that is no expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// The text stops making sense.
    #[error(
        "cannot read formula \"{text}\": nothing that fits at character {at}, expected {expected}"
    )]
    Syntax {
        /// The text.
        text: String,
        /// Where, from 1.
        at: usize,
        /// What could stand there.
        expected: &'static str,
    },
    /// The text is too long.
    #[error("cannot read formula: {found} bytes, expected at most {LONGEST}")]
    TooLong {
        /// Its length, bytes.
        found: usize,
    },
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// [`ExpressionError`] says where it goes wrong.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > LONGEST {
            return Err(ExpressionError::TooLong { found: text.len() });
        }
        let mut input = Stateful {
            input: text,
            state: 0,
        };
        let parsed = terminated(preceded(multispace0, sum), eof).parse_next(&mut input);
        let root = parsed.map_err(|_| {
            let before = &text[..text.len() - input.input.len()];
            ExpressionError::Syntax {
                text: text.into(),
                at: before.chars().count() + 1,
                expected: if input.state >= DEEPEST {
                    "at most 64 levels"
                } else {
                    "a number, a name, a function, an operator or the end"
                },
            }
        })?;
        Ok(Self { root })
    }

    /// The whole of it.
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
            // A part that does not depend on an unknown adds nothing, also where its slope is infinite.
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
            Self::Power => [b * a.powf(b - 1.0), a.powf(b) * a.ln()],
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Power => "^",
        }
    }
}

/// With every operation in brackets, so that reading it again gives the same expression.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value:?}"),
            Self::Name(name) => f.write_str(name),
            Self::Minus(x) => write!(f, "(-{x})"),
            Self::Binary(operator, operands) => {
                write!(f, "({} {} {})", operands[0], operator.symbol(), operands[1])
            }
            Self::Call(function, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
                write!(f, "{}({})", FUNCTIONS[*function].0, arguments.join(", "))
            }
        }
    }
}

type Input<'i> = Stateful<&'i str, usize>;
type Parsed<T> = Result<T, ErrMode<ContextError>>;

/// A sign and the blanks after it.
fn sign<'i>(text: &'static str) -> impl Parser<Input<'i>, &'i str, ErrMode<ContextError>> {
    terminated(text, multispace0)
}

/// Runs `parser` one level deeper; too deep is a failure that nothing else is tried after.
fn deeper<'i, T>(
    input: &mut Input<'i>,
    parser: impl FnOnce(&mut Input<'i>) -> Parsed<T>,
) -> Parsed<T> {
    if input.state >= DEEPEST {
        return Err(ErrMode::Cut(ContextError::new()));
    }
    input.state += 1;
    let parsed = parser(input)?;
    input.state -= 1;
    Ok(parsed)
}

/// Operands with operators of one strength between, to the left first.
fn chain<'i>(
    input: &mut Input<'i>,
    mut operand: impl FnMut(&mut Input<'i>) -> Parsed<Node>,
    mut operator: impl FnMut(&mut Input<'i>) -> Parsed<Operator>,
) -> Parsed<Node> {
    let mut left = operand(input)?;
    while let Some(operator) = opt(&mut operator).parse_next(input)? {
        let right = operand(input)?;
        left = Node::Binary(operator, Box::new([left, right]));
    }
    Ok(left)
}

fn sum(input: &mut Input<'_>) -> Parsed<Node> {
    let operator = |input: &mut Input<'_>| {
        let operators = (
            sign("+").value(Operator::Add),
            sign("-").value(Operator::Subtract),
        );
        alt(operators).parse_next(input)
    };
    deeper(input, |input| chain(input, product, operator))
}

fn product(input: &mut Input<'_>) -> Parsed<Node> {
    let operator = |input: &mut Input<'_>| {
        let operators = (
            sign("*").value(Operator::Multiply),
            sign("/").value(Operator::Divide),
        );
        alt(operators).parse_next(input)
    };
    chain(input, unary, operator)
}

fn unary(input: &mut Input<'_>) -> Parsed<Node> {
    if opt(sign("-")).parse_next(input)?.is_some() {
        let operand = deeper(input, unary)?;
        return Ok(Node::Minus(Box::new(operand)));
    }
    let base = primary(input)?;
    if opt(sign("^")).parse_next(input)?.is_none() {
        return Ok(base);
    }
    let exponent = deeper(input, unary)?;
    Ok(Node::Binary(Operator::Power, Box::new([base, exponent])))
}

fn primary(input: &mut Input<'_>) -> Parsed<Node> {
    if opt(sign("(")).parse_next(input)?.is_some() {
        return terminated(sum, sign(")")).parse_next(input);
    }
    let digit = peek(opt(one_of(('0'..='9', '.')))).parse_next(input)?;
    if digit.is_some() {
        return number(input).map(Node::Number);
    }
    let name = name(input)?;
    if opt(sign("(")).parse_next(input)?.is_none() {
        return Ok(Node::Name(name.to_owned()));
    }
    let arguments: Vec<Node> = separated(1..=2, sum, sign(",")).parse_next(input)?;
    let named = |(known, n, ..): &Function| *known == name && *n == arguments.len();
    match FUNCTIONS.iter().position(named) {
        Some(function) => {
            sign(")").parse_next(input)?;
            Ok(Node::Call(function, arguments))
        }
        None => Err(ErrMode::Cut(ContextError::new())),
    }
}

/// Digits, a point, digits, an exponent. A sign is an operator.
fn number(input: &mut Input<'_>) -> Parsed<f64> {
    let digits = || take_while(0.., '0'..='9');
    let exponent = (
        one_of(['e', 'E']),
        opt(one_of(['+', '-'])),
        take_while(1.., '0'..='9'),
    );
    let taken = (digits(), opt(('.', digits())), opt(exponent)).take();
    let text: &str = terminated(taken, multispace0).parse_next(input)?;
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(ErrMode::Cut(ContextError::new())),
    }
}

fn name<'i>(input: &mut Input<'i>) -> Parsed<&'i str> {
    let first = one_of(('a'..='z', 'A'..='Z', '_'));
    let rest = take_while(0.., ('a'..='z', 'A'..='Z', '0'..='9', '_'));
    terminated((first, rest).take(), multispace0).parse_next(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let number = |name: &str| (name == "x").then_some(3.0);
        Expression::parse(text).unwrap().evaluate(&number).unwrap()
    }

    #[test]
    fn operators_bind_as_in_school() {
        assert_eq!(value("1 + 2*x^2 - 4/2"), 17.0);
        assert_eq!(value("-x^2"), -9.0);
        assert_eq!(value("2^-x^2 * 512"), 1.0);
        assert_eq!(value(" max(x, 1e1) - min(x,(2)) + ceil(x/2) "), 10.0);
        let text = Expression::parse("1 - 2 - x^2^3 + exp(-x)").unwrap();
        assert_eq!(Expression::parse(&text.to_string()).unwrap(), text);
        assert_eq!(text.names().into_iter().collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let text = "a*exp(-b*x) + x^b/a + log2(a*x)*sqrt(b) - min(a, b)*abs(-a) + ln(b) + log10(a)";
        let expression = Expression::parse(text).unwrap();
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

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let message = |text: &str| Expression::parse(text).unwrap_err().to_string();
        assert_eq!(
            message("a * (b + "),
            "cannot read formula \"a * (b + \": nothing that fits at character 10, \
             expected a number, a name, a function, an operator or the end"
        );
        for text in [
            "", "a b", "sin(x)", "min(1)", "1..2", "x +* 2", "1e999", "ü",
        ] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
        assert!(message(&"(".repeat(200)).ends_with("expected at most 64 levels"));
        assert!(message(&"x".repeat(5000)).ends_with("5000 bytes, expected at most 4096"));
        let lacking = Expression::parse("x + y").unwrap();
        assert_eq!(
            lacking.evaluate(&|name| (name == "x").then_some(1.0)),
            Err("y")
        );
    }
}
