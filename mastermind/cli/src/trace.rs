//! Reads the file in which the processes of a wrapped program wrote what they mapped, what they started, and which
//! calls were bound past a proxy. `proxies/audit` (`trace.rs`) and `mastermind/preload` (`started.rs`) define the
//! format.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Ending of the names of the files, one a rank.
pub const EXTENSION: &str = "mapped";

/// References that were bound to another library than the proxy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bound {
    /// How: `dlsym`, `call` or `slot`, as `proxies/audit` has them.
    pub how: String,
    /// The object that refers to it.
    pub from: PathBuf,
    /// The function.
    pub function: String,
    /// Whose function it is.
    pub to: PathBuf,
}

/// The definition that calls of `NAME@NUMBER` in the records go to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherDefinition {
    /// The function.
    pub function: String,
    /// 2 for the first that is not the one of the plain name.
    pub number: u32,
    /// The library.
    pub library: PathBuf,
    /// Its version of the symbol; empty without one.
    pub version: String,
}

/// All of it, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Programs that ran with the proxies.
    pub programs: BTreeSet<PathBuf>,
    /// Libraries that they mapped.
    pub objects: BTreeSet<PathBuf>,
    /// Objects that they mapped by `dlmopen`.
    pub elsewhere: BTreeSet<PathBuf>,
    /// Programs that were started, as their starters called them, and whether with the environment of `wrap`.
    pub started: BTreeMap<(PathBuf, bool), usize>,
    /// The definitions that the functions `NAME@NUMBER` represent.
    pub definitions: BTreeSet<OtherDefinition>,
    /// Whether a process has restricted its system calls, after which nothing of it is recorded.
    pub is_restricted: bool,
    /// Times that each was bound.
    pub bound: BTreeMap<Bound, usize>,
    /// Processes whose dynamic linker has begun, and those in which the program's own code ran.
    begun: BTreeSet<u32>,
    linked: BTreeSet<u32>,
    /// The addresses of stacks of calls, by process and number.
    stacks: BTreeMap<(u32, u64), Vec<u64>>,
    /// The mappings of a process, by address.
    maps: BTreeMap<u32, Map>,
}

/// The objects of a process by the addresses that they were moved by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Map {
    objects: BTreeMap<u64, PathBuf>,
    n_programs: usize,
}

impl Trace {
    /// Reads the file and removes it; a file that cannot be read counts as empty.
    pub fn take(path: &Path) -> Self {
        let mut trace = Self::default();
        trace.read(path);
        let _ = fs::remove_file(path);
        trace
    }

    /// Reads the files of a record directory whose `wrap` was killed, or still runs.
    pub fn of_open_run(directory: &Path) -> Self {
        let mut trace = Self::default();
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths
            .filter(|path| path.extension().is_some_and(|e| e == EXTENSION))
            .for_each(|path| trace.read(&path));
        trace
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn read(&mut self, path: &Path) {
        let text = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&text)
            .lines()
            .for_each(|line| self.add(line));
    }

    /// The object that an address of a process lies in, and its load offset; `None` if the process ran several programs
    /// in sequence, since it is not known which of them had the address.
    pub fn object_at(&self, process: u32, address: u64) -> Option<(&Path, u64)> {
        let map = self.maps.get(&process).filter(|map| map.n_programs == 1)?;
        let (moved_by, path) = map.objects.range(..=address).next_back()?;
        Some((path, *moved_by))
    }

    /// The addresses that the calls of a stack return to, the innermost first.
    pub fn stack(&self, process: u32, number: u64) -> Option<&[u64]> {
        self.stacks.get(&(process, number)).map(Vec::as_slice)
    }

    /// Whether a process ended while the dynamic linker made it ready, so that nothing of its program has run.
    pub fn ended_in_linker(&self, process: u32) -> bool {
        self.begun.contains(&process) && !self.linked.contains(&process)
    }

    fn map(&mut self, process: &str, path: &str, moved_by: &str) {
        if let (Ok(process), Ok(moved_by)) = (process.parse(), u64::from_str_radix(moved_by, 16)) {
            let map = self.maps.entry(process).or_default();
            map.objects.insert(moved_by, path.into());
        }
    }

    fn add(&mut self, line: &str) {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["program", process, path, moved_by] => {
                self.programs.insert(path.into());
                self.begun.extend(process.parse::<u32>());
                self.map(process, path, moved_by);
                if let Some(map) = process
                    .parse()
                    .ok()
                    .and_then(|process| self.maps.get_mut(&process))
                {
                    map.n_programs += 1;
                }
            }
            ["linked", process] => self.linked.extend(process.parse::<u32>()),
            ["restricted", _] => self.is_restricted = true,
            ["object", process, path, moved_by] => {
                self.objects.insert(path.into());
                self.map(process, path, moved_by);
            }
            ["stack", process, number, addresses] => {
                let addresses = addresses
                    .split(' ')
                    .map(|text| u64::from_str_radix(text, 16));
                let number = u64::from_str_radix(number, 16);
                if let (Ok(process), Ok(number), Ok(addresses)) =
                    (process.parse(), number, addresses.collect())
                {
                    self.stacks.insert((process, number), addresses);
                }
            }
            ["elsewhere", _, path] => drop(self.elsewhere.insert(path.into())),
            ["started", _, folder, path, how] => {
                // A name without a folder is one of `PATH`.
                let path = match path.contains('/') {
                    true => Path::new(folder).join(path),
                    false => path.into(),
                };
                *self.started.entry((path, how == "kept")).or_default() += 1;
            }
            [how @ ("dlsym" | "call" | "slot"), _, from, function, to] => {
                let bound = Bound {
                    how: how.into(),
                    from: from.into(),
                    function: function.into(),
                    to: to.into(),
                };
                *self.bound.entry(bound).or_default() += 1;
            }
            ["definition", _, function, number, library, version] => {
                if let Ok(number) = number.parse() {
                    self.definitions.insert(OtherDefinition {
                        function: function.into(),
                        number,
                        library: library.into(),
                        version: version.into(),
                    });
                }
            }
            // The first of a program's objects has no name; a line that was cut has too few fields.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_what_is_cut_is_left_out() {
        let mut trace = Trace::default();
        for line in [
            "program\t7\t/bin/a\t1000",
            "object\t7\t/lib/b.so\t7f00",
            "object\t8\t/lib/b.so\t8f00",
            "elsewhere\t7\t/lib/c.so",
            "started\t7\t/home\t./d\tcleared",
            "started\t7\t/home\te\tkept",
            "started\t7\t/home\te\tkept",
            "slot\t7\t/lib/b.so\tf\t/lib/g.so",
            "dlsym\t7\t/lib",
            "definition\t7\tf\t2\t/lib/g.so\tG_1",
            "definition\t7\tf\tx\t/lib/g.so\tG_1",
            "stack\t7\t4000000000000001\t7f10 1010",
            "stack\t7\t4000000000000002\t7f10 x",
        ] {
            trace.add(line);
        }
        assert_eq!(trace.programs, BTreeSet::from(["/bin/a".into()]));
        assert_eq!(trace.objects, BTreeSet::from(["/lib/b.so".into()]));
        let started = [(("/home/./d".into(), false), 1), (("e".into(), true), 2)];
        assert_eq!(trace.started, BTreeMap::from(started));
        let b = Path::new("/lib/b.so");
        assert_eq!(trace.object_at(7, 0x7f10), Some((b, 0x7f00)));
        assert_eq!(
            trace.object_at(7, 0x7e00),
            Some((Path::new("/bin/a"), 0x1000))
        );
        let definitions: Vec<_> = trace
            .definitions
            .iter()
            .map(|f| (f.number, &*f.version))
            .collect();
        assert_eq!(definitions, [(2, "G_1")]);
        assert_eq!(trace.stack(7, (1 << 62) + 1), Some(&[0x7f10, 0x1010][..]));
        assert_eq!(trace.stack(7, (1 << 62) + 2), None);
        assert!(trace.ended_in_linker(7) && !trace.ended_in_linker(8));
        trace.add("linked\t7");
        assert!(!trace.ended_in_linker(7));
        // Its program is not known, or there were two.
        assert_eq!(trace.object_at(8, 0x8f10), None);
        trace.add("program\t7\t/bin/c\t2000");
        assert_eq!(trace.object_at(7, 0x7f10), None);
        let bound: Vec<_> = trace.bound.keys().map(|bound| &bound.function).collect();
        assert_eq!(bound, ["f"]);
    }
}
