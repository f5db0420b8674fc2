//! Counters in addition to the clock: events of processor and kernel (`perf_event_open`), and
//! `getrusage`.
//!
//! Counters are read at the beginning and the end of a call whose method opted in, outside of its wall time. Each
//! reading takes one or two system calls (300 ns and more). For a counter that cannot be opened, the definitions
//! contain the reason, and records contain no value.

mod names;
mod open;

use std::cell::RefCell;
use std::sync::Arc;

use cca_abi::recording::MAX_COUNTERS;
use mastermind_records::definition::{
    CounterDefinition, MethodDefinition, TIME_ENABLED, TIME_RUNNING,
};
use rustix::io::Errno;

use crate::clock::Clock;
use names::{CounterSource, KNOWN, Source, UsageField};
use open::EventGroup;

/// Errors in a list of counters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CounterError {
    /// No counter has this name.
    #[error("cannot count \"{name}\": unknown, expected one of {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The known names.
        known: String,
    },
    /// More counters than a record can hold.
    #[error("cannot count {n} counters: expected at most {most}")]
    TooMany {
        /// Requested number of counters.
        n: usize,
        /// Maximum number of counters.
        most: usize,
    },
}

/// Names of all counters, those of the processor first.
pub fn counter_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.name)
}

/// Tries each counter once, by opening it together with the previous ones in the calling thread.
///
/// # Arguments
/// * `names` - of [`counter_names`]; duplicates count once
///
/// # Returns
/// Their definitions, in this order; those that cannot be opened contain the reason. If an event of the processor
/// opens, two more counters follow, for scaling: how long the events were enabled, and how long they were counted.
///
/// # Errors
/// [`CounterError`].
pub fn probe_counters<'a>(
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<CounterDefinition>, CounterError> {
    let mut chosen: Vec<&CounterSource> = Vec::new();
    for name in names {
        let known = names::known(name).ok_or_else(|| CounterError::Unknown {
            name: name.into(),
            known: counter_names().collect::<Vec<_>>().join(", "),
        })?;
        if chosen.iter().all(|other| other.name != known.name) {
            chosen.push(known);
        }
    }
    // Room for the two times.
    let most = MAX_COUNTERS - 2;
    if chosen.len() > most {
        let n = chosen.len();
        return Err(CounterError::TooMany { n, most });
    }
    let mut group = EventGroup::open();
    let mut definitions = Vec::new();
    let mut may_share = false;
    for known in &chosen {
        let opened = match &known.source {
            Source::Usage(_) => Ok(()),
            source => group
                .as_mut()
                .map_err(|error| *error)
                .and_then(|group| group.add(source)),
        };
        may_share |= opened.is_ok() && known.source.is_of_processor();
        definitions.push(CounterDefinition {
            name: known.name.into(),
            unit: known.unit.into(),
            unavailable: opened.err().map(|errno| why(errno, &known.source)),
            ..CounterDefinition::default()
        });
    }
    if may_share {
        for (definition, known) in definitions.iter_mut().zip(&chosen) {
            definition.multiplexed = !matches!(known.source, Source::Usage(_));
        }
        definitions.extend([TIME_ENABLED, TIME_RUNNING].map(|name| CounterDefinition {
            name: name.into(),
            unit: "ns".into(),
            ..CounterDefinition::default()
        }));
    }
    Ok(definitions)
}

/// `ENOENT (errno 2): …`, with its meaning for a counter.
fn why(errno: Errno, source: &Source) -> String {
    let (name, meaning) = match errno {
        Errno::NOENT if source.is_of_processor() => (
            "ENOENT",
            "this processor does not offer it; virtual machines often have no hardware events",
        ),
        Errno::NOENT => ("ENOENT", "this kernel does not have it"),
        Errno::ACCESS => (
            "EACCES",
            "not allowed; see /proc/sys/kernel/perf_event_paranoid",
        ),
        Errno::PERM => (
            "EPERM",
            "not allowed; a container needs CAP_PERFMON and perf_event_open",
        ),
        Errno::NOSYS => ("ENOSYS", "this kernel has no performance events"),
        Errno::OPNOTSUPP => ("EOPNOTSUPP", "this processor does not support it"),
        Errno::INVAL => (
            "EINVAL",
            "the processor cannot count it, or not together with the events before it",
        ),
        Errno::BUSY => ("EBUSY", "somebody else has the counter"),
        Errno::NODEV => ("ENODEV", "this processor does not offer it"),
        Errno::MFILE => ("EMFILE", "too many open files"),
        _ => ("error", "see perf_event_open(2)"),
    };
    format!("{name} (errno {}): {meaning}", errno.raw_os_error())
}

/// The values after the parameters in a method's records.
#[derive(Debug)]
pub(crate) struct CounterPlan {
    columns: Vec<Column>,
    /// Names of the events to open, in the order of [`Column::Event`].
    events: Vec<Source>,
}

#[derive(Clone, Copy, Debug)]
enum Column {
    Event(usize),
    Enabled,
    Running,
    Usage(UsageField),
}

impl CounterPlan {
    /// The plan for a method's available counters; `None` if it has none.
    pub(crate) fn new(method: &MethodDefinition) -> Option<Arc<Self>> {
        let mut plan = CounterPlan {
            columns: Vec::new(),
            events: Vec::new(),
        };
        let available = |counter: &&CounterDefinition| counter.unavailable.is_none();
        for counter in method.counters.iter().filter(available).take(MAX_COUNTERS) {
            let column = match counter.name.as_str() {
                TIME_ENABLED => Column::Enabled,
                TIME_RUNNING => Column::Running,
                name => match &names::known(name)?.source {
                    Source::Usage(field) => Column::Usage(*field),
                    source => {
                        plan.events.push(source.clone());
                        Column::Event(plan.events.len() - 1)
                    }
                },
            };
            plan.columns.push(column);
        }
        (!plan.columns.is_empty()).then(|| Arc::new(plan))
    }

    /// Cost of two readings per call: the median of 21, nanoseconds, in the calling thread.
    pub(crate) fn cost_ns(self: &Arc<Self>, clock: &Clock) -> u64 {
        let mut counters = ThreadCounters::default();
        let mut rounds: Vec<u64> = (0..N_COST_ROUNDS)
            .map(|_| {
                let begin = clock.now();
                counters.begin(self, 0);
                counters.end();
                clock.now().saturating_sub(begin)
            })
            .collect();
        rounds.sort_unstable();
        (rounds[N_COST_ROUNDS / 2] as f64 / clock.ticks_per_second() * 1e9) as u64
    }

    fn open(&self) -> Option<EventGroup> {
        if self.events.is_empty() {
            return None;
        }
        let mut group = EventGroup::open().ok()?;
        for event in &self.events {
            group.add(event).ok()?;
        }
        group.enable().ok()?;
        Some(group)
    }
}

type Words = [u64; MAX_COUNTERS];

const N_COST_ROUNDS: usize = 21;

/// The counters of one thread, opened when a call needs them, with their readings at the start of the open calls.
#[derive(Debug, Default)]
pub(crate) struct ThreadCounters {
    open: Vec<Opened>,
    /// For each counted call that is open, the number of calls around it and its readings; `None` if they failed.
    begun: Vec<(usize, Option<(usize, Words)>)>,
}

#[derive(Debug)]
struct Opened {
    plan: Arc<CounterPlan>,
    group: Option<EventGroup>,
}

impl Opened {
    fn read(&self) -> Option<Words> {
        let mut words = Words::default();
        let events = match (&self.group, self.plan.events.is_empty()) {
            (Some(group), _) => group.read()?,
            (None, true) => open::EventValues::default(),
            (None, false) => return None,
        };
        let usage = self.plan.columns.iter();
        let usage = usage
            .into_iter()
            .any(|column| matches!(column, Column::Usage(_)));
        let usage = if usage {
            Some(open::thread_usage()?)
        } else {
            None
        };
        for (word, column) in words.iter_mut().zip(&self.plan.columns) {
            *word = match *column {
                Column::Event(place) => *events.values.get(place)?,
                Column::Enabled => events.enabled_ns,
                Column::Running => events.running_ns,
                Column::Usage(field) => field.of(usage.as_ref()?),
            };
        }
        Some(words)
    }
}

impl ThreadCounters {
    /// Whether one more call can begin without allocating memory.
    pub(crate) fn has_room(&self) -> bool {
        self.begun.len() < self.begun.capacity()
    }

    /// Whether the counters of a plan are open.
    pub(crate) fn has_open(&self, plan: &Arc<CounterPlan>) -> bool {
        self.place_of(plan).is_some()
    }

    fn place_of(&self, plan: &Arc<CounterPlan>) -> Option<usize> {
        let mut open = self.open.iter();
        open.position(|opened| Arc::ptr_eq(&opened.plan, plan))
    }

    /// Reads the counters at the start of a call.
    ///
    /// # Arguments
    /// * `depth` - number of open calls around it
    pub(crate) fn begin(&mut self, plan: &Arc<CounterPlan>, depth: usize) {
        let place = self.place_of(plan).unwrap_or_else(|| {
            self.open.push(Opened {
                plan: Arc::clone(plan),
                group: plan.open(),
            });
            self.open.len() - 1
        });
        let words = self.open[place].read();
        self.begun.push((depth, words.map(|words| (place, words))));
    }

    /// Notes a call without counters, so that the end of each call finds the matching beginning.
    pub(crate) fn begin_without(&mut self, depth: usize) {
        self.begun.push((depth, None));
    }

    /// Forgets calls that were left: those with `depth` or more calls around them.
    pub(crate) fn forget(&mut self, depth: usize) {
        while self.begun.pop_if(|(around, _)| *around >= depth).is_some() {}
    }

    /// Reads the counters at the end of the call that began last.
    ///
    /// # Returns
    /// The increase of each counter, and the number of counters: 0 if they could not be read.
    pub(crate) fn end(&mut self) -> (Words, usize) {
        let none = (Words::default(), 0);
        let Some((_, Some((place, before)))) = self.begun.pop() else {
            return none;
        };
        let opened = &self.open[place];
        let Some(mut words) = opened.read() else {
            return none;
        };
        for (word, before) in words.iter_mut().zip(before) {
            *word = word.wrapping_sub(before);
        }
        (words, opened.plan.columns.len())
    }

    /// Closes all counters of a thread that has ended.
    pub(crate) fn close(&mut self) {
        *self = Self::default();
    }
}

thread_local! {
    static CURRENT: RefCell<Vec<(&'static str, Opened)>> = const { RefCell::new(Vec::new()) };
}

/// The present value of a counter in the calling thread. It counts events from the first query on; only differences are
/// meaningful.
///
/// # Returns
/// The unit and the value; the value is `None` if the counter cannot be opened.
///
/// # Errors
/// [`CounterError::Unknown`].
pub fn current_counter(name: &str) -> Result<(&'static str, Option<u64>), CounterError> {
    let method = MethodDefinition {
        counters: probe_counters([name])?,
        ..MethodDefinition::default()
    };
    let Some(known) = names::known(name) else {
        return Ok(("", None));
    };
    let value = CounterPlan::new(&method).and_then(|plan| current(known.name, &plan));
    Ok((known.unit, value))
}

/// The value, scaled if it was counted for part of the time only.
fn current(name: &'static str, plan: &Arc<CounterPlan>) -> Option<u64> {
    let words = CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        let known = current.iter().position(|(known, _)| *known == name);
        let place = known.unwrap_or_else(|| {
            let opened = Opened {
                plan: Arc::clone(plan),
                group: plan.open(),
            };
            current.push((name, opened));
            current.len() - 1
        });
        current[place].1.read()
    })?;
    // For an event of the processor, the times for which it was enabled and counted follow.
    let (enabled, running) = match plan.columns.len() {
        3 => (u128::from(words[1]), u128::from(words[2])),
        _ => (1, 1),
    };
    let scaled = (u128::from(words[0]) * enabled).checked_div(running)?;
    u64::try_from(scaled).ok()
}
