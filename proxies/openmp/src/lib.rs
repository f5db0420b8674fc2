//! The proxy of OpenMP: parallel regions, loops, barriers, tasks and locks of a program that was never written for it.
//!
//! ```text
//! GCC     a program calls GOMP_parallel(function, data, …)     `gomp.rs`: the same name here, timed, calls the runtime's
//!         each thread of the team calls function(data)         a function of ours, which knows the region, calls it
//!         GOMP_task(function, …)                               `tasks.rs`: a stub in place of the function
//! LLVM    the runtime looks for `ompt_start_tool`              `ompt.rs`: the tools interface of OpenMP 5 reports the same
//! ```
//!
//! Both lead to the same sums (`sums.rs`), by construct and call site: how often, and how long threads waited. A region
//! in progress (`region.rs`) has a place for each thread of its team, so that a thread waits until the region has
//! ended, whenever the runtime lets it notice that. A thread's time outside of waiting is work; a task that it runs
//! while it waits is work too (`thread.rs`).
//!
//! Nothing is recorded call by call: a loop with dynamic schedule asks for work millions of times. Nothing here
//! allocates, locks or starts anything; each table has a fixed size, and entries without room are counted.
//!
//! `libproxy_audit` treats this library like the proxy of a C library: it shows the names while the program has one
//! definition of them, and writes its address down (`names.rs`). Several copies of a runtime in one process are kept
//! apart: a team knows its threads only in the copy that made it.
//!
//! On processors other than x86-64 nothing is measured, and the host can query that.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod gomp;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod host;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod names;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod ompt;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod region;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod state;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod sums;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod tasks;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod thread;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use host::proxy_openmp_v1;

/// The entry point, [`cca_abi::recording::OpenMpProxyEntry`]: nothing is offered on this processor.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[unsafe(no_mangle)]
pub extern "C" fn proxy_openmp_v1() -> *const cca_abi::recording::OpenMpProxyFunctions {
    std::ptr::null()
}
