//! Sizes beyond those measured, of methods that go another way at small sizes, or than any formula says.

use mastermind_models::{
    Coordinate, Metric, Model, ModelSet, Parameter, Prediction, SampleSet, fit, predict,
};

fn fitted(points: &[(f64, Vec<f64>)]) -> Model {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("n", "")]).unwrap();
    for (n, times) in points {
        for &time in times {
            set.push(method, &[*n], time).unwrap();
        }
    }
    fit(&set.finish().remove(0)).unwrap().remove(0)
}

/// The model after it was written to a file and read.
fn stored(model: &Model) -> Model {
    let models = vec![model.clone()];
    let text = serde_json::to_string(&ModelSet { models }).unwrap();
    ModelSet::from_json(&text).unwrap().models.remove(0)
}

fn at(model: &Model, n: f64) -> Prediction {
    predict(model, &Coordinate::new().with("n", n)).unwrap()
}

fn is_inside(prediction: &Prediction, time: f64) -> bool {
    (prediction.lower_s..=prediction.upper_s).contains(&time)
}

/// A sort that inserts below 21 elements: most sizes are small, and only the large ones say `n log n`.
#[test]
fn many_small_sizes_that_go_another_way_leave_the_large_ones_their_curve() {
    let sizes = [
        3.0, 5.0, 7.0, 8.0, 9.0, 11.0, 13.0, 15.0, 16.0, 17.0, 19.0, 20.0, 24.0, 31.0, 50.0, 101.0,
        200.0, 500.0, 1000.0, 2048.0, 1e4, 1e5, 1e6,
    ];
    let time_s = |n: f64| match n < 21.0 {
        true => 8e-9 + 4e-9 * n,
        false => 3e-8 + 1.4e-9 * n * n.log2(),
    };
    let off = [1.0, -0.5, 0.3, -1.0, 0.8];
    let points = sizes.into_iter().enumerate();
    let points: Vec<(f64, Vec<f64>)> = points
        .map(|(i, n)| (n, vec![time_s(n) * (1.0 + 0.01 * off[i % 5])]))
        .collect();
    let model = fitted(&points);
    let found = at(&model, 1e7).value_s / time_s(1e7);
    assert!((found - 1.0).abs() < 0.05, "{found} {}", model.expression);
}

/// Four sizes called three times each, with little noise: three coefficients go through them, fall, rise again and say 20 times too much.
#[test]
fn a_sum_that_goes_through_four_sizes_does_not_decide() {
    let points = [(1.0, 522.0), (2.0, 380.0), (4.0, 155.0), (8.0, 118.0)];
    let points = points.map(|(n, time)| (n, vec![0.998 * time, time, 1.002 * time]));
    let model = fitted(&points);
    let found = at(&model, 16.0);
    assert!(
        found.value_s < 300.0 && is_inside(&found, 106.0),
        "{found:?}"
    );
}

/// Strong scaling of a program on up to 128 nodes, as it was measured: a power law follows it within a per cent, and falls too far.
#[test]
fn strong_scaling_is_inside_at_twice_the_nodes() {
    let measured = [
        (4.0, 5.49469),
        (8.0, 2.8293),
        (16.0, 1.46488),
        (32.0, 0.75939),
        (64.0, 0.38992),
        (128.0, 0.19814),
    ];
    let model = fitted(&measured.map(|(p, time)| (p, vec![time])));
    let found = at(&model, 256.0);
    assert_eq!(at(&stored(&model), 256.0), found);
    assert!(is_inside(&found, 0.10673), "{found:?}");
    // No more than a tenth, for a law that is followed within a per cent.
    assert!(found.upper_s < 1.1 * found.value_s, "{found:?}");
}

/// Work that is divided exactly, without scatter, is predicted exactly.
#[test]
fn an_exact_falling_law_is_exact_beyond_the_sizes() {
    let points = [1.0, 2.0, 4.0, 8.0, 16.0].map(|p| (p, vec![3.0 / p; 2]));
    let found = at(&fitted(&points), 64.0);
    assert!(
        (found.upper_s / (3.0 / 64.0) - 1.0).abs() < 1e-4,
        "{found:?}"
    );
}

/// Six sizes called once with 1 % of noise, and communication that takes longer the more processes there are: 1 to 10 % of the time at the
/// largest size.
#[test]
fn intervals_of_strong_scaling_hold_a_growing_overhead() {
    let (mut inside, mut above) = (0, 0);
    for case in 0..60_u32 {
        let share = 0.01 * 10_f64.powf(f64::from(case) / 60.0);
        let time_s = |p: f64| 1.0 / p + share / 32.0 * p / 32.0;
        let off = |k: u32| f64::from((case * 7 + k * 5) % 11) / 5.0 - 1.0;
        let point = |k: u32| {
            let p = f64::from(1 << k);
            (p, vec![time_s(p) * (1.0 + 0.01 * off(k))])
        };
        let model = stored(&fitted(&(0..6).map(point).collect::<Vec<_>>()));
        for p in [64.0, 128.0] {
            let found = at(&model, p);
            inside += u32::from(is_inside(&found, time_s(p)));
            above += u32::from(time_s(p) > found.upper_s);
        }
    }
    assert!(inside >= 70, "{inside} of 120 inside, {above} above");
}

/// A time that is in proportion to the size within a per mille, times `factor` at each of some sizes and all after.
fn with_steps(steps: &[f64], factor: f64) -> Model {
    let points = (0..16).map(|i| {
        let n = 2_f64.powi(i);
        let n_steps = steps.iter().filter(|step| n >= **step).count();
        let off = [1.0, -0.6, 0.2, -0.9, 0.7][i as usize % 5];
        (
            n,
            vec![n * factor.powi(n_steps as i32) * (1.0 + 1e-3 * off)],
        )
    });
    fitted(&points.collect::<Vec<_>>())
}

/// A time that left its line twice may do so again.
#[test]
fn an_interval_beyond_the_sizes_knows_by_how_much_larger_ones_were_missed() {
    let model = with_steps(&[256.0, 4096.0], 1.7);
    assert!(model.drift > 0.05, "{}", model.drift);
    let far = at(&model, 4.0 * 32768.0);
    let next = 4.0 * 32768.0 * 1.7_f64.powi(3);
    assert!(is_inside(&far, next), "{far:?}, {next}");
    // Between sizes that were measured nothing was missed.
    let mut told = model.clone();
    told.drift = 0.0;
    assert_eq!(at(&model, 1500.0), at(&told, 1500.0));
    assert!(!is_inside(&at(&told, 4.0 * 32768.0), next));
}

/// Sizes called once that keep to a line within 2 %, the larger ones `factor` times the one before.
fn scattered_line(n_sizes: i32, factor: f64) -> Model {
    let points = (0..n_sizes).map(|i| {
        let n = 10.0 * factor.powi(i);
        let off = [1.0, -0.6, 0.2, -0.9, 0.7, 0.1, -1.3][i as usize % 7];
        (n, vec![(1.0 + 0.1 * n) * (1.0 + 0.02 * off)])
    });
    fitted(&points.collect::<Vec<_>>())
}

/// That many sizes keep to a formula within the spread of the calls is evidence against a drift; that four do is hardly any.
#[test]
fn many_sizes_that_keep_to_a_formula_leave_little_drift_and_few_leave_what_was_expected() {
    let (many, few) = (scattered_line(25, 1.2), scattered_line(4, 2.0));
    assert!(many.drift < 0.03, "{}", many.drift);
    assert!((few.drift - 0.10).abs() < 0.01, "{}", few.drift);
}

/// Four times of two or three digits, which a sum of two terms meets by chance: the times beyond were as measured on 17 threads.
#[test]
fn a_formula_that_meets_four_rounded_times_is_not_exact() {
    let times_s = [(1.0, 2.05), (3.0, 1.01), (5.0, 0.81), (7.0, 0.73)];
    let points = times_s.map(|(threads, s)| (threads, vec![s]));
    let there = at(&fitted(&points), 17.0);
    assert!(is_inside(&there, 0.7), "{there:?}");
}

#[test]
fn a_time_that_keeps_to_its_line_has_a_narrow_interval_beyond_it() {
    let model = with_steps(&[], 1.0);
    assert!(model.drift < 2e-3, "{}", model.drift);
    let far = at(&model, 4.0 * 32768.0);
    assert!(far.upper_s / far.lower_s < 1.02, "{far:?}");
}
