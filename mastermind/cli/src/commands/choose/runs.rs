//! A folder of runs, as `plan --run` writes them: how much runs differ, and how the workload grows with settings.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use cca_core::Assembly;
use mastermind_component::workload;
use mastermind_composition::{
    Assembly as Classes, BetweenRuns, RANKS, RankEffect, RunTimes, ScaledWorkload, Seconds,
    Settings, SiteTime, SizedRun, Workload, rank_effects, scale_workload,
};
use mastermind_models::{Metric, ModelSet};
use mastermind_records::Run;

use crate::by_settings::{full_name, settings};

/// One run of the folder.
struct Recorded {
    /// Class of each instance.
    classes: BTreeMap<String, String>,
    /// All parameters, as they were set.
    parameters: BTreeMap<String, String>,
    ranks: u32,
    /// Those of them that are numbers, and the ranks.
    settings: Settings,
    /// Calls of the assembly's own instances.
    workload: Workload,
}

/// How much repeated runs of a folder differ, whatever was run; None where no run was repeated.
///
/// # Errors
/// As [`Runs::read`].
pub fn earlier_spread(directory: &Path, seconds: Seconds) -> anyhow::Result<Option<BetweenRuns>> {
    let runs = Runs::read_of(directory, None)?;
    Ok(BetweenRuns::pooled(&runs.totals_s(seconds), None))
}

/// The class of each instance of an assembly in a run.
pub fn classes_of(run: &Run, assembly: &Assembly) -> Classes {
    Recorded::of(run, Some(assembly)).classes
}

/// The runs in the folders of a folder.
pub struct Runs(Vec<Recorded>);

impl Runs {
    /// Reads them.
    ///
    /// # Errors
    /// The folder cannot be read, or a folder in it holds no records; there are none; one has no calls of the assembly.
    pub fn read(directory: &Path, assembly: &Assembly) -> anyhow::Result<Self> {
        Self::read_of(directory, Some(assembly))
    }

    /// Reads runs of an assembly, or of whatever was run.
    fn read_of(directory: &Path, assembly: Option<&Assembly>) -> anyhow::Result<Self> {
        let act = || format!("cannot read runs in \"{}\"", directory.display());
        let mut runs = Vec::new();
        for entry in fs::read_dir(directory).with_context(act)? {
            let path = entry.with_context(act)?.path();
            if path.is_dir() {
                let run = Recorded::of(&super::super::profile::open(&path)?, assembly);
                if run.total_s() <= 0.0 {
                    bail!(
                        "cannot read run \"{}\": no calls of the assembly, expected a run of it",
                        path.display()
                    );
                }
                runs.push(run);
            }
        }
        if runs.is_empty() {
            bail!(
                "{}: no folder in it, expected one for each run, as plan --run makes them",
                act()
            );
        }
        Ok(Self(runs))
    }

    /// For each assembly and settings the total of each run, seconds.
    ///
    /// # Arguments
    /// * `seconds` - which
    pub fn totals_s(&self, seconds: Seconds) -> Vec<Vec<f64>> {
        let mut totals_s: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for run in &self.0 {
            let kind = (&run.classes, &run.parameters, run.ranks);
            let recorded = run.workload.recorded();
            totals_s.entry(kind).or_default().push(recorded.of(seconds));
        }
        totals_s.into_values().collect()
    }

    /// What the instances took in each run of about the settings of one: with its ranks, and its parameters as far as it has
    /// the same.
    pub fn times_like(&self, like: &Run) -> Vec<RunTimes> {
        let like = Recorded::of(like, None);
        let is_like = |run: &&Recorded| {
            let mut shared = run
                .parameters
                .iter()
                .filter_map(|(key, value)| Some((value, like.parameters.get(key)?)));
            run.ranks == like.ranks && shared.all(|(value, other)| value == other)
        };
        self.0.iter().filter(is_like).map(Recorded::times).collect()
    }

    /// The workload at other settings, from the runs that have the classes of a run, and what the number of ranks makes of its time.
    ///
    /// # Arguments
    /// * `like` - the run whose classes and other settings count
    /// * `set` - settings, `INSTANCE.KEY` or `INSTANCE.PORT.KEY` and a number
    ///
    /// # Errors
    /// A setting is unknown, ambiguous or no number; the runs do not tell how the workload grows with it.
    pub fn scaled(
        &self,
        like: &Run,
        assembly: &Assembly,
        set: &[(String, String)],
        ranks: Option<u32>,
        models: &ModelSet,
    ) -> anyhow::Result<(ScaledWorkload, BTreeMap<String, RankEffect>)> {
        let like = Recorded::of(like, Some(assembly));
        let mut wanted = like.settings.clone();
        for (key, value) in set {
            let name = full_name(&wanted, key)
                .map_err(|why| anyhow!("cannot scale the workload by {key}: {why}"))?;
            let number: f64 = value.parse().ok().with_context(|| {
                format!("cannot scale the workload by {key}: \"{value}\", expected a number")
            })?;
            wanted.insert(name, number);
        }
        if let Some(ranks) = ranks {
            wanted.insert(RANKS.into(), f64::from(ranks));
        }
        let same = self.0.iter().filter(|run| run.classes == like.classes);
        let sized = same.map(|run| SizedRun {
            settings: run.settings.clone(),
            workload: run.workload.clone(),
        });
        let sized: Vec<_> = sized.collect();
        let scaled = scale_workload(&sized, &wanted)?;
        let seconds = Seconds::predicted_by(models);
        Ok((scaled, rank_effects(&sized, &wanted, models, seconds)?))
    }
}

impl Recorded {
    /// # Arguments
    /// * `assembly` - whose instances count; all where there is none
    fn of(run: &Run, assembly: Option<&Assembly>) -> Self {
        let is_own = |instance: &String| {
            assembly.is_none_or(|assembly| assembly.instances.contains_key(instance))
        };
        let mut workload = workload(run, Metric::Wall);
        workload.calls.retain(|call| is_own(&call.instance));
        let definition = run.logs().first().map(|log| &log.definitions().run);
        let classes = definition.into_iter().flat_map(|run| &run.classes);
        let own = classes.filter(|c| is_own(&c.instance));
        Self {
            classes: own.map(|c| (c.instance.clone(), c.class.clone())).collect(),
            parameters: definition.map_or_else(BTreeMap::new, |run| run.parameters.clone()),
            ranks: definition.map_or(1, |run| run.ranks),
            settings: settings(run),
            workload,
        }
    }

    /// Processor seconds of each instance.
    fn times(&self) -> RunTimes {
        let mut times = RunTimes::new();
        for call in &self.workload.calls {
            let time = times.entry(call.instance.clone());
            let time = time.or_insert_with(|| SiteTime {
                class: call.class.clone(),
                seconds: 0.0,
            });
            time.seconds += call.processor_s;
        }
        times
    }

    fn total_s(&self) -> f64 {
        self.workload.recorded().wall_s
    }
}
