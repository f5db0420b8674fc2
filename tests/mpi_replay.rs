//! A recorded run of a program or an assembly becomes a schedule with all of its messages, under each MPI of this
//! machine.

use std::fs;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpirun, mpis, mpis_with, output, root};
use serde_json::Value;

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("a document")
}

/// A program of the fixtures on some ranks, with each call of MPI recorded.
fn record(mpi: &str, program: &str, ranks: u32, scratch: &Scratch) {
    record_with(mpi, program, ranks, scratch, &["--mpi-events"]);
}

/// # Returns
/// Its output.
fn record_with(
    mpi: &str,
    program: &str,
    ranks: u32,
    scratch: &Scratch,
    options: &[&str],
) -> String {
    let program = compile_mpi(mpi, program, &[], &[], &scratch.path(""));
    let mut command = mpirun(mpi, ranks, &scratch.path(""));
    command.arg(bin_dir().join("mastermind"));
    command.arg("wrap").args(options);
    command.arg("--records").arg(scratch.path("records"));
    output(command.arg("--").arg(program))
}

/// Messages from one rank to one, as their senders recorded them.
fn messages(scratch: &Scratch) -> u64 {
    let shown = scratch.mastermind(&["profile", "records", "--matrix", "--json"]);
    let shown = document(&shown.well());
    let cells = shown["cells"].as_array().expect("cells").iter();
    cells
        .map(|cell| cell["messages"].as_u64().expect("a number"))
        .sum()
}

/// Simulates the records and the schedule that they become, which must be the same.
fn replay(scratch: &Scratch) -> Value {
    let machine = root()
        .join("examples/sweep3d/machine.toml")
        .display()
        .to_string();
    let simulate = |what: &str| {
        let words = ["simulate", what, "--machine", &machine, "--json"];
        document(&scratch.mastermind(&words).well())
    };
    let replayed = simulate("records");
    let said = scratch
        .mastermind(&["convert", "records", "-o", "run.goal", "--force"])
        .well();
    let schedule = simulate("run.goal");
    for field in ["makespan_ns", "messages", "processes"] {
        assert_eq!(replayed[field], schedule[field], "{field}");
    }
    let n = format!(
        " {} messages and {} calls of collectives",
        messages(scratch),
        replayed["recorded"]["collectives"]
    );
    assert!(said.contains(&n), "{said}, expected{n}");
    has_a_program(&replayed, scratch);
    replayed
}

/// The program model of the records has the messages of their schedule, and each rank computes for the same time in it.
/// When the ranks wait for one another depends on the machine, which may have delayed any of them.
fn has_a_program(replayed: &Value, scratch: &Scratch) {
    let machine = root()
        .join("examples/sweep3d/machine.toml")
        .display()
        .to_string();
    let words = ["convert", "records", "-o", "run.toml", "--force"];
    let said = scratch.mastermind(&words).well();
    assert!(said.starts_with("run.toml is written: "), "{said}");
    let ranks = replayed["processes"].as_array().map_or(0, Vec::len);
    // With its own number of ranks unless another is asked for, for which there are no records.
    let words = ["simulate", "run.toml", "--machine", &machine, "--json"];
    let more = (2 * ranks).to_string();
    let refused = scratch.mastermind(&[&words[..], &["--ranks", &more]].concat());
    let error = refused.error();
    assert!(error.contains("recorded-ranks"), "{error}");
    let simulated = document(&scratch.mastermind(&words).well());
    let model = fs::read_to_string(scratch.path("run.toml")).expect("a model");
    assert_eq!(simulated["messages"], replayed["messages"], "{model}");
    let work = |value: &Value| -> Vec<f64> {
        let processes = value["processes"].as_array().expect("processes").iter();
        let work = processes.map(|process| process["work_ns"].as_f64().expect("a number"));
        work.collect()
    };
    let (in_model, in_run) = (work(&simulated), work(replayed));
    assert_eq!(in_model.len(), in_run.len());
    // Each cost is a whole number of nanoseconds.
    for (in_model, in_run) in in_model.into_iter().zip(in_run) {
        let off = (in_model - in_run).abs();
        assert!(
            off < 0.01 * in_run + 1000.0,
            "{in_model} of {in_run} ns: {model}"
        );
    }
}

/// The computation of a rank is its whole time less the time in recorded communication.
fn computation_is_what_was_recorded(replayed: &Value, mpi: &str) {
    let recorded = &replayed["recorded"];
    let processes = replayed["processes"].as_array().expect("ranks");
    assert_eq!(
        processes.len(),
        recorded["ranks_ns"].as_array().map_or(0, Vec::len),
        "{mpi}"
    );
    for (process, elapsed) in processes
        .iter()
        .zip(recorded["ranks_ns"].as_array().expect("times"))
    {
        let (work, elapsed) = (process["work_ns"].as_u64(), elapsed.as_u64());
        assert!(
            work > Some(0) && work < elapsed,
            "{mpi}: {work:?} of {elapsed:?}"
        );
        assert!(process["finish_ns"].as_u64() >= work, "{mpi}: {process}");
    }
}

#[test]
fn each_message_of_a_program_is_in_its_schedule() {
    for mpi in mpis_with("mpicc") {
        for (program, ranks) in [("communication.c", 4), ("requests.c", 2), ("replay.c", 4)] {
            let scratch = Scratch::new();
            record(mpi, program, ranks, &scratch);
            let replayed = replay(&scratch);
            let notes = replayed["recorded"]["notes"].as_array().expect("notes");
            let left_out = notes.iter().filter(|note| {
                note.as_str()
                    .is_some_and(|note| note.starts_with("left out"))
            });
            assert_eq!(left_out.count(), 0, "{program} of {mpi}: {notes:?}");
            computation_is_what_was_recorded(&replayed, mpi);
        }
    }
}

#[test]
fn ranks_that_share_processors_and_sleep_compute_for_their_processor_time() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let printed = record_with(mpi, "shared_processor.c", 4, &scratch, &["--cpu"]);
        let replayed = replay(&scratch);
        assert_eq!(replayed["recorded"]["computation"], "processor time");
        let mut n_ranks = 0;
        for line in printed.lines() {
            let (rank, computed) = line.split_once(' ').expect("a rank and its time");
            let rank: usize = rank.parse().expect("a rank");
            let computed: f64 = computed.parse().expect("nanoseconds");
            let work = replayed["processes"][rank]["work_ns"].as_f64();
            let work = work.expect("a number");
            // The sleep of each step is two thirds of the computation of most ranks in it.
            assert!(
                work > 0.99 * computed && work < 1.25 * computed + 1e7,
                "{mpi}, rank {rank}: {work} of {computed} ns"
            );
            n_ranks += 1;
        }
        assert_eq!(n_ranks, 4, "{mpi}: {printed}");
        let notes = replayed["recorded"]["notes"].as_array().expect("notes");
        let mut notes = notes.iter().filter_map(Value::as_str);
        assert!(notes.any(|note| note.contains("did not run")), "{mpi}");
    }
}

#[test]
fn processor_time_is_recorded_where_there_are_more_ranks_than_processors() {
    let processors = mastermind_measurement::processors_online();
    // More ranks than that are no test any more.
    if processors > 15 {
        return;
    }
    for mpi in mpis_with("mpicc") {
        let computation = |ranks, options: &[&str]| {
            let scratch = Scratch::new();
            record_with(mpi, "communication.c", ranks, &scratch, options);
            replay(&scratch)["recorded"]["computation"].clone()
        };
        let shared = (processors + 1).max(4);
        assert_eq!(
            computation(shared, &["--mpi-events"]),
            "processor time",
            "{mpi}"
        );
        assert_eq!(
            computation(shared, &["--mpi-events", "--cpu=off"]),
            "wall time",
            "{mpi}"
        );
        assert_eq!(
            computation(4, &["--cpu", "--call-sites"]),
            "processor time",
            "{mpi}"
        );
    }
}

#[test]
fn an_assembly_becomes_a_schedule_too() {
    for mpi in mpis() {
        let scratch = Scratch::new();
        let library = bin_dir().join("libheat_conduction.so");
        let assembly = scratch.example("heat/heat.toml", &[&library], &[]);
        let small = [
            "--set",
            "driver.nx=40",
            "--set",
            "driver.ny=40",
            "--set",
            "driver.steps=7",
        ];
        let run = [
            "--mpi",
            mpi.kind.name(),
            "--ranks",
            "3",
            "--records",
            "records",
            "--mpi-events",
            "--cpu",
        ];
        scratch
            .verb("run", &assembly, &[&run[..], &small].concat())
            .well();
        let replayed = replay(&scratch);
        assert_eq!(replayed["recorded"]["computation"], "processor time");
        // Each of two borders is exchanged in both directions in each step.
        assert_eq!(messages(&scratch), 7 * 4, "{}", mpi.kind.name());
        computation_is_what_was_recorded(&replayed, mpi.kind.name());
    }
}

#[test]
fn a_replayed_run_computes_as_the_machine_does() {
    let Some(mpi) = mpis().into_iter().next() else {
        return;
    };
    let scratch = Scratch::new();
    let library = bin_dir().join("libheat_conduction.so");
    let assembly = scratch.example("heat/heat.toml", &[&library], &[]);
    let small = [
        "--set",
        "driver.nx=40",
        "--set",
        "driver.ny=40",
        "--set",
        "driver.steps=7",
    ];
    let run = [
        "--mpi",
        mpi.kind.name(),
        "--ranks",
        "2",
        "--records",
        "records",
        "--mpi-events",
    ];
    scratch
        .verb("run", &assembly, &[&run[..], &small].concat())
        .well();
    let machine = |name: &str| fs::read_to_string(root().join("examples/carry").join(name));
    let network = fs::read_to_string(root().join("examples/sweep3d/machine.toml")).expect("one");
    scratch.write("network.toml", &network);
    for name in ["here.toml", "there.toml"] {
        scratch.write(
            name,
            network.clone() + "\n" + &machine(name).expect("a machine"),
        );
    }
    let simulate = |machine: &str, options: &[&str]| {
        let words = ["simulate", "records", "--machine", machine, "--json"];
        document(&scratch.mastermind(&[&words[..], options].concat()).well())
    };
    let work = |value: &Value| -> f64 {
        let processes = value["processes"].as_array().expect("processes").iter();
        let work = processes.map(|process| process["work_ns"].as_f64().expect("a number"));
        work.sum()
    };
    let by = |value: &Value| {
        value["recorded"]["computation_by"]["factor"]
            .as_f64()
            .expect("one")
    };
    let plain = simulate("network.toml", &[]);
    assert_eq!(by(&plain), 1.0);
    // Another processor without models gives no relation to the recorded one.
    let other = simulate("there.toml", &[]);
    assert_eq!((by(&other), work(&other)), (1.0, work(&plain)));
    assert_eq!(other["recorded"]["computation_by"]["machine"], "made up");
    let scaled = simulate("there.toml", &["--recorded-on", "here.toml"]);
    let expected = 1.5_f64.powf((1.0 + 1.0 + 0.5) / 3.0);
    assert!((by(&scaled) / expected - 1.0).abs() < 0.01, "{scaled}");
    let ratio = work(&scaled) / work(&plain);
    assert!((ratio / by(&scaled) - 1.0).abs() < 1e-3, "{ratio}");
    // By component: one of them takes ten times as long, the others as long as before.
    let fit = ["fit", "records", "-o", "models.json"];
    scratch.mastermind(&fit).well();
    let refused = [
        "simulate",
        "records",
        "--machine",
        "there.toml",
        "--models",
        "models.json",
    ];
    let refused = scratch.mastermind(&refused).error();
    assert!(refused.contains("carry"), "{refused}");
    let carry = [
        "carry",
        "models.json",
        "--from",
        "here.toml",
        "--to",
        "here.toml",
        "-o",
        "c.json",
    ];
    scratch.mastermind(&carry).well();
    let with_factor = |factor: &dyn Fn(&str) -> f64| {
        let mut models = document(&scratch.read("c.json"));
        for model in models["models"].as_array_mut().expect("models") {
            let factor = factor(model["method"].as_str().expect("a name"));
            model["carried"]["factor"] = factor.into();
        }
        scratch.write("d.json", models.to_string());
        let options = ["--models", "d.json"];
        work(&simulate("here.toml", &options)) / work(&plain)
    };
    assert!((with_factor(&|_| 3.0) - 3.0).abs() < 0.01);
    let some = with_factor(&|method| match method.contains("HeatKernel") {
        true => 10.0,
        false => 1.0,
    });
    assert!(some > 1.01 && some < 9.99, "{some}");
}

#[test]
fn records_without_calls_of_mpi_are_refused() {
    let scratch = Scratch::new();
    let library = bin_dir().join("libheat_conduction.so");
    let assembly = scratch.example("heat/heat.toml", &[&library], &[]);
    let small = ["--set", "driver.steps=2", "--records", "records"];
    scratch.verb("run", &assembly, &small).well();
    let machine = root()
        .join("examples/sweep3d/machine.toml")
        .display()
        .to_string();
    let error = scratch
        .mastermind(&["simulate", "records", "--machine", &machine])
        .error();
    assert!(
        error.contains("no recorded calls of MPI, expected some; record with wrap --mpi-events"),
        "{error}"
    );
    let error = scratch
        .mastermind(&["convert", "records", "-o", "crate"])
        .error();
    assert!(
        error.contains("output \"crate\", expected a file that ends in .goal or .toml"),
        "{error}"
    );
    assert!(fs::metadata(scratch.path("crate")).is_err());
}
