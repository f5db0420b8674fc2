//! Worlds that were made after the policy and that none of its constants was chosen on: other shapes of cost over size, other mixes of calls,
//! disturbances that last, and sites that decide each other's calls.

use super::{
    Cost, Rng, SiteOf, Sizes, SizesOfCall, World, different, normal, power, repeated, site,
};

/// A class that is 1.9 times slower once its data leave a cache.
fn cached(a: f64, faster: f64, slower: f64) -> Cost {
    Box::new(move |x, _| {
        let out = 1.0 / (1.0 + (-(x[0].ln() - 1500.0_f64.ln()) * 4.0).exp());
        a * x[0] * (faster + (slower - faster) * out)
    })
}

/// A fixed part and one that grows.
fn affine(a: f64, b: f64) -> Cost {
    Box::new(move |x, _| a + b * x[0])
}

/// Forty sizes, of which a few are most of the calls.
pub(super) fn zipf(rng: &mut Rng, _: usize) -> Vec<f64> {
    let place = (40.0_f64.powf(rng.f64())).floor();
    vec![(30.0 * 1.15_f64.powf((place * 17.0) % 40.0)).round()]
}

/// One call in four hundred is a thousand times as large, and takes two thirds of the time.
fn rare_large(rng: &mut Rng, _: usize) -> Vec<f64> {
    let large = rng.f64() < 0.0025;
    let size = 100.0 * 2.0_f64.powf(rng.f64());
    vec![(if large { 1000.0 * size } else { size }).round()]
}

/// Sizes grow by eight from begin to end.
fn growing(steps: u64, calls: usize) -> SizesOfCall {
    let n = std::cell::Cell::new(0_u64);
    Box::new(move |rng, k| {
        n.set(n.get() + 1);
        // Every run of the world begins anew.
        let of_run = steps * calls as u64;
        let done = (n.get() % of_run) as f64 / of_run as f64;
        vec![(different(rng, k)[0] * 8.0_f64.powf(done)).round()]
    })
}

/// Refined meshes: every fiftieth step has calls of twenty times the size.
fn in_turns(calls: usize) -> SizesOfCall {
    let n = std::cell::Cell::new(0);
    Box::new(move |rng, _| {
        n.set(n.get() + 1);
        let step = n.get() / calls;
        let size = 200.0 * (0.3 * normal(rng)).exp();
        vec![(if step % 50 == 49 { 20.0 * size } else { size }).round()]
    })
}

fn product(a: f64, b: f64) -> Cost {
    Box::new(move |x, _| a + b * x[0] * x[1])
}

fn sum(a: f64, b: f64) -> Cost {
    Box::new(move |x, _| a + b * (x[0] + x[1]).powf(1.6))
}

fn rectangles(rng: &mut Rng, _: usize) -> Vec<f64> {
    vec![
        (20.0 * (0.8 * normal(rng)).exp()).round().max(1.0),
        (40.0 * 20.0_f64.powf(rng.f64())).round(),
    ]
}

/// A class whose time grows with the part of the run that is done.
fn drifting(a: f64, by: f64) -> Cost {
    Box::new(move |x, done| a * x[0] * by.powf(done))
}

/// Worlds by name, with the least shares of given/total and best fixed/total in 2000 steps.
pub fn worlds(steps: u64) -> Vec<(&'static str, World, [f64; 2])> {
    let one = |classes: Vec<Cost>, sizes: Sizes| World::new(vec![site(classes, sizes, 8)], steps);
    let of = |classes: Vec<Cost>, sizes: SizesOfCall, calls: usize| SiteOf {
        classes,
        sizes,
        calls,
        grown_by: None,
    };
    let alone = |site: SiteOf| World::new(vec![site], steps);
    let pair = |given: f64, other: f64| vec![power(given, 1.0), power(other, 1.0)];
    let eight = |given: f64, other: f64| {
        let sites = (0..8).map(|at| {
            let sizes: Sizes = [zipf, repeated, different, rare_large][at % 4];
            site(pair(given, other), sizes, 3)
        });
        World::new(sites.collect(), steps)
    };
    // The classes of the first site decide what the second one gets; the second has two classes of its own.
    let neighbours = |first: [f64; 2], second: [f64; 2], by: [f64; 2], sizes: Sizes| {
        let mut callee = site(pair(second[0], second[1]), sizes, 6);
        callee.grown_by = Some((0, by.to_vec()));
        let caller = site(pair(first[0], first[1]), repeated, 4);
        let third = site(pair(2e-8, 3e-8), zipf, 4);
        World::new(vec![caller, callee, third], steps)
    };
    vec![
        (
            "cache, best",
            one(vec![power(2e-8, 1.0), cached(2e-8, 0.8, 1.9)], different),
            [0.97, 0.97],
        ),
        (
            "cache, slow",
            one(vec![cached(2e-8, 0.8, 1.9), power(2e-8, 1.0)], different),
            [1.0, 0.97],
        ),
        (
            "zipf, best",
            one(vec![affine(2e-6, 1e-8), affine(1e-7, 3e-8)], zipf),
            [0.97, 0.97],
        ),
        (
            "zipf, slow",
            one(vec![affine(1e-7, 3e-8), affine(1e-7, 1.7e-8)], zipf),
            [1.0, 0.97],
        ),
        (
            "rare large, best",
            one(vec![affine(1e-7, 2e-8), affine(5e-8, 3.6e-8)], rare_large),
            [0.97, 0.97],
        ),
        (
            "rare large, slow",
            one(vec![affine(5e-8, 3.6e-8), affine(1e-7, 2e-8)], rare_large),
            [1.0, 0.9],
        ),
        (
            "growing, best",
            alone(of(
                vec![power(2e-8, 1.0), power(6e-8, 0.8)],
                growing(steps, 8),
                8,
            )),
            [0.97, 0.97],
        ),
        (
            "growing, slow",
            alone(of(
                vec![power(2e-8, 1.1), power(2.4e-8, 1.0)],
                growing(steps, 8),
                8,
            )),
            [1.0, 0.97],
        ),
        (
            "in turns, best",
            alone(of(pair(2e-8, 3e-8), in_turns(8), 8)),
            [0.97, 0.97],
        ),
        (
            "in turns, slow",
            alone(of(pair(3e-8, 2e-8), in_turns(8), 8)),
            [1.0, 0.97],
        ),
        (
            "stretches, best",
            World {
                stretch: (0.02, 6, 1.8),
                ..one(pair(2e-8, 2.6e-8), repeated)
            },
            [0.955, 0.955],
        ),
        (
            "stretches, slow",
            World {
                stretch: (0.02, 6, 1.8),
                ..one(pair(3e-8, 2e-8), different)
            },
            [1.0, 0.95],
        ),
        (
            "noise grows, best",
            World {
                noisier: |d| 1.0 + 8.0 * d,
                ..one(pair(2e-8, 2.6e-8), different)
            },
            [0.97, 0.97],
        ),
        (
            "noise grows, slow",
            World {
                noisier: |d| 1.0 + 8.0 * d,
                ..one(pair(3e-8, 2e-8), different)
            },
            [1.0, 0.97],
        ),
        (
            "drift, best",
            one(vec![power(2e-8, 1.0), drifting(3e-8, 1.5)], repeated),
            [0.97, 0.97],
        ),
        (
            "drift of the given",
            one(vec![drifting(2e-8, 4.0), power(2.6e-8, 1.0)], repeated),
            [1.0, 0.9],
        ),
        (
            "machine drifts, best",
            World {
                machine: |d| 1.0 + d,
                ..one(pair(2e-8, 2.6e-8), different)
            },
            [0.97, 0.97],
        ),
        (
            "warming up, slow",
            World {
                warm: (12, 4.0),
                start_s: 1e-3,
                ..one(pair(3.2e-8, 2e-8), different)
            },
            [0.97, 0.95],
        ),
        (
            "rectangles, best",
            one(vec![product(2e-6, 1e-9), sum(1e-7, 2e-9)], rectangles),
            [0.97, 0.97],
        ),
        (
            "rectangles, slow",
            one(vec![sum(1e-7, 2e-9), product(2e-6, 1e-9)], rectangles),
            [0.97, 0.95],
        ),
        ("eight sites, best", eight(2e-8, 3e-8), [0.97, 0.97]),
        ("eight sites, slow", eight(3e-8, 2e-8), [1.0, 0.85]),
        (
            "near ties, best",
            one(pair(2e-8, 2.05e-8), different),
            [0.97, 0.97],
        ),
        (
            "neighbour, best",
            neighbours([2e-8, 1.4e-8], [2e-8, 2.8e-8], [1.0, 2.0], repeated),
            [0.97, 0.97],
        ),
        (
            "neighbour, slow",
            neighbours([2e-8, 2.6e-8], [2.8e-8, 2e-8], [2.0, 1.0], repeated),
            [1.0, 0.8],
        ),
        (
            "neighbour, varying",
            neighbours([2e-8, 1.4e-8], [2e-8, 2.8e-8], [1.0, 2.0], different),
            [0.97, 0.97],
        ),
    ]
}
