//! Tables that dispatchers send calls by, while they change.

use std::collections::{BTreeMap, BTreeSet};

use cca_core::{DecisionEnd, DecisionStep, DecisionTable, Framework, FrameworkError, KeptWays};
use mastermind_composition::adapt::{Act, Decision, DispatchedSite, Tables};
use mastermind_composition::{Assembly, Decisions, Next, Split};

/// The dispatchers of an assembly, each with the table that the run begins with.
pub type Dispatchers = BTreeMap<String, DecisionTable>;

/// What may change: their instances, and the instances and classes that they send calls to.
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

/// The steps by which a decision table has calls sent as `decisions` say.
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

/// Another table for a dispatcher: calls of methods that are not told of go where they went.
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

/// Providers that are tried for the first time: calls that fail in one are to be answered by the class before.
#[derive(Default)]
pub struct Tried(BTreeSet<(String, String)>);

impl Tried {
    /// Instances and classes that are to be guarded from now on, each with the ways to who answered before.
    ///
    /// # Errors
    /// The framework's.
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
