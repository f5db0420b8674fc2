//! Measurements as samples, read by all threads of this process, and by all processes of a team.
//!
//! Each rank of a run has a set of samples of its own, which one thread fills. The sets are merged in the tree of the
//! ranks' numbers ([`RankTree`]), so that the result is the same for any number of threads and processes. The first
//! process reads tables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mastermind_component::{CallsOfRun, NotCounted, counted};
use mastermind_models::{Metric, SampleSet, Samples, Statistic};
use mastermind_records::{RankTree, Run, in_parallel};
use serde::{Deserialize, Serialize};

use super::{
    MISSING, MPI_METHODS, Reading, ReadingProgress, Source, check_no_setting, check_once,
    each_call_of_tables, note_unlike, source,
};
use crate::by_settings::BySettings;
use crate::run_facts::Lacking;
use crate::run_notes::{self, Settings};
use crate::session::team::Team;

/// Number of ranks whose sets are in memory at once, in addition to the merged ones. Arbitrary: enough that threads
/// seldom wait for one another.
const RANKS_AT_ONCE: usize = 64;

/// The samples of all methods in all inputs; reports on standard error what is set aside. Collective.
///
/// # Arguments
/// * `statistic` - of the calls at a coordinate; by default the mean, and for functions of MPI the median: a call that
///   waits for another rank lasts as long as that is late, which says nothing about the message
///
/// # Returns
/// `None` on all processes except the first of the team.
///
/// # Errors
/// As [`super::each_call`].
pub fn read(
    inputs: &[PathBuf],
    reading: &Reading,
    metric: &Metric,
    statistic: Option<Statistic>,
    team: &Team,
) -> anyhow::Result<Option<Vec<Samples>>> {
    team.together(check_once(inputs))?;
    let metric = with_unit(inputs, reading, metric, team)?;
    let shown = ReadingProgress::new(team.is_first());
    let empty = {
        let set = SampleSet::new(metric.clone());
        match statistic {
            Some(statistic) => set.with_statistic(statistic),
            None if metric.is_time() => set.with_statistic_of(MPI_METHODS, Statistic::Median),
            None => set,
        }
    };
    let (mut set, mut tables, mut programs) = (empty.clone(), Vec::new(), Vec::new());
    for input in inputs {
        match team.together(source(input, reading, team))? {
            Source::Records(run) => {
                shown.reading(input);
                let own = run.by_arguments();
                let whole = whole_set(&own, &empty, reading, &metric, team)?;
                let lacking = lacking_of(&own, team)?;
                if let Some(found) = whole {
                    set.merge(found.map_err(Failure::into_error)?)?;
                    for of_program in lacking {
                        of_program.lacking.warn(MISSING);
                        programs.extend(of_program.settings);
                    }
                }
            }
            Source::Tables(found) => {
                team.together(check_no_setting(input, reading))?;
                tables.extend(found);
            }
        }
    }
    if !team.is_first() {
        return Ok(None);
    }
    note_unlike(&programs, reading);
    each_call_of_tables(&tables, reading, &metric, &mut set, &shown)?;
    Ok(Some(set.finish()))
}

/// The samples of wall time of all methods of a run, of which each process of a team has its share. Collective.
///
/// # Returns
/// `None` on all but the first process of the team.
///
/// # Errors
/// A method has other parameters in one log than in another; MPI's.
pub fn of_run(run: &Run, team: &Team) -> anyhow::Result<Option<Vec<Samples>>> {
    let (empty, reading) = (SampleSet::new(Metric::Wall), Reading::default());
    let runs = std::slice::from_ref(run);
    let whole = whole_set(runs, &empty, &reading, &Metric::Wall, team)?;
    let found = whole.transpose().map_err(Failure::into_error)?;
    Ok(found.map(SampleSet::finish))
}

/// The samples of all ranks of all processes. Collective.
///
/// # Returns
/// `None` on all but the first process of the team.
fn whole_set(
    runs: &[Run],
    empty: &SampleSet,
    reading: &Reading,
    metric: &Metric,
    team: &Team,
) -> anyhow::Result<Option<Set>> {
    let sets = sets_of_ranks(runs, empty, reading, metric);
    let merged = team.join(sets, |sets, later| sets.append(later, merge))?;
    Ok(merged.map(|sets| sets.into_joined(merge).unwrap_or_else(|| Ok(empty.clone()))))
}

/// An error of one process, in the words of the first process: the message and its causes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Failure(Vec<String>);

impl Failure {
    fn of(error: &anyhow::Error) -> Self {
        Self(error.chain().map(ToString::to_string).collect())
    }

    fn into_error(self) -> anyhow::Error {
        let mut causes = self.0.into_iter().rev();
        let innermost = anyhow::Error::msg(causes.next().unwrap_or_default());
        causes.fold(innermost, anyhow::Error::context)
    }
}

type Set = Result<SampleSet, Failure>;

/// The first failure is kept, in the order of the ranks.
fn merge(set: &mut Set, later: Set) {
    let Ok(own) = set else {
        return;
    };
    let merged = later.and_then(|later| {
        let merged = own.merge(later);
        merged.map_err(|error| Failure::of(&error.into()))
    });
    if let Err(failure) = merged {
        *set = Err(failure);
    }
}

/// The samples of each rank, merged as far as possible.
///
/// # Arguments
/// * `runs` - one run for each program ([`Run::by_arguments`])
fn sets_of_ranks(
    runs: &[Run],
    empty: &SampleSet,
    reading: &Reading,
    metric: &Metric,
) -> RankTree<Set> {
    let calls: Vec<_> = runs
        .iter()
        .map(|run| CallsOfRun::new(run, metric))
        .collect();
    let of_rank = |rank: u32| -> anyhow::Result<SampleSet> {
        let mut set = empty.clone();
        for (run, calls) in runs.iter().zip(&calls) {
            if run.logs_of(rank).next().is_none() {
                continue;
            }
            if reading.by.is_empty() {
                calls.of_rank(rank, &mut set)?;
            } else {
                calls.of_rank(rank, &mut BySettings::new(&mut set, run, &reading.by)?)?;
            }
        }
        Ok(set)
    };
    let ranks: BTreeSet<u32> = runs.iter().flat_map(Run::ranks).collect();
    let ranks = Vec::from_iter(ranks);
    let mut sets = RankTree::default();
    for ranks in ranks.chunks(RANKS_AT_ONCE) {
        let of_ranks = in_parallel(ranks.to_vec(), |rank| {
            (rank, of_rank(rank).map_err(|error| Failure::of(&error)))
        });
        for (rank, set) in of_ranks {
            sets.push(rank, set, merge);
        }
    }
    sets
}

/// Data missing from the samples of a program, and the program's settings.
#[derive(Serialize, Deserialize)]
struct OfProgram {
    /// Its name and arguments.
    key: (String, Vec<String>),
    lacking: Lacking,
    settings: Vec<Settings>,
}

/// Data missing for each program of a run, in the order of their first ranks. Collective.
///
/// # Returns
/// An empty list on all processes except the first.
fn lacking_of(runs: &[Run], team: &Team) -> anyhow::Result<Vec<OfProgram>> {
    let own = |with_methods: bool| {
        let of_run = |run: &Run| {
            let definitions = run.logs().first().map(|log| log.definitions())?;
            let circumstances = definitions.circumstances.as_ref();
            let arguments = circumstances.map(|found| found.arguments().to_vec());
            let mut lacking = Lacking::of(run);
            if with_methods {
                lacking.add_methods(run);
            }
            Some(OfProgram {
                key: (
                    definitions.run.assembly.clone(),
                    arguments.unwrap_or_default(),
                ),
                lacking,
                settings: run_notes::settings(run),
            })
        };
        runs.iter().filter_map(of_run).collect::<Vec<_>>()
    };
    let whole = team.join(own(false), add_programs)?;
    let asks = |programs: &Vec<OfProgram>| {
        let mut programs = programs.iter();
        programs.any(|of_program| of_program.lacking.asks_for_methods())
    };
    let whole = match team.give(whole.as_ref().map(asks))? {
        true => team.join(own(true), add_programs)?,
        false => whole,
    };
    Ok(whole.unwrap_or_default())
}

fn add_programs(programs: &mut Vec<OfProgram>, later: Vec<OfProgram>) {
    for other in later {
        let mut known = programs.iter_mut();
        match known.find(|known| known.key == other.key) {
            None => programs.push(other),
            Some(known) => {
                known.lacking.add(other.lacking);
                for settings in other.settings {
                    if !known.settings.contains(&settings) {
                        known.settings.push(settings);
                    }
                }
            }
        }
    }
}

/// A counter in the records.
#[derive(Serialize, Deserialize)]
enum CounterUnit {
    /// Its unit.
    Unit(Metric),
    /// In one input or several; the first is named.
    Missing(PathBuf, NotCounted),
}

/// The metric with the unit from the records. Collective.
///
/// # Errors
/// There are records, and none has this counter.
fn with_unit(
    inputs: &[PathBuf],
    reading: &Reading,
    metric: &Metric,
    team: &Team,
) -> anyhow::Result<Metric> {
    if metric.is_time() {
        return Ok(metric.clone());
    }
    let mut missing = None;
    for input in inputs {
        let Source::Records(run) = team.together(source(input, reading, team))? else {
            continue;
        };
        let own = match counted(&run, metric) {
            Ok(metric) => CounterUnit::Unit(metric),
            Err(why) => CounterUnit::Missing(input.clone(), why),
        };
        let counted = team.join(own, add_counted)?;
        match team.give(counted)? {
            CounterUnit::Unit(metric) => return Ok(metric),
            CounterUnit::Missing(input, why) => missing = missing.or(Some((input, why))),
        }
    }
    let Some((input, why)) = missing else {
        return Ok(metric.clone());
    };
    team.together(Err(not_counted(&input, metric, why)))
}

fn add_counted(own: &mut CounterUnit, later: CounterUnit) {
    match (&mut *own, later) {
        (CounterUnit::Unit(_), _) => {}
        (_, later @ CounterUnit::Unit(_)) => *own = later,
        (CounterUnit::Missing(_, why), CounterUnit::Missing(_, later)) => {
            why.known.extend(later.known);
            why.why = later.why.or(why.why.take());
        }
    }
}

fn not_counted(input: &Path, metric: &Metric, why: NotCounted) -> anyhow::Error {
    let input = input.display();
    if let Some(why) = why.why {
        return anyhow::anyhow!("cannot fit {metric}: not counted in \"{input}\": {why}");
    }
    let known = why.known.iter().map(|name| format!(", {name}"));
    anyhow::anyhow!(
        "cannot fit {metric}: no counter of that name in \"{input}\", expected wall, inclusive, mpi, compute{}; \
         count it with run --counters METHOD:{metric}",
        known.collect::<String>()
    )
}
