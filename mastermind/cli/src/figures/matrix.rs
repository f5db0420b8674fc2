//! The communication matrix: bytes that each rank has sent to each other.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::style::{Axis, FONT, LABEL_SIZE, TITLE_SIZE, number};
use super::{DrawError, Figure};

/// Bytes from one rank to another.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The sender's rank.
    pub from: u32,
    /// The receiver's rank.
    pub to: u32,
    /// More than 0.
    pub bytes: u64,
}

/// The matrix.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The title of the figure.
    pub title: String,
    /// Number of ranks.
    pub n_ranks: u32,
    /// The cells with bytes.
    pub cells: Vec<Cell>,
}

/// Colours from the least to the most bytes.
///
/// # Source
/// Viridis of matplotlib, every fourth: even steps to the eye, also in print and to the colour-blind.
const SCALE: [(u8, u8, u8); 5] = [
    (253, 231, 37),
    (94, 201, 98),
    (33, 145, 140),
    (59, 82, 139),
    (68, 1, 84),
];

/// The colour of a place on the scale, from 0 to 1.
fn shade(place: f64) -> RGBColor {
    let at = place.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let lower = (at.floor() as usize).min(SCALE.len() - 2);
    let share = at - lower as f64;
    let mix = |a: u8, b: u8| (f64::from(a) * (1.0 - share) + f64::from(b) * share).round() as u8;
    let (a, b) = (SCALE[lower], SCALE[lower + 1]);
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Steps of the legend's scale.
const LEGEND_STEPS: usize = 64;

impl Matrix {
    /// Least and most bytes of a cell.
    fn range(&self) -> (f64, f64) {
        let bytes = || self.cells.iter().map(|cell| cell.bytes as f64);
        let most = bytes().fold(1.0, f64::max);
        (bytes().fold(most, f64::min), most)
    }

    /// Place on the scale: logarithmic where the bytes span more than a factor of 20.
    fn place(&self, bytes: f64) -> f64 {
        let (least, most) = self.range();
        match most > 20.0 * least {
            true => (bytes / least).ln() / (most / least).ln(),
            false => bytes / most,
        }
    }

    fn legend<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawError<DB>> {
        let (least, most) = self.range();
        let is_log = most > 20.0 * least;
        let (_, height) = area.dim_in_pixel();
        let (top, bottom) = (70, height as i32 - 90);
        let y = |place: f64| bottom - ((bottom - top) as f64 * place) as i32;
        for step in 0..LEGEND_STEPS {
            let place = |step: usize| step as f64 / LEGEND_STEPS as f64;
            let corners = [(10, y(place(step + 1))), (34, y(place(step)))];
            area.draw(&Rectangle::new(corners, shade(place(step)).filled()))?;
        }
        let style = (FONT, LABEL_SIZE).into_font();
        area.draw(&Text::new("bytes", (10, top - 30), style.clone()))?;
        let (low, middle) = match is_log {
            true => (least, (least * most).sqrt()),
            false => (0.0, most / 2.0),
        };
        let axis = Axis::new([low, most].into_iter(), is_log);
        let marks = [low, axis.nearest(middle), most];
        for mark in marks {
            let place = if mark > 0.0 { self.place(mark) } else { 0.0 };
            area.draw(&Text::new(
                number(&mark.round()),
                (42, y(place) - 10),
                style.clone(),
            ))?;
        }
        Ok(())
    }
}

impl Figure for Matrix {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let (width, _) = area.dim_in_pixel();
        let (main, side) = area.split_horizontally(width * 84 / 100);
        let highest = f64::from(self.n_ranks.max(1) - 1);
        let mut chart = ChartBuilder::on(&main)
            .margin(16)
            .caption(&self.title, (FONT, TITLE_SIZE))
            .x_label_area_size(62)
            .y_label_area_size(92)
            .build_cartesian_2d(Axis::levels(highest), Axis::levels(highest))?;
        chart
            .configure_mesh()
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .label_style((FONT, LABEL_SIZE))
            .axis_desc_style((FONT, LABEL_SIZE))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc("receiver's rank in MPI_COMM_WORLD")
            .y_desc("sender's rank in MPI_COMM_WORLD")
            .draw()?;
        let cells = self.cells.iter().map(|cell| {
            let (x, y) = (f64::from(cell.to), f64::from(cell.from));
            let corners = [(x - 0.5, y - 0.5), (x + 0.5, y + 0.5)];
            Rectangle::new(corners, shade(self.place(cell.bytes as f64)).filled())
        });
        chart.draw_series(cells)?;
        self.legend(&side)
    }
}
