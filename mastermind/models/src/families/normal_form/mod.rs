//! The performance model normal form, `c + Σ cₖ · Π x^(i) · log2(x)^(j)`: searched and fitted.
//!
//! In: points. Out: [`Found`], the promising forms with their fits under multiplicative noise (`refine`), from which
//! `select` takes the credible ones. `screen` first ranks every form of the search space with one common set of weights; for several
//! parameters, `lines` reduces the terms of each parameter before that.
//!
//! # Source
//! A. Calotoiu, T. Hoefler, M. Poke, F. Wolf, SC '13, for the form (recalled, not looked up). The
//! selection differs from theirs: by likelihood with the spread of a call proportional to its time,
//! not by the cross-validated error of an unweighted fit.

mod falling;
mod forward;
mod lines;
mod refine;
mod screen;
mod single;
mod terms;

use std::collections::BTreeSet;

use crate::families::candidate::{Alternative, Candidate};
use crate::families::hypothesis::Shape;
use crate::families::paths::Paths;
use crate::families::prior;
use crate::families::regimes::LastTerm;
use crate::formula::exponent::Exponent;
use crate::formula::family::Family;
use crate::formula::sum::{Formula, Term};
use crate::samples::points::Points;
use crate::solve::covariance::Covariance;
use crate::solve::least_squares::coefficients;
use crate::solve::likelihood::{Counts, Distance, INCREDIBLE, are_explained};
use lines::Candidates;
use refine::{FEW_PASSES, Observed, PASSES, Refined, Scratch};
use screen::{Best, Centred};
use terms::{Basis, Form, MAX_PARAMS, MAX_TERMS, Product};

/// Number of terms of each parameter to combine, by the number of parameters.
const N_COMBINED: [usize; MAX_PARAMS + 1] = [0, 0, 12, 7, 3, 2, 2];

/// Most parameters of which every combination of terms is tried; with more, the search selects them step by step.
const MAX_COMBINED: usize = 3;

/// Number of the best forms that are extended by one more term.
const N_EXTENDED: usize = 3;

/// Most exchanges of one factor in a form of several parameters.
const N_EXCHANGES: usize = 20;

/// Distinct coordinates needed to distinguish normal forms.
pub(crate) const MIN_POINTS: usize = 3;

/// Fits every normal form that may be credible for the points.
///
/// # Returns
/// `None` with fewer than [`MIN_POINTS`] points, or no time that is positive.
pub(crate) fn search(points: &Points) -> Option<Found<'_>> {
    if points.len() < MIN_POINTS {
        return None;
    }
    let observed = Observed::new(points)?;
    let params = parameters(points);
    let columns: Vec<&[f64]> = params
        .iter()
        .map(|&i| points.columns[i].as_slice())
        .collect();
    let falling: Vec<bool> = params
        .iter()
        .map(|&i| falling::may_fall(points, i))
        .collect();
    let mut basis = Basis::new(&columns, &falling);
    let paths = Paths::new(points);
    let ahead: Vec<&[f64]> = params
        .iter()
        .map(|&i| paths.columns[i].as_slice())
        .collect();
    let ahead = Basis::new(&ahead, &falling);
    // The range may begin before the first point.
    basis.require(&ahead);
    let mut scratch = Scratch::new(points.len());
    let counts = Counts::of(points);
    let (mut are_all, mut candidates) = (true, Vec::new());
    let fits = if columns.len() == 1 {
        let fits;
        (fits, are_all) = single::fits(&basis, &observed, counts, false);
        fits
    } else {
        let forms;
        (forms, candidates) = self::forms(&columns, &basis, &observed);
        let refine = |form| scratch.refine(form, &basis, &observed, FEW_PASSES);
        forms.into_iter().filter_map(refine).collect()
    };
    let mut found = Found {
        points,
        params,
        basis,
        observed,
        scratch,
        fits,
        paths,
        ahead,
        counts,
        odds_against: Vec::new(),
        by_calls: Vec::new(),
        explained: false,
        likeliest: None,
        best: Vec::new(),
        candidates,
    };
    found.rank();
    if !are_all && !found.explained {
        // Judged by the means instead of the calls, more forms are credible, so the pairs skipped above are fitted too.
        (found.fits, _) = single::fits(&found.basis, &found.observed, counts, true);
        found.odds_against.clear();
        found.by_calls.clear();
        found.rank();
    }
    found.extend();
    found.exchange();
    Some(found)
}

/// The parameters to search in: the first of those that vary and are nowhere negative. For a parameter that is 0 somewhere only
/// powers are tried.
fn parameters(points: &Points) -> Vec<usize> {
    let mut params = points.varying();
    params.retain(|&param| points.range(param)[0] >= 0.0);
    params.truncate(MAX_PARAMS);
    params
}

/// The forms of no or several parameters to fit exactly, the constant first.
///
/// # Returns
/// The forms, and the terms of each parameter that were combined, shape `[n_params]`.
fn forms(
    columns: &[&[f64]],
    basis: &Basis,
    observed: &Observed<'_>,
) -> (Vec<Form>, Vec<Candidates>) {
    let mut forms = vec![Form::default()];
    if columns.is_empty() {
        return (forms, Vec::new());
    }
    let n_kept = N_COMBINED[columns.len()];
    let candidates: Vec<Candidates> = (0..columns.len())
        .map(|param| {
            lines::candidates(param, columns, basis, observed, n_kept)
                .or_else(|| lines::scattered(param, columns, basis, observed, n_kept))
                .unwrap_or_else(|| every_fifth(basis, param))
        })
        .collect();
    let centred = Centred::new(observed);
    let best = match columns.len() <= MAX_COMBINED {
        true => screen::combinations(basis, &centred, &candidates),
        false => forward::forward(basis, &centred, &candidates),
    };
    forms.extend(best.iter().flat_map(Best::forms));
    (forms, candidates)
}

/// Every fifth term, for a parameter whose terms cannot be ranked before the terms of the others are known.
fn every_fifth(basis: &Basis, param: usize) -> Candidates {
    Candidates {
        terms: basis.usable(param).step_by(5).collect(),
        pairs: Vec::new(),
    }
}

/// The fitted forms of the points of a mode.
pub(crate) struct Found<'a> {
    points: &'a Points,
    params: Vec<usize>,
    basis: Basis,
    observed: Observed<'a>,
    scratch: Scratch,
    fits: Vec<Refined>,
    paths: Paths,
    /// The terms at the places of `paths`.
    ahead: Basis,
    counts: Counts,
    /// Prior price of each form.
    odds_against: Vec<f64>,
    /// Deviance of each form with each call as an observation, plus its prior price.
    by_calls: Vec<f64>,
    /// Whether the spread of the calls explains the residuals of the means from the likeliest form.
    explained: bool,
    likeliest: Option<usize>,
    /// The likeliest few.
    best: Vec<usize>,
    /// The terms of each parameter to combine, with several parameters, shape `[n_params]`.
    candidates: Vec<Candidates>,
}

impl Found<'_> {
    /// Number of forms.
    pub fn len(&self) -> usize {
        self.fits.len()
    }

    /// Distance of the points from the nearest form with fewer coefficients than points.
    pub fn nearest(&self) -> f64 {
        let spare = |fit: &&Refined| fit.n < self.points.len();
        let lacks = self.fits.iter().filter(spare).map(|fit| fit.distance.lack);
        lacks.fold(f64::INFINITY, f64::min)
    }

    /// Distance of the points from a form, and its number of coefficients.
    pub fn distance(&self, form: usize) -> (&Distance, usize) {
        (&self.fits[form].distance, self.fits[form].n)
    }

    /// Minus the logarithm of the prior probability of a form, its behaviour beyond the range included.
    pub fn odds_against(&self, form: usize) -> f64 {
        self.odds_against[form]
    }

    /// Deviance of a form with each call as an observation, plus its prior price.
    pub fn by_calls(&self, form: usize) -> f64 {
        self.by_calls[form]
    }

    /// Prices the forms that have no price yet.
    fn price(&mut self) {
        let (mut values, mut column) = (vec![0.0; self.ahead.n_points()], Vec::new());
        for form in self.odds_against.len()..self.len() {
            let odds_against = self.price_of(form, &mut values, &mut column);
            let (distance, n) = self.distance(form);
            let by_calls = distance.by_calls(n, self.counts) + 2.0 * odds_against;
            self.odds_against.push(odds_against);
            self.by_calls.push(by_calls);
        }
    }

    /// The price of a form; `values` and `column` are scratch memory, `values` with one entry for each place of the paths.
    fn price_of(&self, form: usize, values: &mut [f64], column: &mut Vec<f64>) -> f64 {
        let fit = &self.fits[form];
        let n_terms = fit.form.products().len();
        let choices = match fit.form.is_shared_work() {
            true => prior::of_choices(1, 1),
            // With one parameter each product is one term.
            false if self.params.len() < 2 => prior::of_choices(n_terms, n_terms),
            false => prior::of_choices(fit.form.n_choices(), n_terms),
        };
        let unseen = fit.form.products().iter().filter(|product| {
            let has = |param: usize| product.parts().any(|(p, _)| self.params[p] == param);
            self.paths.is_unseen(has)
        });
        let choices = choices + prior::of_unseen(unseen.count());
        let below = fit.coefficients().iter().map(|c| *c < 0.0);
        let terms = fit.form.products().iter().map(|product| product.falls());
        let below = below.zip([false].into_iter().chain(terms));
        let n_negative = below.clone().filter(|(is_below, _)| *is_below).count();
        if n_negative == 0 {
            // A sum of positive terms is positive, and turns at most once, from falling to rising.
            return choices;
        }
        self.look_ahead(fit, values, column);
        // Subtracting a falling term gives a time that rises to a limit, so its negative coefficient is free unless the time turns.
        let n_negative = match prior::turn(self.paths.split(values)) {
            true => n_negative,
            false => below
                .filter(|&(is_below, falls)| is_below && !falls)
                .count(),
        };
        let is_shift = fit.coefficients[0] < 0.0 && fit.form.has_logarithm();
        choices + prior::of_absurdities(n_negative, self.paths.split(values))
            - prior::of_shift(is_shift)
    }

    /// Evaluates a form at the places of all paths into `values`.
    fn look_ahead(&self, fit: &Refined, values: &mut [f64], column: &mut Vec<f64>) {
        values.fill(fit.coefficients[0]);
        for (product, c) in fit.form.products().iter().zip(&fit.coefficients[1..]) {
            let factors = match product.single_part() {
                Some((param, term)) => self.ahead.column(param, term),
                None => {
                    column.resize(values.len(), 0.0);
                    self.ahead.fill(*product, column);
                    column.as_slice()
                }
            };
            let pairs = values.iter_mut().zip(factors);
            pairs.for_each(|(value, x)| *value += c * x);
        }
    }

    /// Whether the normal forms explain the means so well that steps and regimes need not be searched: the likeliest form is as near as
    /// the spread of the calls permits, and, with one parameter, is cheap (at most two coefficients and one choice).
    pub fn explains_well(&self) -> bool {
        let is_cheap = |form: usize| {
            let price = self.odds_against(form);
            self.params.len() > 1 || self.fits[form].n <= 2 && price <= prior::of_choices(1, 1)
        };
        let best = self
            .likeliest
            .filter(|&form| is_cheap(form))
            .map(|form| &self.fits[form]);
        self.explained && best.is_some_and(|fit| fit.distance.is_near(fit.n, self.counts))
    }

    /// Whether a shape is already covered by the normal forms: a constant, a line or a logarithm in one parameter.
    pub fn covers(&self, shape: &Shape) -> bool {
        let Shape::Sum {
            constant: true,
            terms,
        } = shape
        else {
            return false;
        };
        let [term] = terms.as_slice() else {
            return terms.is_empty();
        };
        let [factor] = term.factors.as_slice() else {
            return false;
        };
        let own = match (factor.exponent, factor.log_exponent) {
            (Exponent::Fraction(1, 1), 0) => terms::LINEAR,
            (Exponent::Fraction(0, 1), 1) => terms::LOGARITHM,
            _ => return false,
        };
        let name = |&param: &usize| self.points.names[param] == factor.param;
        let param = self.params.iter().position(name);
        param.is_some_and(|param| self.basis.usable(param).any(|term| term == own))
    }

    /// The terms of a parameter except the parameter itself, with their values at the points.
    pub fn terms_of(&self, param: usize) -> Vec<LastTerm<'_>> {
        let Some(place) = self.params.iter().position(|&known| known == param) else {
            return Vec::new();
        };
        let name = self.points.names[param].as_str();
        let usable = self.basis.usable(place).filter(|&t| t != terms::LINEAR);
        let term = |t| LastTerm {
            factors: Product::single(place, t).factors(|_| name),
            column: self.basis.column(place, t).into(),
        };
        usable.map(term).collect()
    }

    /// Names of the parameters that vary and were not searched in.
    pub fn left_out(&self) -> impl Iterator<Item = &String> {
        let varying = self.points.varying().into_iter();
        varying
            .filter(|param| !self.params.contains(param))
            .map(|param| &self.points.names[param])
    }

    /// Family and terms, without coefficients, of the forms that may be credible with the same scatter at every size.
    ///
    /// The forms are chosen among the likeliest `n` of each number of products, with the means as observations.
    pub fn even_forms(&self, n: usize) -> Vec<(Family, Vec<Term>)> {
        let mut order: Vec<(usize, f64, usize)> = (0..self.len())
            .map(|i| {
                let (distance, n) = self.distance(i);
                let deviance = distance.by_means(n, self.counts) + 2.0 * self.odds_against(i);
                (n, deviance, i)
            })
            .collect();
        order.retain(|(_, deviance, _)| deviance.is_finite());
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let of_one_size = order.chunk_by(|a, b| a.0 == b.0);
        let likeliest = of_one_size.flat_map(|forms| forms.iter().take(n));
        let even: Vec<(f64, bool, usize)> = likeliest
            .filter_map(|&(_, _, i)| self.even_deviance(i).map(|(least, is)| (least, is, i)))
            .collect();
        let plain = order.iter().map(|(_, deviance, _)| *deviance);
        let least = even.iter().filter(|(_, is_positive, _)| *is_positive);
        let least = least.map(|(deviance, ..)| *deviance).chain(plain);
        let least = least.fold(f64::INFINITY, f64::min);
        let credible = (even.iter()).filter(|(deviance, ..)| deviance - least <= INCREDIBLE);
        let form = |&(_, _, i): &(f64, bool, usize)| {
            let fit = &self.fits[i];
            (family(fit), self.formula(fit).terms)
        };
        credible.map(form).collect()
    }

    /// The deviance of a form with the same scatter at every size, without the price of absurdities, and whether no coefficient is
    /// negative (then there are none).
    fn even_deviance(&self, form: usize) -> Option<(f64, bool)> {
        let form = self.fits[form].form;
        let n_points = self.points.len();
        let mut columns = vec![vec![1.0; n_points]];
        columns.extend(form.products().iter().map(|product| {
            let mut column = vec![0.0; n_points];
            self.basis.fill(*product, &mut column);
            column
        }));
        let (y, count) = (self.observed.mean_s, self.observed.count);
        let (found, residuals) = coefficients(&columns, y, count).ok()?;
        let fitted_s: Vec<f64> = y.iter().zip(&residuals).map(|(y, r)| y - r).collect();
        let distance = Distance::even(self.points, &fitted_s);
        let n_terms = form.products().len();
        let price = prior::of_choices(form.n_choices(), n_terms) + prior::LN_EVEN;
        let deviance = distance.by_means(columns.len(), self.counts) + 2.0 * price;
        Some((deviance, found.iter().all(|c| *c >= 0.0)))
    }

    /// Whether one of the forms passes through all points and has fewer coefficients than points.
    pub fn meets(&self) -> bool {
        let is_met = |fit: &Refined| fit.n < self.points.len() && fit.distance.is_met(self.counts);
        self.fits.iter().any(is_met)
    }

    /// Whether the spread of the calls explains the residuals of the likeliest form.
    pub fn explains(&self) -> bool {
        self.explained
    }

    /// The family that a form counts as.
    pub fn family(&self, form: usize) -> Family {
        family(&self.fits[form])
    }

    /// Whether a form has a negative coefficient, so that the time may be negative on the range.
    pub fn has_negative(&self, form: usize) -> bool {
        self.fits[form].coefficients().iter().any(|c| *c < 0.0)
    }

    /// The likeliest [`N_EXTENDED`] forms, and whether the spread of the calls explains the residuals of the first.
    fn ranked(&self) -> Option<(Vec<usize>, bool)> {
        let rank = |by_calls: bool| {
            let deviance = |i: usize| {
                let (distance, n) = self.distance(i);
                match by_calls {
                    true => self.by_calls[i],
                    false => distance.by_means(n, self.counts) + 2.0 * self.odds_against(i),
                }
            };
            let mut order: Vec<(f64, usize)> = (0..self.len()).map(|i| (deviance(i), i)).collect();
            order.retain(|(deviance, _)| deviance.is_finite());
            let by = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if order.len() > N_EXTENDED {
                order.select_nth_unstable_by(N_EXTENDED, by);
                order.truncate(N_EXTENDED);
            }
            order.sort_unstable_by(by);
            order.into_iter().map(|(_, i)| i).collect::<Vec<usize>>()
        };
        let forms = self.fits.iter().zip(&self.by_calls);
        let forms = forms.map(|(fit, deviance)| (*deviance, &fit.distance, fit.n));
        let explained = are_explained(forms, self.counts);
        Some((rank(explained), explained)).filter(|(order, _)| !order.is_empty())
    }

    /// Adds one more term to the best forms, if the spread of the calls leaves room for it. With several parameters, repeats this as long
    /// as another form becomes the likeliest.
    fn extend(&mut self) {
        let several = self.basis.n_params() > 1;
        let mut known = BTreeSet::new();
        for _ in 0..MAX_TERMS {
            let Some(before) = self.likeliest else {
                return;
            };
            if !several && (self.explained || self.fits[before].form.products().len() < 2) {
                return;
            }
            if known.is_empty() {
                known = self.known();
            }
            let best: Vec<Form> = self.best.iter().map(|&form| self.fits[form].form).collect();
            for form in best {
                for product in self.products() {
                    let longer = form.with(product).filter(|form| known.insert(form.key()));
                    let fit = longer.and_then(|form| {
                        self.scratch
                            .refine(form, &self.basis, &self.observed, FEW_PASSES)
                    });
                    self.fits.extend(fit);
                }
            }
            self.rank();
            if !several || self.likeliest == Some(before) {
                return;
            }
        }
    }

    /// Searches the neighbours of the likeliest form (one factor of one product changed, or one product removed) for a likelier one, and
    /// repeats from each form found, as long as the spread of the calls does not explain the residuals.
    fn exchange(&mut self) {
        if self.basis.n_params() < 2 {
            return;
        }
        let mut known = BTreeSet::new();
        for _ in 0..N_EXCHANGES {
            let Some(before) = self.likeliest.filter(|_| !self.explained) else {
                return;
            };
            if known.is_empty() {
                known = self.known();
            }
            for form in self.neighbours(self.fits[before].form) {
                if known.insert(form.key()) {
                    let fit = self
                        .scratch
                        .refine(form, &self.basis, &self.observed, FEW_PASSES);
                    self.fits.extend(fit);
                }
            }
            self.rank();
            if self.likeliest == Some(before) {
                return;
            }
        }
    }

    /// The keys of all forms fitted so far.
    fn known(&self) -> BTreeSet<[Product; MAX_TERMS]> {
        self.fits.iter().map(|fit| fit.form.key()).collect()
    }

    /// Forms with another term of one parameter in one product, with one more or one less there, or without the product.
    fn neighbours(&self, form: Form) -> Vec<Form> {
        let mut list = Vec::new();
        for (place, product) in form.products().iter().enumerate() {
            let without: Vec<Product> = (form.products().iter().enumerate())
                .filter(|(other, _)| *other != place)
                .map(|(_, product)| *product)
                .collect();
            let without = Form::new(&without);
            list.push(without);
            for param in 0..self.basis.n_params() {
                let terms = self.basis.usable(param).map(|term| term as u8 + 1);
                for code in terms.chain([0]) {
                    let mut changed = *product;
                    changed.0[param] = code;
                    if changed != Product::default() {
                        list.extend(without.with(changed));
                    }
                }
            }
        }
        list
    }

    /// Every term of each parameter, and of each two parameters the product of their likeliest terms.
    fn products(&self) -> Vec<Product> {
        let n_params = self.basis.n_params();
        let singles = (0..n_params).flat_map(|param| {
            self.basis
                .usable(param)
                .map(move |term| Product::single(param, term))
        });
        let mut products: Vec<Product> = singles.collect();
        for (p, first) in self.candidates.iter().enumerate() {
            for (q, second) in self.candidates.iter().enumerate().skip(p + 1) {
                let (first, second) = (first.terms.iter(), &second.terms);
                let pairs = first
                    .take(2)
                    .flat_map(|&i| second.iter().take(2).map(move |&j| (i, j)));
                products.extend(pairs.map(|(i, j)| {
                    let mut product = Product::single(p, i);
                    product.0[q] = j as u8 + 1;
                    product
                }));
            }
        }
        products
    }

    /// Prices the forms that have no price yet, and finds the likeliest forms.
    fn rank(&mut self) {
        self.price();
        if let Some((order, explained)) = self.ranked() {
            self.explained = explained;
            self.likeliest = order.first().copied();
            self.best = order;
        }
    }

    /// A form as an alternative that predictions average over, and its fitted times.
    pub fn alternative(
        &mut self,
        form: usize,
        weight: f64,
        explained: bool,
    ) -> Option<(Alternative, &[f64])> {
        let fit = self
            .scratch
            .refine_again(&self.fits[form], &self.basis, &self.observed)?;
        let alternative = Alternative {
            weight,
            family: family(&fit),
            formula: self.formula(&fit),
            covariance: Some(self.covariance(&fit, explained)),
        };
        Some((alternative, self.scratch.fitted_s()))
    }

    /// A form as a candidate to be shown.
    pub fn candidate(&mut self, form: usize, explained: bool) -> Option<Candidate> {
        let fit = self
            .scratch
            .refine(self.fits[form].form, &self.basis, &self.observed, PASSES)?;
        let fitted_s = self.scratch.fitted_s().to_vec();
        let left_out = |i: usize| {
            let leverage = self.scratch.leverage(i, fit.n).min(1.0 - 1e-12);
            let y = self.observed.mean_s[i];
            y - (y - fitted_s[i]) / (1.0 - leverage)
        };
        let spare = self.points.len() > fit.n;
        Some(Candidate {
            family: family(&fit),
            formula: self.formula(&fit),
            names: None,
            coefficients: fit.coefficients().to_vec(),
            covariance: Some(self.covariance(&fit, explained)),
            freedom: self.freedom(&fit, explained),
            left_out_s: spare.then(|| (0..fitted_s.len()).map(left_out).collect()),
            sigma: None,
            fitted_s,
            alternatives: Vec::new(),
            predicted_s: Vec::new(),
            odds_against: self.odds_against(form),
            n_free: fit.n + fit.form.n_choices(),
            held: false,
            is_even: false,
            design_effect: 1.0,
        })
    }

    /// The formula.
    fn formula(&self, fit: &Refined) -> Formula {
        let name = |param: usize| self.points.names[self.params[param]].as_str();
        let terms = fit.form.products().iter().zip(&fit.coefficients()[1..]);
        let terms =
            terms.map(|(product, coefficient)| Term::new(*coefficient, product.factors(name)));
        Formula::new(fit.coefficients[0], terms.collect())
    }

    fn freedom(&self, fit: &Refined, explained: bool) -> f64 {
        let n = if explained {
            self.observed.n_records
        } else {
            self.points.len() as f64
        };
        (n - fit.n as f64).max(1.0)
    }

    fn covariance(&self, fit: &Refined, explained: bool) -> Covariance {
        let squares = if explained {
            fit.distance.lack + fit.distance.within
        } else {
            fit.distance.lack
        };
        let variance = squares / self.freedom(fit, explained);
        self.scratch.covariance(fit.n, variance)
    }
}

/// The family that a form counts as: a constant, a line and a logarithm are normal forms too.
fn family(fit: &Refined) -> Family {
    let linear = |&product: &Product| {
        product.is_single() && product.parts().all(|(_, t)| t == terms::LINEAR)
    };
    match fit.form.products() {
        [] => Family::Constant,
        products if products.iter().all(linear) => Family::Line,
        [product] if product.is_single() && product.parts().all(|(_, t)| t == terms::LOGARITHM) => {
            Family::Logarithm
        }
        _ => Family::NormalForm,
    }
}
