//! Instances made, connected, used, refused and destroyed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cca_core::{Assembly, Framework, Repository};
use cca_loader::Library;
use cca_ports::{BuilderServicePort, ErrorCode, GoPort, TypeMap};

use crate::components::{Calls, NumberPort, add, code_and_message, framework, number, wire};

const NOW: Duration = Duration::ZERO;

fn pair() -> Framework {
    let framework = framework();
    add(&framework, "a", "test.Adder");
    add(&framework, "b", "test.Adder");
    framework
        .connect(&wire("a", "next", "b", "number"))
        .unwrap();
    framework
}

#[test]
fn a_component_builds_others_through_the_port() {
    let framework = framework();
    add(&framework, "maker", "test.Maker");
    let went = framework.with_port::<dyn GoPort, _>("maker", "go", |port| port.go());
    went.unwrap().unwrap();
    let names: Vec<_> = framework.instances().into_iter().map(|i| i.name).collect();
    assert_eq!(names, ["Adder0", "maker"]);
}

#[test]
fn what_is_connected_is_called_and_what_is_not_is_not() {
    let framework = pair();
    assert_eq!(number(&framework, "a"), 2);
    framework.disconnect("a", "next").unwrap();
    assert_eq!(number(&framework, "a"), 1);
}

#[test]
fn connecting_twice_and_disconnecting_twice_are_refused() {
    let framework = pair();
    let (code, message) = code_and_message(
        framework
            .connect(&wire("a", "next", "b", "number"))
            .unwrap_err(),
    );
    assert_eq!(code, ErrorCode::Failed);
    assert!(message.contains("connected already"), "{message}");
    framework.disconnect("a", "next").unwrap();
    let (code, _) = code_and_message(framework.disconnect("a", "next").unwrap_err());
    assert_eq!(code, ErrorCode::PortNotConnected);
}

#[test]
fn ends_that_do_not_fit_are_refused() {
    let framework = pair();
    framework.disconnect("a", "next").unwrap();
    let wrong = framework.connect(&wire("a", "next", "b", "parameters"));
    let (code, message) = code_and_message(wrong.unwrap_err());
    assert_eq!(code, ErrorCode::BadPortType);
    assert!(
        message.contains("expected type \"test.Number/1.0\""),
        "{message}"
    );
    let (code, _) = code_and_message(
        framework
            .connect(&wire("a", "nxt", "b", "number"))
            .unwrap_err(),
    );
    assert_eq!(code, ErrorCode::PortNotDefined);
}

#[test]
fn an_instance_is_destroyed_with_its_connections() {
    let framework = pair();
    framework.destroy_instance("b", NOW).unwrap();
    assert_eq!(number(&framework, "a"), 1);
    assert!(framework.connections().is_empty());
    add(&framework, "b", "test.Adder");
    framework
        .connect(&wire("a", "next", "b", "number"))
        .unwrap();
    assert_eq!(number(&framework, "a"), 2);
}

#[test]
fn a_component_in_use_is_not_destroyed() {
    let framework = pair();
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host.register_uses_port::<dyn NumberPort>("n").unwrap();
    framework
        .connect(&wire("host", "n", "b", "number"))
        .unwrap();
    let inside = uses.get().unwrap();
    for refused in [
        framework.destroy_instance("b", NOW),
        framework.destroy_instance("host", NOW),
        framework.disconnect("host", "n"),
        framework.shutdown_framework(),
    ] {
        let (code, message) = code_and_message(refused.unwrap_err());
        assert_eq!(code, ErrorCode::UsesPortNotReleased, "{message}");
        assert!(
            message.contains("port \"n\" of \"host\": in use"),
            "{message}"
        );
    }
    assert_eq!(inside.number().unwrap(), 1);
    assert_eq!(number(&framework, "a"), 2);
    drop(inside);
    framework.destroy_instance("b", NOW).unwrap();
}

#[test]
fn destroying_waits_up_to_its_timeout() {
    let framework = pair();
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host.register_uses_port::<dyn NumberPort>("n").unwrap();
    framework
        .connect(&wire("host", "n", "b", "number"))
        .unwrap();
    std::thread::scope(|scope| {
        let inside = uses.get().unwrap();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            drop(inside);
        });
        let started = Instant::now();
        framework
            .destroy_instance("b", Duration::from_secs(20))
            .unwrap();
        assert!(started.elapsed() >= Duration::from_millis(25));
    });
}

#[test]
fn the_programs_own_instances_are_out_of_reach() {
    let framework = pair();
    let own = framework.services("@comm", "test.Comm", "1").unwrap();
    let seven = Arc::new(crate::components::Seven);
    own.add_provides_port::<dyn NumberPort, _>("number", &seven)
        .unwrap();
    framework.provide_by_default("@comm", "number").unwrap();
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host.register_uses_port::<dyn BuilderServicePort>("builder");
    let uses = uses.unwrap();
    let builder = uses.get().unwrap();
    let ids = builder.get_component_ids().unwrap();
    assert!(ids.iter().all(|id| id.name != "@comm"), "{ids:?}");
    assert!(builder.get_component_id("@comm".into()).is_err());
    let own = framework.component_id("@comm").unwrap();
    for refused in [
        builder.destroy_instance(own.clone(), 0.0).is_err(),
        builder.get_provided_port_names(own.clone()).is_err(),
        builder
            .get_deserialization(own.to_string().as_str().into())
            .is_err(),
    ] {
        assert!(refused);
    }
    let properties = TypeMap::default();
    let made = builder.create_instance("@x".into(), "test.Adder".into(), properties);
    assert!(
        made.unwrap_err()
            .message()
            .contains("does not begin with @")
    );
    // A connection to a service is no connection between components.
    framework.connect_defaults().unwrap();
    assert_eq!(
        framework.connection("a", "next").map(|c| c.provider).ok(),
        Some("b".into())
    );
    let connections = builder.get_connection_ids(Vec::new().into()).unwrap();
    assert!(connections.iter().all(|c| c.provider.name != "@comm"));
    // A service has its own name until an instance has that name.
    let meant = Some(("@comm".to_string(), "number".to_string()));
    assert_eq!(framework.service_named("comm", "number"), meant);
    add(&framework, "comm", "test.Adder");
    assert_eq!(framework.service_named("comm", "number"), None);
}

#[test]
fn others_run_while_instances_come_and_go() {
    let framework = pair();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| (0..20_000).all(|_| number(&framework, "a") == 2));
        while !running.is_finished() {
            add(&framework, "c", "test.Adder");
            framework
                .connect(&wire("c", "next", "b", "number"))
                .unwrap();
            // "b" may be in use by "a" just now, "c" is not.
            framework.destroy_instance("c", NOW).unwrap();
        }
        assert!(running.join().unwrap());
    });
}

#[test]
fn a_provider_that_was_replaced_lives_until_its_callers_have_left() {
    let framework = pair();
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host.register_uses_port::<dyn NumberPort>("n").unwrap();
    framework
        .connect(&wire("host", "n", "b", "number"))
        .unwrap();
    let inside = uses.get().unwrap();
    framework
        .reconnect(&wire("host", "n", "a", "number"))
        .unwrap();
    framework.disconnect("a", "next").unwrap();
    framework.destroy_instance("b", NOW).unwrap();
    assert_eq!(inside.number().unwrap(), 1);
}

#[test]
fn bad_names_and_unknown_classes_are_errors() {
    let framework = pair();
    let create =
        |name: &str, class: &str| framework.create_instance_of(name, class, TypeMap::default());
    let message = |name, class| create(name, class).unwrap_err().to_string();
    assert!(message("a", "test.Adder").contains("name taken"));
    assert!(message("framework", "test.Adder").contains("name taken"));
    assert!(message("a b", "test.Adder").contains("bad name"));
    assert!(message("x", "test.Addr").contains("one of test.Adder, test.Failing"));
    let failed = create("x", "test.Failing").unwrap_err();
    let (code, message) = code_and_message(failed);
    assert_eq!(code, ErrorCode::Failed);
    assert!(
        message.ends_with("failed in set_services: no mood"),
        "{message}"
    );
    assert!(framework.component_id("x").is_err());
    assert_eq!(create("", "test.Adder").unwrap(), "Adder0");
    assert_eq!(create("", "test.Adder").unwrap(), "Adder1");
}

#[test]
fn services_of_an_instance_that_is_gone_reach_no_other() {
    let framework = framework();
    let old = framework.services("host", "test.Host", "1").unwrap();
    framework.release_services("host").unwrap();
    let new = framework.services("host", "test.Host", "1").unwrap();
    let calls = Arc::new(Calls::default());
    let refused = old.add_provides_port::<dyn NumberPort, _>("number", &calls);
    assert!(refused.unwrap_err().message().contains("\"host#"));
    assert_ne!(old.get_component_id().ok(), new.get_component_id().ok());
}

#[test]
fn services_keep_the_properties_of_ports() {
    let framework = framework();
    let host = framework.services("host", "test.Host", "1").unwrap();
    host.register_uses_port::<dyn NumberPort>("n").unwrap();
    let mut properties = host.create_type_map();
    properties.put_string("unit", "s".into()).unwrap();
    host.set_port_properties("n", properties.clone()).unwrap();
    assert_eq!(host.get_port_properties("n").unwrap(), properties);
    assert_eq!(framework.port_properties("host", "n").unwrap(), properties);
    let unknown = host.get_port_properties("m").unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::PortNotDefined);
    let taken = host.register_uses_port::<dyn NumberPort>("n").unwrap_err();
    assert_eq!(taken.code(), ErrorCode::PortAlreadyDefined);
    let bad = host
        .register_uses_port::<dyn NumberPort>("n.m")
        .unwrap_err();
    assert_eq!(bad.code(), ErrorCode::BadPortName);
    host.unregister_uses_port("n").unwrap();
    let gone = host.unregister_uses_port("n").unwrap_err();
    assert_eq!(gone.code(), ErrorCode::PortNotDefined);
}

#[test]
fn a_used_port_goes_with_its_connection_once_it_is_released() {
    let framework = framework();
    add(&framework, "a", "test.Adder");
    let host = framework.services("host", "test.Host", "1").unwrap();
    let number = host.register_uses_port::<dyn NumberPort>("n").unwrap();
    framework
        .connect(&wire("host", "n", "a", "number"))
        .unwrap();
    let used = number.get().unwrap();
    let in_use = host.unregister_uses_port("n").unwrap_err();
    assert_eq!(in_use.code(), ErrorCode::UsesPortNotReleased);
    drop(used);
    host.unregister_uses_port("n").unwrap();
    assert!(framework.connections().is_empty());
    framework.destroy_instance("a", NOW).unwrap();
}

#[test]
fn release_callbacks_are_called_once() {
    let framework = framework();
    let calls = Arc::new(Calls::default());
    let host = framework.services("host", "test.Host", "1").unwrap();
    host.register_for_release(&calls).unwrap();
    framework.release_services("host").unwrap();
    drop(framework);
    assert_eq!(calls.count(), 1);
}

#[test]
fn a_cycle_of_go_ports_is_refused_and_any_other_is_not() {
    let problems = |connections: &str| {
        let text = format!(
            "[assembly]\nname = \"ring\"\n[instances]\na = \"test.Relay\"\nb = \"test.Relay\"\n\
             m = \"test.Maker\"\nx = \"test.Adder\"\ny = \"test.Adder\"\n[connections]\n\
             \"x.next\" = \"y.number\"\n\"y.next\" = \"x.number\"\n{connections}"
        );
        let assembly: Assembly = toml::from_str(&text).unwrap();
        let mut repository = Repository::default();
        repository.add(&Library::of_program().unwrap()).unwrap();
        let built = Framework::new().assemble(&assembly, &repository);
        let problems = built.err().map(|found| found.problems).unwrap_or_default();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let ring = "\"a.next\" = \"b.go\"\n\"b.next\" = \"a.go\"\n";
    let expected = "cannot run with a cycle of Go ports: \"a.next\" to \"b.go\", \"b.next\" to \"a.go\", expected an end";
    assert_eq!(problems(ring), [expected]);
    let row = "\"a.next\" = \"b.go\"\n\"b.next\" = \"m.go\"\n";
    assert_eq!(problems(row), [""; 0]);
}
