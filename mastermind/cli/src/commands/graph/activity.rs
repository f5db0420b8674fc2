//! A program model as a picture: its activities side by side, each from top to bottom.
//!
//! A program model is a set of activities, each a flow of elements that may contain flows
//! themselves (loops, decisions, parallel regions). `ActivityPicture` is that tree with the text of each
//! element, independent of any output; `shape.rs` computes its sizes bottom up, `marks.rs` places
//! it top down, and `svg.rs` and `dot.rs` write it. The page of `serve` gets the same tree and
//! marks as JSON, so both show the same picture.
//!
//! ```text
//! Model ──▶ Drawn { activities: [Step { id, place, kind, says, branches }] }
//!             ├─ shape.rs   width and height of each element
//!             ├─ marks.rs   rectangles, paths, texts; each with the id of its step
//!             ├─ svg.rs     a document
//!             └─ dot.rs     Graphviz
//! ```
//!
//! Steps are numbered from 0 over all activities, an element before its contents.

mod dot;
mod marks;
mod shape;
mod svg;

use mastermind_programs::{Branch, Element, ElementKind, Model};
use serde::Serialize;

pub use dot::draw as dot;
pub use svg::draw as svg;

/// The activities of a model as a picture shows them: the tree of elements with their texts, and
/// the marks.
#[derive(Debug, Serialize)]
pub struct ActivityPicture {
    model: String,
    main: String,
    activities: Vec<DrawnActivity>,
    /// The picture: marks with their places; each element has some.
    drawing: marks::Drawing,
}

#[derive(Debug, Serialize)]
struct DrawnActivity {
    name: String,
    flow: Vec<Step>,
}

/// An element: its name, its type, its text, and its contents.
#[derive(Debug, Serialize)]
struct Step {
    /// Number by which its marks refer to it: from 0, each after the element that contains it.
    id: usize,
    name: String,
    /// The activity, and the elements that contain it, as in `simulate`.
    place: String,
    kind: &'static str,
    /// `cost = …`, one line each.
    says: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<Way>,
}

/// A flow inside an element, and its condition.
#[derive(Debug, Serialize)]
struct Way {
    guard: String,
    flow: Vec<Step>,
}

impl ActivityPicture {
    /// The drawings of a model: the main activity first.
    pub fn of(model: &Model) -> Self {
        let mut activities: Vec<_> = model
            .activities
            .iter()
            .map(|(name, activity)| DrawnActivity {
                name: name.clone(),
                flow: steps(&activity.flow),
            })
            .collect();
        activities.sort_by_key(|activity| activity.name != model.main);
        let mut n_steps = 0;
        for activity in &mut activities {
            number(&mut activity.flow, &activity.name, &mut n_steps);
        }
        let drawing = marks::draw(&activities);
        Self {
            model: model.name.clone(),
            main: model.main.clone(),
            activities,
            drawing,
        }
    }
}

/// Gives each step its number and its place.
fn number(flow: &mut [Step], place: &str, n_steps: &mut usize) {
    for step in flow {
        (step.id, step.place) = (*n_steps, place.to_owned());
        *n_steps += 1;
        let inner = format!("{place}/{}", step.name);
        for way in &mut step.branches {
            number(&mut way.flow, &inner, n_steps);
        }
    }
}

fn steps(flow: &[Element]) -> Vec<Step> {
    flow.iter().map(step).collect()
}

fn step(element: &Element) -> Step {
    let mut says = Vec::new();
    let mut branches = Vec::new();
    let mut say = |word: &str, text: String| says.push(format!("{word} = {}", plain(&text)));
    let inside = |flow: &[Element]| {
        let guard = String::new();
        vec![Way {
            guard,
            flow: steps(flow),
        }]
    };
    let kind = match &element.kind {
        ElementKind::Action { cost, code } => {
            for assignment in code {
                say(&assignment.name, assignment.value.to_string());
            }
            if let Some(cost) = cost {
                say("cost", cost.to_string());
            }
            "action"
        }
        ElementKind::Activity { activity } => {
            if *activity != element.name {
                say("of", activity.clone());
            }
            "activity"
        }
        ElementKind::Decision { branches: all } => {
            branches = all.iter().map(way).collect();
            "decision"
        }
        ElementKind::Loop {
            count,
            variable,
            flow,
        } => {
            say("count", count.to_string());
            if let Some(variable) = variable {
                say("variable", variable.clone());
            }
            branches = inside(flow);
            "loop"
        }
        ElementKind::While { condition, flow } => {
            say("while", condition.to_string());
            branches = inside(flow);
            "while"
        }
        ElementKind::Parallel { threads, flow } => {
            say("threads", threads.to_string());
            branches = inside(flow);
            "parallel"
        }
        ElementKind::Critical { lock, flow } => {
            say("lock", lock.clone());
            branches = inside(flow);
            "critical"
        }
        ElementKind::Send {
            to,
            bytes,
            blocking,
            ..
        } => {
            say("to", to.to_string());
            say("bytes", bytes.to_string());
            if *blocking { "send" } else { "isend" }
        }
        ElementKind::Receive {
            from,
            blocking,
            sender,
            ..
        } => {
            say("from", from.to_string());
            if let Some(sender) = sender {
                say("sender", sender.clone());
            }
            if *blocking { "recv" } else { "irecv" }
        }
        ElementKind::WaitAny { sender } => {
            if let Some(sender) = sender {
                say("sender", sender.clone());
            }
            "waitany"
        }
        ElementKind::Collective(collective) => {
            if collective.kind.has_root() {
                say("root", collective.root.to_string());
            }
            if collective.kind.has_bytes() {
                say("bytes", collective.bytes.to_string());
            }
            if let Some(group) = &collective.group {
                say("first of the group", group.first.to_string());
                say("its size", group.size.to_string());
                say("its stride", group.stride.to_string());
            }
            collective.kind.name()
        }
        ElementKind::Wait => "wait",
        _ => "element",
    };
    Step {
        id: 0,
        name: element.name.clone(),
        place: String::new(),
        kind,
        says,
        branches,
    }
}

fn way(branch: &Branch) -> Way {
    let guard = branch.guard.as_ref();
    Way {
        guard: guard.map_or_else(|| "else".to_owned(), |guard| plain(&guard.to_string())),
        flow: steps(&branch.flow),
    }
}

/// An expression without the brackets around the whole, and whole numbers without a fraction.
fn plain(text: &str) -> String {
    let mut depth = 0_i32;
    // Brackets that close before the end do not enclose the whole: `(a) * (b)`.
    let closes_early = text.char_indices().any(|(i, letter)| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && i + 1 < text.len()
    });
    let inside = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let text = match inside {
        Some(inside) if !closes_early => inside,
        _ => text,
    };
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_whole = letter == '.'
            && plain.ends_with(|c: char| c.is_ascii_digit())
            && letters.peek() == Some(&'0');
        if is_whole {
            let mut ahead = letters.clone();
            ahead.next();
            if !ahead
                .peek()
                .is_some_and(|c| c.is_ascii_digit() || *c == 'e')
            {
                letters.next();
                continue;
            }
        }
        plain.push(letter);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use mastermind_diagrams::read_plantuml;

    fn drawn() -> ActivityPicture {
        let text = "@startuml\nstart\n:a<b {cost = ms(1) * (process + 1)};\nif (process == 0) then (yes)\n\
            :to {cost = 2};\nelse\n:sub <<activity+>>;\nendif\nwhile (i = 1, 3)\n:r {cost = 1};\nendwhile\n\
            fork\n:x {cost = 1};\nfork again\n:y {cost = 2};\nend fork\n@enduml\n\
            @startuml sub\n:inside {cost = 1};\n@enduml\n";
        ActivityPicture::of(&read_plantuml(text).expect("a model").model)
    }

    #[test]
    fn each_form_has_every_element() {
        let drawn = drawn();
        let (svg, dot) = (svg(&drawn), dot(&drawn));
        let json = serde_json::to_string(&drawn).expect("JSON");
        for name in ["to", "sub", "inside", "x", "y", "r"] {
            assert!(svg.contains(&format!(">{name}</text>")), "{name}: {svg}");
            assert!(dot.contains(&format!("label=\"{name}")), "{name}: {dot}");
            assert!(
                json.contains(&format!("\"name\":\"{name}\"")),
                "{name}: {json}"
            );
        }
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
        assert!(svg.contains("cost = ms(1) * (process + 1)"), "{svg}");
        assert!(svg.contains("process == 0"));
    }

    #[test]
    fn each_element_has_marks_and_its_place() {
        let drawn = serde_json::to_value(drawn()).expect("JSON");
        let flow = &drawn["activities"][0]["flow"];
        assert_eq!(
            flow[1]["branches"][0]["flow"][0]["place"],
            "Main/process == 0"
        );
        let marks = drawn["drawing"]["marks"].as_array().expect("a list");
        for id in 0..10 {
            let own = |mark: &&serde_json::Value| mark["step"] == id && mark["form"] != "path";
            assert!(marks.iter().any(|mark| own(&mark)), "{id}");
        }
        let inside = marks.iter().find(|mark| mark["text"] == "inside");
        assert_eq!(inside.expect("a text")["class"], "name middle");
    }

    #[test]
    fn brackets_around_the_whole_are_left_out() {
        assert_eq!(plain("(a + 1.0)"), "a + 1");
        assert_eq!(plain("(a + 1.5) * (b)"), "(a + 1.5) * (b)");
        assert_eq!(plain("x10.0"), "x10");
        assert_eq!(plain("1.05"), "1.05");
    }
}
