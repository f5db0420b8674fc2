//! The syntax tree of an expression.

use std::fmt;

/// An operator before its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    /// `-x`.
    Minus,
    /// `!x`.
    Not,
}

/// An operator between its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`, with the sign of the divisor: ranks wrap around, `-1 % 4` is 3.
    Modulo,
    /// `^`, a power, right-associative.
    Power,
    /// `==`.
    Equal,
    /// `!=`.
    Unequal,
    /// `<`.
    Less,
    /// `<=`.
    AtMost,
    /// `>`.
    Greater,
    /// `>=`.
    AtLeast,
    /// `&&`; the right side only where the left is true.
    And,
    /// `||`; the right side only where the left is false.
    Or,
}

impl Binary {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Power => "^",
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
            Self::And => "&&",
            Self::Or => "||",
        }
    }

    /// The value for two operands; a truth value is 0 or 1.
    #[inline]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |truth: bool| f64::from(u8::from(truth));
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Modulo => a - b * (a / b).floor(),
            Self::Power => a.powf(b),
            Self::Equal => truth(a == b),
            Self::Unequal => truth(a != b),
            Self::Less => truth(a < b),
            Self::AtMost => truth(a <= b),
            Self::Greater => truth(a > b),
            Self::AtLeast => truth(a >= b),
            Self::And => truth(a != 0.0 && b != 0.0),
            Self::Or => truth(a != 0.0 || b != 0.0),
        }
    }
}

/// Argument for a parameter of a fitted model.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A number.
    Value(Expression),
    /// The label of an enumeration parameter.
    Label(String),
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number, finite.
    Number(f64),
    /// `true` or `false`.
    Truth(bool),
    /// A variable, a parameter of a cost function, or a property of the system.
    Name(String),
    /// An operator and its operand.
    Unary(Unary, Box<Expression>),
    /// An operator and its operands.
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// `condition ? then : otherwise`; only the side chosen is evaluated.
    Choice(Box<[Expression; 3]>),
    /// A built-in or cost function and its arguments.
    Call(String, Vec<Expression>),
    /// A model fitted from records: its method, and its parameters by name.
    Fitted(String, Vec<(String, Argument)>),
}

/// Writes every operand in brackets, so that the text is read as the same expression again.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number:?}"),
            Self::Truth(truth) => truth.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Unary(Unary::Minus, x) => write!(f, "(-{x})"),
            Self::Unary(Unary::Not, x) => write!(f, "(!{x})"),
            Self::Binary(operator, a, b) => write!(f, "({a} {} {b})", operator.symbol()),
            Self::Choice(parts) => write!(f, "({} ? {} : {})", parts[0], parts[1], parts[2]),
            Self::Call(name, arguments) => {
                write!(f, "{name}(")?;
                for (i, argument) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Self::Fitted(method, arguments) => {
                write!(f, "model(\"{method}\"")?;
                for (name, argument) in arguments {
                    match argument {
                        Argument::Value(value) => write!(f, ", {name} = {value}")?,
                        Argument::Label(label) => write!(f, ", {name} = \"{label}\"")?,
                    }
                }
                f.write_str(")")
            }
        }
    }
}
