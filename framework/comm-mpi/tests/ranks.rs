//! The communicator under its launcher: each test starts this very program again on a few ranks,
//! and each rank runs one of the ignored tests at the end.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cca_abi::RVec;
use cca_comm::{
    CommError, Communicator, Completion, LaunchError, Launched, MpiKind, MpiSize, Reduction,
    SizeError, compare_sizes, find_launcher, launch_command, launched, version_of,
};
use cca_comm_mpi::{MpiCommunicator, StartError, kind, library_version};

#[path = "../../../tests/src/missing.rs"]
mod missing;

/// Longest a run of a few ranks may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn three_ranks_exchange_everything() {
    let output = run(kind().expect("a known MPI"), 3, "rank_exchanges");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output).matches("rank done").count(), 3, "{output:?}");
}

#[test]
fn one_rank_exchanges_with_itself() {
    let output = run(kind().expect("a known MPI"), 1, "rank_exchanges");
    assert!(output.status.success(), "{output:?}");
}

/// On each rank two threads wait for messages that the other rank's other thread sends only after an answer, and one
/// thread waits in a collective operation.
#[test]
fn threads_wait_at_the_same_time() {
    for test in ["rank_waits_in_threads", "rank_waits_in_turn"] {
        let output = run(kind().expect("a known MPI"), 2, test);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&output).matches("rank done").count(), 2, "{output:?}");
    }
}

#[test]
fn abort_ends_all_ranks_with_its_code() {
    let output = run(kind().expect("a known MPI"), 2, "rank_aborts");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
}

#[test]
fn a_panic_ends_all_ranks() {
    let output = run(kind().expect("a known MPI"), 2, "rank_panics");
    assert!(!output.status.success(), "{output:?}");
}

#[test]
fn the_wrong_launcher_is_noticed() {
    let own = kind().expect("a known MPI");
    let other = MpiKind::ALL
        .into_iter()
        .find(|kind| *kind != own)
        .expect("the other MPI");
    if find_launcher(other, version_of).is_none() {
        return missing::skip(other.name(), format_args!("no launcher of {other}"));
    }
    let output = run(other, 2, "rank_finds_itself_alone");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        text(&output).matches("rank refused").count(),
        2,
        "{output:?}"
    );
}

/// Starts one of the tests below on `ranks` ranks and waits for it.
fn run(kind: MpiKind, ranks: usize, test: &str) -> Output {
    let launcher = find_launcher(kind, version_of).expect("the launcher of this MPI");
    let as_root = fs::metadata("/proc/self").expect("own process").uid() == 0;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let words = launch_command(&launcher, kind, ranks, as_root, cores);
    let child = Command::new(&words[0])
        .args(&words[1..])
        .arg(env::current_exe().expect("own path"))
        .args([
            "--ignored",
            "--exact",
            test,
            "--nocapture",
            "--test-threads=1",
        ])
        // Avoids `CommError::Overrun` in Open MPI, after which tests cannot continue.
        .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
        .env("OMPI_MCA_btl_self_flags", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start launcher");
    wait(child, test)
}

/// The output of `child`, which is ended if it takes too long.
fn wait(child: Child, test: &str) -> Output {
    let id = child.id().to_string();
    let (done, reader) = {
        let (send, receive) = std::sync::mpsc::channel();
        let reader = thread::spawn(move || send.send(child.wait_with_output()));
        (receive, reader)
    };
    let start = Instant::now();
    let output = done.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let _ = Command::new("kill").arg(id).status();
        panic!(
            "{test} still runs after {:.0} s",
            start.elapsed().as_secs_f64()
        );
    });
    reader.join().expect("reader").expect("output sent");
    output.expect("output of the ranks")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "what a rank of other tests runs"]
fn rank_exchanges() {
    let comm = MpiCommunicator::start().expect("MPI");
    sizes_agree(&comm);
    collectives(&comm);
    messages_to_itself(&comm);
    bad_arguments(&comm);
    messages_that_do_not_fit(&comm);
    if comm.size() == 3 {
        ends_out_of_order(&comm);
    }
    ring(&comm);
    from_another_thread(&comm);
    assert_eq!(
        MpiCommunicator::start().err(),
        Some(StartError::AlreadyStarted)
    );
    drop(comm);
    assert_eq!(
        MpiCommunicator::start().err(),
        Some(StartError::AlreadyEnded)
    );
    println!("rank done");
}

#[test]
#[ignore = "what a rank of other tests runs"]
fn rank_waits_in_threads() {
    in_threads(&MpiCommunicator::start().expect("MPI"), true);
}

#[test]
#[ignore = "what a rank of other tests runs"]
fn rank_waits_in_turn() {
    in_threads(&MpiCommunicator::start_serialized().expect("MPI"), false);
}

/// Threads pass a message to and fro, each with its partner on the other rank, while the first one waits for a message
/// that comes last.
fn in_threads(comm: &MpiCommunicator, with_collectives: bool) {
    const LAST: i32 = 99;
    let other = 1 - comm.rank();
    let last = comm.receive(other, LAST, 1).expect("receive");
    thread::scope(|scope| {
        let waits = scope.spawn(move || wait_all(comm, &mut [last]).len());
        // Whether the other thread waits already or not, its request is taken or reported.
        let again = comm.wait_some(&mut [last, 1 << 40]);
        assert!(again.is_err(), "{again:?}");
        let partners = [1, 2].map(|tag| scope.spawn(move || pass(comm, other, tag)));
        if with_collectives {
            comm.barrier().expect("barrier");
        }
        for partner in partners {
            partner.join().expect("a partner");
        }
        wait_all(
            comm,
            &mut [comm.send(other, LAST, values(0, 1)).expect("send")],
        );
        assert_eq!(waits.join().expect("who waited"), 1);
    });
    println!("rank done");
}

fn pass(comm: &MpiCommunicator, other: i32, tag: i32) {
    for turn in 0..200 {
        if turn % 2 == comm.rank() {
            wait_all(
                comm,
                &mut [comm.send(other, tag, values(turn, 3)).expect("send")],
            );
        } else {
            let done = wait_all(comm, &mut [comm.receive(other, tag, 3).expect("receive")]);
            assert_eq!(done[0].data, values(turn, 3));
        }
    }
}

#[test]
#[ignore = "what a rank of other tests runs"]
fn rank_aborts() {
    let comm = MpiCommunicator::start().expect("MPI");
    if comm.rank() == 1 {
        comm.abort(7);
    }
    comm.barrier().expect("barrier");
}

#[test]
#[ignore = "what a rank of other tests runs"]
fn rank_panics() {
    let comm = MpiCommunicator::start().expect("MPI");
    assert_ne!(comm.rank(), 1, "as wanted");
    comm.barrier().expect("barrier");
}

#[test]
#[ignore = "what a rank of other tests runs"]
fn rank_finds_itself_alone() {
    let comm = MpiCommunicator::start().expect("MPI");
    let mpi = MpiSize {
        kind: kind().expect("a known MPI"),
        size: comm.size(),
    };
    let refused = compare_sizes(by_environment().expect("launcher").as_ref(), Some(mpi));
    assert!(
        matches!(
            refused,
            Err(SizeError::Mismatch {
                found: 1,
                wanted: 2,
                ..
            })
        ),
        "{refused:?}"
    );
    println!("rank refused");
}

fn by_environment() -> Result<Option<Launched>, LaunchError> {
    launched(|name| env::var(name).ok())
}

/// Waits for all of `requests`, in the order they end.
fn wait_all(comm: &MpiCommunicator, requests: &mut [u64]) -> Vec<Completion> {
    let mut all = Vec::new();
    while requests.iter().any(|request| *request != 0) {
        all.extend(comm.wait_some(requests).expect("completions"));
    }
    all.sort_by_key(|completion| completion.index);
    all
}

fn values(from: i32, length: usize) -> RVec<f64> {
    (0..length)
        .map(|i| f64::from(from) * 1e6 + i as f64)
        .collect()
}

fn sizes_agree(comm: &MpiCommunicator) {
    let launched = by_environment().expect("launcher").expect("a launcher");
    assert_eq!(
        (launched.rank, launched.size),
        (comm.rank(), Some(comm.size()))
    );
    let mpi = MpiSize {
        kind: kind().expect("a known MPI"),
        size: comm.size(),
    };
    compare_sizes(Some(&launched), Some(mpi)).expect("equal sizes");
    assert!(!library_version().contains('\0'));
    let mut size = 0;
    // SAFETY: MPI runs, and the handle belongs to a communicator that lives as long as `comm`.
    unsafe {
        let handle = mpi::ffi::RSMPI_Comm_f2c(comm.fortran_handle());
        mpi::ffi::MPI_Comm_size(handle, &mut size);
    }
    assert_eq!(size, comm.size());
}

fn collectives(comm: &MpiCommunicator) {
    let (rank, size) = (f64::from(comm.rank()), f64::from(comm.size()));
    let sum = size * (size - 1.0) / 2.0;
    for (reduction, expected) in [
        (Reduction::Min, [0.0, 1.0 - size]),
        (Reduction::Max, [size - 1.0, 0.0]),
        (Reduction::Sum, [sum, -sum]),
    ] {
        let mut pair = [rank, -rank];
        comm.all_reduce(reduction, &mut pair).expect("all_reduce");
        assert_eq!(pair, expected, "{reduction:?}");
    }
    comm.all_reduce(Reduction::Sum, &mut [])
        .expect("all_reduce of nothing");
    let last = comm.size() - 1;
    let mut message = [rank, rank];
    comm.broadcast(last, &mut message).expect("broadcast");
    assert_eq!(message, [size - 1.0; 2]);
    comm.broadcast(last, &mut []).expect("broadcast of nothing");
    // Rank r has r values, so rank 0 has none.
    let mine = values(comm.rank(), comm.rank() as usize);
    let all = comm.gather(last, &mine).expect("gather");
    if comm.rank() == last {
        let expected: Vec<Vec<f64>> = (0..comm.size())
            .map(|r| values(r, r as usize).to_vec())
            .collect();
        assert_eq!(all, expected);
    } else {
        assert!(all.is_empty());
    }
    comm.barrier().expect("barrier");
}

fn messages_to_itself(comm: &MpiCommunicator) {
    let me = comm.rank();
    let mut requests = [
        comm.receive(me, 5, 3).expect("receive"),
        0,
        comm.send(me, 5, values(me, 2)).expect("send"),
        comm.send(me, 6, RVec::new()).expect("send"),
        comm.receive(me, 6, 0).expect("receive"),
    ];
    let given = requests;
    let done = wait_all(comm, &mut requests);
    assert_eq!(requests, [0; 5]);
    let found: Vec<_> = done
        .iter()
        .map(|c| (c.index, c.request, c.data.len()))
        .collect();
    let expected = [(0, 2), (2, 2), (3, 0), (4, 0)].map(|(at, length)| (at, given[at], length));
    assert_eq!(found, expected);
    assert_eq!(done[0].data, values(me, 2));
    assert_eq!(done[1].data, values(me, 2), "a send gives its data back");
    assert_eq!(comm.wait_some(&mut requests), Ok(vec![]));
}

fn bad_arguments(comm: &MpiCommunicator) {
    let (size, last) = (comm.size(), comm.size() - 1);
    let rank = |operation, found| {
        Some(CommError::Rank {
            operation,
            found,
            last,
        })
    };
    assert_eq!(comm.send(size, 0, RVec::new()).err(), rank("send", size));
    assert_eq!(comm.receive(-2, 0, 0).err(), rank("receive", -2));
    assert_eq!(comm.broadcast(size, &mut []).err(), rank("broadcast", size));
    assert_eq!(comm.gather(-1, &[]).err(), rank("gather", -1));
    let tag = Some(CommError::Tag {
        operation: "send",
        found: -1,
    });
    assert_eq!(comm.send(0, -1, RVec::new()).err(), tag);
    let unknown = |request| Err(CommError::UnknownRequest { request });
    assert_eq!(comm.wait_some(&mut [0, 1 << 40]), unknown(1 << 40));
    let request = comm.send(comm.rank(), 4, RVec::new()).expect("send");
    assert_eq!(comm.wait_some(&mut [request, request]), unknown(request));
    let mut requests = [request, comm.receive(comm.rank(), 4, 0).expect("receive")];
    wait_all(comm, &mut requests);
    assert_eq!(comm.wait_some(&mut [request]), unknown(request));
}

/// Short messages arrive short; long ones are an error for that one request.
fn messages_that_do_not_fit(comm: &MpiCommunicator) {
    let next = (comm.rank() + 1) % comm.size();
    let previous = (comm.rank() + comm.size() - 1) % comm.size();
    // The long ones are longer than MPI sends without asking the receiver first.
    for (length, excess) in [(4, 1), (4, 3), (4, 4), (1 << 18, 1), (1 << 18, 1000)] {
        let room = length - excess;
        let mut requests = [
            comm.receive(previous, 1, room).expect("receive"),
            comm.receive(previous, 2, length + 1).expect("receive"),
            comm.send(next, 1, values(comm.rank(), length))
                .expect("send"),
            comm.send(next, 2, values(comm.rank(), length))
                .expect("send"),
        ];
        let (mut done, mut errors) = (Vec::new(), Vec::new());
        while requests.iter().any(|request| *request != 0) {
            match comm.wait_some(&mut requests) {
                Ok(some) => done.extend(some),
                Err(error) => errors.push(error),
            }
        }
        done.sort_by_key(|completion| completion.index);
        assert_eq!(done.iter().map(|c| c.index).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(done[0].data, values(previous, length));
        let [
            CommError::Truncated {
                from,
                tag: 1,
                wanted,
                ..
            },
        ] = &errors[..]
        else {
            panic!("expected one truncated message: {errors:?}");
        };
        assert_eq!((*from, *wanted), (previous, room));
        if comm.rank() == 0 {
            println!("{}", errors[0]);
        }
    }
}

/// Rank 1 sends the second message first, and the first only when rank 0 has the second.
fn ends_out_of_order(comm: &MpiCommunicator) {
    match comm.rank() {
        0 => {
            let mut requests = [1, 2].map(|tag| comm.receive(1, tag, 1000).expect("receive"));
            let done = comm.wait_some(&mut requests).expect("completions");
            assert_eq!(done.len(), 1);
            assert_eq!((done[0].index, done[0].data.len()), (1, 20));
            assert_eq!(requests[1], 0);
            wait_all(comm, &mut [comm.send(1, 3, RVec::new()).expect("send")]);
            let done = wait_all(comm, &mut requests);
            assert_eq!((done[0].index, done[0].data.len()), (0, 10));
        }
        1 => {
            wait_all(comm, &mut [comm.send(0, 2, values(1, 20)).expect("send")]);
            wait_all(comm, &mut [comm.receive(0, 3, 0).expect("receive")]);
            wait_all(comm, &mut [comm.send(0, 1, values(1, 10)).expect("send")]);
        }
        _ => {}
    }
    comm.barrier().expect("barrier");
}

/// Eight megabytes from each rank to the next, all at once.
fn ring(comm: &MpiCommunicator) {
    let next = (comm.rank() + 1) % comm.size();
    let previous = (comm.rank() + comm.size() - 1) % comm.size();
    for _ in 0..3 {
        let mut requests = [
            comm.send(next, 0, values(comm.rank(), 1 << 20))
                .expect("send"),
            comm.receive(previous, 0, 1 << 20).expect("receive"),
        ];
        let done = wait_all(comm, &mut requests);
        assert_eq!(done[1].data, values(previous, 1 << 20));
    }
}

fn from_another_thread(comm: &MpiCommunicator) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut one = [1.0];
            match comm.all_reduce(Reduction::Sum, &mut one) {
                Ok(()) => assert_eq!(one, [f64::from(comm.size())]),
                Err(error) => assert_eq!(
                    error,
                    CommError::WrongThread {
                        operation: "all_reduce"
                    }
                ),
            }
        });
    });
}
