//! Facts for the rules, from the records, the models and the libraries.
//!
//! The rules of `recommend` decide from numbers alone and read no file. Everything that touches
//! records, models, libraries and other runs is gathered here beforehand, each group of facts by
//! its own function. A group whose source was not given, or has nothing to say, stays empty, and
//! its rules then propose nothing.
//!
//! ```text
//! Facts
//! ├─ elapsed_s    the run, on its slowest rank
//! ├─ parallel     load balance, serialisation, transfer (parallel.rs)
//! ├─ libraries    newer code in a loaded library, and its gain measured here
//! ├─ choice       the best assembly, by models and [alternatives]
//! ├─ off_models   methods that took another time than their models predict
//! └─ settings     other runs with other values of a free setting (settings.rs)
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use mastermind_component::{Basis, WorkloadRequest, workload};
use mastermind_composition::{Choice, ChooseOptions, choose_with, model_name};
use mastermind_machine::dispatch::{Dispatch, Library};
use mastermind_models::{LEVEL, Metric, ModelSet, Total, Uncertainty};
use mastermind_recommend::{
    Change, ChoiceFacts, Facts, LibraryFacts, OffModelFacts, OpenQuestion, ParallelFacts,
};
use mastermind_records::{Profile as Table, Run, RunInfo};

use super::{parallel, settings};
use crate::commands::predict::read_models;
use crate::commands::profile::{self, warn_of_missing_records};
use crate::session::{asking, read_assembly};
use crate::shipped::{add_shipped, note_shipped};
use crate::{recorded_dispatch, run_notes};

/// Nanoseconds to seconds.
const NS: f64 = 1e-9;

/// Number of times that two code variants of a library are timed: the least and the greatest ratio are reported.
const TIMINGS: usize = 3;

/// The files and folders from which facts are gathered; a part that is not given leaves its facts
/// empty.
pub struct Sources<'a> {
    pub assembly: Option<&'a Path>,
    pub records: &'a Path,
    pub models: Option<&'a Path>,
    pub runs: Option<&'a Path>,
    pub earlier: Option<&'a Path>,
    pub free: &'a [String],
}

/// Reads all of it.
///
/// # Errors
/// A file cannot be read; models do not fit the calls; no run shows the effect of a free setting.
pub fn gather(sources: &Sources<'_>) -> anyhow::Result<Facts> {
    let run = profile::open(sources.records)?;
    run_notes::refuse_dry(&run, || {
        format!("cannot recommend by \"{}\"", sources.records.display())
    })?;
    warn_of_missing_records(&run, "what they took is not in what is recommended");
    if !run.is_finished() {
        crate::output::complain!(
            "warning: the run has not ended, or was killed: what it took until then is all that is looked at"
        );
    }
    let mut facts = Facts {
        elapsed_s: elapsed_s(&run),
        parallel: parallel::facts(&run, sources.records),
        libraries: libraries(&run, sources.records),
        ..Facts::default()
    };
    if let Some(lacking) = facts.parallel.as_ref().and_then(ParallelFacts::lacking) {
        crate::output::complain!(
            "warning: the replay lacks {:.0} % of the time that ranks spend outside of MPI, as between calls that poll: serial parts and turns are \
             those of the rest",
            100.0 * lacking
        );
    }
    if let Some(path) = sources.models {
        let mut models = read_models(path, false)?;
        if let Some(assembly) = sources.assembly {
            facts.choice = choice(&run, assembly, &mut models, sources)?;
        }
        facts.off_models = off_models(&run, &models)?;
    }
    if let (Some(folder), false) = (sources.runs, sources.free.is_empty()) {
        facts.settings = settings::facts((&run, sources.records), folder, sources.free)?;
    }
    Ok(facts)
}

/// Duration of a run, seconds, on the rank that took longest. For a program of MPI, without starting and ending MPI.
pub fn elapsed_s(run: &Run) -> f64 {
    let ranks = run.mpi_ranks();
    let of_programs = ranks
        .iter()
        .map(|rank| rank.application_ns)
        .max()
        .unwrap_or(0);
    if of_programs > 0 {
        return of_programs as f64 * NS;
    }
    let info = RunInfo::of(run);
    let recorded_ns = run.logs().iter().map(|log| {
        let ends = log.records().map(|record| {
            (
                record.start_ns,
                record.start_ns.saturating_add(record.wall_ns),
            )
        });
        let (first, last) = ends.fold((u64::MAX, 0), |(first, last), (start, end)| {
            (first.min(start), last.max(end))
        });
        last.saturating_sub(first)
    });
    let recorded_ns = recorded_ns.max().unwrap_or(0);
    let whole_ns = info
        .started_unix_ns
        .zip(info.ended_unix_ns)
        .map(|(started, ended)| ended.saturating_sub(started));
    // The recorder of a wrapped program starts at its first recorded call.
    match info.classes.is_empty() {
        true => whole_ns.unwrap_or(recorded_ns).max(recorded_ns) as f64 * NS,
        false => recorded_ns as f64 * NS,
    }
}

/// Duration of a run without the cost of recording, seconds.
///
/// # Errors
/// The records cannot be read.
pub fn own_s(records: &Path) -> anyhow::Result<f64> {
    let run = profile::open(records)?;
    let recording_ns = Table::new(&run, false).self_cost_ns.unwrap_or(0.0);
    Ok((elapsed_s(&run) - recording_ns * NS).max(0.0))
}

/// The best assembly, if the present one has alternatives.
fn choice(
    run: &Run,
    path: &Path,
    models: &mut ModelSet,
    sources: &Sources<'_>,
) -> anyhow::Result<Option<ChoiceFacts>> {
    let (assembly, _) = read_assembly(path, &[], &[], false)?;
    if assembly.alternatives.is_empty() {
        crate::output::complain!(
            "note: assembly \"{}\" has no [alternatives]: nothing is said of other classes",
            path.display()
        );
        return Ok(None);
    }
    note_shipped(&add_shipped(models, &assembly, false)?);
    let asked = WorkloadRequest {
        // Runs with other values of a setting are not runs of the unchanged assembly.
        runs: sources
            .runs
            .filter(|_| sources.free.is_empty())
            .map(Path::to_path_buf),
        earlier: sources.earlier.map(Path::to_path_buf),
        ..WorkloadRequest::default()
    };
    // The assembly of the run is the present one, whatever classes the file has.
    let mut current = assembly.instances.clone();
    for class in RunInfo::of(run).classes {
        if let Some(own) = current.get_mut(&class.instance) {
            *own = class.class;
        }
    }
    let basis = Basis::new(run, &assembly, models, &asked, |directory: &Path| {
        let run = profile::open(directory);
        run.inspect(run_notes::warn_of_waiting)
    })?;
    let options = ChooseOptions {
        n_best: 2,
        ..basis.options
    };
    let choice = choose_with(
        &basis.workload,
        &assembly.alternatives,
        &current,
        models,
        &options,
    )?;
    for lacking in &choice.without_model {
        crate::output::complain!("warning: not chosen from: {lacking}");
    }
    Ok(Some(facts_of(&choice, &current)))
}

fn facts_of(choice: &Choice, current: &BTreeMap<String, String>) -> ChoiceFacts {
    let changes = choice.best.iter().filter_map(|(instance, class)| {
        let from = current.get(instance)?;
        (from != class).then(|| Change {
            instance: instance.clone(),
            from: from.clone(),
            to: class.clone(),
        })
    });
    let open = choice.doubt.as_ref().filter(|doubt| !doubt.told_apart);
    let against = choice.against_current.as_ref();
    ChoiceFacts {
        changes: changes.collect(),
        current_s: choice.current_s,
        best_s: choice.predicted_s,
        saved_interval_s: against.and_then(|doubt| doubt.comparison.interval_s(LEVEL)),
        models_deviation_s: against.map_or(0.0, |doubt| doubt.models_deviation),
        assemblies: choice.assemblies.clone(),
        open: open.and_then(|doubt| {
            Some(OpenQuestion {
                run: doubt.run.clone()?,
                regret_s: Some(doubt.comparison.regret).filter(|regret| regret.is_finite()),
            })
        }),
    }
}

/// Libraries of the run that have newer code, and its speed-up here.
fn libraries(run: &Run, records: &Path) -> Vec<LibraryFacts> {
    let Some(found) = recorded_dispatch::read(records) else {
        return Vec::new();
    };
    let Dispatch { libraries, .. } = &found;
    let table = Table::new(run, false);
    let facts = libraries.iter().filter_map(|library| {
        let other = library.other.as_ref()?;
        Some(LibraryFacts {
            running: recorded_dispatch::running(library),
            change: (other.variable.clone(), other.value.clone()),
            gain: gain(library, (&other.variable, &other.value)),
            recorded_s: recorded_s(run, &table, library),
        })
    });
    facts.collect()
}

/// Speed-up of a library's matrix multiplication with a variable set, least and most.
fn gain(library: &Library, with: asking::Variable<'_>) -> Option<[f64; 2]> {
    let time = |with| asking::time_gemm(&library.path, with).ok().flatten();
    let ratios = (0..TIMINGS).map(|_| Some(time(None)? / time(Some(with))?));
    let ratios: Vec<f64> = ratios.collect::<Option<_>>()?;
    let [least, most] = [f64::min, f64::max].map(|of| ratios.iter().copied().reduce(of));
    Some([least?, most?])
}

/// Time in recorded calls of a library, mean over the ranks; `None` if there are none.
fn recorded_s(run: &Run, table: &Table, library: &Library) -> Option<f64> {
    let name = library.path.file_name()?.to_str()?;
    let definitions = run.logs().iter().map(mastermind_records::Log::definitions);
    let mut of_library: Vec<&str> = definitions
        .flat_map(|found| &found.run.classes)
        .filter(|class| {
            Path::new(&class.library)
                .file_name()
                .and_then(|file| file.to_str())
                == Some(name)
        })
        .map(|class| class.class.as_str())
        .collect();
    of_library.push(name);
    let rows = table
        .rows
        .iter()
        .filter(|row| of_library.contains(&row.class.as_str()));
    let ns: f64 = rows.map(|row| row.exclusive_ns).sum();
    (ns > 0.0).then_some(ns * NS)
}

/// Measured and predicted times of the methods that have models, mean over the ranks. A method that was called beyond
/// the measured range of its model is left out.
fn off_models(run: &Run, models: &ModelSet) -> anyhow::Result<Vec<OffModelFacts>> {
    let calls = workload(run, Metric::Wall);
    let n_ranks = run.ranks().len().max(1) as f64;
    let mut sums = BTreeMap::<String, Sum<'_>>::new();
    for call in &calls.calls {
        let method = model_name(&call.class, &call.port_method);
        let Ok(model) = models.find(&method, Metric::Wall, &call.coordinate) else {
            continue;
        };
        let sum = sums.entry(method).or_default();
        sum.calls += call.count;
        sum.measured_s += call.measured_s;
        let total = sum.totals.entry(model.mode.clone());
        let total = total.or_insert_with(|| Total::new(model));
        total.add(&call.coordinate, call.count as f64)?;
    }
    let within = sums
        .into_iter()
        .filter(|(_, sum)| !sum.totals.values().any(Total::extrapolated));
    let facts = within.map(|(method, sum)| {
        let predicted_s: f64 = sum.totals.values().map(Total::time_s).sum();
        let mut uncertainty = Uncertainty::default();
        sum.totals
            .values()
            .for_each(|total| uncertainty.merge(&total.uncertainty()));
        let half_s = uncertainty.half_width_s(LEVEL);
        let of_rank = |seconds: f64| seconds / n_ranks;
        OffModelFacts {
            method,
            calls: sum.calls,
            measured_s: of_rank(sum.measured_s),
            predicted_s: (
                of_rank(predicted_s),
                [predicted_s - half_s, predicted_s + half_s].map(of_rank),
            ),
        }
    });
    Ok(facts.collect())
}

/// The calls of a method, with the models' totals by mode.
#[derive(Default)]
struct Sum<'m> {
    calls: u64,
    measured_s: f64,
    totals: BTreeMap<BTreeMap<String, String>, Total<'m>>,
}
