//! Tables: a line of column names, then one line for each call.
//!
//! A column is the time, the method's name, the unit of the time, a parameter, or known to be none of these: `rank`, `rep`, `stddev`. If a
//! column of the last type differs from line to line, it is reported, so that no parameter is lost silently. The unit of a time may be
//! in its column name (`time_us`, `time [us]`), in a column `unit`, or in its cell (`230us`); different units are an error.

use std::io::BufRead;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::benchmarks::csv::Written;
use super::benchmarks::give;
use super::error::{InputError, Place, plain, quoted};
use super::wanted::{TimeUnit, Wanted, timed, times, with_unit};
use super::{Call, Cell, Named, Row, stem};
use crate::samples::metric::Metric;

/// First columns of an exported table of records; its parameters follow them, before the last columns.
const FIRST: [&str; 5] = ["seq", "start_ns", "wall_ns", "mpi_ns", "compute_ns"];
const LAST: [&str; 2] = ["callpath", "parent_seq"];

/// Names of columns with the method of a line.
const METHODS: [&str; 5] = ["method", "kernel", "function", "region", "routine"];

/// Names of columns that are no parameters unless the user names them as such.
const OTHERS: [&str; 43] = [
    "seq",
    "callpath",
    "parent_seq",
    "rank",
    "thread",
    "rep",
    "repetition",
    "repeat",
    "run",
    "iteration",
    "iter",
    "replicate",
    "round",
    "attempt",
    "run_id",
    "rep_id",
    "rep_no",
    "run_no",
    "index",
    "id",
    "trial",
    "sample",
    "seed",
    "timestamp",
    "date",
    "host",
    "hostname",
    "start",
    "begin",
    "end",
    "cpu",
    "cpu_time",
    "user_time",
    "sys_time",
    "pid",
    "comment",
    "std",
    "stdev",
    "stddev",
    "std_dev",
    "stderr",
    "sem",
    "variance",
];

/// Names of columns with the unit of each line's time.
const UNITS: [&str; 3] = ["unit", "units", "time_unit"];

/// The role of each column.
struct Layout {
    time: usize,
    /// Unit of the times; `None` for a counter.
    unit: Option<TimeUnit>,
    /// Unit in the name of the time's column.
    own_unit: Option<TimeUnit>,
    /// Column with the unit of each time.
    unit_column: Option<usize>,
    params: Vec<usize>,
    /// Columns without a name, such as the one after a comma at the end of each line.
    nameless: Vec<usize>,
    names: Vec<Named>,
    /// Column with the method's name.
    method: Option<usize>,
    /// Method of all lines, if there is no column for it.
    file_method: String,
    /// Whether the columns are those of an export, so that wall time can be made exclusive.
    is_export: bool,
    /// Whether other columns need no report: in an export, and if the parameters were named.
    all_is_known: bool,
}

/// Passes each line to `sink`. Lines that begin with `#` are comments; a missing time becomes NaN.
///
/// # Returns
/// Columns that differ from line to line and are neither parameters nor the time, unless the parameters were named.
pub(super) fn rows(
    name: &str,
    mut input: impl BufRead,
    wanted: &Wanted,
    sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
) -> Result<Vec<String>, InputError> {
    let start = input.fill_buf().map_err(InputError::io(name))?;
    let delimiter = delimiter(start);
    // If lines end with `\r\n`, the reader counts the second character to the next line.
    let first = start.split(|&byte| byte == b'\n').next();
    let late = u64::from(first.is_some_and(|line| line.ends_with(b"\r")));
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .comment(Some(b'#'))
        .trim(Trim::All)
        .from_reader(input);
    let headers = reader
        .headers()
        .map_err(|error| wrong(name, 0, error))?
        .clone();
    if headers.iter().all(str::is_empty) {
        return Err(empty(name));
    }
    let mut record = StringRecord::new();
    let mut n_rows = 0_u64;
    if let Some(program) = Written::of(&headers, wanted) {
        let mut rows = Vec::new();
        while reader
            .read_record(&mut record)
            .map_err(|error| wrong(name, late, error))?
        {
            let line = record.position().map_or(0, |at| at.line() + late);
            rows.extend(program.measured(name, line, &headers, &record, wanted)?);
        }
        return match give(rows, sink)? {
            0 => Err(empty(name)),
            _ => Ok(Vec::new()),
        };
    }
    let layout = Layout::new(name, &headers, wanted)?;
    let mut left_out = LeftOutColumns::new(&layout, headers.len());
    while reader
        .read_record(&mut record)
        .map_err(|error| wrong(name, late, error))?
    {
        let line = record.position().map_or(0, |at| at.line() + late);
        layout.row(name, line, n_rows, &record, sink)?;
        left_out.see(&record);
        n_rows += 1;
    }
    match n_rows {
        0 => Err(empty(name)),
        _ => Ok(left_out.names(&headers)),
    }
}

/// Columns that the reader does not use, and whether they differ from line to line.
struct LeftOutColumns {
    /// Column, its value in the first line, and whether another one was seen.
    columns: Vec<(usize, Option<String>, bool)>,
}

impl LeftOutColumns {
    fn new(layout: &Layout, n_columns: usize) -> Self {
        let is_used = |at: &usize| {
            let known = [Some(layout.time), layout.method, layout.unit_column];
            known.contains(&Some(*at)) || layout.params.contains(at) || layout.nameless.contains(at)
        };
        let columns = match layout.all_is_known {
            true => Vec::new(),
            false => (0..n_columns).filter(|at| !is_used(at)).collect(),
        };
        let columns = columns.into_iter().map(|at| (at, None, false)).collect();
        Self { columns }
    }

    fn see(&mut self, record: &StringRecord) {
        for (at, first, differs) in self.columns.iter_mut().filter(|column| !column.2) {
            match first {
                Some(first) => *differs = *first != record[*at],
                None => *first = Some(record[*at].to_owned()),
            }
        }
    }

    fn names(self, headers: &StringRecord) -> Vec<String> {
        let differing = self.columns.iter().filter(|column| column.2);
        differing
            .map(|column| headers[column.0].to_owned())
            .collect()
    }
}

/// The most frequent of comma, semicolon and tab in the first line that is no comment.
fn delimiter(start: &[u8]) -> u8 {
    let mut lines = start.split(|&byte| byte == b'\n');
    let line = lines.find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"));
    let count = |&delimiter: &u8| {
        let bytes = line.unwrap_or_default().iter();
        bytes.filter(|&&byte| byte == delimiter).count()
    };
    // `max_by_key` returns the last of equal elements: a comma if there is no delimiter at all.
    let most = [b'\t', b';', b','].into_iter().max_by_key(count);
    most.unwrap_or(b',')
}

fn empty(name: &str) -> InputError {
    InputError::Empty {
        input: name.into(),
        expected: "a line of column names and a call a line",
    }
}

/// # Arguments
/// * `late` - lines by which the reader's count is too low
fn wrong(name: &str, late: u64, error: csv::Error) -> InputError {
    let line = error.position().map_or(0, |at| at.line() + late);
    let place = Place::line(line);
    match error.into_kind() {
        csv::ErrorKind::Io(source) => InputError::io(name)(source),
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => InputError::content(
            name,
            place,
            format!("{len} {}", if len == 1 { "value" } else { "values" }),
            format!("{expected_len}, one a column"),
        ),
        csv::ErrorKind::Utf8 { .. } => {
            InputError::content(name, place, "bytes that are no UTF-8", "text")
        }
        _ => InputError::content(name, place, "a line that cannot be read", "values"),
    }
}

impl Layout {
    fn new(name: &str, headers: &StringRecord, wanted: &Wanted) -> Result<Self, InputError> {
        let columns: Vec<&str> = headers.iter().collect();
        let is_export = columns.starts_with(&FIRST) && columns.ends_with(&LAST);
        let time = time(name, &columns, wanted)?;
        let method = match &wanted.method {
            Some(column) => Some(find(name, &columns, column, "name another")?),
            None => position(&columns, |column| {
                METHODS.contains(&column.to_ascii_lowercase().as_str())
            }),
        };
        let is_time = wanted.metric.is_time();
        let own_unit = is_time.then(|| timed(columns[time]).1).flatten();
        let unit_column = position(&columns, |column| {
            UNITS.contains(&column.to_ascii_lowercase().as_str())
        })
        .filter(|&at| {
            let is_param = wanted.params.iter().any(|param| param == columns[at]);
            is_time && own_unit.is_none() && !is_param
        });
        let params: Vec<usize> = if wanted.params.is_empty() {
            let known = [Some(time), method, unit_column];
            let is_other = |at: usize| known.contains(&Some(at)) || other(columns[at]);
            (0..columns.len()).filter(|&at| !is_other(at)).collect()
        } else {
            let named = wanted.params.iter();
            named
                .map(|param| find(name, &columns, param, "name others"))
                .collect::<Result<_, _>>()?
        };
        let (nameless, params): (Vec<usize>, Vec<usize>) =
            params.into_iter().partition(|&at| columns[at].is_empty());
        let names = params.iter().map(|&at| parameter(columns[at]));
        Ok(Self {
            names: names.collect(),
            unit: is_time.then(|| own_unit.unwrap_or(wanted.unit)),
            own_unit,
            unit_column,
            is_export: is_export && wanted.metric == Metric::Wall && wanted.time.is_none(),
            all_is_known: is_export || !wanted.params.is_empty(),
            file_method: if is_export {
                exported_method(name)
            } else {
                stem(name).to_owned()
            },
            time,
            params,
            nameless,
            method,
        })
    }

    fn row(
        &self,
        name: &str,
        line: u64,
        n_before: u64,
        record: &StringRecord,
        sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
    ) -> Result<(), InputError> {
        let at = |column: usize| Place {
            line,
            column: column as u64 + 1,
        };
        let number = |column: usize| -> Result<f64, InputError> {
            match record[column].parse() {
                Ok(number) => Ok(number),
                Err(_) if record[column].is_empty() => Ok(f64::NAN),
                Err(_) => {
                    let found = quoted(&record[column]);
                    let expected = match record[column].replacen(',', ".", 1).parse::<f64>() {
                        Ok(_) => "a number with a decimal point",
                        Err(_) => "a number",
                    };
                    Err(InputError::content(name, at(column), found, expected))
                }
            }
        };
        if let Some(&column) = self.nameless.iter().find(|&&at| {
            // In a table written by pandas, the first column has no name and numbers the lines.
            let is_number = at == 0 && record[at].parse() == Ok(n_before);
            !record[at].is_empty() && !is_number
        }) {
            let found = format!("{} in a column without a name", quoted(&record[column]));
            return Err(InputError::content(
                name,
                at(column),
                found,
                "a name for each column",
            ));
        }
        let value_s = match (self.unit, time_with_unit(&record[self.time])) {
            (Some(_), Some((value, unit))) => {
                let of_column = self
                    .unit_column
                    .and_then(|column| record[column].parse().ok());
                if let Some(other) = self.own_unit.or(of_column).filter(|other| *other != unit) {
                    let found = format!(
                        "{} in a column of times in {other}",
                        quoted(&record[self.time])
                    );
                    return Err(InputError::content(name, at(self.time), found, "one unit"));
                }
                unit.to_s(value)
            }
            (Some(unit), None) => {
                let value = number(self.time)?;
                let unit = match self.unit_column {
                    Some(column) if !value.is_nan() => record[column].parse().map_err(|()| {
                        let found = format!("time unit {}", quoted(&record[column]));
                        InputError::content(name, at(column), found, "s, ms, us or ns")
                    })?,
                    _ => unit,
                };
                unit.to_s(value)
            }
            (None, _) => number(self.time)?,
        };
        let call = match self.is_export {
            true => Some(Call {
                seq: whole(name, at(0), &record[0])?.unwrap_or(u64::MAX),
                parent_seq: whole(name, at(record.len() - 1), &record[record.len() - 1])?,
                wall_ns: whole(name, at(self.time), &record[self.time])?.unwrap_or(0),
            }),
            false => None,
        };
        let cells: Vec<Cell<'_>> = self.params.iter().map(|&at| cell(&record[at])).collect();
        sink(&Row {
            line,
            method: match self.method {
                Some(column) => &record[column],
                None => &self.file_method,
            },
            metric: None,
            names: &self.names,
            cells: &cells,
            values_s: &[value_s],
            call,
        })
    }
}

/// A time with its unit: `230us`, `1.9 ms`, `3.4e-5 s`.
fn time_with_unit(text: &str) -> Option<(f64, TimeUnit)> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = text[number.len()..].parse::<TimeUnit>().ok()?;
    let number = number.trim_end().parse::<f64>().ok()?;
    Some((number, unit))
}

fn cell(text: &str) -> Cell<'_> {
    if text.is_empty() {
        return Cell::Empty;
    }
    // `nan` and `inf` are parsed as numbers, and refused later.
    text.parse().map_or(Cell::Label(text), Cell::Number)
}

fn whole(name: &str, place: Place, text: &str) -> Result<Option<u64>, InputError> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.parse().map(Some);
    number.map_err(|_| InputError::content(name, place, quoted(text), "a whole number"))
}

fn position(columns: &[&str], is_it: impl Fn(&str) -> bool) -> Option<usize> {
    columns.iter().position(|column| is_it(column))
}

/// The column with this name, with or without its unit.
fn find(
    name: &str,
    columns: &[&str],
    wanted: &str,
    todo: &'static str,
) -> Result<usize, InputError> {
    let found = position(columns, |column| {
        column == wanted || with_unit(column).0 == wanted
    });
    found.ok_or_else(|| no_column(name, columns, wanted, todo))
}

fn no_column(name: &str, columns: &[&str], column: &str, todo: &'static str) -> InputError {
    InputError::NoColumn {
        input: name.into(),
        column: column.into(),
        known: columns
            .iter()
            .map(|column| plain(column))
            .collect::<Vec<_>>()
            .join(", "),
        todo,
    }
}

fn time(name: &str, columns: &[&str], wanted: &Wanted) -> Result<usize, InputError> {
    if wanted.time.is_some() || !wanted.metric.is_time() {
        let at = find(name, columns, wanted.looked_for(), "name another")?;
        return match wanted.metric.is_time() {
            true => known_unit(name, columns[at]).map(|()| at),
            false => Ok(at),
        };
    }
    let known = times(&wanted.metric);
    // Ranked in the order of the names, so that `wall_ns` is preferred to another time.
    let rank = |at: usize| {
        let base = timed(columns[at]).0.to_ascii_lowercase();
        known.iter().position(|name| *name == base)
    };
    let called = || (0..columns.len()).filter(|&at| wanted.is_time(timed(columns[at]).0));
    let best = called().min_by_key(|&at| rank(at));
    let best =
        best.ok_or_else(|| no_column(name, columns, known[0], "name the column of the time"))?;
    let other = called().find(|&at| at != best && rank(at) == rank(best));
    if let Some(other) = other {
        let found = format!("times \"{}\" and \"{}\"", columns[best], columns[other]);
        let expected = "one; name the column to take";
        return Err(InputError::content(name, Place::default(), found, expected));
    }
    known_unit(name, columns[best]).map(|()| best)
}

/// Checks that the unit in brackets of a column of times, if any, is a unit of time.
fn known_unit(name: &str, column: &str) -> Result<(), InputError> {
    let unit = with_unit(column).1;
    if unit.is_empty() || unit.parse::<TimeUnit>().is_ok() {
        return Ok(());
    }
    let found = format!("times in {} as column \"{column}\" says", quoted(unit));
    let expected = "s, ms, us or ns; convert them";
    Err(InputError::content(name, Place::default(), found, expected))
}

/// Whether a column is known to be no parameter.
fn other(column: &str) -> bool {
    let lower = column.to_ascii_lowercase();
    let is_time = |metric: &Metric| times(metric).contains(&timed(&lower).0);
    OTHERS.contains(&lower.as_str())
        || OTHERS.contains(&timed(&lower).0)
        || [Metric::Wall, Metric::Mpi, Metric::Compute]
            .iter()
            .any(is_time)
}

fn parameter(column: &str) -> Named {
    let (name, unit) = with_unit(column);
    Named {
        name: name.into(),
        unit: unit.into(),
    }
}

/// `flux::flux.compute` of `flux.flux.compute.rank0000.csv`: instance, port and method of an exported table.
fn exported_method(name: &str) -> String {
    let stem = stem(name);
    let plain = match stem.rsplit_once(".rank") {
        Some((plain, rank)) if rank.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => stem,
    };
    plain.replacen('.', "::", 1)
}

/// The folder and the rank in the name of an exported table, which all tables of one rank share.
pub(super) fn rank_of(name: &str) -> String {
    let folder = name
        .rsplit_once(['/', '\\'])
        .map_or("", |(folder, _)| folder);
    let rank = stem(name).rsplit_once(".rank").map_or("", |(_, rank)| rank);
    format!("{folder}\n{rank}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_named_by_their_files() {
        assert_eq!(
            exported_method("a/flux.flux.compute.rank0012.csv"),
            "flux::flux.compute"
        );
        assert_eq!(exported_method("main.driver.go.csv"), "main::driver.go");
        assert_eq!(
            rank_of("a/x.y.z.rank0001.csv"),
            rank_of("a/u.v.w.rank0001.csv")
        );
        assert_ne!(
            rank_of("a/x.y.z.rank0001.csv"),
            rank_of("b/x.y.z.rank0001.csv")
        );
    }

    #[test]
    fn delimiters_are_seen() {
        assert_eq!(delimiter(b"# a,b,c\nn;t\n1;2\n"), b';');
        assert_eq!(delimiter(b"n\tt\n"), b'\t');
        assert_eq!((delimiter(b"n,t"), delimiter(b"")), (b',', b','));
    }
}
