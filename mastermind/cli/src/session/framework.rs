//! A framework with the services that every assembly finds: communicator, progress and measurement.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use cca_comm::{Launched, MpiKind, MpiSize, Provided, SerialCommunicator, compare_sizes};
use cca_core::{Framework, Repository};
use cca_loader::Library;
use cca_ports::{CommPort, PortError, RSliceMut, Reduction};
use mastermind_component::{Measurement, PerfModel, PerfParam};

use super::back_end;
use super::progress::Progress;

/// The communicator's instance. Names of the program's own instances begin with @; components neither reach nor use
/// such names.
pub const COMM: &str = "@comm";

/// The communicator's port.
pub const COMM_PORT: &str = "comm";

/// The progress service's instance.
const PROGRESS: &str = "@progress";

/// The progress service's port.
const PROGRESS_PORT: &str = "progress";

/// The instances for timers and events, and for queries of the records and of the models.
const MEASUREMENT: &str = "@measurement";
const PERF_PARAM: &str = "@perf_param";
const PERF_MODEL: &str = "@perf_model";

/// A framework, and this rank's place among the ranks.
pub struct Session {
    /// The framework, with communicator, progress, measurement, `cca.PerfParam` and `cca.PerfModel` provided by default.
    pub framework: Framework,
    /// This rank.
    pub rank: i32,
    /// Number of ranks.
    pub size: i32,
    /// The MPI in use.
    pub mpi: Option<MpiKind>,
    /// The bar.
    pub progress: Arc<Progress>,
    /// Timers and events of the components.
    pub measurement: Arc<Measurement>,
    /// Queries of the records so far, for the components; an error in a run that is not recorded.
    pub perf_param: Arc<PerfParam>,
    /// Queries of the models, for the components; an error in a run without models.
    pub perf_model: Arc<PerfModel>,
}

impl Session {
    /// A framework of one rank, however the process was started: for verbs that only inspect.
    ///
    /// # Errors
    /// The framework's.
    pub fn serial() -> anyhow::Result<Self> {
        let framework = Framework::new();
        let services = framework.services(COMM, "cca.SerialComm", env!("CARGO_PKG_VERSION"))?;
        let comm = Arc::new(Provided(SerialCommunicator::new()));
        services.add_provides_port::<dyn CommPort, _>(COMM_PORT, &comm)?;
        Self::with_comm(framework, None)
    }

    /// A framework of the ranks that a launcher started, or of one rank.
    ///
    /// # Errors
    /// No back end for several ranks; another number of ranks than the launcher's; MPI's own.
    pub fn start(launched: Option<&Launched>, wanted: Option<MpiKind>) -> anyhow::Result<Self> {
        let found = match launched {
            Some(launched) => back_end::back_end(launched, wanted)?,
            None => None,
        };
        let Some((kind, library)) = found else {
            compare_sizes(launched, None)?;
            return Self::serial();
        };
        let framework = Framework::new();
        let library = Library::open_global(&library)?;
        let mut repository = Repository::default();
        repository.add(&library)?;
        let class = repository.class("cca.MpiComm");
        let class = class
            .with_context(|| format!("no class cca.MpiComm in {}", library.path().display()))?;
        framework.create_instance(COMM, class)?;
        // Open MPI has installed its own signal handlers before ours.
        cca_loader::report_crashes();
        let session = Self::with_comm(framework, Some(kind))?;
        let size = MpiSize {
            kind,
            size: session.size,
        };
        compare_sizes(launched, Some(size))?;
        Ok(session)
    }

    fn with_comm(framework: Framework, mpi: Option<MpiKind>) -> anyhow::Result<Self> {
        let (rank, size) = framework.with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| {
            Ok::<_, PortError>((comm.rank()?, comm.size()?))
        })??;
        framework.provide_by_default(COMM, COMM_PORT)?;
        let services =
            framework.services(PROGRESS, "mastermind.Progress", env!("CARGO_PKG_VERSION"))?;
        let progress = Progress::add(rank == 0, &services)?;
        framework.provide_by_default(PROGRESS, PROGRESS_PORT)?;
        let services = framework.services(
            MEASUREMENT,
            "mastermind.Measurement",
            env!("CARGO_PKG_VERSION"),
        )?;
        let measurement = Measurement::add(&services)?;
        framework.provide_by_default(MEASUREMENT, Measurement::PORT)?;
        let services = framework.services(
            PERF_PARAM,
            "mastermind.PerfParam",
            env!("CARGO_PKG_VERSION"),
        )?;
        let perf_param = PerfParam::add(&services)?;
        framework.provide_by_default(PERF_PARAM, PerfParam::PORT)?;
        let services = framework.services(
            PERF_MODEL,
            "mastermind.PerfModel",
            env!("CARGO_PKG_VERSION"),
        )?;
        let perf_model = PerfModel::add(&services)?;
        framework.provide_by_default(PERF_MODEL, PerfModel::PORT)?;
        Ok(Session {
            framework,
            rank,
            size,
            mpi,
            progress,
            measurement,
            perf_param,
            perf_model,
        })
    }

    /// Goes on only if no rank has an error. If all have one, the first rank reports it, otherwise each rank that has
    /// one.
    ///
    /// # Errors
    /// This rank's error, or that other ranks have one.
    pub fn together<T>(&self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        if self.size == 1 {
            return result;
        }
        let failed = self.count(result.is_err())?;
        match result {
            Ok(value) if failed == 0.0 => Ok(value),
            Err(error) if self.rank == 0 || failed < f64::from(self.size) => {
                Err(self.at_rank(error))
            }
            _ => Err(anyhow!(Quiet)),
        }
    }

    /// The number of ranks on which a condition holds; collective.
    ///
    /// # Errors
    /// The communicator's.
    pub fn count(&self, is_so: bool) -> anyhow::Result<f64> {
        let mut count = [f64::from(u8::from(is_so))];
        self.framework
            .with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| {
                comm.all_reduce(Reduction::Sum, RSliceMut::from_mut_slice(&mut count))
            })??;
        Ok(count[0])
    }

    /// An error with the rank it happened on, where there are several.
    pub fn at_rank(&self, error: anyhow::Error) -> anyhow::Error {
        at_rank(self.rank, self.size, error)
    }
}

/// As [`Session::at_rank`], for callers without a session.
pub fn at_rank(rank: i32, size: i32, error: anyhow::Error) -> anyhow::Error {
    if size > 1 && rank > 0 {
        error.context(format!("cannot run rank {rank} of {size}"))
    } else {
        error
    }
}

/// An error that another rank reports.
#[derive(Debug)]
pub struct Quiet;

impl std::fmt::Display for Quiet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("another rank failed")
    }
}

impl std::error::Error for Quiet {}
