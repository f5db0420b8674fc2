//! The figure of a study: time over the first varied setting, with the analytic model's, and the parts of the time.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::legend::{self, Entry, Mark};
use super::style::{Axis, FONT, LABEL_SIZE, TITLE_SIZE, colour, marker, number};
use super::{DrawError, Figure};

/// Pixels left of the frame.
const LEFT: i32 = 112;

/// One simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StudyPoint {
    /// The value of the varied setting.
    pub x: f64,
    /// Simulated, seconds.
    pub time_s: f64,
    /// By the analytic model, seconds.
    pub analytic_s: Option<f64>,
    /// Computation, communication and synchronisation, means over the processes, seconds.
    pub parts_s: [f64; 3],
}

/// Simulations that differ in nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct StudySeries {
    /// The other settings.
    pub name: String,
    /// Points by the varied setting.
    pub points: Vec<StudyPoint>,
}

/// Time and its parts over the varied setting of a study.
///
/// # Source
/// V. Adve et al., "POEMS", IEEE TSE 2000, Figures 5.1 to 5.3: time by processors, and its parts.
#[derive(Clone, Debug)]
pub struct StudyFigure {
    /// The title of the figure.
    pub title: String,
    /// The label of the varied setting.
    pub x_label: String,
    /// A line each.
    pub series: Vec<StudySeries>,
}

/// A line of a frame: its name, its points, and whether they are marked.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    is_marked: bool,
}

impl Figure for StudyFigure {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let area = area.margin(10, 0, 0, 0);
        let area = area.titled(&self.title, (FONT, TITLE_SIZE))?;
        let (_, height) = area.dim_in_pixel();
        let (above, below) = area.split_vertically(height * 57 / 100);
        self.frame(&above, &self.times(), "time [s]")?;
        self.frame(&below, &self.parts(), "parts of the time [s]")
    }
}

impl StudyFigure {
    /// Simulated times, followed by those of the analytic model.
    fn times(&self) -> Vec<Line> {
        let simulated = self.series.iter().map(|series| Line {
            name: match series.name.is_empty() {
                true => "simulated".to_owned(),
                false => series.name.clone(),
            },
            points: series.points.iter().map(|p| (p.x, p.time_s)).collect(),
            is_marked: true,
        });
        let mut lines: Vec<Line> = simulated.collect();
        for series in &self.series {
            let points = series.points.iter();
            let points: Vec<_> = points.filter_map(|p| Some((p.x, p.analytic_s?))).collect();
            if !points.is_empty() {
                let name = format!("{} (analytic)", series.name);
                lines.push(Line {
                    name: name.trim_start().to_owned(),
                    points,
                    is_marked: false,
                });
            }
        }
        lines
    }

    /// Only the parts of the first series: those of others would hide each other.
    fn parts(&self) -> Vec<Line> {
        let names = ["computation", "communication", "synchronisation"];
        let first = self.series.first();
        let line = |(part, name): (usize, &str)| Line {
            name: match first.map(|first| first.name.as_str()) {
                None | Some("") => name.to_owned(),
                Some(of) => format!("{name}, {of}"),
            },
            points: first.map_or_else(Vec::new, |first| {
                let points = first.points.iter();
                points.map(|p| (p.x, p.parts_s[part])).collect()
            }),
            is_marked: true,
        };
        names.into_iter().enumerate().map(line).collect()
    }

    fn frame<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        lines: &[Line],
        y_label: &str,
    ) -> Result<(), DrawError<DB>> {
        let all = || lines.iter().flat_map(|line| line.points.iter().copied());
        let axis = |values: Vec<f64>| {
            let is_log = Axis::spans_decades(values.iter().copied());
            Axis::new(values.into_iter(), is_log)
        };
        let x = axis(all().map(|(x, _)| x).collect());
        let y = axis(all().map(|(_, y)| y).collect());
        let entry = |(place, line): (usize, &Line)| {
            vec![Entry {
                mark: match line.is_marked {
                    true => Mark::Rank(0, colour(place)),
                    false => Mark::Line(colour(place)),
                },
                text: line.name.clone(),
            }]
        };
        let entries: Vec<Vec<Entry>> = lines.iter().enumerate().map(entry).collect();
        let area = &legend::draw(area, LEFT, &entries)?;
        let mut chart = ChartBuilder::on(area)
            .margin_left(16)
            .margin_right(44)
            .margin_top(6)
            .x_label_area_size(58)
            .y_label_area_size(96)
            .build_cartesian_2d(x, y.clone())?;
        chart
            .configure_mesh()
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .label_style((FONT, LABEL_SIZE))
            .axis_desc_style((FONT, LABEL_SIZE))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc(&self.x_label)
            .y_desc(y_label)
            .draw()?;
        for (place, line) in lines.iter().enumerate() {
            let shown: Vec<_> = line
                .points
                .iter()
                .copied()
                .filter(|(_, v)| y.holds(*v))
                .collect();
            let style = colour(place).stroke_width(if line.is_marked { 2 } else { 1 });
            if line.is_marked {
                let markers = shown.iter().map(|at| marker(0, *at, 5, style));
                chart.draw_series(markers)?;
            }
            chart.draw_series((shown.len() > 1).then(|| PathElement::new(shown, style)))?;
        }
        Ok(())
    }
}
