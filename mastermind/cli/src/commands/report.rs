//! `mastermind report`: a run on one page, to be mailed to a colleague.
//!
//! The page is one file without requests to other servers (`report/page.rs`). Its sections, each with the command that
//! shows the same:
//!
//! ```text
//! the run              which program ran where, and missing data
//! where the time went  components and methods, compute and MPI separately
//! ranks                time of each, and imbalance of each component
//! wiring               callers, callees and numbers of calls
//! models               times over sizes with model and interval, formulas
//! measure next         the sizes whose measurement adds most information for its cost
//! swap                 predicted times of other classes, if an assembly with alternatives is given
//! ```

mod mpi;
mod page;

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use mastermind_component::{Calls, workload};
use mastermind_composition::{ChooseOptions, Row, choose_with};
use mastermind_models::{
    FitOptions, Metric, Model, ModelSet, Samples, SuggestOptions, fit_with, suggest,
};
use mastermind_records::{Profile, Run, RunInfo};

use self::page::{Cell, Page};
use crate::commands::predict::read_models;
use crate::commands::{graph, info, plot};
use crate::destination::Force;
use crate::figures;
use crate::session::read_assembly;
use crate::session::team::Team;
use crate::{measurements, output, run_facts, run_notes};
use mastermind_component::names::Names;

/// Maximum number of calls in a picture of a method: the page is to be mailed.
const MAX_POINTS: usize = 600;

/// Maximum number of methods with a picture, those with the most time.
const MAX_PICTURES: usize = 12;

/// Number of calls from which a picture of a method's calls shows more than the table.
const MIN_DRAWN: usize = 10;

/// Number of points that are suggested for each model.
const N_SUGGESTED: usize = 2;

/// Write a run as one page in HTML: where the time went, models, what to try next.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind report records -o report.html\n         \
                        mastermind report records -o report.html --assembly shock.toml --models models.json"
)]
pub struct Report {
    /// The record directory
    records: PathBuf,
    /// Where the page goes
    #[arg(short, long, value_name = "F.html")]
    output: PathBuf,
    #[command(flatten)]
    force: Force,
    /// Models, as fit writes them [default: fitted to the records]
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    /// The assembly file with its [alternatives], to say what to swap; with models of the other classes
    #[arg(long, value_name = "ASSEMBLY", requires = "models")]
    assembly: Option<PathBuf>,
}

impl Report {
    /// Writes the page.
    ///
    /// # Errors
    /// There are no records; a file cannot be read; the page is there already, or cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let team = Team::of_launch("report")?;
        team.together(self.force.check([Some(&*self.output)], false))?;
        let own = team.together(run_facts::open(&self.records, &team))?;
        let samples = match self.models {
            Some(_) => None,
            None => measurements::of_run(&own, &team)?,
        };
        let (is_first, is_all) = (team.is_first(), team.size() == 1);
        drop(team);
        if !is_first {
            return Ok(ExitCode::SUCCESS);
        }
        let run = match is_all {
            true => own,
            false => super::profile::open_again(&self.records)?,
        };
        let html = self.page(&run, samples.unwrap_or_default())?;
        self.force.write("report", &self.output, &html)?;
        super::profile::warn_of_missing_records(&run, "they are in the sums of the report");
        output::line(format!(
            "{}: {:.1} MB",
            self.output.display(),
            html.len() as f64 * 1e-6
        ));
        Ok(ExitCode::SUCCESS)
    }

    /// # Arguments
    /// * `samples` - of all methods, unless models are given
    fn page(&self, run: &Run, samples: Vec<Samples>) -> anyhow::Result<String> {
        let run_info = RunInfo::of(run);
        let mut page = Page::new(&run_info.assembly, &info::summary(&run_info));
        note_missing_calls(&mut page, run);
        // Each part takes most of the time for large runs, or for many methods.
        let (models, drawn) = std::thread::scope(|scope| {
            let models = scope.spawn(|| self.fitted(samples));
            let drawn = drawable(run).into_iter().take(MAX_PICTURES).collect();
            let drawn = Calls::of_methods(run, drawn);
            (
                models.join().unwrap_or_else(|panic| resume_unwind(panic)),
                drawn,
            )
        });
        let models = models?;
        let shares = Shares::of(run);
        shares.components(&mut page, &self.command("profile", ""));
        methods(&mut page, run);
        shares.ranks(&mut page, &self.command("profile", " --per-rank"));
        mpi::section(&mut page, run, &self.records, |verb, options| {
            self.command(verb, options)
        })?;
        self.wiring(&mut page, run)?;
        self.models(&mut page, &drawn, &models)?;
        self.next(&mut page, &models);
        self.swap(&mut page, run, &models, &shares)?;
        page.section("run", "The run", &self.command("info", ""));
        let rows = info::rows(&run_info, &[]).into_iter();
        page.table(
            &["what", "found"],
            rows.map(|(what, found)| vec![Cell::Text(what.into()), Cell::Text(found)]),
        );
        Ok(page.finish())
    }

    /// A command on the records, as a user would type it.
    fn command(&self, verb: &str, options: &str) -> String {
        format!("mastermind {verb} {}{options}", shell_word(&self.records))
    }

    fn wiring(&self, page: &mut Page, run: &Run) -> anyhow::Result<()> {
        let Some(calls) = graph::calls_of_run(run) else {
            return Ok(());
        };
        let wiring = graph::of_run(run)?;
        page.section(
            "calls",
            "Who calls whom",
            &self.command("plot", " --kind graph"),
        );
        let caption = "own time of each component and calls along each edge, means over the ranks";
        page.figure(
            &calls,
            caption,
            &self.command("plot", " --kind graph -o calls.svg"),
        );
        if let Some(svg) = wiring {
            page.details("The assembly as it was connected", |page| {
                let command = match &self.assembly {
                    Some(path) => format!(
                        "mastermind graph {} --records {} -o wiring.svg",
                        shell_word(path),
                        shell_word(&self.records)
                    ),
                    None => self.command("graph ASSEMBLY --records", " -o wiring.svg"),
                };
                page.figure(&svg, "ports, calls and own times", &command);
            });
        }
        Ok(())
    }

    fn fitted(&self, samples: Vec<Samples>) -> anyhow::Result<ModelSet> {
        if let Some(path) = &self.models {
            return read_models(path, false);
        }
        let mut models = Vec::new();
        for samples in samples {
            // A method without a credible model is left out; `fit` says why.
            models.extend(fit_with(&samples, &FitOptions::default()).unwrap_or_default());
        }
        Ok(ModelSet { models })
    }

    fn models(
        &self,
        page: &mut Page,
        drawn: &[Calls<'_>],
        models: &ModelSet,
    ) -> anyhow::Result<()> {
        page.section(
            "models",
            "Times over sizes",
            &self.command("fit", " -o models.json"),
        );
        page.paragraph(
            "The wall time of one call, without that of the measured calls made from it, as a formula of the call's parameters. \
             Weight: the share of the evidence that the shown formula has among all that were tried; a prediction is the median \
             over the credible ones. The band holds 95 % of single calls.",
        );
        let row = |model: &Model| {
            let number = |value: Option<f64>, digits: usize| match value {
                Some(value) => Cell::Number(format!("{value:.digits$}"), value),
                None => Cell::Text(String::new()),
            };
            let range = model.range.iter();
            let range: Vec<_> = range
                .map(|(name, [low, high])| format!("{name} {low} to {high}"))
                .collect();
            let mode = model
                .mode
                .iter()
                .map(|(name, label)| format!("{name}={label}"));
            let notes: Vec<_> = model.notes.iter().map(ToString::to_string).collect();
            vec![
                Cell::Text(model.method.clone()),
                Cell::Text(mode.collect::<Vec<_>>().join(" ")),
                Cell::Noted(model.metric.with_unit(&model.expression), notes.join("; ")),
                number(model.r2, 3),
                number(Some(100.0 * model.weight()), 0),
                Cell::Number(model.n_records.to_string(), model.n_records as f64),
                Cell::Text(range.join(", ")),
            ]
        };
        let header = ["method", "mode", "time", "R2", "weight %", "calls", "range"];
        // Models that depend on a size come first.
        let mut shown: Vec<&Model> = models.models.iter().collect();
        shown.sort_by_key(|model| model.params.is_empty());
        page.table(&header, shown.into_iter().map(row));
        for calls in drawn.iter().filter(|calls| calls.n >= MIN_DRAWN) {
            let name = &calls.name;
            let scatter = plot::scatter(calls, None, Some(models))
                .or_else(|_| plot::scatter(calls, None, None));
            let Ok(mut scatter) = scatter else {
                continue;
            };
            scatter.max_points = MAX_POINTS;
            let picture = figures::svg(&scatter)?;
            let (models, caption) = match scatter.curves.is_empty() {
                true => ("", "time of each call by rank and mode"),
                false => (
                    " --models models.json",
                    "time of each call by rank and mode, and what the model says",
                ),
            };
            let options = format!(" --kind scatter --method {name}{models} -o {name}.svg");
            page.heading(name);
            page.figure(&picture, caption, &self.command("plot", &options));
        }
        Ok(())
    }

    fn next(&self, page: &mut Page, models: &ModelSet) {
        page.section(
            "next",
            "What to measure next",
            "mastermind suggest models.json --method NAME",
        );
        page.paragraph("The sizes whose measurement would make predictions surest for what it costs, for each model that is unsure.");
        let options = SuggestOptions {
            n: N_SUGGESTED,
            ..SuggestOptions::default()
        };
        let mut rows = Vec::new();
        for model in models.models.iter().filter(|model| model.metric.is_time()) {
            for found in suggest(model, &options).unwrap_or_default() {
                rows.push(vec![
                    Cell::Text(model.method.clone()),
                    Cell::Text(found.coordinate.to_string()),
                    Cell::Number(format!("{:.3e}", found.time_s), found.time_s),
                    Cell::Number(format!("{:.1}", 100.0 * found.unsure), found.unsure),
                    Cell::Number(format!("{:.0}", 100.0 * found.gain), found.gain),
                    Cell::Text(
                        if found.extrapolated {
                            "beyond the measured range"
                        } else {
                            ""
                        }
                        .into(),
                    ),
                ]);
            }
        }
        match rows.is_empty() {
            true => page.paragraph(
                "No model has a size at which it is unsure: none has a parameter that varies.",
            ),
            false => page.table(&["method", "at", "time s", "unsure %", "gain %", ""], rows),
        }
    }

    fn swap(
        &self,
        page: &mut Page,
        run: &Run,
        models: &ModelSet,
        shares: &Shares,
    ) -> anyhow::Result<()> {
        let name = self
            .assembly
            .as_deref()
            .map_or_else(|| "ASSEMBLY".into(), shell_word);
        let options = format!(
            "mastermind choose {name} --models models.json --records {}",
            shell_word(&self.records)
        );
        page.section("swap", "What to swap", &options);
        let Some(path) = &self.assembly else {
            page.paragraph(&where_to_swap(shares));
            return Ok(());
        };
        let (assembly, _) = read_assembly(path, &[], &[], false)?;
        let mut calls = workload(run, Metric::Wall);
        calls
            .calls
            .retain(|call| assembly.instances.contains_key(&call.instance));
        let options = ChooseOptions {
            attributes: assembly.attributes.clone(),
            ..ChooseOptions::default()
        };
        let choice = choose_with(
            &calls,
            &assembly.alternatives,
            &assembly.instances,
            models,
            &options,
        )?;
        page.paragraph(&format!(
            "The best of {} assemblies takes {:.4} s for the recorded calls, as predicted; the one that ran {:.4} s.",
            choice.assemblies, choice.predicted_s, choice.current_s
        ));
        if let Some(line) = choice.held_up_line() {
            page.paragraph(&format!("{line}."));
        }
        let rows = choice.instances.iter();
        let rows = rows.filter(|row| !row.measured_only).map(choice_row);
        page.table(
            &["instance", "class", "predicted s", "measured s", ""],
            rows,
        );
        Ok(())
    }
}

/// What to compare, for a report without an assembly: the components with the most time.
fn where_to_swap(shares: &Shares) -> String {
    let most: Vec<_> = shares
        .by_time()
        .into_iter()
        .take(3)
        .map(|(name, _)| name.clone())
        .collect();
    format!(
        "Most is to be won where most time goes: {}. Records of runs with other classes there (run --replace INSTANCE=CLASS), \
         fitted together with these, and an assembly with [alternatives] tell which to take; with --assembly and --models they \
         are compared here.",
        most.join(", ")
    )
}

/// A class of an instance, with its predicted and its measured time.
fn choice_row(row: &Row) -> Vec<Cell> {
    let marks = [
        (row.chosen, "take this"),
        (row.current, "ran"),
        (row.extrapolated, "extrapolated"),
    ];
    let marks: Vec<_> = marks
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, mark)| *mark)
        .collect();
    let measured = row.measured_s.map_or(Cell::Text(String::new()), |s| {
        Cell::Number(format!("{s:.4}"), s)
    });
    vec![
        Cell::Text(row.instance.clone()),
        Cell::Text(row.class.clone()),
        Cell::Number(format!("{:.4}", row.predicted_s), row.predicted_s),
        measured,
        Cell::Text(marks.join(", ")),
    ]
}

/// Own time of a component on a rank, milliseconds.
#[derive(Clone, Copy, Default)]
struct Own {
    compute_ms: f64,
    mpi_ms: f64,
    calls: f64,
}

impl Own {
    fn total_ms(&self) -> f64 {
        self.compute_ms + self.mpi_ms
    }
}

/// Own times by component and rank.
struct Shares {
    ranks: Vec<u32>,
    /// Instance → classes, and own time by rank.
    components: BTreeMap<String, (Vec<String>, BTreeMap<u32, Own>)>,
}

impl Shares {
    fn of(run: &Run) -> Self {
        let mut components = BTreeMap::<String, (Vec<String>, BTreeMap<u32, Own>)>::new();
        for log in run.logs() {
            let (definitions, rank) = (log.definitions(), log.identity().rank);
            for path in log
                .path_times(false)
                .into_iter()
                .filter(|path| path.calls > 0)
            {
                let method = definitions.method_of(path.call_path);
                // Time in MPI belongs to the caller, also if the calls were recorded one by one.
                let Some(method) = method.filter(|method| !method.is_mpi()) else {
                    continue;
                };
                let (classes, ranks) = components.entry(method.instance.clone()).or_default();
                if !classes.contains(&method.class) {
                    classes.push(method.class.clone());
                }
                let own = ranks.entry(rank).or_default();
                own.compute_ms += path.own.wall_ns.saturating_sub(path.own.mpi_ns) as f64 * 1e-6;
                own.mpi_ms += path.own.mpi_ns as f64 * 1e-6;
                own.calls += path.calls as f64;
            }
        }
        Shares {
            ranks: run.ranks(),
            components,
        }
    }

    /// Mean over the ranks.
    fn mean(&self, ranks: &BTreeMap<u32, Own>) -> Own {
        let n = self.ranks.len().max(1) as f64;
        ranks.values().fold(Own::default(), |sum, own| Own {
            compute_ms: sum.compute_ms + own.compute_ms / n,
            mpi_ms: sum.mpi_ms + own.mpi_ms / n,
            calls: sum.calls + own.calls / n,
        })
    }

    /// Components with their mean own time, the longest first.
    fn by_time(&self) -> Vec<(&String, Own)> {
        let components = self.components.iter();
        let mut means: Vec<_> = components
            .map(|(name, (_, ranks))| (name, self.mean(ranks)))
            .collect();
        means.sort_by(|a, b| b.1.total_ms().total_cmp(&a.1.total_ms()));
        means
    }

    fn components(&self, page: &mut Page, command: &str) {
        page.section("time", "Where the time went", command);
        page.paragraph(&format!(
            "Own time of each component, without that of the measured calls made from it; {}. Imbalance: how much longer the slowest \
             rank takes than the mean.",
            match self.ranks.len() {
                1 => "one rank".to_owned(),
                n => format!("means over {n} ranks"),
            }
        ));
        page.key();
        let all: f64 = self.by_time().iter().map(|(_, own)| own.total_ms()).sum();
        let rows = self.by_time().into_iter().map(|(name, own)| {
            let (classes, ranks) = &self.components[name];
            let longest = ranks.values().map(Own::total_ms).fold(0.0, f64::max);
            let imbalance = match own.total_ms() {
                mean if mean > 0.0 => 100.0 * (longest / mean - 1.0),
                _ => 0.0,
            };
            let share = own.total_ms() / all.max(f64::MIN_POSITIVE);
            let ms = |value: f64| Cell::Number(format!("{value:.3}"), value);
            vec![
                Cell::Text(name.clone()),
                Cell::Text(classes.join(", ")),
                Cell::Bar([
                    own.compute_ms / all.max(f64::MIN_POSITIVE),
                    own.mpi_ms / all.max(f64::MIN_POSITIVE),
                ]),
                Cell::Number(format!("{:.1}", 100.0 * share), share),
                ms(own.compute_ms),
                ms(own.mpi_ms),
                Cell::Number(format!("{:.0}", own.calls), own.calls),
                Cell::Number(format!("{imbalance:.0}"), imbalance),
            ]
        });
        let header = [
            "component",
            "class",
            "",
            "% time",
            "compute ms",
            "MPI ms",
            "calls",
            "imbalance %",
        ];
        page.table(&header, rows);
    }

    fn ranks(&self, page: &mut Page, command: &str) {
        page.section("ranks", "Ranks", command);
        let of_rank = |rank: &u32| {
            let owns = self
                .components
                .values()
                .filter_map(|(_, ranks)| ranks.get(rank));
            owns.fold(Own::default(), |sum, own| Own {
                compute_ms: sum.compute_ms + own.compute_ms,
                mpi_ms: sum.mpi_ms + own.mpi_ms,
                calls: sum.calls + own.calls,
            })
        };
        let owns: Vec<_> = self
            .ranks
            .iter()
            .map(|rank| (rank, of_rank(rank)))
            .collect();
        let longest = owns
            .iter()
            .map(|(_, own)| own.total_ms())
            .fold(f64::MIN_POSITIVE, f64::max);
        let rows = owns.iter().map(|(rank, own)| {
            vec![
                Cell::Number(rank.to_string(), f64::from(**rank)),
                Cell::Bar([own.compute_ms / longest, own.mpi_ms / longest]),
                Cell::Number(format!("{:.3}", own.compute_ms), own.compute_ms),
                Cell::Number(format!("{:.3}", own.mpi_ms), own.mpi_ms),
                Cell::Number(format!("{:.0}", own.calls), own.calls),
            ]
        });
        page.table(&["rank", "", "compute ms", "MPI ms", "calls"], rows);
    }
}

/// Notes the calls that are missing on the page itself, since the page is passed on without the command's warnings.
fn note_missing_calls(page: &mut Page, run: &Run) {
    let all = run.coverage().all;
    if all.without_record > 0 {
        page.paragraph(&format!(
            "{} of {} calls have no record: times and numbers of calls are sums over all of them; models, pictures, bytes, call sites \
             and who sent to whom are of the others.",
            all.without_record, all.calls
        ));
    }
    if let Some(text) = run_notes::waiting_text(run_notes::waiting(run)) {
        page.paragraph(&format!("{text}."));
    }
}

/// Table 1 of the paper.
fn methods(page: &mut Page, run: &Run) {
    page.heading("Methods, and functions of MPI");
    let profile = Profile::new(run, false);
    let ms = |ns: f64| Cell::Number(format!("{:.3}", ns * 1e-6), ns);
    let rows = profile.rows.iter().map(|row| {
        let each = row.inclusive_ns * 1e-3 / row.calls.max(1.0);
        vec![
            Cell::Text(row.name.clone()),
            Cell::Text(row.class.clone()),
            Cell::Number(format!("{:.1}", row.percent), row.percent),
            ms(row.exclusive_ns),
            ms(row.inclusive_ns),
            row.mpi_ns.map_or(Cell::Text(String::new()), ms),
            Cell::Number(format!("{:.0}", row.calls), row.calls),
            Cell::Number(format!("{each:.2}"), each),
        ]
    });
    let header = [
        "name",
        "class",
        "% time",
        "exclusive ms",
        "inclusive ms",
        "MPI ms",
        "calls",
        "inclusive us/call",
    ];
    page.table(&header, rows);
}

/// Methods with parameters, by their whole names, those with the most own time first.
fn drawable(run: &Run) -> Vec<String> {
    let mut times = BTreeMap::<String, u64>::new();
    for log in run.logs() {
        for path in log.path_times(false) {
            let Some(method) = log.definitions().method_of(path.call_path) else {
                continue;
            };
            if !method.parameters.is_empty() {
                let name = Names::of_run(method).shown().to_owned();
                *times.entry(name).or_default() += path.own.wall_ns;
            }
        }
    }
    // A call that completes with another one has no time of its own.
    let mut names: Vec<_> = times.into_iter().filter(|(_, ns)| *ns > 0).collect();
    names.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    names.into_iter().map(|(name, _)| name).collect()
}

/// A path as a word of a shell's line.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
