//! The same work on many things, on all processors.

/// The results, in the order of the things.
pub(crate) fn map<T: Sync, R: Send>(things: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let n = std::thread::available_parallelism().map_or(1, usize::from);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(thing) = things.get(place) else {
                return done;
            };
            done.push((place, work(thing)));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n.min(things.len()))
            .map(|_| scope.spawn(take))
            .collect();
        let done = threads.into_iter().flat_map(|thread| {
            let done = thread.join();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        done.collect::<Vec<_>>()
    });
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_in_order() {
        let things: Vec<u32> = (0..1000).collect();
        assert_eq!(
            super::map(&things, |n| n + 1),
            (1..1001).collect::<Vec<_>>()
        );
        assert!(super::map(&[], |n: &u32| *n).is_empty());
    }
}
