//! A decision tree over several numeric parameters: each node compares one of them with a bound, each leaf is a class.
//!
//! Each node takes the split whose two sides agree most on one class. With `S` the sum over the points of the
//! additional time of each class, that is the split with the least total of `1 / Σ 1/S` over both sides. The measure is
//! 0 where one class is best at all points. Unlike the least sum alone, it also falls for a split that leads to such
//! sides in two steps. Splits that save nothing are pruned.
//!
//! # Source
//! L. Breiman, J. Friedman, R. Olshen, C. Stone, *Classification and Regression Trees* (1984), chapter 2, with a cost
//! for each class at each point instead of a class label (recalled, not looked up).

use super::between;

/// Largest depth: tests for a call.
const MAX_DEPTH: usize = 10;

/// Share of the total weight of the points that a split must save, since it costs every call a step.
const LEAST_OF_ALL: f64 = 1e-4;

/// A point, and the additional time of its calls with each class.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Shape `[n_numbers]`.
    pub sizes: Vec<f64>,
    /// Additional time relative to the best class, times the weight of the point; shape `[n_classes]`.
    pub more: Vec<f64>,
    pub weight: f64,
}

/// A split, or a class.
#[derive(Debug, Clone, PartialEq)]
pub enum Splits {
    /// Index of the class.
    Class(usize),
    At {
        /// Index of the parameter.
        number: usize,
        bound: f64,
        /// The side below the bound, and the side at or above it.
        two: Box<[Splits; 2]>,
    },
}

/// # Arguments
/// * `least` - share by which a class other than the first must be better
pub fn tree(points: &[Point], least: f64) -> Splits {
    let weight: f64 = points.iter().map(|point| point.weight).sum();
    let all: Vec<&Point> = points.iter().collect();
    let least_saved = LEAST_OF_ALL * weight;
    Grower { least, least_saved }.grow(all, MAX_DEPTH).0
}

struct Grower {
    least: f64,
    least_saved: f64,
}

impl Grower {
    /// # Returns
    /// The tree, and the additional time of its calls.
    fn grow(&self, points: Vec<&Point>, depth: usize) -> (Splits, f64) {
        let Some(first) = points.first() else {
            return (Splits::Class(0), 0.0);
        };
        let weight: f64 = points.iter().map(|point| point.weight).sum();
        let sums = points.iter().fold(vec![0.0; first.more.len()], add);
        let alone = least_of(&sums);
        // The first class, unless another one is better by more than `least`.
        let class = match sums[0] <= sums[alone] + self.least * weight {
            true => 0,
            false => alone,
        };
        let answer = (Splits::Class(class), sums[class]);
        if depth == 0 || sums[class] < self.least_saved {
            return answer;
        }
        let best = (0..first.sizes.len())
            .filter_map(|number| Some((number, best_bound(&points, number, &sums)?)))
            .min_by(|(_, a), (_, b)| a.1.total_cmp(&b.1));
        let Some((number, (bound, _))) = best else {
            return answer;
        };
        let (below, from) = points.into_iter().partition(|p| p.sizes[number] < bound);
        let [below, from] = [below, from].map(|side| self.grow(side, depth - 1));
        let more = below.1 + from.1;
        if sums[class] - more < self.least_saved {
            return answer;
        }
        let two = Box::new([below.0, from.0]);
        (Splits::At { number, bound, two }, more)
    }
}

fn add(mut sums: Vec<f64>, point: &&Point) -> Vec<f64> {
    sums.iter_mut()
        .zip(&point.more)
        .for_each(|(sum, more)| *sum += more);
    sums
}

/// Index of the least sum; the first one of equal sums.
fn least_of(sums: &[f64]) -> usize {
    let places = 0..sums.len();
    places
        .min_by(|a, b| sums[*a].total_cmp(&sums[*b]))
        .unwrap_or(0)
}

/// Measure of disagreement among points about the best class.
fn discord(sums: &[f64]) -> f64 {
    1.0 / sums.iter().map(|sum| 1.0 / sum).sum::<f64>()
}

/// The best split of a parameter, and the sum of the discords of both sides; None if all points have the same value.
fn best_bound(points: &[&Point], number: usize, all: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.sizes[number].total_cmp(&b.sizes[number]));
    let mut below = vec![0.0; all.len()];
    let mut best: Option<(f64, f64)> = None;
    for pair in sorted.windows(2) {
        below = add(below, &pair[0]);
        let (a, b) = (pair[0].sizes[number], pair[1].sizes[number]);
        if a == b {
            continue;
        }
        let rest = all
            .iter()
            .zip(&below)
            .map(|(all, sum)| (all - sum).max(0.0));
        let from: Vec<f64> = rest.collect();
        let left = discord(&below) + discord(&from);
        if best.is_none_or(|(_, least)| left < least) {
            best = Some((between(a, b), left));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes; the second is better by a half where both numbers are beyond 4, and worse elsewhere.
    #[test]
    fn a_corner_is_found() {
        let grid = (0..100).map(|at| [f64::from(at % 10), f64::from(at / 10)]);
        let point = |[x, y]: [f64; 2]| Point {
            sizes: vec![x, y],
            more: if x > 4.0 && y > 4.0 {
                vec![0.5, 0.0]
            } else {
                vec![0.0, 0.5]
            },
            weight: 1.0,
        };
        let points: Vec<Point> = grid.map(point).collect();
        let found = tree(&points, 0.01);
        let of = |x: f64, y: f64| {
            let mut splits = &found;
            loop {
                match splits {
                    Splits::Class(class) => return *class,
                    Splits::At { number, bound, two } => {
                        splits = &two[usize::from([x, y][*number] >= *bound)];
                    }
                }
            }
        };
        for at in &points {
            let [x, y] = at.sizes[..] else { unreachable!() };
            assert_eq!(of(x, y), usize::from(x > 4.0 && y > 4.0), "{x} {y}");
        }
    }

    #[test]
    fn what_saves_nothing_is_not_asked() {
        let point = |x: f64, more: f64| Point {
            sizes: vec![x],
            more: vec![more, 0.0],
            weight: 1.0,
        };
        let points: Vec<Point> = (0..10).map(|x| point(f64::from(x), 0.005)).collect();
        assert_eq!(tree(&points, 0.01), Splits::Class(0));
        assert_eq!(tree(&[], 0.01), Splits::Class(0));
        let points: Vec<Point> = (0..10).map(|x| point(f64::from(x), 0.5)).collect();
        assert_eq!(tree(&points, 0.01), Splits::Class(1));
    }
}
