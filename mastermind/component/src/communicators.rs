//! Communicators of MPI that recorded calls name, as the records have them.

use cca_loader::MpiCommunicator;
use mastermind_records::Definition;
use mastermind_records::definition::MpiCommunicatorDefinition;

/// Maximum number of communicators that a process records.
pub(crate) const MAX_COMMUNICATORS: usize = 4096;

/// The definition of a communicator that the proxy of MPI reports.
///
/// # Safety
/// It has as many ranks as it says.
pub(crate) unsafe fn communicator_definition(communicator: &MpiCommunicator) -> Definition {
    let (n, ranks) = (communicator.n_ranks as usize, communicator.world_ranks);
    Definition::MpiCommunicator(MpiCommunicatorDefinition {
        number: communicator.number,
        own: communicator.own,
        is_inter: communicator.is_inter != 0,
        ranks: communicator.n_ranks,
        // SAFETY: required of the caller.
        world_ranks: (!ranks.is_null())
            .then(|| unsafe { std::slice::from_raw_parts(ranks, n) }.to_vec()),
    })
}
