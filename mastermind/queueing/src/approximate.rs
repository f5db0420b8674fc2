//! Mean value analysis without the smaller populations: their queues are estimated from those of the whole one.
//!
//! Of a station with m servers and demand D the approximations make a single server with demand D / m and a delay of D (m - 1) / m
//! before it (Seidmann): right where it is empty, and where it is full.

use crate::network::{Kind, Network, NetworkError, Solution};

/// Rounds until a fixed point has to be reached. A round multiplies the distance by less than the utilisation of the fullest station,
/// so that 0.99 needs some 2,000.
const MAX_ROUNDS: usize = 100_000;

/// Least change of a queue share that counts: a millionth of the error of the approximations.
const PRECISION: f64 = 1e-10;

/// Times that [`linearizer`] estimates the changes of queue shares (Chandy and Neuse: three).
const ESTIMATES: usize = 3;

/// By station and class.
type Matrix = Vec<Vec<f64>>;

/// A network whose stations have a single server, or none that is waited for.
struct Simple<'a> {
    network: &'a Network,
    /// By station and class: demand of the single server, and what is never waited for.
    queued_s: Matrix,
    delay_s: Matrix,
}

impl<'a> Simple<'a> {
    fn new(network: &'a Network) -> Self {
        let share = |kind: Kind| match kind {
            Kind::Queue { servers } => 1.0 / f64::from(servers),
            Kind::Delay => 0.0,
        };
        let part = |of: &dyn Fn(f64) -> f64| -> Matrix {
            let stations = network.stations.iter();
            let row = |factor: f64, demand: &[f64]| demand.iter().map(|d| d * factor).collect();
            stations
                .map(|station| row(of(share(station.kind)), &station.demand_s))
                .collect()
        };
        Self {
            network,
            queued_s: part(&|share| share),
            delay_s: part(&|share| 1.0 - share),
        }
    }

    fn n_classes(&self) -> usize {
        self.network.classes.len()
    }

    /// Throughputs and residence times of some populations, where `seen` gives how many customers one of a class finds at a station.
    fn step(&self, customers: &[f64], seen: impl Fn(usize, usize) -> f64) -> (Vec<f64>, Matrix) {
        let n = self.n_classes();
        let mut residence_s = vec![vec![0.0; n]; self.queued_s.len()];
        let mut throughput = vec![0.0; n];
        for r in 0..n {
            let mut cycle_s = self.network.classes[r].think_s;
            for (i, residence_s) in residence_s.iter_mut().enumerate() {
                let found = 1.0 + seen(i, r);
                residence_s[r] = self.queued_s[i][r] * found + self.delay_s[i][r];
                cycle_s += residence_s[r];
            }
            throughput[r] = customers[r] / cycle_s;
        }
        (throughput, residence_s)
    }

    /// Equal shares at all stations that are queued for.
    fn equal_shares(&self) -> Matrix {
        let has_queue = |demand: &&Vec<f64>| demand.iter().any(|d| *d > 0.0);
        let n_queues = self.queued_s.iter().filter(has_queue).count();
        let equal = 1.0 / n_queues.max(1) as f64;
        vec![vec![equal; self.n_classes()]; self.queued_s.len()]
    }

    /// The fixed point of some populations: the share of each class that waits for, or is served by, the server of each station.
    ///
    /// # Arguments
    /// * `changes` - by class that is one less: how the shares change, by station and class
    /// * `share` - where it begins
    fn fixed_point(
        &self,
        customers: &[f64],
        changes: &[Matrix],
        mut share: Matrix,
    ) -> Result<Fixed, NetworkError> {
        let n = self.n_classes();
        for _ in 0..MAX_ROUNDS {
            let seen = |i: usize, r: usize| -> f64 {
                let classes = (0..n).map(|s| {
                    let less = customers[s] - f64::from(u8::from(s == r));
                    less.max(0.0) * (share[i][s] + changes[r][i][s])
                });
                classes.sum::<f64>().max(0.0)
            };
            let (throughput, residence_s) = self.step(customers, seen);
            let mut change: f64 = 0.0;
            for i in 0..share.len() {
                for r in (0..n).filter(|r| customers[*r] > 0.0) {
                    let waited_s = residence_s[i][r] - self.delay_s[i][r];
                    let next = throughput[r] * waited_s / customers[r];
                    change = change.max((next - share[i][r]).abs());
                    share[i][r] = next;
                }
            }
            if change <= PRECISION {
                return Ok(Fixed {
                    share,
                    throughput,
                    residence_s,
                });
            }
        }
        let rounds = MAX_ROUNDS;
        Err(NetworkError::NotSettled { rounds })
    }
}

struct Fixed {
    share: Matrix,
    throughput: Vec<f64>,
    residence_s: Matrix,
}

fn customers_of(network: &Network) -> Vec<f64> {
    let classes = network.classes.iter();
    classes.map(|class| f64::from(class.customers)).collect()
}

/// Approximates a network by Bard's and Schweitzer's assumption: with a customer less, the others are spread over the stations as before.
///
/// # Errors
/// [`NetworkError`].
pub fn bard_schweitzer(network: &Network) -> Result<Solution, NetworkError> {
    network.check()?;
    let simple = Simple::new(network);
    let none =
        vec![vec![vec![0.0; simple.n_classes()]; network.stations.len()]; simple.n_classes()];
    let found = simple.fixed_point(&customers_of(network), &none, simple.equal_shares())?;
    Ok(Solution::new(network, found.throughput, found.residence_s))
}

/// Approximates a network by Linearizer: how customers are spread changes linearly with their number, and is estimated from
/// fixed points with one customer less.
///
/// # Errors
/// [`NetworkError`].
pub fn linearizer(network: &Network) -> Result<Solution, NetworkError> {
    network.check()?;
    let simple = Simple::new(network);
    let (n, customers) = (simple.n_classes(), customers_of(network));
    let mut changes = vec![vec![vec![0.0; n]; network.stations.len()]; n];
    // Each fixed point begins at the one before, which is near.
    let mut whole_share = simple.equal_shares();
    let mut less_shares = vec![simple.equal_shares(); n];
    for _ in 0..ESTIMATES {
        let whole = simple.fixed_point(&customers, &changes, whole_share)?.share;
        let mut next = changes.clone();
        for (r, next) in next.iter_mut().enumerate() {
            let mut less = customers.clone();
            less[r] = (less[r] - 1.0).max(0.0);
            let start = std::mem::take(&mut less_shares[r]);
            let found = simple.fixed_point(&less, &changes, start)?.share;
            for (next, (found, whole)) in next.iter_mut().zip(found.iter().zip(&whole)) {
                for s in 0..n {
                    // A class without customers has no share.
                    next[s] = match less[s] > 0.0 {
                        true => found[s] - whole[s],
                        false => 0.0,
                    };
                }
            }
            less_shares[r] = found;
        }
        (changes, whole_share) = (next, whole);
    }
    let found = simple.fixed_point(&customers, &changes, whole_share)?;
    Ok(Solution::new(network, found.throughput, found.residence_s))
}
