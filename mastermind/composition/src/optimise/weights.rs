//! Weighted sums of two objectives: points of the Pareto front, and bounds on further points.
//!
//! Minimising `a x + b y` for some weights gives a point of the front and a lower bound: no assembly has a smaller sum.
//! Two neighbouring known points span a corner; a new point between them costs at most as much as the corner in both
//! objectives. The next weights are always those of the line through the two neighbours that leave most room.
//! [`Weighing::may_count`] drops the points of a table that no completion within the bounds can bring below a corner.
//!
//! ```text
//! y
//! |  p . . . . c     p, q  known points of the front
//! |            .     c     corner (q.x, p.y): a new point between p and q lies left of it and below it
//! |            .
//! |            q
//! +--------------- x
//! ```

use super::eliminate::{Bucket, Elimination};
use super::network::Network;
use super::order::Order;
use super::pareto::cheapest_for;
use super::problem::Problem;

/// Largest number of weightings.
const MAX_WEIGHINGS: usize = 40;

/// Rounding error of a bound, relative to the costs.
const ROUNDING: f64 = 1e-11;

/// Bounds that decide which points of a table can become points of the front.
#[derive(Debug, Default)]
pub(super) struct Weighing {
    weights: Vec<[f64; 2]>,
    /// For each bucket, combination of its scope, and weight: the least cost of everything outside the bucket.
    outside: Vec<Vec<Vec<f64>>>,
    /// For each corner between known points of the front, and each weight: the largest weighted cost of a new point
    /// there.
    corners: Vec<Vec<f64>>,
    /// For each corner, the weight that excludes most, which is tested first.
    sharpest: Vec<usize>,
}

impl Weighing {
    /// Whether a point of a table can still become a point of the front.
    pub fn may_count<const N: usize>(
        &self,
        bucket: usize,
        combination: usize,
        costs: &[f64; N],
    ) -> bool {
        if self.weights.is_empty() {
            return true;
        }
        let outside = &self.outside[bucket][combination];
        let total = |w: usize| {
            let [a, b] = self.weights[w];
            a * costs[0] + b * costs[1] + outside[w]
        };
        let within = |w: usize, corner: &[f64]| total(w) <= corner[w];
        let corners = self.corners.iter().zip(&self.sharpest);
        let mut open = corners.filter(|&(corner, &w)| within(w, corner));
        open.any(|(corner, _)| (0..self.weights.len()).all(|w| within(w, corner)))
    }
}

/// Minimises weighted sums of two objectives, each time between the two neighbouring points that leave most room.
pub(super) fn weigh(objectives: &[Problem], order: &Order) -> Weighing {
    let mut weighing = Weighing {
        outside: order.scopes.iter().map(|_| Vec::new()).collect(),
        ..Weighing::default()
    };
    let mut points: Vec<[f64; 2]> = Vec::new();
    for weights in [[1.0, 0.0], [0.0, 1.0]] {
        if !add(&mut weighing, &mut points, objectives, order, weights) {
            return Weighing::default();
        }
    }
    // The ends may be dominated in the other objective, which makes bounds wider but not wrong.
    let mut settled: Vec<[f64; 2]> = Vec::new();
    while weighing.weights.len() < MAX_WEIGHINGS {
        sort(&mut points);
        let room = |pair: &&[[f64; 2]]| (pair[1][0] - pair[0][0]) * (pair[0][1] - pair[1][1]);
        let open = points
            .windows(2)
            .filter(|pair| !settled.contains(&normal(pair)) && room(pair) > 0.0);
        let Some(pair) = open.max_by(|a, b| room(a).total_cmp(&room(b))) else {
            break;
        };
        let weights = normal(pair);
        settled.push(weights);
        add(&mut weighing, &mut points, objectives, order, weights);
    }
    sort(&mut points);
    weighing.close(&points);
    weighing
}

/// Weights for which both points cost the same; their sum is 1 in the scale of the points.
fn normal(pair: &[[f64; 2]]) -> [f64; 2] {
    let (a, b) = (pair[0][1] - pair[1][1], pair[1][0] - pair[0][0]);
    [a / (a + b), b / (a + b)]
}

/// Sorts the points in ascending order and removes dominated ones.
fn sort(points: &mut Vec<[f64; 2]>) {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let mut least = f64::INFINITY;
    points.retain(|p| {
        let kept = p[1] < least;
        least = least.min(p[1]);
        kept
    });
}

/// Solves the problem for one pair of weights; false if nothing is allowed.
fn add(
    weighing: &mut Weighing,
    points: &mut Vec<[f64; 2]>,
    objectives: &[Problem],
    order: &Order,
    weights: [f64; 2],
) -> bool {
    let Some((costs, elimination, network)) = cheapest_for(objectives, order, &weights) else {
        return false;
    };
    points.push([costs[0], costs[1]]);
    weighing.weights.push(weights);
    let settled = (0..network.unary.len()).filter(|&s| network.n_left(s) == 1);
    let base = network.constant + settled.map(|s| network.unary[s][0]).sum::<f64>();
    for (bucket, outside) in outside(&elimination, &network, order)
        .into_iter()
        .enumerate()
    {
        let rows = &mut weighing.outside[bucket];
        rows.resize(outside.len(), Vec::new());
        for (row, cost) in rows.iter_mut().zip(outside) {
            row.push(cost + base);
        }
    }
    true
}

impl Weighing {
    fn close(&mut self, points: &[[f64; 2]]) {
        let scale = points
            .iter()
            .flatten()
            .fold(0.0, |a: f64, b| a.max(b.abs()));
        let inner = points.windows(2).map(|pair| [pair[1][0], pair[0][1]]);
        let ends = match points {
            [first, .., last] => vec![[first[0], f64::INFINITY], [f64::INFINITY, last[1]]],
            [only] => vec![[only[0], f64::INFINITY], [f64::INFINITY, only[1]]],
            [] => Vec::new(),
        };
        let times = |weight: f64, cost: f64| if weight == 0.0 { 0.0 } else { weight * cost };
        for corner in inner.chain(ends) {
            let most: Vec<f64> = self
                .weights
                .iter()
                .map(|[a, b]| times(*a, corner[0]) + times(*b, corner[1]) + ROUNDING * scale)
                .collect();
            // The weight for which the corner is least above the lower bound.
            let least: Vec<f64> = (self.weights.iter())
                .map(|[a, b]| {
                    let costs = points.iter().map(|p| a * p[0] + b * p[1]);
                    costs.fold(f64::INFINITY, f64::min)
                })
                .collect();
            let excess = |w: usize| most[w] - least[w];
            let sharpest = (0..most.len()).min_by(|&v, &w| excess(v).total_cmp(&excess(w)));
            self.sharpest.push(sharpest.unwrap_or(0));
            self.corners.push(most);
        }
    }
}

/// For each bucket and combination of its scope: the least cost of all sites except those below the bucket.
fn outside(elimination: &Elimination, network: &Network, order: &Order) -> Vec<Vec<f64>> {
    let buckets = &elimination.buckets;
    let mut outside: Vec<Vec<f64>> = vec![Vec::new(); buckets.len()];
    for (i, bucket) in buckets.iter().enumerate().rev() {
        if order.scopes[i].is_empty() {
            // The least cost of the other trees of the forest.
            outside[i] = vec![elimination.least - elimination.tables[bucket.message].costs[0]];
        }
        let children: Vec<usize> = (0..i)
            .filter(|&c| bucket.tables.contains(&buckets[c].message))
            .collect();
        if children.is_empty() {
            continue;
        }
        let mut scope = order.scopes[i].clone();
        scope.push(bucket.site);
        let total = total(elimination, network, bucket, &scope, &outside[i]);
        for child in children {
            outside[child] = without(elimination, network, &buckets[child], &scope, &total);
        }
    }
    outside
}

/// The least total cost for each combination of a bucket's site and scope, the site as the fastest index.
fn total(
    elimination: &Elimination,
    network: &Network,
    bucket: &Bucket,
    scope: &[usize],
    outside: &[f64],
) -> Vec<f64> {
    let n = network.n_left(bucket.site);
    let spread = outside.iter().flat_map(|&o| std::iter::repeat_n(o, n));
    let mut total: Vec<f64> = spread.collect();
    for &t in &bucket.tables {
        let table = &elimination.tables[t];
        visit(network, scope, &table.scope, |at, within| {
            total[at] += table.costs[within]
        });
    }
    total
}

/// Minimises `total` over all but the scope of a child's message, and subtracts that message.
fn without(
    elimination: &Elimination,
    network: &Network,
    child: &Bucket,
    scope: &[usize],
    total: &[f64],
) -> Vec<f64> {
    let message = &elimination.tables[child.message];
    let mut least = vec![f64::INFINITY; message.costs.len()];
    visit(network, scope, &message.scope, |at, within| {
        least[within] = least[within].min(total[at]);
    });
    let pairs = least.iter().zip(&message.costs);
    // Combinations that the message forbids count as 0.
    pairs
        .map(|(l, m)| if m.is_finite() { l - m } else { 0.0 })
        .collect()
}

/// Calls `f` with the index of each combination of `scope`, and its index in a table over the subset `part`.
fn visit(network: &Network, scope: &[usize], part: &[usize], mut f: impl FnMut(usize, usize)) {
    let sizes: Vec<usize> = scope.iter().map(|&s| network.n_left(s)).collect();
    let steps: Vec<usize> = scope
        .iter()
        .map(|s| match part.iter().position(|p| p == s) {
            Some(at) => part[at + 1..].iter().map(|&p| network.n_left(p)).product(),
            None => 0,
        })
        .collect();
    let mut digits = vec![0; scope.len()];
    let mut within = 0;
    for at in 0..sizes.iter().product() {
        f(at, within);
        for i in (0..digits.len()).rev() {
            digits[i] += 1;
            within += steps[i];
            if digits[i] < sizes[i] {
                break;
            }
            within -= steps[i] * sizes[i];
            digits[i] = 0;
        }
    }
}
