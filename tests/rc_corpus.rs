//! Forms of scripts written for Ccaffeine (`fixtures/ccaffeine`), with stand-ins in C for its example components: `check` judges
//! them as `run` ends, `graph` draws all that the last start has, and the records hold every call that the components count.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use mastermind_tests::{Ended, Scratch, bin_dir, c_library, mpis, root, succeeds};
use serde_json::Value;

/// A script, and its expected results.
struct Form {
    name: String,
    text: String,
    run: i32,
    check: i32,
    boxes: usize,
    wires: usize,
}

fn forms() -> Vec<Form> {
    let path = root().join("tests/fixtures/ccaffeine/scripts.txt");
    let text = fs::read_to_string(path).expect("the scripts");
    let sections = text.split("\n=== ").skip(1);
    let form = |section: &str| {
        let (head, text) = section.split_once('\n').expect("a script");
        let mut words = head.split(' ');
        let name = words.next().expect("a name").to_string();
        let number = |word: &str| -> usize {
            let (_, number) = word.split_once('=').expect("a number");
            number.parse().expect("a number")
        };
        let [run, check, boxes, wires] = [(); 4].map(|()| number(words.next().expect("a word")));
        Form {
            name,
            text: format!("{text}\n"),
            run: run as i32,
            check: check as i32,
            boxes,
            wires,
        }
    };
    sections.map(form).collect()
}

/// A folder with the library of the stand-ins.
fn stand_ins() -> Scratch {
    let scratch = Scratch::new();
    let fixtures = root().join("tests/fixtures/ccaffeine");
    let sidl = fixtures.join("ports.sidl").display().to_string();
    let framework = root().join("framework").display().to_string();
    let arguments = ["proxy", &sidl, "-o", "made", "--framework", &framework];
    scratch.mastermind(&arguments).well();
    let c = scratch.path("made").join("c");
    succeeds(
        Command::new("cc")
            .args([
                "-std=gnu11",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-fPIC",
                "-shared",
            ])
            .arg("-I")
            .arg(&c)
            .arg("-o")
            .arg(scratch.path("libstandins.so"))
            .arg(fixtures.join("standins.c"))
            .arg(c.join("ports_ports.c")),
    );
    scratch
}

fn on(scratch: &Scratch, verb: &str, script: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new(bin_dir().join("mastermind"));
    command.args([verb, script]).args(arguments);
    command.env("CCA_COMPONENT_PATH", scratch.path("."));
    command.env("STANDIN_COUNTS", scratch.path("counts"));
    scratch.run(&mut command)
}

type Calls = BTreeMap<String, u64>;

/// The calls that the components counted, by `INSTANCE.METHOD`, over all ranks.
fn counted(scratch: &Scratch) -> Calls {
    let mut calls = Calls::new();
    let text = fs::read_to_string(scratch.path("counts")).unwrap_or_default();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [instance, method, n] = words[..] else {
            panic!("{line}");
        };
        *calls.entry(format!("{instance}.{method}")).or_default() += n.parse::<u64>().expect(line);
    }
    calls
}

/// The recorded calls, over all ranks.
fn recorded(scratch: &Scratch, records: &str) -> Calls {
    let path: PathBuf = scratch.path(records);
    let run = mastermind_records::Run::open(&path).expect("records");
    assert_eq!(run.unmonitored().len(), 0);
    let mut calls = Calls::new();
    for record in run.logs().iter().flat_map(|log| log.records()) {
        if !record.method.is_mpi() {
            *calls.entry(record.method.name()).or_default() += 1;
        }
    }
    calls
}

#[test]
fn forms_end_and_are_drawn_and_recorded_as_they_should() {
    let scratch = stand_ins();
    let forms = forms();
    assert_eq!(forms.len(), 33);
    for form in forms {
        let script = format!("{}.rc", form.name);
        scratch.write(&script, &form.text);
        let _ = fs::remove_file(scratch.path("counts"));
        let ended = on(&scratch, "run", &script, &["--records", &form.name]);
        assert_eq!(ended.code, Some(form.run), "{script}: {ended:?}");
        let has_started = scratch.path(&form.name).is_dir();
        let calls = counted(&scratch);
        assert_eq!(has_started, !calls.is_empty(), "{script}");
        if has_started {
            assert_eq!(recorded(&scratch, &form.name), calls, "{script}");
        }
        let ended = on(&scratch, "check", &script, &[]);
        assert_eq!(ended.code, Some(form.check), "{script}: {ended:?}");
        let drawn = on(&scratch, "graph", &script, &["--format", "json"]).well();
        let drawn: Value = serde_json::from_str(&drawn).expect("JSON");
        let length = |key: &str| drawn[key].as_array().map(Vec::len);
        let found = (length("instances"), length("connections"));
        assert_eq!(found, (Some(form.boxes), Some(form.wires)), "{script}");
        // The shell starts too, and ends with the same code where the script says it.
        let ended = on(&scratch, "shell", &script, &[]);
        assert_eq!(ended.code, Some(form.run), "{script}: {ended:?}");
    }
}

#[test]
fn forms_end_on_several_ranks_as_on_one() {
    let scratch = stand_ins();
    for mpi in mpis() {
        for (form, ranks) in forms().into_iter().zip([2, 3].into_iter().cycle()) {
            let script = format!("{}.rc", form.name);
            scratch.write(&script, &form.text);
            let _ = fs::remove_file(scratch.path("counts"));
            let records = format!("{}-{}", form.name, mpi.kind.name());
            let ranks = ranks.to_string();
            let mpi = [
                "--mpi",
                mpi.kind.name(),
                "--ranks",
                &ranks,
                "--records",
                &records,
            ];
            let ended = on(&scratch, "run", &script, &mpi);
            assert_eq!(ended.code, Some(form.run), "{script}: {ended:?}");
            if scratch.path(&records).is_dir() {
                assert_eq!(recorded(&scratch, &records), counted(&scratch), "{script}");
            }
        }
    }
}

/// Records of a run before stay, so a run that records nothing must say so.
#[test]
fn a_script_that_starts_nothing_is_not_recorded_and_says_so() {
    let scratch = stand_ins();
    let begin = "#!ccaffeine\nrepository get GoTest\ncreate GoTest a\n";
    scratch.write("one.rc", format!("{begin}go a go\n"));
    scratch.write("none.rc", begin);
    let records = ["--records", "records"];
    on(&scratch, "run", "one.rc", &records).well();
    let ended = on(&scratch, "run", "none.rc", &records);
    let warning = "warning: nothing is recorded\n  cannot record into \"records\"";
    assert!(ended.stderr.starts_with(warning), "{ended:?}");
    ended.well();
}

/// The started component fails on some ranks only: the run ends, whether or not the other ranks wait for those.
#[test]
fn a_start_that_fails_on_some_ranks_ends_the_run() {
    let scratch = stand_ins();
    for class in ["test.FailingOnSome", "test.FailingAndWaiting"] {
        let text =
            format!("#!ccaffeine\nrepository get {class}\ncreate {class} f\ngo f go\narena\n");
        scratch.write("some.rc", text);
        on(&scratch, "run", "some.rc", &[]).well();
        for mpi in mpis() {
            let ranks = ["--mpi", mpi.kind.name(), "--ranks", "3"];
            let ended = on(&scratch, "run", "some.rc", &ranks);
            assert_ne!(ended.code, Some(0), "{ended:?}");
            assert!(ended.stderr.contains("fails on this rank"), "{ended:?}");
            assert!(!ended.stdout.contains("f of type"), "{ended:?}");
        }
    }
}

#[test]
fn a_picture_is_of_the_last_start_or_of_a_line() {
    let scratch = stand_ins();
    let text = forms()
        .into_iter()
        .find(|form| form.name == "alone-then-joined");
    scratch.write("a.rc", text.expect("the form").text);
    let drawn = |arguments: &[&str]| -> Value {
        let arguments = [&["--format", "json"], arguments].concat();
        serde_json::from_str(&on(&scratch, "graph", "a.rc", &arguments).well()).expect("JSON")
    };
    let last = drawn(&[]);
    assert_eq!(last["at"]["line"], 8);
    assert_eq!(last["at"]["starts"], 2);
    assert_eq!(last["connections"].as_array().map(Vec::len), Some(1));
    let first = drawn(&["--at", "5"]);
    assert_eq!(first["at"]["line"], 5);
    assert_eq!(first["go"], "s.go_port");
    assert_eq!(first["instances"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        drawn(&["--at", "6"])["instances"].as_array().map(Vec::len),
        Some(2)
    );
    on(&scratch, "graph", "a.rc", &["--at", "99"]).error();
    // The calls of later instances are drawn with the rest.
    on(&scratch, "run", "a.rc", &["--records", "records"]).well();
    let measured = drawn(&["--records", "records"]);
    assert_eq!(measured["connections"][0]["calls"], 1.0);
}

#[test]
fn what_a_component_may_do_in_go_is_no_error_of_a_check() {
    let scratch = stand_ins();
    let check = |text: &str| -> (Option<i32>, Value) {
        scratch.write("x.rc", format!("#!ccaffeine\n{text}"));
        let ended = on(&scratch, "check", "x.rc", &["--json"]);
        (
            ended.code,
            serde_json::from_str(&ended.stdout).expect("JSON"),
        )
    };
    let made = "repository get ccafe4.ParameterPortFactoryTest\nrepository get StarterComponent\n\
                create ccafe4.ParameterPortFactoryTest x\ncreate StarterComponent y\n";
    let (code, report) = check(&format!("{made}go x go\nconfig x PP_1 ALL\n"));
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(
        report["warnings"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    // Nothing was started that could have made it.
    let (code, report) = check(&format!("{made}config x PP_1 ALL\ngo x go\n"));
    assert_eq!(code, Some(1), "{report}");
    // Of another instance than that which was started.
    let (code, report) = check(&format!("{made}go x go\nconfig y PP_1 ALL\n"));
    assert_eq!(code, Some(1), "{report}");
    // A wrong alternative.
    let (code, _) = check(&format!("#!alternatives y = No.Such\n{made}go x go\n"));
    assert_eq!(code, Some(1));
}

#[test]
fn a_session_is_saved_as_an_assembly_and_as_a_script() {
    let scratch = stand_ins();
    let form = forms()
        .into_iter()
        .find(|form| form.name == "many-starters");
    scratch.write("s.rc", form.expect("the form").text);
    let script = scratch.path("s.rc").display().to_string();
    let mut command = Command::new("sh");
    let mastermind = bin_dir().join("mastermind").display().to_string();
    let line =
        format!("printf 'save a.toml\\nsave b.rc\\nsave b.rc\\n' | {mastermind} shell {script}");
    command.args(["-c", &line]);
    command.env("CCA_COMPONENT_PATH", scratch.path("."));
    let ended = scratch.run(&mut command);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("b.rc"),
        "what is there is not written over: {ended:?}"
    );
    for saved in ["a.toml", "b.rc"] {
        let drawn = on(&scratch, "graph", saved, &["--format", "json"]).well();
        let drawn: Value = serde_json::from_str(&drawn).expect("JSON");
        assert_eq!(drawn["connections"].as_array().map(Vec::len), Some(3));
        on(&scratch, "run", saved, &[]).well();
    }
}

/// A connection that stays without a proxy is in the log, even if it is made after the first start.
#[test]
fn connections_without_a_proxy_are_named_by_every_verb() {
    let scratch = Scratch::new();
    let Some(_) = c_library(&scratch, "unknown", "ccaffeine/unknown", &[]) else {
        return;
    };
    let text = "#!ccaffeine\nrepository get test.User\nrepository get test.Provider\ncreate test.User u\n\
                create test.Provider p\ngo u go\nconnect u touch p touch\ngo u go\n";
    scratch.write("u.rc", text);
    let ended = on(&scratch, "run", "u.rc", &["--records", "records"]);
    assert!(ended.stderr.contains("calls are missing"), "{ended:?}");
    ended.well();
    let records = scratch.path("records").display().to_string();
    for verb in ["profile", "fit", "export"] {
        let arguments: &[&str] = match verb {
            "export" => &["--format", "csv", "-o", "exported"],
            _ => &[],
        };
        let ended = on(&scratch, verb, &records, arguments);
        assert!(
            ended.stderr.contains("u.touch -> p.touch"),
            "{verb}: {ended:?}"
        );
    }
    let profile = on(&scratch, "profile", &records, &["--json"]).well();
    let profile: Value = serde_json::from_str(&profile).expect("JSON");
    assert_eq!(profile["unmonitored"][0]["provider"], "p", "{profile}");
    let info = on(&scratch, "info", &records, &[]).well();
    assert!(info.contains("u.touch to p.touch"), "{info}");
}

/// A library of the path that the assembly does not use supplies the proxy, and one that cannot be inspected does no
/// harm.
#[test]
fn a_library_of_the_path_makes_the_proxy_that_neither_end_can_make() {
    let scratch = Scratch::new();
    let fixtures = root().join("tests/fixtures/ccaffeine");
    let sidl = fixtures.join("touch.sidl").display().to_string();
    let framework = root().join("framework").display().to_string();
    let arguments = ["proxy", &sidl, "-o", "made", "--framework", &framework];
    scratch.mastermind(&arguments).well();
    let c = scratch.path("made").join("c");
    let header = fs::read_to_string(c.join("touch_ports.h")).expect("a header");
    let hash = header
        .lines()
        .find_map(|line| line.strip_prefix("#define TEST_TOUCH_HASH "))
        .expect("a hash");
    let compile = |library: &str, sources: &[PathBuf], flag: &str| {
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC"]);
        cc.args(["-shared", flag, "-o"]).arg(scratch.path(library));
        succeeds(cc.arg("-I").arg(&c).args(sources));
    };
    let unknown = fixtures.join("unknown.c");
    compile("libunknown.so", &[unknown], &format!("-DTOUCH_HASH={hash}"));
    let knowing = [fixtures.join("knowing.c"), c.join("touch_ports.c")];
    let toml = "[assembly]\nname = \"u\"\n[instances]\nu = \"test.User\"\np = \"test.Provider\"\n\
                [connections]\n\"u.touch\" = \"p.touch\"\n[go]\nport = \"u.go\"\n";
    // The second connection of the script is made after its first start.
    let rc = "#!ccaffeine\nrepository get test.User\nrepository get test.Provider\ncreate test.User u\n\
              create test.Provider p\ngo u go\nconnect u touch p touch\ngo u go\n";
    for (library, flag, name, n_starts) in [
        ("libb.so", "-DREFUSES", "u.toml", 1),
        ("libb.so", "-DREFUSES", "u.rc", 2),
        ("liba.so", "-DDIES", "v.rc", 2),
    ] {
        compile(library, &knowing, flag);
        scratch.write(name, if name.ends_with("toml") { toml } else { rc });
        let records = format!("{name}.records");
        on(&scratch, "run", name, &["--records", &records]).well();
        let expected = [("p.touch".to_string(), 1), ("u.go".to_string(), n_starts)];
        assert_eq!(
            recorded(&scratch, &records),
            Calls::from(expected),
            "{name}"
        );
    }
}
