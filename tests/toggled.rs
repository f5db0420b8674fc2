//! Monitoring switched while the run goes on: the results stay the same bit for bit.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use cca_core::{Assembly, ConnectionId};
use cca_ports::{MeasurementPort, PortError, ProgressPort, RStr};
use mastermind_component::{Mastermind, Measurement};
use mastermind_measurement::{Clock, RecorderConfig, RunRecorder};
use mastermind_records::{ChunkSizes, Profile, Run};
use mastermind_tests::{Application, Cells, RankComm, example, on_ranks};

const STEPS: usize = 12;

fn shock() -> Assembly {
    example("shock/shock.toml", &[&format!("driver.max_steps={STEPS}")])
}

/// Reports each step of the driver to another thread, and waits for the answer.
struct EachStep {
    step: Mutex<(mpsc::Sender<()>, mpsc::Receiver<()>)>,
}

impl ProgressPort for EachStep {
    fn report(&self, _: f64, _: RStr<'_>) -> Result<(), PortError> {
        let step = self.step.lock().expect("no panic");
        // Nobody may listen any more.
        if step.0.send(()).is_ok() {
            let _ = step.1.recv();
        }
        Ok(())
    }
}

/// An application whose connections can be monitored.
struct Monitored {
    application: Application,
    mastermind: Arc<Mastermind>,
    measurement: Arc<Measurement>,
    connections: Vec<ConnectionId>,
}

impl Monitored {
    fn new(assembly: &Assembly, comm: RankComm, rank: u32, records: &Path) -> Self {
        let application = Application::new(comm);
        let recorder = RunRecorder::start(RecorderConfig {
            directory: records.into(),
            rank,
            limit_bytes: None,
            chunks: ChunkSizes::default(),
            clock: Clock::detect(),
            mpi: Default::default(),
            run: Default::default(),
        });
        let framework = &application.framework;
        let services = |name| {
            framework
                .services(name, "test.Own", "1.0")
                .expect("services")
        };
        let recorder = recorder.expect("records");
        let mastermind = Mastermind::add(recorder, None, &services("mastermind")).expect("ports");
        let measurement = Measurement::add(&services("measurement")).expect("ports");
        mastermind.measure(&measurement);
        application.assemble(assembly);
        let connections = framework.connections().into_iter();
        let is_own = |c: &ConnectionId| assembly.instances.contains_key(&c.provider);
        let connections = connections.filter(is_own).collect();
        Monitored {
            application,
            mastermind,
            measurement,
            connections,
        }
    }

    fn monitor(&self, on: bool) {
        for c in &self.connections {
            let framework = &self.application.framework;
            let done = match on {
                true => framework.monitor(&c.user, &c.uses, ("mastermind", Mastermind::PORT)),
                false => framework.unmonitor(&c.user, &c.uses),
            };
            done.unwrap_or_else(|error| panic!("{c:?}: {error}"));
        }
    }

    fn run(&self) -> Cells {
        self.application.go().expect("a run");
        self.application.cells()
    }

    fn end(self) {
        drop(self.application);
        drop(self.measurement);
        let totals = self.mastermind.finish().expect("logs");
        assert_eq!(totals.dropped, 0);
    }
}

fn same(one: &Cells, other: &Cells) -> bool {
    let bits = |cells: &Cells| -> Vec<_> {
        let cells = cells.iter();
        cells
            .map(|(place, state)| (*place, state.map(f64::to_bits)))
            .collect()
    };
    !one.is_empty() && bits(one) == bits(other)
}

fn calls(records: &Path, method: &str) -> f64 {
    let profile = Profile::new(&Run::open(records).expect("records"), false);
    let row = profile.rows.iter().find(|row| row.name == method);
    row.map_or(0.0, |row| row.calls * profile.ranks as f64)
}

/// Proxies inserted and removed, and groups switched off and on, at every step.
fn toggled_at_each_step(comm: RankComm, rank: u32, records: &Path) -> Cells {
    let monitored = Monitored::new(&shock(), comm, rank, records);
    let (step, steps) = mpsc::channel();
    let (answer, answered) = mpsc::channel();
    let each_step = Arc::new(EachStep {
        step: Mutex::new((step, answered)),
    });
    let Application { framework, host } = &monitored.application;
    host.add_provides_port::<dyn ProgressPort, _>("each_step", &each_step)
        .expect("a port");
    for c in framework.connections() {
        if c.provides == "progress" {
            let c = ConnectionId {
                provides: "each_step".into(),
                ..c
            };
            framework.reconnect(&c).expect("a progress port");
        }
    }
    std::thread::scope(|scope| {
        let monitored = &monitored;
        scope.spawn(move || {
            for n in 0.. {
                if steps.recv().is_err() {
                    break;
                }
                monitored.monitor(n % 3 != 1);
                let group = |on| {
                    monitored
                        .measurement
                        .set_group_enabled("hydro.Flux".into(), on)
                };
                if n > 0 {
                    group(n % 2 == 0).expect("a group");
                }
                if answer.send(()).is_err() {
                    break;
                }
            }
        });
        let cells = monitored.run();
        // A thread that waits for a step learns that there are no more.
        *each_step.step.lock().expect("no panic") = {
            let (step, _) = mpsc::channel();
            let (_, answered) = mpsc::channel();
            (step, answered)
        };
        cells
    })
}

#[test]
fn results_are_the_same_with_monitoring_toggled_in_mid_run() {
    for ranks in [1, 3] {
        let plain = on_ranks(ranks, |comm| Application::run(&shock(), comm).cells());
        let folder = tempfile::tempdir().expect("a folder");
        let next = AtomicUsize::new(0);
        let toggled = on_ranks(ranks, |comm| {
            let rank = next.fetch_add(1, Ordering::Relaxed) as u32;
            toggled_at_each_step(comm, rank, folder.path())
        });
        for (plain, toggled) in plain.iter().zip(&toggled) {
            assert!(same(plain, toggled), "{ranks} ranks");
        }
        let all = 8 * 4 * STEPS;
        let [states, flux] =
            ["states.compute", "flux.compute"].map(|name| calls(folder.path(), name));
        assert!(states > 0.0 && states < all as f64, "{states} of {all}");
        assert!(flux > 0.0 && flux < states, "{flux} of {states}");
    }
}

/// Proxies are inserted and removed at any moment, with or without calls in flight.
#[test]
fn results_are_the_same_with_monitoring_toggled_all_the_time() {
    let plain = Application::run(&shock(), RankComm::alone()).cells();
    let folder = tempfile::tempdir().expect("a folder");
    let monitored = Monitored::new(&shock(), RankComm::alone(), 0, folder.path());
    // The first time reads each library, for its hash in the log, which takes longer than the run.
    monitored.monitor(true);
    monitored.monitor(false);
    let is_done = AtomicBool::new(false);
    let (cells, toggles) = std::thread::scope(|scope| {
        let toggler = scope.spawn(|| {
            let mut toggles = 0;
            while !is_done.load(Ordering::Acquire) {
                toggles += 1;
                monitored.monitor(toggles % 2 == 1);
            }
            toggles
        });
        let cells = monitored.run();
        is_done.store(true, Ordering::Release);
        (cells, toggler.join().expect("no panic"))
    });
    assert!(same(&plain, &cells));
    assert!(toggles > 2, "{toggles}");
    monitored.end();
    let run = Run::open(folder.path()).expect("records");
    assert_eq!(run.damage().count(), 0);
    assert!(run.is_finished());
}

/// A proxy that stays in place while its group is disabled records nothing, and records everything again afterwards.
#[test]
fn a_disabled_group_is_not_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let monitored = Monitored::new(&shock(), RankComm::alone(), 0, folder.path());
    monitored.monitor(true);
    let groups = monitored.measurement.groups().expect("groups");
    assert!(
        groups
            .iter()
            .any(|group| group.name == "hydro.Flux" && group.is_enabled)
    );
    let set = |group: &str, on| monitored.measurement.set_group_enabled(group.into(), on);
    set("hydro.Flux", false).expect("a group");
    assert!(set("hydro.Nothing", false).is_err());
    monitored.run();
    assert_eq!(calls(folder.path(), "flux.compute"), 0.0);
    assert_eq!(
        calls(folder.path(), "states.compute"),
        (8 * 4 * STEPS) as f64
    );
    set("hydro.Flux", true).expect("a group");
    monitored
        .measurement
        .set_all_enabled(false)
        .expect("groups");
    monitored.run();
    assert_eq!(calls(folder.path(), "flux.compute"), 0.0);
    assert_eq!(
        calls(folder.path(), "states.compute"),
        (8 * 4 * STEPS) as f64
    );
    monitored.end();
}
