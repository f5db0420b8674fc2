//! Providers and whole instances replaced while they are called.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cca_abi::ProvidedBy;
use cca_core::Framework;
use cca_ports::{
    ConnectionEvent, ConnectionEventKind, ConnectionEventListenerPort, ErrorCode, PortError,
    ReplacementServicePort, Services, UsesPort,
};

use crate::components::{
    NumberPort, TRIPLERS_GONE, add, code_and_message, framework, number, text, wire,
};

/// "a", which is connected to "b", and a uses port of the program's own to "a".
fn chain() -> (Framework, Services, UsesPort<dyn NumberPort>) {
    let framework = framework();
    add(&framework, "a", "test.Adder");
    add(&framework, "b", "test.Adder");
    framework
        .connect(&wire("a", "next", "b", "number"))
        .unwrap();
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host.register_uses_port::<dyn NumberPort>("n").unwrap();
    framework
        .connect(&wire("host", "n", "a", "number"))
        .unwrap();
    (framework, host, uses)
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl ConnectionEventListenerPort for Heard {
    fn connection_activity(&self, event: ConnectionEvent) -> Result<(), PortError> {
        let ConnectionEvent {
            kind, connection, ..
        } = event;
        let line = format!("{kind:?} {} {}", connection.uses, connection.provider);
        self.0.lock().unwrap().push(line);
        Ok(())
    }
}

fn listen(framework: &Framework) -> Arc<Heard> {
    let heard = Arc::new(Heard::default());
    let port = <dyn ConnectionEventListenerPort>::provide(Arc::clone(&heard));
    framework
        .add_connection_event_listener(ConnectionEventKind::All, port)
        .unwrap();
    heard
}

#[test]
fn listeners_hear_of_a_reconnect() {
    let (framework, ..) = chain();
    let heard = listen(&framework);
    let to_b = wire("host", "n", "b", "number");
    framework.reconnect(&to_b).unwrap();
    let ids = ["a", "b"].map(|name| framework.component_id(name).unwrap().to_string());
    let [a, b] = ids;
    let expected = [
        format!("DisconnectPending n {a}"),
        format!("ConnectPending n {b}"),
        format!("Disconnected n {a}"),
        format!("Connected n {b}"),
    ];
    assert_eq!(*heard.0.lock().unwrap(), expected);
    let refused = framework.reconnect(&wire("host", "n", "b", "parameters"));
    assert_eq!(
        code_and_message(refused.unwrap_err()).0,
        ErrorCode::BadPortType
    );
    let last = heard.0.lock().unwrap().last().cloned();
    assert_eq!(last, Some(format!("Error n {b}")));
    assert_eq!(framework.connection("host", "n").unwrap(), to_b);
}

#[test]
fn an_instance_is_replaced_in_its_place() {
    let (framework, host, uses) = chain();
    framework
        .set_parameter("a", "own", &toml::Value::Integer(5))
        .unwrap();
    let heard = listen(&framework);
    let service = host.register_uses_port::<dyn ReplacementServicePort>("replacement");
    let service = service.unwrap();
    let service = service.get().unwrap();
    let (before, connections) = (
        framework.component_id("a").unwrap(),
        framework.connections(),
    );
    assert_eq!(uses.get().unwrap().number().unwrap(), 6);
    service
        .replace_instance(text("a"), text("test.Tripler"))
        .unwrap();
    assert_eq!(uses.get().unwrap().number().unwrap(), 16);
    let after = framework.component_id("a").unwrap();
    assert_ne!(before, after);
    assert_eq!(framework.instance("a").unwrap().class, "test.Tripler");
    let ours = |connections: Vec<cca_core::ConnectionId>| -> Vec<_> {
        let ours = connections.into_iter().filter(|c| c.uses != "replacement");
        ours.collect()
    };
    assert_eq!(ours(framework.connections()), ours(connections));
    let lines = heard.0.lock().unwrap().clone();
    assert!(
        lines.contains(&format!("Disconnected n {before}")),
        "{lines:?}"
    );
    assert!(lines.contains(&format!("Connected n {after}")), "{lines:?}");
    // While a caller is inside, the old one stays; it is released when the last has left.
    let inside = uses.get().unwrap();
    let gone = TRIPLERS_GONE.load(Ordering::SeqCst);
    service
        .replace_instance(text("a"), text("test.Adder"))
        .unwrap();
    assert_eq!(inside.number().unwrap(), 6);
    assert_eq!(TRIPLERS_GONE.load(Ordering::SeqCst), gone);
    drop(inside);
    assert_eq!(TRIPLERS_GONE.load(Ordering::SeqCst), gone + 1);
    // A replaced instance uses nothing any more.
    framework.disconnect("host", "n").unwrap();
    framework.disconnect("a", "next").unwrap();
    assert_eq!(number(&framework, "a"), 5);
}

/// Connections and values that a class has no place for return with a later class that has one.
#[test]
fn who_comes_back_finds_what_was_left_behind() {
    let (framework, _host, uses) = chain();
    let own = toml::Value::Integer(5);
    framework.set_parameter("a", "own", &own).unwrap();
    let number = || uses.get().unwrap().number().unwrap();
    let replace = |instance: &str, class: &str| framework.replace_instance(instance, class);
    replace("a", "test.Seven").unwrap();
    replace("a", "test.Seven").unwrap();
    assert_eq!(number(), 7);
    replace("b", "test.Tripler").unwrap();
    replace("a", "test.Adder").unwrap();
    // Its own, and three times that of "b".
    assert_eq!(number(), 8);
    // A connection needs its port; an optional port stays unconnected only if it was.
    replace("a", "test.Seven").unwrap();
    framework.destroy_instance("b", Duration::ZERO).unwrap();
    assert!(replace("a", "test.Adder").is_err());
    assert_eq!(number(), 7);
}

/// A caller still inside a replaced instance, or with its ports in variables of the library, calls the present
/// provider.
#[test]
fn a_replaced_instance_that_is_still_called_follows_who_it_calls() {
    let (framework, _host, uses) = chain();
    let inside = uses.get().unwrap();
    assert_eq!(inside.number().unwrap(), 2);
    let kept = framework.keep_ways_to("a").unwrap();
    framework.replace_instance("a", "test.Tripler").unwrap();
    framework.replace_instance("b", "test.Seven").unwrap();
    assert_eq!(
        inside.number().unwrap(),
        10,
        "the present one, three times its own 1, and 7"
    );
    let called = kept.ports().next().map(|(port, _)| port.to_owned());
    assert_eq!(called.as_deref(), Some("number"));
    drop(framework.lead_back(&kept));
    assert_eq!(inside.number().unwrap(), 8, "the one before, 7 and 1");
}

#[test]
fn calls_are_led_back_to_who_was_there_before() {
    let (framework, _host, uses) = chain();
    let number = || uses.get().unwrap().number().unwrap();
    let kept = framework.keep_ways_to("a").unwrap();
    framework.replace_instance("a", "test.Seven").unwrap();
    assert_eq!(number(), 7);
    drop(framework.lead_back(&kept));
    assert_eq!(number(), 2);
    // The name stays, and the next instance replaces it.
    assert_eq!(framework.instance("a").unwrap().class, "test.Seven");
    framework.replace_instance("a", "test.Tripler").unwrap();
    assert_eq!(number(), 4);
    // A connection that leads elsewhere by now is left alone.
    framework
        .reconnect(&wire("host", "n", "b", "number"))
        .unwrap();
    drop(framework.lead_back(&kept));
    assert_eq!(number(), 1);
}

#[test]
fn what_does_not_fit_stays_out() {
    let (framework, host, uses) = chain();
    let connections = framework.connections();
    let before = framework.component_id("a").unwrap();
    let refused =
        |class: &str| code_and_message(framework.replace_instance("a", class).unwrap_err()).1;
    let lacking = refused("test.Maker");
    assert!(
        lacking.contains("port \"number\" of \"a\": unknown"),
        "{lacking}"
    );
    assert!(refused("test.Failing").ends_with("failed in set_services: no mood"));
    assert!(refused("test.Nothing").contains("class \"test.Nothing\" unknown"));
    let own = framework.replace_instance("host", "test.Adder");
    let own = code_and_message(own.unwrap_err()).1;
    assert!(own.contains("not made of a class"), "{own}");
    assert!(framework.replace_instance("z", "test.Adder").is_err());
    assert_eq!(framework.connections(), connections);
    assert_eq!(framework.component_id("a").unwrap(), before);
    assert_eq!(uses.get().unwrap().number().unwrap(), 2);
    drop(host);
}

#[test]
fn state_is_handed_over() {
    let framework = framework();
    add(&framework, "a", "test.Remembering");
    for expected in 1..=3 {
        assert_eq!(number(&framework, "a"), expected);
    }
    framework.replace_instance("a", "test.Remembering").unwrap();
    assert_eq!(number(&framework, "a"), 4);
    let refused = code_and_message(
        framework
            .replace_instance("a", "test.Forgetful")
            .unwrap_err(),
    )
    .1;
    assert!(refused.contains("restore state \"a.state\""), "{refused}");
    assert_eq!(number(&framework, "a"), 5);
    framework.replace_instance("a", "test.Stateless").unwrap();
    assert_eq!(number(&framework, "a"), 7);
}

#[test]
fn who_may_be_replaced_says_so() {
    let framework = framework();
    for (class, may_be) in [
        ("test.Adder", false),
        ("test.Stateless", true),
        ("test.Remembering", true),
    ] {
        let name = class.replace('.', "");
        add(&framework, &name, class);
        assert_eq!(framework.may_be_replaced(&name).unwrap(), may_be, "{class}");
    }
    assert!(framework.may_be_replaced("nobody").is_err());
}

#[test]
fn who_shares_steps_with_another_class_says_so() {
    struct Seven;
    impl NumberPort for Seven {
        fn number(&self) -> Result<i64, PortError> {
            Ok(7)
        }
    }
    let framework = framework();
    let services = framework.services("mine", "test.Mine", "1").unwrap();
    let port = Arc::new(Seven);
    services
        .add_provides_port::<dyn NumberPort, _>("number", &port)
        .unwrap();
    let shares = || framework.may_share_steps("mine").unwrap();
    assert!(!shares(), "it may keep something from call to call");
    services.declare_stateless("number").unwrap();
    assert!(shares());
    services.declare_whole_steps("number").unwrap();
    assert!(!shares());
    assert!(
        framework.is_stateless("mine").unwrap(),
        "between two steps it may be replaced"
    );
    assert!(framework.may_share_steps("nobody").is_err());
}

/// Eight threads call while an instance is replaced and a port is led to and fro: every call reaches a living provider.
#[test]
fn threads_call_on() {
    let (framework, _host, uses) = chain();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|k| {
                let (uses, is_done) = (&uses, &is_done);
                scope.spawn(move || {
                    let mut n_calls = 0_u64;
                    while !is_done.load(Ordering::Acquire) {
                        let port = uses.get().unwrap();
                        for _ in 0..1 + k * 20 {
                            let found = port.number().unwrap();
                            assert!([1, 2].contains(&found), "{found}");
                            n_calls += 1;
                        }
                    }
                    n_calls
                })
            })
            .collect();
        for n in 0..2_000 {
            match n % 4 {
                0 | 2 => framework.replace_instance("a", "test.Adder").unwrap(),
                1 => framework
                    .reconnect(&wire("host", "n", "b", "number"))
                    .unwrap(),
                _ => framework
                    .reconnect(&wire("host", "n", "a", "number"))
                    .unwrap(),
            }
        }
        is_done.store(true, Ordering::Release);
        let n_calls: u64 = callers.into_iter().map(|c| c.join().unwrap()).sum();
        assert!(n_calls > 0);
    });
    framework.disconnect("host", "n").unwrap();
    framework.shutdown_framework().unwrap();
}

/// A thread that has not given its port back when the framework ends still calls a living provider.
#[test]
fn a_thread_that_stays_longer_than_the_framework_calls_on() {
    let (framework, _host, uses) = chain();
    let inside = uses.get().unwrap();
    assert_eq!(inside.number().unwrap(), 2);
    drop(framework);
    // "a" is there; the framework that leads it on to "b" is not.
    assert!(inside.number().is_err());
    drop(inside);
    assert!(uses.get().is_err());
}
