//! Layout of stored models: indented down to the members of a model, with everything deeper on one line.
//!
//! In: anything that serde serializes. Out: JSON. People read only the top of a model with a hundred alternatives,
//! and full indentation would make it three times as long.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// Depth of the values that get a line each: the set, its models, a model, and each of its lists.
const LINES_TO: usize = 4;

/// A document with one list whose elements are written one at a time: `{ name: [...] }`.
#[derive(Debug, Clone)]
pub(crate) struct ListDocument {
    text: Vec<u8>,
    /// Of the next element.
    layout: Layout,
    is_first: bool,
}

impl ListDocument {
    /// The document without an element.
    ///
    /// # Errors
    /// Those of serde; memory takes what is written.
    pub fn new(name: &str) -> serde_json::Result<Self> {
        let mut text = Vec::new();
        let mut layout = Layout {
            pretty: PrettyFormatter::new(),
            depth: 0,
        };
        let begun = layout
            .begin_object(&mut text)
            .and_then(|()| layout.begin_object_key(&mut text, true));
        begun.map_err(serde_json::Error::io)?;
        name.serialize(&mut Serializer::new(&mut text))?;
        let begun = layout
            .begin_object_value(&mut text)
            .and_then(|()| layout.begin_array(&mut text));
        begun.map_err(serde_json::Error::io)?;
        Ok(Self {
            text,
            layout,
            is_first: true,
        })
    }

    /// Adds an element.
    ///
    /// # Errors
    /// Those of serde: a map with a key that is no text.
    pub fn push(&mut self, element: &impl Serialize) -> serde_json::Result<()> {
        let begun = self.layout.begin_array_value(&mut self.text, self.is_first);
        begun.map_err(serde_json::Error::io)?;
        self.is_first = false;
        let mut serializer = Serializer::with_formatter(&mut self.text, self.layout.clone());
        element.serialize(&mut serializer)?;
        let ended = self.layout.end_array_value(&mut self.text);
        ended.map_err(serde_json::Error::io)
    }

    /// The text written since the caller last took it.
    pub fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// The rest of the document.
    ///
    /// # Errors
    /// Those of serde; memory takes what is written.
    pub fn finish(mut self) -> serde_json::Result<Vec<u8>> {
        let ended = self
            .layout
            .end_array(&mut self.text)
            .and_then(|()| self.layout.end_object_value(&mut self.text))
            .and_then(|()| self.layout.end_object(&mut self.text));
        ended.map_err(serde_json::Error::io)?;
        Ok(self.text)
    }
}

#[derive(Debug, Clone)]
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
        let element = serde_json::json!({ "a": 1, "list": [{ "b": [1, 2], "c": {} }, { "d": "x" }], "none": [] });
        let mut document = ListDocument::new("models").unwrap();
        document.push(&element).unwrap();
        document.push(&0).unwrap();
        let text = String::from_utf8(document.finish().unwrap()).unwrap();
        let expected = "{\n  \"models\": [\n    {\n      \"a\": 1,\n      \"list\": [\n        {\"b\":[1,2],\"c\":{}},\n        \
                        {\"d\":\"x\"}\n      ],\n      \"none\": []\n    },\n    0\n  ]\n}";
        assert_eq!(text, expected);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            serde_json::json!({ "models": [element, 0] })
        );
        let none = ListDocument::new("models").unwrap().finish().unwrap();
        assert_eq!(none, b"{\n  \"models\": []\n}");
    }
}
