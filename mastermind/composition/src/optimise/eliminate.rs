//! Variable elimination: replaces a site by a table of its least cost for each combination of its neighbours.
//!
//! The fastest index of a table is the site that is eliminated first. So the innermost sum runs over contiguous costs
//! of that site, and costs that depend on slower indices only are added once.
//!
//! ```text
//! eliminate b:  costs(a, b) = 1 5    least(a) = 1    the cost of a and the best b
//!                             4 2               2
//! ```

use super::network::Network;
use super::order::Order;

/// Costs for the combinations of some sites' alternatives.
#[derive(Debug)]
pub(super) struct Table {
    /// The sites, the latest eliminated first; the last one is the fastest index.
    pub scope: Vec<usize>,
    /// Row-major.
    pub costs: Vec<f64>,
}

/// One eliminated site.
#[derive(Debug)]
pub(super) struct Bucket {
    /// The site.
    pub site: usize,
    /// Indices of the tables with its costs.
    pub tables: Vec<usize>,
    /// Index of the table of its least cost, for the combinations of its scope.
    pub message: usize,
}

/// All tables of an elimination.
#[derive(Debug)]
pub(super) struct Elimination {
    /// In the order of elimination.
    pub buckets: Vec<Bucket>,
    /// Costs of the network, then messages.
    pub tables: Vec<Table>,
    /// The least cost of all open sites together.
    pub least: f64,
}

/// Eliminates all open sites in the given order.
pub(super) fn eliminate(network: &Network, order: &Order) -> Elimination {
    let mut rank = vec![usize::MAX; network.unary.len()];
    for (i, &site) in order.sites.iter().enumerate() {
        rank[site] = i;
    }
    let mut tables = initial_tables(network, order, &rank);
    let mut of_bucket: Vec<Vec<usize>> = vec![Vec::new(); order.sites.len()];
    for (i, table) in tables.iter().enumerate() {
        of_bucket[rank[table.scope[table.scope.len() - 1]]].push(i);
    }
    let mut buckets = Vec::new();
    let mut least = 0.0;
    for (i, &site) in order.sites.iter().enumerate() {
        let members = std::mem::take(&mut of_bucket[i]);
        let message = Table {
            scope: order.scopes[i].clone(),
            costs: minimise(network, site, &order.scopes[i], &tables, &members),
        };
        match message.scope.last() {
            Some(&next) => of_bucket[rank[next]].push(tables.len()),
            None => least += message.costs[0],
        }
        buckets.push(Bucket {
            site,
            tables: members,
            message: tables.len(),
        });
        tables.push(message);
    }
    Elimination {
        buckets,
        tables,
        least,
    }
}

fn initial_tables(network: &Network, order: &Order, rank: &[usize]) -> Vec<Table> {
    let sites = order.sites.iter().map(|&site| Table {
        scope: vec![site],
        costs: network.unary[site].clone(),
    });
    let edges = network.open_edges().map(|e| {
        let edge = &network.edges[e];
        let (first, second) = (edge.first, edge.second);
        if rank[first] > rank[second] {
            return Table {
                scope: vec![first, second],
                costs: edge.costs.clone(),
            };
        }
        let columns = network.n_left(second);
        let column = |w: usize| edge.costs[w..].iter().step_by(columns).copied();
        Table {
            scope: vec![second, first],
            costs: (0..columns).flat_map(column).collect(),
        }
    });
    sites.chain(edges).collect()
}

/// A table with its strides over the scope that is filled.
struct Operand<'a> {
    costs: &'a [f64],
    /// Stride of each index of the scope; 0 for an index that the table does not have.
    steps: Vec<usize>,
}

/// Fills one message.
struct Kernel<'a> {
    /// Number of alternatives of the eliminated site.
    n: usize,
    /// Number of alternatives of each site of the scope.
    sizes: Vec<usize>,
    operands: Vec<Operand<'a>>,
    /// For each index of the scope, the operands whose fastest index it is (apart from the eliminated site).
    joins: Vec<Vec<usize>>,
    /// Offset of each operand for the current combination.
    offsets: Vec<usize>,
    message: Vec<f64>,
}

fn minimise(
    network: &Network,
    site: usize,
    scope: &[usize],
    tables: &[Table],
    members: &[usize],
) -> Vec<f64> {
    let n = network.n_left(site);
    let sizes: Vec<usize> = scope.iter().map(|&s| network.n_left(s)).collect();
    let mut sums = vec![vec![0.0; n]; scope.len() + 1];
    let mut kernel = Kernel {
        n,
        joins: vec![Vec::new(); scope.len()],
        operands: Vec::new(),
        offsets: Vec::new(),
        message: Vec::with_capacity(sizes.iter().product()),
        sizes,
    };
    for &member in members {
        let table = &tables[member];
        let mut steps = vec![0; scope.len()];
        let mut step = 1;
        for &s in table.scope.iter().rev() {
            if let Some(at) = scope.iter().position(|&x| x == s) {
                steps[at] = step;
            }
            step *= network.n_left(s);
        }
        match steps.iter().rposition(|&s| s > 0) {
            Some(level) => kernel.joins[level].push(kernel.operands.len()),
            None => add(&mut sums[0], &table.costs),
        }
        kernel.offsets.push(0);
        kernel.operands.push(Operand {
            costs: &table.costs,
            steps,
        });
    }
    kernel.fill(0, &mut sums);
    kernel.message
}

impl Kernel<'_> {
    /// Appends the part of the message for the combination of the indices before `level`.
    fn fill(&mut self, level: usize, sums: &mut [Vec<f64>]) {
        if level == self.sizes.len() {
            self.message.push(least(&sums[0]));
            return;
        }
        if level + 1 == self.sizes.len() {
            self.fill_row(level, &mut sums[0]);
            return;
        }
        for _ in 0..self.sizes[level] {
            let (before, after) = sums.split_at_mut(1);
            after[0].copy_from_slice(&before[0]);
            for &j in &self.joins[level] {
                let at = self.offsets[j];
                add(&mut after[0], &self.operands[j].costs[at..at + self.n]);
            }
            self.fill(level + 1, after);
            self.advance(level, 1);
        }
        self.advance(level, -(self.sizes[level] as isize));
    }

    fn advance(&mut self, level: usize, by: isize) {
        for (offset, operand) in self.offsets.iter_mut().zip(&self.operands) {
            *offset = offset.wrapping_add_signed(operand.steps[level] as isize * by);
        }
    }

    /// Fills the last index; `sum` contains everything that depends on the other indices. Lengths known at compile time
    /// make the sums straight-line vector code, twice as fast.
    fn fill_row(&mut self, level: usize, sum: &mut [f64]) {
        match self.n {
            2 => self.fill_row_of::<2>(level, sum),
            3 => self.fill_row_of::<3>(level, sum),
            4 => self.fill_row_of::<4>(level, sum),
            5 => self.fill_row_of::<5>(level, sum),
            6 => self.fill_row_of::<6>(level, sum),
            7 => self.fill_row_of::<7>(level, sum),
            8 => self.fill_row_of::<8>(level, sum),
            9 => self.fill_row_of::<9>(level, sum),
            10 => self.fill_row_of::<10>(level, sum),
            11 => self.fill_row_of::<11>(level, sum),
            12 => self.fill_row_of::<12>(level, sum),
            _ => self.fill_row_slowly(level, sum),
        }
    }

    fn fill_row_of<const N: usize>(&mut self, level: usize, sum: &[f64]) {
        let size = self.sizes[level];
        // Rows of a table are adjacent if the site is its first index and the last index its second.
        let rows = |j: usize| {
            let operand = &self.operands[j];
            let costs = &operand.costs[self.offsets[j]..];
            (operand.steps[level] == N && costs.len() >= size * N)
                .then(|| costs[..size * N].as_chunks::<N>().0)
        };
        let joined = match self.joins[level][..] {
            [a] => rows(a).map(|a| (a, None)),
            [a, b] => rows(a).zip(rows(b)).map(|(a, b)| (a, Some(b))),
            _ => None,
        };
        let (Some((a, b)), Some(sum)) = (joined, sum.first_chunk::<N>()) else {
            return self.fill_row_slowly(level, sum);
        };
        match b {
            None => self.message.extend(a.iter().map(|a| least_of([sum, a]))),
            Some(b) => {
                let both = a.iter().zip(b);
                self.message
                    .extend(both.map(|(a, b)| least_of([sum, a, b])));
            }
        }
    }

    fn fill_row_slowly(&mut self, level: usize, sum: &[f64]) {
        let mut total = vec![0.0; self.n];
        for v in 0..self.sizes[level] {
            total.copy_from_slice(sum);
            for &j in &self.joins[level] {
                let operand = &self.operands[j];
                let at = self.offsets[j] + v * operand.steps[level];
                add(&mut total, &operand.costs[at..at + self.n]);
            }
            self.message.push(least(&total));
        }
    }
}

fn add(sum: &mut [f64], costs: &[f64]) {
    for (s, c) in sum.iter_mut().zip(costs) {
        *s += c;
    }
}

fn least(costs: &[f64]) -> f64 {
    costs
        .iter()
        .fold(f64::INFINITY, |a, &b| if b < a { b } else { a })
}

/// The smallest value of a sum of rows; two at a time, which compiles to vector instructions.
#[inline(always)]
fn least_of<const N: usize, const M: usize>(rows: [&[f64; N]; M]) -> f64 {
    let mut lanes = [f64::INFINITY; 2];
    for i in 0..N {
        let cost = rows[1..].iter().fold(rows[0][i], |sum, row| sum + row[i]);
        let lane = &mut lanes[i % 2];
        *lane = if cost < *lane { cost } else { *lane };
    }
    if lanes[1] < lanes[0] {
        lanes[1]
    } else {
        lanes[0]
    }
}
