//! The MPI communicator, a component library on rsmpi.
