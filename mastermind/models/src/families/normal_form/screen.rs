//! Screens every form and selects the ones to fit exactly.
//!
//! The weights come from the observed times, not from the fitted ones, so that all forms share one set of weighted columns. `refine` fits
//! the selected forms again.

use super::lines::Candidates;
use super::refine::{Observed, dot, padded, remove};
use super::single::Units;
use super::terms::{Basis, Form, Product};

/// Forms of each number of products that pass the screen.
pub(crate) const N_KEPT: usize = 150;

/// Squared length below which a column counts as a combination of those before it.
pub(crate) const DEPENDENT: f64 = 1e-14;

/// The forms of one number of products with the smallest sums of squares.
pub(crate) struct Best {
    forms: Vec<(f64, Form)>,
}

impl Best {
    /// An empty list.
    pub fn new() -> Self {
        Self {
            forms: Vec::with_capacity(N_KEPT + 1),
        }
    }

    /// Whether a form with this sum of squares is among the best so far.
    pub fn keeps(&self, sum_of_squares: f64) -> bool {
        let full = self.forms.len() == N_KEPT;
        !(sum_of_squares.is_nan() || full && sum_of_squares >= self.forms[N_KEPT - 1].0)
    }

    /// Keeps a form if it is among the best so far.
    pub fn offer(&mut self, sum_of_squares: f64, form: impl FnOnce() -> Form) {
        if !self.keeps(sum_of_squares) {
            return;
        }
        let at = self
            .forms
            .partition_point(|(kept, _)| *kept <= sum_of_squares);
        self.forms.insert(at, (sum_of_squares, form()));
        self.forms.truncate(N_KEPT);
    }

    /// The forms, best first.
    pub fn forms(&self) -> impl Iterator<Item = Form> {
        self.forms.iter().map(|(_, form)| *form)
    }
}

/// The weighted observations with their mean subtracted.
///
/// Rows are padded with zeros to a multiple of the points that are multiplied at once.
pub(crate) struct Centred {
    /// Roots of the weights, shape `[n_points]`.
    roots: Vec<f64>,
    /// The unit vector along the weighted constant.
    pub ones: Vec<f64>,
    /// Length of the weighted constant.
    pub length: f64,
    /// The weighted observations.
    pub weighted: Vec<f64>,
    /// Their component along the constant.
    pub level: f64,
    /// The weighted observations without that component.
    pub y: Vec<f64>,
}

impl Centred {
    /// Weights calls by the reciprocal of their squared mean time.
    pub fn new(observed: &Observed<'_>) -> Self {
        Self::of(observed.mean_s, observed.count, &observed.scale_s)
    }

    /// Weights calls by the reciprocal of the square of `scale_s`, a time for each point.
    pub fn of(mean_s: &[f64], count: &[f64], scale_s: &[f64]) -> Self {
        let pairs = count.iter().zip(scale_s);
        let mut roots: Vec<f64> = pairs.map(|(n, y)| n.sqrt() / y).collect();
        roots.resize(padded(mean_s.len()), 0.0);
        let length = dot(&roots, &roots).sqrt();
        let ones: Vec<f64> = roots.iter().map(|root| root / length).collect();
        let mut weighted = mean_s.to_vec();
        weighted.resize(roots.len(), 0.0);
        weighted.iter_mut().zip(&roots).for_each(|(y, w)| *y *= w);
        let mut y = weighted.clone();
        let level = remove(&ones, &mut y);
        Self {
            roots,
            ones,
            length,
            weighted,
            level,
            y,
        }
    }

    /// Weights a column, subtracts the mean and scales the rest to length 1.
    ///
    /// # Returns
    /// The mean subtracted, and the length before scaling.
    pub fn split(&self, column: &mut [f64]) -> (f64, f64) {
        column
            .iter_mut()
            .zip(&self.roots)
            .for_each(|(x, w)| *x *= w);
        // Subtracted twice, since the mean may be nearly all of a column.
        let mean = remove(&self.ones, column) + remove(&self.ones, column);
        (mean, normalise(column))
    }
}
/// Two terms of one parameter, with the weights common to all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    /// Places among the units.
    pub places: (usize, usize),
    /// Residual sum of squares of the pair.
    pub left: f64,
    /// Coefficients of the unit columns.
    pub slopes: [f64; 2],
    /// Squared sine of the angle between them.
    pub free: f64,
}

/// The best pairs of terms of one parameter, the best first.
pub(crate) fn best_pairs(units: &Units, centred: &Centred) -> Vec<Pair> {
    let n_terms = units.terms.len();
    let mut sums: Vec<(f64, u8, u8)> = Vec::with_capacity(n_terms * n_terms / 2);
    let total = dot(&centred.y, &centred.y);
    let lengths: Vec<f64> = units.rows().map(|unit| dot(unit, &centred.y)).collect();
    for (i, first) in units.rows().enumerate() {
        let left = total - lengths[i] * lengths[i];
        for (j, second) in units.rows().enumerate().skip(i + 1) {
            let common = dot(first, second);
            // The residual of the first term along the second.
            let along = lengths[j] - common * lengths[i];
            let free = 1.0 - common * common;
            if free > DEPENDENT {
                sums.push((left - along * along / free, i as u8, j as u8));
            }
        }
    }
    sums.retain(|(sum, ..)| !sum.is_nan());
    if sums.len() > N_KEPT {
        sums.select_nth_unstable_by(N_KEPT, |a, b| a.0.total_cmp(&b.0));
        sums.truncate(N_KEPT);
    }
    sums.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let pair = |&(sum, i, j): &(f64, u8, u8)| {
        let (i, j) = (usize::from(i), usize::from(j));
        let common = dot(units.unit(i), units.unit(j));
        let free = 1.0 - common * common;
        let slope = |of: usize, other: usize| (lengths[of] - common * lengths[other]) / free;
        Pair {
            places: (i, j),
            left: sum.max(0.0),
            slopes: [slope(i, j), slope(j, i)],
            free,
        }
    };
    sums.iter().map(pair).collect()
}

/// Sums and products of one or two terms of each parameter, with up to three products added to the constant.
///
/// # Arguments
/// * `candidates` - terms to try for each parameter, shape `[n_params]`
///
/// # Returns
/// The best forms of one, two and three products.
pub(crate) fn combinations(
    basis: &Basis,
    centred: &Centred,
    candidates: &[Candidates],
) -> [Best; 3] {
    let (n, n_params) = (padded(basis.n_points()), basis.n_params());
    let mut units = Vec::new();
    let mut best = [Best::new(), Best::new(), Best::new()];
    for choice in choices(candidates) {
        let products: Vec<Product> = monomials(&choice);
        units.resize(products.len() * n, 0.0);
        for (product, unit) in products.iter().zip(units.chunks_exact_mut(n)) {
            unit.fill(0.0);
            basis.fill(*product, &mut unit[..basis.n_points()]);
            centred.split(unit);
        }
        // A form recurs with every choice of the terms that it lacks, so only the first of them is tried.
        let is_first = |set: &[usize]| {
            (0..n_params).all(|param| {
                let has = |term: usize| {
                    let code = term as u8 + 1;
                    set.iter().any(|&i| products[i].0[param] == code)
                };
                match choice[param] {
                    [only] => has(*only) || *only == candidates[param].terms[0],
                    pair => pair.iter().all(|&term| has(term)),
                }
            })
        };
        subsets(&units, &centred.y, n, |set, sum_of_squares| {
            if is_first(set) {
                let form = || {
                    let list: Vec<Product> = set.iter().map(|&i| products[i]).collect();
                    Form::new(&list)
                };
                best[set.len() - 1].offer(sum_of_squares, form);
            }
        });
    }
    best
}

/// Products of at most one of the chosen terms of each parameter, but for the empty one.
fn monomials(choice: &[&[usize]]) -> Vec<Product> {
    let mut list = vec![Product::default()];
    for (param, terms) in choice.iter().enumerate() {
        let with = |term: &usize| {
            let code = *term as u8 + 1;
            list.clone().into_iter().map(move |mut product| {
                product.0[param] = code;
                product
            })
        };
        let longer: Vec<Product> = terms.iter().flat_map(with).collect();
        list.extend(longer);
    }
    list.remove(0);
    list
}

/// Every choice of one candidate for each parameter: a term, or a pair of them for one parameter at most.
fn choices(candidates: &[Candidates]) -> Vec<Vec<&[usize]>> {
    let mut choices: Vec<Vec<&[usize]>> = vec![Vec::new()];
    for list in candidates {
        let mut longer = Vec::new();
        for choice in &choices {
            let has_pair = choice.iter().any(|terms| terms.len() > 1);
            let pairs = list.pairs.iter().filter(|_| !has_pair);
            let terms = list
                .terms
                .chunks(1)
                .chain(pairs.map(<[usize; 2]>::as_slice));
            longer.extend(terms.map(|terms| choice.iter().copied().chain([terms]).collect()));
        }
        choices = longer;
    }
    choices
}

/// Calls `found` with the residual sum of squares of every set of one, two and three unit columns.
fn subsets(units: &[f64], y: &[f64], n: usize, mut found: impl FnMut(&[usize], f64)) {
    let column = |i: usize| &units[i * n..(i + 1) * n];
    let n_columns = units.len() / n;
    let total = dot(y, y);
    let along: Vec<f64> = (0..n_columns).map(|i| dot(column(i), y)).collect();
    let mut gram = vec![0.0; n_columns * n_columns];
    for i in 0..n_columns {
        for j in 0..i {
            gram[i * n_columns + j] = dot(column(i), column(j));
            gram[j * n_columns + i] = gram[i * n_columns + j];
        }
    }
    let g = |i: usize, j: usize| gram[i * n_columns + j];
    for i in 0..n_columns {
        let one = total - along[i] * along[i];
        found(&[i], one);
        for j in i + 1..n_columns {
            let free = 1.0 - g(i, j) * g(i, j);
            if free <= DEPENDENT {
                continue;
            }
            let b = along[j] - g(i, j) * along[i];
            let two = one - b * b / free;
            found(&[i, j], two);
            for k in j + 1..n_columns {
                // The third column without its components along the first two.
                let common = g(j, k) - g(i, j) * g(i, k);
                let free_k = 1.0 - g(i, k) * g(i, k) - common * common / free;
                if free_k > DEPENDENT {
                    let c = along[k] - g(i, k) * along[i] - common / free * b;
                    found(&[i, j, k], two - c * c / free_k);
                }
            }
        }
    }
}

/// Scales a column to length 1 and returns its former length.
pub(crate) fn normalise(column: &mut [f64]) -> f64 {
    let length = dot(column, column).sqrt();
    column.iter_mut().for_each(|x| *x /= length);
    length
}
