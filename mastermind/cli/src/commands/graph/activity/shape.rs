//! Computes the size of each element, and the places of its contents in it.

use super::Step;

// Lengths in pixels.
pub const LETTER: f64 = 6.6;
pub const LINE: f64 = 15.0;
pub const PAD: f64 = 10.0;
/// Between elements, one above the other.
pub const GAP_Y: f64 = 24.0;
/// Between branches, side by side.
pub const GAP_X: f64 = 22.0;
/// Room above and below the contents of a loop or region.
pub const HEAD: f64 = 34.0;
/// Height of a decision's diamond.
pub const DIAMOND: f64 = 28.0;

/// An element's size, and its contents with their offsets from the upper left corner.
#[derive(Debug)]
pub struct Shape {
    pub width: f64,
    pub height: f64,
    /// Where the flow goes through it.
    pub axis: f64,
    /// For each branch its left edge and its flow.
    pub branches: Vec<(f64, Column)>,
}

/// Elements below each other.
#[derive(Debug)]
pub struct Column {
    pub width: f64,
    pub height: f64,
    pub axis: f64,
    pub shapes: Vec<Shape>,
}

/// Lines of an element's box.
pub fn lines(step: &Step) -> Vec<String> {
    let mut lines = vec![step.name.clone()];
    if step.kind != "action" {
        lines.push(format!("«{}»", step.kind));
    }
    lines.extend(step.says.iter().map(|says| shortened(says)));
    lines
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.to_owned();
    }
    text.chars().take(59).chain(['…']).collect()
}

/// Width of a text.
pub fn text_width(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

/// Sizes of a flow.
pub fn column(flow: &[Step]) -> Column {
    let shapes: Vec<Shape> = flow.iter().map(shape).collect();
    let axis = shapes.iter().map(|shape| shape.axis).fold(0.0, f64::max);
    let right = shapes
        .iter()
        .map(|shape| shape.width - shape.axis)
        .fold(0.0, f64::max);
    let heights: f64 = shapes.iter().map(|shape| shape.height).sum();
    let gaps = GAP_Y * shapes.len().saturating_sub(1) as f64;
    Column {
        width: axis + right,
        height: heights + gaps,
        axis,
        shapes,
    }
}

fn shape(step: &Step) -> Shape {
    match step.kind {
        "decision" => decision(step),
        "loop" | "while" | "parallel" | "critical" => region(step),
        _ => {
            let lines = lines(step);
            let widest = lines
                .iter()
                .map(|line| text_width(line))
                .fold(60.0, f64::max);
            let width = widest + 2.0 * PAD;
            Shape {
                width,
                height: LINE * lines.len() as f64 + PAD,
                axis: width / 2.0,
                branches: Vec::new(),
            }
        }
    }
}

fn decision(step: &Step) -> Shape {
    let mut x = 0.0;
    let mut tallest = 0.0_f64;
    let branches: Vec<(f64, Column)> = step
        .branches
        .iter()
        .map(|way| {
            let mut inner = column(&way.flow);
            let least = text_width(&way.guard) + 16.0;
            if inner.width < least {
                inner.axis += (least - inner.width) / 2.0;
                inner.width = least;
            }
            tallest = tallest.max(inner.height);
            let at = x;
            x += inner.width + GAP_X;
            (at, inner)
        })
        .collect();
    let name = text_width(&step.name) + 60.0;
    let inner = (x - GAP_X).max(0.0);
    let width = inner.max(name);
    let shift = (width - inner) / 2.0;
    let branches = branches
        .into_iter()
        .map(|(at, column)| (at + shift, column))
        .collect();
    Shape {
        width,
        height: DIAMOND + GAP_Y + 14.0 + tallest + GAP_Y + 10.0,
        axis: width / 2.0,
        branches,
    }
}

fn region(step: &Step) -> Shape {
    let flow = step.branches.first().map_or(&[][..], |way| &way.flow);
    let mut inner = column(flow);
    let title = text_width(&title(step)) + 2.0 * PAD;
    let least = (title - 2.0 * PAD).max(80.0);
    if inner.width < least {
        inner.axis += (least - inner.width) / 2.0;
        inner.width = least;
    }
    let width = inner.width + 2.0 * PAD + 20.0;
    let axis = inner.axis + PAD + 20.0;
    Shape {
        width,
        height: HEAD + inner.height + HEAD,
        axis,
        branches: vec![(PAD + 20.0, inner)],
    }
}

/// The text at the head of a loop or region.
pub fn title(step: &Step) -> String {
    let says: Vec<_> = step.says.iter().map(|says| shortened(says)).collect();
    format!("«{}» {}: {}", step.kind, step.name, says.join(", "))
}
