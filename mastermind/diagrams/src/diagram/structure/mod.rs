//! A graph to a flow of elements.
//!
//! Loops are natural ones: an edge back to a node that all paths to it lead through. Within a loop, and
//! outside of all, the remaining graph is acyclic, and the branches of a decision or fork end where all its
//! paths meet again. A loop with one exit, at its begin, becomes a `while`; any other one has a variable that
//! decides about another round. A graph with a loop of several entries is run node by node.
//!
//! # Source
//! A. Aho et al., "Compilers", 2nd edition, section 9.6 (dominators, natural loops).

mod dispatch;
mod loops;
mod rules;
mod walk;

use super::collect::Collected;
use super::graph::Graph;
use super::prose::settle;
use mastermind_programs::{Element, Finding, Rule, Variable};

/// Differences between the readers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    /// Several edges into one action are alternatives. In UML it waits for all of them.
    pub(crate) merges_by_itself: bool,
    /// Forks, joins, decisions and merges may be left out, as UML allows.
    pub(crate) leaves_out_nodes: bool,
    /// Several edges out of an action are alternatives. In UML they are all taken.
    pub(crate) parts_by_decision: bool,
}

/// A flow, and the variables it needs.
#[derive(Debug, Default)]
pub(crate) struct Structured {
    pub(crate) flow: Vec<Element>,
    pub(crate) locals: Vec<Variable>,
}

/// The flow of an activity's graph; an empty one if a finding gives the reason.
///
/// # Arguments
/// * `place` - the activity
pub(crate) fn structure(
    graph: &Graph,
    manners: Manners,
    place: &str,
    out: &mut Collected,
) -> Structured {
    let mut names = walk::Names::default();
    walk::structured(graph, manners, place, &mut names, out)
}

/// The flow of a graph that may leave out forks, joins, decisions and merges.
///
/// Several edges out of an action are a fork, as in UML; if that gives no flow, its author may have meant one of them.
///
/// # Arguments
/// * `declares` - as for [`settle`]
/// * `place` - the activity
pub(crate) fn understood(
    graph: &Graph,
    declares: bool,
    place: &str,
    out: &mut Collected,
) -> Structured {
    let with = |parts_by_decision| {
        let manners = Manners {
            merges_by_itself: false,
            leaves_out_nodes: true,
            parts_by_decision,
        };
        let mut own = Collected::default();
        let mut graph = graph.clone();
        settle(&mut graph, manners, declares, &mut own);
        (structure(&graph, manners, place, &mut own), own)
    };
    let is_tangled = |one: &Finding| matches!(one.rule, Rule::ForkWithoutJoin | Rule::Unstructured);
    let mut found = with(false);
    if found.1.findings.iter().any(is_tangled) {
        let other = with(true);
        if other.1.findings.is_empty() {
            found = other;
        }
    }
    let (structured, own) = found;
    out.findings.extend(own.findings);
    out.warnings.extend(own.warnings);
    structured
}
