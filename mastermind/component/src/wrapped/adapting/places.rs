//! Where the calls of a log are among those of their interface.

use mastermind_records::Log;
use mastermind_records::definition::PROGRAM_CLASS;
use rustc_hash::FxHashMap;

use crate::wrapped::libraries::OTHER;

/// Call paths of a log.
#[derive(Default)]
pub(super) struct LogPaths {
    /// Whether it is a log of this process.
    pub(super) is_own: Option<bool>,
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
    pub(super) fn learn(&mut self, log: &Log, process: u32) {
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
