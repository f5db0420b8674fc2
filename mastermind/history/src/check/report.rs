//! Results of a check.

use serde::Serialize;

/// Verdict about a component at equal parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A call takes more time at equal parameters.
    Slower,
    /// A call takes less time.
    Faster,
    /// No change that matters.
    Same,
    /// It changed together with a setting of the runs, or with their work where its calls have no parameters: the cause is not known.
    WithSettings,
    /// There are too few runs, or none with parameters in common.
    #[serde(rename = "cannot tell")]
    Unknown,
}

/// How a component went from one level to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// At once.
    Step,
    /// Little by little.
    Drift,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The first run of the new level.
    pub run: String,
    /// Its commit.
    pub commit: Option<String>,
    /// The earliest and the latest run that may have been the first, with 90 %.
    pub between: (String, String),
    /// Change of the time of a call, percent, with the ends of its interval.
    pub percent: f64,
    /// The lower end.
    pub lower_percent: f64,
    /// The upper end.
    pub upper_percent: f64,
    /// How sure it is that there is a change, 0 to 1.
    pub probability: f64,
    /// How it came.
    pub shape: Shape,
}

/// A component, or a function of MPI.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComponentReport {
    /// `instance.method`, or `function()`.
    pub name: String,
    /// Runs that can be compared with the latest.
    pub runs: usize,
    /// Share of the program's time that is its own, in the latest runs.
    pub share: f64,
    /// Its verdict.
    pub verdict: Verdict,
    /// Change of the time of a call at equal parameters, from the reference to the latest runs, percent.
    pub percent: Option<f64>,
    /// Lower end of its interval; without a finding, of the changes that would not have been found.
    pub lower_percent: Option<f64>,
    /// Upper end.
    pub upper_percent: Option<f64>,
    /// Shortest and longest typical call that changed, nanoseconds, where not all did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_of_ns: Option<(f64, f64)>,
    /// Change of its time in a run, percent: calls, sizes and speed together.
    pub time_percent: Option<f64>,
    /// Change of its number of calls in a run, percent.
    pub calls_percent: Option<f64>,
    /// The smallest change that five runs like the latest would show, percent.
    pub resolution_percent: Option<f64>,
    /// Standard deviation of its time in runs like the latest, percent.
    pub noise_percent: Option<f64>,
    /// Changes since the reference, in order.
    pub changes: Vec<Change>,
    /// Settings that changed together with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// The first of the latest runs that are off and too few to call a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The runs of a program on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramReport {
    /// The program.
    pub program: String,
    /// The machine.
    pub machine: String,
    /// Number of runs.
    pub runs: usize,
    /// The latest.
    pub latest: String,
    /// The run before which the reference is; the first level without.
    pub since: Option<String>,
    /// How much slower than usual all components were in the latest runs, percent; `None` with too few components for
    /// an estimate.
    pub machine_percent: Option<f64>,
    /// Components, those that became slower first.
    pub components: Vec<ComponentReport>,
}

/// Results of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Check {
    /// By program and machine.
    pub programs: Vec<ProgramReport>,
}

impl Check {
    /// Components that became slower by more than some percent, with their programs.
    pub fn slower_than(&self, percent: f64) -> Vec<(&ProgramReport, &ComponentReport)> {
        let programs = self.programs.iter();
        let all =
            programs.flat_map(|of| of.components.iter().map(move |component| (of, component)));
        let is_slower = |component: &ComponentReport| {
            component.verdict == Verdict::Slower && component.percent.is_some_and(|p| p > percent)
        };
        all.filter(|(_, component)| is_slower(component)).collect()
    }

    /// Components without a finding that might have become slower by more than some percent: so small a change would
    /// not show.
    pub fn blind_to(&self, percent: f64) -> Vec<(&ProgramReport, &ComponentReport)> {
        let programs = self.programs.iter();
        let all =
            programs.flat_map(|of| of.components.iter().map(move |component| (of, component)));
        let is_blind = |component: &ComponentReport| {
            component.verdict == Verdict::Same
                && component
                    .resolution_percent
                    .is_some_and(|seen_from| seen_from > percent)
        };
        all.filter(|(_, component)| is_blind(component)).collect()
    }
}
