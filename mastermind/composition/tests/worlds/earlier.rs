//! More worlds: other mixes of sizes, jumps, five classes, one power of a size more, a machine that is busy for half of a run.

use super::{Cost, SiteOf, Sizes, SizesOfCall, World, different, normal, power, repeated, site};

/// Sizes of all calls of a run: eight times as large from the middle of it on.
fn jumping(steps: u64, calls: usize) -> SizesOfCall {
    let n = std::cell::Cell::new(0);
    Box::new(move |rng, k| {
        n.set(n.get() + 1);
        let late = n.get() % (steps * calls as u64) > steps * calls as u64 / 2;
        let size = different(rng, k)[0];
        vec![if late { 8.0 * size } else { size }]
    })
}

/// Worlds that no constant was chosen on.
///
/// Where the given class takes up to 40 times as long, a tenth of the run is over before the other one may get large calls.
pub fn worlds(steps: u64) -> Vec<(&'static str, World, [f64; 2])> {
    let lognormal: Sizes = |rng, _| vec![(200.0 * (1.2 * normal(rng)).exp()).round().max(1.0)];
    let cliff = |a: f64, b: f64| -> Cost {
        Box::new(move |x, _| {
            if x[0].log2().fract() == 0.0 {
                b * x[0]
            } else {
                a * x[0]
            }
        })
    };
    let powers_and_others: Sizes = |rng, k| {
        let power = 2.0_f64.powf((6.0 + 6.0 * rng.f64()).round());
        vec![if k % 2 == 0 { power } else { power + 3.0 }]
    };
    let one = |classes: Vec<Cost>, sizes: Sizes| World::new(vec![site(classes, sizes, 8)], steps);
    let jumps = |given: f64, other: f64| {
        let sites = (0..3).map(|_| SiteOf {
            classes: vec![power(given, 1.0), power(other, 1.0), power(4e-8, 1.0)],
            sizes: jumping(steps, 6),
            calls: 6,
            grown_by: None,
        });
        World::new(sites.collect(), steps)
    };
    let five = |order: [f64; 5]| order.into_iter().map(|a| power(a, 1.0)).collect();
    vec![
        (
            "lognormal, best",
            one(vec![power(2e-8, 1.0), power(3e-8, 1.0)], lognormal),
            [0.97, 0.97],
        ),
        (
            "lognormal, slow",
            one(vec![power(3e-8, 1.0), power(2e-8, 1.0)], lognormal),
            [1.0, 0.97],
        ),
        (
            "cliffs, best",
            one(
                vec![power(2e-8, 1.0), cliff(1.8e-8, 6e-8)],
                powers_and_others,
            ),
            [0.97, 0.97],
        ),
        (
            "cliffs, slow",
            one(
                vec![cliff(1.8e-8, 6e-8), power(2e-8, 1.0)],
                powers_and_others,
            ),
            [1.0, 0.97],
        ),
        ("jump, best", jumps(2e-8, 3.2e-8), [0.97, 0.97]),
        ("jump, slow", jumps(3.2e-8, 2e-8), [1.0, 0.85]),
        (
            "five classes, best",
            one(five([2e-8, 3e-8, 5e-8, 1e-7, 2.4e-8]), different),
            [0.97, 0.97],
        ),
        (
            "five classes, slow",
            one(five([5e-8, 3e-8, 2e-8, 1e-6, 1e-7]), different),
            [1.0, 0.95],
        ),
        (
            "one power more, best",
            one(vec![power(2e-8, 1.0), power(2e-10, 2.0)], different),
            [0.97, 0.97],
        ),
        (
            "one power more, slow",
            one(vec![power(2e-10, 2.0), power(2e-8, 1.0)], different),
            [1.0, 0.8],
        ),
        (
            "busy half, best",
            World {
                delayed: (0.3, 3e-4),
                machine: |d| if d > 0.5 { 1.8 } else { 1.0 },
                ..one(vec![power(2e-8, 1.0), power(3e-8, 1.0)], repeated)
            },
            [0.97, 0.97],
        ),
        (
            "busy half, slow",
            World {
                delayed: (0.3, 3e-4),
                machine: |d| if d > 0.5 { 1.8 } else { 1.0 },
                ..one(vec![power(3e-8, 1.0), power(2e-8, 1.0)], repeated)
            },
            [1.0, 0.95],
        ),
    ]
}
