//! The charts of a simulation as one HTML file that needs nothing else: a bar for each process, a pie
//! for the chosen process, a table of its elements that is sorted by any column. Of many processes some have a bar, and all
//! a cell of a heat map; chosen ones have a [`Timeline`].
//!
//! # Source
//! S. Pllana et al., "Hybrid Performance Modeling and Prediction of Large-Scale Computing Systems",
//! 2008, Figure 12.

mod timeline;

pub use timeline::{Timeline, TimelineError};

use serde_json::{Value, json};

use crate::engine::{Outcome, ProcessResult};

/// Most processes that have a bar of their own.
const MAX_BARS: usize = 1000;

/// Most cells of the heat map; of more processes each cell is the greatest of several.
const MAX_CELLS: usize = 250_000;

/// The page with everything but its data.
const PAGE: &str = include_str!("page.html");

/// The charts of a simulation.
///
/// # Arguments
/// * `title` - the model
/// * `timeline` - with the slices of the same simulation, or empty
pub fn html(title: &str, outcome: &Outcome, timeline: &Timeline) -> String {
    // In a script element only `<` can end it.
    let mut data = data(title, outcome);
    data["timeline"] = timeline.data();
    let data = data.to_string().replace('<', "\\u003c");
    PAGE.replace("%TITLE%", &escaped(title))
        .replace("%DATA%", &data)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn data(title: &str, outcome: &Outcome) -> Value {
    let shown = shown(outcome);
    let processes = shown.iter().map(|rank| {
        let one = &outcome.processes[*rank];
        let elements: Vec<Value> = (0..outcome.elements.len())
            .map(|element| outcome.element_of(*rank, element))
            .map(|element| json!([element.calls, element.total_ns]))
            .collect();
        json!({
            "rank": rank,
            "finish": one.finish_ns,
            "work": one.work_ns,
            "overhead": one.overhead_ns,
            "wait": one.wait_ns(),
            "elements": elements,
        })
    });
    let processes: Vec<Value> = processes.collect();
    let elements = outcome.elements.iter().enumerate().map(|(i, info)| {
        let all = outcome.element(i);
        json!({
            "name": info.name,
            "place": info.place,
            "kind": info.kind,
            "all": [all.calls, all.total_ns],
        })
    });
    let elements: Vec<Value> = elements.collect();
    json!({
        "title": title,
        "makespan": outcome.makespan_ns,
        "messages": outcome.messages,
        "n_processes": outcome.processes.len(),
        "processes": processes,
        "elements": elements,
        "heat": heat(outcome),
    })
}

/// The heat map of all processes, if not all have a bar: parts of the makespan, and of each process's own time.
fn heat(outcome: &Outcome) -> Value {
    let n = outcome.processes.len();
    if n <= MAX_BARS {
        return Value::Null;
    }
    let per_cell = n.div_ceil(MAX_CELLS);
    let layer = |share: &dyn Fn(&ProcessResult) -> f64| {
        let cells = outcome.processes.chunks(per_cell);
        let cells = cells.map(|all| level(all.iter().map(share).fold(0.0, f64::max)));
        cells.collect::<String>()
    };
    let of = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    json!({
        "per_cell": per_cell,
        "layers": [
            ["finish, of the last", layer(&|one| of(one.finish_ns, outcome.makespan_ns))],
            ["work, of its time", layer(&|one| of(one.work_ns, one.finish_ns))],
            ["messages' overhead, of its time", layer(&|one| of(one.overhead_ns, one.finish_ns))],
            ["waiting, of its time", layer(&|one| of(one.wait_ns(), one.finish_ns))],
        ],
    })
}

/// A share from 0 to 1 as one of 61 letters.
fn level(share: f64) -> char {
    const LETTERS: &[u8; 61] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY";
    char::from(LETTERS[(share.clamp(0.0, 1.0) * 60.0).round() as usize])
}

/// The processes with a bar: all, or some in even steps and the last to finish.
fn shown(outcome: &Outcome) -> Vec<usize> {
    let n = outcome.processes.len();
    if n <= MAX_BARS {
        return (0..n).collect();
    }
    let mut shown: Vec<usize> = (0..MAX_BARS - 1).map(|i| i * n / (MAX_BARS - 1)).collect();
    let slowest = (0..n).max_by_key(|rank| outcome.processes[*rank].finish_ns);
    shown.extend(slowest);
    shown.sort_unstable();
    shown.dedup();
    shown
}
