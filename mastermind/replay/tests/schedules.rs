//! Recorded runs as schedules: each repeats the recorded calls, and missing information is a note.

use std::collections::BTreeMap;
use std::sync::Arc;

use mastermind_programs::Collectives;
use mastermind_programs::goal::read_goal;
use mastermind_replay::{ComponentCall, RecordedCall, RecordedRank, Replay, ReplayError, replay};
use mastermind_simulation::engine::{ProcessResult, ScheduleOutcome, simulate_schedule};
use mastermind_simulation::machine::{Link, Machine};

/// o 1500, L 2500, g 1000, G 1; all messages are eager.
pub fn machine() -> Machine {
    let link = Link {
        rendezvous_bytes: 1 << 40,
        ..Link::default()
    };
    Machine {
        intra: link,
        inter: link,
        ..Machine::default()
    }
}

/// A call from `start` to `end`, microseconds, in `MPI_COMM_WORLD`.
pub fn call(function: &str, (start, end): (u64, u64)) -> RecordedCall {
    RecordedCall {
        function: Arc::from(function),
        start_ns: 1000 * start,
        end_ns: 1000 * end,
        cpu_before_ns: None,
        bytes: 0,
        peer: None,
        world_peer: None,
        communicator: Some(0),
        tag: None,
        request: None,
        requests: 0,
    }
}

/// The same with a message.
pub fn message(function: &str, times: (u64, u64), peer: u32, tag: u32) -> RecordedCall {
    RecordedCall {
        bytes: 1,
        peer: Some(peer),
        world_peer: Some(peer),
        tag: Some(tag),
        ..call(function, times)
    }
}

/// The same that begins or completes requests.
pub fn with(call: RecordedCall, request: u64, requests: u64) -> RecordedCall {
    RecordedCall {
        request: Some(request),
        requests,
        ..call
    }
}

pub fn ranks(calls: Vec<Vec<RecordedCall>>, span_us: (u64, u64)) -> Vec<RecordedRank> {
    let world: Vec<u32> = (0..calls.len() as u32).collect();
    let rank = |calls| RecordedRank {
        threads: vec![calls],
        communicators: BTreeMap::from([(0, world.clone())]),
        span_ns: (1000 * span_us.0, 1000 * span_us.1),
        ..RecordedRank::default()
    };
    calls.into_iter().map(rank).collect()
}

fn made(ranks: &[RecordedRank]) -> Replay {
    replay(ranks, Collectives::Basic).expect("a replay")
}

fn run(replay: &Replay) -> ScheduleOutcome {
    let schedule = read_goal(&*replay.goal).expect("a schedule");
    let outcome = simulate_schedule(schedule, &machine()).expect("an end");
    assert_eq!(outcome.unreceived, 0);
    outcome
}

pub fn finishes(ranks: &[RecordedRank]) -> Vec<u64> {
    let processes = replayed(ranks).into_iter();
    processes.map(|process| process.finish_ns).collect()
}

/// Results of the ranks in the schedule that a run becomes, without a note.
pub fn replayed(ranks: &[RecordedRank]) -> Vec<ProcessResult> {
    let replay = made(ranks);
    assert_eq!(replay.notes, [""; 0]);
    run(&replay).processes
}

#[test]
fn computation_between_two_calls_takes_as_long_as_it_did() {
    let recorded = ranks(
        vec![
            vec![
                call("MPI_Init", (0, 7)),
                message("MPI_Send", (20, 25), 1, 3),
                call("MPI_Finalize", (65, 70)),
            ],
            vec![
                call("MPI_Init", (0, 7)),
                message("MPI_Recv", (9, 31), 0, 3),
                call("MPI_Finalize", (65, 70)),
            ],
        ],
        (7, 65),
    );
    // 13 µs, o, 40 µs; 13 µs, o + L + o, 34 µs.
    assert_eq!(finishes(&recorded), [54_500, 13_000 + 5500 + 34_000]);
}

/// The same call with the processor time before it, microseconds.
pub fn after(cpu_us: u64, call: RecordedCall) -> RecordedCall {
    RecordedCall {
        cpu_before_ns: Some(1000 * cpu_us),
        ..call
    }
}

#[test]
fn a_rank_computes_for_as_long_as_it_had_a_processor() {
    let recorded = ranks(
        vec![
            vec![
                call("MPI_Init", (0, 7)),
                after(3, message("MPI_Send", (20, 25), 1, 3)),
                // A call that a schedule cannot express becomes computation, as the time before it.
                after(4, call("MPI_Win_lock", (35, 36))),
                after(5, message("MPI_Send", (45, 46), 1, 3)),
                after(2, call("MPI_Finalize", (65, 70))),
            ],
            vec![
                call("MPI_Init", (0, 7)),
                after(1, message("MPI_Recv", (9, 31), 0, 3)),
                // If it is unknown the rank may have computed all the time.
                message("MPI_Recv", (50, 51), 0, 3),
                after(6, call("MPI_Finalize", (65, 70))),
            ],
        ],
        (7, 65),
    );
    let work = |ranks: &[RecordedRank]| -> Vec<u64> {
        let processes = run(&made(ranks)).processes.into_iter();
        processes.map(|process| process.work_ns).collect()
    };
    assert_eq!(
        work(&recorded),
        [3000 + 4000 + 1000 + 5000 + 2000, 1000 + 19_000 + 6000]
    );
    let mut off = recorded;
    for rank in &mut off {
        (rank.off_processor_ns, rank.waiting_ns) = (Some(20_000), Some(12_000));
    }
    let notes = made(&off).notes;
    assert!(
        notes.iter().any(|note| note.contains("did not run")
            && note.contains("0.000 s or more they slept")),
        "{notes:?}"
    );
    // Most of it was waiting for a processor.
    for rank in &mut off {
        rank.waiting_ns = Some(19_900);
    }
    let notes = made(&off).notes;
    assert!(
        notes
            .iter()
            .any(|note| note.contains("did not run") && !note.contains("or more they slept")),
        "{notes:?}"
    );
}

#[test]
fn a_rank_computes_by_the_factors_of_its_components() {
    let recorded = || {
        ranks(
            vec![vec![
                call("MPI_Init", (0, 7)),
                message("MPI_Send", (27, 27), 0, 3),
                after(4, call("MPI_Win_lock", (30, 30))),
                message("MPI_Recv", (37, 37), 0, 3),
                call("MPI_Finalize", (65, 70)),
            ]],
            (7, 65),
        )
    };
    let work = |scale: &dyn Fn(&mut RecordedRank)| {
        let mut ranks = recorded();
        ranks.iter_mut().for_each(scale);
        run(&made(&ranks)).processes[0].work_ns
    };
    let plain_ns = 20_000 + 4000 + 7000 + 28_000;
    assert_eq!(work(&|_| ()), plain_ns);
    assert_eq!(work(&|rank| rank.scale(&[], 1.0)), plain_ns);
    assert_eq!(work(&|rank| rank.scale(&[], 0.5)), plain_ns / 2);
    // Half of the first stretch, and all of the third.
    let component = |(start, end): (u64, u64)| ComponentCall {
        start_ns: 1000 * start,
        end_ns: 1000 * end,
        factor: 3.0,
    };
    let calls = [vec![component((17, 27)), component((29, 38))]];
    let expected_ns = 10_000 + 30_000 + (4.0 * (2.0 + 3.0) / 3.0 * 1000.0_f64).round() as u64;
    let expected_ns = expected_ns + 21_000 + 27_000 + 3000;
    assert_eq!(work(&|rank| rank.scale(&calls, 1.0)), expected_ns);
    // Time after the last call is computation too.
    let mut cut = ranks(vec![vec![call("MPI_Init", (0, 7))]], (7, 65));
    cut[0].scale(&[], 2.0);
    assert_eq!(cut[0].span_ns, (7000, 123_000));
}

#[test]
fn a_request_is_waited_for_where_it_was() {
    // The receive is posted, 10 µs are computed, and only the wait waits for the message, which is late.
    let late = |wait: RecordedCall| {
        let calls = vec![
            vec![message("MPI_Send", (40, 41), 1, 0)],
            vec![with(message("MPI_Irecv", (0, 0), 0, 0), 0, 1), wait],
        ];
        finishes(&ranks(calls, (0, 60)))
    };
    let waited = late(with(call("MPI_Wait", (10, 45)), 0, 1));
    assert_eq!(waited, [40_000 + 1500 + 19_000, 40_000 + 5500 + 15_000]);
    // A poll that finds nothing waits for nothing: the rank has computed when the message takes its processor.
    let polled = late(call("MPI_Test", (10, 45)));
    assert_eq!(polled[1], 40_000 + 5500);
}

#[test]
fn an_exchange_receives_from_another_rank_than_it_sends_to() {
    let of_rank = |rank: u32| {
        let (right, left) = ((rank + 1) % 3, (rank + 2) % 3);
        vec![
            message("MPI_Sendrecv", (10, 20), right, 5),
            message("MPI_Sendrecv_recv", (20, 20), left, 5),
        ]
    };
    let recorded = ranks((0..3).map(of_rank).collect(), (0, 30));
    assert_eq!(finishes(&recorded), [10_000 + 5500 + 10_000; 3]);
}

#[test]
fn a_message_that_any_receive_gets_has_the_sender_and_tag_that_it_had() {
    let recorded = ranks(
        vec![
            vec![message("MPI_Send", (1, 2), 2, 8)],
            vec![message("MPI_Send", (1, 2), 2, 9)],
            vec![
                // From any rank with any tag: rank 1, by its completion, then rank 0.
                with(
                    RecordedCall {
                        bytes: 50,
                        ..call("MPI_Irecv", (0, 0))
                    },
                    0,
                    1,
                ),
                with(
                    RecordedCall {
                        bytes: 50,
                        ..call("MPI_Irecv", (0, 0))
                    },
                    1,
                    1,
                ),
                call("MPI_Waitall", (0, 9)),
                with(message("MPI_Completed", (9, 9), 1, 0), 0, 1),
                with(message("MPI_Completed", (9, 9), 0, 0), 1, 1),
            ],
        ],
        (0, 10),
    );
    let replay = made(&recorded);
    assert_eq!(
        (replay.messages, replay.notes.len()),
        (2, 0),
        "{:?}",
        replay.notes
    );
    let text = String::from_utf8(replay.goal.clone()).expect("text");
    let receives: Vec<_> = text.lines().filter(|line| line.contains("recv")).collect();
    assert_eq!(
        receives,
        ["l0: recv 50b from 1 tag 1", "l1: recv 50b from 0 tag 0"]
    );
    run(&replay);
}

#[test]
fn collectives_are_the_messages_of_the_library() {
    let barrier = || vec![call("MPI_Barrier", (5, 9))];
    let recorded = ranks(vec![barrier(), barrier()], (0, 9));
    // One byte in each direction.
    assert_eq!(finishes(&recorded), [5000 + 5500; 2]);
    let gather = |rank: u32| {
        let root = RecordedCall {
            bytes: 100,
            peer: Some(1),
            ..call("MPI_Gather", (5, 9))
        };
        vec![RecordedCall {
            world_peer: Some(rank),
            ..root
        }]
    };
    let recorded = ranks((0..2).map(gather).collect(), (0, 9));
    assert_eq!(finishes(&recorded)[1], 5000 + 5500 + 99);
}

#[test]
fn a_collective_that_goes_on_is_waited_for_where_it_was() {
    let of_rank = |begin| {
        vec![
            with(call("MPI_Ibarrier", (begin, begin)), 0, 1),
            with(call("MPI_Wait", (30, 33)), 0, 1),
        ]
    };
    let recorded = ranks(vec![of_rank(0), of_rank(20)], (0, 33));
    // The first rank computes for 30 µs meanwhile, and then takes the message of the second one.
    assert_eq!(finishes(&recorded)[0], 1500 + 30_000 + 1500);
}

#[test]
fn groups_are_distinguished() {
    // Ranks 0 and 2, 1 and 3: a barrier each, and messages with the same tag in both communicators.
    let of_rank = |rank: u32| {
        let own = |call: RecordedCall| RecordedCall {
            communicator: Some(1),
            ..call
        };
        let other = (rank + 2) % 4;
        match rank < 2 {
            true => vec![
                own(call("MPI_Barrier", (1, 2))),
                own(message("MPI_Send", (2, 3), other, 0)),
                message("MPI_Send", (3, 4), other, 0),
            ],
            // Received in the other order.
            false => vec![
                own(call("MPI_Barrier", (1, 2))),
                message("MPI_Recv", (2, 3), other, 0),
                own(message("MPI_Recv", (3, 4), other, 0)),
            ],
        }
    };
    let mut recorded = ranks((0..4).map(of_rank).collect(), (0, 5));
    for (rank, recorded) in recorded.iter_mut().enumerate() {
        let rank = rank as u32;
        recorded
            .communicators
            .insert(1, vec![rank % 2, rank % 2 + 2]);
    }
    let replay = made(&recorded);
    assert_eq!(
        (replay.messages, replay.collectives, replay.notes.len()),
        (4, 4, 0),
        "{:?}",
        replay.notes
    );
    let text = String::from_utf8(replay.goal.clone()).expect("text");
    let tags: Vec<_> = text
        .split("rank 2 {")
        .nth(1)
        .expect("rank 2")
        .lines()
        .filter(|line| line.contains("recv 1b from 0"))
        .collect();
    assert_eq!(tags.len(), 3, "{text}");
    run(&replay);
}

#[test]
fn what_is_missing_is_noted() {
    let recorded = ranks(
        vec![
            vec![
                message("MPI_Send", (1, 2), 1, 0),
                message("MPI_Send", (2, 3), 1, 1),
                call("MPI_Barrier", (3, 4)),
                call("MPI_Put", (4, 6)),
            ],
            vec![
                message("MPI_Recv", (1, 2), 0, 0),
                message("MPI_Recv", (2, 3), 0, 7),
            ],
        ],
        (0, 10),
    );
    let mut recorded = recorded;
    recorded[1].lost = 12;
    let replay = made(&recorded);
    let notes = replay.notes.join("\n");
    for part in [
        "no record: 12 calls of rank 1",
        "computation in place of communication: 1 call of MPI_Put, 0.000002 s over all ranks",
        "left out: 1 collective call of the communicator with ranks 0, 1, since",
        "left out: 1 message from rank 0 to rank 1 that nobody received",
        "left out: 1 receive of rank 1 from rank 0 without a message",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert_eq!(replay.notes.len(), 5, "{notes}");
    run(&replay);
}

#[test]
fn collectives_that_differ_are_refused() {
    let of_rank = |function: &str| vec![call("MPI_Barrier", (0, 1)), call(function, (1, 2))];
    let recorded = ranks(
        vec![of_rank("MPI_Barrier"), of_rank("MPI_Allreduce")],
        (0, 3),
    );
    let error = replay(&recorded, Collectives::Basic).expect_err("they differ");
    assert!(
        matches!(
            error,
            ReplayError::Collective {
                number: 2,
                rank: 1,
                ..
            }
        ),
        "{error}"
    );
    let silent = ranks(vec![of_rank("MPI_Barrier"), Vec::new()], (0, 3));
    let error = replay(&silent, Collectives::Basic).expect_err("no calls");
    assert_eq!(error, ReplayError::NoCalls { rank: 1, ranks: 2 });
}

/// Contents of a damaged record.
#[test]
fn any_numbers_are_bounded() {
    let huge = with(call("MPI_Waitall", (3, 4)), 0, u64::MAX);
    let of_rank = |first: Vec<RecordedCall>, last: Vec<RecordedCall>| {
        [first, vec![huge.clone()], last].concat()
    };
    let received = vec![with(message("MPI_Irecv", (1, 2), 1, 0), 7, 1)];
    let sent = vec![
        message("MPI_Send", (1, 2), 0, 0),
        message("MPI_Send", (2, 3), 4_000_000, 0),
    ];
    let calls = |last: Vec<RecordedCall>| {
        vec![
            of_rank(received.clone(), last.clone()),
            of_rank(sent.clone(), last),
        ]
    };
    let replay_of = |last| replay(&ranks(calls(last), (0, 5)), Collectives::OpenMpi);
    let replay = replay_of(Vec::new()).expect("a replay");
    assert_eq!(replay.messages, 1);
    let notes = replay.notes.join("\n");
    assert_eq!(
        notes,
        "left out: 1 message from rank 1 to rank 4000000 that nobody received"
    );
    run(&replay);
    let large = RecordedCall {
        bytes: u64::MAX,
        peer: Some(0),
        ..call("MPI_Bcast", (4, 5))
    };
    let error = replay_of(vec![large]).expect_err("too large");
    assert!(matches!(error, ReplayError::TooLarge { .. }), "{error}");
}
