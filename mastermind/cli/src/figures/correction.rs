//! Figures of corrected models: times by data point, and how often the trials of a case improve on the base.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::style::{Axis, FONT, LABEL_SIZE, TITLE_SIZE, colour, marker, number};
use super::{DrawError, Figure};

/// Observed and calculated times over the number of the data point.
///
/// # Source
/// The model error correction paper, Figures 8, 10 and 11; times are on a logarithmic axis as in Figure 8.
#[derive(Clone, Debug)]
pub struct Times {
    /// The title of the figure.
    pub title: String,
    /// Seconds, shape `[n_points]`.
    pub observed: Vec<f64>,
    /// Name and calculated times of each model, shape `[n_points]`, seconds.
    pub series: Vec<(String, Vec<f64>)>,
}

/// Trials that improve, and the best reduction of the error, of each case.
///
/// # Source
/// The model error correction paper, Figures 6, 7 and 12.
#[derive(Clone, Debug)]
pub struct Frequency {
    /// The title of the figure.
    pub title: String,
    /// Name, trials that improve and best reduction of each case, per cent.
    pub rows: Vec<(String, f64, f64)>,
}

impl Figure for Times {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let calculated = self.series.iter().flat_map(|(_, times)| times);
        let all: Vec<f64> = self.observed.iter().chain(calculated).copied().collect();
        let y = Axis::new(
            all.iter().copied(),
            Axis::spans_decades(all.iter().copied()),
        );
        let last = self.observed.len() as f64;
        let area = area.margin(10, 0, 0, 0);
        let area = area.titled(&self.title, (FONT, TITLE_SIZE))?;
        let mut chart = ChartBuilder::on(&area)
            .margin_left(16)
            .margin_right(44)
            .margin_top(6)
            .x_label_area_size(58)
            .y_label_area_size(96)
            .build_cartesian_2d(0.0..last + 1.0, y.clone())?;
        chart
            .configure_mesh()
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .label_style((FONT, LABEL_SIZE))
            .axis_desc_style((FONT, LABEL_SIZE))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc("data point, by the observed time")
            .y_desc("time [s]")
            .draw()?;
        for (place, (name, times)) in self.series.iter().enumerate() {
            let points = (1..).map(f64::from).zip(times.iter().copied());
            let points: Vec<(f64, f64)> = points.filter(|(_, time)| y.holds(*time)).collect();
            let style = colour(place).stroke_width(2);
            chart
                .draw_series([PathElement::new(points, style)])?
                .label(name)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], style));
        }
        let style = BLACK.stroke_width(2);
        let points = (1..).map(f64::from).zip(self.observed.iter().copied());
        let points = points.filter(|(_, time)| y.holds(*time));
        chart
            .draw_series(points.map(|at| marker(1, at, 5, style)))?
            .label("observed")
            .legend(move |(x, y)| marker(1, (x + 8, y), 5, style));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .label_font((FONT, LABEL_SIZE - 3))
            .draw()?;
        Ok(())
    }
}

impl Figure for Frequency {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let lowest = self.rows.iter().map(|(.., best)| *best).fold(0.0, f64::min);
        let area = area.margin(10, 0, 0, 0);
        let area = area.titled(&self.title, (FONT, TITLE_SIZE))?;
        let width = self.rows.len() as f64;
        let mut chart = ChartBuilder::on(&area)
            .margin_left(16)
            .margin_right(44)
            .margin_top(6)
            .x_label_area_size(58)
            .y_label_area_size(96)
            .build_cartesian_2d(0.0..width, lowest.max(-100.0)..122.0)?;
        let names = |x: &f64| {
            let name = self.rows.get(*x as usize).filter(|_| x.fract() == 0.5);
            name.map_or_else(String::new, |(name, ..)| name.clone())
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(2 * self.rows.len() + 1)
            .x_label_formatter(&names)
            .y_label_formatter(&number)
            .label_style((FONT, LABEL_SIZE))
            .axis_desc_style((FONT, LABEL_SIZE))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .y_desc("per cent")
            .draw()?;
        for (place, what) in ["trials better than the base", "best reduction of the error"]
            .into_iter()
            .enumerate()
        {
            let style = colour(place).mix(0.8).filled();
            let bars = self.rows.iter().enumerate().map(|(k, (_, better, best))| {
                let left = k as f64 + 0.15 + 0.36 * place as f64;
                let height = if place == 0 {
                    *better
                } else {
                    best.max(-100.0)
                };
                Rectangle::new([(left, 0.0), (left + 0.34, height)], style)
            });
            chart
                .draw_series(bars)?
                .label(what)
                .legend(move |(x, y)| Rectangle::new([(x, y - 6), (x + 14, y + 6)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .label_font((FONT, LABEL_SIZE - 3))
            .draw()?;
        Ok(())
    }
}
