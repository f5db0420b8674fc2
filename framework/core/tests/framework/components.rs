//! The components that the tests are made of.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cca_core::{ConnectionId, Framework};
use cca_loader::Library;
use cca_ports::{
    BuilderServicePort, Component, ComponentReleasePort, GoPort, Parameter, PortError, RStr,
    Services, TypeMap, UsesPort, component, port,
};

/// A number.
#[port(name = "test.Number", version = "1.0")]
pub trait NumberPort {
    /// The number.
    fn number(&self) -> Result<i64, PortError>;
}

/// Its own number, and the number of the component behind its uses port.
#[component(class = "test.Adder", version = "1.0")]
pub struct Adder {
    own: Parameter<i64>,
    next: UsesPort<dyn NumberPort>,
}

impl Component for Adder {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let own = services.parameters("parameters")?.integer("own", 1).add()?;
        let next = services.register_uses_port("next")?;
        let adder = Arc::new(Adder { own, next });
        services.add_provides_port::<dyn NumberPort, _>("number", &adder)?;
        Ok(adder)
    }
}

impl NumberPort for Adder {
    fn number(&self) -> Result<i64, PortError> {
        let next = self.next.get_nonblocking()?;
        let rest = next.map_or(Ok(0), |next| next.number())?;
        Ok(self.own.get() + rest)
    }
}

/// Builds others when it is started, through the framework's port.
#[component(class = "test.Maker", version = "1.0")]
pub struct Maker {
    services: Services,
    builder: UsesPort<dyn BuilderServicePort>,
}

impl Component for Maker {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let maker = Arc::new(Maker {
            services: services.clone(),
            builder: services.register_uses_port("builder")?,
        });
        services.add_provides_port::<dyn GoPort, _>("go", &maker)?;
        Ok(maker)
    }
}

impl GoPort for Maker {
    fn go(&self) -> Result<(), PortError> {
        let builder = self.builder.get()?;
        let make = |name: &str| {
            builder.create_instance(name.into(), "test.Adder".into(), TypeMap::default())
        };
        let (first, second) = (make("first")?, make("")?);
        assert_eq!(second.name, "Adder0");
        let made = builder.connect(
            first.clone(),
            "next".into(),
            second.clone(),
            "number".into(),
        )?;
        let found = builder.get_connection_ids(vec![second.clone()].into())?;
        assert_eq!(found.as_slice(), std::slice::from_ref(&made));
        let mut properties = TypeMap::default();
        properties.put_int("weight", 7)?;
        builder.set_connection_properties(made.clone(), properties.clone())?;
        assert_eq!(builder.get_connection_properties(made.clone())?, properties);
        builder.set_component_properties(first.clone(), properties.clone())?;
        assert_eq!(builder.get_component_properties(first.clone())?, properties);
        builder.set_port_properties(first.clone(), "next".into(), properties.clone())?;
        assert_eq!(
            builder.get_port_properties(first.clone(), "next".into())?,
            properties
        );
        let provided = builder.get_provided_port_names(first.clone())?;
        assert_eq!(provided.as_slice(), ["number", "parameters"]);
        assert_eq!(
            builder.get_used_port_names(first.clone())?.as_slice(),
            ["next"]
        );
        let text = first.to_string();
        assert_eq!(builder.get_deserialization(text.as_str().into())?, first);
        assert_eq!(
            builder.get_component_id("maker".into())?,
            self.services.get_component_id()?
        );
        assert_eq!(builder.get_component_ids()?.len(), 3);
        builder.disconnect(made.clone(), 0.0)?;
        assert!(builder.disconnect(made, 0.0).is_err());
        let ends = (first.clone(), second.clone());
        builder.connect(first.clone(), "next".into(), ends.1, "number".into())?;
        builder.disconnect_all(ends.0, second.clone(), 0.0)?;
        assert!(builder.get_connection_ids(vec![second].into())?.is_empty());
        builder.destroy_instance(first.clone(), 0.0)?;
        let gone = builder.get_component_properties(first).unwrap_err();
        assert!(gone.message().contains("\"first\": unknown"), "{gone}");
        Ok(())
    }
}

/// Starts another.
#[component(class = "test.Relay", version = "1.0")]
pub struct Relay(UsesPort<dyn GoPort>);

impl Component for Relay {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let relay = Arc::new(Relay(services.register_uses_port("next")?));
        services.add_provides_port::<dyn GoPort, _>("go", &relay)?;
        Ok(relay)
    }
}

impl GoPort for Relay {
    fn go(&self) -> Result<(), PortError> {
        self.0.get()?.go()
    }
}

/// Refuses to be made.
#[component(class = "test.Failing", version = "1.0")]
pub struct Failing;

impl Component for Failing {
    fn set_services(_: &Services) -> Result<Arc<Self>, PortError> {
        Err(PortError::failed("no mood"))
    }
}

/// Counts how often it was called.
#[derive(Default)]
pub struct Calls(pub AtomicUsize);

impl Calls {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub fn one_more(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl ComponentReleasePort for Calls {
    fn release_services(&self) -> Result<(), PortError> {
        self.one_more();
        Ok(())
    }
}

impl NumberPort for Calls {
    fn number(&self) -> Result<i64, PortError> {
        self.one_more();
        Ok(self.count() as i64)
    }
}

/// A framework that knows the classes above.
pub fn framework() -> Framework {
    let framework = Framework::new();
    framework.add_library(&Library::of_program().unwrap());
    framework
}

pub fn add(framework: &Framework, name: &str, class: &str) {
    framework
        .create_instance_of(name, class, TypeMap::default())
        .unwrap();
}

pub fn wire(user: &str, uses: &str, provider: &str, provides: &str) -> ConnectionId {
    ConnectionId {
        user: user.into(),
        uses: uses.into(),
        provider: provider.into(),
        provides: provides.into(),
    }
}

pub fn number(framework: &Framework, instance: &str) -> i64 {
    let number = framework.with_port::<dyn NumberPort, _>(instance, "number", |p| p.number());
    number.unwrap().unwrap()
}

/// The error as a component receives it.
pub fn code_and_message(error: impl Into<PortError>) -> (cca_ports::ErrorCode, String) {
    let error = error.into();
    (error.code(), error.message().to_string())
}

/// For ports that ask for names.
pub fn text(text: &str) -> RStr<'_> {
    text.into()
}

/// Three times its own number, and the number behind its uses port; counts the instances of its class that
/// were released.
#[component(class = "test.Tripler", version = "1.0")]
pub struct Tripler {
    own: Parameter<i64>,
    next: UsesPort<dyn NumberPort>,
}

/// Number of released instances.
pub static TRIPLERS_GONE: AtomicUsize = AtomicUsize::new(0);

impl Component for Tripler {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let own = services
            .parameters("parameters")?
            .integer("own", 100)
            .add()?;
        let next = services.register_uses_port("next")?;
        let tripler = Arc::new(Tripler { own, next });
        services.add_provides_port::<dyn NumberPort, _>("number", &tripler)?;
        Ok(tripler)
    }

    fn release_services(&self) -> Result<(), PortError> {
        TRIPLERS_GONE.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

impl NumberPort for Tripler {
    fn number(&self) -> Result<i64, PortError> {
        let next = self.next.get_nonblocking()?;
        let rest = next.map_or(Ok(0), |next| next.number())?;
        Ok(3 * self.own.get() + rest)
    }
}

/// A number that is always the same: it uses nothing and takes no parameter.
#[component(class = "test.Seven", version = "1.0")]
pub struct Seven;

impl Component for Seven {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let seven = Arc::new(Seven);
        services.add_provides_port::<dyn NumberPort, _>("number", &seven)?;
        Ok(seven)
    }
}

impl NumberPort for Seven {
    fn number(&self) -> Result<i64, PortError> {
        Ok(7)
    }
}
