//! Registry of each [`CallKind`] by number: names are resolved once, when a kind first appears.

use mastermind_models::Coordinate;
use serde::{Deserialize, Serialize};

use super::level::{STATE, weighted_median};
use super::site::{OfSite, Site, kind_key, own_key};
use super::{Batch, Report};

/// Number of other instances needed to infer the state of the machine.
const LEAST_OTHERS: usize = 3;

/// Number of calls of a kind needed to know its usual time.
const LEAST_USUAL: f64 = 20.0;

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
        self.known.push(KnownKind {
            kind: kind.clone(),
            place,
            of_site: None,
            instance,
            calls: 0.0,
            usual_ln: 0.0,
        });
        self.known.len() - 1
    }

    /// Logarithm of how much slower than usual each instance runs now, by number of the instance; `None` if unknown.
    pub fn residuals(&self, batches: &[Batch]) -> Vec<Option<f64>> {
        let mut residuals = vec![Vec::new(); self.instances.len()];
        for batch in batches.iter().filter(|batch| batch.calls > 0) {
            let known = self.known.get(batch.kind);
            if let Some(known) = known.filter(|known| known.calls >= LEAST_USUAL) {
                let residual = (batch.calls as f64, batch.ln_mean - known.usual_ln);
                residuals[known.instance].push(residual);
            }
        }
        let told = residuals.into_iter();
        told.map(|mut all| (!all.is_empty()).then(|| weighted_median(&mut all)))
            .collect()
    }

    /// Usual seconds of the reported calls of each instance whose class is fixed, by number of the instance; 0 for
    /// the other instances.
    pub fn work_s(&self, report: &Report<'_>) -> Vec<f64> {
        let mut work_s = vec![0.0; self.instances.len()];
        for batch in report.batches.iter().filter(|batch| batch.calls > 0) {
            let known = self.known.get(batch.kind);
            if let Some(known) = known.filter(|known| known.place.is_none()) {
                let ln_s = match known.calls > 0.0 {
                    true => known.usual_ln,
                    false => batch.ln_mean,
                };
                work_s[known.instance] += batch.calls as f64 / report.told * ln_s.exp();
            }
        }
        work_s
    }

    /// Forgets the usual times of an instance after its time has changed; until they are learnt again, the instance
    /// does not count for the state of the machine.
    pub fn forget(&mut self, instance: &str) {
        let known = self.known.iter_mut();
        for known in known.filter(|known| known.kind.instance == instance) {
            known.calls = 0.0;
        }
    }

    /// The number of an instance.
    pub fn instance(&self, name: &str) -> Option<usize> {
        self.instances.iter().position(|known| known == name)
    }

    /// Usual time of a call: median logarithm of its seconds, and its standard deviation.
    pub fn expected(&self, call: &CallKind) -> Option<(f64, f64)> {
        let known = self.known.iter().find(|known| known.kind == *call);
        let known = known.filter(|known| known.calls > 0.0)?;
        Some((known.usual_ln, USUAL_DEVIATION))
    }

    /// Effect of the state of the machine on instances, in logarithms. With fewer than three instances, any of them
    /// may have changed itself, so only the slowdown or speedup that all of them share counts.
    ///
    /// # Arguments
    /// * `is_asked` - whether an instance counts
    pub fn machine(&self, residuals: &[Option<f64>], is_asked: impl Fn(&str) -> bool) -> f64 {
        let mut asked: Vec<_> = self.residuals_among(residuals, is_asked).collect();
        if asked.len() >= LEAST_OTHERS {
            return weighted_median(&mut asked).clamp(-STATE, STATE);
        }
        let ends = asked.iter().map(|(_, residual)| *residual);
        let least = ends.clone().fold(f64::INFINITY, f64::min);
        let most = ends.fold(f64::NEG_INFINITY, f64::max);
        // A single instance may have changed itself, and a state of the machine explains at most `STATE`.
        match asked.len() < 2 {
            true => 0.0,
            false => (least.max(0.0) + most.min(0.0)).clamp(-STATE, STATE),
        }
    }

    /// Whether enough instances show the state of the machine.
    pub fn is_machine_known(
        &self,
        residuals: &[Option<f64>],
        is_asked: impl Fn(&str) -> bool,
    ) -> bool {
        self.residuals_among(residuals, is_asked).count() >= LEAST_OTHERS
    }

    /// Residuals of the instances that count, each with weight 1.
    fn residuals_among(
        &self,
        residuals: &[Option<f64>],
        is_asked: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (f64, f64)> {
        let asked = self.instances.iter().zip(residuals);
        let asked = asked.filter(move |(instance, _)| is_asked(instance));
        asked.filter_map(|(_, residual)| Some((1.0, (*residual)?)))
    }

    /// # Arguments
    /// * `machine` - state of the machine, which is subtracted before usual times are updated
    pub fn learn(&mut self, batches: &[Batch], machine: f64) {
        for batch in batches.iter().filter(|batch| batch.calls > 0) {
            let Some(known) = self.known.get_mut(batch.kind) else {
                continue;
            };
            let new = batch.calls as f64;
            known.calls = (known.calls + new).min(MOST_USUAL);
            let off = batch.ln_mean - machine - known.usual_ln;
            known.usual_ln += off * (new / known.calls).min(1.0);
        }
    }
}
