//! The lines between nodes: `-->`, `-.->`, `==>`, `~~~`, with a text in them or not.
//!
//! # Source
//! Mermaid, `packages/mermaid/src/diagrams/flowchart/parser/flow.jison`: tokens `LINK`, `START_LINK`, `EDGE_TEXT`.

use crate::picture::Stroke;

/// A line as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) stroke: Stroke,
    /// Whether a tip stands at its begin, and at its end.
    pub(super) tips: [bool; 2],
}

/// The tip that a text begins with, and its length. Circles and crosses are tips too.
fn tip(text: &str) -> (bool, usize) {
    let is_tip = text.starts_with(['x', 'o', '<']);
    (is_tip, usize::from(is_tip))
}

/// A whole line at the begin of a text, and its length.
pub(super) fn whole(text: &str) -> Option<(Written, usize)> {
    let (begins, from) = tip(text);
    let line = &text[from..];
    let count = |sign: char| line.chars().take_while(|c| *c == sign).count();
    let tilde = count('~');
    if tilde >= 3 {
        let tips = [false; 2];
        let stroke = Stroke::Hidden;
        return Some((Written { stroke, tips }, from + tilde));
    }
    let dashes = usize::from(line.starts_with("-."));
    let dots = line[dashes..].chars().take_while(|c| *c == '.').count();
    if dots > 0 {
        let after = line[dashes + dots..].strip_prefix('-')?;
        let (ends, width) = end_tip(after);
        let stroke = Stroke::Dashed;
        let tips = [begins, ends];
        return Some((Written { stroke, tips }, from + dashes + dots + 1 + width));
    }
    let (n, stroke) = match (count('-'), count('=')) {
        (0, n) => (n, Stroke::Thick),
        (n, _) => (n, Stroke::Solid),
    };
    let (ends, width) = end_tip(&line[n..]);
    let is_whole = n >= 3 || (n == 2 && ends);
    let tips = [begins, ends];
    is_whole.then_some((Written { stroke, tips }, from + n + width))
}

fn end_tip(text: &str) -> (bool, usize) {
    let is_tip = text.starts_with(['x', 'o', '>']);
    (is_tip, usize::from(is_tip))
}

/// A line around a text, at the begin of one: the line, the text, and the length of all.
pub(super) fn around(text: &str) -> Option<(Written, &str, usize)> {
    let (begins, from) = tip(text);
    let line = &text[from..];
    let (sign, stroke) = [
        ("--", Stroke::Solid),
        ("==", Stroke::Thick),
        ("-.", Stroke::Dashed),
    ]
    .into_iter()
    .find(|(sign, _)| line.starts_with(sign))?;
    let said = &line[sign.len()..];
    let mut quoted = false;
    let mut before = ' ';
    for (at, letter) in said.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '\n' | ';' if !quoted => return None,
            '-' | '=' | '.' | '<' | 'x' | 'o' if !quoted => {
                // A letter of a word is no tip.
                let may_be_tip = !letter.is_alphabetic() || before.is_whitespace();
                let found = may_be_tip.then(|| whole(&said[at..])).flatten();
                if let Some((end, length)) = found.filter(|(end, _)| end.stroke == stroke) {
                    let tips = [begins, end.tips[1]];
                    let length = from + sign.len() + at + length;
                    return Some((Written { stroke, tips }, said[..at].trim(), length));
                }
            }
            _ => {}
        }
        before = letter;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_stroke_of_their_signs() {
        use Stroke::{Dashed, Hidden, Solid, Thick};
        for (text, stroke, tips, length) in [
            ("-->B", Solid, [false, true], 3),
            ("---B", Solid, [false, false], 3),
            ("----->B", Solid, [false, true], 6),
            ("--oB", Solid, [false, true], 3),
            ("<-->B", Solid, [true, true], 4),
            ("x--x B", Solid, [true, true], 4),
            ("-.->B", Dashed, [false, true], 4),
            ("-..-B", Dashed, [false, false], 4),
            (".->B", Dashed, [false, true], 3),
            ("==>B", Thick, [false, true], 3),
            ("===B", Thick, [false, false], 3),
            ("~~~B", Hidden, [false, false], 3),
        ] {
            assert_eq!(
                whole(text),
                Some((Written { stroke, tips }, length)),
                "{text}"
            );
        }
        for text in ["--B", "- ->", "->B", "=B", "B", "", "<B", "-."] {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_may_stand_in_a_line() {
        for (text, said, length) in [
            ("-- yes -->B", "yes", 10),
            ("--no-->B", "no", 7),
            ("-- a-b -->B", "a-b", 10),
            ("-. v1.0 .->B", "v1.0", 11),
            ("== x => y ==>B", "x => y", 13),
            ("-- \"a --> b\" --- B", "\"a --> b\"", 16),
        ] {
            let found = around(text).map(|(_, said, length)| (said, length));
            assert_eq!(found, Some((said, length)), "{text}");
        }
        assert_eq!(around("-- no end\n-->B"), None);
    }
}
