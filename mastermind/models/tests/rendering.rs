//! Functions in Rust and C, compiled and run: they give the values of predictions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mastermind_models::{
    Coordinate, Family, FitOptions, Language, Metric, Model, Parameter, SampleSet, Unknown,
    UserFormula, fit_with, predict, render,
};

/// Models of every form, each of a method of its own, `m0` and so on.
fn models() -> Vec<Model> {
    let q = &[Parameter::integer("q", "double")][..];
    let two = &[
        Parameter::integer("log2", ""),
        Parameter::real("n cells", "cell"),
    ][..];
    let modes = &[
        Parameter::integer("q", "double"),
        Parameter::enumeration("axis", &["x", "y"]),
    ][..];
    let family = |family| FitOptions {
        family: Some(family),
        ..FitOptions::default()
    };
    let written = |text: &str, unknowns: &[&str]| {
        let unknowns = unknowns
            .iter()
            .map(|name| ((*name).to_owned(), Unknown::default()));
        let formula = UserFormula::parse(text, unknowns.collect()).expect("a formula");
        FitOptions {
            formula: Some(formula),
            ..FitOptions::default()
        }
    };
    let mut models = Models {
        models: Vec::new(),
        noise: Noise(7),
    };
    models.add(q, &family(Family::Constant), |_| 3e-6, 0.01);
    models.add(q, &family(Family::Line), |x| 2e-6 + 1e-9 * x[0], 0.02);
    models.add(
        q,
        &family(Family::PowerLaw),
        |x| 1e-9 * x[0].powf(1.19),
        0.02,
    );
    models.add(
        q,
        &family(Family::NormalForm),
        |x| 1e-4 + 1e-7 * x[0] * x[0].log2(),
        0.1,
    );
    models.add(
        q,
        &FitOptions::default(),
        |x| 1e-4 + 1e-9 * x[0].powf(1.5) * x[0].log2().powi(2),
        0.05,
    );
    models.add(
        two,
        &family(Family::Line),
        |x| 1e-5 + 1e-8 * x[0] + 3e-8 * x[1],
        0.02,
    );
    models.add(
        two,
        &FitOptions::default(),
        |x| 1e-5 + 1e-8 * x[0] * x[1].log2(),
        0.02,
    );
    models.add(
        modes,
        &FitOptions::default(),
        |x| (1e-5 + 1e-8 * x[0]) * (1.0 + x[1]),
        0.02,
    );
    models.add(
        q,
        &family(Family::Logarithm),
        |x| 1e-6 + 1e-6 * x[0].log2(),
        0.02,
    );
    models.add(
        q,
        &family(Family::Exponential),
        |x| 1e-6 * (1e-3 * x[0]).exp(),
        0.02,
    );
    models.add(
        q,
        &family(Family::Polynomial),
        |x| 1e-6 + 1e-9 * x[0] + 1e-11 * x[0] * x[0],
        0.02,
    );
    models.add(
        q,
        &family(Family::Stairs),
        |x| 1e-6 + 1e-6 * (x[0] / 500.0).ceil(),
        0.01,
    );
    models.add(
        q,
        &family(Family::Regimes),
        |x| 1e-9 * x[0] * if x[0] < 600.0 { 1.0 } else { 4.0 },
        0.02,
    );
    let text = "a * sqrt(abs(q)) / 2 - min(b, q) + c * log10(q)^2 - -d";
    models.add(
        q,
        &written(text, &["a", "b", "c", "d"]),
        |x| 1e-6 * x[0].sqrt() + 1e-6 * x[0].log10(),
        0.02,
    );
    models.models
}

struct Models {
    models: Vec<Model>,
    noise: Noise,
}

impl Models {
    /// Adds the models of samples of a function with so much spread.
    fn add(
        &mut self,
        parameters: &[Parameter],
        options: &FitOptions,
        time: fn(&[f64]) -> f64,
        spread: f64,
    ) {
        let mut set = SampleSet::new(Metric::Wall);
        let method = set
            .declare(&format!("Class::m{}", self.models.len()), parameters)
            .unwrap();
        for i in 0..8 * parameters.len() as u32 {
            let value = |(place, parameter): (usize, &Parameter)| {
                let steps = f64::from((i >> (place as u32)) % 8 + 1);
                if parameter.name == "axis" {
                    f64::from(i % 2)
                } else {
                    32.0 * steps * steps
                }
            };
            let x: Vec<f64> = parameters.iter().enumerate().map(value).collect();
            for _ in 0..5 {
                let seconds = time(&x) * (1.0 + spread * self.noise.next());
                set.push(method, &x, seconds).unwrap();
            }
        }
        let fitted = fit_with(&set.finish()[0], options);
        self.models
            .extend(fitted.unwrap_or_else(|error| panic!("{options:?}: {error}")));
    }
}

/// Numbers between −1 and 1 by a linear congruence.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Names and arguments of the functions of a source, by what their line begins with.
fn functions(source: &str, begin: &str) -> Vec<(String, usize)> {
    let lines = source.lines().filter_map(|line| line.strip_prefix(begin));
    lines
        .map(|line| {
            let (name, rest) = line.split_once('(').unwrap();
            let arguments = rest.split_once(')').unwrap().0;
            let n = arguments
                .split(',')
                .filter(|a| !["", "void"].contains(&a.trim()))
                .count();
            (name.to_owned(), n)
        })
        .collect()
}

/// Coordinates to compare at, in and out of the range; the numbers in the order of the parameters.
fn coordinates(model: &Model) -> Vec<(Coordinate, BTreeMap<String, f64>)> {
    [1.5, 40.0, 1000.0, 4000.0]
        .iter()
        .map(|&x| {
            let mut coordinate = Coordinate::new();
            let mut numbers = BTreeMap::new();
            for (name, label) in &model.mode {
                coordinate = coordinate.with(name, label.as_str());
            }
            for (place, param) in model.params.iter().enumerate() {
                let value = x * (1.0 + 0.5 * place as f64);
                coordinate = coordinate.with(param, value);
                numbers.insert(param.clone(), value);
            }
            (coordinate, numbers)
        })
        .collect()
}

/// The calls to print, as source text, and the values that they must give.
fn calls(models: &[Model], functions: &[(String, usize)]) -> (Vec<String>, Vec<f64>) {
    let (mut calls, mut values) = (Vec::new(), Vec::new());
    let mut functions = functions.iter();
    for model in models {
        let (value, n) = functions.next().expect("a function a model");
        let used = used(model, false);
        assert_eq!(*n, used.len(), "{value}");
        let deviation = model
            .sigma
            .as_ref()
            .map(|_| functions.next().expect("a deviation"));
        for (coordinate, numbers) in coordinates(model) {
            let arguments = |used: &[String]| {
                let list: Vec<_> = used
                    .iter()
                    .map(|param| format!("{:?}", numbers[param]))
                    .collect();
                list.join(", ")
            };
            calls.push(format!("{value}({})", arguments(&used)));
            values.push(predict(model, &coordinate).unwrap().value_s);
            if let Some((name, _)) = deviation
                && model.covers(&coordinate)
            {
                calls.push(format!("{name}({})", arguments(&self::used(model, true))));
                values.push(model.deviation_s(&coordinate).unwrap());
            }
        }
    }
    assert_eq!(functions.next(), None);
    (calls, values)
}

/// The parameters that the value, or the deviation, depends on.
fn used(model: &Model, of_deviation: bool) -> Vec<String> {
    let mut formulas = vec![&model.formula];
    if of_deviation {
        formulas = model.sigma.iter().collect();
    } else if !model.alternatives.is_empty() {
        formulas = model.alternatives.iter().map(|a| &a.formula).collect();
    }
    // Without its parameter a formula has no value.
    let is_used = |param: &&String| {
        let without = |name: &str| (name != param.as_str()).then_some(2.0);
        formulas
            .iter()
            .any(|formula| formula.evaluate(without).is_err())
    };
    model.params.iter().filter(is_used).cloned().collect()
}

#[track_caller]
fn compare(calls: &[String], expected: &[f64], printed: &str) {
    let printed: Vec<f64> = printed
        .lines()
        .map(|line| line.trim().parse().unwrap())
        .collect();
    assert_eq!(printed.len(), expected.len());
    for ((call, &expected), &found) in calls.iter().zip(expected).zip(&printed) {
        let scale = expected.abs().max(f64::MIN_POSITIVE);
        assert!(
            (found - expected).abs() <= 1e-12 * scale,
            "{call}: {found:e}, expected {expected:e}"
        );
    }
}

fn output(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.stderr.is_empty(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn rust_functions_give_the_predictions() {
    let models = models();
    let source = render(&models, Language::Rust);
    let (calls, expected) = calls(&models, &functions(&source, "pub fn "));
    let mut program = format!("{source}\nfn main() {{\n");
    for call in &calls {
        let _ = writeln!(program, "    println!(\"{{:.17e}}\", {call});");
    }
    program += "}\n";
    let folder = tempfile::tempdir().unwrap();
    let (file, built) = (
        folder.path().join("models.rs"),
        folder.path().join("models"),
    );
    std::fs::write(&file, program).unwrap();
    output(
        Command::new("rustc")
            .args(["--edition", "2021", "-D", "warnings", "-O", "-o"])
            .arg(&built)
            .arg(&file),
    );
    compare(&calls, &expected, &output(&mut Command::new(&built)));
}

#[test]
fn c_functions_give_the_predictions() {
    let version = Command::new("cc")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !version.is_ok_and(|status| status.success()) {
        println!("left out: no C compiler");
        return;
    }
    let models = models();
    let source = render(&models, Language::C);
    let (calls, expected) = calls(&models, &functions(&source, "double "));
    let mut program = format!("{source}\n#include <stdio.h>\n\nint main(void)\n{{\n");
    for call in &calls {
        let _ = writeln!(program, "    printf(\"%.17e\\n\", {call});");
    }
    program += "    return 0;\n}\n";
    let folder = tempfile::tempdir().unwrap();
    let built = folder.path().join("models");
    let file: &Path = &folder.path().join("models.c");
    std::fs::write(file, program).unwrap();
    let warnings = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-O2", "-o"];
    output(
        Command::new("cc")
            .args(warnings)
            .arg(&built)
            .arg(file)
            .arg("-lm"),
    );
    compare(&calls, &expected, &output(&mut Command::new(&built)));
}

#[test]
fn sheets_and_equations_name_what_a_reader_needs() {
    let models = models();
    let text = render(&models, Language::Text);
    for part in [
        "Class::m1, wall time",
        "s/double",
        "cross-validated",
        "AICc -",
        "BIC -",
        "credible formulas; predictions are their median by weight",
        "q from 32 to 2048",
        "40 calls at 8 coordinates",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let latex = render(&models, Language::Latex);
    let begins = latex.matches("\\begin{equation}").count();
    assert_eq!(begins, latex.matches("\\end{equation}").count());
    assert_eq!(
        begins,
        models
            .iter()
            .map(|m| 1 + usize::from(m.sigma.is_some()))
            .sum::<usize>()
    );
    for part in [
        "T(q) = ",
        "\\sigma",
        "32 \\le q \\le 2048",
        "T_{\\mathrm{x}}(q)",
        "\\times 10^{-",
    ] {
        assert!(latex.contains(part), "{part} in {latex}");
    }
    // Braces match, or it would not compile.
    for equation in latex.split("\\begin{equation}").skip(1) {
        assert_eq!(
            equation.matches('{').count(),
            equation.matches('}').count(),
            "{equation}"
        );
    }
}
