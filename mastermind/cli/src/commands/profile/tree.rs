//! `profile --tree`: methods listed below their callers.

use mastermind_records::{CallTree, Run};
use serde::Serialize;

use super::is_zero;
use crate::{output, run_facts};

/// The tree as it is printed: means over the ranks, times in nanoseconds.
#[derive(Serialize)]
pub struct Tree {
    ranks: usize,
    /// Over all ranks.
    records: u64,
    lost_records: u64,
    #[serde(skip_serializing_if = "is_zero")]
    damaged_logs: u64,
    /// Callers before callees; the callees of one caller by inclusive time.
    nodes: Vec<Node>,
}

#[derive(Serialize)]
struct Node {
    /// Names from the outermost call to this one.
    path: Vec<String>,
    name: String,
    class: String,
    calls: f64,
    inclusive_ns: f64,
    exclusive_ns: f64,
    /// Inclusive time, of the longest node's.
    percent: f64,
}

impl Tree {
    pub fn of(run: &Run) -> Self {
        let tree = CallTree::new(run);
        let n_ranks = tree.ranks.max(1) as f64;
        let longest = tree.nodes.iter().map(|node| node.inclusive_ns).max();
        let longest = longest.unwrap_or(0).max(1) as f64;
        let node = |(place, node): (usize, &mastermind_records::CallNode)| Node {
            path: tree.path(place).into_iter().map(str::to_owned).collect(),
            name: node.name.clone(),
            class: node.class.clone(),
            calls: node.calls as f64 / n_ranks,
            inclusive_ns: node.inclusive_ns as f64 / n_ranks,
            exclusive_ns: node.exclusive_ns as f64 / n_ranks,
            percent: 100.0 * node.inclusive_ns as f64 / longest,
        };
        Self {
            ranks: tree.ranks,
            records: run.n_records(),
            lost_records: run.dropped(),
            damaged_logs: run.damaged_logs(),
            nodes: tree.nodes.iter().enumerate().map(node).collect(),
        }
    }

    pub fn text(&self) -> String {
        let header = [
            "% TIME",
            "EXCLUSIVE ms",
            "INCLUSIVE ms",
            "CALLS",
            "NAME",
            "CLASS",
        ];
        let rows = self.nodes.iter().map(|node| {
            let calls = match node.calls {
                0.0 => String::new(),
                calls if calls.fract() == 0.0 => format!("{calls}"),
                calls => format!("{calls:.2}"),
            };
            vec![
                format!("{:.1}", node.percent),
                format!("{:.3}", node.exclusive_ns * 1e-6),
                format!("{:.3}", node.inclusive_ns * 1e-6),
                calls,
                "  ".repeat(node.path.len().saturating_sub(1)) + &node.name,
                node.class.clone(),
            ]
        });
        let mean = match self.ranks {
            1 => "1 rank".to_owned(),
            n => format!("{n} ranks, mean over them"),
        };
        let lost = run_facts::lost(self.lost_records, self.damaged_logs);
        let table = output::table(&header, &[0, 1, 2, 3], rows);
        format!("{table}\n{mean}; {} records, {lost}", self.records)
    }
}
