//! A table of measured calls.

use std::path::PathBuf;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::random::Random;

/// Rows of a case.
const REPETITIONS: usize = 3;

/// How two tables are measured, one to fit and one to check, of other sizes.
pub struct Plan {
    /// Where they go.
    pub paths: [PathBuf; 2],
    /// Calls, apart by those of all other cases, of which a row is the shortest.
    pub tries: usize,
}

/// Time that this thread had a processor, nanoseconds.
fn cpu_ns() -> i128 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// What is measured: calls that are alike but for a case.
pub trait Kernel {
    /// A size, a shape, an order of the input.
    type Case;

    /// Names of what a row tells of a case, units in brackets.
    const COLUMNS: &[&str];

    /// What a row tells of a case.
    fn columns(case: &Self::Case) -> Vec<String>;

    /// Puts the input in place, not measured.
    fn prepare(&mut self, case: &Self::Case);

    /// The call.
    fn call(&mut self, case: &Self::Case);
}

/// Measures the cases of both tables, again and again in another order, and writes the shortest wall time and processor time of several
/// calls in a row of a table.
///
/// Another order each time, so that a processor that is slower for a while is not taken for an effect of size, nor one table for the
/// slower. Before a measured call comes one that is not: it fills caches and touches pages.
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
