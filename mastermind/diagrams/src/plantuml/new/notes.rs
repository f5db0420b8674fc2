//! Notes and legends.

use super::super::lines::Line;
use super::super::text::after;
use super::Reader;
use crate::diagram::Subject;
use mastermind_programs::Rule;

impl Reader<'_> {
    /// A note or legend; whether the line begins one.
    pub(super) fn note<'l>(
        &mut self,
        line: &Line,
        lines: &mut impl Iterator<Item = &'l Line>,
    ) -> bool {
        let text = line.text.as_str();
        let floating = after(text, "floating");
        let rest = after(floating.unwrap_or(text), "note");
        let legend = after(text, "legend");
        let Some(rest) = rest.or(legend) else {
            return false;
        };
        let mut inside: Vec<Line> = Vec::new();
        let on_line = legend.is_none().then(|| rest.split_once(':')).flatten();
        if let Some((_, text)) = on_line {
            let text = text.replace("\\n", "\n");
            let texts = text.lines().map(|text| Line {
                number: line.number,
                text: text.trim().to_owned(),
            });
            inside.extend(texts);
        } else {
            let ends = if legend.is_some() {
                ["end legend", "endlegend"]
            } else {
                ["end note", "endnote"]
            };
            loop {
                let Some(next) = lines.next() else {
                    self.wrong(line, format!("it is not ended, expected {}", ends[0]));
                    return true;
                };
                if ends.contains(&next.text.to_ascii_lowercase().as_str()) {
                    break;
                }
                inside.push(next.clone());
            }
        }
        let belongs = legend.is_none() && floating.is_none();
        self.said(line, &inside, belongs);
        true
    }

    fn said(&mut self, note: &Line, lines: &[Line], belongs: bool) {
        self.sections.begin();
        let mut prose = false;
        for line in lines {
            let at = line.at();
            let place = Subject {
                element: "note",
                at: &at,
            };
            if self.sections.line(&line.text, place, self.out) {
                continue;
            }
            prose |= !self.word(&line.text, belongs, place);
        }
        if prose {
            self.pass_over(note, "the text of a note");
        }
    }

    /// Takes a line of a note; `false` for prose.
    fn word(&mut self, text: &str, belongs: bool, place: Subject<'_>) -> bool {
        if !belongs {
            return false;
        }
        let annotation = match (self.flow.last, self.frames.last_mut()) {
            (Some(node), _) => self.flow.annotations.entry(node).or_default(),
            (None, Some(super::Frame::Group { annotation, .. })) => annotation,
            _ => {
                let known = crate::diagram::Annotation::default().said(text);
                if known {
                    let reason = "it stands at no action, expected an action before the note";
                    self.out.find(Rule::Annotation, place, reason);
                }
                return known;
            }
        };
        let inside = text
            .trim()
            .strip_prefix("<<")
            .and_then(|text| text.strip_suffix(">>"));
        if let Some(name) = inside {
            return annotation.stereotype(name, place, self.out);
        }
        let text = text.trim();
        let tags = text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'));
        match tags {
            Some(tags) => annotation.line(tags, place, self.out),
            None => annotation.said(text),
        }
    }
}
