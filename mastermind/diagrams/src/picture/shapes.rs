//! The room that each form takes around its text, and its outline.

use super::Shape;

/// Width and height of a node, given the size of its text.
pub(super) fn size(shape: Shape, (width, height): (f64, f64)) -> (f64, f64) {
    let has_text = width > 0.0;
    match shape {
        Shape::Initial | Shape::Final | Shape::FlowFinal if has_text => {
            (width.max(18.0), 20.0 + height)
        }
        Shape::Initial | Shape::Final | Shape::FlowFinal => (18.0, 18.0),
        Shape::Bar => (70.0, 6.0),
        Shape::Diamond | Shape::Hexagon if !has_text => (24.0, 24.0),
        // The text fits where width and height in shares of the diamond's make one.
        Shape::Diamond => (width * 1.45 + 24.0, height * 2.4 + 18.0),
        Shape::Hexagon => (width + 40.0, height + 14.0),
        Shape::Circle | Shape::DoubleCircle => {
            let across = width.hypot(height) + 14.0;
            (across, across)
        }
        Shape::Stadium => (width + 36.0, height + 16.0),
        Shape::Subroutine => (width + 40.0, height + 16.0),
        Shape::Cylinder => (width + 26.0, height + 30.0),
        Shape::LeanRight
        | Shape::LeanLeft
        | Shape::Trapezoid
        | Shape::TrapezoidTop
        | Shape::Flag => (width + 52.0, height + 16.0),
        Shape::Document => (width + 26.0, height + 26.0),
        Shape::Text => (width + 8.0, height + 6.0),
        Shape::Note => (width + 26.0, height + 12.0),
        Shape::Rounded | Shape::Rectangle => (width + 26.0, height + 16.0),
    }
}

/// Distance of the outline from the middle, along, at a distance from the axis.
pub(super) fn reach(shape: Shape, across: f64, along: f64, off_axis: f64) -> f64 {
    let share = (off_axis.abs() / (across / 2.0)).min(1.0);
    along / 2.0
        * match shape {
            Shape::Diamond => 1.0 - share,
            Shape::Circle | Shape::DoubleCircle => (1.0 - share * share).sqrt(),
            _ => 1.0,
        }
}

/// The outline as elements of SVG, around the middle.
///
/// # Arguments
/// * `look` - attributes of the colours
pub(super) fn outline(shape: Shape, [x, y]: [f64; 2], (w, h): (f64, f64), look: &str) -> String {
    let (l, r, t, b) = (x - w / 2.0, x + w / 2.0, y - h / 2.0, y + h / 2.0);
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<_> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        format!("<polygon points=\"{}\" {look}/>", points.join(" "))
    };
    let rectangle = |round: f64| {
        format!(
            "<rect x=\"{l:.1}\" y=\"{t:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"{round:.1}\" {look}/>"
        )
    };
    let circle = |y: f64, radius: f64, look: &str| {
        format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {look}/>")
    };
    let dot = t + 9.0;
    match shape {
        Shape::Initial => circle(dot, 8.0, "class=\"dot\""),
        Shape::Final => circle(dot, 9.0, "class=\"ring\"") + &circle(dot, 5.0, "class=\"dot\""),
        Shape::FlowFinal => {
            let (a, c) = (x - 5.5, x + 5.5);
            let (d, e) = (dot - 5.5, dot + 5.5);
            circle(dot, 9.0, "class=\"ring\"")
                + &format!(
                    "<path class=\"ring\" d=\"M{a:.1} {d:.1} L{c:.1} {e:.1} M{c:.1} {d:.1} L{a:.1} {e:.1}\"/>"
                )
        }
        Shape::Bar => format!(
            "<rect class=\"dot\" x=\"{l:.1}\" y=\"{t:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"/>"
        ),
        Shape::Rounded => rectangle(9.0),
        Shape::Rectangle => rectangle(0.0),
        Shape::Stadium => rectangle(h / 2.0),
        Shape::Subroutine => {
            let (a, c) = (l + 8.0, r - 8.0);
            rectangle(0.0)
                + &format!(
                    "<path class=\"ring\" d=\"M{a:.1} {t:.1} V{b:.1} M{c:.1} {t:.1} V{b:.1}\"/>"
                )
        }
        Shape::Cylinder => {
            let (top, bottom, half) = (t + 6.0, b - 6.0, w / 2.0);
            format!(
                "<path d=\"M{l:.1} {top:.1} A{half:.1} 6 0 0 1 {r:.1} {top:.1} V{bottom:.1} A{half:.1} 6 0 0 1 {l:.1} {bottom:.1} Z\" {look}/>\
                 <path class=\"ring\" d=\"M{l:.1} {top:.1} A{half:.1} 6 0 0 0 {r:.1} {top:.1}\"/>"
            )
        }
        Shape::Circle => circle(y, w / 2.0, look),
        Shape::DoubleCircle => circle(y, w / 2.0, look) + &circle(y, w / 2.0 - 4.0, look),
        Shape::Diamond => polygon(&[(x, t), (r, y), (x, b), (l, y)]),
        Shape::Hexagon => {
            let cut = (h / 2.0).min(12.0);
            polygon(&[
                (l + cut, t),
                (r - cut, t),
                (r, y),
                (r - cut, b),
                (l + cut, b),
                (l, y),
            ])
        }
        Shape::LeanRight => polygon(&[(l + 14.0, t), (r, t), (r - 14.0, b), (l, b)]),
        Shape::LeanLeft => polygon(&[(l, t), (r - 14.0, t), (r, b), (l + 14.0, b)]),
        Shape::Trapezoid => polygon(&[(l + 14.0, t), (r - 14.0, t), (r, b), (l, b)]),
        Shape::TrapezoidTop => polygon(&[(l, t), (r, t), (r - 14.0, b), (l + 14.0, b)]),
        Shape::Flag => polygon(&[(l, t), (r, t), (r, b), (l, b), (l + 12.0, y)]),
        Shape::Document => {
            let (wave, quarter) = (b - 6.0, w / 4.0);
            format!(
                "<path d=\"M{l:.1} {t:.1} H{r:.1} V{wave:.1} q{:.1} -8 {:.1} 0 t{:.1} 0 Z\" {look}/>",
                -quarter,
                -2.0 * quarter,
                -2.0 * quarter
            )
        }
        Shape::Text => String::new(),
        Shape::Note => {
            let (fold, low) = (r - 9.0, t + 9.0);
            format!(
                "<path d=\"M{l:.1} {t:.1} H{fold:.1} L{r:.1} {low:.1} V{b:.1} H{l:.1} Z M{fold:.1} {t:.1} V{low:.1} H{r:.1}\" {look}/>"
            )
        }
    }
}
