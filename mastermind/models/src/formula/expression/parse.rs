//! Parses text to expressions.
//!
//! Each function parses one rule of the grammar at the head of the parent module, from the weakest operator to the strongest, and skips the
//! blanks after each token. Length and nesting are bounded, so that no text overflows the stack; an error has the position reached.
//!
//! ```text
//! "2 * n + 1"     Binary(Add, Binary(Multiply, Number(2), Name("n")), Number(1))
//! ```

use winnow::ascii::{multispace0, multispace1};
use winnow::combinator::{alt, delimited, eof, opt, peek, preceded, repeat, separated, terminated};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::stream::Stateful;
use winnow::token::{one_of, take_till, take_while};

use super::SyntaxError;
use super::ast::{Argument, Binary, Expression, Unary};

/// Longest expression or list of assignments, bytes.
const LONGEST: usize = 16 * 1024;

/// Deepest nesting of brackets, choices and operators before their operand.
const DEEPEST: usize = 64;

/// Bytes of a wrong expression to show in its error.
const SHOWN: usize = 80;

/// `name = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its new value.
    pub value: Expression,
}

type Input<'i> = Stateful<&'i str, usize>;
type Parsed<T> = Result<T, ErrMode<ContextError>>;

/// Parses an expression.
///
/// # Errors
/// [`SyntaxError`].
pub fn parse(text: &str) -> Result<Expression, SyntaxError> {
    whole(text, expression, "an operator, or the end")
}

/// Parses assignments such as `a = 1; b = a + 1`; blank text has none.
///
/// # Errors
/// [`SyntaxError`].
pub fn parse_assignments(text: &str) -> Result<Vec<Assignment>, SyntaxError> {
    let one = |input: &mut Input<'_>| assignment(input);
    let all = move |input: &mut Input<'_>| -> Parsed<Vec<Assignment>> {
        let found = separated(0.., one, sign(";")).parse_next(input)?;
        opt(sign(";")).parse_next(input)?;
        Ok(found)
    };
    whole(text, all, "name = expression")
}

fn whole<T>(
    text: &str,
    parser: impl FnMut(&mut Input<'_>) -> Parsed<T>,
    expected: &'static str,
) -> Result<T, SyntaxError> {
    if text.len() > LONGEST {
        let (found, most) = (text.len(), LONGEST);
        return Err(SyntaxError::TooLong { found, most });
    }
    let mut input = Stateful {
        input: text,
        state: 0,
    };
    let parsed = terminated(preceded(multispace0, parser), eof).parse_next(&mut input);
    parsed.map_err(|_| {
        let at = text.len() - input.input.len();
        let end = (0..=SHOWN.min(text.len()))
            .rev()
            .find(|i| text.is_char_boundary(*i));
        let deep = input.state >= DEEPEST;
        SyntaxError::Nothing {
            text: text[..end.unwrap_or(0)].into(),
            at: text[..at].chars().count() + 1,
            expected: if deep { "at most 64 levels" } else { expected },
        }
    })
}

/// A sign and the blanks after it.
fn sign<'i>(text: &'static str) -> impl Parser<Input<'i>, &'i str, ErrMode<ContextError>> {
    terminated(text, multispace0)
}

fn fail<T>() -> Parsed<T> {
    Err(ErrMode::Backtrack(ContextError::new()))
}

/// Runs `parser` one nesting level deeper. Exceeding the limit is a final error: the parser tries no alternative.
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

fn assignment(input: &mut Input<'_>) -> Parsed<Assignment> {
    let name = name(input)?;
    sign("=").parse_next(input)?;
    let value = expression(input)?;
    Ok(Assignment { name, value })
}

fn expression(input: &mut Input<'_>) -> Parsed<Expression> {
    deeper(input, |input| {
        let condition = or(input)?;
        if opt(sign("?")).parse_next(input)?.is_none() {
            return Ok(condition);
        }
        let then = expression(input)?;
        sign(":").parse_next(input)?;
        let otherwise = expression(input)?;
        Ok(Expression::Choice(Box::new([condition, then, otherwise])))
    })
}

/// Parses operands joined by operators of equal precedence, left-associative.
fn chain<'i>(
    input: &mut Input<'i>,
    mut operand: impl FnMut(&mut Input<'i>) -> Parsed<Expression>,
    mut operator: impl FnMut(&mut Input<'i>) -> Parsed<Binary>,
) -> Parsed<Expression> {
    let mut left = operand(input)?;
    while let Some(operator) = opt(&mut operator).parse_next(input)? {
        let right = operand(input)?;
        left = Expression::Binary(operator, Box::new(left), Box::new(right));
    }
    Ok(left)
}

fn or(input: &mut Input<'_>) -> Parsed<Expression> {
    chain(input, and, |i| sign("||").value(Binary::Or).parse_next(i))
}

fn and(input: &mut Input<'_>) -> Parsed<Expression> {
    chain(input, compare, |i| {
        sign("&&").value(Binary::And).parse_next(i)
    })
}

fn compare(input: &mut Input<'_>) -> Parsed<Expression> {
    let left = sum(input)?;
    let operator = alt((
        sign("==").value(Binary::Equal),
        sign("!=").value(Binary::Unequal),
        sign("<=").value(Binary::AtMost),
        sign(">=").value(Binary::AtLeast),
        sign("<").value(Binary::Less),
        sign(">").value(Binary::Greater),
    ));
    let Some(operator) = opt(operator).parse_next(input)? else {
        return Ok(left);
    };
    let right = sum(input)?;
    Ok(Expression::Binary(
        operator,
        Box::new(left),
        Box::new(right),
    ))
}

fn sum(input: &mut Input<'_>) -> Parsed<Expression> {
    chain(input, product, |i| {
        alt((
            sign("+").value(Binary::Add),
            sign("-").value(Binary::Subtract),
        ))
        .parse_next(i)
    })
}

fn product(input: &mut Input<'_>) -> Parsed<Expression> {
    chain(input, unary, |i| {
        alt((
            sign("*").value(Binary::Multiply),
            sign("/").value(Binary::Divide),
            sign("%").value(Binary::Modulo),
        ))
        .parse_next(i)
    })
}

fn unary(input: &mut Input<'_>) -> Parsed<Expression> {
    let not = terminated(sign("!"), peek(winnow::combinator::not("=")));
    let operator = alt((sign("-").value(Unary::Minus), not.value(Unary::Not)));
    let Some(operator) = opt(operator).parse_next(input)? else {
        return power(input);
    };
    let operand = deeper(input, unary)?;
    Ok(Expression::Unary(operator, Box::new(operand)))
}

fn power(input: &mut Input<'_>) -> Parsed<Expression> {
    let base = primary(input)?;
    if opt(sign("^")).parse_next(input)?.is_none() {
        return Ok(base);
    }
    let exponent = deeper(input, unary)?;
    Ok(Expression::Binary(
        Binary::Power,
        Box::new(base),
        Box::new(exponent),
    ))
}

fn primary(input: &mut Input<'_>) -> Parsed<Expression> {
    if opt(sign("(")).parse_next(input)?.is_some() {
        return terminated(expression, sign(")")).parse_next(input);
    }
    let is_number = peek(opt(one_of(('0'..='9', '.')))).parse_next(input)?;
    if is_number.is_some() {
        return number(input).map(Expression::Number);
    }
    let name = name(input)?;
    if opt(sign("(")).parse_next(input)?.is_none() {
        return Ok(match name.as_str() {
            "true" => Expression::Truth(true),
            "false" => Expression::Truth(false),
            _ => Expression::Name(name),
        });
    }
    if name == "model" {
        return terminated(fitted, sign(")")).parse_next(input);
    }
    let arguments = separated(0.., expression, sign(",")).parse_next(input)?;
    sign(")").parse_next(input)?;
    Ok(Expression::Call(name, arguments))
}

fn fitted(input: &mut Input<'_>) -> Parsed<Expression> {
    let method = text(input)?;
    let arguments = repeat(0.., preceded(sign(","), argument)).parse_next(input)?;
    Ok(Expression::Fitted(method, arguments))
}

fn argument(input: &mut Input<'_>) -> Parsed<(String, Argument)> {
    let name = name(input)?;
    sign("=").parse_next(input)?;
    let value =
        alt((text.map(Argument::Label), expression.map(Argument::Value))).parse_next(input)?;
    Ok((name, value))
}

/// Parses `"…"`, without quotation marks or line ends inside.
fn text(input: &mut Input<'_>) -> Parsed<String> {
    let inside = take_till(0.., ['"', '\n']).map(str::to_owned);
    terminated(delimited("\"", inside, "\""), multispace0).parse_next(input)
}

/// Parses digits, a point, digits, an exponent. A sign is an operator.
fn number(input: &mut Input<'_>) -> Parsed<f64> {
    let digits = || take_while(0.., ('0'..='9', '_'));
    let exponent = (
        one_of(['e', 'E']),
        opt(one_of(['+', '-'])),
        take_while(1.., '0'..='9'),
    );
    let taken = (digits(), opt(('.', digits())), opt(exponent)).take();
    let text: &str = terminated(taken, multispace0).parse_next(input)?;
    match text.replace('_', "").parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => fail(),
    }
}

fn name(input: &mut Input<'_>) -> Parsed<String> {
    let first = one_of(('a'..='z', 'A'..='Z', '_'));
    let rest = take_while(0.., ('a'..='z', 'A'..='Z', '0'..='9', '_'));
    let name = (first, rest).take().map(str::to_owned);
    terminated(name, alt((multispace1, ""))).parse_next(input)
}
