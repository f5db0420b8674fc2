//! The port that records the calls of a monitored connection.

use cca_abi::InterfacePointer;
use cca_abi::recording::{MethodPointer, Recorder};

use crate::{PortError, RStr, StableAbi, port};

/// A recorder by address; it lives as long as the monitor that gave it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, StableAbi)]
#[sabi(unsafe_opaque_fields)]
pub struct RecorderPointer(pub *const Recorder);

/// A method that is about to get a proxy.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct MonitoredMethod<'a> {
    /// Instance that provides the port.
    pub instance: RStr<'a>,
    /// Its class.
    pub class: RStr<'a>,
    /// Name of the provides port.
    pub port: RStr<'a>,
    /// The interface, with its methods and their performance parameters.
    pub interface: InterfacePointer,
    /// Which method, by its place in the interface.
    pub index: u32,
}

/// An instance that is about to be called through a proxy.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct MonitoredInstance<'a> {
    /// Name of the instance.
    pub instance: RStr<'a>,
    /// Its class.
    pub class: RStr<'a>,
    /// Version of the class.
    pub version: RStr<'a>,
    /// Path of its library; empty for the host's own.
    pub library: RStr<'a>,
}

/// `MonitorPort` of the paper's section 4.2: gives a proxy its recorder.
#[port(name = "cca.Monitor", version = "1.1")]
pub trait MonitorPort {
    /// The recorder that proxies append records to.
    ///
    /// # Errors
    /// No record can be kept.
    fn recorder(&self) -> Result<RecorderPointer, PortError>;

    /// Announces an instance, before its methods: a new one, or one with another class than before.
    ///
    /// # Errors
    /// None of its own.
    fn register_instance(&self, instance: MonitoredInstance<'_>) -> Result<(), PortError>;

    /// Announces a method; the same method is announced once however many proxies it has.
    ///
    /// # Returns
    /// The method, which the monitor can switch on and off; it lives as long as the monitor.
    ///
    /// # Errors
    /// The definition cannot be recorded.
    fn register_method(&self, method: MonitoredMethod<'_>) -> Result<MethodPointer, PortError>;
}
