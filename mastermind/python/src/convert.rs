//! Errors and documents on their way to Python.

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

/// What serialises to a JSON document, as dictionaries and lists.
pub(crate) fn document<'py>(py: Python<'py>, of: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(of).map_err(error)?;
    py.import("json")?.call_method1("loads", (text,))
}
