//! `mastermind examples`: the examples of the installation, listed and copied.
//!
//! They lie next to this program: in `share/mastermind/examples` of an installation, in `examples` of the sources for a
//! build. They have half a megabyte, so they are not part of the binary. The first heading of an example's `README.md`
//! is its description.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use crate::session::{libraries_folder, own_folder};
use crate::{near, output};

/// List the examples that came with this program, or copy one
#[derive(Args)]
#[command(after_help = "Example: mastermind examples sod && mastermind run sod/sod.toml")]
pub struct Examples {
    /// The example to copy [default: list all]
    name: Option<String>,
    /// The folder to make [default: the name of the example, here]
    #[arg(requires = "name")]
    folder: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Example {
    name: String,
    about: String,
    #[serde(skip)]
    folder: PathBuf,
}

#[derive(Serialize)]
struct Copied<'a> {
    name: &'a str,
    folder: &'a Path,
    /// Paths of the files, in the folder.
    files: Vec<PathBuf>,
}

/// Paths by which assemblies of the examples find libraries: in the sources, and in an installation.
const LIBRARY_PATHS: [&str; 2] = ["../../target/release", "../../../../lib/mastermind"];

/// Folders that builds of an example make.
const BUILT: [&str; 2] = ["target", "made"];

impl Examples {
    /// Lists or copies.
    ///
    /// # Errors
    /// There are no examples, or none of the name; the folder exists already, or cannot be made.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let examples = examples()?;
        match &self.name {
            Some(name) => self.copy(name, &examples)?,
            None if self.json => output::json(&serde_json::json!({ "examples": examples }))?,
            None => {
                let rows = examples.into_iter().map(|one| vec![one.name, one.about]);
                output::line(output::table(&["NAME", "WHAT"], &[], rows));
                output::line("mastermind examples NAME copies one into a folder of its name");
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn copy(&self, name: &str, examples: &[Example]) -> anyhow::Result<()> {
        let names = || examples.iter().map(|one| one.name.as_str());
        let Some(example) = examples.iter().find(|one| one.name == name) else {
            bail!(
                "cannot copy example \"{name}\": none of this name, expected one of {}{}",
                names().collect::<Vec<_>>().join(", "),
                near::hint(name, names())
            );
        };
        let to = self.folder.clone().unwrap_or_else(|| name.into());
        if to.symlink_metadata().is_ok() {
            bail!(
                "cannot copy example \"{name}\": \"{}\" is there already, expected a new folder; name one behind the example",
                to.display()
            );
        }
        let failed = || format!("cannot copy example \"{name}\" into \"{}\"", to.display());
        let parent = match to.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).with_context(failed)?;
        // Under another name first, so that no half-copied example stays.
        let mut made = tempfile::Builder::new();
        let made = made
            .prefix(".mastermind-example")
            .tempdir_in(parent)
            .with_context(failed)?;
        let whole = made.path().join("whole");
        let mut files = Vec::new();
        copy_folder(&example.folder, &whole, Path::new(""), &mut files).with_context(failed)?;
        fs::rename(&whole, &to).with_context(failed)?;
        match self.json {
            true => output::json(&Copied {
                name,
                folder: &to,
                files,
            })?,
            false => {
                let n = files.len();
                let files = if n == 1 { "file" } else { "files" };
                output::line(format!("{}: {n} {files}; {}", to.display(), example.about));
            }
        }
        for other in needed(&to, examples) {
            let place = parent.join(&other);
            if !place.exists() {
                output::complain!(
                    "note: \"{name}\" reads files of example \"{other}\"; copy it as well: mastermind examples {other} {}",
                    place.display()
                );
            }
        }
        Ok(())
    }
}

/// Other examples whose files the assemblies, systems and models of a copied one name, as `../NAME/FILE`.
fn needed(copied: &Path, examples: &[Example]) -> Vec<String> {
    let files = fs::read_dir(copied).into_iter().flatten().flatten();
    let read = |file: fs::DirEntry| {
        let is_toml = file
            .path()
            .extension()
            .is_some_and(|ending| ending == "toml");
        is_toml
            .then(|| fs::read_to_string(file.path()).ok())
            .flatten()
    };
    let texts: Vec<_> = files.filter_map(read).collect();
    let is_named = |one: &&Example| {
        let start = format!("\"../{}/", one.name);
        texts.iter().any(|text| text.contains(&start))
    };
    let found = examples.iter().filter(is_named);
    found.map(|one| one.name.clone()).collect()
}

/// The examples of this program, by name.
///
/// # Errors
/// There are none.
fn examples() -> anyhow::Result<Vec<Example>> {
    let own = own_folder()?;
    let places = [
        own.join("../share/mastermind/examples"),
        own.join("../../examples"),
        // For a build with another target folder.
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"),
    ];
    let Some(place) = places.iter().find(|place| place.is_dir()) else {
        bail!(
            "cannot find examples: none in \"{}\", expected an installation with share/mastermind/examples beside bin",
            places[0].display()
        );
    };
    let failed = || format!("cannot read examples \"{}\"", place.display());
    let mut examples = Vec::new();
    for entry in fs::read_dir(place).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let Ok(readme) = fs::read_to_string(entry.path().join("README.md")) else {
            continue;
        };
        let heading = readme.lines().find_map(|line| line.strip_prefix("# "));
        examples.push(Example {
            name: entry.file_name().to_string_lossy().into_owned(),
            about: heading.unwrap_or_default().to_owned(),
            folder: entry.path(),
        });
    }
    if examples.is_empty() {
        bail!(
            "cannot find examples: none in \"{}\", expected folders with a README.md",
            place.display()
        );
    }
    examples.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(examples)
}

/// Copies the contents of a folder; copied assemblies find the libraries of this program from any folder.
fn copy_folder(from: &Path, to: &Path, at: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    fs::create_dir(to)?;
    let libraries = libraries_folder()?;
    let libraries = libraries.canonicalize().unwrap_or(libraries);
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let (source, place, path) = (entry.path(), to.join(&name), at.join(&name));
        if entry.file_type()?.is_dir() {
            if !BUILT.iter().any(|built| name == *built) {
                copy_folder(&source, &place, &path, files)?;
            }
            continue;
        }
        fs::copy(&source, &place)?;
        if path.extension().is_some_and(|ending| ending == "toml") {
            let text = fs::read_to_string(&place)?;
            let mut moved = text.clone();
            for earlier in LIBRARY_PATHS {
                let quoted = serde_json::to_string(&libraries.to_string_lossy())?;
                moved = moved.replace(&format!("\"{earlier}\""), &quoted);
            }
            if moved != text {
                fs::write(&place, moved)?;
            }
        }
        files.push(path);
    }
    files.sort();
    Ok(())
}
