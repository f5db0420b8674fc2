//! Calls sent to one of several instances by their parameters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cca_core::{DecisionEnd, DecisionStep, DecisionTable, Framework};
use cca_ports::{Component, Parameter, PortError, Services, UsesPort, component, port};

use crate::components::{add, framework, wire};

/// Returns which provider answers.
#[port(name = "test.Who", version = "1.0")]
pub trait WhoPort {
    /// Of any call.
    fn any(&self) -> Result<i64, PortError>;
    /// Of a call of some parameters.
    #[perf(n = n, x: f64 = x)]
    fn of(&self, n: usize, x: f64) -> Result<i64, PortError>;
}

static GONE: AtomicUsize = AtomicUsize::new(0);

/// Answers with its own number.
#[component(class = "test.Someone", version = "1.0")]
pub struct Someone(Parameter<i64>);

impl Component for Someone {
    fn set_services(services: &Services) -> Result<Arc<Self>, PortError> {
        let own = services.parameters("parameters")?.integer("own", 0).add()?;
        let someone = Arc::new(Someone(own));
        services.add_provides_port::<dyn WhoPort, _>("who", &someone)?;
        services.declare_stateless("who")?;
        services.add_provides_port::<dyn WhoPort, _>("with_state", &someone)?;
        Ok(someone)
    }
}

impl Drop for Someone {
    fn drop(&mut self) {
        GONE.fetch_add(1, Ordering::SeqCst);
    }
}

impl WhoPort for Someone {
    fn any(&self) -> Result<i64, PortError> {
        Ok(self.0.get())
    }

    fn of(&self, _: usize, _: f64) -> Result<i64, PortError> {
        self.any()
    }
}

fn step(parameter: &str, bounds: &[f64], next: &[&str]) -> DecisionStep {
    let end = |text: &&str| match text.parse() {
        Ok(place) => DecisionEnd::Step(place),
        Err(_) => DecisionEnd::Provider((*text).to_owned()),
    };
    DecisionStep {
        parameter: parameter.into(),
        bounds: bounds.into(),
        labels: Vec::new(),
        next: next.iter().map(end).collect(),
    }
}

fn table(steps: Vec<DecisionStep>) -> DecisionTable {
    DecisionTable {
        port: "who".into(),
        providers: ["zero", "one", "two"].map(String::from).into(),
        methods: [("of".to_owned(), steps)].into(),
    }
}

/// Three providers that answer with 0, 1 and 2.
fn three() -> Framework {
    let framework = framework();
    for (place, name) in ["zero", "one", "two"].into_iter().enumerate() {
        add(&framework, name, "test.Someone");
        let value = i64::try_from(place).unwrap();
        framework.set_parameter(name, "own", &value.into()).unwrap();
    }
    framework
}

fn way(framework: &Framework) -> UsesPort<dyn WhoPort> {
    let host = framework.services("host", "test.Host", "1").unwrap();
    let uses = host.register_uses_port::<dyn WhoPort>("who").unwrap();
    framework
        .connect(&wire("host", "who", "who", "who"))
        .unwrap();
    uses
}

#[test]
fn calls_go_where_the_table_says() {
    let framework = three();
    let steps = vec![
        step("n", &[10.0, 20.5], &["zero", "1", "two"]),
        step("x", &[-1.5, 0.0], &["two", "one", "zero"]),
    ];
    framework.create_dispatcher("who", &table(steps)).unwrap();
    let uses = way(&framework);
    let before = GONE.load(Ordering::SeqCst);
    let who = uses.get().unwrap();
    assert_eq!(who.any().unwrap(), 0);
    for (n, x, expected) in [
        (0, 5.0, 0),
        (9, -5.0, 0),
        (10, -1.6, 2),
        (10, -1.5, 1),
        (20, -1e-300, 1),
        (20, 0.0, 0),
        (20, f64::INFINITY, 0),
        (21, 0.0, 2),
        (usize::MAX / 2, 0.0, 2),
    ] {
        assert_eq!(who.of(n, x).unwrap(), expected, "n = {n}, x = {x}");
    }
    // Its providers cannot be removed.
    let refused = framework.destroy_instance("one", std::time::Duration::ZERO);
    assert!(refused.unwrap_err().to_string().contains("in use"));
    drop(who);
    framework.shutdown_framework().unwrap();
    drop(framework);
    assert!(
        GONE.load(Ordering::SeqCst) >= before + 3,
        "all three are destroyed"
    );
}

#[test]
fn who_is_inside_at_the_end_goes_on() {
    let framework = three();
    let steps = vec![step("n", &[10.0], &["one", "two"])];
    framework.create_dispatcher("who", &table(steps)).unwrap();
    let uses = way(&framework);
    let who = uses.get().unwrap();
    drop(framework);
    assert_eq!((who.of(9, 0.0).unwrap(), who.of(10, 0.0).unwrap()), (1, 2));
}

#[test]
fn another_table_holds_from_the_next_call_on() {
    let framework = three();
    let before = GONE.load(Ordering::SeqCst);
    let steps = |bound| vec![step("n", &[bound], &["one", "two"])];
    framework
        .create_dispatcher("who", &table(steps(10.0)))
        .unwrap();
    let uses = way(&framework);
    let who = uses.get().unwrap();
    assert_eq!((who.of(9, 0.0).unwrap(), who.of(10, 0.0).unwrap()), (1, 2));
    framework.redirect("who", &table(steps(5.0))).unwrap();
    assert_eq!((who.of(4, 0.0).unwrap(), who.of(9, 0.0).unwrap()), (1, 2));
    framework.redirect("who", &table(Vec::new())).unwrap();
    assert_eq!(who.of(9, 0.0).unwrap(), 0);

    let error_of =
        |table: &DecisionTable| framework.redirect("who", table).unwrap_err().to_string();
    let wrong = vec![step("m", &[1.0], &["one", "two"])];
    assert!(error_of(&table(wrong)).contains("parameter \"m\" of \"of\""));
    let mut other = table(Vec::new());
    other.providers.pop();
    assert!(error_of(&other).contains("providers zero, one, expected zero, one, two"));
    let mut other = table(Vec::new());
    other.port = "with_state".into();
    assert!(error_of(&other).contains("port \"with_state\", expected one of who"));
    let refused = framework.redirect("one", &table(Vec::new())).unwrap_err();
    assert!(refused.to_string().contains("dispatches nothing"));
    assert_eq!(who.of(9, 0.0).unwrap(), 0, "as before");

    // A component that connects later uses the latest table, and all are released at the end.
    let late = framework.services("late", "test.Host", "1").unwrap();
    let late = late.register_uses_port::<dyn WhoPort>("who").unwrap();
    let wired = framework.connect(&wire("late", "who", "who", "who"));
    wired.unwrap();
    assert_eq!(late.get().unwrap().of(9, 0.0).unwrap(), 0);
    drop(who);
    framework.shutdown_framework().unwrap();
    drop(framework);
    assert!(GONE.load(Ordering::SeqCst) >= before + 3);
}

#[test]
fn tables_change_while_threads_call() {
    let framework = three();
    framework
        .create_dispatcher("who", &table(Vec::new()))
        .unwrap();
    let uses = way(&framework);
    let who = uses.get().unwrap();
    let is_over = AtomicBool::new(false);
    let calls = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut calls = 0;
                    while calls < 1000 || !is_over.load(Ordering::Relaxed) {
                        let low = who.of(3, 0.0).unwrap();
                        let high = who.of(30, 0.0).unwrap();
                        assert!((0..3).contains(&low) && (0..3).contains(&high));
                        calls += 1;
                    }
                    calls
                })
            })
            .collect();
        for turn in 0..1000 {
            let (one, other) = match turn % 2 {
                0 => ("one", "two"),
                _ => ("two", "one"),
            };
            let steps = vec![step("n", &[10.0], &[one, other])];
            framework.redirect("who", &table(steps)).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        let calls = callers.into_iter().map(|caller| caller.join().unwrap());
        calls.sum::<u64>()
    });
    assert!(calls >= 3000);
    assert_eq!((who.of(3, 0.0).unwrap(), who.of(30, 0.0).unwrap()), (2, 1));
}

#[test]
fn who_is_inside_at_the_end_goes_on_by_the_latest_table() {
    let framework = three();
    framework
        .create_dispatcher("who", &table(Vec::new()))
        .unwrap();
    let uses = way(&framework);
    let who = uses.get().unwrap();
    let steps = vec![step("n", &[10.0], &["one", "two"])];
    framework.redirect("who", &table(steps)).unwrap();
    drop(framework);
    assert_eq!((who.of(9, 0.0).unwrap(), who.of(10, 0.0).unwrap()), (1, 2));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let framework = three();
    let error_of = |table: &DecisionTable| {
        framework
            .create_dispatcher("who", table)
            .unwrap_err()
            .to_string()
    };
    for (steps, expected) in [
        (
            vec![step("m", &[1.0], &["one", "two"])],
            "cannot dispatch calls of \"who\": parameter \"m\" of \"of\", expected one of n, x",
        ),
        (
            vec![step("n", &[2.0, 2.0], &["one", "two", "one"])],
            "bounds [2.0, 2.0] of parameter \"n\", expected at least one, ascending",
        ),
        (
            vec![step("n", &[2.0], &["one"])],
            "1 ends for 1 bounds of parameter \"n\", expected one more",
        ),
        (
            vec![step("n", &[2.0], &["one", "0"])],
            "step 0 behind step 0 of \"of\", expected a later one of 1",
        ),
        (
            vec![step("n", &[2.0], &["one", "three"])],
            "provider \"three\", expected one of zero, one, two",
        ),
    ] {
        let error = error_of(&table(steps));
        assert!(error.contains(expected), "{error}");
    }
    let mut other = table(Vec::new());
    other.methods = [("off".to_owned(), Vec::new())].into();
    assert!(error_of(&other).contains("method \"off\", expected one of any, of"));
    let mut other = table(Vec::new());
    other.port = "with_state".into();
    assert!(error_of(&other).contains("port \"with_state\" of \"zero\" may have a state"));
    let mut other = table(Vec::new());
    other.providers.push("one".into());
    assert!(error_of(&other).contains("provider \"one\" twice, expected each once"));
    let mut other = table(Vec::new());
    other.providers.push("three".into());
    assert!(error_of(&other).contains("cannot find instance \"three\""));
    other.providers.clear();
    assert!(error_of(&other).contains("no providers, expected at least one"));
    // No connection is left.
    framework
        .create_dispatcher("who", &table(Vec::new()))
        .unwrap();
}
