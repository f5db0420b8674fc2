//! The licences of the crates that an installation contains.
//!
//! Most licences require that their text accompanies each copy. `cargo metadata` lists the crates that the shipped
//! programs are built from, and each crate has its licence in its folder of the registry: [`notices`] collects them,
//! the same text once, with the crates it applies to. A crate without a file of its own is listed with the licence that
//! its manifest declares.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::steps::StepError;
use crate::workspace::Workspace;

/// Members of the workspace that are not shipped.
const NOT_SHIPPED: [&str; 3] = ["xtask", "mastermind-tests", "must-reach"];

/// How the files begin that hold a licence.
const LICENCES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// A crate of others.
struct Package {
    /// Name and version.
    title: String,
    licence: String,
    texts: Vec<String>,
}

/// The notices of everything that is shipped.
///
/// # Errors
/// cargo cannot be started, or cannot list the dependencies of the workspace.
pub fn notices(workspace: &Workspace) -> Result<String, StepError> {
    let title = || "third parties' notices".to_owned();
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&workspace.root).args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform=x86_64-unknown-linux-gnu",
    ]);
    let output = cargo.output().map_err(|source| StepError::Start {
        title: title(),
        program: "cargo".into(),
        source,
    })?;
    if !output.status.success() {
        let status = output.status;
        let title = title();
        return Err(StepError::Failed { title, status });
    }
    let metadata = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    Ok(notices_text(&packages(&metadata)))
}

/// The crates of others that the shipped members are linked from.
fn packages(metadata: &Value) -> Vec<Package> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let known: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let members: BTreeSet<String> = list(&metadata["workspace_members"])
        .iter()
        .map(text)
        .collect();
    let is_shipped = |id: &String| {
        let name = known.get(id).map(|package| text(&package["name"]));
        name.is_some_and(|name| !NOT_SHIPPED.contains(&name.as_str()))
    };
    let mut waiting: Vec<String> = members
        .iter()
        .filter(|id| is_shipped(id))
        .cloned()
        .collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        let dependencies = nodes.get(&id).map(|node| list(&node["deps"]));
        if !seen.insert(id) {
            continue;
        }
        for dependency in dependencies.unwrap_or_default() {
            // Dependencies of builds and tests are in no file that is shipped.
            if list(&dependency["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"].is_null())
            {
                waiting.push(text(&dependency["pkg"]));
            }
        }
    }
    let package = |id: &String| {
        let package = known.get(id).filter(|_| !members.contains(id))?;
        let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
        Some(Package {
            title: format!("{} {}", text(&package["name"]), text(&package["version"])),
            licence: text(&package["license"]),
            texts: texts(folder),
        })
    };
    let mut found: Vec<_> = seen.iter().filter_map(package).collect();
    found.sort_by(|a, b| a.title.cmp(&b.title));
    found
}

/// The texts of the licences in a crate's folder.
fn texts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_licence = |name: &str| {
        LICENCES
            .iter()
            .any(|start| name.to_uppercase().starts_with(start))
    };
    let mut paths: Vec<_> = entries
        .filter(|entry| is_licence(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let texts = paths
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    texts.map(|text| text.trim().to_owned()).collect()
}

/// The list of all crates, then each text once, below the crates it applies to.
fn notices_text(packages: &[Package]) -> String {
    let mut text =
        String::from("Mastermind contains parts of these crates, each under its own licence.\n\n");
    let mut of_text = BTreeMap::<&str, Vec<&str>>::new();
    for package in packages {
        let _ = writeln!(text, "{}: {}", package.title, package.licence);
        for licence in &package.texts {
            of_text.entry(licence).or_default().push(&package.title);
        }
    }
    for (licence, of) in of_text {
        let _ = write!(
            text,
            "\n{}\n{}:\n\n{licence}\n",
            "-".repeat(80),
            of.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member that is shipped, one that is not, and their dependencies.
    #[test]
    fn crates_that_are_linked_have_their_licence_in_the_list() {
        let folder = std::env::temp_dir().join(format!("notices-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("LICENSE-MIT"), "Permission is granted\n").expect("a file");
        let package = |name: &str, folder: &Path| {
            let manifest = folder.join("Cargo.toml");
            serde_json::json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT", "manifest_path": manifest })
        };
        let dependency = |name: &str, kind: Value| serde_json::json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let none = Path::new("/nowhere");
        let metadata = serde_json::json!({
            "packages": [package("own", none), package("xtask", none), package("linked", &folder), package("below", none), package("tested", &folder)],
            "workspace_members": ["own", "xtask"],
            "resolve": { "nodes": [
                { "id": "own", "deps": [dependency("linked", Value::Null), dependency("tested", "dev".into())] },
                { "id": "xtask", "deps": [dependency("tested", Value::Null)] },
                { "id": "linked", "deps": [dependency("below", Value::Null)] },
            ] },
        });
        let found = packages(&metadata);
        let titles: Vec<_> = found.iter().map(|package| package.title.as_str()).collect();
        assert_eq!(titles, ["below 1.0.0", "linked 1.0.0"]);
        let text = notices_text(&found);
        assert!(
            text.ends_with("linked 1.0.0:\n\nPermission is granted\n"),
            "{text}"
        );
        fs::remove_dir_all(folder).expect("a folder");
    }
}
