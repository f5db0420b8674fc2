//! The framework: instances of component classes, the connections between their ports, and assemblies of them.
//!
//! * [`Repository`]: the classes that can be instantiated, found in component libraries;
//! * [`Framework`]: instances, ports and connections (`gov.cca.AbstractFramework` and `gov.cca.ports.BuilderService`,
//!   which components reach as ports); several in one process are independent;
//! * [`Assembly`]: contents of a TOML file, and [`Framework::assemble`], which builds it or reports every problem.
//!
//! The framework knows nothing of measurement: [`Framework::start_monitoring`] inserts a proxy into every connection
//! that is made, and the proxy's recorder comes from the provider of a `cca.Monitor` port.
//!
//! A dispatcher ([`Framework::create_dispatcher`]) sends each call to one of several instances, by a [`DecisionTable`], which
//! [`Framework::redirect`] changes while calls run.
//!
//! While calls run, [`Framework::reconnect`] leads a uses port to another provider and [`Framework::replace_instance`] puts
//! an instance of another class in one's place; components reach both as `cca.ReplacementService`.

mod assembly;
mod build;
mod builder;
mod connections;
mod connector;
mod dispatch;
mod error;
mod events;
mod framework;
mod framework_ports;
mod go_cycle;
mod lead;
mod monitor;
mod parameters;
mod plain_framework;
pub mod rc;
mod reach;
mod replace;
mod repository;
mod service_registry;
mod services;
mod stand_in;
mod state;

pub use assembly::{Assembly, AssemblyError, Dry, Endpoint, Header, Start};
pub use build::AssemblyProblems;
pub use connections::ConnectionId;
pub use connector::{Connector, Provider, Target, TargetKey};
pub use dispatch::{DecisionEnd, DecisionStep, DecisionTable, DispatchError, TableSource};
pub use error::FrameworkError;
pub use framework::{Framework, InstanceInfo, PortInfo};
pub use go_cycle::GoCycle;
pub use monitor::MonitorSelection;
pub use parameters::InstanceParameter;
pub use plain_framework::{PlainFrameworkPort, PlainListenerPort};
pub use reach::WiringProblems;
pub use replace::{KeptWays, LedBack};
pub use repository::Repository;
pub use stand_in::{LeaveOutError, LeftOut};
pub use state::is_own;
