//! A run as a table, and back.
//!
//! Circumstances that one would select by are columns as well, the same in every row, which costs nothing in Parquet; all of them are in
//! the file's metadata.

use mastermind_export::{PlainColumn, PlainTable};

use super::{StoredRun, VERSION};
use crate::run_sums::{Cell, Circumstances, RunSums};

/// Keys of the metadata.
const VERSION_KEY: &str = "mastermind.history";
const CIRCUMSTANCES_KEY: &str = "mastermind.circumstances";

/// Names of the columns of [`Cell::quantiles_ns`].
const QUANTILES: [&str; 5] = ["min_ns", "q25_ns", "median_ns", "q75_ns", "max_ns"];

/// Names of the columns of [`Cell::segments_ns`], which files of earlier days lack.
const SEGMENTS: [&str; 3] = ["own_min_ns", "own_q25_ns", "own_median_ns"];

/// The table of a run.
pub(super) fn table(run: &RunSums) -> PlainTable {
    let cells = &run.cells;
    let circumstances = &run.circumstances;
    let mut columns = Vec::new();
    let mut add = |name: &str, column: PlainColumn| columns.push((name.to_owned(), column));
    let texts = |of: &dyn Fn(&Cell) -> &String| {
        PlainColumn::Texts(cells.iter().map(|cell| of(cell).clone()).collect())
    };
    let integers =
        |of: &dyn Fn(&Cell) -> i64| PlainColumn::Integers(cells.iter().map(of).collect());
    let reals = |of: &dyn Fn(&Cell) -> f64| PlainColumn::Reals(cells.iter().map(of).collect());
    add("method", texts(&|cell| &cell.method));
    add("class", texts(&|cell| &cell.class));
    add("parameters", texts(&|cell| &cell.parameters));
    add("bits", integers(&|cell| cell.bits));
    add("means", texts(&|cell| &cell.means));
    add("calls", integers(&|cell| cell.calls.cast_signed()));
    add("failed", integers(&|cell| cell.failed.cast_signed()));
    add("total_ns", reals(&|cell| cell.total_ns));
    add("mean_log", reals(&|cell| cell.mean_log));
    add("deviation_log", reals(&|cell| cell.deviation_log));
    for (place, name) in QUANTILES.into_iter().enumerate() {
        add(name, reals(&|cell| cell.quantiles_ns[place]));
    }
    for (place, name) in SEGMENTS.into_iter().enumerate() {
        add(name, reals(&|cell| cell.segments_ns[place]));
    }
    let commit = circumstances.commit.clone().unwrap_or_default();
    add("commit", PlainColumn::Texts(vec![commit; cells.len()]));
    let started = circumstances.started_unix_ns.cast_signed();
    add(
        "started_unix_ns",
        PlainColumn::Integers(vec![started; cells.len()]),
    );
    let load = circumstances.load.unwrap_or(f64::NAN);
    add("load", PlainColumn::Reals(vec![load; cells.len()]));
    // Of texts and numbers: it has a form.
    let circumstances = serde_json::to_string(circumstances).unwrap_or_default();
    PlainTable {
        columns,
        metadata: vec![
            (VERSION_KEY.into(), VERSION.to_string()),
            (CIRCUMSTANCES_KEY.into(), circumstances),
        ],
    }
}

/// All runs as one table: the columns of each, with the run, its program and its machine before them.
pub fn table_of(runs: &[StoredRun]) -> PlainTable {
    let mut all = PlainTable::default();
    for run in runs {
        let circumstances = &run.sums.circumstances;
        let n = run.sums.cells.len();
        let names = [
            ("run", &run.id),
            ("program", &circumstances.program),
            ("machine", &circumstances.machine),
        ];
        let names =
            names.map(|(key, name)| (key.into(), PlainColumn::Texts(vec![name.clone(); n])));
        let columns = names.into_iter().chain(table(&run.sums).columns);
        if all.columns.is_empty() {
            all.columns = columns.collect();
            continue;
        }
        for ((_, known), (_, more)) in all.columns.iter_mut().zip(columns) {
            match (known, more) {
                (PlainColumn::Integers(known), PlainColumn::Integers(more)) => known.extend(more),
                (PlainColumn::Reals(known), PlainColumn::Reals(more)) => known.extend(more),
                (PlainColumn::Texts(known), PlainColumn::Texts(more)) => known.extend(more),
                // `table` defines the columns of all runs.
                _ => {}
            }
        }
    }
    all
}

/// The problem and the expected value.
type Problem = (String, String);

/// A column, and the field of a cell that it fills.
type Field<T> = (&'static str, fn(&mut Cell) -> &mut T);

/// The run of a table.
pub(super) fn run(table: &PlainTable) -> Result<RunSums, Problem> {
    let version = table.text(VERSION_KEY).ok_or_else(|| {
        let expected = "a run that `mastermind history add` wrote".to_owned();
        (format!("no \"{VERSION_KEY}\" in its metadata"), expected)
    })?;
    let known = version
        .parse()
        .ok()
        .filter(|v: &u32| (1..=VERSION).contains(v));
    if known.is_none() {
        let expected =
            format!("at most {VERSION}; read it with the version of Mastermind that wrote it");
        return Err((format!("version {version:?} of the schema"), expected));
    }
    let text = table.text(CIRCUMSTANCES_KEY).unwrap_or_default();
    let circumstances: Circumstances = serde_json::from_str(text)
        .map_err(|error| (format!("circumstances: {error}"), "a JSON document".into()))?;
    let reader = Reader(table);
    let n = reader.texts("method")?.len();
    let mut cells = vec![Cell::default(); n];
    let texts: [Field<String>; 4] = [
        ("method", |cell| &mut cell.method),
        ("class", |cell| &mut cell.class),
        ("parameters", |cell| &mut cell.parameters),
        ("means", |cell| &mut cell.means),
    ];
    for (name, field) in texts {
        for (cell, value) in cells.iter_mut().zip(reader.texts(name)?) {
            field(cell).clone_from(value);
        }
    }
    let reals: [Field<f64>; 8] = [
        ("total_ns", |cell| &mut cell.total_ns),
        ("mean_log", |cell| &mut cell.mean_log),
        ("deviation_log", |cell| &mut cell.deviation_log),
        (QUANTILES[0], |cell| &mut cell.quantiles_ns[0]),
        (QUANTILES[1], |cell| &mut cell.quantiles_ns[1]),
        (QUANTILES[2], |cell| &mut cell.quantiles_ns[2]),
        (QUANTILES[3], |cell| &mut cell.quantiles_ns[3]),
        (QUANTILES[4], |cell| &mut cell.quantiles_ns[4]),
    ];
    for (name, field) in reals {
        for (cell, value) in cells.iter_mut().zip(reader.reals(name)?) {
            *field(cell) = *value;
        }
    }
    for (place, name) in SEGMENTS.into_iter().enumerate() {
        let column = reader.0.column(name).is_some();
        let values = column.then(|| reader.reals(name)).transpose()?;
        for (at, cell) in cells.iter_mut().enumerate() {
            cell.segments_ns[place] = values.map_or(f64::NAN, |values| values[at]);
        }
    }
    for (cell, value) in cells.iter_mut().zip(reader.integers("bits")?) {
        cell.bits = *value;
    }
    for (cell, value) in cells.iter_mut().zip(reader.integers("calls")?) {
        cell.calls = count("calls", *value)?;
    }
    for (cell, value) in cells.iter_mut().zip(reader.integers("failed")?) {
        cell.failed = count("failed", *value)?;
    }
    Ok(RunSums {
        circumstances,
        cells,
    })
}

fn count(name: &str, value: i64) -> Result<u64, Problem> {
    let count = u64::try_from(value);
    count.map_err(|_| (format!("{name} {value}"), "a number of calls".into()))
}

/// Columns of the expected types.
struct Reader<'t>(&'t PlainTable);

impl<'t> Reader<'t> {
    fn texts(&self, name: &str) -> Result<&'t [String], Problem> {
        match self.0.column(name) {
            Some(PlainColumn::Texts(values)) => Ok(values),
            _ => Err(Self::missing(name, "texts")),
        }
    }

    fn reals(&self, name: &str) -> Result<&'t [f64], Problem> {
        match self.0.column(name) {
            Some(PlainColumn::Reals(values)) => Ok(values),
            _ => Err(Self::missing(name, "reals")),
        }
    }

    fn integers(&self, name: &str) -> Result<&'t [i64], Problem> {
        match self.0.column(name) {
            Some(PlainColumn::Integers(values)) => Ok(values),
            _ => Err(Self::missing(name, "integers")),
        }
    }

    fn missing(name: &str, kind: &str) -> Problem {
        let expected = format!("a column \"{name}\" of {kind}");
        (format!("no column \"{name}\" of {kind}"), expected)
    }
}
