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
    demo.ranks(system)?;
    let adaptive = demo.adaptive(system)?;
    let choice = choice::choice(&demo);
    demo.figures(&adaptive, back_ends(system).next().is_some())?;
    println!("\nRecords and models: {}", demo.path(""));
    // What there is to see is drawn all the same.
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

    /// A figure of the records, in the demonstration's folder.
    fn figure(&self, kind: &str, records: &str, options: &[&str]) -> Result<(), StepError> {
        let out = format!("{records}-{kind}.png");
        let plot = ["plot", records, "--kind", kind, "-o", &out, "--force"];
        self.step(&format!("a figure: {kind}"), &[&plot[..], options].concat())
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

    /// The adaptive mesh, on 3 ranks where there is an MPI; where its records are.
    fn adaptive(&self, system: &System) -> Result<String, StepError> {
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
        Ok(records)
    }

    /// What a run gives without a word in any component: the profile (Table 1 of Ray et al., IPDPS 2004) and the figures
    /// 1 (the wiring), 3 (times over sizes), 6 (message passing by level) and 8 (the assembly as it was measured), and
    /// the calls of the run in the wiring.
    fn figures(&self, records: &str, has_mpi: bool) -> Result<(), StepError> {
        let profile = ["profile", records, "--top", "12"];
        self.step("where the time of the adaptive run went", &profile)?;
        self.wiring("wiring", &[])?;
        self.figure("scatter", records, &["--method", "states.compute"])?;
        if has_mpi {
            self.figure("comm", records, &["--method", "mesh.fill_ghosts"])?;
        }
        self.wiring("monitored", &["--monitor", "all"])?;
        self.wiring("calls", &["--records", records])?;
        let comm = format!("{records}-comm.png");
        let figures = [
            ("the field", self.path("density.png"), true),
            ("levels and patches", self.path("levels.png"), true),
            ("Figure 1, the wiring", self.path("wiring.svg"), true),
            (
                "Figure 3, times over sizes",
                format!("{records}-scatter.png"),
                true,
            ),
            ("Figure 6, message passing", comm, has_mpi),
            ("Figure 8, with proxies", self.path("monitored.svg"), true),
            ("who calls whom how often", self.path("calls.svg"), true),
        ];
        println!();
        for (name, path, _) in figures.iter().filter(|(_, _, drawn)| *drawn) {
            println!("{name:<28}{path}");
        }
        if !has_mpi {
            println!("No MPI on this machine: there is no message passing to draw.");
        }
        Ok(())
    }

    /// The adaptive assembly as a picture.
    fn wiring(&self, name: &str, options: &[&str]) -> Result<(), StepError> {
        let out = self.path(&format!("{name}.svg"));
        let graph = ["graph", ADAPTIVE, "-o", &out, "--force"];
        self.step(
            &format!("a figure: {name}"),
            &[&graph[..], options].concat(),
        )
    }
}
