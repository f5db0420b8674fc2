//! Paths: the sources, and the results of builds.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::StepError;

/// The folders of the workspace.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The folder with the workspace's `Cargo.toml`.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
    /// The oldest glibc that what is built is to run with, such as `2.28`; this system's without.
    pub glibc: Option<String>,
}

impl Workspace {
    /// The workspace this program was built from, and the target folder it was built in.
    ///
    /// # Errors
    /// [`StepError::File`] if this program's own path cannot be read.
    pub fn find() -> Result<Self, StepError> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().unwrap_or(Path::new(".")).to_owned();
        // `<target>/release/xtask`, wherever the target folder was put.
        let program = env::current_exe().map_err(|source| StepError::File {
            act: "find",
            path: "xtask".to_owned(),
            source,
        })?;
        let target = program
            .ancestors()
            .nth(2)
            .map_or_else(|| root.join("target"), Path::to_path_buf);
        Ok(Self {
            root,
            target,
            glibc: None,
        })
    }

    /// The same sources, built for systems with this glibc or a newer one, in a target folder of their own.
    pub fn for_glibc(&self, version: &str) -> Self {
        Self {
            root: self.root.clone(),
            target: self.target.join(format!("glibc-{version}")),
            glibc: Some(version.to_owned()),
        }
    }

    /// The compiler's name of the system that is built for, with the version of glibc.
    fn triple(glibc: &str) -> String {
        format!("{}-unknown-linux-gnu.{glibc}", env::consts::ARCH)
    }

    /// Where the binary and the component libraries are.
    pub fn release(&self) -> PathBuf {
        match self.glibc {
            Some(_) => {
                let triple = format!("{}-unknown-linux-gnu", env::consts::ARCH);
                self.target.join(triple).join("release")
            }
            None => self.target.join("release"),
        }
    }

    /// A C compiler for the system that is built for.
    pub fn c_compiler(&self) -> Command {
        let Some(glibc) = &self.glibc else {
            return Command::new("cc");
        };
        let mut command = Command::new("cargo-zigbuild");
        let target = format!("{}-linux-gnu.{glibc}", env::consts::ARCH);
        command.args(["zig", "cc", "--", "-target", &target]);
        command
    }

    /// `cargo` with these arguments, in the root of the workspace; where it builds for another glibc, `cargo-zigbuild`, which links with that
    /// one's symbols.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = match (&self.glibc, arguments) {
            (Some(glibc), ["build", arguments @ ..]) => {
                let mut command = Command::new("cargo-zigbuild");
                let triple = Self::triple(glibc);
                command
                    .arg("zigbuild")
                    .args(arguments)
                    .args(["--target", &triple]);
                command
            }
            _ => {
                let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let mut command = Command::new(cargo);
                command.args(arguments);
                command
            }
        };
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target);
        // Variables that `cargo run` sets about this package must not reach other builds.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }
}
