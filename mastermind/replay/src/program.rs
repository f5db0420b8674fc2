//! Recorded runs as a program model: the operations of all ranks as one flow, with the costs of the
//! runs.
//!
//! Repeated calls of each rank become loops (`folding.rs`), and the flows of all ranks one flow that contains the order
//! of each of them (`flow.rs`). The destination of a message, and the cost of a step, are expressions of `process`
//! (`rank_expressions.rs`): a pattern applies to runs of other sizes too, a table of ranks does not. A cost is the mean
//! over the rounds of a loop, and over the ranks if these differ by little.
//!
//! Several runs on different numbers of ranks are one model: the flows of the ranks of all of them are merged,
//! expressions are of `process` and `processes`, and costs are fitted over `processes` (`costs.rs`). Two things are not
//! recorded: which calls are different steps of the program (by their tags, or by the directions of their partners),
//! and the arrangement of the ranks. So each possibility is tried, and of those that are known furthest beyond the
//! recorded numbers of ranks the simplest is used. Where an expression is unknown, a model of several runs is known for
//! those numbers only.
//!
//! Repeated calls are folded shortest bodies first; the merged flow is a shortest common supersequence. Waits for
//! certain requests, and sizes that differ without a pattern, are notes.
//!
//! # Source
//! V. Adve et al., "POEMS: End-to-End Performance Design of Large Parallel Adaptive Computational Systems", 2000 (static task
//! graphs, there made by a compiler).

use std::collections::HashMap;
use std::fmt::Write as _;

use super::collectives::Groups;
use super::flow::{count, flow, join_short_computation, level_phases, with_computation};
use super::folding::{Call, Kind, Loops, Peer, Repeats, SharedNode};
use super::grid::Grid;
use super::rank_expressions::Patterns;
use super::reader::Reader;
use super::writer::Writer;
use super::{RecordedRank, ReplayError, call};
use mastermind_programs::KnownRanks;

/// Longest text of an element: without a pattern it is a list of ranks.
const MAX_LINE: usize = 10_000;

/// Maximum number of elements of a flow that distinguishes calls of different sizes, and of any
/// flow.
const MAX_EXACT: usize = 500;
pub(super) const MAX_ELEMENTS: usize = 20_000;

/// Share of computation that waiting for the slowest rank may add without a note.
const MIN_LATE: f64 = 0.01;

/// Recorded runs as a program model.
#[derive(Debug, Clone)]
pub struct RecordedProgram {
    /// The model, for [`mastermind_programs::read_toml`].
    pub toml: String,
    /// Its elements, loops aside.
    pub elements: usize,
    /// The numbers of ranks that it is known for.
    pub ranks: KnownRanks,
    /// Calls that are missing in the model, or changed.
    pub notes: Vec<String>,
}

/// The program model that repeats a run.
///
/// # Arguments
/// * `name` - name of the model
/// * `ranks` - activity of each rank, shape `[n_ranks]`
///
/// # Errors
/// As [`super::replay`]; [`ReplayError::Threads`], [`ReplayError::NoPattern`] and [`ReplayError::TooManyElements`] if
/// the ranks do not run a single program.
pub fn program(name: &str, ranks: &[RecordedRank]) -> Result<RecordedProgram, ReplayError> {
    program_of_runs(name, &[ranks])
}

/// The program model that repeats each of some runs of a program on different numbers of ranks, and predicts runs on
/// others.
///
/// # Arguments
/// * `name` - name of the model
/// * `runs` - activity of each rank of each run, shape `[n_runs][n_ranks]`, in any order
///
/// # Errors
/// The errors of [`program`]; [`ReplayError::SameRanks`] if two runs have as many ranks.
pub fn program_of_runs(
    name: &str,
    runs: &[&[RecordedRank]],
) -> Result<RecordedProgram, ReplayError> {
    let mut runs = runs.to_vec();
    runs.sort_by_key(|ranks| ranks.len());
    if let Some(pair) = runs.windows(2).find(|pair| pair[0].len() == pair[1].len()) {
        return Err(ReplayError::SameRanks {
            ranks: pair[0].len(),
        });
    }
    let recorded: Vec<u32> = runs.iter().map(|ranks| ranks.len() as u32).collect();
    let mut notes = Vec::new();
    let mut reader = Reader {
        groups: Groups::default(),
        members: Vec::new(),
        tags: HashMap::new(),
        joins_waits: runs.len() > 1,
        n_certain: 0,
        n_pending: 0,
        n_begun: 0,
        n_in_a_row: 0,
    };
    let (mut all, mut late) = (Vec::new(), Vec::new());
    for ranks in &runs {
        super::all_have_calls(ranks)?;
        if let Some(rank) = ranks.iter().position(|rank| rank.threads.len() > 1) {
            let threads = ranks[rank].threads.len();
            return Err(ReplayError::Threads { rank, threads });
        }
        let mut of_run = call::notes(ranks);
        reader.groups = Groups::of(ranks, &mut of_run)?;
        let calls = (0..)
            .zip(*ranks)
            .map(|(rank, recorded)| reader.calls(rank, recorded));
        let mut calls: Vec<Vec<Call>> = calls.collect();
        if runs.len() > 1 {
            let world: Vec<u32> = (0..ranks.len() as u32).collect();
            let share = level_phases(&mut calls, &|group| reader.members[group as usize] == world);
            if share > MIN_LATE {
                late.push(format!("{:.0} % on {} ranks", 100.0 * share, ranks.len()));
            }
        }
        all.push(calls);
        let of_which = |note| match recorded.len() {
            1 => note,
            _ => format!("run on {} ranks: {note}", ranks.len()),
        };
        notes.extend(of_run.into_iter().map(of_which));
    }
    if !late.is_empty() {
        notes.push(format!(
            "at collectives of all ranks even the busiest rank waits, since another one is the slowest each time, which adds to the computation of all: {}",
            late.join(", ")
        ));
    }
    reader.note(&mut notes);
    let written = match recorded.len() {
        1 => written_of_one(name, (&recorded, &all), &reader),
        _ => written_of_several(name, (&recorded, &all), &reader),
    };
    let Written {
        head,
        flow,
        elements,
        ranks,
        notes: own,
    } = written?;
    notes.extend(own);
    Ok(RecordedProgram {
        toml: head + &flow,
        elements,
        ranks,
        notes,
    })
}

/// A model as text.
#[derive(Debug, Clone)]
struct Written {
    head: String,
    flow: String,
    elements: usize,
    ranks: KnownRanks,
    notes: Vec<String>,
}

/// Numbers of ranks of runs, and the calls of each rank of each.
type Runs<'a> = (&'a [u32], &'a [Vec<Vec<Call>>]);

fn written_of_one(
    name: &str,
    (recorded, all): Runs<'_>,
    reader: &Reader,
) -> Result<Written, ReplayError> {
    let flow = |is_exact, most| {
        let repeats = Repeats {
            is_exact,
            of_single_messages: true,
        };
        flow(all, repeats, most, Loops::OfSameRounds)
    };
    let exact = flow(true, MAX_EXACT).ok();
    let places = exact.map_or_else(|| flow(false, MAX_ELEMENTS), Ok);
    let places = places.map_err(|elements| ReplayError::TooManyElements { elements })?;
    let patterns = Patterns::of(recorded, Grid::Line);
    let mut writer = Writer::new(&patterns, &reader.members, &places);
    writer.flow(&places, 1)?;
    if writer.longest > MAX_LINE {
        return Err(writer.no_pattern("flow"));
    }
    let mut notes = Vec::new();
    writer.note(&mut notes);
    let n = recorded[0];
    Ok(Written {
        head: format!(
            "# What a recorded run of {n} ranks did, with the costs that it had.\n\n[model]\nname = {name:?}\nmain = \"Main\"\n\
             ranks = {n}\n\n"
        ),
        flow: format!("[activities.Main]\nflow = [\n{}]\n", writer.text),
        elements: count(&places),
        ranks: KnownRanks::of_run(n),
        notes,
    })
}

/// Criterion, other than their order, that distinguishes calls of one function at different places in the
/// program.
#[derive(Debug, Clone, Copy)]
enum Role {
    /// Nothing.
    None,
    /// Their tags.
    Tag,
    /// Whether the other rank is the next one, the one before, further on or further back.
    Direction,
}

impl Role {
    fn of(self, call: &Call, rank: usize) -> u32 {
        match self {
            Self::None => 0,
            Self::Tag => call.tags.map_or(0, |[sent, received]| {
                1 + sent.wrapping_mul(0x9e37_79b1).wrapping_add(received)
            }),
            Self::Direction => [call.key.to, call.key.from]
                .into_iter()
                .fold(0, |role, peer| {
                    let of_peer = match (peer, call.key.kind) {
                        (
                            Peer::Rank(other),
                            Kind::Send { .. } | Kind::Receive { .. } | Kind::Exchange,
                        ) => match i64::from(other) - rank as i64 {
                            1 => 1,
                            -1 => 2,
                            further if further > 0 => 3,
                            _ => 4,
                        },
                        _ => 0,
                    };
                    8 * role + of_peer
                }),
        }
    }
}

/// Of the flows by each role, on lines and grids of ranks, the one that is known furthest beyond the runs; of these the
/// one on the simplest grid, and of these the shortest.
fn written_of_several(
    name: &str,
    (recorded, all): Runs<'_>,
    reader: &Reader,
) -> Result<Written, ReplayError> {
    let mut found = Vec::new();
    let mut first_error = None;
    for role in [Role::None, Role::Tag, Role::Direction] {
        let mut all = all.to_vec();
        for ranks in &mut all {
            for (rank, calls) in ranks.iter_mut().enumerate() {
                calls
                    .iter_mut()
                    .for_each(|call| call.role = role.of(call, rank));
            }
        }
        let modes = [(true, false), (true, true), (false, false), (false, true)];
        for (is_exact, of_single_messages) in modes {
            let most = if is_exact { MAX_EXACT } else { MAX_ELEMENTS };
            let repeats = Repeats {
                is_exact,
                of_single_messages,
            };
            let places = match flow(&all, repeats, most, Loops::OfSameCalls) {
                Ok(places) => places,
                Err(elements) => {
                    let error = ReplayError::TooManyElements { elements };
                    first_error = first_error.or(Some(error));
                    continue;
                }
            };
            let computed_ns = |calls: &Vec<Call>| calls.iter().map(|call| call.compute_ns).sum();
            let runs: Vec<usize> = (0..)
                .zip(&all)
                .flat_map(|(run, ranks)| vec![run; ranks.len()])
                .collect();
            let total_ns: Vec<u64> = all.iter().flatten().map(computed_ns).collect();
            let mut places = with_computation(places, &runs);
            join_short_computation(&mut places, &total_ns);
            for grid in Grid::ALL {
                let patterns = Patterns::of(recorded, grid);
                match write_runs(name, &patterns, recorded, (&places, reader)) {
                    Ok((n_unknown, written)) => {
                        let order = (n_unknown, grid, !is_exact, written.elements);
                        found.push((order, written));
                    }
                    Err(error) => first_error = first_error.or(Some(error)),
                }
            }
        }
    }
    // A pattern that the simplest grid does not show may be an accident of few runs.
    found.sort_by_key(|(order, _)| *order);
    let (best, others) = match found.split_first() {
        Some((best, others)) => (best, others),
        None => return Err(first_error.unwrap_or(ReplayError::TooManyElements { elements: 0 })),
    };
    let ((n_unknown, grid, ..), mut written) = best.clone();
    let other = others.iter().find(|((n, other, ..), other_written)| {
        *n == n_unknown && *other > grid && n_unknown == 0 && other_written.flow != written.flow
    });
    if let Some(((_, other, ..), _)) = other {
        let note = format!(
            "assumed: ranks lie {grid}; {other} they agree with the runs as well, which differs on more ranks: record a run on more of them to decide"
        );
        written.head = format!("# {note}\n{}", written.head);
        written.notes.push(note);
    }
    Ok(written)
}

/// The text of a flow of several runs, and how many of its parts are known for the recorded ranks only.
fn write_runs(
    name: &str,
    patterns: &Patterns,
    recorded: &[u32],
    (places, reader): (&[SharedNode], &Reader),
) -> Result<(usize, Written), ReplayError> {
    let mut writer = Writer::new(patterns, &reader.members, places);
    writer.flow(places, 1)?;
    let writer = writer.or_tabled(places)?;
    if writer.longest > MAX_LINE {
        return Err(writer.no_pattern("flow"));
    }
    let mut notes = Vec::new();
    writer.note(&mut notes);
    let is_grid = Patterns::definitions(&writer.text).next().is_some();
    let ranks = writer.ranks(recorded, is_grid, &mut notes);
    let names: Vec<_> = recorded.iter().map(u32::to_string).collect();
    let mut head = format!(
        "# What recorded runs on {} ranks did, with their costs over the number of ranks.\n",
        names.join(", ")
    );
    for note in &notes {
        let _ = writeln!(head, "# {note}");
    }
    let _ = write!(
        head,
        "\n[model]\nname = {name:?}\nmain = \"Main\"\nranks = {{ recorded = {recorded:?}"
    );
    if let Some(most) = ranks.most {
        let _ = write!(head, ", most = {most}");
    }
    head += if ranks.powers_of_two {
        ", powers_of_two = true }\n\n"
    } else {
        " }\n\n"
    };
    let mut definitions = Patterns::definitions(&writer.text).peekable();
    if definitions.peek().is_some() {
        head += "[globals]\n";
        for (name, value) in definitions {
            let _ = writeln!(head, "{name} = \"{value}\"");
        }
        head += "\n";
    }
    let n_unknown = writer.unknown.len();
    let written = Written {
        head,
        flow: format!("[activities.Main]\nflow = [\n{}]\n", writer.text),
        elements: count(places),
        ranks,
        notes,
    };
    Ok((n_unknown, written))
}
