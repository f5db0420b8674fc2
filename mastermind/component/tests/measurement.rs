//! The ports of measurement, used by a component while its own calls are recorded.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use cca_core::{ConnectionId, Framework};
use cca_ports::{
    GoPort, MeasurementPort, PerfParamPort, PortError, RSlice, RString, Services, UsesPort,
};
use mastermind_component::{Mastermind, Measurement, PerfParam};
use mastermind_measurement::{Clock, RecorderConfig, RunRecorder};
use mastermind_records::{ChunkSizes, Profile, Run};

const CALLS: u64 = 5;

/// The work of each call.
type Body = Box<dyn Fn(&App) -> Result<(), PortError> + Send + Sync>;

/// Measures itself in `go`.
struct App {
    measurement: UsesPort<dyn MeasurementPort>,
    perf_param: UsesPort<dyn PerfParamPort>,
    body: OnceLock<Body>,
}

impl App {
    fn add(services: &Services) -> Result<Arc<Self>, PortError> {
        let app = Arc::new(App {
            measurement: services.register_uses_port("measurement")?,
            perf_param: services.register_uses_port("perf_param")?,
            body: OnceLock::new(),
        });
        services.add_provides_port::<dyn GoPort, _>("go", &app)?;
        Ok(app)
    }
}

impl GoPort for App {
    fn go(&self) -> Result<(), PortError> {
        self.body.get().map_or(Ok(()), |body| body(self))
    }
}

/// A framework with an application that is called and measured.
struct Stage {
    framework: Framework,
    mastermind: Arc<Mastermind>,
    go: UsesPort<dyn GoPort>,
}

fn stage(records: &Path, body: Body) -> Stage {
    let framework = Framework::new();
    let services = |name: &str| framework.services(name, "test.Own", "1.0").expect("a name");
    let recorder = RunRecorder::start(RecorderConfig {
        directory: records.into(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: Default::default(),
        run: Default::default(),
    });
    let recorder = recorder.expect("records");
    let mastermind = Mastermind::add(recorder, None, &services("mastermind")).expect("ports");
    let measurement = Measurement::add(&services("measurement")).expect("a port");
    mastermind.measure(&measurement);
    let app = App::add(&services("app")).expect("ports");
    assert!(app.body.set(body).is_ok());
    let go = services("main").register_uses_port("go").expect("a port");
    for (user, uses, provider, provides) in [
        ("main", "go", "app", "go"),
        ("app", "measurement", "measurement", Measurement::PORT),
        (
            "app",
            "perf_param",
            "mastermind",
            Mastermind::PERF_PARAM_PORT,
        ),
    ] {
        let connection = ConnectionId {
            user: user.into(),
            uses: uses.into(),
            provider: provider.into(),
            provides: provides.into(),
        };
        framework.connect(&connection).expect("ends that fit");
    }
    let monitor = ("mastermind", Mastermind::PORT);
    framework.monitor("main", "go", monitor).expect("a proxy");
    Stage {
        framework,
        mastermind,
        go,
    }
}

impl Stage {
    fn call(&self) {
        self.go.get().expect("a port").go().expect("a call");
    }

    fn end(self, records: &Path) -> Run {
        drop(self.go);
        drop(self.framework);
        let totals = self.mastermind.finish().expect("logs");
        assert_eq!(totals.dropped, 0);
        let run = Run::open(records).expect("records");
        assert_eq!(run.damage().count(), 0);
        run
    }
}

fn timed(app: &App) -> Result<(), PortError> {
    let measurement = app.measurement.get()?;
    let outer = measurement.create_timer("outer".into(), "solver".into())?;
    let inner = measurement.create_timer("inner".into(), "solver".into())?;
    let residual = measurement.create_event("residual".into())?;
    measurement.start(outer)?;
    for n in 0..2 {
        measurement.start(inner)?;
        measurement.trigger(residual, f64::from(n))?;
        measurement.stop(inner)?;
    }
    assert!(measurement.stop(inner).is_err(), "the outer one runs");
    measurement.stop(outer)
}

#[test]
fn timers_are_records_among_those_of_the_proxies() {
    let folder = tempfile::tempdir().expect("a folder");
    let stage = stage(folder.path(), Box::new(timed));
    (0..CALLS).for_each(|_| stage.call());
    let values = stage.framework.with_port::<dyn MeasurementPort, _>(
        "measurement",
        Measurement::PORT,
        |port| {
            (
                port.timers().expect("timers"),
                port.events().expect("events"),
            )
        },
    );
    let (timers, events) = values.expect("a port");
    let [outer, inner] = &timers[..] else {
        panic!("{timers:?}")
    };
    assert_eq!((outer.calls, outer.subcalls), (CALLS, 2 * CALLS));
    assert_eq!((inner.calls, inner.subcalls), (2 * CALLS, 0));
    assert_eq!(outer.inclusive_ns, outer.exclusive_ns + inner.inclusive_ns);
    let of_inner = inner.virtual_inclusive_ns;
    assert_eq!(
        outer.virtual_inclusive_ns,
        outer.virtual_exclusive_ns + of_inner
    );
    assert!(outer.virtual_inclusive_ns > 0 && outer.inclusive_ns > 0);
    let event = &events[0];
    assert_eq!((event.count, event.min, event.max), (2 * CALLS, 0.0, 1.0));
    assert!((event.mean - 0.5).abs() < 1e-12 && (event.std_deviation - 0.5).abs() < 1e-12);

    let run = stage.end(folder.path());
    let definitions = run.logs()[0].definitions();
    let paths = definitions.call_paths();
    let paths: Vec<_> = paths
        .map(|path| definitions.call_path_name(path.id))
        .collect();
    let expected = [
        "app.go",
        "app.go->solver.outer",
        "app.go->solver.outer->solver.inner",
    ];
    assert_eq!(paths, expected);
    let profile = Profile::new(&run, false);
    let row = |name: &str| {
        profile
            .rows
            .iter()
            .find(|row| row.name == name)
            .expect("a row")
    };
    assert_eq!(row("solver.outer").calls, CALLS as f64);
    assert_eq!(row("solver.inner").calls, 2.0 * CALLS as f64);
    assert!(row("solver.outer").inclusive_ns <= row("app.go").inclusive_ns);
    assert_eq!(
        (profile.events[0].name.as_str(), profile.events[0].count),
        ("residual", 2 * CALLS)
    );
}

/// Groups that the component switches off are not measured: its own timers, and calls through ports.
#[test]
fn groups_are_switched_from_within() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = |app: &App| {
        let measurement = app.measurement.get()?;
        timed(app)?;
        measurement.set_group_enabled("solver".into(), false)?;
        timed(app)?;
        measurement.set_group_enabled("solver".into(), true)?;
        let groups = measurement.groups()?;
        let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["cca.Go", "solver"], "no MPI, so no such group");
        assert!(measurement.set_group_enabled("MPI".into(), false).is_err());
        // From the next call on.
        measurement.set_group_enabled("cca.Go".into(), false)
    };
    let stage = stage(folder.path(), Box::new(body));
    (0..CALLS).for_each(|_| stage.call());
    let run = stage.end(folder.path());
    let profile = Profile::new(&run, false);
    let calls = |name: &str| {
        profile
            .rows
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.calls)
    };
    assert_eq!(calls("solver.outer"), Some(CALLS as f64));
    assert_eq!(calls("app.go"), Some(1.0));
}

#[test]
fn metrics_have_their_current_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = |app: &App| {
        let measurement = app.measurement.get()?;
        let names = |names: &[&str]| names.iter().copied().map(RString::from).collect::<Vec<_>>();
        let ask = |wanted: &[RString]| measurement.metrics(RSlice::from_slice(wanted));
        let before = ask(&[])?;
        let described: Vec<_> = before
            .iter()
            .map(|m| (m.name.as_str(), m.is_available))
            .collect();
        let expected = [("wall", true), ("process_virtual", true), ("mpi", false)];
        assert_eq!(described, expected);
        let counters = names(&["ru_minflt", "process_virtual"]);
        let first = ask(&counters)?;
        let mut touched = vec![0_u8; 4 << 20];
        touched.iter_mut().step_by(512).for_each(|byte| *byte = 1);
        std::hint::black_box(&touched);
        let second = ask(&counters)?;
        assert!(second[0].value > first[0].value && second[1].value > first[1].value);
        let after = ask(&[])?;
        assert!(after[0].value > before[0].value);
        assert!(ask(&names(&["wal"])).is_err());
        Ok(())
    };
    let stage = stage(folder.path(), Box::new(body));
    stage.call();
    stage.end(folder.path());
}

/// The records so far can be queried while the run goes on: the third call sees those of two.
#[test]
fn records_are_there_while_the_run_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = |app: &App| {
        let perf_param = app.perf_param.get()?;
        let before = perf_param.totals("app.go".into())?;
        timed(app)?;
        let invocations = perf_param.invocations("solver.inner".into(), 0, usize::MAX)?;
        assert_eq!(invocations.len() as u64, 2 * (before.calls + 1));
        let totals = perf_param.totals("solver.inner".into())?;
        assert_eq!(totals.calls, invocations.len() as u64);
        let wall: u64 = invocations.iter().map(|call| call.wall_ns).sum();
        assert_eq!((totals.inclusive_ns, totals.exclusive_ns), (wall, wall));
        assert!(invocations.iter().all(|call| !call.has_mpi && !call.failed));
        assert!(invocations.is_sorted_by_key(|call| call.start_ns));
        let one = perf_param.invocations("solver.inner".into(), 1, 1)?;
        assert_eq!(one[..], invocations[1..2]);
        let outer = perf_param.totals("solver.outer".into())?;
        assert!(outer.exclusive_ns + totals.inclusive_ns == outer.inclusive_ns);
        let names = perf_param.methods()?;
        assert_eq!(
            names[..],
            ["app.go", "solver.inner", "solver.outer"].map(RString::from)
        );
        assert_eq!(perf_param.totals("no.such".into())?, Default::default());
        Ok(())
    };
    let stage = stage(folder.path(), Box::new(body));
    (0..CALLS).for_each(|_| stage.call());
    stage.end(folder.path());
}

/// However often totals are queried, each record is read once for them; for invocations, the records around them are
/// read again.
#[test]
fn a_question_costs_what_is_new() {
    const N: u64 = 700;
    let folder = tempfile::tempdir().expect("a folder");
    let perf_param = Arc::new(PerfParam::default());
    perf_param.follow(folder.path(), 0);
    let asked = Arc::clone(&perf_param);
    let body = move |app: &App| {
        for n in 1..=N {
            timed(app)?;
            assert_eq!(asked.totals("solver.inner".into())?.calls, 2 * n);
            assert_eq!(asked.n_read(), 3 * n);
        }
        for n in [0, 5, 2 * N - 1] {
            let before = asked.n_read();
            let one = asked.invocations("solver.inner".into(), n, 1)?;
            assert_eq!(one.len(), 1);
            assert!(asked.n_read() - before <= 1024 + 1);
        }
        let all = asked.invocations("solver.inner".into(), 0, usize::MAX)?;
        assert_eq!(all.len() as u64, 2 * N);
        assert!(all.is_sorted_by_key(|call| call.start_ns));
        assert_eq!(
            all.last(),
            asked
                .invocations("solver.inner".into(), 2 * N - 1, 9)?
                .last()
        );
        assert!(
            asked
                .invocations("solver.inner".into(), 2 * N, 9)?
                .is_empty()
        );
        Ok(())
    };
    let stage = stage(folder.path(), Box::new(body));
    stage.call();
    stage.end(folder.path());
}

/// Without records the port is the same, and timers and events are kept.
#[test]
fn without_records_timers_are_kept() {
    let framework = Framework::new();
    let services = framework
        .services("measurement", "test.Own", "1.0")
        .expect("a name");
    let measurement = Measurement::add(&services).expect("a port");
    let timer = measurement
        .create_timer("a".into(), "g".into())
        .expect("a timer");
    measurement.start(timer).expect("a start");
    measurement.stop(timer).expect("a stop");
    measurement.rename_timer(timer, "b".into()).expect("a name");
    measurement
        .regroup_timer(timer, "h".into())
        .expect("a group");
    let timers = measurement.timers().expect("timers");
    assert_eq!(
        (timers[0].name.as_str(), timers[0].group.as_str()),
        ("b", "h")
    );
    assert_eq!(timers[0].calls, 1);
    assert!(measurement.create_event("".into()).is_err());
}
