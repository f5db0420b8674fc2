//! A line of JSON as programs write one, read in a single pass.
//!
//! In: the text of a line. Out: a [`Line`], where the text is one object with members of that kind, each at most once, whose strings have no
//! escapes and whose numbers are finite. `None` says no more than that it is another one, perhaps a wrong one: a parser of all of JSON
//! reads it then, and words what is wrong. Files of measurements are lines of this kind, each read several times.
//!
//! Repetitions are lines that differ in the value at their end alone, so [`Start`] keeps how the line before began.

use std::borrow::Cow;

use super::json_lines::Line;
use super::ordered::{Ordered, Scalar, Text, Values};

/// How a line begins that ends with its one value: `{"params": {"x": 4}, "value": `. Whatever begins so and goes on with a number and the
/// end of the object says the same of another value.
#[derive(Debug, Default)]
pub(super) struct Start(Vec<u8>);

impl Start {
    /// The value of a line that begins so; `None` of another one.
    pub(super) fn value(&self, line: &[u8]) -> Option<f64> {
        let rest = line.strip_prefix(self.0.as_slice())?;
        if self.0.is_empty() {
            return None;
        }
        let text = std::str::from_utf8(rest).ok()?;
        let mut cursor = Cursor {
            text,
            at: 0,
            value_at: None,
        };
        let value = cursor.number()?;
        cursor.pass(b'}')?;
        cursor.is_at_end().then_some(value)
    }

    /// Takes the beginning of a line; none with `None`.
    pub(super) fn set(&mut self, beginning: Option<&str>) {
        self.0.clear();
        self.0.extend(beginning.unwrap_or("").as_bytes());
    }
}

impl<'a> Line<'a> {
    /// Reads a line; `None` where it is not plain. Beside it what is before its value, where that is one number and the last member.
    pub(super) fn plain(text: &'a str) -> Option<(Self, Option<&'a str>)> {
        let mut cursor = Cursor {
            text,
            at: 0,
            value_at: None,
        };
        let (mut params, mut value, mut callpath, mut metric) = (None, None, None, None);
        cursor.object(|cursor, key| {
            cursor.value_at = None;
            match key {
                "params" | "parameters" => put(&mut params, cursor.params()?),
                "value" => put(&mut value, cursor.values()?),
                "callpath" => put(&mut callpath, Text(Cow::Borrowed(cursor.string()?))),
                "metric" => put(&mut metric, Text(Cow::Borrowed(cursor.string()?))),
                _ => None,
            }
        })?;
        cursor.is_at_end().then_some(())?;
        let line = Self {
            params: params?,
            value: value?,
            callpath,
            metric,
        };
        Some((line, cursor.value_at.map(|at| &text[..at])))
    }
}

/// Fills what is empty; `None` where it is not.
fn put<T>(place: &mut Option<T>, value: T) -> Option<()> {
    match place {
        Some(_) => None,
        None => {
            *place = Some(value);
            Some(())
        }
    }
}

/// How far a line is read.
struct Cursor<'a> {
    text: &'a str,
    /// Bytes of the text that are behind.
    at: usize,
    /// Where the value begins, where it is one number and the last member so far.
    value_at: Option<usize>,
}

impl<'a> Cursor<'a> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.next() {
            self.at += 1;
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    /// Goes past white space and this byte.
    fn pass(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.next() == Some(byte)).then_some(())?;
        self.at += 1;
        Some(())
    }

    /// Goes past white space and a comma, or what ends the list, of which it says whether it was there.
    fn ends(&mut self, end: u8) -> Option<bool> {
        self.skip_space();
        let next = self.next()?;
        self.at += 1;
        match next {
            b',' => Some(false),
            next => (next == end).then_some(true),
        }
    }

    /// An object of one member or more, of each of which `member` reads the value.
    fn object(&mut self, mut member: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.pass(b'{')?;
        loop {
            let key = self.string()?;
            self.pass(b':')?;
            member(self, key)?;
            if self.ends(b'}')? {
                return Some(());
            }
        }
    }

    fn params(&mut self) -> Option<Ordered<Scalar, Text<'a>>> {
        let mut pairs = Vec::with_capacity(1);
        self.object(|cursor, key| {
            cursor.skip_space();
            let value = match cursor.next()? {
                b'"' => Scalar::Label(cursor.string()?.into()),
                _ => Scalar::Number(cursor.number()?),
            };
            pairs.push((Text(Cow::Borrowed(key)), value));
            Some(())
        })?;
        Some(Ordered(pairs))
    }

    /// A number, or a list of one or more.
    fn values(&mut self) -> Option<Values> {
        self.skip_space();
        if self.next()? != b'[' {
            self.value_at = Some(self.at);
            return Some(Values(vec![self.number()?]));
        }
        self.at += 1;
        let mut values = Vec::new();
        loop {
            values.push(self.number()?);
            if self.ends(b']')? {
                return Some(Values(values));
            }
        }
    }

    /// A string without escapes.
    fn string(&mut self) -> Option<&'a str> {
        self.pass(b'"')?;
        let rest = &self.text[self.at..];
        let end = rest
            .bytes()
            .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))?;
        self.at += end;
        self.pass_here(b'"')?;
        Some(&rest[..end])
    }

    fn pass_here(&mut self, byte: u8) -> Option<()> {
        (self.next() == Some(byte)).then_some(())?;
        self.at += 1;
        Some(())
    }

    /// A finite number: `-0.25e-3` and the like, as JSON has them.
    fn number(&mut self) -> Option<f64> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let is_in = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let end = rest.bytes().take_while(|byte| is_in(byte)).count();
        let number = &rest[..end];
        // Rust reads `.5`, `5.` and `007` too.
        let digits = number.strip_prefix('-').unwrap_or(number).as_bytes();
        let is_written_so = match digits {
            [b'0', b'0'..=b'9', ..] => false,
            [b'0'..=b'9', ..] => digits
                .iter()
                .position(|byte| *byte == b'.')
                .is_none_or(|point| digits.get(point + 1).is_some_and(u8::is_ascii_digit)),
            _ => false,
        };
        self.at += end;
        let value: f64 = is_written_so.then(|| number.parse().ok())??;
        value.is_finite().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether this reading has a line, which must be that of a parser, numbers but for rounding.
    fn is_read_alike(text: &str) -> bool {
        let Some((plain, start)) = Line::plain(text) else {
            return false;
        };
        let mut before = Start::default();
        before.set(start);
        let value = before.value(text.as_bytes());
        assert_eq!(value, start.map(|_| plain.value.0[0]), "{text}");
        let line: Line<'_> = serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-15 * b.abs();
        let same = |(a, b): (&(Text<'_>, Scalar), &(Text<'_>, Scalar))| match (&a.1, &b.1) {
            (Scalar::Number(x), Scalar::Number(y)) => a.0 == b.0 && close(*x, *y),
            _ => a == b,
        };
        let (values, others) = (&plain.value.0, &line.value.0);
        let params = plain.params.0.iter().zip(&line.params.0);
        let lengths = |line: &Line<'_>| [line.params.0.len(), line.value.0.len()];
        assert_eq!(lengths(&plain), lengths(&line), "{text}");
        assert!(params.into_iter().all(same), "{text}");
        assert!(
            values.iter().zip(others).all(|(a, b)| close(*a, *b)),
            "{text}"
        );
        assert_eq!(
            (plain.callpath, plain.metric),
            (line.callpath, line.metric),
            "{text}"
        );
        true
    }

    #[test]
    fn plain_lines_are_read_as_by_a_parser() {
        for text in [
            r#"{"params": {"x": 4}, "callpath": "main->sweep", "metric": "time", "value": 0.25}"#,
            r#" { "value":[1,-2.5e-3 , 1E+2],"parameters":{"p":1.5,"mode":"fast ü"} } "#,
            "{\"params\":{\"x\":0},\"value\":-0}\t",
        ] {
            assert!(is_read_alike(text), "{text}");
        }
    }

    #[test]
    fn repetitions_are_told_by_their_beginning() {
        let line = r#"{"params": {"x": 4}, "callpath": "a", "value": 0.25}"#;
        let mut before = Start::default();
        assert_eq!(
            before.value(line.as_bytes()),
            None,
            "nothing is before the first"
        );
        let (_, start) = Line::plain(line).unwrap();
        before.set(start);
        let other = |from, to| line.replace(from, to);
        assert_eq!(
            before.value(other("0.25", "-3e2 ").as_bytes()),
            Some(-300.0)
        );
        for (from, to) in [
            ("4", "5"),
            ("0.25", "[1]"),
            ("0.25", "1, \"value\": 2"),
            ("}", "}}"),
            ("0.25", "05"),
            ("0.25", ""),
        ] {
            assert_eq!(before.value(other(from, to).as_bytes()), None, "{to}");
        }
        let (_, start) = Line::plain(r#"{"value": 1, "params": {"x": 4}}"#).unwrap();
        assert_eq!(start, None, "the value is not at the end");
        let (_, start) = Line::plain(r#"{"params": {"x": 4}, "value": [1]}"#).unwrap();
        assert_eq!(start, None);
    }

    /// Those with an escape, `null`, no number or another member are JSON all the same, and not for this reading.
    #[test]
    fn other_lines_are_left_to_a_parser() {
        for text in [
            r#"{"params": {"x": 4}, "callpath": "a\"b", "value": 1}"#,
            r#"{"params": {"x": 4}, "metric": null, "value": 1}"#,
            r#"{"params": {"x": 4}, "value": 1, "note": 3}"#,
            r#"{"params": {"x": 4}, "value": 1, "value": 2}"#,
            r#"{"params": {"x": 4}, "value": 1e999}"#,
            r#"{"params": {}, "value": 1}"#,
            r#"{"params": {"x": 4}, "value": 1} {}"#,
            r#"{"params": {"x": 4}}"#,
            "",
        ] {
            assert_eq!(Line::plain(text), None, "{text}");
        }
        for number in [
            ".5", "5.", "007", "+1", "1.e3", "1e", "--1", "nan", "inf", "-", "0x10", "-.5",
            "1.2.3", "-01",
        ] {
            let text = format!(r#"{{"params": {{"x": 4}}, "value": {number}}}"#);
            assert_eq!(Line::plain(&text), None, "{text}");
        }
    }

    proptest! {
        /// Whatever is read here, a parser reads too, as the same.
        #[test]
        fn nothing_is_read_that_is_no_json(text in r#"\{ ?"(params|parameters)": ?\{"x": ?[-+0-9.eE"a]{1,6}\}, ?"value": ?[-+0-9.eE,\[\]]{1,8}(, ?"metric": ?"[a-z\\"]{0,3}")?\} ?"#) {
            is_read_alike(&text);
        }
    }
}
