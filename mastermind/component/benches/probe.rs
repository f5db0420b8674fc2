//! The library that `port_call.rs` and `dispatch.rs` call into: the same addition as a plain C function and behind a port.

use std::ffi::c_void;
use std::sync::Arc;

use cca_abi::{ErrorBuffer, OwnedPort, ProvidedBy};
use cca_ports::{Component, PortError, Services, component};

#[path = "probe_port.rs"]
mod probe_port;

use probe_port::ProbePort;

/// Adds one.
#[component(class = "bench.Probe", version = "1.0")]
pub struct Probe;

impl Component for Probe {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let probe = Arc::new(Probe);
        services.add_provides_port::<dyn ProbePort, _>("probe", &probe)?;
        services.declare_stateless("probe")?;
        Ok(probe)
    }
}

impl ProbePort for Probe {
    fn add_one(&self, q: u64, mode: u32) -> Result<u64, PortError> {
        Ok(q.wrapping_add(u64::from(mode)))
    }
}

/// The same without a port: the minimum cost of a call into this library.
#[unsafe(no_mangle)]
pub extern "C" fn bench_add_one(q: u64, mode: u32) -> u64 {
    q.wrapping_add(u64::from(mode))
}

/// The same with the arguments and the result that a method of a port has.
///
/// # Safety
/// `out` points to space for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn bench_add_one_as_method(
    _: *const c_void,
    q: u64,
    mode: u32,
    out: *mut u64,
    _: *mut ErrorBuffer,
) -> i32 {
    // SAFETY: required of the caller.
    unsafe { out.write(q.wrapping_add(u64::from(mode))) };
    0
}

/// A bare port on a probe, to measure a call through its table without a connection.
///
/// # Safety
/// `out` points to space for a port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bench_probe_port(out: *mut OwnedPort) {
    let port = <dyn ProbePort as ProvidedBy<Probe>>::provide(Arc::new(Probe));
    // SAFETY: required of the caller.
    unsafe { out.write(port) };
}
