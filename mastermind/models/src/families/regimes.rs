//! Piecewise formulas over ranges (regimes) of one parameter: a line in each with the breaks found by search, in the last range perhaps
//! another term; and forms of two ranges with few coefficients, such as `max(a, b x)`.
//!
//! In: points, and the terms that the last range may have. Out: hypotheses, each with its breaks.
//!
//! Only the last range determines the behaviour at large sizes. Where small sizes follow another law (a sort that inserts, a message
//! that fits a buffer), a formula of one piece follows the many small sizes and extrapolates badly; and a line in the last range misses
//! a curve there. Lines suffice for the earlier ranges, which only have to show where the law changes.
//!
//! Where the last size or two follow another law, a smooth formula with three coefficients passes through them and soars beyond. The
//! candidates therefore include two ranges with a single size in the last: with a plateau, in proportion, and with the slope from
//! before, since one size supports all three.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::families::hypothesis::{Hypothesis, Shape, lines_by_regime};
use crate::formula::exponent::Exponent;
use crate::formula::family::Family;
use crate::formula::sum::{Factor, Regime, Term};
use crate::samples::points::Points;
use crate::solve::likelihood::Counts;

/// Most regimes of a formula.
const MAX_REGIMES: usize = 4;

/// Distinct values that a regime needs.
const MIN_VALUES: usize = 3;

/// A regime needs one in this many of all values: among many values, a few outliers are no regime.
const MIN_SHARE: usize = 16;

/// Distinct values needed for two lines that meet, and for a regime whose term is searched for.
const MIN_MEETING_VALUES: usize = 5;

/// Places tried for a break.
const MAX_CUTS: usize = 48;

/// Powers of the parameter in two ranges, with at most three coefficients: `max(a, b x)`, `min(b x, a)`, `max(a / x, b)`, a change of
/// speed, and a line that ends in a plateau, continues in proportion, or begins after a constant. Source: costs of programs, of which
/// one dominates once a cache or a buffer is full, or once divided work is small.
const RANGES: [[&[i32]; 2]; 7] = [
    [&[0], &[1]],
    [&[1], &[0]],
    [&[-1], &[0]],
    [&[1], &[1]],
    [&[0, 1], &[0]],
    [&[0, 1], &[1]],
    [&[0], &[0, 1]],
];

/// Terms of the last regime to keep, for each number of regimes.
const N_TERMS_KEPT: usize = 3;

/// A term that the last regime may have in addition to its constant, and its values at all points.
pub(crate) struct LastTerm<'a> {
    /// Its factors.
    pub factors: SmallVec<[Factor; 1]>,
    /// Shape `[n_points]`.
    pub column: Cow<'a, [f64]>,
}

/// The best lines over two ranges of one parameter, over three, and so on, as many as its values support.
///
/// Dynamic programming over all places finds the breaks. The same is then done with each of the given terms in place of the last line, and
/// the best few are kept.
pub(crate) fn regimes(points: &Points, param: usize, last: &[LastTerm<'_>]) -> Vec<Hypothesis> {
    let values = points.values(param);
    let most = (values.len() / MIN_VALUES).min(MAX_REGIMES);
    let sorted = Sorted::new(points, param);
    if most < 2 {
        // With so few sizes, each called once, the scatter is unknown and four numbers pass through almost all points.
        if Counts::of(points).are_few() || values.len() < MIN_MEETING_VALUES {
            return Vec::new();
        }
        let mut list = meeting(param, &values);
        list.extend(ranges(&sorted, &points.names[param], &values));
        return list;
    }
    let least = least_values(values.len());
    let cuts = cuts(values.len(), least);
    let rows = sorted.rows(&values, &cuts);
    let best = best_cuts(&sorted, &rows, &cuts, least, most);
    let hypothesis = |breaks: Vec<usize>, factors: Option<&SmallVec<[Factor; 1]>>| {
        let ends = breaks
            .iter()
            .map(|&cut| middle(values[cut - 1], values[cut]));
        let ends: Vec<f64> = ends.collect();
        let mut terms = lines_by_regime(&points.names[param], &ends);
        if let (Some(term), Some(factors)) = (terms.last_mut(), factors) {
            term.factors = factors.clone();
        }
        let constant = false;
        Hypothesis {
            family: Family::Regimes,
            shape: Shape::Sum { constant, terms },
            n_searched: ends.len(),
        }
    };
    let lines = (2..=most).filter_map(|n_regimes| {
        let breaks = breaks(&best, &cuts, n_regimes, cuts.len() - 1)?;
        Some(hypothesis(breaks, None))
    });
    let mut list: Vec<Hypothesis> = lines.collect();
    list.extend(ranges(&sorted, &points.names[param], &values));
    let tails: Vec<Vec<f64>> = last
        .iter()
        .map(|term| sorted.tails(&term.column, &rows))
        .collect();
    let is_long = |from: &usize| values.len() - cuts[*from] >= least.max(MIN_MEETING_VALUES);
    for n_regimes in 2..=most {
        let before = &best[n_regimes - 2];
        let nearest = tails.iter().enumerate().filter_map(|(term, tail)| {
            let sums = (1..cuts.len() - 1).filter(is_long);
            let sums = sums.map(|from| (before[from].0 + tail[from], from));
            let (sum, from) = sums.min_by(|a, b| a.0.total_cmp(&b.0))?;
            sum.is_finite().then_some((sum, term, from))
        });
        let mut nearest: Vec<(f64, usize, usize)> = nearest.collect();
        nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
        for &(_, term, from) in nearest.iter().take(N_TERMS_KEPT) {
            let Some(mut breaks) = breaks(&best, &cuts, n_regimes - 1, from) else {
                continue;
            };
            breaks.push(cuts[from]);
            list.push(hypothesis(breaks, Some(&last[term].factors)));
        }
    }
    list
}

/// The factors of the last regime's term, unless that is the parameter itself.
pub(crate) fn last_factors(terms: &[Term]) -> Option<&SmallVec<[Factor; 1]>> {
    let factors = &terms.last()?.factors;
    let line = Term::linear(1.0, &factors.first()?.param);
    (*factors != line.factors).then_some(factors)
}

/// Each of [`RANGES`] with its best break, and the forms of [`larger_or_lesser`].
///
/// The first range has at least one value more than coefficients; the last has too few values for a line of its own, since with more
/// values the lines of [`regimes`] apply.
fn ranges(sorted: &Sorted, param: &str, values: &[f64]) -> Vec<Hypothesis> {
    let first = values.len().saturating_sub(MIN_VALUES - 1);
    let cuts: Vec<usize> = (first..values.len()).collect();
    let rows = sorted.rows(values, &cuts);
    let best = RANGES.iter().filter_map(|powers| {
        let [before, _] = sorted.sides(powers[0], &rows);
        let [_, after] = sorted.sides(powers[1], &rows);
        let places = (0..cuts.len()).filter(|&place| cuts[place] > powers[0].len());
        let sums = places.map(|place| (before[place] + after[place], cuts[place]));
        let (sum, cut) = sums.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let at = middle(values[cut - 1], values[cut]);
        (sum.is_finite()).then(|| two_ranges(param, *powers, at, 1))
    });
    best.chain(larger_or_lesser(sorted, param, values))
        .collect()
}

/// Each `max(f, g)` or `min(f, g)` of [`RANGES`] with one coefficient on either side, with the break anywhere.
///
/// These forms are continuous: the break is where both sides are equal, and does not count as searched.
fn larger_or_lesser<'a>(
    sorted: &'a Sorted,
    param: &'a str,
    values: &'a [f64],
) -> impl Iterator<Item = Hypothesis> + 'a {
    RANGES.iter().filter_map(move |powers| {
        let at = sorted.crossing(*powers, values)?;
        Some(two_ranges(param, *powers, at, 0))
    })
}

/// Powers of the parameter before and after a place.
fn two_ranges(param: &str, powers: [&[i32]; 2], at: f64, n_searched: usize) -> Hypothesis {
    let part = |side: usize| {
        let (from, to) = ((side == 1).then_some(at), (side == 0).then_some(at));
        let regime = Regime {
            param: param.into(),
            from,
            to,
        };
        powers[side].iter().map(move |&power| Term {
            regime: Some(regime.clone()),
            ..power_of(param, power)
        })
    };
    Hypothesis {
        family: Family::Regimes,
        shape: Shape::Sum {
            constant: false,
            terms: part(0).chain(part(1)).collect(),
        },
        n_searched,
    }
}

/// `param ^ power`; the power 0 has no factor.
fn power_of(param: &str, power: i32) -> Term {
    let factor = (power != 0).then(|| Factor::new(param, Exponent::Fraction(power, 1), 0));
    Term::new(1.0, factor)
}

/// Two lines that meet, for each place with at least two values on either side, used if there are too few values for separate lines.
///
/// Every place is a hypothesis of its own, so none counts as searched. The formula has four numbers, constant and slope of each line; at a
/// given place the condition that they meet leaves three free, and the fourth number accounts for the price of the place.
fn meeting(param: usize, values: &[f64]) -> Vec<Hypothesis> {
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

/// Number of values that a regime needs, if there are `n_values` in all.
fn least_values(n_values: usize) -> usize {
    MIN_VALUES.max(n_values / MIN_SHARE)
}

/// Indices of the values at which a regime may begin, the first and the end included.
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

/// # Arguments
/// * `rows` - the first row of `points` at or after each cut
fn best_cuts(points: &Sorted, rows: &[usize], cuts: &[usize], least: usize, most: usize) -> Best {
    let n = cuts.len();
    let mut cost = vec![vec![f64::INFINITY; n]; n];
    for from in 0..n - 1 {
        let mut line = LineFit::default();
        for to in from + 1..n {
            for row in rows[to - 1]..rows[to] {
                line.push(points.x[row], points.y[row], points.weights[row]);
            }
            if cuts[to] - cuts[from] >= least {
                cost[from][to] = line.squares();
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

/// Indices of the values at which the regimes after the first begin, among those up to the cut `to`.
fn breaks(best: &Best, cuts: &[usize], n_regimes: usize, mut to: usize) -> Option<Vec<usize>> {
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
pub(crate) struct Sorted {
    order: Vec<usize>,
    /// The values.
    pub x: Vec<f64>,
    /// Mean times.
    pub y: Vec<f64>,
    /// Calls over the variance of one call.
    pub weights: Vec<f64>,
}

impl Sorted {
    /// Sorts the points.
    pub fn new(points: &Points, param: usize) -> Self {
        let column = &points.columns[param];
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| column[a].total_cmp(&column[b]));
        let weights = weights(points);
        let take = |from: &[f64]| order.iter().map(|&i| from[i]).collect();
        Self {
            x: take(column),
            y: take(&points.mean_s),
            weights: take(&weights),
            order,
        }
    }

    /// The first row at or after each cut.
    fn rows(&self, values: &[f64], cuts: &[usize]) -> Vec<usize> {
        let row = |&cut: &usize| match values.get(cut) {
            Some(&value) => self.x.partition_point(|&x| x < value),
            None => self.x.len(),
        };
        cuts.iter().map(row).collect()
    }

    /// The place where two multiples of powers cross, one fitted to the points before it and one to the points from it on.
    ///
    /// If there are several such places with at least two values on either side, the one with the least sum of squares is returned. `None`
    /// if the multiples do not cross between the values that they were fitted to, or if a range has more than one power.
    fn crossing(&self, powers: [&[i32]; 2], values: &[f64]) -> Option<f64> {
        let [&[before], &[after]] = powers else {
            return None;
        };
        if before == after || values[0] <= 0.0 || values.len() > MAX_CUTS {
            return None;
        }
        let multiple = |rows: std::ops::Range<usize>, power: i32| {
            let (mut multiple, mut left) = (MultipleFit::default(), 0.0);
            for row in rows {
                left = multiple.push(self.x[row].powi(power), self.y[row], self.weights[row]);
            }
            (left, multiple.ty / multiple.tt)
        };
        let cuts: Vec<usize> = (2..values.len() - 1).collect();
        let rows = self.rows(values, &cuts);
        let places = cuts.iter().zip(rows).filter_map(|(&cut, row)| {
            let (left, a) = multiple(0..row, before);
            let (right, b) = multiple(row..self.x.len(), after);
            let at = (a / b).powf(f64::from(after - before).recip());
            let is_between = values[cut - 1] <= at && at <= values[cut];
            is_between.then_some((left + right, at))
        });
        let nearest = places.min_by(|a, b| a.0.total_cmp(&b.0));
        nearest.map(|(_, at)| at)
    }

    /// Weighted residual sums of squares of the best sum of powers of the parameter: for the points before each row, and from it on.
    fn sides(&self, powers: &[i32], rows: &[usize]) -> [Vec<f64>; 2] {
        let n = self.x.len();
        let mut sides = [vec![0.0; n + 1], vec![0.0; n + 1]];
        let sums = |order: &mut dyn Iterator<Item = usize>, sums: &mut [f64], next: usize| {
            let (mut line, mut multiple) = (LineFit::default(), MultipleFit::default());
            for row in order {
                let (x, y, weight) = (self.x[row], self.y[row], self.weights[row]);
                sums[row + next] = match powers {
                    [power] => multiple.push(x.powi(*power), y, weight),
                    _ => {
                        line.push(x, y, weight);
                        // A line through points of a single value is a constant.
                        if line.xx > 0.0 {
                            line.squares()
                        } else {
                            line.yy
                        }
                    }
                };
            }
        };
        sums(&mut (0..n), &mut sides[0], 1);
        sums(&mut (0..n).rev(), &mut sides[1], 0);
        sides.map(|sums| rows.iter().map(|&row| sums[row]).collect())
    }

    /// Weighted residual sum of squares of the best `a + b · t` for the points from each cut on.
    ///
    /// # Arguments
    /// * `term` - `t` at the points, in their order before sorting
    /// * `rows` - the first row at or after each cut
    fn tails(&self, term: &[f64], rows: &[usize]) -> Vec<f64> {
        let mut tails = vec![f64::INFINITY; rows.len()];
        let mut line = LineFit::default();
        for cut in (0..rows.len() - 1).rev() {
            for row in (rows[cut]..rows[cut + 1]).rev() {
                line.push(term[self.order[row]], self.y[row], self.weights[row]);
            }
            tails[cut] = line.squares();
        }
        tails
    }
}

/// A weighted fit of a multiple of a column, updated point by point.
#[derive(Default)]
struct MultipleFit {
    tt: f64,
    ty: f64,
    yy: f64,
}

impl MultipleFit {
    /// Adds a point and returns the residual sum of squares of all points so far.
    fn push(&mut self, t: f64, y: f64, weight: f64) -> f64 {
        self.tt += weight * t * t;
        self.ty += weight * t * y;
        self.yy += weight * y * y;
        (self.yy - self.ty * self.ty / self.tt).max(0.0)
    }
}

/// A weighted fit of a straight line, updated point by point.
///
/// # Source
/// B.P. Welford, Technometrics 4 (1962) 419, with weights (recalled, not looked up).
#[derive(Default)]
struct LineFit {
    weight: f64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl LineFit {
    fn push(&mut self, x: f64, y: f64, weight: f64) {
        self.weight += weight;
        let (off_x, off_y) = (x - self.mean_x, y - self.mean_y);
        let share = weight / self.weight;
        self.mean_x += share * off_x;
        self.mean_y += share * off_y;
        self.xx += weight * off_x * (x - self.mean_x);
        self.xy += weight * off_x * (y - self.mean_y);
        self.yy += weight * off_y * (y - self.mean_y);
    }

    /// Residual sum of squares of the line; infinite if `x` does not vary.
    fn squares(&self) -> f64 {
        if self.xx > 0.0 {
            (self.yy - self.xy * self.xy / self.xx).max(0.0)
        } else {
            f64::INFINITY
        }
    }
}

/// A value between two others: their geometric mean if they are positive.
fn middle(low: f64, high: f64) -> f64 {
    if low > 0.0 {
        (low * high).sqrt()
    } else {
        0.5 * (low + high)
    }
}

/// Calls at each point over the variance of one call.
pub(crate) fn weights(points: &Points) -> Vec<f64> {
    let largest = points.largest_s();
    let pairs = points.mean_s.iter().zip(&points.count);
    pairs
        .map(|(&y, n)| n / points.noise.variance(y, largest))
        .collect()
}
