//! Changes at equal parameters, from the sums of many runs of one program on one machine.
//!
//! For each component ([`panel`]) the logarithms of its cells give an effect of each run; runs in which the machine was
//! busy count less ([`state`]); the effects have levels ([`levels`]) whose noise is that between runs ([`noise`]). A
//! change that coincides with a change of a setting, or for a component without parameters with one of the runs'
//! workload, may have another cause than the component's code, and is reported as such.

mod figures;
#[cfg(test)]
mod generator;
mod levels;
mod noise;
mod panel;
mod report;
mod state;
mod trend;
mod workload;

use std::collections::BTreeMap;

use self::levels::{Levels, levels};
use self::noise::median;
use self::panel::{Effects, MIN_SCALE, Panel};
pub use self::report::{Change, Check, ComponentReport, ProgramReport, Shape, Verdict};
use self::state::{ByRun, Noise, Others, State};
use self::workload::Workload;
use crate::parallel;
use crate::run_sums::{Cell, RunSums};

/// Change that does not matter, percent: another layout of the same code and data makes as much.
///
/// # Source
/// Mytkowicz, Diwan, Hauswirth, Sweeney, *Producing wrong data without doing anything obviously wrong!*, ASPLOS 2009, has up to 8 % by the order of
/// linking; arbitrary below that: with 1 and 3 the same changes of 5 % are found.
const MARGIN_PERCENT: f64 = 2.0;

/// Expected number of changes of a program in a run, over all its components. Arbitrary: a tenth or ten times as much moves the evidence by 2.3, of
/// 20 that a step of five scales has after five runs.
const CHANGES_A_RUN: f64 = 0.01;

/// Minimum number of runs of a component for a verdict.
const MIN_RUNS: usize = levels::MIN_BEFORE;

/// Runs by which the noise of a series is less sure: an estimate from `n` runs counts as larger by a factor of `sqrt(1 + UNSURE_RUNS / n)`.
/// Arbitrary: the standard error of a scale from 8 runs is a quarter, which this makes up for.
const UNSURE_RUNS: f64 = 4.0;

/// Latest runs that the machine's state is reported of.
const LATEST: usize = 5;

/// Share of the machine state's contribution to a run that a block of runs has in common.
const OF_BLOCK: f64 = 0.5;

/// Standard errors of an interval's half width: 95 %.
const HALF: f64 = 1.96;

/// Settings of a check.
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
    let mut components = program.reports();
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

/// Effects and their noise.
struct Series {
    effects: Effects,
    /// Contribution of the machine's state to the deviation of a run.
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
    workload: Workload<'r>,
    since: Option<usize>,
}

impl<'r> Program<'r> {
    fn new(all: &[(&'r str, &'r RunSums)], options: &Options) -> Self {
        let runs: Vec<&RunSums> = all.iter().map(|(_, run)| *run).collect();
        let workload = Workload::new(&runs);
        let mut cells = BTreeMap::<&str, Vec<Vec<&Cell>>>::new();
        for (place, run) in runs.iter().enumerate() {
            for cell in &run.cells {
                let of_method = cells.entry(&cell.method);
                of_method.or_insert_with(|| vec![Vec::new(); runs.len()])[place].push(cell);
            }
        }
        let by_method: Vec<_> = cells.iter().collect();
        let share = |run: &&RunSums| run.circumstances.processor_share.unwrap_or(1.0);
        let shares: Vec<f64> = runs.iter().map(share).collect();
        let panels = parallel::map(&by_method, |(name, by_run)| {
            let panel = Panel::new(by_run, &shares);
            let effects = panel.effects();
            ((**name).to_owned(), panel, effects)
        });
        let panels: Vec<_> = panels
            .into_iter()
            .filter(|(.., effects)| !effects.is_empty())
            .collect();
        let by_run = |effects: &Effects| {
            let mut of_run = vec![None; runs.len()];
            let pairs = effects.runs.iter().zip(&effects.values);
            pairs.for_each(|(run, value)| of_run[*run] = Some(*value));
            of_run
        };
        let names: Vec<String> = panels.iter().map(|(name, ..)| name.clone()).collect();
        let is_component = |name: &String| !name.ends_with("()");
        // Waiting for others is no measure of the machine's speed, but gives information if there are hardly
        // any other components.
        let has_few = names.iter().filter(|name| is_component(name)).count() <= state::MIN_OTHERS;
        let effects = panels
            .iter()
            .map(|(name, _, effects)| match is_component(name) || has_few {
                true => by_run(&effects[0]),
                false => vec![None; runs.len()],
            });
        let effects: Vec<ByRun> = effects.collect();
        let state = State::new(&effects, &shares);
        let places: Vec<usize> = (0..panels.len()).collect();
        let series = parallel::map(&places, |place| {
            let others = state.others(*place);
            let series = panels[*place].2.iter();
            let series = series.map(|effects| Series::new(effects.clone(), &others));
            series.collect::<Vec<_>>()
        });
        let component = |((_, panel, _), series)| Component { panel, series };
        let components: Vec<_> = panels.into_iter().zip(series).map(component).collect();
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
        let states: Vec<f64> = latest.filter_map(|run| self.state.machine(run)).collect();
        let is_known = !states.is_empty() && self.runs.len() >= MIN_RUNS;
        is_known.then(|| percent(median(states)))
    }

    fn reports(&self) -> Vec<ComponentReport> {
        let places: Vec<usize> = (0..self.names.len()).collect();
        parallel::map(&places, |place| self.report(*place))
    }

    fn report(&self, place: usize) -> ComponentReport {
        let component = &self.components[place];
        let name = &self.names[place];
        let mut report = self.of_series(name, &component.panel, &component.series[0]);
        if matches!(report.verdict, Verdict::Same | Verdict::Unknown) {
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
            noise_percent: None,
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
        let found = levels(&series.effects.values, &series.scales(scale), hazard);
        // Latest runs of a busy machine show less than quiet ones.
        let latest = &series.unlike[series.unlike.len().saturating_sub(LATEST)..];
        let scale = scale.hypot(median(latest.iter().copied()));
        let unseen = resolution(hazard, scale) * scale;
        report.resolution_percent = Some(percent(unseen));
        report.noise_percent = Some(percent(scale));
        report.pending = found.pending.map(|place| self.ids[runs[place]].to_owned());
        let reference = self.reference(&found, runs);
        self.judge(&mut report, panel, series, (&found, reference, unseen));
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
        (found, reference, unseen): (&Levels, usize, f64),
    ) {
        let runs = &series.effects.runs;
        let segments = &found.segments[reference..];
        let (Some(first), Some(last)) = (segments.first(), segments.last()) else {
            return;
        };
        let interval = |from: &levels::Segment, to: &levels::Segment| {
            // Runs in one state of the machine come in blocks and share how far they are off: more of them make that no smaller.
            let unlike = median(series.unlike[to.start..to.end].iter().copied());
            let error = from.error.hypot(to.error).hypot(OF_BLOCK * unlike);
            let difference = to.mean - from.mean;
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
        // A change that came with a setting has another cause: the reference is the first level since
        // then.
        let with = |pair: &[levels::Segment]| {
            // The runs that were surely before.
            let (start, end) = (pair[0].start, pair[1].began.0.min(pair[0].end));
            let [before, after] = [&runs[start..end.max(start + 1)], of(&pair[1])];
            let mut with = self.workload.changed_settings(before, after);
            if !panel.has_parameters && self.workload.has_other_work(&name, before, after) {
                with.push("work".into());
            }
            with
        };
        let with: Vec<_> = segments.windows(2).map(with).collect();
        let since = with.iter().rposition(|with| !with.is_empty());
        let since = since.map_or(0, |place| place + 1);
        let is_last = since > 0 && since + 1 == segments.len();
        let base = if is_last { first } else { &segments[since] };
        let is_changed = segments.len() > since + 1 || is_last;
        let [estimate, lower, upper] = match is_changed {
            // A change that would not be seen may have been.
            false => [0.0, percent(-unseen), percent(unseen)],
            true => interval(base, last),
        };
        report.percent = Some(estimate);
        report.lower_percent = Some(lower);
        report.upper_percent = Some(upper);
        let is_off = lower > MARGIN_PERCENT || upper < -MARGIN_PERCENT;
        report.verdict = match is_changed {
            true if is_last && is_off => Verdict::WithSettings,
            true if lower > MARGIN_PERCENT => Verdict::Slower,
            true if upper < -MARGIN_PERCENT => Verdict::Faster,
            true if lower < -MARGIN_PERCENT || upper > MARGIN_PERCENT => {
                report.reason = Some("it changed by less than its noise shows".into());
                Verdict::Unknown
            }
            _ => Verdict::Same,
        };
        if report.verdict == Verdict::WithSettings {
            report.with = with.into_iter().next_back().unwrap_or_default();
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
            .is_some_and(|scales| trend::is_drift(&series.effects.values, &scales, segments));
        if is_drift { Shape::Drift } else { Shape::Step }
    }
}

impl Series {
    fn new(effects: Effects, others: &Others) -> Self {
        let Noise { unlike, scale } = others.noise(&effects.runs, &effects.values, effects.suffers);
        let unsure = (1.0 + UNSURE_RUNS / effects.values.len() as f64).sqrt();
        let scale = scale.map(|scale| (unsure * scale).max(MIN_SCALE));
        Self {
            effects,
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

/// The smallest change that five runs of a quiet machine show with 95 %, in scales of the noise.
///
/// Student's noise of 5 degrees of freedom gives 3 ln(1 + x²/6) of evidence for a run that is off by x on average; needed are those against the
/// prior of a change, for its certainty, and against all the levels that a jump might have led to. Of 20 means of five runs one is less by 1.64/√5.
fn resolution(hazard: f64, scale: f64) -> f64 {
    const RUNS: f64 = 5.0;
    let levels =
        (2.0 * levels::JUMP / (scale * (2.0 * std::f64::consts::PI / RUNS).sqrt())).max(1.0);
    let needed = (1.0 / hazard).ln() + (1.0 / (1.0 - levels::SURE)).ln() + levels.ln();
    (6.0 * (needed / (3.0 * RUNS)).exp_m1()).sqrt() + 1.64 / RUNS.sqrt()
}

fn percent(log: f64) -> f64 {
    100.0 * log.exp_m1()
}

#[cfg(test)]
mod tests;
