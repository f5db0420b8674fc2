//! How and on which machine this process was started, and its share of a processor: all read from the system, nothing
//! from the environment or the name service, since the process may be another's program.

use std::fs::{self, File};
use std::io::Read;
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

use mastermind_records::definition::{CircumstancesDefinition, EndDefinition};
use rustix::process::getuid;

/// Maximum bytes of a command line in the logs. The first piece of a log holds several such lines; Linux accepts
/// command lines of up to 2 MiB.
const MAX_COMMAND_BYTES: usize = 4096;

/// Bytes of `/proc/cpuinfo` that are read: they contain the first processor's model, and the kernel makes the rest only
/// on demand.
const MAX_MODEL_BYTES: u64 = 4096;

/// The circumstances of this process. Unknown facts are `None`.
///
/// # Arguments
/// * `first_argument` - index in the command line of the first argument of a wrapped program; `None` if it has none
/// * `mpi_library` - name and version of the MPI library
pub fn circumstances(
    first_argument: impl FnOnce(&[String]) -> Option<usize>,
    mpi_library: Option<String>,
) -> CircumstancesDefinition {
    let all = command();
    let first_argument = first_argument(&all).map(|place| place as u32);
    let mut n_bytes = 0;
    let fits = |word: &&String| {
        n_bytes += word.len();
        n_bytes <= MAX_COMMAND_BYTES
    };
    let command: Vec<_> = all.iter().take_while(fits).cloned().collect();
    CircumstancesDefinition {
        words_left_out: (all.len() - command.len()) as u32,
        command,
        first_argument,
        folder: std::env::current_dir()
            .ok()
            .map(|folder| folder.to_string_lossy().into_owned()),
        user: Some(user()),
        version: Some(env!("CARGO_PKG_VERSION").into()),
        mpi_library,
        processor: processor(),
        processors_usable: available_parallelism().ok().map(|n| n.get() as u32),
        load: load(),
    }
}

/// The end of this process's recording, at the present time, and its threads' processor times until then.
pub fn end() -> EndDefinition {
    let (running_ns, waiting_ns) = processor_time().unzip();
    EndDefinition {
        ended_unix_ns: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64),
        load: load(),
        running_ns,
        waiting_ns,
    }
}

/// The words of the command line.
fn command() -> Vec<String> {
    let line = fs::read("/proc/self/cmdline").unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    let words = line.split(|byte| *byte == 0);
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// Name of the user, or the number if the machine's own list does not contain it.
fn user() -> String {
    let number = getuid().as_raw();
    let list = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found: u32 = fields.nth(1)?.parse().ok()?;
        (found == number).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| number.to_string())
}

/// Model of the first processor.
fn processor() -> Option<String> {
    let mut text = Vec::new();
    let file = File::open("/proc/cpuinfo").ok()?;
    file.take(MAX_MODEL_BYTES).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    // PowerPC uses the second name.
    field("model name").or_else(|| field("cpu"))
}

/// The load average of the last minute.
fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// For the threads of this process that still live: the time for which they ran on a processor, and the time for which
/// they were ready and waited for one, nanoseconds. A thread that sleeps or is blocked does not wait for a processor.
///
/// # Source
/// Linux, Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`: time spent on the cpu, time spent waiting on a runqueue.
fn processor_time() -> Option<(u64, u64)> {
    let (mut running, mut waiting) = (0, 0);
    for task in fs::read_dir("/proc/self/task").ok()? {
        // A thread may end meanwhile.
        let Ok(text) = task.and_then(|task| fs::read_to_string(task.path().join("schedstat")))
        else {
            continue;
        };
        let mut numbers = text.split_whitespace().map(str::parse::<u64>);
        if let (Some(Ok(run)), Some(Ok(wait))) = (numbers.next(), numbers.next()) {
            running += run;
            waiting += wait;
        }
    }
    (running > 0).then_some((running, waiting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_how_it_was_started() {
        let found = circumstances(|words| Some(words.len()), None);
        assert!(!found.command.is_empty());
        assert_eq!(found.words_left_out, 0);
        assert_eq!(found.first_argument, Some(found.command.len() as u32));
        let folder = std::env::current_dir().unwrap();
        assert_eq!(found.folder.as_deref(), folder.to_str());
        assert!(found.user.is_some() && found.version.is_some() && found.load.is_some());
        assert!(end().ended_unix_ns > 0);
    }
}
