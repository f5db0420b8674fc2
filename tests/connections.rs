//! Connections that appear, disappear and move while a run is recorded. Whoever makes them, every call is in the
//! records, with the class that ran. The components count their calls themselves.

use std::collections::BTreeMap;
use std::fs;

use cca_abi::Interface;
use cca_ports::GoPort;
use mastermind_records::{Damage, Run};
use mastermind_tests::{Scratch, c_library, mpis, rust_library};

/// Calls by instance and class.
type Calls = BTreeMap<(String, String), u64>;

/// Calls of a thread in a `go`.
const CALLS: u64 = 300;

/// 20 connects, disconnects, swaps and `go`s by the script, as many swaps in a `go`, and a framework in a framework.
fn script(scratch: &Scratch, threads: u64) -> String {
    let (folder, path) = (scratch.text(""), scratch.text(LIBRARY));
    format!(
        "#!ccaffeine bootstrap file.
path set {folder}
repository get test.Red
repository get test.Blue
repository get test.Caller
repository get test.Replacer
repository get test.Nesting
instantiate test.Red first
instantiate test.Blue other
instantiate test.Caller caller
instantiate test.Replacer replacer
instantiate test.Nesting nesting
configure caller parameters threads {threads}
configure caller parameters calls {CALLS}
configure replacer parameters threads {threads}
configure replacer parameters calls {CALLS}
configure nesting parameters library {path}
connect caller work first work
go caller go
disconnect caller work first work
connect caller work other work
go caller go
go nesting go
connect replacer work first work
go replacer go
disconnect caller work other work
remove other
instantiate test.Red other
connect caller work other work
go caller go
disconnect caller work other work
connect caller work first work
go caller go
go replacer go
disconnect replacer work first work
connect replacer work first work
go replacer go
go nesting go
quit
"
    )
}

/// Name of the library of the components, in the scratch folder.
const LIBRARY: &str = "libcounting.so";

/// A folder with the components and nothing else.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    fs::copy(rust_library("counting"), scratch.path(LIBRARY)).expect("the library");
    scratch
}

/// The calls that the components counted and wrote down.
fn counted(scratch: &Scratch) -> Calls {
    let mut calls = Calls::new();
    for line in scratch.read("counts").lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [instance, class, n] = words[..] else {
            panic!("{line}")
        };
        let n: u64 = n.parse().expect("a number");
        if n > 0 {
            *calls.entry((instance.into(), class.into())).or_default() += n;
        }
    }
    calls
}

/// The recorded calls, and the classes that were swapped in on the first rank.
fn recorded(scratch: &Scratch) -> (Calls, Vec<(String, String)>) {
    let run = Run::open(&scratch.path("records")).expect("records");
    assert_eq!((run.damage().count(), run.dropped()), (0, 0));
    assert!(run.is_finished());
    let mut calls = Calls::new();
    for log in run.logs() {
        for record in log.records().filter(|record| record.method.port == "work") {
            // For a framework made by another one, after that one's label.
            let instance = record.method.instance.rsplit('/').next().expect("a name");
            let key = (instance.into(), record.method.class.clone());
            *calls.entry(key).or_default() += 1;
        }
    }
    let swaps = &run.logs()[0].definitions().swaps;
    let swaps = swaps
        .iter()
        .map(|swap| (swap.from.clone(), swap.to.class.clone()));
    (calls, swaps.collect())
}

/// Runs the script and compares.
fn check(threads: u64, ranks: &[&str], n_ranks: u64) {
    let scratch = scratch();
    let file = scratch.write("many.rc", script(&scratch, threads));
    let arguments = [ranks, &["--records", "records", "--strict"]].concat();
    let ended = scratch.verb("run", &file, &arguments);
    let shown = ended.well();
    let what = format!("{threads} threads, {ranks:?}: {shown}");
    let (counted, (recorded, swaps)) = (counted(&scratch), recorded(&scratch));
    assert_eq!(recorded, counted, "{what}");
    let total: u64 = counted.values().sum();
    // Seven `go`s with threads, and two that call in a framework of their own.
    assert_eq!(total, n_ranks * (7 * threads * CALLS + 2 * 100), "{what}");
    let profile = scratch.mastermind(&["profile", "records", "--json"]).well();
    let profile: serde_json::Value = serde_json::from_str(&profile).expect("JSON");
    assert_eq!(profile["lost_records"], 0, "{what}");
    // Each replacement of "first", the one of "other" by the script, and the instances that came.
    let swapped = |from: &str, to: &str| {
        let swap = (from.to_string(), to.to_string());
        swaps.iter().filter(|found| **found == swap).count()
    };
    assert_eq!(swapped("test.Red", "test.Blue"), 15, "{swaps:?}");
    assert_eq!(swapped("test.Blue", "test.Red"), 16, "{swaps:?}");
    assert_eq!(swapped("", "test.Blue"), 3, "{swaps:?}");
}

/// A component in C swaps by the same port.
#[test]
fn a_component_in_c_swaps() {
    let scratch = scratch();
    let go = <dyn GoPort>::descriptor();
    let definitions = [
        format!("GO_NAME=\"{}\"", go.name),
        format!("GO_VERSION=\"{}\"", go.version),
        format!("GO_HASH=UINT64_C({:#x})", go.hash),
    ];
    let definitions = definitions.each_ref().map(String::as_str);
    if c_library(&scratch, "swapping", "swapping", &definitions).is_none() {
        return;
    }
    let script = format!(
        "#!ccaffeine bootstrap file.
path set {}
repository get test.Red
repository get test.Blue
repository get test.Caller
repository get test.Swapping
instantiate test.Red first
instantiate test.Red other
instantiate test.Caller caller
instantiate test.Caller second
instantiate test.Swapping swapping
connect caller work first work
connect second work first work
go caller go
go swapping go
go caller go
go second go
quit
",
        scratch.text("")
    );
    let file = scratch.write("swapping.rc", script);
    scratch
        .verb("run", &file, &["--records", "records", "--strict"])
        .well();
    let (counted, (recorded, swaps)) = (counted(&scratch), recorded(&scratch));
    assert_eq!(recorded, counted);
    let expected = [
        ("first", "test.Blue"),
        ("first", "test.Red"),
        ("other", "test.Red"),
    ];
    let expected = expected.map(|(instance, class)| ((instance.into(), class.into()), 100));
    assert_eq!(recorded, Calls::from(expected));
    assert_eq!(swaps, [("test.Red".to_string(), "test.Blue".to_string())]);
}

#[test]
fn every_call_is_recorded_whoever_connects() {
    for threads in [1, 8] {
        check(threads, &[], 1);
        for mpi in mpis() {
            let name = mpi.kind.name();
            check(threads, &["--ranks", "3", "--mpi", name], 3);
        }
    }
}

/// Threads that a component leaves behind go on calling when the run and its recording have ended, until the process
/// ends.
#[test]
fn threads_that_stay_do_no_harm() {
    let scratch = scratch();
    let script = format!(
        "#!ccaffeine bootstrap file.
path set {}
repository get test.Red
repository get test.Staying
instantiate test.Red first
instantiate test.Staying staying
connect staying work first work
go staying start
quit
",
        scratch.text("")
    );
    let file = scratch.write("staying.rc", script);
    let mpis = mpis();
    let ranks = mpis
        .iter()
        .map(|mpi| vec!["--ranks", "2", "--mpi", mpi.kind.name()]);
    for ranks in std::iter::repeat_n(vec![], 5).chain(ranks) {
        let arguments = [&["--strict"][..], &ranks].concat();
        scratch.verb("run", &file, &arguments).well();
        let records = ["--records", "records", "--overwrite"];
        scratch
            .verb("run", &file, &[&arguments[..], &records].concat())
            .well();
        let run = Run::open(&scratch.path("records")).expect("records");
        assert_eq!(
            run.damage().collect::<Vec<_>>(),
            [] as [&Damage; 0],
            "{ranks:?}"
        );
        assert!(run.is_finished(), "{ranks:?}");
        // The remaining threads have no fixed number of calls, but the calls of the threads that were waited for are
        // there.
        let calls = run.logs().iter().flat_map(|log| log.records());
        let calls = calls.filter(|record| record.method.port == "work").count();
        assert!(calls >= 100, "{calls}");
    }
}

/// `cca.PerfParam` is available to a component that registers it, in a run that is recorded and in one that is not.
#[test]
fn a_component_asks_what_was_recorded() {
    let scratch = scratch();
    let assembly = format!(
        "[assembly]\nname = \"asking\"\npath = [{:?}]\n\n\
         [instances]\nfirst = \"test.Red\"\nasking = \"test.Asking\"\n\n\
         [connections]\n\"asking.work\" = \"first.work\"\n\n[go]\nport = \"asking.go\"\n",
        scratch.text(LIBRARY)
    );
    let file = scratch.write("asking.toml", assembly);
    scratch.verb("check", &file, &[]).well();
    scratch.verb("run", &file, &["--records", "records"]).well();
    let without = ["--set", "asking.is_recorded=false"];
    scratch.verb("run", &file, &without).well();
}

/// `cca.PerfModel` is available to a component that registers it, in Rust and in C, and knows the calls made so far.
#[test]
fn a_component_asks_what_models_say() {
    let scratch = scratch();
    let assembly = |name: &str, more: &str, go: &str| {
        let text = format!(
            "[assembly]\nname = \"{name}\"\npath = [{:?}, {:?}]\n\n\
             [instances]\nfirst = \"test.Red\"\ncaller = \"test.Caller\"\n{more}\n\
             [connections]\n\"caller.work\" = \"first.work\"\n{go}\n\
             [alternatives]\nfirst = [\"test.Red\", \"test.Blue\"]\n\n",
            scratch.text(LIBRARY),
            scratch.text("libasking.so"),
        );
        scratch.write(&format!("{name}.toml"), text)
    };
    if c_library(&scratch, "asking", "asking", &[]).is_none() {
        return;
    }
    let calling = assembly("calling", "", "[go]\nport = \"caller.go\"");
    for class in ["test.Red", "test.Blue"] {
        let replaced = format!("first={class}");
        let arguments = ["--records", class, "--replace", &replaced];
        scratch.verb("run", &calling, &arguments).well();
    }
    let fit = ["fit", "test.Red", "test.Blue", "-o", "models.json"];
    scratch.mastermind(&fit).well();
    let asked = |file: &std::path::Path| {
        let models = [
            "--records",
            "asked",
            "--overwrite",
            "--models",
            "models.json",
        ];
        scratch.verb("run", file, &models).well();
        let error = scratch
            .verb("run", file, &["--records", "asked", "--overwrite"])
            .error();
        assert!(
            error.contains("no models, expected run --records DIR --models FILE"),
            "{error}"
        );
    };
    let go = "\"asking.work\" = \"first.work\"\n[go]\nport = \"asking.go\"";
    asked(&assembly("rust", "asking = \"test.AskingModels\"", go));
    let go = "\"asking.work\" = \"caller.go\"\n[go]\nport = \"asking.go\"";
    asked(&assembly("c", "asking = \"test.AskingC\"", go));
}
