//! Formulas whose form holds numbers that are searched for: regimes with their breaks, and stairs.

use crate::families::candidate::Candidate;
use crate::families::hypothesis::{Hypothesis, Shape, lines_by_regime};
use crate::formula::family::Family;
use crate::formula::sum::{Factor, Formula, Term};
use crate::samples::points::Points;
use crate::solve::likelihood::Counts;
use crate::solve::limits::Limits;

/// Regimes tried at most.
const MAX_REGIMES: usize = 4;

/// Distinct values that a regime needs.
const MIN_VALUES: usize = 3;

/// Share of all values that a regime needs, one in so many: a few that are off lie among many, and are no way in which a method works.
const MIN_SHARE: usize = 16;

/// Distinct values that two lines need that meet.
const MIN_MEETING_VALUES: usize = 5;

/// Places tried for a break.
const MAX_CUTS: usize = 48;

/// Folds of the cross-validation; with no more points than twice this, each point alone.
const FOLDS: usize = 10;

/// Distinct values that a staircase needs.
const MIN_STAIR_VALUES: usize = 6;

/// Steps up to the largest jump that are tried.
const MAX_STEPS: usize = 64;

/// Jumps looked at.
const MAX_JUMPS: usize = 3;

/// Widths tried for each number of steps up to a jump.
const WIDTHS: usize = 6;

/// Relative difference of sums of squares that counts as none.
const EQUAL: f64 = 1e-9;

/// Lines by regime and stairs in each varying parameter, those asked for.
pub(crate) fn searched(
    points: &Points,
    limits: &Limits<'_>,
    asked: impl Fn(Family) -> bool,
) -> Vec<Candidate> {
    let families = [Family::Regimes, Family::Stairs];
    let families: Vec<Family> = families
        .into_iter()
        .filter(|&family| asked(family))
        .collect();
    let mut list = Vec::new();
    for param in points.varying() {
        for &family in &families {
            let found = search(points, family, param);
            list.extend(
                found
                    .iter()
                    .filter_map(|hypothesis| hypothesis.fit(points, limits)),
            );
        }
    }
    list
}

/// Hypotheses of different `n_searched`.
fn search(points: &Points, family: Family, param: usize) -> Vec<Hypothesis> {
    match family {
        Family::Regimes => regimes(points, param),
        _ => stairs(points, param).into_iter().collect(),
    }
}

/// The time of each point predicted by a search without it and its fold, NaN where that finds nothing.
///
/// # Returns
/// `None` where the candidate is of no family that is searched.
pub(crate) fn left_out(
    points: &Points,
    limits: &Limits<'_>,
    candidate: &Candidate,
) -> Option<Vec<f64>> {
    if ![Family::Regimes, Family::Stairs].contains(&candidate.family) {
        return None;
    }
    let params = candidate.formula.params();
    let param = points
        .names
        .iter()
        .position(|name| params.contains(name.as_str()))?;
    let n_searched = candidate.n_free - candidate.coefficients.len();
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| points.columns[param][a].total_cmp(&points.columns[param][b]));
    let n_folds = if points.len() <= 2 * FOLDS {
        points.len()
    } else {
        FOLDS
    };
    let mut left_out_s = vec![f64::NAN; points.len()];
    for fold in 0..n_folds {
        let inside = |rank: usize| rank % n_folds == fold;
        let rows = (0..order.len()).filter(|&rank| !inside(rank));
        let rest = points.subset(&rows.map(|rank| order[rank]).collect::<Vec<_>>());
        let list = search(&rest, candidate.family, param);
        let like = list
            .iter()
            .find(|hypothesis| hypothesis.n_searched == n_searched);
        let Some(found) = like.and_then(|hypothesis| hypothesis.fit(&rest, limits)) else {
            continue;
        };
        for rank in (0..order.len()).filter(|&rank| inside(rank)) {
            left_out_s[order[rank]] = value(&found.formula, points, order[rank]);
        }
    }
    Some(left_out_s)
}

fn value(formula: &Formula, points: &Points, i: usize) -> f64 {
    formula
        .evaluate(|name| points.number(i, name))
        .unwrap_or(f64::NAN)
}

/// The best lines over two ranges of one parameter, over three, and so on, as far as its values carry
/// them; the breaks between are found by dynamic programming over all their places.
fn regimes(points: &Points, param: usize) -> Vec<Hypothesis> {
    let values = points.values(param);
    let most = (values.len() / MIN_VALUES).min(MAX_REGIMES);
    if most < 2 {
        // Of so few sizes called once each no scatter is known, and four numbers go almost through all.
        return match Counts::of(points).are_few() {
            true => Vec::new(),
            false => meeting(param, &values),
        };
    }
    let least = least_values(values.len());
    let cuts = cuts(values.len(), least);
    let best = best_cuts(&Sorted::new(points, param), &values, &cuts, least, most);
    let hypothesis = |n_regimes| {
        let breaks = breaks(&best, &cuts, n_regimes)?;
        let ends = breaks
            .iter()
            .map(|&cut| middle(values[cut - 1], values[cut]));
        let ends: Vec<f64> = ends.collect();
        let terms = lines_by_regime(&points.names[param], &ends);
        let constant = false;
        Some(Hypothesis {
            family: Family::Regimes,
            shape: Shape::Sum { constant, terms },
            n_searched: ends.len(),
        })
    };
    (2..=most).filter_map(hypothesis).collect()
}

/// Two lines that meet, at each place that leaves two values to either, where values are too few for lines of their own; none where
/// they are too few for these.
///
/// All places are weighed beside one another, so none was searched for. The formula has four numbers, constant and slope of each line; the
/// place and that they meet there make three of them free, and the price of the fourth is that of the place.
fn meeting(param: usize, values: &[f64]) -> Vec<Hypothesis> {
    if values.len() < MIN_MEETING_VALUES {
        return Vec::new();
    }
    let inner = &values[1..values.len() - 1];
    let between = inner.windows(2).map(|pair| middle(pair[0], pair[1]));
    let places = inner.iter().copied().chain(between);
    let hypothesis = |at| Hypothesis {
        family: Family::Regimes,
        shape: Shape::Meeting { param, at },
        n_searched: 0,
    };
    places.map(hypothesis).collect()
}

/// Values that a regime needs, of so many.
fn least_values(n_values: usize) -> usize {
    MIN_VALUES.max(n_values / MIN_SHARE)
}

/// Indices of values that a regime may begin at, the first and the end included.
fn cuts(n_values: usize, least: usize) -> Vec<usize> {
    let inner = least..=n_values - least;
    let stride = (n_values / MAX_CUTS).max(1);
    let mut cuts = vec![0];
    cuts.extend(inner.step_by(stride));
    cuts.push(n_values);
    cuts
}

/// Least sum of squares of `k + 1` regimes up to cut `to`, and the cut where the last begins, at
/// `[k][to]`.
type Best = Vec<Vec<(f64, usize)>>;

fn best_cuts(points: &Sorted, values: &[f64], cuts: &[usize], least: usize, most: usize) -> Best {
    let n = cuts.len();
    let mut cost = vec![vec![f64::INFINITY; n]; n];
    for from in 0..n {
        for to in from + 1..n {
            if cuts[to] - cuts[from] >= least {
                cost[from][to] = points.squares(values[cuts[from]], values[cuts[to] - 1]);
            }
        }
    }
    let mut best = vec![cost[0].iter().map(|&c| (c, 0)).collect::<Vec<_>>()];
    for k in 1..most {
        let before = &best[k - 1];
        let row = (0..n).map(|to| {
            let sums = (1..to).map(|from| (before[from].0 + cost[from][to], from));
            sums.fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a })
        });
        let row = row.collect();
        best.push(row);
    }
    best
}

/// Where regimes after the first begin, as indices of values.
fn breaks(best: &Best, cuts: &[usize], n_regimes: usize) -> Option<Vec<usize>> {
    let mut to = cuts.len() - 1;
    if !best[n_regimes - 1][to].0.is_finite() {
        return None;
    }
    let mut breaks = Vec::new();
    for k in (1..n_regimes).rev() {
        to = best[k][to].1;
        breaks.push(cuts[to]);
    }
    breaks.reverse();
    Some(breaks)
}

/// Points by ascending value of a parameter, with their weights.
struct Sorted {
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
}

impl Sorted {
    fn new(points: &Points, param: usize) -> Self {
        let column = &points.columns[param];
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| column[a].total_cmp(&column[b]));
        let weights = weights(points);
        let take = |from: &[f64]| order.iter().map(|&i| from[i]).collect();
        Self {
            x: take(column),
            y: take(&points.mean_s),
            weights: take(&weights),
        }
    }

    /// Weighted sum of squares about the line through the points from `low` to `high`.
    fn squares(&self, low: f64, high: f64) -> f64 {
        let from = self.x.partition_point(|&x| x < low);
        let to = self.x.partition_point(|&x| x <= high);
        let range = from..to;
        line_squares(
            &self.x[range.clone()],
            &self.y[range.clone()],
            &self.weights[range],
        )
    }
}

/// Weighted sum of squares about the best line; infinite where `x` does not vary.
fn line_squares(x: &[f64], y: &[f64], w: &[f64]) -> f64 {
    let n = x.len();
    let (mut sum, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
    for i in 0..n {
        sum += w[i];
        sum_x += w[i] * x[i];
        sum_y += w[i] * y[i];
    }
    let (mean_x, mean_y) = (sum_x / sum, sum_y / sum);
    let (mut xx, mut xy) = (0.0, 0.0);
    for i in 0..n {
        let off = x[i] - mean_x;
        xx += w[i] * off * off;
        xy += w[i] * off * (y[i] - mean_y);
    }
    if xx <= 0.0 {
        return f64::INFINITY;
    }
    let slope = xy / xx;
    let rest = |i: usize| y[i] - mean_y - slope * (x[i] - mean_x);
    (0..n).map(|i| w[i] * rest(i) * rest(i)).sum()
}

/// Between two values: their geometric mean where they are positive.
fn middle(low: f64, high: f64) -> f64 {
    if low > 0.0 {
        (low * high).sqrt()
    } else {
        0.5 * (low + high)
    }
}

/// The best `a + b · ceil(x / s)`: widths are tried that put a step where the time jumps.
fn stairs(points: &Points, param: usize) -> Option<Hypothesis> {
    let values = points.values(param);
    if values.len() < MIN_STAIR_VALUES || values[0] <= 0.0 {
        return None;
    }
    let mut best: Option<(f64, f64)> = None;
    let total = spread(points);
    let sorted = Sorted::new(points, param);
    let mut steps = vec![0.0; points.len()];
    for width in widths(points, param, &values) {
        let pairs = steps.iter_mut().zip(&sorted.x);
        pairs.for_each(|(steps, x)| *steps = (x / width).ceil());
        let left = line_squares(&steps, &sorted.y, &sorted.weights);
        if !left.is_finite() {
            continue;
        }
        let better = best.is_none_or(|(least, chosen)| {
            let tie = (left - least).abs() <= EQUAL * total;
            left < least - EQUAL * total || tie && roundness(width) > roundness(chosen)
        });
        if better {
            best = Some((left, width));
        }
    }
    let (_, width) = best?;
    if values[values.len() / 2] > MAX_STEPS as f64 * width {
        // So many steps are a line.
        return None;
    }
    let term = Term::new(1.0, vec![Factor::steps(&points.names[param], width)]);
    Some(Hypothesis {
        n_searched: 1,
        ..Hypothesis::sum(Family::Stairs, vec![term])
    })
}

/// Widths to try: those that put the end of a step between two values where the time jumps most.
fn widths(points: &Points, param: usize, values: &[f64]) -> Vec<f64> {
    let mean = |value: f64| {
        let rows = (0..points.len()).filter(|&i| points.columns[param][i] == value);
        let (sum, n) = rows.fold((0.0, 0.0), |(sum, n), i| (sum + points.mean_s[i], n + 1.0));
        sum / n
    };
    let means: Vec<f64> = values.iter().map(|&value| mean(value)).collect();
    let mut jumps: Vec<usize> = (1..values.len()).collect();
    // The steepest rise, not the largest: far apart, many steps lie between.
    let rise = |&i: &usize| (means[i] - means[i - 1]) / (values[i] - values[i - 1]);
    jumps.sort_by(|a, b| rise(b).total_cmp(&rise(a)));
    let mut widths = Vec::new();
    for &jump in jumps.iter().take(MAX_JUMPS) {
        for n_steps in 1..=MAX_STEPS {
            let (low, high) = (
                values[jump - 1] / n_steps as f64,
                values[jump] / n_steps as f64,
            );
            widths.extend(round_numbers(low, high));
        }
    }
    widths.sort_by(f64::total_cmp);
    widths.dedup();
    widths
}

/// The roundest numbers in `low..high`, at most [`WIDTHS`]: multiples of the largest power of two that
/// has any there, then of its half.
fn round_numbers(low: f64, high: f64) -> Vec<f64> {
    let mut found = Vec::new();
    let mut unit = (high - low).log2().ceil().exp2() * 2.0;
    for _ in 0..4 {
        let first = (low / unit).ceil();
        let multiples = (0..WIDTHS).map(|k| (first + k as f64) * unit);
        found.extend(multiples.filter(|&x| x > 0.0 && x < high));
        if found.len() >= WIDTHS {
            break;
        }
        unit *= 0.5;
    }
    found.truncate(WIDTHS);
    found
}

/// How often a width can be halved and stay whole; less than 0 for fractions.
fn roundness(width: f64) -> i32 {
    let mantissa = width.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let exponent = (width.to_bits() >> 52 & 0x7ff) as i32 - 1075;
    exponent + mantissa.trailing_zeros() as i32
}

fn weights(points: &Points) -> Vec<f64> {
    let largest = points.largest_s();
    let pairs = points.mean_s.iter().zip(&points.count);
    pairs
        .map(|(&y, n)| n / points.noise.variance(y, largest))
        .collect()
}

/// Weighted sum of squares of the times themselves.
fn spread(points: &Points) -> f64 {
    let pairs = points.mean_s.iter().zip(weights(points));
    pairs.map(|(y, w)| w * y * y).sum()
}
