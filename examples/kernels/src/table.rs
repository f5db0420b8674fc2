//! A table of measured calls.

use std::path::Path;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Calls of a size, after one that is not measured.
pub const REPETITIONS: usize = 7;

/// Time that this thread had a processor, nanoseconds.
fn cpu_ns() -> i128 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// A table being written.
pub struct Table(csv::Writer<std::fs::File>);

impl Table {
    /// A table with these columns and that of the time.
    pub fn new(path: &Path, columns: &[&str]) -> csv::Result<Self> {
        let mut writer = csv::Writer::from_path(path)?;
        writer.write_record(columns.iter().chain(&["repetition", "time_ns", "cpu_ns"]))?;
        Ok(Table(writer))
    }

    /// Calls a kernel several times, each after `prepare`, and writes each wall time and processor time.
    ///
    /// The first calls are not written: they fill caches and touch pages.
    pub fn measure<S>(
        &mut self,
        values: &[String],
        state: &mut S,
        mut prepare: impl FnMut(&mut S),
        mut kernel: impl FnMut(&mut S),
    ) -> csv::Result<()> {
        for call in 0..=REPETITIONS {
            prepare(state);
            let (start, start_cpu_ns) = (Instant::now(), cpu_ns());
            kernel(state);
            let (on_cpu_ns, ns) = (cpu_ns() - start_cpu_ns, start.elapsed().as_nanos());
            if call == 0 {
                continue;
            }
            let times = [call.to_string(), ns.to_string(), on_cpu_ns.to_string()];
            self.0.write_record(values.iter().chain(&times))?;
        }
        Ok(())
    }

    /// Ends the table.
    pub fn end(mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
