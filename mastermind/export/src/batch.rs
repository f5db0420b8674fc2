//! The records of one log as batches of columns.
//!
//! [`Batches::next`] reads up to 65536 wanted records of a piece of a log and gives them as an Arrow batch with the columns of the
//! plan; `arrow_stream` has several pieces decoded at once. What the records of a call path have in common (its texts,
//! which column holds which of its parameters, whether it is wanted at all) is worked out at the first of them
//! (`Batches::learn`), so that a record costs its numbers only. Names of instances, classes and methods are numbers into
//! dictionaries of the whole run. What a method does not have, or what was not measured, is absent; `columns` says which
//! columns there are, `condition` what a row must meet.
//!
//! ```text
//! instance,class,port,method,seq,start_ns,wall_ns,mpi_ns,compute_ns,level,q,axis,parent_seq,failed       some columns, as CSV
//! flux,hydro.GodunovFlux,flux,compute,46,8653289,23213,,,,1620,x,44,false
//! flux,hydro.GodunovFlux,flux,compute,48,8681972,15189,,,,1620,y,44,false
//! mesh,hydro.UniformMesh,mesh,add_fluxes,49,8700717,151,,,,,,34,false
//! ```

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use mastermind_records::definition::MethodDefinition;
use mastermind_records::{Log, Record, Records, Run, Value};

use crate::arrow_stream::{Piece, Plan};
use crate::cell::{Cell, Shape};
use crate::column::{Column, Memory};
use crate::condition::Condition;

/// Records of a batch.
pub(crate) const BATCH: usize = 1 << 16;
/// Records of the smallest one that there is memory for.
const FEW: usize = 1 << 10;

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Run,
    Rank,
    Thread,
    Instance,
    Class,
    Port,
    Method,
    Seq,
    Start,
    Wall,
    Mpi,
    Compute,
    CallPath,
    ParentSeq,
    Failed,
    /// A parameter or counter: its place among all columns.
    Value(usize, Shape),
}

impl Source {
    /// Of a column that every table has.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "run" => Self::Run,
            "rank" => Self::Rank,
            "thread" => Self::Thread,
            "instance" => Self::Instance,
            "class" => Self::Class,
            "port" => Self::Port,
            "method" => Self::Method,
            "seq" => Self::Seq,
            "start_ns" => Self::Start,
            "wall_ns" => Self::Wall,
            "mpi_ns" => Self::Mpi,
            "compute_ns" => Self::Compute,
            "callpath" => Self::CallPath,
            "parent_seq" => Self::ParentSeq,
            _ => Self::Failed,
        }
    }
}

/// Texts of which columns hold the number.
#[derive(Default)]
struct Dictionary {
    numbers: HashMap<String, i32>,
    texts: Vec<String>,
    /// All of them, once they are known.
    array: Option<Arc<StringArray>>,
}

impl Dictionary {
    fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut dictionary = Self::default();
        for text in texts {
            dictionary.number(text);
        }
        dictionary.array = Some(Arc::new(StringArray::from(dictionary.texts.clone())));
        dictionary
    }

    fn number(&mut self, text: &str) -> i32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as i32;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    fn known(&self, text: &str) -> Option<i32> {
        self.numbers.get(text).copied()
    }

    fn column(&self, keys: Int32Array) -> Result<ArrayRef, ArrowError> {
        let array = self.array.clone();
        let texts = array.unwrap_or_else(|| Arc::new(StringArray::from(self.texts.clone())));
        Ok(Arc::new(DictionaryArray::try_new(keys, texts)?))
    }
}

/// The texts of a run.
pub(crate) struct Dictionaries {
    run: Dictionary,
    instances: Dictionary,
    classes: Dictionary,
    ports: Dictionary,
    methods: Dictionary,
    call_paths: Dictionary,
}

impl Dictionaries {
    pub(crate) fn of(run: &Run, name: &str) -> Self {
        let definitions = || run.logs().iter().map(Log::definitions);
        let methods = || definitions().flat_map(|definitions| definitions.methods());
        let paths = definitions().flat_map(|definitions| {
            let paths = definitions.call_paths();
            paths.map(|path| definitions.call_path_name(path.id))
        });
        let paths: Vec<_> = paths.collect();
        Self {
            run: Dictionary::of([name]),
            instances: Dictionary::of(methods().map(|method| &*method.instance)),
            classes: Dictionary::of(methods().map(|method| &*method.class)),
            ports: Dictionary::of(methods().map(|method| &*method.port)),
            methods: Dictionary::of(methods().map(|method| &*method.method)),
            call_paths: Dictionary::of(paths.iter().map(String::as_str)),
        }
    }
}

impl Dictionaries {
    /// The name of the run.
    fn run_name(&self) -> &str {
        self.run.texts.first().map_or("", String::as_str)
    }

    /// That of a column of texts.
    fn of_column(&self, source: Source) -> &Dictionary {
        match source {
            Source::Instance => &self.instances,
            Source::Class => &self.classes,
            Source::Port => &self.ports,
            Source::Method => &self.methods,
            Source::CallPath => &self.call_paths,
            _ => &self.run,
        }
    }
}

/// What the records of a call path have in common.
struct Path<'r> {
    is_wanted: bool,
    /// Its call path's name.
    name: String,
    method: &'r MethodDefinition,
    /// Its wanted parameters: the place of each among those of the method, and of its column among those of the batch.
    parameters: Vec<(usize, usize)>,
    /// The columns of its counters, in their order; none where none is wanted.
    counters: Vec<Option<usize>>,
    /// What records must meet, each with what it is about.
    conditions: Vec<(About, &'r Condition)>,
}

/// What a condition on a record is about.
#[derive(Clone, Copy)]
enum About {
    /// What every record has.
    Record(Source),
    /// A parameter or counter: its place among those of the method.
    Value(usize),
}

impl About {
    #[inline]
    fn cell<'v>(self, record: &Record<'v>) -> Cell<'v> {
        let integer = |value: u64| Cell::Integer(value.cast_signed());
        let known = |value: Option<u64>| value.map_or(Cell::Absent, integer);
        match self {
            About::Record(Source::Seq) => integer(record.seq),
            About::Record(Source::Start) => integer(record.start_ns),
            About::Record(Source::Wall) => integer(record.wall_ns),
            About::Record(Source::Mpi) => known(record.mpi_ns),
            About::Record(Source::Compute) => {
                known(record.mpi_ns.map(|mpi| record.wall_ns.saturating_sub(mpi)))
            }
            About::Record(Source::ParentSeq) => known(record.parent_seq),
            About::Record(_) => Cell::Flag(record.failed),
            About::Value(place) => {
                let n_parameters = record.method.parameters.len();
                match place.checked_sub(n_parameters) {
                    Some(counter) => known(record.counters().nth(counter).flatten()),
                    None => match record.parameter(place) {
                        Some(Value::Integer(value)) => Cell::Integer(value),
                        Some(Value::Real(value)) => Cell::Real(value),
                        Some(Value::Label(_, Some(label))) => Cell::Text(label),
                        Some(Value::Label(word, None)) => Cell::Index(word),
                        None => Cell::Absent,
                    },
                }
            }
        }
    }
}

/// What records have in common, a place a record.
struct Rows {
    call_paths: Vec<u32>,
    seq: Column<i64>,
    start_ns: Column<i64>,
    wall_ns: Column<i64>,
    /// [`UNKNOWN`] where it was not measured.
    mpi_ns: Column<i64>,
    compute_ns: Column<i64>,
    /// [`UNKNOWN`] where there is none.
    parent_seq: Column<i64>,
    failed: Vec<bool>,
}

impl Path<'_> {
    /// Its text in a column; `None` in that of the run, which has one.
    fn text(&self, source: Source) -> Option<&str> {
        match source {
            Source::Instance => Some(&self.method.instance),
            Source::Class => Some(&self.method.class),
            Source::Port => Some(&self.method.port),
            Source::Method => Some(&self.method.method),
            Source::CallPath => Some(&self.name),
            _ => None,
        }
    }
}

/// No time and no number, which are not negative.
const UNKNOWN: i64 = -1;

impl Rows {
    fn new(memory: &Arc<Memory>) -> Self {
        Self {
            call_paths: Vec::new(),
            seq: Column::new(memory),
            start_ns: Column::new(memory),
            wall_ns: Column::new(memory),
            mpi_ns: Column::new(memory),
            compute_ns: Column::new(memory),
            parent_seq: Column::new(memory),
            failed: Vec::new(),
        }
    }

    /// None are left, and there is memory for so many, and as many beyond.
    fn prepare(&mut self, n_rows: usize, n_beyond: usize) -> io::Result<()> {
        self.call_paths.clear();
        self.failed.clear();
        let Self {
            seq,
            start_ns,
            wall_ns,
            mpi_ns,
            compute_ns,
            parent_seq,
            ..
        } = self;
        let mut columns = [seq, start_ns, wall_ns, mpi_ns, compute_ns, parent_seq].into_iter();
        columns.try_for_each(|column| column.prepare(n_rows, n_beyond))
    }

    #[inline]
    fn push(&mut self, record: &Record<'_>) {
        // Nanoseconds and counts beyond i64 do not happen in this century; the bits stay all the same.
        let or_unknown = |value: Option<u64>| value.map_or(UNKNOWN, u64::cast_signed);
        self.call_paths.push(record.call_path);
        self.seq.push(record.seq.cast_signed());
        self.start_ns.push(record.start_ns.cast_signed());
        self.wall_ns.push(record.wall_ns.cast_signed());
        self.mpi_ns.push(or_unknown(record.mpi_ns));
        self.parent_seq.push(or_unknown(record.parent_seq));
        self.failed.push(record.failed);
    }

    fn len(&self) -> usize {
        self.call_paths.len()
    }

    /// Wall times, and these without what was in MPI: one column where that is nothing.
    fn times(&mut self) -> (ScalarBuffer<i64>, ScalarBuffer<i64>) {
        if self.mpi_ns.numbers().iter().all(|mpi| *mpi == 0) {
            let wall_ns = self.wall_ns.finish();
            return (wall_ns.clone(), wall_ns);
        }
        let times = self.wall_ns.numbers().iter().zip(self.mpi_ns.numbers());
        for (&wall, &mpi) in times {
            self.compute_ns.push(match mpi {
                UNKNOWN => UNKNOWN,
                mpi => wall.saturating_sub(mpi).max(0),
            });
        }
        (self.wall_ns.finish(), self.compute_ns.finish())
    }
}

/// A column in which numbers may be [`UNKNOWN`].
fn known(numbers: ScalarBuffer<i64>) -> ArrayRef {
    let nulls = nulls(numbers.len(), |row| numbers[row] != UNKNOWN);
    Arc::new(Int64Array::new(numbers, nulls))
}

/// Which rows have a value; `None` where all have.
fn nulls(n_rows: usize, is_there: impl Fn(usize) -> bool) -> Option<NullBuffer> {
    let nulls = NullBuffer::new(BooleanBuffer::collect_bool(n_rows, is_there));
    (nulls.null_count() > 0).then_some(nulls)
}

/// Values that not every row has.
struct Sparse<T: ArrowPrimitiveType> {
    values: Column<T::Native>,
    is_there: Vec<bool>,
}

impl<T: ArrowPrimitiveType> Sparse<T> {
    fn new(memory: &Arc<Memory>) -> Self {
        Self {
            values: Column::new(memory),
            is_there: Vec::new(),
        }
    }

    fn prepare(&mut self, n_rows: usize, n_beyond: usize) -> io::Result<()> {
        self.is_there.clear();
        self.values.prepare(n_rows, n_beyond)
    }

    /// Takes the value of a row; the rows before that have none are absent.
    #[inline]
    fn put(&mut self, row: usize, value: T::Native) {
        if self.is_there.len() < row {
            self.fill(row);
        }
        self.values.push(value);
        self.is_there.push(true);
    }

    /// So many rows, those without a value absent.
    fn fill(&mut self, n_rows: usize) {
        self.values.fill(n_rows, T::Native::default());
        self.is_there.resize(n_rows, false);
    }

    /// The column of so many rows.
    fn finish(&mut self, n_rows: usize) -> PrimitiveArray<T> {
        if self.is_there.is_empty() {
            let values = self.values.times(n_rows, T::Native::default());
            return PrimitiveArray::new(values, Some(NullBuffer::new_null(n_rows)));
        }
        self.fill(n_rows);
        let nulls = nulls(n_rows, |row| self.is_there[row]);
        PrimitiveArray::new(self.values.finish(), nulls)
    }
}

/// Parameters or counters of one column, as far as they are known.
enum Values {
    Integers(Sparse<Int64Type>),
    Reals(Sparse<Float64Type>),
    Labels(Sparse<Int32Type>, Dictionary),
}

impl Values {
    fn new(shape: Shape, memory: &Arc<Memory>) -> Self {
        match shape {
            Shape::Real => Self::Reals(Sparse::new(memory)),
            Shape::Text => Self::Labels(Sparse::new(memory), Dictionary::default()),
            _ => Self::Integers(Sparse::new(memory)),
        }
    }

    fn prepare(&mut self, n_rows: usize, n_beyond: usize) -> io::Result<()> {
        match self {
            Self::Integers(values) => values.prepare(n_rows, n_beyond),
            Self::Reals(values) => values.prepare(n_rows, n_beyond),
            Self::Labels(keys, _) => keys.prepare(n_rows, n_beyond),
        }
    }

    #[inline]
    fn put(&mut self, row: usize, value: Value<'_>) {
        match (self, value) {
            (Self::Integers(values), Value::Integer(value)) => values.put(row, value),
            (Self::Reals(values), Value::Real(value)) => values.put(row, value),
            (Self::Labels(keys, labels), Value::Label(_, Some(label))) => {
                keys.put(row, labels.number(label));
            }
            (Self::Labels(keys, labels), Value::Label(word, None)) => {
                keys.put(row, labels.number(&word.to_string()));
            }
            _ => {}
        }
    }

    /// The column of so many rows; the labels stay known.
    fn finish(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Integers(values) => Arc::new(values.finish(rows)),
            Self::Reals(values) => Arc::new(values.finish(rows)),
            Self::Labels(keys, labels) => labels.column(keys.finish(rows))?,
        })
    }
}

/// The wanted records of a piece of a log, a batch at a time.
pub(crate) struct Batches<'p> {
    plan: &'p Plan,
    log: &'p Log,
    records: Records<'p>,
    paths: Vec<Option<Path<'p>>>,
    /// Of those columns that hold parameters or counters.
    values: Vec<Option<Values>>,
    rows: Rows,
    /// Of a column of texts.
    keys: Column<i32>,
    /// Records of the piece that were not read yet.
    n_left: usize,
    /// Whether the log ends with the piece.
    is_last: bool,
    cut_is_reported: bool,
}

impl<'p> Batches<'p> {
    pub(crate) fn new(plan: &'p Plan, piece: &Piece) -> Self {
        let log = &plan.run.logs()[piece.log];
        let sources = plan.sources.iter();
        let values = sources.map(|source| match source {
            Source::Value(_, shape) => Some(Values::new(*shape, &plan.memory)),
            _ => None,
        });
        Self {
            plan,
            log,
            records: log.records_behind(&piece.place),
            paths: Vec::new(),
            values: values.collect(),
            rows: Rows::new(&plan.memory),
            keys: Column::new(&plan.memory),
            n_left: piece.n_records,
            is_last: piece.is_last,
            cut_is_reported: false,
        }
    }

    /// The next batch; `None` behind the last.
    ///
    /// # Errors
    /// The log lost records since it was opened.
    pub(crate) fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let n_most = self.n_left.clamp(FEW, BATCH);
        if let Err(error) = self.prepare(n_most) {
            return Some(Err(no_memory(error)));
        }
        while self.rows.len() < n_most {
            let Some(n_left) = self.n_left.checked_sub(1) else {
                break;
            };
            let Some(record) = self.records.next() else {
                break;
            };
            self.n_left = n_left;
            let place = record.call_path as usize;
            if self.paths.get(place).is_none_or(Option::is_none) {
                self.learn(&record);
            }
            let Some(Some(path)) = self.paths.get(place) else {
                continue;
            };
            if !path.is_wanted {
                continue;
            }
            let mut conditions = path.conditions.iter();
            if !conditions.all(|(about, condition)| condition.is_met(about.cell(&record))) {
                continue;
            }
            put(&mut self.values, &record, path, self.rows.len());
            self.rows.push(&record);
        }
        if self.rows.len() > 0 {
            return Some(self.batch());
        }
        let is_new = self.is_last
            && self.log.was_cut()
            && !std::mem::replace(&mut self.cut_is_reported, true);
        is_new.then(|| {
            let path = self.log.path().display();
            let cut = format!("cannot read record log \"{path}\" to its end: cut while it was read, expected it to stay");
            Err(ArrowError::ExternalError(cut.into()))
        })
    }

    /// None of the records is left in memory, which there is for so many.
    fn prepare(&mut self, n_rows: usize) -> io::Result<()> {
        let n_beyond = self.n_left.saturating_sub(n_rows);
        self.rows.prepare(n_rows, n_beyond)?;
        let mut values = self.values.iter_mut().flatten();
        values.try_for_each(|values| values.prepare(n_rows, n_beyond))
    }

    #[cold]
    fn learn(&mut self, record: &Record<'p>) {
        let place = record.call_path as usize;
        if self.paths.len() <= place {
            self.paths.resize_with(place + 1, || None);
        }
        let plan = self.plan;
        let column = |place: usize| {
            let is_there = |source: &Source| matches!(source, Source::Value(at, _) if *at == place);
            plan.sources.iter().position(is_there)
        };
        let places = plan.columns.places_of(record.method);
        let (parameters, counters) = places.split_at(record.method.parameters.len());
        let parameters = parameters.iter().copied().map(column).enumerate();
        let mut counters: Vec<_> = counters.iter().copied().map(column).collect();
        if counters.iter().all(Option::is_none) {
            counters.clear();
        }
        let mut path = Path {
            is_wanted: plan.is_wanted(record.method),
            name: self.log.definitions().call_path_name(record.call_path),
            method: record.method,
            parameters: parameters
                .filter_map(|(place, column)| Some((place, column?)))
                .collect(),
            counters,
            conditions: Vec::new(),
        };
        for (source, condition) in &plan.conditions {
            self.require(&mut path, &places, *source, condition);
        }
        self.paths[place] = Some(path);
    }

    /// Checks a condition on values that all records of a path share; schedules the other conditions for each record.
    fn require(
        &self,
        path: &mut Path<'p>,
        places: &[usize],
        source: Source,
        condition: &'p Condition,
    ) {
        let identity = self.log.identity();
        let of_all = match source {
            Source::Rank => Cell::Integer(identity.rank.into()),
            Source::Thread => Cell::Integer(identity.thread.into()),
            Source::Run => Cell::Text(self.plan.dictionaries.run_name()),
            Source::Instance | Source::Class | Source::Port | Source::Method | Source::CallPath => {
                path.text(source).map_or(Cell::Absent, Cell::Text)
            }
            Source::Value(wanted, _) => match places.iter().position(|place| *place == wanted) {
                Some(place) => return path.conditions.push((About::Value(place), condition)),
                None => Cell::Absent,
            },
            each => return path.conditions.push((About::Record(each), condition)),
        };
        let is_met = condition.is_met(of_all);
        path.is_wanted &= is_met;
    }

    /// The rows as columns.
    fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let rows = &mut self.rows;
        let n = rows.len();
        let (wall_ns, compute_ns) = rows.times();
        let identity = self.log.identity();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.values.len());
        for (place, source) in self.plan.sources.iter().enumerate() {
            let memory = &self.plan.memory;
            let rows = &mut self.rows;
            let column: ArrayRef = match (source, &mut self.values[place]) {
                (_, Some(values)) => values.finish(n)?,
                (Source::Rank, _) => whole(memory.times(n, i64::from(identity.rank))),
                (Source::Thread, _) => whole(memory.times(n, i64::from(identity.thread))),
                (Source::Seq, _) => whole(rows.seq.finish()),
                (Source::Start, _) => whole(rows.start_ns.finish()),
                (Source::Wall, _) => whole(wall_ns.clone()),
                (Source::Mpi, _) => known(rows.mpi_ns.finish()),
                (Source::Compute, _) => known(compute_ns.clone()),
                (Source::ParentSeq, _) => known(rows.parent_seq.finish()),
                (Source::Failed, _) => {
                    let failed = BooleanBuffer::collect_bool(n, |row| rows.failed[row]);
                    Arc::new(BooleanArray::new(failed, None))
                }
                (text, _) => self.texts(*text)?,
            };
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(n));
        RecordBatch::try_new_with_options(Arc::clone(&self.plan.schema), columns, &options)
    }

    /// A dictionary column of texts that are the same for all records of a call path.
    fn texts(&mut self, source: Source) -> Result<ArrayRef, ArrowError> {
        let dictionary = self.plan.dictionaries.of_column(source);
        let number = |path: &Option<Path<'_>>| match path {
            None => Ok(-1),
            Some(path) => {
                let known = path
                    .text(source)
                    .map_or(Some(0), |text| dictionary.known(text));
                known.ok_or(ArrowError::DictionaryKeyOverflowError)
            }
        };
        let numbers = self.paths.iter().map(number);
        let numbers: Vec<i32> = numbers.collect::<Result<_, _>>()?;
        let mut known = numbers.iter().filter(|number| **number >= 0);
        let first = known.next().copied().unwrap_or_default();
        let n = self.rows.len();
        if known.all(|number| *number == first) {
            return dictionary.column(Int32Array::new(self.keys.times(n, first), None));
        }
        self.keys.prepare(n, self.n_left).map_err(no_memory)?;
        for path in &self.rows.call_paths {
            self.keys.push(numbers[*path as usize]);
        }
        dictionary.column(Int32Array::new(self.keys.finish(), None))
    }
}

fn no_memory(error: io::Error) -> ArrowError {
    ArrowError::IoError("cannot get memory for records".into(), error)
}

/// A column in which each row has a number.
fn whole(numbers: ScalarBuffer<i64>) -> ArrayRef {
    Arc::new(Int64Array::new(numbers, None))
}

/// Takes the parameters and counters of a record.
#[inline]
fn put(columns: &mut [Option<Values>], record: &Record<'_>, path: &Path<'_>, row: usize) {
    for (place, column) in &path.parameters {
        if let (Some(column), Some(value)) = (&mut columns[*column], record.parameter(*place)) {
            column.put(row, value);
        }
    }
    if path.counters.is_empty() {
        return;
    }
    for (column, value) in path.counters.iter().zip(record.counters()) {
        if let (Some(column), Some(value)) = (column, value)
            && let Some(column) = &mut columns[*column]
        {
            column.put(row, Value::Integer(value.cast_signed()));
        }
    }
}
