//! Models, and their predictions.
//!
//! The Python classes are thin: a `Models` or `Model` holds the Rust value, and each method is one
//! call of the crate `mastermind-models` with its result as lists, dictionaries and numbers, so
//! that neither numpy nor pandas is needed. Doc comments are what Python's `help()` prints, and
//! therefore speak to its users.
//!
//! ```text
//! >>> models = mastermind.Models.load("models.json")
//! >>> models["sort"].formula
//! '2.1e-9 * n * log2(n)'
//! >>> models["sort"].predict(n=[1000, 64000])
//! {'value': [..], 'mean': [..], 'held_up_share': [..], 'lower': [..], 'upper': [..], ...}
//! ```
//!
//! Predictions of many points run without the interpreter's lock.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mastermind_component::names;
use mastermind_models::{Coordinate, Language, Model as FittedModel, ModelSet, predict, render};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::convert::{document, error};

/// Models of methods, as `mastermind fit -o` writes them.
#[pyclass(frozen, module = "mastermind")]
pub(crate) struct Models {
    pub(crate) models: ModelSet,
}

impl Models {
    pub(crate) fn new(models: ModelSet) -> Self {
        Self { models }
    }
}

#[pymethods]
impl Models {
    /// Reads the file of models that `fit -o` or [`Models::save`] wrote.
    #[staticmethod]
    #[pyo3(signature = (path, *, shown=false))]
    fn load(path: PathBuf, shown: bool) -> PyResult<Self> {
        let text = std::fs::read_to_string(&path)?;
        let models = ModelSet::from_json(&text).map_err(|found| {
            PyValueError::new_err(format!(
                "cannot read models \"{}\": {found}",
                path.display()
            ))
        })?;
        Ok(Self::new(match shown {
            true => models.shown_alone(),
            false => models,
        }))
    }

    /// Writes them to a new file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        use std::io::Write;
        let text = self.models.to_json().map_err(error)? + "\n";
        Ok(std::fs::File::create_new(path)?.write_all(text.as_bytes())?)
    }

    /// Names of the methods, `CLASS::PORT.METHOD`, each once.
    #[getter]
    fn methods(&self) -> Vec<String> {
        let names = self.models.models.iter().map(|model| model.method.clone());
        names
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    fn __len__(&self) -> usize {
        self.models.models.len()
    }

    /// The models of a method, one a mode: by its name or an end of it that only it has.
    fn of(&self, name: &str) -> PyResult<Vec<Model>> {
        let meant = names::of_models(&self.models, name);
        let models = self
            .models
            .models
            .iter()
            .filter(|model| meant.contains(&model.method));
        match meant.len() {
            0 => {
                let known = self.methods().join(", ");
                Err(PyKeyError::new_err(format!(
                    "no model of \"{name}\", expected one of {known}"
                )))
            }
            1 => Ok(models.cloned().map(Model::new).collect()),
            n => Err(PyKeyError::new_err(format!(
                "{n} methods of the name \"{name}\", expected one: {}",
                Vec::from_iter(meant).join(", ")
            ))),
        }
    }

    /// The model of a method that has one mode, by its name; or by its number.
    fn __getitem__(&self, which: &Bound<'_, PyAny>) -> PyResult<Model> {
        if let Ok(place) = which.extract::<usize>() {
            let model = self.models.models.get(place);
            let out = || pyo3::exceptions::PyIndexError::new_err(format!("no model {place}"));
            return model.cloned().map(Model::new).ok_or_else(out);
        }
        let name: String = which.extract()?;
        let mut models = self.of(&name)?;
        match models.len() {
            1 => Ok(models.remove(0)),
            n => Err(PyKeyError::new_err(format!(
                "{n} modes of \"{name}\", expected one: take of(name)"
            ))),
        }
    }

    /// The models as the command line prints them.
    fn __str__(&self) -> String {
        render(&self.models.models, Language::Text)
    }

    /// All that is known of them: a dictionary, as in the file.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document(py, &self.models)
    }
}

/// How the time of a method, or a counter of it, grows with its parameters.
#[pyclass(frozen, module = "mastermind")]
pub(crate) struct Model {
    model: FittedModel,
}

impl Model {
    fn new(model: FittedModel) -> Self {
        Self { model }
    }
}

/// One value a point, or the same for all.
enum Given {
    Numbers(Vec<f64>),
    Number(f64),
    Label(String),
}

#[pymethods]
impl Model {
    /// The method, `CLASS::PORT.METHOD`.
    #[getter]
    fn method(&self) -> &str {
        &self.model.method
    }

    /// The shown formula.
    #[getter]
    fn formula(&self) -> &str {
        &self.model.expression
    }

    /// `s`, or the unit of the counter.
    #[getter]
    fn unit(&self) -> &str {
        self.model.metric.unit()
    }

    /// Share of the variance that is explained; None if it is undefined.
    #[getter]
    fn r2(&self) -> Option<f64> {
        self.model.r2
    }

    /// Share of the weight that the shown formula has among the credible ones.
    #[getter]
    fn weight(&self) -> f64 {
        self.model.weight()
    }

    /// Values of the labels that it holds for.
    #[getter]
    fn mode(&self) -> BTreeMap<String, String> {
        self.model.mode.clone()
    }

    /// Smallest and largest measured value of each parameter.
    #[getter]
    fn range(&self) -> BTreeMap<String, (f64, f64)> {
        let range = self.model.range.iter();
        range
            .map(|(name, [lower, upper])| (name.clone(), (*lower, *upper)))
            .collect()
    }

    /// Reservations to read before the model is used.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.model.notes.iter().map(ToString::to_string).collect()
    }

    /// All that is known of it: a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document(py, &self.model)
    }

    /// The source of a function in `rust` or `c`, or the formula as `latex`.
    fn to_source(&self, language: &str) -> PyResult<String> {
        let language = match language {
            "rust" => Language::Rust,
            "c" => Language::C,
            "latex" => Language::Latex,
            _ => return Err(PyValueError::new_err("expected rust, c or latex")),
        };
        Ok(render(std::slice::from_ref(&self.model), language))
    }

    /// Predicts single calls: a number or a sequence of numbers a parameter, of one length; the labels of the model's mode need not be
    /// given.
    ///
    /// Returns the columns `value`, `lower`, `upper` (the interval of one call, 95 %), `mean` (a call in a sum over calls, delays
    /// included), `held_up_share`, `held_up_mean`, `extrapolated`, `contradicts` and `clamped`:
    /// lists, a place a point.
    #[pyo3(signature = (**at))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        at: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut given = Vec::new();
        for (name, value) in at.into_iter().flatten() {
            let name: String = name.extract()?;
            given.push((name, one_or_many(&value)?));
        }
        for (name, label) in &self.model.mode {
            if given.iter().all(|(known, _)| known != name) {
                given.push((name.clone(), Given::Label(label.clone())));
            }
        }
        let lengths = given.iter().filter_map(|(name, given)| match given {
            Given::Numbers(numbers) => Some((name, numbers.len())),
            _ => None,
        });
        let mut n = None;
        for (name, length) in lengths {
            match n {
                Some((first, other)) if other != length => {
                    return Err(PyValueError::new_err(format!(
                        "cannot predict \"{}\": {length} values of {name} and {other} of {first}, expected as many of each",
                        self.model.method
                    )));
                }
                _ => n = Some((name, length)),
            }
        }
        let n = n.map_or(1, |(_, length)| length);
        let predictions = py.detach(|| {
            let at = |place| {
                let values = given.iter();
                values.fold(Coordinate::new(), |coordinate, (name, given)| match given {
                    Given::Numbers(numbers) => coordinate.with(name, numbers[place]),
                    Given::Number(number) => coordinate.with(name, *number),
                    Given::Label(label) => coordinate.with(name, label.as_str()),
                })
            };
            let predicted = (0..n).map(|place| predict(&self.model, &at(place)));
            predicted.collect::<Result<Vec<_>, _>>()
        });
        let predictions = predictions.map_err(error)?;
        let columns = PyDict::new(py);
        let numbers = |of: fn(&mastermind_models::Prediction) -> f64| {
            predictions.iter().map(of).collect::<Vec<_>>()
        };
        let flags = |of: fn(&mastermind_models::Prediction) -> bool| {
            predictions.iter().map(of).collect::<Vec<_>>()
        };
        columns.set_item("value", numbers(|p| p.value_s))?;
        columns.set_item("mean", numbers(|p| p.mean_s))?;
        let share = |p: &mastermind_models::Prediction| p.held_up.map_or(0.0, |of| of.share);
        columns.set_item("held_up_share", numbers(share))?;
        let delay = |p: &mastermind_models::Prediction| p.held_up.map_or(0.0, |of| of.mean_s);
        columns.set_item("held_up_mean", numbers(delay))?;
        columns.set_item("lower", numbers(|p| p.lower_s))?;
        columns.set_item("upper", numbers(|p| p.upper_s))?;
        columns.set_item("extrapolated", flags(|p| p.extrapolated))?;
        columns.set_item("contradicts", flags(|p| p.contradicts))?;
        columns.set_item("clamped", flags(|p| p.clamped))?;
        Ok(columns)
    }

    fn __repr__(&self) -> String {
        let (method, formula) = (&self.model.method, &self.model.expression);
        format!(
            "<mastermind.Model of {method}: {}>",
            self.model.metric.with_unit(formula)
        )
    }
}

fn one_or_many(value: &Bound<'_, PyAny>) -> PyResult<Given> {
    // Before the sequence: a text is one of its letters.
    if value.is_instance_of::<PyString>() {
        return Ok(Given::Label(value.extract()?));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Given::Number(number));
    }
    let numbers: PyResult<Vec<f64>> = value.try_iter()?.map(|number| number?.extract()).collect();
    Ok(Given::Numbers(numbers?))
}
