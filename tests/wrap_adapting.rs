//! `wrap --adapt`: the calls of an unmodified program are sent to the faster of two libraries while it runs, on all its
//! ranks at the same call.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mastermind_records::Run;
use mastermind_tests::{Ended, Scratch, bin_dir, compile_mpi, mpirun, mpis_with, output, root};
use serde_json::Value;

/// The decisions, as the program finds them.
const DECISIONS: &str = "records/decisions.0.jsonl";

/// A library in implementations of different speed, a program that is linked with one, the proxy, and models of that one.
struct Work {
    scratch: Scratch,
}

impl Work {
    /// # Arguments
    /// * `own`, `other` - how often the program's own library, and the other one, do the work
    fn new(own: u32, other: u32) -> Self {
        let work = Self {
            scratch: Scratch::new(),
        };
        work.library("libwork.so", own);
        work.library("libother.so", other);
        let mut cc = Command::new("cc");
        cc.arg("-o")
            .arg(work.path("working"))
            .arg(fixture("working.c"));
        cc.arg("-L").arg(work.path("."));
        output(cc.args(["-lwork", "-Wl,-rpath,$ORIGIN"]));
        work.proxy(&fixture("work.toml"));
        work.ended(&["--"], &["100"]).well();
        let fit = ["fit", "records", "-o", "models.json"];
        work.scratch.mastermind(&fit).well();
        work
    }

    fn library(&self, file: &str, rounds: u32) {
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-shared", "-fPIC"]);
        cc.arg(format!("-DROUNDS={rounds}"));
        output(cc.arg("-o").arg(self.path(file)).arg(fixture("work.c")));
    }

    fn proxy(&self, markup: &Path) {
        let header = fixture("work.h");
        let mut arguments = vec!["proxy", text(&header), "--markup", text(markup)];
        arguments.extend(["-o", "proxies", "--force"]);
        self.scratch.mastermind(&arguments).well();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn wrapped(&self, options: &[&str], program: &[&str]) -> Command {
        let mut command = Command::new(bin_dir().join("mastermind"));
        command.current_dir(self.path("."));
        command.args(WRAP).args(options);
        command.arg(self.path("working")).args(program);
        command
    }

    /// A program of several ranks.
    fn of_ranks(&self, mpi: &str, options: &[&str]) -> String {
        let header = format!("-I{}", text(&root().join("tests/fixtures/libraries")));
        let library = format!("-L{}", text(&self.path(".")));
        let options = [&[&*header, &library][..], options].concat();
        let objects = ["-lwork", "-Wl,-rpath,$ORIGIN"].map(PathBuf::from);
        let folder = self.path("made");
        std::fs::create_dir_all(&folder).expect("a folder");
        let made = compile_mpi(mpi, "adapting.c", &options, &objects, &folder);
        let program = self.path("ranks");
        std::fs::rename(made, &program).expect("the program");
        text(&program).to_owned()
    }

    /// Runs the ranks of a program, each after the given words.
    fn launched(&self, mpi: &str, ranks: &[(u32, &[&str])], program: &[&str]) -> Ended {
        let mut parts = ranks.iter();
        let (n, before) = parts.next().expect("a rank");
        let mut command = mpirun(mpi, *n, &self.path("."));
        command.args(*before).args(program);
        for (n, before) in parts {
            command.args([":", "-n", &n.to_string()]);
            command.args(*before).args(program);
        }
        self.scratch.run(&mut command)
    }

    /// The decisions on a rank, as they were written.
    fn decided(&self, rank: u32) -> String {
        self.scratch
            .read(&format!("records/decisions.{rank}.jsonl"))
    }

    /// For each rank, the numbers of its own calls after which another library answered. Between two collective calls
    /// rank r makes r + 1 times the calls of rank 0.
    fn swapped_after(&self, ranks: u32) -> Vec<Vec<usize>> {
        let run = Run::open(&self.path("records")).expect("records");
        let of_rank = |rank: u32| {
            let logs = run.logs().iter();
            let logs = logs.filter(|log| log.identity().rank == rank);
            let records = logs.flat_map(|log| log.records());
            let calls = records.filter(|record| record.method.method == "work_sum_twice");
            let classes: Vec<_> = calls.map(|record| record.method.class.clone()).collect();
            let swaps = (1..classes.len()).filter(|call| classes[*call] != classes[call - 1]);
            swaps.collect()
        };
        (0..ranks).map(of_rank).collect()
    }

    /// Checks that all ranks have decided the same, and swapped in the same collective call.
    fn assert_together(&self, ranks: u32, n_swaps: usize) {
        for rank in 1..ranks {
            assert_eq!(self.decided(rank), self.decided(0), "rank {rank}");
        }
        let swapped = self.swapped_after(ranks);
        assert_eq!(swapped[0].len(), n_swaps, "{swapped:?}");
        for (rank, calls) in (1..).zip(&swapped) {
            let expected: Vec<_> = swapped[0].iter().map(|step| rank * step).collect();
            assert_eq!(*calls, expected, "{swapped:?}");
        }
    }

    fn ended(&self, options: &[&str], program: &[&str]) -> Ended {
        self.scratch.run(&mut self.wrapped(options, program))
    }

    /// Runs the program until a decision of that name is made.
    fn adapted(&self, until: &str) -> String {
        let word = format!("\"act\":\"{until}\"");
        let ended = self.ended(&ADAPT, &[DECISIONS, &word]);
        assert!(
            ended.stdout.ends_with("right\ntold\n"),
            "{until}: {ended:?}"
        );
        ended.stderr
    }

    fn decisions(&self) -> Vec<Value> {
        let decided = self.scratch.read(DECISIONS);
        let lines = decided.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("decisions")
    }

    /// The actions, from which library to which, without changes of what is known.
    fn acts(&self) -> Vec<String> {
        let decisions = self.decisions();
        let text = |decision: &Value, key: &str| decision[key].as_str().unwrap_or("?").to_owned();
        let acts = decisions
            .iter()
            .filter(|decision| decision["act"] != "level");
        acts.map(|d| ["act", "from", "to"].map(|key| text(d, key)).join(" "))
            .collect()
    }

    /// The libraries that answered the calls of the program, in order, without repetitions. Calls that a library makes
    /// while it answers go to the one in use by then.
    fn answered(&self) -> Vec<String> {
        let run = Run::open(&self.path("records")).expect("records");
        let records = run.logs().iter().flat_map(|log| log.records());
        let of_program = records.filter(|record| {
            let is_last = || record.parameters().any(|value| value.to_string() == "7");
            record.method.method == "work_sum_twice"
                || record.method.instance == "work" && is_last()
        });
        let mut classes: Vec<_> = of_program
            .map(|record| record.method.class.clone())
            .collect();
        classes.dedup();
        classes
    }
}

/// How a program is wrapped.
const WRAP: [&str; 6] = [
    "wrap",
    "--proxy",
    "proxies/libwork_proxy.so",
    "--records",
    "records",
    "--overwrite",
];

/// The other library is allowed, with no limit on exploring.
const ADAPT: [&str; 7] = [
    "--use",
    "work=libother.so",
    "--adapt",
    "models.json",
    "--explore",
    "100%",
    "--",
];

fn fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures/libraries").join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The program's library calls itself through its proxy, and the other one does not. The former's calls of itself count
/// as its own time; otherwise it would seem to take none.
#[test]
fn calls_go_to_the_faster_library_and_stay_there() {
    let work = Work::new(30, 1);
    let output = work.adapted("keep");
    let kept = ["try libwork.so libother.so", "keep libother.so libother.so"];
    assert_eq!(work.acts(), kept, "{output}");
    assert_eq!(work.answered(), ["libwork.so", "libother.so"]);
    for line in [
        "work: try libwork.so to libother.so: ",
        "work: keep libother.so: 0.",
        "adapted: ",
    ] {
        assert!(output.contains(line), "{line} in {output}");
    }
    let info = work.scratch.mastermind(&["info", "records"]).well();
    assert!(info.contains("work: keep libother.so"), "{info}");
}

#[test]
fn without_models_all_is_learnt_in_the_run() {
    let work = Work::new(30, 1);
    let options = [
        "--use",
        "work=libother.so",
        "--explore",
        "100%",
        "--adapt",
        "--",
    ];
    let ended = work.ended(&options, &[DECISIONS, "\"act\":\"keep\""]);
    assert!(ended.stdout.ends_with("right\ntold\n"), "{ended:?}");
    assert!(!ended.stderr.contains("warning: no model"), "{ended:?}");
    assert_eq!(work.answered(), ["libwork.so", "libother.so"]);
}

#[test]
fn calls_come_back_from_a_library_that_is_no_faster() {
    let work = Work::new(5, 15);
    let output = work.adapted("back");
    let came_back = ["try libwork.so libother.so", "back libother.so libwork.so"];
    assert_eq!(work.acts(), came_back, "{output}");
    assert_eq!(work.answered(), ["libwork.so", "libother.so", "libwork.so"]);
    assert!(
        output.contains("work: back libother.so to libwork.so: "),
        "{output}"
    );
    assert!(
        output.contains("no model of libother.so in \"models.json\""),
        "{output}"
    );
}

#[test]
fn wrong_choices_are_errors_and_calls_can_be_sent_by_hand() {
    let work = Work::new(1, 1);
    let refused = |options: &[&str], why: &str| {
        let error = work.ended(options, &["1"]).error();
        assert!(error.contains(why), "{why} in {error}");
    };
    refused(
        &["--adapt", "models.json", "--"],
        "no library that calls may be sent to",
    );
    let mut nowhere = ADAPT;
    nowhere[3] = "nowhere.json";
    refused(&nowhere, "cannot read models \"nowhere.json\"");

    // One of two ranks that has no MPI, behind the launcher and before it.
    let ranks = ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"];
    let mut behind = work.wrapped(&ADAPT, &["1"]);
    behind.envs(ranks.into_iter().zip(["2", "0"]));
    let env = ranks.iter().zip(["2", "0"]);
    let env = env.map(|(name, value)| format!("{name}={value}"));
    let env: Vec<_> = ["env".into()].into_iter().chain(env).collect();
    let env: Vec<_> = env.iter().map(String::as_str).collect();
    let mut before = work.wrapped(&[&ADAPT[..], &env].concat(), &["1"]);
    for (command, program) in [(&mut behind, "working"), (&mut before, "env")] {
        let ended = work.scratch.run(command);
        let why = format!(
            "nothing was adapted: cannot adapt \"{program}\": its ranks have made 0 calls of MPI that all of MPI_COMM_WORLD"
        );
        assert!(ended.stderr.contains(&why), "{ended:?}");
        assert_eq!(ended.well(), "right\n");
    }

    // By hand.
    let mut command = work.wrapped(&ADAPT, &[DECISIONS, "mastermind redirect has sent"]);
    let mut running = command.stdout(Stdio::piped()).spawn().expect("a program");
    let mut printed = BufReader::new(running.stdout.take().expect("its output")).lines();
    let mut line = || printed.next().expect("a line").expect("text");
    assert_eq!(line(), "working");
    let process = running.id().to_string();
    let using = ["redirect", &process, "work=libother.so"];
    work.scratch.mastermind(&using).well();
    assert_eq!([line(), line()], ["right", "told"]);
    assert!(running.wait().expect("an end").success());
    assert!(
        work.acts()
            .last()
            .is_some_and(|last| last.starts_with("stop"))
    );
    assert_eq!(
        work.answered().last().map(String::as_str),
        Some("libother.so")
    );

    // A mark-up that does not say that the library keeps no state between calls.
    std::fs::write(work.path("silent.toml"), "[functions.work_sum]\n").expect("a file");
    work.proxy(&work.path("silent.toml"));
    refused(&ADAPT, "expected `stateless = true` under [proxy]");
}

/// Past the limit calls are only summed up, so a trial would never end.
#[test]
fn where_calls_have_no_record_any_more_nothing_is_left_on_trial() {
    let work = Work::new(2, 2);
    let limited = [&["--records-limit", "64K"][..], &ADAPT].concat();
    let ended = work.ended(&limited, &[DECISIONS, "\"act\":\"stop\""]);
    assert!(ended.stdout.ends_with("right\ntold\n"), "{ended:?}");
    let decisions = work.decisions();
    let why = decisions.last().map(|last| last["reason"].to_string());
    let why = why.expect("a reason");
    assert!(
        why.starts_with("\"calls of rank 0 have no record from here on: "),
        "{why}"
    );
    let n_acts = |meant: &[&str]| {
        let acts = decisions
            .iter()
            .filter_map(|decision| decision["act"].as_str());
        acts.filter(|act| meant.contains(act)).count()
    };
    assert_eq!(n_acts(&["try"]), n_acts(&["keep", "back"]), "{decisions:?}");
}

/// The launcher starts the wrapped program, or is wrapped itself.
#[test]
fn ranks_swap_in_the_same_call() {
    let work = Work::new(100, 3);
    let mastermind = bin_dir().join("mastermind");
    let wrapped = [&[text(&mastermind)][..], &WRAP, &ADAPT].concat();
    let until = [DECISIONS, "\"act\":\"keep\""];
    for mpi in mpis_with("mpicc") {
        let program = work.of_ranks(mpi, &[]);
        let program = [&[&*program][..], &until].concat();
        let ended = work.launched(mpi, &[(3, &wrapped)], &program);
        let kept = ["try libwork.so libother.so", "keep libother.so libother.so"];
        assert_eq!(work.acts(), kept, "{mpi}: {ended:?}");
        work.assert_together(3, 1);
        assert_eq!(ended.stderr.matches("adapted: ").count(), 1, "{ended:?}");
        assert_eq!(ended.well(), "right\n", "{mpi}");

        let launcher = mpirun(mpi, 2, &work.path("."));
        let mut command = Command::new(&mastermind);
        command.args(WRAP).args(ADAPT).arg(launcher.get_program());
        command.args(launcher.get_args()).args(&program);
        let envs = launcher.get_envs();
        command.envs(envs.filter_map(|(name, value)| Some((name, value?))));
        let ended = work.scratch.run(&mut command);
        assert_eq!(work.acts(), kept, "{mpi}: {ended:?}");
        work.assert_together(2, 1);
        assert_eq!(ended.well(), "right\n", "{mpi}");
    }
}

#[test]
fn ranks_come_back_in_the_same_call() {
    let work = Work::new(100, 2000);
    let mastermind = bin_dir().join("mastermind");
    let wrapped = [&[text(&mastermind)][..], &WRAP, &ADAPT].concat();
    for mpi in mpis_with("mpicc") {
        let program = work.of_ranks(mpi, &[]);
        let program = [&*program, DECISIONS, "\"act\":\"back\""];
        let ended = work.launched(mpi, &[(2, &wrapped)], &program);
        let came_back = ["try libwork.so libother.so", "back libother.so libwork.so"];
        assert_eq!(work.acts(), came_back, "{mpi}: {ended:?}");
        work.assert_together(2, 2);
        assert_eq!(ended.well(), "right\n", "{mpi}");
    }
}

/// If ranks cannot decide together they keep their libraries, and none waits for another.
#[test]
fn ranks_that_cannot_decide_together_are_warned_of() {
    let work = Work::new(100, 3);
    let mastermind = bin_dir().join("mastermind");
    let wrapped = [&[text(&mastermind)][..], &WRAP, &ADAPT].concat();
    for mpi in mpis_with("mpicc") {
        // They meet nowhere.
        let program = work.of_ranks(mpi, &["-DAPART"]);
        let ended = work.launched(mpi, &[(2, &wrapped)], &[&program, "10"]);
        let why = "nothing was adapted: cannot adapt \"ranks\": its ranks have made 0 calls of MPI that all of MPI_COMM_WORLD";
        assert_eq!(ended.stderr.matches(why).count(), 1, "{mpi}: {ended:?}");
        assert_eq!(ended.well(), "right\n", "{mpi}");

        // One is not wrapped, and one is so without --adapt.
        let program = work.of_ranks(mpi, &[]);
        let measured = [&[text(&mastermind)][..], &WRAP, &["--"]].concat();
        for other in [&["env"][..], &measured] {
            let ranks = [(1, &wrapped[..]), (1, other)];
            let ended = work.launched(mpi, &ranks, &[&program, "10"]);
            let why = "nothing was adapted: cannot adapt \"ranks\": rank 1 of 2 takes no part, expected all of them";
            assert_eq!(ended.stderr.matches(why).count(), 1, "{mpi}: {ended:?}");
            assert_eq!(ended.well(), "right\n", "{mpi}");
        }

        // One run was given other options.
        let mut careful = wrapped.clone();
        let percent = careful.iter().position(|word| *word == "100%");
        careful[percent.expect("a part")] = "50%";
        let ranks = [(1, &wrapped[..]), (1, &careful)];
        let why = "rank 1 has other models, alternatives or decisions than rank 0";
        let ended = work.launched(mpi, &ranks, &[&program, DECISIONS, why]);
        assert_eq!(ended.well(), "right\n", "{mpi}");
        assert_eq!(work.acts(), ["stop  "], "{mpi}");
        work.assert_together(2, 0);
    }
}

/// The library to send calls to exists when the program starts, and on one rank no longer later.
#[test]
fn a_library_that_one_rank_cannot_use_is_used_by_none() {
    let work = Work::new(100, 3);
    let mastermind = bin_dir().join("mastermind");
    for folder in ["first", "second"] {
        std::fs::create_dir(work.path(folder)).expect("a folder");
        let library = format!("{folder}/libother.so");
        std::fs::copy(work.path("libother.so"), work.path(&library)).expect("a library");
    }
    let gone = work.path("second/libother.so");
    for mpi in mpis_with("mpicc") {
        std::fs::copy(work.path("libother.so"), &gone).expect("a library");
        let program = work.of_ranks(mpi, &[&format!("-DGONE=\"{}\"", text(&gone))]);
        let uses = ["first", "second"].map(|folder| {
            let library = format!("work={folder}/libother.so");
            let words = [&[text(&mastermind)][..], &WRAP, &ADAPT].concat();
            words
                .into_iter()
                .map(|word| word.replace("work=libother.so", &library))
                .collect::<Vec<_>>()
        });
        let uses = uses.each_ref().map(|words| {
            let words = words.iter().map(String::as_str);
            words.collect::<Vec<_>>()
        });
        let ranks = [(1, &uses[0][..]), (1, &uses[1])];
        let until = [&*program, DECISIONS, "\"act\":\"failed\""];
        let ended = work.launched(mpi, &ranks, &until);
        let failed = ["try libwork.so libother.so", "failed libwork.so libwork.so"];
        assert_eq!(work.acts(), failed, "{mpi}: {ended:?}");
        assert!(work.decided(0).contains("it fails on 1 of 2 ranks"));
        work.assert_together(2, 0);
        let why =
            "adapted: cannot adapt \"ranks\": cannot open library \"<dir>/second/libother.so\"";
        assert!(ended.stderr.contains(why), "{mpi}: {ended:?}");
        assert_eq!(ended.well(), "right\n", "{mpi}");
    }
}
