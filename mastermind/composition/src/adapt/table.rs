//! The tables that a dispatcher sends calls by, made of where calls of each kind are to go.

use std::collections::BTreeMap;

use mastermind_models::Coordinate;

use super::site::{Dispatched, Site, kind_bounds};
use crate::decide::{Decisions, of_calls};

/// By method: trials as well, each of which is of calls of its kind alone, while those of a kind that is not known yet go where what is
/// believed to be fastest at the nearest one is.
pub fn of(site: &Site, dispatched: &Dispatched) -> BTreeMap<String, Decisions> {
    tables(site, dispatched, true)
}

/// By method, only what is believed to be fastest.
pub fn of_best(site: &Site, dispatched: &Dispatched) -> BTreeMap<String, Decisions> {
    tables(site, dispatched, false)
}

/// Calls of a method, and their classes: those believed to be fastest, and trials.
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
