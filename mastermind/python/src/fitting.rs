//! Options of a fit, for records and for tables alike.

use std::collections::BTreeSet;

use mastermind_component::names::{self, Names};
use mastermind_models::{
    Arithmetic, FitOptions, ModelSet, Modes, Samples, Statistic, UserFormula, fit_with,
};
use pyo3::prelude::*;

use crate::convert::{error, one_of};

/// The options of `mastermind fit`, as keyword arguments give them.
pub(crate) struct Wishes<'a> {
    pub(crate) statistic: Statistic,
    formula: Option<&'a str>,
    modes: Modes,
}

impl<'a> Wishes<'a> {
    /// # Errors
    /// An unknown word, or an invalid formula: ValueError.
    pub(crate) fn new(statistic: &str, formula: Option<&'a str>, modes: &str) -> PyResult<Self> {
        let statistic = one_of(
            "statistic",
            statistic,
            &[
                ("clean", Statistic::Clean),
                ("mean", Statistic::Mean),
                ("median", Statistic::Median),
                ("min", Statistic::Minimum),
            ],
        )?;
        let modes = one_of(
            "modes",
            modes,
            &[
                ("by-test", Modes::ByTest),
                ("apart", Modes::Apart),
                ("together", Modes::Together),
            ],
        )?;
        if let Some(text) = formula {
            Arithmetic::parse(text).map_err(error)?;
        }
        Ok(Self {
            statistic,
            formula,
            modes,
        })
    }

    /// Models of all methods, or of those that match a name.
    ///
    /// # Arguments
    /// * `names_of` - the names of a method
    ///
    /// # Errors
    /// The name means no method; a fit fails: ValueError.
    pub(crate) fn fit(
        &self,
        samples: Vec<Samples>,
        method: Option<&str>,
        names_of: impl Fn(&Samples) -> Names,
    ) -> PyResult<ModelSet> {
        let meant = match method {
            None => (0..samples.len()).collect(),
            Some(typed) => meant(&samples.iter().map(names_of).collect::<Vec<_>>(), typed)?,
        };
        let mut models = Vec::new();
        for place in meant {
            let samples = &samples[place];
            let over = |text| UserFormula::over(text, &samples.parameters, Default::default());
            let options = FitOptions {
                formula: self.formula.map(over).transpose().map_err(error)?,
                modes: self.modes,
                ..FitOptions::default()
            };
            models.extend(fit_with(samples, &options).map_err(error)?);
        }
        Ok(ModelSet { models })
    }
}

/// Places of the methods that a name means.
fn meant(known: &[Names], typed: &str) -> PyResult<BTreeSet<usize>> {
    let meant: BTreeSet<_> = names::meant(typed, known).into_iter().collect();
    match meant.is_empty() {
        true => Err(error(names::unknown(
            "fit",
            typed,
            "no calls recorded",
            known,
        ))),
        false => Ok(meant),
    }
}
