//! Recommends actions to reduce the time of a run, each with its saving, how sure that is, and the cost of trying it.
//!
//! The caller gathers [`Facts`] from the records, the models, a replay and other runs. Each rule of [`rules`] reads
//! them and recommends something or nothing; [`recommend`] puts all of it in order. A rule knows one type of loss, and
//! takes the saving from a model: of the classes that an assembly may have, of the run's total over a setting, of the
//! run with messages that take no time. Nothing here measures, reads or prints.
//!
//! Savings are of two types. If a model predicts the time of the changed run, the saving is its prediction. If only the
//! loss is known, since it depends on how well a program is changed, the saving is between nothing and the whole loss
//! ([`Saving::is_limit`]).
//!
//! ```
//! use mastermind_recommend::{Facts, Kind, LibraryFacts, recommend};
//!
//! let blas = LibraryFacts {
//!     running: "libopenblas.so runs its code Prescott".into(),
//!     change: ("OPENBLAS_CORETYPE".into(), "SkylakeX".into()),
//!     gain: Some([4.6, 5.2]),
//!     recorded_s: Some(2.0),
//! };
//! let facts = Facts { elapsed_s: 3.0, libraries: vec![blas], ..Facts::default() };
//! let first = &recommend(&facts)[0];
//! assert_eq!(first.kind, Kind::Library);
//! assert!(first.saving.is_some_and(|saving| saving.seconds > 1.5 && saving.seconds < 1.7));
//! ```
//!
//! # Source
//! V. S. Adve et al., "POEMS", IEEE TSE 26(11), 2000, section 7 (the performance recommender over the database of models and
//! measurements).

mod efficiency;
mod facts;
mod order;
mod rules;
mod saving;
mod score;

pub use efficiency::Efficiency;
pub use facts::{
    Change, ChoiceFacts, Facts, LibraryFacts, MessageFacts, OffModelFacts, OpenQuestion,
    ParallelFacts, RankFacts, ReplayFacts, SettingFacts, WaitFacts,
};
pub use order::{Carried, Kind, Recommendation, recommend};
pub use saving::{LEVEL, Saving, half_width};
pub use score::{Calibration, Score};
