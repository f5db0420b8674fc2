//! The best few assemblies out of the tables of an elimination.
//!
//! The tables tell for every beginning of an assembly what it costs at least to complete it, exactly; so beginnings that are
//! continued in the order of that cost come out as assemblies in the order of theirs, and nothing else is looked at.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::eliminate::{Bucket, Elimination};
use super::network::Network;

/// A beginning: the last `settled` sites of the elimination order have their alternative.
struct Beginning {
    cost: f64,
    settled: usize,
    /// Position among the alternatives left, for each site of the network.
    values: Vec<usize>,
}

impl PartialEq for Beginning {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Beginning {}

impl PartialOrd for Beginning {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Beginning {
    /// The cheapest is the greatest; of equal ones the longest.
    fn cmp(&self, other: &Self) -> Ordering {
        let cost = other.cost.total_cmp(&self.cost);
        cost.then(self.settled.cmp(&other.settled))
    }
}

impl Elimination {
    /// The `k` best assemblies, cheapest first, fewer if there are not so many below `upper`: positions for each site.
    ///
    /// # Arguments
    /// * `upper` - only what costs less, the network's constant and settled sites left out of account
    pub fn k_best(&self, network: &Network, k: usize, upper: f64) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        let mut heap = BinaryHeap::new();
        heap.push(Beginning {
            cost: self.least,
            settled: 0,
            values: vec![0; network.unary.len()],
        });
        while let Some(beginning) = heap.pop() {
            if beginning.cost >= upper || found.len() == k {
                break;
            }
            if beginning.settled == self.buckets.len() {
                found.push(beginning.values);
                continue;
            }
            let bucket = &self.buckets[self.buckets.len() - 1 - beginning.settled];
            for (value, more) in self.continued(network, bucket, &beginning.values) {
                let cost = beginning.cost + more;
                if cost < upper {
                    let mut values = beginning.values.clone();
                    values[bucket.site] = value;
                    heap.push(Beginning {
                        cost,
                        settled: beginning.settled + 1,
                        values,
                    });
                }
            }
        }
        found
    }

    /// Each alternative of a bucket's site with what it costs more than the best one, all later sites being settled.
    fn continued(&self, network: &Network, bucket: &Bucket, values: &[usize]) -> Vec<(usize, f64)> {
        let mut costs = vec![0.0; network.n_left(bucket.site)];
        for &t in &bucket.tables {
            let table = &self.tables[t];
            let scope = &table.scope[..table.scope.len() - 1];
            let start = scope
                .iter()
                .fold(0, |at, &s| at * network.n_left(s) + values[s]);
            let row = &table.costs[start * costs.len()..];
            costs.iter_mut().zip(row).for_each(|(c, r)| *c += r);
        }
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let finite = |(_, cost): &(usize, f64)| *cost < f64::INFINITY;
        let continued = costs.into_iter().enumerate().filter(finite);
        continued
            .map(|(value, cost)| (value, cost - least))
            .collect()
    }
}
