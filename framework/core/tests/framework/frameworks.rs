//! Frameworks that a component makes: they do not meet, and end with the port they were made through.

use std::sync::Arc;

use cca_abi::ProvidedBy;
use cca_ports::{
    AbstractFrameworkPort, BuilderServicePort, ComponentRepositoryPort, GoPort, HeldPort,
    ServicesPort, TypeMap,
};

use crate::components::{Calls, add, framework, text};

#[test]
fn a_framework_made_through_a_port_is_another() {
    let framework = framework();
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host
        .register_uses_port::<dyn AbstractFrameworkPort>("framework")
        .unwrap();
    let other = uses.get().unwrap().create_empty_framework().unwrap();
    let other = HeldPort::<dyn AbstractFrameworkPort>::new(other).unwrap();
    assert_eq!(other.create_type_map().unwrap(), TypeMap::default());
    let services = other.get_services(text("host"), text("test.Host"), TypeMap::default());
    let services = HeldPort::<dyn ServicesPort>::new(services.unwrap()).unwrap();
    assert_eq!(services.instance_name().unwrap(), "host");
    let calls = Arc::new(Calls::default());
    let release = <dyn cca_ports::ComponentReleasePort>::provide(Arc::clone(&calls));
    services.register_for_release(release).unwrap();
    let builder = HeldPort::<dyn BuilderServicePort>::new(other.builder_service().unwrap());
    let builder = builder.unwrap();
    assert_eq!(builder.get_component_ids().unwrap().len(), 1);
    let unknown = builder.create_instance(text("x"), text("test.Adder"), TypeMap::default());
    assert!(unknown.unwrap_err().message().contains("there is none"));
    drop(other);
    assert_eq!(calls.count(), 1);
    let gone = builder.get_component_ids().unwrap_err();
    assert_eq!(gone.message(), "the framework is gone");
    assert!(services.get_component_id().is_err());
    assert_eq!(framework.instances().len(), 1);
}

#[test]
fn a_framework_that_is_shut_down_takes_nothing_in() {
    let framework = framework();
    add(&framework, "maker", "test.Maker");
    framework.shutdown_framework().unwrap();
    assert!(framework.instances().is_empty());
    let error = framework.services("host", "test.Host", "1").unwrap_err();
    assert!(error.to_string().contains("shut down"));
    framework.shutdown_framework().unwrap();
}

#[test]
fn a_framework_cannot_be_shut_down_from_inside_itself() {
    struct Ender(cca_ports::UsesPort<dyn AbstractFrameworkPort>);
    impl GoPort for Ender {
        fn go(&self) -> Result<(), cca_ports::PortError> {
            self.0.get()?.shutdown_framework()
        }
    }
    let framework = framework();
    let host = framework.services("host", "test.Host", "1").unwrap();
    let ender = Arc::new(Ender(host.register_uses_port("framework").unwrap()));
    host.add_provides_port::<dyn GoPort, _>("go", &ender)
        .unwrap();
    let went = framework.with_port::<dyn GoPort, _>("host", "go", |go| go.go());
    let code = went.unwrap().unwrap_err().code();
    assert_eq!(code, cca_ports::ErrorCode::UsesPortNotReleased);
}

#[test]
fn the_repository_lists_its_classes_and_takes_more() {
    let framework = framework();
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host
        .register_uses_port::<dyn ComponentRepositoryPort>("repository")
        .unwrap();
    let repository = uses.get().unwrap();
    let classes = repository.get_available_component_classes().unwrap();
    let names: Vec<_> = classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "test.Adder",
            "test.Failing",
            "test.Forgetful",
            "test.Kernel",
            "test.Maker",
            "test.Relay",
            "test.Remembering",
            "test.Seven",
            "test.Someone",
            "test.Stateless",
            "test.Tripler"
        ]
    );
    let missing = repository.append_repository_path(text("no/such/folder"));
    assert!(missing.unwrap_err().message().contains("no/such/folder"));
}
