//! `simulate --study`: a model simulated for several numbers of ranks, values of its variables and properties of the machine.
//!
//! ```toml
//! ranks = [16, 64, 256]
//! analytic = "steps * (work + 2 * (o + L))"   # seconds; knows the model's globals and functions, and L, o, g, G of the machine
//!
//! [set]                                       # variables of the model
//! steps = [10, 100]
//!
//! [machine]                                   # keys of the machine file
//! "network.latency_ns" = [2500, 25000]
//! ```
//!
//! Each combination is a row: its time, and the means over the processes of computation, of the processor time of messages, and of
//! waiting for others.
//!
//! # Source
//! V. Adve et al., "POEMS", IEEE TSE 2000, sections 5.2 to 5.4: sweeps over processors, blocking and latency, and the
//! parts of the time, compared with an analytic model.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use mastermind_models::ModelSet;
use mastermind_programs::expression::{Expression, parse};
use mastermind_programs::{Activity, Element, ElementKind, Model, System, Variable, lower_with};
use mastermind_simulation::engine::{Outcome, simulate};
use mastermind_simulation::machine::{Machine, read_machine};
use serde::{Deserialize, Serialize};

use super::{Simulate, set};
use crate::figures::study::{StudyFigure, StudyPoint, StudySeries};
use crate::session::model;
use crate::{figures, output};

/// Most combinations of a study.
const MAX_ROWS: usize = 10_000;

/// A study as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Study {
    #[serde(default)]
    ranks: Vec<u32>,
    analytic: Option<String>,
    #[serde(default)]
    set: BTreeMap<String, Vec<toml::Value>>,
    #[serde(default)]
    machine: BTreeMap<String, Vec<toml::Value>>,
}

/// The dimension that a study varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Varied {
    Ranks,
    Variable,
    Machine,
}

/// A varied setting, and its values.
struct Axis {
    varied: Varied,
    name: String,
    values: Vec<toml::Value>,
}

/// One combination.
#[derive(Debug, Serialize)]
struct Row {
    /// Values of the varied settings, in the order of the study.
    settings: BTreeMap<String, String>,
    ranks: u32,
    time_s: f64,
    computation_s: f64,
    communication_s: f64,
    synchronisation_s: f64,
    messages: u64,
    analytic_s: Option<f64>,
    /// Simulated by analytic.
    ratio: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Report {
    model: String,
    rows: Vec<Row>,
}

impl Study {
    /// # Errors
    /// It cannot be read, or is no study.
    fn read(path: &Path) -> anyhow::Result<Self> {
        let act = || format!("cannot read study \"{}\"", path.display());
        let text = fs::read_to_string(path).with_context(act)?;
        let study: Self = toml::from_str(&text).with_context(act)?;
        let n = study
            .axes()
            .iter()
            .try_fold(1_usize, |n, axis| n.checked_mul(axis.values.len()));
        match n {
            Some(1..=MAX_ROWS) => Ok(study),
            Some(0) => bail!("{}: a list without values, expected at least 1", act()),
            _ => bail!(
                "{}: more than {MAX_ROWS} combinations, expected at most so many",
                act()
            ),
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = Vec::new();
        if !self.ranks.is_empty() {
            axes.push(Axis {
                varied: Varied::Ranks,
                name: "ranks".into(),
                values: self.ranks.iter().map(|n| i64::from(*n).into()).collect(),
            });
        }
        for (varied, all) in [
            (Varied::Variable, &self.set),
            (Varied::Machine, &self.machine),
        ] {
            axes.extend(all.iter().map(|(name, values)| Axis {
                varied,
                name: name.clone(),
                values: values.clone(),
            }));
        }
        axes
    }
}

impl Simulate {
    /// Simulates every combination of a study.
    ///
    /// # Errors
    /// The study, the model or the machine cannot be read; a combination cannot be simulated.
    pub(super) fn study(&self, path: &Path) -> anyhow::Result<ExitCode> {
        let study = Study::read(path)?;
        let axes = study.axes();
        let mut model = model::read(&self.model, self.main.as_deref())?;
        for (name, value) in &self.set {
            set(&mut model, name, value)?;
        }
        let models = self.fitted()?;
        let machine: toml::Table = self.machine_text()?.parse()?;
        let mut rows = Vec::new();
        let mut chosen = vec![0; axes.len()];
        loop {
            let values: Vec<(&Axis, &toml::Value)> = axes
                .iter()
                .zip(&chosen)
                .map(|(axis, i)| (axis, &axis.values[*i]))
                .collect();
            let shown = settings(&values);
            let row = self.row(&study, &values, (&model, &models), machine.clone());
            rows.push(row.with_context(|| format!("cannot simulate {}", sentence(&shown)))?);
            // The last axis first, as a table is read.
            let Some(next) = (0..axes.len())
                .rev()
                .find(|i| chosen[*i] + 1 < axes[*i].values.len())
            else {
                break;
            };
            chosen[next] += 1;
            chosen[next + 1..].fill(0);
        }
        let report = Report {
            model: model.name,
            rows,
        };
        if let Some(path) = &self.csv {
            self.force.write("table", path, csv(&axes, &report))?;
        }
        if let Some(path) = &self.plot {
            figures::save(
                &figure(&axes, &report)?,
                path,
                figures::Sheet::default(),
                self.force,
            )?;
        }
        if self.json {
            output::json(&report)?;
        } else {
            print(&axes, &report);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn row(
        &self,
        study: &Study,
        values: &[(&Axis, &toml::Value)],
        (model, models): (&Model, &ModelSet),
        mut machine: toml::Table,
    ) -> anyhow::Result<Row> {
        let mut model = model.clone();
        let mut ranks = self.ranks;
        for (axis, value) in values {
            match axis.varied {
                Varied::Ranks => ranks = value.as_integer().and_then(|n| u32::try_from(n).ok()),
                Varied::Variable => set(&mut model, &axis.name, &plain(value))?,
                Varied::Machine => put(&mut machine, &axis.name, (*value).clone())?,
            }
        }
        let machine = read_machine(&machine.to_string())?;
        let processes = match ranks {
            Some(0) => bail!("0 ranks, expected at least 1"),
            Some(ranks) => ranks,
            None => self.processes(&model, &machine)?,
        };
        let outcome = run(&model, models, processes, &machine)?;
        let analytic_s = match &study.analytic {
            Some(text) => {
                let analytic = analytic(&model, text, &machine)?;
                Some(seconds(
                    run(&analytic, models, processes, &machine)?.makespan_ns,
                ))
            }
            None => None,
        };
        let mean = |of: fn(&mastermind_simulation::engine::ProcessResult) -> u64| {
            let sum: u64 = outcome.processes.iter().map(of).sum();
            seconds(sum) / f64::from(processes)
        };
        let time_s = seconds(outcome.makespan_ns);
        Ok(Row {
            settings: settings(values),
            ranks: processes,
            time_s,
            computation_s: mean(|one| one.work_ns),
            communication_s: mean(|one| one.overhead_ns),
            synchronisation_s: mean(|one| one.wait_ns()),
            messages: outcome.messages,
            analytic_s,
            ratio: analytic_s.map(|analytic_s| time_s / analytic_s),
        })
    }
}

fn run(
    model: &Model,
    models: &ModelSet,
    processes: u32,
    machine: &Machine,
) -> anyhow::Result<Outcome> {
    let system = System {
        processes,
        nodes: machine.nodes_for(processes),
        processors: machine.processors,
    };
    let program = lower_with(model, models, system, machine.collectives, 0)?;
    Ok(simulate(&program, machine)?)
}

/// The analytic model as a program of one action, so that it is evaluated like any other cost.
fn analytic(model: &Model, text: &str, machine: &Machine) -> anyhow::Result<Model> {
    let cost = parse(text).with_context(|| format!("cannot read analytic model \"{text}\""))?;
    let link = &machine.inter;
    let ns = |ns: u64| ns as f64 / 1e9;
    let parameters = [
        ("L", ns(link.latency_ns)),
        ("o", ns(link.send_overhead_ns)),
        ("g", ns(link.gap_ns)),
        ("G", link.gap_per_byte_ns / 1e9),
    ];
    let mut globals = model.globals.clone();
    globals.extend(parameters.map(|(name, value)| Variable {
        name: name.into(),
        value: Expression::Number(value),
    }));
    let flow = vec![Element {
        name: "analytic".into(),
        kind: ElementKind::Action {
            cost: Some(cost),
            code: Vec::new(),
        },
    }];
    let main = "analytic".to_owned();
    let activity = Activity {
        locals: Vec::new(),
        flow,
    };
    Ok(Model {
        name: main.clone(),
        main: main.clone(),
        ranks: None,
        globals,
        functions: model.functions.clone(),
        activities: BTreeMap::from([(main, activity)]),
    })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A value as `--set` takes it.
fn plain(value: &toml::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn settings(values: &[(&Axis, &toml::Value)]) -> BTreeMap<String, String> {
    let all = values.iter();
    all.map(|(axis, value)| (axis.name.clone(), plain(value)))
        .collect()
}

fn sentence(settings: &BTreeMap<String, String>) -> String {
    let all: Vec<_> = settings
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    all.join(", ")
}

/// Sets a value in a machine file by its path: `network.latency_ns`.
fn put(machine: &mut toml::Table, name: &str, value: toml::Value) -> anyhow::Result<()> {
    let wrong = || {
        format!(
            "cannot set \"{name}\" of the machine: no table and key, expected one as network.latency_ns"
        )
    };
    let (tables, key) = name.rsplit_once('.').with_context(wrong)?;
    let mut table = machine;
    for part in tables.split('.') {
        let inner = table
            .entry(part)
            .or_insert_with(|| toml::Table::new().into());
        table = inner.as_table_mut().with_context(wrong)?;
    }
    table.insert(key.to_owned(), value);
    Ok(())
}

/// The figure of a study: over the first axis whose values are numbers, a line for each combination of the others.
///
/// # Errors
/// There is no such axis.
fn figure(axes: &[Axis], report: &Report) -> anyhow::Result<StudyFigure> {
    let is_number = |value: &toml::Value| plain(value).parse::<f64>().is_ok();
    let over = |axis: &&Axis| axis.values.len() > 1 && axis.values.iter().all(is_number);
    let x = axes
        .iter()
        .find(over)
        .context("cannot plot study: nothing with several numbers is varied, expected something to plot over")?;
    let mut series = Vec::<StudySeries>::new();
    for row in &report.rows {
        let mut others = row.settings.clone();
        let x = others.remove(&x.name).and_then(|x| x.parse().ok());
        let point = StudyPoint {
            x: x.unwrap_or(0.0),
            time_s: row.time_s,
            analytic_s: row.analytic_s,
            parts_s: [
                row.computation_s,
                row.communication_s,
                row.synchronisation_s,
            ],
        };
        let name = sentence(&others);
        match series.iter_mut().find(|known| known.name == name) {
            Some(known) => known.points.push(point),
            None => series.push(StudySeries {
                name,
                points: vec![point],
            }),
        }
    }
    for one in &mut series {
        one.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    Ok(StudyFigure {
        title: format!("{}: simulated time", report.model),
        x_label: x.name.clone(),
        series,
    })
}

/// Heads and cells of a row: the varied settings, then the results.
fn cells(axes: &[Axis], row: &Row) -> Vec<(String, String)> {
    let mut cells: Vec<(String, String)> = Vec::new();
    if axes.iter().all(|axis| axis.varied != Varied::Ranks) {
        cells.push(("ranks".into(), row.ranks.to_string()));
    }
    for axis in axes {
        cells.push((axis.name.clone(), row.settings[&axis.name].clone()));
    }
    let times = [
        ("time_s", row.time_s),
        ("computation_s", row.computation_s),
        ("communication_s", row.communication_s),
        ("synchronisation_s", row.synchronisation_s),
    ];
    cells.extend(times.map(|(name, value)| (name.to_owned(), format!("{value:.9}"))));
    cells.push(("messages".into(), row.messages.to_string()));
    if let (Some(analytic_s), Some(ratio)) = (row.analytic_s, row.ratio) {
        cells.push(("analytic_s".into(), format!("{analytic_s:.9}")));
        cells.push(("ratio".into(), format!("{ratio:.4}")));
    }
    cells
}

fn csv(axes: &[Axis], report: &Report) -> String {
    let mut text = String::new();
    // A name or an expression may have a comma in it.
    let quoted = |cell: &str| match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    for (i, row) in report.rows.iter().enumerate() {
        let cells = cells(axes, row);
        if i == 0 {
            let head: Vec<_> = cells.iter().map(|(name, _)| quoted(name)).collect();
            let _ = writeln!(text, "{}", head.join(","));
        }
        let line: Vec<_> = cells.iter().map(|(_, cell)| quoted(cell)).collect();
        let _ = writeln!(text, "{}", line.join(","));
    }
    text
}

fn print(axes: &[Axis], report: &Report) {
    let Some(first) = report.rows.first() else {
        return;
    };
    let head: Vec<String> = cells(axes, first)
        .into_iter()
        .map(|(name, _)| name.to_uppercase())
        .collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let right: Vec<usize> = (0..head.len()).collect();
    let rows = report.rows.iter().map(|row| {
        let cells = cells(axes, row).into_iter();
        cells.map(|(_, cell)| cell).collect()
    });
    output::line(output::table(&head, &right, rows));
    output::line(format!(
        "{}: {} runs; means over the processes of computation, of messages' processor time and of waiting",
        report.model,
        report.rows.len()
    ));
}
