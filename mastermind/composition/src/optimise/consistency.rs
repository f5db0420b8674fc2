//! Soft arc consistency: a lower bound of the cost, by moving costs between edges and sites.
//!
//! No move changes the cost of any assembly. The moves end when the smallest costs of the parts are as large as
//! possible; their sum is the lower bound. An alternative that costs too much more than the smallest of its site is in
//! no better assembly and can be dropped.

use super::network::Network;

/// Passes over all sites without a better bound after which raising it ends.
const PATIENCE: usize = 3;

/// Share of the distance to the best known cost that a pass must gain to justify another one.
const WORTHWHILE: f64 = 1e-3;

impl Network {
    /// Moves costs until the lower bound hardly rises, and returns it. Adds the number of table values visited to
    /// `work`.
    ///
    /// # Arguments
    /// * `upper` - cost of the best known assembly; a higher bound is not needed
    /// * `passes` - largest number of passes, each over the sites in one order and back
    pub fn raise_bound(&mut self, upper: f64, passes: usize, work: &mut u64) -> f64 {
        let open = self.open_sites();
        let mut rank = vec![usize::MAX; self.unary.len()];
        for (i, &site) in open.iter().enumerate() {
            rank[site] = i;
        }
        let cells: u64 = self
            .open_edges()
            .map(|e| self.edges[e].costs.len() as u64)
            .sum();
        let mut bound = self.bound();
        let mut idle = 0;
        for _ in 0..passes {
            for backward in [false, true] {
                for i in 0..open.len() {
                    let site = open[if backward { open.len() - 1 - i } else { i }];
                    self.pass_site(site, &rank, backward);
                }
            }
            *work += 6 * cells;
            let raised = self.bound();
            let gain = raised - bound;
            bound = bound.max(raised);
            idle = if gain > WORTHWHILE * (upper - bound).abs().min(bound.abs()) {
                0
            } else {
                idle + 1
            };
            if idle >= PATIENCE || bound > upper {
                break;
            }
        }
        self.collect_all(&open);
        *work += 2 * cells;
        self.normalise();
        self.constant
    }

    /// The sum of the smallest costs of all parts: a lower bound of the cost of every assembly.
    pub fn bound(&self) -> f64 {
        let least = |costs: &[f64]| costs.iter().copied().fold(f64::INFINITY, f64::min);
        let sites: f64 = self.unary.iter().map(|u| least(u)).sum();
        let edges: f64 = self.open_edges().map(|e| least(&self.edges[e].costs)).sum();
        self.constant + sites + edges
    }

    /// Collects the costs of a site's edges into it, and distributes them to the edges whose other end comes later.
    fn pass_site(&mut self, site: usize, rank: &[usize], backward: bool) {
        let edges = std::mem::take(&mut self.at[site]);
        let is_later = |network: &Self, e: usize| {
            let other = network.other(e, site);
            (rank[other] > rank[site]) != backward
        };
        let later = edges.iter().filter(|&&e| is_later(self, e)).count();
        let share = 1.0 / later.max(edges.len() - later).max(1) as f64;
        for &e in &edges {
            self.collect(e, site);
        }
        let given: Vec<f64> = self.unary[site].iter().map(|cost| cost * share).collect();
        for &e in &edges {
            if is_later(self, e) {
                self.give(e, site, &given);
            }
        }
        for (cost, given) in self.unary[site].iter_mut().zip(&given) {
            *cost -= given * later as f64;
        }
        self.at[site] = edges;
    }

    /// Moves the smallest cost at edge `e` of each alternative of `site` into the site.
    fn collect(&mut self, e: usize, site: usize) {
        let (rows, columns) = self.shape(e);
        let edge = &mut self.edges[e];
        let unary = &mut self.unary[site];
        if edge.first == site {
            for (row, cost) in edge.costs.chunks_exact_mut(columns).zip(unary) {
                let least = row
                    .iter()
                    .fold(f64::INFINITY, |a, &b| if b < a { b } else { a });
                row.iter_mut().for_each(|c| *c -= least);
                *cost += least;
            }
            return;
        }
        let mut least = vec![f64::INFINITY; columns];
        for row in edge.costs.chunks_exact(columns).take(rows) {
            for (l, &c) in least.iter_mut().zip(row) {
                *l = if c < *l { c } else { *l };
            }
        }
        for row in edge.costs.chunks_exact_mut(columns) {
            row.iter_mut().zip(&least).for_each(|(c, l)| *c -= l);
        }
        unary.iter_mut().zip(&least).for_each(|(c, l)| *c += l);
    }

    /// Moves costs from `site` to edge `e`, shape `[alternatives left]`.
    fn give(&mut self, e: usize, site: usize, given: &[f64]) {
        let (_, columns) = self.shape(e);
        let edge = &mut self.edges[e];
        for (i, row) in edge.costs.chunks_exact_mut(columns).enumerate() {
            if edge.first == site {
                row.iter_mut().for_each(|c| *c += given[i]);
            } else {
                row.iter_mut().zip(given).for_each(|(c, g)| *c += g);
            }
        }
    }

    fn shape(&self, e: usize) -> (usize, usize) {
        let edge = &self.edges[e];
        (self.n_left(edge.first), self.n_left(edge.second))
    }

    /// Moves every cost that an edge can give to one of its sites into that site.
    fn collect_all(&mut self, open: &[usize]) {
        for &site in open {
            for i in 0..self.at[site].len() {
                self.collect(self.at[site][i], site);
            }
        }
    }

    /// Moves the smallest cost of each part into the constant.
    fn normalise(&mut self) {
        for costs in self
            .unary
            .iter_mut()
            .chain(self.edges.iter_mut().map(|e| &mut e.costs))
            .filter(|costs| !costs.is_empty())
        {
            let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
            costs.iter_mut().for_each(|c| *c -= least);
            self.constant += least;
        }
    }

    /// Drops alternatives that are in no assembly cheaper than `upper`; to be called after [`Network::raise_bound`].
    /// Returns whether any was dropped. A site may have none left, which [`Network::settle`] then reports.
    pub fn drop_costly(&mut self, upper: f64) -> bool {
        let slack = upper - self.constant;
        let mut dropped = false;
        for site in self.open_sites() {
            let keep: Vec<usize> = (0..self.n_left(site))
                .filter(|&v| self.least_with(site, v) <= slack)
                .collect();
            if keep.len() < self.n_left(site) {
                dropped = true;
                self.restrict(site, &keep);
                if keep.is_empty() {
                    return true;
                }
            }
        }
        dropped
    }

    /// The least cost above the bound of an assembly with this alternative.
    fn least_with(&self, site: usize, value: usize) -> f64 {
        let edges = self.at[site].iter().map(|&e| {
            let (start, step) = self.row(e, site, value);
            let other = self.other(e, site);
            let costs = &self.edges[e].costs;
            (0..self.n_left(other))
                .fold(f64::INFINITY, |least, w| least.min(costs[start + w * step]))
        });
        self.unary[site][value] + edges.sum::<f64>()
    }

    /// Dead-end elimination: drops an alternative if another one of its site costs no more whatever the neighbours
    /// have. One optimal assembly remains. Returns whether any was dropped.
    pub fn drop_dominated(&mut self, work: &mut u64) -> bool {
        let mut dropped = false;
        for site in self.open_sites() {
            let n = self.n_left(site);
            let mut alive = vec![true; n];
            for b in 0..n {
                let by = (0..n).find(|&a| a != b && alive[a] && self.dominates(site, a, b, work));
                alive[b] = by.is_none();
            }
            let keep: Vec<usize> = (0..n).filter(|&v| alive[v]).collect();
            if keep.len() < n {
                dropped = true;
                self.restrict(site, &keep);
            }
        }
        dropped
    }

    /// Whether alternative `a` costs at most as much as `b`, whatever the neighbours have.
    fn dominates(&self, site: usize, a: usize, b: usize, work: &mut u64) -> bool {
        let mut margin = self.unary[site][b] - self.unary[site][a];
        for &e in &self.at[site] {
            let (start_a, step) = self.row(e, site, a);
            let (start_b, _) = self.row(e, site, b);
            let n = self.n_left(self.other(e, site));
            let costs = &self.edges[e].costs;
            let mut least = f64::INFINITY;
            for w in 0..n {
                let (of_a, of_b) = (costs[start_a + w * step], costs[start_b + w * step]);
                // Where b is forbidden, a cannot be worse.
                if of_b < f64::INFINITY {
                    least = least.min(of_b - of_a);
                }
            }
            *work += n as u64;
            margin += least;
            if margin == f64::NEG_INFINITY {
                return false;
            }
        }
        margin >= 0.0
    }
}
