//! The Mastermind that acts: it follows the records of a run while they are written, decides after each step of the
//! application which class works at each site, and has it swapped.
//!
//! The application says when a step has ended, on every rank, by `cca.Progress`. There the ranks exchange what they have
//! recorded since the last time; every rank decides by itself from the same numbers, so that all swap at the same call, and
//! what they have decided so far is compared each time. Each decision is a line of JSON in a file beside the logs.

mod pace;
mod patience;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cca_core::{Framework, KeptWays};
use cca_ports::{
    CommPort, PortError, RSlice, RSliceMut, Reduction, ReplacementServicePort, Services, UsesPort,
};
use mastermind_composition::adapt::{
    Act, AdaptSettings, Adapter, Batch, Decision, Report, weighted_median,
};
use mastermind_composition::{Alternatives, Assembly, model_name};
use mastermind_models::{Coordinate, Metric, ModelSet, predict};
use mastermind_records::definition::TIMER_CLASS;
use mastermind_records::{Record, RunFollower};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use self::pace::{Meetings, Pace, Spent};
pub use self::patience::AtDeadlock;
use self::patience::Patience;
use crate::mastermind::{Mastermind, locked};
use crate::samples::port_method;
use crate::summary::{packed, unpacked};
use crate::workload::coordinate;

/// Records read at once.
const AT_ONCE: u64 = 4096;

/// What is adapted, and where it is told.
#[derive(Debug, Clone)]
pub struct AdaptConfig {
    /// Where the rank's logs are while they are written, and its decisions.
    pub directory: PathBuf,
    /// This rank.
    pub rank: u32,
    /// Class of each instance as the run begins.
    pub assembly: Assembly,
    /// Classes that may take their places.
    pub alternatives: Alternatives,
    /// How careful it is.
    pub settings: AdaptSettings,
    /// Longest time that one step of the application may keep other ranks waiting.
    pub patience: Duration,
}

/// Adapts a run.
pub struct Adaptation {
    framework: Framework,
    mastermind: Arc<Mastermind>,
    comm: UsesPort<dyn CommPort>,
    replacement: UsesPort<dyn ReplacementServicePort>,
    state: Mutex<State>,
    /// Where there are other ranks to wait for.
    patience: Option<Patience>,
    /// What was replaced: calls that fail in what was put in are answered by it, and one may be under way until the end.
    kept: Mutex<Vec<KeptWays>>,
}

struct State {
    rank: u32,
    follower: RunFollower,
    adapter: Adapter,
    log: File,
    path: PathBuf,
    /// Of all lines of the log so far.
    digest: crc32fast::Hasher,
    started: Instant,
    /// Processor seconds of this rank at that time.
    began_s: f64,
    /// Steps of the application so far, and at the last decision.
    step: u64,
    decided_at: u64,
    /// When the ranks meet until then.
    meetings: Meetings,
    pace: Pace,
    /// A trial or a suspicion is not to wait.
    is_urgent: bool,
    /// Processor seconds that following and deciding have taken.
    own_s: f64,
    /// How often that was done.
    n_decided: u64,
    /// Why nothing is decided any more.
    stopped: Option<String>,
    outcome: AdaptOutcome,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct AdaptOutcome {
    /// Steps that the application has reported.
    pub steps: u64,
    /// All decisions, in order.
    pub decisions: Vec<Decision>,
    /// Classes that could not be put in on this rank, with the reasons, and whatever else went wrong.
    pub warnings: Vec<String>,
    /// Processor seconds that following and deciding took on this rank.
    pub own_s: f64,
    /// The log of the decisions.
    pub log: PathBuf,
}

/// What a rank tells the others.
#[derive(Serialize, Deserialize)]
struct Told {
    step: u64,
    /// The application has ended here, and reports no more steps.
    has_ended: bool,
    digest: u32,
    /// Processor seconds of all decisions so far, and how many they were.
    own_s: f64,
    n_decided: u64,
    /// Processor seconds of the run.
    run_s: f64,
    elapsed_s: f64,
    fraction: f64,
    batches: Vec<Line>,
}

/// A [`Batch`] on its way.
#[derive(Clone, Serialize, Deserialize)]
struct Line {
    instance: String,
    class: String,
    port_method: String,
    coordinate: Coordinate,
    calls: u64,
    failed: u64,
    ln_mean: f64,
}

/// What all ranks go on with.
#[derive(Serialize, Deserialize)]
struct Agreed {
    /// Steps of the application; `None` where a rank disagrees.
    step: Result<u64, String>,
    fraction: f64,
    elapsed_s: f64,
    stride: u64,
    asked_every: u64,
    batches: Vec<Line>,
}

impl Drop for Adaptation {
    fn drop(&mut self) {
        let state = locked(&self.state);
        for (site, class) in state.adapter.classes() {
            self.guard(site, class, None);
        }
    }
}

impl Adaptation {
    /// Takes part in a framework by the services of an instance of its own.
    ///
    /// # Arguments
    /// * `models` - of the classes, as `fit` makes them
    /// * `at_deadlock` - called where ranks wait for one another and none goes on; None with one rank
    ///
    /// # Errors
    /// The framework's; the log of decisions cannot be made.
    pub fn add(
        framework: &Framework,
        services: &Services,
        mastermind: &Arc<Mastermind>,
        config: &AdaptConfig,
        models: ModelSet,
        at_deadlock: Option<Box<AtDeadlock>>,
    ) -> Result<Self, PortError> {
        let patience = at_deadlock.map(|act| Patience::new(config.patience, act));
        let patience = patience.transpose().map_err(PortError::failed)?;
        let path = decisions_file(&config.directory, config.rank);
        let log = File::create(&path).map_err(|error| {
            PortError::failed(format_args!(
                "cannot write decisions \"{}\": {error}",
                path.display()
            ))
        })?;
        let stored = models.clone();
        let predicted = move |class: &str, method: &str, at: &Coordinate| {
            let model = stored
                .find(&model_name(class, method), Metric::Wall, at)
                .ok()?;
            let prediction = predict(model, at).ok()?;
            (prediction.value_s > 0.0).then_some(prediction.value_s)
        };
        // Ranks that may swap other things, or believe other models, disagree from the first.
        let mut digest = crc32fast::Hasher::new();
        digest.update(format!("{:?} {:?}", config.alternatives, config.settings).as_bytes());
        digest.update(models.to_json().map_err(PortError::failed)?.as_bytes());
        let adapter = Adapter::new(
            &config.assembly,
            &config.alternatives,
            config.settings,
            Box::new(predicted),
        );
        let state = State {
            rank: config.rank,
            follower: RunFollower::new(&config.directory, Some(config.rank)),
            adapter,
            log,
            path,
            digest,
            started: Instant::now(),
            began_s: clock_s(ClockId::ProcessCPUTime),
            step: 0,
            decided_at: 0,
            meetings: Meetings {
                stride: 1,
                asked_every: 1,
            },
            pace: Pace::new(),
            is_urgent: false,
            own_s: 0.0,
            n_decided: 0,
            stopped: None,
            outcome: AdaptOutcome::default(),
        };
        Ok(Adaptation {
            framework: framework.another_handle(),
            mastermind: Arc::clone(mastermind),
            kept: Mutex::default(),
            patience,
            comm: services.register_uses_port("comm")?,
            replacement: services.register_uses_port("replacement")?,
            state: Mutex::new(state),
        })
    }

    /// A step of the application has ended. Collective.
    ///
    /// # Arguments
    /// * `fraction` - of the run that is done
    ///
    /// # Errors
    /// The communicator's: the ranks cannot go on together.
    pub fn step(&self, fraction: f64) -> Result<(), PortError> {
        let mut state = locked(&self.state);
        state.step += 1;
        let is_long = state.pace.step_ended();
        let decided = match state.stopped {
            Some(_) => Ok(()),
            None => self.meet(&mut state, fraction, is_long),
        };
        state.pace.step_begins();
        decided
    }

    /// Decides where a decision is due, or any rank wants one brought forward.
    fn meet(&self, state: &mut State, fraction: f64, is_long: bool) -> Result<(), PortError> {
        // Who does not know reports anything.
        let fraction = if fraction.is_finite() { fraction } else { 0.0 };
        let steps = state.step - state.decided_at;
        let is_due = steps >= state.meetings.stride || state.is_urgent;
        let is_asked = is_due || steps.is_multiple_of(state.meetings.asked_every);
        if !is_asked {
            return Ok(());
        }
        let is_wanted = is_due || (is_long && state.spent(fraction).has_room());
        let comm = self.comm.get()?;
        let ranks = comm.size()?.max(1) as u32;
        if !self.is_wanted(state.step, is_wanted, &*comm)? {
            return Ok(());
        }
        let agreed = self.exchange(state, fraction, false, &*comm)?;
        let begin_s = processor_s();
        let decided = state.decide(agreed, ranks)?;
        state.own_s += processor_s() - begin_s;
        state.n_decided += 1;
        for decision in &decided {
            if decision.is_swap() {
                self.swap(state, decision, &*comm)?;
            } else if decision.act == Act::Keep {
                self.guard(&decision.site, &decision.to, None);
            }
        }
        Ok(())
    }

    /// Whether any rank wants to decide; collective.
    fn is_wanted(
        &self,
        step: u64,
        is_wanted: bool,
        comm: &impl CommPort,
    ) -> Result<bool, PortError> {
        let Some(patience) = &self.patience else {
            return Ok(is_wanted);
        };
        let mut wanted = [f64::from(u8::from(is_wanted))];
        let ask = || comm.all_reduce(Reduction::Max, RSliceMut::from_mut_slice(&mut wanted));
        patience.wait_for(step, ask)?;
        Ok(wanted[0] > 0.0)
    }

    /// The application has ended on this rank. Collective: a rank that still reports steps is told so, and all go on unadapted.
    ///
    /// # Errors
    /// The communicator's.
    pub fn end(&self) -> Result<(), PortError> {
        let mut state = locked(&self.state);
        if state.stopped.is_some() || self.patience.is_none() {
            return Ok(());
        }
        let comm = self.comm.get()?;
        self.is_wanted(state.step, true, &*comm)?;
        let agreed = self.exchange(&mut state, 1.0, true, &*comm)?;
        if let Err(why) = agreed.step {
            state.stop(why, agreed.fraction);
        }
        Ok(())
    }

    fn exchange(
        &self,
        state: &mut State,
        fraction: f64,
        has_ended: bool,
        comm: &impl CommPort,
    ) -> Result<Agreed, PortError> {
        let step = state.step;
        let mut exchange = || state.exchange(fraction, has_ended, comm);
        match &self.patience {
            Some(patience) => patience.wait_for(step, &mut exchange),
            None => exchange(),
        }
    }

    /// Carries a swap out. A class on trial is guarded by the one before it.
    fn swap(
        &self,
        state: &mut State,
        decision: &Decision,
        comm: &impl CommPort,
    ) -> Result<(), PortError> {
        let before = self.framework.keep_ways_to(&decision.site)?;
        let replacement = self.replacement.get()?;
        let made = state.swap(decision, comm, &*replacement)?;
        let is_guarded = made.is_ok() && decision.act == Act::Try;
        match is_guarded {
            true => self.guard(&decision.site, &decision.to, Some(before)),
            false => self.guard(&decision.site, &decision.from, None),
        }
        if let Some(follows) = state.adapter.done(decision, made) {
            state.note(follows);
        }
        Ok(())
    }

    fn guard(&self, site: &str, class: &str, before: Option<KeptWays>) {
        // SAFETY: it is kept until the adaptation is dropped, which is when the application has ended.
        unsafe { self.mastermind.guard(site, class, before.as_ref()) };
        locked(&self.kept).extend(before);
    }

    /// What has come of it so far.
    pub fn outcome(&self) -> AdaptOutcome {
        let state = locked(&self.state);
        AdaptOutcome {
            steps: state.step,
            own_s: state.own_s,
            log: state.path.clone(),
            ..state.outcome.clone()
        }
    }
}

/// The log of decisions of a rank.
pub fn decisions_file(directory: &Path, rank: u32) -> PathBuf {
    directory.join(format!("decisions.{rank}.jsonl"))
}

/// Whether a file has the name of a log of decisions.
pub fn is_decisions_file(name: &str) -> bool {
    let rank = name.strip_prefix("decisions.");
    let rank = rank.and_then(|rest| rest.strip_suffix(".jsonl"));
    rank.is_some_and(|rank| rank.parse::<u32>().is_ok())
}

impl State {
    /// What all ranks have recorded since the last time, the same on each.
    fn exchange(
        &mut self,
        fraction: f64,
        has_ended: bool,
        comm: &impl CommPort,
    ) -> Result<Agreed, PortError> {
        let begin_s = processor_s();
        let followed = self.follow();
        self.own_s += processor_s() - begin_s;
        let batches = match followed {
            Ok(batches) => batches,
            Err(error) => {
                self.outcome.warnings.push(error);
                Vec::new()
            }
        };
        let told = Told {
            step: self.step,
            has_ended,
            digest: self.digest.clone().finalize(),
            own_s: self.own_s,
            n_decided: self.n_decided,
            run_s: self.run_s(),
            elapsed_s: self.started.elapsed().as_secs_f64(),
            fraction,
            batches,
        };
        if comm.size()? <= 1 {
            return Ok(agree(vec![Ok(told)]));
        }
        let own = serde_json::to_vec(&told).map_err(PortError::failed)?;
        let all = comm.gather(0, RSlice::from_slice(&packed(&own)))?;
        let mut words = Vec::new();
        if !all.is_empty() {
            let told = all.iter().map(|words| {
                serde_json::from_slice(&unpacked(words)).map_err(|error| error.to_string())
            });
            let agreed = agree(told.collect());
            words = packed(&serde_json::to_vec(&agreed).map_err(PortError::failed)?);
        }
        let mut length = [words.len() as f64];
        comm.broadcast(0, RSliceMut::from_mut_slice(&mut length))?;
        words.resize(length[0] as usize, 0.0);
        comm.broadcast(0, RSliceMut::from_mut_slice(&mut words))?;
        serde_json::from_slice(&unpacked(&words)).map_err(PortError::failed)
    }

    /// What this rank has recorded since the last time.
    fn follow(&mut self) -> Result<Vec<Line>, String> {
        let refreshed = self.follower.refresh();
        refreshed.map_err(|error| format!("cannot follow the records: {error}"))?;
        let mut gathered = Gathered::default();
        while let Some(log) = self.follower.next_log() {
            let read = self.follower.read_on(AT_ONCE, |record, own| {
                if record.method.class != TIMER_CLASS && !record.method.is_mpi() {
                    gathered.add(log, record, own.wall_ns);
                }
            });
            if read.is_none() {
                break;
            }
        }
        Ok(gathered.lines())
    }

    /// Processor seconds of this rank since it is adapted, of all its threads.
    fn run_s(&self) -> f64 {
        clock_s(ClockId::ProcessCPUTime) - self.began_s
    }

    fn spent(&self, fraction: f64) -> Spent {
        Spent {
            own_s: self.own_s,
            n_decided: self.n_decided,
            run_s: self.run_s(),
            step: self.step,
            fraction,
        }
    }

    fn decide(&mut self, agreed: Agreed, ranks: u32) -> Result<Vec<Decision>, PortError> {
        self.decided_at = self.step;
        self.meetings = Meetings {
            stride: agreed.stride,
            asked_every: agreed.asked_every,
        };
        let step = match agreed.step {
            Ok(step) => step,
            Err(why) => {
                self.stop(why, agreed.fraction);
                return Ok(Vec::new());
            }
        };
        let batches: Vec<Batch> = agreed.batches.into_iter().map(Batch::from).collect();
        let decided = self.adapter.decide(&Report {
            step,
            fraction: agreed.fraction,
            elapsed_s: agreed.elapsed_s * f64::from(ranks),
            ranks,
            batches: &batches,
        });
        self.is_urgent = self.adapter.is_in_doubt();
        for decision in &decided {
            self.note(decision.clone());
        }
        Ok(decided)
    }

    /// Has another class put in, on all ranks or on none.
    ///
    /// # Returns
    /// Whether it was, or why not, the same on every rank.
    fn swap(
        &mut self,
        decision: &Decision,
        comm: &impl CommPort,
        replacement: &impl ReplacementServicePort,
    ) -> Result<Result<(), String>, PortError> {
        let (site, to) = (decision.site.as_str(), decision.to.as_str());
        let made = replacement.replace_instance(site.into(), to.into());
        let mut failed = [f64::from(u8::from(made.is_err()))];
        comm.all_reduce(Reduction::Sum, RSliceMut::from_mut_slice(&mut failed))?;
        if failed[0] == 0.0 {
            return Ok(Ok(()));
        }
        match made {
            Ok(()) => replacement.replace_instance(site.into(), decision.from.as_str().into())?,
            Err(error) => {
                let rank = self.rank;
                self.outcome.warnings.push(format!(
                    "cannot put {to} in the place of {} at \"{site}\" on rank {rank}: {error}",
                    decision.from
                ));
            }
        }
        let ranks = comm.size()?;
        Ok(Err(format!("it fails on {} of {ranks} ranks", failed[0])))
    }

    fn stop(&mut self, why: String, fraction: f64) {
        self.outcome
            .warnings
            .push(format!("nothing is adapted any more: {why}"));
        let (site, class) = (String::new(), String::new());
        self.note(Decision {
            step: self.step,
            fraction,
            site,
            act: Act::Stop,
            from: class.clone(),
            to: class,
            reason: why.clone(),
            spent_s: 0.0,
            budget_s: 0.0,
        });
        self.stopped = Some(why);
    }

    /// Takes a decision down. A log that cannot be written is told at the end; the decision stands.
    fn note(&mut self, decision: Decision) {
        let mut line = serde_json::to_vec(&decision).unwrap_or_default();
        line.push(b'\n');
        self.digest.update(&line);
        if let Err(error) = self.log.write_all(&line) {
            let path = self.path.display();
            self.outcome
                .warnings
                .push(format!("cannot write decisions \"{path}\": {error}"));
        }
        self.outcome.decisions.push(decision);
    }
}

/// Processor time of this thread, seconds.
fn processor_s() -> f64 {
    clock_s(ClockId::ThreadCPUTime)
}

fn clock_s(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// What follows from what all ranks have told, in their order.
fn agree(told: Vec<Result<Told, String>>) -> Agreed {
    let mut agreed = Agreed {
        step: Err("rank 0 has told nothing".into()),
        fraction: 0.0,
        elapsed_s: 0.0,
        stride: 1,
        asked_every: 1,
        batches: Vec::new(),
    };
    let mut lines: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    let mut first: Option<Told> = None;
    for (rank, told) in told.into_iter().enumerate() {
        let told = match told {
            Ok(told) => told,
            Err(error) => {
                agreed.step = Err(format!(
                    "rank {rank} tells nothing that is understood: {error}"
                ));
                return agreed;
            }
        };
        for line in &told.batches {
            let at = &line.coordinate;
            let key = format!("{} {} {} {at}", line.instance, line.class, line.port_method);
            lines.entry(key).or_default().push(line.clone());
        }
        let Some(first) = &first else {
            agreed.step = Ok(told.step);
            agreed.fraction = told.fraction;
            agreed.elapsed_s = told.elapsed_s;
            first = Some(told);
            continue;
        };
        if told.has_ended != first.has_ended {
            let [(ended, at), (other, on)] = match told.has_ended {
                true => [(rank, told.step), (0, first.step)],
                false => [(0, first.step), (rank, told.step)],
            };
            agreed.step = Err(format!(
                "the application has ended on rank {ended} after {at} reported steps and reports step {on} on rank {other}, \
                 expected as many on each"
            ));
            return agreed;
        }
        if told.step != first.step {
            let (found, expected) = (told.step, first.step);
            agreed.step = Err(format!(
                "rank {rank} is at step {found}, expected {expected}"
            ));
            return agreed;
        }
        if told.digest != first.digest {
            agreed.step = Err(format!(
                "rank {rank} has other models, alternatives or decisions than rank 0"
            ));
            return agreed;
        }
    }
    if let Some(first) = first {
        let spent = Spent {
            own_s: first.own_s,
            n_decided: first.n_decided,
            run_s: first.run_s,
            step: first.step,
            fraction: first.fraction,
        };
        let meetings = spent.meetings();
        (agreed.stride, agreed.asked_every) = (meetings.stride, meetings.asked_every);
    }
    agreed.batches = lines.into_values().map(merged).collect();
    agreed
}

/// What several ranks have recorded of the same calls.
fn merged(lines: Vec<Line>) -> Line {
    let calls: u64 = lines.iter().map(|line| line.calls).sum();
    let failed = lines.iter().map(|line| line.failed).sum();
    let seen = lines.iter().filter(|line| line.calls > 0);
    let sum: f64 = seen.map(|line| line.calls as f64 * line.ln_mean).sum();
    let mut merged = lines.into_iter().next().unwrap_or_else(|| Line {
        instance: String::new(),
        class: String::new(),
        port_method: String::new(),
        coordinate: Coordinate::new(),
        calls: 0,
        failed: 0,
        ln_mean: 0.0,
    });
    merged.ln_mean = if calls > 0 { sum / calls as f64 } else { 0.0 };
    (merged.calls, merged.failed) = (calls, failed);
    merged
}

impl From<Line> for Batch {
    fn from(line: Line) -> Self {
        Batch {
            instance: line.instance,
            class: line.class,
            port_method: line.port_method,
            coordinate: line.coordinate,
            calls: line.calls,
            failed: line.failed,
            ln_mean: line.ln_mean,
        }
    }
}

/// Calls by log, method and parameters.
#[derive(Default)]
struct Gathered {
    places: HashMap<(usize, u32, Vec<u64>), usize>,
    lines: Vec<Line>,
    /// Logarithms of the seconds of the calls of each line.
    times: Vec<Vec<f64>>,
}

impl Gathered {
    fn add(&mut self, log: usize, record: &Record<'_>, own_ns: u64) {
        let method = record.method;
        let words = &record.values[..method.parameters.len().min(record.values.len())];
        let key = (log, method.id, words.to_vec());
        let place = *self.places.entry(key).or_insert_with(|| {
            let mut coordinate = coordinate(record);
            for parameter in method.parameters.iter().filter(|p| !p.is_size()) {
                coordinate.values.remove(&parameter.name);
            }
            self.lines.push(Line {
                instance: method.instance.clone(),
                class: method.class.clone(),
                port_method: port_method(method),
                coordinate,
                calls: 0,
                failed: 0,
                ln_mean: 0.0,
            });
            self.times.push(Vec::new());
            self.lines.len() - 1
        });
        let line = &mut self.lines[place];
        if record.failed {
            line.failed += 1;
            return;
        }
        line.calls += 1;
        // A call that took no step of the clock took some of it.
        self.times[place].push((own_ns.max(1) as f64 * 1e-9).ln());
    }

    fn lines(self) -> Vec<Line> {
        let with_times = self.lines.into_iter().zip(self.times);
        let lines = with_times.map(|(line, times)| {
            let mut weighted: Vec<_> = times.into_iter().map(|time| (1.0, time)).collect();
            let ln_mean = weighted_median(&mut weighted);
            Line { ln_mean, ..line }
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(step: u64, digest: u32) -> Result<Told, String> {
        let line = Line {
            instance: "flux".into(),
            class: "A".into(),
            port_method: "flux.compute".into(),
            coordinate: Coordinate::new().with("q", 100.0),
            calls: 3,
            failed: 0,
            ln_mean: -9.0 - f64::from(digest),
        };
        Ok(Told {
            step,
            has_ended: false,
            digest,
            own_s: 0.09,
            n_decided: 2,
            run_s: 2.0,
            elapsed_s: 2.0,
            fraction: 0.25,
            batches: vec![line],
        })
    }

    #[test]
    fn what_ranks_have_recorded_is_added_up() {
        let agreed = agree(vec![told(4, 0), told(4, 0)]);
        assert_eq!(agreed.step, Ok(4));
        assert_eq!(agreed.batches.len(), 1);
        assert_eq!(
            (agreed.batches[0].calls, agreed.batches[0].ln_mean),
            (6, -9.0)
        );
        // 45 ms a decision, of steps of 500 ms.
        assert_eq!(agreed.stride, 9);
    }

    #[test]
    fn a_rank_that_disagrees_is_told() {
        let error = |told| agree(told).step.expect_err("no agreement");
        let behind = error(vec![told(4, 0), told(4, 0), told(3, 0)]);
        assert_eq!(behind, "rank 2 is at step 3, expected 4");
        let other = error(vec![told(4, 0), told(4, 7)]);
        assert_eq!(
            other,
            "rank 1 has other models, alternatives or decisions than rank 0"
        );
        let garbled = error(vec![told(4, 0), Err("an end".into())]);
        assert!(garbled.starts_with("rank 1 tells nothing that is understood"));
        let ended = told(9, 0).map(|told| Told {
            has_ended: true,
            ..told
        });
        assert_eq!(
            error(vec![told(4, 0), ended]),
            "the application has ended on rank 1 after 9 reported steps and reports step 4 on rank 0, expected as many on each"
        );
    }
}
