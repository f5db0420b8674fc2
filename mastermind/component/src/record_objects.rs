//! `PerfParam`: what was recorded of a method so far, read from this rank's logs while they grow.

use std::collections::BTreeSet;

use cca_ports::{Invocation, MethodTotals, PerfParamPort, PortError, RStr, RString, RVec};
use mastermind_records::{Exclusive, ExclusiveTimes, Record, Run};

use crate::mastermind::Mastermind;

impl PerfParamPort for Mastermind {
    fn methods(&self) -> Result<RVec<RString>, PortError> {
        let run = self.read().map_err(PortError::failed)?;
        let logs = run.logs().iter();
        // A method is defined in a log when it is called there.
        let names = logs.flat_map(|log| log.definitions().methods());
        let names: BTreeSet<_> = names.map(|method| method.name()).collect();
        Ok(names.into_iter().map(RString::from).collect())
    }

    fn totals(&self, method: RStr<'_>) -> Result<MethodTotals, PortError> {
        let run = self.read().map_err(PortError::failed)?;
        let mut totals = MethodTotals::default();
        for_each(&run, &method, |record, own| {
            if totals.calls == 0 {
                let names = record.method.parameters.iter();
                let names = names.map(|parameter| RString::from(parameter.name.as_str()));
                totals.parameters = names.collect();
            }
            totals.calls += 1;
            totals.inclusive_ns += record.wall_ns;
            totals.exclusive_ns += own.wall_ns;
            totals.mpi_ns += record.mpi_ns.unwrap_or(0);
            true
        });
        Ok(totals)
    }

    fn invocations(
        &self,
        method: RStr<'_>,
        first: u64,
        most: usize,
    ) -> Result<RVec<Invocation>, PortError> {
        let run = self.read().map_err(PortError::failed)?;
        let (mut invocations, mut passed) = (RVec::new(), 0);
        for_each(&run, &method, |record, own| {
            if passed < first {
                passed += 1;
            } else if invocations.len() < most {
                invocations.push(invocation(record, own));
            }
            invocations.len() < most
        });
        Ok(invocations)
    }
}

/// The records of a method, as long as `act` says to go on.
fn for_each(run: &Run, method: &str, mut act: impl FnMut(&Record<'_>, Exclusive) -> bool) {
    for log in run.logs() {
        let mut records = ExclusiveTimes::new(log);
        // By address: the name is put together anew each time.
        let named = log.definitions().methods();
        let named: Vec<_> = named
            .filter(|known| known.name() == method)
            .map(|known| known.id)
            .collect();
        if named.is_empty() {
            continue;
        }
        while let Some((record, own)) = records.next_record() {
            if named.contains(&record.method.id) && !act(&record, own) {
                return;
            }
        }
    }
}

fn invocation(record: &Record<'_>, own: Exclusive) -> Invocation {
    Invocation {
        start_ns: record.start_ns,
        wall_ns: record.wall_ns,
        exclusive_ns: own.wall_ns,
        mpi_ns: record.mpi_ns.unwrap_or(0),
        has_mpi: record.mpi_ns.is_some(),
        failed: record.failed,
        parameters: record.parameters().map(|value| value.as_f64()).collect(),
    }
}
