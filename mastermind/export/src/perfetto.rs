//! Records as a trace in Chrome's JSON format.

use std::io::Write;
use std::path::Path;

use mastermind_records::{Log, Record, Run, Value};
use serde_json::{Map, Number, json};

use crate::error::ExportError;

/// Writes all records of a run as complete events, a process a rank and a thread a log, for Perfetto or
/// `chrome://tracing`.
///
/// Times are microseconds since the earliest rank began. Ranks of one machine share its clock; those of several are
/// aligned by their clocks' date, as well as those agree.
///
/// # Arguments
/// * `path`, `out` - where it goes, and its name for errors
///
/// # Errors
/// [`ExportError::Io`].
///
/// # Source
/// Trace Event Format, the `X` and `M` phases.
pub fn write_perfetto(run: &Run, path: &Path, out: impl Write) -> Result<(), ExportError> {
    write(run, out).map_err(ExportError::io(path))
}

fn write(run: &Run, mut out: impl Write) -> std::io::Result<()> {
    let begins = Begins::new(run);
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut comma = "";
    for rank in run.ranks() {
        let name = json!({"name": "process_name", "ph": "M", "pid": rank, "args": {"name": format!("rank {rank}")}});
        write!(out, "{comma}\n{name}")?;
        comma = ",";
        for (log, _) in run.logs_of(rank) {
            let begin_ns = begins.of(log);
            for record in log.records() {
                write!(out, ",\n{}", event(&record, begin_ns, log))?;
            }
        }
    }
    writeln!(out, "\n]}}")?;
    out.flush()
}

fn event(record: &Record<'_>, begin_ns: u64, log: &Log) -> serde_json::Value {
    let identity = log.identity();
    let mut arguments = Map::new();
    for (parameter, value) in record.method.parameters.iter().zip(record.parameters()) {
        let value = match value {
            Value::Integer(value) => json!(value),
            Value::Real(value) => {
                Number::from_f64(value).map_or(json!(value.to_string()), Into::into)
            }
            Value::Label(_, Some(label)) => json!(label),
            Value::Label(word, None) => json!(word),
        };
        arguments.insert(parameter.name.clone(), value);
    }
    for (counter, value) in record.method.counters.iter().zip(record.counters()) {
        if let Some(value) = value {
            arguments.insert(counter.name.clone(), json!(value));
        }
    }
    if let Some(mpi_ns) = record.mpi_ns {
        arguments.insert("mpi_ns".into(), json!(mpi_ns));
    }
    if record.failed {
        arguments.insert("failed".into(), json!(true));
    }
    json!({
        "name": record.method.name(),
        "cat": record.method.class,
        "ph": "X",
        "ts": (begin_ns + record.start_ns) as f64 * 1e-3,
        "dur": record.wall_ns as f64 * 1e-3,
        "pid": identity.rank,
        "tid": identity.thread,
        "args": arguments,
    })
}

/// When the ranks began, on one clock.
struct Begins {
    one_machine: bool,
    first_ns: u64,
}

impl Begins {
    fn new(run: &Run) -> Self {
        let hosts = run.logs().iter().map(|log| &log.definitions().run.host);
        let one_machine = hosts.clone().all(|host| Some(host) == hosts.clone().next());
        let mut begins = Begins {
            one_machine,
            first_ns: 0,
        };
        let all = run.logs().iter().map(|log| begins.of(log));
        begins.first_ns = all.min().unwrap_or(0);
        begins
    }

    /// Nanoseconds from the earliest begin to this log's.
    fn of(&self, log: &Log) -> u64 {
        let begin = if self.one_machine {
            log.time().start().ns
        } else {
            log.definitions().run.started_unix_ns
        };
        begin.saturating_sub(self.first_ns)
    }
}
