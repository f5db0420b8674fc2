//! Measurements from all sources: record directories, tables, files of Extra-P and of benchmark
//! programs.
//!
//! `fit`, `predict --against`, `plot --kind mean` and others take a list of inputs and do not care
//! what they are. This file decides for each input: a folder with logs is a run; a folder or file
//! of a known format is a table (CSV, Extra-P, benchmark programs); anything else is an error that
//! names the expected endings. It then passes every call to a `CallSink`, one at a time, so that no
//! input has to fit into memory.
//!
//! ```text
//! inputs ─ source ─┬─ Records(Run)   ─ samples ──────────────┐
//!                  └─ Tables(files)  ─ Survey: look, then read ┴─▶ CallSink: (method, coordinate, seconds)
//! ```
//!
//! Tables are read twice: the survey first finds out over all of them what they hold, such as the
//! parameters of each method, and reads their values in a second pass. Parsing is in
//! `mastermind-models`; only options, files and messages are here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use mastermind_component::samples;
use mastermind_models::{
    CallSink, Format, LeftOut, Metric, Samples, SetAside, Survey, TimeUnit, Wanted, metric_names,
};
use mastermind_records::{RecordsError, Run, holds_records};

use crate::by_settings::BySettings;
use crate::commands::profile;
use crate::criterion_folder;
use crate::session::team::Team;
use crate::{run_facts, run_notes};
use mastermind_component::names::{self, Names};

mod sampled;

pub use sampled::{of_run, read};

/// How inputs other than records are read.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Tables and Extra-P files")]
pub struct Reading {
    /// Format of the inputs that are files [default: by the ending: .csv, .tsv, .txt, .json, .jsonl, .extra-p]
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<FormatName>,
    /// Column, or metric of Extra-P's, with the time [default: the one called like the metric: wall_ns, time_us, time, ...]
    #[arg(long, value_name = "COLUMN")]
    time: Option<String>,
    /// Unit of times whose name has none: s, ms, us or ns
    #[arg(long, value_name = "UNIT", default_value = "s", value_parser = unit)]
    unit: TimeUnit,
    /// Columns that are the parameters, apart by commas [default: all that are no times, ranks, repetitions and the like]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    params: Vec<String>,
    /// Parameters whose numbers are labels, each a case of its own
    #[arg(long, value_name = "PARAMS", value_delimiter = ',')]
    labels: Vec<String>,
    /// Column with the name of the method [default: one called method, kernel, function, region or routine]
    #[arg(long, value_name = "COLUMN")]
    method_column: Option<String>,
    /// Settings of the runs that become parameters of their calls, apart by commas: INSTANCE.KEY, a NAME of wrap or run --set, arg:1 (the
    /// first argument of a wrapped program), or ranks
    #[arg(
        long,
        value_name = "SETTINGS",
        value_delimiter = ',',
        help_heading = "Records"
    )]
    by: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatName {
    /// Values apart by commas, semicolons or tabs
    Csv,
    /// Extra-P's text, or Talpas
    Extrap,
    /// Extra-P's JSON, or that of Google Benchmark, hyperfine, pytest-benchmark, pyperf or cargo criterion
    #[value(alias = "json")]
    ExtrapJson,
    /// Extra-P's JSON lines
    #[value(alias = "jsonl")]
    ExtrapJsonl,
    /// Extra-P's experiments
    ExtrapExperiment,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Csv => Format::Table,
            FormatName::Extrap => Format::ExtrapText,
            FormatName::ExtrapJson => Format::ExtrapJson,
            FormatName::ExtrapJsonl => Format::JsonLines,
            FormatName::ExtrapExperiment => Format::Experiment,
        }
    }
}

/// What of a call is fitted.
#[derive(Args, Clone)]
pub struct Measured {
    /// Which time, wall, inclusive, mpi or compute; or the name of a counter that was recorded, of a column or of a metric of Extra-P's.
    /// Wall time of records is without that of the measured calls made from it, the others are of the whole call
    /// [default: wall; fit takes every metric of a file of Extra-P's]
    #[arg(long, value_name = "NAME", value_parser = metric)]
    metric: Option<Metric>,
}

impl Measured {
    /// The chosen metric, wall time by default.
    pub fn metric(&self) -> Metric {
        self.metric.clone().unwrap_or(Metric::Wall)
    }
}

fn metric(text: &str) -> Result<Metric, String> {
    match text.trim() {
        "" => Err("expected wall, inclusive, mpi, compute or the name of a counter".into()),
        name => Ok(Metric::named(name)),
    }
}

fn unit(text: &str) -> Result<TimeUnit, String> {
    text.parse().map_err(|()| "expected s, ms, us or ns".into())
}

/// A file that holds measurements, or Criterion's folder.
struct Table {
    path: PathBuf,
    format: Format,
    /// The files of a folder, which are read one after the other; empty for a file.
    parts: Vec<PathBuf>,
}

/// A metric, its reading options, and the inputs that have it.
pub struct MetricOfInputs {
    pub metric: Metric,
    pub reading: Reading,
    pub inputs: Vec<PathBuf>,
}

/// The metrics to fit: the chosen one, by default wall time; if files of Extra-P's have several metrics, each of them.
///
/// # Errors
/// A file cannot be read.
pub fn metrics(
    inputs: &[PathBuf],
    reading: &Reading,
    measured: &Measured,
) -> anyhow::Result<Vec<MetricOfInputs>> {
    let only = |metric| MetricOfInputs {
        metric,
        reading: reading.clone(),
        inputs: inputs.to_vec(),
    };
    if measured.metric.is_some() || reading.time.is_some() {
        return Ok(vec![only(measured.metric())]);
    }
    // Name of a metric → the inputs that have it; records and tables have a single time.
    let mut named: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let mut unnamed = Vec::new();
    for input in inputs {
        let mut here = BTreeSet::new();
        let tables = match has_logs(input) {
            true => Vec::new(),
            false => match source(input, reading, &Team::alone())? {
                Source::Tables(tables) => tables,
                Source::Records(_) => Vec::new(),
            },
        };
        for table in &tables {
            here.extend(metric_names(&table.name(), table.format, table.open()?)?);
        }
        // An input with one metric has it under whatever name; it counts as wall time.
        if here.len() < 2 {
            unnamed.push(input.clone());
        }
        let several = here.into_iter().filter(|_| unnamed.last() != Some(input));
        several.for_each(|name| named.entry(name).or_default().push(input.clone()));
    }
    let mut list: Vec<MetricOfInputs> = Vec::new();
    if !unnamed.is_empty() {
        list.push(MetricOfInputs {
            inputs: unnamed,
            ..only(Metric::Wall)
        });
    }
    for (name, inputs) in named {
        let metric = Metric::called(&name);
        let with = |metric: Metric| MetricOfInputs {
            inputs: inputs.clone(),
            reading: Reading {
                time: metric.is_time().then(|| name.clone()),
                ..reading.clone()
            },
            metric,
        };
        // A second name of the same time is a metric of its own.
        match list.iter_mut().find(|known| known.metric == metric) {
            Some(known) if known.reading.time.is_none() => known.inputs.extend(inputs),
            Some(_) => list.push(with(Metric::named(&name))),
            None => list.push(with(metric)),
        }
    }
    Ok(list)
}

/// Prefix of the names of MPI's functions.
pub const MPI_METHODS: &str = "MPI::MPI.";

/// Checks that no input is named twice, since its calls would count twice.
fn check_once(inputs: &[PathBuf]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    // A missing file is reported when it is read.
    let places = inputs
        .iter()
        .map(|input| (input, input.canonicalize().ok()));
    for (input, place) in places {
        if place.is_some_and(|place| !seen.insert(place)) {
            bail!(
                "cannot read measurements \"{}\": named twice, expected each input once",
                input.display()
            );
        }
    }
    Ok(())
}

/// Gives all calls in all inputs to `sink`.
///
/// # Errors
/// An input is named twice, cannot be read, is empty, or has other parameters of a method than one before it.
pub fn each_call(
    inputs: &[PathBuf],
    reading: &Reading,
    metric: &Metric,
    sink: &mut impl CallSink,
) -> anyhow::Result<()> {
    check_once(inputs)?;
    let shown = ReadingProgress::new(true);
    let (mut tables, mut programs) = (Vec::new(), Vec::new());
    for input in inputs {
        match source(input, reading, &Team::alone())? {
            Source::Records(run) => {
                shown.reading(input);
                for run in run.by_arguments() {
                    if reading.by.is_empty() {
                        samples(&run, sink, metric)?;
                    } else {
                        let mut sink = BySettings::new(sink, &run, &reading.by)?;
                        samples(&run, &mut sink, metric)?;
                    }
                    profile::warn_of_missing_records(&run, MISSING);
                    programs.extend(run_notes::settings(&run));
                }
            }
            Source::Tables(found) => {
                check_no_setting(input, reading)?;
                tables.extend(found);
            }
        }
    }
    note_unlike(&programs, reading);
    each_call_of_tables(&tables, reading, metric, sink, &shown)
}

/// The effect of calls without a record on the output.
const MISSING: &str = "they are not in what follows";

/// Refuses tables if settings of runs are to be parameters.
fn check_no_setting(input: &Path, reading: &Reading) -> anyhow::Result<()> {
    if let Some(setting) = reading.by.first() {
        bail!(
            "cannot fit by \"{setting}\": \"{}\" is a file of measurements, which has no settings, expected records of \
             runs; a column of it is a parameter already",
            input.display()
        );
    }
    Ok(())
}

/// Notes that runs that are fitted together differ in their settings.
fn note_unlike(programs: &[run_notes::Settings], reading: &Reading) {
    let act = "their calls are fitted together";
    run_notes::note_unlike(programs, &reading.by, act, true);
}

fn each_call_of_tables(
    tables: &[Table],
    reading: &Reading,
    metric: &Metric,
    sink: &mut impl CallSink,
    shown: &ReadingProgress,
) -> anyhow::Result<()> {
    let wanted = Wanted {
        time: reading.time.clone(),
        unit: reading.unit,
        params: reading.params.clone(),
        labels: reading.labels.clone(),
        method: reading.method_column.clone(),
        ..Wanted::new(metric.clone())
    };
    let mut survey = Survey::default();
    for table in tables {
        shown.reading(&table.path);
        survey.look(&table.name(), table.format, table.open()?, &wanted)?;
    }
    survey.left_out().iter().for_each(note_left_out);
    for table in tables {
        shown.reading(&table.path);
        let aside = survey.read(&table.name(), table.format, table.open()?, &wanted, sink)?;
        aside.iter().for_each(warn_of);
    }
    Ok(())
}

enum Source {
    Records(Run),
    Tables(Vec<Table>),
}

/// Whether an input is a folder with logs, or a program of one.
fn has_logs(input: &Path) -> bool {
    let (folder, _) = profile::selected(input);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|path| holds_records(&path))
}

/// The type of an input: a folder with logs, of which each process of a team opens its share; a folder with files of a
/// known format; or such a file. Collective.
fn source(input: &Path, reading: &Reading, team: &Team) -> anyhow::Result<Source> {
    let (folder, program) = profile::selected(input);
    let failed = || format!("cannot read measurements \"{}\"", input.display());
    if !folder.is_dir() {
        fs::metadata(input).with_context(failed)?;
        return Ok(Source::Tables(vec![Table::new(input, reading)?]));
    }
    // A folder is a run if it has logs. If it has none, the error of a run is kept for the case
    // that it has no tables either.
    let error = match run_facts::open(input, team) {
        Ok(run) => return Ok(Source::Records(run)),
        Err(error) => error,
    };
    let has_no_logs = matches!(error.downcast_ref(), Some(RecordsError::NoLogs { .. }));
    if !has_no_logs || program.is_some() {
        return Err(error);
    }
    let parts = criterion_folder::files(input).with_context(failed)?;
    if !parts.is_empty() {
        return Ok(Source::Tables(vec![Table {
            path: input.to_owned(),
            format: Format::Criterion,
            parts,
        }]));
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(input).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.is_file() && format(&path).is_some() {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(error);
    }
    paths.sort();
    let tables = paths.iter().map(|path| Table::new(path, reading));
    Ok(Source::Tables(tables.collect::<anyhow::Result<_>>()?))
}

fn format(path: &Path) -> Option<Format> {
    Format::of_name(path.file_name()?.to_str()?)
}

impl Table {
    fn new(path: &Path, reading: &Reading) -> anyhow::Result<Self> {
        let parts = criterion_folder::pair(path);
        if !parts.is_empty() {
            return Ok(Table {
                path: path.to_owned(),
                format: Format::Criterion,
                parts,
            });
        }
        let format = reading.from.map(Format::from).or_else(|| format(path));
        let format = format.ok_or_else(|| {
            anyhow!(
                "cannot read measurements \"{}\": an ending of no known format, expected .csv, .tsv, .txt, .json, .jsonl or .extra-p; \
                 name it with --from",
                path.display()
            )
        })?;
        Ok(Table {
            path: path.to_owned(),
            format,
            parts,
        })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn open(&self) -> anyhow::Result<Box<dyn Read>> {
        let failed = |path: &Path| format!("cannot read measurements \"{}\"", path.display());
        if self.parts.is_empty() {
            let file = File::open(&self.path).with_context(|| failed(&self.path))?;
            return Ok(Box::new(file));
        }
        let mut bytes = Vec::new();
        for part in &self.parts {
            let mut file = File::open(part).with_context(|| failed(part))?;
            file.read_to_end(&mut bytes).with_context(|| failed(part))?;
        }
        Ok(Box::new(std::io::Cursor::new(bytes)))
    }
}

fn warn_of(aside: &SetAside) {
    crate::output::complain!("warning: set aside {aside}");
}

fn note_left_out(left_out: &LeftOut) {
    let LeftOut { input, columns } = left_out;
    let names: Vec<_> = columns.iter().map(|name| format!("\"{name}\"")).collect();
    let (is, it) = match names.as_slice() {
        [_] => ("column", "is not a parameter; lines that differ only in it"),
        _ => (
            "columns",
            "are not parameters; lines that differ only in them",
        ),
    };
    crate::output::complain!(
        "note: {is} {} of \"{}\" {it} are repetitions of one call; --params names the parameters",
        crate::output::shown(&names.join(", ")),
        crate::output::shown(input),
    );
}

/// The file that is being read, shown on standard error if that is a terminal.
struct ReadingProgress(ProgressBar);

impl ReadingProgress {
    /// # Arguments
    /// * `is_first` - whether this is the process that prints
    fn new(is_first: bool) -> Self {
        let bar = if is_first && crate::output::shows_progress() {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("[{elapsed_precise}] {msg}") {
            bar.set_style(style);
        }
        ReadingProgress(bar)
    }

    fn reading(&self, path: &Path) {
        self.0.set_message(format!("reading {}", path.display()));
        self.0.tick();
    }
}

impl Drop for ReadingProgress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Keeps the methods that a name means: one whole name, or the end of several names, including the names in the runs of
/// the inputs.
///
/// # Errors
/// It means no method, or there are no methods at all.
pub fn select(
    mut found: Vec<Samples>,
    name: Option<&str>,
    metric: &Metric,
    inputs: &[PathBuf],
) -> anyhow::Result<Vec<Samples>> {
    if found.is_empty() {
        bail!(
            "cannot fit {}: none recorded, expected calls that have it",
            metric.quantity()
        );
    }
    let Some(name) = name else {
        return Ok(found);
    };
    let known = || found.iter().map(|samples| Names::of_model(&samples.method));
    let mut known: Vec<_> = known().collect();
    // Opening the runs again is only needed for a name of theirs, INSTANCE.PORT.METHOD.
    if names::meant(name, &known).is_empty() {
        let runs: Vec<_> = inputs
            .iter()
            .filter_map(|input| Run::open(input).ok())
            .collect();
        let with_runs = |names: Names| runs.iter().fold(names, Names::and_of_run);
        known = known.into_iter().map(with_runs).collect();
    }
    let meant = names::meant(name, &known);
    if meant.is_empty() {
        return Err(names::unknown("fit", name, "no calls recorded", &known).into());
    }
    let mut place = 0;
    found.retain(|_| {
        place += 1;
        meant.contains(&(place - 1))
    });
    Ok(found)
}
