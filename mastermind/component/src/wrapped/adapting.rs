//! The chooser in a wrapped program: the calls of a proxied library are watched, and sent to whichever library of several is
//! faster for them.
//!
//! The program was never written for it, so nobody tells where its steps end. A thread looks at the records from time to time;
//! what was recorded since the last look is what a step is to `run --adapt`, and the policy is the same (`composition/adapt`).
//! A swap is one pointer, so it needs no moment of its own: a call is answered by one library whole.
//!
//! ```text
//! look     the records since the last one, by kind of call: outermost calls of an interface, each with what the library
//!          spends in its own functions, whoever of them calls whom
//! decide   try another library, keep it, go back
//! pause    as long as all looks take their share of the time; shorter in a trial, which may cost no more than its budget
//!
//! Calls that come faster than they may be looked at are left out, chunks of a log at once: those that are looked at stand for them.
//! ```

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mastermind_composition::adapt::{
    Act, AdaptSettings, Adapter, Batch, CallKind, Decision, Predict, Report,
};
use mastermind_composition::{Alternatives, Assembly, model_name};
use mastermind_models::{Coordinate, Metric, ModelSet, predict};
use mastermind_records::definition::PROGRAM_CLASS;
use mastermind_records::{Log, RunFollower};
use rustc_hash::FxHashMap;
use rustix::time::{ClockId, clock_gettime};

use super::libraries::OTHER;
use super::{LibraryAdaptConfig, WrapConfig, WrapError, Wrapped};
use crate::adaptation::gathering::Gathering;
use crate::decisions_file;

/// Records read at once.
const AT_ONCE: u64 = 4096;

/// Part of the program's time, that of the processor where it is less, that looks may take, and while a library is on trial or suspected to have changed.
const SHARE: (f64, f64) = (0.005, 0.01);

/// Seconds that looks may take in any case.
const LEAST_S: f64 = 0.002;

/// Shortest and longest pause between two looks.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(250));

/// Bytes of each log that a look reads, about: half a millisecond's work. In a trial all are read, which lasts a few calls.
const MOST_BYTES: u64 = 256 << 10;

/// Part of the pause by which the next one is longer where nothing was called meanwhile.
const LONGER: f64 = 1.0;

/// Chooses between the libraries of a wrapped program.
pub struct LibraryAdaptation {
    follower: RunFollower,
    /// By log.
    logs: Vec<LogPaths>,
    gathering: Gathering,
    adapter: Adapter,
    process: u32,
    decisions: File,
    path: PathBuf,
    began: Instant,
    /// Processor seconds of the process at that time.
    began_s: f64,
    looks: u64,
    /// The first look that found calls; what it found was read and touched for the first time, and says nothing.
    warm_at: Option<u64>,
    /// Processor seconds of all looks, and of one now.
    own_s: f64,
    a_look_s: f64,
    pause: Duration,
    /// Bytes of the logs that the last look has left.
    left_bytes: u64,
    /// Calls that were left out since some were told.
    n_left_out: u64,
    is_stopped: bool,
}

/// Call paths of a log.
#[derive(Default)]
struct LogPaths {
    /// Whether it is a log of this process.
    is_own: Option<bool>,
    n_known: usize,
    /// By path.
    places: FxHashMap<u32, Place>,
    /// Nanoseconds of calls within an open one of the same interface, by the path of the latter.
    within_ns: FxHashMap<u32, u64>,
}

/// Where a call is among those of its interface.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// The program calls.
    Outermost,
    /// The library calls itself; the path of the program's call.
    Within(u32),
    /// Not of an interface.
    Other,
}

impl LogPaths {
    /// Takes in the paths that came.
    fn learn(&mut self, log: &Log, process: u32) {
        let definitions = log.definitions();
        if self.is_own.is_none() {
            // 0 where the definition has not come yet.
            let of_log = definitions.run.process;
            self.is_own = (of_log != 0).then_some(of_log == process);
        }
        if definitions.call_paths().count() == self.n_known {
            return;
        }
        self.n_known = 0;
        for path in definitions.call_paths() {
            self.n_known += 1;
            self.places
                .entry(path.id)
                .or_insert_with(|| place_of(log, path.id));
        }
    }

    /// The time of a call as its library is to be judged by; `None` where it is a part of another's.
    fn time_ns(&mut self, path: u32, own_ns: u64) -> Option<u64> {
        match self.places.get(&path)? {
            Place::Outermost => Some(own_ns + self.within_ns.remove(&path).unwrap_or(0)),
            Place::Within(outer) => {
                *self.within_ns.entry(*outer).or_default() += own_ns;
                None
            }
            Place::Other => None,
        }
    }
}

fn place_of(log: &Log, path: u32) -> Place {
    let definitions = log.definitions();
    let Some(method) = definitions.method_of(path) else {
        return Place::Other;
    };
    // Calls of another definition go where they went, whatever is chosen.
    if [PROGRAM_CLASS, OTHER].contains(&&*method.class) || method.is_mpi() {
        return Place::Other;
    }
    let parent = |path: u32| definitions.call_path(path).map_or(0, |known| known.parent);
    let mut outer = None;
    let (mut at, mut above) = (path, parent(path));
    // Parents have lower numbers; damage makes no cycle.
    while above != 0 && above < at {
        let is_same = definitions
            .method_of(above)
            .is_some_and(|caller| caller.instance == method.instance);
        outer = if is_same { Some(above) } else { outer };
        (at, above) = (above, parent(above));
    }
    outer.map_or(Place::Outermost, Place::Within)
}

impl LibraryAdaptation {
    /// Opens the libraries that calls may be sent to.
    ///
    /// # Arguments
    /// * `wrapped` - the recording that has just begun
    /// * `ranks` - of the program
    ///
    /// # Errors
    /// [`WrapError`]: no such library or proxy; there is nothing to choose from; several ranks; models that cannot be read.
    pub fn start(
        wrapped: &mut Wrapped,
        config: &WrapConfig,
        adapt: &LibraryAdaptConfig,
        ranks: u32,
    ) -> Result<Self, WrapError> {
        let not_adaptable = |why: String| WrapError::NotAdaptable {
            program: config.program.clone(),
            why,
        };
        if ranks > 1 {
            return Err(not_adaptable(several_ranks(ranks)));
        }
        let text = std::fs::read_to_string(&adapt.models);
        let models = text
            .map_err(|error| error.to_string())
            .and_then(|text| ModelSet::from_json(&text).map_err(|error| error.to_string()));
        let models = models.map_err(|error| {
            not_adaptable(format!("models \"{}\": {error}", adapt.models.display()))
        })?;
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
            // The adapter takes a run whose end nobody tells for half over; this one may be over at any time.
            explore: adapt.explore / 2.0,
            ..AdaptSettings::default()
        };
        let adapter = Adapter::new(&assembly, &alternatives, settings, predicted(models));
        if adapter.classes().next().is_none() {
            let why = "the libraries of --use are the program's own, expected another one";
            return Err(not_adaptable(why.into()));
        }
        let path = decisions_file(&config.directory, wrapped.rank);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let decisions = file
            .map_err(|error| not_adaptable(format!("decisions \"{}\": {error}", path.display())))?;
        Ok(LibraryAdaptation {
            follower: RunFollower::new(&config.directory, Some(wrapped.rank)),
            logs: Vec::new(),
            gathering: Gathering::default(),
            adapter,
            process: wrapped.process,
            decisions,
            path,
            began: Instant::now(),
            began_s: clock_s(ClockId::ProcessCPUTime),
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

    /// How long to wait until the next look.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// The log of decisions.
    pub fn log(&self) -> &std::path::Path {
        &self.path
    }

    /// Looks at what was recorded since the last time, and sends calls elsewhere if that is worth it.
    ///
    /// # Arguments
    /// * `running` - the recording; none once it has ended
    ///
    /// # Returns
    /// Whether there is more to look for.
    pub fn look(&mut self, running: &Mutex<Option<Wrapped>>) -> bool {
        // A program that waits for the processor has not run for as long as the pause was.
        let is_due = self.adapter.is_trying() || self.due_s() <= 0.0;
        if !is_due {
            self.pause = self.next_pause(true);
            return locked(running).is_some();
        }
        let begin_s = processor_s();
        self.looks += 1;
        let n_seen = self.decide(running);
        let look_s = processor_s() - begin_s;
        self.own_s += look_s;
        self.a_look_s = if self.looks == 1 {
            look_s
        } else {
            self.a_look_s + 0.25 * (look_s - self.a_look_s)
        };
        self.pause = self.next_pause(n_seen.unwrap_or(0) > 0);
        n_seen.is_some() && !self.is_stopped
    }

    /// # Returns
    /// Number of calls since the last look; `None` once the recording has ended.
    fn decide(&mut self, running: &Mutex<Option<Wrapped>>) -> Option<u64> {
        let (now, is_led_by_hand) = {
            let running = locked(running);
            let wrapped = running.as_ref()?;
            // The next look would have to read what comes until then as well.
            if self.left_bytes > 0 && !self.adapter.is_trying() {
                self.n_left_out += self.follower.skip(wrapped.recorder.running_sums());
            }
            (wrapped.recorder.now(), wrapped.is_led_by_hand)
        };
        if is_led_by_hand {
            self.stop("mastermind use has sent calls elsewhere".into());
            return Some(0);
        }
        let followed = self.follow();
        let (kinds, batches) = self.told();
        self.gathering.step_ended(now);
        for kind in &kinds {
            self.adapter.add_kind(kind);
        }
        let report = Report {
            step: self.looks,
            fraction: 0.0,
            elapsed_s: self.began.elapsed().as_secs_f64(),
            ranks: 1,
            told: self.told_share(&batches),
            batches: &batches,
        };
        if let Err(why) = followed {
            for decision in self.adapter.abandon(&why, &report) {
                self.carry_out(&decision, running)?;
            }
            self.stop(why);
            return Some(0);
        }
        for decision in self.adapter.decide(&report) {
            self.carry_out(&decision, running)?;
        }
        Some(batches.iter().map(|batch| batch.calls + batch.failed).sum())
    }

    /// Part of the calls that is told, of those since some were told before.
    fn told_share(&mut self, batches: &[Batch]) -> f64 {
        let told: u64 = batches.iter().map(|batch| batch.calls).sum();
        if told == 0 {
            return 1.0;
        }
        let left_out = std::mem::take(&mut self.n_left_out);
        told as f64 / (told + left_out) as f64
    }

    /// The kinds of calls that are new, and the calls since the last look.
    fn told(&mut self) -> (Vec<CallKind>, Vec<Batch>) {
        let (kinds, lines) = self.gathering.tell(self.looks);
        let first = lines.first().map(|_| self.looks);
        self.warm_at = self.warm_at.or(first);
        let is_warm = |step: u64| self.warm_at.is_some_and(|at| step > at);
        let warm = lines.iter().filter(|line| is_warm(line.step));
        let batches = warm.copied().map(Batch::from).collect();
        (kinds, batches)
    }

    /// Reads what was recorded since the last look.
    fn follow(&mut self) -> Result<(), String> {
        let most_bytes = match self.adapter.is_trying() {
            true => u64::MAX,
            false => MOST_BYTES,
        };
        let left = self.follower.refresh_within(most_bytes);
        self.left_bytes =
            left.map_err(|error| format!("the records cannot be followed: {error}"))?;
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
        stopped.map_or(Ok(()), |why| {
            Err(format!("calls have no record from here on: {why}"))
        })
    }

    /// Sends calls elsewhere, where that was decided, and takes the decision down.
    fn carry_out(&mut self, decision: &Decision, running: &Mutex<Option<Wrapped>>) -> Option<()> {
        if !decision.is_swap() {
            self.note(decision);
            return Some(());
        }
        let (site, to) = (decision.site.as_str(), decision.to.as_str());
        let made = {
            let mut running = locked(running);
            let Wrapped {
                libraries,
                recorder,
                is_led_by_hand,
                ..
            } = running.as_mut()?;
            // Since this look began: who sends calls by hand has them, which the next look says.
            if *is_led_by_hand {
                return Some(());
            }
            self.note(decision);
            libraries.use_class(recorder, site, to)
        };
        let made = made.map_err(|error| error.to_string());
        if let Some(follows) = self.adapter.done(decision, made) {
            self.note(&follows);
        }
        Some(())
    }

    fn stop(&mut self, reason: String) {
        self.is_stopped = true;
        self.note(&Decision {
            step: self.looks,
            fraction: 0.0,
            site: String::new(),
            act: Act::Stop,
            from: String::new(),
            to: String::new(),
            reason,
            spent_s: 0.0,
            budget_s: 0.0,
        });
    }

    /// Takes a decision down; it stands where that cannot be written.
    fn note(&mut self, decision: &Decision) {
        let mut line = serde_json::to_vec(decision).unwrap_or_default();
        line.push(b'\n');
        let _ = self.decisions.write_all(&line);
    }

    /// Seconds that the program has to run before the next look is within its share.
    fn due_s(&self) -> f64 {
        let share = match self.adapter.is_in_doubt() {
            true => SHARE.1,
            false => SHARE.0,
        };
        let run_s = clock_s(ClockId::ProcessCPUTime) - self.began_s;
        let run_s = run_s.min(self.began.elapsed().as_secs_f64());
        (self.own_s + self.a_look_s - LEAST_S) / share - run_s
    }

    fn next_pause(&self, was_called: bool) -> Duration {
        let (shortest, longest) = (PAUSE.0.as_secs_f64(), PAUSE.1.as_secs_f64());
        // However long that is: what comes meanwhile is left out.
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

/// Why a program of several ranks is not adapted.
pub fn several_ranks(ranks: u32) -> String {
    format!(
        "{ranks} ranks, expected 1: nobody tells the ranks of a wrapped program where all of them could change at the same call, \
         and ranks that compute the same by other libraries may no longer agree; use run --adapt, or --use on all ranks"
    )
}

fn predicted(models: ModelSet) -> Box<Predict<'static>> {
    Box::new(move |class: &str, method: &str, at: &Coordinate| {
        let model = models.find(&model_name(class, method), Metric::Wall, at);
        let prediction = predict(model.ok()?, at).ok()?;
        (prediction.value_s > 0.0).then_some(prediction.value_s)
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processor time of this thread, seconds.
fn processor_s() -> f64 {
    clock_s(ClockId::ThreadCPUTime)
}

fn clock_s(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
