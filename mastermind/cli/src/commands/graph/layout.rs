//! Places the boxes: users left of providers, with few crossings.

use super::Wiring;

/// Number of sweeps that order the boxes of a column by the places of their neighbours.
const N_SWEEPS: usize = 8;

/// The column of each instance: the longest path of uses that leads to it, without connections that close a cycle.
pub fn layers(wiring: &Wiring) -> Vec<usize> {
    let n = wiring.instances.len();
    let forward = forward(wiring);
    let mut layers = vec![0; n];
    // A path without cycles has fewer than `n` connections.
    for _ in 0..n {
        let mut changed = false;
        for &(user, provider) in &forward {
            if layers[provider] <= layers[user] {
                layers[provider] = layers[user] + 1;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    layers
}

/// The connections without those that lead back, as seen from the instance that starts the assembly.
fn forward(wiring: &Wiring) -> Vec<(usize, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let n = wiring.instances.len();
    let next = |from: usize| {
        let edges = wiring.connections.iter().map(|edge| edge.ends);
        edges
            .filter(move |(user, _)| *user == from)
            .map(|(_, to)| to)
    };
    let started = wiring.go.as_ref().and_then(|go| go.split_once('.'));
    let first = wiring
        .instances
        .iter()
        .position(|node| started.is_some_and(|(instance, _)| node.name == instance));
    let mut marks = vec![Mark::New; n];
    let mut kept = Vec::new();
    for root in first.into_iter().chain(0..n) {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        let mut open: Vec<(usize, Vec<usize>)> = vec![(root, next(root).collect())];
        while let Some((from, rest)) = open.last_mut() {
            let from = *from;
            match rest.pop() {
                None => {
                    marks[from] = Mark::Done;
                    open.pop();
                }
                Some(to) if marks[to] == Mark::Open => {}
                Some(to) => {
                    kept.push((from, to));
                    if marks[to] == Mark::New {
                        marks[to] = Mark::Open;
                        open.push((to, next(to).collect()));
                    }
                }
            }
        }
    }
    kept
}

/// The columns, each with its instances from top to bottom.
pub fn columns(wiring: &Wiring) -> Vec<Vec<usize>> {
    let layers = layers(wiring);
    let n_columns = layers.iter().max().map_or(0, |last| last + 1);
    let mut columns = vec![Vec::new(); n_columns];
    for (instance, layer) in layers.iter().enumerate() {
        columns[*layer].push(instance);
    }
    let mut places = vec![0.0; layers.len()];
    let mut place = |columns: &[Vec<usize>]| {
        for column in columns {
            for (place, instance) in column.iter().enumerate() {
                places[*instance] = (place as f64 + 0.5) / column.len() as f64;
            }
        }
        places.clone()
    };
    for _ in 0..N_SWEEPS {
        for at in 0..n_columns {
            let places = place(&columns);
            let middle = |instance: usize| {
                let ends = wiring.connections.iter().map(|edge| edge.ends);
                let others = ends.filter_map(|(a, b)| match instance {
                    i if i == a => Some(places[b]),
                    i if i == b => Some(places[a]),
                    _ => None,
                });
                let others: Vec<_> = others.collect();
                if others.is_empty() {
                    places[instance]
                } else {
                    others.iter().sum::<f64>() / others.len() as f64
                }
            };
            columns[at].sort_by(|a, b| middle(*a).total_cmp(&middle(*b)));
        }
    }
    columns
}
