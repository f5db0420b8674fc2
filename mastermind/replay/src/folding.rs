//! Repeated calls of a rank as loops, and the calls of all ranks as one list.
//!
//! # From a trace to a program
//!
//! A trace of a loop is its body, over and over. `folded` finds these repetitions: for each period,
//! the shortest first, it compares every node with the one a period later; a whole body of equal
//! nodes is a round. A fold makes the list shorter and may make longer repetitions visible (loops
//! of loops), so it is repeated until nothing changes. Nodes are compared by numbers of their
//! shapes, so a loop of any size is compared in one step.
//!
//! ```text
//! A B B B C A B B B C        period 1:  A 3(B) C A 3(B) C
//!                            period 3:  2(A 3(B) C)
//! ```
//!
//! Sums are kept in folded nodes: rounds, bytes and computation of all rounds. Then the lists of
//! all ranks are merged into one, rank by rank, by a shortest common supersequence (`aligned`), so
//! that calls that only some ranks make get a place of their own.
//!
//! ```text
//! rank 0:  send     recv  barrier        places:  send | isend | recv | barrier
//! rank 1:     isend recv  barrier                  0       1      0 1     0 1
//! ```
//!
//! Folding must treat all ranks alike, or a loop of one rank would not match that of another:
//! `number_columns` makes calls differ on every rank where they differ on one.

use std::collections::HashMap;

use mastermind_programs::CollectiveKind;

/// Longest body of a loop, in its folded form.
const MAX_PERIOD: usize = 1000;

/// Largest table of the alignment of two ranks.
const MAX_TABLE: usize = 1 << 24;

/// Action of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Send {
        waits: bool,
    },
    Receive {
        waits: bool,
    },
    /// Receives one message, sends one, and waits for both.
    Exchange,
    Collective(CollectiveKind),
    /// Waits for the next receive to be complete.
    WaitAny,
    Wait,
    /// The end of the program.
    End,
}

/// The other side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Peer {
    Nobody,
    Any,
    Rank(u32),
}

/// Key of a call; calls with different keys are not rounds of one loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) kind: Kind,
    /// Destination of its send, or the root.
    pub(super) to: Peer,
    /// Source of its receive.
    pub(super) from: Peer,
    /// Group of a collective.
    pub(super) group: u32,
    /// Index among the different calls of all ranks, if these call the same functions; else 0.
    pub(super) column: u32,
}

/// Calls of one place in the program: sums over its rounds.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) key: Key,
    /// Numbers of the tags of its send and its receive; `None` if they differ from round to round.
    pub(super) tags: Option<[u32; 2]>,
    /// Rounds.
    pub(super) n: u64,
    pub(super) bytes: u64,
    /// Computation before it, nanoseconds.
    pub(super) compute_ns: u64,
    /// Whether all rounds moved as much.
    pub(super) is_constant: bool,
    /// Calls of other roles are other places in the program.
    pub(super) role: u32,
}

/// A call, or a loop: a number of rounds and a body, whose calls hold the sums over all rounds.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Call(Call),
    Loop(u64, Vec<Node>),
}

impl Node {
    fn is_message(&self) -> bool {
        matches!(self, Self::Call(call) if matches!(call.key.kind, Kind::Send { .. } | Kind::Receive { .. } | Kind::Exchange))
    }

    /// Whether it is a message to nobody, or a wait.
    fn is_idle(&self) -> bool {
        match self {
            Self::Call(Call { key, .. }) if self.is_message() => {
                key.to == Peer::Nobody && key.from == Peer::Nobody
            }
            Self::Call(call) => matches!(call.key.kind, Kind::Wait | Kind::WaitAny),
            Self::Loop(..) => false,
        }
    }

    /// Calls in it.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Call(_) => 1,
            Self::Loop(_, body) => body.iter().map(Self::len).sum(),
        }
    }

    /// Adds the rounds of a node of the same shape.
    fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::Call(call), Self::Call(other)) => {
                let product = |bytes: u64, n: u64| u128::from(bytes) * u128::from(n);
                // Equal means of the rounds, compared without a division.
                let is_same = product(call.bytes, other.n) == product(other.bytes, call.n);
                call.is_constant &= other.is_constant && is_same;
                call.tags = call.tags.filter(|tags| Some(*tags) == other.tags);
                call.n += other.n;
                call.bytes = call.bytes.saturating_add(other.bytes);
                call.compute_ns = call.compute_ns.saturating_add(other.compute_ns);
            }
            (Self::Loop(_, body), Self::Loop(_, other)) => {
                body.iter_mut()
                    .zip(other)
                    .for_each(|(node, other)| node.add(other));
            }
            _ => {}
        }
    }
}

/// Makes all ranks fold equally if they call the same functions: a difference in any rank is a
/// difference in all.
///
/// # Arguments
/// * `ranks` - the calls of each, shape `[n_ranks][n_calls]`
pub(super) fn number_columns(ranks: &mut [Vec<Call>], is_exact: bool) {
    let kinds = |calls: &Vec<Call>| calls.iter().map(|call| call.key.kind).collect::<Vec<_>>();
    let mut all = ranks.iter().map(kinds);
    let first = all.next().unwrap_or_default();
    if !all.all(|kinds| kinds == first) {
        return;
    }
    let mut numbers = HashMap::new();
    for at in 0..first.len() {
        let identity = |calls: &Vec<Call>| {
            let call = &calls[at];
            (call.key, is_exact.then_some((call.bytes, call.tags)))
        };
        let column: Vec<_> = ranks.iter().map(identity).collect();
        let next = numbers.len() as u32;
        let number = *numbers.entry(column).or_insert(next);
        ranks
            .iter_mut()
            .for_each(|calls| calls[at].key.column = number);
    }
}

/// Key of a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Shape {
    /// A call, and its size and tags where those count.
    Call(Key, Option<(u64, Option<[u32; 2]>)>),
    Loop(u64, Vec<u32>),
}

/// Numbers of shapes.
#[derive(Default)]
struct Shapes(HashMap<Shape, u32>);

impl Shapes {
    fn number(&mut self, shape: Shape) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(shape).or_insert(next)
    }
}

/// Repetitions that are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repeats {
    /// Whether calls of other sizes and tags are other calls.
    pub(super) is_exact: bool,
    /// Whether consecutive messages may be rounds of one loop; on two ranks two neighbours are one rank, on more ranks
    /// not.
    pub(super) of_single_messages: bool,
}

/// Makes loops of repetitions, those with the shortest bodies first.
pub(super) fn folded(calls: Vec<Call>, repeats: Repeats) -> Vec<Node> {
    let is_exact = repeats.is_exact;
    let mut shapes = Shapes::default();
    let mut nodes: Vec<(u32, Node)> = calls
        .into_iter()
        .map(|call| {
            let size_and_tags = is_exact.then_some((call.bytes, call.tags));
            (
                shapes.number(Shape::Call(call.key, size_and_tags)),
                Node::Call(call),
            )
        })
        .collect();
    loop {
        let before = nodes.len();
        // The shortest period first: the body of an inner loop must be one node before the outer
        // loop can be found.
        for period in 1..=MAX_PERIOD.min(nodes.len() / 2) {
            if 2 * period <= nodes.len() {
                nodes = fold(nodes, period, repeats, &mut shapes);
            }
        }
        if nodes.len() == before {
            return nodes.into_iter().map(|(_, node)| node).collect();
        }
    }
}

/// Makes loops of all repetitions with one period.
fn fold(
    nodes: Vec<(u32, Node)>,
    period: usize,
    repeats: Repeats,
    shapes: &mut Shapes,
) -> Vec<(u32, Node)> {
    // Messages to nobody, or to one rank, are those to different neighbours on more ranks.
    let is_left_out = |at: usize| {
        let body = &nodes[at..at + period];
        !repeats.of_single_messages
            && (body[0].1.is_message() && body.iter().all(|node| node.0 == body[0].0)
                || body.iter().any(|node| node.1.is_message())
                    && body.iter().all(|node| node.1.is_idle()))
    };
    let numbers: Vec<u32> = nodes.iter().map(|(number, _)| *number).collect();
    // How many nodes from here on are the same as those a period later.
    // From the back, so that each entry needs only the next one.
    let mut same = vec![0; numbers.len() + 1];
    for i in (0..numbers.len() - period).rev() {
        same[i] = if numbers[i] == numbers[i + period] {
            same[i + 1] + 1
        } else {
            0
        };
    }
    if same.iter().all(|same| *same < period) {
        return nodes;
    }
    let left_out: Vec<bool> = (0..nodes.len())
        .map(|at| same[at] >= period && is_left_out(at))
        .collect();
    let mut folded = Vec::with_capacity(nodes.len());
    let mut left = nodes.into_iter();
    let mut at = 0;
    while at < numbers.len() {
        let rounds = 1 + same[at] / period;
        if rounds == 1 || left_out[at] {
            folded.extend(left.next());
            at += 1;
            continue;
        }
        let mut body: Vec<Node> = left.by_ref().take(period).map(|(_, node)| node).collect();
        for _ in 1..rounds {
            for (node, (_, other)) in body.iter_mut().zip(left.by_ref()) {
                node.add(&other);
            }
        }
        // Loops are equal if their rounds and bodies are; a number stands for the whole.
        let shape = Shape::Loop(rounds as u64, numbers[at..at + period].to_vec());
        folded.push((shapes.number(shape), Node::Loop(rounds as u64, body)));
        at += rounds * period;
    }
    folded
}

/// A place in the program that all ranks share, with the action of each of them there.
#[derive(Debug, Clone)]
pub(super) enum SharedNode {
    /// By point; `None` for a point without the call.
    Call(Kind, Vec<Option<Call>>),
    /// Rounds by point; `None` for a point without the loop.
    Loop(Vec<Option<u64>>, Vec<SharedNode>),
    /// Computation by point, nanoseconds, and its rounds; `None` for points without.
    Compute(Vec<Option<(u64, u64)>>),
}

/// Which loops of two ranks may be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loops {
    /// Loops with the same number of rounds.
    OfSameRounds,
    /// Loops with the same number of rounds, and loops of the same calls.
    OfSameCalls,
}

impl SharedNode {
    fn is_alike(&self, node: &Node, loops: Loops) -> bool {
        match (self, node) {
            (Self::Call(kind, calls), Node::Call(call)) => {
                let role = calls.iter().flatten().next().map(|call| call.role);
                *kind == call.key.kind && role.is_none_or(|role| role == call.role)
            }
            (Self::Loop(rounds, body), Node::Loop(other, nodes)) => {
                rounds.iter().flatten().any(|rounds| rounds == other)
                    || loops == Loops::OfSameCalls
                        && body.len() == nodes.len()
                        && body
                            .iter()
                            .zip(nodes)
                            .all(|(place, node)| place.is_alike(node, loops))
            }
            _ => false,
        }
    }

    /// Of one point alone.
    fn of(node: Node, point: usize, points: usize) -> Self {
        match node {
            Node::Call(call) => {
                let mut calls = vec![None; points];
                let kind = call.key.kind;
                calls[point] = Some(call);
                Self::Call(kind, calls)
            }
            Node::Loop(rounds, body) => {
                let mut of_points = vec![None; points];
                of_points[point] = Some(rounds);
                let body = body.into_iter().map(|node| Self::of(node, point, points));
                Self::Loop(of_points, body.collect())
            }
        }
    }

    fn join(&mut self, node: Node, point: usize, loops: Loops) {
        match (self, node) {
            (Self::Call(_, calls), Node::Call(call)) => calls[point] = Some(call),
            (Self::Loop(of_points, places), Node::Loop(rounds, body)) => {
                of_points[point] = Some(rounds);
                let points = of_points.len();
                *places = aligned(std::mem::take(places), body, (point, points), loops);
            }
            _ => {}
        }
    }
}

impl Node {
    /// The first rounds of a loop and the others, each with its share of the sums over the rounds.
    fn split(&self, rounds: u64, of: u64) -> Self {
        let share = |value: u64| (u128::from(value) * u128::from(rounds) / u128::from(of)) as u64;
        match self {
            Self::Call(call) => Self::Call(Call {
                n: share(call.n),
                bytes: share(call.bytes),
                compute_ns: share(call.compute_ns),
                ..call.clone()
            }),
            Self::Loop(n, body) => {
                Self::Loop(*n, body.iter().map(|node| node.split(rounds, of)).collect())
            }
        }
    }

    /// The function and role of each call in it.
    fn steps(nodes: &[Self], into: &mut Vec<(Kind, u32)>) {
        for node in nodes {
            match node {
                Self::Call(call) => into.push((call.key.kind, call.role)),
                Self::Loop(_, body) => Self::steps(body, into),
            }
        }
    }
}

impl SharedNode {
    fn steps(places: &[Self], into: &mut Vec<(Kind, u32)>) {
        for place in places {
            match place {
                Self::Call(kind, calls) => {
                    let role = calls.iter().flatten().next().map_or(0, |call| call.role);
                    into.push((*kind, role));
                }
                Self::Loop(_, body) => Self::steps(body, into),
                Self::Compute(_) => {}
            }
        }
    }
}

/// Loops of a rank that correspond to several consecutive loops of others, as when these differ by partners that it
/// does not have: each becomes as many loops.
fn split_as(places: &[SharedNode], nodes: Vec<Node>) -> Vec<Node> {
    let loops = places.iter().filter_map(|place| match place {
        SharedNode::Loop(rounds, body) => {
            let mut steps = Vec::new();
            SharedNode::steps(body, &mut steps);
            Some((rounds.iter().flatten().copied().max()?, steps))
        }
        _ => None,
    });
    let loops: Vec<(u64, Vec<(Kind, u32)>)> = loops.collect();
    let mut all = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Node::Loop(rounds, body) = &node else {
            all.push(node);
            continue;
        };
        let mut steps = Vec::new();
        Node::steps(body, &mut steps);
        let covers = |of: &Vec<(Kind, u32)>| {
            let mut of = of.iter();
            steps.iter().all(|step| of.any(|one| one == step))
        };
        let covering: Vec<u64> = loops
            .iter()
            .filter(|(_, steps)| covers(steps))
            .map(|(rounds, _)| *rounds)
            .collect();
        // Several loops in a row whose rounds add up to those of this one.
        let parts = match covering.contains(rounds) {
            true => None,
            false => (0..covering.len()).find_map(|first| {
                let mut sum = 0;
                let last = covering[first..].iter().position(|part| {
                    sum += part;
                    sum >= *rounds
                })?;
                (sum == *rounds && last > 0).then(|| covering[first..=first + last].to_vec())
            }),
        };
        match parts {
            None => all.push(node),
            Some(parts) => all.extend(parts.into_iter().map(|part| {
                let body = body.iter().map(|one| one.split(part, *rounds));
                Node::Loop(part, body.collect())
            })),
        }
    }
    all
}

/// One list of places that contains the order of each point, a rank of a run: a shortest common supersequence, point by
/// point.
///
/// # Arguments
/// * `nodes` - of a point that `places` do not have yet, and number of points in all
pub(super) fn aligned(
    places: Vec<SharedNode>,
    nodes: Vec<Node>,
    (point, points): (usize, usize),
    loops: Loops,
) -> Vec<SharedNode> {
    let nodes = match loops {
        Loops::OfSameRounds => nodes,
        Loops::OfSameCalls => split_as(&places, nodes),
    };
    let (n, m) = (places.len(), nodes.len());
    // The table is quadratic; a bound of 16 million entries keeps it at 64 MB.
    let is_too_large = (n + 1) * (m + 1) > MAX_TABLE;
    // Longest common subsequence from each pair on; beyond the bound only adjacent equal nodes are matched.
    let mut longest = vec![0_u32; if is_too_large { 0 } else { (n + 1) * (m + 1) }];
    if !is_too_large {
        for i in (0..n).rev() {
            for j in (0..m).rev() {
                longest[i * (m + 1) + j] = if places[i].is_alike(&nodes[j], loops) {
                    1 + longest[(i + 1) * (m + 1) + j + 1]
                } else {
                    longest[(i + 1) * (m + 1) + j].max(longest[i * (m + 1) + j + 1])
                };
            }
        }
    }
    let from = |i: usize, j: usize| longest.get(i * (m + 1) + j).copied().unwrap_or(0);
    let mut merged = Vec::with_capacity(n.max(m));
    let (mut i, mut j) = (0, 0);
    let mut nodes = nodes.into_iter().peekable();
    let mut places = places.into_iter().peekable();
    loop {
        match (places.peek(), nodes.peek()) {
            (Some(place), Some(node)) if place.is_alike(node, loops) => {
                let (Some(mut place), Some(node)) = (places.next(), nodes.next()) else {
                    break;
                };
                place.join(node, point, loops);
                merged.push(place);
                (i, j) = (i + 1, j + 1);
            }
            // Where both orders are as good, places of earlier ranks come first.
            (Some(_), Some(_)) if from(i + 1, j) >= from(i, j + 1) => {
                merged.extend(places.next());
                i += 1;
            }
            (_, Some(_)) => {
                merged.extend(nodes.next().map(|node| SharedNode::of(node, point, points)));
                j += 1;
            }
            (Some(_), None) => merged.extend(places.next()),
            (None, None) => break,
        }
    }
    merged
}
