//! The performance model normal form, `c + Σ cₖ · Π x^(i) · log2(x)^(j)`: searched, weighed, averaged.
//!
//! Every form of the search space is looked at once with weights common to all (`screen`; for
//! several parameters after `lines` has cut down the terms of each), the best are fitted under
//! multiplicative noise (`refine`) and weighed against one another (`weigh`).
//!
//! # Source
//! A. Calotoiu, T. Hoefler, M. Poke, F. Wolf, SC '13, for the form (recalled, not looked up). The
//! selection differs from theirs: by likelihood with the spread of a call proportional to its time,
//! not by the cross-validated error of an unweighted fit.

mod lines;
mod refine;
mod screen;
mod terms;
mod weigh;

use crate::model::Family;
use crate::points::Points;
use crate::shown::{Alternative, Deviances, Shown};
use refine::{FEW_PASSES, Observed, PASSES, Refined, Scratch};
use screen::Centred;
use terms::{Basis, Form, MAX_PARAMS, Product};
use weigh::{Credible, Weighed, odds_against, weigh};
pub(crate) use weigh::{Distance, deviances};

/// Terms of each parameter that are combined, by the number of parameters.
const N_COMBINED: [usize; MAX_PARAMS + 1] = [0, 0, 12, 7];

/// Distinct coordinates below which no normal form is told from another.
pub(crate) const MIN_POINTS: usize = 5;

/// The most credible normal form of the points and those to average with it.
///
/// # Returns
/// `None` with fewer than [`MIN_POINTS`] points, no parameter that varies and is positive, or no
/// form that is positive at every point.
pub(crate) fn search(points: &Points) -> Option<Shown> {
    if points.len() < MIN_POINTS {
        return None;
    }
    let observed = Observed::new(points)?;
    let params = parameters(points);
    let columns: Vec<&[f64]> = params
        .iter()
        .map(|&i| points.columns[i].as_slice())
        .collect();
    let basis = Basis::new(&columns);
    let mut scratch = Scratch::new(points.len());
    let forms = forms(&columns, &basis, &observed);
    let mut fits: Vec<Refined> = forms
        .into_iter()
        .filter_map(|form| scratch.refine(form, &basis, &observed, FEW_PASSES))
        .collect();
    let mut credible = weigh(&fits, &observed);
    if extend(&mut fits, &credible, &mut scratch, &basis, &observed) {
        credible = weigh(&fits, &observed);
    }
    let found = Found {
        points,
        params: &params,
        basis: &basis,
        observed: &observed,
        explained: credible.explained,
    };
    found.shown(&credible.forms, &mut scratch)
}

/// The parameters to search in: the first of those that vary and are positive.
fn parameters(points: &Points) -> Vec<usize> {
    let mut params = points.varying();
    params.retain(|&param| points.columns[param].iter().all(|&x| x > 0.0));
    params.truncate(MAX_PARAMS);
    params
}

/// The forms worth an exact fit, the constant first.
fn forms(columns: &[&[f64]], basis: &Basis, observed: &Observed<'_>) -> Vec<Form> {
    let mut forms = vec![Form::default()];
    let centred = Centred::new(observed);
    match columns.len() {
        0 => {}
        1 => {
            forms.extend(
                basis
                    .usable(0)
                    .map(|term| Form::new(&[Product::single(0, term)])),
            );
            forms.extend(screen::pairs(basis, &centred).forms());
        }
        n_params => {
            let n_kept = N_COMBINED[n_params];
            let candidates: Vec<Vec<usize>> = (0..n_params)
                .map(|param| {
                    lines::candidates(param, columns, basis, observed, n_kept)
                        .or_else(|| lines::scattered(param, columns, basis, observed, n_kept))
                        .unwrap_or_else(|| every_fifth(basis, param))
                })
                .collect();
            for best in screen::combinations(basis, &centred, &candidates) {
                forms.extend(best.forms());
            }
        }
    }
    forms
}

/// A coarse choice of terms where nothing tells them apart before the others are known.
fn every_fifth(basis: &Basis, param: usize) -> Vec<usize> {
    basis.usable(param).step_by(5).collect()
}

/// Tries one term more beside the best form, where the spread of the calls leaves room for it.
///
/// # Returns
/// Whether a form was added.
fn extend(
    fits: &mut Vec<Refined>,
    credible: &Credible,
    scratch: &mut Scratch,
    basis: &Basis,
    observed: &Observed<'_>,
) -> bool {
    let Some(best) = credible.forms.first() else {
        return false;
    };
    let form = best.fit.form;
    if basis.n_params() < 2 && (credible.explained || form.products().len() < 2) {
        return false;
    }
    let before = fits.len();
    for param in 0..basis.n_params() {
        for term in basis.usable(param) {
            let longer = form.with(Product::single(param, term));
            fits.extend(longer.and_then(|form| scratch.refine(form, basis, observed, FEW_PASSES)));
        }
    }
    fits.len() > before
}

/// What the parts of a model are made from.
struct Found<'a> {
    points: &'a Points,
    params: &'a [usize],
    basis: &'a Basis,
    observed: &'a Observed<'a>,
    explained: bool,
}

impl Found<'_> {
    fn shown(&self, forms: &[Weighed], scratch: &mut Scratch) -> Option<Shown> {
        let mut alternatives = Vec::with_capacity(forms.len());
        let mut best = None;
        // The best comes last, so that the scratch holds its fit.
        for form in forms.iter().rev() {
            best = scratch.refine(form.fit.form, self.basis, self.observed, PASSES);
            alternatives.extend(best.iter().map(|fit| Alternative {
                weight: form.weight,
                family: Family::NormalForm,
                formula: self.formula(fit, 1.0),
                covariance: self.covariance(fit, scratch),
            }));
        }
        let fit = &best?;
        alternatives.reverse();
        let sum: f64 = alternatives.iter().map(|part| part.weight).sum();
        alternatives.iter_mut().for_each(|part| part.weight /= sum);
        let fitted_s = scratch.fitted_s().to_vec();
        let left_out = |i: usize| {
            let leverage = scratch.leverage(i, fit.n).min(1.0 - 1e-12);
            let y = self.observed.mean_s[i];
            y - (y - fitted_s[i]) / (1.0 - leverage)
        };
        Some(Shown {
            family: Family::NormalForm,
            formula: alternatives[0].formula.clone(),
            names: self.names(fit),
            coefficients: fit.coefficients().to_vec(),
            covariance: alternatives[0].covariance.clone(),
            freedom: self.freedom(fit),
            left_out_s: Some((0..fitted_s.len()).map(left_out).collect()),
            sigma: Some(self.formula(fit, self.spread(fit))),
            fitted_s,
            alternatives,
            // The forms beside it are as many parts of the same guess.
            deviances: Some(self.deviances(fit)),
            n_free: fit.n + fit.form.n_choices(),
            held: false,
        })
    }

    /// Of the best form.
    fn deviances(&self, fit: &Refined) -> Deviances {
        deviances(&fit.distance, fit.n, self.points, odds_against(fit))
    }

    /// The formula, every coefficient times `scale`.
    fn formula(&self, fit: &Refined, scale: f64) -> crate::Formula {
        let names: Vec<&str> = self
            .params
            .iter()
            .map(|&i| self.points.names[i].as_str())
            .collect();
        let terms = fit.form.products().iter().zip(&fit.coefficients()[1..]);
        let terms = terms.map(|(product, coefficient)| {
            crate::Term::new(coefficient * scale, product.factors(&names))
        });
        crate::Formula::new(fit.coefficients[0] * scale, terms.collect())
    }

    /// Name and unit of each coefficient.
    fn names(&self, fit: &Refined) -> Vec<(String, String)> {
        let constant = ("constant".to_owned(), self.points.per(""));
        let formula = self.formula(fit, 1.0);
        let terms = formula.terms.iter().map(|term| {
            let name = term.product_text();
            let unit = self.points.per(&format!("({name})"));
            (name, unit)
        });
        [constant].into_iter().chain(terms).collect()
    }

    /// Relative standard deviation of a call about the fit.
    fn spread(&self, fit: &Refined) -> f64 {
        let spare = (self.observed.n_records - fit.n as f64).max(1.0);
        ((fit.distance.lack + fit.distance.within) / spare).sqrt()
    }

    fn freedom(&self, fit: &Refined) -> f64 {
        let n = if self.explained {
            self.observed.n_records
        } else {
            self.points.len() as f64
        };
        (n - fit.n as f64).max(1.0)
    }

    fn covariance(&self, fit: &Refined, scratch: &Scratch) -> Option<Vec<Vec<f64>>> {
        let squares = if self.explained {
            fit.distance.lack + fit.distance.within
        } else {
            fit.distance.lack
        };
        let variance = squares / self.freedom(fit);
        let square = scratch.unscaled_covariance(fit.n);
        let row =
            |row: &[f64; refine::MAX_COLUMNS]| row[..fit.n].iter().map(|c| c * variance).collect();
        Some(square[..fit.n].iter().map(row).collect())
    }
}
