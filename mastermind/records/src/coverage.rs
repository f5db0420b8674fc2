//! The share of calls of a run that has no record.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::definition::UnmonitoredDefinition;
use crate::run::Run;

/// Number of calls of one method, or of all methods, and how many of them have no record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodCoverage {
    /// All calls.
    pub calls: u64,
    /// Calls that have no record.
    pub without_record: u64,
}

impl MethodCoverage {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.without_record += other.without_record;
    }
}

/// Which calls of a run have no record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// All calls.
    pub all: MethodCoverage,
    /// The methods (`instance.method`) with calls that have no record.
    pub methods: BTreeMap<String, MethodCoverage>,
    /// The reasons.
    pub reasons: BTreeSet<String>,
}

impl Coverage {
    /// Share of a method's calls without a record, from 0 to 1.
    pub fn share_without(&self, method: &str) -> f64 {
        let method = self.methods.get(method).copied().unwrap_or_default();
        method.without_record as f64 / method.calls.max(1) as f64
    }

    /// Adds the calls of other ranks, method by method; reasons that both have stay once.
    pub fn add(&mut self, other: Self) {
        self.all.add(other.all);
        self.reasons.extend(other.reasons);
        for (name, method) in other.methods {
            self.methods.entry(name).or_default().add(method);
        }
    }

    /// Drops methods all of whose calls have a record.
    pub fn keep_lacking(&mut self) {
        self.methods.retain(|_, method| method.without_record > 0);
    }
}

impl Run {
    /// Connections that should be recorded and have no proxy: the number of their calls is not known.
    pub fn unmonitored(&self) -> BTreeSet<UnmonitoredDefinition> {
        let logs = self.logs().iter();
        logs.flat_map(|log| log.definitions().unmonitored.iter().cloned())
            .collect()
    }

    /// Which calls have no record. Reads the logs only if some calls have none.
    pub fn coverage(&self) -> Coverage {
        let mut coverage = self.coverage_in_total();
        if coverage.all.without_record > 0 {
            self.add_methods_to(&mut coverage);
        }
        coverage.keep_lacking();
        coverage
    }

    /// As [`Run::coverage`], without the methods; does not read the logs.
    pub fn coverage_in_total(&self) -> Coverage {
        let mut coverage = Coverage::default();
        for log in self.logs() {
            coverage.all.calls += log.n_records() + log.dropped();
            coverage.all.without_record += log.dropped();
            coverage.reasons.extend(log.loss_reasons());
        }
        coverage
    }

    /// Adds the calls of all methods, for which the logs are read.
    pub fn add_methods_to(&self, coverage: &mut Coverage) {
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
    }
}
