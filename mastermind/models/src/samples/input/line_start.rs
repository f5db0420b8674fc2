//! The beginning of a line of JSON, so that the lines of repetitions need not be parsed.
//!
//! In: a parsed line, and the lines after it. Out: the value of each line that differs from the parsed one only in the value at its end, as
//! repetitions do. All other lines are parsed.

/// The beginning of a line up to its single, final value: `{"params": {"x": 4}, "value":`. A line that begins with the same bytes and
/// continues with a number and the end of the object differs in the value only.
#[derive(Debug, Default)]
pub(super) struct LineStart(Vec<u8>);

impl LineStart {
    /// The value of a line with this beginning; `None` for other lines.
    pub(super) fn value(&self, line: &[u8]) -> Option<f64> {
        if self.0.is_empty() {
            return None;
        }
        value(line.strip_prefix(self.0.as_slice())?)
    }

    /// Stores the beginning of a line of JSON; nothing if the line does not end with a single value.
    pub(super) fn set(&mut self, line: &[u8]) {
        self.0.clear();
        let Some(colon) = line.iter().rposition(|byte| *byte == b':') else {
            return;
        };
        let (start, rest) = line.split_at(colon + 1);
        let key = start[..colon].trim_ascii_end().strip_suffix(br#""value""#);
        // The end of a name may look like the key, with an escaped quotation mark.
        let is_key = key.is_some_and(|before| !before.ends_with(br"\"));
        if is_key && value(rest).is_some() {
            self.0.extend(start);
        }
    }
}

/// The number before the end of the object, if there is nothing else.
fn value(rest: &[u8]) -> Option<f64> {
    serde_json::from_slice(rest.trim_ascii_end().strip_suffix(b"}")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_told_by_their_beginning() {
        let line = r#"{"params": {"x": 4}, "callpath": "a", "value": 0.25}"#;
        let mut before = LineStart::default();
        let first = before.value(line.as_bytes());
        assert_eq!(first, None, "nothing is before the first");
        before.set(line.as_bytes());
        let other = |from, to| before.value(line.replace(from, to).as_bytes());
        assert_eq!(other("0.25", "-3e2 "), Some(-300.0));
        for (from, to) in [
            ("4", "5"),
            ("0.25", "[1]"),
            ("0.25", "null"),
            ("0.25", "1, \"value\": 2"),
            ("}", "}}"),
            ("0.25", "05"),
            ("0.25", "1e999"),
            ("0.25", ""),
        ] {
            assert_eq!(other(from, to), None, "{to}");
        }
    }

    #[test]
    fn lines_that_do_not_end_with_their_value_have_no_such_beginning() {
        for line in [
            r#"{"value": 1, "params": {"x": 4}}"#,
            r#"{"params": {"x": 4}, "value": [1]}"#,
            r#"{"params": {"value": 4}}"#,
            r#"{"params": {"x": 4}, "my \"value": 4}"#,
            r#"{"params": {"x": 4}, "value": 1, "note": 2}"#,
            "3",
        ] {
            let mut start = LineStart::default();
            start.set(line.as_bytes());
            assert_eq!(start.value(line.as_bytes()), None, "{line}");
        }
    }
}
