//! The end of a run: MPI ends, the records are closed, packed and summed up, and the first rank prints what they hold.
//!
//! ```text
//! rank 0: 2400 records, 5 calls waited for the disk, 98304 bytes, in records
//! shock-godunov: done on 3 ranks of Open MPI in 1.24 s
//! ```

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cca_core::Assembly;
use cca_ports::{CommPort, CounterPort};
use mastermind_component::Mastermind;

use super::Run;
use crate::session::asking;
use crate::session::framework::{COMM, COMM_PORT, Session};
use crate::session::gathering::{gather, local_directory};
use crate::session::packing::NodeLogs;
use crate::session::recording::note_unmonitored;
use crate::{output, recorded_dispatch};

impl Run {
    /// Sums the records up, takes the framework apart, then ends the recording: by then no component can record any
    /// more.
    ///
    /// # Returns
    /// The logs of the node, to be packed by the last of its ranks once nobody reads them.
    pub(super) fn close(
        &self,
        session: Session,
        mastermind: Option<Arc<Mastermind>>,
    ) -> anyhow::Result<Option<NodeLogs>> {
        let (rank, size) = (session.rank, session.size as usize);
        let logs = match (&mastermind, &self.records) {
            (Some(_), Some(directory)) => self.pack.begin(directory, Some(rank as u32), false),
            _ => None,
        };
        if let Some(mastermind) = &mastermind {
            let unmonitored = note_unmonitored(&session.framework, mastermind);
            for error in unmonitored.into_iter().filter(|_| rank == 0) {
                let error = anyhow::Error::new(error).context("calls are missing in the records");
                eprint!("{}", crate::errors::warning(&error));
            }
        }
        if let Some(mastermind) = mastermind.as_ref().filter(|_| self.pack.has_summary()) {
            let summarise = |comm: &_| mastermind.summarise(comm);
            let summarised = mastermind.without_mpi_events(|| {
                let framework = &session.framework;
                framework.with_port::<dyn CommPort, _>(COMM, COMM_PORT, summarise)
            })?;
            // The records are there all the same.
            if let Err(error) = summarised {
                let error = anyhow::Error::new(error).context("the records have no summary");
                crate::output::complain!("{}", crate::errors::warning(&error));
            }
        }
        // MPI ends on all ranks together, so that no rank ends before all are counted among those of the node.
        drop(session);
        let (Some(mastermind), Some(directory)) = (mastermind, &self.records) else {
            return Ok(None);
        };
        let totals = mastermind.finish();
        self.gather(rank, directory);
        let totals = totals?;
        if rank == 0 {
            if let Some(warning) = clock_warning(totals.clock_drift) {
                crate::output::complain!("warning: {warning}");
            }
            let lost = match totals.dropped {
                0 => String::new(),
                n => match totals.refusal {
                    Some(why) => format!(", {n} dropped ({why})"),
                    None => format!(", {n} dropped"),
                },
            };
            let late = match totals.late_chunks {
                0 => String::new(),
                n => format!(", {n} calls waited for the disk"),
            };
            let (records, bytes) = (totals.records, totals.bytes);
            let shown = directory.display();
            output::line(format!(
                "rank 0: {records} records{lost}{late}, {bytes} bytes, in {shown}"
            ));
        }
        if rank == 0 {
            recorded_dispatch::leave(Some(directory), asking::own_objects());
            self.keep.keep(directory, Some(size));
        }
        Ok(logs)
    }

    /// Moves the records of this rank to where those of all ranks go.
    fn gather(&self, rank: i32, directory: &Path) {
        let Some(local) = &self.records_local else {
            return;
        };
        let local = local_directory(local, rank);
        if let Err((path, error)) = gather(&local, directory) {
            let act = format!(
                "cannot move records \"{}\" of rank {rank} to \"{}\"; they stay in \"{}\"",
                path.display(),
                directory.display(),
                local.display()
            );
            let error = anyhow::Error::new(error).context(act);
            eprint!("{}", crate::errors::warning(&error));
        }
    }
}

/// Largest relative change of the clock's rate over a run with which its times are trusted.
const MAX_DRIFT: f64 = 1e-3;

/// A warning about a clock whose rate has changed by this much.
fn clock_warning(drift: f64) -> Option<String> {
    (drift > MAX_DRIFT).then(|| {
        format!(
            "cannot trust the clock of the records: its rate changed by {:.2} %, expected less than {:.1} %; \
             times are those of the mean rate",
            100.0 * drift,
            100.0 * MAX_DRIFT
        )
    })
}

/// Prints that a run has ended, on how many ranks and after what time.
pub(super) fn print_end(session: &Session, assembly: &Assembly, started: Instant) {
    let ranks = match (session.size, session.mpi) {
        (1, _) => "1 rank".into(),
        (n, Some(mpi)) => format!("{n} ranks of {mpi}"),
        (n, None) => format!("{n} ranks"),
    };
    let seconds = started.elapsed().as_secs_f64();
    output::line(format!(
        "{}: done on {ranks} in {seconds:.2} s",
        assembly.assembly.name
    ));
}

/// Prints the counters of these instances on the first rank that are not zero.
pub(super) fn print_counters<'a>(
    session: &Session,
    instances: impl IntoIterator<Item = &'a String>,
) -> anyhow::Result<()> {
    let interface = <dyn CounterPort as cca_abi::Interface>::descriptor().name;
    for name in instances {
        // It may have ended meanwhile.
        let Ok(instance) = session.framework.instance(name) else {
            continue;
        };
        let ports = instance
            .provides
            .iter()
            .filter(|port| port.interface.name == interface);
        for port in ports {
            let counters = session.framework.with_port::<dyn CounterPort, _>(
                &instance.name,
                &port.name,
                |c| c.counters(),
            )??;
            for counter in counters.iter().filter(|counter| counter.count > 0) {
                output::line(format!(
                    "{}: {} {} ({})",
                    instance.name, counter.count, counter.name, counter.help
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::clock_warning;

    #[test]
    fn a_clock_that_changes_its_rate_is_warned_of() {
        assert_eq!(clock_warning(2e-4), None);
        let warning = clock_warning(0.031).unwrap();
        assert!(warning.contains("changed by 3.10 %"), "{warning}");
    }
}
