//! `run --adapt` of an rc script.
//!
//! The possible swaps are found before the first line is carried out, from the assembly as the script leaves it at its
//! last start (`session/script.rs`), with the alternatives of its comments. The adaptation begins at the first start at
//! which all instances with alternatives exist, and goes on over all later starts. It ends when a line has removed such
//! an instance, or has put another one in its place.
//!
//! ```text
//! #!alternatives flux = hydro.GodunovFlux hydro.EfmFlux
//! create hydro.GodunovFlux flux
//! go driver go        adapted: 0 to 1/2 of the run
//! go driver go        adapted: 1/2 to 1 of it
//! remove flux
//! go other go         no longer adapted, with a warning
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::bail;
use cca_core::{Assembly, Repository};
use mastermind_component::{Adaptation, Mastermind};

use super::super::Run;
use super::super::adapt::{self, Adapting};
use crate::output;
use crate::session::framework::Session;
use crate::session::library_path;
use crate::session::script::Trial;

/// The adaptation of a script.
pub struct ScriptAdapting {
    /// File that keeps the learned state.
    state: Option<PathBuf>,
    /// The assembly at the last start.
    given: Assembly,
    /// Starts in the whole script.
    n_starts: usize,
    /// Starts that have ended.
    ended: Arc<AtomicUsize>,
    stage: Stage,
}

enum Stage {
    /// Not all instances with alternatives exist yet.
    Waiting(Box<Adapting>),
    Running(Arc<Adaptation>),
    /// It makes no more decisions, and reports those that it made at the end.
    Ended(Arc<Adaptation>),
    /// It could not begin, which was reported.
    Never,
}

impl ScriptAdapting {
    /// Finds the possible swaps, from the trial of the script.
    ///
    /// # Errors
    /// As [`Adapting::prepare`].
    pub fn prepare(run: &Run, models: Option<&Path>, trial: Trial) -> anyhow::Result<Self> {
        let patience = Duration::from_secs(u64::from(run.adapt_patience));
        let given = trial.assembly;
        if given.alternatives.is_empty() {
            bail!(
                "cannot adapt script \"{}\": no alternatives, expected a line #!alternatives INSTANCE = CLASS CLASS",
                run.assembly.display()
            );
        }
        let mut sites = given.alternatives.keys();
        if let (Some(missing), Some(place)) = (
            sites.find(|site| !given.instances.contains_key(*site)),
            &trial.place,
        ) {
            bail!(
                "cannot adapt script \"{}\": no instance \"{missing}\" at its last start, line {}, expected one where it has alternatives",
                run.assembly.display(),
                place.line
            );
        }
        let adapting = Adapting::prepare(&given, models, Vec::new(), run.explore, patience)?;
        let adapting = adapting.keep_in(run.adapt_state.as_deref());
        Ok(Self {
            given,
            state: run.adapt_state.clone(),
            n_starts: trial.place.map_or(1, |place| place.starts.max(1)),
            ended: Arc::default(),
            stage: Stage::Waiting(Box::new(adapting)),
        })
    }

    /// Whether the next start may be the first one that is adapted, for which the whole assembly must be known.
    pub fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }

    /// The adaptation while it waits, which has the models for queries during the run.
    pub fn adapting(&mut self) -> Option<&mut Adapting> {
        match &mut self.stage {
            Stage::Waiting(adapting) => Some(adapting),
            _ => None,
        }
    }

    /// Called before a start: begins if all instances exist, ends if one is gone or has been replaced.
    ///
    /// # Arguments
    /// * `assembly` - the current one, while it waits
    /// * `mastermind` - the recorder; None if nothing is recorded
    ///
    /// # Errors
    /// As [`Adapting::begin`].
    pub fn before_start(
        &mut self,
        session: &Session,
        assembly: &Assembly,
        mastermind: Option<&Arc<Mastermind>>,
        directory: &Path,
    ) -> anyhow::Result<()> {
        match std::mem::replace(&mut self.stage, Stage::Never) {
            Stage::Waiting(adapting) => {
                let Some(mastermind) = mastermind else {
                    if session.rank == 0 {
                        output::complain!("warning: nothing is adapted, since nothing is recorded");
                    }
                    return Ok(());
                };
                let mut sites = adapting.sites();
                if !sites.all(|site| assembly.instances.contains_key(site)) {
                    drop(sites);
                    self.stage = Stage::Waiting(adapting);
                    return Ok(());
                }
                drop(sites);
                self.load_classes(session);
                let adaptation = adapting.begin(session, assembly, mastermind, directory)?;
                self.share_out(session, &adaptation);
                self.stage = Stage::Running(adaptation);
            }
            Stage::Running(adaptation) => {
                let changed = changed(session, &adaptation);
                self.stage = match changed {
                    None => Stage::Running(adaptation),
                    Some(why) => {
                        session.progress.end_steps();
                        if session.rank == 0 {
                            output::complain!("warning: nothing is adapted any more: {why}");
                        }
                        Stage::Ended(adaptation)
                    }
                };
            }
            stage => self.stage = stage,
        }
        Ok(())
    }

    /// Counts each start as an equal part of the run, since its duration is not known before.
    fn share_out(&self, session: &Session, adaptation: &Arc<Adaptation>) {
        let (first, ended) = (self.ended.load(Ordering::Relaxed), Arc::clone(&self.ended));
        let n_starts = self.n_starts.saturating_sub(first).max(1) as f64;
        let stepping = Arc::clone(adaptation);
        session
            .progress
            .at_each_step(Box::new(move |fraction: f64| {
                let done = ended.load(Ordering::Relaxed) - first;
                stepping.step((done as f64 + fraction.clamp(0.0, 1.0)) / n_starts)
            }));
    }

    /// Finds classes that only the comments of the script name on its path.
    fn load_classes(&self, session: &Session) {
        let framework = &session.framework;
        let classes = self.given.alternatives.values().flatten();
        let mut missing = classes
            .filter(|class| !framework.has_class(class))
            .peekable();
        if missing.peek().is_none() {
            return;
        }
        let mut repository = Repository::default();
        for path in library_path(&self.given) {
            // Libraries that cannot be opened were reported when the script was tried out.
            let _ = repository.add_what_opens(&path);
        }
        for class in missing {
            if let Some(found) = repository.class(class) {
                framework.add_class(found);
            }
        }
    }

    /// Called when a start has come to its end on this rank. The last start ends the adaptation; ranks that still
    /// report steps are informed.
    ///
    /// # Errors
    /// The communicator's.
    pub fn after_start(&mut self, has_failed: bool) -> anyhow::Result<()> {
        let n_ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        match &self.stage {
            Stage::Running(adaptation) if n_ended == self.n_starts && !has_failed => {
                Ok(adaptation.end()?)
            }
            _ => Ok(()),
        }
    }

    /// Reports the adaptation.
    ///
    /// # Arguments
    /// * `directory` - of the records
    /// * `is_whole` - whether the script was carried out to its end
    pub fn print_outcome(self, session: &Session, script: &Path, directory: &Path, is_whole: bool) {
        session.progress.end_steps();
        let adaptation = match self.stage {
            Stage::Running(adaptation) | Stage::Ended(adaptation) => adaptation,
            Stage::Waiting(adapting) => {
                if session.rank == 0 && is_whole {
                    let sites: Vec<_> = adapting.sites().collect();
                    output::complain!(
                        "warning: nothing was adapted: at no start of the script all of \"{}\" were there",
                        sites.join("\", \"")
                    );
                }
                return;
            }
            Stage::Never => return,
        };
        let outcome = adaptation.outcome();
        let state = self.state.as_deref();
        adapt::print_outcome(session, &self.given, &outcome, directory, state);
        let swapped = outcome.classes.iter().filter(|(site, class)| {
            self.given.instances.get(*site) != Some(*class) && outcome.steps > 0
        });
        let options: Vec<_> = swapped
            .map(|(site, class)| format!(" --replace {site}={class}"))
            .collect();
        if session.rank == 0 && !options.is_empty() {
            output::line(format!(
                "the script with it: mastermind run {}{}",
                script.display(),
                options.concat()
            ));
        }
    }
}

/// Why an instance is no longer the adapted one.
fn changed(session: &Session, adaptation: &Adaptation) -> Option<String> {
    let classes = adaptation.outcome().classes.into_iter();
    let mut reasons = classes.filter_map(|(site, class)| match session.framework.instance(&site) {
        Err(_) => Some(format!("the script has removed \"{site}\"")),
        Ok(found) if found.class != class => Some(format!(
            "the script has made another \"{site}\", of class {}",
            found.class
        )),
        Ok(_) => None,
    });
    reasons.next()
}
