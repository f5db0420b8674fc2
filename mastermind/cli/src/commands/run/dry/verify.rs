//! `run --dry --verify`: whether the calls and messages of a program depend on the outputs of the methods that a dry
//! run leaves out.
//!
//! Three runs, each a process of its own: with everything, with the outputs of the methods left unchanged, and with NaN
//! in place of every real number among them. The calls of each are compared with those of the first, rank by rank, with
//! their parameters and, on several ranks, their messages. Calls that the methods themselves would make are ignored. If
//! NaN makes a difference, each method is tried alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use mastermind_records::{Log, Record, Records, Run};
use mastermind_replay::is_communication;

use super::{Dry, DryArguments, POISONED};
use crate::session::back_end;
use crate::{beside_logs, output};

/// How many times as long as the full run another one may take before it is ended: one that waits for a value that
/// never comes would run for ever. Arbitrary; a dry run takes less than the full run.
const MAX_TIMES_AS_LONG: u32 = 10;

/// Minimum time before a run is ended: a loaded machine starts a program in less.
const MIN_LIMIT: Duration = Duration::from_secs(30);

/// Time between two checks whether a run has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The result of a run.
struct Outcome {
    /// Why it failed, if it did.
    failure: Option<String>,
    seconds: Duration,
}

/// The first call that differs.
struct Difference {
    rank: u32,
    /// Its number among the rank's, from 1.
    nth: u64,
    what: String,
}

impl Dry {
    /// Runs three times and compares.
    ///
    /// # Arguments
    /// * `words` - the assembly and the options of all three runs
    ///
    /// # Returns
    /// Whether nothing depends on the methods, as an exit code.
    ///
    /// # Errors
    /// A launcher has started this process; the run with everything fails.
    pub fn verify(&self, arguments: &DryArguments, words: &[OsString]) -> anyhow::Result<ExitCode> {
        if back_end::launcher()?.is_some() {
            bail!(
                "cannot verify a dry run in a rank, which starts once: expected --ranks, not a launcher"
            );
        }
        let Some(models) = &arguments.dry else {
            bail!("cannot verify: no dry run, expected --dry MODELS");
        };
        let folder = tempfile::tempdir().context("cannot make a folder for records")?;
        let real = folder.path().join("real");
        let outcome = run(words, &[], &real, None)?;
        if let Some(failure) = outcome.failure {
            bail!("cannot verify a dry run: the run with everything failed: {failure}");
        }
        let most = (outcome.seconds * MAX_TIMES_AS_LONG).max(MIN_LIMIT);
        let names = self.names();
        let dry_words = |names: &[String], poisons: bool| {
            let mut words: Vec<OsString> = vec!["--dry".into(), models.into()];
            for name in names {
                words.extend(["--dry-method".into(), name.into()]);
            }
            words.push("--dry-only".into());
            words.extend(poisons.then(|| "--dry-poison".into()));
            words
        };
        let compared = |names: &[String], poisons: bool, folder: &Path| {
            let outcome = run(words, &dry_words(names, poisons), folder, Some(most))?;
            let difference = compare(&real, folder, names, self)?;
            Ok::<_, anyhow::Error>(difference.map(|difference| (difference, outcome.failure)))
        };
        let n_calls = Run::open(&real)?.n_records();
        output::line(format!(
            "{} left out; with everything the run made {n_calls} calls",
            names.join(", ")
        ));
        let left = compared(&names, false, &folder.path().join("left"))?;
        if left.is_some() {
            let again = folder.path().join("again");
            run(words, &[], &again, Some(most))?;
            if let Some(Difference { rank, nth, what }) = compare(&real, &again, &names, self)? {
                bail!(
                    "cannot verify a dry run: two runs with everything differ in call {nth} of rank {rank}: {what}, expected the same calls"
                );
            }
        }
        print_difference("outputs left as they are", left.as_ref());
        let poisoned_folder = folder.path().join("poisoned");
        let poisoned = compared(&names, true, &poisoned_folder)?;
        print_difference("real numbers among the outputs NaN", poisoned.as_ref());
        let counts: BTreeMap<String, u64> =
            beside_logs::read(&poisoned_folder, POISONED).unwrap_or_default();
        for name in names.iter().filter(|name| counts.get(*name) == Some(&0)) {
            output::complain!(
                "warning: no output of {name} could be made NaN, so that it is not known whether the program decides by it; a struct with \
                 an array to write to implements cca_ports::Poison"
            );
        }
        if poisoned.is_some() && names.len() > 1 {
            for (place, name) in names.iter().enumerate() {
                let folder = folder.path().join(format!("alone{place}"));
                let alone = compared(std::slice::from_ref(name), true, &folder)?;
                print_difference(&format!("those of {name} alone NaN"), alone.as_ref());
            }
        }
        Ok(match (left, poisoned) {
            (None, None) => {
                output::line("what is called and sent does not depend on them");
                ExitCode::SUCCESS
            }
            (None, Some(_)) => {
                output::line(
                    "the program uses what they give, but calls and sends the same with the outputs as they are: of this run, a dry run \
                     predicts the calls; of another one that is not known",
                );
                ExitCode::FAILURE
            }
            (Some(_), _) => {
                output::line(
                    "what is called and sent depends on them: a dry run predicts other calls",
                );
                ExitCode::FAILURE
            }
        })
    }
}

fn print_difference(what: &str, difference: Option<&(Difference, Option<String>)>) {
    let Some((
        Difference {
            rank,
            nth,
            what: how,
        },
        failure,
    )) = difference
    else {
        return output::line(format!("{what}: the same calls"));
    };
    output::line(format!("{what}: call {nth} of rank {rank} differs: {how}"));
    if let Some(failure) = failure {
        output::line(format!("  the run failed: {failure}"));
    }
}

/// Runs this program.
///
/// # Arguments
/// * `most` - how long it may take
fn run(
    words: &[OsString],
    more: &[OsString],
    records: &Path,
    most: Option<Duration>,
) -> anyhow::Result<Outcome> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(own);
    command.arg("run").args(words).args(more);
    command.arg("--records").arg(records);
    let said = tempfile::NamedTempFile::new().context("cannot make a file for messages")?;
    let errors = said.reopen().context("cannot open a file for messages")?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors);
    let started = Instant::now();
    let mut child = command.spawn().context("cannot start this program")?;
    let failure = match wait(&mut child, most)? {
        None => Some(format!(
            "it did not end in {:.0} s, and was ended",
            started.elapsed().as_secs_f64()
        )),
        Some(true) => None,
        Some(false) => {
            let text = std::fs::read(said.path()).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            // The first line says that the run was dry.
            let errors: Vec<_> = lines
                .skip_while(|line| !line.starts_with("error: "))
                .collect();
            Some(errors.last().copied().unwrap_or("no message").to_owned())
        }
    };
    Ok(Outcome {
        failure,
        seconds: started.elapsed(),
    })
}

/// Waits for a program.
///
/// # Returns
/// Whether it ended well; `None` if it was ended because it took too long.
fn wait(child: &mut Child, most: Option<Duration>) -> anyhow::Result<Option<bool>> {
    let Some(most) = most else {
        return Ok(Some(child.wait()?.success()));
    };
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if started.elapsed() > most {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(POLL_INTERVAL);
    }
}

/// The calls of a log that a dry run makes too: those outside the methods that it leaves out. Calls of MPI that wait or
/// poll for messages are omitted, since their order is chance, and so are the framework's own calls.
struct Calls<'a> {
    log: &'a Log,
    records: Records<'a>,
    /// By call path, whether a method that is left out is around it.
    is_inside: Vec<bool>,
}

impl<'a> Calls<'a> {
    fn new(log: &'a Log, dry: &[String]) -> Self {
        let definitions = log.definitions();
        let mut is_inside = vec![false];
        for path in definitions.call_paths() {
            let of_parent = is_inside.get(path.parent as usize).copied();
            let parent = definitions.method_of(path.parent);
            let is_dry = parent.is_some_and(|method| dry.contains(&full_name(method)));
            let place = path.id as usize;
            if is_inside.len() <= place {
                is_inside.resize(place + 1, false);
            }
            is_inside[place] = is_dry || of_parent.unwrap_or(false);
        }
        Calls {
            log,
            records: log.records(),
            is_inside,
        }
    }

    fn next(&mut self) -> Option<Record<'a>> {
        loop {
            let record = self.records.next()?;
            let is_inside = self.is_inside.get(record.call_path as usize) == Some(&true);
            let completes = |name: &str| {
                let prefixes = [
                    "MPI_Wait",
                    "MPI_Test",
                    "MPI_Probe",
                    "MPI_Iprobe",
                    "MPI_Mprobe",
                    "MPI_Improbe",
                ];
                prefixes.iter().any(|kind| name.starts_with(kind))
            };
            let is_chance = record.method.is_mpi()
                && (record.calls() != 1
                    || record.parent_seq.is_none()
                    || record.method.is_mpi_part()
                    || !is_communication(&record.method.method)
                    || completes(&record.method.method));
            if !is_inside && !is_chance {
                return Some(record);
            }
        }
    }

    /// The call with its parameters, and whether it failed.
    fn shown(&self, record: &Record<'_>) -> String {
        let parameters = parameters(record).map(|(name, value)| format!("{name}={value}"));
        let parameters: Vec<_> = parameters.collect();
        let failed = if record.failed { " failed" } else { "" };
        let path = self.log.definitions().call_path_name(record.call_path);
        format!("{path}({}){failed}", parameters.join(", "))
    }
}

fn full_name(method: &mastermind_records::definition::MethodDefinition) -> String {
    format!("{}.{}.{}", method.instance, method.port, method.method)
}

/// Names and values of the parameters that define the operation and its peer, but not the request or an address in
/// memory.
fn parameters<'r>(record: &'r Record<'_>) -> impl Iterator<Item = (&'r str, f64)> {
    let method = record.method;
    let is_meant = |name: &str| name == "peer" || name == "tag";
    let all = method.parameters.iter().zip(record.parameters());
    all.filter(move |(definition, _)| definition.is_size() || is_meant(&definition.name))
        .map(|(definition, value)| (definition.name.as_str(), value.as_f64()))
}

/// Whether two calls are of the same method, with the same parameters and outcome. For a method that is left out, its
/// return value is no parameter of its own call.
fn is_same(one: &Record<'_>, other: &Record<'_>, returns: impl Fn(&str) -> bool) -> bool {
    let name = full_name(one.method);
    name == full_name(other.method)
        && one.failed == other.failed
        && (returns(&name)
            || parameters(one)
                .zip(parameters(other))
                .all(|((_, one), (_, other))| one.to_bits() == other.to_bits()))
}

/// The first call of a dry run that differs from the run with everything.
fn compare(
    real: &Path,
    dry_run: &Path,
    names: &[String],
    dry: &Dry,
) -> anyhow::Result<Option<Difference>> {
    let real = Run::open(real)?;
    let other = match Run::open(dry_run) {
        Ok(run) => run,
        Err(error) => {
            return Ok(Some(Difference {
                rank: 0,
                nth: 1,
                what: error.to_string(),
            }));
        }
    };
    let returns = |name: &str| names.iter().any(|known| known == name) && dry.returns(name);
    for rank in real.ranks() {
        let mut nth = 0;
        let mut others = other.logs_of(rank);
        for (log, _) in real.logs_of(rank) {
            let mut calls = Calls::new(log, names);
            let Some((other, _)) = others.next() else {
                let what = "its thread made no calls".into();
                return Ok(Some(Difference {
                    rank,
                    nth: nth + 1,
                    what,
                }));
            };
            let mut other_calls = Calls::new(other, names);
            loop {
                nth += 1;
                let what = match (calls.next(), other_calls.next()) {
                    (None, None) => break,
                    (Some(one), Some(other)) if is_same(&one, &other, returns) => continue,
                    (Some(one), Some(other)) => {
                        let (one, other) = (calls.shown(&one), other_calls.shown(&other));
                        format!("{other}, with everything {one}")
                    }
                    (Some(one), None) => format!("none, with everything {}", calls.shown(&one)),
                    (None, Some(other)) => {
                        format!("{}, with everything none", other_calls.shown(&other))
                    }
                };
                return Ok(Some(Difference { rank, nth, what }));
            }
            // The end of a log is no call.
            nth -= 1;
        }
    }
    Ok(None)
}
