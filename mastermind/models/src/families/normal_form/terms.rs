//! The one-parameter terms `x^(i) · log2(x)^(j)` that the search draws from.
//!
//! A [`Product`] multiplies terms of different parameters; a [`Form`] is the set of products that a normal form adds to its constant. A
//! product stores for each parameter the number of its term in one fixed table, so that forms are small, comparable and copied
//! cheaply. [`Basis`] contains the values of all terms at all points, computed once for a search.
//!
//! ```text
//! c₀ + c₁ · p · log2(n) + c₂ · n     Form of two products: (term p, term log2 n) and (none, term n)
//! ```

use std::collections::BTreeSet;

use crate::formula::exponent::Exponent;
use crate::formula::sum::Factor;
use smallvec::SmallVec;

/// Exponent of the parameter, numerator and denominator, and the power of its logarithm to base 2.
///
/// # Source
/// The default search space of Extra-P 4.2.5 (the package `extrap` of the Python index,
/// `modelers/single_parameter/basic.py`): the 42 rising terms; the falling ones are ours, for divided work.
const TERMS: [(i32, u32, u32); N_TERMS] = [
    (0, 1, 1),
    (0, 1, 2),
    (1, 4, 0),
    (1, 3, 0),
    (1, 4, 1),
    (1, 3, 1),
    (1, 4, 2),
    (1, 3, 2),
    (1, 2, 0),
    (1, 2, 1),
    (1, 2, 2),
    (2, 3, 0),
    (3, 4, 0),
    (2, 3, 1),
    (3, 4, 1),
    (4, 5, 0),
    (2, 3, 2),
    (3, 4, 2),
    (1, 1, 0),
    (1, 1, 1),
    (1, 1, 2),
    (5, 4, 0),
    (5, 4, 1),
    (4, 3, 0),
    (4, 3, 1),
    (3, 2, 0),
    (3, 2, 1),
    (3, 2, 2),
    (5, 3, 0),
    (7, 4, 0),
    (2, 1, 0),
    (2, 1, 1),
    (2, 1, 2),
    (9, 4, 0),
    (7, 3, 0),
    (5, 2, 0),
    (5, 2, 1),
    (5, 2, 2),
    (8, 3, 0),
    (11, 4, 0),
    (3, 1, 0),
    (3, 1, 1),
    (-1, 4, 0),
    (-1, 3, 0),
    (-1, 2, 0),
    (-2, 3, 0),
    (-3, 4, 0),
    (-1, 1, 0),
    (-4, 3, 0),
    (-3, 2, 0),
    (-2, 1, 0),
    (-3, 1, 0),
    (-1, 2, 1),
    (-1, 1, 1),
    (-1, 1, 2),
];

/// Number of terms.
pub(crate) const N_TERMS: usize = N_RISING + 13;

/// Number of rising terms; the others follow them and fall.
const N_RISING: usize = 42;

/// Index of the parameter itself.
pub(crate) const LINEAR: usize = 18;

/// Index of its logarithm.
pub(crate) const LOGARITHM: usize = 0;

/// Index of its reciprocal.
const RECIPROCAL: usize = 47;

/// The second terms of the sums for divided work; each sum is one form of the list.
///
/// The first term is the reciprocal; the second is the communication cost, which grows with the logarithm of the number of ranks (a tree of
/// messages) or in proportion (one message to each).
const SHARED_WORK: [usize; 2] = [LOGARITHM, LINEAR];

/// Index of the term with the same power and no logarithm; the term's own index if it has no logarithm, or no earlier term is that power.
const POWERS: [usize; N_TERMS] = powers();

const fn powers() -> [usize; N_TERMS] {
    let mut places = [0; N_TERMS];
    let mut place = 0;
    while place < N_TERMS {
        let (numerator, denominator, _) = TERMS[place];
        places[place] = place;
        let mut before = place;
        while before > 0 {
            before -= 1;
            let (n, d, log) = TERMS[before];
            if n == numerator && d == denominator && log == 0 {
                places[place] = before;
            }
        }
        place += 1;
    }
    places
}

/// Most parameters of a normal form.
pub(crate) const MAX_PARAMS: usize = 6;

/// Most terms of a normal form, the constant excluded.
pub(crate) const MAX_TERMS: usize = 6;

/// A product of one-parameter terms: for each parameter the number of its term plus one, 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Product(pub [u8; MAX_PARAMS]);

impl Product {
    /// The term alone.
    pub fn single(param: usize, term: usize) -> Self {
        let mut product = Self::default();
        product.0[param] = term as u8 + 1;
        product
    }

    /// This product with one more factor, each of the given terms of the parameters that it lacks, shape `[n_params][..]`.
    pub fn longer(self, terms: &[BTreeSet<usize>]) -> impl Iterator<Item = Self> {
        let lacking = terms
            .iter()
            .enumerate()
            .filter(move |(param, _)| self.0[*param] == 0);
        lacking.flat_map(move |(param, terms)| {
            terms.iter().map(move |&term| {
                let mut longer = self;
                longer.0[param] = term as u8 + 1;
                longer
            })
        })
    }

    /// Whether it has one parameter only.
    pub fn is_single(self) -> bool {
        self.parts().count() == 1
    }

    /// Its (parameter, term) pairs.
    pub fn parts(self) -> impl Iterator<Item = (usize, usize)> {
        let terms = self.0.into_iter().enumerate();
        terms
            .filter(|&(_, code)| code > 0)
            .map(|(param, code)| (param, code as usize - 1))
    }

    /// The factors of the product in a formula; `name` returns the name of a parameter.
    pub fn factors<'n>(self, name: impl Fn(usize) -> &'n str) -> SmallVec<[Factor; 1]> {
        let factor = |(param, term): (usize, usize)| {
            let (numerator, denominator, log_exponent) = TERMS[term];
            let exponent = Exponent::Fraction(numerator, denominator);
            Factor::new(name(param), exponent, log_exponent)
        };
        self.parts().map(factor).collect()
    }

    /// Whether it is a single term that falls.
    pub fn falls(self) -> bool {
        self.single_part().is_some_and(|(_, term)| term >= N_RISING)
    }

    /// The parameter and the term, if it has one parameter only.
    pub fn single_part(self) -> Option<(usize, usize)> {
        let mut parts = self.parts();
        parts.next().filter(|_| parts.next().is_none())
    }
}

/// The products that a normal form adds to its constant, without their coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Form {
    products: [Product; MAX_TERMS],
    n: usize,
}

impl Form {
    /// The form of these products, at most [`MAX_TERMS`].
    pub fn new(products: &[Product]) -> Self {
        let mut form = Self::default();
        form.products[..products.len()].copy_from_slice(products);
        form.n = products.len();
        form
    }

    /// Its products.
    pub fn products(&self) -> &[Product] {
        &self.products[..self.n]
    }

    /// Its products in ascending order, to compare forms.
    pub fn key(&self) -> [Product; MAX_TERMS] {
        let mut key = self.products;
        key[..self.n].sort_unstable();
        key
    }

    /// This form with one more product; `None` if it is full or already has the product.
    pub fn with(&self, product: Product) -> Option<Self> {
        if self.n == MAX_TERMS || self.products().contains(&product) {
            return None;
        }
        let mut form = *self;
        form.products[form.n] = product;
        form.n += 1;
        Some(form)
    }

    /// Divided work plus communication cost: sums that count as one choice.
    pub fn shared_work(param: usize) -> [Self; SHARED_WORK.len()] {
        let product = |term| Product::single(param, term);
        SHARED_WORK.map(|cost| Self::new(&[product(RECIPROCAL), product(cost)]))
    }

    /// Whether it is one of the sums of [`Form::shared_work`].
    pub fn is_shared_work(&self) -> bool {
        let [first, second] = self.products() else {
            return false;
        };
        let (Some((p, i)), Some((q, j))) = (first.single_part(), second.single_part()) else {
            return false;
        };
        let cost = match (i, j) {
            (RECIPROCAL, cost) | (cost, RECIPROCAL) => cost,
            _ => return false,
        };
        p == q && SHARED_WORK.contains(&cost)
    }

    /// Whether none of its terms falls.
    pub fn rises(&self) -> bool {
        let mut terms = self.products().iter().flat_map(|product| product.parts());
        terms.all(|(_, term)| term < N_RISING)
    }

    /// Whether one of its products consists of logarithms only.
    pub fn has_logarithm(&self) -> bool {
        let is_logarithm = |(_, term): (usize, usize)| TERMS[term].0 == 0;
        (self.products().iter()).any(|product| product.parts().all(is_logarithm))
    }

    /// Number of distinct one-parameter terms in it, each a choice among [`N_TERMS`].
    pub fn n_choices(&self) -> usize {
        let mut seen = [Product::default(); MAX_TERMS * MAX_PARAMS];
        let mut n = 0;
        for product in self.products() {
            for (param, term) in product.parts() {
                let single = Product::single(param, term);
                if !seen[..n].contains(&single) {
                    seen[n] = single;
                    n += 1;
                }
            }
        }
        n
    }
}

/// Values of every term at every point.
pub(crate) struct Basis {
    /// `[n_params][N_TERMS][n_points]`.
    values: Vec<f64>,
    n_points: usize,
    n_params: usize,
    /// Whether each term is finite, not negative and not constant over the points.
    usable: Vec<[bool; N_TERMS]>,
}

impl Basis {
    /// Evaluates the terms.
    ///
    /// # Arguments
    /// * `columns` - values of the parameters, shape `[n_params][n_points]`
    /// * `falling` - whether falling terms of each parameter are tried, shape `[n_params]`
    pub fn new(columns: &[&[f64]], falling: &[bool]) -> Self {
        let n_points = columns.first().map_or(0, |column| column.len());
        let mut values = Vec::with_capacity(columns.len() * N_TERMS * n_points);
        let mut usable = Vec::with_capacity(columns.len());
        for (column, &falling) in columns.iter().zip(falling) {
            let logs: Vec<f64> = column.iter().map(|x| x.log2()).collect();
            let mut flags = [false; N_TERMS];
            let tried = if falling { N_TERMS } else { N_RISING };
            let first = values.len();
            for (place, &(numerator, denominator, log)) in TERMS.iter().enumerate().take(tried) {
                let flag = &mut flags[place];
                let start = values.len();
                let exponent = f64::from(numerator) / f64::from(denominator);
                if POWERS[place] < place {
                    let power = first + POWERS[place] * n_points;
                    values.extend_from_within(power..power + n_points);
                } else {
                    values.extend(column.iter().zip(&logs).map(|(x, log)| match denominator {
                        1 => x.powi(numerator),
                        _ => (exponent * log).exp2(),
                    }));
                }
                for (value, x) in values[start..].iter_mut().zip(&logs) {
                    match log {
                        0 => {}
                        1 => *value *= x,
                        _ => *value *= x * x,
                    }
                }
                *flag = varies(&values[start..]) && column.iter().all(|&x| x >= 0.0);
                *flag &= log == 0 || logs.iter().all(|&x| x >= 0.0);
            }
            values.resize(values.len() + (N_TERMS - tried) * n_points, 0.0);
            usable.push(flags);
        }
        Self {
            values,
            n_points,
            n_params: columns.len(),
            usable,
        }
    }

    /// Removes the terms that are unusable in `other`, a basis of the same parameters at other points.
    pub fn require(&mut self, other: &Self) {
        for (usable, others) in self.usable.iter_mut().zip(&other.usable) {
            usable
                .iter_mut()
                .zip(others)
                .for_each(|(own, other)| *own &= other);
        }
    }

    /// Number of points.
    pub fn n_points(&self) -> usize {
        self.n_points
    }

    /// Number of parameters.
    pub fn n_params(&self) -> usize {
        self.n_params
    }

    /// Values of one term, shape `[n_points]`.
    pub fn column(&self, param: usize, term: usize) -> &[f64] {
        let start = (param * N_TERMS + term) * self.n_points;
        &self.values[start..start + self.n_points]
    }

    /// Terms of a parameter that can be fitted.
    pub fn usable(&self, param: usize) -> impl Iterator<Item = usize> {
        (0..N_TERMS).filter(move |&term| self.usable[param][term])
    }

    /// Writes the values of a product, shape `[n_points]`.
    pub fn fill(&self, product: Product, column: &mut [f64]) {
        column.fill(1.0);
        for (param, term) in product.parts() {
            let factors = self.column(param, term);
            column.iter_mut().zip(factors).for_each(|(c, f)| *c *= f);
        }
    }
}

fn varies(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite()) && values.iter().any(|value| *value != values[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_evaluated() {
        let basis = Basis::new(&[&[4.0, 8.0, 16.0]], &[true]);
        let power = TERMS.iter().position(|&term| term == (3, 2, 1)).unwrap();
        let expected = [8.0 * 2.0, 8_f64.powf(1.5) * 3.0, 64.0 * 4.0];
        for (found, expected) in basis.column(0, power).iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-14);
        }
        assert_eq!(basis.usable(0).count(), N_TERMS);
        let below_one = Basis::new(&[&[0.5, 8.0, 16.0]], &[false]);
        assert_eq!(below_one.usable(0).count(), 19, "powers only");
        let at_zero = Basis::new(&[&[0.0, 8.0]], &[true]);
        assert_eq!(at_zero.usable(0).count(), 19, "powers that rise");
    }

    #[test]
    fn shared_work_is_one_form() {
        let (numerator, denominator, log) = TERMS[RECIPROCAL];
        assert_eq!((numerator, denominator, log), (-1, 1, 0));
        let [logarithm, linear] = Form::shared_work(1);
        assert!(logarithm.is_shared_work() && linear.is_shared_work());
        let reversed = Form::new(&[
            Product::single(1, LOGARITHM),
            Product::single(1, RECIPROCAL),
        ]);
        assert!(reversed.is_shared_work(), "in either order");
        let other = Form::new(&[
            Product::single(0, LOGARITHM),
            Product::single(1, RECIPROCAL),
        ]);
        assert!(!other.is_shared_work(), "of two parameters");
        let rising = Form::new(&[Product::single(0, LOGARITHM), Product::single(0, LINEAR)]);
        assert!(!rising.is_shared_work());
    }

    #[test]
    fn logarithms_alone_are_seen() {
        let (log, square) = (Product::single(0, 1), Product::single(0, 30));
        assert!(Form::new(&[square, log]).has_logarithm());
        assert!(Form::new(&[Product([1, 2, 0, 0, 0, 0])]).has_logarithm());
        // `x log x` has a power, so it is no product of logarithms only.
        assert!(!Form::new(&[square, Product::single(0, LINEAR + 1)]).has_logarithm());
        assert!(!Form::new(&[Product([1, 31, 0, 0, 0, 0])]).has_logarithm());
        assert!(!Form::default().has_logarithm());
    }

    #[test]
    fn a_shared_term_is_one_choice() {
        let (a, b) = (Product::single(0, 3), Product::single(1, 5));
        let both = Product([4, 6, 0, 0, 0, 0]);
        assert_eq!(Form::new(&[a, both]).n_choices(), 2);
        assert_eq!(Form::new(&[a, b]).n_choices(), 2);
        assert_eq!(Form::new(&[a]).with(a), None);
        assert_eq!(both.parts().collect::<Vec<_>>(), [(0, 3), (1, 5)]);
    }
}
