//! The options of a user for a fit.

use std::collections::BTreeSet;

use anyhow::bail;
use clap::{Args, ValueEnum};
use mastermind_models::{
    Arithmetic, Error, Family, FitOptions, Model, Modes, Samples, Unknown, UserFormula, fit_with,
};

/// Wishes of a fit; none by default.
#[derive(Args)]
#[command(next_help_heading = "Models")]
pub struct Wishes {
    /// The only family to try
    #[arg(long, value_enum, value_name = "FAMILY", conflicts_with = "formula")]
    family: Option<FamilyName>,
    /// A formula to fit, "a * n * log2(n) + b": names that are no parameters are numbers to be found, unless they look
    /// like a parameter that is not in it
    #[arg(long, value_name = "FORMULA", value_parser = formula)]
    formula: Option<String>,
    /// Bounds of a formula's numbers, a=0:1,b=:10; c=: says that a name is meant
    #[arg(long, value_name = "K=LOW:HIGH", value_delimiter = ',', value_parser = bounds, requires = "formula")]
    bounds: Vec<(String, Unknown)>,
    /// Parameters that the time must not fall with
    #[arg(long, value_name = "PARAMS", value_delimiter = ',')]
    monotone: Vec<String>,
    /// What to do with modes, the combinations of labels
    #[arg(long, value_enum, default_value_t = ModesName::ByTest)]
    modes: ModesName,
}

#[derive(Clone, Copy, ValueEnum)]
enum FamilyName {
    Constant,
    Line,
    PowerLaw,
    Logarithm,
    Exponential,
    Polynomial,
    /// Extra-P's performance model normal form
    NormalForm,
    /// A constant for each step of a parameter
    Stairs,
    /// A line for each of several ranges of a parameter
    Regimes,
    /// What saturates, wears off, or grows exponentially from a level: a curve with a scale that is found
    Curve,
}

impl From<FamilyName> for Family {
    fn from(name: FamilyName) -> Self {
        match name {
            FamilyName::Constant => Family::Constant,
            FamilyName::Line => Family::Line,
            FamilyName::PowerLaw => Family::PowerLaw,
            FamilyName::Logarithm => Family::Logarithm,
            FamilyName::Exponential => Family::Exponential,
            FamilyName::Polynomial => Family::Polynomial,
            FamilyName::NormalForm => Family::NormalForm,
            FamilyName::Stairs => Family::Stairs,
            FamilyName::Regimes => Family::Regimes,
            FamilyName::Curve => Family::Curve,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum ModesName {
    /// A model for each where they differ
    ByTest,
    /// A model for each
    Apart,
    /// One model for all
    Together,
}

impl From<ModesName> for Modes {
    fn from(name: ModesName) -> Self {
        match name {
            ModesName::ByTest => Modes::ByTest,
            ModesName::Apart => Modes::Apart,
            ModesName::Together => Modes::Together,
        }
    }
}

/// `a=0:1`; an end that is left out is open.
fn bounds(text: &str) -> Result<(String, Unknown), String> {
    let wrong = || "expected NAME=LOW:HIGH".to_owned();
    let (name, ends) = text.split_once('=').ok_or_else(wrong)?;
    let (low, high) = ends.split_once(':').ok_or_else(wrong)?;
    let end = |text: &str, open: f64| match text.trim() {
        "" => Ok(open),
        text => text.parse::<f64>().map_err(|_| wrong()),
    };
    let unknown = Unknown::within(end(low, f64::NEG_INFINITY)?, end(high, f64::INFINITY)?);
    Ok((name.trim().into(), unknown))
}

/// A formula, if it is one.
fn formula(text: &str) -> Result<String, String> {
    match Arithmetic::parse(text) {
        Ok(_) => Ok(text.into()),
        Err(error) => Err(error.to_string()),
    }
}

impl Wishes {
    /// Checks the options as far as that is possible without samples.
    ///
    /// # Errors
    /// Bounds are for a name that is not in the formula, empty, or given twice.
    pub fn check(&self) -> anyhow::Result<()> {
        let mut seen = BTreeSet::new();
        if let Some((name, _)) = self.bounds.iter().find(|(name, _)| !seen.insert(name)) {
            bail!("cannot fit unknown \"{name}\": bounds twice, expected them once");
        }
        let bounds = self.bounds.iter().cloned().collect();
        match &self.formula {
            Some(text) => Ok(UserFormula::parse(text, bounds).map(|_| ())?),
            None => Ok(()),
        }
    }

    /// Fits samples as wished.
    ///
    /// # Errors
    /// A name in the formula is misspelt; nothing fits.
    pub fn fit(&self, samples: &Samples) -> Result<Vec<Model>, Error> {
        let over = |text: &String| {
            let bounds = self.bounds.iter().cloned().collect();
            UserFormula::over(text, &samples.parameters, bounds)
        };
        let options = FitOptions {
            family: self.family.map(Family::from),
            formula: self.formula.as_ref().map(over).transpose()?,
            monotone: self.monotone.clone(),
            modes: self.modes.into(),
        };
        fit_with(samples, &options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_may_be_open() {
        assert_eq!(bounds("a=0:1"), Ok(("a".into(), Unknown::within(0.0, 1.0))));
        assert_eq!(
            bounds(" b =:2"),
            Ok(("b".into(), Unknown::within(f64::NEG_INFINITY, 2.0)))
        );
        for text in ["a", "a=1", "a=x:2"] {
            assert!(bounds(text).is_err(), "{text}");
        }
    }
}
