//! Classifies the call paths of a log: outermost calls of an interface, and calls within them.

use mastermind_records::Log;
use mastermind_records::definition::PROGRAM_CLASS;
use rustc_hash::FxHashMap;

use crate::wrapped::libraries::OTHER;

/// Call paths of a log.
#[derive(Default)]
pub(super) struct LogPaths {
    /// Whether this is a log of this process; `None` until its definition is read.
    pub(super) is_own: Option<bool>,
    n_known: usize,
    /// Place of each call path.
    places: FxHashMap<u32, Place>,
    /// Nanoseconds of calls within an open call of the same interface, by the path of the latter.
    within_ns: FxHashMap<u32, u64>,
}

/// Position of a call among those of its interface.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// A call by the program.
    Outermost,
    /// A call of the library by itself, with the path of the program's call.
    Within(u32),
    /// Not a call of an interface.
    Other,
}

impl LogPaths {
    /// Classifies new call paths.
    pub(super) fn learn(&mut self, log: &Log, process: u32) {
        let definitions = log.definitions();
        if self.is_own.is_none() {
            // 0 before the definition is read.
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

    /// Time of an outermost call, with the calls within it; `None` for any other call.
    pub(super) fn time_ns(&mut self, path: u32, own_ns: u64) -> Option<u64> {
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
    // Calls that another definition answers do not change with the chosen library.
    if [PROGRAM_CLASS, OTHER].contains(&&*method.class) || method.is_mpi() {
        return Place::Other;
    }
    let parent = |path: u32| definitions.call_path(path).map_or(0, |known| known.parent);
    let mut outer = None;
    let (mut at, mut above) = (path, parent(path));
    // Parents have lower numbers, so a damaged log cannot cause a cycle.
    while above != 0 && above < at {
        let is_same = definitions
            .method_of(above)
            .is_some_and(|caller| caller.instance == method.instance);
        outer = if is_same { Some(above) } else { outer };
        (at, above) = (above, parent(above));
    }
    outer.map_or(Place::Outermost, Place::Within)
}
