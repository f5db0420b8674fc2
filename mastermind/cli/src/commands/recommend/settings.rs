//! Times of other runs with other values of a setting that may be chosen freely.
//!
//! A setting such as the number of ranks or a block size may be free: any value gives the same
//! result. If several runs differ in that setting only, their times say which value is best. With
//! at least `MIN_VALUES` values a curve is fitted, which also predicts values in between; it is
//! used only if its misfit is no larger than the variation between equal runs. Otherwise only
//! values that were run are compared.
//!
//! ```text
//! time │ x                       curve accepted:   best may lie between two runs
//!      │   x         x           curve refused:    best is one of the runs
//!      │      x   x              2 values, once each: error, since nothing shows the variation
//!      └──────────────── setting
//! ```
//!
//! The variation comes from repeated runs, or, if there are none, from the distance of each value
//! to the line between its neighbours in logarithms, which overestimates it where the times are
//! curved.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use mastermind_models::{Coordinate, Metric, Model, Parameter, SampleSet, fit, predict};
use mastermind_recommend::{SettingFacts, half_width};
use mastermind_records::Run;

use super::facts::elapsed_s;
use crate::run_notes::{self, Settings};

/// The setting that is the number of ranks.
const RANKS: &str = "ranks";

/// Number of values between the least and the greatest that are considered, in addition to those that were run.
const N_BETWEEN: usize = 64;

/// Number of distinct values from which a curve is fitted through them: with fewer, nothing between them is known.
const MIN_VALUES: usize = 4;

/// A run with its settings.
struct Other {
    settings: Settings,
    elapsed_s: f64,
}

/// Facts about each free setting, from runs that differ from the run in that setting alone.
///
/// # Arguments
/// * `records` - the records of the run
/// * `folder` - a folder with a folder of records for each run
/// * `free` - names of the settings
///
/// # Errors
/// The folder cannot be read; a setting does not exist, is no number, or has one value only.
pub fn facts(
    (run, records): (&Run, &Path),
    folder: &Path,
    free: &[String],
) -> anyhow::Result<Vec<SettingFacts>> {
    let [own] = &run_notes::settings(run)[..] else {
        bail!(
            "cannot compare settings: the records are of several programs that were asked to do different things, expected one"
        );
    };
    let others = read(folder, records)?;
    let each = free.iter().map(|name| {
        let act = || format!("cannot say which value of \"{name}\" is best");
        let (name, now) = number(own, name).with_context(act)?;
        let like = others
            .iter()
            .filter(|other| is_like(own, &other.settings, &name));
        let values = like
            .filter_map(|other| Some((other.settings.get(&name)?.parse().ok()?, other.elapsed_s)));
        let mut values: Vec<(f64, f64)> = values.collect();
        values.push((now, elapsed_s(run)));
        one(&name, now, &values).with_context(act)
    });
    each.collect()
}

/// All runs of a folder but for one.
fn read(folder: &Path, own: &Path) -> anyhow::Result<Vec<Other>> {
    let act = || format!("cannot read runs \"{}\"", folder.display());
    let mut others = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(act)? {
        let path = entry.with_context(act)?.path();
        let is_own = path
            .canonicalize()
            .ok()
            .is_some_and(|path| own.canonicalize().ok() == Some(path));
        if !path.is_dir() || is_own {
            continue;
        }
        let run = match Run::open(&path) {
            Ok(run) => run,
            Err(error) => {
                crate::output::complain!("warning: {error}");
                continue;
            }
        };
        if !run.is_finished() {
            crate::output::complain!(
                "warning: run \"{}\" has not ended, or was killed: left out",
                path.display()
            );
            continue;
        }
        if let [settings] = &run_notes::settings(&run)[..] {
            others.push(Other {
                settings: settings.clone(),
                elapsed_s: elapsed_s(&run),
            });
        }
    }
    Ok(others)
}

/// The whole name of a setting, and its value.
fn number(settings: &Settings, typed: &str) -> anyhow::Result<(String, f64)> {
    let meant: Vec<_> = settings
        .iter()
        .filter(|(name, _)| run_notes::is_meant(typed, name))
        .collect();
    match meant[..] {
        [(name, value)] => {
            let number = value.parse().ok().filter(|number: &f64| number.is_finite());
            let number = number
                .with_context(|| format!("it is \"{value}\" in the run, expected a number"))?;
            Ok((name.clone(), number))
        }
        [] => {
            let known: Vec<&str> = settings.keys().map(String::as_str).collect();
            bail!(
                "no such setting in the run, expected one of {}",
                known.join(", ")
            )
        }
        _ => bail!("several settings are meant, expected INSTANCE.PORT.KEY"),
    }
}

/// Whether a run differs in one setting at most.
fn is_like(own: &Settings, other: &Settings, name: &str) -> bool {
    let rest = |settings: &Settings| -> BTreeMap<String, String> {
        let kept = settings.iter().filter(|(key, _)| *key != name);
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    rest(own) == rest(other)
}

/// The best value by a model of whole runs, between the least and the greatest value of the runs; with few values, the
/// best of them.
fn one(name: &str, now: f64, values: &[(f64, f64)]) -> anyhow::Result<SettingFacts> {
    let mut distinct: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    if distinct.len() < 2 {
        bail!(
            "all runs that differ in nothing else have the value {now}, expected runs with other values"
        );
    }
    let model = Totals::of(name, values, &distinct)?;
    let mut tried = distinct.clone();
    if matches!(model, Totals::Curve(_)) {
        let [low, high] = [distinct[0], distinct[distinct.len() - 1]];
        let is_whole = distinct.iter().all(|value| value.fract() == 0.0);
        let between =
            (1..N_BETWEEN).map(|step| low + (high - low) * step as f64 / N_BETWEEN as f64);
        // Ranks are divided among nodes and dimensions, so only numbers that were run are known to be possible.
        let between = between.filter(|_| name != RANKS);
        tried.extend(between.map(|value| if is_whole { value.round() } else { value }));
    }
    let mut best = (now, model.at(name, now)?);
    let now_s = best.1;
    for value in tried {
        let predicted = model.at(name, value)?;
        if predicted.0 < best.1.0 {
            best = (value, predicted);
        }
    }
    Ok(SettingFacts {
        name: name.into(),
        now,
        best: best.0,
        now_s,
        best_s: best.1,
        runs: values.len(),
        was_run: distinct.contains(&best.0),
    })
}

/// Times of whole runs over a setting.
enum Totals {
    Curve(Box<Model>),
    /// Mean at each value, and half the interval of a fresh run, relative.
    Means(Vec<(f64, f64)>, f64),
}

impl Totals {
    /// A curve through the runs, if it is as near to them as runs of one value are to each other; otherwise the runs
    /// themselves.
    fn of(name: &str, values: &[(f64, f64)], distinct: &[f64]) -> anyhow::Result<Self> {
        let at = |value: &f64| {
            let times = values.iter().filter(|(other, _)| other == value);
            times.map(|(_, seconds)| *seconds).collect()
        };
        let times: Vec<Vec<f64>> = distinct.iter().map(at).collect();
        let mean = |times: &Vec<f64>| times.iter().sum::<f64>() / times.len() as f64;
        let means: Vec<f64> = times.iter().map(mean).collect();
        let Some((variance, freedom)) =
            repeated(&times, &means).or_else(|| from_neighbours(distinct, &means))
        else {
            bail!(
                "two values were run, each once, so that nothing shows how much runs differ, expected runs repeated or a third value"
            );
        };
        if distinct.len() >= MIN_VALUES
            && let Some(model) = curve(name, values)?
        {
            let mut squares = 0.0;
            for (value, mean) in distinct.iter().zip(&means) {
                let predicted = predict(&model, &Coordinate::new().with(name, *value))?.mean_s;
                squares += (mean / predicted.max(f64::MIN_POSITIVE)).ln().powi(2);
            }
            // Squares of logarithms are relative, as the variance between equal runs is.
            if squares / means.len() as f64 <= variance {
                return Ok(Self::Curve(Box::new(model)));
            }
        }
        let means = distinct.iter().copied().zip(means).collect();
        Ok(Self::Means(means, half_width(variance, freedom)))
    }

    /// Seconds of a run, and the interval of a fresh one.
    fn at(&self, name: &str, value: f64) -> anyhow::Result<(f64, [f64; 2])> {
        Ok(match self {
            Self::Curve(model) => {
                let predicted = predict(model, &Coordinate::new().with(name, value))?;
                (predicted.mean_s, [predicted.lower_s, predicted.upper_s])
            }
            Self::Means(means, relative) => {
                let mean = means
                    .iter()
                    .find(|(at, _)| *at == value)
                    .map(|(_, mean)| *mean);
                let mean = mean.with_context(|| format!("no run has {name} = {value}"))?;
                (mean, [mean * (1.0 - relative), mean * (1.0 + relative)])
            }
        })
    }
}

/// A model of whole runs, if one can be fitted.
fn curve(name: &str, values: &[(f64, f64)]) -> anyhow::Result<Option<Model>> {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("run", &[Parameter::real(name, "")])?;
    for (value, seconds) in values {
        set.push(method, &[*value], *seconds)?;
    }
    let samples = set.finish();
    let models = samples.first().map(fit).transpose()?;
    Ok(models.and_then(|models| models.into_iter().next()))
}

/// How much runs with the same value differ, as a relative variance with its degrees of freedom; `None` if no value was
/// repeated.
fn repeated(times: &[Vec<f64>], means: &[f64]) -> Option<(f64, f64)> {
    let pairs = times.iter().zip(means);
    let squares = pairs.map(|(times, mean)| {
        times
            .iter()
            .map(|time| (time / mean - 1.0).powi(2))
            .sum::<f64>()
    });
    let squares: f64 = squares.sum();
    let freedom: usize = times.iter().map(|times| times.len() - 1).sum();
    (freedom > 0).then(|| (squares / freedom as f64, freedom as f64))
}

/// The same, from the distance of runs from the line between their neighbours, in logarithms: too large if the times
/// are curved.
fn from_neighbours(distinct: &[f64], means: &[f64]) -> Option<(f64, f64)> {
    let points: Vec<[f64; 2]> = distinct
        .iter()
        .zip(means)
        .map(|(x, y)| [x.abs().max(f64::MIN_POSITIVE).ln(), y.ln()])
        .collect();
    let squares = points.windows(3).map(|three| {
        let [[x0, y0], [x, y], [x1, y1]] = [three[0], three[1], three[2]];
        let share = (x - x0) / (x1 - x0);
        // The line between two runs has the variance of both.
        let weight = 1.0 + share.powi(2) + (1.0 - share).powi(2);
        (y - y0 - share * (y1 - y0)).powi(2) / weight
    });
    let squares: Vec<f64> = squares.filter(|square| square.is_finite()).collect();
    let n = squares.len() as f64;
    (n > 0.0).then(|| (squares.iter().sum::<f64>() / n, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_a_curve_is_found_between_the_values_that_were_run() {
        // A block size b: 100/b of overhead and 0.01 b of cache misses are least at b = 100.
        let time = |b: f64| 1.0 + 100.0 / b + 0.01 * b;
        let values: Vec<(f64, f64)> = [10.0, 25.0, 50.0, 200.0, 400.0]
            .map(|b| (b, time(b)))
            .to_vec();
        let found = one("b", 10.0, &values).expect("a curve");
        assert!((50.0..=200.0).contains(&found.best), "{found:?}");
        assert!(found.best_s.0 < found.now_s.0);
    }

    #[test]
    fn of_few_values_the_best_that_was_run_is_taken() {
        let values = [(1.0, 2.0), (1.0, 2.1), (2.0, 1.0), (2.0, 1.1)];
        let found = one("ranks", 1.0, &values).expect("repeated runs");
        assert_eq!((found.best, found.was_run, found.runs), (2.0, true, 4));
        assert!(
            one("ranks", 1.0, &[(1.0, 2.0), (2.0, 1.0)]).is_err(),
            "nothing shows how much runs differ"
        );
        assert!(
            one("ranks", 1.0, &[(1.0, 2.0), (1.0, 2.0)]).is_err(),
            "one value"
        );
    }

    #[test]
    fn where_no_curve_is_near_to_the_runs_the_best_of_them_is_taken() {
        // A matrix product by its block size, ms, once each: no family of models decreases and increases like that.
        let values = [
            (2.0, 202.4),
            (8.0, 115.1),
            (24.0, 105.5),
            (60.0, 141.2),
            (160.0, 171.1),
            (480.0, 201.2),
        ];
        let found = one("block", 2.0, &values).expect("six runs");
        assert!((8.0..=60.0).contains(&found.best), "{found:?}");
        assert!(found.now_s.0 - found.best_s.0 > 80.0, "{found:?}");
        // The spread of runs is not known well: it comes from the residuals of three lines between neighbours.
        assert!(
            found.best_s.1[0] < 105.5 && found.best_s.1[1] > 110.0,
            "{found:?}"
        );
    }
}
