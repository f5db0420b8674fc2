//! The timeline of a run: a row for each thread, coloured by method.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::legend::{self, Entry, Mark};
use super::style::{Axis, AxisUnit, COLOURS, FONT, LABEL_SIZE, TITLE_SIZE};
use super::{DrawError, Figure};

/// Time of a method in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// From the top.
    pub row: usize,
    /// Index among the methods.
    pub method: usize,
    /// Nanoseconds since the beginning of the run.
    pub from_ns: f64,
    pub to_ns: f64,
    /// 0 to 1, within the row.
    pub bottom: f64,
    pub top: f64,
}

/// The timeline.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub title: String,
    /// The part of the time that is shown.
    pub window_ns: Range<u64>,
    pub methods: Vec<String>,
    /// Names of the rows.
    pub rows: Vec<String>,
    pub bars: Vec<Bar>,
}

/// Room left of the rows, pixels.
const LEFT: i32 = 76;

/// A part of the time that begins later than so many times its length has an axis of its own. Arbitrary.
const FAR: f64 = 10.0;

/// The colour of methods that have none of their own.
const OTHERS: RGBColor = RGBColor(170, 170, 170);

/// Smallest height of a bar, pixels: a smaller one is not drawn.
const SMALLEST: f64 = 0.25;

impl Timeline {
    /// Methods by time, those with the most first.
    fn by_time(&self) -> Vec<usize> {
        let mut times = vec![0.0; self.methods.len()];
        for bar in &self.bars {
            times[bar.method] += (bar.to_ns - bar.from_ns) * (bar.top - bar.bottom);
        }
        let mut order: Vec<usize> = (0..times.len()).filter(|at| times[*at] > 0.0).collect();
        order.sort_by(|a, b| times[*b].total_cmp(&times[*a]));
        order
    }

    fn entries(&self, order: &[usize]) -> Vec<Vec<Entry>> {
        let entry = |colour, text| {
            vec![Entry {
                mark: Mark::Line(colour),
                text,
            }]
        };
        let named = order.iter().zip(COLOURS);
        let named = named.map(|(at, colour)| entry(colour, self.methods[*at].clone()));
        let n_others = order.len().saturating_sub(COLOURS.len());
        let others = match n_others {
            0 => None,
            1 => Some(self.methods[order[COLOURS.len()]].clone()),
            n => Some(format!("{n} other methods")),
        };
        named
            .chain(others.map(|text| entry(OTHERS, text)))
            .collect()
    }
}

impl Figure for Timeline {
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), DrawError<DB>> {
        let area = area.titled(&self.title, (FONT, TITLE_SIZE))?;
        let order = self.by_time();
        let area = legend::draw(&area, LEFT, &self.entries(&order))?;
        let span_ns = (self.window_ns.end - self.window_ns.start) as f64;
        // Far behind the beginning, times on the axis would differ in their last digits only.
        let first_ns = match self.window_ns.start as f64 > FAR * span_ns {
            true => self.window_ns.start as f64,
            false => 0.0,
        };
        let us = |ns: f64| (ns - first_ns) * 1e-3;
        let [from, to] = [self.window_ns.start, self.window_ns.end].map(|ns| us(ns as f64));
        let unit = AxisUnit::of(&Axis::new([to - from].into_iter(), false));
        let label = match first_ns {
            0.0 => format!("time since the beginning [{}]", unit.symbol),
            ns => format!("time since {} s of the run [{}]", ns * 1e-9, unit.symbol),
        };
        let n_rows = self.rows.len().max(1);
        let mut chart = ChartBuilder::on(&area)
            .margin_right(44)
            .margin_top(10)
            .margin_bottom(10)
            .x_label_area_size(58)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(from..to, n_rows as f64..0.0)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_labels(6)
            .y_labels(0)
            .x_label_formatter(&|us| unit.number(us))
            .label_style((FONT, LABEL_SIZE))
            .axis_desc_style((FONT, LABEL_SIZE))
            .x_desc(label)
            .y_desc("rank")
            .draw()?;
        let (_, height) = chart.plotting_area().dim_in_pixel();
        let row_pixels = f64::from(height) / n_rows as f64;
        let mut colours = vec![OTHERS; self.methods.len()];
        order
            .iter()
            .zip(COLOURS)
            .for_each(|(at, colour)| colours[*at] = colour);
        // A gap between rows where they are high enough.
        let inset = if row_pixels > 8.0 { 0.08 } else { 0.0 };
        let y = |row: usize, part: f64| row as f64 + 1.0 - inset - part * (1.0 - 2.0 * inset);
        let shown = self.bars.iter();
        let shown = shown.filter(|bar| (bar.top - bar.bottom) * row_pixels >= SMALLEST);
        chart.draw_series(shown.map(|bar| {
            let left = us(bar.from_ns).max(from);
            let right = us(bar.to_ns).min(to).max(left);
            let corners = [(left, y(bar.row, bar.top)), (right, y(bar.row, bar.bottom))];
            Rectangle::new(corners, colours[bar.method].filled())
        }))?;
        // Each row has its name if there is room, else every so many.
        let step = (f64::from(LABEL_SIZE) / row_pixels).ceil().max(1.0) as usize;
        let plotting = chart.plotting_area().strip_coord_spec();
        let anchor = Pos::new(HPos::Right, VPos::Center);
        let style = (FONT, LABEL_SIZE.min(14))
            .into_font()
            .color(&BLACK)
            .pos(anchor);
        for (row, name) in self.rows.iter().enumerate().step_by(step) {
            let middle = ((row as f64 + 0.5) * row_pixels) as i32;
            plotting.draw(&Text::new(name.clone(), (-6, middle), style.clone()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_with_the_most_time_have_a_colour() {
        let bar = |method, length: f64| Bar {
            row: 0,
            method,
            from_ns: 0.0,
            to_ns: length,
            bottom: 0.0,
            top: 1.0,
        };
        let timeline = Timeline {
            title: String::new(),
            window_ns: 0..100,
            methods: (0..10).map(|at| format!("m{at}")).collect(),
            rows: vec!["0".into()],
            bars: (0..9).map(|at| bar(at, 1.0 + at as f64)).collect(),
        };
        let order = timeline.by_time();
        assert_eq!(order, [8, 7, 6, 5, 4, 3, 2, 1, 0]);
        let entries = timeline.entries(&order);
        let texts: Vec<_> = entries.iter().flatten().map(|entry| &*entry.text).collect();
        assert_eq!(texts[0], "m8");
        assert_eq!((texts.len(), texts[7]), (8, "2 other methods"));
    }
}
