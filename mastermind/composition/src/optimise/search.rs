//! Finds the cheapest assemblies: variable elimination where it is small enough, branch and bound above it.
//!
//! A branch is a `Network` in which some sites are fixed. `Search::descend` raises its lower bound and drops
//! alternatives that no wanted assembly has. If the tables of an elimination are small enough, or branching would cost
//! more, elimination solves the branch exactly. Otherwise the search tries each alternative of one site, chosen so that
//! the remaining tables become smallest. A branch is closed once its lower bound exceeds the cost of the worst assembly
//! still wanted. If [`SearchOptions::max_work`] is used up, the least bound of the unsearched branches gives the gap.
//!
//! ```text
//! best known 4.0                       found by the greedy guess
//!   flux = Godunov   bound 3.5         searched further: eliminated, its best costs 3.8
//!   flux = Efm       bound 4.2         closed
//! ```

use super::eliminate::eliminate;
use super::network::Network;
use super::order::{Order, elimination_order};
use super::problem::{Problem, ProblemError};

/// Table values up to which a branch is solved by elimination instead of further branching.
const ELIMINATED_AT_ONCE: u64 = 8_000_000;

/// Largest number of values in the tables that an elimination keeps: 8 bytes each.
const MAX_KEPT: u64 = 60_000_000;

/// Passes over the sites to raise the bound: for the whole problem, and for each branch.
const PASSES: [usize; 2] = [100, 12];

/// Rounds of raising the bound and dropping alternatives at each branch.
const ROUNDS: usize = 4;

/// Rounding error of a bound, relative to the costs.
const ROUNDING: f64 = 1e-12;

/// Options of [`optimise`].
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// Number of assemblies to return, the best first; at least 1.
    pub n_best: usize,
    /// Largest number of table values to visit, each about a nanosecond; beyond it the result has a gap instead of a
    /// proof.
    pub max_work: u64,
    /// An assembly to start from, as indices of the alternatives: usually the current one.
    pub start: Option<Vec<usize>>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            n_best: 1,
            max_work: 10_000_000_000,
            start: None,
        }
    }
}

/// An assembly.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Index of the alternative of each site.
    pub choice: Vec<usize>,
    /// Its cost, seconds: [`Problem::cost`].
    pub cost: f64,
}

/// The result of [`optimise`]: the best assemblies.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimum {
    /// The best assemblies, the cheapest first; fewer than requested if fewer are allowed.
    pub best: Vec<Found>,
    /// No assembly outside `best` costs less than this, seconds, up to rounding (1e-12 of the cost).
    pub lower_bound: f64,
    /// Number of table values visited.
    pub work: u64,
    /// Whether the search stopped early because of [`SearchOptions::max_work`].
    pub cut: bool,
}

impl Optimum {
    /// Whether no assembly is cheaper than those found.
    pub fn proved(&self) -> bool {
        !self.cut
    }

    /// Bound on the share of its cost by which the best assembly exceeds the optimum: 0 if it is proved optimal.
    pub fn gap(&self) -> f64 {
        match self.best.first() {
            Some(found) if self.cut => {
                let below = found.cost - self.lower_bound;
                (below / found.cost.abs()).max(0.0)
            }
            _ => 0.0,
        }
    }
}

/// Finds the cheapest assemblies.
///
/// # Errors
/// [`ProblemError::Infeasible`] if no assembly is allowed; [`ProblemError::Shape`] if the start is not an assembly.
pub fn optimise(problem: &Problem, options: &SearchOptions) -> Result<Optimum, ProblemError> {
    let mut search = Search {
        problem,
        n_best: options.n_best.max(1),
        max_work: options.max_work,
        best: Vec::new(),
        work: 0,
        open_bound: f64::INFINITY,
    };
    if let Some(start) = &options.start {
        check_start(problem, start)?;
        search.offer(start.clone());
    }
    let network = Network::new(problem).ok_or_else(infeasible)?;
    search.descend(network, PASSES[0]);
    if search.best.is_empty() {
        return Err(infeasible());
    }
    let lower_bound = search.open_bound.min(search.upper());
    Ok(Optimum {
        lower_bound,
        cut: search.open_bound < search.upper(),
        work: search.work,
        best: search.best,
    })
}

fn infeasible() -> ProblemError {
    ProblemError::Infeasible {
        hint: "take back a requirement, or add an alternative that meets it".into(),
    }
}

fn check_start(problem: &Problem, start: &[usize]) -> Result<(), ProblemError> {
    let sites = problem.sites();
    let known = sites.iter().zip(start).all(|(s, &c)| c < s.costs.len());
    if known && start.len() == sites.len() {
        return Ok(());
    }
    Err(ProblemError::Shape {
        what: "the start".into(),
        found: start.len(),
        expected: sites.len(),
    })
}

struct Search<'a> {
    problem: &'a Problem,
    n_best: usize,
    max_work: u64,
    best: Vec<Found>,
    work: u64,
    /// The least bound of the unsearched branches.
    open_bound: f64,
}

impl Search<'_> {
    /// Cost below which an assembly is still wanted.
    fn upper(&self) -> f64 {
        match self.best.len() == self.n_best {
            true => self.best[self.n_best - 1].cost,
            false => f64::INFINITY,
        }
    }

    /// Tolerance for rounding of a cost.
    fn rounding(&self) -> f64 {
        ROUNDING * self.best.first().map_or(0.0, |found| found.cost.abs())
    }

    fn offer(&mut self, choice: Vec<usize>) {
        let cost = self.problem.cost(&choice);
        let known = |found: &Found| found.choice == choice;
        if cost >= self.upper() || cost == f64::INFINITY || self.best.iter().any(known) {
            return;
        }
        let at = self.best.partition_point(|found| found.cost <= cost);
        self.best.insert(at, Found { choice, cost });
        self.best.truncate(self.n_best);
    }

    /// Searches all assemblies of a network.
    fn descend(&mut self, mut network: Network, passes: usize) {
        if !self.reduce(&mut network, passes) {
            return;
        }
        let order = elimination_order(&network);
        if self.is_eliminated(&network, &order) {
            self.eliminate(&network, &order);
        } else if self.work > self.max_work {
            self.open_bound = self.open_bound.min(network.constant);
        } else {
            self.branch(network);
        }
    }

    /// Raises the bound and drops alternatives of no wanted assembly. False if the branch is closed.
    fn reduce(&mut self, network: &mut Network, passes: usize) -> bool {
        for _ in 0..ROUNDS {
            let upper = self.upper() + self.rounding();
            if network.raise_bound(upper, passes, &mut self.work) > upper {
                return false;
            }
            self.guess(network);
            let upper = self.upper() + self.rounding();
            let mut dropped = network.drop_costly(upper);
            if !network.settle() {
                return false;
            }
            // Of two equal alternatives only one is kept, which is wrong if several assemblies are wanted.
            if self.n_best == 1 {
                dropped |= network.drop_dominated(&mut self.work);
                if !network.settle() {
                    return false;
                }
            }
            if !dropped || network.open_sites().is_empty() {
                break;
            }
        }
        true
    }

    /// Offers a greedy assembly, its improvement one site at a time, and the neighbours of that.
    fn guess(&mut self, network: &Network) {
        let mut values = vec![0; network.unary.len()];
        let mut settled = vec![false; values.len()];
        for site in network.open_sites() {
            values[site] = cheapest(network, site, &values, Some(&settled)).0;
            settled[site] = true;
        }
        let open = network.open_sites();
        for _ in 0..open.len() {
            let before = values.clone();
            for &site in &open {
                values[site] = cheapest(network, site, &values, None).0;
            }
            if values == before {
                break;
            }
        }
        self.offer(network.choice(&values));
        if self.n_best > 1 {
            for &site in &open {
                for value in 0..network.n_left(site) {
                    let mut other = values.clone();
                    other[site] = value;
                    self.offer(network.choice(&other));
                }
            }
        }
    }

    /// Whether to eliminate all sites of this branch now.
    fn is_eliminated(&self, network: &Network, order: &Order) -> bool {
        if order.memory > MAX_KEPT {
            return false;
        }
        if order.work <= ELIMINATED_AT_ONCE {
            return true;
        }
        // A larger total is worthwhile only if bounds close many of the branches.
        let affordable = self.work.saturating_add(order.work) <= self.max_work;
        affordable && best_branch(network).1 > order.work.saturating_mul(2)
    }

    fn eliminate(&mut self, network: &Network, order: &Order) {
        self.work = self.work.saturating_add(order.work);
        let settled = (0..network.unary.len()).filter(|&s| network.n_left(s) == 1);
        let base: f64 = network.constant + settled.map(|s| network.unary[s][0]).sum::<f64>();
        let upper = self.upper() + self.rounding() - base;
        let elimination = eliminate(network, order);
        for values in elimination.k_best(network, self.n_best, upper) {
            self.offer(network.choice(&values));
        }
    }

    /// Tries each alternative of one site.
    fn branch(&mut self, network: Network) {
        let (site, _) = best_branch(&network);
        let mut children: Vec<(f64, usize)> = (0..network.n_left(site))
            .map(|value| (network.unary[site][value], value))
            .collect();
        children.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (more, value) in children {
            if network.constant + more > self.upper() + self.rounding() {
                continue;
            }
            let mut child = network.clone();
            child.restrict(site, &[value]);
            if child.settle() {
                self.descend(child, PASSES[1]);
            }
        }
    }
}

/// The cheapest alternative of a site given its neighbours; with `settled`, only those neighbours count.
fn cheapest(
    network: &Network,
    site: usize,
    values: &[usize],
    settled: Option<&[bool]>,
) -> (usize, f64) {
    let mut costs = network.unary[site].clone();
    for &e in &network.at[site] {
        let other = network.other(e, site);
        let counts = settled.is_none_or(|settled| settled[other]);
        for (value, cost) in costs.iter_mut().enumerate().filter(|_| counts) {
            let (start, step) = network.row(e, site, value);
            *cost += network.edges[e].costs[start + values[other] * step];
        }
    }
    let costs = costs.into_iter().enumerate();
    costs
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((0, f64::INFINITY))
}

/// The site for which the branches, one for each alternative, need the fewest table values in total, and that total.
fn best_branch(network: &Network) -> (usize, u64) {
    let weighed = network.open_sites().into_iter().map(|site| {
        let mut child = network.clone();
        child.restrict(site, &[0]);
        child.at[site].clone().into_iter().for_each(|e| {
            let other = child.other(e, site);
            child.edges[e].costs.clear();
            child.at[other].retain(|&x| x != e);
        });
        let each = elimination_order(&child).work;
        (site, each.saturating_mul(network.n_left(site) as u64))
    });
    weighed.min_by_key(|&(_, work)| work).unwrap_or((0, 0))
}
