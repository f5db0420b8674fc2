//! Suggestions for mistyped names.
//!
//! [`named`] and [`file`] complete the messages of all crates when they are printed, since each error lists the names
//! that it knows. A name is near if at most every third of its letters differs, as for names of methods
//! (`mastermind_component::names`).

use std::fs;
use std::path::Path;

/// Letters of a name for each one that may differ. As in `mastermind_component::names`.
const LETTERS_A_SLIP: usize = 3;

/// The nearest of some names; `None` if none is near.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter();
    let distances = known.map(|name| (strsim::damerau_levenshtein(typed, name), name));
    let near = distances.filter(|(distance, _)| distance * LETTERS_A_SLIP <= typed.chars().count());
    near.min().map(|(_, name)| name)
}

/// `; the nearest is "NAME"`; empty if none is near.
pub fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |name| format!("; the nearest is \"{name}\""))
}

/// The same for a path that does not exist: the nearest name in its folder. Empty if the path exists.
pub fn file(path: &Path) -> String {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return String::new();
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if path.exists() {
        return String::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    // Endings are often the same, and say little.
    let letters = |name: &str| Path::new(name).file_stem().map_or(0, |stem| stem.len());
    let near = |found: &&str| {
        let distance = strsim::damerau_levenshtein(name, found);
        distance * LETTERS_A_SLIP <= letters(name)
    };
    match nearest(name, names.iter().map(String::as_str)).filter(near) {
        Some(name) => {
            let meant = path.with_file_name(name);
            format!("; the nearest is \"{}\"", meant.display())
        }
        None => String::new(),
    }
}

/// The same for a message `cannot ACT KIND "NAME": FOUND, expected one of A, B, C`; empty if the message has a hint
/// already.
pub fn named(message: &str) -> String {
    let parts = message.split_once("expected one of ");
    let Some((before, known)) = parts.filter(|_| !message.contains("the nearest is")) else {
        return String::new();
    };
    let Some(typed) = last_quoted(before) else {
        return String::new();
    };
    let known = known.split_once(';').map_or(known, |(known, _)| known);
    let known: Vec<_> = known
        .split(", ")
        .map(|name| name.trim_matches('"'))
        .collect();
    if known.contains(&typed) {
        return String::new();
    }
    // In `driver.max_step` the instance or the parameter may be the wrong part.
    let parts = typed.split('.').filter(|part| !known.contains(part));
    let found = std::iter::once(typed)
        .chain(parts)
        .map(|typed| hint(typed, known.iter().copied()));
    found
        .into_iter()
        .find(|hint| !hint.is_empty())
        .unwrap_or_default()
}

/// The last text between quotation marks.
pub fn last_quoted(message: &str) -> Option<&str> {
    let (before, _) = message.rsplit_once('"')?;
    before.rsplit_once('"').map(|(_, quoted)| quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_no_far_one() {
        let known = ["sort.csv", "models.json"];
        assert_eq!(nearest("srot.csv", known), Some("sort.csv"));
        assert_eq!(nearest("x.csv", known), None);
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("sort.csv"), "").unwrap();
        let expected = format!(
            "; the nearest is \"{}\"",
            root.path().join("sort.csv").display()
        );
        assert_eq!(file(&root.path().join("sor.csv")), expected);
        assert_eq!(file(&root.path().join("sort.csv")), "");
    }

    #[test]
    fn messages_name_the_nearest_of_the_names_that_they_list() {
        for (message, nearest) in [
            (
                "cannot set parameter \"driver.max_step\": unknown, expected one of cfl, max_steps",
                "max_steps",
            ),
            (
                "cannot change \"drivr.cfl\": unknown instance, expected one of bc, driver",
                "driver",
            ),
            (
                "class \"a.Efmm\" unknown, expected one of a.Efm, a.Ef; build it",
                "a.Efm",
            ),
            ("cannot find \"zzz\": unknown, expected one of a, b", ""),
            ("cannot find \"aa\": twice, expected one of aa, ab", ""),
            ("cannot find \"x\": not there", ""),
        ] {
            let expected = match nearest {
                "" => String::new(),
                nearest => format!("; the nearest is \"{nearest}\""),
            };
            assert_eq!(named(message), expected, "{message}");
        }
    }
}
