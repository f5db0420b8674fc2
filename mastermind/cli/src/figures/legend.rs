//! The legend of a figure, in a strip above the frame, where it hides nothing.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::DrawError;
use super::style::{FONT, marker};

/// Height of a row, pixels.
const ROW: i32 = 24;

/// Size of the letters.
const SIZE: u32 = 16;

/// Mean width of a letter relative to its size.
const LETTER: f64 = 0.58;

/// Room for a mark, and behind an entry.
const MARK: i32 = 26;
const GAP: i32 = 26;

/// Maximum number of rows; entries that do not fit are left out.
const MAX_ROWS: i32 = 5;

/// An entry: its mark and its text.
pub struct Entry {
    pub mark: Mark,
    pub text: String,
}

/// The mark of a series.
pub enum Mark {
    /// The marker of a rank.
    Rank(u32, RGBColor),
    /// A line.
    Line(RGBColor),
}

/// Characters of an entry that fit into a row of an area.
pub fn room<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, left: i32) -> usize {
    let (width, _) = area.dim_in_pixel();
    let pixels = f64::from(width as i32 - left - MARK - GAP);
    (pixels / (LETTER * f64::from(SIZE))).max(0.0) as usize
}

/// Draws the entries and returns the area below them. The entries of a group, such as the points and the line of a
/// series, stand in one row where they fit.
///
/// # Errors
/// The back end's.
/// The back end's.
pub fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    left: i32,
    groups: &[Vec<Entry>],
) -> Result<DrawingArea<DB, Shift>, DrawError<DB>> {
    let (width, _) = area.dim_in_pixel();
    let places = places(groups, left, width as i32);
    let rows = places.iter().map(|(_, row)| row + 1).max().unwrap_or(0);
    let (strip, below) = area.split_vertically(rows.min(MAX_ROWS) * ROW);
    for (entry, (x, row)) in groups.iter().flatten().zip(places) {
        if row >= MAX_ROWS {
            continue;
        }
        let middle = row * ROW + ROW / 2;
        match entry.mark {
            Mark::Rank(rank, colour) => {
                strip.draw(&marker(rank, (x + 8, middle), 5, colour.stroke_width(2)))?;
            }
            Mark::Line(colour) => {
                let line = vec![(x, middle), (x + 18, middle)];
                strip.draw(&PathElement::new(line, colour.stroke_width(3)))?;
            }
        }
        let text = (FONT, SIZE).into_font().color(&BLACK);
        let at = (x + MARK, middle - SIZE as i32 / 2 - 1);
        strip.draw(&Text::new(entry.text.clone(), at, text))?;
    }
    Ok(below)
}

/// Left end and row of each entry.
fn places(groups: &[Vec<Entry>], left: i32, width: i32) -> Vec<(i32, i32)> {
    let wide = |entry: &Entry| {
        let letters = entry.text.chars().count() as f64;
        MARK + (letters * LETTER * f64::from(SIZE)) as i32 + GAP
    };
    let (mut x, mut row) = (left, 0);
    let mut places = Vec::new();
    for group in groups {
        let whole: i32 = group.iter().map(wide).sum();
        if x > left && x + whole > width {
            (x, row) = (left, row + 1);
        }
        for entry in group {
            if x > left && x + wide(entry) > width {
                (x, row) = (left, row + 1);
            }
            places.push((x, row));
            x += wide(entry);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_on_in_the_next_row() {
        let entry = |text: &str| Entry {
            mark: Mark::Line(BLACK),
            text: text.into(),
        };
        let long = || entry(&"c".repeat(60));
        let groups = [
            vec![entry("a")],
            vec![entry("b")],
            vec![long()],
            vec![entry("d"), entry("e")],
            vec![entry("f"), entry(&"g".repeat(25))],
        ];
        let places = places(&groups, 10, 400);
        let rows: Vec<_> = places.iter().map(|(_, row)| *row).collect();
        assert_eq!(rows, [0, 0, 1, 2, 2, 3, 3]);
        assert!(places[1].0 > places[0].0 && places[2].0 == 10);
    }
}
