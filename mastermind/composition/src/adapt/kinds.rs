//! Registry of each [`CallKind`] by number: names are resolved once, when a kind first appears. It knows the usual time of
//! calls of each kind, from which the state of the machine is estimated ([`machine`](super::machine)).
//!
//! The usual time of a kind lies between a power of its sizes, fitted to all calls of a class with the same method and labels,
//! and the mean of its own calls: where sizes never repeat, few calls of a kind are known.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::Coordinate;
use serde::{Deserialize, Serialize};

use super::growth::Growth;
use super::level::weighted_median;
use super::machine::{Machine, Residual, State};
use super::site::{OfSite, Site, kind_key, own_key, sizes_of};
use super::{Batch, Report};

/// Number of calls of a class, method and labels needed to know their usual time. Arbitrary.
const LEAST_USUAL: f64 = 20.0;

/// Weight of the power of the sizes in the usual time of a kind, in calls. Arbitrary: a few own calls outweigh it.
const OF_POWER: f64 = 4.0;

/// Maximum weight of the usual time, in calls, so that it follows a slow change. The common state is subtracted from
/// each instance's time before its usual time is updated, so only this memory fixes the common level: with a tenth of
/// it, the level wandered by 3 % in two thousand steps, and classes tried long ago seemed faster.
const MOST_USUAL: f64 = 2000.0;

/// Standard deviation of calls around their usual time. Arbitrary: a call that took twice as long is three of them
/// off.
const USUAL_DEVIATION: f64 = 0.25;

/// Calls of one method of one instance at one coordinate, answered by one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallKind {
    /// The instance.
    pub instance: String,
    /// The class that answered.
    pub class: String,
    /// `PORT.METHOD`.
    pub port_method: String,
    /// Their performance parameters; if calls of about one length are grouped, those of the first call.
    pub coordinate: Coordinate,
    /// Whether all of them have exactly these parameters, which repeat: the time at a power of two says nothing about
    /// the next size.
    #[serde(default)]
    pub is_own: bool,
}

impl CallKind {
    /// A key that is equal for calls that count as alike.
    pub fn key(&self) -> String {
        let kind = match self.is_own {
            true => own_key(&self.port_method, &self.coordinate),
            false => kind_key(&self.port_method, &self.coordinate),
        };
        format!("{} {} {kind}", self.instance, self.class)
    }
}

/// A registered kind and its usual time.
#[derive(Debug)]
pub struct KnownKind {
    pub kind: CallKind,
    /// Its site and arm; `None` if the class of the instance cannot change.
    pub place: Option<(usize, usize)>,
    /// Its classification at the site, once one of its calls was seen.
    pub of_site: Option<OfSite>,
    /// Number of the instance.
    pub instance: usize,
    /// Number of its class, method and labels.
    group: usize,
    /// Logarithms of its sizes.
    x: Vec<f64>,
    /// Calls so far, up to [`MOST_USUAL`].
    calls: f64,
    /// Usual time of a call: median logarithm of its seconds.
    usual_ln: f64,
}

/// The registry: the usual time of each call kind, from which the state of the machine is inferred.
#[derive(Debug, Default)]
pub struct Kinds {
    pub known: Vec<KnownKind>,
    instances: Vec<String>,
    groups: BTreeMap<String, usize>,
    powers: Vec<Growth>,
    pub machine: Machine,
}

impl Kinds {
    /// Registers a new kind.
    ///
    /// # Returns
    /// Its number: the count of earlier ones.
    pub fn add(&mut self, kind: &CallKind, sites: &[Site]) -> usize {
        let known = self.instances.iter().position(|i| *i == kind.instance);
        let instance = known.unwrap_or(self.instances.len());
        if known.is_none() {
            self.instances.push(kind.instance.clone());
        }
        let site = sites.iter().position(|s| s.is_answered_by(&kind.instance));
        let place =
            site.and_then(|site| Some((site, sites[site].arm(&kind.instance, &kind.class)?)));
        let (group, x) = sizes_of(kind);
        let n_groups = self.groups.len();
        let group = format!("{} {} {group}", kind.instance, kind.class);
        let group = *self.groups.entry(group).or_insert(n_groups);
        self.powers.resize_with(self.groups.len(), Growth::default);
        self.known.push(KnownKind {
            kind: kind.clone(),
            place,
            of_site: None,
            instance,
            group,
            x,
            calls: 0.0,
            usual_ln: 0.0,
        });
        self.known.len() - 1
    }

    /// Usual time of a call: median logarithm of its seconds; `None` after few calls.
    fn usual_ln(&self, known: &KnownKind) -> Option<f64> {
        let power = &self.powers[known.group];
        let of_power = power.at(&known.x);
        let of_power = of_power.filter(|_| power.calls() >= LEAST_USUAL)?;
        let sum = known.calls * known.usual_ln + OF_POWER * of_power;
        Some(sum / (known.calls + OF_POWER))
    }

    /// By step: how much slower than usual each instance ran, if its usual time is known.
    pub fn residuals(&self, batches: &[Batch]) -> BTreeMap<u64, Vec<Residual>> {
        let mut steps: BTreeMap<u64, BTreeMap<usize, Vec<(f64, f64)>>> = BTreeMap::new();
        for batch in batches.iter().filter(|batch| batch.calls > 0) {
            let of_step = steps.entry(batch.step).or_default();
            if let Some(known) = self.known.get(batch.kind)
                && let Some(usual_ln) = self.usual_ln(known)
            {
                let of_instance = of_step.entry(known.instance).or_default();
                of_instance.push((batch.calls as f64, batch.ln_mean - usual_ln));
            }
        }
        let steps = steps.into_iter().map(|(step, of_step)| {
            let residuals = of_step.into_iter().map(|(instance, mut all)| Residual {
                instance,
                calls: all.iter().map(|(calls, _)| calls).sum(),
                ln: weighted_median(&mut all),
            });
            (step, residuals.collect())
        });
        steps.collect()
    }

    /// State of the machine in each step, by site, and for all instances together as the last one.
    pub fn states(
        &mut self,
        residuals: &BTreeMap<u64, Vec<Residual>>,
        sites: &[Site],
    ) -> BTreeMap<u64, Vec<State>> {
        let mut states = BTreeMap::new();
        for (step, residuals) in residuals {
            let maxima = self.machine.maxima(residuals);
            let of_sites = sites.iter().map(|site| {
                maxima.state(|instance| site.is_answered_by(&self.instances[instance]))
            });
            let mut of_step: Vec<State> = of_sites.collect();
            let of_all = match residuals.len() < 2 {
                true => State::default(),
                false => maxima.state(|_| false),
            };
            self.machine.learn(residuals, of_all);
            of_step.push(of_all);
            states.insert(*step, of_step);
        }
        states
    }

    /// Usual seconds of the reported calls of each instance whose class is fixed, by number of the instance; 0 for
    /// the other instances.
    pub fn work_s(&self, report: &Report<'_>) -> Vec<f64> {
        let mut work_s = vec![0.0; self.instances.len()];
        for batch in report.batches.iter().filter(|batch| batch.calls > 0) {
            let known = self.known.get(batch.kind);
            if let Some(known) = known.filter(|known| known.place.is_none()) {
                let ln_s = self.usual_ln(known).unwrap_or(batch.ln_mean);
                work_s[known.instance] += batch.calls as f64 / report.told * ln_s.exp();
            }
        }
        work_s
    }

    /// Shifts the usual times of a class by the logarithm of a factor.
    pub fn shift(&mut self, instance: &str, class: &str, by: f64) {
        for known in &mut self.known {
            if known.kind.instance == instance && known.kind.class == class {
                known.usual_ln += by;
            }
        }
        let name = format!("{instance} {class} ");
        for (group, at) in &self.groups {
            if group.starts_with(&name) {
                self.powers[*at].shift(by);
            }
        }
    }

    /// The number of an instance.
    pub fn instance(&self, name: &str) -> Option<usize> {
        self.instances.iter().position(|known| known == name)
    }

    /// Usual time of a call: median logarithm of its seconds, and its standard deviation.
    pub fn expected(&self, call: &CallKind) -> Option<(f64, f64)> {
        let known = self.known.iter().find(|known| known.kind == *call)?;
        Some((self.usual_ln(known)?, USUAL_DEVIATION))
    }

    /// Number of instances among those asked for that show the state of the machine.
    pub fn n_showing(
        &self,
        residuals: &BTreeMap<u64, Vec<Residual>>,
        is_asked: impl Fn(&str) -> bool,
    ) -> usize {
        let all = residuals.values().flatten();
        let asked = all.filter(|of| is_asked(&self.instances[of.instance]));
        let asked: BTreeSet<usize> = asked.map(|of| of.instance).collect();
        asked.len()
    }

    /// Updates the usual times.
    ///
    /// # Arguments
    /// * `states` - of each step, the last one for all instances together
    pub fn learn(&mut self, batches: &[Batch], states: &BTreeMap<u64, Vec<State>>) {
        for batch in batches.iter().filter(|batch| batch.calls > 0) {
            let Some(known) = self.known.get_mut(batch.kind) else {
                continue;
            };
            let state = states.get(&batch.step).and_then(|of| of.last());
            let state = state.copied().unwrap_or_default();
            let new = self
                .machine
                .worth(state, known.instance, batch.calls as f64);
            let ln_mean = batch.ln_mean - state.ln;
            known.calls = (known.calls + new).min(MOST_USUAL);
            known.usual_ln += (ln_mean - known.usual_ln) * (new / known.calls).min(1.0);
            let powers = &mut self.powers[known.group];
            powers.add(&known.x, ln_mean, new);
            powers.forget(MOST_USUAL);
        }
    }
}
