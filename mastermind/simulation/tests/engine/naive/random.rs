//! Random programs: what every process does, as the text of a model.

use std::fmt::Write as _;

use proptest::prelude::*;

/// What every process does.
#[derive(Debug, Clone)]
pub enum Round {
    Work {
        factor: u64,
        modulus: u64,
        even: bool,
    },
    /// A message to the process `shift` further, one from as far back.
    Shift { shift: u32, bytes: u64, times: u32 },
    /// Even ranks send to the next, and wait until it is taken.
    Pairs { bytes: u64 },
    /// All send to the first, which takes them in no order.
    Gather { bytes: u64 },
    Collective {
        kind: &'static str,
        root: u32,
        bytes: u64,
    },
    /// Threads that work, `locked` of it in a critical section.
    Region {
        threads: u32,
        factor: u64,
        modulus: u64,
        locked: u64,
    },
}

/// The text of a model.
pub fn model(rounds: &[Round]) -> String {
    let mut text =
        String::from("[model]\nname = \"m\"\nmain = \"Main\"\n[activities.Main]\nflow = [\n");
    for (k, round) in rounds.iter().enumerate() {
        let _ = match round {
            Round::Work {
                factor,
                modulus,
                even,
            } => {
                let guard = if *even { "process % 2 == 0" } else { "true" };
                writeln!(
                    text,
                    r#"{{ decision = "{k}", branches = [
                        {{ guard = "{guard}", body = [{{ action = "work {k}", cost = "ns((process * {factor}) % {modulus})" }}] }},
                        {{ body = [] }},
                    ] }},"#
                )
            }
            Round::Shift {
                shift,
                bytes,
                times,
            } => writeln!(
                text,
                r#"{{ loop = "{k}", count = {times}, variable = "i", body = [
                    {{ action = "a", cost = "ns(process * 17 + i)" }},
                    {{ irecv = "b", from = "(process - {shift}) % processes", tag = "i" }},
                    {{ isend = "c", to = "(process + {shift}) % processes", bytes = {bytes}, tag = "i" }},
                    {{ wait = "w" }},
                    {{ send = "on", to = "(process + {shift}) % processes", bytes = 8, tag = {k} }},
                    {{ recv = "back", from = "(process - {shift}) % processes", tag = {k} }},
                ] }},"#
            ),
            Round::Pairs { bytes } => writeln!(
                text,
                r#"{{ send = "p{k}", to = "process % 2 == 0 && process + 1 < processes ? process + 1 : none", bytes = {bytes} }},
                   {{ recv = "q{k}", from = "process % 2 == 1 ? process - 1 : none" }},"#
            ),
            Round::Gather { bytes } => writeln!(
                text,
                r#"{{ send = "g{k}", to = "process == 0 ? none : 0", bytes = {bytes}, tag = {} }},
                   {{ loop = "{k}", count = "process == 0 ? processes - 1 : 0", body = [{{ recv = "h", from = "any", tag = {} }}] }},"#,
                100 + k,
                100 + k
            ),
            Round::Collective {
                kind: "barrier", ..
            } => writeln!(text, r#"{{ barrier = "{k}" }},"#),
            Round::Collective { kind, root, bytes } => {
                let root = match *kind {
                    "broadcast" | "reduce" => format!("root = {root}, "),
                    _ => String::new(),
                };
                writeln!(text, r#"{{ {kind} = "{k}", {root}bytes = {bytes} }},"#)
            }
            Round::Region {
                threads,
                factor,
                modulus,
                locked,
            } => writeln!(
                text,
                r#"{{ parallel = "{k}", threads = {threads}, body = [
                    {{ action = "own", cost = "ns((thread * {factor} + process * 13) % {modulus})" }},
                    {{ critical = "c", body = [{{ action = "locked", cost = "ns({locked} + thread)" }}] }},
                    {{ action = "rest", cost = "ns(thread * 100)" }},
                ] }},"#
            ),
        };
    }
    text + "]\n"
}

fn bytes() -> impl Strategy<Value = u64> {
    // Above 5000 messages ask first.
    prop_oneof![1..5000_u64, 5001..20_000_u64]
}

/// Any of them.
pub fn round() -> impl Strategy<Value = Round> {
    let work = (0..9000_u64, 1..40_000_u64, any::<bool>());
    let shift = (1..9_u32, bytes(), 1..4_u32);
    let kind = prop_oneof![
        Just("broadcast"),
        Just("reduce"),
        Just("allreduce"),
        Just("alltoall"),
        Just("barrier")
    ];
    let region = (1..6_u32, 1..9000_u64, 1..5000_u64, 0..3000_u64);
    prop_oneof![
        3 => work.prop_map(|(factor, modulus, even)| Round::Work { factor, modulus, even }),
        3 => shift.prop_map(|(shift, bytes, times)| Round::Shift { shift, bytes, times }),
        1 => bytes().prop_map(|bytes| Round::Pairs { bytes }),
        1 => bytes().prop_map(|bytes| Round::Gather { bytes }),
        2 => (kind, 0..6_u32, bytes())
            .prop_map(|(kind, root, bytes)| Round::Collective { kind, root, bytes }),
        1 => region.prop_map(|(threads, factor, modulus, locked)| Round::Region {
            threads,
            factor,
            modulus,
            locked,
        }),
    ]
}
