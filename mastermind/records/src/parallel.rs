//! Work on many logs by several threads, with the results in the order of the logs: what is made of them does not depend on how many
//! threads there are.

use std::num::NonZeroUsize;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{available_parallelism, scope};

/// Applies a function to each item, by as many threads as there are processors.
///
/// # Arguments
/// * `work` - takes an item, which is gone then
///
/// # Returns
/// The results, in the order of the items.
pub fn in_parallel<T: Send, R: Send + Sync>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let n_threads = available_parallelism().map_or(1, NonZeroUsize::get);
    by_threads(n_threads, items, work)
}

fn by_threads<T: Send, R: Send + Sync>(
    n_threads: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let n_items = items.len();
    if n_threads.min(n_items) < 2 {
        return items.into_iter().map(work).collect();
    }
    // Each result has its place from the beginning: they may be large, and are not moved.
    let results: Vec<OnceLock<R>> = (0..n_items).map(|_| OnceLock::new()).collect();
    let items = Mutex::new(items.into_iter().enumerate());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let each = || {
        while let Some((place, item)) = next() {
            // Nobody else has this place.
            let _ = results[place].set(work(item));
        }
    };
    scope(|scope| {
        for _ in 1..n_threads.min(n_items) {
            scope.spawn(each);
        }
        each();
    });
    // All are there: a thread that panicked has ended the scope.
    results
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_whatever_the_number_of_threads() {
        for n_threads in [1, 2, 3, 50] {
            let results = by_threads(n_threads, (0..40).collect(), |item: i32| item * item);
            assert_eq!(results, (0..40).map(|item| item * item).collect::<Vec<_>>());
        }
        assert!(by_threads(2, Vec::<i32>::new(), |item| item).is_empty());
    }
}
