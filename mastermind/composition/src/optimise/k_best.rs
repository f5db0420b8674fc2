//! The best few assemblies, read from the tables of an elimination.
//!
//! For every prefix of an assembly, the tables give the exact least cost to complete it. So if prefixes are extended in
//! the order of that cost, assemblies are completed in the order of their cost, and no others are visited.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::eliminate::{Bucket, Elimination};
use super::network::Network;

/// A prefix: the last `settled` sites of the elimination order have an alternative.
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
    /// The cheapest prefix is the greatest; among equal ones the longest.
    fn cmp(&self, other: &Self) -> Ordering {
        let cost = other.cost.total_cmp(&self.cost);
        cost.then(self.settled.cmp(&other.settled))
    }
}

impl Elimination {
    /// The `k` best assemblies as positions for each site, cheapest first; fewer if not enough of them cost less than
    /// `upper`.
    ///
    /// # Arguments
    /// * `upper` - limit of the cost, without the network's constant and its settled sites
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

    /// Each alternative of a bucket's site, with its cost above the best one, given that all later sites are settled.
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
