//! Performance parameters of a method: the sizes and modes in its signature, or those that `@perf`
//! names.
//!
//! A model needs to know on which arguments the time depends. SIDL has no place for that, so a
//! comment holds it, and without such a comment the signature is a good guess: lengths of arrays,
//! extents of raw arrays that are arguments, enumerations and booleans. An expression becomes a
//! tree of `Value`s that the writers of Rust and C each put into their language, so that both
//! record the same number.
//!
//! ```text
//! /** Solves.
//!  *  @perf work=m*n, flops=2*len(a) */
//! void solve(in rarray<double> a(m,n), in int m, in int n, in Mode mode);
//!
//! with the mark:      work = Argument(m) * Argument(n), flops = 2 * Length(a)
//! without it:         m, n, mode
//! ```
//!
//! Expressions have integer arithmetic, parentheses, `len(…)` and `result`; a recursive descent
//! parser with a limit of depth reads them, since files of SIDL come from anywhere.

use super::SidlError;
use super::names::snake;
use super::parse::{self, Type};
use super::resolve::{Plain, Ty};

/// A performance parameter of a method: a name, and an expression of arguments and results that its
/// proxy records.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub value: Value,
    pub kind: Kind,
    /// Whether it is computed from the method's result.
    pub is_result: bool,
}

/// How the word of a parameter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Real,
    Bool,
    /// By its place among the enumerations.
    Enumeration(usize),
}

/// The expression of a parameter, as a tree over the places of arguments and results.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(i64),
    /// The place of an argument.
    Argument(usize),
    /// The place of a result.
    Result(usize),
    /// Elements of an array, by the place of the argument.
    Length(usize),
    /// Elements of an array that is returned, by the place of the result.
    ResultLength(usize),
    Binary(Box<Value>, char, Box<Value>),
}

/// The mark before parameters in a comment.
const MARK: &str = "@perf";

/// Nested parentheses of an expression.
const MAX_DEPTH: usize = 20;

/// The text of a comment without its marks.
pub fn without_marks(doc: &str) -> String {
    let lines = doc
        .lines()
        .filter(|line| !line.trim_start().starts_with(MARK));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The parameters of a method.
///
/// # Errors
/// [`SidlError::Symbol`]: a mark that is no `NAME=EXPRESSION`, or names no number or array of the method.
pub fn of(
    method: &str,
    written: &parse::Method,
    arguments: &[(String, Ty)],
    results: &[(String, Ty)],
) -> Result<Vec<Parameter>, SidlError> {
    let scope = Scope {
        method,
        arguments,
        results,
    };
    let marks = written
        .doc
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(MARK));
    let marks: Vec<&str> = marks
        .flat_map(|line| line.split([' ', '\t', ',', ';']))
        .collect();
    let mut parameters: Vec<Parameter> = Vec::new();
    for mark in marks.iter().filter(|mark| !mark.is_empty()) {
        let Some((name, expression)) = mark.split_once('=').filter(|(name, _)| !name.is_empty())
        else {
            return Err(scope.wrong(
                format!("{MARK} {mark}"),
                "NAME=EXPRESSION, without blanks, such as q=len(a)",
            ));
        };
        let name = snake(name);
        if parameters.iter().any(|before| before.name == name) {
            return Err(scope.wrong(format!("two parameters \"{name}\""), "other names"));
        }
        parameters.push(scope.read(name, expression)?);
    }
    if parameters.is_empty()
        && written
            .doc
            .lines()
            .all(|line| !line.trim_start().starts_with(MARK))
    {
        return Ok(scope.seen(written));
    }
    Ok(parameters)
}

struct Scope<'a> {
    method: &'a str,
    arguments: &'a [(String, Ty)],
    results: &'a [(String, Ty)],
}

impl Scope<'_> {
    fn wrong(&self, found: impl Into<String>, expected: impl Into<String>) -> SidlError {
        SidlError::Symbol {
            symbol: self.method.to_owned(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// Those that the signature shows.
    fn seen(&self, written: &parse::Method) -> Vec<Parameter> {
        let mut found: Vec<Parameter> = Vec::new();
        let mut add = |name: &str, value: Value, kind: Kind| {
            if !found.iter().any(|before| before.name == name) {
                found.push(Parameter {
                    name: name.to_owned(),
                    is_result: matches!(value, Value::ResultLength(_)),
                    value,
                    kind,
                });
            }
        };
        for argument in &written.arguments {
            if let Type::Raw(_, _, extents) = &argument.ty {
                for extent in extents.iter().flat_map(|extent| words(extent)) {
                    let name = snake(extent);
                    if let Some(place) = self.integer(&name) {
                        add(&name, Value::Argument(place), Kind::Integer);
                    }
                }
            }
        }
        // The length of a raw array is given by its extents, which are parameters already.
        let is_raw = |name: &str| {
            let mut arguments = written.arguments.iter();
            arguments.any(|argument| {
                snake(&argument.name) == name && matches!(argument.ty, Type::Raw(..))
            })
        };
        for (place, (name, ty)) in self.arguments.iter().enumerate() {
            match ty {
                Ty::Slice(..) | Ty::Array(..) if !is_raw(name) => {
                    add(name, Value::Length(place), Kind::Integer);
                }
                Ty::Enumeration(of) => add(name, Value::Argument(place), Kind::Enumeration(*of)),
                Ty::Plain(Plain::Bool) => add(name, Value::Argument(place), Kind::Bool),
                _ => {}
            }
        }
        for (place, (name, ty)) in self.results.iter().enumerate() {
            if matches!(ty, Ty::OwnedSlice(_) | Ty::Array(..)) {
                add(name, Value::ResultLength(place), Kind::Integer);
            }
        }
        found
    }

    fn integer(&self, name: &str) -> Option<usize> {
        let is_integer = |ty: &Ty| matches!(ty, Ty::Plain(Plain::Int | Plain::Long | Plain::Char));
        let mut arguments = self.arguments.iter();
        arguments.position(|(argument, ty)| argument == name && is_integer(ty))
    }

    fn read(&self, name: String, expression: &str) -> Result<Parameter, SidlError> {
        let mut reader = Reader {
            scope: self,
            expression,
            rest: expression,
            depth: 0,
        };
        let (value, kind) = reader.sum()?;
        if !reader.rest.is_empty() {
            return Err(reader.wrong());
        }
        Ok(Parameter {
            name,
            is_result: value.is_result(),
            value,
            kind,
        })
    }
}

/// The names in the extent of an array.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

impl Value {
    fn is_result(&self) -> bool {
        match self {
            Value::Result(_) | Value::ResultLength(_) => true,
            Value::Binary(left, _, right) => left.is_result() || right.is_result(),
            _ => false,
        }
    }
}

/// An expression: `+ - * / %`, parentheses, numbers, arguments, `len(array)`, `result`.
struct Reader<'a> {
    scope: &'a Scope<'a>,
    expression: &'a str,
    rest: &'a str,
    depth: usize,
}

type Read = Result<(Value, Kind), SidlError>;

impl Reader<'_> {
    fn wrong(&self) -> SidlError {
        let found = format!("{MARK} {}", self.expression);
        self.scope.wrong(
            found,
            "an expression of its arguments such as m*n, len(a) or mode",
        )
    }

    fn takes(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> Read {
        let left = self.product()?;
        self.more(left, &['+', '-'], Self::product)
    }

    fn product(&mut self) -> Read {
        let left = self.factor()?;
        self.more(left, &['*', '/', '%'], Self::factor)
    }

    fn more(
        &mut self,
        mut left: (Value, Kind),
        signs: &[char],
        next: fn(&mut Self) -> Read,
    ) -> Read {
        while let Some(sign) = signs.iter().find(|sign| self.takes(**sign)) {
            let right = next(self)?;
            let kind = match (left.1, right.1) {
                (Kind::Integer, Kind::Integer) => Kind::Integer,
                (Kind::Integer | Kind::Real, Kind::Integer | Kind::Real) if *sign != '%' => {
                    Kind::Real
                }
                _ => return Err(self.wrong()),
            };
            left = (
                Value::Binary(Box::new(left.0), *sign, Box::new(right.0)),
                kind,
            );
        }
        Ok(left)
    }

    fn factor(&mut self) -> Read {
        if self.takes('(') {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.wrong());
            }
            let inner = self.sum()?;
            self.depth -= 1;
            return if self.takes(')') {
                Ok(inner)
            } else {
                Err(self.wrong())
            };
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        if let Ok(number) = word.parse() {
            return Ok((Value::Number(number), Kind::Integer));
        }
        if word == "len" && self.takes('(') {
            let end = self.rest.find(')').ok_or_else(|| self.wrong())?;
            let (array, rest) = self.rest.split_at(end);
            self.rest = &rest[1..];
            return self.length(array);
        }
        self.named(word)
    }

    fn length(&self, word: &str) -> Read {
        let name = if word == "result" {
            word.to_owned()
        } else {
            snake(word)
        };
        let place = |names: &[(String, Ty)]| names.iter().position(|(other, _)| *other == name);
        if let Some(place) = place(self.scope.arguments)
            && matches!(
                self.scope.arguments[place].1,
                Ty::Slice(..) | Ty::Array(..) | Ty::Text
            )
        {
            return Ok((Value::Length(place), Kind::Integer));
        }
        if let Some(place) = place(self.scope.results)
            && matches!(
                self.scope.results[place].1,
                Ty::OwnedSlice(_) | Ty::Array(..) | Ty::OwnedText
            )
        {
            return Ok((Value::ResultLength(place), Kind::Integer));
        }
        Err(self.wrong())
    }

    fn named(&self, word: &str) -> Read {
        let name = if word == "result" {
            word.to_owned()
        } else {
            snake(word)
        };
        let kind = |ty: &Ty| match ty {
            Ty::Plain(Plain::Int | Plain::Long | Plain::Char | Plain::Number) => {
                Some(Kind::Integer)
            }
            Ty::Plain(Plain::Float | Plain::Double) => Some(Kind::Real),
            Ty::Plain(Plain::Bool) => Some(Kind::Bool),
            Ty::Enumeration(place) => Some(Kind::Enumeration(*place)),
            _ => None,
        };
        let arguments = self.scope.arguments.iter().enumerate();
        let results = self.scope.results.iter().enumerate();
        let values = arguments
            .map(|(place, (other, ty))| (other, Value::Argument(place), ty))
            .chain(results.map(|(place, (other, ty))| (other, Value::Result(place), ty)));
        values
            .filter(|(other, ..)| **other == name)
            .find_map(|(_, value, ty)| kind(ty).map(|kind| (value, kind)))
            .ok_or_else(|| self.wrong())
    }
}
