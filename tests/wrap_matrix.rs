//! Every way in which a program may call a library: under `wrap --proxy` the result equals that of the plain run, and
//! each call is in the records, or the output names what bypasses the proxy.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use mastermind_records::Run;
use mastermind_tests::{Ended, Scratch, bin_dir, output, root, skip};

/// A way to call.
struct Case {
    name: &'static str,
    /// Folder of the libraries that the program finds.
    libraries: &'static str,
    /// Words of the command; `@` stands for the folder.
    command: &'static [&'static str],
    /// Calls of `tally` in the records.
    recorded: usize,
    /// The message about those that are not.
    named: &'static str,
}

const fn seen(
    name: &'static str,
    libraries: &'static str,
    command: &'static [&'static str],
    recorded: usize,
) -> Case {
    named(name, libraries, command, recorded, "")
}

const fn named(
    name: &'static str,
    libraries: &'static str,
    command: &'static [&'static str],
    recorded: usize,
    named: &'static str,
) -> Case {
    Case {
        name,
        libraries,
        command,
        recorded,
        named,
    }
}

const CASES: &[Case] = &[
    seen("lazy binding", "plain", &["@/lazy", "direct"], 2),
    seen("binding at start", "plain", &["@/now", "direct"], 2),
    seen("full RELRO", "plain", &["@/relro", "direct"], 2),
    seen("no PLT", "plain", &["@/noplt", "direct"], 2),
    seen("fixed address", "plain", &["@/nopie", "direct"], 2),
    seen(
        "a jump in place of a call",
        "plain",
        &["@/noplt", "tail"],
        1,
    ),
    seen("a constructor", "plain", &["@/early", "direct"], 3),
    seen("a pointer", "plain", &["@/lazy", "pointer"], 1),
    seen(
        "a pointer at a fixed address",
        "plain",
        &["@/nopie", "pointer"],
        1,
    ),
    seen("a callback", "plain", &["@/lazy", "callback"], 3),
    seen("an IFUNC", "ifunc", &["@/lazy", "inner"], 3),
    seen("the library's own calls", "plain", &["@/lazy", "inner"], 3),
    seen("dlsym in all", "plain", &["@/lazy", "default"], 1),
    seen("a name that is not there", "plain", &["@/lazy", "weak"], 1),
    seen("threads", "plain", &["@/lazy", "threads"], 400),
    seen("a handler of a signal", "plain", &["@/lazy", "signal"], 2),
    seen("a handler of the end", "plain", &["@/lazy", "exit"], 401),
    named(
        "a jump out of a callback",
        "plain",
        &["@/lazy", "jump"],
        1,
        "tally.tally_each: a call was left under way, by a jump",
    ),
    seen("a forked child", "plain", &["@/lazy", "fork"], 3),
    seen(
        "another program in the process",
        "plain",
        &["@/lazy", "exec", "@/lazy"],
        3,
    ),
    seen("a killed program", "plain", &["@/lazy", "killed"], 1),
    seen(
        "under a shell",
        "plain",
        &["sh", "-c", "\"$0\" direct && \"$0\" tail", "@/lazy"],
        3,
    ),
    seen(
        "an older version",
        "versions",
        &["@/old_calls", "direct"],
        2,
    ),
    seen("a newer version", "versions", &["@/calls", "direct"], 2),
    named(
        "an older version, by address",
        "versions",
        &["@/old", "direct"],
        0,
        "/old: 2 references to tally bound to <dir>/versions/libtally.so, past the proxy",
    ),
    named(
        "a newer version, by address",
        "versions",
        &["@/lazy", "direct"],
        0,
        "/lazy: 2 references to tally bound to <dir>/versions/libtally.so, past the proxy",
    ),
    seen(
        "a plug-in",
        "plain",
        &["@/lazy", "plugin", "@/libplug_other.so"],
        3,
    ),
    named(
        "a plug-in by itself",
        "plain",
        &["@/lazy", "deep", "@/libplug_other.so"],
        1,
        "/libplug_other.so: calls tally of <dir>/libother.so, another definition",
    ),
    named(
        "a plug-in by itself, bound at once",
        "plain",
        &["@/lazy", "deep", "@/libplug_now.so"],
        1,
        "/libplug_now.so: calls tally of <dir>/libother.so, another definition",
    ),
    named(
        "plug-ins over two libraries",
        "plain",
        &[
            "@/unlinked",
            "plugins",
            "@/libplug_tally.so",
            "@/libplug_other.so",
        ],
        1,
        "/libplug_other.so: calls tally of <dir>/libother.so, another definition",
    ),
    seen(
        "dlsym in a handle",
        "plain",
        &["@/unlinked", "handle", "@/plain/libtally.so"],
        1,
    ),
    seen(
        "a library that comes again",
        "plain",
        &[
            "@/unlinked",
            "reopen",
            "@/plain/libtally.so",
            "@/libother.so",
            "@/plain/libtally.so",
        ],
        3,
    ),
    named(
        "dlsym in two handles",
        "plain",
        &["@/unlinked", "kept", "@/plain/libtally.so", "@/libother.so"],
        2,
        "/unlinked: looked up tally of <dir>/libother.so by dlsym 1 time",
    ),
    named(
        "dlvsym in a handle",
        "versions",
        &["@/unlinked", "versions", "@/versions/libtally.so"],
        1,
        "/unlinked: looked up tally of <dir>/versions/libtally.so by dlsym 1 time",
    ),
    named(
        "a library that forwards",
        "plain",
        &["@/forwarded", "direct"],
        2,
        "looked up tally of <dir>/plain/libtally.so by dlsym 2 times",
    ),
    named(
        "a plug-in by itself, no PLT",
        "plain",
        &["@/lazy", "deep", "@/libplug_noplt.so"],
        1,
        "/libplug_noplt.so: 1 reference to tally bound to <dir>/libother.so, past the proxy",
    ),
    named(
        "-Bsymbolic",
        "symbolic",
        &["@/lazy", "inner"],
        1,
        "/libtally.so: linked with -Bsymbolic, 2 places in it call its own tally",
    ),
    named(
        "-Bsymbolic-functions",
        "functions",
        &["@/lazy", "inner"],
        1,
        "/libtally.so: 2 places in it call its own tally, bound when it was linked",
    ),
    named(
        "protected",
        "protected",
        &["@/lazy", "inner"],
        1,
        "/libtally.so: 2 places in it call its own tally, exported as protected",
    ),
    named(
        "an alias",
        "alias",
        &["@/lazy", "inner"],
        1,
        "/libtally.so: 2 places in it call its own tally, bound when it was linked",
    ),
    named(
        "dlmopen",
        "plain",
        &["@/unlinked", "elsewhere", "@/plain/libtally.so"],
        0,
        "/libtally.so: opened by dlmopen",
    ),
    named(
        "a copy in the program",
        "plain",
        &["@/copy", "inner"],
        0,
        "/copy: holds its own copy of tally",
    ),
    named(
        "a copy without symbols",
        "plain",
        &["@/stripped", "text"],
        0,
        "/stripped: holds its own copy of libtally.so, 6 of whose 6 constant texts",
    ),
    named(
        "the program's own",
        "plain",
        &["@/defines", "inner"],
        2,
        "/defines: the program defines tally itself",
    ),
    named(
        "a static program",
        "plain",
        &["@/static", "direct"],
        0,
        "/static: linked statically",
    ),
    named(
        "a static program at any address",
        "plain",
        &["@/static_pie", "direct"],
        0,
        "/static_pie: linked statically",
    ),
    named(
        "an empty environment",
        "plain",
        &["env", "-i", "LD_LIBRARY_PATH=@/plain", "@/lazy", "direct"],
        0,
        "/lazy: started 1 time without the environment of wrap",
    ),
    named(
        "a child with an empty environment",
        "plain",
        &["@/copied", "spawn", "@/copied"],
        1,
        "/copied: started 1 time without the environment of wrap",
    ),
    named(
        "rights of another user",
        "plain",
        &["@/setuid", "direct"],
        0,
        "/setuid: runs with rights that are not the user's",
    ),
    seen(
        "ctypes",
        "plain",
        &[
            "python3",
            "-c",
            "import ctypes; print(ctypes.CDLL('libtally.so').tally(4))",
        ],
        1,
    ),
    seen(
        "cffi",
        "plain",
        &[
            "python3",
            "-c",
            "import cffi; f = cffi.FFI(); f.cdef('int tally(int n);'); print(f.dlopen('libtally.so').tally(4))",
        ],
        1,
    ),
];

/// The files that all cases run.
struct Fixture {
    scratch: Scratch,
}

impl Fixture {
    /// # Arguments
    /// * `more` - text that is added to the mark-up of `tally`
    fn new(more: &str) -> Self {
        let scratch = Scratch::new();
        let fixture = Self { scratch };
        fixture.libraries();
        fixture.programs();
        let header = source("tally.h").display().to_string();
        let markup = fs::read_to_string(source("tally.toml")).expect("the mark-up");
        let markup = fixture
            .scratch
            .write("tally.toml", format!("{markup}{more}"));
        let markup = markup.display().to_string();
        let arguments = ["proxy", &header, "--markup", &markup, "-o", "proxies"];
        fixture.scratch.mastermind(&arguments).well();
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn cc(&self, result: &str, options: &[&str], sources: &[&str]) {
        let path = self.path(result);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let mut cc = Command::new("cc");
        cc.arg("-O2").arg("-o").arg(path);
        cc.args(sources.iter().map(|name| source(name)));
        // Libraries come after the files that need them.
        cc.arg("-L")
            .arg(self.path("plain"))
            .arg("-L")
            .arg(self.path(""));
        output(cc.args(options));
    }

    fn libraries(&self) {
        let library = |result: &str, source: &str, options: &[&str]| {
            let options = [&["-shared", "-fPIC"], options].concat();
            self.cc(result, &options, &[source]);
        };
        let versions = self
            .scratch
            .write("versions.map", "TALLY_1 { };\nTALLY_2 { } TALLY_1;\n");
        let versions = format!("-Wl,--version-script={}", versions.display());
        for (kind, options) in [
            ("plain", &["-Wl,-soname,libtally.so"][..]),
            ("ifunc", &["-DIFUNC"]),
            ("symbolic", &["-Wl,-Bsymbolic"]),
            ("functions", &["-Wl,-Bsymbolic-functions"]),
            ("protected", &["-DPROTECTED"]),
            ("alias", &["-DALIAS"]),
            (
                "versions",
                &["-DVERSIONS", &versions, "-Wl,-soname,libtally.so"],
            ),
        ] {
            library(&format!("{kind}/libtally.so"), "tally.c", options);
        }
        library("libother.so", "tally.c", &["-DFACTOR=10"]);
        library("libforward.so", "plugin.c", &["-DFORWARDS"]);
        let own = ["-Wl,-rpath,$ORIGIN:$ORIGIN/plain"];
        for (name, options) in [
            ("libplug_tally.so", &["-ltally"][..]),
            ("libplug_other.so", &["-Wl,-z,lazy", "-lother"]),
            ("libplug_now.so", &["-Wl,-z,now", "-lother"]),
            ("libplug_noplt.so", &["-fno-plt", "-lother"]),
        ] {
            library(name, "plugin.c", &[&own, options].concat());
        }
    }

    fn programs(&self) {
        let linked = |name: &str, options: &[&str]| {
            let options = [&["-DLINKED"], options, &["-ltally", "-pthread"]].concat();
            self.cc(name, &options, &["program.c"]);
        };
        linked("lazy", &["-Wl,-z,lazy"]);
        linked("now", &["-Wl,-z,now"]);
        linked("relro", &["-pie", "-fpie", "-Wl,-z,relro,-z,now"]);
        linked("noplt", &["-fno-plt"]);
        linked("nopie", &["-no-pie", "-fno-pie"]);
        linked("early", &["-DEARLY"]);
        linked("defines", &["-DDEFINES", "-rdynamic"]);
        let forward = ["-Wl,--no-as-needed,-rpath,$ORIGIN", "-lforward"];
        let calls = "-DCALLS_ONLY";
        linked("calls", &[calls]);
        linked("forwarded", &[&[calls], &forward[..]].concat());
        let versions = format!("-L{}", self.path("versions").display());
        let old = |name: &str, options: &[&str]| {
            let old = [
                "-DLINKED",
                "-DOLD_VERSION",
                &versions,
                "-l:../versions/libtally.so",
            ];
            self.cc(name, &[&old, options].concat(), &["program.c"]);
        };
        old("old", &[]);
        old("old_calls", &[calls]);
        // Nothing of the environment counts there.
        let plain = format!("-Wl,-rpath,{}", self.path("plain").display());
        linked("setuid", &[&plain]);
        self.cc("unlinked", &[], &["program.c"]);
        let whole = ["program.c", "tally.c"];
        self.cc("copy", &["-DLINKED"], &whole);
        self.cc("stripped", &["-DLINKED", "-s"], &whole);
        self.cc("static", &["-DLINKED", "-static", "-w"], &whole);
        self.cc("static_pie", &["-DLINKED", "-static-pie", "-w"], &whole);
        fs::copy(self.path("lazy"), self.path("copied")).expect("a copy");
    }

    fn command(&self, case: &Case, wrapped: Option<&Path>) -> Command {
        let folder = self.path("").display().to_string();
        let folder = folder.trim_end_matches('/');
        let words: Vec<_> = case
            .command
            .iter()
            .map(|word| word.replace('@', folder))
            .collect();
        let mut command = match wrapped {
            None => Command::new(&words[0]),
            Some(records) => {
                let mut command = Command::new(bin_dir().join("mastermind"));
                let proxy = self.path("proxies/libtally_proxy.so");
                command.args(["wrap", "--proxy"]).arg(proxy);
                command
                    .arg("--records")
                    .arg(records)
                    .arg("--")
                    .arg(&words[0]);
                command
            }
        };
        command.env("LD_LIBRARY_PATH", self.path(case.libraries));
        command.args(&words[1..]);
        command
    }

    /// The faults of a case; empty if it passes.
    fn faults(&self, case: &Case) -> Vec<String> {
        let plain = self.scratch.run(&mut self.command(case, None));
        let records = self.path(&format!("records of {}", case.name));
        let wrapped = self.scratch.run(&mut self.command(case, Some(&records)));
        let mut faults = Vec::new();
        let code = |ended: &Ended| ended.code.unwrap_or(128 + 9);
        if plain.stdout.is_empty()
            || (&plain.stdout, code(&plain)) != (&wrapped.stdout, code(&wrapped))
        {
            faults.push(format!("{plain:?}, but wrapped {wrapped:?}"));
        }
        let recorded = n_recorded(&records);
        if recorded != case.recorded {
            faults.push(format!(
                "{recorded} calls recorded, expected {}",
                case.recorded
            ));
        }
        let note = wrapped
            .stderr
            .split_once("note: calls of tally that are not in the records");
        let note = note.map_or("", |(_, note)| note);
        let is_right = if case.named.is_empty() {
            note.is_empty()
        } else {
            note.contains(case.named)
        };
        if !is_right {
            faults.push(format!("expected {:?} in {:?}", case.named, wrapped.stderr));
        }
        faults
    }
}

fn source(name: &str) -> PathBuf {
    root().join("tests/fixtures/round_about").join(name)
}

fn n_recorded(records: &Path) -> usize {
    n_recorded_of(records, "tally")
}

fn n_recorded_of(records: &Path, method: &str) -> usize {
    let Ok(run) = Run::open(records) else {
        return 0;
    };
    let all = run.logs().iter().flat_map(|log| log.records());
    all.filter(|record| record.method.method == method).count()
}

/// A case that this machine cannot run.
fn is_missing(case: &Case, fixture: &Fixture) -> bool {
    match case.name {
        "ctypes" => {
            let missing = Command::new("python3").arg("--version").output().is_err();
            if missing {
                skip("python3", "no python3 on this machine");
            }
            missing
        }
        // A package of its own, which hardly any machine has: it looks up a name in a handle, as ctypes does.
        "cffi" => {
            let mut python = Command::new("python3");
            let found = python.args(["-c", "import cffi"]).output();
            !found.is_ok_and(|found| found.status.success())
        }
        // Only root can give a file away.
        "rights of another user" => {
            let program = fixture.path("setuid");
            let nobody = std::os::unix::fs::chown(&program, Some(65534), None).is_ok();
            let mut chmod = Command::new("chmod");
            output(chmod.arg("u+s").arg(&program));
            // Other users may enter the folder, or the new user could not start the program.
            let mut chmod = Command::new("chmod");
            output(chmod.arg("a+rx").arg(fixture.path("")));
            !nobody
        }
        _ => false,
    }
}

/// Where the mark-up says that a name has two definitions, the calls of each are recorded, whether they are symbol
/// versions or definitions in two libraries.
#[test]
fn each_definition_is_a_target_of_its_own() {
    let fixture = Fixture::new("definitions = 2\n");
    for (case, n_others) in [
        (
            seen(
                "two versions by dlvsym",
                "versions",
                &["@/unlinked", "versions", "@/versions/libtally.so"],
                1,
            ),
            1,
        ),
        (
            seen(
                "two libraries by dlsym",
                "plain",
                &["@/unlinked", "kept", "@/plain/libtally.so", "@/libother.so"],
                2,
            ),
            1,
        ),
        (
            seen(
                "a plug-in by itself, of two",
                "plain",
                &["@/lazy", "deep", "@/libplug_other.so"],
                1,
            ),
            2,
        ),
    ] {
        assert_eq!(fixture.faults(&case), Vec::<String>::new(), "{}", case.name);
        let records = fixture.path(&format!("records of {}", case.name));
        let others = n_recorded_of(&records, "tally@2");
        assert_eq!(others, n_others, "{}", case.name);
        let again = fixture.path(&format!("again: {}", case.name));
        let ended = fixture
            .scratch
            .run(&mut fixture.command(&case, Some(&again)));
        let report = ended.stderr;
        assert!(report.contains("tally@2: tally of <dir>/"), "{report}");
        let has_version = report.contains("libtally.so, version TALLY_");
        assert_eq!(has_version, case.libraries == "versions", "{report}");
    }
}

#[test]
fn every_call_is_recorded_or_named_and_no_result_differs() {
    let fixture = Fixture::new("");
    assert!(CASES.len() >= 25);
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if is_missing(case, &fixture) {
                        continue;
                    }
                    let found = fixture.faults(case);
                    let found = found.iter().map(|fault| format!("{}: {fault}", case.name));
                    faults.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no panic");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
