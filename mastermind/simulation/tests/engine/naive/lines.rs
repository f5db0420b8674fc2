//! Random programs that only block and whose messages go as far as a variable says: sweeps along the ranks, there and
//! back, and round the end.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::interpreter::Step;
use super::rounds::{receive, send};

/// A loop in which every process receives, works and sends.
#[derive(Debug, Clone)]
pub struct Line {
    /// Ranks further that a message goes.
    distance: i64,
    /// Whether it goes round the end; the process that sends first then is each.
    is_ring: bool,
    times: u32,
    bytes: u64,
    /// Whether all work the same time, so that the program determines it.
    is_even: bool,
    factor: u64,
    modulus: u64,
}

impl Line {
    fn work(&self, rank: u32, i: u32) -> u64 {
        if self.is_even {
            return self.modulus;
        }
        (u64::from(rank) * self.factor + u64::from(i) * 131) % self.modulus
    }

    /// The rank so much further than `rank`, if there is one.
    fn further(&self, rank: u32, distance: i64, n: u32) -> Option<u32> {
        let to = i64::from(rank) + distance;
        let to = if self.is_ring {
            to.rem_euclid(i64::from(n))
        } else {
            to
        };
        u32::try_from(to).ok().filter(|to| *to < n)
    }
}

/// Any of them.
pub fn line() -> impl Strategy<Value = Line> {
    let distance = prop_oneof![Just(-3), Just(-2), Just(-1), Just(1), Just(2)];
    let work = (0..9000_u64, prop_oneof![1..3000_u64, 1..90_000_u64]);
    let kind = (any::<bool>(), any::<bool>());
    (distance, kind, 1..5_u32, 1..5000_u64, work).prop_map(
        |(distance, (is_ring, is_even), times, bytes, (factor, modulus))| Line {
            distance,
            is_ring,
            is_even,
            times,
            bytes,
            factor,
            modulus,
        },
    )
}

/// The text of a model.
pub fn model(lines: &[Line]) -> String {
    let mut text = String::from(
        "[model]\nname = \"m\"\nmain = \"Main\"\n[globals]\nd = 0\nto = \"none\"\nfrom = \"none\"\n[activities.Main]\nflow = [\n",
    );
    for (k, line) in lines.iter().enumerate() {
        let Line {
            distance,
            times,
            bytes,
            factor,
            modulus,
            ..
        } = line;
        let further = |sign: char| {
            let rank = format!("process {sign} d");
            if line.is_ring {
                return format!("({rank}) % processes");
            }
            format!("{rank} >= 0 && {rank} < processes ? {rank} : none")
        };
        let (to, from) = (further('+'), further('-'));
        let time = match line.is_even {
            true => modulus.to_string(),
            false => format!("(process * {factor} + i * 131) % {modulus}"),
        };
        let work = format!(r#"{{ action = "w{k}", cost = "ns({time})" }}"#);
        let send = format!(r#"{{ send = "s{k}", to = "to", bytes = {bytes}, tag = {k} }}"#);
        let receive = format!(r#"{{ recv = "r{k}", from = "from", tag = {k} }}"#);
        let body = if line.is_ring {
            [&send, &work, &receive]
        } else {
            [&receive, &work, &send]
        };
        let _ = writeln!(
            text,
            r#"{{ action = "d{k}", code = "d = {distance}" }},
               {{ action = "t{k}", code = "to = {to}" }}, {{ action = "f{k}", code = "from = {from}" }},
               {{ loop = "{k}", count = {times}, variable = "i", body = [{}, {}, {}] }},"#,
            body[0], body[1], body[2]
        );
    }
    text + "]\n"
}

/// The operations of one process.
pub fn steps(lines: &[Line], rank: u32, n: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for (k, line) in lines.iter().enumerate() {
        let tag = k as i32;
        let sends = line
            .further(rank, line.distance, n)
            .map(|to| send(to, line.bytes, tag));
        let receives = line
            .further(rank, -line.distance, n)
            .map(|from| receive(from, tag));
        for i in 0..line.times {
            let work = Some(Step::Work(line.work(rank, i)));
            let body = if line.is_ring {
                [sends, work, receives]
            } else {
                [receives, work, sends]
            };
            steps.extend(body.into_iter().flatten());
        }
    }
    steps
}
