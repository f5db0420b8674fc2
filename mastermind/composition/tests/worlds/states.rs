//! Worlds in which the whole machine is slower for some steps, as with another tenant: by factors of 2 to 12, for 2 to 12 steps, from a call
//! in the middle of a step on, and not equally for all calls.

use super::fresh::zipf;
use super::{Cost, Rng, Sizes, World, different, normal, power, repeated, site};

/// State of the machine.
#[derive(Default)]
pub struct State {
    /// Steps that it lasts.
    left: u64,
    ln: f64,
    /// Part of the first step after which it begins.
    begins: f64,
}

/// Standard deviation of a call's logarithm around a slow state: two calls of a step had as much on a machine with other tenants.
const UNEQUAL: f64 = 0.3;

impl State {
    /// Begins a step.
    pub fn step(&mut self, rng: &mut Rng, chance: f64) {
        self.begins = 0.0;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 && rng.f64() < chance {
            self.left = rng.u64(2..=12);
            self.ln = 2.0_f64.ln() + rng.f64() * 6.0_f64.ln();
            self.begins = rng.f64();
        }
    }

    /// Factor by which a call is slower.
    ///
    /// # Arguments
    /// * `at` - part of the step's calls before it
    pub fn slows(&self, rng: &mut Rng, at: f64) -> f64 {
        match self.left > 0 && at >= self.begins {
            true => (self.ln + UNEQUAL * normal(rng)).exp(),
            false => 1.0,
        }
    }
}

/// Becomes 60 times slower in the middle of the run.
fn slowing() -> Cost {
    Box::new(|x, done| 2e-8 * x[0] * if done > 0.5 { 60.0 } else { 1.0 })
}

/// Worlds by name, with the least shares of given/total and best fixed/total.
pub fn worlds(steps: u64) -> Vec<(&'static str, World, [f64; 2])> {
    let pair = |given: f64, other: f64| vec![power(given, 1.0), power(other, 1.0)];
    let five = |given: f64, other: f64| {
        let sites = (0..5).map(|at| {
            let sizes: Sizes = [different, repeated, zipf, different, repeated][at];
            site(pair(given, other), sizes, 5)
        });
        World::new(sites.collect(), steps)
    };
    let of = |chance: f64, world: World| World {
        states: chance,
        ..world
    };
    let one = |classes: Vec<Cost>, sizes: Sizes| World::new(vec![site(classes, sizes, 8)], steps);
    let slows = || {
        let sites = vec![
            site(vec![slowing(), power(3e-8, 1.0)], different, 6),
            site(pair(2e-8, 3e-8), different, 6),
            site(pair(2e-8, 4e-8), repeated, 6),
            site(pair(3e-8, 2e-8), zipf, 6),
        ];
        World::new(sites, steps)
    };
    vec![
        (
            "states, one, best",
            of(0.02, one(pair(2e-8, 3e-8), different)),
            [0.955, 0.955],
        ),
        (
            "states, one, slow",
            of(0.02, one(pair(3e-8, 2e-8), different)),
            [1.0, 0.92],
        ),
        (
            "states, two, best",
            of(
                0.02,
                World::new(
                    vec![
                        site(pair(2e-8, 3e-8), different, 8),
                        site(pair(2e-8, 2.6e-8), repeated, 8),
                    ],
                    steps,
                ),
            ),
            [0.97, 0.97],
        ),
        (
            "states, five, best",
            of(0.02, five(2e-8, 3e-8)),
            [0.97, 0.97],
        ),
        (
            "states, five, slow",
            of(0.02, five(3e-8, 2e-8)),
            [1.0, 0.92],
        ),
        (
            "states, often, best",
            of(0.1, five(2e-8, 2.6e-8)),
            [0.97, 0.97],
        ),
        ("states, 60 times", of(0.02, slows()), [1.0, 0.8]),
    ]
}
