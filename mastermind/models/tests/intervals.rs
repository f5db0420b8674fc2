//! The interval for a call holds the calls it says, also where they are not normal.

use mastermind_models::{Coordinate, Metric, Model, Parameter, SampleSet, fit, predict};

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
    model.interval_ratio = 1.0;
    let share = inside(&model, &mut factor);
    assert!(share < 0.9, "else the ratio would not be needed: {share}");
}

#[test]
fn few_sizes_do_not_tell() {
    let mut random = Random(3);
    let model = line(12, &mut || 1.0 + 0.05 * random.normal());
    assert_eq!(model.interval_ratio, 1.0);
}
