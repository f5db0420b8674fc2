//! The outlines of the patches, in a line weight for each level.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::picture::{Area, DrawError, FONT, LABEL_SIZE};
use crate::{Grid, PatchOutline};

/// Line widths of the levels 0, 1 and all finer ones, pixels.
const LINE_WIDTHS: [u32; 3] = [5, 3, 1];
/// Pixels of an entry of the legend, and of the line in it.
const ENTRY: i32 = 120;
const SAMPLE: i32 = 36;

fn line_width(level: usize) -> u32 {
    LINE_WIDTHS[level.min(LINE_WIDTHS.len() - 1)]
}

/// The pixels of a line of some width around `place`, pushed inside the picture.
fn pixels(place: f64, width: u32, all: u32) -> std::ops::Range<u32> {
    let first = (place - 0.5 * f64::from(width)).round().max(0.0) as u32;
    let first = first.min(all.saturating_sub(width));
    first..(first + width).min(all)
}

/// Draws the outlines of all patches.
///
/// # Arguments
/// * `area` - the pixels of the grid
/// * `ink` - colour of a line at a pixel, counted from the upper left
pub(crate) fn draw_outlines<'a>(
    area: &Area<'a>,
    grid: &Grid,
    patches: &[PatchOutline],
    ink: impl Fn(u32, u32) -> RGBColor,
) -> Result<(), DrawError<'a>> {
    let (width, height) = area.dim_in_pixel();
    let (end_x, end_y) = grid.end();
    let column = |x: f64| (x - grid.x0) / (end_x - grid.x0) * f64::from(width);
    let row = |y: f64| (end_y - y) / (end_y - grid.y0) * f64::from(height);
    for patch in patches {
        let weight = line_width(patch.level);
        let columns = [patch.low.0, patch.high.0].map(|x| pixels(column(x), weight, width));
        let rows = [patch.high.1, patch.low.1].map(|y| pixels(row(y), weight, height));
        let across = columns[0].start..columns[1].end;
        let along = rows[0].start..rows[1].end;
        let upright = columns
            .iter()
            .map(|columns| (columns.clone(), along.clone()));
        let level = rows.iter().map(|rows| (across.clone(), rows.clone()));
        for (columns, rows) in upright.chain(level) {
            for y in rows {
                for x in columns.clone() {
                    area.draw_pixel((x as i32, y as i32), &ink(x, y))?;
                }
            }
        }
    }
    Ok(())
}

/// Draws a sample of each level's line at the upper right, if there is more than one level.
///
/// # Arguments
/// * `margin` - pixels to the edges
pub(crate) fn draw_legend<'a>(
    area: &Area<'a>,
    patches: &[PatchOutline],
    margin: u32,
) -> Result<(), DrawError<'a>> {
    let finest = patches.iter().map(|patch| patch.level).max().unwrap_or(0);
    if finest == 0 {
        return Ok(());
    }
    let (margin, right) = (margin as i32, area.dim_in_pixel().0 as i32);
    let y = 2 * margin;
    let style = (FONT, LABEL_SIZE).into_text_style(area);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    for level in 0..=finest {
        let x = right - margin - (finest + 1 - level) as i32 * ENTRY;
        let weight = line_width(level);
        let top = y - weight as i32 / 2;
        let corners = [(x, top), (x + SAMPLE, top + weight as i32)];
        area.draw(&Rectangle::new(corners, BLACK.filled()))?;
        let text = format!("level {level}");
        area.draw(&Text::new(
            text,
            (x + SAMPLE + margin / 2, y),
            style.clone(),
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_lies_around_its_place_inside_the_picture() {
        assert_eq!(pixels(10.0, 3, 20), 9..12);
        assert_eq!(pixels(0.0, 5, 20), 0..5);
        assert_eq!(pixels(20.0, 5, 20), 15..20);
        assert_eq!(pixels(1.0, 5, 3), 0..3);
    }

    #[test]
    fn finer_levels_have_thinner_lines() {
        assert!(line_width(0) > line_width(1) && line_width(1) > line_width(2));
        assert_eq!(line_width(2), line_width(7));
    }
}
