//! The order of each layer: few crossings, and the members of a frame side by side.

use std::collections::BTreeMap;

use super::{Layers, Plan};

/// Sweeps down and up: a few more change nothing on the public diagrams that were inspected.
const N_SWEEPS: usize = 16;

/// Orders all layers.
pub(super) fn arrange(plan: &Plan, layers: &mut Layers) {
    let n = layers.items.len();
    let (mut above, mut below) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for (from, to) in &layers.segments {
        above[*to].push(*from);
        below[*from].push(*to);
    }
    first_order(layers, &above, &below);
    let mut place = vec![0.0; n];
    number(&layers.layers, &mut place);
    let mut best = (usize::MAX, layers.layers.clone());
    for sweep in 0..N_SWEEPS {
        // Where the items of a frame are, on average, orders frames in all layers alike.
        let frames = frames(plan, layers, &place);
        let is_down = sweep % 2 == 0;
        let count = layers.layers.len();
        for i in 0..count {
            let layer = if is_down { i } else { count - 1 - i };
            let towards = if is_down { &above } else { &below };
            let mut keys: BTreeMap<usize, f64> = BTreeMap::new();
            for item in &layers.layers[layer] {
                let all = &towards[*item];
                let key = match all.len() {
                    0 => place[*item],
                    n => all.iter().map(|other| place[*other]).sum::<f64>() / n as f64,
                };
                keys.insert(*item, key);
            }
            let mut sorted = layers.layers[layer].clone();
            let compare = |a: &usize, b: &usize| compare(layers, &frames, &keys, *a, *b);
            sorted.sort_by(compare);
            layers.layers[layer] = sorted;
            number(&layers.layers[layer..=layer], &mut place);
        }
        let crossings = crossings(layers, &below, &place);
        if crossings < best.0 {
            best = (crossings, layers.layers.clone());
        }
    }
    layers.layers = best.1;
}

/// Begins with the order in which the items are met on the paths down.
fn first_order(layers: &mut Layers, above: &[Vec<usize>], below: &[Vec<usize>]) {
    let n = layers.items.len();
    let mut met = vec![usize::MAX; n];
    let mut count = 0;
    for begin in (0..n).filter(|item| above[*item].is_empty()) {
        let mut way = vec![begin];
        while let Some(item) = way.pop() {
            if met[item] == usize::MAX {
                met[item] = count;
                count += 1;
                way.extend(below[item].iter().rev());
            }
        }
    }
    for layer in &mut layers.layers {
        layer.sort_by_key(|item| met[*item]);
    }
}

/// Places from -1/2 to 1/2, so that layers of different lengths can be compared.
fn number(layers: &[Vec<usize>], place: &mut [f64]) {
    for layer in layers {
        for (at, item) in layer.iter().enumerate() {
            place[*item] = (at as f64 + 0.5) - layer.len() as f64 / 2.0;
        }
    }
}

/// A sort key for each frame among its neighbours: lanes in their order.
fn frames(plan: &Plan, layers: &Layers, place: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0_usize); plan.groups.len()];
    for (item, place) in place.iter().enumerate() {
        for group in layers.path(item) {
            sums[*group].0 += place;
            sums[*group].1 += 1;
        }
    }
    let mean = |(group, (sum, n)): (usize, &(f64, usize))| match plan.groups[group].is_lane {
        true => group as f64,
        false => sum / (*n).max(1) as f64,
    };
    sums.iter().enumerate().map(mean).collect()
}

/// The order of two items: the order of their outermost different frames.
fn compare(
    layers: &Layers,
    frames: &[f64],
    keys: &BTreeMap<usize, f64>,
    a: usize,
    b: usize,
) -> std::cmp::Ordering {
    let (x, y) = (layers.path(a), layers.path(b));
    let n = x.iter().zip(y).take_while(|(x, y)| x == y).count();
    let key = |item: usize, path: &[usize]| match path.get(n) {
        Some(group) => (frames[*group], 1, *group),
        None => (keys[&item], 0, 0),
    };
    let ((p, is_frame, group), (q, other_is_frame, other)) = (key(a, x), key(b, y));
    p.total_cmp(&q)
        .then(is_frame.cmp(&other_is_frame))
        .then(group.cmp(&other))
}

/// How many segments cross each other.
fn crossings(layers: &Layers, below: &[Vec<usize>], place: &[f64]) -> usize {
    let mut total = 0;
    for pair in layers.layers.windows(2) {
        let index: BTreeMap<usize, usize> = pair[1]
            .iter()
            .enumerate()
            .map(|(at, item)| (*item, at))
            .collect();
        let mut counts = vec![0_usize; pair[1].len() + 1];
        let mut seen = 0;
        let mut from = pair[0].clone();
        from.sort_by(|a, b| place[*a].total_cmp(&place[*b]));
        for item in from {
            let mut targets: Vec<usize> = below[item]
                .iter()
                .filter_map(|to| index.get(to).copied())
                .collect();
            targets.sort_unstable();
            for to in &targets {
                // Those before that lead further behind.
                let (mut sum, mut at) = (0, to + 1);
                while at > 0 {
                    sum += counts[at];
                    at &= at - 1;
                }
                total += seen - sum;
            }
            for to in targets {
                seen += 1;
                let mut at = to + 1;
                while at < counts.len() {
                    counts[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
    }
    total
}
