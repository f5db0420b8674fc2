//! Component models put together over a recorded workload, and the best assembly by them.
//!
//! * A [`Workload`] is what a run called: instance, method, coordinate, how often;
//! * an [`Assembly`] says which class each instance has, [`Alternatives`] which it might have;
//! * [`choose`] predicts the time of the calls for every assembly that these allow and gives the
//!   best one, with a row for each class of each instance; [`choose_with`] takes wishes;
//! * [`CallPatterns`] are the calls of each instance by the classes of those that decide them;
//! * [`interactions`] are what joined instances cost together, beyond what each does by itself; [`SeenPairs`] says which pairs no
//!   run shows, and what those may cost;
//! * [`RunSpread`] is how much the time of each class differs from run to run, and how well a difference of two is known by that;
//! * [`BetweenRuns`] is how much totals differ from run to run, and what interval a fresh one lies in; [`RunBounds`] says that of
//!   many runs, however they are distributed;
//! * a [`CallGraph`] has who called whom, how often, with which parameters, and the own time of each method by call path;
//! * [`scale_workload`] gives the workload of settings that were not run, [`rank_effects`] what a number of ranks makes of its time;
//! * [`plan`] says which runs show all that the models need.
//! * [`optimise`] has the optimiser for assemblies whose parts also cost something together;
//! * [`adapt`] decides again and again while the application runs.
//!
//! A model belongs to a class and a method: [`model_name`] is the name it must have. Nothing here
//! prints, reads files, or knows the framework.

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
