//! A library with an MPI function that does nothing, under its profiling name as MPI libraries have it.

/// `int MPI_Barrier(MPI_Comm)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Barrier(comm: usize) -> i32 {
    std::hint::black_box(comm) as i32
}
