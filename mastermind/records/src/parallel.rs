//! Processes many logs by several threads. The results are in the order of the logs, so they do not depend on the
//! number of threads.

use std::num::NonZeroUsize;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{available_parallelism, scope};

/// Applies a function to each item, with as many threads as processors.
///
/// # Arguments
/// * `work` - receives an item by value
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
    // Results may be large, so each is stored in its final position and not moved.
    let results: Vec<OnceLock<R>> = (0..n_items).map(|_| OnceLock::new()).collect();
    let items = Mutex::new(items.into_iter().enumerate());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let each = || {
        while let Some((place, item)) = next() {
            // No other thread writes to this position.
            let _ = results[place].set(work(item));
        }
    };
    scope(|scope| {
        for _ in 1..n_threads.min(n_items) {
            scope.spawn(each);
        }
        each();
    });
    // All results are there: a panic in a thread would have ended the scope.
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
