//! A table of measured calls.

use std::path::PathBuf;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::random::Random;

/// Number of rows for each case.
const REPETITIONS: usize = 3;

/// Settings for measuring two tables of different sizes, one for the fit and one for the check.
pub struct Plan {
    /// Output folders.
    pub paths: [PathBuf; 2],
    /// Number of calls for a row, interleaved with those of all other cases; the row records the shortest.
    pub tries: usize,
}

/// Time for which this thread had a processor, nanoseconds.
fn cpu_ns() -> i128 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// A measured kernel, whose calls differ only in their case.
pub trait Kernel {
    /// A size, a shape, an order of the input.
    type Case;

    /// Column names of a case's parameters, units in brackets.
    const COLUMNS: &[&str];

    /// Parameters of a case, for a row.
    fn columns(case: &Self::Case) -> Vec<String>;

    /// Prepares the input, outside the measured time.
    fn prepare(&mut self, case: &Self::Case);

    /// The measured call.
    fn call(&mut self, case: &Self::Case);
}

/// Measures the cases of both tables repeatedly, each time in another order. Each row contains the shortest wall time and processor
/// time of several calls.
///
/// The order changes so that a temporarily slower processor does not appear as an effect of the size or of the table. An unmeasured
/// call before each measured one fills caches and touches pages.
pub fn measure<K: Kernel>(
    plan: &Plan,
    kernel: &mut K,
    cases: &[Vec<K::Case>; 2],
    random: &mut Random,
) -> csv::Result<()> {
    let head = K::COLUMNS
        .iter()
        .chain(&["repetition", "time_ns", "cpu_ns"]);
    let mut tables = Vec::new();
    for path in &plan.paths {
        let mut table = csv::Writer::from_path(path)?;
        table.write_record(head.clone())?;
        tables.push(table);
    }
    let places = (0..2).flat_map(|table| (0..cases[table].len()).map(move |i| (table, i)));
    let mut order: Vec<(usize, usize)> = places.collect();
    for repetition in 1..=REPETITIONS {
        let mut shortest = cases
            .each_ref()
            .map(|cases| vec![(u128::MAX, i128::MAX); cases.len()]);
        for _ in 0..plan.tries {
            random.shuffle(&mut order);
            for &(table, i) in &order {
                let (ns, on_cpu_ns) = once(kernel, &cases[table][i]);
                let (least, least_on_cpu) = &mut shortest[table][i];
                *least = ns.min(*least);
                *least_on_cpu = on_cpu_ns.min(*least_on_cpu);
            }
        }
        for ((table, cases), shortest) in tables.iter_mut().zip(cases).zip(shortest) {
            for (case, (ns, on_cpu_ns)) in cases.iter().zip(shortest) {
                let times = [
                    repetition.to_string(),
                    ns.to_string(),
                    on_cpu_ns.to_string(),
                ];
                table.write_record(K::columns(case).iter().chain(&times))?;
            }
        }
    }
    tables.iter_mut().try_for_each(|table| Ok(table.flush()?))
}

/// Wall time and processor time of a call, nanoseconds.
fn once<K: Kernel>(kernel: &mut K, case: &K::Case) -> (u128, i128) {
    kernel.prepare(case);
    kernel.call(case);
    kernel.prepare(case);
    let (start_cpu_ns, start) = (cpu_ns(), Instant::now());
    kernel.call(case);
    (start.elapsed().as_nanos(), cpu_ns() - start_cpu_ns)
}
