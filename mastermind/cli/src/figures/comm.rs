//! Figure 6: time in MPI of each call by level or in order, of the first rank; inset, of all ranks.

use std::collections::BTreeSet;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::style::{Axis, AxisUnit, FONT, LABEL_SIZE, colour, marker, number};
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
    /// The title of the figure.
    pub title: String,
    /// `level` or `invocation`.
    pub x_label: String,
    /// Whether `x` is one of few whole numbers.
    pub is_level: bool,
    /// The calls; for very many calls, a regular sample.
    pub points: Vec<Point>,
    /// Number of calls per point.
    pub every: usize,
}

const MAX_POINTS: usize = 12_000;

/// The main panel has two thirds of the width.
const NARROW_TITLE_SIZE: u32 = 22;

/// Ranks that the legend names.
const LEGEND_RANKS: usize = 18;

impl Comm {
    /// Ranks that have calls, ascending.
    fn ranks(&self) -> Vec<u32> {
        let ranks: BTreeSet<_> = self.points.iter().map(|point| point.rank).collect();
        ranks.into_iter().collect()
    }

    /// The markers of the ranks, in rows, placed where they hide no points.
    fn legend<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawError<DB>> {
        let ranks = self.ranks();
        let text = |text: String, at| Text::new(text, at, (FONT, 14));
        for (place, rank) in ranks.iter().take(LEGEND_RANKS).enumerate() {
            let (x, y) = (76 + 90 * (place as i32 % 3), 12 + 24 * (place as i32 / 3));
            let style = colour(*rank as usize).stroke_width(2);
            area.draw(&marker(*rank, (x, y), 4, style))?;
            area.draw(&text(format!("rank {rank}"), (x + 12, y - 7)))?;
        }
        if ranks.len() > LEGEND_RANKS {
            let more = format!("and {} more", ranks.len() - LEGEND_RANKS);
            let y = 12 + 24 * (LEGEND_RANKS as i32 / 3);
            area.draw(&text(more, (70, y - 7)))?;
        }
        Ok(())
    }

    fn panel<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        only: Option<u32>,
    ) -> Result<(), DrawError<DB>> {
        let shown = |point: &&Point| only.is_none_or(|rank| rank == point.rank);
        let x = self.points.iter().filter(shown).map(|point| point.x);
        let times: Vec<_> = self.points.iter().filter(shown).map(|p| p.us).collect();
        let x = if self.is_level {
            Axis::levels(x.fold(0.0, f64::max))
        } else {
            Axis::new(x, false)
        };
        let is_log = Axis::spans_decades(times.iter().copied());
        let (y, above) = Axis::of_times(times, is_log);
        let (highest, unit) = (y.range().end, AxisUnit::of(&y));
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
            Some(rank) => {
                let calls = match self.every {
                    1 => format!("{n} calls of rank {rank}"),
                    every => format!("one in {every} calls of rank {rank}"),
                };
                let above = match above {
                    0 => String::new(),
                    _ => format!(", {above} above"),
                };
                let title = format!("{}  ({calls}{above})", self.title);
                builder.caption(title, (FONT, NARROW_TITLE_SIZE))
            }
            None => builder.caption(format!("all ranks [{}]", unit.symbol), (FONT, 16)),
        };
        let mut chart = builder.build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_label_formatter(&number)
            .y_label_formatter(&|us| unit.number(us))
            .label_style((FONT, size))
            .axis_desc_style((FONT, size))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc(if only.is_some() { &self.x_label } else { "" })
            .y_desc(match only {
                Some(_) => format!("time in MPI of a call [{}]", unit.symbol),
                None => String::new(),
            })
            .draw()?;
        let step = n.div_ceil(MAX_POINTS) | 1;
        for rank in self.ranks() {
            if only.is_some_and(|only| only != rank) {
                continue;
            }
            let style = colour(rank as usize).mix(0.6).stroke_width(1);
            let own = self.points.iter().filter(|p| p.rank == rank);
            let own = own.step_by(step).filter(|p| p.us <= highest);
            let points = own.enumerate().map(|(place, p)| {
                // Apart within the level, so that calls of similar time do not hide each other.
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
}

impl Figure for Comm {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let ranks = self.ranks();
        let first = ranks.first().copied().unwrap_or(0);
        if ranks.len() < 2 {
            return self.panel(area, Some(first));
        }
        // Next to the main panel, not over its points.
        let (width, height) = area.dim_in_pixel();
        let (main, side) = area.split_horizontally(width * 68 / 100);
        self.panel(&main, Some(first))?;
        let (_, inset) = side.split_vertically(height * 8 / 100);
        let (inset, below) = inset.split_vertically(height * 55 / 100);
        self.panel(&inset, None)?;
        self.legend(&below)
    }
}
