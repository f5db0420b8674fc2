//! Listeners hear of connections; services are connected to their users.

use std::sync::{Arc, Mutex};

use cca_abi::ProvidedBy;
use cca_core::Framework;
use cca_ports::{
    ConnectionEvent, ConnectionEventKind, ConnectionEventListenerPort, ConnectionEventServicePort,
    ErrorCode, OwnedPort, PortError, RStr, ServiceProviderPort, ServiceRegistryPort,
};

use crate::components::{Calls, NumberPort, add, code_and_message, framework, number, text, wire};

/// Writes down the events, and queries the framework meanwhile: it is not locked.
struct Heard {
    framework: Arc<Framework>,
    events: Mutex<Vec<(ConnectionEventKind, String)>>,
}

impl ConnectionEventListenerPort for Heard {
    fn connection_activity(&self, event: ConnectionEvent) -> Result<(), PortError> {
        let n = self.framework.connections().len();
        let ConnectionEvent {
            kind, connection, ..
        } = event;
        let line = format!("{}.{} {n}", connection.user.name, connection.uses);
        self.events.lock().unwrap().push((kind, line));
        Err(PortError::failed("nobody cares"))
    }
}

#[test]
fn listeners_hear_what_they_asked_for() {
    use ConnectionEventKind::{
        All, ConnectPending, Connected, DisconnectPending, Disconnected, Error,
    };
    let framework = Arc::new(framework());
    add(&framework, "a", "test.Adder");
    add(&framework, "b", "test.Adder");
    let host = framework.services("host", "test.Host", "1").unwrap();
    let service = host.register_uses_port::<dyn ConnectionEventServicePort>("events");
    let service = service.unwrap();
    let listen = |kind| {
        let heard = Arc::new(Heard {
            framework: Arc::clone(&framework),
            events: Mutex::default(),
        });
        let port = <dyn ConnectionEventListenerPort>::provide(Arc::clone(&heard));
        let id = service
            .get()
            .unwrap()
            .add_connection_event_listener(kind, port);
        (heard, id.unwrap())
    };
    let ((all, _), (errors, id)) = (listen(All), listen(Error));
    let connection = wire("a", "next", "b", "number");
    framework.connect(&connection).unwrap();
    framework.connect(&connection).unwrap_err();
    framework.disconnect("a", "next").unwrap();
    let kinds: Vec<_> = all.events.lock().unwrap().clone();
    let expected = [
        (ConnectPending, "a.next 1"),
        (Connected, "a.next 2"),
        (ConnectPending, "a.next 2"),
        (Error, "a.next 2"),
        (DisconnectPending, "a.next 2"),
        (Disconnected, "a.next 1"),
    ];
    assert_eq!(kinds, expected.map(|(kind, line)| (kind, line.to_string())));
    assert_eq!(errors.events.lock().unwrap().len(), 1);
    service
        .get()
        .unwrap()
        .remove_connection_event_listener(id)
        .unwrap();
    let again = service.get().unwrap().remove_connection_event_listener(id);
    assert!(again.unwrap_err().message().contains("unknown"));
    // The listener holds the framework, which holds the listener.
    let (all_id, wrong) = (
        id - 1,
        <dyn NumberPort>::provide(Arc::new(Calls::default())),
    );
    framework.remove_connection_event_listener(all_id).unwrap();
    let refused = framework.add_connection_event_listener(All, wrong);
    assert_eq!(
        code_and_message(refused.unwrap_err()).0,
        ErrorCode::BadPortType
    );
}

#[test]
fn a_port_in_use_is_heard_of_once() {
    let framework = Arc::new(framework());
    add(&framework, "b", "test.Adder");
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host.register_uses_port::<dyn NumberPort>("n").unwrap();
    framework
        .connect(&wire("host", "n", "b", "number"))
        .unwrap();
    let heard = Arc::new(Heard {
        framework: Arc::clone(&framework),
        events: Mutex::default(),
    });
    let port = <dyn ConnectionEventListenerPort>::provide(Arc::clone(&heard));
    let all = ConnectionEventKind::All;
    let id = framework.add_connection_event_listener(all, port).unwrap();
    let inside = uses.get().unwrap();
    let kinds = || -> Vec<_> {
        let mut events = heard.events.lock().unwrap();
        events.drain(..).map(|(kind, _)| kind).collect()
    };
    // Many attempts of a millisecond.
    let patience = std::time::Duration::from_millis(20);
    framework
        .disconnect_within("host", "n", patience)
        .unwrap_err();
    let expected = [
        ConnectionEventKind::DisconnectPending,
        ConnectionEventKind::Error,
    ];
    assert_eq!(kinds(), expected);
    framework.destroy_instance("b", patience).unwrap_err();
    assert!(kinds().len() <= expected.len());
    drop(inside);
    framework.remove_connection_event_listener(id).unwrap();
}

/// Makes a number for each user.
struct Numbers(Mutex<Vec<String>>);

impl ServiceProviderPort for Numbers {
    fn create_service(&self, instance: RStr<'_>, uses: RStr<'_>) -> Result<OwnedPort, PortError> {
        self.0.lock().unwrap().push(format!("{instance}.{uses}"));
        Ok(<dyn NumberPort>::provide(Arc::new(Calls::default())))
    }
}

#[test]
fn services_are_led_to_who_uses_them() {
    let framework = framework();
    for name in ["a", "b", "c"] {
        add(&framework, name, "test.Adder");
    }
    framework
        .connect(&wire("a", "next", "b", "number"))
        .unwrap();
    let host = framework.services("host", "test.Host", "1").unwrap();
    let registry = host
        .register_uses_port::<dyn ServiceRegistryPort>("registry")
        .unwrap();
    let registry = registry.get().unwrap();
    let provider = Arc::new(Numbers(Mutex::default()));
    let port = || <dyn ServiceProviderPort>::provide(Arc::clone(&provider));
    let interface = text("test.Number");
    registry.add_service(interface, port()).unwrap();
    assert!(registry.add_service(interface, port()).is_err());
    // "b" gets a number of its own, which counts from 1.
    assert_eq!(number(&framework, "a"), 3);
    assert_eq!(number(&framework, "a"), 4);
    assert_eq!(number(&framework, "c"), 2);
    assert_eq!(*provider.0.lock().unwrap(), ["b.next", "c.next"]);
    registry.remove_service(interface).unwrap();
    assert!(registry.remove_service(interface).is_err());
    let shared = Arc::new(Calls::default());
    let singleton = <dyn NumberPort>::provide(Arc::clone(&shared));
    registry.add_singleton_service(singleton).unwrap();
    framework.disconnect("c", "next").unwrap();
    assert_eq!(number(&framework, "c"), 2);
    assert_eq!(shared.count(), 1);
}
