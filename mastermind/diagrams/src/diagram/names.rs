//! The text of a node: its name, and the stereotypes and words in it.

use super::collect::{Collected, Subject};
use super::words::Annotation;
use mastermind_programs::Rule;

/// Stereotypes of PlantUML that change only the shape.
const SHAPES: [&str; 9] = [
    "input",
    "output",
    "procedure",
    "load",
    "save",
    "continuous",
    "task",
    "object",
    "objectsignal",
];

/// Where the first `<<` or `{` is.
pub(crate) fn opening(text: &str) -> Option<usize> {
    let all = text.match_indices(['<', '{']).map(|(at, _)| at);
    all.into_iter()
        .find(|at| text[*at..].starts_with('{') || text[*at..].starts_with("<<"))
}

/// The name in a text; its stereotypes, tagged values and lines `word = …` go to the annotation.
pub(crate) fn name_and_words(
    text: &str,
    annotation: &mut Annotation,
    at: &str,
    out: &mut Collected,
) -> String {
    let mut plain = String::new();
    let mut stereotypes = Vec::new();
    let mut tags = Vec::new();
    let mut rest = text;
    while let Some(begin) = opening(rest) {
        let (close, width) = if rest[begin..].starts_with("<<") {
            (">>", 2)
        } else {
            ("}", 1)
        };
        let Some(end) = rest[begin + width..].find(close) else {
            break;
        };
        plain.push_str(&rest[..begin]);
        let inside = &rest[begin + width..begin + width + end];
        if width == 2 {
            stereotypes.push(inside.trim());
        } else if inside.contains('=') || parts(inside).iter().any(|part| Annotation::knows(part)) {
            tags.push(inside);
        } else {
            // Braces in a text are no tagged values.
            plain.push_str(&rest[begin..begin + width + end + width]);
        }
        rest = &rest[begin + width + end + width..];
    }
    plain.push_str(rest);
    let plain = plain.replace("\\n", "\n");
    let mut lines = plain.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut name = lines.next().unwrap_or_default().to_owned();
    let mut words = Vec::new();
    for line in lines {
        if Annotation::knows(line) {
            words.push(line);
        } else {
            name.push(' ');
            name.push_str(line);
        }
    }
    let place = Subject { element: &name, at };
    for stereotype in stereotypes {
        let is_shape = SHAPES.contains(&stereotype.to_ascii_lowercase().as_str());
        if !annotation.stereotype(stereotype, place, out) && !is_shape {
            let reason = format!("«{stereotype}» is none of the stereotypes that say what it is");
            out.warn(Rule::Ignored, place, reason);
        }
    }
    for tag in tags.into_iter().flat_map(parts).chain(words) {
        if !tag.is_empty() && !annotation.line(tag, place, out) {
            let reason = format!("\"{tag}\" is no tagged value, expected word = text");
            out.find(Rule::Annotation, place, reason);
        }
    }
    name
}

/// Parts between commas outside of brackets.
pub(crate) fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0_i32, 0);
    for (i, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(text[from..i].trim());
                from = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_a_name_and_words() {
        let mut annotation = Annotation::default();
        let mut out = Collected::default();
        let text = "Sample\nAction <<action+>>\n{id = 1, type = SAMPLE, cost = max(1, 2)}";
        assert_eq!(
            name_and_words(text, &mut annotation, "line 1", &mut out),
            "Sample Action"
        );
        assert_eq!(out.findings, []);
        assert!(!annotation.is_empty());
        name_and_words("x {cots = 1}", &mut annotation, "line 1", &mut out);
        assert_eq!(out.findings.len(), 1);
    }
}
