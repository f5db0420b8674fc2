//! Spikes at sizes that were called once or twice are seen by the sizes beside, and nothing else is taken for one.

use mastermind_models::{
    Coordinate, Metric, Note, Parameter, SampleSet, Samples, Statistic, Total, fit, predict,
};
use proptest::prelude::*;

/// Coordinates and seconds.
type Calls = Vec<(Vec<f64>, f64)>;

/// Calls of one method: the values of `x`, or of `x` and `y`, and seconds.
fn samples(statistic: Statistic, calls: &[(Vec<f64>, f64)]) -> Samples {
    let parameters = [Parameter::real("x", ""), Parameter::real("y", "")];
    let mut set = SampleSet::new(Metric::Wall).with_statistic(statistic);
    let n_params = calls[0].0.len();
    let method = set.declare("m", &parameters[..n_params]).unwrap();
    for (x, seconds) in calls {
        set.push(method, x, *seconds).unwrap();
    }
    set.finish().remove(0)
}

/// One call of each size.
fn once(sizes: &[f64], mut law: impl FnMut(f64) -> f64) -> Calls {
    sizes.iter().map(|&x| (vec![x], law(x))).collect()
}

fn sizes(n: u32) -> Vec<f64> {
    (0..n).map(f64::from).collect()
}

/// The coordinates that calls are set aside at, each as often as calls are.
fn aside(samples: &Samples) -> Vec<Vec<f64>> {
    let counts = samples.times.iter().zip(&samples.kept);
    let lost = counts.map(|(all, kept)| (all.count - kept.count) as usize);
    let each = samples.coordinates.iter().zip(lost);
    each.flat_map(|(x, n)| vec![x.clone(); n]).collect()
}

fn found(calls: &[(Vec<f64>, f64)]) -> Vec<Vec<f64>> {
    aside(&samples(Statistic::Mean, calls))
}

/// About 1, up to `spread` more or less, of a generator that is seeded.
fn noise(spread: f64, seed: u64) -> impl FnMut() -> f64 {
    let mut uniform = uniform(seed);
    move || 1.0 + spread * (2.0 * uniform() - 1.0)
}

fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[test]
fn one_call_preempted_at_a_size_of_its_own_leaves_the_fit_and_stays_in_the_total() {
    let mut noise = noise(0.05, 3);
    let mut calls = once(&sizes(100), |_| 180e-9 * noise());
    let clean: f64 = calls.iter().map(|(_, seconds)| seconds).sum();
    calls[67].1 = 114_910e-9;
    let total_s: f64 = calls.iter().map(|(_, seconds)| seconds).sum();
    for statistic in [Statistic::Mean, Statistic::Median, Statistic::Minimum] {
        let samples = samples(statistic, &calls);
        assert_eq!(aside(&samples), [[67.0]], "{statistic}");
        let model = fit(&samples).unwrap().remove(0);
        let at = |x: f64| predict(&model, &Coordinate::new().with("x", x)).unwrap();
        assert!((at(67.0).value_s / 180e-9 - 1.0).abs() < 0.05, "{model:?}");
        assert_eq!((model.n_points, model.n_records), (99, 100));
        let is_told = |note: &Note| matches!(note, Note::SetAside { n_records: 1, percent } if *percent > 80.0);
        assert!(model.notes.iter().any(is_told), "{:?}", model.notes);
        let others = |note: &Note| matches!(note, Note::Thinned { .. });
        assert!(!model.notes.iter().any(others), "{:?}", model.notes);
        let mut total = Total::new(&model);
        for (x, _) in &calls {
            total.add(&Coordinate::new().with("x", x[0]), 1.0).unwrap();
        }
        let expected_s = if statistic == Statistic::Mean {
            total_s
        } else {
            clean
        };
        let told_s = total.time_s();
        assert!(
            (told_s / expected_s - 1.0).abs() < 0.05,
            "{statistic}: {told_s} {expected_s}"
        );
    }
}

#[test]
fn the_longer_of_two_calls_is_a_spike_and_two_long_ones_are_none() {
    let mut calls: Calls = Vec::new();
    let mut noise = noise(0.05, 5);
    for x in 1..=20 {
        calls.extend([(); 2].map(|()| (vec![f64::from(x)], f64::from(x) * noise())));
    }
    assert!(found(&calls).is_empty());
    calls[17].1 *= 30.0;
    let kept = samples(Statistic::Mean, &calls);
    assert_eq!(aside(&kept), [[9.0]]);
    assert_eq!(kept.kept[8].mean_s, calls[16].1);
    calls[16].1 *= 30.0;
    assert!(found(&calls).is_empty());
    calls[16].1 = calls[17].1;
    assert!(found(&calls).is_empty(), "equal to the last digit");
}

#[test]
fn what_warms_up_is_seen_at_the_first_size_where_no_law_is_as_steep() {
    let mut noise = noise(0.02, 7);
    let mut calls = once(&sizes(100), |x| 1e-7 * (2.0 + 0.01 * x) * noise());
    calls[0].1 *= 40.0;
    assert_eq!(found(&calls), [[0.0]]);
    calls[1].1 *= 300.0;
    assert_eq!(found(&calls), [[0.0], [1.0]]);
    // The same at the last size is how large sizes are.
    calls.truncate(60);
    calls[0].1 = 2e-7;
    calls[1].1 = 2e-7;
    calls[59].1 *= 40.0;
    assert!(found(&calls).is_empty());
}

#[test]
fn laws_steps_and_resonances_are_no_spikes() {
    let power = |base: f64| -> Vec<f64> { (0..14).map(|k| base.powi(k)).collect() };
    let is_prime = |x: f64| x > 1.0 && (2..x as u32).all(|k| !(x as u32).is_multiple_of(k));
    let cases: Vec<(&str, Calls)> = vec![
        ("10 / p", once(&power(10.0), |p| 10.0 / p)),
        ("1 / p^3", once(&power(2.0), |p| 1e-9 + p.powi(-3))),
        (
            "1 / p^2 beside a constant",
            once(&sizes(31)[1..], |p| 1e-3 + p.powi(-2)),
        ),
        ("n^3", once(&power(4.0), |n| n.powi(3))),
        ("exp", once(&sizes(40), |x| 1e-3 + (-x).exp())),
        (
            "stairs",
            once(&sizes(100), |x| 10_f64.powf((x / 30.0).floor())),
        ),
        (
            "a cliff at the last",
            once(&sizes(30), |x| if x > 28.0 { 50.0 } else { 1.0 }),
        ),
        (
            "two slow sizes at first",
            once(&sizes(30), |x| if x < 2.0 { 50.0 } else { 1.0 }),
        ),
        (
            "a high plateau of two",
            once(
                &sizes(30),
                |x| if x == 9.0 || x == 10.0 { 50.0 } else { 1.0 },
            ),
        ),
        (
            "even and odd",
            once(&sizes(60), |x| if x % 2.0 == 0.0 { 20.0 } else { 1.0 }),
        ),
        (
            "primes",
            once(&sizes(200), |x| if is_prime(x) { x.max(4.0) } else { 1.0 }),
        ),
        (
            "primes among few",
            once(
                &[
                    16.0, 24.0, 32.0, 48.0, 61.0, 64.0, 80.0, 96.0, 113.0, 128.0, 144.0, 160.0,
                ],
                |x| if is_prime(x) { 12.0 } else { 1.0 },
            ),
        ),
        (
            "two resonances alike",
            once(&sizes(100), |x| {
                if x % 40.0 == 20.0 && x < 99.0 {
                    9.0
                } else {
                    1.0
                }
            }),
        ),
        (
            "multiples of 64",
            once(&sizes(400), |x| if x % 64.0 == 32.0 { 7.0 } else { 1.0 }),
        ),
        (
            "a quarter fast",
            once(&sizes(90), |x| {
                if x as u32 * 7919 % 97 < 24 { 0.05 } else { 1.0 }
            }),
        ),
        (
            "all 0 but one",
            once(&sizes(40), |x| if x == 20.0 { 1.0 } else { 0.0 }),
        ),
        (
            "eleven sizes",
            once(&sizes(11), |x| if x == 5.0 { 100.0 } else { 1.0 }),
        ),
    ];
    for (name, calls) in cases {
        assert_eq!(found(&calls), Vec::<Vec<f64>>::new(), "{name}");
        for (seed, spread) in [(11, 0.01), (12, 0.05), (13, 0.2)] {
            let mut noise = noise(spread, seed);
            let noisy: Vec<_> = calls
                .iter()
                .map(|(x, s)| (x.clone(), s * noise()))
                .collect();
            assert_eq!(found(&noisy), Vec::<Vec<f64>>::new(), "{name}, {spread}");
        }
    }
}

#[test]
fn those_that_come_again_and_hold_most_of_the_time_are_the_method() {
    let mut noise = noise(0.05, 17);
    let mut calls = once(&sizes(200), |_| 1e-6 * noise());
    for (row, height) in [(20, 30.0), (70, 200.0), (150, 10.0)] {
        calls[row].1 *= height;
    }
    for statistic in [Statistic::Mean, Statistic::Median] {
        assert!(aside(&samples(statistic, &calls)).is_empty(), "{statistic}");
    }
    calls[70].1 /= 3.0;
    assert_eq!(found(&calls), [[20.0], [70.0], [150.0]]);
}

#[test]
fn in_several_parameters_a_spike_is_one_along_each() {
    let grid = |n: u32, law: &dyn Fn(f64, f64) -> f64| -> Calls {
        let mut noise = noise(0.05, 19);
        let all = (0..n * n).map(|i| (f64::from(i / n), f64::from(i % n)));
        all.map(|(x, y)| (vec![x, y], law(x, y) * noise()))
            .collect()
    };
    let mut calls = grid(14, &|x, y| 1.0 + x + 2.0 * y);
    assert!(found(&calls).is_empty());
    calls[14 * 5 + 8].1 *= 50.0;
    assert_eq!(found(&calls), [[5.0, 8.0]]);
    let model = fit(&samples(Statistic::Mean, &calls)).unwrap().remove(0);
    let at = predict(&model, &Coordinate::new().with("x", 5.0).with("y", 8.0)).unwrap();
    assert!((at.value_s / 22.0 - 1.0).abs() < 0.1, "{at:?}");
    // Of one value of x all are slow: along y none is.
    assert!(found(&grid(14, &|x, _| if x == 5.0 { 50.0 } else { 1.0 })).is_empty());
}

#[test]
fn labels_that_make_no_difference_are_still_fitted_together() {
    let parameters = [
        Parameter::integer("n", ""),
        Parameter::enumeration("axis", &["x", "y"]),
    ];
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &parameters).unwrap();
    for n in 0..20 {
        for axis in [0.0, 1.0] {
            let is_slow = n == 7 && axis == 1.0;
            let seconds = (5.0 + f64::from(n)) * if is_slow { 40.0 } else { 1.0 };
            set.push(method, &[f64::from(n), axis], seconds).unwrap();
        }
    }
    let samples = set.finish().remove(0);
    assert_eq!(aside(&samples), [[7.0, 1.0]]);
    let models = fit(&samples).unwrap();
    assert_eq!(
        (models.len(), models[0].n_points, models[0].n_records),
        (1, 20, 40)
    );
}

#[test]
fn usual_calls_among_fast_ones_are_no_spikes() {
    let mut lost = 0;
    for seed in 1..=40 {
        let (mut uniform, mut noise) = (uniform(seed), noise(0.1, seed));
        let law = |_| if uniform() < 0.1 { 0.1 } else { 1.0 } * noise();
        lost += u32::from(!found(&once(&sizes(120), law)).is_empty());
    }
    assert!(lost <= 1, "{lost}");
}

#[test]
fn a_clock_that_reads_0_now_and_then_hides_no_spike() {
    let reading = |x: f64| if x as u32 % 10 == 3 { 0.0 } else { 1e-8 };
    let mut calls = once(&sizes(60), reading);
    assert!(found(&calls).is_empty());
    calls[20].1 = 5e-6;
    assert_eq!(found(&calls), [[20.0]]);
}

/// Beyond the smooth noise of other tests: normal by its logarithm, of 2 to 20 %.
#[test]
fn of_500_clean_laws_at_most_one_loses_a_call() {
    let mut lost = 0;
    for seed in 0..500_u64 {
        let mut uniform = uniform(seed + 1);
        let n = 12 + (150.0 * uniform()) as u32;
        let deviation = 0.02 * 10_f64.powf(uniform());
        let kind = (6.0 * uniform()) as u32;
        let law = |x: f64| match kind {
            0 => 1.0,
            1 => 0.1 + x,
            2 => x * x,
            3 => 0.05 + 1.0 / x,
            4 => 3.0 + x.ln(),
            _ => {
                if x > 9.0 {
                    20.0 * x
                } else {
                    x
                }
            }
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let calls = once(&sizes(n + 1)[1..], |x| {
            law(x) * (deviation * normal()).exp()
        });
        lost += u32::from(!found(&calls).is_empty());
    }
    assert!(lost <= 1, "{lost}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn one_call_ten_times_as_long_within_is_always_found(
        n in 12_u32..200,
        place in 0.0..1.0_f64,
        height in 1.0..3.0_f64,
        spread in 0.0..0.1_f64,
        step in 1.0..1000.0_f64,
        law in 0_usize..4,
        seed in any::<u64>(),
    ) {
        let laws: [fn(f64) -> f64; 4] = [|_| 1.0, |x| 5.0 + x, f64::sqrt, |x| x];
        let mut noise = noise(spread, seed);
        let mut calls: Calls = (1..=n)
            .map(|k| (vec![step * f64::from(k)], laws[law](f64::from(k)) * noise()))
            .collect();
        let row = 1 + (place * f64::from(n - 2)) as usize;
        calls[row].1 *= 10_f64.powf(height);
        prop_assert_eq!(found(&calls), [calls[row].0.clone()]);
    }
}
