//! Adapts a wrapped program: watches the calls of a proxied library and sends them to the fastest of several
//! libraries.
//!
//! The program reports no steps. With one rank, a thread polls the records from time to time; the records since the
//! last poll take the place of a step of `run --adapt`, and the policy is the same (`composition/adapt`). A swap is
//! the change of one pointer, so it can happen at any moment: one library answers a whole call.
//!
//! ```text
//! poll     the records since the last poll, by call kind: outermost calls of an interface, each with the time that the library
//!          spends in its own functions, including the calls among them
//! decide   try another library, keep it, go back
//! pause    until all polls together are within their share of the time; shorter in a trial, which may cost no more than its budget
//!
//! Calls that come faster than they can be examined are left out, by whole chunks of a log: the examined ones represent them.
//! ```
//!
//! Several ranks poll together, on the way out of an MPI call that none of them leaves before all have come
//! (`meeting`); their pauses determine which call. They exchange their records like the ranks of `run --adapt`
//! (`adaptation/exchange`), make the same decision, and swap before that call returns.

mod meeting;
mod places;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cca_ports::PortError;
use mastermind_composition::adapt::{
    Act, AdaptSettings, Adapter, Batch, CallKind, Decision, Report,
};
use mastermind_composition::{Alternatives, Assembly};
use mastermind_models::ModelSet;
use mastermind_records::RunFollower;
use mastermind_records::own_thread::run_apart;
use rustix::fs::{FlockOperation, flock};

use self::meeting::{Alone, Asking};
use self::places::LogPaths;
use super::{LibraryAdaptConfig, WrapConfig, WrapError, Wrapped};
use crate::adaptation::delays::RunDelay;
use crate::adaptation::exchange::{Agreement, Line, Ranks, Told, exchange};
use crate::adaptation::gathering::Gathering;
use crate::adaptation::no_record;
use crate::adaptation::pace::{Spent, process_s, timed};
use crate::adaptation::stored::predicted;
use crate::decisions_file;
use crate::mastermind::locked;

/// Number of records read at once.
const AT_ONCE: u64 = 4096;

/// Part of the program's time (the smaller of wall and processor time) that polls may take: usually, and while a
/// library is being explored or is suspected to have changed.
const SHARE: (f64, f64) = (0.005, 0.01);

/// Seconds that polls may take in any case.
const LEAST_S: f64 = 0.002;

/// Shortest and longest pause between two polls.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(250));

/// Approximate number of bytes of each log that a poll reads: half a millisecond's work. A trial, which lasts a few
/// calls, reads all.
const MOST_BYTES: u64 = 256 << 10;

/// Relative increase of the pause after a poll without calls.
const LONGER: f64 = 1.0;

/// Chooses between the libraries of a wrapped program.
pub struct LibraryAdaptation {
    config: WrapConfig,
    rank: u32,
    is_alone: bool,
    /// Checksum of the alternatives, the models and all lines of the log so far.
    digest: crc32fast::Hasher,
    agreement: Agreement,
    asking: Asking,
    looked: Instant,
    follower: RunFollower,
    /// Call paths of each log.
    logs: Vec<LogPaths>,
    gathering: Gathering,
    run_delay: RunDelay,
    adapter: Adapter,
    process: u32,
    /// The log of decisions, open from the first decision on; with one rank, in the polling thread, which has a file
    /// table of its own.
    decisions: Option<File>,
    path: PathBuf,
    began: Instant,
    /// Processor seconds of the process at that time.
    began_s: f64,
    looks: u64,
    /// The first poll that found calls; these touched memory and code for the first time and do not count.
    warm_at: Option<u64>,
    /// Processor seconds of all polls so far, and of one poll now; an exchange makes the rank wait, which takes
    /// processor time too.
    own_s: f64,
    a_look_s: f64,
    pause: Duration,
    /// Bytes of the logs that the last poll left unread.
    left_bytes: u64,
    /// Number of calls left out since the last report with calls.
    n_left_out: u64,
    is_stopped: bool,
}

impl LibraryAdaptation {
    /// Opens the libraries to which calls may be sent.
    ///
    /// # Arguments
    /// * `wrapped` - the newly started recording
    /// * `is_alone` - whether the program has one rank
    ///
    /// # Errors
    /// [`WrapError`]: no such library or proxy; no other library to choose; unreadable models; several ranks that
    /// cannot lock the files that show that they take part.
    pub fn start(
        wrapped: &mut Wrapped,
        config: &WrapConfig,
        adapt: &LibraryAdaptConfig,
        is_alone: bool,
    ) -> Result<Self, WrapError> {
        let not_adaptable = |why: String| WrapError::NotAdaptable {
            program: config.program.clone(),
            why,
        };
        let mut digest = crc32fast::Hasher::new();
        let models = match &adapt.models {
            Some(path) => read_models(path, &mut digest)
                .map_err(|why| not_adaptable(format!("models \"{}\": {why}", path.display())))?,
            None => ModelSet::default(),
        };
        let mut alternatives = Alternatives::new();
        for other in &adapt.alternatives {
            let class = wrapped
                .libraries
                .prepare(&other.interface, &other.library)?;
            let classes = alternatives.entry(other.interface.clone()).or_default();
            classes.push(class);
        }
        let classes = wrapped.libraries.classes();
        let assembly: Assembly = classes
            .map(|(interface, class)| (interface.to_owned(), class.to_owned()))
            .collect();
        let settings = AdaptSettings {
            // The adapter assumes that a run of unknown length is half over; this one may be over at any time.
            explore: adapt.explore / 2.0,
            ..AdaptSettings::default()
        };
        digest.update(format!("{assembly:?} {alternatives:?} {settings:?}").as_bytes());
        let adapter = Adapter::new(&assembly, &alternatives, &[], settings, predicted(&models));
        if adapter.classes().next().is_none() {
            let why = "the libraries of --use are the program's own, expected another one";
            return Err(not_adaptable(why.into()));
        }
        let path = decisions_file(&config.directory, wrapped.rank);
        let cannot_open =
            |error| not_adaptable(format!("decisions \"{}\": {error}", path.display()));
        let decisions = if is_alone {
            let path = path.clone();
            let opened = run_apart(move || open_decisions(&path).map(drop));
            opened.flatten().map_err(cannot_open)?;
            None
        } else {
            let file = open_decisions(&path).map_err(cannot_open)?;
            // The lock lasts as long as this process and shows the other ranks that this one takes part.
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                let path = path.display();
                return Err(not_adaptable(format!(
                    "decisions \"{path}\": they cannot be locked, expected no other program that writes there, and a file system with locks"
                )));
            }
            Some(file)
        };
        if !is_alone {
            // A note of an earlier program.
            let _ = fs::remove_file(config.note_file(wrapped.rank));
        }
        Ok(LibraryAdaptation {
            config: config.clone(),
            rank: wrapped.rank,
            is_alone,
            digest,
            agreement: Agreement::default(),
            asking: Asking::new(),
            looked: Instant::now(),
            follower: RunFollower::new(&config.directory, Some(wrapped.rank)),
            logs: Vec::new(),
            gathering: Gathering::default(),
            // Several ranks meet in a thread of the program, whose file table must not get our files.
            run_delay: match is_alone {
                true => RunDelay::of_main_thread(),
                false => RunDelay::unknown(),
            },
            adapter,
            process: wrapped.process,
            decisions,
            path,
            began: Instant::now(),
            began_s: process_s(),
            looks: 0,
            warm_at: None,
            own_s: 0.0,
            a_look_s: 0.0,
            pause: PAUSE.0,
            left_bytes: 0,
            n_left_out: 0,
            is_stopped: false,
        })
    }

    /// Time to wait until the next poll.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// The log of decisions.
    pub fn log(&self) -> &Path {
        &self.path
    }

    /// Examines the new records, and sends calls elsewhere if that is worth it.
    ///
    /// # Arguments
    /// * `running` - the recording; `None` once it has ended
    ///
    /// # Returns
    /// Whether polling should go on.
    pub fn look(&mut self, running: &Mutex<Option<Wrapped>>) -> bool {
        // A program that waited for the processor has run for less than the pause.
        let is_due = self.adapter.is_trying() || self.due_s() <= 0.0;
        if !is_due {
            self.pause = self.next_pause(true);
            return locked(running).is_some();
        }
        self.look_with(running, &Alone).unwrap_or(false)
    }

    /// # Returns
    /// Whether polling should go on.
    fn look_with(
        &mut self,
        running: &Mutex<Option<Wrapped>>,
        ranks: &impl Ranks,
    ) -> Result<bool, PortError> {
        let before_s = self.own_s;
        self.looks += 1;
        if !self.is_alone {
            self.own_s += self.asking.exchange_s();
        }
        let n_seen = self.decide(running, ranks)?;
        let look_s = self.own_s - before_s;
        self.a_look_s = if self.looks == 1 {
            look_s
        } else {
            self.a_look_s + 0.25 * (look_s - self.a_look_s)
        };
        self.pause = self.next_pause(n_seen.unwrap_or(0) > 0);
        self.looked = Instant::now();
        Ok(n_seen.is_some() && !self.is_stopped)
    }

    /// # Returns
    /// Number of calls of all ranks since the last poll; `None` once the recording has ended.
    fn decide(
        &mut self,
        running: &Mutex<Option<Wrapped>>,
        ranks: &impl Ranks,
    ) -> Result<Option<u64>, PortError> {
        // No panic may reach the program, and if one rank cannot go on, the others must not wait for it.
        let tell = AssertUnwindSafe(|| self.timed(|this| this.tell(running)));
        let told = catch_unwind(tell).unwrap_or(None);
        if told.is_none() && self.is_alone {
            return Ok(None);
        }
        let told = told.unwrap_or_else(|| {
            let why = format!("the recording of rank {} has ended", self.rank);
            self.told(Some(why), Vec::new(), Vec::new(), 0)
        });
        let agreed = exchange(told, &mut self.agreement, ranks, &mut self.own_s)?;
        if let Err(why) = agreed.step {
            self.stop(why);
            return Ok(Some(0));
        }
        let n_ranks = ranks.size()?;
        let (decided, n_seen) = self.timed(|this| {
            for kind in &agreed.new_kinds {
                this.adapter.add_kind(kind);
            }
            let batches = this.batches(&agreed.lines);
            let report = Report {
                step: this.looks,
                fraction: 0.0,
                elapsed_s: agreed.elapsed_s * f64::from(n_ranks),
                ranks: n_ranks,
                told: agreed.told,
                batches: &batches,
                deciding_s: 0.0,
                may_try: false,
                stride: 1.0,
                was_stopped: false,
            };
            let n_seen = batches.iter().map(|batch| batch.calls + batch.failed).sum();
            let decided = match &agreed.unrecorded {
                Some(why) => this.adapter.abandon(why, &report),
                None => this.adapter.decide(&report),
            };
            (decided, n_seen)
        });
        for decision in &decided {
            self.carry_out(decision, running, ranks)?;
        }
        if let Some(why) = agreed.unrecorded {
            self.stop(why);
        }
        Ok(Some(n_seen))
    }

    /// This rank's new records; `None` once its recording has ended.
    fn tell(&mut self, running: &Mutex<Option<Wrapped>>) -> Option<Told> {
        let (now, is_led_by_hand) = {
            let running = locked(running);
            let wrapped = running.as_ref()?;
            wrapped.recorder.write_out();
            // Otherwise the next poll would have to read these records as well as later ones.
            if self.left_bytes > 0 && !self.adapter.is_trying() {
                self.n_left_out += self.follower.skip(wrapped.recorder.running_sums());
            }
            (wrapped.recorder.now(), wrapped.is_led_by_hand)
        };
        let rank = self.rank;
        let by_hand = || format!("mastermind redirect has sent calls of rank {rank} elsewhere");
        let unrecorded = self.follow().err();
        let unrecorded = is_led_by_hand.then(by_hand).or(unrecorded);
        let delay_s = self.run_delay.new_s();
        if delay_s > 0.0 {
            self.gathering.waited(delay_s);
        }
        let adapter = &mut self.adapter;
        let expected = |kind: &CallKind| adapter.expected(kind);
        let (new_kinds, lines) = self.gathering.tell(self.looks, expected);
        self.gathering.step_ended(now);
        let left_out = match lines.iter().any(|line| line.calls > 0) {
            true => std::mem::take(&mut self.n_left_out),
            false => 0,
        };
        Some(self.told(unrecorded, new_kinds, lines, left_out))
    }

    fn told(
        &self,
        unrecorded: Option<String>,
        new_kinds: Vec<CallKind>,
        lines: Vec<Line>,
        left_out: u64,
    ) -> Told {
        Told {
            step: self.looks,
            has_ended: false,
            unrecorded,
            digest: self.digest.clone().finalize(),
            spent: Spent::default(),
            elapsed_s: self.began.elapsed().as_secs_f64() - self.run_delay.total_s(),
            new_kinds,
            left_out,
            lines,
        }
    }

    /// The calls since the last poll that represent later ones.
    fn batches(&mut self, lines: &[Line]) -> Vec<Batch> {
        let first = lines.first().map(|_| self.looks);
        self.warm_at = self.warm_at.or(first);
        let is_warm = |step: u64| self.warm_at.is_some_and(|at| step > at);
        let warm = lines.iter().filter(|line| is_warm(line.step));
        warm.copied().map(Batch::from).collect()
    }

    /// Does some work and adds its time to the cost of polling.
    fn timed<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let mut own_s = 0.0;
        let done = timed(&mut own_s, || work(self));
        self.own_s += own_s;
        done
    }

    /// Reads the records since the last poll.
    fn follow(&mut self) -> Result<(), String> {
        let most_bytes = match self.adapter.is_trying() {
            true => u64::MAX,
            false => MOST_BYTES,
        };
        let left = self.follower.refresh_within(most_bytes);
        self.left_bytes = left.map_err(|error| {
            format!(
                "the records of rank {} cannot be followed: {error}",
                self.rank
            )
        })?;
        for (at, log) in self.follower.logs().enumerate() {
            if self.logs.len() <= at {
                self.logs.push(LogPaths::default());
            }
            self.logs[at].learn(log, self.process);
        }
        let stopped = {
            let own = self.follower.logs().zip(&self.logs);
            let mut own = own.filter(|(_, paths)| paths.is_own == Some(true));
            own.find_map(|(log, _)| log.stop_reason())
        };
        while let Some(at) = self.follower.next_log() {
            let (gathering, paths) = (&mut self.gathering, &mut self.logs[at]);
            let read = self.follower.read_on(AT_ONCE, |record, own| {
                if paths.is_own != Some(true) {
                    return;
                }
                if let Some(time_ns) = paths.time_ns(record.call_path, own.wall_ns) {
                    gathering.add(at, record, time_ns);
                }
            });
            if read.is_none() {
                break;
            }
        }
        stopped.map_or(Ok(()), |why| Err(no_record(self.rank, &why)))
    }

    /// Carries out a decision on all ranks or on none, and writes it to the log.
    fn carry_out(
        &mut self,
        decision: &Decision,
        running: &Mutex<Option<Wrapped>>,
        ranks: &impl Ranks,
    ) -> Result<(), PortError> {
        if !decision.is_swap() {
            self.note(decision);
            return Ok(());
        }
        // The user may have redirected calls since this poll began; the next poll reports that.
        let is_ours = |wrapped: &Wrapped| !wrapped.is_led_by_hand;
        if self.is_alone && !locked(running).as_ref().is_some_and(is_ours) {
            return Ok(());
        }
        self.note(decision);
        let mut made = self.timed(|_| send(running, &decision.site, &decision.to));
        if !self.is_alone {
            let agreed = ranks.agree_on(made.is_ok())?;
            match (&agreed, made) {
                (Ok(()), _) => {}
                (Err(_), Ok(())) => drop(send(running, &decision.site, &decision.from)),
                (Err(_), Err(error)) => self.leave_note(&error),
            }
            made = agreed;
        }
        if let Some(follows) = self.adapter.done(decision, made) {
            self.note(&follows);
        }
        Ok(())
    }

    fn stop(&mut self, reason: String) {
        self.is_stopped = true;
        self.note(&Decision {
            step: self.looks,
            fraction: 0.0,
            site: String::new(),
            calls: None,
            act: Act::Stop,
            from: String::new(),
            to: String::new(),
            reason,
            spent_s: 0.0,
            budget_s: 0.0,
        });
    }

    /// Writes a decision to the log; the decision stands even if that fails.
    fn note(&mut self, decision: &Decision) {
        let mut line = serde_json::to_vec(decision).unwrap_or_default();
        line.push(b'\n');
        self.digest.update(&line);
        if self.decisions.is_none() {
            self.decisions = open_decisions(&self.path).ok();
        }
        let _ = self.decisions.as_mut().map(|file| file.write_all(&line));
    }

    /// Seconds that the program must run before the next poll is within its share.
    fn due_s(&self) -> f64 {
        let share = match self.adapter.is_in_doubt() {
            true => SHARE.1,
            false => SHARE.0,
        };
        let run_s = process_s() - self.began_s;
        let run_s = run_s.min(self.began.elapsed().as_secs_f64());
        (self.own_s + self.a_look_s - LEAST_S) / share - run_s
    }

    fn next_pause(&self, was_called: bool) -> Duration {
        let (shortest, longest) = (PAUSE.0.as_secs_f64(), PAUSE.1.as_secs_f64());
        // However long that is: calls meanwhile are left out.
        let mut pause_s = self.due_s();
        if !was_called {
            let longer_s = (1.0 + LONGER) * self.pause.as_secs_f64();
            pause_s = pause_s.max(longer_s.min(longest));
        }
        if self.adapter.is_trying() {
            pause_s = pause_s.min(self.adapter.left_s()).min(longest);
        }
        Duration::from_secs_f64(pause_s.max(shortest))
    }
}

fn open_decisions(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
}

/// Sends the calls of an interface to a library, unless the user has redirected them.
fn send(running: &Mutex<Option<Wrapped>>, interface: &str, class: &str) -> Result<(), String> {
    let mut running = locked(running);
    let Some(wrapped) = running.as_mut() else {
        return Err("the recording has ended".into());
    };
    if wrapped.is_led_by_hand {
        return Ok(());
    }
    let sent = wrapped
        .libraries
        .use_class(&wrapped.recorder, interface, class);
    sent.map_err(|error| error.to_string())
}
/// # Arguments
/// * `digest` - checksum to which the text is added
fn read_models(path: &Path, digest: &mut crc32fast::Hasher) -> Result<ModelSet, String> {
    let path = path.to_path_buf();
    let text = run_apart(move || fs::read_to_string(path)).flatten();
    let text = text.map_err(|error| error.to_string())?;
    digest.update(text.as_bytes());
    ModelSet::from_json(&text).map_err(|error| error.to_string())
}
