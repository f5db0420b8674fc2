//! `simulate --records`: the activities of each simulated process, as the records of a run.
//!
//! A process is a rank. Each of its elements is a call, made from a call `main` that lasts as long as the process; the
//! time of messages is time in MPI. Elements that took no time have no record.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use mastermind_programs::ElementInfo;
use mastermind_records::definition::{
    CallPathDefinition, CircumstancesDefinition, ClockDefinition, MethodDefinition, RunDefinition,
};
use mastermind_records::packed::{ContainerWriter, PACKED_EXTENSION};
use mastermind_records::{
    Calibration, Definition, LogIdentity, MadeLog, RecordWords, RecordsError, holds_records,
    in_parallel,
};
use mastermind_simulation::engine::{Outcome, Slice};

/// Ranks per container. Arbitrary: about those of a node.
const RANKS_OF_CONTAINER: u32 = 64;

/// Class of the simulated calls.
const CLASS: &str = "simulation";

/// A run that was simulated.
pub struct SimulatedRun<'a> {
    /// Name of the model.
    pub name: &'a str,
    pub outcome: &'a Outcome,
    pub processes_of_node: u32,
    pub processors: u32,
    /// Whether each rank has a log of its own.
    pub loose: bool,
}

/// Checks whether records can be written into a folder, and makes it.
///
/// # Errors
/// It has records; it cannot be made.
pub fn prepare(directory: &Path) -> anyhow::Result<()> {
    let act = || format!("cannot write records \"{}\"", directory.display());
    fs::create_dir_all(directory).with_context(act)?;
    for entry in fs::read_dir(directory).with_context(act)? {
        let path = entry.with_context(act)?.path();
        if holds_records(&path) {
            bail!(
                "{}: it holds \"{}\" of another run, expected no records; use another directory",
                act(),
                path.display()
            );
        }
    }
    Ok(())
}

impl SimulatedRun<'_> {
    /// Writes the records of all ranks.
    ///
    /// # Arguments
    /// * `slices` - of all processes, in any order
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, directory: &Path, mut slices: Vec<Slice>) -> anyhow::Result<()> {
        // A call ends before the one that begins after it.
        slices.sort_unstable_by_key(|slice| (slice.process, slice.end_ns, slice.begin_ns));
        let n_ranks = self.outcome.processes.len() as u32;
        let firsts: Vec<u32> = (0..n_ranks).step_by(RANKS_OF_CONTAINER as usize).collect();
        let written = in_parallel(firsts, |first| {
            let ranks = first..n_ranks.min(first.saturating_add(RANKS_OF_CONTAINER));
            let begin = slices.partition_point(|slice| slice.process < first);
            self.write_ranks(directory, ranks, &slices[begin..])
        });
        written.into_iter().collect::<Result<(), _>>()?;
        Ok(())
    }

    fn write_ranks(
        &self,
        directory: &Path,
        ranks: std::ops::Range<u32>,
        mut slices: &[Slice],
    ) -> Result<(), RecordsError> {
        let name = format!("pack-rank{:04}.{PACKED_EXTENSION}", ranks.start);
        let mut container = match self.loose {
            true => None,
            false => Some(ContainerWriter::create(&directory.join(name))?),
        };
        for rank in ranks {
            let n_own = slices.partition_point(|slice| slice.process <= rank);
            let (own, others) = slices.split_at(n_own);
            slices = others;
            let log = self.log(rank, own)?;
            match &mut container {
                Some(container) => container.add_made(log)?,
                None => drop(log.write(directory)?),
            }
        }
        if let Some(container) = container {
            container.finish()?.keep()?;
        }
        Ok(())
    }

    /// The log of a rank.
    fn log(&self, rank: u32, slices: &[Slice]) -> Result<MadeLog, RecordsError> {
        let finish_ns = self.outcome.processes[rank as usize].finish_ns;
        let finish_ns = slices
            .last()
            .map_or(finish_ns, |last| last.end_ns.max(finish_ns));
        let at = |ns| Calibration { ticks: ns, ns };
        let identity = LogIdentity { rank, thread: 0 };
        let mut log = MadeLog::new(identity, at(0), at(finish_ns));
        self.define_run(rank, &mut log)?;
        let main = ElementInfo {
            name: "main".into(),
            place: self.name.into(),
            kind: "program",
        };
        define_call(&mut log, &main, 1, 0)?;
        let mut paths = vec![0; self.outcome.elements.len()];
        let (mut n_paths, mut message_ns) = (1, 0);
        for slice in slices {
            let info = &self.outcome.elements[slice.element as usize];
            let path = &mut paths[slice.element as usize];
            if *path == 0 {
                n_paths += 1;
                *path = n_paths;
                define_call(&mut log, info, *path, 1)?;
            }
            let wall = slice.end_ns - slice.begin_ns;
            let mpi = if is_message(info) { wall } else { 0 };
            message_ns += mpi;
            log.append(RecordWords {
                path: *path,
                start: slice.begin_ns,
                wall,
                mpi: Some(mpi),
                failed: false,
                values: &[],
            });
        }
        log.append(RecordWords {
            path: 1,
            start: 0,
            wall: finish_ns,
            mpi: Some(message_ns.min(finish_ns)),
            failed: false,
            values: &[],
        });
        Ok(log)
    }

    fn define_run(&self, rank: u32, log: &mut MadeLog) -> Result<(), RecordsError> {
        log.define(&Definition::Run(RunDefinition {
            assembly: self.name.into(),
            ranks: self.outcome.processes.len() as u32,
            host: format!("node{:04}", rank / self.processes_of_node.max(1)),
            processors: self.processors,
            mpi: Some("simulated".into()),
            ..RunDefinition::default()
        }))?;
        log.define(&Definition::Circumstances(CircumstancesDefinition {
            version: Some(env!("CARGO_PKG_VERSION").into()),
            ..CircumstancesDefinition::default()
        }))?;
        log.define(&Definition::Clock(ClockDefinition {
            name: "simulated".into(),
            ticks_per_second: 1e9,
            step_ticks: 0.0,
        }))
    }
}

/// Whether an element is a message, or a wait for one.
fn is_message(info: &ElementInfo) -> bool {
    !matches!(
        info.kind,
        "program" | "action" | "activity" | "parallel" | "critical"
    )
}

/// Defines an element and a call path to it; both have the same number.
fn define_call(
    log: &mut MadeLog,
    info: &ElementInfo,
    id: u32,
    parent: u32,
) -> Result<(), RecordsError> {
    log.define(&Definition::Method(MethodDefinition {
        id,
        instance: info.place.clone(),
        class: CLASS.into(),
        port: info.kind.into(),
        interface: CLASS.into(),
        method: info.name.clone(),
        ..MethodDefinition::default()
    }))?;
    log.define(&Definition::CallPath(CallPathDefinition {
        id,
        parent,
        method: id,
    }))
}
