//! Builds a dispatcher's tables from the destination of each call kind.

use std::collections::BTreeMap;

use mastermind_models::Coordinate;

use super::site::{Dispatched, Site, kind_bounds};
use crate::decide::{Decisions, of_calls};

/// Table of each method, including trials. A trial covers calls of its own kind alone; calls of an unknown kind go to
/// the class believed to be fastest at the nearest kind.
pub fn of(site: &Site, dispatched: &Dispatched) -> BTreeMap<String, Decisions> {
    tables(site, dispatched, true)
}

/// Table of each method with the classes believed to be fastest, without trials.
pub fn of_best(site: &Site, dispatched: &Dispatched) -> BTreeMap<String, Decisions> {
    tables(site, dispatched, false)
}

/// Each call kind of a method with its destination: the class believed to be fastest, and the explored one.
#[derive(Default)]
struct OfMethod<'a> {
    best: Vec<(&'a Coordinate, usize)>,
    trials: Vec<(&'a Coordinate, usize)>,
}

fn tables(site: &Site, dispatched: &Dispatched, with_trials: bool) -> BTreeMap<String, Decisions> {
    let instances = site.arms.iter().map(|arm| arm.instance.clone());
    let instances: Vec<String> = instances.collect();
    let sending = &dispatched.sending;
    let mut methods: BTreeMap<&String, OfMethod<'_>> = BTreeMap::new();
    for (kind, (method, at)) in site.firsts.iter().enumerate() {
        let of_method = methods.entry(method).or_default();
        of_method.best.push((at, sending.best(kind)));
        if with_trials && sending.to(kind) != sending.best(kind) {
            of_method.trials.push((at, sending.to(kind)));
        }
    }
    let methods = methods.into_iter();
    methods
        .map(|(method, of)| {
            (
                method.clone(),
                of_calls(&of.best, &of.trials, kind_bounds, &instances),
            )
        })
        .collect()
}
