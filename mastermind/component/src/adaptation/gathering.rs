//! Gathers a rank's calls since the last decision, by step and call kind.
//!
//! The kind is looked up by the parameter words of the record, so that names and coordinates are built once instead
//! of at every decision. The latest steps are reported separately: a class that has become slow shows in them, but
//! would not in the median of many steps.
//!
//! ```text
//! calls of steps 1 to 7     lines: steps 1-3 together, then 4, 5, 6 and 7
//! q = 1000, q = 1001        both of the kind of q = 1000; once q = 1001 repeats, it becomes a kind of its own
//! ```

use std::collections::HashMap;

use mastermind_composition::adapt::{CallKind, size_step};
use mastermind_records::definition::MethodDefinition;
use mastermind_records::{Record, Value};
use rustc_hash::FxHashMap;

use super::delays::{Single, take_out};
use super::exchange::Line;
use crate::samples::port_method;
use crate::workload::coordinate;

/// Number of latest steps that are reported one by one; earlier steps are reported together. Arbitrary.
pub const N_APART: usize = 4;

/// Maximum number of parameter combinations of a method to remember, so that parameters that never recur do not fill
/// the memory.
const MAX_WORDS: usize = 4096;

/// Maximum number of sizes of a method that get a kind of their own because they repeat. Arbitrary: as many as a
/// dispatcher distinguishes.
const MOST_OWN: usize = 64;

/// Each call kind by its number, and its calls since the last report.
#[derive(Default)]
pub struct Gathering {
    /// By log and method.
    methods: FxHashMap<(usize, u32), KnownMethod>,
    kinds: Vec<CallKind>,
    by_key: HashMap<String, usize>,
    /// Length of the part of `kinds` that was reported to the other ranks.
    n_told: usize,
    /// Ends of the steps before the present one, clock ticks.
    step_ends: [u64; N_APART],
    /// Delays in which the thread waited for a processor, by step, seconds.
    delays_s: [Vec<f64>; N_APART + 1],
    /// By kind, then by step.
    calls: Vec<[Calls; N_APART + 1]>,
    /// Step and kind of the calls present.
    touched: Vec<(usize, usize)>,
    /// Parameter words of the present record.
    words: Vec<u64>,
    /// Range of sizes of the present record: a label's word, a number's step.
    range: Vec<i64>,
}

/// A method of a log.
struct KnownMethod {
    /// Indices of the parameters that are sizes or labels.
    sizes: Vec<usize>,
    /// The kind by their words.
    kinds: FxHashMap<Box<[u64]>, Known>,
    /// The kind by the range of sizes in which they lie.
    by_range: FxHashMap<Box<[i64]>, usize>,
    /// Number of sizes that have a kind of their own.
    n_own: usize,
}

/// The kind of calls with certain words.
#[derive(Clone, Copy)]
struct Known {
    number: usize,
    /// Whether the words share the kind of an earlier size, and get a kind of their own when they repeat.
    is_shared: bool,
}

#[derive(Default)]
struct Calls {
    own_ns: Vec<u64>,
    failed: u64,
}

impl Gathering {
    /// Reports a delay of the thread in the present step.
    pub fn waited(&mut self, delay_s: f64) {
        self.delays_s[N_APART].push(delay_s);
    }

    /// Reports the end of a step and the start of the next one.
    pub fn step_ended(&mut self, ticks: u64) {
        self.step_ends.rotate_left(1);
        self.step_ends[N_APART - 1] = ticks;
        let oldest = std::mem::take(&mut self.delays_s[1]);
        self.delays_s[0].extend(oldest);
        self.delays_s[1..].rotate_left(1);
    }

    /// Adds a call.
    ///
    /// # Arguments
    /// * `log` - number of its log
    /// * `own_ns` - its exclusive time, nanoseconds
    pub fn add(&mut self, log: usize, record: &Record<'_>, own_ns: u64) {
        let end = record.start_ticks + record.wall_ticks;
        let step = self.step_ends.iter().filter(|at| **at <= end).count();
        let kind = self.kind(log, record);
        let calls = &mut self.calls[kind][step];
        if calls.own_ns.is_empty() && calls.failed == 0 {
            self.touched.push((step, kind));
        }
        match record.failed {
            true => calls.failed += 1,
            // A call shorter than the clock's resolution counts as 1 ns.
            false => calls.own_ns.push(own_ns.max(1)),
        }
    }

    /// Each new call kind and the calls since the last report.
    ///
    /// # Arguments
    /// * `now` - number of the step that has ended
    /// * `expected` - logarithm of the expected seconds of such a call, and its standard deviation; `None` if unknown
    pub fn tell(
        &mut self,
        now: u64,
        expected: impl FnMut(&CallKind) -> Option<(f64, f64)>,
    ) -> (Vec<CallKind>, Vec<Line>) {
        self.touched.sort_unstable();
        self.take_delays_out(expected);
        let told = self.touched.drain(..).map(|(step, kind)| {
            let calls = &mut self.calls[kind][step];
            let line = Line {
                step: (now + step as u64).saturating_sub(N_APART as u64),
                kind,
                calls: calls.own_ns.len() as u64,
                failed: std::mem::take(&mut calls.failed),
                ln_mean: ln_middle(&mut calls.own_ns),
            };
            calls.own_ns.clear();
            line
        });
        let lines = told.collect();
        let new = self.kinds[self.n_told..].to_vec();
        self.n_told = self.kinds.len();
        (new, lines)
    }

    /// Subtracts delays from single calls. Several calls of a kind in a step are represented by their median, which a
    /// delay hardly moves.
    fn take_delays_out(&mut self, mut expected: impl FnMut(&CallKind) -> Option<(f64, f64)>) {
        for step in 0..=N_APART {
            let delays_s = std::mem::take(&mut self.delays_s[step]);
            if delays_s.is_empty() {
                continue;
            }
            let alone = self.touched.iter().filter(|touched| touched.0 == step);
            let alone = alone.filter_map(|(_, kind)| match self.calls[*kind][step].own_ns[..] {
                [own_ns] => Some(Single {
                    kind: *kind,
                    seconds: own_ns as f64 * 1e-9,
                    expected: expected(&self.kinds[*kind])?,
                }),
                _ => None,
            });
            let mut alone: Vec<Single> = alone.collect();
            take_out(delays_s, &mut alone);
            for call in alone {
                let own_ns = (call.seconds * 1e9).round() as u64;
                self.calls[call.kind][step].own_ns[0] = own_ns.max(1);
            }
        }
    }

    /// The number of a record's kind.
    fn kind(&mut self, log: usize, record: &Record<'_>) -> usize {
        let method = record.method;
        let known = self.methods.entry((log, method.id));
        let known = known.or_insert_with(|| KnownMethod::new(method));
        let values = &record.values[..];
        self.words.clear();
        for at in &known.sizes {
            self.words.extend(values.get(*at));
        }
        let before = known.kinds.get(&self.words[..]).copied();
        if let Some(kind) = before.filter(|kind| !kind.is_shared || known.n_own == MOST_OWN) {
            return kind.number;
        }
        let is_own = before.is_some();
        self.range.clear();
        let sizes = known.sizes.iter().filter_map(|at| record.parameter(*at));
        self.range.extend(sizes.map(|size| match size {
            Value::Label(word, _) => word.cast_signed(),
            number => size_step(number.as_f64()),
        }));
        // Names are built for the first call of a range only.
        let of_range = known.by_range.get(&self.range[..]).copied();
        let number = of_range.filter(|_| !is_own).unwrap_or_else(|| {
            let kind = CallKind {
                is_own,
                ..call_kind(record)
            };
            let number = *self.by_key.entry(kind.key()).or_insert(self.kinds.len());
            if number == self.kinds.len() {
                known.n_own += usize::from(is_own);
                self.kinds.push(kind);
            }
            number
        });
        let is_new = number == self.calls.len();
        if is_new {
            self.calls.push(Default::default());
        }
        if !is_own && of_range.is_none() {
            known.by_range.insert(self.range[..].into(), number);
        }
        if known.kinds.len() >= MAX_WORDS {
            known.kinds.clear();
        }
        let is_shared = !is_new && before.is_none();
        known
            .kinds
            .insert(self.words[..].into(), Known { number, is_shared });
        number
    }
}

impl KnownMethod {
    fn new(method: &MethodDefinition) -> Self {
        let parameters = method.parameters.iter().enumerate();
        let sizes = parameters.filter(|(_, parameter)| parameter.is_size());
        KnownMethod {
            sizes: sizes.map(|(at, _)| at).collect(),
            kinds: FxHashMap::default(),
            by_range: FxHashMap::default(),
            n_own: 0,
        }
    }
}

fn call_kind(record: &Record<'_>) -> CallKind {
    let method = record.method;
    let mut coordinate = coordinate(record);
    for parameter in method.parameters.iter().filter(|p| !p.is_size()) {
        coordinate.values.remove(&parameter.name);
    }
    CallKind {
        instance: method.instance.clone(),
        class: method.class.clone(),
        port_method: port_method(method),
        coordinate,
        is_own: false,
    }
}

/// Logarithm of the median of some times, in seconds; the shorter of two, and 0 without any.
fn ln_middle(ns: &mut [u64]) -> f64 {
    if ns.is_empty() {
        return 0.0;
    }
    let middle = (ns.len() - 1) / 2;
    let (_, ns, _) = ns.select_nth_unstable(middle);
    (*ns as f64 * 1e-9).ln()
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::sync::Arc;

    use mastermind_records::definition::{CallPathDefinition, ParameterDefinition};
    use mastermind_records::{
        Calibration, ChunkPreparer, ChunkSizes, Definition, LogIdentity, LogWriter, RecordWords,
        RunFollower,
    };

    use super::*;

    /// Adds the new records of the logs.
    fn follow(gathering: &mut Gathering, run: &mut RunFollower) -> Result<(), Box<dyn Error>> {
        run.refresh()?;
        while let Some(log) = run.next_log() {
            run.read_on(100, |record, own| gathering.add(log, record, own.wall_ns));
        }
        Ok(())
    }

    #[test]
    fn the_latest_steps_are_apart_and_sizes_that_repeat_too() -> Result<(), Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        let identity = LogIdentity { rank: 0, thread: 0 };
        let (start, sizes) = (Calibration::default(), ChunkSizes::default());
        let preparer = Arc::new(ChunkPreparer::start(None)?);
        let mut log = LogWriter::create(directory.path(), identity, start, sizes, &preparer)?;
        let size = ParameterDefinition {
            name: "q".into(),
            ..ParameterDefinition::default()
        };
        log.define(&Definition::Method(MethodDefinition {
            id: 1,
            instance: "flux".into(),
            class: "A".into(),
            parameters: vec![size],
            ..MethodDefinition::default()
        }))?;
        log.define(&Definition::CallPath(CallPathDefinition {
            id: 1,
            parent: 0,
            method: 1,
        }))?;
        let mut run = RunFollower::new(directory.path(), Some(0));
        let mut gathering = Gathering::default();
        let mut call = |at: u64, q: u64, wall: u64| {
            log.append(RecordWords {
                path: 1,
                start: at,
                wall,
                values: &[q],
                ..RecordWords::default()
            })
        };
        // A step of 1000 ticks of a nanosecond has two calls of one kind and one of another; in the last step they
        // take longer.
        for step in 1..=7 {
            let wall = if step == 7 { 70 } else { step };
            for (place, q) in [1000, 1001, 5000].into_iter().enumerate() {
                assert!(call(1000 * step + 100 * place as u64, q, wall));
            }
            if step < 7 {
                gathering.step_ended(1000 * step + 999);
            }
        }
        follow(&mut gathering, &mut run)?;
        let (new, lines) = gathering.tell(7, |_| None);
        // The second size repeats, and is close to the first.
        let is_own: Vec<_> = new.iter().map(|kind| kind.is_own).collect();
        assert_eq!(is_own, [false, false, true], "{new:?}");
        let told: Vec<_> = lines.iter().map(|l| (l.step, l.kind, l.calls)).collect();
        let apart = (4..=7).flat_map(|step| [(step, 0, 1), (step, 1, 1), (step, 2, 1)]);
        let expected: Vec<_> = [(3, 0, 4), (3, 1, 3), (3, 2, 2)]
            .into_iter()
            .chain(apart)
            .collect();
        assert_eq!(told, expected);
        let middles = lines.iter().map(|l| (l.ln_mean.exp() * 1e9).round());
        let middles: Vec<_> = middles.collect();
        let of_the_last = [4.0, 5.0, 6.0, 70.0].into_iter().flat_map(|ns| [ns; 3]);
        let expected: Vec<_> = [1.0, 2.0, 2.0].into_iter().chain(of_the_last).collect();
        assert_eq!(middles, expected);
        // Reported calls are not reported again.
        gathering.step_ended(7999);
        assert!(call(8000, 1000, 1));
        follow(&mut gathering, &mut run)?;
        let (new, lines) = gathering.tell(8, |_| None);
        let told: Vec<_> = lines.iter().map(|l| (l.step, l.kind, l.calls)).collect();
        assert_eq!((new.len(), told), (0, vec![(8, 0, 1)]));
        Ok(())
    }
}
