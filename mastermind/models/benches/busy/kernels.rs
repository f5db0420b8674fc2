//! Functions of known form as a busy machine shows them: calls that scatter by 3 %, some of them held up.

use std::f64::consts::TAU;

use mastermind_models::{Coordinate, Metric, Parameter, SampleSet, Statistic, fit, predict};

/// Scatter of a clean call.
const NOISE: f64 = 0.03;

/// Which calls are held up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Disturbed {
    /// None.
    Nothing,
    /// This share of the calls of all sizes, by a delay that has nothing to do with the size.
    Share(f64),
    /// All calls of one size.
    OneSize,
    /// One call in 25, by 10 to 1000 times what it takes.
    Spikes,
    /// Every other call takes 1.5 times as long.
    TwoSpeeds,
    /// None, by a clock that steps by a fifth of the shortest time.
    ClockStep,
}

/// Sizes and calls of each.
pub type Design = (usize, usize);

/// How far a fit is off the function, relative.
pub struct Errors {
    /// The largest at the sizes.
    pub at_sizes: f64,
    /// At four times the largest.
    pub beyond: f64,
    /// Share of the calls that the model says were held up.
    pub held_up: f64,
}

impl Errors {
    /// A fit that no one can use: 25 % off at a size or 50 % beyond.
    pub fn is_wrecked(&self) -> bool {
        !(self.at_sizes < 0.25 && self.beyond < 0.5)
    }
}

pub fn normal(random: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}

/// A function drawn at random: a constant and one term, which is 0.3 to 30 times as much at the largest size.
fn function(random: &mut fastrand::Rng, largest: f64) -> impl Fn(f64) -> f64 + use<> {
    let terms: [fn(f64) -> f64; 7] = [
        |x| x,
        |x| x * x.log2(),
        |x| x * x,
        |x| x.powi(3),
        f64::sqrt,
        f64::log2,
        |x| x.powf(1.5),
    ];
    let term = terms[random.usize(..terms.len())];
    let ratio = 0.3 * 100_f64.powf(random.f64());
    move |x| 1e-5 * (1.0 + ratio * term(x) / term(largest))
}

/// The errors of the fit to one problem.
pub fn errors(
    seed: u64,
    (n_sizes, n_calls): Design,
    disturbed: Disturbed,
    statistic: Statistic,
) -> Errors {
    let mut random = fastrand::Rng::with_seed(seed);
    let sizes: Vec<f64> = (0..n_sizes)
        .map(|i| (16.0 * 100_f64.powf(i as f64 / (n_sizes - 1) as f64)).round())
        .collect();
    let largest = sizes[n_sizes - 1];
    let time_s = function(&mut random, largest);
    let usual_s = time_s(sizes[n_sizes / 2]);
    // Half as long again as the middle size to 30 times that.
    let delay_s = usual_s * 0.5 * 60_f64.powf(random.f64());
    let bad = random.usize(..n_sizes);
    let step_s = match disturbed {
        Disturbed::ClockStep => {
            0.2 * sizes
                .iter()
                .map(|&x| time_s(x))
                .fold(f64::INFINITY, f64::min)
        }
        _ => 0.0,
    };
    let mut set = SampleSet::new(Metric::Wall).with_statistic(statistic);
    set.set_clock_step(step_s);
    let method = set.declare("m", &[Parameter::real("x", "")]).unwrap();
    for (i, &x) in sizes.iter().enumerate() {
        for _ in 0..n_calls {
            let mut seconds = time_s(x) * (NOISE * normal(&mut random)).exp();
            let delay = delay_s * (0.7 * normal(&mut random)).exp();
            let draw = random.f64();
            let phase = random.f64();
            match disturbed {
                Disturbed::Share(share) if draw < share => seconds += delay,
                Disturbed::OneSize if i == bad => seconds += delay,
                Disturbed::Spikes if draw < 0.04 => seconds *= 10.0 * 100_f64.powf(phase),
                Disturbed::TwoSpeeds if draw < 0.5 => seconds *= 1.5,
                Disturbed::ClockStep => seconds = (seconds / step_s + phase).floor() * step_s,
                _ => {}
            }
            set.push(method, &[x], seconds).unwrap();
        }
    }
    let model = fit(&set.finish().remove(0)).unwrap().remove(0);
    let error = |x: f64| {
        let predicted = predict(&model, &Coordinate::new().with("x", x)).unwrap();
        (predicted.value_s / time_s(x) - 1.0).abs()
    };
    Errors {
        at_sizes: sizes.iter().map(|&x| error(x)).fold(0.0, f64::max),
        beyond: error(4.0 * largest),
        held_up: model.held_up.map_or(0.0, |held_up| held_up.share),
    }
}

/// The median of values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
