//! What other runs took with other values of a setting that may be chosen freely.

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

/// Values between the least and the greatest that are looked at, besides those that were run.
const N_BETWEEN: usize = 64;

/// Distinct values from which on a curve is fitted through them: with fewer nothing between them is known.
const MIN_VALUES: usize = 4;

/// A run with its settings.
struct Other {
    settings: Settings,
    elapsed_s: f64,
}

/// What is known of each free setting. Runs count that differ from the run in that setting alone.
///
/// # Arguments
/// * `folder` - a folder with a folder of records for each run
/// * `free` - names of the settings
///
/// # Errors
/// The folder cannot be read; a setting is not there, is no number, or has one value only.
pub fn facts(run: &Run, folder: &Path, free: &[String]) -> anyhow::Result<Vec<SettingFacts>> {
    let [own] = &run_notes::settings(run)[..] else {
        bail!(
            "cannot compare settings: the records are of several programs that were asked to do different things, expected one"
        );
    };
    let others = read(folder)?;
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

/// All runs of a folder.
fn read(folder: &Path) -> anyhow::Result<Vec<Other>> {
    let act = || format!("cannot read runs \"{}\"", folder.display());
    let mut others = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(act)? {
        let path = entry.with_context(act)?.path();
        if !path.is_dir() {
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

/// The best value by a model of whole runs, between the least and the greatest that were run; with few values the best of them.
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
        // Ranks are divided among nodes and dimensions: only numbers that were run are known to be possible.
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
    /// Mean at each value, and how much runs of one value differ, relative, with its factor for an interval.
    Means(Vec<(f64, f64)>, f64),
}

impl Totals {
    fn of(name: &str, values: &[(f64, f64)], distinct: &[f64]) -> anyhow::Result<Self> {
        if distinct.len() >= MIN_VALUES {
            let mut set = SampleSet::new(Metric::Wall);
            let method = set.declare("run", &[Parameter::real(name, "")])?;
            for (value, seconds) in values {
                set.push(method, &[*value], *seconds)?;
            }
            let samples = set.finish();
            let samples = samples.first().context("no run has a time")?;
            if let Some(model) = fit(samples)?.into_iter().next() {
                return Ok(Self::Curve(Box::new(model)));
            }
        }
        let mut means = Vec::new();
        let (mut squares, mut freedom) = (0.0, 0_usize);
        for at in distinct {
            let times: Vec<f64> = values
                .iter()
                .filter(|(value, _)| value == at)
                .map(|(_, seconds)| *seconds)
                .collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            squares += times
                .iter()
                .map(|time| (time / mean - 1.0).powi(2))
                .sum::<f64>();
            freedom += times.len() - 1;
            means.push((*at, mean));
        }
        if freedom == 0 {
            bail!(
                "no value was run twice, so that nothing shows how much runs differ, expected runs repeated or {MIN_VALUES} values"
            );
        }
        Ok(Self::Means(
            means,
            half_width(squares / freedom as f64, freedom as f64),
        ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_a_curve_is_found_between_the_values_that_were_run() {
        // A block size: 100/b of overhead and 0.01 b of cache misses are least at b = 100.
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
}
