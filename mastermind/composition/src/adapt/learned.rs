//! Estimates that a run leaves for the next one.
//!
//! The file contains the median times of each class at each call kind. On another day the machine may be slower as a
//! whole, so these times are used as ratios between classes: the first calls of the present class give a common
//! correction factor, and each remaining estimate then counts as a few calls, which new calls outweigh. A class known
//! to be faster is put in after the first steps and confirmed by a few calls; a class known to be slower is not tried
//! again.

use mastermind_models::Coordinate;
use serde::{Deserialize, Serialize};

use super::belief::Kept;
use super::site::{Answered, CALLS_AFTER_CHANGE, Site};
use super::{Adapter, CallKind, weighted_median};

/// Estimates of all sites.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    sites: Vec<LearnedSite>,
}

/// Estimates of the classes at one instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LearnedSite {
    instance: String,
    is_dispatched: bool,
    /// Instances that answer, and their classes.
    arms: Vec<(String, String)>,
    kinds: Vec<LearnedKind>,
}

/// Calls of one method at about one coordinate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LearnedKind {
    port_method: String,
    coordinate: Coordinate,
    is_own: bool,
    /// By class; `None` for a class that answered no such call.
    arms: Vec<Option<Kept>>,
}

impl Learned {
    /// All classes of the sites.
    pub fn classes(&self) -> impl Iterator<Item = &str> {
        let arms = self.sites.iter().flat_map(|site| &site.arms);
        arms.map(|(_, class)| class.as_str())
    }

    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.sites.iter().all(|site| site.kinds.is_empty())
    }

    /// Drops the estimates of a class.
    pub fn forget(&mut self, class: &str) {
        for site in &mut self.sites {
            let places = site.arms.iter().enumerate();
            for (place, _) in places.filter(|(_, arm)| arm.1 == class) {
                for kind in &mut site.kinds {
                    if let Some(kept) = kind.arms.get_mut(place) {
                        *kept = None;
                    }
                }
            }
        }
    }
}

impl Adapter {
    /// The present estimates, for the next run.
    pub fn learned(&self) -> Learned {
        Learned {
            sites: self.sites.iter().map(learned).collect(),
        }
    }

    /// Starts from the estimates of an earlier run, for the instances and classes that this run has as well. Call it
    /// before the first report.
    pub fn recall(&mut self, learned: &Learned) {
        for site in &mut self.sites {
            let is_meant = |known: &&LearnedSite| {
                known.instance == site.instance && known.is_dispatched == site.dispatched.is_some()
            };
            if let Some(known) = learned.sites.iter().find(is_meant) {
                recall(site, known, &*self.predict);
            }
        }
    }
}

fn learned(site: &Site) -> LearnedSite {
    let arms = site.arms.iter();
    let arms = arms.map(|arm| (arm.instance.clone(), arm.class.clone()));
    let kinds = site.firsts.iter().enumerate();
    let kinds = kinds.map(|(kind, (port_method, coordinate))| LearnedKind {
        port_method: port_method.clone(),
        coordinate: coordinate.clone(),
        is_own: site.is_own[kind],
        arms: (0..site.arms.len())
            .map(|arm| site.beliefs.kept(arm, kind))
            .collect(),
    });
    LearnedSite {
        instance: site.instance.clone(),
        is_dispatched: site.dispatched.is_some(),
        arms: arms.collect(),
        kinds: kinds.collect(),
    }
}

fn recall(site: &mut Site, learned: &LearnedSite, predict: &super::Predict<'_>) {
    let places = learned.arms.iter();
    let places: Vec<_> = places
        .map(|(instance, class)| site.arm(instance, class))
        .collect();
    for known in &learned.kinds {
        let Some(arm) = places.iter().zip(&known.arms).find_map(|(place, kept)| {
            kept.as_ref()?;
            *place
        }) else {
            continue;
        };
        let call = CallKind {
            instance: site.arms[arm].instance.clone(),
            class: site.arms[arm].class.clone(),
            port_method: known.port_method.clone(),
            coordinate: known.coordinate.clone(),
            is_own: known.is_own,
        };
        let kind = site.kind(&call, arm, predict).kind;
        for (place, kept) in places.iter().zip(&known.arms) {
            if let (Some(arm), Some(kept)) = (place, kept) {
                site.beliefs.recall(*arm, kind, *kept, CALLS_AFTER_CHANGE);
                site.arms[*arm].is_recalled = true;
            }
        }
    }
    site.recalled = site.arms.iter().any(|arm| arm.is_recalled).then(Vec::new);
}

impl Site {
    /// Compares the first calls of the present class with the estimates of the earlier run and shifts those of all
    /// classes by the median difference: the speed of the machine may have changed since.
    ///
    /// # Returns
    /// Whether these calls were used for the calibration.
    pub(super) fn calibrate(&mut self, taken: Answered) -> bool {
        let (arm, kind) = (taken.arm, taken.kind);
        let Some(kept) = self.beliefs.seen_ln(arm, kind) else {
            return false;
        };
        let Some(off) = &mut self.recalled else {
            return false;
        };
        off.push((taken.calls, taken.ln_mean - kept));
        let n: f64 = off.iter().map(|(calls, _)| calls).sum();
        if n < CALLS_AFTER_CHANGE {
            return true;
        }
        let by = weighted_median(off);
        for arm in 0..self.arms.len() {
            self.beliefs.shift(arm, by, CALLS_AFTER_CHANGE);
        }
        self.recalled = None;
        true
    }
}
