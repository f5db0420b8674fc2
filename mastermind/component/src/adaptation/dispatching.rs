//! Changes of dispatchers' tables during a run.

use std::collections::{BTreeMap, BTreeSet};

use cca_core::{DecisionEnd, DecisionStep, DecisionTable, Framework, FrameworkError, KeptWays};
use mastermind_composition::adapt::{Act, Decision, DispatchedSite, Tables};
use mastermind_composition::{Assembly, Decisions, Next, Split};

/// The dispatchers of an assembly, each with its initial table.
pub type Dispatchers = BTreeMap<String, DecisionTable>;

/// The sites of the dispatchers: their instances, and the instances and classes to which they send calls.
pub fn sites(dispatchers: &Dispatchers, assembly: &Assembly) -> Vec<DispatchedSite> {
    let sites = dispatchers.iter().map(|(instance, table)| {
        let classes = table.providers.iter();
        let classes = classes.filter_map(|name| Some((name.clone(), assembly.get(name)?.clone())));
        DispatchedSite {
            instance: instance.clone(),
            providers: classes.collect(),
        }
    });
    sites.collect()
}

/// Converts `decisions` to the steps of a decision table.
///
/// # Arguments
/// * `provider` - the instance for a name in `decisions`
pub fn decision_steps(
    decisions: &Decisions,
    provider: impl Fn(&str) -> String,
) -> Vec<DecisionStep> {
    let end = |next: &Next| match next {
        Next::Step(place) => DecisionEnd::Step(*place),
        Next::Class(name) => DecisionEnd::Provider(provider(name)),
    };
    let step = |step: &mastermind_composition::DecisionStep| {
        let (bounds, labels) = match &step.split {
            Split::Bounds(bounds) => (bounds.clone(), Vec::new()),
            Split::Labels(labels) => (Vec::new(), labels.clone()),
        };
        DecisionStep {
            parameter: step.parameter.clone(),
            bounds,
            labels,
            next: step.next.iter().map(end).collect(),
        }
    };
    decisions.steps.iter().map(step).collect()
}

/// A changed table for a dispatcher; methods without new decisions keep theirs.
pub fn changed(dispatchers: &Dispatchers, (instance, tables): &Tables) -> Option<DecisionTable> {
    let mut table = dispatchers.get(instance)?.clone();
    for (port_method, decisions) in tables {
        let method = port_method
            .split_once('.')
            .map_or(port_method.as_str(), |(_, method)| method);
        let steps = decision_steps(decisions, str::to_owned);
        table.methods.insert(method.into(), steps);
    }
    table.methods.retain(|_, steps| !steps.is_empty());
    Some(table)
}

/// Providers that have been tried: from its first trial on, the previous class answers calls that fail in a provider.
#[derive(Default)]
pub struct Tried(BTreeSet<(String, String)>);

impl Tried {
    /// Instances and classes to guard from now on, each with the ways to the previous class.
    ///
    /// # Errors
    /// Errors of the framework.
    pub fn new_among(
        &mut self,
        decided: &[Decision],
        dispatchers: &Dispatchers,
        assembly: &Assembly,
        framework: &Framework,
    ) -> Result<Vec<(String, String, KeptWays)>, FrameworkError> {
        let mut new = Vec::new();
        for decision in decided {
            let is_trial = decision.act == Act::Try && decision.calls.is_some();
            let Some(table) = dispatchers.get(&decision.site).filter(|_| is_trial) else {
                continue;
            };
            let of_class = |class: &str| {
                let mut providers = table.providers.iter();
                providers.find(|name| assembly.get(*name).is_some_and(|known| known == class))
            };
            let ends = (of_class(&decision.to), of_class(&decision.from));
            let (Some(tried), Some(before)) = ends else {
                continue;
            };
            if self.0.insert((decision.site.clone(), tried.clone())) {
                let ways = framework.keep_ways_to(before)?;
                new.push((tried.clone(), decision.to.clone(), ways));
            }
        }
        Ok(new)
    }
}
