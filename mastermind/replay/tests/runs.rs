//! Runs of one program on several numbers of ranks as one program model, which repeats the program on other numbers.

use mastermind_replay::{
    RecordedCall, RecordedProgram, RecordedRank, ReplayError, program, program_of_runs,
};
use proptest::prelude::*;

use crate::programs::{Writer, run_of, simulated_on};
use crate::schedules::{call, message, replayed};

/// The model of the runs on some numbers of ranks.
fn model_of(ranks: &[u32], write: &impl Fn(&mut Writer)) -> RecordedProgram {
    let runs: Vec<Vec<RecordedRank>> = ranks.iter().map(|n| run_of(*n, write)).collect();
    let runs: Vec<&[RecordedRank]> = runs.iter().map(Vec::as_slice).collect();
    program_of_runs("runs", &runs).expect("a program")
}

/// Compares a model with the program on some numbers of ranks: as many calls, and the same time to a hundredth, since
/// costs are fitted.
fn does_the_same(model: &RecordedProgram, on: &[u32], write: &impl Fn(&mut Writer)) {
    for n in on {
        let recorded = run_of(*n, write);
        let found = simulated_on(&model.toml, *n);
        for (rank, (found, expected)) in found.iter().zip(replayed(&recorded)).enumerate() {
            let (end, expected) = (found.finish_ns, expected.finish_ns);
            assert!(
                end.abs_diff(expected) * 100 <= expected,
                "rank {rank} of {n}: {end} ns, expected {expected}: {}",
                model.toml
            );
        }
    }
}

/// A message to and from a rank.
fn swap(writer: &mut Writer, other: u32, bytes: u64) {
    writer.push(|times| RecordedCall {
        bytes,
        ..message("MPI_Sendrecv", times, other, 9)
    });
    writer.push(|times| RecordedCall {
        bytes,
        ..message("MPI_Sendrecv_recv", (times.0, times.0), other, 9)
    });
    writer.now_us -= 3;
}

/// Work that ranks share.
fn share(writer: &mut Writer, us: u64) {
    let n = u64::from(writer.n);
    writer.compute(us / n);
}

fn ring(writer: &mut Writer) {
    for _ in 0..10 {
        share(writer, 64_000);
        writer.shift(writer.n, 1, 800);
    }
    writer.collective("MPI_Allreduce", 0, 8, None);
}

#[test]
fn a_ring_goes_on() {
    let model = model_of(&[2, 4, 8], &ring);
    assert!(
        model.toml.contains("to = \"(process + 1) % processes\""),
        "{}",
        model.toml
    );
    assert_eq!(
        (model.ranks.most, model.ranks.powers_of_two),
        (Some(32), false),
        "{}",
        model.toml
    );
    does_the_same(&model, &[2, 4, 8, 16, 32], &ring);
    assert!(model.toml.lines().count() < 25, "{}", model.toml);
}

fn line(writer: &mut Writer) {
    let (rank, n) = (writer.rank, writer.n);
    for _ in 0..10 {
        share(writer, 640_000);
        let neighbours = [(rank + 1 < n).then_some(rank + 1), rank.checked_sub(1)];
        for other in neighbours.into_iter().flatten() {
            writer.push(|times| RecordedCall {
                bytes: 800,
                ..message("MPI_Send", times, other, 0)
            });
        }
        for other in neighbours.into_iter().flatten() {
            writer.push(|times| message("MPI_Recv", times, other, 0));
        }
        writer.collective("MPI_Allreduce", 0, 8, None);
    }
}

/// Ranks at the ends leave out the neighbour that they do not have, so their second call differs from the others'.
#[test]
fn an_open_line_goes_on() {
    let model = model_of(&[2, 4, 8], &line);
    for part in [
        "process != processes - 1 ? process + 1 : none",
        "process != 0 ? process - 1 : none",
    ] {
        assert!(model.toml.contains(part), "{part}: {}", model.toml);
    }
    does_the_same(&model, &[2, 4, 8, 16], &line);
}

/// Sides of the grid of two axes that `MPI_Dims_create` makes of a power of two.
fn sides(n: u32) -> (u32, u32) {
    let k = n.trailing_zeros();
    (1 << k.div_ceil(2), 1 << (k / 2))
}

fn grid(writer: &mut Writer) {
    let (rank, (width, height)) = (writer.rank, sides(writer.n));
    let (x, y) = (rank % width, rank / width);
    let at = |x: u32, y: u32| Some(y * width + x);
    let right = if x + 1 < width { at(x + 1, y) } else { None };
    let left = if x > 0 { at(x - 1, y) } else { None };
    let up = if y + 1 < height { at(x, y + 1) } else { None };
    let down = if y > 0 { at(x, y - 1) } else { None };
    for _ in 0..10 {
        share(writer, 6_400_000);
        writer.halo(&[right, left], u64::from(40_960 / height));
        writer.halo(&[up, down], u64::from(40_960 / width));
        writer.collective("MPI_Allreduce", 0, 8, None);
    }
}

#[test]
fn a_grid_of_two_axes_goes_on() {
    let model = model_of(&[2, 4, 8, 16], &grid);
    for part in [
        "process % side2_1 != side2_1 - 1 ? process + 1 : none",
        "div(process, side2_1) != 0 ? process - side2_1 : none",
        "40960 / side2_1",
    ] {
        assert!(model.toml.contains(part), "{part}: {}", model.toml);
    }
    assert!(
        model.ranks.powers_of_two && model.ranks.most.is_some(),
        "{}",
        model.toml
    );
    does_the_same(&model, &[2, 4, 8, 16, 32, 64], &grid);
}

/// Three runs do not determine whether a grid has two axes or three, if there is one rank on the third: reported,
/// not hidden.
#[test]
fn what_is_assumed_is_a_note() {
    let model = model_of(&[1, 2, 4], &grid);
    assert!(
        model.notes.iter().any(|note| note.starts_with("assumed: ")),
        "{:?}",
        model.notes
    );
    assert!(model.ranks.most.is_some(), "{}", model.toml);
    does_the_same(&model, &[1, 2, 4, 8, 16], &grid);
}

#[test]
fn sizes_and_rounds_are_functions_of_the_number_of_ranks() {
    let write = |writer: &mut Writer| {
        let n = u64::from(writer.n);
        for _ in 0..5 * writer.n.ilog2() {
            writer.compute(5000);
            writer.collective("MPI_Allgather", 0, 10 + 4096 / n, None);
            writer.collective("MPI_Bcast", 0, 8 * n, Some(writer.n - 1));
        }
    };
    let model = model_of(&[2, 4, 8], &write);
    for part in [
        "count = \"5 * log2(processes)\"",
        "10 + 4096 / processes",
        "8 * processes",
        "root = \"processes - 1\"",
    ] {
        assert!(model.toml.contains(part), "{part}: {}", model.toml);
    }
    does_the_same(&model, &[2, 4, 8, 16], &write);
}

/// The steps of a butterfly, one more in each run, are no pattern that continues by itself: more ranks would do too
/// few.
#[test]
fn steps_that_only_the_largest_run_has_are_not_taken_for_all() {
    let butterfly = |writer: &mut Writer| {
        for step in 0..writer.n.ilog2() {
            writer.compute(50);
            let other = writer.rank ^ (1 << step);
            swap(writer, other, 80 << step);
        }
    };
    let model = model_of(&[2, 4, 8], &butterfly);
    let may_go_on = model.ranks.most.is_some();
    let on = if may_go_on {
        &[2, 4, 8, 16][..]
    } else {
        &[2, 4, 8][..]
    };
    does_the_same(&model, on, &butterfly);
}

#[test]
fn partners_without_a_pattern_are_known_for_the_recorded_ranks() {
    let write = |writer: &mut Writer| {
        let n = writer.n;
        let (rank, to) = (writer.rank, (3 * writer.rank + 1) % n);
        let from = (0..n)
            .find(|from| (3 * from + 1) % n == rank)
            .expect("a permutation");
        writer.push(|times| RecordedCall {
            bytes: 80,
            ..message("MPI_Sendrecv", times, to, 9)
        });
        writer.push(|times| RecordedCall {
            bytes: 80,
            ..message("MPI_Sendrecv_recv", (times.0, times.0), from, 9)
        });
    };
    let model = model_of(&[2, 4, 8], &write);
    assert_eq!(model.ranks.most, None, "{}", model.toml);
    let note = model
        .notes
        .iter()
        .find(|note| note.contains("recorded numbers of ranks only"));
    assert!(
        note.is_some_and(|note| note.contains("receiver of isend")),
        "{:?}",
        model.notes
    );
    does_the_same(&model, &[2, 4, 8], &write);
}

/// Two runs do not determine the growth of work that is partly shared.
#[test]
fn costs_of_two_runs_that_need_a_third_are_not_extended() {
    let write = |writer: &mut Writer| {
        writer.compute(1000);
        share(writer, 8000);
        writer.collective("MPI_Barrier", 0, 0, None);
    };
    let of_two = model_of(&[2, 4], &write);
    assert_eq!(of_two.ranks.most, None, "{}", of_two.toml);
    let of_three = model_of(&[2, 4, 8], &write);
    assert_eq!(of_three.ranks.most, Some(32), "{}", of_three.toml);
    does_the_same(&of_three, &[2, 4, 8, 16], &write);
}

#[test]
fn two_runs_on_as_many_ranks_are_refused() {
    let runs = [run_of(2, ring), run_of(2, ring)];
    let error = program_of_runs("runs", &[&runs[0], &runs[1]]).expect_err("one number of ranks");
    assert_eq!(error, ReplayError::SameRanks { ranks: 2 });
}

/// Repeated operation of all ranks.
#[derive(Debug, Clone, Copy)]
enum Step {
    Shift { distance: u32, bytes: u64 },
    Line { bytes: u64 },
    Grid { bytes: u64 },
    Irregular { factor: u32 },
    Reduce { bytes: u64 },
    Probe,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = 1..5000_u64;
    prop_oneof![
        (1..4_u32, bytes.clone()).prop_map(|(distance, bytes)| Step::Shift { distance, bytes }),
        bytes.clone().prop_map(|bytes| Step::Line { bytes }),
        bytes.clone().prop_map(|bytes| Step::Grid { bytes }),
        (1..9_u32).prop_map(|factor| Step::Irregular { factor }),
        bytes.prop_map(|bytes| Step::Reduce { bytes }),
        Just(Step::Probe),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// On the recorded numbers of ranks a model sends the messages of the runs, whatever these
    /// were.
    #[test]
    fn models_do_on_the_recorded_ranks_what_the_runs_did(
        parts in prop::collection::vec((prop::collection::vec(step(), 1..4), 1..5_u32), 1..4),
        runs in prop::sample::subsequence(vec![1_u32, 2, 3, 4, 6, 8], 2..4),
    ) {
        let write = |writer: &mut Writer| {
            let (rank, n) = (writer.rank, writer.n);
            for ((steps, rounds), number) in parts.iter().zip(1..) {
                writer.collective("MPI_Allgather", 0, number, None);
                for (step, _) in steps.iter().cycle().zip(0..*rounds * steps.len() as u32) {
                    match *step {
                        Step::Shift { distance, bytes } => writer.shift(n, distance % n, bytes),
                        Step::Line { bytes } => writer.halo(&[(rank + 1 < n).then_some(rank + 1), rank.checked_sub(1)], bytes),
                        Step::Grid { bytes } => {
                            let width = if n % 2 == 0 { n / 2 } else { n };
                            let up = (rank + width < n).then(|| rank + width);
                            writer.halo(&[up, rank.checked_sub(width)], bytes);
                        }
                        Step::Irregular { factor } => {
                            let other = (factor + n - rank % n) % n;
                            if other != rank {
                                swap(writer, other, u64::from(rank + other + 1));
                            }
                        }
                        Step::Reduce { bytes } => writer.collective("MPI_Allreduce", 0, bytes * u64::from(n), None),
                        Step::Probe => writer.push(|times| call("MPI_Iprobe", times)),
                    }
                }
            }
        };
        let model = model_of(&runs, &write);
        for n in runs {
            let found = simulated_on(&model.toml, n);
            let of_run = program("run", &run_of(n, write)).expect("a program");
            for (found, expected) in found.iter().zip(simulated_on(&of_run.toml, n)) {
                if !model.notes.iter().any(|note| note.contains("fitted") || note.contains("mean of sizes")) {
                    prop_assert_eq!(
                        (found.overhead_ns, found.finish_ns),
                        (expected.overhead_ns, expected.finish_ns),
                        "{}", model.toml
                    );
                }
            }
        }
    }
}

/// In each round another rank is late, and all wait for it: the mean of each rank would end much earlier.
#[test]
fn ranks_are_as_late_as_the_slowest_of_each_round() {
    let write = |writer: &mut Writer| {
        for round in 0..64 {
            let is_late = round % writer.n == writer.rank;
            writer.compute(if is_late { 3000 } else { 1000 });
            writer.collective("MPI_Allreduce", 0, 8, None);
        }
    };
    let model = model_of(&[2, 4, 8], &write);
    does_the_same(&model, &[2, 4, 8, 16, 32], &write);
    let note = model
        .notes
        .iter()
        .find(|note| note.contains("is the slowest"));
    assert!(
        note.is_some_and(|note| note.contains("50 % on 2 ranks")),
        "{:?}",
        model.notes
    );
}

/// Ranks without a pattern have rounds of their own, whose computation only they have.
#[test]
fn rounds_of_some_ranks_are_computed_by_these() {
    let write = |writer: &mut Writer| {
        let (rank, n) = (writer.rank, writer.n);
        let middle = [n / 2 - 1, n / 2];
        for _ in 0..if middle.contains(&rank) { 20 } else { 0 } {
            writer.compute(500);
            swap(writer, middle[0] + middle[1] - rank, 80);
        }
        writer.collective("MPI_Barrier", 0, 0, None);
    };
    let model = model_of(&[2, 4, 8], &write);
    assert_eq!(model.ranks.most, None, "{}", model.toml);
    does_the_same(&model, &[2, 4, 8], &write);
}
