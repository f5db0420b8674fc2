//! Passes the limits of trials on to the proxies: which calls an explored class gets until the next decision.
//!
//! ```text
//! Adapter::limits ── Limits { instance: "flux", class: "B", .. } ──▶ the proxy of "flux": calls that are not admitted go to the class before
//! ```

use std::collections::{BTreeMap, BTreeSet};

use cca_core::KeptWays;
use mastermind_composition::adapt::Limits;

use super::{Adaptation, State};
use crate::mastermind::locked;

impl Adaptation {
    /// Limits trials at stateless instances to calls whose cost the budget covers. Only in runs of one rank: ranks
    /// that send different calls to a class would wait for one another in it.
    pub(super) fn limit_trials(&self, state: &mut State) {
        let sites: Vec<String> = state.classes().into_keys().collect();
        for site in sites.iter().filter(|_| self.fuse.is_some()) {
            if self.framework.may_share_steps(site).unwrap_or(false) {
                state.adapter.limit_trials(site);
            }
        }
    }

    /// Sets the calls that the explored classes get until the next decision, and lifts the limits of all other
    /// classes.
    pub(super) fn limit(&self, state: &mut State) {
        let on_trial: BTreeSet<&str> = state.adapter.on_trial().collect();
        state
            .ways_back
            .retain(|site, _| on_trial.contains(site.as_str()));
        let limits = state.adapter.limits();
        let limits = limits
            .iter()
            .filter_map(|limits| Some((limits, state.ways_back.get(&limits.instance)?)));
        let limits: Vec<_> = limits.collect();
        let names = limits
            .iter()
            .map(|(limits, _)| (limits.instance.clone(), limits.class.clone()));
        let new: BTreeMap<String, String> = names.collect();
        for (instance, class) in &state.limited {
            if new.get(instance) != Some(class) {
                self.admit(instance, class, None);
            }
        }
        for (limits, before) in limits {
            self.admit(&limits.instance, &limits.class, Some((limits, before)));
        }
        state.limited = new;
    }

    pub(super) fn admit(&self, instance: &str, class: &str, limits: Option<(&Limits, &KeptWays)>) {
        // SAFETY: `kept` and `admitted` hold it until the adaptation is dropped, after the end of the application.
        let admitted = unsafe { self.mastermind.limit(instance, class, limits) };
        locked(&self.admitted).extend(admitted);
        let before = limits.map(|(_, before)| before.clone());
        locked(&self.kept).extend(before);
    }
}
