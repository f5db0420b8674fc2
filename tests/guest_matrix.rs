//! Situations that a program may be in, one row each: under `wrap` it behaves as it does alone, and its calls are
//! recorded.
//!
//! # To add a row
//! Put the program into `tests/fixtures/guest/NAME.c` (or `NAME.cpp`) and a line `NAME: guest(),` into the table below.
//! That makes a test of its own, `guest_matrix::NAME`. The program includes `guest.h`, calls `call(n)`, and prints with
//! `report()` how many calls it made. Instead of `guest()`:
//!
//! ```text
//! openmp(GCC)                a program of OpenMP by that compiler, also under `wrap --openmp`, where OpenMP must be measured
//! mpi(2)                     a program of MPI on 2 ranks, under each MPI; it prints lines `calls: MPI_Barrier 20` itself, for all
//!                            ranks together and from rank 0 only, since launchers mix the lines of ranks
//! .flags(&["-pthread"])      options for the compiler, behind the source
//! .compiler("clang")         another compiler than `cc`
//! .needs("jemalloc")         the row is passed over where it does not compile, unless this machine is known to have that
//! .source("other")           the program is `other.c`, which several rows share
//! .may_be_impossible()       not a fault where the program alone ends with 77, as without the rights for it
//! .arguments(&["x"])         arguments of the program
//! .variables(&[("A", "b")])  variables of the environment
//! .outer(&["nohup"])         words before everything, alone and wrapped: limits, other users, shells
//! .inner(&["sh", "-c", …])   words directly before the program, behind `wrap --`
//! .reports("text")           calls may be missing where what `wrap` writes contains this text
//! ```
//!
//! # What is compared
//! Exit code, signal, standard output, and standard error without the lines of `wrap` must equal those of the program
//! alone: under plain `wrap`, and under `wrap --proxy` of the library `tally` (`tests/fixtures/round_about`). `calls:
//! NAME N` in the output, summed over all such lines, must equal the number of `profile` for that function. Every run
//! ends within [`PATIENCE`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use mastermind_tests::{Scratch, bin_dir, mpirun, mpis_with, output, root, skip};
use serde_json::Value;

/// Longest time that a program may take: a bound against hanging, many times the time of any of them.
const PATIENCE: Duration = Duration::from_secs(60);

/// The exit code of a program that cannot run its test on this machine, as in automake.
const CANNOT: i32 = 77;

macro_rules! rows {
    ($($name:ident: $row:expr,)*) => {
        $(
            #[test]
            fn $name() {
                $row.check(stringify!($name));
            }
        )*
    };
}

rows! {
    plain: guest(),
    threads_first: guest().flags(&["-pthread"]),
    mpi_plain: mpi(2),
    mpi_own_names: mpi(2).reports("the program defines MPI_Barrier itself"),
    // Processes.
    fork: guest(),
    children_alone: guest().flags(&["-pthread"]),
    child_without_files: guest().source("children_alone").flags(&["-pthread"]).arguments(&["x"]).reports("calls have no record"),
    vfork: guest(),
    exec: guest(),
    posix_spawn: guest(),
    daemon_process: guest(),
    other_user: guest().may_be_impossible(),
    other_users: guest().may_be_impossible().reports("of user 65534 may not write into"),
    counts_threads: guest().arguments(&["links"]),
    counts_threads_stat: guest().source("counts_threads").arguments(&["stat"]),
    namespaces: guest().may_be_impossible(),
    namespaces_bare: guest().source("namespaces").arguments(&["x"]).may_be_impossible(),
    namespaces_in_children: guest().may_be_impossible(),
    namespaces_entered: guest().may_be_impossible(),
    chroot_later: guest().may_be_impossible(),
    inherited: guest(),
    inherited_ignored: guest().source("inherited").outer(&["sh", "-c", "trap '' HUP PIPE USR1 CHLD RTMIN; exec \"$@\"", "sh"]),
    inherited_closed: guest().source("inherited").outer(&["sh", "-c", "exec \"$@\" <&-", "sh"]),
    inherited_nohup: guest().source("inherited").outer(&["nohup"]),
    // Ends.
    ends_by_return: guest().source("ends").arguments(&["return"]),
    ends_by_exit: guest().source("ends").arguments(&["exit"]),
    ends_by_quick_exit: guest().source("ends").arguments(&["quick"]),
    ends_at_once: guest().source("ends").arguments(&["now"]),
    ends_by_abort: guest().source("ends").arguments(&["abort"]),
    ends_by_kill: guest().source("ends").arguments(&["kill"]),
    ends_by_fault: guest().source("ends").arguments(&["segv"]),
    ends_by_pipe: guest().source("ends").arguments(&["pipe"]),
    ends_by_real_time_signal: guest().source("ends").arguments(&["real-time"]),
    destructors: guest().flags(&["-pthread"]),
    // Signals and stacks.
    alternate_stack: guest(),
    coroutines: guest(),
    signalled_by_alarm: guest().outer(&["python3", "-c", "import os, signal, sys; signal.alarm(1); os.execvp(sys.argv[1], sys.argv[1:])"]),
    // Limits.
    limited_files: guest().source("limited").flags(&["-pthread"]).outer(&["sh", "-c", "ulimit -n 16; exec \"$@\"", "sh"]),
    limited_to_itself: guest()
        .outer(&["sh", "-c", "ulimit -n 4; exec \"$@\"", "sh"])
        .source("plain")
        .reports("nothing is recorded"),
    limited_stack: guest().source("limited").flags(&["-pthread"]).outer(&["sh", "-c", "ulimit -s 256; exec \"$@\"", "sh"]),
    limited_addresses: guest(),
    limited_memory: guest().source("limited").flags(&["-pthread"]).outer(&["sh", "-c", "ulimit -v 1000000; exec \"$@\"", "sh"]),
    limited_file_size: guest()
        .source("limited")
        .flags(&["-pthread"])
        .outer(&["sh", "-c", "ulimit -f 64; exec \"$@\"", "sh"])
        .reports("warning: "),
    // Allocators, sanitizers, other C libraries.
    jemalloc: guest().source("allocating").flags(&["-pthread", "-ljemalloc"]).needs("jemalloc"),
    jemalloc_in_a_script: guest().source("allocating").flags(&["-pthread", "-ljemalloc"]).needs("jemalloc").inner(&["sh", "-c", "\"$@\"", "sh"]),
    tcmalloc: guest().source("allocating").flags(&["-pthread", "-l:libtcmalloc_minimal.so.4"]).needs("tcmalloc"),
    mimalloc: guest().source("allocating").flags(&["-pthread", "-lmimalloc"]).needs("mimalloc"),
    address_sanitizer: guest().source("allocating").flags(&["-pthread", "-fsanitize=address"]).needs("sanitizers"),
    address_sanitizer_in_a_script: guest()
        .source("allocating")
        .flags(&["-pthread", "-fsanitize=address"])
        .needs("sanitizers")
        .inner(&["sh", "-c", "\"$@\"", "sh"]),
    thread_sanitizer: guest().source("allocating").flags(&["-pthread", "-fsanitize=thread"]).needs("sanitizers"),
    leak_sanitizer: guest()
        .source("allocating")
        .flags(&["-pthread", "-fsanitize=leak"])
        .needs("sanitizers")
        .reports("nothing is recorded"),
    memory_sanitizer_clang: guest()
        .source("allocating")
        .compiler("clang")
        .flags(&["-pthread", "-fsanitize=memory"])
        .needs("clang sanitizers")
        .reports("cannot measure a program of MemorySanitizer"),
    address_sanitizer_clang: guest()
        .source("allocating")
        .compiler("clang")
        .flags(&["-pthread", "-fsanitize=address"])
        .needs("clang sanitizers"),
    thread_sanitizer_clang: guest()
        .source("allocating")
        .compiler("clang")
        .flags(&["-pthread", "-fsanitize=thread"])
        .needs("clang sanitizers")
        .reports("nothing is recorded"),
    // Without it the run ends the same, wrapped or not.
    valgrind: guest().source("allocating").flags(&["-pthread"]).inner(&["env", "valgrind", "-q"]).reports("nothing is recorded"),
    undefined_sanitizer: guest().source("allocating").flags(&["-pthread", "-fsanitize=undefined"]).needs("sanitizers"),
    statically_linked: guest().source("own_tally").flags(&["-static"]).reports("linked statically"),
    // Files, threads and system calls of ours.
    closes_all: guest(),
    closes_often: guest(),
    closes_input: guest(),
    main_leaves: guest(),
    main_leaves_first: guest().flags(&["-pthread"]),
    main_cancelled: guest().flags(&["-pthread"]),
    main_leaves_signal: guest().flags(&["-pthread"]),
    restricted_errors: guest().may_be_impossible().reports("nothing is recorded"),
    restricted_missing: guest().may_be_impossible().reports(""),
    restricted_kill: guest().may_be_impossible().reports("restricts its system calls"),
    restricted_later: guest().may_be_impossible().reports("restricts its system calls"),
    restricted_strictly: guest().may_be_impossible().reports("restricts its system calls"),
    ends_its_thread: guest().source("restricted_strictly").arguments(&["x"]).reports(""),
    errno_kept: guest(),
    chroot_threads: guest().flags(&["-pthread"]).may_be_impossible(),
    ends_among_threads: guest().flags(&["-pthread"]).reports(""),
    // OpenMP.
    openmp_constructs: openmp(GCC).source("openmp"),
    openmp_constructs_clang: openmp(CLANG).source("openmp"),
    openmp_exits: openmp(GCC).source("openmp_exits"),
    openmp_exits_clang: openmp(CLANG).source("openmp_exits"),
    openmp_forks: openmp(GCC).source("openmp_forks"),
    openmp_forks_clang: openmp(CLANG).source("openmp_forks").arguments(&["x"]).reports("in processes that were forked"),
    openmp_local: openmp(GCC).source("openmp_local").flags(LOADING_GCC).may_be_impossible(),
    openmp_local_clang: openmp(CLANG).source("openmp_local").flags(LOADING_CLANG).may_be_impossible(),
    openmp_tool: openmp(CLANG).flags(&["-fopenmp", "-rdynamic"]).reports("has another tool"),
    openmp_sanitized: openmp(GCC).source("openmp_exits").flags(&["-fopenmp", "-fsanitize=address"]).needs("sanitizers"),
    // The recorded call.
    cancelled: guest().flags(&["-pthread"]),
    constructor: guest().flags(INCLUDING),
    constructor_later: guest().source("constructor").flags(INCLUDING).arguments(&["x"]),
    coroutines_within: guest(),
    coroutines_bare: guest().flags(BARE),
    coroutines_moving: guest().flags(&["-pthread"]).reports(LEFT),
    crash_handler: guest().may_be_impossible(),
    crash_handler_later: guest().source("crash_handler").may_be_impossible().arguments(&["x"]),
    blocked: guest().flags(BARE),
    handler_first: guest(),
    handler_in_malloc: guest().flags(&["-lrt"]).reports(POSTPONED),
    handler_in_malloc_bare: guest().source("handler_in_malloc").flags(BARE).reports(POSTPONED),
    handler_jumps: guest().flags(&["-lrt"]).reports(LEFT),
    jumps: guest(),
    mpi_cancelled: mpi(2).flags(&["-pthread"]),
    mpi_jumps: mpi(2),
    handler_calls: guest().flags(&["-lrt"]).reports(INTERRUPTED),
    stack_used: guest(),
    small_stack: guest().flags(&["-pthread"]),
    unnoticed: guest().flags(&["-pthread", "-lm"]),
}

/// How a program finds the header when it compiles itself.
const INCLUDING: &[&str] = &[
    concat!(
        "-DINCLUDE=\"-I",
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/round_about\""
    ),
    "-pthread",
    "-ldl",
];
/// A program without OpenMP that compiles and loads a library with OpenMP.
const LOADING_GCC: &[&str] = &[
    "-DCOMPILER=\"gcc\"",
    concat!(
        "-DINCLUDE=\"-I",
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/round_about\""
    ),
    "-ldl",
];
const LOADING_CLANG: &[&str] = &[
    "-DCOMPILER=\"clang\"",
    concat!(
        "-DINCLUDE=\"-I",
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/round_about\""
    ),
    "-ldl",
];
/// Compilers, and the requirement for their OpenMP.
const GCC: (&str, &str) = ("gcc", "cc");
const CLANG: (&str, &str) = ("clang", "libomp");
/// Part of the message where a jump left a call.
const LEFT: &str = "a call was left under way, by a jump";
/// Part of the message where a signal handler called before a recording could begin.
const POSTPONED: &str = "calls of signal handlers came before the recording had begun";
/// Without unwind tables.
const BARE: &[&str] = &[
    "-lrt",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
];
/// Part of the message where a signal handler called while another call was being recorded.
const INTERRUPTED: &str = "calls of signal handlers came while another call was being recorded";

/// A program and how it is started.
#[derive(Clone, Copy, Default)]
struct Row {
    ranks: u32,
    source: Option<&'static str>,
    may_be_impossible: bool,
    flags: &'static [&'static str],
    needs: Option<&'static str>,
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    outer: &'static [&'static str],
    inner: &'static [&'static str],
    reports: Option<&'static str>,
    /// Compiler, where it is another than `cc` or MPI's.
    compiler: Option<&'static str>,
    /// Whether it is a program of OpenMP, which runs under `wrap --openmp` too.
    is_openmp: bool,
}

/// A program that calls `tally`.
fn guest() -> Row {
    Row::default()
}

/// A program of OpenMP, by a compiler.
fn openmp((compiler, needs): (&'static str, &'static str)) -> Row {
    Row {
        compiler: Some(compiler),
        is_openmp: true,
        needs: Some(needs),
        flags: &["-fopenmp", "-pthread"],
        ..Row::default()
    }
}

/// A program of MPI.
fn mpi(ranks: u32) -> Row {
    Row {
        ranks,
        ..Row::default()
    }
}

#[expect(dead_code, reason = "each is for rows that may come")]
impl Row {
    fn source(self, source: &'static str) -> Self {
        let source = Some(source);
        Self { source, ..self }
    }

    fn may_be_impossible(self) -> Self {
        Self {
            may_be_impossible: true,
            ..self
        }
    }

    fn flags(self, flags: &'static [&'static str]) -> Self {
        Self { flags, ..self }
    }

    fn compiler(self, compiler: &'static str) -> Self {
        let compiler = Some(compiler);
        Self { compiler, ..self }
    }

    fn needs(self, needs: &'static str) -> Self {
        let needs = Some(needs);
        Self { needs, ..self }
    }

    fn arguments(self, arguments: &'static [&'static str]) -> Self {
        Self { arguments, ..self }
    }

    fn variables(self, variables: &'static [(&'static str, &'static str)]) -> Self {
        Self { variables, ..self }
    }

    fn outer(self, outer: &'static [&'static str]) -> Self {
        Self { outer, ..self }
    }

    fn inner(self, inner: &'static [&'static str]) -> Self {
        Self { inner, ..self }
    }

    fn reports(self, text: &'static str) -> Self {
        let reports = Some(text);
        Self { reports, ..self }
    }

    /// Runs the program in every configuration and compares.
    fn check(self, name: &str) {
        let launchers = match self.ranks {
            0 => vec![None],
            _ => mpis_with("mpicc").into_iter().map(Some).collect(),
        };
        for mpi in launchers {
            self.check_under(name, mpi);
        }
    }

    fn check_under(&self, name: &str, mpi: Option<&'static str>) {
        let scratch = Scratch::new();
        let Some(program) = self.compile(name, mpi, &scratch) else {
            return;
        };
        let start = |wrap: Option<Wrap>| self.start(&program, mpi, wrap, &scratch);
        let alone = start(None);
        if alone.code == Some(CANNOT) && self.may_be_impossible {
            println!("skipped: {name} cannot be done here");
            return;
        }
        let made = calls_made(&alone.stdout);
        let ways: &[Wrap] = match mpi {
            None if self.is_openmp => &[Wrap::Plain, Wrap::Proxy, Wrap::OpenMp],
            None => &[Wrap::Plain, Wrap::Proxy],
            Some(_) => &[Wrap::Plain, Wrap::Proxy, Wrap::Launcher],
        };
        for wrap in ways.iter().copied() {
            let way = format!("{name} under {wrap:?}, {}", mpi.unwrap_or("no MPI"));
            let ended = start(Some(wrap));
            self.compare(&alone, &ended, &way);
            // Without a proxy only calls of MPI are recorded.
            let mut made = made.clone();
            made.retain(|function, _| wrap != Wrap::Plain || function.starts_with("MPI_"));
            let recorded = calls_recorded(&scratch.path(wrap.records()), &made);
            let reported = self.reports.is_some_and(|text| ended.stderr.contains(text));
            if wrap == Wrap::OpenMp {
                let is_measured = ended.stderr.contains("\nOpenMP, rank 0: ")
                    || ended.stderr.starts_with("OpenMP, rank 0: ");
                assert!(is_measured, "{way}: {ended:?}");
                assert!(reported || self.reports.is_none(), "{way}: {ended:?}");
            }
            assert!(
                made == recorded || reported,
                "{way}: calls {made:?}, recorded {recorded:?}; {ended:?}"
            );
        }
    }

    /// Checks that a wrapped run equals the run alone.
    fn compare(&self, alone: &Ended, ended: &Ended, way: &str) {
        let how = |ended: &Ended| (ended.code, ended.signal);
        assert_eq!(
            how(alone),
            how(ended),
            "{way}: alone {alone:?}, wrapped {ended:?}"
        );
        if self.ranks == 0 {
            assert_eq!(alone.stdout, ended.stdout, "{way}: {ended:?}");
            assert_eq!(alone.stderr, without_wrap(&ended.stderr), "{way}");
        } else {
            // Ranks write in any order, and launchers write numbers of processes when one of them fails.
            assert_eq!(
                sorted(&alone.stdout),
                sorted(&ended.stdout),
                "{way}: {ended:?}"
            );
        }
    }

    /// The program; `None` where this machine lacks what it needs.
    fn compile(&self, name: &str, mpi: Option<&str>, scratch: &Scratch) -> Option<PathBuf> {
        let folder = root().join("tests/fixtures/guest");
        let source = self.source.unwrap_or(name);
        let c = folder.join(format!("{source}.c"));
        let (source, kind) = match c.is_file() {
            true => (c, "cc"),
            false => (folder.join(format!("{source}.cpp")), "c++"),
        };
        let program = scratch.path(name);
        let mut command = match (mpi, kind) {
            (None, _) => Command::new(self.compiler.unwrap_or(kind)),
            (Some(mpi), "cc") => Command::new(format!("mpicc.{mpi}")),
            (Some(mpi), _) => Command::new(format!("mpicxx.{mpi}")),
        };
        let library = library();
        command.args(["-O1", "-g", "-o"]).arg(&program).arg(source);
        command
            .arg("-I")
            .arg(root().join("tests/fixtures/round_about"));
        command.args(self.flags);
        // A statically linked program has it in itself.
        if !self.flags.contains(&"-static") {
            command.arg("-L").arg(library).arg("-ltally");
            command.arg(format!("-Wl,-rpath,{}", library.display()));
        }
        if let Some(compiler) = self.compiler
            && Command::new(compiler).arg("--version").output().is_err()
        {
            skip(compiler, format_args!("no {compiler} on this machine"));
            return None;
        }
        let ended = mastermind_tests::ended(&mut command);
        let text = String::from_utf8_lossy(&ended.stderr);
        match self.needs {
            Some(needs) if !ended.status.success() => {
                skip(needs, text.lines().next().unwrap_or_default());
                return None;
            }
            _ => assert!(ended.status.success(), "{command:?}: {text}"),
        }
        Some(program)
    }

    fn start(
        &self,
        program: &Path,
        mpi: Option<&str>,
        wrap: Option<Wrap>,
        scratch: &Scratch,
    ) -> Ended {
        let folder = scratch.path("");
        let mut words: Vec<String> = self.outer.iter().map(|word| (*word).into()).collect();
        let launcher = mpi.map(|mpi| mpirun(mpi, self.ranks, &folder));
        let launcher_words = launcher.iter().flat_map(|launcher| {
            let words = std::iter::once(launcher.get_program()).chain(launcher.get_args());
            words.map(|word| word.to_string_lossy().into_owned())
        });
        let wrap_words = wrap.iter().flat_map(|wrap| wrap.words());
        match wrap {
            Some(Wrap::Launcher) => words.extend(wrap_words.chain(launcher_words)),
            _ => words.extend(launcher_words.chain(wrap_words)),
        }
        words.extend(self.inner.iter().map(|word| (*word).into()));
        words.push(program.display().to_string());
        words.extend(self.arguments.iter().map(|word| (*word).into()));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&folder);
        let variables = launcher.iter().flat_map(|launcher| launcher.get_envs());
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        command.envs(self.variables.iter().copied());
        Ended::of(&mut command, scratch)
    }
}

/// How `wrap` stands in the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrap {
    /// Before the program.
    Plain,
    /// Before the program, with a proxy of `tally`.
    Proxy,
    /// Before the program, with the proxy, and OpenMP is measured.
    OpenMp,
    /// Before the launcher of MPI, with the proxy.
    Launcher,
}

impl Wrap {
    fn records(self) -> &'static str {
        match self {
            Self::Plain => "plain.records",
            Self::Proxy => "proxy.records",
            Self::OpenMp => "openmp.records",
            Self::Launcher => "launcher.records",
        }
    }

    fn words(self) -> Vec<String> {
        let mastermind = bin_dir().join("mastermind").display().to_string();
        let mut words = vec![
            mastermind,
            "wrap".into(),
            "--records".into(),
            self.records().into(),
        ];
        if self != Self::Plain {
            let proxy = library().join("proxies/libtally_proxy.so");
            words.extend(["--proxy".into(), proxy.display().to_string()]);
        }
        if self == Self::OpenMp {
            words.push("--openmp".into());
        }
        words.push("--".into());
        words
    }
}

/// How a program ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    /// Runs a command, and ends it and all that it started where it hangs.
    fn of(command: &mut Command, scratch: &Scratch) -> Self {
        let file = |name| File::create(scratch.path(name)).expect("a file");
        command
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .process_group(0);
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let began = Instant::now();
        let mut status: Option<ExitStatus> = None;
        while status.is_none() && began.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
            status = child.try_wait().expect("a child");
        }
        // Processes it left behind must not disturb other rows.
        let kill_group = || {
            let mut kill = Command::new("kill");
            mastermind_tests::ended(kill.args(["-KILL", "--", &format!("-{}", child.id())]))
        };
        let text = |name| {
            String::from_utf8_lossy(&fs::read(scratch.path(name)).expect("output")).into_owned()
        };
        let Some(status) = status else {
            kill_group();
            child.wait().expect("a child");
            panic!("{command:?} hangs: {} {}", text("stdout"), text("stderr"));
        };
        kill_group();
        let ended = Self {
            code: status.code(),
            signal: status.signal(),
            stdout: text("stdout"),
            stderr: text("stderr"),
        };
        println!("{command:?}: {ended:#?}");
        ended
    }
}

/// The folder of the library `tally` and of its proxy, made once for each run of the tests.
fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let source = root().join("tests/fixtures/round_about");
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-shared", "-fPIC", "-Wl,-soname,libtally.so", "-o"]);
        output(
            cc.arg(folder.join("libtally.so"))
                .arg(source.join("tally.c")),
        );
        let mut command = Command::new(bin_dir().join("mastermind"));
        command.arg("proxy").arg(source.join("tally.h"));
        command.arg("--markup").arg(source.join("tally.toml"));
        output(command.arg("-o").arg(folder.join("proxies")));
        folder
    })
}

/// The sum of each `calls: NAME N` of an output.
fn calls_made(text: &str) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let ["calls:", name, n] = words[..] {
            *calls.entry(name.to_owned()).or_default() += n.parse::<u64>().expect("a number");
        }
    }
    assert!(!calls.is_empty(), "no line `calls: NAME N` in {text:?}");
    calls
}

/// The calls of these functions that `profile` shows, summed over the ranks.
fn calls_recorded(records: &Path, made: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut command = Command::new(bin_dir().join("mastermind"));
    let ended = mastermind_tests::ended(command.arg("profile").arg(records).arg("--json"));
    let profile: Value = serde_json::from_slice(&ended.stdout).unwrap_or_default();
    let ranks = profile["ranks"].as_f64().unwrap_or_default();
    let rows = profile["rows"].as_array().cloned().unwrap_or_default();
    let of = |function: &str| {
        let is_meant = |row: &&Value| {
            let name = row["name"].as_str().unwrap_or_default();
            let name = name.strip_suffix("()").unwrap_or(name);
            name.rsplit('.').next() == Some(function)
        };
        let calls = rows
            .iter()
            .filter(is_meant)
            .filter_map(|row| row["calls"].as_f64());
        (calls.sum::<f64>() * ranks).round() as u64
    };
    made.keys().map(|name| (name.clone(), of(name))).collect()
}

/// Standard error without the lines that `wrap` writes, at the margin and indented below.
fn without_wrap(text: &str) -> String {
    const OWN: [&str; 6] = [
        "warning: ",
        "note: ",
        "MPI: ",
        "OpenMP, ",
        "adapted: ",
        "records: ",
    ];
    let mut is_own = false;
    let lines = text.split_inclusive('\n').filter(|line| {
        is_own =
            OWN.iter().any(|start| line.starts_with(start)) || (is_own && line.starts_with("  "));
        !is_own
    });
    lines.collect()
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}
