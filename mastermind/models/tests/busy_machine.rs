//! Calls that a busy machine held up: the fit is of the clean ones, and says what share was held up and by how much.

#[path = "../benches/busy/kernels.rs"]
mod busy_kernels;

use busy_kernels::{Design, Disturbed, Errors, errors, median, normal};
use mastermind_models::{
    Coordinate, Metric, Model, Note, Parameter, SampleSet, Statistic, Total, clean_calls, fit,
    predict,
};

fn fitted(calls: &[(f64, f64)]) -> Model {
    let mut set = SampleSet::new(Metric::Wall).with_statistic(Statistic::Clean);
    let method = set.declare("m", &[Parameter::real("q", "")]).unwrap();
    for &(q, seconds) in calls {
        set.push(method, &[q], seconds).unwrap();
    }
    fit(&set.finish().remove(0)).unwrap().remove(0)
}

fn at(model: &Model, q: f64) -> f64 {
    let predicted = predict(model, &Coordinate::new().with("q", q)).unwrap();
    predicted.value_s
}

/// That a model is the line of a slope at the sizes and at four times the largest, within a share.
fn assert_line(model: &Model, slope: f64, sizes: &[f64], within: f64) {
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    for &q in sizes.iter().chain([&(4.0 * largest)]) {
        let ratio = at(model, q) / (slope * q);
        assert!(
            (ratio - 1.0).abs() < within,
            "{q}: {ratio} of the line, {}",
            model.expression
        );
    }
}

/// As drawn beside other processes: 4e-8 s q. At the largest size one call is clean, a plateau there is about as likely as the line.
#[test]
fn a_plateau_that_one_call_makes_is_not_the_formula() {
    let mut calls = Vec::new();
    for (q, times_us) in [
        (3000.0, [121.0, 117.0, 123.1]),
        (9000.0, [368.2, 369.4, 372.3]),
        (12000.0, [19667.3, 486.4, 18663.8]),
        (15000.0, [614.6, 602.7, 606.9]),
        (20000.0, [29559.3, 814.4, 19286.4]),
        (40000.0, [7325.9, 1577.0, 10039.7]),
    ] {
        calls.extend(times_us.map(|us| (q, 1e-6 * us)));
    }
    let model = fitted(&calls);
    let shown = predict(&model, &Coordinate::new().with("q", 160_000.0)).unwrap();
    let ratio = shown.shown_s / (4e-8 * 160_000.0);
    assert!((0.8..1.2).contains(&ratio), "{ratio}, {}", model.expression);
}

/// Three calls at each of eight sizes, a quarter of all held up: calls that agree at the sizes after the cache is full are clean, since
/// delays do not agree. A power law through the smaller sizes had taken all of them for held up, and predicted a quarter of their time.
#[test]
fn the_sizes_beyond_a_cache_are_not_held_up() {
    let time_s = |q: f64| 1e-6 * q * if q <= 128.0 { 1.0 } else { 3.0 };
    let mut missed = Vec::new();
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut calls = Vec::new();
        for q in (4..12).map(|power| f64::from(1 << power)) {
            for _ in 0..3 {
                let clean_s = time_s(q) * (0.03 * normal(&mut random)).exp();
                let delay_s = 0.018 * (0.7 * normal(&mut random)).exp();
                let is_held_up = random.f64() < 0.25;
                calls.push((q, clean_s + if is_held_up { delay_s } else { 0.0 }));
            }
        }
        let model = fitted(&calls);
        let off = [2048.0, 8192.0].map(|q| (at(&model, q) / time_s(q) - 1.0).abs());
        missed.extend((off[0] > 0.1 || off[1] > 0.1).then_some((seed, off, model.expression)));
    }
    assert!(missed.len() <= 4, "{missed:?}");
}

/// As measured beside two other processes: the fastest calls are 4.03e-8 s q within a per cent.
#[test]
fn a_few_calls_beside_other_processes_have_the_law_of_the_clean_ones() {
    let mut calls = vec![(2972.0, 1.20e-4), (8835.0, 3.59e-4), (11601.0, 4.64e-4)];
    calls.extend([6.203e-4, 6.198e-4, 6.150e-4, 6.173e-4, 6.105e-4].map(|s| (15232.0, s)));
    calls.extend([0.0146, 8.023e-4, 8.041e-4, 0.0142, 0.0063].map(|s| (20000.0, s)));
    let model = fitted(&calls);
    assert_line(
        &model,
        4.03e-8,
        &[2972.0, 8835.0, 11601.0, 15232.0, 20000.0],
        0.02,
    );
    let held_up = model.held_up.unwrap();
    assert!((0.1..0.4).contains(&held_up.share), "{held_up:?}");
    assert!((held_up.mean_s / 0.0109 - 1.0).abs() < 0.05, "{held_up:?}");
    let is_said = |note: &Note| matches!(note, Note::HeldUp { .. });
    assert!(model.notes.iter().any(is_said), "{:?}", model.notes);
    // One call in five took 6 ms or more, so the interval of one holds such.
    let predicted = predict(&model, &Coordinate::new().with("q", 15232.0)).unwrap();
    assert!(predicted.upper_s > 6e-3, "{predicted:?}");
    let mut total = Total::new(&model);
    for (q, _) in &calls {
        total.add(&Coordinate::new().with("q", *q), 1.0).unwrap();
    }
    let recorded_s: f64 = calls.iter().map(|(_, seconds)| seconds).sum();
    assert!(
        (total.time_s() / recorded_s - 1.0).abs() < 1e-9,
        "{}",
        total.time_s()
    );
}

#[test]
fn one_size_with_most_of_its_calls_held_up_bends_nothing() {
    let sizes = [1e3, 2e3, 4e3, 8e3, 16e3, 32e3];
    let scatter = [1.0, 1.01, 0.99];
    for bad in 0..6 {
        let mut calls = Vec::new();
        for (i, &q) in sizes.iter().enumerate() {
            for (k, scatter) in scatter.iter().enumerate() {
                let is_held_up = i == bad && k > 0;
                let seconds = 4e-8 * q * scatter + if is_held_up { 10e-3 } else { 0.0 };
                calls.push((q, seconds));
            }
        }
        assert_line(&fitted(&calls), 4e-8, &sizes, 0.02);
    }
}

/// A clock of 1 ms reads 0 for what takes less: those sizes say no more than that.
#[test]
fn times_of_0_are_below_a_step_of_the_clock() {
    let rows = [
        (1.0, 0.0),
        (2.0, 0.0),
        (4.0, 0.0),
        (8.0, 1.0),
        (16.0, 2.0),
        (32.0, 5.0),
        (64.0, 13.0),
        (128.0, 26.0),
        (256.0, 50.0),
        (512.0, 103.0),
        (1024.0, 206.0),
    ];
    let model = fitted(&rows.map(|(threads, ms)| (threads, 1e-3 * ms)));
    let ratio = at(&model, 4096.0) / 0.820;
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}, {}", model.expression);
    assert_eq!(model.range["q"], [1.0, 1024.0]);
    let is_said = |note: &Note| matches!(note, Note::Zero { n_records: 3 });
    assert!(model.notes.iter().any(is_said), "{:?}", model.notes);
}

#[test]
fn zeros_at_the_smallest_sizes_make_no_stairs() {
    let scatter = [1.0, 1.01, 0.99];
    let mut calls = Vec::new();
    for loops in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0] {
        let seconds = if loops < 4.0 { 0.0 } else { 0.077 * loops };
        calls.extend(scatter.map(|scatter| (loops, seconds * scatter)));
    }
    let sizes = [4.0, 8.0, 16.0, 32.0, 64.0];
    let model = fitted(&calls);
    assert_line(&model, 0.077, &sizes, 0.02);
    // Readings that differ by 3 ms are no steps of 308 ms, so the calls say how they scatter.
    let predicted = predict(&model, &Coordinate::new().with("q", 32.0)).unwrap();
    assert!(predicted.upper_s < 1.1 * 0.077 * 32.0, "{predicted:?}");
}

/// Where the formula is above the step at a size that read 0, the zeros say that it is not.
#[test]
fn zeros_say_that_the_time_is_below_a_step() {
    let calls = [
        (1.0, 0.0),
        (2.0, 0.0),
        (4.0, 0.0),
        (8.0, 1e-3),
        (16.0, 8e-3),
        (32.0, 64e-3),
        (64.0, 512e-3),
    ];
    let model = fitted(&calls);
    assert!(at(&model, 4.0) < 2e-3, "{} at 4", at(&model, 4.0));
}

/// The errors of problems of a design and disturbance.
fn problems(n: u64, design: Design, disturbed: Disturbed) -> Vec<Errors> {
    (1..=n)
        .map(|seed| errors(seed, design, disturbed, Statistic::Clean))
        .collect()
}

#[test]
fn clean_calls_are_not_said_to_be_held_up() {
    let mut n_held_up = 0;
    for design in [(6, 5), (6, 3), (12, 1), (25, 1), (25, 10)] {
        let all = problems(60, design, Disturbed::Nothing);
        n_held_up += all.iter().filter(|errors| errors.held_up > 0.0).count();
    }
    assert!(n_held_up <= 3, "{n_held_up} of 300");
}

#[test]
fn held_up_calls_do_not_move_the_law() {
    let rows = [
        ((6, 5), Disturbed::Share(0.15)),
        ((6, 5), Disturbed::Share(0.3)),
        ((6, 5), Disturbed::OneSize),
        ((6, 3), Disturbed::Share(0.3)),
        ((25, 1), Disturbed::Share(0.3)),
        ((25, 10), Disturbed::Share(0.5)),
        ((25, 10), Disturbed::Spikes),
        ((25, 10), Disturbed::TwoSpeeds),
        ((25, 10), Disturbed::ClockStep),
    ];
    for (design, disturbed) in rows {
        let all = problems(20, design, disturbed);
        let n_wrecked = all.iter().filter(|errors| errors.is_wrecked()).count();
        let at_sizes = median(all.iter().map(|errors| errors.at_sizes).collect());
        let name = format!("{design:?}, {disturbed:?}");
        assert!(at_sizes < 0.035, "{name}: {at_sizes}");
        // Of six sizes with one lost a bend cannot be seen: a fifth is wrecked.
        assert!(n_wrecked <= 4, "{name}: {n_wrecked} of 20 are wrecked");
    }
}

/// Calls that take one of two times know the law together, so that it is found where each size was called once.
#[test]
fn two_speeds_by_call_do_not_hide_the_law() {
    for design in [(6, 5), (6, 3), (12, 1), (25, 1)] {
        let all = problems(40, design, Disturbed::TwoSpeeds);
        let n_wrecked = all.iter().filter(|errors| errors.is_wrecked()).count();
        assert!(n_wrecked <= 5, "{design:?}: {n_wrecked} of 40 are wrecked");
    }
}

/// Two calls in three take 1.6 times as long: it is said, the interval holds them, and the mean beyond the sizes is of both.
#[test]
fn two_speeds_are_both_predicted() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut calls = Vec::new();
    for power in 10..18 {
        let q = 2_f64.powi(power);
        for call in 0..6 {
            let slower = if call % 3 == 0 { 1.0 } else { 1.6 };
            calls.push((q, 1e-9 * q * slower * (0.02 * normal(&mut random)).exp()));
        }
    }
    let model = fitted(&calls);
    let slower = model.notes.iter().find_map(|note| match note {
        Note::TwoSpeeds { slower, .. } => Some(*slower),
        _ => None,
    });
    assert!((slower.unwrap() / 1.6 - 1.0).abs() < 0.02, "{slower:?}");
    let q = 2_f64.powi(19);
    let predicted = predict(&model, &Coordinate::new().with("q", q)).unwrap();
    assert!((predicted.value_s / (1e-9 * q) - 1.0).abs() < 0.03);
    assert!((predicted.mean_s / (1.4e-9 * q) - 1.0).abs() < 0.03);
    assert!(predicted.lower_s < 1e-9 * q && predicted.upper_s > 1.6e-9 * q);
    let mut total = Total::new(&model);
    total.add(&Coordinate::new().with("q", q), 1000.0).unwrap();
    assert!((total.time_s() / (1.4e-6 * q) - 1.0).abs() < 0.03);
    assert!((total.held_up_s() / (0.4e-6 * q) - 1.0).abs() < 0.05);
}

/// Delays that come with a call do not grow with its time, and those of preemption do: the mean beyond the sizes has them as they came.
#[test]
fn delays_of_calls_and_of_time_are_told_apart_beyond_the_sizes() {
    for (per_call, per_second) in [(0.15, 0.0), (0.0, 400.0)] {
        let mut random = fastrand::Rng::with_seed(7);
        let mut calls = Vec::new();
        for power in 10..20 {
            let q = 2_f64.powi(power);
            let clean_s = 1e-9 * q;
            for _ in 0..40 {
                let is_held_up = random.f64() < per_call + per_second * clean_s;
                let delay_s = 2e-3 * (0.3 * normal(&mut random)).exp();
                let scatter = (0.02 * normal(&mut random)).exp();
                calls.push((
                    q,
                    clean_s * scatter + if is_held_up { delay_s } else { 0.0 },
                ));
            }
        }
        let model = fitted(&calls);
        let q = 2_f64.powi(22);
        let predicted = predict(&model, &Coordinate::new().with("q", q)).unwrap();
        let clean_s = 1e-9 * q;
        let wanted_s = clean_s + 2e-3 * 0.045_f64.exp() * (per_call + per_second * clean_s);
        let ratio = predicted.mean_s / wanted_s;
        assert!(
            (ratio - 1.0).abs() < 0.12,
            "{per_call} {per_second}: {ratio}, {:?}",
            model.held_up
        );
    }
}

/// Where the time steps up as protocols of messages do, calls that agree at their sizes are clean, and none of those sizes is lost.
#[test]
fn a_step_that_many_calls_agree_on_is_no_delay() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut calls = Vec::new();
    let sizes: Vec<f64> = (10..20).map(|power| 2_f64.powi(power)).collect();
    let time_s = |q: f64| if q < 4096.0 { 1.3e-6 } else { 3.8e-6 } + 1e-10 * q;
    for &q in &sizes {
        for call in 0..12 {
            let scatter = (0.05 * normal(&mut random)).exp();
            let held_up = if call == 0 { 5.0 } else { 1.0 };
            calls.push((q, time_s(q) * scatter * held_up));
        }
    }
    let model = fitted(&calls);
    for &q in &sizes[2..] {
        let ratio = at(&model, q) / time_s(q);
        assert!((0.8..1.25).contains(&ratio), "{q}: {ratio}");
    }
    let held_up = model.held_up.unwrap();
    assert!(held_up.share < 0.13, "{held_up:?}");
}

/// A call of each size takes five times as long: beyond the sizes one does so too, by five times what it takes there.
#[test]
fn delays_that_are_a_share_of_the_time_grow_with_it() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut calls = Vec::new();
    for power in 10..20 {
        let q = 2_f64.powi(power);
        for call in 0..12 {
            let scatter = (0.03 * normal(&mut random)).exp();
            let held_up = if call == 0 { 5.0 } else { 1.0 };
            calls.push((q, 1e-9 * q * scatter * held_up));
        }
    }
    let model = fitted(&calls);
    let q = 2_f64.powi(22);
    let held_up = predict(&model, &Coordinate::new().with("q", q)).unwrap();
    let mean_s = held_up.held_up.unwrap().mean_s;
    assert!((mean_s / (4e-9 * q) - 1.0).abs() < 0.1, "{mean_s}");
}

/// So many calls tell a mixture from their scatter, which no prediction shows.
#[test]
fn delays_that_no_prediction_shows_are_not_reported() {
    let mut random = fastrand::Rng::with_seed(4);
    let mut calls = Vec::new();
    for size in 1..=200 {
        let q = 16.0 * f64::from(size);
        calls.extend((0..100).map(|_| (q, (1e-6 + 1e-9 * q) * (1.0 + 0.02 * normal(&mut random)))));
    }
    let model = fitted(&calls);
    assert_eq!(model.held_up, None, "{:?}", model.notes);
}

/// What is drawn beside a law is the calls that it is of.
#[test]
fn clean_calls_are_those_that_were_not_held_up() {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("q", "")]).unwrap();
    let mut n_held = 0;
    for (i, q) in [1e3, 2e3, 4e3, 8e3, 16e3, 32e3].into_iter().enumerate() {
        for k in 0..5 {
            let off = 1.0 + 0.01 * [1.0, -0.7, 0.2, -1.1, 0.6][(i + k) % 5];
            let is_held = (3 * i + k) % 7 == 0;
            n_held += u64::from(is_held);
            let delay_s = if is_held { 4e-3 + 1e-3 * k as f64 } else { 0.0 };
            set.push(method, &[q], 4e-8 * q * off + delay_s).unwrap();
        }
    }
    let samples = set.finish().remove(0);
    let model = fit(&samples).unwrap().remove(0);
    assert!(model.held_up.is_some());
    let calls = clean_calls(&model, &samples);
    let n: u64 = calls.iter().map(|summary| summary.count).sum();
    assert_eq!(n, 30 - n_held);
    for (coordinate, summary) in samples.coordinates.iter().zip(&calls) {
        let expected = 4e-8 * coordinate[0];
        assert!(
            (summary.mean_s / expected - 1.0).abs() < 0.02,
            "{summary:?}"
        );
    }
}

/// Products of matrices that grow out of the caches, four calls of each size, as a busy machine timed them. Two lines, the first below 0 just
/// before the smallest size, were shown, and a tenth of the time at four times the largest one, where it was 3.4 s.
#[test]
fn matrices_out_of_the_caches_are_a_cube_and_no_two_lines() {
    let measured: [(f64, [f64; 4]); 6] = [
        (64.0, [1.71e-4, 4.12e-5, 3.83e-5, 3.79e-5]),
        (128.0, [0.0022, 3.02e-4, 0.00379, 0.0076]),
        (192.0, [0.00184, 0.00661, 0.00164, 0.00168]),
        (256.0, [0.0107, 0.00949, 0.00776, 0.00848]),
        (384.0, [0.0258, 0.0381, 0.0245, 0.0247]),
        (512.0, [0.0677, 0.0863, 0.0738, 0.0542]),
    ];
    let calls = measured
        .iter()
        .flat_map(|(n, times)| times.map(|s| (*n, s)));
    let model = fitted(&calls.collect::<Vec<_>>());
    // The jump out of the caches is no part of any smooth law, so that the exponent remains uncertain.
    let beyond = predict(&model, &Coordinate::new().with("q", 2048.0)).unwrap();
    let ratio = beyond.value_s / 3.4;
    assert!((0.4..2.5).contains(&ratio), "{ratio} {}", model.expression);
    let interval = beyond.lower_s..=beyond.upper_s;
    assert!(interval.contains(&3.4), "{interval:?}");
    for (n, clean_s) in [(64.0, 3.83e-5), (128.0, 3.02e-4), (384.0, 0.0246)] {
        let ratio = at(&model, n) / clean_s;
        assert!(
            (0.75..1.3).contains(&ratio),
            "{n}: {ratio} {}",
            model.expression
        );
    }
}

/// All calls of one size were delayed, equally or by times as different as one another, and the other five sizes follow a law within their
/// scatter. A constant of everything was shown, without a dependence on the size, or a formula that goes through the delayed size.
#[test]
fn a_size_all_of_whose_calls_were_delayed_bends_nothing() {
    let sizes = [20.0, 45.0, 110.0, 250.0, 580.0, 1300.0];
    let laws: [fn(f64) -> f64; 4] = [
        |n| 0.2 + 0.1 * n.ln(),
        |n| 1.0 + 0.004 * n,
        |n| 0.3 + 0.05 * n.sqrt(),
        |n| 1.0 + 4e-5 * n.powf(1.5),
    ];
    let mut wrecked = Vec::new();
    for (number, law) in laws.iter().enumerate() {
        // The next to the largest size would make a plateau, which is as likely.
        for bad in 1..4 {
            for spread in [0.05, 0.8] {
                let mut random = fastrand::Rng::with_seed(number as u64);
                let mut calls = Vec::new();
                for (i, &n) in sizes.iter().enumerate() {
                    for _ in 0..5 {
                        let clean_s = law(n) * (0.03 * normal(&mut random)).exp();
                        let delay_s = law(sizes[3]) * (spread * normal(&mut random)).exp();
                        calls.push((n, clean_s + if i == bad { delay_s } else { 0.0 }));
                    }
                }
                let model = fitted(&calls);
                let off = |n: f64| (at(&model, n) / law(n) - 1.0).abs();
                let at_sizes = sizes.iter().map(|n| off(*n)).fold(0.0, f64::max);
                if at_sizes > 0.25 || off(5200.0) > 0.5 {
                    wrecked.push((number, bad, spread, at_sizes, model.expression));
                }
            }
        }
    }
    assert!(wrecked.is_empty(), "{wrecked:?}");
}

/// One of 25 sizes, called once each, took twice as long, and the others follow a line within their scatter. Three ranges, of which one is a
/// tooth about the delayed call, were shown, since they leave nothing that is far off.
#[test]
fn a_delayed_call_among_sizes_called_once_is_no_range_of_its_own() {
    let mut missed = Vec::new();
    for bad in 6..20 {
        let mut random = fastrand::Rng::with_seed(bad);
        let law = |n: f64| 6e-5 + 4e-7 * n;
        let sizes = (0..25).map(|i| (50.0 * 1.12_f64.powi(i)).round());
        let calls = sizes.zip(0..).map(|(n, i)| {
            let clean_s = law(n) * (0.03 * normal(&mut random)).exp();
            (n, clean_s * if i == bad { 2.0 } else { 1.0 })
        });
        let model = fitted(&calls.collect::<Vec<_>>());
        let off = [500.0, 3000.0].map(|n| (at(&model, n) / law(n) - 1.0).abs());
        missed.extend((off[0] > 0.1 || off[1] > 0.2).then_some((bad, off, model.expression)));
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// Seven sizes called once, which scatter by as much as they take: a mixture without a delayed call had a mean delay that was no number.
#[test]
fn scatter_without_a_delayed_call_has_no_delays() {
    let calls = [
        (110242.0, 0.00021367098505161992),
        (1531358.0, 0.0018780193363186364),
        (1780628.0, 0.002457534842893665),
        (2432778.0, 0.0019788553486331014),
        (2581932.0, 0.003428249320337371),
        (3165155.0, 0.002399282536280027),
        (3550570.0, 0.0018153276632331477),
    ];
    let model = fitted(&calls);
    assert_eq!(model, model.clone(), "a number that is none");
    assert!(model.held_up.is_none(), "{:?}", model.held_up);
}
