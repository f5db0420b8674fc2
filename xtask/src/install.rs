//! Installs the build in the folders that a system or a user expects, and makes an archive of it.
//!
//! ```text
//! PREFIX/bin/mastermind                        the binary, without debug information
//! PREFIX/lib/mastermind/lib*.so                proxy of MPI, preload and audit libraries, component libraries
//! PREFIX/lib/mastermind/mpi/NAME/lib*.so       the back end for each MPI
//! PREFIX/lib/mastermind/python/mastermind/     the Python package, for PYTHONPATH; its notebooks beside it
//! PREFIX/include/mastermind/                   the headers for components and proxies in C, C++ and Fortran
//! PREFIX/share/mastermind/examples/            the examples, which find the libraries above
//! PREFIX/share/mastermind/source/              the crates that `new` and `convert` write dependencies on
//! PREFIX/share/man, bash-completion, zsh, fish what shells and `man` look for
//! PREFIX/share/doc/mastermind/                 README, the guide, licences, THIRD-PARTY.txt with those of the crates in it
//! ```
//!
//! The binary finds the rest relative to itself, so the whole may be moved, or copied to a machine with the other MPI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::steps::{StepError, run_step};
use crate::system::System;
use crate::workspace::Workspace;
use crate::{build, notices};

/// Libraries in the folder of the build that are never loaded afterwards.
const NOT_INSTALLED: [&str; 2] = ["libcca_port_macro.so", "lib_mastermind.so"];

/// The library folder that the examples search, in the sources and after installation.
const LIBRARY_PATH: [&str; 2] = ["../../target/release", "../../../../lib/mastermind"];

/// Examples that need other crates than ours to be built.
const NOT_COPIED: [&str; 1] = ["kernels"];

/// Folders that builds fill.
const BUILT: [&str; 2] = ["target", "made"];

/// The crates that `mastermind new` and `mastermind convert` refer to.
const SOURCES: [&str; 9] = [
    "framework/abi",
    "framework/port-macro",
    "framework/ports",
    "framework/loader",
    "framework/core",
    "mastermind/models",
    "mastermind/programs",
    "mastermind/queueing",
    "mastermind/simulation",
];

/// Completions: the shell, and the folder that it searches.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/mastermind"),
    ("zsh", "share/zsh/site-functions/_mastermind"),
    ("fish", "share/fish/vendor_completions.d/mastermind.fish"),
];

/// Builds everything, unless it is built already, and copies it.
///
/// # Errors
/// A build fails; a file cannot be written.
pub fn install(
    workspace: &Workspace,
    system: &System,
    prefix: &Path,
    is_built: bool,
) -> Result<(), StepError> {
    if !is_built {
        build::build(workspace, system)?;
    }
    let to = Prefix { workspace, prefix };
    to.binary()?;
    to.libraries()?;
    to.python()?;
    to.headers()?;
    to.examples()?;
    to.sources()?;
    to.written_by_binary()?;
    let doc = prefix.join("share/doc/mastermind");
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&workspace.root.join(name), &doc.join(name))?;
    }
    copy_folder(&workspace.root.join("docs/src"), &doc.join("guide"))?;
    let third_party = doc.join("THIRD-PARTY.txt");
    let text = notices::notices(workspace)?;
    fs::write(&third_party, text).map_err(failed("write", &third_party))?;
    println!("\nmastermind is installed in {}", prefix.display());
    Ok(())
}

/// Installs into a folder of its own below the target folder and makes an archive of it.
///
/// For another glibc than this system's, `cargo-zigbuild` must be installed. The Python package is only in an archive for this system's.
///
/// # Errors
/// As [`install`]; there is no `tar`; what was built needs a newer glibc than asked for.
pub fn dist(workspace: &Workspace, system: &System, is_built: bool) -> Result<(), StepError> {
    let of_glibc = workspace.glibc.as_ref();
    let name = format!(
        "mastermind-{}-{}-linux{}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        of_glibc.map_or_else(String::new, |version| format!("-glibc{version}"))
    );
    let folder = workspace.target.join("dist");
    let staged = folder.join(&name);
    if staged.exists() {
        fs::remove_dir_all(&staged).map_err(failed("remove", &staged))?;
    }
    install(workspace, system, &staged, is_built)?;
    let archive = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.current_dir(&folder).args([
        "--owner=0",
        "--group=0",
        "--sort=name",
        "-czf",
        &archive,
        &name,
    ]);
    run_step("tar", &mut tar)?;
    let path = folder.join(archive);
    let bytes = path.metadata().map_err(failed("read", &path))?.len();
    println!("{}: {:.1} MB", path.display(), bytes as f64 * 1e-6);
    if let Some(minor) = needed_glibc(&staged)? {
        println!("it needs glibc 2.{minor} or newer, as the newest symbols of its files say");
        let wanted = of_glibc.and_then(|version| version.strip_prefix("2.")?.parse::<u32>().ok());
        if wanted.is_some_and(|wanted| minor > wanted) {
            return Err(StepError::Refuted {
                what: "the archive needs a newer glibc than asked for",
            });
        }
    }
    Ok(())
}

/// The minor version of the newest glibc 2 whose symbols the binary and the libraries below a folder name; `None` without glibc.
///
/// Versions of symbols are texts, `GLIBC_2.34`, in the table that a dynamic linker reads.
fn needed_glibc(prefix: &Path) -> Result<Option<u32>, StepError> {
    let mut paths = files(&prefix.join("lib/mastermind"), "so")?;
    paths.push(prefix.join("bin/mastermind"));
    let mut newest = None;
    for path in paths {
        let bytes = fs::read(&path).map_err(failed("read", &path))?;
        newest = newest.max(newest_glibc(&bytes));
    }
    Ok(newest)
}

/// The greatest N of the texts `GLIBC_2.N` that end as texts of the table do.
fn newest_glibc(bytes: &[u8]) -> Option<u32> {
    const START: &[u8] = b"\0GLIBC_2.";
    let windows = bytes.windows(START.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == START);
    let minor = |(at, _): (usize, &[u8])| {
        let rest = &bytes[at + START.len()..];
        let end = rest.iter().position(|byte| *byte == 0)?;
        let text = std::str::from_utf8(&rest[..end]).ok()?;
        text.split('.').next()?.parse().ok()
    };
    found.filter_map(minor).max()
}

/// Its target and its source.
struct Prefix<'a> {
    workspace: &'a Workspace,
    prefix: &'a Path,
}

impl Prefix<'_> {
    fn own(&self) -> PathBuf {
        self.prefix.join("lib/mastermind")
    }

    fn binary(&self) -> Result<(), StepError> {
        let binary = self.prefix.join("bin/mastermind");
        copy(&self.workspace.release().join("mastermind"), &binary)?;
        strip(&binary);
        Ok(())
    }

    fn libraries(&self) -> Result<(), StepError> {
        let release = self.workspace.release();
        for path in files(&release, "so")? {
            let name = file_name(&path);
            if !NOT_INSTALLED.contains(&name.as_str()) {
                let library = self.own().join(name);
                copy(&path, &library)?;
                strip(&library);
            }
        }
        let back_ends = release.join("mpi");
        if !back_ends.is_dir() {
            return Ok(());
        }
        for folder in entries(&back_ends)? {
            for path in files(&folder, "so")? {
                let library = self.own().join("mpi").join(file_name(&folder));
                let library = library.join(file_name(&path));
                copy(&path, &library)?;
                strip(&library);
            }
        }
        Ok(())
    }

    /// The Python package: its extension module is one of the libraries.
    fn python(&self) -> Result<(), StepError> {
        let sources = self.workspace.root.join("mastermind/python");
        let module = self.workspace.release().join("lib_mastermind.so");
        if !module.exists() {
            println!("no Python package: it was not built");
            return Ok(());
        }
        let to = self.own().join("python");
        for ending in ["py", "pyi", "typed"] {
            for path in files(&sources.join("mastermind"), ending)? {
                copy(&path, &to.join("mastermind").join(file_name(&path)))?;
            }
        }
        let library = to.join("mastermind/_mastermind.abi3.so");
        copy(&module, &library)?;
        strip(&library);
        copy_folder(&sources.join("notebooks"), &to.join("notebooks"))
    }

    fn headers(&self) -> Result<(), StepError> {
        for folder in ["framework/abi/include", "components/hydro-ports/include"] {
            for path in entries(&self.workspace.root.join(folder))? {
                let to = self
                    .prefix
                    .join("include/mastermind")
                    .join(file_name(&path));
                copy(&path, &to)?;
            }
        }
        Ok(())
    }

    fn examples(&self) -> Result<(), StepError> {
        for folder in entries(&self.workspace.root.join("examples"))? {
            let name = file_name(&folder);
            if NOT_COPIED.contains(&name.as_str()) || !folder.is_dir() {
                continue;
            }
            let to = self.prefix.join("share/mastermind/examples").join(name);
            copy_folder(&folder, &to)?;
            for path in files(&to, "toml")? {
                let text = fs::read_to_string(&path).map_err(failed("read", &path))?;
                let [built, installed] = LIBRARY_PATH;
                let text = text.replace(built, installed);
                fs::write(&path, text).map_err(failed("write", &path))?;
            }
        }
        Ok(())
    }

    /// The crates that others are written against, in a workspace of their own.
    fn sources(&self) -> Result<(), StepError> {
        let to = self.prefix.join("share/mastermind/source");
        for folder in SOURCES {
            copy_folder(&self.workspace.root.join(folder), &to.join(folder))?;
        }
        copy(
            &self.workspace.root.join("Cargo.lock"),
            &to.join("Cargo.lock"),
        )?;
        let path = self.workspace.root.join("Cargo.toml");
        let text = fs::read_to_string(&path).map_err(failed("read", &path))?;
        let members = format!("members = {SOURCES:?}");
        let manifest = with_members(&text, &members);
        let path = to.join("Cargo.toml");
        fs::write(&path, manifest).map_err(failed("write", &path))
    }

    /// Manual pages and completions, which the binary writes itself.
    fn written_by_binary(&self) -> Result<(), StepError> {
        let binary = self.prefix.join("bin/mastermind");
        let pages = self.prefix.join("share/man/man1");
        let mut man = Command::new(&binary);
        man.arg("man").arg(&pages).arg("--force");
        run_step("manual pages", man.stdout(Stdio::null()))?;
        for (shell, path) in COMPLETIONS {
            let title = format!("completions for {shell}");
            let output = Command::new(&binary).args(["completions", shell]).output();
            let output = output.map_err(|source| StepError::Start {
                title: title.clone(),
                program: binary.display().to_string(),
                source,
            })?;
            if !output.status.success() {
                let status = output.status;
                return Err(StepError::Failed { title, status });
            }
            let path = self.prefix.join(path);
            make_folder_of(&path)?;
            fs::write(&path, output.stdout).map_err(failed("write", &path))?;
        }
        Ok(())
    }
}

/// The workspace's manifest with these members only: its shared versions and lints stay.
fn with_members(text: &str, members: &str) -> String {
    let mut lines = Vec::new();
    let mut is_list = false;
    for line in text.lines() {
        if line.starts_with("members =") {
            lines.push(members);
        } else if is_list || line.starts_with("default-members =") || line.starts_with("exclude =")
        {
            is_list = !line.trim_end().ends_with(']');
        } else {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

/// Removes the debug information of a file; without `strip`, it stays.
fn strip(path: &Path) {
    let stripped = Command::new("strip")
        .arg("--strip-debug")
        .arg(path)
        .status();
    if !stripped.is_ok_and(|status| status.success()) {
        println!("{}: not stripped", path.display());
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), StepError> {
    make_folder_of(to)?;
    // A process with an open copy continues; the copy is replaced, not overwritten.
    let _ = fs::remove_file(to);
    fs::copy(from, to).map(drop).map_err(failed("copy", from))
}

/// Copies the sources in a folder, without the output of builds.
fn copy_folder(from: &Path, to: &Path) -> Result<(), StepError> {
    for path in entries(from)? {
        let to = to.join(file_name(&path));
        if path.is_dir() {
            if !BUILT.contains(&file_name(&path).as_str()) {
                copy_folder(&path, &to)?;
            }
        } else {
            copy(&path, &to)?;
        }
    }
    Ok(())
}

fn make_folder_of(path: &Path) -> Result<(), StepError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed("create", folder))
}

/// The entries of a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, StepError> {
    let entries = fs::read_dir(folder).map_err(failed("read", folder))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// The files of a folder with this ending, in order of name.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, StepError> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension().is_some_and(|e| e == ending) && path.is_file());
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn failed(act: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StepError {
    let path = path.display().to_string();
    move |source| StepError::File { act, path, source }
}

#[cfg(test)]
mod tests {
    use super::{newest_glibc, with_members};

    #[test]
    fn the_newest_version_of_a_symbol_is_found() {
        let table =
            b"libc.so.6\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0my GLIBC_2.99\0GLIBC_PRIVATE\0";
        assert_eq!(newest_glibc(table), Some(34));
        assert_eq!(newest_glibc(b"GLIBC_2."), None);
    }

    #[test]
    fn a_manifest_has_other_members() {
        let text = "[workspace]\nmembers = [\"a/*\"]\nexclude = [\"b\"]\ndefault-members = [\n    \"a/b\",\n]\n\n[workspace.package]\nversion = \"1\"\n";
        let expected = "[workspace]\nmembers = [\"c\"]\n\n[workspace.package]\nversion = \"1\"\n";
        assert_eq!(with_members(text, "members = [\"c\"]"), expected);
    }
}
