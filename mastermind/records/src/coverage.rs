//! What share of the calls of a run has no record.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::UnmonitoredDefinition;
use crate::run::Run;

/// Calls of one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodCoverage {
    /// All of them.
    pub calls: u64,
    /// Those that have no record.
    pub without_record: u64,
}

/// Which calls of a run have no record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// All calls.
    pub all: MethodCoverage,
    /// The methods (`instance.method`) some of whose calls have none.
    pub methods: BTreeMap<String, MethodCoverage>,
    /// Why.
    pub reasons: BTreeSet<String>,
}

impl Coverage {
    /// The share of a method's calls that has no record, from 0 to 1.
    pub fn share_without(&self, method: &str) -> f64 {
        let method = self.methods.get(method).copied().unwrap_or_default();
        method.without_record as f64 / method.calls.max(1) as f64
    }
}

impl Run {
    /// Connections that were to be recorded and have no proxy: how often they were called is not known.
    pub fn unmonitored(&self) -> BTreeSet<UnmonitoredDefinition> {
        let logs = self.logs().iter();
        logs.flat_map(|log| log.definitions().unmonitored.iter().cloned())
            .collect()
    }

    /// Which calls have no record. Where all have one, nothing is read for it.
    pub fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::default();
        for log in self.logs() {
            coverage.all.calls += log.n_records() + log.dropped();
            coverage.all.without_record += log.dropped();
            coverage.reasons.extend(log.loss_reasons());
        }
        if coverage.all.without_record == 0 {
            return coverage;
        }
        for log in self.logs() {
            for path in log.path_times(false) {
                if let Some(method) = log.definitions().recorded_method(path.call_path) {
                    let known = coverage.methods.entry(method.name()).or_default();
                    known.calls += path.calls;
                }
            }
            for lost in log.unrecorded() {
                if let Some(method) = log.definitions().recorded_method(lost.call_path) {
                    let known = coverage.methods.entry(method.name()).or_default();
                    known.without_record += lost.calls;
                }
            }
        }
        coverage
            .methods
            .retain(|_, method| method.without_record > 0);
        coverage
    }
}
