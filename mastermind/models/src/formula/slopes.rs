//! Derivatives of a formula by its fitted coefficients.

use crate::formula::family::Family;
use crate::formula::sum::Formula;

/// Derivatives of a formula by its coefficients, shape `[n_coefficients]`; the error is the name of a parameter without a value in `number`.
pub(crate) fn slopes(
    family: Family,
    formula: &Formula,
    number: impl Fn(&str) -> Option<f64>,
) -> Result<Vec<f64>, &str> {
    if let Some(written) = &formula.written {
        return written.gradient(&number);
    }
    match family {
        Family::PowerLaw | Family::Exponential => {
            let Some(term) = formula.terms.first() else {
                return Ok(Vec::new());
            };
            let value = term.coefficient * term.product(&number)?;
            let factors = term.factors.iter();
            let logarithms = factors.map(|factor| {
                let x = number(&factor.param).ok_or(factor.param.as_str())?;
                let of = if family == Family::PowerLaw {
                    x.ln()
                } else {
                    x
                };
                Ok(value * of)
            });
            [Ok(value)].into_iter().chain(logarithms).collect()
        }
        Family::Regimes | Family::Curve => formula
            .terms
            .iter()
            .map(|term| term.product(&number))
            .collect(),
        _ => {
            let products = formula.terms.iter().map(|term| term.product(&number));
            [Ok(1.0)].into_iter().chain(products).collect()
        }
    }
}
