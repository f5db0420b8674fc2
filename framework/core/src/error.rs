//! Errors of making and connecting instances.
//!
//! One enum for the whole crate, because each of its errors ends in one of two places: printed by
//! the command line with its causes, or returned to a component that called the framework through a
//! port. For the second, [`FrameworkError::code`] maps every error to one of CCA's exceptions, and
//! the conversion into [`PortError`] joins the chain of causes into one line, since only a code and
//! a text cross the border.
//!
//! ```text
//! FrameworkError::NotConnected { instance: "driver", port: "flux" }
//!   printed:  cannot get port "flux" of "driver": not connected, expected a connection
//!   as port:  ErrorCode::PortNotConnected + the same text
//! ```

use cca_abi::{ErrorCode, PortError};
use cca_loader::LoadError;
use cca_ports::TypeMismatch;

/// Errors of making and connecting instances; each is one of CCA's exceptions. An error about an
/// unknown name lists the known ones.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameworkError {
    /// No library on the path has the class.
    #[error("cannot create instance \"{instance}\": class \"{class}\" unknown, expected {known}")]
    UnknownClass {
        /// Name of the instance.
        instance: String,
        /// Name of the class.
        class: String,
        /// The classes there are, or the likeliest of them.
        known: String,
    },
    /// The name is not fit for an instance.
    #[error(
        "cannot create instance \"{instance}\": bad name, expected a name without blanks and dots that does not begin with @"
    )]
    BadInstanceName {
        /// The name.
        instance: String,
    },
    /// The name is taken.
    #[error("cannot create instance \"{instance}\": name taken, expected a new one")]
    InstanceExists {
        /// The name.
        instance: String,
    },
    /// The class did not make an instance.
    #[error("cannot create instance \"{instance}\"")]
    Create {
        /// Name of the instance.
        instance: String,
        /// The loader's words.
        source: LoadError,
    },
    /// The component failed, or panicked, while it registered its ports.
    #[error("cannot create instance \"{instance}\": class \"{class}\" failed in set_services")]
    SetServices {
        /// Name of the instance.
        instance: String,
        /// Name of the class.
        class: String,
        /// The component's words.
        source: PortError,
    },
    /// There is no such instance.
    #[error("cannot find instance \"{instance}\": unknown, expected {known}")]
    UnknownInstance {
        /// The name.
        instance: String,
        /// The instances there are.
        known: String,
    },
    /// The name is not fit for a port.
    #[error(
        "cannot add port \"{port}\" of \"{instance}\": bad name, expected a name without blanks and dots"
    )]
    BadPortName {
        /// The instance.
        instance: String,
        /// The name.
        port: String,
    },
    /// The instance has a port of that name.
    #[error("cannot add port \"{port}\" of \"{instance}\": name taken, expected a new one")]
    PortAlreadyDefined {
        /// The instance.
        instance: String,
        /// The name.
        port: String,
    },
    /// The description of a port makes no sense.
    #[error("cannot add port \"{port}\" of \"{instance}\": {what}")]
    BadPort {
        /// The instance.
        instance: String,
        /// The name.
        port: String,
        /// The problem, and the expected value.
        what: String,
    },
    /// The instance has no such port.
    #[error("cannot find {kind} port \"{port}\" of \"{instance}\": unknown, expected {known}")]
    PortNotDefined {
        /// `uses` or `provides`.
        kind: &'static str,
        /// The instance.
        instance: String,
        /// The name.
        port: String,
        /// The ports there are.
        known: String,
    },
    /// The two ends do not fit.
    #[error(
        "cannot connect uses port \"{uses}\" of \"{user}\" to provides port \"{provides}\" of \"{provider}\": {found}, expected {expected}"
    )]
    TypeMismatch {
        /// The using instance.
        user: Box<str>,
        /// Its port.
        uses: Box<str>,
        /// The providing instance.
        provider: Box<str>,
        /// Its port.
        provides: Box<str>,
        /// The provider's value.
        found: Box<str>,
        /// The value that the user expects.
        expected: Box<str>,
    },
    /// The uses port is connected already.
    #[error(
        "cannot connect uses port \"{port}\" of \"{instance}\": connected already, expected a free port; disconnect it first"
    )]
    AlreadyConnected {
        /// The using instance.
        instance: String,
        /// Its port.
        port: String,
    },
    /// The uses port leads nowhere.
    #[error("cannot get port \"{port}\" of \"{instance}\": not connected, expected a connection")]
    NotConnected {
        /// The using instance.
        instance: String,
        /// Its port.
        port: String,
    },
    /// `release_port` without `get_port`.
    #[error(
        "cannot release port \"{port}\" of \"{instance}\": not in use, expected a get_port before"
    )]
    NotInUse {
        /// The using instance.
        instance: String,
        /// Its port.
        port: String,
    },
    /// The port is in use.
    #[error("cannot change port \"{port}\" of \"{instance}\": in use, expected it released")]
    InUse {
        /// The instance.
        instance: String,
        /// Its port.
        port: String,
    },
    /// Neither side of a connection can make a proxy.
    #[error(
        "cannot monitor uses port \"{port}\" of \"{instance}\": no proxy for interface \"{interface}\", expected one from its Rust interface crate"
    )]
    NoProxy {
        /// The using instance.
        instance: String,
        /// Its port.
        port: String,
        /// Name of the interface.
        interface: String,
    },
    /// The instance is being destroyed.
    #[error("cannot connect instance \"{instance}\": being destroyed, expected one that stays")]
    BeingDestroyed {
        /// The instance.
        instance: String,
    },
    /// The instance is a part of the program that holds the framework.
    #[error("cannot replace instance \"{instance}\": not made of a class, expected a component")]
    NotAComponent {
        /// The instance.
        instance: String,
    },
    /// The framework has been shut down.
    #[error("cannot change framework: shut down, expected a running one")]
    ShutDown,
    /// There is no such listener.
    #[error("cannot remove listener {listener}: unknown, expected one that was added")]
    UnknownListener {
        /// The number that it was removed by.
        listener: u64,
    },
    /// The interface has a service.
    #[error(
        "cannot add service \"{interface}\": there is one already, expected none; remove it first"
    )]
    ServiceExists {
        /// Name of the interface.
        interface: String,
    },
    /// The interface has no service.
    #[error("cannot remove service \"{interface}\": there is none, expected one")]
    UnknownService {
        /// Name of the interface.
        interface: String,
    },
    /// A property has another type.
    #[error(transparent)]
    Properties(#[from] TypeMismatch),
    /// A port's own error.
    #[error("cannot {act}")]
    Port {
        /// The failed action.
        act: String,
        /// The component's words.
        source: PortError,
    },
    /// A parameter cannot be set.
    #[error("cannot set parameter \"{instance}.{key}\": {found}, expected {expected}")]
    Parameter {
        /// The instance.
        instance: String,
        /// The parameter.
        key: String,
        /// The given value.
        found: String,
        /// The allowed values.
        expected: String,
    },
}

impl FrameworkError {
    /// CCA's code for it, for the requesting component.
    pub fn code(&self) -> ErrorCode {
        use FrameworkError as E;
        match self {
            E::BadPortName { .. } => ErrorCode::BadPortName,
            E::PortAlreadyDefined { .. } => ErrorCode::PortAlreadyDefined,
            E::BadPort { .. } => ErrorCode::BadPortInfo,
            E::TypeMismatch { .. } => ErrorCode::BadPortType,
            E::Properties(_) => ErrorCode::BadProperties,
            E::Port { source, .. } => source.code(),
            E::PortNotDefined { .. } => ErrorCode::PortNotDefined,
            E::NotConnected { .. } => ErrorCode::PortNotConnected,
            E::NotInUse { .. } => ErrorCode::PortNotInUse,
            E::InUse { .. } => ErrorCode::UsesPortNotReleased,
            E::Parameter { .. } => ErrorCode::BadParameter,
            _ => ErrorCode::Failed,
        }
    }
}

impl From<FrameworkError> for PortError {
    fn from(error: FrameworkError) -> Self {
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(source) = cause {
            message = format!("{message}: {source}");
            cause = source.source();
        }
        PortError::new(error.code(), message)
    }
}

/// Maximum number of names in an error message; a longer list is marked as cut.
const N_NAMES: usize = 40;

/// A list of names for an error message.
pub(crate) fn names<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<_> = names.by_ref().take(N_NAMES).map(String::as_str).collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    if shown.is_empty() {
        "none".into()
    } else {
        format!("one of {}{more}", shown.join(", "))
    }
}
