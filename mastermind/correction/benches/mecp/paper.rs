//! The paper's trial table (its Figures 6, 7 and 12) on the example data: made for EVH1 and GYRO, measured for a transpose
//! and a halo exchange.

use mastermind_correction::{Case, Plan, Settings, Specification, Table, procedure};

/// Name of the data, specification, table.
const EXAMPLES: [(&str, &str, &str); 4] = [
    (
        "EVH1, made",
        include_str!("../../../../examples/semi-empirical/evh1.toml"),
        include_str!("../../../../examples/semi-empirical/evh1.csv"),
    ),
    (
        "GYRO, made",
        include_str!("../../../../examples/semi-empirical/gyro.toml"),
        include_str!("../../../../examples/semi-empirical/gyro.csv"),
    ),
    (
        "transpose, measured",
        include_str!("../../../../examples/semi-empirical/transpose.toml"),
        include_str!("../../../../examples/semi-empirical/transpose.csv"),
    ),
    (
        "halo, measured",
        include_str!("../../../../examples/semi-empirical/halo.toml"),
        include_str!("../../../../examples/semi-empirical/halo.csv"),
    ),
];

/// Prints a row for each data set and case.
pub fn table(cases: &[Case], n_trials: u64, settings: Settings) {
    println!(
        "\ndata                case | error of the base % (squared) (relative) (interpolated) | trials | accepted | better % | worse by 5 % % | reduction %: median, best"
    );
    for (name, specification, data) in EXAMPLES {
        let specification = Specification::from_toml(specification).expect("a specification");
        let table = Table::from_csv(data.as_bytes(), &specification).expect("a table");
        let plan = Plan {
            cases: cases.to_vec(),
            n_trials: n_trials as usize,
            settings,
            ..Plan::default()
        };
        let report = procedure(&specification, &table, &plan, &|_| ()).expect("a report");
        let percent = |share: Option<f64>| share.map_or(f64::NAN, |share| 100.0 * share);
        let relative = report.relative.as_ref();
        let errors = [
            percent(report.squared.1.rrmse_test),
            percent(relative.and_then(|(_, errors)| errors.rrmse_test)),
            percent(report.control),
        ];
        for summary in &report.summary {
            let chosen = summary.chosen.expect("test points");
            println!(
                "{name:19} {:4} | {:29.1} {:10.1} {:14.1} | {:6} | {:8} | {:8.1} | {:14.1} | {:19.1} {:5.1}",
                summary.case.number(),
                errors[0],
                errors[1],
                errors[2],
                summary.trials,
                summary.accepted,
                chosen.better_percent,
                chosen.worse_percent,
                chosen.median_reduction_percent,
                chosen.best_reduction_percent
            );
        }
    }
}
