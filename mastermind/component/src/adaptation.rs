//! Adapts a run while it goes on: follows the records as they are written, decides after each step of the application
//! which class works at each site, and replaces it.
//!
//! The application reports the end of each step on every rank through `cca.Progress` ([`Adaptation::step`], where to
//! start reading). There the ranks exchange what they have recorded since the last exchange (`exchange`,
//! `gathering`). Every rank decides by itself from the same numbers, so all ranks swap at the same call, and each
//! exchange compares their decisions so far. The policy is `mastermind-composition`'s `adapt`; `pace` chooses how
//! often a decision is worth its time. A class that one rank cannot create is put in on none. Each decision is a line
//! of JSON in a file next to the logs (shortened here):
//!
//! ```text
//! {"step":2,"fraction":0.0166,"site":"flux","act":"try","from":"hydro.GodunovFlux","to":"hydro.EfmFlux","reason":"expected to take
//!     0.54 times the time of hydro.GodunovFlux, within a factor 1.75; of 0.021 s to come 0.009 s may be saved, at a cost of 0.0020 s"}
//! {"step":3,"fraction":0.0249,"site":"flux","act":"keep","from":"hydro.EfmFlux","to":"hydro.EfmFlux","reason":"0.483 times the time of
//!     hydro.GodunovFlux after 32 calls"}
//! ```

mod admission;
mod config;
pub(crate) mod delays;
pub(crate) mod dispatching;
pub(crate) mod exchange;
mod fuse;
pub(crate) mod gathering;
mod limiting;
pub(crate) mod pace;
mod patience;
pub(crate) mod stored;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cca_core::{Framework, KeptWays};
use cca_ports::{
    CommPort, PortError, RSliceMut, Reduction, ReplacementServicePort, Services, UsesPort,
};
use mastermind_composition::Assembly;
use mastermind_composition::adapt::{Act, Adapter, CallKind, Decision, Report};
use mastermind_models::ModelSet;
use mastermind_records::definition::TIMER_CLASS;
use mastermind_records::{Log, RecordsError, RunFollower, create_anew};

pub(crate) use self::admission::AdmittedCalls;
pub use self::config::{AdaptConfig, AdaptOutcome, decisions_file, is_decisions_file};
use self::delays::RunDelay;
pub use self::dispatching::decision_steps;
use self::dispatching::{Dispatchers, Tried, changed, sites};
use self::exchange::{Agreed, Agreement, OfCommunicator, Ranks, Told, batches};
use self::fuse::Fuse;
use self::gathering::{Gathering, N_APART};
use self::pace::{Meetings, Pace, Spent, process_s, thread_s, timed};
pub use self::patience::AtDeadlock;
use self::patience::Patience;
use self::stored::predicted;
use crate::mastermind::{Mastermind, locked};

/// Number of records read at once.
const AT_ONCE: u64 = 4096;

/// Number of latest steps whose records a decision reads: the time of a decision is mostly that of reading, and
/// earlier steps inform about the present less than the latest. A trial, whose calls all count, reads all.
const STEPS_READ: u64 = N_APART as u64;

/// Weight of the latest decision in the estimated cost of one.
const LATEST_DECISION: f64 = 0.25;

/// Adapts a run.
pub struct Adaptation {
    framework: Framework,
    mastermind: Arc<Mastermind>,
    comm: UsesPort<dyn CommPort>,
    replacement: UsesPort<dyn ReplacementServicePort>,
    state: Mutex<State>,
    /// Watches exchanges; `None` in a run of one rank.
    patience: Option<Patience>,
    /// Takes calls back inside a step; `None` with several ranks.
    fuse: Option<Fuse>,
    /// Ways to the replaced classes: they answer calls that fail in the new ones, and such a call may be under way
    /// until the end.
    kept: Mutex<Vec<KeptWays>>,
    /// Tables of admitted calls: proxies may read one until the end.
    admitted: Mutex<Vec<Arc<AdmittedCalls>>>,
    assembly: Assembly,
    dispatchers: Dispatchers,
}

struct State {
    rank: u32,
    follower: RunFollower,
    gathering: Gathering,
    /// Of the thread that reports steps; `None` before the first step.
    run_delay: Option<RunDelay>,
    agreement: Agreement,
    adapter: Adapter,
    log: File,
    path: PathBuf,
    /// Checksum of all lines of the log so far.
    digest: crc32fast::Hasher,
    started: Instant,
    /// Processor seconds of this rank at that time.
    began_s: f64,
    /// Number of steps of the application so far, and at the last decision.
    step: u64,
    decided_at: u64,
    /// When the ranks meet until the next decision.
    meetings: Meetings,
    pace: Pace,
    /// Last step whose records were read or left out, and number of records left out and read since the last decision.
    followed_to: u64,
    n_left_out: u64,
    n_read: u64,
    /// Whether the next step decides early: the records before it were left out.
    is_early_next: bool,
    /// Processor seconds between steps so far: of following and deciding; of waiting for other ranks; and of the rest,
    /// which is reading clocks and swapping.
    own_s: f64,
    waited_s: f64,
    watching_s: f64,
    /// Processor seconds of one decision now.
    a_decision_s: Option<f64>,
    /// Processor seconds of early decisions and of those about trials.
    extra_s: f64,
    /// Reason why adaptation has ended.
    stopped: Option<String>,
    /// Providers that dispatchers have tried so far.
    tried: Tried,
    /// Ways to the given class of each instance whose classes are stateless.
    given: BTreeMap<String, KeptWays>,
    /// Ways to the class before the explored one, to which calls may go back inside a step, by instance.
    ways_back: BTreeMap<String, KeptWays>,
    /// Instances whose explored class gets only some of the calls, and these classes.
    limited: BTreeMap<String, String>,
    /// Seconds that the explored classes have lost since the last decision, according to the lengths of the steps.
    lost_s: f64,
    /// Whether calls were taken back from them since then.
    was_stopped: bool,
    outcome: AdaptOutcome,
}

impl Drop for Adaptation {
    fn drop(&mut self) {
        let state = locked(&self.state);
        for (site, class) in state.adapter.classes() {
            self.guard(site, class, None);
            self.admit(site, class, None);
        }
    }
}

impl Adaptation {
    /// Joins a framework through the services of an instance of its own.
    ///
    /// # Arguments
    /// * `models` - models of the classes, as produced by `fit`
    /// * `at_deadlock` - called when all ranks wait for one another; `None` with one rank
    ///
    /// # Errors
    /// Errors of the framework, or the log of decisions cannot be created.
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
        let fuse = patience
            .is_none()
            .then(|| Fuse::new(framework.another_handle()));
        let fuse = fuse.transpose().map_err(PortError::failed)?;
        let path = decisions_file(&config.directory, config.rank);
        let log = create_anew(&path).map_err(|error| {
            PortError::failed(format_args!(
                "cannot write decisions \"{}\": {error}",
                path.display()
            ))
        })?;
        // Ranks with different alternatives or models disagree from the first exchange on.
        let mut digest = crc32fast::Hasher::new();
        let (alternatives, dispatchers) = (&config.alternatives, &config.dispatchers);
        let may_change = format!("{alternatives:?} {dispatchers:?} {:?}", config.settings);
        digest.update(may_change.as_bytes());
        digest.update(models.to_json().map_err(PortError::failed)?.as_bytes());
        digest.update(format!("{:?}", config.learned).as_bytes());
        let mut adapter = Adapter::new(
            &config.assembly,
            alternatives,
            &sites(dispatchers, &config.assembly),
            config.settings,
            predicted(&models),
        );
        adapter.recall(&config.learned);
        let mut follower = RunFollower::new(&config.directory, Some(config.rank));
        // Earlier records belong to no step, and reading them would count as time of adaptation.
        let left_out = follower.leave_out_so_far();
        left_out.map_err(|error| PortError::failed(cannot_follow(&error)))?;
        let state = State {
            rank: config.rank,
            follower,
            gathering: Gathering::default(),
            run_delay: None,
            agreement: Agreement::default(),
            adapter,
            log,
            path,
            digest,
            started: Instant::now(),
            began_s: process_s(),
            step: 0,
            decided_at: 0,
            meetings: Meetings {
                stride: 1,
                asked_every: 1,
            },
            pace: Pace::new(process_s()),
            followed_to: 0,
            n_left_out: 0,
            n_read: 0,
            is_early_next: false,
            own_s: 0.0,
            waited_s: 0.0,
            watching_s: 0.0,
            a_decision_s: None,
            extra_s: 0.0,
            stopped: None,
            tried: Tried::default(),
            given: BTreeMap::new(),
            ways_back: BTreeMap::new(),
            limited: BTreeMap::new(),
            lost_s: 0.0,
            was_stopped: false,
            outcome: AdaptOutcome::default(),
        };
        Ok(Adaptation {
            framework: framework.another_handle(),
            mastermind: Arc::clone(mastermind),
            kept: Mutex::default(),
            admitted: Mutex::default(),
            assembly: config.assembly.clone(),
            dispatchers: dispatchers.clone(),
            patience,
            fuse,
            comm: services.register_uses_port("comm")?,
            replacement: services.register_uses_port("replacement")?,
            state: Mutex::new(state),
        })
    }

    /// Reports the end of a step of the application. Collective.
    ///
    /// # Arguments
    /// * `fraction` - part of the run that is done
    ///
    /// # Errors
    /// Errors of the communicator: the ranks cannot go on together.
    pub fn step(&self, fraction: f64) -> Result<(), PortError> {
        let mut state = locked(&self.state);
        let (now_s, counted_s) = (thread_s(), state.own_s + state.waited_s);
        state.step += 1;
        let run_delay = state.run_delay.as_mut();
        let delay_s = run_delay.map_or(0.0, |run_delay| run_delay.step_ended(now_s));
        if delay_s > 0.0 {
            state.gathering.waited(delay_s);
        }
        let is_trial = state.adapter.on_trial().next().is_some();
        state.pace.step_ended(process_s(), is_trial);
        if is_trial {
            state.lost_s += state.pace.lost_in_trial_s();
            state.was_stopped |= self.fuse.as_ref().is_some_and(Fuse::step_ended);
        }
        let decided = match state.stopped {
            Some(_) => Ok(()),
            None => self.meet(&mut state, fraction),
        };
        state.gathering.step_ended(self.mastermind.now());
        state.pace.step_begins(process_s());
        if let (Some(fuse), Some(may_lose_s)) = (&self.fuse, state.adapter.may_lose_s())
            && !state.ways_back.is_empty()
        {
            let left_s = (may_lose_s - state.lost_s).max(0.0);
            let before = state.ways_back.values().cloned().collect();
            fuse.step_begins(state.pace.longest_until_s() + left_s, before);
        }
        let run_delay = &mut state.run_delay;
        let run_delay = run_delay.get_or_insert_with(RunDelay::of_this_thread);
        let all_s = run_delay.step_begins() - now_s;
        let counted_s = state.own_s + state.waited_s - counted_s;
        state.watching_s += (all_s - counted_s).max(0.0);
        decided
    }

    /// Decides if a decision is due or any rank wants an early one.
    fn meet(&self, state: &mut State, fraction: f64) -> Result<(), PortError> {
        // An application that does not know the fraction may report any number.
        let fraction = if fraction.is_finite() { fraction } else { 0.0 };
        let steps = state.step - state.decided_at;
        if steps + STEPS_READ == state.meetings.stride && state.has_fallen_behind() {
            state.leave_out();
        }
        let is_due = steps >= state.meetings.stride;
        let is_urgent = state.was_stopped || state.adapter.wants_look(state.step);
        let is_asked = is_due || is_urgent || steps.is_multiple_of(state.meetings.asked_every);
        if !is_asked {
            return Ok(());
        }
        let spent = state.spent(fraction);
        let is_regular = is_due && (state.adapter.has_trials() || spent.is_affordable());
        let mut is_early = state.is_early_next || state.pace.is_early_worth(spent.a_decision_s);
        if is_early && !state.is_early_next && !is_regular && state.has_fallen_behind() {
            state.leave_out();
            (is_early, state.is_early_next) = (false, true);
        }
        // The cost of a decision must not prolong a trial; later decisions save it.
        let is_wanted = is_urgent || is_regular || is_early;
        if self.patience.is_none() && !is_wanted {
            return Ok(());
        }
        let comm = self.comm.get()?;
        let ranks = comm.size()?.max(1) as u32;
        if !self.is_wanted(state, is_wanted, &*comm)? {
            return Ok(());
        }
        let before_s = state.own_s;
        let agreed = self.exchange(state, fraction, false, &*comm)?;
        if state.decided_at == 0 {
            self.limit_trials(state);
        }
        let decided = state.timed(|state| state.decide(agreed, ranks));
        state.took(state.own_s - before_s, is_regular);
        let is_only_early = is_early && !is_urgent && !is_regular;
        let is_suspecting = state.adapter.is_suspecting();
        state
            .pace
            .decided(is_only_early, !decided.is_empty(), is_suspecting);
        state.is_early_next = false;
        for decision in &decided {
            if decision.is_swap() {
                self.swap(state, decision, &*comm)?;
            } else if decision.act == Act::Keep
                && decision.calls.is_none()
                && !state.given.contains_key(&decision.site)
            {
                self.guard(&decision.site, &decision.to, None);
            }
        }
        self.limit(state);
        // After one rank has ended or ranks disagree, nothing is decided and no rank may wait for another.
        match decided.is_empty() {
            true => Ok(()),
            false => self.redirect(state, &decided, &*comm),
        }
    }

    /// Gives dispatchers the tables that were decided on: on all ranks or on none.
    fn redirect(
        &self,
        state: &mut State,
        decided: &[Decision],
        comm: &impl CommPort,
    ) -> Result<(), PortError> {
        let new = state.adapter.new_tables();
        if new.is_empty() {
            return Ok(());
        }
        let (dispatchers, assembly) = (&self.dispatchers, &self.assembly);
        let guarded = state
            .tried
            .new_among(decided, dispatchers, assembly, &self.framework)?;
        for (instance, class, before) in guarded {
            self.guard(&instance, &class, Some(before));
        }
        for tables in &new {
            let table = changed(dispatchers, tables);
            let made = table.map_or(Ok(()), |table| self.framework.redirect(&tables.0, &table));
            let agreed = OfCommunicator(comm).agree_on(made.is_ok())?;
            if let Err(why) = agreed {
                let why = made.map_or_else(|error| error.to_string(), |()| why);
                let warning = format!("calls of \"{}\" go where they went: {why}", tables.0);
                state.outcome.warnings.push(warning);
                state.adapter.stop_dispatching(&tables.0, &why);
                if let Some(first) = dispatchers.get(&tables.0) {
                    // The initial table is valid on all ranks.
                    let back = self.framework.redirect(&tables.0, first);
                    state
                        .outcome
                        .warnings
                        .extend(back.err().map(|e| e.to_string()));
                }
            }
        }
        Ok(())
    }

    /// Whether any rank wants to decide; collective.
    fn is_wanted(
        &self,
        state: &mut State,
        is_wanted: bool,
        comm: &impl CommPort,
    ) -> Result<bool, PortError> {
        let Some(patience) = &self.patience else {
            return Ok(is_wanted);
        };
        let mut wanted = [f64::from(u8::from(is_wanted))];
        let ask = || comm.all_reduce(Reduction::Max, RSliceMut::from_mut_slice(&mut wanted));
        timed(&mut state.waited_s, || patience.wait_for(state.step, ask))?;
        Ok(wanted[0] > 0.0)
    }

    /// Reports the end of the application on this rank. Collective: ranks that still report steps learn of it, and
    /// all go on unadapted.
    ///
    /// # Errors
    /// Errors of the communicator.
    pub fn end(&self) -> Result<(), PortError> {
        let mut state = locked(&self.state);
        if state.stopped.is_some() || self.patience.is_none() {
            return Ok(());
        }
        let comm = self.comm.get()?;
        self.is_wanted(&mut state, true, &*comm)?;
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
        let (step, before_s, begin_s) = (state.step, state.own_s, thread_s());
        let mut exchange = || state.exchange(fraction, has_ended, comm);
        let agreed = match &self.patience {
            Some(patience) => patience.wait_for(step, &mut exchange),
            None => exchange(),
        };
        state.waited_s += thread_s() - begin_s - (state.own_s - before_s);
        agreed
    }

    /// Carries out a swap. If the classes are stateless, the given class answers calls that fail in another one for
    /// the rest of the run; otherwise the previous class answers them during the trial only.
    fn swap(
        &self,
        state: &mut State,
        decision: &Decision,
        comm: &impl CommPort,
    ) -> Result<(), PortError> {
        let site = &decision.site;
        let before = self.framework.keep_ways_to(site)?;
        let kept_nothing = self.framework.is_stateless(site)?;
        let shared_steps = self.framework.may_share_steps(site)?;
        let replacement = self.replacement.get()?;
        let made = state.swap(decision, comm, &*replacement)?;
        let keeps_nothing = kept_nothing && self.framework.is_stateless(site)?;
        let is_trial = made.is_ok() && decision.act == Act::Try;
        let shares_steps = shared_steps && self.framework.may_share_steps(site)?;
        match is_trial && shares_steps {
            true => state.ways_back.insert(site.clone(), before.clone()),
            false => state.ways_back.remove(site),
        };
        if made.is_ok() && keeps_nothing {
            let given = self.assembly.get(site);
            let of_given = state.given.entry(site.clone()).or_insert(before);
            if given != Some(&decision.to) {
                let of_given = of_given.clone();
                self.guard(site, &decision.to, Some(of_given));
            }
        } else if is_trial {
            self.guard(site, &decision.to, Some(before));
        } else {
            self.guard(site, &decision.from, None);
        }
        if let Some(follows) = state.adapter.done(decision, made) {
            state.note(follows);
        }
        Ok(())
    }

    fn guard(&self, site: &str, class: &str, before: Option<KeptWays>) {
        // SAFETY: `kept` holds it until the adaptation is dropped, after the end of the application.
        unsafe { self.mastermind.guard(site, class, before.as_ref()) };
        locked(&self.kept).extend(before);
    }

    /// The outcome so far.
    pub fn outcome(&self) -> AdaptOutcome {
        let state = locked(&self.state);
        AdaptOutcome {
            steps: state.step,
            own_s: state.own_s + state.watching_s,
            log: state.path.clone(),
            classes: state.classes(),
            tables: state.tables(&self.dispatchers),
            unborne: state.unborne(),
            learned: state.adapter.learned(),
            ..state.outcome.clone()
        }
    }
}

impl State {
    fn classes(&self) -> Assembly {
        let classes = self.adapter.classes();
        classes
            .map(|(instance, class)| (instance.to_owned(), class.to_owned()))
            .collect()
    }

    fn unborne(&self) -> Vec<(String, String)> {
        let unborne = self.adapter.unborne();
        unborne
            .map(|(instance, class)| (instance.to_owned(), class.to_owned()))
            .collect()
    }

    /// Tables by which dispatchers should send calls, according to the present estimates.
    fn tables(&self, dispatchers: &Dispatchers) -> Dispatchers {
        let best = self.adapter.best_tables().into_iter();
        let best =
            best.filter_map(|tables| Some((tables.0.clone(), changed(dispatchers, &tables)?)));
        // A dispatcher with a single provider has nothing to learn and keeps its table.
        dispatchers.clone().into_iter().chain(best).collect()
    }

    /// Exchanges the records since the last exchange; the result is the same on each rank.
    fn exchange(
        &mut self,
        fraction: f64,
        has_ended: bool,
        comm: &impl CommPort,
    ) -> Result<Agreed, PortError> {
        let told = self.timed(|state| state.tell(fraction, has_ended));
        let ranks = OfCommunicator(comm);
        exchange::exchange(told, &mut self.agreement, &ranks, &mut self.own_s)
    }

    /// Collects this rank's contribution to an exchange.
    fn tell(&mut self, fraction: f64, has_ended: bool) -> Told {
        let followed = self.follow();
        self.outcome.warnings.extend(followed.err());
        let adapter = &mut self.adapter;
        let expected = |kind: &CallKind| adapter.expected(kind);
        let (new_kinds, lines) = self.gathering.tell(self.step, expected);
        let calls: u64 = lines.iter().map(|line| line.calls).sum();
        // Records of MPI and timers are no calls of components: as many of those left out as of those read.
        let left_out = match calls {
            0 => 0,
            _ => std::mem::take(&mut self.n_left_out) * calls / self.n_read.max(calls),
        };
        self.n_read = 0;
        let stopped = self.follower.logs().find_map(Log::stop_reason);
        let unrecorded = stopped.map(|why| no_record(self.rank, &why));
        Told {
            left_out,
            step: self.step,
            has_ended,
            unrecorded,
            digest: self.digest.clone().finalize(),
            spent: self.spent(fraction),
            elapsed_s: self.elapsed_s(),
            new_kinds,
            lines,
        }
    }

    /// Does some work and adds its time to the cost of following and deciding.
    fn timed<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let mut own_s = 0.0;
        let done = timed(&mut own_s, || work(self));
        self.own_s += own_s;
        done
    }

    /// Whether more steps are unread than a decision reads.
    fn has_fallen_behind(&self) -> bool {
        self.step - self.followed_to > STEPS_READ && !self.adapter.is_trying()
    }

    /// Leaves out this rank's records so far.
    fn leave_out(&mut self) {
        let left_out = self.timed(|state| {
            let n_records = |state: &State| state.follower.logs().map(Log::n_records).sum::<u64>();
            let before = n_records(state);
            let left_out = state.follower.leave_out_so_far();
            left_out.map(|()| n_records(state).saturating_sub(before))
        });
        self.followed_to = self.step;
        match left_out {
            Ok(left_out) => self.n_left_out += left_out,
            Err(error) => self.outcome.warnings.push(cannot_follow(&error)),
        }
    }

    /// Reads this rank's new records.
    fn follow(&mut self) -> Result<(), String> {
        self.followed_to = self.step;
        let refreshed = self.follower.refresh();
        refreshed.map_err(|error| cannot_follow(&error))?;
        let (gathering, n_read) = (&mut self.gathering, &mut self.n_read);
        while let Some(log) = self.follower.next_log() {
            let read = self.follower.read_on(AT_ONCE, |record, own| {
                *n_read += 1;
                if record.method.class != TIMER_CLASS && !record.method.is_mpi() {
                    gathering.add(log, record, own.wall_ns);
                }
            });
            if read.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Processor seconds of this rank since adaptation began, of all its threads.
    fn run_s(&self) -> f64 {
        process_s() - self.began_s
    }

    /// Seconds so far, without the time that this rank waited for a processor: trials must not cost more on a busy
    /// machine.
    fn elapsed_s(&self) -> f64 {
        let waited_s = self.run_delay.as_ref().map_or(0.0, RunDelay::total_s);
        self.started.elapsed().as_secs_f64() - waited_s
    }

    fn spent(&self, fraction: f64) -> Spent {
        Spent {
            own_s: self.own_s,
            a_decision_s: self.a_decision_s.unwrap_or(0.0),
            extra_s: self.extra_s,
            run_s: self.run_s(),
            step: self.step,
            fraction,
        }
    }

    /// Records the processor seconds that following and deciding have just taken.
    fn took(&mut self, seconds: f64, was_regular: bool) {
        self.extra_s += if was_regular { 0.0 } else { seconds };
        let before = self.a_decision_s.unwrap_or(seconds);
        self.a_decision_s = Some(before + LATEST_DECISION * (seconds - before));
    }

    fn decide(&mut self, agreed: Agreed, ranks: u32) -> Vec<Decision> {
        self.decided_at = self.step;
        self.meetings = agreed.spent.meetings();
        let step = match agreed.step {
            Ok(step) => step,
            Err(why) => {
                self.stop(why, agreed.fraction);
                return Vec::new();
            }
        };
        for kind in &agreed.new_kinds {
            self.adapter.add_kind(kind);
        }
        let batches = batches(&agreed.lines);
        let report = Report {
            step,
            fraction: agreed.fraction,
            elapsed_s: agreed.elapsed_s * f64::from(ranks),
            ranks,
            told: agreed.told,
            batches: &batches,
            deciding_s: agreed.spent.a_decision_s * f64::from(ranks),
            may_try: agreed.spent.may_try(),
            stride: self.meetings.stride as f64,
            was_stopped: std::mem::take(&mut self.was_stopped),
        };
        self.lost_s = 0.0;
        if let Some(why) = agreed.unrecorded {
            let back = self.adapter.abandon(&why, &report);
            back.iter().for_each(|decision| self.note(decision.clone()));
            self.stop(why, agreed.fraction);
            return back;
        }
        let decided = self.adapter.decide(&report);
        for decision in &decided {
            self.note(decision.clone());
        }
        decided
    }

    /// Puts another class in, on all ranks or on none.
    ///
    /// # Returns
    /// Whether it was put in, or the reason why not; the same on every rank.
    fn swap(
        &mut self,
        decision: &Decision,
        comm: &impl CommPort,
        replacement: &impl ReplacementServicePort,
    ) -> Result<Result<(), String>, PortError> {
        let (site, to) = (decision.site.as_str(), decision.to.as_str());
        let made = replacement.replace_instance(site.into(), to.into());
        let agreed = OfCommunicator(comm).agree_on(made.is_ok())?;
        if agreed.is_ok() {
            return Ok(agreed);
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
        Ok(agreed)
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
            calls: None,
            act: Act::Stop,
            from: class.clone(),
            to: class,
            reason: why.clone(),
            spent_s: 0.0,
            budget_s: 0.0,
        });
        self.stopped = Some(why);
    }

    /// Writes a decision to the log. The outcome reports a log that cannot be written; the decision stands.
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

fn cannot_follow(error: &RecordsError) -> String {
    format!("cannot follow the records: {error}")
}

/// Reason why the calls of a rank can no longer be judged, after its log has stopped.
pub(crate) fn no_record(rank: u32, why: &str) -> String {
    format!("calls of rank {rank} have no record from here on: {why}")
}
