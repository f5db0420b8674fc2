//! The layer of each node.

use super::Plan;

/// Layers, and which edges were turned round.
pub(super) struct Ranks {
    pub(super) rank: Vec<usize>,
    pub(super) is_turned: Vec<bool>,
}

impl Ranks {
    /// The upper and the lower end of an edge.
    pub(super) fn ends(&self, plan: &Plan, edge: usize) -> (usize, usize) {
        let one = &plan.edges[edge];
        match self.is_turned[edge] {
            true => (one.to, one.from),
            false => (one.from, one.to),
        }
    }
}

/// An edge with a label has its layer for that.
fn length(plan: &Plan, edge: usize) -> usize {
    1 + usize::from(plan.edges[edge].label.is_some())
}

/// Each node is behind all its predecessors, except for edges that close a cycle.
pub(super) fn ranks(plan: &Plan) -> Ranks {
    let n = plan.boxes.len();
    let mut leaving = vec![Vec::new(); n];
    let mut n_coming = vec![0_usize; n];
    for (i, edge) in plan.edges.iter().enumerate() {
        if edge.from != edge.to {
            leaving[edge.from].push(i);
            n_coming[edge.to] += 1;
        }
    }
    let is_turned = turned(plan, &leaving, &n_coming);
    let mut ranks = Ranks {
        rank: vec![0; n],
        is_turned,
    };
    let mut down = vec![Vec::new(); n];
    let mut waits = vec![0_usize; n];
    for (i, edge) in plan.edges.iter().enumerate() {
        if edge.from != edge.to {
            let (from, to) = ranks.ends(plan, i);
            down[from].push(i);
            waits[to] += 1;
        }
    }
    let is_source: Vec<bool> = waits.iter().map(|waits| *waits == 0).collect();
    let mut ready: Vec<usize> = (0..n).filter(|node| is_source[*node]).collect();
    let mut sorted = Vec::with_capacity(n);
    while let Some(node) = ready.pop() {
        sorted.push(node);
        for edge in &down[node] {
            let to = ranks.ends(plan, *edge).1;
            ranks.rank[to] = ranks.rank[to].max(ranks.rank[node] + length(plan, *edge));
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    // A source is placed right before its successor.
    for node in (0..n).filter(|node| is_source[*node]) {
        let next = down[node].iter().map(|edge| {
            let to = ranks.ends(plan, *edge).1;
            ranks.rank[to] - length(plan, *edge)
        });
        if let Some(rank) = next.min() {
            ranks.rank[node] = rank;
        }
    }
    let first = ranks.rank.iter().min().copied().unwrap_or(0);
    for rank in &mut ranks.rank {
        *rank -= first;
    }
    ranks
}

/// Edges to a node on the current depth-first path, starting from the sources.
fn turned(plan: &Plan, leaving: &[Vec<usize>], n_coming: &[usize]) -> Vec<bool> {
    let n = leaving.len();
    let mut is_turned = vec![false; plan.edges.len()];
    // 0: new, 1: on the path, 2: done.
    let mut state = vec![0_u8; n];
    let sources = (0..n).filter(|node| n_coming[*node] == 0);
    for begin in sources.chain(0..n).collect::<Vec<_>>() {
        if state[begin] != 0 {
            continue;
        }
        state[begin] = 1;
        let mut way = vec![(begin, 0)];
        while let Some((node, next)) = way.last_mut() {
            let Some(edge) = leaving[*node].get(*next) else {
                state[*node] = 2;
                way.pop();
                continue;
            };
            *next += 1;
            let to = plan.edges[*edge].to;
            match state[to] {
                0 => {
                    state[to] = 1;
                    way.push((to, 0));
                }
                1 => is_turned[*edge] = true,
                _ => {}
            }
        }
    }
    is_turned
}
