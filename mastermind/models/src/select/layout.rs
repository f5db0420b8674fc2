//! How stored models are laid out: indented down to the members of a model, what lies deeper on one line.
//!
//! In: anything that serde writes. Out: JSON. A model with a hundred alternatives is read by people at its top only, and written in full
//! indentation it is three times as long.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// Depth down to which there is a line each: the set, its models, a model, and each of its lists.
const LINES_TO: usize = 4;

/// The JSON of a value.
///
/// # Errors
/// Those of serde: a map with a key that is no text.
pub(crate) fn json(value: &impl Serialize) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    write_json(value, &mut bytes)?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// Writes the JSON of a value.
///
/// # Errors
/// Those of serde, and of `out`.
pub(crate) fn write_json(value: &impl Serialize, out: impl Write) -> serde_json::Result<()> {
    let layout = Layout {
        pretty: PrettyFormatter::new(),
        depth: 0,
    };
    value.serialize(&mut Serializer::with_formatter(out, layout))
}

struct Layout {
    pretty: PrettyFormatter<'static>,
    depth: usize,
}

impl Layout {
    fn is_deep(&self) -> bool {
        self.depth > LINES_TO
    }
}

/// Before each element but the first.
fn separate<W: ?Sized + Write>(writer: &mut W, first: bool) -> io::Result<()> {
    if first {
        Ok(())
    } else {
        writer.write_all(b",")
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        match self.is_deep() {
            true => writer.write_all(b"["),
            false => self.pretty.begin_array(writer),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let is_deep = self.is_deep();
        self.depth -= 1;
        match is_deep {
            true => writer.write_all(b"]"),
            false => self.pretty.end_array(writer),
        }
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match self.is_deep() {
            true => separate(writer, first),
            false => self.pretty.begin_array_value(writer, first),
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.is_deep() {
            true => Ok(()),
            false => self.pretty.end_array_value(writer),
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        match self.is_deep() {
            true => writer.write_all(b"{"),
            false => self.pretty.begin_object(writer),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let is_deep = self.is_deep();
        self.depth -= 1;
        match is_deep {
            true => writer.write_all(b"}"),
            false => self.pretty.end_object(writer),
        }
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match self.is_deep() {
            true => separate(writer, first),
            false => self.pretty.begin_object_key(writer, first),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.is_deep() {
            true => writer.write_all(b":"),
            false => self.pretty.begin_object_value(writer),
        }
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.is_deep() {
            true => Ok(()),
            false => self.pretty.end_object_value(writer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_deep_is_on_one_line() {
        let value = serde_json::json!({ "models": [{ "a": 1, "list": [{ "b": [1, 2], "c": {} }, { "d": "x" }], "none": [] }] });
        let text = json(&value).unwrap();
        let expected = "{\n  \"models\": [\n    {\n      \"a\": 1,\n      \"list\": [\n        {\"b\":[1,2],\"c\":{}},\n        \
                        {\"d\":\"x\"}\n      ],\n      \"none\": []\n    }\n  ]\n}";
        assert_eq!(text, expected);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }
}
