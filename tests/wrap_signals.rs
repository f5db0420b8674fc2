//! Signals that are sent to `wrap` reach the program once each; job control sees one process.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mastermind_tests::{Scratch, bin_dir, output, root};

/// A bound against hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Signals of Linux, by their numbers on all its common processors.
const CONT: i32 = 18;
const KILLS_OR_STOPS: [i32; 2] = [9, 19];
const CHLD: i32 = 17;
const TERM: i32 = 15;
const LAST: i32 = 64;
/// Those between are the C library's own.
const FIRST_REAL_TIME: i32 = 34;

/// A program that prints the signals it gets, under `wrap`.
struct Guest {
    scratch: Scratch,
    wrap: Child,
}

impl Guest {
    /// # Arguments
    /// * `words` - before the program
    fn start(words: &[&str]) -> Self {
        let scratch = Scratch::new();
        let program = scratch.path("signals");
        let mut cc = Command::new("cc");
        cc.arg("-o").arg(&program);
        cc.arg(root().join("tests/fixtures/guest/signals.c"));
        cc.arg("-I").arg(root().join("tests/fixtures/round_about"));
        output(cc.arg("-Wl,--unresolved-symbols=ignore-all"));
        let mut wrap = Command::new(bin_dir().join("mastermind"));
        wrap.args(["wrap", "--records", "records", "--"])
            .args(words);
        wrap.arg(&program).current_dir(scratch.path(""));
        wrap.stdin(Stdio::null());
        wrap.stdout(File::create(scratch.path("got")).expect("a file"));
        wrap.stderr(File::create(scratch.path("said")).expect("a file"));
        let wrap = wrap.process_group(0).spawn().expect("a program");
        let guest = Self { scratch, wrap };
        guest.wait_until("the program has begun", |got| got.contains(&0));
        guest
    }

    fn got(&self) -> Vec<i32> {
        let text = self.scratch.read("got");
        text.lines()
            .map(|line| line.parse().expect("a number"))
            .collect()
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&[i32]) -> bool) {
        let began = Instant::now();
        while !is_so(&self.got()) {
            let (got, said) = (self.got(), self.scratch.read("said"));
            assert!(began.elapsed() < PATIENCE, "{what}: {got:?} {said}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sends a signal to `wrap`, or to the whole group.
    fn send(&self, signal: i32, to_group: bool) {
        let sign = if to_group { "-" } else { "" };
        let mut kill = Command::new("kill");
        let target = format!("{sign}{}", self.wrap.id());
        output(kill.args([&format!("-{signal}"), "--", &target]));
    }

    /// Ends the program by SIGTERM.
    ///
    /// # Returns
    /// All that it got.
    fn end(mut self) -> Vec<i32> {
        self.send(TERM, false);
        assert!(self.wrap.wait().expect("a program").success());
        self.got()
    }
}

/// Whether a process is stopped.
fn is_stopped(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    matches!(state, Some(Some('T')))
}

fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

fn signals() -> Vec<i32> {
    let skipped = |n: &i32| KILLS_OR_STOPS.contains(n) || *n == TERM || *n == CHLD;
    let real_time = FIRST_REAL_TIME..=LAST;
    (1..32).filter(|n| !skipped(n)).chain(real_time).collect()
}

#[test]
fn every_signal_reaches_the_program() {
    let guest = Guest::start(&[]);
    for signal in signals() {
        guest.send(signal, false);
        guest.wait_until("a signal arrives", |got| got.contains(&signal));
    }
    let mut expected = signals();
    expected.insert(0, 0);
    expected.push(TERM);
    assert_eq!(guest.end(), expected);
}

/// As terminals, shells and the launchers of MPI send them.
#[test]
fn what_is_sent_to_the_group_comes_once() {
    let guest = Guest::start(&[]);
    // The next one is sent to `wrap` alone: the signals that it passed on before have arrived by then.
    let all = signals();
    for signals in all.chunks_exact(2) {
        guest.send(signals[0], true);
        guest.send(signals[1], false);
        guest.wait_until("both arrive", |got| {
            signals.iter().all(|signal| got.contains(signal))
        });
    }
    let got = guest.end();
    for signal in all.chunks_exact(2).flatten() {
        let n = got.iter().filter(|other| *other == signal).count();
        assert_eq!(n, 1, "signal {signal} in {got:?}");
    }
}

/// A program in a process group of its own gets no signal that is sent to the group of `wrap`.
#[test]
fn a_program_in_a_group_of_its_own_gets_what_is_sent_to_the_group() {
    let guest = Guest::start(&["setsid", "--wait"]);
    guest.send(10, true);
    // `setsid` forks where it leads the group; else it is the program.
    guest.wait_until("it arrives", |got| got.contains(&10));
    assert_eq!(
        guest.end().iter().filter(|signal| **signal == 10).count(),
        1
    );
}

#[test]
fn wrap_is_stopped_with_the_program_and_goes_on_with_it() {
    let guest = Guest::start(&[]);
    let wrap = guest.wrap.id();
    let is_program = |process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        name.trim() == "signals"
    };
    let program = children(wrap)
        .into_iter()
        .find(is_program)
        .expect("the program");
    let wait = |stopped: bool| {
        guest.wait_until("stopped or not", |_| {
            is_stopped(wrap) == stopped && is_stopped(program) == stopped
        });
    };
    let send = |signal: &str, process: u32| {
        output(Command::new("kill").args([signal, &process.to_string()]));
    };
    // Continued by the program alone, and by the process that continues it or `wrap`.
    for (round, continued) in [program, wrap].into_iter().enumerate() {
        send("-STOP", program);
        wait(true);
        send("-CONT", continued);
        wait(false);
        // A stop takes away a signal to go on that the program has not got yet.
        let n = |got: &[i32]| got.iter().filter(|signal| **signal == CONT).count();
        guest.wait_until("it goes on", |got| n(got) > round);
    }
    let got = guest.end();
    assert_eq!(
        got.iter().filter(|signal| **signal == CONT).count(),
        2,
        "{got:?}"
    );
}

#[test]
fn a_killed_wrap_leaves_no_program() {
    let mut guest = Guest::start(&[]);
    let started = children(guest.wrap.id());
    assert!(!started.is_empty());
    guest.wrap.kill().expect("a program");
    guest.wrap.wait().expect("a program");
    guest.wait_until("all have ended", |_| {
        let left = started
            .iter()
            .map(|process| PathBuf::from(format!("/proc/{process}")));
        left.clone().all(|path| !path.exists() || is_ended(&path))
    });
}

/// Whether only the entry of a process is left, which its new parent has not yet collected.
fn is_ended(process: &std::path::Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}
