//! The data from which the best assembly is chosen, for the command line and Python.
//!
//! The request may be for other settings than those of the recorded workload. A folder of runs, as `plan --run` writes
//! them, shows how much runs differ, which classes influence one another's times, and how the workload grows with
//! settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cca_core::Assembly;
use mastermind_composition::{
    BetweenRuns, Call, CallPatterns, ChooseOptions, Error as CompositionError, PatternRun, RANKS,
    RankEffects, RunBounds, RunSpread, RunTimes, ScaledWorkload, Seconds, SeenPairs, Settings,
    SizedRun, Workload, interactions, predict_recorded_s, rank_effects, scale_workload,
    times_over_predicted,
};
use mastermind_models::{Metric, ModelSet};
use mastermind_records::Run;

use crate::workload::workload;

/// Maximum number of degrees of freedom from earlier runs.
const MAX_EARLIER_FREEDOM: f64 = 20.0;

/// Why nothing can be chosen from records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoosingError {
    /// The records are of something else.
    #[error(
        "cannot choose for records \"{}\": calls of other instances or classes, expected some of an instance of assembly \"{assembly}\"",
        directory.display()
    )]
    OtherAssembly {
        /// The folder of the records.
        directory: PathBuf,
        /// Its name.
        assembly: String,
    },
    /// A folder of runs cannot be read.
    #[error("cannot read runs in \"{}\"", directory.display())]
    Folder {
        /// The folder.
        directory: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No folder in it.
    #[error(
        "cannot read runs in \"{}\": no folder in it, expected one for each run, as plan --run makes them", directory.display()
    )]
    NoRuns {
        /// The folder.
        directory: PathBuf,
    },
    /// One is of something else.
    #[error("cannot read run \"{}\": no calls of the assembly, expected a run of it", directory.display())]
    NoCalls {
        /// Its folder.
        directory: PathBuf,
    },
    /// A setting is requested, but no runs show how the workload grows with it.
    #[error(
        "cannot scale the workload by {setting}: no runs, expected a folder of runs of several sizes"
    )]
    WithoutRuns {
        /// The first setting.
        setting: String,
    },
    /// A setting is unknown or ambiguous.
    #[error("cannot scale the workload by {setting}: {why}")]
    Setting {
        /// The setting, as given.
        setting: String,
        /// The reason.
        why: NoSetting,
    },
    /// A setting is no number.
    #[error("cannot scale the workload by {setting}: \"{value}\", expected a number")]
    NoNumber {
        /// The setting, as given.
        setting: String,
        /// Its value, as given.
        value: String,
    },
    /// The runs do not show how the workload grows.
    #[error(transparent)]
    Composition(#[from] CompositionError),
}

/// Why a name does not identify a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoSetting {
    /// It names none.
    #[error(
        "no such number among the run's settings, expected INSTANCE.KEY, a name of --set, arg:1 (the first argument of a wrapped program) or ranks"
    )]
    Unknown,
    /// There are several.
    #[error("several ports have it, expected INSTANCE.PORT.KEY")]
    Ambiguous,
}

/// A request for another workload than the recorded one.
#[derive(Debug, Clone, Default)]
pub struct WorkloadRequest {
    /// Parameters of another workload, `INSTANCE.KEY` or `INSTANCE.PORT.KEY` and a number.
    pub set: Vec<(String, String)>,
    /// Its number of ranks.
    pub ranks: Option<u32>,
    /// A folder with a folder of records for each of several runs of the assembly.
    pub runs: Option<PathBuf>,
    /// A folder of runs of any assemblies: the spread of repeated ones is taken into account.
    pub earlier: Option<PathBuf>,
}

/// The data from which the best assembly is chosen.
#[derive(Debug)]
pub struct Basis {
    /// The calls.
    pub workload: Workload,
    /// Extrapolation of the calls from those of runs, if other settings were requested; its own workload is empty.
    pub scaling: Option<ScaledWorkload>,
    /// Findings from runs; the caller adds its preferences.
    pub options: ChooseOptions,
    /// Which seconds the models predict.
    pub seconds: Seconds,
    /// Calls of the runs, with any classes and sizes.
    pub runs: Vec<Workload>,
}

impl Basis {
    /// Reads runs and scales the workload, as far as the request needs it.
    ///
    /// # Arguments
    /// * `run` - the recorded workload
    /// * `open` - opens the records of a run
    ///
    /// # Errors
    /// [`ChoosingError`], or an error of `open`.
    pub fn new<E: From<ChoosingError>>(
        run: &Run,
        assembly: &Assembly,
        models: &ModelSet,
        asked: &WorkloadRequest,
        mut open: impl FnMut(&Path) -> Result<Run, E>,
    ) -> Result<Self, E> {
        let mut calls = own_calls(run, assembly)?;
        let seconds = Seconds::predicted_by(models);
        let runs = asked.runs.as_deref();
        let runs = runs.map(|folder| Runs::read(folder, Some(assembly), &mut open));
        let runs = runs.transpose()?;
        let earlier = asked.earlier.as_deref();
        let earlier = earlier.map(|folder| Runs::read(folder, None, &mut open));
        let earlier = earlier.transpose()?;
        let (mut scaling, mut effects, mut patterns) = (None, None, None);
        if let Some(setting) = asked.first_setting() {
            let runs = runs.as_ref();
            let runs = runs.ok_or(ChoosingError::WithoutRuns { setting })?;
            let (mut scaled, of_ranks, of_classes) = runs.scaled(run, assembly, asked, models)?;
            patterns = Some(of_classes);
            calls.calls = std::mem::take(&mut scaled.workload.calls);
            (scaling, effects) = (Some(scaled), of_ranks);
        }
        let interacting_pairs = interacting_pairs(assembly);
        let times = match scaling {
            None => runs.as_ref().map(|runs| runs.times_like(run, models)),
            Some(_) => runs.as_ref().map(|runs| runs.times(models)),
        };
        let times = times.transpose()?.unwrap_or_default();
        let alike = runs.as_ref().map(|runs| runs.patterns_like(run, assembly));
        let patterns = patterns.or(alike);
        let mut pairs = SeenPairs::of(&times, &interacting_pairs);
        pairs.see(&Recorded::of(run, Some(assembly)).classes);
        let of_earlier = earlier.map_or_else(Vec::new, |earlier| earlier.totals_s(seconds));
        let totals_s = runs.as_ref().map(|runs| runs.totals_s(seconds));
        let like = scaling.is_none().then(|| Recorded::of(run, None));
        let ratios = runs.as_ref().map(|runs| runs.ratios(models, seconds));
        let (firsts, ratios): (Vec<_>, Vec<_>) =
            ratios.transpose()?.unwrap_or_default().into_iter().unzip();
        let position = like.and_then(|like| firsts.iter().position(|run| run.is_like(&like)));
        let totals_s = totals_s.unwrap_or_default();
        let (between_runs, run_bounds) =
            differences_of_runs(&totals_s, &ratios, position, &of_earlier);
        let options = ChooseOptions {
            attributes: assembly.attributes.clone(),
            run_spread: Some(RunSpread::of(&times)),
            between_runs,
            run_bounds,
            interactions: interactions(&times, &interacting_pairs),
            pairs: Some(pairs),
            patterns,
            rank_effects: effects,
            scored: scaling.is_none().then_some(seconds),
            ..ChooseOptions::default()
        };
        Ok(Basis {
            workload: calls,
            scaling,
            options,
            seconds,
            runs: runs.map_or_else(Vec::new, Runs::into_workloads),
        })
    }
}

impl WorkloadRequest {
    /// The first setting of the request, if it has any.
    fn first_setting(&self) -> Option<String> {
        let set = self.set.first().map(|(key, _)| key.clone());
        set.or_else(|| self.ranks.map(|_| RANKS.to_owned()))
    }
}

/// The recorded calls of the instances that the assembly has.
///
/// # Errors
/// [`ChoosingError::OtherAssembly`] if none of them is of a class of the assembly.
fn own_calls(run: &Run, assembly: &Assembly) -> Result<Workload, ChoosingError> {
    let mut calls = workload(run, Metric::Wall);
    let any_calls = !calls.calls.is_empty();
    // Instances that the assembly does not have, such as the program that started it, cannot be chosen.
    let is_own = |instance: &String| assembly.instances.contains_key(instance);
    calls.calls.retain(|call| is_own(&call.instance));
    // Two assemblies may both have a "driver": one with another class belongs to another assembly.
    let is_alike = |call: &Call| {
        let current = assembly.instances.get(&call.instance).into_iter();
        let listed = assembly.alternatives.get(&call.instance).into_iter();
        (current.chain(listed.flatten())).any(|class| *class == call.class)
    };
    if any_calls && !calls.calls.iter().any(is_alike) {
        let log = run.logs().first().and_then(|log| log.path().parent());
        let other = ChoosingError::OtherAssembly {
            directory: log.unwrap_or(Path::new("")).into(),
            assembly: assembly.assembly.name.clone(),
        };
        return Err(other);
    }
    Ok(calls)
}

/// How much runs with equal settings differ: the variance between them, and the bounds of a run if they are narrower than
/// the interval from the variance.
///
/// # Arguments
/// * `totals_s` - seconds of repeated runs, shape `[n_assemblies][n_runs]`
/// * `ratios` - logarithms of the runs' seconds over the predicted ones, by settings, shape `[n_settings][n_runs]`
/// * `position` - the settings of the run that is chosen for, in `ratios`
/// * `of_earlier` - seconds of repeated earlier runs of any assemblies, shape `[n_assemblies][n_runs]`
fn differences_of_runs(
    totals_s: &[Vec<f64>],
    ratios: &[Vec<f64>],
    position: Option<usize>,
    of_earlier: &[Vec<f64>],
) -> (Option<BetweenRuns>, Option<RunBounds>) {
    let earlier = BetweenRuns::pooled(of_earlier, None);
    let earlier = earlier.map(|spread| spread.as_earlier(MAX_EARLIER_FREEDOM));
    let between_runs = BetweenRuns::pooled(totals_s, earlier);
    // If no assembly was repeated, the spread comes from runs with the same settings, relative to the models.
    let of_ratios: Vec<Vec<f64>> = ratios
        .iter()
        .map(|of| of.iter().map(|ratio| ratio.exp()).collect())
        .collect();
    let is_repeated = between_runs.is_some_and(|between_runs| between_runs.is_known());
    let between_runs = match is_repeated {
        true => between_runs,
        false => BetweenRuns::pooled(&of_ratios, earlier),
    };
    let centred = of_earlier
        .iter()
        .map(|totals| totals.iter().map(|t| t.ln()).collect());
    let centred: Vec<_> = centred.collect();
    let bounds = RunBounds::of(ratios, position, &centred, MAX_EARLIER_FREEDOM);
    let is_narrower =
        |bounds: &RunBounds| between_runs.is_some_and(|student| bounds.are_narrower_than(&student));
    (between_runs, bounds.filter(is_narrower))
}

/// Pairs of instances that may influence each other: connected ones, and those that the same instance calls.
pub fn interacting_pairs(assembly: &Assembly) -> BTreeSet<[String; 2]> {
    let mut pairs = BTreeSet::new();
    for (uses, provides) in &assembly.connections {
        pairs.insert([uses.instance.clone(), provides.instance.clone()]);
        let siblings = assembly.connections.iter();
        for (_, sibling) in siblings.filter(|(other, _)| other.instance == uses.instance) {
            pairs.insert([provides.instance.clone(), sibling.instance.clone()]);
        }
    }
    pairs
}

/// Caller and callee of each connection.
fn connections(assembly: &Assembly) -> BTreeSet<[String; 2]> {
    let ends = assembly.connections.iter();
    ends.map(|(uses, provides)| [uses.instance.clone(), provides.instance.clone()])
        .collect()
}

/// The settings of a run that are numbers: all parameters of its assembly, as `mesh.nx`, and [`RANKS`].
pub fn settings(run: &Run) -> Settings {
    let definition = run.logs().first().map(|log| &log.definitions().run);
    let mut settings = Settings::new();
    for (name, value) in definition.iter().flat_map(|run| &run.parameters) {
        if let Some(number) = value.parse().ok().filter(|number: &f64| number.is_finite()) {
            settings.insert(name.clone(), number);
        }
    }
    settings.insert(
        RANKS.into(),
        definition.map_or(1.0, |run| f64::from(run.ranks)),
    );
    settings
}

/// The full name of a setting: `INSTANCE.KEY` means `INSTANCE.PORT.KEY` too, where only one port has it.
///
/// # Errors
/// [`NoSetting`]: no setting of the name is a number, or several are.
pub fn full_name(settings: &Settings, key: &str) -> Result<String, NoSetting> {
    if settings.contains_key(key) {
        return Ok(key.into());
    }
    let is_meant = |name: &&String| {
        let (instance, rest) = key.split_once('.').unwrap_or((key, ""));
        let of_instance = name
            .strip_prefix(instance)
            .and_then(|n| n.strip_prefix('.'));
        of_instance.is_some_and(|n| n == rest || n.ends_with(&format!(".{rest}")))
    };
    match settings.keys().filter(is_meant).collect::<Vec<_>>()[..] {
        [name] => Ok(name.clone()),
        [] => Err(NoSetting::Unknown),
        _ => Err(NoSetting::Ambiguous),
    }
}

/// One run of the folder.
#[derive(Debug)]
struct Recorded {
    /// Class of each instance.
    classes: BTreeMap<String, String>,
    /// All parameters, as they were set.
    parameters: BTreeMap<String, String>,
    ranks: u32,
    /// Processors of the machines that the ranks ran on, if all report them.
    processors: Option<u32>,
    /// The parameters that are numbers, and the number of ranks.
    settings: Settings,
    /// Calls of the assembly's own instances.
    workload: Workload,
}

/// The runs in the folders of a folder.
#[derive(Debug)]
struct Runs(Vec<Recorded>);

impl Runs {
    /// Reads runs of an assembly, or of any program.
    ///
    /// # Errors
    /// The folder cannot be read; it holds no runs; a run has no calls of the assembly. Errors of `open`.
    fn read<E: From<ChoosingError>>(
        directory: &Path,
        assembly: Option<&Assembly>,
        open: &mut dyn FnMut(&Path) -> Result<Run, E>,
    ) -> Result<Self, E> {
        let unreadable = |source| ChoosingError::Folder {
            directory: directory.into(),
            source,
        };
        let mut runs = Vec::new();
        for entry in fs::read_dir(directory).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                let run = Recorded::of(&open(&path)?, assembly);
                if run.total_s() <= 0.0 {
                    return Err(ChoosingError::NoCalls { directory: path }.into());
                }
                runs.push(run);
            }
        }
        if runs.is_empty() {
            let directory = directory.into();
            return Err(ChoosingError::NoRuns { directory }.into());
        }
        Ok(Self(runs))
    }

    /// Their calls.
    fn into_workloads(self) -> Vec<Workload> {
        self.0.into_iter().map(|run| run.workload).collect()
    }

    /// The computing times of the runs, grouped by assembly and settings, without time in MPI, seconds.
    ///
    /// # Arguments
    /// * `seconds` - wall or processor time
    fn totals_s(&self, seconds: Seconds) -> Vec<Vec<f64>> {
        let mut totals_s: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for run in &self.0 {
            let kind = (&run.classes, &run.parameters, run.ranks);
            let recorded = run.workload.recorded();
            // Times that ranks wait for one another have a spread of their own.
            let computed_s = recorded.computation_of(seconds);
            totals_s.entry(kind).or_default().push(computed_s);
        }
        totals_s.into_values().collect()
    }

    /// Times of the instances relative to the models' predictions, in each run with about the settings of `like`.
    fn times_like(&self, like: &Run, models: &ModelSet) -> Result<Vec<RunTimes>, ChoosingError> {
        let like = Recorded::of(like, None);
        let alike = self.0.iter().filter(|run| run.is_like(&like));
        let times = alike.map(|run| times_over_predicted(&run.workload, models));
        Ok(times.collect::<Result<_, _>>()?)
    }

    /// Times of the instances relative to the models' predictions, in each run. The factor that runs of the same
    /// settings share is removed: it is how times grow with the settings.
    fn times(&self, models: &ModelSet) -> Result<Vec<RunTimes>, ChoosingError> {
        let times = self.0.iter();
        let times = times.map(|run| times_over_predicted(&run.workload, models));
        let mut times: Vec<RunTimes> = times.collect::<Result<_, _>>()?;
        for first in 0..times.len() {
            let is_like = |run: &usize| self.0[first].is_like(&self.0[*run]);
            let alike: Vec<usize> = (0..times.len()).filter(is_like).collect();
            if alike[0] == first {
                take_common_out(&mut times, &alike);
            }
        }
        Ok(times)
    }

    /// Which instance gets which calls, depending on the classes of others, by the runs with about the settings of
    /// `like`.
    fn patterns_like(&self, like: &Run, assembly: &Assembly) -> CallPatterns {
        let like = Recorded::of(like, None);
        let alike = self.0.iter().filter(|run| run.is_like(&like));
        let alike: Vec<_> = alike.map(Recorded::as_pattern_run).collect();
        CallPatterns::of(&alike, &connections(assembly))
    }

    /// The logarithms of the time of each run relative to the models' prediction, grouped by about the same settings,
    /// each group with its first run.
    fn ratios(
        &self,
        models: &ModelSet,
        seconds: Seconds,
    ) -> Result<Vec<(&Recorded, Vec<f64>)>, ChoosingError> {
        let mut alike: Vec<(&Recorded, Vec<f64>)> = Vec::new();
        for run in &self.0 {
            let predicted_s = predict_recorded_s(&run.workload, models, seconds)?;
            let ratio = (run.workload.recorded().computation_of(seconds) / predicted_s).ln();
            match alike.iter_mut().find(|(first, _)| run.is_like(first)) {
                Some((_, ratios)) => ratios.push(ratio),
                None => alike.push((run, vec![ratio])),
            }
        }
        Ok(alike)
    }

    /// The workload at other settings, by the runs with the same classes as `like`; how the number of ranks changes its
    /// time, and which calls each instance gets there, by all runs.
    ///
    /// # Arguments
    /// * `like` - the run whose classes and other settings count
    ///
    /// # Errors
    /// A setting is unknown, ambiguous or no number; the runs do not show how the workload grows with it.
    fn scaled(
        &self,
        like: &Run,
        assembly: &Assembly,
        asked: &WorkloadRequest,
        models: &ModelSet,
    ) -> Result<(ScaledWorkload, Option<RankEffects>, CallPatterns), ChoosingError> {
        let like = Recorded::of(like, Some(assembly));
        let mut wanted = like.settings.clone();
        for (key, value) in &asked.set {
            let name = full_name(&wanted, key).map_err(|why| ChoosingError::Setting {
                setting: key.clone(),
                why,
            })?;
            let number: f64 = value.parse().map_err(|_| ChoosingError::NoNumber {
                setting: key.clone(),
                value: value.clone(),
            })?;
            wanted.insert(name, number);
        }
        if let Some(ranks) = asked.ranks {
            wanted.insert(RANKS.into(), f64::from(ranks));
        }
        let same = self.0.iter().filter(|run| run.classes == like.classes);
        let same: Vec<_> = same.map(Recorded::sized).collect();
        let scaled = scale_workload(&same, &wanted)?;
        let seconds = Seconds::predicted_by(models);
        // The times of instances depend on all runs, so the named run does not matter.
        let sized: Vec<_> = self.0.iter().map(Recorded::sized).collect();
        let effects = rank_effects(&sized, &wanted, models, seconds)?;
        let all: Vec<_> = self.0.iter().map(Recorded::as_pattern_run).collect();
        let patterns = CallPatterns::scaled(&all, &connections(assembly), &wanted);
        Ok((scaled, effects, patterns))
    }
}

impl Recorded {
    /// # Arguments
    /// * `assembly` - only its instances count; without one, all do
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
            processors: processors(run),
            settings: settings(run),
            workload,
        }
    }

    fn sized(&self) -> SizedRun {
        SizedRun {
            settings: self.settings.clone(),
            workload: self.workload.clone(),
            processors: self.processors,
        }
    }

    fn as_pattern_run(&self) -> PatternRun<'_> {
        PatternRun {
            classes: &self.classes,
            workload: &self.workload,
            settings: &self.settings,
        }
    }

    /// Whether another run has about the same settings: the ranks, and the parameters that both have.
    fn is_like(&self, other: &Self) -> bool {
        let shared = self.parameters.iter();
        let mut shared =
            shared.filter_map(|(key, value)| Some((value, other.parameters.get(key)?)));
        self.ranks == other.ranks && shared.all(|(value, other)| value == other)
    }

    fn total_s(&self) -> f64 {
        self.workload.recorded().wall_s
    }
}

/// Divides the ratios of each instance in some runs by their geometric mean.
fn take_common_out(times: &mut [RunTimes], runs: &[usize]) {
    let mut logs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (instance, time) in runs.iter().flat_map(|run| &times[*run]) {
        let of_instance = logs.entry(instance.clone()).or_default();
        of_instance.push(time.ratio.ln());
    }
    for run in runs {
        for (instance, time) in &mut times[*run] {
            let of_instance = &logs[instance];
            let mean = of_instance.iter().sum::<f64>() / of_instance.len() as f64;
            time.ratio /= mean.exp();
        }
    }
}

/// Processors of all machines that a run used.
fn processors(run: &Run) -> Option<u32> {
    let definitions = run.logs().iter().map(|log| &log.definitions().run);
    let by_host: BTreeMap<&str, u32> = definitions
        .map(|run| (run.host.as_str(), run.processors))
        .collect();
    let is_known = !by_host.is_empty() && by_host.values().all(|n| *n > 0);
    is_known.then(|| by_host.values().sum())
}
