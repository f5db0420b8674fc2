//! Measurements of other tools: a table, or the file of a benchmark program, as `mastermind fit` reads it.

use std::fs::File;
use std::path::PathBuf;

use mastermind_component::names::Names;
use mastermind_models::{Format, Metric, SampleSet, Samples, Statistic, Survey, Wanted};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::error;
use crate::fitting::Wishes;
use crate::model::Models;

/// Measurements in a file: a table, files of Extra-P, and output of benchmark programs.
#[pyclass(frozen, module = "mastermind")]
pub(crate) struct Table {
    path: PathBuf,
    format: Format,
    /// How it is read.
    wanted: Wanted,
    methods: Vec<String>,
    missing: Vec<String>,
}

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (path, *, time=None, unit="s", params=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        time: Option<String>,
        unit: &str,
        params: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(format) = Format::of_name(&name) else {
            return Err(PyValueError::new_err(format!(
                "cannot read measurements \"{}\": an ending of no known format, expected .csv, .tsv, .txt, .json, .jsonl or .extra-p",
                path.display()
            )));
        };
        let mut table = Self {
            path,
            format,
            wanted: wanted(time, params, unit)?,
            methods: Vec::new(),
            missing: Vec::new(),
        };
        let (samples, missing) = py.detach(|| table.read(&table.wanted, Statistic::Clean))?;
        table.methods = samples.into_iter().map(|one| one.method).collect();
        table.missing = missing;
        Ok(table)
    }

    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Names of the methods.
    #[getter]
    fn methods(&self) -> Vec<String> {
        self.methods.clone()
    }

    /// Values that were set aside, and columns that are no parameters, a sentence each.
    #[getter]
    fn missing(&self) -> Vec<String> {
        self.missing.clone()
    }

    /// Fits models to the measurements, as `mastermind fit` does with the same options.
    #[pyo3(signature = (method=None, *, metric="wall", statistic="clean", formula=None, modes="by-test", shown=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn fit(
        &self,
        py: Python<'_>,
        method: Option<&str>,
        metric: &str,
        statistic: &str,
        formula: Option<&str>,
        modes: &str,
        shown: bool,
    ) -> PyResult<Models> {
        let wishes = Wishes::new(statistic, formula, modes)?;
        let wanted = Wanted {
            metric: Metric::named(metric),
            ..self.wanted.clone()
        };
        let models = py.detach(|| {
            let (samples, _) = self.read(&wanted, wishes.statistic)?;
            wishes.fit(samples, method, |one| Names::of_model(&one.method))
        })?;
        Ok(Models::new(match shown {
            true => models.shown_alone(),
            false => models,
        }))
    }
}

impl Table {
    /// The samples, and the parts of the file that are not in them.
    fn read(&self, wanted: &Wanted, statistic: Statistic) -> PyResult<(Vec<Samples>, Vec<String>)> {
        let name = self.path.display().to_string();
        let open = || {
            File::open(&self.path).map_err(|error| {
                PyValueError::new_err(format!("cannot read measurements \"{name}\": {error}"))
            })
        };
        let mut survey = Survey::default();
        let looked = survey.look(&name, self.format, open()?, wanted);
        looked.map_err(error)?;
        let mut set = SampleSet::new(wanted.metric.clone()).with_statistic(statistic);
        let aside = survey.read(&name, self.format, open()?, wanted, &mut set);
        let aside = aside.map_err(error)?;
        let columns = survey.left_out().iter().flat_map(|left| &left.columns);
        let columns = columns.map(|column| {
            format!("column \"{column}\" is not a parameter: lines that differ only in it are repetitions of one call")
        });
        let aside = aside.iter().map(|aside| format!("set aside {aside}"));
        Ok((set.finish(), columns.chain(aside).collect()))
    }
}

fn wanted(time: Option<String>, params: Option<Vec<String>>, unit: &str) -> PyResult<Wanted> {
    let unknown = || {
        PyValueError::new_err(format!(
            "cannot use unit \"{unit}\": unknown, expected s, ms, us or ns"
        ))
    };
    Ok(Wanted {
        time,
        params: params.unwrap_or_default(),
        unit: unit.parse().map_err(|()| unknown())?,
        ..Wanted::new(Metric::Wall)
    })
}
