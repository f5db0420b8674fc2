//! Recorded runs as program models: they end as the schedules of the same runs do, and are short.

use mastermind_models::ModelSet;
use mastermind_programs::{KnownRanks, Rule, System, check, lower, read_toml};
use mastermind_replay::{RecordedCall, RecordedProgram, RecordedRank, ReplayError, program};
use mastermind_simulation::engine::{ProcessResult, simulate};
use proptest::prelude::*;

use crate::schedules::{call, finishes, machine, message, ranks, replayed, with};

/// The calls of a rank, one after the other; computation goes before each.
pub struct Writer {
    pub rank: u32,
    pub n: u32,
    pub now_us: u64,
    request: u64,
    calls: Vec<RecordedCall>,
}

impl Writer {
    pub fn compute(&mut self, us: u64) {
        self.now_us += us;
    }

    pub fn push(&mut self, call: impl FnOnce((u64, u64)) -> RecordedCall) {
        let call = call((self.now_us, self.now_us + 3));
        self.now_us += 3;
        self.calls.push(call);
    }

    /// Messages from and to each of some ranks, and a wait for all.
    pub fn halo(&mut self, neighbours: &[Option<u32>], bytes: u64) {
        let first = self.request;
        for (tag, function) in [(1, "MPI_Isend"), (0, "MPI_Irecv")] {
            for (side, other) in neighbours.iter().enumerate() {
                // The opposite side receives the messages of a side.
                let tag = side as u32 ^ tag;
                let request = self.request;
                self.request += 1;
                self.push(|times| {
                    let sent = match other {
                        Some(other) => message(function, times, *other, tag),
                        None => call(function, times),
                    };
                    let bytes = other.map_or(0, |_| bytes);
                    with(RecordedCall { bytes, ..sent }, request, 1)
                });
            }
        }
        let n = self.request - first;
        self.push(|times| with(call("MPI_Waitall", times), first, n));
    }

    pub fn shift(&mut self, n: u32, distance: u32, bytes: u64) {
        let (to, from) = ((self.rank + distance) % n, (self.rank + n - distance) % n);
        self.push(|times| RecordedCall {
            bytes,
            ..message("MPI_Sendrecv", times, to, 9)
        });
        self.push(|times| RecordedCall {
            bytes,
            ..message("MPI_Sendrecv_recv", (times.0, times.0), from, 9)
        });
        self.now_us -= 3;
    }

    /// A message that goes once round.
    fn token(&mut self, n: u32) {
        let (to, from) = ((self.rank + 1) % n, (self.rank + n - 1) % n);
        let send = |times| message("MPI_Send", times, to, 4);
        let receive = |times| message("MPI_Recv", times, from, 4);
        if self.rank == 0 {
            self.push(send);
            self.push(receive);
        } else {
            self.push(receive);
            self.push(send);
        }
    }

    pub fn collective(&mut self, function: &str, communicator: i64, bytes: u64, root: Option<u32>) {
        self.push(|times| RecordedCall {
            bytes,
            peer: root,
            communicator: Some(communicator),
            ..call(function, times)
        });
    }
}

/// A run of `n` ranks.
pub fn run_of(n: u32, write: impl Fn(&mut Writer)) -> Vec<RecordedRank> {
    let mut ended_us = Vec::new();
    let calls = (0..n).map(|rank| {
        let mut writer = Writer {
            rank,
            n,
            now_us: 0,
            request: 0,
            calls: Vec::new(),
        };
        write(&mut writer);
        ended_us.push(writer.now_us);
        writer.calls
    });
    let calls = calls.collect();
    let mut recorded = ranks(calls, (0, 0));
    for (rank, ended_us) in recorded.iter_mut().zip(ended_us) {
        rank.span_ns.1 = 1000 * ended_us;
    }
    recorded
}

fn written(recorded: &[RecordedRank]) -> RecordedProgram {
    program("run", recorded).expect("a program")
}

/// When each rank ends of the program that a run becomes.
fn ends(recorded: &[RecordedRank]) -> Vec<u64> {
    let processes = simulated(recorded).into_iter();
    processes.map(|process| process.finish_ns).collect()
}

/// Results of the ranks in the program that a run becomes.
fn simulated(recorded: &[RecordedRank]) -> Vec<ProcessResult> {
    simulated_on(&written(recorded).toml, recorded.len() as u32)
}

/// Results of the ranks of a program.
pub fn simulated_on(text: &str, n: u32) -> Vec<ProcessResult> {
    let model = read_toml(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(check(&model, &ModelSet::default()), [], "{text}");
    let system = System {
        processes: n,
        nodes: n,
        processors: 1,
    };
    let program = lower(&model, &ModelSet::default(), system).expect("a machine form");
    let outcome = simulate(&program, &machine()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!((outcome.unreceived, outcome.unmatched), (0, 0), "{text}");
    outcome.processes
}

/// A stencil on rows of four ranks that ends at the edges: at most 40 rounds per rank.
#[test]
fn a_stencil_is_a_few_elements_that_end_as_its_schedule() {
    let recorded = run_of(12, |writer| {
        let (x, y) = (writer.rank % 4, writer.rank / 4);
        let neighbour = |inside: bool, distance: i64| {
            inside.then(|| (i64::from(writer.rank) + distance) as u32)
        };
        let neighbours = [
            neighbour(x < 3, 1),
            neighbour(x > 0, -1),
            neighbour(y < 2, 4),
            neighbour(y > 0, -4),
        ];
        writer.compute(7);
        writer.collective("MPI_Bcast", 0, 160, Some(0));
        for _ in 0..8 {
            for _ in 0..5 {
                writer.compute(if x == 0 { 50 } else { 40 });
                writer.halo(&neighbours, 800);
            }
            writer.collective("MPI_Allreduce", 0, 8, None);
        }
        writer.compute(u64::from(writer.rank) * 10);
    });
    let program = written(&recorded);
    assert_eq!(program.notes, [""; 0]);
    assert!(program.elements < 25, "{}", program.toml);
    for part in [
        "count = 8",
        "count = 5",
        "process % 4 != 3 ? process + 1 : none",
        "div(process, 4) != 0 ? process - 4 : none",
    ] {
        assert!(program.toml.contains(part), "{part}: {}", program.toml);
    }
    assert_eq!(ends(&recorded), finishes(&recorded));
}

#[test]
fn collectives_of_groups_are_of_the_ranks_that_they_were_of() {
    let mut recorded = run_of(8, |writer| {
        for _ in 0..3 {
            writer.compute(10 * (1 + u64::from(writer.rank)));
            writer.collective("MPI_Allreduce", 1, 80, None);
            writer.collective("MPI_Bcast", 2, 400, Some(1));
        }
    });
    for (rank, recorded) in recorded.iter_mut().enumerate() {
        let rank = rank as u32;
        let row = (0..4).map(|i| rank - rank % 4 + i).collect();
        recorded.communicators.insert(1, row);
        recorded
            .communicators
            .insert(2, vec![rank % 4, rank % 4 + 4]);
    }
    let program = written(&recorded);
    for part in [
        "group_size = \"4\", group_stride = \"1\"",
        "group_stride = \"4\"",
    ] {
        assert!(program.toml.contains(part), "{part}: {}", program.toml);
    }
    assert_eq!(ends(&recorded), finishes(&recorded));
}

/// `MPI_Comm_split` with keys that fall as ranks rise.
#[test]
fn communicators_in_reverse_order_stay_so() {
    let mut recorded = run_of(4, |writer| {
        writer.compute(10 * (1 + u64::from(writer.rank)));
        writer.collective("MPI_Bcast", 1, 4000, Some(0));
        writer.collective("MPI_Allreduce", 1, 80, None);
    });
    for recorded in &mut recorded {
        recorded.communicators.insert(1, vec![3, 2, 1, 0]);
    }
    let program = written(&recorded);
    assert!(
        program.toml.contains("group_stride = \"-1\""),
        "{}",
        program.toml
    );
    assert_eq!(ends(&recorded), finishes(&recorded));
}

#[test]
fn a_communicator_without_an_order_is_refused() {
    let mut recorded = run_of(4, |writer| writer.collective("MPI_Allreduce", 1, 80, None));
    for recorded in &mut recorded {
        recorded.communicators.insert(1, vec![2, 0, 3, 1]);
    }
    let error = program("run", &recorded).expect_err("no arithmetic sequence");
    let is_named =
        matches!(&error, ReplayError::IrregularGroup { element } if element == "allreduce");
    assert!(is_named, "{error}");
}

#[test]
fn a_model_of_a_run_has_the_ranks_of_that_run() {
    let recorded = run_of(4, |writer| writer.collective("MPI_Barrier", 0, 0, None));
    let model = read_toml(&written(&recorded).toml).expect("a model");
    assert_eq!(model.ranks, Some(KnownRanks::of_run(4)));
    let on = |processes| System {
        processes,
        nodes: processes,
        processors: 1,
    };
    let none = ModelSet::default();
    assert!(lower(&model, &none, on(4)).is_ok());
    for processes in [2, 8] {
        let error = lower(&model, &none, on(processes)).expect_err("other ranks");
        assert_eq!(error.findings[0].rule, Rule::RecordedRanks, "{error}");
    }
}

#[test]
fn a_run_that_was_cut_says_so() {
    let mut recorded = run_of(3, |writer| writer.collective("MPI_Barrier", 0, 0, None));
    assert!(written(&recorded).notes.is_empty());
    recorded[1].is_cut = true;
    let notes = written(&recorded).notes;
    assert!(
        notes.len() == 1 && notes[0].contains("rank 1 "),
        "{notes:?}"
    );
}

#[test]
fn receives_from_any_rank_stay_so() {
    let recorded = run_of(4, |writer| {
        if writer.rank > 0 {
            writer.compute(5 * u64::from(writer.rank));
            writer.push(|times| message("MPI_Send", times, 0, 3));
        }
        for i in 0..if writer.rank == 0 { 3 } else { 0 } {
            writer.push(|times| RecordedCall {
                bytes: 1,
                tag: Some(3),
                ..with(call("MPI_Irecv", times), i, 1)
            });
            let from = 1 + i as u32;
            writer.push(|times| with(message("MPI_Wait", times, from, 3), i, 1));
        }
    });
    let program = written(&recorded);
    assert!(
        program.toml.contains("process == 0 ? any : none"),
        "{}",
        program.toml
    );
    assert_eq!(ends(&recorded), finishes(&recorded));
}

#[test]
fn what_is_only_nearly_the_same_is_noted() {
    // Sizes and tags that differ from round to round without a pattern, and a wait for the second of two messages.
    let recorded = run_of(2, |writer| {
        let other = 1 - writer.rank;
        for i in 0..600_u64 {
            let (bytes, tag) = (1 + i * i % 397, (i * i % 7) as u32);
            let word = if writer.rank == 0 {
                "MPI_Send"
            } else {
                "MPI_Recv"
            };
            writer.push(|times| RecordedCall {
                bytes,
                ..message(word, times, other, tag)
            });
        }
        for i in 0..2 {
            let word = if writer.rank == 0 {
                "MPI_Isend"
            } else {
                "MPI_Irecv"
            };
            writer.push(|times| with(message(word, times, other, 50), i, 1));
        }
        for i in [1, 0] {
            writer.compute(1);
            writer.push(|times| with(call("MPI_Wait", times), i, 1));
        }
    });
    let program = written(&recorded);
    let notes = program.notes.join("\n");
    for part in [
        "2 calls: waits for the next receives to be complete in place of certain ones",
        "tags differ from round to round",
        "600 calls: the mean of sizes that differ from round to round",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert!(program.elements < 12, "{}", program.toml);
    // Means leave the ends nearly as they are.
    for (end, expected) in ends(&recorded).into_iter().zip(finishes(&recorded)) {
        assert!(end.abs_diff(expected) * 100 < expected, "{end} {expected}");
    }
}

#[test]
fn what_is_no_single_program_is_refused() {
    let mut recorded = run_of(2, |writer| writer.token(2));
    let second = recorded[1].threads[0].clone();
    recorded[1].threads.push(second);
    let error = program("run", &recorded).expect_err("two threads");
    assert_eq!(
        error,
        ReplayError::Threads {
            rank: 1,
            threads: 2
        }
    );
    // To ranks without a pattern, of more than a table holds.
    let recorded = run_of(66, |writer| {
        let other = if writer.rank < 33 {
            33 + writer.rank * writer.rank % 33
        } else {
            0
        };
        writer.push(|times| message("MPI_Isend", times, other, 3));
    });
    let error = program("run", &recorded).expect_err("no pattern");
    assert!(
        matches!(error, ReplayError::NoPattern { ranks: 66, .. }),
        "{error}"
    );
    // A word on three letters without a square has nothing to fold.
    let recorded = run_of(1, |writer| {
        for i in 0..20_001_u32 {
            let letter = 1 + (i + 1).count_ones() % 2 - i.count_ones() % 2;
            let function = ["MPI_Barrier", "MPI_Allgather", "MPI_Alltoall"][letter as usize];
            writer.collective(function, 0, 8, None);
        }
    });
    let error = program("run", &recorded).expect_err("nothing repeats");
    assert_eq!(error, ReplayError::TooManyElements { elements: 20_002 });
}

/// Repeated operation of all ranks.
#[derive(Debug, Clone, Copy)]
enum Step {
    Halo { width: u32, bytes: u64 },
    Shift { distance: u32, bytes: u64 },
    Token,
    Reduce { bytes: u64 },
    Barrier,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = 1..5000_u64;
    prop_oneof![
        (1..4_u32, bytes.clone()).prop_map(|(width, bytes)| Step::Halo { width, bytes }),
        (1..6_u32, bytes.clone()).prop_map(|(distance, bytes)| Step::Shift { distance, bytes }),
        Just(Step::Token),
        bytes.prop_map(|bytes| Step::Reduce { bytes }),
        Just(Step::Barrier),
    ]
}

/// Steps, rounds, and microseconds of computation before each step.
fn part() -> impl Strategy<Value = (Vec<Step>, u32, u64)> {
    (prop::collection::vec(step(), 1..4), 1..6_u32, 0..30_u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn programs_end_as_the_schedules_of_the_same_runs(
        parts in prop::collection::vec(part(), 1..4),
        n in 2..17_u32,
        is_even in any::<bool>(),
    ) {
        let recorded = run_of(n, |writer| {
            let factor = if is_even { 1 } else { 1 + u64::from(writer.rank) };
            for ((steps, rounds, us), number) in parts.iter().zip(1..) {
                // Rounds of two parts do not fold into one loop, since their costs differ.
                writer.collective("MPI_Allgather", 0, number, None);
                for _ in 0..*rounds {
                    for step in steps {
                        writer.compute(us * factor);
                        match *step {
                            Step::Halo { width, bytes } => {
                                let (rank, width) = (writer.rank, width.min(n));
                                let right = (rank % width + 1 < width && rank + 1 < n).then_some(rank + 1);
                                let left = (rank % width > 0).then(|| rank - 1);
                                writer.halo(&[right, left], bytes);
                            }
                            Step::Shift { distance, bytes } => writer.shift(n, distance % n, bytes),
                            Step::Token => writer.token(writer.n),
                            Step::Reduce { bytes } => writer.collective("MPI_Allreduce", 0, bytes, None),
                            Step::Barrier => writer.collective("MPI_Barrier", 0, 0, None),
                        }
                    }
                }
            }
        });
        for (found, expected) in simulated(&recorded).into_iter().zip(replayed(&recorded)) {
            prop_assert_eq!(found.overhead_ns, expected.overhead_ns);
            // Means are whole nanoseconds.
            let (work_ns, expected_ns) = (found.work_ns, expected.work_ns);
            prop_assert!(work_ns.abs_diff(expected_ns) <= 100, "{work_ns}, expected {expected_ns}");
            // A message that is there when a rank sends comes first or second, which a schedule decides otherwise.
            let (end, expected) = (found.finish_ns, expected.finish_ns);
            prop_assert!(end.abs_diff(expected) * 5 <= expected, "{end}, expected {expected}");
        }
    }
}
