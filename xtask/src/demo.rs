//! `cargo xtask demo`: the whole job once, from the sources to a chosen implementation.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::build::{self, back_ends};
use crate::steps::{StepError, run_step};
use crate::system::System;
use crate::workspace::Workspace;
use crate::{choice, figures};

/// The case study.
pub const ASSEMBLY: &str = "examples/shock/shock.toml";

/// Builds everything, then runs the steps of the demonstration one by one.
pub fn demo(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    let is_without = build::build_to_show(workspace, system)?;
    let demo = Demo::new(workspace)?;
    demo.step("what this machine offers", &["doctor"])?;
    demo.step(
        "the assembly, checked without running it",
        &["check", ASSEMBLY],
    )?;
    let picture = format!("output.png={}", demo.path("density.png"));
    let alone = demo.path("alone");
    demo.step(
        "the shock problem alone, every call recorded",
        &[
            "run",
            ASSEMBLY,
            "--records",
            &alone,
            "--overwrite",
            "--set",
            &picture,
        ],
    )?;
    demo.figure("graph", &alone, &[])?;
    demo.ranks(system)?;
    let mpi = back_ends(system).next().map(|mpi| mpi.kind.name());
    let adaptive = figures::adaptive(&demo, "adaptive", None, mpi)?;
    let choice = choice::choice(&demo);
    figures::of_one_run(&demo, &adaptive, mpi.is_some())?.print();
    let folder = demo.path("");
    println!("\nRecords and models: {folder}");
    println!(
        "To see them in a browser: {} serve {folder}",
        workspace.release().join("mastermind").display()
    );
    if is_without {
        println!(
            "This first build of the binary writes no Parquet, no Arrow and no PDF, which take minutes to build: `cargo xtask build` adds them."
        );
    }
    // The available pictures are drawn all the same.
    choice
}

/// The demonstration's own folder below the target folder.
pub struct Demo<'a> {
    workspace: &'a Workspace,
    folder: PathBuf,
}

impl<'a> Demo<'a> {
    /// The folder, made if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(workspace: &'a Workspace) -> Result<Self, StepError> {
        let folder = workspace.target.join("demo");
        fs::create_dir_all(&folder).map_err(|source| StepError::File {
            act: "make folder",
            path: folder.display().to_string(),
            source,
        })?;
        Ok(Demo { workspace, folder })
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> String {
        let path = self.folder.join(name);
        // As it would be typed in the root of the workspace, where every command is run.
        path.strip_prefix(&self.workspace.root)
            .unwrap_or(&path)
            .display()
            .to_string()
    }

    /// The same, from wherever this program was started.
    pub fn full_path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Whether a component library of this file name was built.
    pub fn has_library(&self, name: &str) -> bool {
        self.workspace.release().join(name).exists()
    }

    /// One command of the binary, shown as it would be typed.
    pub fn step(&self, title: &str, arguments: &[&str]) -> Result<(), StepError> {
        let title = format!("{title}\n    mastermind {}", arguments.join(" "));
        run_step(&title, &mut self.command(arguments))
    }

    /// A figure of the records, next to them.
    ///
    /// # Returns
    /// The file.
    pub fn figure(&self, kind: &str, records: &str, options: &[&str]) -> Result<String, StepError> {
        let out = format!("{records}-{kind}.png");
        let plot = ["plot", records, "--kind", kind, "-o", &out, "--force"];
        self.step(&format!("a figure: {kind}"), &[&plot[..], options].concat())?;
        Ok(out)
    }

    /// The binary with these arguments, in the root of the workspace.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.workspace.release().join("mastermind"));
        command.current_dir(&self.workspace.root).args(arguments);
        // The assemblies name the usual target folder; this may be another.
        command.env("CCA_COMPONENT_PATH", self.workspace.release());
        command
    }

    /// The same problem on several ranks under each MPI there is.
    fn ranks(&self, system: &System) -> Result<(), StepError> {
        let mut found = false;
        for mpi in back_ends(system) {
            found = true;
            let (name, records) = (
                mpi.kind.name(),
                self.path(&format!("ranks-{}", mpi.kind.name())),
            );
            self.step(
                &format!("the shock problem on 3 ranks under {name}"),
                &[
                    "run",
                    ASSEMBLY,
                    "--ranks",
                    "3",
                    "--mpi",
                    name,
                    "--records",
                    &records,
                    "--overwrite",
                ],
            )?;
            self.step(
                "where the time went, mean over the ranks",
                &["profile", &records, "--top", "10"],
            )?;
            self.figure("comm", &records, &[])?;
        }
        if !found {
            println!("\nNo MPI on this machine: the steps on several ranks are left out.");
        }
        Ok(())
    }
}
