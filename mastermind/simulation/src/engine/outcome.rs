//! Results of a simulation.

use mastermind_programs::ElementInfo;

/// How far a simulation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time, nanoseconds.
    pub now_ns: u64,
    /// Events so far.
    pub events: u64,
}

/// An activity of a process from one time to another: waiting for a message is part of receiving
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Its rank.
    pub process: u32,
    /// The element of the program.
    pub element: u32,
    /// Nanoseconds.
    pub begin_ns: u64,
    /// Nanoseconds, not before the begin.
    pub end_ns: u64,
    /// How much of it the process used no processor, nanoseconds.
    pub wait_ns: u64,
}

/// A message with bytes in flight; requests and answers of the rendezvous protocol are not
/// included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// The sender's rank.
    pub from: u32,
    /// The receiver's rank.
    pub to: u32,
    /// Its bytes.
    pub bytes: u64,
    /// When the sender began to send it, nanoseconds.
    pub leaves_ns: u64,
    /// When it is at its receiver, nanoseconds, without its waits for shared links.
    pub arrives_ns: u64,
}

/// Times of one process. Time that is neither work nor overhead is waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessResult {
    /// When its processor was done, nanoseconds.
    pub finish_ns: u64,
    /// Processor time of its actions and regions.
    pub work_ns: u64,
    /// Processor time of its messages.
    pub overhead_ns: u64,
}

impl ProcessResult {
    /// Time without use of the processor.
    pub fn wait_ns(&self) -> u64 {
        self.finish_ns
            .saturating_sub(self.work_ns + self.overhead_ns)
    }
}

/// Calls and time of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ElementResult {
    /// How often it ran.
    pub calls: u64,
    /// From its begin to its end, waiting and the receipt of messages included, nanoseconds.
    pub total_ns: u64,
}

/// Which engine ran a program, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineChoice {
    /// The eager engine for programs whose messages are all eager and blocking, to ranks at fixed distances.
    FixedDistances,
    /// The eager engine for all other programs whose messages are all eager.
    Eager,
    /// The engine for all programs, since nodes have more processes than processors.
    Oversubscribed,
    /// The same, since a message may need a rendezvous, or its size is known only during the run.
    Rendezvous,
    /// The same, since the program has parallel regions, or operations that the eager engine does not
    /// support.
    Operations,
    /// The same, since links between nodes are of several classes.
    Classes,
    /// The same, since a trace is written.
    Traced,
    /// The same, since the longest path is followed.
    LongestPath,
    /// The engine for schedules.
    Schedules,
}

impl EngineChoice {
    /// The name of the engine.
    pub fn name(self) -> &'static str {
        match self {
            Self::FixedDistances | Self::Eager => "eager",
            Self::Schedules => "schedules",
            _ => "general",
        }
    }

    /// Why it was chosen.
    pub fn reason(self) -> &'static str {
        match self {
            Self::FixedDistances => {
                "all messages are eager and blocking, to ranks at fixed distances"
            }
            Self::Eager => "all messages are eager",
            Self::Oversubscribed => "nodes have more processes than processors",
            Self::Rendezvous => "a message may need a rendezvous, or its size depends on the run",
            Self::Operations => {
                "the program has parallel regions, or other operations that are none of the eager engine's"
            }
            Self::Classes => "the machine has switches or groups with links of their own",
            Self::Traced => "a trace is written",
            Self::LongestPath => "the longest path is followed",
            Self::Schedules => "each rank has operations of its own",
        }
    }
}

/// A finished simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Which engine ran it.
    pub engine: EngineChoice,
    /// The last process's finish, nanoseconds.
    pub makespan_ns: u64,
    /// By rank.
    pub processes: Vec<ProcessResult>,
    /// Elements of the program.
    pub elements: Vec<ElementInfo>,
    /// Messages that processes sent each other.
    pub messages: u64,
    /// Events: operations and messages taken.
    pub events: u64,
    /// Ties: events of one process and nanosecond whose tie-break keys are equal.
    pub ties: u64,
    /// Messages that were never received.
    pub unreceived: u64,
    /// Nonblocking receives that no message came for.
    pub unmatched: u64,
    /// Most memory of the engine, bytes.
    pub memory_bytes: usize,
    /// Maximum number of messages in flight or waiting at once, for a program; 0 for a schedule.
    pub most_messages: usize,
    pub(crate) counts: Vec<Count>,
}

/// Calls and time of an element on a process: 12 bytes, the time in two halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Count {
    calls: u32,
    low_ns: u32,
    high_ns: u32,
}

impl Count {
    fn total_ns(self) -> u64 {
        u64::from(self.high_ns) << 32 | u64::from(self.low_ns)
    }

    #[inline]
    pub(crate) fn add(&mut self, calls: u32, total_ns: u64) {
        let total_ns = self.total_ns() + total_ns;
        self.calls += calls;
        (self.low_ns, self.high_ns) = (total_ns as u32, (total_ns >> 32) as u32);
    }
}

impl Outcome {
    /// An element on one process.
    pub fn element_of(&self, process: usize, element: usize) -> ElementResult {
        let at = process * self.elements.len() + element;
        ElementResult {
            calls: u64::from(self.counts[at].calls),
            total_ns: self.counts[at].total_ns(),
        }
    }

    /// An element on all processes together.
    pub fn element(&self, element: usize) -> ElementResult {
        let mut sum = ElementResult::default();
        for process in 0..self.processes.len() {
            let one = self.element_of(process, element);
            sum.calls += one.calls;
            sum.total_ns += one.total_ns;
        }
        sum
    }
}
