//! Figure 3: the time of each call over a parameter, a marker for each rank, a colour for each mode, and curves of
//! models.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::fitted::{CurvePoint, band, line};
use super::legend::{self, Entry, Mark};
use super::style::{Axis, AxisUnit, FONT, LABEL_SIZE, TITLE_SIZE, colour, marker, number};
use super::{DrawError, Figure};

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The parameter.
    pub x: f64,
    /// Time, microseconds.
    pub us: f64,
    /// Rank that made the call.
    pub rank: u32,
    /// Which of the modes.
    pub mode: usize,
}

/// The curve of a model for one mode.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Which of the modes.
    pub mode: usize,
    /// Values at which it fixes the parameters that are not on the axis: `level = 1`; empty if the model depends on no
    /// other.
    pub at: String,
    /// The times.
    pub points: Vec<CurvePoint>,
}

/// The calls of a method.
///
/// # Source
/// Ray et al., IPDPS 2004, Figure 3.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// The title of the figure.
    pub title: String,
    /// The parameter with its unit.
    pub x_label: String,
    /// Names of the modes; empty if there is only one.
    pub modes: Vec<String>,
    /// The calls; for very many calls, a regular sample.
    pub points: Vec<Point>,
    /// All calls.
    pub n_calls: usize,
    /// Number of calls per point.
    pub every: usize,
    /// Curves of models, one for each mode.
    pub curves: Vec<Curve>,
    /// Maximum number of calls drawn; of more, a regular sample.
    pub max_points: usize,
}

/// Pixels left of the frame.
const LEFT: i32 = 104;

/// Points of a figure at most.
pub const MAX_POINTS: usize = 12_000;

impl Scatter {
    /// Ranks that have points, ascending.
    fn ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<_> = self.points.iter().map(|point| point.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// The axes, and how many points lie above them: on linear axes the highest five in a thousand may.
    fn axes(&self) -> (Axis, Axis, usize) {
        let x = self.points.iter().map(|point| point.x);
        let times = self.points.iter().map(|point| point.us).collect();
        let is_log = Axis::spans_decades(x.clone());
        let (y, above) = Axis::of_times(times, is_log);
        (Axis::new(x, is_log), y, above)
    }

    /// The legend entries.
    fn entries(&self) -> Vec<Vec<Entry>> {
        let of_mode = |mode: usize| {
            let name = self.modes.get(mode);
            name.map_or_else(String::new, |name| format!(", {name}"))
        };
        let mut entries = Vec::new();
        for rank in self.ranks() {
            for mode in 0..self.modes.len().max(1) {
                entries.push(vec![Entry {
                    mark: Mark::Rank(rank, colour(mode)),
                    text: format!("rank {rank}{}", of_mode(mode)),
                }]);
            }
        }
        entries.extend(self.curves.iter().map(|curve| {
            let (mode, at) = (of_mode(curve.mode), &curve.at);
            vec![Entry {
                mark: Mark::Line(colour(curve.mode)),
                text: match at.as_str() {
                    "" => format!("model{mode}, with the interval of a call"),
                    at => format!("model{mode} at {at}, with the interval of a call"),
                },
            }]
        }));
        entries
    }

    fn note(&self, step: usize, above: usize) -> String {
        let mut note = format!("{} calls", self.n_calls);
        let step = step * self.every;
        if step > 1 {
            note += &format!(", one in {step} drawn");
        }
        match (above, self.every) {
            (0, _) => {}
            (_, 1) => note += &format!(", {above} above the frame"),
            _ => note += &format!(", about {} above the frame", above * self.every),
        }
        note
    }
}

impl Figure for Scatter {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let (x, y, above) = self.axes();
        let (highest, unit) = (y.range().end, AxisUnit::of(&y));
        // Odd, so that both of two alternating modes are drawn.
        let step = self.points.len().div_ceil(self.max_points) | 1;
        let title = format!("{}  ({})", self.title, self.note(step, above));
        let area = area.margin(10, 0, 0, 0);
        let area = area.titled(&title, (FONT, TITLE_SIZE))?;
        let area = legend::draw(&area, LEFT, &self.entries())?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(62)
            .y_label_area_size(92)
            .build_cartesian_2d(x, y.clone())?;
        chart
            .configure_mesh()
            .x_label_formatter(&number)
            .y_label_formatter(&|us| unit.number(us))
            .label_style((FONT, LABEL_SIZE))
            .axis_desc_style((FONT, LABEL_SIZE))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc(&self.x_label)
            .y_desc(format!("time of a call [{}]", unit.symbol))
            .draw()?;
        for curve in &self.curves {
            let polygon = band(&curve.points, &y);
            let style = colour(curve.mode).mix(0.13).filled();
            chart.draw_series((polygon.len() > 2).then(|| Polygon::new(polygon, style)))?;
        }
        for rank in self.ranks() {
            for mode in 0..self.modes.len().max(1) {
                let style = colour(mode).mix(0.55).stroke_width(1);
                let own = self.points.iter().step_by(step);
                let own = own.filter(|p| p.rank == rank && p.mode == mode && p.us <= highest);
                // Modes side by side: at one array size they would cover each other.
                let aside = 10 * mode as i32 - 5 * (self.modes.len().max(1) as i32 - 1);
                let markers = own.map(|p| marker(rank, (p.x, p.us), 4, style).aside(aside));
                chart.draw_series(markers)?;
            }
        }
        for curve in &self.curves {
            let style = BLACK.mix(0.85).stroke_width(5);
            let fit = line(&curve.points, |point| point.value, &y);
            chart.draw_series([PathElement::new(fit.clone(), style)])?;
            let style = colour(curve.mode).stroke_width(3);
            chart.draw_series([PathElement::new(fit, style)])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_says_where_it_is_drawn() {
        let curve = |at: &str| Curve {
            mode: 0,
            at: at.into(),
            points: Vec::new(),
        };
        let scatter = Scatter {
            title: String::new(),
            x_label: String::new(),
            modes: vec!["x".into()],
            points: Vec::new(),
            n_calls: 0,
            every: 1,
            curves: vec![curve("level = 1"), curve("")],
            max_points: 1,
        };
        let texts = scatter.entries().into_iter().flatten();
        let texts: Vec<_> = texts.map(|entry| entry.text).collect();
        let expected = [
            "model, x at level = 1, with the interval of a call",
            "model, x, with the interval of a call",
        ];
        assert_eq!(texts, expected);
    }
}
