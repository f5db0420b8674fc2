//! The same problems for a rival: tables with the base as a column, our results on them, and the cost of a run.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mastermind_correction::{Residuals, SemiEmpirical, Table};
use rayon::prelude::*;

use crate::instances::{Form, Instance, Split};
use crate::{Options, Prepared, prepared};

/// Writes `FOLDER/cost-K.csv`, problems of 32 training points; `FOLDER/SPLIT-K.csv`, the instances by split; and
/// `ratios.csv`, for our trials the error divided by that of the base.
pub fn write_problems(folder: &Path, options: &Options) {
    for place in 0..3 {
        let instance = Instance::draw(Form::Evh1, place, options.seed, 1.0);
        let base = fitted(&instance);
        write(folder, "cost", place, &instance, &base);
    }
    let mut ratios = String::from("split,place,case,ratio\n");
    for split in &options.splits {
        let prepared = prepared(options, Form::Evh1, *split, 1.0);
        for (place, problem) in prepared.iter().enumerate() {
            write(
                folder,
                letter(*split),
                place,
                &problem.instance,
                &problem.base,
            );
        }
        for case in &options.cases {
            let of = |problem: &Prepared| -> Vec<f64> {
                let seeds = 1..=options.n_trials;
                seeds
                    .map(|seed| problem.ratio(*case, seed, &options.settings))
                    .collect()
            };
            let all: Vec<Vec<f64>> = prepared.par_iter().map(of).collect();
            for (place, ratio) in all
                .iter()
                .enumerate()
                .flat_map(|(k, r)| r.iter().map(move |r| (k, r)))
            {
                let _ = writeln!(
                    ratios,
                    "{},{place},{},{ratio}",
                    letter(*split),
                    case.number()
                );
            }
        }
    }
    fs::write(folder.join("ratios.csv"), ratios).expect("a file");
}

/// Prints processor seconds of a run of each case on the problem `cost-PLACE.csv`.
///
/// A rival runs it between two runs of its own, since a machine may be twice as slow for seconds on end.
pub fn print_cost(place: usize, options: &Options) {
    println!("case,cpu_s");
    for case in &options.cases {
        let seconds = crate::run_s(place, *case, &options.settings);
        println!("{},{seconds}", case.number());
    }
}

fn letter(split: Split) -> &'static str {
    &split.name()[..1]
}

fn fitted(instance: &Instance) -> SemiEmpirical {
    let (specification, table) = (&instance.specification, &instance.table);
    SemiEmpirical::fit(specification, table, Residuals::Relative).expect("a fit")
}

/// Inputs, base, observed time, and whether for training.
fn write(folder: &Path, name: &str, place: usize, instance: &Instance, base: &SemiEmpirical) {
    let (specification, table): (_, &Table) = (&instance.specification, &instance.table);
    let times = specification.evaluate(table, &base.values);
    let mut text = format!(
        "{},t_comm,t_observed,train\n",
        specification.inputs.join(",")
    );
    for (i, time) in times.iter().enumerate() {
        let point: Vec<String> = table.point(i).iter().map(f64::to_string).collect();
        let (observed, is_train) = (table.observed[i], u8::from(table.is_train[i]));
        let _ = writeln!(text, "{},{time:?},{observed:?},{is_train}", point.join(","));
    }
    fs::write(folder.join(format!("{name}-{place}.csv")), text).expect("a file");
}
