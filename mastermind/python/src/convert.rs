//! Conversion of errors and documents to Python.

use std::error::Error;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

/// An error with its reasons, as the command line words it.
pub(crate) fn error(error: impl Error) -> PyErr {
    let mut text = error.to_string();
    let mut reason = error.source();
    while let Some(found) = reason {
        text = format!("{text}: {found}");
        reason = found.source();
    }
    PyValueError::new_err(text)
}

/// A value that serialises to a JSON document, as dictionaries and lists.
pub(crate) fn document<'py>(py: Python<'py>, of: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(of).map_err(error)?;
    py.import("json")?.call_method1("loads", (text,))
}

/// The value of a word.
pub(crate) fn one_of<T: Copy>(what: &str, word: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!(
            "cannot take {what} \"{word}\": unknown, expected {}",
            names.join(", ")
        ))
    })
}
