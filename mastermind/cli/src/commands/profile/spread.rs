//! The table of `profile --spread`: how the exclusive time of each method differs between the ranks.

use mastermind_records::{Profile, RankSpread, Row};

use crate::output;

/// The table, the methods in the order of the profile.
pub fn text(profile: &Profile) -> String {
    let header = [
        "MEAN ms",
        "LEAST ms",
        "OF RANK",
        "QUARTER ms",
        "MEDIAN ms",
        "QUARTER ms",
        "GREATEST ms",
        "OF RANK",
        "RANKS",
        "NAME",
    ];
    let numbers: Vec<usize> = (0..header.len() - 1).collect();
    let rows = profile.rows.iter();
    let rows = rows.filter_map(|row| Some(cells(row, row.spread.as_ref()?)));
    output::table(&header, &numbers, rows)
}

fn cells(row: &Row, spread: &RankSpread) -> Vec<String> {
    let milliseconds = |ns: f64| format!("{:.3}", ns * 1e-6);
    vec![
        milliseconds(row.exclusive_ns),
        milliseconds(spread.least_ns as f64),
        spread.least_rank.to_string(),
        milliseconds(spread.lower_quartile_ns),
        milliseconds(spread.median_ns),
        milliseconds(spread.upper_quartile_ns),
        milliseconds(spread.greatest_ns as f64),
        spread.greatest_rank.to_string(),
        spread.ranks.to_string(),
        row.name.clone(),
    ]
}
