//! What changed at equal parameters, from the sums of many runs of one program on one machine.
//!
//! For each component ([`panel`]) the logarithms of its cells give an effect of each run; the machine's state, which all components share, is
//! taken out ([`state`]); what is left has levels ([`levels`]) whose noise is that between runs ([`noise`]). A change that a setting of the
//! runs shares, or of a component without parameters the work of the runs, has another cause than the component's code may be, and is
//! reported as such.

#[cfg(test)]
mod generator;
mod levels;
mod noise;
mod panel;
mod report;
mod state;
mod trend;
mod workload;

use self::levels::{Levels, levels};
use self::noise::median;
use self::panel::{Effects, MIN_SCALE, Panel};
pub use self::report::{Change, Check, ComponentReport, ProgramReport, Shape, Verdict};
use self::state::{ByRun, State};
use self::workload::Workload;
use crate::run_sums::RunSums;

/// Change that does not matter, percent: another layout of the same code and data makes as much.
///
/// # Source
/// Mytkowicz, Diwan, Hauswirth, Sweeney, *Producing wrong data without doing anything obviously wrong!*, ASPLOS 2009, has up to 8 % by the order of
/// linking; arbitrary below that: with 1 and 3 the same changes of 5 % are found.
const MARGIN_PERCENT: f64 = 2.0;

/// Expected number of changes of a program in a run, over all its components. Arbitrary: a tenth or ten times as much moves the evidence by 2.3, of
/// 20 that a step of five scales has after five runs.
const CHANGES_A_RUN: f64 = 0.01;

/// Fewest runs of a component of which anything is said: of fewer the noise between runs is not known.
const MIN_RUNS: usize = 8;

/// How many runs the components' common noise counts as, in the noise of each.
const POOLED_RUNS: f64 = 4.0;

/// Latest runs that the machine's state is reported of.
const LATEST: usize = 5;

/// Standard errors of an interval's half width: 95 %.
const HALF: f64 = 1.96;

/// What to check.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Place of the run before which the reference is; the first level without.
    pub since: Option<usize>,
}

/// Checks the runs of one program on one machine.
///
/// # Arguments
/// * `runs` - in the order of their starts, each with its name
pub fn check(runs: &[(&str, &RunSums)], options: &Options) -> ProgramReport {
    let program = Program::new(runs, options);
    let circumstances = runs.last().map(|(_, run)| &run.circumstances);
    let text = |of: fn(&crate::Circumstances) -> &String| {
        circumstances.map(of).cloned().unwrap_or_default()
    };
    let mut components: Vec<_> = (0..program.names.len())
        .map(|place| program.report(place))
        .collect();
    let key = |component: &ComponentReport| {
        let by = component
            .percent
            .filter(|_| component.verdict == Verdict::Slower);
        (by.unwrap_or(f64::NEG_INFINITY), component.share)
    };
    components.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    ProgramReport {
        program: text(|of| &of.program),
        machine: text(|of| &of.machine),
        runs: runs.len(),
        latest: runs
            .last()
            .map_or_else(String::new, |(id, _)| (*id).to_owned()),
        since: options.since.map(|place| runs[place].0.to_owned()),
        machine_percent: program.machine_percent(),
        components,
    }
}

/// Series of one component.
struct Component {
    panel: Panel,
    /// Over all cells first, then over groups of them.
    series: Vec<Series>,
}

/// Effects without the machine's state, and their noise.
struct Series {
    effects: Effects,
    /// One a run of the effects.
    values: Vec<f64>,
    /// What the machine's state adds to the deviation of a run.
    unlike: Vec<f64>,
    /// Standard deviation of a run in a usual state; `None` of too few runs.
    scale: Option<f64>,
}

struct Program<'r> {
    ids: Vec<&'r str>,
    runs: Vec<&'r RunSums>,
    names: Vec<String>,
    components: Vec<Component>,
    state: State,
    workload: Workload,
    since: Option<usize>,
}

impl<'r> Program<'r> {
    fn new(all: &[(&'r str, &'r RunSums)], options: &Options) -> Self {
        let runs: Vec<&RunSums> = all.iter().map(|(_, run)| *run).collect();
        let workload = Workload::new(&runs);
        let mut names = Vec::new();
        let (mut panels, mut by_run) = (Vec::new(), Vec::<ByRun>::new());
        for name in workload.methods() {
            let panel = Panel::new(name, &runs);
            let effects = panel.effects();
            if effects.is_empty() {
                continue;
            }
            let mut of_run = vec![None; runs.len()];
            // Waiting for others is no speed of the machine.
            if !name.ends_with("()") {
                let pairs = effects[0].runs.iter().zip(&effects[0].values);
                pairs.for_each(|(run, value)| of_run[*run] = Some(*value));
            }
            names.push(name.to_owned());
            panels.push((panel, effects));
            by_run.push(of_run);
        }
        let state = State::new(&by_run);
        let component = |(place, (panel, effects)): (usize, (Panel, Vec<Effects>))| Component {
            panel,
            series: effects
                .into_iter()
                .map(|effects| Series::new(effects, &state, place))
                .collect(),
        };
        let mut components: Vec<_> = panels.into_iter().enumerate().map(component).collect();
        pool(&mut components);
        Self {
            ids: all.iter().map(|(id, _)| *id).collect(),
            runs,
            names,
            components,
            state,
            workload,
            since: options.since,
        }
    }

    fn hazard(&self) -> f64 {
        let n_series: usize = self.components.iter().map(|of| of.series.len()).sum();
        CHANGES_A_RUN / n_series.max(1) as f64
    }

    /// By how much all components were slower in the latest runs.
    fn machine_percent(&self) -> Option<f64> {
        let latest = self.runs.len().saturating_sub(LATEST)..self.runs.len();
        let states = latest.map(|run| self.state.seen_without(None, run).0);
        let is_known = self.state.is_known() && self.runs.len() >= MIN_RUNS;
        is_known.then(|| percent(median(states)))
    }

    fn report(&self, place: usize) -> ComponentReport {
        let component = &self.components[place];
        let name = &self.names[place];
        let mut report = self.of_series(name, &component.panel, &component.series[0]);
        if matches!(report.verdict, Verdict::Same) {
            let groups = component.series[1..].iter();
            let groups =
                groups.map(|series| (series, self.of_series(name, &component.panel, series)));
            let changed =
                groups.filter(|(_, of)| !matches!(of.verdict, Verdict::Same | Verdict::Unknown));
            let size = |of: &ComponentReport| of.percent.map_or(0.0, f64::abs);
            if let Some((series, of_group)) =
                changed.max_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)))
            {
                report = of_group;
                report.calls_of_ns = Some(series.effects.range_ns);
            }
        }
        report
    }

    fn of_series(&self, name: &str, panel: &Panel, series: &Series) -> ComponentReport {
        let runs = &series.effects.runs;
        let mut report = ComponentReport {
            name: name.to_owned(),
            runs: runs.len(),
            share: self.workload.share(name),
            verdict: Verdict::Unknown,
            percent: None,
            lower_percent: None,
            upper_percent: None,
            calls_of_ns: None,
            time_percent: None,
            calls_percent: None,
            resolution_percent: None,
            changes: Vec::new(),
            with: Vec::new(),
            pending: None,
            reason: None,
        };
        let latest = runs.last().copied().unwrap_or(0);
        let n_without = self.runs.len() - 1 - latest;
        if n_without >= LATEST {
            report.reason = Some(format!("not called in the latest {n_without} runs"));
            return report;
        }
        let (Some(scale), true) = (series.scale, runs.len() >= MIN_RUNS) else {
            let n_others = self.runs.len() - runs.len();
            let others = match n_others {
                0 => String::new(),
                n => format!(", {n} have no parameters in common with them or lack the method"),
            };
            report.reason = Some(format!(
                "{} runs, expected at least {MIN_RUNS}{others}",
                runs.len()
            ));
            return report;
        };
        let hazard = self.hazard();
        let found = levels(&series.values, &series.scales(scale), hazard);
        // Evidence of five runs off by d scales against the prior of a change: 5 d²/2 = ln(1/h) + ln(1/(1 - 0.95)).
        let needed = (2.0 * ((1.0 / hazard).ln() + 3.0) / 5.0).sqrt();
        report.resolution_percent = Some(percent(needed * scale));
        report.pending = found.pending.map(|place| self.ids[runs[place]].to_owned());
        let reference = self.reference(&found, runs);
        self.judge(&mut report, panel, series, (&found, reference));
        report
    }

    /// Place of the segment that the latest is compared with.
    fn reference(&self, found: &Levels, runs: &[usize]) -> usize {
        let Some(since) = self.since else {
            return 0;
        };
        // The level of the last run before.
        let before = runs.partition_point(|run| *run < since);
        let last = before.saturating_sub(1);
        let mut segments = found.segments.iter();
        segments.position(|segment| last < segment.end).unwrap_or(0)
    }

    fn judge(
        &self,
        report: &mut ComponentReport,
        panel: &Panel,
        series: &Series,
        (found, reference): (&Levels, usize),
    ) {
        let runs = &series.effects.runs;
        let segments = &found.segments[reference..];
        let (Some(first), Some(last)) = (segments.first(), segments.last()) else {
            return;
        };
        let interval = |from: &levels::Segment, to: &levels::Segment| {
            let (difference, error) = (to.mean - from.mean, from.error.hypot(to.error));
            [0.0, -HALF, HALF].map(|errors| percent(difference + errors * error))
        };
        let shape = self.shape(series, segments);
        for pair in segments.windows(2) {
            let [from, to] = pair else { continue };
            let [percent, lower_percent, upper_percent] = interval(from, to);
            let id = |place: usize| self.ids[runs[place]].to_owned();
            report.changes.push(Change {
                run: id(to.start),
                commit: self.runs[runs[to.start]].circumstances.commit.clone(),
                between: (id(to.began.0), id(to.began.1)),
                percent,
                lower_percent,
                upper_percent,
                probability: to.probability,
                shape,
            });
        }
        let of = |segment: &levels::Segment| &runs[segment.start..segment.end];
        let name = report.name.clone();
        let (before, after) = (of(first), of(last));
        let ratio =
            |values: (f64, f64)| (values.0 > 0.0).then(|| 100.0 * (values.1 / values.0 - 1.0));
        let latest = &after[after.len().saturating_sub(LATEST)..];
        report.time_percent = ratio(self.workload.times(&name, before, latest));
        report.calls_percent = ratio(self.workload.calls(&name, before, latest));
        let [estimate, lower, upper] = match segments.len() {
            1 => [
                0.0,
                percent(-HALF * first.error),
                percent(HALF * first.error),
            ],
            _ => interval(first, last),
        };
        report.percent = Some(estimate);
        report.lower_percent = Some(lower);
        report.upper_percent = Some(upper);
        report.verdict = match segments.len() > 1 {
            true if lower > MARGIN_PERCENT => Verdict::Slower,
            true if upper < -MARGIN_PERCENT => Verdict::Faster,
            _ => Verdict::Same,
        };
        if report.verdict != Verdict::Same {
            report.with = self.workload.changed_settings(before, after);
            if !panel.has_parameters && self.workload.has_other_work(&name, before, after) {
                report.with.push("work".into());
            }
            if !report.with.is_empty() {
                report.verdict = Verdict::WithSettings;
            }
        }
    }

    /// Whether the levels are those of a drift.
    fn shape(&self, series: &Series, segments: &[levels::Segment]) -> Shape {
        let rises: Vec<bool> = segments
            .windows(2)
            .map(|pair| pair[1].mean > pair[0].mean)
            .collect();
        let one_way = rises.iter().all(|rise| *rise == rises[0]);
        let scales = series.scale.map(|scale| series.scales(scale));
        let is_drift = scales
            .filter(|_| one_way && !rises.is_empty())
            .is_some_and(|scales| trend::is_drift(&series.values, &scales, segments));
        if is_drift { Shape::Drift } else { Shape::Step }
    }
}

impl Series {
    fn new(effects: Effects, state: &State, component: usize) -> Self {
        let seen = effects
            .runs
            .iter()
            .map(|run| state.seen_without(Some(component), *run));
        let (states, unlike): (Vec<f64>, Vec<f64>) = seen.unzip();
        let values: Vec<f64> = effects
            .values
            .iter()
            .zip(&states)
            .map(|(x, s)| x - s)
            .collect();
        // Runs in the usual state have the component's own noise.
        let usual = values
            .iter()
            .zip(&unlike)
            .filter(|(_, unlike)| **unlike < MARGIN_PERCENT / 100.0);
        let usual: Vec<f64> = usual.map(|(value, _)| *value).collect();
        let scale = noise::between_runs(&usual).or_else(|| noise::between_runs(&values));
        Self {
            effects,
            values,
            unlike,
            scale,
        }
    }

    /// Standard deviation of each run.
    fn scales(&self, scale: f64) -> Vec<f64> {
        self.unlike
            .iter()
            .map(|unlike| scale.hypot(*unlike))
            .collect()
    }
}

/// Draws the noise of each series towards what is usual: that of few runs is not well known.
fn pool(components: &mut [Component]) {
    let all = || components.iter().flat_map(|of| &of.series);
    let usual = median(all().filter_map(|series| series.scale)).max(MIN_SCALE);
    for series in components.iter_mut().flat_map(|of| &mut of.series) {
        let n = series.values.len() as f64;
        series.scale = series.scale.map(|scale| {
            let variance = (n * scale * scale + POOLED_RUNS * usual * usual) / (n + POOLED_RUNS);
            // Never less than what its own runs say.
            variance.sqrt().max(scale).max(MIN_SCALE)
        });
    }
}

fn percent(log: f64) -> f64 {
    100.0 * log.exp_m1()
}

#[cfg(test)]
mod tests;
