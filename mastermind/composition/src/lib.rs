//! Combines component models over a recorded workload, and chooses the best assembly.
//!
//! * a [`Workload`] holds the calls of a run: instance, method, coordinate, count;
//! * an [`Assembly`] gives the class of each instance, [`Alternatives`] its candidate classes;
//! * [`choose`] predicts the time of the calls for every assembly that these allow and returns the best one, with a row
//!   for each class of each instance; [`choose_with`] takes options;
//! * [`CallPatterns`] are the calls of each instance by the classes of the instances that decide them;
//! * [`interactions`] estimates what coupled instances cost together beyond their separate times; [`SeenPairs`] reports
//!   pairs that no run shows, and the uncertainty from them;
//! * [`RunSpread`] is the spread of the time of each class between runs, and gives the precision of a difference of
//!   two;
//! * [`BetweenRuns`] is the spread of totals between runs, and gives the interval of a fresh run; [`RunBounds`] gives
//!   that interval from many runs without assuming a distribution;
//! * a [`CallGraph`] contains caller, callee, count and parameters of calls, and the own time of each method by call
//!   path;
//! * [`scale_workload`] extrapolates the workload to settings that were not run, [`rank_effects`] estimates the effect
//!   of a number of ranks on its time;
//! * [`plan`] plans the runs that show everything the models need;
//! * [`optimise`] contains the optimiser for assemblies whose parts also cost something together;
//! * [`adapt`] repeats the decision while the application runs.
//!
//! A model belongs to a class and a method and is named by [`model_name`]. Nothing here prints, reads files, or knows
//! the framework.

pub mod adapt;
mod between_runs;
mod beyond;
mod call_graph;
mod choose;
mod decide;
mod error;
mod interaction;
mod nearby;
pub mod optimise;
mod patterns;
mod plan;
mod predicted;
mod ranks;
mod requirement;
mod run_bounds;
mod run_spread;
mod scaling;
mod score;
mod unseen;
mod workload;

pub use between_runs::{BetweenRuns, EarlierSpread, LEAST_FREEDOM};
pub use call_graph::{CallGraph, Calls, Distribution, OwnTime, Vertex, VertexId};
pub use choose::{
    CallsFollow, Choice, ChooseOptions, Doubt, OnRanks, Pruning, Ranked, Row, choose, choose_with,
    problem_of,
};
pub use decide::{DecisionStep, Decisions, Next, Split, decide};
pub use error::{Error, Lacking};
pub use interaction::{Interaction, RunTimes, SiteTime, interactions};
pub use nearby::Nearby;
pub use patterns::{CallPattern, CallPatterns, PatternRun};
pub use plan::{Plan, plan};
pub use predicted::{predict_recorded_s, times_over_predicted};
pub use ranks::{MpiTime, RANKS, RankEffect, RankEffects, rank_effects};
pub use requirement::{Attributes, Requirement, RequirementError};
pub use run_bounds::RunBounds;
pub use run_spread::{MeanVariance, Part, RunSpread};
pub use scaling::{ScaledWorkload, Settings, SizedRun, scale_workload};
pub use score::Seconds;
pub use unseen::{SeenPairs, UnseenPair};
pub use workload::{Alternatives, Assembly, Call, Recorded, Workload, model_name};
