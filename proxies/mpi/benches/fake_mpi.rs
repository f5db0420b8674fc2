//! A library with a few MPI functions that do next to nothing, under their profiling names as MPI libraries have them;
//! its handles are MPICH's.

/// Ranks of every communicator.
const N_RANKS: i32 = 4;

/// `int MPI_Barrier(MPI_Comm)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Barrier(comm: usize) -> i32 {
    (std::hint::black_box(comm) == usize::MAX) as i32
}

/// `int MPI_Send(const void *, int, MPI_Datatype, int, int, MPI_Comm)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Send(_: usize, count: i32, _: u32, _: i32, _: i32, _: u32) -> i32 {
    (std::hint::black_box(count) < 0) as i32
}

/// `int MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Isend(
    _: usize,
    count: i32,
    _: u32,
    _: i32,
    tag: i32,
    _: u32,
    request: &mut i32,
) -> i32 {
    *request = std::hint::black_box(tag);
    i32::from(count < 0)
}

/// `int MPI_Wait(MPI_Request *, MPI_Status *)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Wait(request: &mut i32, _: usize) -> i32 {
    *request = std::hint::black_box(0);
    0
}

/// `int MPI_Type_size(MPI_Datatype, int *)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Type_size(_: u32, size: &mut i32) -> i32 {
    *size = std::hint::black_box(8);
    0
}

/// `int MPI_Comm_size(MPI_Comm, int *)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Comm_size(_: u32, size: &mut i32) -> i32 {
    *size = std::hint::black_box(N_RANKS);
    0
}

/// `int MPI_Comm_rank(MPI_Comm, int *)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Comm_rank(_: u32, rank: &mut i32) -> i32 {
    *rank = std::hint::black_box(1);
    0
}

/// `int MPI_Comm_test_inter(MPI_Comm, int *)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Comm_test_inter(_: u32, is_inter: &mut i32) -> i32 {
    *is_inter = std::hint::black_box(0);
    0
}

/// `int MPI_Comm_group(MPI_Comm, MPI_Group *)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Comm_group(_: u32, group: &mut i32) -> i32 {
    *group = std::hint::black_box(1);
    0
}

/// `int MPI_Group_free(MPI_Group *)`.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Group_free(group: &mut i32) -> i32 {
    *group = std::hint::black_box(0);
    0
}

/// `int MPI_Group_translate_ranks(MPI_Group, int, const int *, MPI_Group, int *)`: reverses the order.
///
/// # Safety
/// Both lists have `n` ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Group_translate_ranks(
    _: u32,
    n: i32,
    from: *const i32,
    _: u32,
    to: *mut i32,
) -> i32 {
    for place in 0..n.max(0) as usize {
        // SAFETY: required of the caller.
        unsafe { *to.add(place) = N_RANKS - 1 - *from.add(place) };
    }
    0
}

/// `int MPI_Get_library_version(char *, int *)`, by which the proxy knows the ABI.
///
/// # Safety
/// There is room for the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_library_version(text: *mut u8, length: &mut i32) -> i32 {
    let version = b"MPICH's ABI\0";
    // SAFETY: required of the caller.
    unsafe { text.copy_from_nonoverlapping(version.as_ptr(), version.len()) };
    *length = version.len() as i32 - 1;
    0
}
