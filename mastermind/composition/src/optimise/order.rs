//! The order in which sites are eliminated, and its cost.

use super::network::Network;

/// An elimination order.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// The open sites, first eliminated first.
    pub sites: Vec<usize>,
    /// For each of them, the later sites that its costs depend on, latest first.
    pub scopes: Vec<Vec<usize>>,
    /// Table values visited: the sum over the sites of the combinations of a site and its scope.
    pub work: u64,
    /// Table values kept: the sum of the combinations of the scopes.
    pub memory: u64,
}

/// The rule that selects the next site.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// The site whose elimination connects the fewest pairs of other sites.
    Fill,
    /// The site with the smallest table.
    Weight,
}

/// The cheaper of two greedy orders.
pub(super) fn elimination_order(network: &Network) -> Order {
    let [fill, weight] = [Rule::Fill, Rule::Weight].map(|rule| greedy(network, rule));
    if fill.work <= weight.work {
        fill
    } else {
        weight
    }
}

fn greedy(network: &Network, rule: Rule) -> Order {
    let n = network.unary.len();
    let mut joined = vec![vec![false; n]; n];
    for e in network.open_edges() {
        let edge = &network.edges[e];
        joined[edge.first][edge.second] = true;
        joined[edge.second][edge.first] = true;
    }
    let mut left = network.open_sites();
    let mut order = Order {
        sites: Vec::new(),
        scopes: Vec::new(),
        work: 0,
        memory: 0,
    };
    while !left.is_empty() {
        let neighbours = |site: usize| -> Vec<usize> {
            left.iter().copied().filter(|&s| joined[site][s]).collect()
        };
        let weight = |site: usize| -> u64 {
            let sizes = neighbours(site)
                .into_iter()
                .map(|s| network.n_left(s) as u64);
            sizes.fold(network.n_left(site) as u64, u64::saturating_mul)
        };
        let fill = |site: usize| -> u64 {
            let around = neighbours(site);
            let pairs = around.iter().enumerate();
            let missing =
                |(i, &a): (usize, &usize)| around[..i].iter().filter(|&&b| !joined[a][b]).count();
            pairs.map(missing).sum::<usize>() as u64
        };
        let key = |site: usize| match rule {
            Rule::Fill => (fill(site), weight(site)),
            Rule::Weight => (weight(site), fill(site)),
        };
        let Some(at) = (0..left.len()).min_by_key(|&i| key(left[i])) else {
            break;
        };
        let site = left[at];
        let scope = neighbours(site);
        let table = weight(site);
        order.work = order.work.saturating_add(table);
        order.memory = order
            .memory
            .saturating_add(table / network.n_left(site) as u64);
        left.swap_remove(at);
        for &a in &scope {
            for &b in &scope {
                joined[a][b] |= a != b;
            }
        }
        order.sites.push(site);
        order.scopes.push(scope);
    }
    sort_scopes(&mut order, n);
    order
}

/// Sorts each scope, the latest eliminated first.
fn sort_scopes(order: &mut Order, n: usize) {
    let mut rank = vec![0; n];
    for (i, &site) in order.sites.iter().enumerate() {
        rank[site] = i;
    }
    for scope in &mut order.scopes {
        scope.sort_by_key(|&site| std::cmp::Reverse(rank[site]));
    }
}
