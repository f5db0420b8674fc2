//! Figures 4 and 5: mean and standard deviation of the times over a parameter, with a model of
//! both.
//!
//! The paper's figures have mean and deviation in one frame with two axes. Here they are two
//! frames, one above the other over the same axis, because with several modes nobody could say
//! which curve belongs to which axis. `plot/mean.rs` and the demonstration make the data; this file
//! knows only points, curves and labels.
//!
//! ```text
//!   ┌──────────────────────────┐
//!   │ mean      .  x ─── curve │   band: interval of the prediction
//!   └──────────────────────────┘
//!   ┌──────────────────────────┐
//!   │ deviation  o   ───       │   markers differ, colours are the same
//!   └──────────────────────────┘
//!               parameter
//! ```
//!
//! Formulas stand in the legend and may be longer than the figure. They are then written with three
//! digits a number, and cut only if that is still too long (`shortened`).

use mastermind_models::Statistic;
use plotters::coord::Shift;
use plotters::prelude::*;

use super::fitted::{CurvePoint, band, line};
use super::legend::{self, Entry, Mark};
use super::style::{Axis, FONT, LABEL_SIZE, TITLE_SIZE, colour, marker, number};
use super::{DrawError, Figure};

/// Pixels left of the frame.
const LEFT: i32 = 112;

/// Minimum number of characters of a formula that are shown, whatever is next to it.
const SHORTEST: usize = 30;

/// The calls at one value of the parameter.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The parameter.
    pub x: f64,
    /// Mean, or the other statistic: a time in microseconds, or a counter in its unit.
    pub mean: f64,
    /// Standard deviation; `None` for a single call.
    pub deviation: Option<f64>,
}

/// The calls of one mode.
#[derive(Clone, Debug)]
pub struct Series {
    /// The mode; empty where there is only one.
    pub name: String,
    /// The calls, by the parameter.
    pub points: Vec<Point>,
    /// The curve of the model; empty without one.
    pub curve: Vec<CurvePoint>,
    /// Values at which the curve fixes the parameters that are not on the axis: `level = 1`; empty if it depends on no
    /// other.
    pub at: String,
    /// The formula of the mean time.
    pub formula: String,
    /// The formula of the deviation.
    pub deviation: String,
}

/// Mean and deviation of the times of a method.
///
/// # Source
/// Ray et al., IPDPS 2004, Figures 4 and 5, which have both in one frame with an axis each; here one frame above the
/// other, so that modes can be distinguished.
#[derive(Clone, Debug)]
pub struct Mean {
    /// The title of the figure.
    pub title: String,
    /// The parameter with its unit.
    pub x_label: String,
    /// The statistic of the calls at one value of the parameter.
    pub statistic: Statistic,
    /// The name of the quantity: `wall time`.
    pub quantity: String,
    /// Its unit; empty of a pure number.
    pub unit: String,
    /// A series a mode.
    pub series: Vec<Series>,
}

/// One of the two frames.
struct Panel<'a> {
    is_mean: bool,
    x: &'a Axis,
    x_label: &'a str,
    y_label: String,
}

impl Figure for Mean {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let xs = self
            .series
            .iter()
            .flat_map(|s| s.points.iter().map(|p| p.x));
        let xs: Vec<f64> = xs.collect();
        let is_log = Axis::spans_decades(xs.iter().copied());
        let x = Axis::new(xs.iter().copied(), is_log);
        let area = area.margin(10, 0, 0, 0);
        let area = area.titled(&self.title, (FONT, TITLE_SIZE))?;
        let (_, height) = area.dim_in_pixel();
        let (above, below) = area.split_vertically(height * 57 / 100);
        let panel = |is_mean, x_label, y_label| Panel {
            is_mean,
            x: &x,
            x_label,
            y_label,
        };
        let unit = match self.unit.as_str() {
            "" => String::new(),
            unit => format!(" [{unit}]"),
        };
        let y_label = format!("{} {}{unit}", self.statistic, self.quantity);
        self.panel(&above, &panel(true, "", y_label))?;
        let y_label = match self.statistic {
            Statistic::Clean | Statistic::Mean => format!("standard deviation{unit}"),
            _ => format!("deviation, of the middle half{unit}"),
        };
        self.panel(&below, &panel(false, &self.x_label, y_label))
    }
}

impl Mean {
    /// The legend entries of a panel: for each series the points, and the formula of the line.
    ///
    /// # Arguments
    /// * `room` - characters of an entry that fit into a row
    fn entries(&self, is_mean: bool, room: usize) -> Vec<Vec<Entry>> {
        let mut groups = Vec::new();
        for (place, series) in self.series.iter().enumerate() {
            let name = match series.name.as_str() {
                "" => "measured",
                name => name,
            };
            let mut entries = vec![Entry {
                mark: Mark::Rank(if is_mean { 0 } else { 1 }, colour(place)),
                text: name.into(),
            }];
            let formula = match is_mean {
                true => &series.formula,
                false => &series.deviation,
            };
            if !series.curve.is_empty() && !formula.is_empty() {
                entries.push(Entry {
                    mark: Mark::Line(colour(place)),
                    text: match series.at.as_str() {
                        "" => shortened(formula, room),
                        at => {
                            let room = room.saturating_sub(at.chars().count() + 4);
                            format!("{} at {at}", shortened(formula, room.max(SHORTEST)))
                        }
                    },
                });
            }
            groups.push(entries);
        }
        groups
    }

    fn panel<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        panel: &Panel<'_>,
    ) -> Result<(), DrawError<DB>> {
        let value = |p: &Point| {
            if panel.is_mean {
                Some(p.mean)
            } else {
                p.deviation
            }
        };
        let of_curve = |p: &CurvePoint| if panel.is_mean { p.value } else { p.deviation };
        let points = self
            .series
            .iter()
            .flat_map(|s| s.points.iter().filter_map(value));
        let curves = self
            .series
            .iter()
            .flat_map(|s| s.curve.iter().map(of_curve));
        let mut ys: Vec<f64> = points.chain(curves).filter(|y| y.is_finite()).collect();
        // A power law is a straight line if both axes are logarithmic.
        let is_log = panel.x.is_log() && ys.iter().any(|y| *y > 0.0);
        if is_log {
            ys.retain(|y| *y > 0.0);
        }
        let y = Axis::new(ys.iter().copied(), is_log);
        let area = &legend::draw(
            area,
            LEFT,
            &self.entries(panel.is_mean, legend::room(area, LEFT)),
        )?;
        let mut chart = ChartBuilder::on(area)
            .margin_left(16)
            .margin_right(44)
            .margin_top(6)
            .x_label_area_size(if panel.x_label.is_empty() { 26 } else { 58 })
            .y_label_area_size(96)
            .build_cartesian_2d(panel.x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .label_style((FONT, LABEL_SIZE))
            .axis_desc_style((FONT, LABEL_SIZE))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.08))
            .x_desc(panel.x_label)
            .y_desc(&panel.y_label)
            .draw()?;
        if panel.is_mean {
            for (place, series) in self.series.iter().enumerate() {
                let polygon = band(&series.curve, &y);
                let style = colour(place).mix(0.13).filled();
                chart.draw_series((polygon.len() > 2).then(|| Polygon::new(polygon, style)))?;
            }
        }
        for (place, series) in self.series.iter().enumerate() {
            let shape = if panel.is_mean { 0 } else { 1 };
            let style = colour(place).mix(0.75).stroke_width(1);
            let shown = series.points.iter().filter_map(|p| Some((p.x, value(p)?)));
            let shown = shown.filter(|(_, v)| y.holds(*v));
            let markers = shown.map(|at| marker(shape, at, 4, style));
            chart.draw_series(markers)?;
            let fit = line(&series.curve, of_curve, &y);
            if fit.len() > 1 {
                let style = colour(place).stroke_width(2);
                chart.draw_series([PathElement::new(fit, style)])?;
            }
        }
        Ok(())
    }
}

/// A formula within a maximum number of characters: unchanged, with three digits per number, or truncated.
fn shortened(formula: &str, longest: usize) -> String {
    if formula.chars().count() <= longest {
        return formula.to_owned();
    }
    let rounded = rounded(formula);
    match rounded.char_indices().nth(longest) {
        Some((end, _)) => {
            // Not within a number.
            let end = rounded[..end].rfind(' ').unwrap_or(end);
            format!("{} ...", rounded[..end].trim_end())
        }
        None => rounded,
    }
}

/// The formula with three digits of every number.
fn rounded(formula: &str) -> String {
    let mut text = String::new();
    let mut rest = formula;
    while let Some(first) = rest.chars().next() {
        let is_in_name = text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = match first.is_ascii_digit() && !is_in_name {
            true => number_length(rest),
            false => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        match token.parse::<f64>() {
            Ok(value) if !is_in_name => text += &three_digits(value),
            _ => text += token,
        }
        rest = after;
    }
    text
}

/// Bytes of the number at the beginning of a text: digits, a point, an exponent.
fn number_length(text: &str) -> usize {
    let end = |text: &str, is_part: fn(char) -> bool| {
        text.find(|c: char| !is_part(c)).unwrap_or(text.len())
    };
    let digits = end(text, |c| c.is_ascii_digit() || c == '.');
    let Some(exponent) = text[digits..].strip_prefix('e') else {
        return digits;
    };
    let sign = usize::from(exponent.starts_with('-'));
    match end(&exponent[sign..], |c| c.is_ascii_digit()) {
        0 => digits,
        length => digits + 1 + sign + length,
    }
}

fn three_digits(value: f64) -> String {
    let rounded = format!("{value:.2e}").parse().unwrap_or(value);
    let (plain, scientific) = (format!("{rounded}"), format!("{rounded:e}"));
    if plain.len() <= scientific.len() + 1 {
        plain
    } else {
        scientific
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_formulas_lose_digits_then_their_end() {
        let short = "T = 2.12345e-6 + 1e-9 * q s";
        assert_eq!(shortened(short, 80), short);
        let long =
            "T = 2.71904e-7 + 2.48152e-11 * flops2^(3/2) * log2(flops2)^1 + 3.57227e-10 * moved s";
        let expected =
            "T = 2.72e-7 + 2.48e-11 * flops2^(3/2) * log2(flops2)^1 + 3.57e-10 * moved s";
        assert_eq!(shortened(long, 80), expected);
        let cut = shortened(&long.replace(" s", &format!(" + {long}")), 80);
        assert!(
            cut.ends_with("= ...") && cut.chars().count() <= 80 + 4,
            "{cut}"
        );
    }
}
