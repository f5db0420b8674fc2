//! A tree of questions about several numbers, each whether one is below a bound, that sends each point to a class.
//!
//! Each question is the one after which the two sides are most of one mind: by the sums `S` of what calls take more in each class, the one
//! with the least `1 / Σ 1/S` of both sides together. That is 0 where one class is best at all points, and falls with a question
//! that leads there in two steps, for which the least sum alone has no eye. Questions that save nothing are taken back.
//!
//! # Source
//! L. Breiman, J. Friedman, R. Olshen, C. Stone, *Classification and Regression Trees* (1984), chapter 2, with costs for each point
//! in place of a class of its own (recalled, not looked up).

use super::between;

/// Most questions for a call.
const MAX_DEPTH: usize = 10;

/// Part of the points' weight that a question saves at least, beside the whole: it costs a step of each call.
const LEAST_OF_ALL: f64 = 1e-4;

/// A point, and what its calls take in each class.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Shape `[n_numbers]`.
    pub sizes: Vec<f64>,
    /// How much more than in the best class, times the weight; shape `[n_classes]`.
    pub more: Vec<f64>,
    pub weight: f64,
}

/// A question, or an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Splits {
    /// A place among the classes.
    Class(usize),
    At {
        /// A place among the numbers.
        number: usize,
        bound: f64,
        /// Below the bound, and from there on.
        two: Box<[Splits; 2]>,
    },
}

/// # Arguments
/// * `least` - share by which a class other than the first is to be better
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
    /// With the tree, what calls take more by it.
    fn grow(&self, points: Vec<&Point>, depth: usize) -> (Splits, f64) {
        let Some(first) = points.first() else {
            return (Splits::Class(0), 0.0);
        };
        let weight: f64 = points.iter().map(|point| point.weight).sum();
        let sums = points.iter().fold(vec![0.0; first.more.len()], add);
        let alone = least_of(&sums);
        // The first class where no other is better by what is worth it.
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

/// The place of the least; the first of several.
fn least_of(sums: &[f64]) -> usize {
    let places = 0..sums.len();
    places
        .min_by(|a, b| sums[*a].total_cmp(&sums[*b]))
        .unwrap_or(0)
}

/// How little of one mind calls are.
fn discord(sums: &[f64]) -> f64 {
    1.0 / sums.iter().map(|sum| 1.0 / sum).sum::<f64>()
}

/// Where a number is best split, and the discord of both sides then; None where all points have one value of it.
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
