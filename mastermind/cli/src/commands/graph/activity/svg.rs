//! Activities as an SVG document.

use std::fmt::Write;

use super::ActivityPicture;
use super::marks::{Form, Mark};

const STYLE: &str = "text{font-family:Helvetica,Arial,sans-serif;font-size:11px;fill:#222}\
.name{font-weight:bold;font-size:12px}.head{font-size:15px;font-weight:bold}.middle{text-anchor:middle}\
.guard{fill:#7a3b00}.action{fill:#f4f6fa;stroke:#345}.activity{fill:#e8eefc;stroke:#235}\
.message{fill:#eef7ee;stroke:#2a6a3a}.diamond{fill:#fff8e6;stroke:#8a6a10}\
.region{fill:none;stroke:#777;stroke-dasharray:5 3}.edge{fill:none;stroke:#345;stroke-width:1.2}\
.dot{fill:#222}.ring{fill:none;stroke:#222}";

/// The model as an SVG document.
pub fn draw(drawn: &ActivityPicture) -> String {
    let drawing = &drawn.drawing;
    let (width, height) = (drawing.width, drawing.height);
    let mut body = String::new();
    for mark in &drawing.marks {
        add(&mut body, mark);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0 L10 5 L0 10 z\" fill=\"#345\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

fn add(body: &mut String, mark: &Mark) {
    let class = mark.class;
    let _ = match &mark.form {
        Form::Rect {
            x,
            y,
            width,
            height,
            rx,
        } => writeln!(
            body,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{rx}\"/>"
        ),
        Form::Circle { x, y, r } => writeln!(
            body,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\"/>"
        ),
        Form::Path { d, tip } => {
            let tip = if *tip {
                " marker-end=\"url(#tip)\""
            } else {
                ""
            };
            writeln!(body, "<path class=\"{class}\"{tip} d=\"{d}\"/>")
        }
        Form::Text { x, y, text } => writeln!(
            body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escaped(text)
        ),
    };
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
