//! `mastermind choose`: the best assembly among the alternatives.
//!
//! An assembly file may list alternatives for its instances, and models predict the time of each
//! class at each recorded call. `choose` sums these predictions for every combination of classes
//! and prints the cheapest, with the interval of its time, whether it can be distinguished from the
//! second best, and which further run would help most. The optimiser, the statistics and the
//! scaling to other sizes are in the crate `mastermind-composition`; this file reads the inputs,
//! passes the options on, and words the result.
//!
//! ```text
//! $ mastermind choose shock/shock.toml --models models.json --records godunov -o best.toml
//! INSTANCE  CLASS              CALLS  PREDICTED s  95 % INTERVAL s   MEASURED s
//! flux      hydro.GodunovFlux    960       0.0080  0.0074 to 0.0085  ..
//! flux      hydro.EfmFlux        960       0.0114  0.0097 to 0.0130
//! 6 assemblies; best ..
//! ```
//!
//! A class without a model cannot be predicted: it is left out with a warning, or an error with
//! `--strict`. `--dispatch` (`choose/dispatch.rs`) chooses for each call instead of each instance.

mod dispatch;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use cca_core::Assembly;
use clap::Args;
use mastermind_component::{Basis, WorkloadRequest, add_to_call_graph};
use mastermind_composition::optimise::cfn;
use mastermind_composition::{
    CallGraph, CallsFollow, Choice, ChooseOptions, Doubt, Interaction, LEAST_FREEDOM, Nearby,
    OnRanks, Pruning, RankEffect, Ranked, Requirement, Row, ScaledWorkload, Seconds, UnseenPair,
    choose_with, problem_of,
};
use mastermind_records::Run;
use serde::Serialize;

use self::dispatch::{Dispatched, Sites};
use crate::commands::predict::read_models;
use crate::commands::profile::warn_of_missing_records;
use crate::commands::run::percent;
use crate::destination::Force;
use crate::session::{read_assembly, setting_or_name};
use crate::shipped::{ShippedModels, add_shipped, note_shipped};
use crate::{output, run_notes};

/// Decimals of the seconds in an exported problem: nanoseconds.
const EXPORTED_DECIMALS: usize = 9;

/// Relative distance of a number of calls from a power of the settings up to which there is no warning.
const TOLERATED_MISFIT: f64 = 0.1;

/// Relative change of an instance's time with the number of ranks from which it is reported, and its part of the total.
const MIN_EFFECT: f64 = 0.02;

/// Choose the best assembly for a recorded workload.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind choose shock/shock.toml --models models.json --records records"
)]
pub struct Choose {
    /// The assembly file, with its [alternatives]
    assembly: PathBuf,
    /// Models, as fit writes them; for methods without one, those in LIB.models.json next to a library LIB.so
    #[arg(long, value_name = "FILE")]
    models: PathBuf,
    /// The records of the workload
    #[arg(long, value_name = "DIR")]
    records: PathBuf,
    /// Choose for a workload that was not run: the runs of --runs, scaled to this value of a parameter; KEY may be PORT.KEY
    #[arg(long, value_name = "INSTANCE.KEY=VALUE", value_parser = setting_or_name, requires = "runs")]
    set: Vec<(String, String)>,
    /// Choose for a workload that was not run, on this number of ranks
    #[arg(long, value_name = "N", requires = "runs")]
    ranks: Option<NonZeroU32>,
    /// Choose among assemblies that meet a condition on the [attributes] of their classes, such as "flux.order >= 2"
    #[arg(long, value_name = "EXPR", value_parser = requirement)]
    require: Vec<Requirement>,
    /// Print the best K assemblies
    #[arg(long, visible_alias = "n", value_name = "K", default_value = "1")]
    best: NonZeroUsize,
    /// Print every assembly that no other one beats in both time and the sum of this attribute
    #[arg(long, value_name = "ATTRIBUTE")]
    pareto: Option<String>,
    /// Search faster: keep the present classes of instances that together can slow the best assembly down by at most this part of
    /// the present time
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    tolerance: f64,
    /// Search faster by the two rules of TAU's optimiser: leave out everything that a method calls, if that takes less than ALPHA of
    /// its time, and callees that take less than BETA of the mean callee. ALPHA and BETA are shares such as 0.1. The output says how
    /// much slower the result may be
    #[arg(long, value_name = "ALPHA,BETA", value_parser = two_shares)]
    prune: Option<[f64; 2]>,
    /// Write the problem for solvers of weighted constraint networks here
    #[arg(long, value_name = "F.cfn")]
    export: Option<PathBuf>,
    /// A folder with the records of several runs, as plan --run makes it: how much they differ gives the interval of the predicted
    /// time
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// A folder of earlier runs of any assemblies on this machine: how much repeated runs differ there counts too, as 20 runs at
    /// most
    #[arg(long, value_name = "DIR")]
    earlier: Option<PathBuf>,
    /// Fail if an alternative has no model, instead of choosing among the others
    #[arg(long)]
    strict: bool,
    /// Write the best assembly here
    #[arg(short, long, value_name = "ASSEMBLY2")]
    output: Option<PathBuf>,
    /// Write an assembly in which each call goes to the class that is expected to be fastest for its parameters; the tables are files
    /// next to it. Calls outside the measured range go to the best single class. With --runs, measured sizes correct the models
    /// near them
    #[arg(long, requires = "output")]
    dispatch: bool,
    #[command(flatten)]
    force: Force,
    /// Predict by the shown formula of each model alone, not by the median over all credible ones
    #[arg(long)]
    shown: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The choice as JSON.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    choice: &'a Choice,
    /// Classes predicted by models that came with their libraries.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    shipped_models: &'a [ShippedModels],
    /// Instances with a dispatcher, whose calls go to several classes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    dispatched: &'a [Dispatched],
}

impl Choose {
    /// Predicts and chooses.
    ///
    /// # Errors
    /// A file cannot be read; an alternative has no model, where that is refused; no assembly meets the requirements.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let outputs = [self.output.as_deref(), self.export.as_deref()];
        self.force.check(outputs, self.json)?;
        // Before anything is computed, so that a wrong output is an error at once.
        let dispatched_to = match self.dispatch {
            true => Some(dispatch::place(self.output.as_deref())?),
            false => None,
        };
        let (assembly, _) = read_assembly(&self.assembly, &[], &[], false)?;
        let mut models = read_models(&self.models, self.shown)?;
        let shipped = add_shipped(&mut models, &assembly, self.shown)?;
        note_shipped(&shipped);
        let run = super::profile::open(&self.records)?;
        warn_of_missing_records(
            &run,
            "they are predicted at the mean size of their class, those of unknown size not at all",
        );
        let asked = WorkloadRequest {
            set: self.set.clone(),
            ranks: self.ranks.map(NonZeroU32::get),
            runs: self.runs.clone(),
            earlier: self.earlier.clone(),
        };
        let open = |directory: &Path| {
            let run = super::profile::open(directory);
            run.inspect(run_notes::warn_of_waiting)
        };
        let basis = Basis::new(&run, &assembly, &models, &asked, open)?;
        basis.scaling.iter().for_each(warn_of_scaling);
        let (calls, seconds) = (basis.workload, basis.seconds);
        let options = ChooseOptions {
            n_best: self.best.get(),
            requirements: self.require.clone(),
            pareto: self.pareto.clone(),
            strict: self.strict,
            pruning: self.pruning(&run),
            ..basis.options
        };
        let (alternatives, instances) = (&assembly.alternatives, &assembly.instances);
        let choice = choose_with(&calls, alternatives, instances, &models, &options)?;
        if let Some(path) = &self.export {
            let problem = problem_of(&calls, alternatives, instances, &models, &options)?;
            let text = cfn(&problem, &assembly.assembly.name, EXPORTED_DECIMALS);
            self.force.write("problem", path, text)?;
        }
        say_left_out(&choice);
        let mut dispatched = Vec::new();
        if let Some(path) = dispatched_to {
            if self.runs.is_none() {
                output::message(
                    "note: models alone decide where calls go; with --runs DIR measurements at nearby sizes correct them",
                );
            }
            let sites = Sites {
                assembly: &assembly,
                workload: &calls,
                models: &models,
                nearby: Nearby::of(&basis.runs, &models, seconds),
                choice: &choice,
                requirements: &self.require,
            };
            dispatched = sites.write(path, self.force)?;
        } else if let Some(path) = &self.output {
            self.write(&assembly, &choice, path)?;
        }
        if self.json {
            output::json(&Document {
                choice: &choice,
                shipped_models: &shipped,
                dispatched: &dispatched,
            })?;
        } else {
            print(&choice, seconds, self.runs.is_some());
            dispatch::print(&dispatched);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Classes and instances to leave out of the search.
    fn pruning(&self, run: &Run) -> Pruning {
        let minor = self.prune.map(|[alpha, beta]| {
            let mut graph = CallGraph::new();
            add_to_call_graph(&mut graph, run);
            graph.minor_instances(alpha, beta)
        });
        Pruning {
            tolerance: self.tolerance,
            minor: minor.unwrap_or_default(),
        }
    }

    fn write(&self, assembly: &Assembly, choice: &Choice, path: &Path) -> anyhow::Result<()> {
        let mut best = assembly.clone();
        best.instances = choice.best.clone();
        // Its path was relative to the file it was read from.
        for entry in &mut best.assembly.path {
            *entry = entry.canonicalize().unwrap_or_else(|_| entry.clone());
        }
        let text = toml::to_string(&best).context("cannot write assembly: no TOML form")?;
        self.force.write("assembly", path, text)
    }
}

fn requirement(text: &str) -> Result<Requirement, String> {
    Requirement::parse(text).map_err(|error| error.to_string())
}

/// Two shares, `0.1,0.1`.
fn two_shares(text: &str) -> Result<[f64; 2], String> {
    let share = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|x| (0.0..=1.0).contains(x))
    };
    let shares = text.split_once(',');
    let shares = shares.and_then(|(alpha, beta)| Some([share(alpha)?, share(beta)?]));
    shares.ok_or_else(|| format!("\"{text}\", expected two numbers from 0 to 1, such as 0.1,0.1"))
}

/// Prints notes on what the choice could not consider, on standard error.
fn say_left_out(choice: &Choice) {
    for lacking in &choice.without_model {
        warn(format!("not chosen from: {lacking}"));
    }
    for row in choice.instances.iter().filter(|row| row.stale) {
        warn(format!(
            "models of {} are stale: \"{}\" took a time that no fresh run of what they were fitted to takes; fit them anew, with these \
             records",
            row.class, row.instance
        ));
    }
}

/// Warns of parts of a scaled workload that are not known well.
fn warn_of_scaling(scaled: &ScaledWorkload) {
    if scaled.misfit > TOLERATED_MISFIT {
        let percent = 100.0 * scaled.misfit;
        let by = scaled.by.join(", ");
        warn(format!(
            "numbers of calls are no powers of {by}: they differ from them by up to {percent:.0} % in the runs"
        ));
    }
    if !scaled.unscaled.is_empty() {
        let methods = scaled.unscaled.join(", ");
        warn(format!(
            "taken as the nearest run has them, since not all runs show how they grow: {methods}"
        ));
    }
}

fn warn(text: String) {
    output::message(&format!("warning: {text}"));
}

/// # Arguments
/// * `knows_runs` - whether there are runs in addition to the one that the choice is for
fn print(choice: &Choice, seconds: Seconds, knows_runs: bool) {
    print_instances(choice);
    if let Some(line) = choice.held_up_line() {
        output::line(line);
    }
    if choice.interval_s.is_some() && !choice.spread_unknown.is_empty() {
        output::line(format!(
            "the spread of calls is unknown for {}, {:.4} s together: the interval is as if they took that",
            choice.spread_unknown.join(", "),
            choice.spread_unknown_s
        ));
    }
    choice.calls_follow.iter().for_each(print_calls);
    if !knows_runs && choice.ranked.len() > 1 {
        output::line(
            "the calls are those of the recorded run; whether other classes change them is known with --runs DIR only",
        );
    }
    choice.interactions.iter().for_each(print_interaction);
    print_unseen(choice);
    if let Some(on_ranks) = &choice.on_ranks {
        print_ranks(on_ranks, choice);
    }
    output::line(spread_line(choice));
    if let Some(line) = seconds_line(choice, seconds) {
        output::line(line);
    }
    let changed = choice
        .instances
        .iter()
        .filter(|row| row.chosen && !row.current);
    let changed: Vec<_> = changed
        .map(|row| format!("--replace {}={}", row.instance, row.class))
        .collect();
    print_search(choice);
    output::line(match changed.is_empty() {
        true => "choose the current assembly".into(),
        false => format!("choose {}", changed.join(" ")),
    });
}

/// Prints the classes of each instance with their times, and the times of whole assemblies.
fn print_instances(choice: &Choice) {
    let rows = choice
        .instances
        .iter()
        .filter(|row| !row.measured_only)
        .map(cells);
    let header = [
        "INSTANCE",
        "CLASS",
        "CALLS",
        "PREDICTED s",
        "95 % INTERVAL s",
        "MEASURED s",
        "",
    ];
    output::line(output::table(&header, &[2, 3, 5], rows));
    output::line(format!(
        "{} assemblies; best {:.4} s predicted{}, the current one {:.4} s",
        choice.assemblies,
        choice.predicted_s,
        interval(choice),
        choice.current_s
    ));
}

/// Prints how sure it is that the chosen assembly is the best, and which ones are next to it.
fn print_search(choice: &Choice) {
    if !choice.pruned.is_empty() {
        output::line(format!(
            "left out of the search: {}; the best assembly may be slower by {:.4} s for it",
            choice.pruned.join(", "),
            choice.pruned_s
        ));
    }
    if !choice.proved {
        let gap = 100.0 * choice.gap;
        output::line(format!(
            "not proved to be the best: another one may be {gap:.2} % faster"
        ));
    }
    if let Some(doubt) = &choice.doubt {
        output::line(doubt_line(doubt));
    }
    if choice.ranked.len() > 1 {
        output::line(ranking(&choice.ranked, "the best assemblies:"));
    }
    if !choice.pareto.is_empty() {
        output::line(ranking(
            &choice.pareto,
            "no other assembly beats these in both time and the attribute:",
        ));
    }
}

fn interval(choice: &Choice) -> String {
    let ends = choice.interval_s;
    ends.map_or_else(String::new, |[lower, upper]| {
        format!(" ({lower:.4} to {upper:.4})")
    })
}

/// Which classes decide the calls of an instance.
fn print_calls(follow: &CallsFollow) {
    let CallsFollow {
        instance,
        from,
        seen,
    } = follow;
    let from = from.join(" and ");
    let unseen = match seen {
        true => "",
        false => "; no run has these classes, so the calls are those with the nearest ones",
    };
    output::line(format!(
        "the calls of {instance} follow from the class of {from}{unseen}"
    ));
}

/// Prints how much more or less a class takes when used with another one.
fn print_interaction(interaction: &Interaction) {
    let Interaction {
        instance,
        class,
        beside,
        beside_class,
        ..
    } = interaction;
    output::line(format!(
        "{instance} as {class} takes {:+.1} % beside {beside} as {beside_class}, in {} runs",
        100.0 * interaction.ln_ratio.exp_m1(),
        interaction.runs
    ));
}

/// A line on the interval of the total, or why there is none.
fn spread_line(choice: &Choice) -> String {
    if let (Some(bounds), Some(_)) = (&choice.run_bounds, choice.interval_s) {
        let [low, high] =
            [bounds.low, bounds.high].map(|end| 100.0 * (bounds.middle + end).exp_m1());
        return format!(
            "the interval is that of one fresh run: 95 % of the runs differ from what the models say by {low:+.1} % to {high:+.1} %"
        );
    }
    match &choice.between_runs {
        Some(between) if choice.interval_s.is_some() => format!(
            "the interval is that of one fresh run: runs differ by {:.1} % ({} degrees of freedom)",
            100.0 * between.deviation,
            between.freedom
        ),
        Some(between) => format!(
            "spread between runs hardly known, {} degrees of freedom, expected {LEAST_FREEDOM}: no interval; --runs DIR with more \
             repeated runs tells it, or --earlier DIR",
            between.freedom
        ),
        None => "spread between runs unknown: no interval; runs of one assembly repeated in --runs DIR tell it, or those of \
                 other assemblies in --earlier DIR"
            .into(),
    }
}

/// Prints which classes were never recorded together, and what they may cost.
fn print_unseen(choice: &Choice) {
    if choice.unseen_pairs.is_empty() || choice.interval_s.is_none() {
        return;
    }
    let pair = |pair: &UnseenPair| {
        let [a, b] = &pair.instances;
        let [of_a, of_b] = &pair.classes;
        format!("{a} as {of_a} with {b} as {of_b}")
    };
    let pairs: Vec<_> = choice.unseen_pairs.iter().map(pair).collect();
    output::line(format!(
        "never seen side by side: {}; taken to cost nothing together, within {:.4} s either way (in the interval)",
        pairs.join(", "),
        // 95 % of a normal distribution.
        1.96 * choice.unseen_pairs_s
    ));
}

/// Prints the effect of the number of ranks on the time, in its parts.
fn print_ranks(on_ranks: &OnRanks, choice: &Choice) {
    let OnRanks {
        effects,
        computation_s,
        mpi_s,
        ..
    } = on_ranks;
    let ranks = effects.ranks;
    let between = |ends: Option<[f64; 2]>| {
        ends.map_or_else(String::new, |[low, high]| {
            format!(" ({low:.4} to {high:.4})")
        })
    };
    if let Some(mpi) = &effects.mpi {
        output::line(format!(
            "on {ranks} ranks: {computation_s:.4} s computing{} and {mpi_s:.4} s in MPI{}, the latter by {} runs with as many",
            between(on_ranks.computation_interval_s),
            between(mpi.interval_s),
            mpi.runs
        ));
    }
    if let Some(processors) = effects.processors.filter(|_| effects.is_oversubscribed()) {
        output::line(format!(
            "{ranks} ranks share {processors} processors: while one is in MPI another computes, so that time is no processor time, \
             and how long it is depends on when the system lets which of them run; the processor seconds are those of computing"
        ));
    }
    let worth_s = MIN_EFFECT * choice.predicted_s;
    for row in choice.instances.iter().filter(|row| row.chosen) {
        let instance = &row.instance;
        let effect = effects.computing.get(instance);
        let is_large_enough = |effect: &&RankEffect| {
            let is_large = (effect.ratio - 1.0).abs().max(effect.deviation) >= MIN_EFFECT;
            is_large && row.predicted_s >= worth_s
        };
        let Some(effect) = effect.filter(is_large_enough) else {
            continue;
        };
        let (ratio, runs) = (effect.ratio, effect.runs);
        // 95 % of a normal distribution.
        let within = (1.96 * effect.deviation).exp();
        output::line(match effects.is_of_size() {
            true => format!(
                "{instance} takes {ratio:.2} times what its models predict, within a factor of {within:.2}: so the times of {runs} runs of \
                 several sizes grow"
            ),
            false => format!(
                "{instance} computes {ratio:.2} times what its models predict on that number of ranks, by {runs} runs with it"
            ),
        });
    }
}

/// Which seconds are predicted, and the other seconds for comparison.
fn seconds_line(choice: &Choice, seconds: Seconds) -> Option<String> {
    let ratio = choice.measured.wall_ratio()?;
    let (processor_s, wall_s) = (choice.measured.processor_s, choice.measured.wall_s);
    Some(match seconds {
        Seconds::Processor => format!(
            "seconds are those of the processor: {processor_s:.4} s of them, numbers of calls times the median of one, took {wall_s:.4} s \
             of wall time as recorded, {ratio:.3} times as much; the best assembly would take {:.4} s in a run as disturbed as that",
            ratio * choice.predicted_s
        ),
        Seconds::Wall => format!(
            "seconds are those of the wall in the runs that the models are of; the calls recorded here took {wall_s:.4} s of them, \
             {processor_s:.4} s of the processor, which models of medians predict (fit --statistic median)"
        ),
    })
}

/// Whether the best assembly is distinguished from the next one, and which runs would do so.
fn doubt_line(doubt: &Doubt) -> String {
    let difference = doubt.comparison.difference;
    let next = format!("the next one takes {difference:.4} s more");
    if doubt.told_apart {
        return format!("{next}: distinguished");
    }
    let regret = doubt.comparison.regret;
    let risked = match (doubt.spread_known, regret.is_finite()) {
        (false, _) => "no runs show how much they differ".into(),
        (true, true) => format!("choosing this one risks {regret:.4} s on average"),
        (true, false) => "too few runs show how much they differ".into(),
    };
    let run = doubt.run.as_ref().map(|(instance, [a, b])| match a == b {
        true => format!("; more runs with {instance} as {a} would help most"),
        false => format!("; more runs with {instance} as {a} and as {b} would help most"),
    });
    format!(
        "{next}, which is not distinguished: {risked}{}",
        run.unwrap_or_default()
    )
}

fn ranking(ranked: &[Ranked], title: &str) -> String {
    let row = |ranked: &Ranked| {
        let assembly = ranked
            .assembly
            .iter()
            .map(|(i, class)| format!("{i}={class}"));
        let assembly: Vec<_> = assembly.collect();
        let attribute = ranked
            .attribute
            .map_or_else(String::new, |a| format!("{a}"));
        vec![
            format!("{:.4}", ranked.predicted_s),
            attribute,
            assembly.join(" "),
        ]
    };
    let header = ["PREDICTED s", "ATTRIBUTE", "ASSEMBLY"];
    let table = output::table(&header, &[0, 1], ranked.iter().map(row));
    format!("{title}\n{}", table.trim_end())
}

fn cells(row: &Row) -> Vec<String> {
    let [lower, upper] = row.interval_s;
    let mut marks = Vec::new();
    for (marked, mark) in [
        (row.chosen, "chosen"),
        (row.current, "current"),
        (row.extrapolated, "extrapolated"),
        (row.clamped, "clamped at 0"),
        (row.bounded, "bounded"),
        (row.stale, "stale"),
    ] {
        if marked {
            marks.push(mark);
        }
    }
    vec![
        row.instance.clone(),
        row.class.clone(),
        row.calls.to_string(),
        format!("{:.4}", row.predicted_s),
        format!("{lower:.4} to {upper:.4}"),
        row.measured_s
            .map_or_else(String::new, |s| format!("{s:.4}")),
        marks.join(", "),
    ]
}
