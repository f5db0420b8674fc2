//! The ranks that read records together, if a launcher started a verb that reads on several.
//!
//! `mpirun -n 4 mastermind fit DIR` starts four processes. Each opens only the logs of its ranks of the run
//! ([`Team::open`]) and makes sums of them. The sums are joined in a tree on the first process ([`Team::join`]), which
//! prints what one process would print. The others print nothing and succeed. The first process alone runs a verb that
//! does not read in parallel ([`first_alone`]).
//!
//! A process that a script of the rank started has no team, since the others may never come: only a process that the
//! launcher itself started has one. Processes with different arguments have none either. If MPI cannot be loaded, the
//! first process does all.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, anyhow};
use cca_comm::{Launched, SizeError, is_started_by_rank};
use cca_ports::{CommPort, PortError, RSliceMut, Reduction};
use mastermind_component::{give_to_all, join_on_first};
use mastermind_records::{RecordsError, Run, rank_ranges};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::back_end;
use super::framework::{COMM, COMM_PORT, Quiet, Session};

/// Processes that read together; a single process without a launcher.
pub struct Team {
    session: Option<Session>,
}

/// Findings of the first process about a directory, for all.
#[derive(Serialize, Deserialize)]
enum DirectoryContent {
    Ranges(Vec<Range<u64>>),
    NoLogs,
    Failed,
}

impl Team {
    /// This process alone.
    pub fn alone() -> Self {
        Self { session: None }
    }

    /// The processes that a launcher started with this one. Collective.
    ///
    /// # Arguments
    /// * `what` - the verb, for the note if the first process runs it alone: `profile`
    ///
    /// # Errors
    /// [`Quiet`] on all processes except the first if that runs it alone; MPI's own.
    pub fn of_launch(what: &str) -> anyhow::Result<Self> {
        let Some(launched) = launch() else {
            return Ok(Self::alone());
        };
        let session = match Session::start(Some(&launched), None) {
            Ok(session) => session,
            Err(error) if error.is::<SizeError>() => {
                let why = error.to_string();
                leave_to_first(&launched, what, Some(&why))?;
                return Ok(Self::alone());
            }
            Err(error) => return Err(error),
        };
        let team = Self {
            session: Some(session),
        };
        match team.is_asked_the_same()? {
            true => Ok(team),
            false => Ok(Self::alone()),
        }
    }

    /// Number of processes.
    pub fn size(&self) -> usize {
        self.session
            .as_ref()
            .map_or(1, |session| session.size as usize)
    }

    /// This process, from 0.
    fn place(&self) -> usize {
        self.session
            .as_ref()
            .map_or(0, |session| session.rank as usize)
    }

    /// Whether this is the process that prints.
    pub fn is_first(&self) -> bool {
        self.place() == 0
    }

    /// Goes on only if no process has an error; see [`Session::together`].
    ///
    /// # Errors
    /// This process's error, or that other processes have one.
    pub fn together<T>(&self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        match &self.session {
            Some(session) => session.together(result),
            None => result,
        }
    }

    /// Opens this process's share of the logs of a directory; alone, all of them. Collective.
    ///
    /// # Returns
    /// A run of the ranks after those of the processes before this one, possibly of none.
    ///
    /// # Arguments
    /// * `is_for_sums` - as in [`Run::open_for_sums`]
    ///
    /// # Errors
    /// Those of [`Run::open`]; [`RecordsError::NoLogs`] on all.
    pub fn open(&self, directory: &Path, is_for_sums: bool) -> anyhow::Result<Run> {
        if self.session.is_none() {
            return Ok(match is_for_sums {
                true => Run::open_for_sums(directory)?,
                false => Run::open(directory)?,
            });
        }
        let mut error = None;
        let found = self
            .is_first()
            .then(|| match rank_ranges(directory, self.size()) {
                Ok(ranges) => DirectoryContent::Ranges(ranges),
                Err(RecordsError::NoLogs { .. }) => DirectoryContent::NoLogs,
                Err(other) => {
                    error = Some(other);
                    DirectoryContent::Failed
                }
            });
        match self.give(found)? {
            DirectoryContent::Ranges(ranges) => {
                let own = ranges.get(self.place());
                let own = own.context("cannot share the records out: a process has none")?;
                self.together(Run::open_ranks(directory, own, is_for_sums).map_err(Into::into))
            }
            DirectoryContent::NoLogs => Err(RecordsError::NoLogs {
                directory: directory.into(),
            }
            .into()),
            DirectoryContent::Failed => Err(error.map_or_else(|| anyhow!(Quiet), Into::into)),
        }
    }

    /// Joins the values of all processes. Collective.
    ///
    /// # Arguments
    /// * `add` - adds the value of the following processes to the value of some processes
    ///
    /// # Returns
    /// The merged value on the first process, `None` elsewhere.
    ///
    /// # Errors
    /// MPI's.
    pub fn join<T: Serialize + DeserializeOwned>(
        &self,
        own: T,
        mut add: impl FnMut(&mut T, T),
    ) -> anyhow::Result<Option<T>> {
        let Some(session) = &self.session else {
            return Ok(Some(own));
        };
        let mut undecoded = None;
        let to_bytes = |own: &T| serde_json::to_vec(own).unwrap_or_default();
        let merged =
            session
                .framework
                .with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| {
                    join_on_first(
                        own,
                        comm,
                        to_bytes,
                        |own, later| match serde_json::from_slice(later) {
                            Ok(later) => add(own, later),
                            Err(error) => undecoded = Some(error),
                        },
                    )
                })??;
        // Each process says whether it lacks something, since the first does not know.
        let lacks = undecoded.map_or(Ok(()), |error| {
            Err(anyhow::Error::new(error).context("cannot join what other processes read"))
        });
        self.together(lacks)?;
        Ok(merged)
    }

    /// Broadcasts a value of the first process. Collective.
    ///
    /// # Arguments
    /// * `own` - given on the first process
    ///
    /// # Errors
    /// MPI's.
    pub fn give<T: Serialize + DeserializeOwned>(&self, own: Option<T>) -> anyhow::Result<T> {
        let missing = "cannot give what the first process read to the others: it has nothing";
        let Some(session) = &self.session else {
            return own.context(missing);
        };
        let bytes = own.as_ref().map_or(Ok(Vec::new()), serde_json::to_vec)?;
        let given = session
            .framework
            .with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| give_to_all(&bytes, comm))??;
        match own {
            Some(own) => Ok(own),
            None => serde_json::from_slice(&given).context(missing),
        }
    }

    /// Whether all processes have the same arguments and work in the same folder. Collective.
    fn is_asked_the_same(&self) -> anyhow::Result<bool> {
        let Some(session) = &self.session else {
            return Ok(true);
        };
        let mut hasher = DefaultHasher::new();
        std::env::args_os()
            .skip(1)
            .for_each(|word| word.hash(&mut hasher));
        std::env::current_dir().ok().hash(&mut hasher);
        // As many bits as a double keeps.
        let asked = (hasher.finish() >> 12) as f64;
        let mut ends = [asked, -asked];
        session
            .framework
            .with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| {
                let ends = RSliceMut::from_mut_slice(&mut ends);
                comm.all_reduce(Reduction::Max, ends)?;
                Ok::<_, PortError>(())
            })??;
        Ok(ends[0] == -ends[1])
    }
}

/// The launch that this process belongs to, if others that the launcher started do the same.
fn launch() -> Option<Launched> {
    let launched = back_end::launcher().ok().flatten()?;
    let is_one_of_several = launched.size != Some(1) && !is_started_by_rank(launched);
    is_one_of_several.then_some(launched)
}

/// Lets only the first of the processes that a launcher started go on, and prints that once.
///
/// # Arguments
/// * `what` - the verb: `graph`
///
/// # Errors
/// [`Quiet`] on the others.
pub fn first_alone(what: &str) -> anyhow::Result<()> {
    match launch() {
        Some(launched) => leave_to_first(&launched, what, None),
        None => Ok(()),
    }
}

fn leave_to_first(launched: &Launched, what: &str, why: Option<&str>) -> anyhow::Result<()> {
    if launched.rank > 0 {
        return Err(anyhow!(Quiet));
    }
    let ranks = match launched.size {
        Some(size) => format!("rank 0 of {size}"),
        None => "rank 0".to_owned(),
    };
    let why = why.unwrap_or("it does not run in parallel");
    crate::output::complain!("note: {what} is done by {ranks} alone: {why}");
    Ok(())
}
