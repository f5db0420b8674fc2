//! A run, and its records as a stream of Arrow.
//!
//! Records are too many to become Python objects one by one. A `Records` object is a query,
//! columns, methods, ranks and conditions; it reads nothing until a library takes its stream by
//! Arrow's PyCapsule interface (`__arrow_c_stream__`), and then hands over batches in Arrow's
//! memory format without a copy. pandas, Polars, DuckDB and pyarrow all take such a stream, and the
//! module depends on none of them.
//!
//! ```text
//! >>> run = mastermind.Run("records")
//! >>> calls = run.records(["q", "wall_ns"], where=[("q", ">=", 4096)])   # nothing read yet
//! >>> polars.DataFrame(calls)                                            # read now, filtered
//! ```
//!
//! A wrong column or method is an error of `records()`, before anything is read. Reading and
//! fitting release the interpreter's lock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use mastermind_component::names::{self, Names};
use mastermind_component::{counted, samples};
use mastermind_export::{
    Comparison, Condition, ExtrapFormat, Operand, RecordBatches, Selection, TableFormat,
    write_extrap, write_table,
};
use mastermind_models::{Metric, ModelSet, SampleSet, Samples};
use mastermind_records::{Run as RecordedRun, RunInfo};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString};

use crate::convert::{document, error, one_of};
use crate::fitting::Wishes;
use crate::model::Models;

/// The records of a run, opened once; later records are not seen.
#[pyclass(frozen, module = "mastermind")]
pub(crate) struct Run {
    path: PathBuf,
    pub(crate) run: Arc<RecordedRun>,
}

#[pymethods]
impl Run {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let run = py.detach(|| RecordedRun::open(&path)).map_err(error)?;
        let run = Arc::new(run);
        Ok(Self { path, run })
    }

    /// The record directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Facts of the run in the logs, as in `mastermind info --json`: a dictionary.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document(py, &RunInfo::of(&self.run))
    }

    /// Names of the recorded methods, `INSTANCE.PORT.METHOD` or `MPI_Send`.
    #[getter]
    fn methods(&self) -> Vec<String> {
        let known = names::of_run(&self.run);
        known.iter().map(|names| names.shown().to_owned()).collect()
    }

    /// Times by call path, over all ranks and threads, callers first: dictionaries with `path` (names of the methods from the
    /// outermost), `calls`, `wall_s`, `own_s` (without the recorded calls made from there) and `mpi_s` (None where not measured).
    fn call_tree<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document(py, &py.detach(|| crate::tree::call_tree(&self.run)))
    }

    /// The ranks that left records.
    #[getter]
    fn ranks(&self) -> Vec<u32> {
        self.run.ranks()
    }

    /// Missing parts of the run, one text each: damaged logs, calls without a record, an end. Empty if the run is
    /// complete.
    #[getter]
    fn missing(&self) -> Vec<String> {
        let unreadable = self.run.unreadable().iter().map(ToString::to_string);
        let damage = self.run.damage().map(ToString::to_string);
        let coverage = self.run.coverage();
        let (all, without) = (coverage.all.calls, coverage.all.without_record);
        let reasons = Vec::from_iter(coverage.reasons).join("; ");
        let lost =
            (without > 0).then(|| format!("{without} of {all} calls have no record: {reasons}"));
        let unended =
            (!self.run.is_finished()).then(|| "the run has not ended, or was killed".into());
        unreadable
            .chain(damage)
            .chain(lost)
            .chain(unended)
            .collect()
    }

    /// The calls as a table, of the requested columns, methods and ranks; nothing is read before it is used.
    ///
    /// `where`: conditions that each row must meet, `(column, comparison, value)`, as `pyarrow.parquet.read_table`
    /// takes `filters`. Comparisons are `==`, `!=`, `<`, `<=`, `>`, `>=`, and `in` and `not in` with a list. A row
    /// without a value in the column meets none. Other rows are never made: `run.records(where=[("q", ">=", 4096),
    /// ("axis", "==", "y")])`.
    #[pyo3(signature = (columns=None, *, methods=None, ranks=None, r#where=None))]
    fn records(
        &self,
        columns: Option<Vec<String>>,
        methods: Option<Vec<String>>,
        ranks: Option<Vec<u32>>,
        r#where: Option<Vec<(String, String, Bound<'_, PyAny>)>>,
    ) -> PyResult<Records> {
        let records = Records {
            run: Arc::clone(&self.run),
            name: name_of(&self.path),
            columns,
            methods: methods.map(|typed| self.meant(&typed)).transpose()?,
            ranks: ranks.map(BTreeSet::from_iter),
            conditions: r#where
                .unwrap_or_default()
                .into_iter()
                .map(condition)
                .collect::<PyResult<_>>()?,
        };
        // A missing column is reported now.
        records.batches()?;
        Ok(records)
    }

    /// Fits models to the calls, as `mastermind fit` does with the same options.
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
        let metric = Metric::named(metric);
        let wishes = Wishes::new(statistic, formula, modes)?;
        let models = py.detach(|| self.fitted(method, &metric, &wishes))?;
        Ok(Models::new(match shown {
            true => models.shown_alone(),
            false => models,
        }))
    }

    /// Writes the calls for Extra-P, a file a method, as `mastermind export --format extrap` does, or extrap-jsonl.
    ///
    /// Returns `files`, and `left_out`: the methods without a file, with the reasons.
    #[pyo3(signature = (directory, *, format="extrap"))]
    fn to_extrap<'py>(
        &self,
        py: Python<'py>,
        directory: PathBuf,
        format: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let known = [
            ("extrap", ExtrapFormat::Text),
            ("extrap-jsonl", ExtrapFormat::JsonLines),
        ];
        let format = one_of("format", format, &known)?;
        let exported = py.detach(|| write_extrap(&self.run, &directory, format));
        let exported = exported.map_err(error)?;
        let result = PyDict::new(py);
        result.set_item("files", exported.files)?;
        result.set_item("left_out", BTreeMap::from_iter(exported.left_out))?;
        Ok(result)
    }

    /// Writes all calls into one Parquet file, with the metadata of the run.
    fn to_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        let write = || -> Result<u64, PyErr> {
            let about = serde_json::to_string(&RunInfo::of(&self.run)).map_err(error)?;
            let out = Box::new(std::fs::File::create_new(&path)?);
            let (name, out) = (name_of(&self.path), (path.as_path(), out as Box<_>));
            write_table(&self.run, &name, &about, out, TableFormat::Parquet).map_err(error)
        };
        py.detach(write)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.run.n_records()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        let (records, ranks) = (self.run.n_records(), self.run.ranks().len());
        format!(
            "<mastermind.Run \"{}\": {records} records, {ranks} ranks>",
            self.path.display()
        )
    }
}

impl Run {
    /// The shown names of the methods that are meant.
    fn meant(&self, typed: &[String]) -> PyResult<BTreeSet<String>> {
        let known = names::of_run(&self.run);
        let mut all = BTreeSet::new();
        for name in typed {
            let meant = names::meant(name, &known);
            if meant.is_empty() {
                return Err(error(names::unknown(
                    "read",
                    name,
                    "no calls recorded",
                    &known,
                )));
            }
            all.extend(
                meant
                    .into_iter()
                    .map(|place| known[place].shown().to_owned()),
            );
        }
        Ok(all)
    }

    fn fitted(
        &self,
        method: Option<&str>,
        metric: &Metric,
        wishes: &Wishes<'_>,
    ) -> PyResult<ModelSet> {
        let metric = counted(&self.run, metric).map_err(|missing| {
            let known: String = missing
                .known
                .iter()
                .map(|name| format!(", {name}"))
                .collect();
            let why = missing
                .why
                .unwrap_or_else(|| "no counter of that name".into());
            PyValueError::new_err(format!(
                "cannot fit {metric}: {why}, expected wall, mpi, compute{known}"
            ))
        })?;
        let mut set = SampleSet::new(metric.clone()).with_statistic(wishes.statistic);
        samples(&self.run, &mut set, &metric).map_err(error)?;
        let names_of = |one: &Samples| Names::of_model(&one.method).and_of_run(&self.run);
        wishes.fit(set.finish(), method, names_of)
    }
}

/// Calls that are read when an Arrow library takes them, any number of times.
#[pyclass(frozen, module = "mastermind", subclass)]
pub(crate) struct Records {
    run: Arc<RecordedRun>,
    name: String,
    columns: Option<Vec<String>>,
    methods: Option<BTreeSet<String>>,
    ranks: Option<BTreeSet<u32>>,
    conditions: Vec<Condition>,
}

#[pymethods]
impl Records {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        let schema = self.batches()?.schema();
        Ok(schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect())
    }

    /// The stream, by Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to give the schema that it has.
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(self.batches()?));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The columns as lists, by name; absent values are None. For small tables, and if no Arrow library is installed.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut batches = self.batches()?;
        let schema = batches.schema();
        let lists: Vec<_> = schema.fields().iter().map(|_| PyList::empty(py)).collect();
        while let Some(batch) = py.detach(|| batches.next()) {
            let batch = batch.map_err(error)?;
            for (list, column) in lists.iter().zip(batch.columns()) {
                append(list, column)?;
            }
        }
        let columns = PyDict::new(py);
        for (field, list) in schema.fields().iter().zip(lists) {
            columns.set_item(field.name(), list)?;
        }
        Ok(columns)
    }

    /// A `pyarrow.Table`.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// A `pandas.DataFrame`; texts are categories. Needs pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }

    /// A `polars.DataFrame`.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// The schema, by the same interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.batches()?.schema();
        let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(error)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

impl Records {
    fn batches(&self) -> PyResult<RecordBatches> {
        let about = serde_json::to_string(&RunInfo::of(&self.run)).map_err(error)?;
        let methods = self.methods.clone().map(|wanted| {
            let is_wanted = move |method: &_| wanted.contains(Names::of_run(method).shown());
            Box::new(is_wanted) as Box<_>
        });
        let selection = Selection {
            columns: self.columns.clone(),
            methods,
            ranks: self.ranks.clone(),
            conditions: self.conditions.clone(),
        };
        RecordBatches::new(Arc::clone(&self.run), &self.name, &about, selection).map_err(error)
    }
}

/// Appends the values of a column, None for absent ones.
fn append(list: &Bound<'_, PyList>, column: &ArrayRef) -> PyResult<()> {
    let is_there = |row: &usize| column.is_valid(*row);
    let mut rows = 0..column.len();
    if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
        return rows.try_for_each(|row| list.append(is_there(&row).then(|| numbers.value(row))));
    }
    if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
        return rows.try_for_each(|row| list.append(is_there(&row).then(|| numbers.value(row))));
    }
    if let Some(flags) = column.as_boolean_opt() {
        return rows.try_for_each(|row| list.append(flags.value(row)));
    }
    let keys = column.as_dictionary::<Int32Type>();
    let texts = keys.values().as_string::<i32>();
    // A text is made once for all its rows.
    let texts = texts
        .iter()
        .map(|text| PyString::new(list.py(), text.unwrap_or_default()));
    let texts: Vec<_> = texts.collect();
    rows.try_for_each(|row| list.append(keys.key(row).map(|key| &texts[key])))
}

/// The name of a run, from its folder.
fn name_of(path: &std::path::Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// A condition from a tuple.
fn condition((column, word, value): (String, String, Bound<'_, PyAny>)) -> PyResult<Condition> {
    let known = [
        ("==", Comparison::In),
        ("!=", Comparison::NotIn),
        ("<", Comparison::Less),
        ("<=", Comparison::AtMost),
        (">", Comparison::More),
        (">=", Comparison::AtLeast),
        ("in", Comparison::In),
        ("not in", Comparison::NotIn),
    ];
    let comparison = one_of("comparison", &word, &known)?;
    // `"in"` with a text means that text, not its letters.
    let operands = match word.ends_with("in") && !value.is_instance_of::<PyString>() {
        true => value
            .try_iter()?
            .map(|value| operand(&value?))
            .collect::<PyResult<_>>()?,
        false => vec![operand(&value)?],
    };
    Ok(Condition {
        column,
        comparison,
        operands,
    })
}

fn operand(value: &Bound<'_, PyAny>) -> PyResult<Operand> {
    // In this order: `True` is an integer to Python as well, and every integer a real.
    let flag = value.extract().map(Operand::Flag);
    let number = flag.or_else(|_| value.extract().map(Operand::Integer));
    let number = number.or_else(|_| value.extract().map(Operand::Real));
    number.or_else(|_| value.extract().map(Operand::Text))
}
