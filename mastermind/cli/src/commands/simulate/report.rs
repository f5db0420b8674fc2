//! The report of a simulation: its document, and its text.
//!
//! A program model and a schedule have the same report; fields that only one of them has are `None` for the other.
//!
//! ```text
//! ELEMENT  KIND    PLACE  CALLS  TOTAL ms  MEAN ms  %
//! work     action  main   40     …
//! sample: 12.300000 ms on 4 processes; work … ms, messages' overhead … ms, waiting … ms over all
//! ```

use mastermind_simulation::engine::{Outcome, ProcessResult};
use serde::Serialize;

use super::computation::Computation;
use super::sensitivity::Sensitivities;
use crate::output;
use crate::run_notes::MIN_SHARE;

/// Results of a simulation, printed as text or as one JSON document.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) makespan_ns: u64,
    pub(super) processes: Vec<Process>,
    pub(super) elements: Vec<Element>,
    pub(super) messages: u64,
    pub(super) events: u64,
    /// Which engine ran, and why.
    pub(super) engine: &'static str,
    pub(super) engine_reason: &'static str,
    /// Ties: events of one process and nanosecond whose order the rules leave open.
    pub(super) undecided: u64,
    pub(super) unreceived: u64,
    pub(super) unmatched: u64,
    /// Of a time that depends on random draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sample: Option<Sample>,
    /// Of a recorded run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recorded: Option<RecordedTimes>,
    /// The sensitivity of the time, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sensitivity: Option<Sensitivities>,
    /// The timeline of chosen processes: slices that refer to elements by their index in the list of elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeline: Option<serde_json::Value>,
    /// Messages between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) messages_between: Option<serde_json::Value>,
}

/// Times of a recorded run that is simulated again.
#[derive(Serialize)]
pub(super) struct RecordedTimes {
    /// The slowest rank's time, from the start of MPI to its end.
    pub(super) elapsed_ns: u64,
    pub(super) ranks_ns: Vec<u64>,
    /// How much longer the simulated one takes, percent.
    pub(super) difference_percent: f64,
    /// The source of the computation between the ranks' calls: "processor time", or "wall time" if only that was
    /// recorded.
    pub(super) computation: &'static str,
    /// How the computation is scaled for the machine's processor.
    pub(super) computation_by: Computation,
    /// The least share that a rank had of the processor time that it was ready for, 0 to 1; none if the system did not
    /// report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) processor_share: Option<f64>,
    /// Calls of collectives.
    pub(super) collectives: u64,
    /// Parts of the run that are not simulated, or differently.
    pub(super) notes: Vec<String>,
}

/// Times of one model with several seeds.
#[derive(Serialize)]
pub(super) struct Sample {
    /// The first.
    pub(super) seed: u32,
    pub(super) repeat: u32,
    pub(super) mean_ns: f64,
    /// Standard deviation of a time about the mean, from a sample (n - 1); none for a single time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) std_ns: Option<f64>,
    pub(super) min_ns: u64,
    pub(super) max_ns: u64,
}

impl Sample {
    pub(super) fn of(seed: u32, times_ns: &[u64]) -> Self {
        let n = times_ns.len() as f64;
        let mean_ns = times_ns.iter().map(|ns| *ns as f64).sum::<f64>() / n;
        let squares = times_ns.iter().map(|ns| (*ns as f64 - mean_ns).powi(2));
        let std_ns = (times_ns.len() > 1).then(|| (squares.sum::<f64>() / (n - 1.0)).sqrt());
        Self {
            seed,
            repeat: times_ns.len() as u32,
            mean_ns,
            std_ns,
            min_ns: times_ns.iter().copied().min().unwrap_or(0),
            max_ns: times_ns.iter().copied().max().unwrap_or(0),
        }
    }

    /// Prints the mean and the spread, or that there is one time only.
    fn print(&self) {
        match self {
            Self {
                repeat: 1, seed, ..
            } => output::line(format!(
                "one sample of a time that depends on random draws (seed {seed}); --repeat N shows mean and spread"
            )),
            sample => output::line(format!(
                "{} samples, seeds {} to {}: mean {:.6} ms, standard deviation {:.6} ms, from {} to {} ms",
                sample.repeat,
                sample.seed,
                sample.seed.wrapping_add(sample.repeat - 1),
                sample.mean_ns / 1e6,
                sample.std_ns.unwrap_or(0.0) / 1e6,
                ms(sample.min_ns),
                ms(sample.max_ns),
            )),
        }
    }
}

/// Times of one process.
#[derive(Serialize)]
pub(super) struct Process {
    pub(super) rank: usize,
    pub(super) finish_ns: u64,
    pub(super) work_ns: u64,
    pub(super) overhead_ns: u64,
    pub(super) wait_ns: u64,
}

/// Calls and times of one element of the model, over all processes.
#[derive(Serialize)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) place: String,
    pub(super) kind: &'static str,
    pub(super) calls: u64,
    pub(super) total_ns: u64,
    pub(super) mean_ns: f64,
    /// Of the time of all processes.
    pub(super) percent: f64,
    /// The part of the total that used no processor, if a timeline is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait_ns: Option<u64>,
}

impl Process {
    pub(super) fn of(rank: usize, process: &ProcessResult) -> Self {
        Self {
            rank,
            finish_ns: process.finish_ns,
            work_ns: process.work_ns,
            overhead_ns: process.overhead_ns,
            wait_ns: process.wait_ns(),
        }
    }
}

impl RecordedTimes {
    /// Prints the recorded time of the program `name`, and how far the simulated one is off.
    fn print(&self, name: &str) {
        let shared = self.processor_share.filter(|share| *share < MIN_SHARE);
        let shared = shared.map_or(String::new(), |share| {
            format!(
                ", each rank with at least {:.0} % of a processor",
                100.0 * share
            )
        });
        output::line(format!(
            "{name} took {} ms when it was recorded{}{shared}: {:+.1} %",
            ms(self.elapsed_ns),
            self.computation_by.with_what(),
            self.difference_percent
        ));
        if let Some(line) = self.computation_by.line() {
            output::line(line);
        }
    }
}

impl Report {
    /// The report of a simulated program model.
    pub(super) fn of(outcome: &Outcome) -> Self {
        let processes = outcome.processes.iter().enumerate();
        let all_ns: u64 = outcome
            .processes
            .iter()
            .map(|process| process.finish_ns)
            .sum();
        let elements = outcome.elements.iter().enumerate().map(|(i, info)| {
            let sum = outcome.element(i);
            Element {
                name: info.name.clone(),
                place: info.place.clone(),
                kind: info.kind,
                calls: sum.calls,
                total_ns: sum.total_ns,
                mean_ns: sum.total_ns as f64 / sum.calls.max(1) as f64,
                percent: 100.0 * sum.total_ns as f64 / all_ns.max(1) as f64,
                wait_ns: None,
            }
        });
        Self {
            makespan_ns: outcome.makespan_ns,
            processes: processes
                .map(|(rank, process)| Process::of(rank, process))
                .collect(),
            elements: elements.collect(),
            messages: outcome.messages,
            events: outcome.events,
            engine: outcome.engine.name(),
            engine_reason: outcome.engine.reason(),
            undecided: outcome.ties,
            unreceived: outcome.unreceived,
            unmatched: outcome.unmatched,
            sample: None,
            recorded: None,
            sensitivity: None,
            timeline: None,
            messages_between: None,
        }
    }

    /// Prints the text: the elements, the sums over the processes, and whatever else was requested.
    ///
    /// # Arguments
    /// * `name` - name of the model or schedule
    pub(super) fn print(&self, name: &str) {
        let rows = self.elements.iter().map(|element| {
            vec![
                element.name.clone(),
                element.kind.to_owned(),
                element.place.clone(),
                element.calls.to_string(),
                ms(element.total_ns),
                format!("{:.6}", element.mean_ns / 1e6),
                format!("{:.1}", element.percent),
            ]
        });
        let header = [
            "ELEMENT", "KIND", "PLACE", "CALLS", "TOTAL ms", "MEAN ms", "%",
        ];
        output::line(output::table(&header, &[3, 4, 5, 6], rows));
        let sum = |part: fn(&Process) -> u64| ms(self.processes.iter().map(part).sum());
        output::line(format!(
            "{name}: {} ms on {} processes; work {} ms, messages' overhead {} ms, waiting {} ms over all; {} messages",
            ms(self.makespan_ns),
            self.processes.len(),
            sum(|process| process.work_ns),
            sum(|process| process.overhead_ns),
            sum(|process| process.wait_ns),
            self.messages,
        ));
        if let Some(sample) = &self.sample {
            sample.print();
        }
        if let Some(recorded) = &self.recorded {
            recorded.print(name);
        }
        if let Some(sensitivity) = &self.sensitivity {
            sensitivity.print();
        }
        if self.unreceived + self.unmatched > 0 {
            output::line(format!(
                "{} messages were received by nobody, {} receives got no message",
                self.unreceived, self.unmatched
            ));
        }
    }
}

/// Milliseconds with their nanoseconds.
fn ms(ns: u64) -> String {
    format!("{:.6}", ns as f64 / 1e6)
}
