//! The costs that the search works on: it moves them between sites and pairs, drops alternatives, and settles sites.

use super::problem::Problem;

/// Costs of two sites together.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    /// Site of the rows.
    pub first: usize,
    /// Site of the columns.
    pub second: usize,
    /// Shape `[first][second]`.
    pub costs: Vec<f64>,
}

/// The costs of a problem, rearranged so that every assembly still costs the same.
///
/// A settled site has one alternative and no edges.
#[derive(Debug, Clone)]
pub(super) struct Network {
    /// Cost of every assembly.
    pub constant: f64,
    /// For each site, the alternatives left, as indices of the problem.
    pub domains: Vec<Vec<usize>>,
    /// Cost of each alternative left, shape `[sites][left]`; finite.
    pub unary: Vec<Vec<f64>>,
    /// Edges; each alternative has at least one finite cost at each of its edges.
    pub edges: Vec<Edge>,
    /// Indices of the edges of each site.
    pub at: Vec<Vec<usize>>,
}

impl Network {
    /// Converts a problem: merges pairs of the same sites and drops forbidden alternatives. `None` if nothing is
    /// allowed.
    pub fn new(problem: &Problem) -> Option<Self> {
        let sites = problem.sites();
        let mut network = Self {
            constant: 0.0,
            domains: sites.iter().map(|s| (0..s.costs.len()).collect()).collect(),
            unary: sites.iter().map(|s| s.costs.clone()).collect(),
            edges: Vec::new(),
            at: vec![Vec::new(); sites.len()],
        };
        for pair in problem.pairs() {
            network.add_edge(pair.first, pair.second, &pair.costs);
        }
        network.settle().then_some(network)
    }

    fn add_edge(&mut self, first: usize, second: usize, costs: &[f64]) {
        let known = self.at[first]
            .iter()
            .copied()
            .find(|&e| self.other(e, first) == second);
        let Some(e) = known else {
            self.at[first].push(self.edges.len());
            self.at[second].push(self.edges.len());
            self.edges.push(Edge {
                first,
                second,
                costs: costs.to_vec(),
            });
            return;
        };
        let columns = self.unary[second].len();
        let edge = &mut self.edges[e];
        let turned = edge.first != first;
        let rows = costs.len() / columns.max(1);
        for (i, &cost) in costs.iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            let at = if turned { column * rows + row } else { i };
            edge.costs[at] += cost;
        }
    }

    /// The site at the other end of edge `e` from `site`.
    pub fn other(&self, e: usize, site: usize) -> usize {
        let edge = &self.edges[e];
        if edge.first == site {
            edge.second
        } else {
            edge.first
        }
    }

    /// Number of alternatives left at a site.
    pub fn n_left(&self, site: usize) -> usize {
        self.unary[site].len()
    }

    /// Position of the costs of `value` of `site` at edge `e`: start, and stride over the alternatives of the other
    /// site.
    pub fn row(&self, e: usize, site: usize, value: usize) -> (usize, usize) {
        let edge = &self.edges[e];
        let columns = self.unary[edge.second].len();
        if edge.first == site {
            (value * columns, 1)
        } else {
            (value, columns)
        }
    }

    /// Keeps only the alternatives of `site` at the positions `keep`, in their order.
    pub fn restrict(&mut self, site: usize, keep: &[usize]) {
        let before = self.n_left(site);
        for &e in &self.at[site] {
            let columns = self.unary[self.edges[e].second].len();
            let edge = &mut self.edges[e];
            let old = &edge.costs;
            edge.costs = if edge.first == site {
                keep.iter()
                    .flat_map(|&v| &old[v * columns..(v + 1) * columns])
                    .copied()
                    .collect()
            } else {
                old.chunks(before)
                    .flat_map(|row| keep.iter().map(|&v| row[v]))
                    .collect()
            };
        }
        self.domains[site] = keep.iter().map(|&v| self.domains[site][v]).collect();
        self.unary[site] = keep.iter().map(|&v| self.unary[site][v]).collect();
    }

    /// Drops alternatives that are forbidden, by themselves or in all combinations with a neighbour, and removes
    /// settled sites from their edges, until nothing changes. Returns false if a site has no alternative left.
    pub fn settle(&mut self) -> bool {
        let mut dirty: Vec<usize> = (0..self.unary.len()).collect();
        while let Some(site) = dirty.pop() {
            let keep: Vec<usize> = (0..self.n_left(site))
                .filter(|&v| self.is_possible(site, v))
                .collect();
            if keep.is_empty() {
                return false;
            }
            if keep.len() < self.n_left(site) {
                let neighbours: Vec<usize> =
                    self.at[site].iter().map(|&e| self.other(e, site)).collect();
                dirty.extend(neighbours);
                self.restrict(site, &keep);
            }
            if self.n_left(site) == 1 && !self.at[site].is_empty() {
                dirty.extend(self.detach(site));
            }
        }
        true
    }

    fn is_possible(&self, site: usize, value: usize) -> bool {
        self.unary[site][value] < f64::INFINITY
            && self.at[site].iter().all(|&e| {
                let (start, step) = self.row(e, site, value);
                let n = self.n_left(self.other(e, site));
                (0..n).any(|w| self.edges[e].costs[start + w * step] < f64::INFINITY)
            })
    }

    /// Moves the edges of a site with one alternative into the costs of its neighbours, and returns the neighbours.
    fn detach(&mut self, site: usize) -> Vec<usize> {
        let mut neighbours = Vec::new();
        for e in std::mem::take(&mut self.at[site]) {
            let other = self.other(e, site);
            let (start, step) = self.row(e, site, 0);
            let costs = std::mem::take(&mut self.edges[e].costs);
            for (w, unary) in self.unary[other].iter_mut().enumerate() {
                *unary += costs[start + w * step];
            }
            self.at[other].retain(|&x| x != e);
            neighbours.push(other);
        }
        neighbours
    }

    /// The sites that are not settled.
    pub fn open_sites(&self) -> Vec<usize> {
        (0..self.unary.len())
            .filter(|&s| self.n_left(s) > 1)
            .collect()
    }

    /// The remaining edges.
    pub fn open_edges(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.edges.len()).filter(|&e| !self.edges[e].costs.is_empty())
    }

    /// Converts positions among the alternatives left into indices of the problem.
    pub fn choice(&self, values: &[usize]) -> Vec<usize> {
        let pairs = values.iter().zip(&self.domains);
        pairs.map(|(&v, domain)| domain[v]).collect()
    }
}
