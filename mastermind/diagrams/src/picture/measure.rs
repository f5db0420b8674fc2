//! Width of texts, without a font at hand: widths of Helvetica by classes of letters, rather too wide than too narrow.
//!
//! # Source
//! Adobe, "Font Metrics for PostScript core fonts", Helvetica: widths of letters in thousandths of the size.

use super::{Line, Run};

/// Size of letters, and distance of lines, px.
pub(super) const SIZE: f64 = 12.0;
pub(super) const LINE: f64 = 15.0;

/// Longest line before it is broken, px: the width of a page's column of figures.
const MAX_LINE: f64 = 300.0;

/// The width of a letter, in sizes.
fn letter(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' | '!' | '.' | ',' | ':' | ';' | ' ' | 'I' => 0.29,
        't' | 'f' | 'r' | '(' | ')' | '[' | ']' | '{' | '}' | '/' | '\\' | '-' | '"' | '*' => 0.37,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.9,
        'A'..='Z' | '&' | '+' | '=' | '<' | '>' | '~' => 0.72,
        letter if letter.is_ascii() => 0.57,
        // Ideographs and pictures are as wide as they are high.
        letter if letter as u32 >= 0x2190 => 1.1,
        _ => 0.65,
    }
}

/// The width of a piece of a line, px.
pub(super) fn width_of_run(run: &Run) -> f64 {
    let letters = run.text.chars();
    let sizes: f64 = match run.mono {
        true => letters.map(|c| if c.is_ascii() { 0.61 } else { 1.1 }).sum(),
        false => letters.map(letter).sum(),
    };
    SIZE * sizes * if run.bold { 1.08 } else { 1.0 }
}

/// The width of a line, px.
pub(super) fn width_of(line: &Line) -> f64 {
    line.iter().map(width_of_run).sum()
}

/// The width and height of lines, px.
pub(super) fn size_of(lines: &[Line]) -> (f64, f64) {
    let width = lines.iter().map(width_of).fold(0.0, f64::max);
    (width, LINE * lines.len() as f64)
}

/// The lines with those broken that are too long.
pub(super) fn wrapped(lines: &[Line]) -> Vec<Line> {
    let mut all = Vec::new();
    for line in lines {
        if width_of(line) <= MAX_LINE {
            all.push(line.clone());
            continue;
        }
        let mut made = Line::new();
        let mut width = 0.0;
        for run in line {
            for word in run.text.split_inclusive(' ') {
                let piece = Run {
                    text: word.to_owned(),
                    ..run.clone()
                };
                let more = width_of_run(&piece);
                if width + more > MAX_LINE && width > 0.0 {
                    all.push(std::mem::take(&mut made));
                    width = 0.0;
                }
                width += more;
                made.push(piece);
            }
        }
        all.push(made);
    }
    all
}
