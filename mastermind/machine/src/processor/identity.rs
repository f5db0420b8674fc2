//! The system's description of the processor.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Level, offered};

/// A cache, as the system describes it. A virtual machine may describe one that it shares with others: trust the curve
/// of latencies rather than this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 for the nearest.
    pub level: u32,
    /// Bytes.
    pub bytes: u64,
    /// Lines that may hold one address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ways: Option<u32>,
    /// Bytes of a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_bytes: Option<u32>,
    /// Processors that share it.
    pub shared_by: usize,
}

/// Which processor it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// Its model.
    pub model: String,
    /// Its family, model and stepping, numbers of the maker.
    pub signature: String,
    /// The newest instructions that it has.
    pub level: Option<Level>,
    /// Its features, by the names that Linux gives.
    pub flags: Vec<String>,
    /// Processors of the machine.
    pub processors: usize,
    /// Caches of data of the first processor.
    pub caches: Vec<Cache>,
}

/// The system's description of the first processor; missing parts are empty.
pub fn identify() -> Identity {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut identity = from_text(&text);
    identity.level = offered();
    identity.caches = caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
    identity
}

fn from_text(text: &str) -> Identity {
    let field = |name: &str| {
        let value = |line: &str| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        };
        text.lines().find_map(value)
    };
    let numbers = ["vendor_id", "cpu family", "model", "stepping"];
    let numbers: Vec<String> = numbers.into_iter().filter_map(field).collect();
    Identity {
        model: field("model name").unwrap_or_default(),
        signature: numbers.join(" "),
        flags: field("flags")
            .unwrap_or_default()
            .split(' ')
            .map(str::to_owned)
            .collect(),
        processors: text
            .lines()
            .filter(|line| line.starts_with("processor"))
            .count(),
        ..Identity::default()
    }
}

fn caches(folder: &Path) -> Vec<Cache> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut caches: Vec<Cache> = entries.filter_map(|entry| cache(&entry.path())).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(folder: &Path) -> Option<Cache> {
    let read = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    if read("type")? == "Instruction" {
        return None;
    }
    let kib: u64 = read("size")?.trim_end_matches('K').parse().ok()?;
    Some(Cache {
        level: read("level")?.parse().ok()?,
        bytes: kib * 1024,
        ways: read("ways_of_associativity").and_then(|text| text.parse().ok()),
        line_bytes: read("coherency_line_size").and_then(|text| text.parse().ok()),
        shared_by: read("shared_cpu_list").map_or(1, |list| listed(&list)),
    })
}

/// How many numbers a list such as `0-3,8` has.
fn listed(list: &str) -> usize {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.saturating_sub(first) + 1)
    };
    list.split(',').filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_processors_is_counted() {
        assert_eq!(listed("0-3,8"), 5);
        assert_eq!(listed("7"), 1);
        assert_eq!(listed(""), 0);
    }

    #[test]
    fn a_description_is_read() {
        let text = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Xeon\nstepping\t: 2\n\
                    flags\t\t: fpu avx2\n\nprocessor\t: 1\nmodel name\t: Xeon\n";
        let found = from_text(text);
        assert_eq!(found.model, "Xeon");
        assert_eq!(found.signature, "GenuineIntel 6 207 2");
        assert_eq!(found.flags, ["fpu", "avx2"]);
        assert_eq!(found.processors, 2);
    }
}
