//! Records as Arrow record batches, decoded on demand.
//!
//! Threads decode the logs of a run ahead of the reader, a few pieces at a time, one thread per piece; the reader
//! finds the beginnings of the pieces of long logs. The batches come in the order of the one table. Texts are
//! dictionary-encoded, with one dictionary of everything the run defines for all batches.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use mastermind_records::definition::MethodDefinition;
use mastermind_records::{Log, RecordsPlace, Run};

use crate::arrow_table::field;
use crate::batch::{BATCH, Batches, Dictionaries, Source};
use crate::column::Memory;
use crate::columns::Columns;
use crate::condition::{Condition, is_value};
use crate::error::ExportError;

/// Batches of a piece: so many that a column of it fills a large page.
const BATCHES_PER_PIECE: usize = 4;

/// Whether calls of a method are wanted.
pub type MethodFilter = Box<dyn Fn(&MethodDefinition) -> bool + Send + Sync>;

/// Which records, and what of them.
#[derive(Default)]
pub struct Selection {
    /// Names of columns, in the order in which they are wanted; all where there are none.
    pub columns: Option<Vec<String>>,
    /// Whether calls of a method are wanted; of all where there is none.
    pub methods: Option<MethodFilter>,
    /// Ranks; all where there are none.
    pub ranks: Option<BTreeSet<u32>>,
    /// What each row must meet.
    pub conditions: Vec<Condition>,
}

/// What all threads know.
pub(crate) struct Plan {
    pub(crate) run: Arc<Run>,
    pub(crate) columns: Columns,
    /// Where the values of each wanted column come from.
    pub(crate) sources: Vec<Source>,
    pub(crate) dictionaries: Dictionaries,
    pub(crate) schema: SchemaRef,
    /// Conditions, and where the values of their columns come from.
    pub(crate) conditions: Vec<(Source, Condition)>,
    pub(crate) memory: Arc<Memory>,
    is_wanted: Option<MethodFilter>,
}

/// Some records of a log, which one thread decodes.
pub(crate) struct Piece {
    /// Index among the logs of the run.
    pub(crate) log: usize,
    pub(crate) place: RecordsPlace,
    /// At most; the last piece has all that are left.
    pub(crate) n_records: usize,
    pub(crate) is_last: bool,
}

impl Plan {
    pub(crate) fn is_wanted(&self, method: &MethodDefinition) -> bool {
        self.is_wanted.as_ref().is_none_or(|wanted| wanted(method))
    }
}

/// A piece that a thread decodes.
struct Decoding {
    batches: Receiver<Result<RecordBatch, ArrowError>>,
    thread: JoinHandle<()>,
}

/// The wanted records of a run, a batch at a time.
pub struct RecordBatches {
    plan: Arc<Plan>,
    /// What nobody decodes yet: the rest of a log, then whole ones.
    waiting: VecDeque<Piece>,
    decoding: VecDeque<Decoding>,
    n_at_once: usize,
}

impl RecordBatches {
    /// # Arguments
    /// * `name` - of the run, for the column `run`
    /// * `about` - what is known of the run, a JSON document, for the schema's metadata
    ///
    /// # Errors
    /// [`ExportError::NoColumn`], [`ExportError::ColumnTwice`], [`ExportError::NoSuchComparison`].
    pub fn new(
        run: Arc<Run>,
        name: &str,
        about: &str,
        selection: Selection,
    ) -> Result<Self, ExportError> {
        let columns = Columns::of(&run);
        let wanted = match &selection.columns {
            None => (0..columns.columns.len()).collect(),
            Some(names) => places(&columns, names)?,
        };
        let dictionaries = Dictionaries::of(&run, name);
        let source = |place: &usize| match is_value(*place, &columns) {
            true => Source::Value(*place, columns.columns[*place].shape),
            false => Source::named(&columns.columns[*place].name),
        };
        let conditions = selection.conditions.into_iter();
        let conditions = conditions
            .map(|condition| Ok((source(&condition.place(&columns)?), condition)))
            .collect::<Result<_, ExportError>>()?;
        let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let fields: Vec<_> = wanted
            .iter()
            .map(|place| field(&columns.columns[*place], text()))
            .collect();
        let described = columns.described().to_string();
        let metadata = [
            ("mastermind.run", about),
            ("mastermind.columns", &described),
        ];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let schema = Schema::new_with_metadata(fields, HashMap::from(metadata));
        let is_of_rank = |rank| {
            selection
                .ranks
                .as_ref()
                .is_none_or(|ranks| ranks.contains(&rank))
        };
        let ranks = run.ranks().into_iter().filter(|rank| is_of_rank(*rank));
        let waiting = ranks.flat_map(|rank| whole_logs(&run, rank)).collect();
        Ok(Self {
            plan: Arc::new(Plan {
                sources: wanted.iter().map(source).collect(),
                dictionaries,
                schema: Arc::new(schema),
                conditions,
                memory: Arc::default(),
                is_wanted: selection.methods,
                columns,
                run,
            }),
            waiting,
            decoding: VecDeque::new(),
            n_at_once: 1 + thread::available_parallelism().map_or(1, NonZero::get),
        })
    }

    /// The next piece that nobody decodes yet.
    fn next_piece(&mut self) -> Option<Piece> {
        let mut piece = self.waiting.pop_front()?;
        let n_records = BATCHES_PER_PIECE * BATCH;
        if piece.n_records <= n_records {
            return Some(piece);
        }
        let mut records = self.plan.run.logs()[piece.log].records_behind(&piece.place);
        if records.pass_over(n_records) == n_records {
            self.waiting.push_front(Piece {
                place: records.place(),
                n_records: piece.n_records - n_records,
                ..piece
            });
            piece.is_last = false;
            piece.n_records = n_records;
        }
        Some(piece)
    }

    /// Sets threads to the next pieces.
    ///
    /// # Errors
    /// A thread cannot be started.
    fn begin(&mut self) -> std::io::Result<()> {
        while self.decoding.len() < self.n_at_once {
            let Some(piece) = self.next_piece() else {
                return Ok(());
            };
            let (ready, batches) = sync_channel(BATCHES_PER_PIECE);
            let plan = Arc::clone(&self.plan);
            let thread = thread::Builder::new()
                .name("mastermind-decode".into())
                .spawn(move || {
                    let mut batches = Batches::new(&plan, &piece);
                    // Until there are no more, one cannot be made, or nobody wants them any more.
                    while let Some(batch) = batches.next() {
                        let is_last = batch.is_err();
                        if ready.send(batch).is_err() || is_last {
                            break;
                        }
                    }
                })?;
            self.decoding.push_back(Decoding { batches, thread });
        }
        Ok(())
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Err(error) = self.begin() {
                self.waiting.clear();
                self.decoding.clear();
                return Some(Err(ArrowError::IoError(
                    "cannot start thread".into(),
                    error,
                )));
            }
            if let Ok(batch) = self.decoding.front()?.batches.recv() {
                return Some(batch);
            }
            let ended = self.decoding.pop_front()?.thread.join();
            if ended.is_err() {
                // A table that lacks rows would look like a whole one.
                let fault =
                    "cannot decode records: the decoder panicked, which is a fault of Mastermind";
                return Some(Err(ArrowError::ExternalError(fault.into())));
            }
        }
    }
}

impl RecordBatchReader for RecordBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.schema)
    }
}

/// The logs of a rank.
fn whole_logs(run: &Run, rank: u32) -> Vec<Piece> {
    let logs = run.logs().iter().enumerate();
    let of_rank = logs.filter(|(_, log)| log.identity().rank == rank);
    let first_seqs = run.logs_of(rank).map(|(_, first_seq)| first_seq);
    let whole = |((index, log), first_seq): ((usize, &Log), u64)| Piece {
        log: index,
        place: log.records_from(first_seq).place(),
        n_records: usize::try_from(log.n_records()).unwrap_or(usize::MAX),
        is_last: true,
    };
    of_rank.zip(first_seqs).map(whole).collect()
}

/// Places of the columns of these names.
fn places(columns: &Columns, names: &[String]) -> Result<Vec<usize>, ExportError> {
    let place = |(n, name): (usize, &String)| match names[..n].contains(name) {
        true => Err(ExportError::ColumnTwice { name: name.clone() }),
        false => columns.place(name),
    };
    names.iter().enumerate().map(place).collect()
}
