//! The calls of a method for a figure: all of them, or a regular sample of very many, so that memory does not grow with
//! the run.
//!
//! Input: a run and names of methods. Output: [`Calls`] of each, at most `MAX_KEPT`.

use mastermind_records::{ExclusiveTimes, Record, Run};
use rustc_hash::FxHashMap;

use crate::names::{self, NameError, Names};

/// Maximum number of calls kept.
const MAX_KEPT: usize = 100_000;

/// Factor by which calls are thinned if there are more; odd, so that both of two alternating modes stay.
const THINNED: usize = 3;

/// A call that did not fail.
pub struct Call<'r> {
    /// Rank that made it.
    pub rank: u32,
    /// Its number among the calls of the rank, from 1.
    pub nth: u64,
    /// Its record.
    pub record: Record<'r>,
    /// Time without the measured calls made from it, nanoseconds.
    pub own_ns: u64,
}

/// Calls of a method.
pub struct Calls<'r> {
    /// The method's whole name.
    pub name: String,
    /// Number of calls.
    pub n: usize,
    /// One of this many calls is kept.
    pub every: usize,
    /// The kept calls, at least one.
    pub kept: Vec<Call<'r>>,
}

impl<'r> Calls<'r> {
    /// The calls of one method.
    ///
    /// # Arguments
    /// * `typed` - a name of the method
    ///
    /// # Errors
    /// No such method; no calls of it.
    pub fn of(run: &'r Run, typed: &str) -> Result<Self, NameError> {
        const NO_CALLS: &str = "no calls of it";
        let known = names::of_run(run);
        let place = names::one("draw", typed, NO_CALLS, &known)?;
        let name = known[place].shown().to_owned();
        let calls = Self::of_methods(run, vec![name]).pop();
        calls.ok_or_else(|| names::unknown("draw", typed, NO_CALLS, &known))
    }

    /// The calls of several methods, by their whole names; methods without calls are left out. The logs are read once.
    pub fn of_methods(run: &'r Run, names: Vec<String>) -> Vec<Self> {
        let of_name = |name| Calls {
            name,
            n: 0,
            every: 1,
            kept: Vec::new(),
        };
        let mut methods: Vec<_> = names.into_iter().map(of_name).collect();
        for rank in run.ranks() {
            let mut made = vec![0; methods.len()];
            for (log, _) in run.logs_of(rank) {
                let known = log.definitions().methods();
                let place = |method| {
                    let name = Names::of_run(method);
                    methods.iter().position(|calls| calls.name == name.shown())
                };
                let places: FxHashMap<u32, usize> = known
                    .filter_map(|method| Some((method.id, place(method)?)))
                    .collect();
                let mut records = ExclusiveTimes::new(log);
                // The adaptors of an iterator would move each record several times.
                while let Some((record, own)) = records.next_record() {
                    let Some(&place) = places.get(&record.method.id) else {
                        continue;
                    };
                    if !record.failed && !log.lacks_calls_of(&record) {
                        made[place] += 1;
                        methods[place].take(rank, made[place], record, own.wall_ns);
                    }
                }
            }
        }
        methods.retain(|calls| calls.n > 0);
        methods
    }

    fn take(&mut self, rank: u32, nth: u64, record: Record<'r>, own_ns: u64) {
        if self.n.is_multiple_of(self.every) {
            self.kept.push(Call {
                rank,
                nth,
                record,
                own_ns,
            });
        }
        self.n += 1;
        if self.kept.len() == MAX_KEPT {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                (place - 1) % THINNED == 0
            });
            self.every *= THINNED;
        }
    }
}
