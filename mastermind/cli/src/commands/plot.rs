//! `mastermind plot`: figures of the paper from the records of a run.
//!
//! Each kind of figure is drawn by a type in `figures/`, which knows axes, markers and legends but
//! no records. This file is the way from a run to such a type: it finds the method that a name
//! means, chooses the parameter of the x axis, collects the points, and computes the curves of the
//! models in the plane that is drawn.
//!
//! ```text
//! run ──▶ Calls (of one method) ──▶ Scatter | Comm          a point for each call
//! run ──▶ Samples (measurements.rs) ──▶ Mean (plot/mean.rs)  a point for each value
//! run ──▶ Table (profile/matrix.rs) ──▶ matrix               a square for each pair of ranks
//! run ──▶ Overview (plot/timeline.rs) ──▶ Timeline       bars of the methods of each rank
//!                                   └──▶ save: .svg, .png or .pdf
//! ```
//!
//! A model may depend on more parameters than the axis shows. A curve then holds the others fixed,
//! and its legend gives their values.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use mastermind_component::names::Names;
use mastermind_component::{Call, Calls};
use mastermind_models::{Coordinate, Metric, ModelSet, Statistic, Value};
use mastermind_records::definition::{MethodDefinition, ParameterDefinition, ParameterKind};
use mastermind_records::{ExclusiveTimes, Record, Run};

use crate::commands::graph::calls_of_run;
use crate::commands::predict::read_models;
use crate::commands::profile::matrix::Table;
use crate::destination::{Force, is_standard_output};
use crate::errors::WrongUse;
use crate::figures::comm::{self, Comm};
use crate::figures::mean::Mean;
use crate::figures::scatter::{self, Curve, Scatter};
use crate::figures::style::{Axis, LABEL_SIZE};
use crate::figures::{Format, Sheet, save};
use crate::measurements::{self, Measured, Reading};
use crate::output;
use crate::session::team::Team;

mod mean;
mod timeline;

/// Draw a figure from records.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind plot records --kind scatter --method states.compute -o states.svg"
)]
pub struct Plot {
    /// The record directory; for mean also tables and files of Extra-P, as fit reads them
    records: PathBuf,
    /// The figure
    #[arg(long, value_enum)]
    kind: Kind,
    /// The method: INSTANCE.PORT.METHOD, CLASS::PORT.METHOD, or an end of them that means one [default for comm: the one with most time in MPI]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// The parameter of the x axis [default: the method's first number for scatter, level or the invocation for comm]
    #[arg(long, value_name = "NAME")]
    parameter: Option<String>,
    /// Models to draw, as fit writes them [default for mean: fitted to what is drawn]
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    /// Draw the shown formula of each model alone, not the median over all credible ones
    #[arg(long)]
    shown: bool,
    /// Of mean, whether the modes are drawn for themselves
    #[arg(long, value_enum, default_value_t = mean::ModesDrawn::Apart)]
    modes: mean::ModesDrawn,
    #[command(flatten)]
    window: timeline::Window,
    #[command(flatten)]
    measured: Measured,
    #[command(flatten)]
    reading: Reading,
    /// Where it goes, .svg or .png [default: KIND.svg]
    #[arg(short, long, value_name = "F")]
    output: Option<PathBuf>,
    /// Width and height of the SVG in pixels, and shape of a PNG. A graph is as large as what is in it
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1200x800", value_parser = size)]
    size: (u32, u32),
    /// Height in pixels of the texts at the axes, 8 to 60; titles, legends and markers grow and shrink with them. Not of a graph
    #[arg(long, value_name = "PIXELS", default_value_t = LABEL_SIZE, value_parser = clap::value_parser!(u32).range(8..=60))]
    font_size: u32,
    #[command(flatten)]
    force: Force,
}

/// Pixels of a side: below, labels do not fit; above, a PNG with four bytes a pixel takes more than 400 MB.
const SIDES: std::ops::RangeInclusive<u32> = 300..=10_000;

/// The size of a figure, `WIDTHxHEIGHT`.
fn size(text: &str) -> Result<(u32, u32), String> {
    let expected = || {
        let (least, most) = (SIDES.start(), SIDES.end());
        format!("expected WIDTHxHEIGHT, each {least} to {most} pixels, such as 900x600")
    };
    let (width, height) = text.split_once('x').ok_or_else(expected)?;
    let side = |text: &str| text.parse().ok().filter(|side| SIDES.contains(side));
    side(width).zip(side(height)).ok_or_else(expected)
}

/// A figure; each has a file in `figures/`.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
enum Kind {
    /// Time of each call over a parameter, by rank (Figure 3)
    Scatter,
    /// Mean and standard deviation over a parameter, with fits (Figures 4 and 5)
    Mean,
    /// Time in MPI of each call, by level and rank (Figure 6)
    Comm,
    /// Who calls whom how often, and where the time goes (Figures 7 and 8)
    Graph,
    /// Bytes that each rank has sent to each other, from a run of `wrap --mpi-events`
    Matrix,
    /// Time of each rank by method; each call if they are fewer than the columns of the figure
    Timeline,
}

impl Plot {
    /// Draws the figure.
    ///
    /// # Errors
    /// There are no records, or none of the method; the figure cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let name = self.kind.to_possible_value();
        let name = name.map_or_else(String::new, |name| name.get_name().to_owned());
        let path = self.output.clone();
        let path = path.unwrap_or_else(|| PathBuf::from(format!("{name}.svg")));
        let is_timeline = self.kind == Kind::Timeline;
        if self.window.is_given() && !is_timeline {
            bail!(WrongUse(
                "cannot draw figure: --from, --to and --json belong to --kind timeline, expected it or none of them"
            ));
        }
        if self.window.json {
            self.window.print(&self.records, self.size)?;
            return Ok(ExitCode::SUCCESS);
        }
        self.force.check([Some(&*path)], false)?;
        Format::of(&path)?;
        let sheet = self.sheet()?;
        if is_timeline {
            let figure = self.window.figure(&self.records, sheet.drawn())?;
            save(&figure, &path, sheet, self.force)?;
        } else if self.kind == Kind::Mean {
            save(&self.mean()?, &path, sheet, self.force)?;
        } else {
            let run = super::profile::open(&self.records)?;
            match self.kind {
                Kind::Comm => save(&self.comm(&run)?, &path, sheet, self.force)?,
                Kind::Graph => {
                    let picture = calls_of_run(&run).with_context(|| {
                        let records = self.records.display();
                        format!(
                            "cannot draw graph of records \"{records}\": no calls between instances, expected some"
                        )
                    })?;
                    let picture = Format::of(&path)?.render(&picture)?;
                    self.force.write("figure", &path, picture)?;
                }
                Kind::Matrix => {
                    let table = Table::of(&run, &self.records)?;
                    save(&table.figure(), &path, sheet, self.force)?;
                }
                _ => {
                    let models = self.models.as_deref();
                    let models = models
                        .map(|path| read_models(path, self.shown))
                        .transpose()?;
                    let Some(name) = &self.method else {
                        bail!(
                            "cannot draw scatter: no method, expected --method NAME; see mastermind profile"
                        );
                    };
                    let calls = Calls::of(&run, name)?;
                    let figure = scatter(&calls, self.parameter.as_deref(), models.as_ref())?;
                    save(&figure, &path, sheet, self.force)?
                }
            }
            let shown = match self.kind {
                Kind::Graph => "they are in the figure",
                _ => "they are not in the figure",
            };
            super::profile::warn_of_missing_records(&run, shown);
        }
        if !is_standard_output(&path) {
            output::line(path.display().to_string());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn sheet(&self) -> anyhow::Result<Sheet> {
        let (width, height) = self.size;
        let sheet = Sheet {
            width,
            height,
            font_size: self.font_size,
        };
        let (drawn_width, drawn_height) = sheet.drawn();
        if drawn_width.min(drawn_height) < *SIDES.start() {
            bail!(WrongUse(
                "cannot draw figure: texts do not fit, expected a larger --size or a smaller --font-size"
            ));
        }
        Ok(sheet)
    }

    fn mean(&self) -> anyhow::Result<Mean> {
        let Some(name) = &self.method else {
            bail!("cannot draw mean: no method, expected --method NAME; see mastermind profile");
        };
        let inputs = std::slice::from_ref(&self.records);
        let metric = &self.measured.metric();
        let run = Run::open(&self.records).ok();
        let of_calls = |statistic| {
            let samples = measurements::read(
                inputs,
                &self.reading,
                metric,
                Some(statistic),
                &Team::alone(),
            )?
            .unwrap_or_default();
            mean::one(samples, name, run.as_ref())
        };
        let read = |path: &Path| read_models(path, self.shown);
        let models = self.models.as_deref().map(read).transpose()?;
        let mut samples = of_calls(Statistic::default())?;
        // The points are of the statistic that the curve next to them describes.
        let statistic = mean::statistic(models.as_ref(), &samples);
        if statistic != Statistic::default() {
            samples = of_calls(statistic)?;
        }
        let parameter = self.parameter.as_deref();
        mean::mean(
            &samples,
            parameter,
            (self.modes, self.shown),
            models.as_ref(),
        )
    }

    fn comm(&self, run: &Run) -> anyhow::Result<Comm> {
        let name = match &self.method {
            Some(name) => name.clone(),
            None => most_in_mpi(run)?,
        };
        let calls = Calls::of(run, &name)?;
        let (name, definition) = (&calls.name, calls.kept[0].record.method);
        let wanted = self.parameter.as_deref();
        let x = place(definition, wanted, |parameter| parameter.name == "level")?;
        let mut points = Vec::new();
        for call in &calls.kept {
            let Some(mpi_ns) = call.record.mpi_ns else {
                bail!(
                    "cannot draw \"{name}\": time in MPI was not measured, expected a run with it"
                );
            };
            points.push(comm::Point {
                x: x.map_or(call.nth as f64, |place| number(&call.record, place)),
                us: mpi_ns as f64 * 1e-3,
                rank: call.rank,
            });
        }
        // A hierarchy of one level shows nothing, so the calls are drawn in their order.
        let is_level = x.is_some() && points.iter().any(|point| point.x != points[0].x);
        if !is_level && self.parameter.is_none() {
            for (point, call) in points.iter_mut().zip(&calls.kept) {
                point.x = call.nth as f64;
            }
        }
        let x_label = match x {
            Some(place) if is_level => of_parameter(&definition.parameters[place]),
            _ => "invocation".into(),
        };
        Ok(Comm {
            title: format!("message passing in {name}"),
            x_label,
            is_level,
            points,
            every: calls.every,
        })
    }
}

/// Index of the x axis's parameter: the requested one, or else the first that fits.
fn place(
    method: &MethodDefinition,
    wanted: Option<&str>,
    fits: impl Fn(&ParameterDefinition) -> bool,
) -> anyhow::Result<Option<usize>> {
    let Some(name) = wanted else {
        return Ok(method.parameters.iter().position(fits));
    };
    let place = method.parameters.iter().position(|p| p.name == *name);
    if place.is_none() {
        let known: Vec<_> = method.parameters.iter().map(|p| p.name.as_str()).collect();
        bail!(
            "cannot draw \"{}\": no parameter \"{name}\", expected one of {}",
            method.name(),
            known.join(", ")
        );
    }
    Ok(place)
}

/// The calls of a method over a parameter.
///
/// # Arguments
/// * `parameter` - for the x axis; `None`: the first that is a number
/// * `models` - models for the curves
///
/// # Errors
/// No such parameter; no model of the method.
pub fn scatter(
    calls: &Calls<'_>,
    parameter: Option<&str>,
    models: Option<&ModelSet>,
) -> anyhow::Result<Scatter> {
    let (name, definition) = (&calls.name, calls.kept[0].record.method);
    let is_number = |p: &ParameterDefinition| p.kind != ParameterKind::Enumeration;
    let x = place(definition, parameter, is_number)?.with_context(|| {
        format!("cannot draw \"{name}\": no parameter that is a number, expected one")
    })?;
    let mode = definition
        .parameters
        .iter()
        .position(|p| p.kind == ParameterKind::Enumeration);
    let labels = |place: usize| definition.parameters[place].labels.clone();
    let points = calls.kept.iter().map(|call| scatter::Point {
        x: number(&call.record, x),
        us: call.own_ns as f64 * 1e-3,
        rank: call.rank,
        mode: mode.map_or(0, |place| number(&call.record, place) as usize),
    });
    let points: Vec<_> = points.collect();
    let curves = match models {
        Some(models) => curves(&calls.kept, [Some(x), mode], models)?,
        None => Vec::new(),
    };
    Ok(Scatter {
        title: format!("{name} of {}", definition.class),
        x_label: of_parameter(&definition.parameters[x]),
        modes: mode.map(labels).unwrap_or_default(),
        points,
        curves,
        n_calls: calls.n,
        every: calls.every,
        max_points: scatter::MAX_POINTS,
    })
}

/// Curves of the models of the method over parameter number `x`, one for each label of parameter number `mode`; the
/// other parameters as in the call in the middle.
fn curves(
    calls: &[Call<'_>],
    [x, mode]: [Option<usize>; 2],
    models: &ModelSet,
) -> anyhow::Result<Vec<Curve>> {
    let definition = calls[0].record.method;
    let method = mastermind_component::method_name(definition);
    let x = x.unwrap_or(0);
    let xs = || calls.iter().map(|call| number(&call.record, x));
    let range = [xs().fold(f64::INFINITY, f64::min), xs().fold(0.0, f64::max)];
    let is_log = Axis::spans_decades(xs().collect::<Vec<_>>().into_iter());
    // A recorded combination, so that the curve passes where calls were made.
    let middle = &calls[calls.len() / 2].record;
    let n_modes = mode.map_or(1, |place| definition.parameters[place].labels.len());
    let (mut curves, mut missing) = (Vec::new(), None);
    for label in 0..n_modes {
        let mut coordinate = Coordinate::new();
        for (place, (parameter, value)) in definition
            .parameters
            .iter()
            .zip(middle.parameters())
            .enumerate()
        {
            let index = match mode == Some(place) {
                true => label,
                false => value.as_f64() as usize,
            };
            coordinate = match parameter.labels.get(index) {
                Some(label) if parameter.kind == ParameterKind::Enumeration => {
                    coordinate.with(&parameter.name, label.as_str())
                }
                _ => coordinate.with(&parameter.name, value.as_f64()),
            };
        }
        match models.find(&method, Metric::Wall, &coordinate) {
            Ok(model) => {
                let name = &definition.parameters[x].name;
                // The communicator and the peer of a call of MPI are parameters of no model.
                let is_known = |name: &String, value: &mut Value| {
                    matches!(value, Value::Label(_)) || model.params.contains(name)
                };
                coordinate.values.retain(is_known);
                curves.push(Curve {
                    mode: label,
                    at: mean::held(model, &coordinate, name),
                    points: mean::curve(model, &coordinate, name, range, is_log)?,
                });
            }
            Err(error) => missing = Some(error),
        }
    }
    // A label without a model does not prevent the rest of the figure.
    match missing {
        Some(error) if curves.is_empty() => Err(error.into()),
        _ => Ok(curves),
    }
}

/// The method with the most own time in MPI.
fn most_in_mpi(run: &Run) -> anyhow::Result<String> {
    let mut sums = std::collections::BTreeMap::<String, u64>::new();
    for log in run.logs() {
        let mut records = ExclusiveTimes::new(log);
        while let Some((record, own)) = records.next_record() {
            if own.mpi_ns > 0 {
                *sums
                    .entry(Names::of_run(record.method).shown().to_owned())
                    .or_default() += own.mpi_ns;
            }
        }
    }
    let most = sums.into_iter().max_by_key(|(_, ns)| *ns);
    most.map(|(name, _)| name)
        .context("cannot draw comm: no time in MPI in any record, expected a run on several ranks")
}

fn number(record: &Record<'_>, place: usize) -> f64 {
    record
        .parameters()
        .nth(place)
        .map_or(0.0, |value| value.as_f64())
}

fn of_parameter(parameter: &ParameterDefinition) -> String {
    axis_label(&parameter.name, &parameter.unit)
}

/// `q [doubles]`; `bytes` alone where that is the unit too.
fn axis_label(name: &str, unit: &str) -> String {
    match unit.is_empty() || unit == name {
        true => name.to_owned(),
        false => format!("{name} [{unit}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_is_the_name_is_not_repeated() {
        assert_eq!(axis_label("q", "doubles"), "q [doubles]");
        assert_eq!(axis_label("bytes", "bytes"), "bytes");
        assert_eq!(axis_label("n", ""), "n");
    }
}
