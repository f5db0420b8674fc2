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
        Ok(Self { root, target })
    }

    /// Where the binary and the component libraries are.
    pub fn release(&self) -> PathBuf {
        self.target.join("release")
    }

    /// `cargo` with these arguments, in the root of the workspace.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .current_dir(&self.root)
            .args(arguments)
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
