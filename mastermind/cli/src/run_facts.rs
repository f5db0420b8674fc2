//! Reports on the completeness of a run, as sums over its logs: several processes that read a run together report it
//! once.
//!
//! [`open`] reports problems with the records before they are read, [`Lacking`] data missing from the result
//! afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mastermind_records::definition::UnmonitoredDefinition;
use mastermind_records::{Coverage, ProcessorTime, RecordsError, Run};
use serde::{Deserialize, Serialize};

use crate::commands::profile::{selected, warn_of_unmonitored};
use crate::run_notes::{self, Settings};
use crate::session::framework::Quiet;
use crate::session::team::Team;

/// Maximum number of methods that are named if calls have no record. Arbitrary: nobody reads more.
const MAX_METHODS: usize = 10;

/// How many calls have no record, for the line below a table.
///
/// # Arguments
/// * `damaged` - number of logs of which a part cannot be read
pub fn lost(lost: u64, damaged: u64) -> String {
    match damaged {
        0 => format!("{lost} lost"),
        1 => format!("{lost} lost and an unknown number in 1 damaged log"),
        n => format!("{lost} lost and an unknown number in {n} damaged logs"),
    }
}

/// Findings when the logs were opened.
#[derive(Default, Serialize, Deserialize)]
struct Opened {
    n_logs: usize,
    /// The programs that `wrap` has recorded, and their processes.
    programs: BTreeMap<String, BTreeSet<u32>>,
    unreadable: Vec<String>,
    damage: Vec<String>,
    dry: BTreeSet<String>,
}

impl Opened {
    /// # Arguments
    /// * `program` - the only one to keep
    fn of(run: &mut Run, program: Option<&str>) -> Self {
        let (n_logs, programs) = (run.logs().len(), run.processes_of_programs());
        if let Some(program) = program {
            run.keep_program(program);
        }
        Self {
            n_logs,
            programs,
            unreadable: run.unreadable().iter().map(ToString::to_string).collect(),
            damage: run.damage().map(ToString::to_string).collect(),
            dry: run.dry_methods(),
        }
    }

    fn add(&mut self, later: Self) {
        self.n_logs += later.n_logs;
        for (name, processes) in later.programs {
            self.programs.entry(name).or_default().extend(processes);
        }
        self.unreadable.extend(later.unreadable);
        self.damage.extend(later.damage);
        self.dry.extend(later.dry);
    }

    /// Reports the problems.
    ///
    /// # Errors
    /// There are no records that can be read, or none of the program.
    fn check(&self, directory: &Path, program: Option<&str>) -> anyhow::Result<()> {
        if self.n_logs == 0 {
            let why = self.unreadable.first();
            return Err(why.map_or_else(
                || {
                    let directory = directory.into();
                    RecordsError::NoLogs { directory }.into()
                },
                |why| anyhow::anyhow!("{why}"),
            ));
        }
        let programs = &self.programs;
        let list = || {
            let names = programs
                .iter()
                .map(|(name, processes)| match processes.len() {
                    1 => name.clone(),
                    n => format!("{name} ({n} processes)"),
                });
            names.collect::<Vec<_>>().join(", ")
        };
        match program {
            Some(program) if programs.is_empty() => anyhow::bail!(
                "cannot read records of program \"{program}\" in \"{}\": records of an assembly, expected those of mastermind wrap",
                directory.display()
            ),
            Some(program) if !programs.contains_key(program) => anyhow::bail!(
                "cannot read records of program \"{program}\" in \"{}\": none, expected one of {}",
                directory.display(),
                list()
            ),
            None if programs.len() > 1 => crate::output::complain!(
                "note: records of several programs together: {}; {}:PROGRAM stands for those of one",
                list(),
                directory.display()
            ),
            _ => {}
        }
        for wrong in self.unreadable.iter().chain(&self.damage) {
            crate::output::complain!("warning: {wrong}");
        }
        run_notes::warn_of_dry(&self.dry);
        Ok(())
    }
}

/// Opens a team's run, or one program's records of it ([`selected`]), each process its share; reports damage once.
/// Collective.
///
/// # Errors
/// There are no records; they cannot be read; there is no such program.
pub fn open(records: &Path, team: &Team) -> anyhow::Result<Run> {
    opened(records, team, false)
}

/// As [`open`], for a verb that only sums up the records ([`Run::open_for_sums`]). Collective.
///
/// # Errors
/// Those of [`open`].
pub fn open_for_sums(records: &Path, team: &Team) -> anyhow::Result<Run> {
    opened(records, team, true)
}

fn opened(records: &Path, team: &Team, is_for_sums: bool) -> anyhow::Result<Run> {
    let (directory, program) = selected(records);
    if directory.is_file() {
        anyhow::bail!(
            "cannot read records \"{}\": a file, expected a record directory; fit reads tables, and predict --against compares them with models",
            directory.display()
        );
    }
    let mut run = team.open(directory, is_for_sums)?;
    let opened = Opened::of(&mut run, program);
    let checked = match team.join(opened, Opened::add)? {
        Some(opened) => opened.check(directory, program),
        None => Ok(()),
    };
    team.first_decides(checked)?;
    Ok(run)
}

/// Calls of a run that are missing from a result, and other facts that a reader of its times must know.
#[derive(Default, Serialize, Deserialize)]
pub struct Lacking {
    /// Ranks that waited for a processor, and the one with the smallest share.
    waiting: (usize, Option<(u32, ProcessorTime)>),
    /// The distinct settings of each program.
    settings: BTreeMap<String, Vec<Settings>>,
    /// Logs that were cut while they were read.
    cut: Vec<String>,
    unmonitored: BTreeSet<UnmonitoredDefinition>,
    coverage: Coverage,
}

impl Lacking {
    /// Of a run whose records were read; without the methods of calls that have no record.
    pub fn of(run: &Run) -> Self {
        let cut = run.cut_logs().map(|log| log.path().display().to_string());
        Self {
            waiting: run_notes::waiting(run),
            settings: run_notes::settings_of_programs(run),
            cut: cut.collect(),
            unmonitored: run.unmonitored(),
            coverage: run.coverage_in_total(),
        }
    }

    /// Whether calls have no record, so that their methods should be added.
    pub fn asks_for_methods(&self) -> bool {
        self.coverage.all.without_record > 0
    }

    /// Adds the methods.
    pub fn add_methods(&mut self, run: &Run) {
        run.add_methods_to(&mut self.coverage);
    }

    /// Adds the missing data of the ranks behind.
    pub fn add(&mut self, later: Self) {
        let ((n, least), (more, other)) = (&mut self.waiting, later.waiting);
        *n += more;
        *least = least
            .take()
            .into_iter()
            .chain(other)
            .reduce(run_notes::least);
        for (program, runs) in later.settings {
            let own = self.settings.entry(program).or_default();
            for settings in runs {
                if !own.contains(&settings) {
                    own.push(settings);
                }
            }
        }
        self.cut.extend(later.cut);
        self.unmonitored.extend(later.unmonitored);
        self.coverage.add(later.coverage);
    }

    /// Reports which calls have no record, which records could not be read to their end, and other facts that a reader
    /// of the times must know ([`run_notes`]).
    ///
    /// # Arguments
    /// * `shown` - the effect on the output: `they are not in the figure`
    pub fn warn(mut self, shown: &str) {
        run_notes::warn_of_waiting_times(self.waiting);
        run_notes::note_unlike_programs(&self.settings);
        for log in &self.cut {
            eprintln!(
                "warning: cannot read record log \"{log}\" to its end: it was cut while it was read, expected it to stay; \
                 the result lacks some of its calls"
            );
        }
        warn_of_unmonitored(&self.unmonitored);
        self.coverage.keep_lacking();
        warn_of_coverage(self.coverage, shown);
    }
}

/// Reports the data missing from a team's result. Collective.
///
/// # Arguments
/// * `shown` - as of [`Lacking::warn`]
///
/// # Errors
/// MPI's.
pub fn warn_of_missing_records(run: &Run, shown: &str, team: &Team) -> anyhow::Result<()> {
    if let Some(whole) = lacking(run, team)? {
        whole.warn(shown);
    }
    Ok(())
}

/// The data missing from a team's result, of a run whose records were read. Collective.
///
/// # Returns
/// `None` on all processes except the first.
///
/// # Errors
/// MPI's.
pub fn lacking(run: &Run, team: &Team) -> anyhow::Result<Option<Lacking>> {
    let whole = team.join(Lacking::of(run), Lacking::add)?;
    let asks = team.give(whole.as_ref().map(Lacking::asks_for_methods))?;
    if !asks {
        return Ok(whole);
    }
    let mut own = Lacking::of(run);
    own.add_methods(run);
    team.join(own, Lacking::add)
}

fn warn_of_coverage(coverage: Coverage, shown: &str) {
    let (all, without) = (coverage.all.calls, coverage.all.without_record);
    if without == 0 {
        return;
    }
    let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    let mut reasons = Vec::from_iter(coverage.reasons).join("; ");
    if reasons.is_empty() {
        reasons = "the reason is not known".into();
    }
    eprintln!(
        "warning: {without} of {all} calls ({:.1} %) have no record: {reasons}; {shown}",
        percent(without, all)
    );
    let mut methods: Vec<_> = coverage.methods.into_iter().collect();
    methods.sort_by_key(|(_, method)| std::cmp::Reverse(method.without_record));
    for (name, method) in methods.iter().take(MAX_METHODS) {
        let (without, all) = (method.without_record, method.calls);
        eprintln!(
            "  {name}: {without} of {all} ({:.1} %)",
            percent(without, all)
        );
    }
    let named: u64 = methods
        .iter()
        .map(|(_, method)| method.without_record)
        .sum();
    if named < without {
        eprintln!("  {} of unknown methods", without - named);
    }
}

impl Team {
    /// Goes on, on all processes, if the first one has no error. Collective.
    ///
    /// # Errors
    /// The first process's; [`Quiet`] on the others.
    pub fn first_decides(&self, result: anyhow::Result<()>) -> anyhow::Result<()> {
        match self.give(self.is_first().then_some(result.is_ok()))? {
            true => Ok(()),
            false => Err(result.err().unwrap_or_else(|| anyhow::anyhow!(Quiet))),
        }
    }
}
