//! Activities as an SVG document.

use std::fmt::Write;

use super::shape::{
    Column, DIAMOND, GAP_Y, HEAD, LINE, PAD, Shape, column, lines, text_width, title,
};
use super::{Drawn, Step};

const MARGIN: f64 = 24.0;
const STYLE: &str = "text{font-family:Helvetica,Arial,sans-serif;font-size:11px;fill:#222}\
.name{font-weight:bold;font-size:12px}.head{font-size:15px;font-weight:bold}.middle{text-anchor:middle}\
.guard{fill:#7a3b00}.action{fill:#f4f6fa;stroke:#345}.activity{fill:#e8eefc;stroke:#235}\
.message{fill:#eef7ee;stroke:#2a6a3a}.diamond{fill:#fff8e6;stroke:#8a6a10}\
.region{fill:none;stroke:#777;stroke-dasharray:5 3}.edge{fill:none;stroke:#345;stroke-width:1.2}";

/// The model as an SVG document.
pub fn draw(drawn: &Drawn) -> String {
    let columns: Vec<Column> = drawn.activities.iter().map(|a| column(&a.flow)).collect();
    let mut body = String::new();
    let mut x = MARGIN;
    let mut tallest = 0.0_f64;
    for (activity, column) in drawn.activities.iter().zip(&columns) {
        let width = column.width.max(text_width(&activity.name) * 1.4).max(80.0);
        let left = x + (width - column.width) / 2.0;
        let axis = left + column.axis;
        let mut y = MARGIN + 40.0;
        let _ = writeln!(
            body,
            "<text class=\"head middle\" x=\"{axis:.1}\" y=\"{:.1}\">{}</text>",
            y - 16.0,
            escaped(&activity.name)
        );
        let _ = writeln!(
            body,
            "<circle cx=\"{axis:.1}\" cy=\"{:.1}\" r=\"7\" fill=\"#222\"/>",
            y + 7.0
        );
        y += 14.0;
        arrow(&mut body, axis, y, y + GAP_Y);
        y += GAP_Y;
        draw_column(&mut body, &activity.flow, column, left, y);
        y += column.height;
        arrow(&mut body, axis, y, y + GAP_Y);
        y += GAP_Y;
        let _ = writeln!(
            body,
            "<circle cx=\"{axis:.1}\" cy=\"{0:.1}\" r=\"9\" fill=\"none\" stroke=\"#222\"/>\
             <circle cx=\"{axis:.1}\" cy=\"{0:.1}\" r=\"5\" fill=\"#222\"/>",
            y + 9.0
        );
        tallest = tallest.max(y + 18.0);
        x += width + 3.0 * MARGIN;
    }
    let (width, height) = (x.max(300.0), tallest + MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0 L10 5 L0 10 z\" fill=\"#345\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

fn arrow(body: &mut String, x: f64, from: f64, to: f64) {
    let _ = writeln!(
        body,
        "<path class=\"edge\" marker-end=\"url(#tip)\" d=\"M{x:.1} {from:.1} V{to:.1}\"/>"
    );
}

fn line(body: &mut String, path: &str) {
    let _ = writeln!(body, "<path class=\"edge\" d=\"{path}\"/>");
}

fn text(body: &mut String, class: &str, x: f64, y: f64, says: &str) {
    let says = escaped(says);
    let _ = writeln!(
        body,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{says}</text>"
    );
}

fn draw_column(body: &mut String, flow: &[Step], column: &Column, left: f64, top: f64) {
    let axis = left + column.axis;
    let mut y = top;
    for (i, (step, shape)) in flow.iter().zip(&column.shapes).enumerate() {
        if i > 0 {
            arrow(body, axis, y, y + GAP_Y);
            y += GAP_Y;
        }
        draw_step(body, step, shape, axis - shape.axis, y);
        y += shape.height;
    }
}

fn draw_step(body: &mut String, step: &Step, shape: &Shape, x: f64, y: f64) {
    match step.kind {
        "decision" => draw_decision(body, step, shape, x, y),
        "loop" | "while" | "parallel" | "critical" => draw_region(body, step, shape, x, y),
        _ => {
            let class = match step.kind {
                "action" | "wait" | "waitany" => "action",
                "activity" => "activity",
                _ => "message",
            };
            let _ = writeln!(
                body,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"9\"/>",
                shape.width, shape.height
            );
            for (i, says) in lines(step).iter().enumerate() {
                let class = if i == 0 { "name middle" } else { "middle" };
                text(
                    body,
                    class,
                    x + shape.axis,
                    y + LINE * (i as f64 + 1.0),
                    says,
                );
            }
        }
    }
}

fn draw_decision(body: &mut String, step: &Step, shape: &Shape, x: f64, y: f64) {
    let (axis, half) = (x + shape.axis, DIAMOND / 2.0);
    let middle = y + half;
    let split = y + DIAMOND + GAP_Y / 2.0;
    let top = y + DIAMOND + GAP_Y + 14.0;
    let bottom = y + shape.height - 10.0;
    let _ = writeln!(
        body,
        "<path class=\"diamond\" d=\"M{axis:.1} {y:.1} L{:.1} {middle:.1} L{axis:.1} {:.1} L{:.1} {middle:.1} Z\"/>",
        axis + half,
        y + DIAMOND,
        axis - half
    );
    text(body, "guard", axis + half + 4.0, middle + 4.0, &step.name);
    line(body, &format!("M{axis:.1} {:.1} V{split:.1}", y + DIAMOND));
    for (way, (at, inner)) in step.branches.iter().zip(&shape.branches) {
        let left = x + at;
        let center = left + inner.axis;
        line(body, &format!("M{axis:.1} {split:.1} H{center:.1}"));
        text(
            body,
            "guard middle",
            left + inner.width / 2.0,
            top - 12.0,
            &way.guard,
        );
        if way.flow.is_empty() {
            line(body, &format!("M{center:.1} {split:.1} V{:.1}", top - 24.0));
            line(body, &format!("M{center:.1} {:.1} V{bottom:.1}", top - 8.0));
        } else {
            arrow(body, center, top - 9.0, top);
            draw_column(body, &way.flow, inner, left, top);
            line(
                body,
                &format!("M{center:.1} {:.1} V{bottom:.1}", top + inner.height),
            );
        }
        line(body, &format!("M{center:.1} {bottom:.1} H{axis:.1}"));
    }
    line(
        body,
        &format!("M{axis:.1} {bottom:.1} V{:.1}", y + shape.height),
    );
}

fn draw_region(body: &mut String, step: &Step, shape: &Shape, x: f64, y: f64) {
    let _ = writeln!(
        body,
        "<rect class=\"region\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\"/>",
        shape.width, shape.height
    );
    text(body, "guard", x + PAD, y + 14.0, &title(step));
    let Some((at, inner)) = shape.branches.first() else {
        return;
    };
    let axis = x + shape.axis;
    let (top, bottom) = (y + HEAD, y + HEAD + inner.height);
    let flow = step.branches.first().map_or(&[][..], |way| &way.flow);
    if step.kind == "parallel" {
        let bar = |y: f64| {
            format!(
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"60\" height=\"4\" fill=\"#222\"/>\n",
                axis - 30.0
            )
        };
        body.push_str(&bar(y + 18.0));
        body.push_str(&bar(bottom + HEAD - 18.0));
    }
    arrow(body, axis, y + 22.0, top);
    draw_column(body, flow, inner, x + at, top);
    line(
        body,
        &format!("M{axis:.1} {bottom:.1} V{:.1}", bottom + HEAD - 18.0),
    );
    if matches!(step.kind, "loop" | "while") {
        // Back to the head.
        let left = x + PAD;
        let _ = writeln!(
            body,
            "<path class=\"edge\" marker-end=\"url(#tip)\" d=\"M{axis:.1} {0:.1} H{left:.1} V{1:.1} H{2:.1}\"/>",
            bottom + HEAD - 18.0,
            y + 24.0,
            axis - 2.0
        );
    }
    line(
        body,
        &format!(
            "M{axis:.1} {:.1} V{:.1}",
            bottom + HEAD - 18.0,
            y + shape.height
        ),
    );
}
