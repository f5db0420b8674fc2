//! The component class: a communicator on MPI behind a `cca.Comm` port.

use std::sync::Arc;

use cca_comm::Provided;
use cca_ports::{CommPort, Component, PortError, Services, component};

use crate::MpiCommunicator;
use crate::at_exit::end_mpi_at_exit;

/// The communicator of all ranks, on MPI. Starts MPI when it is made and ends it when it is destroyed.
#[component(class = "cca.MpiComm", version = "1.0")]
pub struct MpiComm;

impl Component for MpiComm {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let communicator = MpiCommunicator::start().map_err(PortError::failed)?;
        let provided = Arc::new(Provided(communicator));
        services.add_provides_port::<dyn CommPort, _>("comm", &provided)?;
        Ok(Arc::new(MpiComm))
    }

    fn release_services(&self) -> Result<(), PortError> {
        end_mpi_at_exit();
        Ok(())
    }
}
