//! The exact Pareto front: variable elimination with Pareto fronts as messages.
//!
//! With two objectives, several weighted sums are minimised first. The assemblies of least weighted cost are points of
//! the front. Together with lower bounds of the cost outside a table, for each weight and combination, they exclude
//! most of the points that cannot become part of the front.
//!
//! ```text
//! alternatives of one site, time and memory:  (3, 1)  (2, 4)  (3, 2)
//! message of the site:                        (2, 4)  (3, 1)           (3, 1) beats (3, 2)
//! ```

use super::eliminate::eliminate;
use super::network::Network;
use super::order::{Order, elimination_order};
use super::problem::{Problem, ProblemError};
use super::weights::{Weighing, weigh};

/// Largest number of table values, each with a front of its own.
const MAX_VALUES: u64 = 50_000_000;

/// One assembly of the front.
#[derive(Debug, Clone, PartialEq)]
pub struct ParetoPoint {
    /// Index of the alternative of each site.
    pub choice: Vec<usize>,
    /// Its cost in each objective, in their order.
    pub costs: Vec<f64>,
}

/// Computes the exact Pareto front: one assembly for each combination of costs that no assembly beats in one objective
/// without being worse in another one.
///
/// # Arguments
/// * `objectives` - one to four problems with the same sites and alternatives, each with its own costs; what one of
///   them forbids is forbidden
///
/// # Returns
/// The front, ascending in the first objective.
///
/// # Errors
/// [`ProblemError::Objectives`]; [`ProblemError::Infeasible`]; [`ProblemError::TooLarge`].
pub fn pareto_front(objectives: &[Problem]) -> Result<Vec<ParetoPoint>, ProblemError> {
    let shape = |problem: &Problem| -> Vec<Vec<String>> {
        let sites = problem.sites().iter();
        sites.map(|site| site.alternatives.clone()).collect()
    };
    let Some(first) = objectives.first() else {
        return Ok(Vec::new());
    };
    if let Some(at) = objectives.iter().position(|o| shape(o) != shape(first)) {
        return Err(ProblemError::Objectives { objective: at + 1 });
    }
    match objectives.len() {
        1 => front::<1>(objectives),
        2 => front::<2>(objectives),
        3 => front::<3>(objectives),
        4 => front::<4>(objectives),
        _ => Err(ProblemError::Objectives { objective: 5 }),
    }
}

/// The weighted sum of the objectives; what one of them forbids is forbidden.
pub(super) fn combined(objectives: &[Problem], weights: &[f64]) -> Problem {
    let times = |costs: &[f64], weight: f64| -> Vec<f64> {
        let scaled = |&c: &f64| if c == f64::INFINITY { c } else { c * weight };
        costs.iter().map(scaled).collect()
    };
    let mut sum = Problem::new();
    for (i, site) in objectives[0].sites().iter().enumerate() {
        let mut costs = vec![0.0; site.costs.len()];
        for (objective, &weight) in objectives.iter().zip(weights) {
            let more = times(&objective.sites()[i].costs, weight);
            costs.iter_mut().zip(more).for_each(|(c, m)| *c += m);
        }
        // The shapes are those of a checked problem.
        let _ = sum.add_site(&site.name, &site.alternatives, &costs);
    }
    for (objective, &weight) in objectives.iter().zip(weights) {
        for pair in objective.pairs() {
            let _ = sum.add_pair(pair.first, pair.second, &times(&pair.costs, weight));
        }
    }
    sum
}

fn front<const N: usize>(objectives: &[Problem]) -> Result<Vec<ParetoPoint>, ProblemError> {
    let infeasible = || ProblemError::Infeasible {
        hint: "take back a requirement, or add an alternative that meets it".into(),
    };
    let network = Network::new(&combined(objectives, &[1.0; N])).ok_or_else(infeasible)?;
    let order = elimination_order(&network);
    if order.work > MAX_VALUES {
        return Err(ProblemError::TooLarge {
            values: order.work,
            limit: MAX_VALUES,
        });
    }
    let weighing = match N {
        2 => weigh(objectives, &order),
        _ => Weighing::default(),
    };
    let mut fronts = Fronts::<N>::new(objectives, &network, &order);
    for bucket in 0..order.sites.len() {
        fronts.fill(bucket, &weighing);
    }
    let mut found: Vec<ParetoPoint> = fronts
        .assemblies()
        .into_iter()
        .map(|values| {
            let choice = network.choice(&values);
            let costs = objectives.iter().map(|o| o.cost(&choice)).collect();
            ParetoPoint { choice, costs }
        })
        .collect();
    if found.iter().all(|p| p.costs.contains(&f64::INFINITY)) {
        return Err(infeasible());
    }
    found.sort_by(|a, b| {
        a.costs
            .partial_cmp(&b.costs)
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(found)
}

/// Costs in all objectives of a partial sum, and the points it was made of: one of the sum before, one of the next
/// message.
#[derive(Debug, Clone, Copy)]
struct Partial<const N: usize> {
    costs: [f64; N],
    before: usize,
    joined: usize,
}

/// An elimination with fronts as messages.
struct Fronts<'a, const N: usize> {
    network: &'a Network,
    order: &'a Order,
    /// Costs that depend on sites: the scope, latest first, and the table.
    tables: Vec<(Vec<usize>, Vec<[f64; N]>)>,
    /// The tables of each bucket.
    members: Vec<Vec<usize>>,
    /// For each bucket, the buckets that send their messages to it.
    children: Vec<Vec<usize>>,
    /// Buckets that send their message to no other.
    roots: Vec<usize>,
    /// For each bucket, a front for each combination of its scope.
    messages: Vec<Vec<Vec<[f64; N]>>>,
}

impl<'a, const N: usize> Fronts<'a, N> {
    fn new(objectives: &[Problem], network: &'a Network, order: &'a Order) -> Self {
        let mut rank = vec![usize::MAX; network.unary.len()];
        for (i, &site) in order.sites.iter().enumerate() {
            rank[site] = i;
        }
        let mut fronts = Self {
            network,
            order,
            tables: Vec::new(),
            members: vec![Vec::new(); order.sites.len()],
            children: vec![Vec::new(); order.sites.len()],
            roots: Vec::new(),
            messages: Vec::new(),
        };
        for (i, scope) in order.scopes.iter().enumerate() {
            match scope.last() {
                Some(&next) => fronts.children[rank[next]].push(i),
                None => fronts.roots.push(i),
            }
        }
        for &site in &order.sites {
            fronts.add_table(objectives, &[site], &rank);
        }
        for e in network.open_edges() {
            let mut scope = [network.edges[e].first, network.edges[e].second];
            scope.sort_by_key(|&s| std::cmp::Reverse(rank[s]));
            fronts.add_table(objectives, &scope, &rank);
        }
        fronts
    }

    /// Adds the costs of one or two sites in each objective, including those with settled neighbours.
    fn add_table(&mut self, objectives: &[Problem], scope: &[usize], rank: &[usize]) {
        let domains = &self.network.domains;
        let combinations: Vec<Vec<usize>> = match *scope {
            [a, b] => domains[a]
                .iter()
                .flat_map(|&x| domains[b].iter().map(move |&y| vec![x, y]))
                .collect(),
            [a, ..] => domains[a].iter().map(|&x| vec![x]).collect(),
            [] => Vec::new(),
        };
        let table = combinations.iter().map(|combination| {
            std::array::from_fn(|o| self.cost_in(&objectives[o], scope, combination))
        });
        let table = table.collect();
        if let Some(&fastest) = scope.last() {
            self.members[rank[fastest]].push(self.tables.len());
        }
        self.tables.push((scope.to_vec(), table));
    }

    fn cost_in(&self, objective: &Problem, scope: &[usize], combination: &[usize]) -> f64 {
        let chosen = |site: usize| {
            scope
                .iter()
                .position(|&s| s == site)
                .map(|i| combination[i])
        };
        let settled = |site: usize| match self.network.domains[site][..] {
            [only] => Some(only),
            _ => None,
        };
        let pairs = objective.pairs().iter().filter_map(|pair| {
            let ends = [pair.first, pair.second];
            let values = match scope {
                [site] if ends.contains(site) => ends.map(|s| chosen(s).or(settled(s))),
                [_, _] => ends.map(chosen),
                _ => [None; 2],
            };
            let [Some(a), Some(b)] = values else {
                return None;
            };
            let columns = objective.sites()[pair.second].costs.len();
            Some(pair.costs[a * columns + b])
        });
        let alone = match *scope {
            [site] => objective.sites()[site].costs[combination[0]],
            _ => 0.0,
        };
        alone + pairs.sum::<f64>()
    }

    /// Computes the message of a bucket.
    fn fill(&mut self, bucket: usize, weighing: &Weighing) {
        let scope = &self.order.scopes[bucket];
        let sizes: Vec<usize> = scope.iter().map(|&s| self.network.n_left(s)).collect();
        let n_combinations: usize = sizes.iter().product();
        let mut values = vec![0; self.network.unary.len()];
        let mut message = Vec::with_capacity(n_combinations);
        let mut all = Vec::new();
        for combination in 0..n_combinations {
            let mut rest = combination;
            for (&site, &size) in scope.iter().zip(&sizes).rev() {
                values[site] = rest % size;
                rest /= size;
            }
            all.clear();
            for value in 0..self.network.n_left(self.order.sites[bucket]) {
                values[self.order.sites[bucket]] = value;
                if let Some(sums) = self.sums(bucket, &values).last() {
                    let wanted =
                        |p: &&Partial<N>| weighing.may_count(bucket, combination, &p.costs);
                    all.extend(sums.iter().filter(wanted));
                }
            }
            drop_dominated(&mut all);
            message.push(all.iter().map(|p| p.costs).collect());
        }
        self.messages.push(message);
    }

    /// The front of a message for the combination in `values`.
    fn message(&self, bucket: usize, values: &[usize]) -> &[[f64; N]] {
        let scope = &self.order.scopes[bucket];
        let at = scope
            .iter()
            .fold(0, |at, &s| at * self.network.n_left(s) + values[s]);
        &self.messages[bucket][at]
    }

    /// The fronts with a bucket's site and neighbours fixed: without messages, with the first message, with two
    /// messages, …
    fn sums(&self, bucket: usize, values: &[usize]) -> Vec<Vec<Partial<N>>> {
        let mut costs = [0.0; N];
        for &member in &self.members[bucket] {
            let (scope, table) = &self.tables[member];
            let at = scope
                .iter()
                .fold(0, |at, &s| at * self.network.n_left(s) + values[s]);
            costs.iter_mut().zip(&table[at]).for_each(|(c, t)| *c += t);
        }
        let first = Partial {
            costs,
            before: 0,
            joined: 0,
        };
        let mut steps = vec![match costs.contains(&f64::INFINITY) {
            true => Vec::new(),
            false => vec![first],
        }];
        for &child in &self.children[bucket] {
            steps.push(joined(&steps[steps.len() - 1], self.message(child, values)));
        }
        steps
    }

    /// Positions of the alternatives, for each point of the front of the whole problem.
    fn assemblies(&self) -> Vec<Vec<usize>> {
        let values = vec![0; self.network.unary.len()];
        let start = Partial {
            costs: [0.0; N],
            before: 0,
            joined: 0,
        };
        let mut steps = vec![vec![start]];
        for &root in &self.roots {
            steps.push(joined(&steps[steps.len() - 1], self.message(root, &values)));
        }
        let last = steps.len() - 1;
        let of = |i: usize| {
            let mut values = values.clone();
            self.trace(&steps, i, &self.roots, &mut values);
            values
        };
        (0..steps[last].len()).map(of).collect()
    }

    /// Fixes the alternatives that a point was made of, from the last message back.
    fn trace(
        &self,
        steps: &[Vec<Partial<N>>],
        mut at: usize,
        joined: &[usize],
        values: &mut [usize],
    ) {
        for (step, &bucket) in steps[1..].iter().zip(joined).rev() {
            let point = step[at];
            let target = self.message(bucket, values)[point.joined];
            self.settle(bucket, &target, values);
            at = point.before;
        }
    }

    /// Fixes the site of a bucket, and all sites below it, so that its costs are `target`, in the same order of
    /// summation.
    fn settle(&self, bucket: usize, target: &[f64; N], values: &mut [usize]) {
        let site = self.order.sites[bucket];
        for value in 0..self.network.n_left(site) {
            values[site] = value;
            let steps = self.sums(bucket, values);
            let last = &steps[steps.len() - 1];
            if let Some(at) = last.iter().position(|p| p.costs == *target) {
                self.trace(&steps, at, &self.children[bucket], values);
                return;
            }
        }
    }
}

/// All sums of a point of `before` and a point of `message`, without dominated ones.
fn joined<const N: usize>(before: &[Partial<N>], message: &[[f64; N]]) -> Vec<Partial<N>> {
    let mut sums = Vec::with_capacity(before.len() * message.len());
    for (i, left) in before.iter().enumerate() {
        for (j, right) in message.iter().enumerate() {
            sums.push(Partial {
                costs: std::array::from_fn(|o| left.costs[o] + right[o]),
                before: i,
                joined: j,
            });
        }
    }
    // A sum with a single point stays sorted and has no dominated points.
    if before.len() > 1 && message.len() > 1 {
        drop_dominated(&mut sums);
    }
    sums
}

/// Keeps the points that no other one equals or beats in every objective, ascending.
fn drop_dominated<const N: usize>(points: &mut Vec<Partial<N>>) {
    points.sort_unstable_by(|a, b| {
        let mut order = std::cmp::Ordering::Equal;
        for o in 0..N {
            order = order.then(a.costs[o].total_cmp(&b.costs[o]));
        }
        order.then((a.before, a.joined).cmp(&(b.before, b.joined)))
    });
    let mut kept: usize = 0;
    for i in 0..points.len() {
        let point = points[i];
        let beaten = if N <= 2 {
            kept > 0 && points[kept - 1].costs[N - 1] <= point.costs[N - 1]
        } else {
            points[..kept]
                .iter()
                .any(|k| k.costs.iter().zip(&point.costs).all(|(k, c)| k <= c))
        };
        if !beaten {
            points[kept] = point;
            kept += 1;
        }
    }
    points.truncate(kept);
}

/// The cheapest assembly for these weights, and the elimination that gives it.
pub(super) fn cheapest_for(
    objectives: &[Problem],
    order: &Order,
    weights: &[f64],
) -> Option<(Vec<f64>, super::eliminate::Elimination, Network)> {
    let network = Network::new(&combined(objectives, weights))?;
    let elimination = eliminate(&network, order);
    let values = elimination.k_best(&network, 1, f64::INFINITY).pop()?;
    let choice = network.choice(&values);
    let costs = objectives.iter().map(|o| o.cost(&choice)).collect();
    Some((costs, elimination, network))
}
