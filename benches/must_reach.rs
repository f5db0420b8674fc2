//! A line for each figure that is to be reached, which `cargo xtask bench` repeats at its end. Part of each benchmark.

use std::ops::{Bound, RangeBounds};

/// Tells a figure, and whether it is in the range that is to be reached.
pub fn within(what: &str, value: f64, range: impl RangeBounds<f64>, unit: &str) {
    let reached = if range.contains(&value) {
        "reached"
    } else {
        "MISSED"
    };
    let shown = |word, bound| match bound {
        Bound::Included(limit) | Bound::Excluded(limit) => format!(", {word} {limit}{unit}"),
        Bound::Unbounded => String::new(),
    };
    let least = shown("at least", range.start_bound());
    let most = shown("at most", range.end_bound());
    println!("must reach: {reached:8} {what}: {value:.2}{unit}{least}{most}");
}
