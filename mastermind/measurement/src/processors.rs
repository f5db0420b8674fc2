//! How many processors the machine has.

use std::thread::available_parallelism;

/// Which processors work, `0-3,6`, whichever of them the process may run on: a launcher may bind each rank to one.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Number of processors of this machine that work; if the system does not report it, those that the process may run
/// on.
pub fn processors_online() -> u32 {
    let listed = std::fs::read_to_string(ONLINE).ok();
    let listed = listed.and_then(|list| n_listed(&list));
    listed.unwrap_or_else(|| available_parallelism().map_or(0, |n| n.get() as u32))
}

/// Whether ranks on this machine take turns on a processor, since there are more of them.
///
/// # Arguments
/// * `ranks` - number of ranks on this machine; `None` if the launcher does not report it
pub fn ranks_share_processors(ranks: Option<u32>) -> bool {
    ranks.is_some_and(|ranks| ranks > processors_online())
}

/// How many numbers a list of ranges holds.
fn n_listed(list: &str) -> Option<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.trim().split(',').map(range).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_by_ranges() {
        assert_eq!(n_listed("0-1\n"), Some(2));
        assert_eq!(n_listed("0-3,6,8-9"), Some(7));
        assert_eq!(n_listed("0"), Some(1));
        assert_eq!(n_listed(""), None);
        assert_eq!(n_listed("3-1"), None);
        assert!(processors_online() >= 1);
    }
}
