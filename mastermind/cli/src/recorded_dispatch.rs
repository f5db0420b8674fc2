//! The code that the libraries of a run chose for the processor. `wrap` and `run` store it next to the logs, and the
//! verbs that show a run say if a library has a newer variant.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mastermind_machine::dispatch::{Dispatch, Library};

use crate::session::{asking, summing};
use crate::{beside_logs, errors};

/// Name of the file in the record directory.
pub const FILE: &str = "dispatch.json";

/// Asks the libraries of a run that has ended, stores their answers next to its logs, and reports possible
/// improvements.
///
/// # Arguments
/// * `directory` - of the logs; `None` if there are none
/// * `objects` - files that the program had mapped
pub fn leave(directory: Option<&Path>, objects: impl IntoIterator<Item = PathBuf>) {
    let found = asking::dispatch_of(objects);
    if let Some(directory) = directory {
        let act = || format!("cannot write into \"{}\"", directory.display());
        if let Err(error) = beside_logs::write(directory, FILE, Some(&found)).with_context(act) {
            let error = error.context("the code that its libraries ran is not kept");
            crate::output::complain!("{}", errors::warning(&error));
        }
    }
    note(&found);
}

/// The stored answers; `None` if there are none.
pub fn read(records: &Path) -> Option<Dispatch> {
    beside_logs::read(records, FILE).or_else(|| {
        let (directory, _) = crate::commands::profile::selected(records);
        summing::taken_in(directory, summing::DISPATCH)
    })
}

/// Notes each library that has code for newer instructions of the processor.
pub fn note(found: &Dispatch) {
    for library in &found.libraries {
        if let Some(advice) = advice(library, found) {
            crate::output::complain!("note: {}, {advice}", running(library));
        }
    }
}

/// The name of a library and of the code that it runs.
pub fn running(library: &Library) -> String {
    let version = library.answer.version.as_ref();
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    let needs = library.answer.level.map(|level| level.name());
    let needs = needs.filter(|name| *name != library.answer.code);
    let needs = needs.map_or_else(String::new, |name| format!(" ({name})"));
    format!(
        "{} ({}{version}) runs its code {}{needs}",
        library.file(),
        library.name,
        library.answer.code
    )
}

/// Advice on a better variant; `None` if the library runs the best known one.
pub fn advice(library: &Library, of: &Dispatch) -> Option<String> {
    let other = library.other.as_ref()?;
    let offered = of.offered?;
    Some(format!(
        "and this processor has {}: {variable}={value} has it run {}; --try {variable}={value} of run and wrap times both",
        offered.name(),
        other.answer.code,
        variable = other.variable,
        value = other.value,
    ))
}

/// The libraries and their code, line by line.
pub fn rows(found: &Dispatch) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let libraries = found.libraries.iter();
    for library in libraries.filter(|library| library.is_worth_a_line(found.offered)) {
        let threads = library.answer.threads;
        let threads = threads.map_or_else(String::new, |n| format!(" in {n} threads"));
        let advice = advice(library, found);
        let advice = advice.map_or_else(String::new, |advice| format!(", {advice}"));
        rows.push(("code", format!("{}{threads}{advice}", running(library))));
    }
    for (path, why) in &found.unanswered {
        rows.push(("code", format!("of {} not known: {why}", path.display())));
    }
    let variable = |(name, value): (&String, &String)| ("variable", format!("{name}={value}"));
    rows.extend(found.variables.iter().map(variable));
    rows
}

/// Warns that libraries of two compared runs ran different code, or had different settings.
pub fn warn_of_differences(first: &Path, second: &Path) {
    let (Some(first), Some(second)) = (read(first), read(second)) else {
        return;
    };
    let differences = first.differences(&second);
    if differences.is_empty() {
        return;
    }
    let differences = differences
        .iter()
        .map(|(what, [first, second])| format!("{what} ({first}, {second})"));
    crate::output::complain!(
        "warning: libraries of the runs differ in {}: a difference may be theirs",
        Vec::from_iter(differences).join(", ")
    );
}
