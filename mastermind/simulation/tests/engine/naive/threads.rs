//! Threads of a region, a nanosecond event after the other: work, work under one lock, work.

use std::collections::VecDeque;

use mastermind_simulation::machine::Queue;

/// State of a thread: its three remaining works, and whether it has the lock.
struct Thread {
    left_ns: [u64; 3],
    stage: usize,
}

/// Time until the last of the threads has ended.
pub fn elapsed_ns(works: &[[u64; 3]], processors: usize, queue: Queue) -> u64 {
    let threads = works.iter().map(|left_ns| Thread {
        left_ns: *left_ns,
        stage: 0,
    });
    let mut threads: Vec<_> = threads.collect();
    let mut ready: VecDeque<usize> = (0..threads.len()).collect();
    // End and index of the running threads, in order of their begin.
    let mut running: Vec<(u64, usize)> = Vec::new();
    let (mut holder, mut blocked) = (None, VecDeque::new());
    let mut now = 0;
    loop {
        // A thread gets a processor, or waits for the lock, or ends.
        while running.len() < processors {
            let Some(i) = ready.pop_front() else { break };
            run(
                i,
                now,
                queue,
                &mut threads,
                &mut running,
                (&mut holder, &mut blocked, &mut ready),
            );
        }
        let Some(next) = (0..running.len()).min_by_key(|k| running[*k].0) else {
            return now;
        };
        let (end, i) = running.remove(next);
        now = end;
        let thread = &mut threads[i];
        if thread.left_ns[thread.stage] > 0 && !ready.is_empty() {
            ready.push_back(i);
        } else {
            run(
                i,
                now,
                queue,
                &mut threads,
                &mut running,
                (&mut holder, &mut blocked, &mut ready),
            );
        }
    }
}

type Lock<'a> = (
    &'a mut Option<usize>,
    &'a mut VecDeque<usize>,
    &'a mut VecDeque<usize>,
);

fn run(
    i: usize,
    now: u64,
    queue: Queue,
    threads: &mut [Thread],
    running: &mut Vec<(u64, usize)>,
    (holder, blocked, ready): Lock<'_>,
) {
    let thread = &mut threads[i];
    loop {
        if thread.stage == 1 && *holder != Some(i) {
            if holder.is_some() {
                blocked.push_back(i);
                return;
            }
            *holder = Some(i);
        }
        let left = thread.left_ns[thread.stage];
        if left > 0 {
            let turn = match queue {
                Queue::Fcfs => left,
                Queue::RoundRobin { quantum_ns } => left.min(quantum_ns),
            };
            thread.left_ns[thread.stage] -= turn;
            running.push((now + turn, i));
            return;
        }
        if thread.stage == 1 {
            *holder = blocked.pop_front();
            ready.extend(*holder);
        }
        if thread.stage == 2 {
            return;
        }
        thread.stage += 1;
    }
}
