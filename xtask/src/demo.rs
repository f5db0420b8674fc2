//! `cargo xtask demo`: the whole job once, from the sources to a chosen implementation.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::build::{self, back_ends};
use crate::choice;
use crate::steps::{StepError, run_step};
use crate::system::System;
use crate::workspace::Workspace;

/// The case study.
pub const ASSEMBLY: &str = "examples/shock/shock.toml";

/// The same problem on levels of patches.
const ADAPTIVE: &str = "examples/shock-amr/shock-amr.toml";

/// When the picture of the levels is taken: the shock is in the middle of the interface. The paper's is at about this time.
const PICTURE_TIME: &str = "driver.end_time=0.6";

/// Builds everything, then runs the steps of the demonstration one by one.
pub fn demo(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    build::build(workspace, system)?;
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
    let on_ranks = demo.ranks(system)?;
    demo.adaptive(system)?;
    choice::choice(&demo)?;
    demo.ending(&alone, on_ranks.as_deref())
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

    /// One command of the binary, shown as it would be typed.
    pub fn step(&self, title: &str, arguments: &[&str]) -> Result<(), StepError> {
        let title = format!("{title}\n    mastermind {}", arguments.join(" "));
        run_step(&title, &mut self.command(arguments))
    }

    /// The assembly as its author wired it (Figure 1 of the paper), and as it runs when it is measured (Figure 8).
    fn wiring(&self) -> Result<(), StepError> {
        for (title, name, options) in [
            ("the wiring", "wiring.svg", &[][..]),
            (
                "the wiring with its proxies",
                "monitored.svg",
                &["--monitor", "all"],
            ),
        ] {
            let out = self.path(name);
            let graph = ["graph", ASSEMBLY, "--format", "svg", "-o", &out];
            self.step(
                &format!("a figure: {title}"),
                &[&graph[..], options].concat(),
            )?;
        }
        Ok(())
    }

    /// Where the time went, and the paper's figures of this run.
    ///
    /// # Arguments
    /// * `alone`, `on_ranks` - records of the runs; of several ranks where there is an MPI, which are then told of
    fn ending(&self, alone: &str, on_ranks: Option<&str>) -> Result<(), StepError> {
        let records = on_ranks.unwrap_or(alone);
        self.wiring()?;
        self.figure("scatter", records, &["--method", "states.compute"])?;
        if on_ranks.is_some() {
            self.figure("comm", records, &[])?;
        }
        println!(
            "\nThe density field: {}\nThe same on three levels, with their patches: {}\nThe records: {}",
            self.path("density.png"),
            self.path("levels.png"),
            self.path("")
        );
        self.step(
            "where the time went (Table 1)",
            &["profile", records, "--top", "15"],
        )?;
        println!("\nThe wiring (Figure 1): {}", self.path("wiring.svg"));
        println!("Time by size and rank (Figure 3): {records}-scatter.png");
        if on_ranks.is_some() {
            println!("Time in MPI by call and rank (Figure 6): {records}-comm.png");
        }
        println!(
            "The wiring with its proxies (Figure 8): {}",
            self.path("monitored.svg")
        );
        Ok(())
    }

    /// A figure of the records, in the demonstration's folder.
    fn figure(&self, kind: &str, records: &str, options: &[&str]) -> Result<(), StepError> {
        let out = format!("{records}-{kind}.png");
        let plot = ["plot", records, "--kind", kind, "-o", &out];
        self.step(&format!("a figure: {kind}"), &[&plot[..], options].concat())
    }

    /// The binary with these arguments, in the root of the workspace.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.workspace.release().join("mastermind"));
        command.current_dir(&self.workspace.root).args(arguments);
        command
    }

    /// The same problem on several ranks under each MPI there is.
    ///
    /// # Returns
    /// The records of the last run, if there was one.
    fn ranks(&self, system: &System) -> Result<Option<String>, StepError> {
        let mut last = None;
        for mpi in back_ends(system) {
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
            last = Some(records);
        }
        if last.is_none() {
            println!("\nNo MPI on this machine: the steps on several ranks are left out.");
        }
        Ok(last)
    }

    /// The adaptive mesh, on 3 ranks where there is an MPI.
    fn adaptive(&self, system: &System) -> Result<(), StepError> {
        let mpi = back_ends(system).next().map(|mpi| mpi.kind.name());
        let records = self.path("adaptive");
        let picture = format!("output.png={}", self.path("levels.png"));
        let run = ["run", ADAPTIVE, "--records", &records, "--overwrite"];
        let set = ["--set", PICTURE_TIME, "--set", &picture];
        let ranks = mpi.map_or_else(Vec::new, |name| vec!["--ranks", "3", "--mpi", name]);
        let title = match mpi {
            Some(name) => {
                format!("the same on three levels of patches, shared by 3 ranks under {name}")
            }
            None => "the same on three levels of patches".into(),
        };
        self.step(&title, &[&run[..], &set, &ranks].concat())?;
        self.step(
            "what the levels cost: messages, and values between levels",
            &["profile", &records, "--top", "10"],
        )?;
        let drawn = format!("{records}-calls.svg");
        self.step(
            "a figure: who calls whom how often",
            &[
                "graph",
                ADAPTIVE,
                "--records",
                &records,
                "--format",
                "svg",
                "-o",
                &drawn,
            ],
        )?;
        match mpi {
            Some(_) => self.figure("comm", &records, &["--method", "mesh.fill_ghosts"]),
            None => Ok(()),
        }
    }
}
