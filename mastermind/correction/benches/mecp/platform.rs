//! Another machine: the term found on the first is kept, and only the parameters of the machine are changed.
//!
//! The parameters of the first machine are known from a calibration, within [`CALIBRATION`]; those of the other are
//! fitted to half of its points, or known too. The contention is the same on both. Errors are in units of the noise
//! floor: the error of the exact times at the same points.

use mastermind_correction::{
    Case, Corrected, Outcome, Residuals, SemiEmpirical, Specification, Table, correct,
    relative_error,
};
use must_reach::Figures;
use rayon::prelude::*;

use crate::instances::{Form, Instance, Split};
use crate::{Options, median};

/// How well the parameters of the first machine are known.
const CALIBRATION: f64 = 0.03;

/// Greatest error, in units of the noise floor.
const MAX_ERROR: f64 = 1.5;

/// A machine with all points for training, and another with half of them.
struct Pair {
    /// The formula with the parameters bounded by the calibration.
    calibrated: Specification,
    here: Instance,
    there: Instance,
    base: SemiEmpirical,
    floor: f64,
}

/// Errors of one trial on the other machine, by the floor: parameters fitted, parameters known.
struct Errors {
    fitted: f64,
    known: f64,
    /// Error at the training points of the first machine, by which one of several trials is chosen.
    train: f64,
}

impl Pair {
    fn new(place: usize, options: &Options) -> Self {
        let here = Instance::draw(Form::Evh1, place, options.seed, 1.0);
        let seed = options.seed + 100 + place as u64;
        let there = here.on_another_machine(seed).split(Split::RandomHalf, seed);
        let calibrated = calibrated(&here, here.specification.clone());
        let base = SemiEmpirical::fit(&calibrated, &here.table, Residuals::Relative);
        let test = there.table.part(false);
        Self {
            calibrated,
            base: base.expect("a fit"),
            floor: relative_error(&test.observed, &there.exact(&test)),
            here,
            there,
        }
    }

    fn error(&self, predict: impl Fn(&Table) -> Vec<f64>) -> f64 {
        let test = self.there.table.part(false);
        relative_error(&test.observed, &predict(&test)) / self.floor
    }

    /// Errors of a trial; those of the base if the term is refused.
    fn trial(&self, case: Case, seed: u64, options: &Options) -> Errors {
        let (specification, table) = (&self.calibrated, &self.here.table);
        let outcome = correct(
            specification,
            table,
            &self.base,
            case,
            seed,
            &options.settings,
        );
        match outcome.expect("an outcome") {
            Outcome::Accepted(corrected) => self.errors(&corrected),
            Outcome::Refused(_) => Errors {
                fitted: f64::INFINITY,
                known: f64::INFINITY,
                train: f64::INFINITY,
            },
        }
    }

    fn errors(&self, corrected: &Corrected) -> Errors {
        let specification = &self.there.specification;
        let train = self.there.table.part(true);
        let fitted = corrected.on_platform(specification, &train).expect("a fit");
        let known = corrected.with_machine(specification, &machine_of(&self.there));
        let known = known.expect("names");
        let at_home = corrected.predict(specification, &self.here.table);
        Errors {
            fitted: self.error(|table| fitted.predict(specification, table)),
            known: self.error(|table| known.predict(specification, table)),
            train: relative_error(&self.here.table.observed, &at_home),
        }
    }

    /// Errors of the oracle, which knows the form of the term and fits its constants on the first machine, with the
    /// parameters of the base or, in case 2, without.
    fn oracle(&self, case: Case) -> [f64; 2] {
        let oracle = self.here.oracle();
        let at_home = calibrated(&self.here, oracle.clone());
        let names = oracle.unknown_names();
        let place = |name: &str| names.iter().position(|known| *known == name);
        let mut start = vec![1.0; names.len()];
        let of_base = self.calibrated.unknown_names();
        for (name, value) in of_base.iter().zip(&self.base.values) {
            start[place(name).expect("an unknown of the base")] = *value;
        }
        let is_free = |k: &usize| case.searches_parameters() || !of_base.contains(&names[*k]);
        let free: Vec<usize> = (0..names.len()).filter(is_free).collect();
        let relative = Residuals::Relative;
        let fit = SemiEmpirical::fit_some(&at_home, &self.here.table, relative, &free, start);
        let held = fit.expect("a fit").values;
        let machine = machine_of(&self.there);
        let free: Vec<usize> = machine.iter().filter_map(|(name, _)| place(name)).collect();
        let train = self.there.table.part(true);
        let there = SemiEmpirical::fit_some(&oracle, &train, relative, &free, held.clone());
        let fitted = there.expect("a fit").values;
        let mut known = held;
        for (free, (_, value)) in free.iter().zip(&machine) {
            known[*free] = *value;
        }
        [fitted, known].map(|values| self.error(|table| oracle.evaluate(table, &values)))
    }
}

/// The parameters of a machine, by name.
fn machine_of(instance: &Instance) -> Vec<(&str, f64)> {
    let unknowns = instance
        .specification
        .unknowns
        .iter()
        .zip(&instance.unknowns);
    let machine = unknowns.filter(|((_, unknown), _)| unknown.machine);
    machine
        .map(|((name, _), value)| (name.as_str(), *value))
        .collect()
}

/// A formula with the unknowns of an instance bounded as by a calibration.
fn calibrated(instance: &Instance, mut formula: Specification) -> Specification {
    let names = instance.specification.unknowns.keys();
    for (name, value) in names.zip(&instance.unknowns) {
        if let Some(unknown) = formula.unknowns.get_mut(name) {
            unknown.lower = (1.0 - CALIBRATION) * value;
            unknown.upper = (1.0 + CALIBRATION) * value;
        }
    }
    formula
}

/// Prints a row for each case and method, and for the oracle.
pub fn table(options: &Options, figures: &mut Figures) {
    let places: Vec<usize> = (0..options.n_instances).collect();
    let pairs: Vec<Pair> = places.par_iter().map(|k| Pair::new(*k, options)).collect();
    println!(
        "\nanother machine      | error by the noise floor, median: parameters fitted, known | trials within {MAX_ERROR} % | of the best trial of each"
    );
    for case in [Case::Two, Case::Four] {
        if !options.cases.contains(&case) {
            continue;
        }
        let number = case.number();
        let oracles: Vec<[f64; 2]> = pairs.par_iter().map(|p| p.oracle(case)).collect();
        let of = |way: usize| oracles.iter().map(|o| o[way]).collect::<Vec<_>>();
        let (fitted, known) = (of(0), of(1));
        let oracle = [median(&fitted), median(&known)];
        row(
            &format!("case {number}, the oracle"),
            [&fitted, &known],
            oracle,
        );
        let of = |pair: &Pair| -> Vec<Errors> {
            let seeds: Vec<u64> = (1..=options.n_trials).collect();
            let trials = seeds
                .par_iter()
                .map(|seed| pair.trial(case, *seed, options));
            trials.collect()
        };
        let trials: Vec<Vec<Errors>> = pairs.par_iter().map(of).collect();
        let best: Vec<&Errors> = trials
            .iter()
            .filter_map(|t| t.iter().min_by(|a, b| a.train.total_cmp(&b.train)))
            .collect();
        let all = || trials.iter().flatten();
        let fitted: Vec<f64> = all().map(|e| e.fitted).collect();
        let known: Vec<f64> = all().map(|e| e.known).collect();
        let of_best = [
            median(&best.iter().map(|e| e.fitted).collect::<Vec<_>>()),
            median(&best.iter().map(|e| e.known).collect::<Vec<_>>()),
        ];
        let name = format!("case {number}");
        row(&name, [&fitted, &known], of_best);
        for (way, values, limit) in [("fitted", &fitted, oracle[0]), ("known", &known, oracle[1])] {
            let what = format!(
                "another machine, {name}, parameters {way}: median error by the noise floor ({MAX_ERROR} asked, the oracle {limit:.2})"
            );
            figures.fact(&what, median(values), ..=MAX_ERROR.max(limit), "");
        }
    }
}

fn row(name: &str, [fitted, known]: [&[f64]; 2], best: [f64; 2]) {
    let within = |values: &[f64]| {
        100.0 * values.iter().filter(|e| **e <= MAX_ERROR).count() as f64 / values.len() as f64
    };
    println!(
        "{name:20} | {:34.2} {:23.2} | {:9.1} {:9.1} | {:.2} {:.2}",
        median(fitted),
        median(known),
        within(fitted),
        within(known),
        best[0],
        best[1]
    );
}
