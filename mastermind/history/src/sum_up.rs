//! Records to the sums that a store keeps.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mastermind_records::definition::MPI_CLASS;
use mastermind_records::{ExclusiveTimes, Log, Run};

use crate::cells::{Cells, Part};
use crate::run_sums::{Cell, Circumstances, RunSums};
use crate::segments::OpenCalls;

/// Maximum number of cells of a method in a run: beyond, parameters are cut to fewer bits. Arbitrary: a thousand runs
/// of ten such methods are two million rows, which can be read in a second.
pub const MAX_CELLS: usize = 200;

/// Method, class, and names of the parameters: a class may be replaced by one of another interface.
type Key = (String, String, Vec<String>);

/// Sums up the records of a run.
///
/// Times are those of the method's own work: without the measured calls made from it, and without its time in MPI,
/// whose functions have cells of their own. Calls whose own time is unknown, because calls made from them have no
/// record, are left out.
///
/// # Arguments
/// * `circumstances` - how the run was started, as far as the records alone do not contain it
pub fn sum_up(run: &Run, circumstances: Circumstances) -> RunSums {
    let mut methods = BTreeMap::<Key, Cells>::new();
    for log in run.logs() {
        add_log(log, &mut methods);
    }
    let mut cells = Vec::new();
    let mut recorded = BTreeSet::new();
    for ((method, class, _), of_method) in methods {
        recorded.insert(method.clone());
        let bits = of_method.bits;
        for (parameters, means, sums) in of_method.finish() {
            let has_times = sums.times.n() > 0;
            let (mean_log, deviation_log) = match has_times {
                true => sums.times.log_moments(),
                false => (f64::NAN, f64::NAN),
            };
            cells.push(Cell {
                method: method.clone(),
                class: class.clone(),
                parameters,
                bits,
                means,
                calls: sums.times.n() + sums.failed,
                failed: sums.failed,
                total_ns: sums.times.sum(),
                mean_log,
                deviation_log,
                quantiles_ns: match has_times {
                    true => sums.times.five(),
                    false => [f64::NAN; 5],
                },
                segments_ns: sums.segments_ns(),
            });
        }
    }
    cells.extend(mpi_totals(run, &recorded));
    RunSums {
        circumstances,
        cells,
    }
}

fn add_log(log: &Log, methods: &mut BTreeMap<Key, Cells>) {
    let has_all = log.unrecorded().is_empty();
    // By call path, since names are put together anew each time.
    let mut of_log = HashMap::<u32, Option<Cells>>::new();
    let mut records = ExclusiveTimes::new(log);
    let mut open_calls = OpenCalls::default();
    while let Some((record, own)) = records.next_record() {
        let segments = open_calls.take(&record, own.mpi_ns);
        if !has_all && log.lacks_calls_of(&record) {
            continue;
        }
        let method = record.method;
        let counted = of_log.entry(record.call_path).or_insert_with(|| {
            let names = method.parameters.iter().filter(|p| !p.is_incidental());
            let names = names.map(|p| p.name.clone()).collect();
            (!method.is_mpi_part()).then(|| Cells::new(names, MAX_CELLS))
        });
        let Some(cells) = counted else { continue };
        let values = record.parameters().zip(&method.parameters);
        let values = values.filter(|(_, definition)| !definition.is_incidental());
        let ns = match method.is_mpi() {
            true => own.wall_ns,
            false => own.wall_ns.saturating_sub(own.mpi_ns),
        };
        let ns = (!record.failed).then_some(ns as f64);
        let values = values.map(|(value, _)| Part::of(value)).collect();
        cells.add(values, ns, segments.as_ref());
    }
    for (path, cells) in of_log {
        let (Some(cells), Some(method)) = (cells, log.definitions().method_of(path)) else {
            continue;
        };
        let name = match method.is_mpi() {
            true => format!("{}()", method.method),
            false => method.name(),
        };
        let key = (name, method.class.clone(), cells.names().to_vec());
        match methods.get_mut(&key) {
            Some(known) => known.merge(cells),
            None => drop(methods.insert(key, cells)),
        }
    }
}

/// Functions of MPI whose calls were only summed up.
fn mpi_totals(run: &Run, recorded: &BTreeSet<String>) -> Vec<Cell> {
    let mut functions = BTreeMap::<String, (u64, u64, u64)>::new();
    for routine in run.ranks().iter().flat_map(|rank| run.mpi_routines(*rank)) {
        let name = format!("{}()", routine.name);
        let (calls, failed, ns) = functions.entry(name).or_default();
        *calls += routine.calls;
        *failed += routine.failed;
        *ns += routine.ns;
    }
    let functions = functions.into_iter();
    let unrecorded = functions.filter(|(name, (calls, ..))| !recorded.contains(name) && *calls > 0);
    let cell = |(method, (calls, failed, ns)): (String, (u64, u64, u64))| Cell {
        method,
        class: MPI_CLASS.into(),
        parameters: "{}".into(),
        bits: -1,
        means: "{}".into(),
        calls,
        failed,
        total_ns: ns as f64,
        mean_log: f64::NAN,
        deviation_log: f64::NAN,
        quantiles_ns: [f64::NAN; 5],
        segments_ns: [f64::NAN; 3],
    };
    unrecorded.map(cell).collect()
}
