//! `cargo xtask figures`: the figures of Ray et al. (IPDPS 2004), each from the adaptive case study as it runs here.

use crate::build::{self, back_ends};
use crate::demo::Demo;
use crate::steps::StepError;
use crate::system::System;
use crate::workspace::Workspace;

/// The shock problem on levels of patches.
const ADAPTIVE: &str = "examples/shock-amr/shock-amr.toml";

/// Simulated time of the picture of the levels: the shock is in the middle of the interface. The paper's is at about
/// this time.
const PICTURE_TIME: &str = "driver.end_time=0.6";

/// Builds the required libraries, runs the case with either flux on 3 ranks, and draws.
///
/// # Errors
/// A step fails.
pub fn figures(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    build::build(workspace, system)?;
    let demo = Demo::new(workspace)?;
    let mpi = back_ends(system).next().map(|mpi| mpi.kind.name());
    let godunov = adaptive(&demo, "adaptive", None, mpi)?;
    let efm = adaptive(&demo, "adaptive-efm", Some("flux=hydro.EfmFlux"), mpi)?;
    let mut drawn = of_one_run(&demo, &godunov, mpi.is_some())?;
    // Both directions as one, as the paper has it.
    for (number, what, records, method) in [
        (
            "4",
            "mean and deviation of the states",
            &godunov,
            "states.compute",
        ),
        ("5", "the same of the EFM flux", &efm, "flux.compute"),
        (
            "5",
            "the same of the Godunov flux, told in the text",
            &godunov,
            "flux.compute",
        ),
    ] {
        let out = format!("{records}-mean-{}.png", method.replace('.', "-"));
        let plot = ["plot", records, "--kind", "mean", "--method", method];
        let options = ["--modes", "together", "-o", &out, "--force"];
        demo.step(
            &format!("a figure: {what}"),
            &[&plot[..], &options].concat(),
        )?;
        drawn.add(number, what, &out);
    }
    let (models, dual) = (demo.path("adaptive-models.json"), "dual");
    demo.step(
        "models of every method",
        &["fit", &godunov, "-o", &models, "--force"],
    )?;
    let dual = wiring(&demo, dual, &["--records", &godunov, "--models", &models])?;
    drawn.add("7", "the dual: calls, measured and predicted times", &dual);
    drawn.print();
    Ok(())
}

/// The drawn figures: number in the paper, title, file.
#[derive(Default)]
pub struct Pictures(Vec<[String; 3]>);

impl Pictures {
    fn add(&mut self, number: &str, what: &str, path: &str) {
        self.0.push([number.into(), what.into(), path.into()]);
    }

    /// The list, by number.
    pub fn print(mut self) {
        self.0.sort();
        println!();
        for [number, what, path] in &self.0 {
            println!("Figure {number}  {what:<48} {path}");
        }
    }
}

/// Runs the case, on 3 ranks where there is an MPI.
///
/// # Returns
/// Where its records are.
///
/// # Errors
/// The run fails.
pub fn adaptive(
    demo: &Demo<'_>,
    name: &str,
    replaced: Option<&str>,
    mpi: Option<&str>,
) -> Result<String, StepError> {
    let records = demo.path(name);
    let picture = format!("output.png={}", demo.path(&format!("{name}-levels.png")));
    let mut run = vec!["run", ADAPTIVE, "--records", &records, "--overwrite"];
    run.extend(["--set", PICTURE_TIME, "--set", &picture]);
    run.extend(
        replaced
            .into_iter()
            .flat_map(|replaced| ["--replace", replaced]),
    );
    run.extend(
        mpi.into_iter()
            .flat_map(|name| ["--ranks", "3", "--mpi", name]),
    );
    let title = match mpi {
        Some(name) => format!("three levels of patches, shared by 3 ranks under {name}"),
        None => "three levels of patches".into(),
    };
    demo.step(&title, &run)?;
    Ok(records)
}

/// The results of a run with unchanged components: the profile (Table 1) and the figures 1 (the wiring), 2 (the
/// levels), 3 (times over sizes), 6 (message passing by level), 7 (who calls whom) and 8 (the assembly as measured).
///
/// # Errors
/// A step fails.
pub fn of_one_run(demo: &Demo<'_>, records: &str, has_mpi: bool) -> Result<Pictures, StepError> {
    let profile = ["profile", records, "--top", "12"];
    demo.step("where the time of the adaptive run went", &profile)?;
    let mut drawn = Pictures::default();
    drawn.add("1", "the wiring", &wiring(demo, "wiring", &[])?);
    drawn.add(
        "2",
        "density, levels and patches",
        &format!("{records}-levels.png"),
    );
    let scatter = demo.figure("scatter", records, &["--method", "states.compute"])?;
    drawn.add("3", "times over sizes", &scatter);
    if has_mpi {
        let comm = demo.figure("comm", records, &["--method", "mesh.fill_ghosts"])?;
        drawn.add("6", "message passing by level", &comm);
    } else {
        println!("No MPI on this machine: there is no message passing to draw.");
    }
    let calls = wiring(demo, "calls", &["--records", records])?;
    drawn.add("7", "who calls whom how often", &calls);
    let monitored = wiring(demo, "monitored", &["--monitor", "all"])?;
    drawn.add("8", "the assembly with its proxies", &monitored);
    Ok(drawn)
}

/// The adaptive assembly as a picture.
///
/// # Returns
/// The file.
fn wiring(demo: &Demo<'_>, name: &str, options: &[&str]) -> Result<String, StepError> {
    let out = demo.path(&format!("{name}.svg"));
    let graph = ["graph", ADAPTIVE, "-o", &out, "--force"];
    demo.step(
        &format!("a figure: {name}"),
        &[&graph[..], options].concat(),
    )?;
    Ok(out)
}
