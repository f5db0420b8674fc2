//! The tables that a dispatcher sends calls by, made of where calls of each kind are to go.

use std::collections::BTreeMap;

use mastermind_models::{Coordinate, Value};

use super::site::{Dispatched, KINDS_AN_OCTAVE, Site};
use crate::decide::{Decisions, of_calls};

/// By method: trials as well, each of which is of calls of its kind alone, while those of a kind that is not known yet go where what is
/// believed to be fastest at the nearest one is.
pub fn of(site: &Site, dispatched: &Dispatched) -> BTreeMap<String, Decisions> {
    let sending = &dispatched.sending;
    let kinds = dispatched.kinds.iter().enumerate();
    let mut calls: Vec<(&str, Coordinate, usize)> = Vec::new();
    for (kind, (method, at)) in kinds {
        calls.push((method, at.clone(), sending.to(kind)));
        if sending.is_trial(kind, sending.to(kind)) {
            let beside = beside(at).into_iter();
            calls.extend(beside.map(|at| (method.as_str(), at, sending.best(kind))));
        }
    }
    tables(site, &calls)
}

/// By method, only what is believed to be fastest.
pub fn of_best(site: &Site, dispatched: &Dispatched) -> BTreeMap<String, Decisions> {
    let kinds = dispatched.kinds.iter().enumerate();
    let best = kinds.map(|(kind, (method, at))| {
        let to = dispatched.sending.best(kind);
        (method.as_str(), at.clone(), to)
    });
    tables(site, &best.collect::<Vec<_>>())
}

/// Sizes that are just no longer of the kind of a call.
fn beside(at: &Coordinate) -> Vec<Coordinate> {
    let factor = (1.0 / KINDS_AN_OCTAVE).exp2();
    let mut found = Vec::new();
    for (name, value) in &at.values {
        if let Value::Number(x) = value {
            let [below, above] = match *x >= 1.0 {
                true => [x / factor, x * factor],
                false => [x - (factor - 1.0), x + (factor - 1.0)],
            };
            found.extend([below, above].map(|x| at.clone().with(name, x)));
        }
    }
    found
}

fn tables(site: &Site, calls: &[(&str, Coordinate, usize)]) -> BTreeMap<String, Decisions> {
    let instances = site.arms.iter().map(|arm| arm.instance.clone());
    let instances: Vec<String> = instances.collect();
    let mut of_methods: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (method, at, to) in calls {
        of_methods.entry(method).or_default().push((at, *to));
    }
    let methods = of_methods.into_iter();
    methods
        .map(|(method, calls)| (method.to_owned(), of_calls(&calls, &instances)))
        .collect()
}
