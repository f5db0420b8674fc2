//! The formulas worth trying on the points of one mode.

use crate::families::hypothesis::{Hypothesis, Shape};
use crate::families::note::Note;
use crate::formula::exponent::Exponent;
use crate::formula::family::Family;
use crate::formula::sum::{Factor, Term};
use crate::samples::points::Points;
use crate::solve::least_squares::solve;

/// Degrees of polynomials in one parameter.
const DEGREES: std::ops::RangeInclusive<i32> = 2..=4;

/// Most parameters of a polynomial in several parameters.
const MAX_POLYNOMIAL_PARAMS: usize = 3;

/// Lists every formula whose form needs no search, simple before complex, and notes on the parameters left out.
///
/// The list has a constant; then lines, logarithms, power laws and exponentials, each in one varying parameter, then in all
/// independent ones; and polynomials after the lines.
pub(crate) fn hypotheses(points: &Points) -> (Vec<Hypothesis>, Vec<Note>) {
    let varying = points.varying();
    let mut list = vec![Hypothesis::constant()];
    let mut notes = Vec::new();
    for family in [
        Family::Line,
        Family::Logarithm,
        Family::PowerLaw,
        Family::Exponential,
    ] {
        list.extend(varying.iter().map(|&param| of(family, points, &[param])));
        let (together, dependent) = independent(points, family, &varying);
        if together.len() > 1 {
            list.push(of(family, points, &together));
        }
        if family == Family::Line {
            let note = |&param: &usize| Note::Collinear {
                param: points.names[param].clone(),
            };
            notes.extend(dependent.iter().map(note));
            list.extend(polynomials(points, &varying, &together));
        }
    }
    if points.names.is_empty() {
        notes.push(Note::NoSize {
            n_records: points.all.iter().map(|summary| summary.count).sum(),
        });
    } else if varying.is_empty() {
        notes.push(Note::NoVaryingParameter {
            n_points: points.len(),
        });
    }
    (list, notes)
}

/// A family over some parameters.
fn of(family: Family, points: &Points, params: &[usize]) -> Hypothesis {
    let products = |exponent, log_exponent| {
        let factor = |&p: &usize| {
            let factor = Factor::new(
                &points.names[p],
                Exponent::Fraction(exponent, 1),
                log_exponent,
            );
            Term::new(1.0, vec![factor])
        };
        Hypothesis::sum(family, params.iter().map(factor).collect())
    };
    let shaped = |shape| Hypothesis {
        family,
        shape,
        n_searched: 0,
    };
    match family {
        Family::PowerLaw => shaped(Shape::Power(params.to_vec())),
        Family::Exponential => shaped(Shape::Exponential(params.to_vec())),
        Family::Logarithm => products(0, 1),
        _ => products(1, 0),
    }
}

/// Polynomials: of each degree in one parameter that has enough distinct values, of degree 2 in several.
fn polynomials(points: &Points, varying: &[usize], together: &[usize]) -> Vec<Hypothesis> {
    let mut list = Vec::new();
    for &param in varying {
        let n_values = points.values(param).len();
        for degree in DEGREES {
            if n_values > degree as usize + 1 {
                let terms = (1..=degree).map(|power| monomial(points, &[(param, power)]));
                list.push(Hypothesis::sum(Family::Polynomial, terms.collect()));
            }
        }
    }
    if (2..=MAX_POLYNOMIAL_PARAMS).contains(&together.len()) {
        let mut terms: Vec<Term> = Vec::new();
        terms.extend(together.iter().map(|&p| monomial(points, &[(p, 1)])));
        for (i, &p) in together.iter().enumerate() {
            terms.push(monomial(points, &[(p, 2)]));
            let others = together[i + 1..].iter();
            terms.extend(others.map(|&q| monomial(points, &[(p, 1), (q, 1)])));
        }
        list.push(Hypothesis::sum(Family::Polynomial, terms));
    }
    list
}

fn monomial(points: &Points, powers: &[(usize, i32)]) -> Term {
    let factors = powers
        .iter()
        .map(|&(p, power)| Factor::new(&points.names[p], Exponent::Fraction(power, 1), 0));
    Term::new(1.0, factors)
}

/// Splits `varying` into the parameters that are no linear combination of those before them, and the others.
fn independent(points: &Points, family: Family, varying: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let (mut kept, mut dependent): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    if family != Family::Line && varying.len() < 2 {
        return (varying.to_vec(), dependent);
    }
    let logarithmic = matches!(family, Family::PowerLaw | Family::Logarithm);
    let column = |&param: &usize| -> Vec<f64> {
        let values = points.columns[param].iter();
        values
            .map(|&x| if logarithmic { x.ln() } else { x })
            .collect()
    };
    for &param in varying {
        if kept.len() + 1 >= points.len() {
            break;
        }
        let mut design = vec![vec![1.0; points.len()]];
        design.extend(kept.iter().chain([&param]).map(column));
        let finite = design.iter().flatten().all(|x| x.is_finite());
        if finite && solve(&design, &points.mean_s, &points.count).is_ok() {
            kept.push(param);
        } else {
            dependent.push(param);
        }
    }
    (kept, dependent)
}
