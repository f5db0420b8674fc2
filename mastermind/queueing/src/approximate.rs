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

/// Numbers by class and station, the stations of a class after one another.
#[derive(Clone)]
struct Matrix {
    n_stations: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn new(n_classes: usize, n_stations: usize, value: f64) -> Self {
        Self {
            n_stations,
            values: vec![value; n_classes * n_stations],
        }
    }

    fn of_class(&self, class: usize) -> &[f64] {
        &self.values[class * self.n_stations..][..self.n_stations]
    }

    fn of_class_mut(&mut self, class: usize) -> &mut [f64] {
        &mut self.values[class * self.n_stations..][..self.n_stations]
    }
}

/// A network whose stations have a single server, or none that is waited for.
struct Simple<'a> {
    network: &'a Network,
    /// Demand of the single server, and what is never waited for.
    queued_s: Matrix,
    delay_s: Matrix,
}

/// Shares of the classes at the stations that no round changes, with the throughputs and residence times that go with them.
struct Fixed {
    share: Matrix,
    throughput: Vec<f64>,
    residence_s: Matrix,
}

impl<'a> Simple<'a> {
    fn new(network: &'a Network) -> Self {
        let share = |kind: Kind| match kind {
            Kind::Queue { servers } => 1.0 / f64::from(servers),
            Kind::Delay => 0.0,
        };
        let part = |of: &dyn Fn(f64) -> f64| {
            let of_class = |class: usize| {
                let stations = network.stations.iter();
                stations.map(move |at| at.demand_s[class] * of(share(at.kind)))
            };
            Matrix {
                n_stations: network.stations.len(),
                values: (0..network.classes.len()).flat_map(of_class).collect(),
            }
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

    fn n_stations(&self) -> usize {
        self.network.stations.len()
    }

    fn filled(&self, value: f64) -> Matrix {
        Matrix::new(self.n_classes(), self.n_stations(), value)
    }

    /// Equal shares at all stations that are queued for.
    fn equal_shares(&self) -> Matrix {
        let queues = |class: usize, station: usize| self.queued_s.of_class(class)[station] > 0.0;
        let is_queue = |station: &usize| (0..self.n_classes()).any(|class| queues(class, *station));
        let n_queues = (0..self.n_stations()).filter(is_queue).count();
        self.filled(1.0 / n_queues.max(1) as f64)
    }

    /// What the changes of the shares add to the customers that one of each class finds.
    ///
    /// # Arguments
    /// * `changes` - by class that is one less
    fn found_by_changes(&self, customers: &[f64], changes: &[Matrix]) -> Matrix {
        let mut added = self.filled(0.0);
        for (r, changes) in changes.iter().enumerate() {
            for (s, customers) in customers.iter().enumerate() {
                let others = (customers - f64::from(u8::from(s == r))).max(0.0);
                let pairs = added.of_class_mut(r).iter_mut().zip(changes.of_class(s));
                pairs.for_each(|(added, change)| *added += others * change);
            }
        }
        added
    }

    /// The fixed point of some populations: the share of each class that waits for, or is served by, the server of each station.
    ///
    /// # Arguments
    /// * `changes` - by class that is one less: how the shares change
    /// * `share` - where it begins
    fn fixed_point(
        &self,
        customers: &[f64],
        changes: &[Matrix],
        share: Matrix,
    ) -> Result<Fixed, NetworkError> {
        let added = self.found_by_changes(customers, changes);
        let mut now = Fixed {
            share,
            throughput: vec![0.0; self.n_classes()],
            residence_s: self.filled(0.0),
        };
        let mut total = vec![0.0; self.n_stations()];
        let mut steps = Steps::default();
        for _ in 0..MAX_ROUNDS {
            steps.begin(&now.share.values);
            self.round(customers, &added, &mut now, &mut total);
            if steps.end(&mut now.share.values) <= PRECISION {
                return Ok(now);
            }
        }
        let rounds = MAX_ROUNDS;
        Err(NetworkError::NotSettled { rounds })
    }

    /// What the classes find where their shares are these, one class after the other, and the shares that follow from it.
    fn round(&self, customers: &[f64], added: &Matrix, now: &mut Fixed, total: &mut [f64]) {
        total.fill(0.0);
        for (class, customers) in customers.iter().enumerate() {
            let pairs = total.iter_mut().zip(now.share.of_class(class));
            pairs.for_each(|(total, share)| *total += customers * share);
        }
        for (r, class) in self.network.classes.iter().enumerate() {
            let (share, residence_s) = (now.share.of_class_mut(r), now.residence_s.of_class_mut(r));
            let (queued_s, delay_s) = (self.queued_s.of_class(r), self.delay_s.of_class(r));
            // Of its own class one finds all but itself.
            let own = customers[r].min(1.0);
            let found = total.iter().zip(&*share).zip(added.of_class(r));
            let found = found.map(|((total, share), added)| (added + total - own * share).max(0.0));
            let times = residence_s.iter_mut().zip(queued_s).zip(delay_s).zip(found);
            times.for_each(|(((residence_s, queued_s), delay_s), found)| {
                *residence_s = queued_s * (1.0 + found) + delay_s;
            });
            let cycle_s = class.think_s + residence_s.iter().sum::<f64>();
            now.throughput[r] = customers[r] / cycle_s;
            if customers[r] > 0.0 {
                let rate = 1.0 / cycle_s;
                let places = share.iter_mut().zip(&mut *total);
                let times = residence_s.iter().zip(delay_s);
                places
                    .zip(times)
                    .for_each(|((share, total), (residence_s, delay_s))| {
                        let next = (residence_s - delay_s) * rate;
                        *total += customers[r] * (next - *share);
                        *share = next;
                    });
            }
        }
    }

    fn solution(&self, found: Fixed) -> Solution {
        let residence_s = (0..self.n_stations()).map(|station| {
            let of_classes = (0..self.n_classes()).map(|r| found.residence_s.of_class(r)[station]);
            of_classes.collect()
        });
        Solution::new(self.network, found.throughput, residence_s.collect())
    }
}

/// Rounds on the way to a fixed point, which are made fewer: from two steps in a row follows where a sequence would end whose steps
/// shrink by one factor (Irons and Tuck, "A version of the Aitken accelerator for computer iteration", 1969).
#[derive(Default)]
struct Steps {
    before: Vec<f64>,
    /// Where the last round and the one before it ended, and the steps that they made.
    after: [Vec<f64>; 2],
    step: [Vec<f64>; 2],
}

impl Steps {
    /// Before a round.
    fn begin(&mut self, share: &[f64]) {
        self.before.clear();
        self.before.extend_from_slice(share);
    }

    /// After a round: moves the shares on where none would become negative.
    ///
    /// # Returns
    /// The largest change of the round itself.
    fn end(&mut self, share: &mut [f64]) -> f64 {
        self.after.swap(0, 1);
        self.step.swap(0, 1);
        let ([after, last_after], [step, last_step]) = (&mut self.after, &mut self.step);
        after.clear();
        after.extend_from_slice(share);
        step.clear();
        step.extend(after.iter().zip(&self.before).map(|(now, was)| now - was));
        let change = step
            .iter()
            .fold(0.0, |most: f64, step| most.max(step.abs()));
        let (mut along, mut square) = (0.0, 0.0);
        for (step, last) in step.iter().zip(last_step) {
            along += step * (step - *last);
            square += (step - *last) * (step - *last);
        }
        if square > 0.0 && change > PRECISION {
            let factor = along / square;
            let moved = |now: f64, last: f64| now - factor * (now - last);
            let pairs = || after.iter().zip(last_after.iter());
            let least = pairs().fold(0.0, |least: f64, (now, last)| least.min(moved(*now, *last)));
            if least >= 0.0 {
                let places = share.iter_mut().zip(pairs());
                places.for_each(|(share, (now, last))| *share = moved(*now, *last));
            }
        }
        change
    }
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
    let none = vec![simple.filled(0.0); simple.n_classes()];
    let found = simple.fixed_point(&customers_of(network), &none, simple.equal_shares())?;
    Ok(simple.solution(found))
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
    let mut changes = vec![simple.filled(0.0); n];
    // Each fixed point begins at the one before, which is near.
    let mut whole_share = simple.equal_shares();
    let mut less_shares = vec![simple.equal_shares(); n];
    for _ in 0..ESTIMATES {
        let whole = simple.fixed_point(&customers, &changes, whole_share)?.share;
        for (r, share) in less_shares.iter_mut().enumerate() {
            let mut less = customers.clone();
            less[r] = (less[r] - 1.0).max(0.0);
            *share = simple.fixed_point(&less, &changes, share.clone())?.share;
        }
        for (r, change) in changes.iter_mut().enumerate() {
            for (s, customers) in customers.iter().enumerate() {
                // A class without customers has no share.
                let is_there = customers - f64::from(u8::from(s == r)) > 0.0;
                let pairs = less_shares[r].of_class(s).iter().zip(whole.of_class(s));
                let places = change.of_class_mut(s).iter_mut().zip(pairs);
                places.for_each(|(change, (less, whole))| {
                    *change = if is_there { less - whole } else { 0.0 };
                });
            }
        }
        whole_share = whole;
    }
    let found = simple.fixed_point(&customers, &changes, whole_share)?;
    Ok(simple.solution(found))
}
