//! Work on many logs by several threads, with the results in the order of the logs: what is made of them does not depend on how many
//! threads there are.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope};

/// Applies a function to each item, by as many threads as there are processors.
///
/// # Arguments
/// * `work` - takes an item, which is gone then
///
/// # Returns
/// The results, in the order of the items.
pub fn in_parallel<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let n_threads = available_parallelism().map_or(1, NonZeroUsize::get);
    by_threads(n_threads, items, work)
}

fn by_threads<T: Send, R: Send>(
    n_threads: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let n_items = items.len();
    if n_threads.min(n_items) < 2 {
        return items.into_iter().map(work).collect();
    }
    let items = Mutex::new(items.into_iter().enumerate());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let each = || {
        let mut results = Vec::new();
        while let Some((place, item)) = next() {
            results.push((place, work(item)));
        }
        results
    };
    let mut results = scope(|scope| {
        let others: Vec<_> = (1..n_threads.min(n_items))
            .map(|_| scope.spawn(each))
            .collect();
        let mut results = each();
        for other in others {
            match other.join() {
                Ok(theirs) => results.extend(theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
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
