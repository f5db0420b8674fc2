//! How a line of JSON begins, so that the lines of repetitions need not be parsed.
//!
//! In: a line that was parsed, and those after it. Out: the value of each that differs from it in the value at its end alone, as
//! repetitions do. All others are parsed.

/// How a line begins that ends with its one value: `{"params": {"x": 4}, "value":`. Whatever begins so and goes on with a number and the
/// end of the object says the same of another value.
#[derive(Debug, Default)]
pub(super) struct LineStart(Vec<u8>);

impl LineStart {
    /// The value of a line that begins so; `None` of another one.
    pub(super) fn value(&self, line: &[u8]) -> Option<f64> {
        if self.0.is_empty() {
            return None;
        }
        value(line.strip_prefix(self.0.as_slice())?)
    }

    /// Takes the beginning of a line of JSON; none where it does not end with one value.
    pub(super) fn set(&mut self, line: &[u8]) {
        self.0.clear();
        let Some(colon) = line.iter().rposition(|byte| *byte == b':') else {
            return;
        };
        let (start, rest) = line.split_at(colon + 1);
        let key = start[..colon].trim_ascii_end().strip_suffix(br#""value""#);
        // A name may end so, too.
        let is_key = key.is_some_and(|before| !before.ends_with(br"\"));
        if is_key && value(rest).is_some() {
            self.0.extend(start);
        }
    }
}

/// The number before the end of the object, where there is nothing else.
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
