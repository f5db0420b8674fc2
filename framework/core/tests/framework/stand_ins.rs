//! Methods that are left out: their calls return at once, others go on to the provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cca_core::{Framework, LeaveOutError};
use cca_ports::{Component, PortError, RSliceMut, Services, UsesPort, component, port};

use crate::components::{add, framework, wire};

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A result of a method without a default.
#[repr(C)]
#[derive(Debug, cca_ports::StableAbi)]
pub struct Opaque(u64);

/// A kernel that counts its calls.
#[port(name = "test.Kernel", version = "1.0")]
pub trait KernelPort {
    /// Doubles values.
    #[perf(n = values.len())]
    fn double(&self, values: RSliceMut<'_, f64>) -> Result<(), PortError>;
    /// A result that is a number.
    fn norm(&self) -> Result<f64, PortError>;
    /// A result without a default.
    fn opaque(&self) -> Result<Opaque, PortError>;
    /// Is never left out.
    fn calls(&self) -> Result<u64, PortError>;
}

/// Counts its calls.
#[component(class = "test.Kernel", version = "1.0")]
pub struct Kernel;

impl Component for Kernel {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let kernel = Arc::new(Kernel);
        services.add_provides_port::<dyn KernelPort, _>("kernel", &kernel)?;
        Ok(kernel)
    }
}

impl KernelPort for Kernel {
    fn double(&self, mut values: RSliceMut<'_, f64>) -> Result<(), PortError> {
        CALLS.fetch_add(1, Ordering::Relaxed);
        values.iter_mut().for_each(|value| *value *= 2.0);
        Ok(())
    }

    fn norm(&self) -> Result<f64, PortError> {
        CALLS.fetch_add(1, Ordering::Relaxed);
        Ok(3.0)
    }

    fn opaque(&self) -> Result<Opaque, PortError> {
        Ok(Opaque(1))
    }

    fn calls(&self) -> Result<u64, PortError> {
        Ok(CALLS.load(Ordering::Relaxed) as u64)
    }
}

fn kernel() -> (Framework, UsesPort<dyn KernelPort>) {
    let framework = framework();
    add(&framework, "kernel", "test.Kernel");
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host.register_uses_port::<dyn KernelPort>("kernel").unwrap();
    framework
        .connect(&wire("host", "kernel", "kernel", "kernel"))
        .unwrap();
    (framework, uses)
}

/// In one test, since the calls are counted in the program.
#[test]
fn methods_are_left_out_and_the_others_called() {
    let (framework, uses) = kernel();
    let methods = ["double", "norm", "opaque"].map(String::from);
    let mut values = [1.0, 2.0];
    let before = uses.get().unwrap().calls().unwrap();
    let left_out = framework
        .leave_out("kernel", "kernel", &methods, false)
        .unwrap();
    {
        let kernel = uses.get().unwrap();
        kernel
            .double(RSliceMut::from_mut_slice(&mut values))
            .unwrap();
        assert_eq!((values, kernel.norm().unwrap()), ([1.0, 2.0], 0.0));
        let error = kernel.opaque().unwrap_err().to_string();
        assert!(
            error.contains("cannot leave out method \"opaque\""),
            "{error}"
        );
        // A method that is not left out is called.
        assert_eq!(kernel.calls().unwrap(), before);
    }
    assert!(left_out.iter().all(|method| method.n_poisoned() == 0));

    let (framework, uses) = kernel();
    let left_out = framework
        .leave_out("kernel", "kernel", &methods[..2], true)
        .unwrap();
    let kernel = uses.get().unwrap();
    kernel
        .double(RSliceMut::from_mut_slice(&mut values))
        .unwrap();
    assert!(values.iter().all(|value| value.is_nan()));
    assert!(kernel.norm().unwrap().is_nan());
    let poisoned: Vec<_> = left_out.iter().map(|method| method.n_poisoned()).collect();
    assert_eq!(poisoned, [2, 1]);
    assert_eq!(kernel.opaque().unwrap().0, 1);
}

#[test]
fn what_cannot_be_left_out_is_an_error() {
    let (framework, _uses) = kernel();
    let error = framework.leave_out("kernel", "kernel", &["triple".to_owned()], false);
    assert!(
        matches!(error, Err(LeaveOutError::UnknownMethod { .. })),
        "{error:?}"
    );
    let error = framework.leave_out("kernl", "kernel", &[], false);
    assert!(
        matches!(error, Err(LeaveOutError::Framework(_))),
        "{error:?}"
    );
}
