//! The picture of activities as marks with their places. The SVG document and the page draw the
//! same.
//!
//! The layout of UML activity diagrams: each activity is a column, control flows down its axis, a
//! decision splits into columns side by side, a loop or region is a box around a column. `shape.rs`
//! has computed the size of every element and the offset of every axis, so drawing needs one pass
//! from the top: an element is drawn at a position, and returns to the flow at its own height.
//!
//! ```text
//!       ● begin            Pen { step: Some(id) }
//!       │                    every mark drawn meanwhile belongs to that element
//!    ┌──┴──┐ action
//!    └──┬──┘               decision:   ◇ name        region:  ┌ loop count = n ┐
//!       ▼                            ┌─┴─┐                    │   column       │
//!       ◎ end                        a   b                    └──── back ──────┘
//! ```
//!
//! Lengths are rounded to a tenth of a pixel, as the paths have them.

use serde::Serialize;

use super::shape::{
    Column, DIAMOND, GAP_Y, HEAD, LINE, PAD, Shape, column, lines, text_width, title,
};
use super::{DrawnActivity, Step};

const MARGIN: f64 = 24.0;

/// A picture, in pixels.
#[derive(Debug, Default, Serialize)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    pub marks: Vec<Mark>,
}

/// A mark of a picture.
#[derive(Debug, Serialize)]
pub struct Mark {
    /// The element that it belongs to; none for begins, ends and lines between elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// Style classes.
    pub class: &'static str,
    #[serde(flatten)]
    pub form: Form,
}

/// The shape of a mark.
#[derive(Debug, Serialize)]
#[serde(tag = "form", rename_all = "lowercase")]
pub enum Form {
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        rx: f64,
    },
    Circle {
        x: f64,
        y: f64,
        r: f64,
    },
    /// A line as SVG writes it; `tip`: with an arrow at its end.
    Path {
        d: String,
        tip: bool,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
    },
}

/// The picture of some activities, side by side.
pub fn draw(activities: &[DrawnActivity]) -> Drawing {
    let columns: Vec<Column> = activities.iter().map(|a| column(&a.flow)).collect();
    let mut out = Pen::default();
    let mut x = MARGIN;
    let mut tallest = 0.0_f64;
    for (activity, column) in activities.iter().zip(&columns) {
        let width = column.width.max(text_width(&activity.name) * 1.4).max(80.0);
        let left = x + (width - column.width) / 2.0;
        let axis = left + column.axis;
        let mut y = MARGIN + 40.0;
        out.text("head middle", axis, y - 16.0, &activity.name);
        out.circle("dot", axis, y + 7.0, 7.0);
        y += 14.0;
        out.arrow(axis, y, y + GAP_Y);
        y += GAP_Y;
        out.column(&activity.flow, column, left, y);
        y += column.height;
        out.arrow(axis, y, y + GAP_Y);
        y += GAP_Y;
        out.circle("ring", axis, y + 9.0, 9.0);
        out.circle("dot", axis, y + 9.0, 5.0);
        tallest = tallest.max(y + 18.0);
        x += width + 3.0 * MARGIN;
    }
    Drawing {
        width: x.max(300.0).round(),
        height: (tallest + MARGIN).round(),
        marks: out.marks,
    }
}

/// Draws marks, all of one element.
#[derive(Default)]
struct Pen {
    marks: Vec<Mark>,
    step: Option<usize>,
}

impl Pen {
    fn mark(&mut self, class: &'static str, form: Form) {
        let step = self.step;
        self.marks.push(Mark { step, class, form });
    }

    /// Draws marks in a closure that belong to an element.
    fn of(&mut self, step: Option<usize>, draw: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.step, step);
        draw(self);
        self.step = before;
    }

    fn circle(&mut self, class: &'static str, x: f64, y: f64, r: f64) {
        self.mark(
            class,
            Form::Circle {
                x: tenth(x),
                y: tenth(y),
                r,
            },
        );
    }

    fn rect(
        &mut self,
        class: &'static str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        rx: f64,
    ) {
        let (x, y, width, height) = (tenth(x), tenth(y), tenth(width), tenth(height));
        self.mark(
            class,
            Form::Rect {
                x,
                y,
                width,
                height,
                rx,
            },
        );
    }

    fn arrow(&mut self, x: f64, from: f64, to: f64) {
        self.path("edge", format!("M{x:.1} {from:.1} V{to:.1}"), true);
    }

    fn line(&mut self, d: String) {
        self.path("edge", d, false);
    }

    fn path(&mut self, class: &'static str, d: String, tip: bool) {
        self.mark(class, Form::Path { d, tip });
    }

    fn text(&mut self, class: &'static str, x: f64, y: f64, says: &str) {
        let text = says.to_owned();
        self.mark(
            class,
            Form::Text {
                x: tenth(x),
                y: tenth(y),
                text,
            },
        );
    }

    fn column(&mut self, flow: &[Step], column: &Column, left: f64, top: f64) {
        let axis = left + column.axis;
        let mut y = top;
        for (i, (step, shape)) in flow.iter().zip(&column.shapes).enumerate() {
            if i > 0 {
                self.arrow(axis, y, y + GAP_Y);
                y += GAP_Y;
            }
            self.element(step, shape, axis - shape.axis, y);
            y += shape.height;
        }
    }

    fn element(&mut self, step: &Step, shape: &Shape, x: f64, y: f64) {
        match step.kind {
            "decision" => self.decision(step, shape, x, y),
            "loop" | "while" | "parallel" | "critical" => self.region(step, shape, x, y),
            kind => {
                let class = match kind {
                    "action" | "wait" | "waitany" => "action",
                    "activity" => "activity",
                    _ => "message",
                };
                self.of(Some(step.id), |pen| {
                    pen.rect(class, (x, y), (shape.width, shape.height), 9.0);
                    for (i, says) in lines(step).iter().enumerate() {
                        let class = if i == 0 { "name middle" } else { "middle" };
                        pen.text(class, x + shape.axis, y + LINE * (i as f64 + 1.0), says);
                    }
                });
            }
        }
    }

    fn decision(&mut self, step: &Step, shape: &Shape, x: f64, y: f64) {
        let (axis, half) = (x + shape.axis, DIAMOND / 2.0);
        let middle = y + half;
        let split = y + DIAMOND + GAP_Y / 2.0;
        let top = y + DIAMOND + GAP_Y + 14.0;
        let bottom = y + shape.height - 10.0;
        self.of(Some(step.id), |pen| {
            let diamond = format!(
                "M{axis:.1} {y:.1} L{:.1} {middle:.1} L{axis:.1} {:.1} L{:.1} {middle:.1} Z",
                axis + half,
                y + DIAMOND,
                axis - half
            );
            pen.path("diamond", diamond, false);
            pen.text("guard", axis + half + 4.0, middle + 4.0, &step.name);
        });
        self.line(format!("M{axis:.1} {:.1} V{split:.1}", y + DIAMOND));
        for (way, (at, inner)) in step.branches.iter().zip(&shape.branches) {
            let left = x + at;
            let center = left + inner.axis;
            self.line(format!("M{axis:.1} {split:.1} H{center:.1}"));
            self.of(Some(step.id), |pen| {
                pen.text(
                    "guard middle",
                    left + inner.width / 2.0,
                    top - 12.0,
                    &way.guard,
                );
            });
            if way.flow.is_empty() {
                self.line(format!("M{center:.1} {split:.1} V{:.1}", top - 24.0));
                self.line(format!("M{center:.1} {:.1} V{bottom:.1}", top - 8.0));
            } else {
                self.arrow(center, top - 9.0, top);
                self.column(&way.flow, inner, left, top);
                self.line(format!(
                    "M{center:.1} {:.1} V{bottom:.1}",
                    top + inner.height
                ));
            }
            self.line(format!("M{center:.1} {bottom:.1} H{axis:.1}"));
        }
        self.line(format!("M{axis:.1} {bottom:.1} V{:.1}", y + shape.height));
    }

    fn region(&mut self, step: &Step, shape: &Shape, x: f64, y: f64) {
        self.of(Some(step.id), |pen| {
            pen.rect("region", (x, y), (shape.width, shape.height), 6.0);
            pen.text("guard", x + PAD, y + 14.0, &title(step));
        });
        let Some((at, inner)) = shape.branches.first() else {
            return;
        };
        let axis = x + shape.axis;
        let (top, bottom) = (y + HEAD, y + HEAD + inner.height);
        let flow = step.branches.first().map_or(&[][..], |way| &way.flow);
        if step.kind == "parallel" {
            for y in [y + 18.0, bottom + HEAD - 18.0] {
                self.rect("dot", (axis - 30.0, y), (60.0, 4.0), 0.0);
            }
        }
        self.arrow(axis, y + 22.0, top);
        self.column(flow, inner, x + at, top);
        self.line(format!(
            "M{axis:.1} {bottom:.1} V{:.1}",
            bottom + HEAD - 18.0
        ));
        if matches!(step.kind, "loop" | "while") {
            // Back to the head.
            let left = x + PAD;
            let back = format!(
                "M{axis:.1} {0:.1} H{left:.1} V{1:.1} H{2:.1}",
                bottom + HEAD - 18.0,
                y + 24.0,
                axis - 2.0
            );
            self.path("edge", back, true);
        }
        self.line(format!(
            "M{axis:.1} {:.1} V{:.1}",
            bottom + HEAD - 18.0,
            y + shape.height
        ));
    }
}

/// A length with one decimal, as in paths.
fn tenth(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}
