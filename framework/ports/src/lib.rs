//! The standard ports, and the types that a component author needs.
//!
//! A component is a struct that implements [`Component`] and is marked [`#[component]`](macro@component); in
//! [`Component::set_services`] it registers the ports it uses, provides its own, and declares its parameters:
//!
//! ```
//! use std::sync::Arc;
//! use cca_ports::{Component, GoPort, Parameter, PortError, Services, component};
//!
//! /// Says how long it would run.
//! #[component(class = "example.Hello", version = "1.0")]
//! pub struct Hello {
//!     end_time: Parameter<f64>,
//! }
//!
//! impl Component for Hello {
//!     fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
//!         let parameters = services.parameters("parameters")?;
//!         let end_time = parameters.real("end_time", 1.0).bounds(0.0, 10.0).unit("s").add()?;
//!         let component = Arc::new(Hello { end_time });
//!         services.add_provides_port::<dyn GoPort, _>("go", &component)?;
//!         Ok(component)
//!     }
//! }
//!
//! impl GoPort for Hello {
//!     fn go(&self) -> Result<(), PortError> {
//!         let _seconds = self.end_time.get();
//!         Ok(())
//!     }
//! }
//! ```

cca_abi::shared_types!();

mod array;
mod builder;
mod comm;
mod component;
#[doc(hidden)]
pub mod component_border;
mod counter;
mod events;
mod go;
mod held;
mod measurement;
mod monitor;
mod parameter;
mod parameter_set;
mod perf_model;
mod perf_param;
mod plain;
mod progress;
mod replacement;
mod services;
mod state;
mod type_map;

pub use array::{Array, ArrayShape, GivenArray, LentArray, LentArrayMut};
pub use builder::{
    AbstractFrameworkPort, BuilderServicePort, ComponentClassDescription, ComponentId,
    ComponentRepositoryPort, PortConnection,
};
pub use cca_abi::{
    ErrorCode, OwnedArray, OwnedPort, OwnedText, Poison, PortError, RSlice, RSliceMut, RStr,
    RString, RVec, StableAbi,
};
pub use cca_port_macro::{PerfValue, component, port};
pub use comm::{CommPort, CommPortVtable, Completion, Reduction};
pub use component::Component;
pub use counter::{Counter, CounterPort};
pub use events::{
    ComponentReleasePort, ConnectionEvent, ConnectionEventKind, ConnectionEventListenerPort,
    ConnectionEventServicePort, ServiceProviderPort, ServiceRegistryPort,
};
pub use go::{GoPort, GoPortVtable};
pub use held::HeldPort;
pub use measurement::{
    EventValues, MPI_GROUP, MeasurementPort, MetricValue, TimerGroup, TimerValues,
};
pub use monitor::{MonitorPort, MonitoredInstance, MonitoredMethod, RecorderPointer};
pub use parameter::{
    Bounds, ParameterDescription, ParameterListenerPort, ParameterListenerPortStub,
    ParameterListenerPortVtable, ParameterPort, ParameterValue,
};
pub use parameter_set::{Parameter, ParameterBuilder, ParameterSet, ParameterType};
pub use perf_model::{PerfModelPort, PerfModelPortVtable, PredictedTime};
pub use perf_param::{Invocation, MethodTotals, PerfParamPort};
pub use plain::{KeptValue, PlainParameter, PlainValue, plain_kind};
pub use progress::{ProgressPort, ProgressPortVtable};
pub use replacement::{ReplacementServicePort, ReplacementServicePortVtable};
pub use services::{PortRef, Services, ServicesPort, ServicesPortVtable, UsesPort};
pub use state::{STATELESS, StatefulComponentPort, StatefulComponentPortVtable, WHOLE_STEPS};
pub use type_map::{DComplex, FComplex, TypeKind, TypeMap, TypeMapValue, TypeMismatch, TypeValue};
