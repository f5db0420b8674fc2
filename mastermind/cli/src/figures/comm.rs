//! Figure 6: time in MPI of each call by level or in order, of the first rank; inset, of all ranks.

use std::collections::BTreeSet;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::style::{Axis, FONT, LABEL_SIZE, TITLE_SIZE, colour, marker, number};
use super::{DrawError, Figure};

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Level, or number of the call within its rank.
    pub x: f64,
    /// Time in MPI, microseconds.
    pub us: f64,
    /// Rank that made the call.
    pub rank: u32,
}

/// The message-passing times of a method.
///
/// # Source
/// Ray et al., IPDPS 2004, Figure 6.
#[derive(Clone, Debug)]
pub struct Comm {
    /// What is shown.
    pub title: String,
    /// `level` or `invocation`.
    pub x_label: String,
    /// Whether `x` is one of few whole numbers.
    pub is_level: bool,
    /// The calls.
    pub points: Vec<Point>,
}

const MOST_POINTS: usize = 12_000;

impl Comm {
    fn first_rank(&self) -> u32 {
        self.points
            .iter()
            .map(|point| point.rank)
            .min()
            .unwrap_or(0)
    }

    fn panel<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        only: Option<u32>,
    ) -> Result<(), DrawError<DB>> {
        let shown = |point: &&Point| only.is_none_or(|rank| rank == point.rank);
        let x = self.points.iter().filter(shown).map(|point| point.x);
        let y = self.points.iter().filter(shown).map(|point| point.us);
        let x = if self.is_level {
            Axis::whole(x.fold(0.0, f64::max))
        } else {
            Axis::new(x, false)
        };
        let is_log = Axis::spans_decades(y.clone());
        let (margin, size) = if only.is_some() {
            (16, LABEL_SIZE)
        } else {
            (6, 14)
        };
        let n = self.points.iter().filter(shown).count();
        let mut builder = ChartBuilder::on(area);
        builder
            .margin(margin)
            .x_label_area_size(if only.is_some() { 62 } else { 26 })
            .y_label_area_size(if only.is_some() { 92 } else { 66 });
        match only {
            Some(rank) => builder.caption(
                format!("{}  ({n} calls of rank {rank})", self.title),
                (FONT, TITLE_SIZE),
            ),
            None => builder.caption("all ranks", (FONT, 16)),
        };
        let mut chart = builder.build_cartesian_2d(x, Axis::new(y, is_log))?;
        let mut mesh = chart.configure_mesh();
        if self.is_level {
            mesh.disable_x_mesh();
        }
        mesh.x_label_formatter(&number)
            .y_label_formatter(&number)
            .label_style((FONT, size))
            .axis_desc_style((FONT, size))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc(if only.is_some() { &self.x_label } else { "" })
            .y_desc(if only.is_some() {
                "time in MPI of a call [us]"
            } else {
                ""
            })
            .draw()?;
        let step = n.div_ceil(MOST_POINTS) | 1;
        for rank in self
            .ranks()
            .filter(|rank| only.is_none_or(|only| only == *rank))
        {
            let style = colour(rank as usize).mix(0.6).stroke_width(1);
            let own = self.points.iter().filter(|p| p.rank == rank).step_by(step);
            let points = own.enumerate().map(|(place, p)| {
                // Apart within the level, so that calls of like time do not hide each other.
                let aside = if self.is_level {
                    (place % 41) as f64 / 41.0 - 0.5
                } else {
                    0.0
                };
                marker(
                    rank,
                    (p.x + 0.5 * aside, p.us),
                    if only.is_some() { 4 } else { 2 },
                    style,
                )
            });
            chart.draw_series(points)?;
        }
        Ok(())
    }

    /// The ranks, in order.
    fn ranks(&self) -> impl Iterator<Item = u32> {
        let ranks: BTreeSet<_> = self.points.iter().map(|point| point.rank).collect();
        ranks.into_iter()
    }

    /// Which marker is whose, in an area without points.
    fn legend<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawError<DB>> {
        let (_, height) = area.dim_in_pixel();
        let rows = (height as i32 / LEGEND_ROW - 1).max(1);
        for (place, rank) in self.ranks().enumerate() {
            let (column, row) = (place as i32 / rows, place as i32 % rows);
            let at = (76 + column * LEGEND_COLUMN, 14 + row * LEGEND_ROW);
            area.draw(&marker(rank, at, 4, colour(rank as usize).stroke_width(2)))?;
            let text = (at.0 + 14, at.1 - 8);
            area.draw(&Text::new(format!("rank {rank}"), text, (FONT, 16)))?;
        }
        Ok(())
    }
}

const LEGEND_ROW: i32 = 24;
const LEGEND_COLUMN: i32 = 96;

impl Figure for Comm {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let first = self.first_rank();
        let has_others = self.points.iter().any(|point| point.rank != first);
        if !has_others {
            return self.panel(area, Some(first));
        }
        // Beside the main panel, not over its points.
        let (width, height) = area.dim_in_pixel();
        let (main, side) = area.split_horizontally(width * 68 / 100);
        self.panel(&main, Some(first))?;
        let (_, inset) = side.split_vertically(height * 8 / 100);
        let (inset, below) = inset.split_vertically(height * 55 / 100);
        self.panel(&inset, None)?;
        self.legend(&below)
    }
}
