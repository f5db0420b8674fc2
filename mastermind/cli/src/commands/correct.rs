//! `mastermind correct`: a scientist's formula fitted within bounds, and where that misses something, corrected.

mod document;
mod figures;
mod told;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mastermind_correction::{
    Case, Corrected, Errors, Plan, Report, Specification, Table, Trial, procedure,
};
use mastermind_models::ModelSet;

use crate::destination::Force;
use crate::output;

/// Fit a semi-empirical formula, and evolve the error correction term that it lacks.
///
/// Half the rows of the table, say, have 1 in the column `train`: the formula is fitted to them, by squared and by relative
/// residuals, and where that is not good enough, trials evolve a term; the other rows show how well each predicts. A term
/// that does not beat the formula on training points held out of its search is refused, and the formula stands.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind correct examples/semi-empirical/evh1.toml examples/semi-empirical/evh1.csv --trials 5\n\
                  Example: mastermind correct evh1.toml evh1.csv --case 4 -o models.json --plot figures\n\
                  Example: mastermind correct evh1.toml evh1.csv --case 4 --platform other-machine.csv"
)]
pub struct Correct {
    /// The formula: inputs, constants, unknowns with bounds
    #[arg(value_name = "SPEC.toml")]
    specification: PathBuf,
    /// Observed times: a column for each input, the observation, and `train` (1 or 0)
    #[arg(value_name = "DATA.csv")]
    data: PathBuf,
    /// The case: 1 integrated term, 2 added term, 3 and 4 the same with parameters searched near their fit; all without it
    #[arg(long, value_name = "1|2|3|4", value_parser = case)]
    case: Option<Case>,
    /// Trials of each case
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: u32,
    /// Seed of the first trial
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Relative error of the fitted formula at the training points, per cent, up to which nothing is corrected
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    good_enough: f64,
    /// Candidates of a generation
    #[arg(long, value_name = "N", default_value_t = 3000, value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    population: u32,
    /// Generations at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    generations: u32,
    /// Times of another machine: the term is kept, and the unknowns with `machine = true` are fitted to its training rows
    #[arg(long, value_name = "OTHER.csv")]
    platform: Option<PathBuf>,
    /// Values of unknowns on the other machine, in place of a fit
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting, value_delimiter = ',', requires = "platform")]
    set: Vec<(String, f64)>,
    /// Where the best model goes, for predict and choose
    #[arg(short, long, value_name = "models.json")]
    output: Option<PathBuf>,
    /// Write the first tree alone, which can be read, not the mean of several
    #[arg(long, requires = "output")]
    single: bool,
    /// Folder for figures of the fit, the prediction and the frequency of improvement
    #[arg(long, value_name = "FOLDER")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn case(text: &str) -> Result<Case, String> {
    let number = text.parse().ok().and_then(Case::of_number);
    number.ok_or_else(|| "expected 1, 2, 3 or 4".into())
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|x: &f64| (0.0..=1e6).contains(x));
    number.ok_or_else(|| "expected a number of at least 0".into())
}

fn setting(text: &str) -> Result<(String, f64), String> {
    let pair = text.split_once('=');
    let value =
        pair.and_then(|(name, value)| Some((name.trim().to_owned(), value.trim().parse().ok()?)));
    value
        .filter(|(_, x): &(String, f64)| x.is_finite())
        .ok_or_else(|| "expected NAME=VALUE".into())
}

/// The best corrected model of a case on another machine.
pub struct Elsewhere {
    /// The case.
    pub case: Case,
    /// The model with its machine's parameters.
    pub model: Corrected,
    /// How it predicts that machine.
    pub errors: Errors,
}

impl Correct {
    /// Fits and corrects.
    ///
    /// # Errors
    /// The formula or the data cannot be read; the formula cannot be fitted; a file cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let act = || format!("cannot read \"{}\"", self.specification.display());
        let text = fs::read_to_string(&self.specification).with_context(act)?;
        let specification = Specification::from_toml(&text).with_context(act)?;
        let table = read(&self.data, &specification)?;
        let there = self
            .platform
            .as_deref()
            .map(|path| read(path, &specification))
            .transpose()?;
        self.force.check([self.output.as_deref()], self.json)?;
        let plan = self.plan();
        let bar = progress();
        let report = procedure(&specification, &table, &plan, &|share| {
            bar.set_position((share * 1000.0) as u64);
        });
        bar.finish_and_clear();
        let report =
            report.with_context(|| format!("cannot correct \"{}\"", specification.name))?;
        let elsewhere = match &there {
            Some(there) => self.elsewhere(&specification, &report, there)?,
            None => Vec::new(),
        };
        if let Some(path) = &self.output {
            self.write_model(path, &specification, &table, &report)?;
        }
        if let Some(folder) = &self.plot {
            figures::write(folder, self.force, &specification, &table, &report)?;
        }
        if self.json {
            output::json(&document::of(&specification, &report, &elsewhere))?;
        } else {
            told::print(&specification, &report, &elsewhere);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self) -> Plan {
        let mut plan = Plan {
            n_trials: self.trials as usize,
            seed: self.seed,
            good_enough: self.good_enough / 100.0,
            ..Plan::default()
        };
        if let Some(case) = self.case {
            plan.cases = vec![case];
        }
        plan.settings.search.population = self.population as usize;
        plan.settings.search.generations = self.generations as usize;
        plan
    }

    /// The best model of each case, taken to the other machine.
    fn elsewhere(
        &self,
        specification: &Specification,
        report: &Report,
        there: &Table,
    ) -> anyhow::Result<Vec<Elsewhere>> {
        let (train, test) = (there.part(true), there.part(false));
        let set: Vec<(&str, f64)> = self.set.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        let mut found = Vec::new();
        for case in Case::ALL {
            let best = report.best_of_case(case);
            let Some(corrected) = best.and_then(Trial::corrected) else {
                continue;
            };
            let model = match set.is_empty() {
                true => corrected.on_platform(specification, &train)?,
                false => corrected.with_machine(specification, &set)?,
            };
            let errors = Errors::of(&train, &test, |table| model.predict(specification, table));
            found.push(Elsewhere {
                case,
                model,
                errors,
            });
        }
        Ok(found)
    }

    /// Writes the best corrected model, or the base where none was accepted.
    fn write_model(
        &self,
        path: &Path,
        specification: &Specification,
        table: &Table,
        report: &Report,
    ) -> anyhow::Result<()> {
        let train = table.part(true);
        let model = match report.best().and_then(Trial::corrected) {
            Some(corrected) if self.single => corrected.alone().model(specification, &train)?,
            Some(corrected) => corrected.model(specification, &train)?,
            None => report.base().0.model(specification, &train)?,
        };
        let text = ModelSet {
            models: vec![model],
        }
        .to_json()?;
        self.force.write("models", path, text + "\n")
    }
}

fn read(path: &Path, specification: &Specification) -> anyhow::Result<Table> {
    let act = || format!("cannot read \"{}\"", path.display());
    let table = Table::from_csv(File::open(path).with_context(act)?, specification);
    table.with_context(act)
}

/// A bar on standard error where that is a terminal.
fn progress() -> ProgressBar {
    let bar = ProgressBar::new(1000);
    bar.set_draw_target(match output::shows_progress() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    });
    if let Ok(style) =
        ProgressStyle::with_template("[{elapsed_precise}] {bar:40} {percent}% of the trials")
    {
        bar.set_style(style);
    }
    bar
}
