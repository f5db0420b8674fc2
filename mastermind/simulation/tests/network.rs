//! Links in classes, and shared links: which ones two nodes have and which message has them when, computed without the
//! engines; the keys of machine files for them; and consequences of the rules.

use std::collections::{HashMap, VecDeque};

use mastermind_programs::goal::read_goal;
use mastermind_simulation::engine::{Outcome, simulate_schedule};
use mastermind_simulation::machine::{Link, Machine, NearLink, read_machine};
use proptest::prelude::*;

use crate::engine::common::outcome;

/// The link of two nodes.
pub fn between(machine: &Machine, [a, b]: [u32; 2]) -> &Link {
    if let Some(switch) = &machine.switch
        && a / switch.nodes == b / switch.nodes
    {
        return &switch.link;
    }
    match &machine.group {
        Some(group) if a / group.nodes == b / group.nodes => &group.link,
        _ => &machine.inter,
    }
}

/// A message that leaves its sender.
#[derive(Debug, Clone, Copy)]
pub struct Leaving {
    pub at: u64,
    pub keeps_ns: u64,
    /// Sender and receiver, and their nodes.
    pub ranks: [u32; 2],
    pub nodes: [u32; 2],
    pub is_data: bool,
}

/// Of switches or groups, up or down, and the index.
type Whose = (&'static str, bool, u32);

struct Waiting<M> {
    /// When it wants its next link, which is the first of these.
    at: u64,
    links: VecDeque<(Whose, u32)>,
    number: usize,
    leaving: Leaving,
    message: M,
}

/// Links that messages share, each with the time from which it is free. The next message to take one is searched among all.
pub struct SharedLinks<M> {
    waiting: Vec<Waiting<M>>,
    free: HashMap<Whose, Vec<u64>>,
    n: usize,
}

impl<M> Default for SharedLinks<M> {
    fn default() -> Self {
        Self {
            waiting: Vec::new(),
            free: HashMap::new(),
            n: 0,
        }
    }
}

impl<M> SharedLinks<M> {
    /// The message again if it shares no link.
    pub fn leave(&mut self, machine: &Machine, leaving: Leaving, message: M) -> Option<M> {
        let [from, to] = leaving.nodes;
        let mut links = VecDeque::new();
        // From the nearest to the farthest up, and back.
        for (class, near) in [("group", &machine.group), ("switch", &machine.switch)] {
            if let Some(NearLink { nodes, uplinks, .. }) = near
                && let Some(n) = *uplinks
                && from / nodes != to / nodes
            {
                links.push_front(((class, true, from / nodes), n));
                links.push_back(((class, false, to / nodes), n));
            }
        }
        if links.is_empty() {
            return Some(message);
        }
        self.n += 1;
        self.waiting.push(Waiting {
            at: leaving.at,
            links,
            number: self.n,
            leaving,
            message,
        });
        None
    }

    /// When the next link is wanted.
    pub fn next_ns(&self) -> u64 {
        let times = self.waiting.iter().map(|waiting| waiting.at);
        times.min().unwrap_or(u64::MAX)
    }

    /// The next message takes its next link; if that was the last, how long it waited, and which it is.
    pub fn step(&mut self) -> Option<(u64, M)> {
        let turn = |i: &usize| {
            let Waiting {
                at,
                number,
                leaving,
                ..
            } = &self.waiting[*i];
            (*at, leaving.ranks, leaving.is_data, *number)
        };
        let first = (0..self.waiting.len()).min_by_key(turn)?;
        let mut it = self.waiting.remove(first);
        let (whose, n) = it.links.pop_front()?;
        let free = self.free.entry(whose).or_insert(vec![0; n as usize]);
        let link = free.iter_mut().min()?;
        it.at = it.at.max(*link);
        *link = it.at + it.leaving.keeps_ns;
        if it.links.is_empty() {
            return Some((it.at - it.leaving.at, it.message));
        }
        self.waiting.push(it);
        None
    }
}

/// The same machine, its links as wide as messages need.
pub fn without_uplinks(mut machine: Machine) -> Machine {
    let near = [&mut machine.switch, &mut machine.group];
    for near in near.into_iter().flatten() {
        near.uplinks = None;
    }
    machine
}

const CLASSES: &str = "[nodes]\nper_switch = 2\nper_group = 4\n[network]\nlatency_ns = 5000\n\
    [network.switch]\nlatency_ns = 1000\n[network.group]\nlatency_ns = 2000\n";

#[test]
fn a_machine_file_says_which_nodes_are_near() {
    let machine = read_machine(CLASSES).expect("a machine");
    let latencies = [1, 2, 3, 4].map(|node| between(&machine, [0, node]).latency_ns);
    assert_eq!(latencies, [1000, 2000, 2000, 5000]);
    // A missing value of a class is the one for all.
    assert_eq!(
        machine.switch.expect("switches").link.gap_ns,
        machine.inter.gap_ns
    );
    for (from, to, expected) in [
        (
            "per_switch = 2\n",
            "",
            "\"network.switch\": no \"nodes.per_switch\"",
        ),
        (
            "per_group = 4\n",
            "",
            "\"network.group\": no \"nodes.per_group\"",
        ),
        (
            "per_group = 4",
            "per_group = 3",
            "\"nodes.per_group\": 3, expected a multiple of nodes.per_switch",
        ),
        (
            "per_group = 4",
            "per_group = 0",
            "\"nodes.per_group\": 0, expected a whole number",
        ),
        (
            "latency_ns = 1000",
            "uplinks = 0",
            "\"network.switch.uplinks\": 0, expected a whole number from 1 to 1e9",
        ),
        (
            "latency_ns = 2000",
            "uplinks = nan",
            "\"network.group.uplinks\": NaN, expected a whole number",
        ),
        (
            "latency_ns = 2000",
            "uplinks = 1e300",
            "\"network.group.uplinks\": 1000",
        ),
        (
            "latency_ns = 2000",
            "uplinks = 2.5",
            "\"network.group.uplinks\": 2.5, expected a whole number",
        ),
        (
            "[network.group]",
            "[network.intra]\nuplinks = 2\n[network.group]",
            "\"network.intra.uplinks\": 2, expected none",
        ),
        (
            "[network.group]",
            "[network.inter]\nuplinks = 2\n[network.group]",
            "\"network.inter.uplinks\": 2, expected none",
        ),
        (
            "per_switch = 2\n",
            "",
            "\"network.switch\": no \"nodes.per_switch\"",
        ),
    ] {
        let error = read_machine(&CLASSES.replace(from, to)).expect_err("a refusal");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// L 1000, o 100, g 10, G 1, one process on each node, `per_switch` and `per_group` with `uplinks` links upwards.
fn machine(per_switch: u32, per_group: u32, uplinks: [Option<u32>; 2]) -> Machine {
    let link = Link {
        latency_ns: 1000,
        send_overhead_ns: 100,
        receive_overhead_ns: 100,
        gap_ns: 10,
        rendezvous_bytes: 50_000,
        ..Link::default()
    };
    let near = |nodes, uplinks| {
        Some(NearLink {
            nodes,
            link,
            uplinks,
        })
    };
    Machine {
        intra: link,
        inter: link,
        switch: near(per_switch, uplinks[0]),
        group: near(per_group, uplinks[1]),
        ..Machine::default()
    }
}

/// A message: the sender, its computation before the send, the receiver, bytes.
type MessageSpec = (u32, u64, u32, u64);

/// When each rank has ended that sends its messages, then receives those for it, in their order: as a model and as a schedule.
fn finishes(n: u32, messages: &[MessageSpec], machine: &Machine) -> Vec<u64> {
    let mut sends = String::new();
    let mut receives = String::new();
    let mut ranks = vec![[String::new(), String::new()]; n as usize];
    for (i, (from, ns, to, bytes)) in messages.iter().enumerate() {
        sends += &format!(
            "{{ action = \"a\", cost = \"process == {from} ? ns({ns}) : 0\" }}, \
             {{ isend = \"s{i}\", to = \"process == {from} ? {to} : none\", bytes = {bytes}, tag = {i} }},\n"
        );
        receives += &format!(
            "{{ recv = \"r{i}\", from = \"process == {to} ? {from} : none\", tag = {i} }},\n"
        );
        ranks[*from as usize][0] += &format!("calc {ns}\nsend {bytes}b to {to} tag {i}\n");
        ranks[*to as usize][1] += &format!("recv {bytes}b from {from} tag {i}\n");
    }
    let model = format!(
        "[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [\n{sends}{receives}{{ wait = \"w\" }},\n]\n"
    );
    let Outcome { processes, .. } = outcome(&model, machine, n);
    let found: Vec<u64> = processes.iter().map(|process| process.finish_ns).collect();
    let mut schedule = format!("num_ranks {n}\n");
    for (rank, [sends, receives]) in ranks.iter().enumerate() {
        schedule += &format!("rank {rank} {{\n");
        let lines: Vec<&str> = sends.lines().chain(receives.lines()).collect();
        // A receive waits for operations before it, and operations after a send for its begin, as that does not
        // block.
        for (i, line) in lines.iter().enumerate() {
            schedule += &format!("l{i}: {line}\n");
            if i > 0 {
                let requires = match lines[i - 1].starts_with("send") {
                    true => "irequires",
                    false => "requires",
                };
                schedule += &format!("l{i} {requires} l{}\n", i - 1);
            }
        }
        schedule += "}\n";
    }
    let goal = read_goal(schedule.as_bytes()).expect("a schedule");
    let ended = simulate_schedule(goal, machine).expect("an end");
    let as_schedule: Vec<u64> = ended.processes.iter().map(|rank| rank.finish_ns).collect();
    assert_eq!(as_schedule, found, "{schedule}");
    found
}

/// o + L + o + (s - 1) G.
const ONE_WAY: u64 = 100 + 1000 + 100;

#[test]
fn a_message_waits_for_the_bytes_of_those_before_it() {
    // Nodes 0 and 1 of a switch send to another switch each.
    let apart = [(0, 0, 2, 1001), (1, 0, 4, 501)];
    let ends = |messages: &[MessageSpec], uplinks| {
        let ended = finishes(8, messages, &machine(2, 8, [uplinks, None]));
        messages
            .iter()
            .map(|(_, _, to, _)| ended[*to as usize])
            .collect::<Vec<_>>()
    };
    let free = vec![ONE_WAY + 1000, ONE_WAY + 500];
    assert_eq!(ends(&apart, None), free);
    assert_eq!(ends(&apart, Some(2)), free);
    assert_eq!(ends(&apart, Some(1)), [free[0], free[1] + 1000]);
    // First come, first served; both to one switch wait upwards only.
    let later = [(0, 30, 2, 1001), (1, 0, 3, 501)];
    assert_eq!(ends(&later, Some(1)), [30 + free[0] + 470, free[1]]);
    // From two switches to two nodes of a third.
    let together = [(0, 0, 4, 1001), (2, 1, 5, 501)];
    assert_eq!(ends(&together, Some(1)), [free[0], 1 + free[1] + 999]);
    assert_eq!(ends(&together, Some(2)), [free[0], 1 + free[1]]);
    // Within a switch no link is shared.
    let inside = [(0, 0, 1, 1001), (1, 0, 0, 1001)];
    let free = finishes(8, &inside, &machine(2, 8, [None, None]));
    assert_eq!(finishes(8, &inside, &machine(2, 8, [Some(1), None])), free);
}

#[test]
fn processes_of_oversubscribed_nodes_share_links() {
    let messages = [(0, 0, 4, 1001), (2, 0, 6, 501)];
    let times = |uplinks| {
        let machine = Machine {
            nodes: Some(4),
            ..machine(2, 4, [uplinks, None])
        };
        let ended = finishes(8, &messages, &machine);
        [ended[4], ended[6]]
    };
    assert_eq!(times(Some(2)), [ONE_WAY + 1000, ONE_WAY + 500]);
    assert_eq!(times(Some(1)), [ONE_WAY + 1000, ONE_WAY + 500 + 1000]);
}

#[test]
fn a_message_between_groups_passes_four_links() {
    let messages = [(0, 0, 8, 1001), (1, 0, 10, 1001), (12, 500, 9, 101)];
    let free = ONE_WAY + 1000;
    let times = |uplinks| {
        let ended = finishes(16, &messages, &machine(2, 4, uplinks));
        [8, 10, 9].map(|to| ended[to])
    };
    assert_eq!(times([None, None]), [free, free, 500 + ONE_WAY + 100]);
    // The second waits upwards, from 0 to 1000. The third waits for the first downwards from 500 on, so that it is before the second,
    // which comes there at 1000.
    let third = 500 + 500 + ONE_WAY + 100;
    assert_eq!(times([Some(1), Some(1)]), [free, free + 1000 + 100, third]);
    // They are for two switches of one group: if only groups share, the second waits at its own group, else at its own
    // switch.
    assert_eq!(times([None, Some(1)]), [free, free + 1000 + 100, third]);
    assert_eq!(times([Some(1), None]), [free, free + 1000, third]);
}

#[test]
fn a_request_to_send_overtakes_no_message() {
    // The second message of rank 1 uses rendezvous: its request, its data and the answers wait for their turn,
    // too.
    let messages = [(0, 0, 2, 40_001), (1, 0, 4, 1001), (1, 0, 4, 60_001)];
    let ended = finishes(6, &messages, &machine(2, 6, [Some(1), None]));
    let first = 40_000 + ONE_WAY + 1000;
    let request_ns = 41_000 + 100 + 1000;
    // It is taken when the processor has taken the message before it, and answered by o.
    let answer_ns = first.max(request_ns) + 100;
    let data_ns = answer_ns + 1100;
    assert_eq!(ended[4], data_ns + ONE_WAY + 60_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Each process of a switch sends one eager message and gets one: with a link for each of them none waits.
    #[test]
    fn as_many_links_as_nodes_delay_no_permutation(
        (to, work, bytes) in (2..4_u32).prop_flat_map(|switches| {
            let n = 4 * switches as usize;
            let to: Vec<u32> = (0..n as u32).collect();
            let work = prop::collection::vec(0..3000_u64, n);
            (Just(to).prop_shuffle(), work, prop::collection::vec(1..5000_u64, n))
        }),
        n_uplinks in 1..5_u32,
    ) {
        let n = to.len() as u32;
        let messages: Vec<MessageSpec> = (0..n).map(|i| (i, work[i as usize], to[i as usize], bytes[i as usize])).collect();
        let free = finishes(n, &messages, &machine(4, 4 * n, [None, None]));
        prop_assert_eq!(&finishes(n, &messages, &machine(4, 4 * n, [Some(4), None])), &free);
        // Fewer links make no rank that gets one message earlier.
        let shared = finishes(n, &messages, &machine(4, 4 * n, [Some(n_uplinks), None]));
        prop_assert!(shared.iter().zip(&free).all(|(shared, free)| shared >= free));
    }

    /// Each of the sending processes sends to one of the receiving processes.
    #[test]
    fn more_links_make_equal_messages_no_later(
        to in Just((0..8_u32).collect::<Vec<_>>()).prop_shuffle(),
        work in prop::collection::vec(0..6000_u64, 8),
        bytes in 1..4000_u64,
    ) {
        let pairs = to.into_iter().zip(work).zip(8..);
        let messages: Vec<MessageSpec> = pairs.map(|((to, ns), from)| (from, ns, to, bytes)).collect();
        let last = |uplinks| finishes(16, &messages, &machine(4, 16, [uplinks, None])).into_iter().max();
        let times = [Some(1), Some(2), Some(3), None].map(last);
        prop_assert!(times.is_sorted_by(|fewer, more| fewer >= more), "{times:?}");
        // One link carries all messages of the four nodes of a switch.
        prop_assert!(times[0] >= Some(4 * (bytes - 1) + ONE_WAY), "{times:?}");
    }
}
