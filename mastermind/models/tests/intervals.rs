//! The interval for a call holds the calls it says, also where they are not normal.

use mastermind_models::{
    Coordinate, Family, Metric, Model, Note, Parameter, SampleSet, fit, fit_family, predict,
};

/// Numbers evenly spread over 0..1, the same in every run.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A line over `n_sizes` sizes, ten calls each, multiplied by `factor`.
fn line(n_sizes: u32, factor: &mut impl FnMut() -> f64) -> Model {
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("q", "double")]).unwrap();
    for i in 1..=n_sizes {
        for _ in 0..10 {
            let q = 1e3 * f64::from(i);
            set.push(method, &[q], (2e-6 + 1e-9 * q) * factor())
                .unwrap();
        }
    }
    fit(&set.finish()[0]).unwrap().remove(0)
}

/// Share of new calls at sizes between those measured that lie in their interval.
fn inside(model: &Model, factor: &mut impl FnMut() -> f64) -> f64 {
    let sizes = (0..2000).map(|i| 1e3 * (1.5 + 0.018 * f64::from(i)));
    let holds = sizes.filter(|&q| {
        let seconds = (2e-6 + 1e-9 * q) * factor();
        let p = predict(model, &Coordinate::new().with("q", q)).unwrap();
        (p.lower_s..=p.upper_s).contains(&seconds)
    });
    holds.count() as f64 / 2000.0
}

/// Times that agree to the last digit are known to it, and no better: an interval must hold what rounding makes of the function.
#[test]
fn calls_without_spread_are_known_to_rounding() {
    for k in (1..=20).map(f64::from) {
        let f = |q: f64| 0.1 * k + 0.37 / k * q.powf(0.75) * q.log2();
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &[Parameter::real("q", "")]).unwrap();
        for q in [4.0, 16.0, 64.0, 256.0] {
            for _ in 0..5 {
                set.push(method, &[q], f(q)).unwrap();
            }
        }
        let model = fit(&set.finish()[0]).unwrap().remove(0);
        for q in [5.0, 33.0, 101.0, 700.0, 1024.0] {
            let p = predict(&model, &Coordinate::new().with("q", q)).unwrap();
            assert!((p.lower_s..=p.upper_s).contains(&f(q)), "{q} {p:?}");
            assert!(p.upper_s < (1.0 + 1e-6) * p.lower_s, "{q} {p:?}");
        }
    }
}

#[test]
fn normal_calls_need_no_other_interval() {
    let mut random = Random(1);
    let mut factor = || 1.0 + 0.05 * random.normal();
    let model = line(40, &mut factor);
    assert!(
        (0.85..1.2).contains(&model.interval_ratio),
        "{}",
        model.interval_ratio
    );
    let share = inside(&model, &mut factor);
    assert!((0.93..0.98).contains(&share), "{share}");
}

/// One call in eight takes twice as long, as on a processor that is shared: the deviation of all is too small for these.
#[test]
fn calls_of_two_speeds_are_held_all_the_same() {
    let mut random = Random(2);
    let mut factor = || {
        let speed = if random.unit() < 0.125 { 2.0 } else { 1.0 };
        speed * (1.0 + 0.01 * random.normal())
    };
    let mut model = line(40, &mut factor);
    let share = inside(&model, &mut factor);
    assert!((0.92..=1.0).contains(&share), "{share}");
    (model.interval_ratio, model.held_up) = (1.0, None);
    let share = inside(&model, &mut factor);
    assert!(share < 0.9, "else the ratio would not be needed: {share}");
}

#[test]
fn normal_calls_of_few_sizes_need_no_other_interval() {
    let mut random = Random(3);
    let model = line(12, &mut || 1.0 + 0.05 * random.normal());
    let ratio = model.interval_ratio;
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

/// One call a size tells no shape.
#[test]
fn sizes_called_once_do_not_tell() {
    let mut random = Random(6);
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("m", &[Parameter::real("q", "")]).unwrap();
    for i in 1..=12 {
        let q = f64::from(i);
        let seconds = (2.0 + q) * (0.9 + 0.2 * random.unit());
        set.push(method, &[q], seconds).unwrap();
    }
    let model = fit(&set.finish()[0]).unwrap().remove(0);
    let ratio = model.interval_ratio;
    assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
}

/// Calls that lie evenly between two ends, five at each of eight sizes: an interval of normal calls holds nearly all of them, and is wider
/// than it says.
#[test]
fn evenly_spread_calls_have_the_interval_they_need() {
    let mut random = Random(4);
    let f = |q: f64| 1.0 + 0.5 * q;
    let (mut holds, mut as_normal) = (0, 0);
    for _ in 0..40 {
        let mut factor = || 0.9 + 0.2 * random.unit();
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &[Parameter::real("q", "")]).unwrap();
        for q in (1..=8).map(f64::from) {
            for _ in 0..5 {
                set.push(method, &[q], f(q) * factor()).unwrap();
            }
        }
        let fitted = fit_family(&set.finish()[0], Family::Line);
        let mut model = fitted.unwrap().remove(0);
        let new = (0..100).map(|i| 1.0 + 0.07 * f64::from(i));
        let new: Vec<(f64, f64)> = new.map(|q| (q, f(q) * factor())).collect();
        let inside = |model: &Model| {
            let held = |&&(q, seconds): &&(f64, f64)| {
                let p = predict(model, &Coordinate::new().with("q", q)).unwrap();
                (p.lower_s..=p.upper_s).contains(&seconds)
            };
            new.iter().filter(held).count()
        };
        holds += inside(&model);
        model.interval_ratio = 1.0;
        as_normal += inside(&model);
    }
    assert!((3720..=3920).contains(&holds), "{holds} of 4000");
    assert!(as_normal > 3920, "else this shows nothing: {as_normal}");
}

/// A run on `p` ranks is slower or faster as a whole, and at each size a little, which no formula follows: six sizes on each of five
/// numbers of ranks are then about five observations of how the time goes with the ranks.
#[test]
fn points_that_share_their_error_widen_the_interval() {
    let mut random = Random(7);
    let (mut n_wider, mut n_seen) = (0, 0);
    let coordinate = Coordinate::new().with("p", 64.0).with("x", 4.0);
    for _ in 0..40 {
        let parameters = [Parameter::real("p", ""), Parameter::real("x", "")];
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &parameters).unwrap();
        let time_s = |p: f64, x: f64| 1.0 + 0.2 * x + 0.1 * p.log2();
        for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
            let shared = 1.0 + 0.1 * random.normal();
            for x in 1..=6 {
                let x = f64::from(x);
                let own = 1.0 + 0.05 * random.normal();
                for _ in 0..3 {
                    let seconds = time_s(p, x) * shared * own * (1.0 + 1e-3 * random.normal());
                    set.push(method, &[p, x], seconds).unwrap();
                }
            }
        }
        let mut model = fit(&set.finish()[0]).unwrap().remove(0);
        n_seen += usize::from(model.design_effect > 1.5);
        let width = |model: &Model| {
            let p = predict(model, &coordinate).unwrap();
            p.upper_s - p.lower_s
        };
        let (with, value_s) = (width(&model), predict(&model, &coordinate).unwrap().value_s);
        model.design_effect = 1.0;
        n_wider += usize::from(with > width(&model));
        assert_eq!(value_s, predict(&model, &coordinate).unwrap().value_s);
    }
    assert!(
        n_seen >= 30 && n_wider >= 30,
        "of 40 the effect is seen in {n_seen}, and wider are {n_wider}"
    );
}

/// Five calls whose spread hides that the time grows by half over the sizes: where their mean is the formula, far beyond the sizes
/// the interval of most knows that lines, logarithms and powers would look alike.
#[test]
fn a_constant_because_nothing_was_seen_does_not_say_that_nothing_grows() {
    let mut random = Random(14);
    let (mut n_constant, mut n_wider) = (0, 0);
    for _ in 0..100 {
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &[Parameter::real("q", "double")]).unwrap();
        for q in [3.0, 10.0, 25.0, 70.0, 240.0] {
            let seconds = (0.6 + 1.2e-3 * q) * (1.0 + 0.12 * random.normal());
            set.push(method, &[q], seconds).unwrap();
        }
        let model = fit(&set.finish()[0]).unwrap().remove(0);
        if model.family != Family::Constant || !model.notes.contains(&Note::NoModel) {
            continue;
        }
        let predicted = |q: f64| predict(&model, &Coordinate::new().with("q", q)).unwrap();
        let width = |q: f64| predicted(q).upper_s - predicted(q).lower_s;
        n_constant += 1;
        n_wider += usize::from(width(960.0) > 2.0 * width(25.0));
    }
    assert!(
        n_constant >= 50 && 10 * n_wider >= 8 * n_constant,
        "of {n_constant} constants {n_wider} are wider"
    );
}
