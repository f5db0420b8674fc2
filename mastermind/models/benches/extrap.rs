//! Our side of `benches/extrap`: kernels as JSON lines on the command line's first file, what the
//! models say of them as JSON lines in its second.
//!
//! A kernel is `{"params", "points", "values", "far", "near", "near_values", "far_values"}`; an answer
//! `{"family", "terms", "far", "far_mean", "cpu_s", "near_inside", "far_inside", "far_above", "half_width", "half_width_told"}`, by plain `fit`, the
//! default that a user gets; `_told` where the normal form is given as the family. Without arguments it does nothing, so that
//! a plain `cargo bench` passes.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;

use mastermind_models::{
    Coordinate, Family, Metric, Model, Parameter, Prediction, SampleSet, Samples, fit, fit_family,
    predict,
};
use serde::{Deserialize, Serialize};

/// Fits timed together, so that the clock's own grain does not show.
const REPETITIONS: u32 = 5;

#[derive(Deserialize)]
struct Kernel {
    params: Vec<String>,
    points: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
    far: Vec<f64>,
    near: Vec<Vec<f64>>,
    near_values: Vec<f64>,
    far_values: Vec<f64>,
}

#[derive(Serialize)]
struct Answer {
    family: Family,
    /// Sorted products of sorted (parameter, exponent, log exponent).
    terms: Vec<Vec<(usize, f64, u32)>>,
    far: f64,
    /// The mean of a call there, with those that are held up as often as they were.
    far_mean: f64,
    cpu_s: f64,
    near_inside: usize,
    far_inside: usize,
    far_above: usize,
    half_width: f64,
    half_width_told: f64,
}

fn main() {
    let files: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let [input, output] = files.as_slice() else {
        println!("extrap: no kernels given; run benches/extrap/run.sh");
        return;
    };
    let text = fs::read_to_string(input).expect("the kernels can be read");
    let answers: Vec<String> = text
        .lines()
        .map(|line| {
            let kernel: Kernel = serde_json::from_str(line).expect("a line is a kernel");
            serde_json::to_string(&answer(&kernel)).expect("an answer is JSON")
        })
        .collect();
    fs::write(output, answers.join("\n")).expect("the answers can be written");
}

/// Processor time of this thread, seconds.
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

fn samples(kernel: &Kernel) -> Samples {
    let parameters: Vec<Parameter> = kernel
        .params
        .iter()
        .map(|p| Parameter::real(p, ""))
        .collect();
    let mut set = SampleSet::new(Metric::Wall);
    let method = set.declare("kernel", &parameters).expect("a new method");
    for (point, values) in kernel.points.iter().zip(&kernel.values) {
        for &value in values {
            set.push(method, point, value)
                .expect("a finite, positive time");
        }
    }
    set.finish().remove(0)
}

/// Everything from the single measurements to the model.
fn fitted(kernel: &Kernel) -> Model {
    fit(&samples(kernel)).expect("a model").remove(0)
}

/// Half the width of an interval, as a share of the value.
fn half_width(prediction: &Prediction) -> f64 {
    0.5 * (prediction.upper_s - prediction.lower_s) / prediction.value_s
}

fn answer(kernel: &Kernel) -> Answer {
    let start = processor_s();
    for _ in 0..REPETITIONS {
        black_box(fitted(black_box(kernel)));
    }
    let cpu_s = (processor_s() - start) / f64::from(REPETITIONS);
    let model = fitted(kernel);
    let told = fit_family(&samples(kernel), Family::NormalForm);
    let told = told.map_or_else(|_| model.clone(), |mut models| models.remove(0));
    let by = |model: &Model, point: &[f64]| {
        let values = kernel.params.iter().zip(point);
        let coordinate = values.fold(Coordinate::new(), |c, (name, &x)| c.with(name, x));
        predict(model, &coordinate).expect("a coordinate of the kernel")
    };
    let at = |point: &[f64]| by(&model, point);
    let far = at(&kernel.far);
    let inside = |lower: f64, upper: f64, value: f64| (lower..=upper).contains(&value);
    let near = kernel
        .near
        .iter()
        .zip(&kernel.near_values)
        .filter(|(point, value)| {
            let p = at(point);
            inside(p.lower_s, p.upper_s, **value)
        });
    let far_values = kernel.far_values.iter();
    Answer {
        terms: terms(&model, &kernel.params),
        far: far.value_s,
        far_mean: far.value_s
            + far
                .held_up
                .map_or(0.0, |held_up| held_up.share * held_up.mean_s),
        cpu_s,
        near_inside: near.count(),
        far_inside: far_values
            .filter(|v| inside(far.lower_s, far.upper_s, **v))
            .count(),
        far_above: kernel
            .far_values
            .iter()
            .filter(|value| **value > far.upper_s)
            .count(),
        half_width: half_width(&far),
        half_width_told: half_width(&by(&told, &kernel.far)),
        family: model.family,
    }
}

fn terms(model: &Model, params: &[String]) -> Vec<Vec<(usize, f64, u32)>> {
    let index: BTreeMap<&str, usize> = params.iter().map(String::as_str).zip(0..).collect();
    let product = |term: &mastermind_models::Term| {
        let factors = term.factors.iter().map(|f| {
            let exponent = (f.exponent.value() * 1e6).round() / 1e6;
            (index[f.param.as_str()], exponent, f.log_exponent)
        });
        let mut factors: Vec<_> = factors.collect();
        factors.sort_by(|a, b| a.partial_cmp(b).expect("finite exponents"));
        factors
    };
    let mut terms: Vec<_> = model.formula.terms.iter().map(product).collect();
    terms.sort_by(|a, b| a.partial_cmp(b).expect("finite exponents"));
    terms
}
