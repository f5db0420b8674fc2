//! Fonts, colours, markers and axes that the figures share.
//!
//! Every figure of `plot` uses the colours, the markers of ranks and the axis of this file, so that
//! figures can be compared with each other and with those of the paper. [`Axis`] implements the
//! drawing library's range: linear, or logarithmic where values span more than a factor of 20, with
//! ticks at 1, 2 and 5 times powers of ten. Nothing here depends on the content of a figure.
//!
//! ```text
//! values 40 … 480      linear,       ticks 0 100 200 300 400 500
//! values 1000 … 64000  logarithmic,  ticks 1000 2000 5000 10 000 20 000 50 000
//! rank 0 □   rank 1 ○   rank 2 △   others ×
//! ```

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters_backend::{BackendCoord, DrawingErrorKind};

pub const FONT: &str = "sans-serif";
pub const TITLE_SIZE: u32 = 26;
pub const LABEL_SIZE: u32 = 19;

/// Colours that can be distinguished in print and by the colour-blind.
///
/// # Source
/// Okabe and Ito, *Color Universal Design*, 2008.
pub const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// The colour of the series number `index`.
pub fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// The marker of a rank: square, circle, triangle for the first three, as in the paper; a cross for the others.
#[derive(Clone, Debug)]
pub struct Marker<C> {
    rank: u32,
    at: C,
    size: i32,
    style: ShapeStyle,
    /// Pixels between the marker and its place.
    aside: i32,
}

impl<C> Marker<C> {
    /// The marker, moved by so many pixels, so that series of points at the same place can be distinguished.
    pub fn aside(self, aside: i32) -> Self {
        Marker { aside, ..self }
    }
}

/// A marker half as wide as `size` pixels, at a place of the chart or of the area.
pub fn marker<C>(rank: u32, at: C, size: i32, style: ShapeStyle) -> Marker<C> {
    Marker {
        rank,
        at,
        size,
        style,
        aside: 0,
    }
}

impl<'a, C: 'a> PointCollection<'a, C> for &'a Marker<C> {
    type Point = &'a C;
    type IntoIter = std::iter::Once<&'a C>;

    fn point_iter(self) -> Self::IntoIter {
        std::iter::once(&self.at)
    }
}

impl<C, DB: DrawingBackend> Drawable<DB> for Marker<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut points: I,
        backend: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        let Some((x, y)) = points.next() else {
            return Ok(());
        };
        let (x, size, style) = (x + self.aside, self.size, &self.style);
        match self.rank {
            0 => backend.draw_rect((x - size, y - size), (x + size, y + size), style, false),
            1 => backend.draw_circle((x, y), size as u32, style, false),
            2 => {
                let (top, left, right) = (
                    (x, y - size - 1),
                    (x - size - 1, y + size),
                    (x + size + 1, y + size),
                );
                backend.draw_path([top, left, right, top], style)
            }
            _ => {
                backend.draw_line((x - size, y - size), (x + size, y + size), style)?;
                backend.draw_line((x - size, y + size), (x + size, y - size), style)
            }
        }
    }
}

/// An axis from slightly below to slightly above the values; logarithmic if they span more than a factor of 20.
#[derive(Clone, Debug)]
pub struct Axis {
    range: Range<f64>,
    is_log: bool,
    /// Only whole numbers are marked.
    is_whole: bool,
}

impl Axis {
    /// # Arguments
    /// * `values` - the values to show
    /// * `is_log` - whether to use a logarithmic axis; ignored if a value is 0 or less
    pub fn new(values: impl Iterator<Item = f64> + Clone, is_log: bool) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            return Axis {
                range: 0.0..1.0,
                is_log: false,
                is_whole: false,
            };
        }
        if is_log && low > 0.0 {
            return Axis {
                // The same room at both ends of a logarithmic axis.
                range: low / 1.3..high * 1.3,
                is_log: true,
                is_whole: false,
            };
        }
        if low == high {
            // For a single value its surroundings, as otherwise all ticks would be the same.
            let room = if low == 0.0 { 1.0 } else { 0.5 * low.abs() };
            return Axis {
                range: low - room..high + room,
                is_log: false,
                is_whole: false,
            };
        }
        let room = (high - low).max(1e-9 * high.abs()).max(1e-12) * 0.05;
        // Values that begin near 0 get an axis from 0, so that lengths can be compared.
        let low = if low >= 0.0 && low < 0.3 * high {
            0.0
        } else {
            low - room
        };
        Axis {
            range: low..high + room,
            is_log: false,
            is_whole: false,
        }
    }

    /// An axis of levels: from 0 to `highest`, with room for half a level at both ends.
    pub fn levels(highest: f64) -> Self {
        Axis {
            range: -0.5..highest + 0.5,
            is_log: false,
            is_whole: true,
        }
    }

    /// An axis for times above which the highest five in a thousand may lie, so that a few late calls do not compress
    /// the others; also returns how many do.
    pub fn of_times(mut times: Vec<f64>, is_log: bool) -> (Self, usize) {
        times.sort_by(f64::total_cmp);
        let shown = if is_log {
            times.len()
        } else {
            (times.len() as f64 * 0.995).ceil() as usize
        };
        let highest = times.get(shown.saturating_sub(1)).copied().unwrap_or(0.0);
        let below = times.partition_point(|time| *time <= highest);
        let axis = Axis::new(times[..below].iter().copied(), is_log);
        (axis, times.len() - below)
    }

    /// Whether the values span more than a factor of 20.
    pub fn spans_decades(values: impl Iterator<Item = f64> + Clone) -> bool {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        low > 0.0 && high > 20.0 * low
    }

    /// Whether decades are alike.
    pub fn is_log(&self) -> bool {
        self.is_log
    }

    /// Whether a value lies on the axis.
    pub fn holds(&self, value: f64) -> bool {
        (self.range.start..=self.range.end).contains(&value)
    }

    /// The value on the axis nearest to one.
    pub fn nearest(&self, value: f64) -> f64 {
        value.max(self.range.start).min(self.range.end)
    }

    fn place(&self, value: f64) -> f64 {
        if self.is_log {
            (value / self.range.start).ln() / (self.range.end / self.range.start).ln()
        } else {
            (value - self.range.start) / (self.range.end - self.range.start)
        }
    }

    /// Multiples of 1, 2 and 5 of powers of ten, as many as fit; on a logarithmic axis those in each decade, or for
    /// many decades only their beginnings.
    fn ticks(&self, most: usize) -> Vec<f64> {
        let Range { start, end } = self.range;
        let mut ticks = Vec::new();
        if self.is_log {
            let mut decade = 10f64.powf(start.log10().floor());
            // Over many decades there is room for at most one per decade.
            let multiples: &[f64] = match (end / start).log10() {
                ..3.5 => &[1.0, 2.0, 5.0],
                _ => &[1.0],
            };
            while decade <= end {
                ticks.extend(multiples.iter().map(|m| m * decade));
                decade *= 10.0;
            }
        } else {
            let rough = (end - start) / most.max(1) as f64;
            let power = 10f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
            let step = step
                .into_iter()
                .find(|step| *step >= rough)
                .unwrap_or(10.0 * power);
            let step = if self.is_whole { step.max(1.0) } else { step };
            let first = (start / step).ceil() as i64;
            let last = (end / step).floor() as i64;
            ticks.extend((first..=last).map(|n| n as f64 * step));
        }
        ticks.retain(|tick| *tick >= start && *tick <= end);
        ticks
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let length = f64::from(limit.1 - limit.0);
        limit.0 + (self.place(*value) * length).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.max_num_points().min(9))
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// A unit that times in microseconds are shown in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisUnit {
    /// Its symbol.
    pub symbol: &'static str,
    /// Microseconds.
    us: f64,
}

impl AxisUnit {
    /// The unit in which the middle of an axis has one to three digits.
    pub fn of(axis: &Axis) -> Self {
        let Range { start, end } = axis.range;
        let middle = match axis.is_log {
            true => (start * end).sqrt(),
            false => end / 2.0,
        };
        let units = [("s", 1e6), ("ms", 1e3), ("µs", 1.0), ("ns", 1e-3)];
        let found = units.into_iter().find(|(_, us)| middle >= *us);
        let (symbol, us) = found.unwrap_or(units[3]);
        AxisUnit { symbol, us }
    }

    /// A time as it stands at an axis.
    pub fn number(self, us: &f64) -> String {
        number(&(us / self.us))
    }
}

/// A number as it stands at an axis: `0.5`, `1500`, `120 000`, `2e6`.
pub fn number(value: &f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        return format!("{value:e}");
    }
    if size < 10_000.0 {
        // Without the digits that come from adding up steps.
        return format!("{}", (value * 1e6).round() / 1e6);
    }
    let digits = format!("{size:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    if *value < 0.0 {
        format!("-{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_room_about_it() {
        assert_eq!(Axis::new([8.0, 8.0].into_iter(), false).range(), 4.0..12.0);
        assert_eq!(Axis::new([0.0].into_iter(), false).range(), -1.0..1.0);
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.5, 1500.0, 120_000.0, 0.1 + 0.2, 2e9, -25_000.0].map(|n| number(&n));
        let expected = [
            "0",
            "0.5",
            "1500",
            "120\u{2009}000",
            "0.3",
            "2e9",
            "-25\u{2009}000",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn axes_take_round_steps() {
        let axis = Axis::new([0.0, 10.0].into_iter(), false);
        assert_eq!(axis.ticks(6), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        let axis = Axis::new([30.0, 700.0].into_iter(), true);
        assert_eq!(axis.ticks(6), [50.0, 100.0, 200.0, 500.0]);
        let wide = Axis::new([30.0, 700_000.0].into_iter(), true);
        assert_eq!(wide.ticks(6), [100.0, 1e3, 1e4, 1e5]);
        assert_eq!(
            axis.map(&30.0, (0, 1000)) > 0,
            axis.map(&700.0, (0, 1000)) < 1000
        );
    }

    #[test]
    fn times_are_shown_in_a_unit_that_fits() {
        let unit = |low: f64, high: f64, is_log| {
            let axis = Axis::new([low, high].into_iter(), is_log);
            let unit = AxisUnit::of(&axis);
            (unit.symbol, unit.number(&high))
        };
        assert_eq!(unit(0.0, 0.5, false), ("ns", "500".into()));
        assert_eq!(unit(0.0, 900.0, false), ("µs", "900".into()));
        assert_eq!(unit(0.0, 25_000.0, false), ("ms", "25".into()));
        assert_eq!(unit(0.0, 3e7, false), ("s", "30".into()));
        assert_eq!(unit(10.0, 1e6, true), ("ms", "1000".into()));
    }

    #[test]
    fn levels_are_whole_numbers() {
        assert_eq!(Axis::levels(2.0).ticks(9), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn a_few_late_calls_lie_above_the_frame() {
        let times: Vec<f64> = (1..=400).map(f64::from).chain([9e5, 9e6]).collect();
        let (axis, above) = Axis::of_times(times.clone(), false);
        assert_eq!((axis.range().end < 500.0, above), (true, 2));
        assert_eq!(Axis::of_times(times, true).1, 0);
        assert_eq!(Axis::of_times(Vec::new(), false).1, 0);
    }

    #[test]
    fn an_axis_of_nothing_can_be_drawn() {
        assert_eq!(Axis::new(std::iter::empty(), true).range(), 0.0..1.0);
    }
}
