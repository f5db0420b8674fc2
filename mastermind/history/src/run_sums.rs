//! The part of a run that the store keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How and on which machine a run was started, and its course.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Circumstances {
    /// Name of the assembly or of the program.
    pub program: String,
    /// The machine: runs of different ones are never compared.
    pub machine: String,
    /// Hosts of the ranks.
    pub hosts: Vec<String>,
    /// Model of the processor.
    pub processor: Option<String>,
    /// Number of processors that the program might use.
    pub processors_usable: Option<u32>,
    /// Name and version of the MPI library.
    pub mpi_library: Option<String>,
    /// Words of the command line.
    pub command: Vec<String>,
    /// Input of the program: settings, arguments, and its number of ranks.
    pub settings: BTreeMap<String, String>,
    /// The user's name for the sources that ran, such as a commit.
    pub commit: Option<String>,
    /// Start of the first rank, nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: u64,
    /// Load average when the recording began.
    pub load: Option<f64>,
    /// Smallest share over the ranks of the processor time that a rank was ready for, 0 to 1.
    pub processor_share: Option<f64>,
    /// Cost of recording one call, nanoseconds, as the run measured it.
    pub record_ns: Option<f64>,
    /// Version of Mastermind that recorded.
    pub recorder: Option<String>,
    /// Whether all logs were ended by their program.
    pub finished: bool,
    /// Calls that have no record: they are in no cell.
    pub lost_calls: u64,
    /// Computation of the ranks of a program of MPI; `None` for one rank, for an assembly, and for runs added before
    /// this was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computing: Option<Computing>,
}

/// Work of the ranks of a run outside of MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Computing {
    /// Ranks.
    pub ranks: u32,
    /// Length of the run, seconds.
    pub elapsed_s: f64,
    /// Mean computation of the ranks, seconds.
    pub mean_s: f64,
    /// Largest of that, seconds.
    pub most_s: f64,
}

impl Computing {
    /// How much less all ranks together computed in another run of the same work, as a factor: above 1 where this run computes less.
    ///
    /// # Source
    /// The computation scaling of POP (M. Wagner et al., 2018).
    pub fn scaling_from(&self, reference: &Self) -> f64 {
        let all_s = |of: &Self| of.mean_s * f64::from(of.ranks);
        all_s(reference) / all_s(self)
    }
}

/// The calls of a method with the same parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// `instance.method`, or `function()` of MPI.
    pub method: String,
    /// Class of the instance.
    pub class: String,
    /// Parameters of the calls as a JSON object, in the order of the interface; the lower bound of each where `bits` is not negative.
    pub parameters: String,
    /// Bits behind the leading one that the parameters are cut to; -1 if all calls had exactly these.
    pub bits: i64,
    /// Means of the parameters over the calls, as a JSON object; of exact ones the same numbers.
    pub means: String,
    /// Calls.
    pub calls: u64,
    /// Calls that failed: they are in no time.
    pub failed: u64,
    /// Exclusive time of all calls, without the measured calls made from them and without MPI (for a function of MPI:
    /// its time), nanoseconds.
    pub total_ns: f64,
    /// Mean of the logarithms of the calls' nanoseconds; not a number where single calls are unknown.
    pub mean_log: f64,
    /// Standard deviation of those logarithms.
    pub deviation_log: f64,
    /// Least, lower quartile, median, upper quartile, greatest time of a call, nanoseconds; not numbers where single calls are unknown.
    pub quantiles_ns: [f64; 5],
    /// Own time of a call from which measured calls were made, nanoseconds: the segments between these calls, each as long as the least, the lower
    /// quartile, the median of the segments between equal calls. Not numbers of calls without segments, and of runs that were added before
    /// there were any.
    pub segments_ns: [f64; 3],
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSums {
    /// How it was started, and how it went.
    pub circumstances: Circumstances,
    /// Its cells, by method and parameters.
    pub cells: Vec<Cell>,
}

impl RunSums {
    /// The name of the run in the store: its start, and a hash that distinguishes runs of one second. The same run has
    /// the same name.
    pub fn id(&self) -> String {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.circumstances.started_unix_ns.to_le_bytes());
        for text in self
            .circumstances
            .command
            .iter()
            .chain(&self.circumstances.hosts)
        {
            hasher.update(text.as_bytes());
            hasher.update(&[0]);
        }
        for cell in &self.cells {
            hasher.update(cell.method.as_bytes());
            hasher.update(cell.parameters.as_bytes());
            hasher.update(&cell.calls.to_le_bytes());
            hasher.update(&cell.total_ns.to_le_bytes());
        }
        let started = utc(self.circumstances.started_unix_ns);
        format!("{started}-{:08x}", hasher.finalize())
    }
}

/// `20261127T170102Z`.
///
/// # Source
/// Hinnant, *chrono-compatible low-level date algorithms* (2021), `civil_from_days`.
pub(crate) fn utc(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{:02}Z",
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_that_of_the_calendar() {
        assert_eq!(utc(0), "19700101T000000Z");
        assert_eq!(utc(1_709_210_096_000_000_000), "20240229T123456Z");
        assert_eq!(utc(4_102_444_799_999_999_999), "20991231T235959Z");
    }

    #[test]
    fn a_run_has_its_name_from_what_it_did() {
        let mut run = RunSums::default();
        let first = run.id();
        assert_eq!(first, run.clone().id());
        run.cells.push(Cell::default());
        assert_ne!(first, run.id());
    }
}
