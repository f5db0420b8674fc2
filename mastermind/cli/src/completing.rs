//! Shell completion: names from the files on the same command line.
//!
//! The script of `mastermind completions SHELL` calls this program with the words so far; the variable [`VARIABLE`]
//! holds the name of the shell. clap's engine completes verbs and options, and [`completed`] defines where names come
//! from:
//!
//! * methods (`--method`): of the record directories and files of models on the line;
//! * instances, and classes that may take their place (`--set`, `--replace`): of the assembly on the line, which is
//!   only read;
//! * classes (`describe`): of the installed libraries, as `mastermind list` finds them in a process of its own;
//! * record directories: those in the folder that is being typed, before other folders.
//!
//! Completion prints no errors: a file that cannot be read has no names.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use mastermind_component::names::Names;
use mastermind_records::Run;
use serde_json::Value;

/// The variable that names the asking shell.
const VARIABLE: &str = "MASTERMIND_COMPLETE";

/// Maximum number of logs of a run that are opened for names of methods: all ranks call the same.
const MAX_LOGS: usize = 16;

/// Endings of files of records: logs, and containers of them.
const RECORDS: [&str; 2] = ["mmr", "mmp"];

/// Answers and ends the process, if a shell started this program for completions.
pub fn answer(command: fn() -> Command) {
    let environment = CompleteEnv::with_factory(move || completed(command()));
    environment.var(VARIABLE).bin("mastermind").complete();
}

/// The script that a shell reads.
///
/// # Errors
/// The shell is none of those that [`clap_complete::Shell`] names.
pub fn script(shell: &str) -> std::io::Result<String> {
    let shells = Shells::builtins();
    let unknown = || std::io::Error::other(format!("no completions for {shell}"));
    let completer = shells.completer(shell).ok_or_else(unknown)?;
    let mut text = Vec::new();
    completer.write_registration(
        VARIABLE,
        "mastermind",
        "mastermind",
        "mastermind",
        &mut text,
    )?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The command with the completers of its values.
fn completed(command: Command) -> Command {
    command.mut_subcommands(|verb| {
        let is_describe = verb.get_name() == "describe";
        verb.mut_args(|argument| {
            let of_values = argument.get_value_names().unwrap_or_default();
            let is_folder = of_values
                .iter()
                .any(|name| ["DIR", "RECORDS"].contains(&name.as_str()));
            match argument.get_long() {
                Some("method") => argument.add(ArgValueCompleter::new(methods)),
                Some("replace") => argument.add(ArgValueCompleter::new(replacements)),
                Some("set") => argument.add(ArgValueCompleter::new(settings)),
                Some("records") | None if is_folder => {
                    argument.add(ArgValueCompleter::new(record_folders))
                }
                None if is_describe => argument.add(ArgValueCompleter::new(classes)),
                _ => argument,
            }
        })
    })
}

/// The candidates that continue the typed text.
fn matching(typed: &OsStr, names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let names: BTreeSet<_> = names.into_iter().collect();
    let fits = |name: &String| name.starts_with(&*typed);
    names
        .into_iter()
        .filter(fits)
        .map(CompletionCandidate::new)
        .collect()
}

/// The words of the line that name existing files.
fn paths_on_the_line() -> Vec<PathBuf> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(2);
    words
        .map(PathBuf::from)
        .filter(|path| path.exists())
        .collect()
}

fn methods(typed: &OsStr) -> Vec<CompletionCandidate> {
    let names = paths_on_the_line()
        .into_iter()
        .flat_map(|path| match path.is_dir() {
            true => methods_of_run(&path),
            false => methods_of_models(&path),
        });
    matching(typed, names)
}

fn methods_of_run(folder: &Path) -> Vec<String> {
    let Ok(run) = Run::open_ranks(folder, &(0..MAX_LOGS as u64), false) else {
        return Vec::new();
    };
    let methods = run
        .logs()
        .iter()
        .flat_map(|log| log.definitions().methods());
    methods
        .map(|method| Names::of_run(method).shown().to_owned())
        .collect()
}

/// The output of `fit -o` has a list of models, each with its method.
fn methods_of_models(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let models: Value = serde_json::from_str(&text).unwrap_or_default();
    let models = models["models"].as_array().cloned().unwrap_or_default();
    let method = |model: &Value| model["method"].as_str().map(str::to_owned);
    models.iter().filter_map(method).collect()
}

/// The tables of the assembly on the line.
fn assembly() -> Option<toml::Table> {
    let texts = paths_on_the_line()
        .into_iter()
        .filter_map(|path| std::fs::read_to_string(path).ok());
    let mut tables = texts.filter_map(|text| text.parse::<toml::Table>().ok());
    tables.find(|table| table.contains_key("instances"))
}

/// `INSTANCE=CLASS`: the alternatives of an instance, or the instance with an equals sign, to be continued.
fn replacements(typed: &OsStr) -> Vec<CompletionCandidate> {
    let assembly = assembly().unwrap_or_default();
    matching(typed, replacements_in(&assembly))
}

fn replacements_in(assembly: &toml::Table) -> Vec<String> {
    let table = |name: &str| assembly.get(name).and_then(toml::Value::as_table);
    let mut names = Vec::new();
    for instance in table("instances").into_iter().flat_map(toml::Table::keys) {
        let classes = table("alternatives").and_then(|all| all.get(instance)?.as_array());
        let classes = classes
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_str);
        let before = names.len();
        names.extend(classes.map(|class| format!("{instance}={class}")));
        if names.len() == before {
            names.push(format!("{instance}="));
        }
    }
    names
}

/// `INSTANCE.KEY=`: the parameters that the assembly sets, and each instance with a point, to be continued.
fn settings(typed: &OsStr) -> Vec<CompletionCandidate> {
    let assembly = assembly().unwrap_or_default();
    matching(typed, settings_in(&assembly))
}

fn settings_in(assembly: &toml::Table) -> Vec<String> {
    let table = |name: &str| assembly.get(name).and_then(toml::Value::as_table);
    let instances = table("instances").into_iter().flat_map(toml::Table::keys);
    let mut names: Vec<_> = instances.map(|instance| format!("{instance}.")).collect();
    for (instance, keys) in table("parameters").into_iter().flatten() {
        let keys = keys.as_table().into_iter().flat_map(toml::Table::keys);
        names.extend(keys.map(|key| format!("{instance}.{key}=")));
    }
    names
}

fn classes(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Ok(own) = std::env::current_exe() else {
        return Vec::new();
    };
    let mut list = Process::new(own);
    list.args(["list", "--json"])
        .env_remove(VARIABLE)
        .stderr(Stdio::null());
    let printed = list
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    let listed: Value = serde_json::from_slice(&printed).unwrap_or_default();
    let mut names = Vec::new();
    named_classes(&listed, &mut names);
    matching(typed, names)
}

/// The classes in the document of `list`, at any depth.
fn named_classes(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| named_classes(item, names)),
        Value::Object(fields) => {
            names.extend(
                fields
                    .get("class")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            fields
                .values()
                .for_each(|field| named_classes(field, names));
        }
        _ => {}
    }
}

/// The folders below the typed path; if some are record directories, only these.
fn record_folders(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let parent = typed.rsplit_once('/').map_or("", |(parent, _)| parent);
    let place = match (parent, typed.starts_with('/')) {
        ("", true) => Path::new("/"),
        ("", false) => Path::new("."),
        (parent, _) => Path::new(parent),
    };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let start = &typed[..typed.len() - typed.rsplit('/').next().map_or(0, str::len)];
    let named = folders.map(|entry| {
        let name = format!("{start}{}", entry.file_name().to_string_lossy());
        (name, holds_records(&entry.path()))
    });
    let fits = |(name, _): &(String, bool)| {
        name.starts_with(&*typed) && !name[start.len()..].starts_with('.')
    };
    let mut named: Vec<_> = named.filter(fits).collect();
    if named.iter().any(|(_, holds)| *holds) {
        named.retain(|(_, holds)| *holds);
    }
    named.sort();
    let candidates = named.into_iter().map(|(name, holds)| match holds {
        true => CompletionCandidate::new(name),
        false => CompletionCandidate::new(format!("{name}/")),
    });
    candidates.collect()
}

fn holds_records(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut endings =
        entries.filter_map(|entry| Some(entry.path().extension()?.to_str()?.to_owned()));
    endings.any(|ending| RECORDS.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "[instances]\nflux = \"a.B\"\ndriver = \"a.C\"\n[parameters.driver]\nend_time = 1.0\n[alternatives]\nflux = [\"a.B\", \"a.D\"]\n";

    #[test]
    fn names_of_an_assembly_are_completed() {
        let assembly: toml::Table = ASSEMBLY.parse().expect("TOML");
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        assert_eq!(
            sorted(replacements_in(&assembly)),
            ["driver=", "flux=a.B", "flux=a.D"]
        );
        assert_eq!(
            sorted(settings_in(&assembly)),
            ["driver.", "driver.end_time=", "flux."]
        );
    }

    #[test]
    fn each_shell_has_a_script() {
        for shell in <clap_complete::Shell as clap::ValueEnum>::value_variants() {
            let text = script(&shell.to_string()).expect("a script");
            assert!(
                text.contains(VARIABLE) && text.contains("mastermind"),
                "{text}"
            );
        }
    }
}
