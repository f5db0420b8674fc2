//! Calls by the place that makes them: `profile --call-sites`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::bail;
use mastermind_records::Run;
use serde::Serialize;

use crate::call_site;
use crate::output;

/// The calls of a method from one place, over all ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteRow {
    /// `instance.method`.
    pub name: String,
    /// The class that ran.
    pub class: String,
    /// Where the calls come from.
    pub call_site: String,
    /// Calls.
    pub calls: u64,
    /// Their time including the measured calls made from them, nanoseconds.
    pub inclusive_ns: u64,
    /// The shortest call, nanoseconds.
    pub least_ns: u64,
    /// The longest call, nanoseconds.
    pub greatest_ns: u64,
}

/// The rows of a run, by time, longest first.
///
/// # Errors
/// The run was recorded without call sites.
pub fn rows(run: &Run, directory: &Path) -> anyhow::Result<Vec<SiteRow>> {
    let sites = call_site::read(directory, run).into_iter();
    let names: HashMap<(u32, u64), String> = sites
        .map(|site| ((site.process, site.address), site.name()))
        .collect();
    let mut rows = BTreeMap::<(String, String, String), SiteRow>::new();
    for log in run.logs() {
        let process = call_site::process_of(log);
        for record in log.records() {
            let Some(address) = call_site::address(&record) else {
                continue;
            };
            let site = names.get(&(process, address));
            let site = site.cloned().unwrap_or_else(|| format!("{address:#x}"));
            let (name, class) = (record.method.name(), record.method.class.clone());
            let key = (name.clone(), class.clone(), site.clone());
            let row = rows.entry(key).or_insert(SiteRow {
                name,
                class,
                call_site: site,
                calls: 0,
                inclusive_ns: 0,
                least_ns: u64::MAX,
                greatest_ns: 0,
            });
            row.calls += 1;
            row.inclusive_ns += record.wall_ns;
            row.least_ns = row.least_ns.min(record.wall_ns);
            row.greatest_ns = row.greatest_ns.max(record.wall_ns);
        }
    }
    if rows.is_empty() {
        bail!(
            "cannot show call sites of \"{}\": 0 calls with one, expected some; record with wrap --call-sites",
            directory.display()
        );
    }
    let mut rows: Vec<_> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.inclusive_ns));
    Ok(rows)
}

/// The table.
pub fn text(rows: &[SiteRow]) -> String {
    let total: u64 = rows.iter().map(|row| row.inclusive_ns).sum();
    let cells = |row: &SiteRow| {
        let us = |ns: u64| format!("{:.2}", ns as f64 * 1e-3);
        vec![
            format!(
                "{:.1}",
                100.0 * row.inclusive_ns as f64 / total.max(1) as f64
            ),
            format!("{:.3}", row.inclusive_ns as f64 * 1e-6),
            row.calls.to_string(),
            format!("{:.2}", row.inclusive_ns as f64 * 1e-3 / row.calls as f64),
            us(row.least_ns),
            us(row.greatest_ns),
            row.name.clone(),
            row.class.clone(),
            row.call_site.clone(),
        ]
    };
    let header = [
        "% OF THESE",
        "INCLUSIVE ms",
        "CALLS",
        "us/CALL",
        "LEAST us",
        "GREATEST us",
        "NAME",
        "CLASS",
        "CALL SITE",
    ];
    output::table(&header, &[0, 1, 2, 3, 4, 5], rows.iter().map(cells))
}
