//! The figures of `correct`: the paper's 6 to 8 and 10 to 12.

use std::fs;
use std::path::Path;

use anyhow::Context;
use mastermind_correction::{Case, Report, Specification, Table, Trial};

use crate::destination::Force;
use crate::figures::correction::{Frequency, Times};
use crate::figures::{Sheet, save};

/// Writes those of `fit.svg`, `prediction.svg` and `frequency.svg` for which there are points and trials.
///
/// # Errors
/// A file exists or cannot be written.
pub fn write(
    folder: &Path,
    force: Force,
    specification: &Specification,
    table: &Table,
    report: &Report,
) -> anyhow::Result<()> {
    let act = || format!("cannot make folder \"{}\"", folder.display());
    fs::create_dir_all(folder).with_context(act)?;
    for (name, title, is_train) in [
        ("fit.svg", "training points", true),
        ("prediction.svg", "test points", false),
    ] {
        let part = table.part(is_train);
        if part.is_empty() {
            continue;
        }
        let path = folder.join(name);
        let title = format!("{}: {title}", specification.name);
        save(
            &times(title, specification, &part, report),
            &path,
            Sheet::default(),
            force,
        )?;
    }
    let rows = report.summary.iter().filter_map(|summary| {
        let chosen = summary.chosen?;
        let name = format!("case {}", summary.case.number());
        Some((name, chosen.better_percent, chosen.best_reduction_percent))
    });
    let frequency = Frequency {
        title: format!(
            "{}: trials better than the base, and the best reduction",
            specification.name
        ),
        rows: rows.collect(),
    };
    if frequency.rows.is_empty() {
        return Ok(());
    }
    let path = folder.join("frequency.svg");
    save(&frequency, &path, Sheet::default(), force)
}

/// Observed and calculated times, by the observed one.
fn times(title: String, specification: &Specification, table: &Table, report: &Report) -> Times {
    let mut order: Vec<usize> = (0..table.len()).collect();
    order.sort_by(|a, b| table.observed[*a].total_cmp(&table.observed[*b]));
    let table = table.at(&order);
    let base = specification.evaluate(&table, &report.base().0.values);
    let mut series = vec![("base".to_owned(), base)];
    for case in Case::ALL {
        let of_case = report
            .trials
            .iter()
            .filter(|t| t.case == case && t.corrected().is_some());
        let best = of_case.min_by(|a, b| a.errors.rrmse_train.total_cmp(&b.errors.rrmse_train));
        if let Some(corrected) = best.and_then(Trial::corrected) {
            let name = format!("case {}", case.number());
            series.push((name, corrected.predict(specification, &table)));
        }
    }
    Times {
        title,
        observed: table.observed,
        series,
    }
}
