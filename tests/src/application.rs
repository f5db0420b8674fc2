//! An application run in this process: an assembly over the real libraries.

use std::collections::BTreeMap;
use std::sync::Arc;

use cca_core::{Assembly, Framework, Repository};
use cca_ports::{CommPort, GoPort, PortError, ProgressPort, RStr, Services};
use hydro_ports::{ArrayName, GAMMA, Lent, MeshPort, NVAR, Statistics, StatisticsPort, primitive};

use crate::{RankComm, bin_dir, root};

/// Primitive states by column and row of the mesh.
pub type Cells = BTreeMap<(usize, usize), [f64; NVAR]>;

/// An assembly of `examples/`, with a class for some instances and values for some parameters.
///
/// # Arguments
/// * `changes` - `INSTANCE=CLASS` or `INSTANCE.KEY=VALUE`
///
/// # Panics
/// If the file cannot be read or a change names no instance.
pub fn example(file: &str, changes: &[&str]) -> Assembly {
    let mut assembly = Assembly::read(&root().join("examples").join(file)).expect("an assembly");
    for change in changes {
        let (what, value) = change.split_once('=').expect("WHAT=VALUE");
        match what.split_once('.') {
            Some((instance, key)) => assembly.set(instance, key, value).expect("a parameter"),
            None => assembly.replace(what, value).expect("an instance"),
        }
    }
    assembly
}

/// One rank of an application.
pub struct Application {
    /// The framework with its instances.
    pub framework: Framework,
    /// The host as an instance, `host`; its ports live as long.
    pub host: Services,
}

impl Application {
    /// A framework whose host provides communicator and progress.
    ///
    /// # Panics
    /// If the ports cannot be provided.
    pub fn new(comm: RankComm) -> Self {
        let framework = Framework::new();
        let host = framework
            .services("host", "test.Host", "1.0")
            .expect("a host");
        host.add_provides_port::<dyn CommPort, _>("comm", &Arc::new(comm))
            .expect("comm");
        host.add_provides_port::<dyn ProgressPort, _>("progress", &Arc::new(Quiet))
            .expect("progress");
        for port in ["comm", "progress"] {
            framework
                .provide_by_default("host", port)
                .expect("a default");
        }
        Application { framework, host }
    }

    /// Builds an assembly from the libraries under test.
    ///
    /// # Panics
    /// If a library is missing, or anything is wrong with the assembly.
    pub fn assemble(&self, assembly: &Assembly) {
        let mut repository = Repository::default();
        let added = repository.add_path(&bin_dir());
        let missing = |class: &&String| repository.class(class).is_none();
        if let Some(class) = assembly.instances.values().find(missing) {
            let folder = bin_dir();
            panic!(
                "class {class} is in no library of {}: {added:?}; run `cargo xtask test`",
                folder.display()
            );
        }
        if let Err(problems) = self.framework.assemble(assembly, &repository) {
            panic!("{problems}: {:#?}", problems.problems);
        }
    }

    /// Runs the assembly's `driver.go`.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn go(&self) -> Result<(), PortError> {
        let went = self
            .framework
            .with_port::<dyn GoPort, _>("driver", "go", |port| port.go());
        went.expect("driver.go")
    }

    /// Builds and runs an assembly on this rank.
    ///
    /// # Panics
    /// As [`Application::assemble`]; if the run fails.
    pub fn run(assembly: &Assembly, comm: RankComm) -> Self {
        let application = Self::new(comm);
        application.assemble(assembly);
        if let Err(error) = application.go() {
            panic!("{error}");
        }
        application
    }

    /// The cells of this rank's patches of level 0.
    ///
    /// # Panics
    /// If `mesh.mesh` is not there or fails.
    pub fn cells(&self) -> Cells {
        let read = |mesh: &_| cells(mesh).expect("cells");
        self.framework
            .with_port::<dyn MeshPort, _>("mesh", "mesh", read)
            .expect("mesh.mesh")
    }

    /// The result of `statistics.statistics`. Collective.
    ///
    /// # Panics
    /// If it is not there or fails.
    pub fn statistics(&self) -> Statistics {
        let statistics =
            self.framework
                .with_port::<dyn StatisticsPort, _>("statistics", "statistics", |port| {
                    port.summarise(0, 0.0)
                });
        statistics
            .expect("statistics.statistics")
            .expect("statistics")
    }
}

fn cells(mesh: &impl MeshPort) -> Result<Cells, PortError> {
    let mut cells = Cells::new();
    for patch in &mesh.patches(0)? {
        let state = Lent::take(mesh, *patch, ArrayName::State)?;
        let shape = patch.shape;
        for (j, row) in shape.interior_rows().take(shape.ny).enumerate() {
            for i in 0..shape.nx {
                let u = std::array::from_fn(|v| state.values()[v * shape.plane() + row + i]);
                cells.insert((patch.i0 + i, patch.j0 + j), primitive(GAMMA, u));
            }
        }
        state.put()?;
    }
    Ok(cells)
}

/// Progress that nobody reads.
struct Quiet;

impl ProgressPort for Quiet {
    fn report(&self, fraction: f64, state: RStr<'_>) -> Result<(), PortError> {
        assert!((0.0..=1.0).contains(&fraction), "{fraction} at {state}");
        Ok(())
    }
}
