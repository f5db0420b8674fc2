//! axe-core, with which the tests check the accessibility of the page.
//!
//! No package of Debian has it. A wheel of the Python package index contains it, which `pip` gets if the machine has `pip` and a network;
//! otherwise the test is passed over, which is said.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::workspace::Workspace;

/// Name of the test's requirement.
pub const AXE: &str = "axe";

/// The package, and its version: a later one may have other rules.
const PACKAGE: (&str, &str) = ("axe-playwright-python", "0.1.8");

/// Copies the one file of this name from an archive: `ARCHIVE NAME TARGET`.
const EXTRACT: &str = "\
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    name = next(name for name in archive.namelist() if name.endswith('/' + sys.argv[2]))
    data = archive.read(name)
open(sys.argv[3], 'wb').write(data)
";

const FILE: &str = "axe.min.js";

/// Gets axe-core unless it is there.
///
/// # Returns
/// Whether it is there.
pub fn get(workspace: &Workspace) -> bool {
    let folder = workspace.target.join("axe");
    let file = folder.join(FILE);
    file.is_file() || fetched(&folder, &file).is_some()
}

fn fetched(folder: &Path, file: &Path) -> Option<()> {
    let (name, version) = PACKAGE;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"]);
    run(pip.arg(folder).arg(format!("{name}=={version}")))?;
    let wheel = wheel(folder)?;
    let mut extract = Command::new("python3");
    extract.args(["-c", EXTRACT]);
    run(extract.arg(wheel).arg(FILE).arg(file))
}

fn run(command: &mut Command) -> Option<()> {
    let command = command.stdin(Stdio::null()).stderr(Stdio::null());
    command.status().ok()?.success().then_some(())
}

fn wheel(folder: &Path) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(folder).ok()?.flatten();
    let wheel = files.find(|file| file.path().extension().is_some_and(|one| one == "whl"));
    wheel.map(|file| file.path())
}
