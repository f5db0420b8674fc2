//! Forms of nodes: brackets around the text, or names in `@{ shape: … }`.
//!
//! # Source
//! Mermaid, "Flowcharts - Basic Syntax", "Node shapes" and "Expanded Node Shapes in Mermaid Flowcharts (v11.3.0+)".

use crate::picture::Shape;

/// Brackets that open, those that close, and the form; longer ones first.
const BRACKETS: [(&str, &[&str], Shape); 14] = [
    ("(((", &[")))"], Shape::DoubleCircle),
    ("((", &["))"], Shape::Circle),
    ("([", &["])"], Shape::Stadium),
    ("(-", &["-)"], Shape::Stadium),
    ("(", &[")"], Shape::Rounded),
    ("[[", &["]]"], Shape::Subroutine),
    ("[(", &[")]"], Shape::Cylinder),
    ("[|", &["|]"], Shape::Rectangle),
    ("[/", &["/]", "\\]"], Shape::LeanRight),
    ("[\\", &["\\]", "/]"], Shape::LeanLeft),
    ("[", &["]"], Shape::Rectangle),
    ("{{", &["}}"], Shape::Hexagon),
    ("{", &["}"], Shape::Diamond),
    (">", &["]"], Shape::Flag),
];

/// Longest text of a node, bytes: Mermaid draws no diagram of more than 50,000 letters (`maxTextSize`).
const MAX_TEXT: usize = 50_000;

/// A node's text in its brackets at the begin of a text, its form, and the length of all. `Err` for unclosed brackets,
/// with the expected text.
pub(super) fn bracketed(text: &str) -> Option<Result<(Shape, &str, usize), &'static str>> {
    let mut missing = None;
    for (open, closes, shape) in BRACKETS {
        let Some(inside) = text.strip_prefix(open) else {
            continue;
        };
        let ends = closes
            .iter()
            .filter_map(|close| Some((closing(inside, close)?, *close)));
        if let Some((end, close)) = ends.min() {
            let shape = match (shape, close) {
                (Shape::LeanRight, "\\]") => Shape::Trapezoid,
                (Shape::LeanLeft, "/]") => Shape::TrapezoidTop,
                (shape, _) => shape,
            };
            return Some(Ok((shape, &inside[..end], open.len() + end + close.len())));
        }
        missing = closes.first().copied();
    }
    missing.map(Err)
}

/// Position of the closing bracket, without brackets within the text and quoted ones.
fn closing(inside: &str, close: &str) -> Option<usize> {
    let mut quoted = false;
    let mut open: Vec<char> = Vec::new();
    for (at, letter) in inside.char_indices() {
        if at > MAX_TEXT {
            return None;
        }
        if letter == '"' {
            quoted = !quoted;
        } else if !quoted && open.is_empty() && inside[at..].starts_with(close) {
            // Of `((a))` and `[[a]]` the last ones close.
            return Some(at);
        } else if !quoted {
            match letter {
                '(' => open.push(')'),
                '[' => open.push(']'),
                '{' => open.push('}'),
                letter if open.last() == Some(&letter) => {
                    open.pop();
                }
                _ => {}
            }
        }
    }
    None
}

/// Names of forms in `@{ shape: … }`; a name that is not among them is drawn as a box.
const NAMES: [(Shape, &[&str]); 17] = [
    (Shape::Diamond, &["diam", "decision", "diamond", "question"]),
    (Shape::Stadium, &["stadium", "pill", "terminal"]),
    (
        Shape::Rounded,
        &["rounded", "event", "delay", "half-rounded-rectangle"],
    ),
    (
        Shape::Subroutine,
        &[
            "fr-rect",
            "framed-rectangle",
            "subproc",
            "subprocess",
            "subroutine",
        ],
    ),
    (
        Shape::Cylinder,
        &[
            "cyl",
            "cylinder",
            "database",
            "db",
            "datastore",
            "data-store",
            "h-cyl",
            "das",
            "horizontal-cylinder",
            "lin-cyl",
            "disk",
            "lined-cylinder",
        ],
    ),
    (
        Shape::Circle,
        &["circle", "circ", "cross-circ", "crossed-circle", "summary"],
    ),
    (Shape::DoubleCircle, &["dbl-circ", "double-circle"]),
    (
        Shape::Initial,
        &[
            "sm-circ",
            "small-circle",
            "start",
            "f-circ",
            "filled-circle",
            "junction",
        ],
    ),
    (Shape::Final, &["fr-circ", "framed-circle", "stop"]),
    (Shape::Hexagon, &["hex", "hexagon", "prepare"]),
    (
        Shape::LeanRight,
        &[
            "lean-r",
            "lean-right",
            "in-out",
            "sl-rect",
            "manual-input",
            "sloped-rectangle",
        ],
    ),
    (Shape::LeanLeft, &["lean-l", "lean-left", "out-in"]),
    (
        Shape::Trapezoid,
        &["trap-b", "priority", "trapezoid", "trapezoid-bottom"],
    ),
    (
        Shape::TrapezoidTop,
        &["trap-t", "inv-trapezoid", "manual", "trapezoid-top"],
    ),
    (
        Shape::Document,
        &[
            "doc",
            "document",
            "docs",
            "documents",
            "st-doc",
            "stacked-document",
            "lin-doc",
            "lined-document",
            "tag-doc",
            "tagged-document",
            "flag",
            "paper-tape",
        ],
    ),
    (Shape::Bar, &["fork", "join"]),
    (
        Shape::Note,
        &["brace", "brace-l", "comment", "brace-r", "braces"],
    ),
];

/// The form of that name.
pub(super) fn named(name: &str) -> Shape {
    if name == "text" {
        return Shape::Text;
    }
    if name == "odd" {
        return Shape::Flag;
    }
    let found = NAMES.iter().find(|(_, names)| names.contains(&name));
    found.map_or(Shape::Rectangle, |(shape, _)| *shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_say_the_form() {
        for (text, shape, inside) in [
            ("[a]", Shape::Rectangle, "a"),
            ("(a)", Shape::Rounded, "a"),
            ("([a])", Shape::Stadium, "a"),
            ("[[a]]", Shape::Subroutine, "a"),
            ("[(a)]", Shape::Cylinder, "a"),
            ("((a))", Shape::Circle, "a"),
            ("(((a)))", Shape::DoubleCircle, "a"),
            ("{a}", Shape::Diamond, "a"),
            ("{{a}}", Shape::Hexagon, "a"),
            (">a]", Shape::Flag, "a"),
            ("[/a/]", Shape::LeanRight, "a"),
            ("[\\a\\]", Shape::LeanLeft, "a"),
            ("[/a\\]", Shape::Trapezoid, "a"),
            ("[\\a/]", Shape::TrapezoidTop, "a"),
            ("[f(x) and y[1]]", Shape::Rectangle, "f(x) and y[1]"),
            ("[\"a ] b\"]", Shape::Rectangle, "\"a ] b\""),
        ] {
            let line = format!("{text} --> b");
            let found = bracketed(&line);
            assert_eq!(found, Some(Ok((shape, inside, text.len()))), "{text}");
        }
        assert_eq!(bracketed("[a"), Some(Err("]")));
        assert_eq!(bracketed("--> b"), None);
    }
}
