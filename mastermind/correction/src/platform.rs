//! Another platform: the term is kept, and only the machine's parameters are changed.

use nalgebra::{DMatrix, DVector};

use crate::correction::{Corrected, relative_error};
use crate::error::Error;
use crate::specification::Specification;
use crate::table::Table;

/// Steps of the fit from each start, and common factors of all free parameters that it starts from.
const STEPS: usize = 60;
const STARTS: [f64; 5] = [1.0, 0.1, 10.0, 0.3, 3.0];

impl Corrected {
    /// Places of the machine's unknowns; all of them if none is marked so.
    fn machine(specification: &Specification) -> Vec<usize> {
        let unknowns = specification.unknowns.values().enumerate();
        let marked = unknowns.filter(|(_, unknown)| unknown.machine);
        let marked: Vec<usize> = marked.map(|(place, _)| place).collect();
        match marked.is_empty() {
            true => (0..specification.unknowns.len()).collect(),
            false => marked,
        }
    }

    /// The same model on another machine, whose parameters are known.
    ///
    /// The ratio to the base is no longer limited to its range on the first machine: the base on this machine gives no
    /// information about the term.
    ///
    /// # Arguments
    /// * `set` - values of unknowns by name; the others stay
    ///
    /// # Errors
    /// [`Error::NoUnknown`] for a name that is not an unknown.
    pub fn with_machine(
        &self,
        specification: &Specification,
        set: &[(&str, f64)],
    ) -> Result<Self, Error> {
        let mut there = self.clone();
        let names = specification.unknown_names();
        for (name, value) in set {
            let place = names.iter().position(|known| known == name);
            let place = place.ok_or_else(|| Error::NoUnknown {
                name: (*name).into(),
                known: names.join(", "),
            })?;
            there.set_unknown(place, *value);
        }
        there.set_ratio([1e-3, 1e3]);
        Ok(there)
    }

    /// The same model with the parameters of the machine fitted to times measured on another one.
    ///
    /// # Errors
    /// [`Error::TooFewPoints`] with fewer points than parameters; [`Error::NotPositive`].
    pub fn on_platform(
        &self,
        specification: &Specification,
        measured: &Table,
    ) -> Result<Self, Error> {
        let free = Self::machine(specification);
        if measured.len() < free.len() {
            return Err(Error::TooFewPoints {
                model: specification.name.clone(),
                n_points: measured.len(),
                needed: free.len(),
            });
        }
        let mut points = measured.observed.iter().zip(&measured.lines);
        if let Some((value, line)) = points.find(|(y, _)| **y <= 0.0) {
            return Err(Error::NotPositive {
                model: specification.name.clone(),
                value: *value,
                line: *line,
            });
        }
        let start = self.with_machine(specification, &[])?;
        let mut best: Option<(f64, Self)> = None;
        for factor in STARTS {
            let mut there = start.clone();
            let bounds: Vec<_> = specification.unknowns.values().collect();
            for place in &free {
                let value = factor * there.unknowns[*place];
                let value = value.clamp(bounds[*place].lower, bounds[*place].upper);
                there.set_unknown(*place, value);
            }
            fit(&mut there, specification, measured, &free);
            let calculated = there.predict(specification, measured);
            let error = relative_error(&measured.observed, &calculated);
            if best.as_ref().is_none_or(|(least, _)| error < *least) {
                best = Some((error, there));
            }
        }
        Ok(best.map_or(start, |(_, there)| there))
    }
}

/// Levenberg–Marquardt on relative residuals, parameters by relative steps within their bounds.
fn fit(there: &mut Corrected, specification: &Specification, measured: &Table, free: &[usize]) {
    let residuals = |model: &Corrected| {
        let calculated = model.predict(specification, measured);
        let pairs = measured.observed.iter().zip(calculated);
        let residuals = pairs
            .zip(&measured.weights)
            .map(|((y, t), w)| w.sqrt() * (t / y - 1.0));
        DVector::from_iterator(measured.len(), residuals)
    };
    let bounds: Vec<_> = specification.unknowns.values().collect();
    let moved = |model: &Corrected, step: &dyn Fn(usize) -> f64| {
        let mut model = model.clone();
        for (j, place) in free.iter().enumerate() {
            let size = model.unknowns[*place].abs().max(1e-12);
            let value = model.unknowns[*place] + size * step(j).clamp(-0.9, 4.0);
            let value = value.clamp(bounds[*place].lower, bounds[*place].upper);
            model.set_unknown(*place, value);
        }
        model
    };
    let mut damping = 1e-2;
    let mut here = residuals(there);
    for _ in 0..STEPS {
        let mut slopes = DMatrix::zeros(here.len(), free.len());
        for j in 0..free.len() {
            let nearby = moved(there, &|k| if k == j { 1e-6 } else { 0.0 });
            slopes.set_column(j, &((residuals(&nearby) - &here) / 1e-6));
        }
        let normal = slopes.tr_mul(&slopes);
        let gradient = slopes.tr_mul(&here);
        let before = here.norm_squared();
        for _ in 0..8 {
            let mut damped = normal.clone();
            (0..free.len()).for_each(|j| damped[(j, j)] += damping * normal[(j, j)].max(1e-12));
            let step = damped.cholesky().map(|c| c.solve(&gradient));
            let next = step.map(|step| moved(there, &|j| -step[j]));
            let gained = next.map(|next| (residuals(&next), next));
            if let Some((residuals, next)) = gained
                && residuals.norm_squared() < before
            {
                (here, *there) = (residuals, next);
                damping = (damping * 0.2).max(1e-9);
                break;
            }
            damping *= 5.0;
        }
        if before - here.norm_squared() <= 1e-10 * before {
            break;
        }
    }
}
