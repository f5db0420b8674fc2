//! `wrap --adapt`: the calls of a program that was never written for it are sent to the faster one of two libraries while it
//! runs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mastermind_records::Run;
use mastermind_tests::{Ended, Scratch, bin_dir, output, root};
use serde_json::Value;

/// Where the program finds what was decided.
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
        command.args(["wrap", "--proxy", "proxies/libwork_proxy.so"]);
        command.args(["--records", "records", "--overwrite"]);
        command
            .args(options)
            .arg(self.path("working"))
            .args(program);
        command
    }

    fn ended(&self, options: &[&str], program: &[&str]) -> Ended {
        self.scratch.run(&mut self.wrapped(options, program))
    }

    /// Runs the program until a decision of that name was taken.
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

    /// What was done, from which library to which, without what was only learnt.
    fn acts(&self) -> Vec<String> {
        let decisions = self.decisions();
        let text = |decision: &Value, key: &str| decision[key].as_str().unwrap_or("?").to_owned();
        let acts = decisions
            .iter()
            .filter(|decision| decision["act"] != "level");
        acts.map(|d| ["act", "from", "to"].map(|key| text(d, key)).join(" "))
            .collect()
    }

    /// Libraries that answered the calls of the program, in their order, without those that follow on themselves. What a library
    /// calls while it answers goes to whichever is in use by then.
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

/// The other library is allowed, and others are tried as much as they like.
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

/// The program's library calls itself through its proxy, and the other one does not: the former's calls of
/// itself are its own time, or it would seem to take none.
#[test]
fn calls_go_to_the_faster_library_and_stay_there() {
    let work = Work::new(30, 1);
    let told = work.adapted("keep");
    let kept = ["try libwork.so libother.so", "keep libother.so libother.so"];
    assert_eq!(work.acts(), kept, "{told}");
    assert_eq!(work.answered(), ["libwork.so", "libother.so"]);
    for line in [
        "work: try libwork.so to libother.so: expected to take",
        "work: keep libother.so: 0.",
        "adapted: ",
    ] {
        assert!(told.contains(line), "{line} in {told}");
    }
    let info = work.scratch.mastermind(&["info", "records"]).well();
    assert!(info.contains("work: keep libother.so"), "{info}");
}

#[test]
fn calls_come_back_from_a_library_that_is_no_faster() {
    let work = Work::new(5, 15);
    let told = work.adapted("back");
    let came_back = ["try libwork.so libother.so", "back libother.so libwork.so"];
    assert_eq!(work.acts(), came_back, "{told}");
    assert_eq!(work.answered(), ["libwork.so", "libother.so", "libwork.so"]);
    assert!(
        told.contains("work: back libother.so to libwork.so: "),
        "{told}"
    );
    assert!(
        told.contains("no model of libother.so in \"models.json\""),
        "{told}"
    );
}

#[test]
fn what_cannot_be_chosen_is_told_and_who_sends_calls_by_hand_has_them() {
    let work = Work::new(1, 1);
    let refused = |options: &[&str], why: &str| {
        let told = work.ended(options, &["1"]).error();
        assert!(told.contains(why), "{why} in {told}");
    };
    refused(
        &["--adapt", "models.json", "--"],
        "no library that calls may be sent to",
    );
    let mut nowhere = ADAPT;
    nowhere[3] = "nowhere.json";
    refused(&nowhere, "cannot read models \"nowhere.json\"");

    // Two ranks, behind the launcher and before it.
    let ranks = ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"];
    let mut one_of_two = work.wrapped(&ADAPT, &["1"]);
    one_of_two.envs(ranks.into_iter().zip(["2", "0"]));
    let told = work.scratch.run(&mut one_of_two).error();
    assert!(
        told.contains("cannot adapt \"working\": 2 ranks, expected 1"),
        "{told}"
    );
    let env = [
        "--",
        "env",
        "OMPI_COMM_WORLD_SIZE=2",
        "OMPI_COMM_WORLD_RANK=0",
    ];
    let behind = [&ADAPT[..6], &env].concat();
    let ended = work.ended(&behind, &["1"]);
    assert!(
        ended
            .stderr
            .contains("nothing was adapted: cannot adapt \"env\": 2 ranks"),
        "{ended:?}"
    );
    assert_eq!(ended.well(), "right\n");

    // By hand.
    let mut command = work.wrapped(&ADAPT, &[DECISIONS, "mastermind use has sent"]);
    let mut running = command.stdout(Stdio::piped()).spawn().expect("a program");
    let mut printed = BufReader::new(running.stdout.take().expect("its output")).lines();
    let mut line = || printed.next().expect("a line").expect("text");
    assert_eq!(line(), "working");
    let process = running.id().to_string();
    let using = ["use", &process, "work=libother.so"];
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

    // A mark-up that does not say that nothing is kept between calls.
    std::fs::write(work.path("silent.toml"), "[functions.work_sum]\n").expect("a file");
    work.proxy(&work.path("silent.toml"));
    refused(&ADAPT, "expected `stateless = true` under [proxy]");
}

/// Past the limit calls are summed up only, so a trial would never end.
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
        why.starts_with("\"calls have no record from here on: "),
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
