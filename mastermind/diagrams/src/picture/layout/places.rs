//! Places along a layer: each item is drawn to the middle of those that its edges lead to, as far as the order lets it.
//!
//! Items on a common straight line share one place (`align`). Frames have two places, their begin and end. Every place
//! has bounds by those of its neighbours; starting from the narrowest allowed places, each one in turn moves to its
//! preferred position within its bounds, from left to right and back.

use std::collections::BTreeMap;

use super::{FRAME, GAP, Kind, Layers, Plan};

/// Rounds over all places. On the public diagrams that were inspected nothing moves by a pixel after 40.
const N_ROUNDS: usize = 60;

/// Positions of items and frames.
pub(super) struct Places {
    pub(super) items: Vec<f64>,
    pub(super) groups: Vec<[f64; 2]>,
    pub(super) end: f64,
}

/// `from + distance <= to`, by variables.
struct Bounds {
    before: Vec<Vec<(usize, f64)>>,
    behind: Vec<Vec<(usize, f64)>>,
}

impl Bounds {
    fn add(&mut self, from: usize, to: usize, distance: f64) {
        if from != to {
            self.behind[from].push((to, distance));
            self.before[to].push((from, distance));
        }
    }
}

/// Places for all.
pub(super) fn places(plan: &Plan, layers: &Layers) -> Places {
    let n = layers.items.len();
    let variable = align(layers);
    let (first, last) = (
        |group: usize| n + 2 * group,
        |group: usize| n + 2 * group + 1,
    );
    let size = n + 2 * plan.groups.len();
    let mut bounds = Bounds {
        before: vec![Vec::new(); size],
        behind: vec![Vec::new(); size],
    };
    for (group, one) in plan.groups.iter().enumerate() {
        let has_any = layers.items.iter().any(|item| item.group.is_some());
        if !has_any {
            break;
        }
        bounds.add(first(group), last(group), one.across);
        if let Some(parent) = one.parent {
            bounds.add(first(parent), first(group), FRAME + plan.title[1]);
            bounds.add(last(group), last(parent), FRAME);
        }
    }
    for (i, item) in layers.items.iter().enumerate() {
        if let Some(group) = item.group {
            bounds.add(
                first(group),
                variable[i],
                item.before + FRAME + plan.title[1],
            );
            bounds.add(variable[i], last(group), item.behind + FRAME);
        }
    }
    for layer in &layers.layers {
        for pair in layer.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let (x, y) = (layers.path(a), layers.path(b));
            let common = x.iter().zip(y).take_while(|(x, y)| x == y).count();
            let (from, behind) = match x.get(common) {
                Some(group) => (last(*group), 0.0),
                None => (variable[a], layers.items[a].behind),
            };
            let (to, before) = match y.get(common) {
                Some(group) => (first(*group), 0.0),
                None => (variable[b], layers.items[b].before),
            };
            let is_lane =
                |path: &[usize]| path.get(common).is_some_and(|g| plan.groups[*g].is_lane);
            let gap = if is_lane(x) && is_lane(y) { 0.0 } else { GAP };
            let gap = match (layers.items[a].kind, layers.items[b].kind) {
                (Kind::Pass, Kind::Pass) if gap > 0.0 => GAP / 2.0,
                _ => gap,
            };
            bounds.add(from, to, behind + gap + before);
        }
    }
    let mut at = narrowest(&bounds, size);
    relax(plan, layers, &variable, &bounds, &mut at);
    let items: Vec<f64> = variable.iter().map(|variable| at[*variable]).collect();
    let mut groups: Vec<[f64; 2]> = (0..plan.groups.len())
        .map(|group| [at[first(group)], at[last(group)]])
        .collect();
    let mut begins = groups
        .iter()
        .map(|group| group[0])
        .fold(f64::INFINITY, f64::min);
    let mut end = groups.iter().map(|group| group[1]).fold(0.0, f64::max);
    for (i, item) in layers.items.iter().enumerate() {
        begins = begins.min(items[i] - item.before);
        end = end.max(items[i] + item.behind);
    }
    let begins = if begins.is_finite() { begins } else { 0.0 };
    for group in &mut groups {
        *group = group.map(|place| place - begins);
    }
    Places {
        items: items.iter().map(|place| place - begins).collect(),
        groups,
        end: end - begins,
    }
}

/// The variable of each item: that of the first item on its straight line.
///
/// Only segments that do not cross are straight, so that no line is left of another one in one layer and right of it in
/// the next; and only those between items of one frame, whose position bounds both.
fn align(layers: &Layers) -> Vec<usize> {
    let n = layers.items.len();
    let (mut n_below, mut n_above) = (vec![0_usize; n], vec![0_usize; n]);
    for (from, to) in &layers.segments {
        n_below[*from] += 1;
        n_above[*to] += 1;
    }
    let mut at = vec![0; n];
    for layer in &layers.layers {
        for (place, item) in layer.iter().enumerate() {
            at[*item] = place;
        }
    }
    let is_pass = |item: usize| layers.items[item].kind == Kind::Pass;
    // The first place of each frame in each layer: a straight line does not go from one side of a frame to the other.
    let mut firsts: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); layers.layers.len()];
    for (layer, items) in layers.layers.iter().enumerate() {
        for (place, item) in items.iter().enumerate() {
            for group in layers.path(*item) {
                firsts[layer].entry(*group).or_insert(place);
            }
        }
    }
    let keeps_side = |from: usize, to: usize| {
        let (here, there) = (
            &firsts[layers.items[from].layer],
            &firsts[layers.items[to].layer],
        );
        let own = layers.path(from);
        let others = here.iter().filter(|(group, _)| !own.contains(group));
        let mut both = others.filter_map(|(group, first)| Some((*first, *there.get(group)?)));
        both.all(|(x, y)| (at[from] < x) == (at[to] < y))
    };
    let mut by_layer: BTreeMap<usize, Vec<(u8, usize, usize)>> = BTreeMap::new();
    for (from, to) in &layers.segments {
        let rank = match (is_pass(*from), is_pass(*to)) {
            (true, true) => 0,
            _ if n_below[*from] == 1 && n_above[*to] == 1 => 1,
            _ => continue,
        };
        if layers.items[*from].group == layers.items[*to].group && keeps_side(*from, *to) {
            let all = by_layer.entry(layers.items[*from].layer).or_default();
            all.push((rank, *from, *to));
        }
    }
    let mut variable: Vec<usize> = (0..n).collect();
    for (_, mut all) in by_layer {
        all.sort_unstable_by_key(|(rank, from, to)| (*rank, at[*from], at[*to]));
        // Accepted ones by their place above.
        let mut straight: BTreeMap<usize, usize> = BTreeMap::new();
        for (_, from, to) in all {
            let (above, below) = (at[from], at[to]);
            let before = straight.range(..=above).next_back();
            let behind = straight.range(above..).next();
            let fits = before.is_none_or(|(x, y)| *x < above && *y < below)
                && behind.is_none_or(|(x, y)| *x > above && *y > below);
            if fits {
                straight.insert(above, below);
                variable[to] = variable[from];
            }
        }
    }
    variable
}

/// The least places that the bounds allow.
fn narrowest(bounds: &Bounds, size: usize) -> Vec<f64> {
    let mut waits: Vec<usize> = bounds.before.iter().map(Vec::len).collect();
    let mut at = vec![0.0; size];
    let mut ready: Vec<usize> = (0..size).filter(|v| waits[*v] == 0).collect();
    while let Some(variable) = ready.pop() {
        for (to, distance) in &bounds.behind[variable] {
            at[*to] = f64::max(at[*to], at[variable] + distance);
            waits[*to] -= 1;
            if waits[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    at
}

/// Moves each place towards its preferred position.
fn relax(plan: &Plan, layers: &Layers, variable: &[usize], bounds: &Bounds, at: &mut [f64]) {
    let n = layers.items.len();
    let mut pulls: Vec<Vec<(usize, f64)>> = vec![Vec::new(); at.len()];
    for (from, to) in &layers.segments {
        let (a, b) = (variable[*from], variable[*to]);
        let is_pass = |item: usize| usize::from(layers.items[item].kind == Kind::Pass);
        // Straight lines matter more for long edges than for short ones.
        let weight = [1.0, 2.0, 8.0][is_pass(*from) + is_pass(*to)];
        if a != b {
            pulls[a].push((b, weight));
            pulls[b].push((a, weight));
        }
    }
    let mut order: Vec<usize> = (0..at.len()).collect();
    order.sort_by(|a, b| at[*a].total_cmp(&at[*b]));
    for round in 0..N_ROUNDS {
        for step in 0..order.len() {
            let v = if round % 2 == 0 {
                order[order.len() - 1 - step]
            } else {
                order[step]
            };
            let low = bounds.before[v].iter().map(|(from, d)| at[*from] + d);
            let low = low.fold(f64::NEG_INFINITY, f64::max);
            let high = bounds.behind[v].iter().map(|(to, d)| at[*to] - d);
            let high = high.fold(f64::INFINITY, f64::min);
            let wanted = if v >= n {
                // A frame closely encloses its members; lanes touch.
                let group = (v - n) / 2;
                let is_lane = plan.groups[group].is_lane;
                match (v - n) % 2 {
                    0 if high.is_finite() && !is_lane => high,
                    _ if low.is_finite() => low,
                    _ => at[v],
                }
            } else {
                let weights: f64 = pulls[v].iter().map(|(_, weight)| weight).sum();
                if weights == 0.0 {
                    continue;
                }
                pulls[v]
                    .iter()
                    .map(|(other, weight)| at[*other] * weight)
                    .sum::<f64>()
                    / weights
            };
            if low <= high {
                at[v] = wanted.clamp(low, high);
            }
        }
    }
}
