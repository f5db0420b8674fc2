//! How often each component is called, and with which arguments: the counting rules (case study, section 6).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cca_core::Endpoint;
use cca_ports::{PortError, UsesPort};
use hydro_ports::{Axis, FluxPort, States, StatesMut, StatesPort};
use mastermind_tests::{Application, RankComm, example};

/// Stands between `rhs` and its components, and notes each call.
struct Between {
    states: UsesPort<dyn StatesPort>,
    flux: UsesPort<dyn FluxPort>,
    /// Component, axis, array size.
    calls: Mutex<Vec<(&'static str, Axis, usize)>>,
}

impl Between {
    fn note(&self, component: &'static str, axis: Axis, q: usize) {
        self.calls
            .lock()
            .expect("no panic")
            .push((component, axis, q));
    }
}

impl StatesPort for Between {
    fn compute(
        &self,
        axis: Axis,
        cells: States<'_>,
        left: StatesMut<'_>,
        right: StatesMut<'_>,
    ) -> Result<(), PortError> {
        self.note("states", axis, cells.len());
        self.states.get()?.compute(axis, cells, left, right)
    }
}

impl FluxPort for Between {
    fn compute(
        &self,
        axis: Axis,
        left: States<'_>,
        right: States<'_>,
        flux: StatesMut<'_>,
    ) -> Result<(), PortError> {
        self.note("flux", axis, left.len());
        self.flux.get()?.compute(axis, left, right, flux)
    }
}

fn end(text: &str) -> Endpoint {
    Endpoint::try_from(text.to_string()).expect("INSTANCE.PORT")
}

const STEPS: usize = 3;
const PATCHES: usize = 8;

fn calls() -> Vec<(&'static str, Axis, usize)> {
    let mut assembly = example("shock/shock.toml", &[&format!("driver.max_steps={STEPS}")]);
    for port in ["states", "flux"] {
        let (uses, provides) = (end(&format!("rhs.{port}")), end(&format!("host.{port}")));
        let provider = assembly
            .connections
            .insert(uses, provides)
            .expect("connected");
        assembly
            .connections
            .insert(end(&format!("host.to_{port}")), provider);
    }
    let application = Application::new(RankComm::alone());
    let host = &application.host;
    let between = Arc::new(Between {
        states: host.register_uses_port("to_states").expect("a port"),
        flux: host.register_uses_port("to_flux").expect("a port"),
        calls: Mutex::default(),
    });
    host.add_provides_port::<dyn StatesPort, _>("states", &between)
        .expect("a port");
    host.add_provides_port::<dyn FluxPort, _>("flux", &between)
        .expect("a port");
    application.assemble(&assembly);
    application.go().expect("a run");
    std::mem::take(&mut between.calls.lock().expect("no panic"))
}

/// A patch advance is 2 stages of 2 directions: 4 calls of each component, states before flux, X before Y.
#[test]
fn four_calls_of_each_component_a_patch_and_step() {
    let calls = calls();
    assert_eq!(calls.len(), 2 * 4 * PATCHES * STEPS);
    for evaluation in calls.chunks(4) {
        let order: Vec<_> = evaluation
            .iter()
            .map(|(name, axis, _)| (*name, *axis))
            .collect();
        let expected = [
            ("states", Axis::X),
            ("flux", Axis::X),
            ("states", Axis::Y),
            ("flux", Axis::Y),
        ];
        assert_eq!(order, expected);
        assert!(evaluation.iter().all(|(_, _, q)| *q == evaluation[0].2));
    }
}

/// Eight array sizes, `5 (nx + 4) (ny + 4)`, each as often as the others: enough to fit a model to one run.
#[test]
fn the_shock_example_has_many_array_sizes() {
    let mut sizes = BTreeMap::<usize, usize>::new();
    for (_, _, q) in calls() {
        *sizes.entry(q).or_default() += 1;
    }
    let sides = |ny: usize| [10, 19, 29, 38].map(|nx: usize| 5 * (nx + 4) * (ny + 4));
    let mut expected = [sides(11), sides(21)].concat();
    expected.sort_unstable();
    assert_eq!(sizes.keys().copied().collect::<Vec<_>>(), expected);
    assert!(sizes.values().all(|calls| *calls == 8 * STEPS));
}
