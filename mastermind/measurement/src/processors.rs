//! The number of processors of the machine.

use std::thread::available_parallelism;

/// The processors that are online, as in `0-3,6`, whether or not the process may run on them: a launcher may bind each
/// rank to one.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Number of processors of this machine that are online; if the system does not report it, the number of processors on
/// which the process may run.
pub fn processors_online() -> u32 {
    let listed = std::fs::read_to_string(ONLINE).ok();
    let listed = listed.and_then(|list| n_listed(&list));
    listed.unwrap_or_else(|| available_parallelism().map_or(0, |n| n.get() as u32))
}

/// Whether ranks on this machine share processors, because there are more ranks than processors.
///
/// # Arguments
/// * `ranks` - number of ranks on this machine; `None` if the launcher does not report it
pub fn ranks_share_processors(ranks: Option<u32>) -> bool {
    ranks.is_some_and(|ranks| ranks > processors_online())
}

/// Number of elements in a list of ranges.
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
