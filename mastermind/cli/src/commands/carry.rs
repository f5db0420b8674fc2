//! `mastermind carry`: models of one machine converted for another.
//!
//! `models::carry` computes; this module reads the machine files, compares calls there with the predictions of the
//! models, and shows the factors.

mod levels;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use mastermind_machine::processor::{Processor, Ratio};
use mastermind_models::{
    BY_CALL, BY_PROCESSORS, CallSink, Carriage, Carried, Coordinate, Error, Expected, Measured,
    Metric, Model, ModelSet, Parameter, ParameterKind, Refused, carry, predict,
};
use serde::Serialize;

use crate::commands::predict::read_models;
use crate::destination::Force;
use crate::measurements::{Reading, each_call};
use crate::{machine_file, output, recorded_dispatch};

/// Standard deviation of the median of many normal values relative to that of their mean.
const OF_MEDIAN: f64 = 1.253;

/// Make models of one machine those of another.
///
/// Times there are times here by a common factor. It is that of the two processors, as `machine` measured them, until calls there are at hand
/// (--measured): then these decide, and a method that is more than two standard deviations away has a factor of its own. The result is a file of
/// models like any other, with wider intervals.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind carry models.json --from here.toml --to there.toml -o models-there.json\n\
                  Example: mastermind carry models.json --from here.toml --to there.toml --fitted-to records --measured records-there -o models-there.json"
)]
pub struct Carry {
    /// Models, as fit writes them
    models: PathBuf,
    /// The machine file of where they were fitted, with the table [processor] that machine writes
    #[arg(long, value_name = "A.toml")]
    from: PathBuf,
    /// That of where they are for
    #[arg(long, value_name = "B.toml")]
    to: PathBuf,
    /// Measurements there, as fit reads them: a few calls of each method are enough
    #[arg(long, value_name = "INPUT", num_args = 1..)]
    measured: Vec<PathBuf>,
    /// The records that the models were fitted to: the code that their libraries ran is compared with that of --measured
    #[arg(long, value_name = "DIR")]
    fitted_to: Option<PathBuf>,
    /// What a method does, as signature --distances writes it: where the caches there are others, its misses are counted anew
    #[arg(long, value_name = "METHOD=S.json", value_parser = levels::of_method)]
    signature: Vec<levels::OfMethod>,
    /// Where the models go, as JSON
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    force: Force,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    carriage: &'a Carriage,
    processors: &'a Ratio,
    other_code: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    levels: &'a [levels::Levels],
    models: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    method: &'a str,
    #[serde(rename = "where")]
    mode: String,
    metric: &'a Metric,
    #[serde(flatten)]
    carried: &'a Carried,
}

impl Carry {
    /// Carries the models over.
    ///
    /// # Errors
    /// A file cannot be read; the models are carried already, or none is of processor time; the processors have nothing
    /// in common.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        self.force.check([Some(&*self.output)], self.json)?;
        let mut models = self.read_models()?;
        let [here, there] = [&self.from, &self.to].map(|path| machine_file::read(path));
        let (here, there) = (here?, there?);
        let ratio = machine_file::ratio([(&self.from, &here), (&self.to, &there)])?;
        let levels = levels::apply(&mut models, &self.signature, [&here, &there])?;
        let measured = self.measured(&models)?;
        let other_code = self.other_code([&here, &there]);
        let machines = [
            machine_file::named(&self.from, &here),
            machine_file::named(&self.to, &there),
        ];
        let expected = Expected {
            factor: ratio.factor,
            deviation: BY_PROCESSORS.hypot(ratio.deviation),
        };
        let machines = [&machines[0], &machines[1]];
        let is_other_code = !other_code.is_empty();
        let (carried, carriage) = carry(&models, machines, expected, &measured, is_other_code);
        self.warn_of_left_out(&models, &carried)?;
        let text = carried.to_json()? + "\n";
        self.force.write("models", &self.output, text)?;
        let rows: Vec<Row<'_>> = carried.models.iter().filter_map(row).collect();
        if self.json {
            output::json(&Document {
                carriage: &carriage,
                processors: &ratio,
                other_code: &other_code,
                levels: &levels,
                models: rows,
            })?;
        } else {
            print(&rows, &carriage, &ratio);
            for of in &levels {
                output::line(format!(
                    "{}: the caches there change its times by {:.3} besides",
                    of.method, of.factor
                ));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn read_models(&self) -> anyhow::Result<ModelSet> {
        let models = read_models(&self.models, false)?;
        let carried = models
            .models
            .iter()
            .find_map(|model| model.carried.as_ref());
        if let Some(Carried { from, to, .. }) = carried {
            bail!(
                "cannot carry models \"{}\": carried from {} to {} already, expected models that were fitted; carry those",
                self.models.display(),
                from.file,
                to.file
            );
        }
        Ok(models)
    }

    /// Times of calls there relative to the predictions of the models, at each size.
    fn measured(&self, models: &ModelSet) -> anyhow::Result<Vec<Measured>> {
        if self.measured.is_empty() {
            return Ok(Vec::new());
        }
        let (mut all, mut without_model) = (Vec::new(), BTreeSet::new());
        for metric in [Metric::Wall, Metric::Compute] {
            if !models.models.iter().any(|model| model.metric == metric) {
                continue;
            }
            let mut times = Times {
                models,
                metric,
                methods: Vec::new(),
                sizes: HashMap::new(),
                without_model: BTreeSet::new(),
            };
            each_call(
                &self.measured,
                &self.reading,
                &times.metric.clone(),
                &mut times,
            )?;
            all.extend(times.ratios());
            without_model.append(&mut times.without_model);
        }
        if all.is_empty() {
            let known = Vec::from_iter(without_model).join(", ");
            let inputs = self
                .measured
                .iter()
                .map(|of| format!("\"{}\"", of.display()));
            bail!(
                "cannot carry models \"{}\": no call of a method that they are of in {}, expected some; measured are {known}",
                self.models.display(),
                Vec::from_iter(inputs).join(", "),
            );
        }
        Ok(all)
    }

    /// The libraries known to run other code there; unknown ones are noted.
    fn other_code(&self, processors: [&Processor; 2]) -> Vec<String> {
        let Some(records) = &self.fitted_to else {
            crate::output::complain!(
                "note: whether libraries run other code there is not known: --fitted-to DIR names the records that the models were fitted to"
            );
            return Vec::new();
        };
        let Some(here) = recorded_dispatch::read(records) else {
            crate::output::complain!(
                "note: \"{}\" does not say which code its libraries ran, so that is not compared",
                records.display()
            );
            return Vec::new();
        };
        let theirs = self.measured.iter();
        let theirs: Vec<_> = theirs
            .filter_map(|of| recorded_dispatch::read(of))
            .collect();
        let mut found = Vec::new();
        for there in &theirs {
            let differences = here.other_codes(there).into_iter();
            let shown = differences.map(|(what, [one, other])| format!("{what} ({one}, {other})"));
            found.extend(shown.filter(|of| !found.contains(of)).collect::<Vec<_>>());
        }
        let [one, other] = processors.map(|of| of.identity.level);
        if theirs.is_empty() && one != other {
            // A library may choose any of its code variants there.
            let choosing = here.libraries.iter().filter(|of| !of.is_everywhere());
            found.extend(
                choosing.map(|library| format!("code of {} (not known there)", library.file())),
            );
        }
        if !found.is_empty() {
            crate::output::complain!(
                "warning: libraries run other code there: {}: nothing bounds the times of methods that were not measured there",
                found.join(", ")
            );
        }
        found
    }

    /// Names the models to which no factor between the processors applies.
    fn warn_of_left_out(&self, models: &ModelSet, carried: &ModelSet) -> anyhow::Result<()> {
        if carried.models.is_empty() {
            bail!(
                "cannot carry models \"{}\": none of wall time or compute time, expected at least one",
                self.models.display()
            );
        }
        let n = models.models.len() - carried.models.len();
        if n > 0 {
            let models = if n == 1 { "model is" } else { "models are" };
            crate::output::complain!(
                "note: {n} {models} left out: counts, and times in MPI, do not follow the processor; `calibrate` measures the network there"
            );
        }
        Ok(())
    }
}

/// Times of calls there, by method and size.
struct Times<'m> {
    models: &'m ModelSet,
    metric: Metric,
    methods: Vec<(String, Vec<Parameter>)>,
    /// Method and bits of the coordinate → observations there; `None` without a model.
    sizes: HashMap<Vec<u64>, Option<Size>>,
    without_model: BTreeSet<String>,
}

struct Size {
    model: usize,
    /// Prediction of the model here, seconds.
    here_s: f64,
    /// Standard deviation of the logarithm of a call.
    deviation: f64,
    is_beyond: bool,
    times_s: Vec<f64>,
}

impl CallSink for Times<'_> {
    fn declare(&mut self, method: &str, parameters: &[Parameter]) -> Result<usize, Error> {
        let same = |(name, known): &(String, Vec<Parameter>)| name == method && known == parameters;
        if let Some(place) = self.methods.iter().position(same) {
            return Ok(place);
        }
        self.methods.push((method.into(), parameters.to_vec()));
        Ok(self.methods.len() - 1)
    }

    fn take(&mut self, method: usize, coordinate: &[f64], seconds: f64) -> Result<(), Refused> {
        if !(seconds.is_finite() && seconds >= 0.0) {
            return Err(Refused::Time(seconds));
        }
        if let Some(index) = coordinate.iter().position(|x| !x.is_finite()) {
            let value = coordinate[index];
            return Err(Refused::Parameter { index, value });
        }
        let bits = coordinate.iter().map(|x| (x + 0.0).to_bits());
        let key: Vec<u64> = std::iter::once(method as u64).chain(bits).collect();
        if !self.sizes.contains_key(&key) {
            let size = self.size(method, coordinate);
            if size.is_none() {
                self.without_model.insert(self.methods[method].0.clone());
            }
            self.sizes.insert(key.clone(), size);
        }
        if let Some(Some(size)) = self.sizes.get_mut(&key) {
            size.times_s.push(seconds);
        }
        Ok(())
    }
}

impl Times<'_> {
    fn size(&self, method: usize, values: &[f64]) -> Option<Size> {
        let (name, parameters) = &self.methods[method];
        let mut coordinate = Coordinate::new();
        for (parameter, &value) in parameters.iter().zip(values) {
            coordinate = match &parameter.kind {
                ParameterKind::Enumeration(labels) => {
                    coordinate.with(&parameter.name, labels.get(value as usize)?.as_str())
                }
                _ => coordinate.with(&parameter.name, value),
            };
        }
        let models = self.models.models.iter();
        let is_it = |model: &Model| {
            model.method == *name && model.metric == self.metric && model.matches(&coordinate)
        };
        let (place, model) = models.enumerate().find(|(_, model)| is_it(model))?;
        if model.params.is_empty() {
            // Without a size the ratio shows the difference of the runs' work, as for the main function of a program.
            return None;
        }
        let prediction = predict(model, &coordinate).ok()?;
        let deviation = model.deviation_s(&coordinate).ok()? / prediction.value_s;
        Some(Size {
            model: place,
            here_s: prediction.value_s,
            deviation: match deviation.is_finite() {
                true => deviation,
                false => BY_CALL,
            },
            is_beyond: prediction.extrapolated,
            times_s: Vec::new(),
        })
    }

    /// One ratio for each size. At sizes outside the model's fitted range the ratio mixes extrapolation error with the
    /// machine's speed: they are used only for models without others.
    fn ratios(&mut self) -> Vec<Measured> {
        let sizes = std::mem::take(&mut self.sizes);
        let sizes: Vec<Size> = sizes.into_values().flatten().collect();
        let within = sizes.iter().filter(|size| !size.is_beyond);
        let within: BTreeSet<usize> = within.map(|size| size.model).collect();
        let counts = |size: &Size| !size.is_beyond || !within.contains(&size.model);
        let kept = sizes.into_iter().filter(counts);
        let mut ratios: Vec<Measured> = kept.map(Size::ratio).collect();
        // The order of a map differs each time.
        ratios.sort_by(|a, b| (a.model.cmp(&b.model)).then(a.ratio.total_cmp(&b.ratio)));
        ratios
    }
}

impl Size {
    fn ratio(mut self) -> Measured {
        self.times_s.sort_by(f64::total_cmp);
        let n = self.times_s.len();
        let median = 0.5 * (self.times_s[(n - 1) / 2] + self.times_s[n / 2]);
        let of_median = if n > 2 { OF_MEDIAN } else { 1.0 };
        Measured {
            model: self.model,
            ratio: median / self.here_s,
            deviation: of_median * self.deviation / (n as f64).sqrt(),
        }
    }
}

fn row(model: &Model) -> Option<Row<'_>> {
    let mode = model.mode.iter();
    let mode = mode.map(|(name, label)| format!("{name}={label}"));
    Some(Row {
        method: &model.method,
        mode: Vec::from_iter(mode).join(" "),
        metric: &model.metric,
        carried: model.carried.as_ref()?,
    })
}

fn print(rows: &[Row<'_>], carriage: &Carriage, ratio: &Ratio) {
    let percent = |deviation: f64| format!("{:.0}", 100.0 * deviation.exp_m1());
    let cells = rows.iter().map(|row| {
        let of = row.carried;
        vec![
            row.method.to_owned(),
            row.mode.clone(),
            format!("{:.3}", of.factor),
            of.deviation.map_or_else(|| "unknown".into(), percent),
            of.n_points.to_string(),
            of.known_by.name().to_owned(),
        ]
    });
    let header = ["METHOD", "MODE", "FACTOR", "± %", "SIZES", "KNOWN BY"];
    output::line(output::table(&header, &[2, 3, 4], cells));
    output::line(match carriage.n_measured {
        0 => format!(
            "factor of the processors {:.3}; measure a call of each method there, and take it with --measured",
            ratio.factor
        ),
        n => format!(
            "common factor {:.3}: {} of {n} methods that were measured there agree with it within {} %; that of the processors is {:.3}",
            carriage.common_factor,
            n - carriage.n_far,
            percent(carriage.deviation),
            ratio.factor
        ),
    });
}
