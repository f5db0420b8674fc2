//! Random programs: the operations of every process, as the text of a model.

use std::fmt::Write as _;

use proptest::prelude::*;

/// Operations of every process.
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
    /// All send requests to the first, which answers each sender.
    Answers { bytes: u64, answer: u64 },
    /// Messages of those before, that are taken as they come, and answered.
    Any {
        messages: u32,
        bytes: u64,
        work: u64,
        /// Whether the receives are from any.
        is_from_any: bool,
    },
    Collective {
        kind: &'static str,
        root: u32,
        bytes: u64,
        group: Option<Grid>,
    },
    /// Threads that work, `locked` of it in a critical section.
    Region {
        threads: u32,
        factor: u64,
        modulus: u64,
        locked: u64,
    },
}

/// Groups of processes: the rows, or the columns, of a grid of this width.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    pub width: u32,
    /// Whether the groups are the columns.
    pub is_column: bool,
}

impl Grid {
    /// The group of a process as expressions: first rank, size and stride.
    fn words(self) -> [String; 3] {
        let Self { width, is_column } = self;
        if is_column {
            let first = format!("process % {width}");
            let size = format!("ceil((processes - {first}) / {width})");
            [first, size, width.to_string()]
        } else {
            let first = format!("process - process % {width}");
            let size = format!("min({width}, processes - ({first}))");
            [first, size, "1".into()]
        }
    }
}

fn collective(k: usize, kind: &str, root: u32, bytes: u64, group: Option<Grid>) -> String {
    let mut words = vec![format!(r#"{kind} = "{k}""#)];
    let mut last = "processes - 1".to_owned();
    if let Some(group) = group {
        let [first, size, stride] = group.words();
        words.push(format!(
            r#"group_first = "{first}", group_size = "{size}", group_stride = "{stride}""#
        ));
        last = format!("{size} - 1");
    }
    if matches!(kind, "broadcast" | "reduce" | "gather" | "scatter") {
        words.push(format!(r#"root = "min({root}, {last})""#));
    }
    if kind != "barrier" {
        words.push(format!("bytes = {bytes}"));
    }
    format!("{{ {} }},\n", words.join(", "))
}

/// The text of a model.
pub fn model(rounds: &[Round]) -> String {
    let mut text = String::from(
        "[model]\nname = \"m\"\nmain = \"Main\"\n[globals]\nwho = 0\n[activities.Main]\nflow = [\n",
    );
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
            Round::Answers { bytes, answer } => writeln!(
                text,
                r#"{{ send = "ask {k}", to = "process == 0 ? none : 0", bytes = {bytes}, tag = {asked} }},
                   {{ loop = "{k}", count = "process == 0 ? processes - 1 : 0", body = [
                       {{ recv = "asked", from = "any", tag = {asked}, sender = "who" }},
                       {{ send = "answer", to = "who", bytes = {answer}, tag = {back} }},
                   ] }},
                   {{ recv = "answered {k}", from = "process == 0 ? none : 0", tag = {back} }},"#,
                asked = 200 + k,
                back = 300 + k
            ),
            Round::Any {
                messages,
                bytes,
                work,
                is_from_any,
            } => writeln!(
                text,
                r#"{{ loop = "begin {k}", count = {messages}, variable = "i", body = [{{ irecv = "b", from = "{from}", tag = {tag} }}] }},
                   {{ loop = "send {k}", count = {messages}, variable = "i", body = [
                       {{ isend = "c", to = "(process + i + 1) % processes", bytes = "{bytes} + i", tag = {tag} }},
                   ] }},
                   {{ loop = "take {k}", count = {messages}, body = [
                       {{ waitany = "next", sender = "who" }},
                       {{ action = "handle", cost = "ns({work})" }},
                       {{ send = "back", to = "who", bytes = 8, tag = {back} }},
                   ] }},
                   {{ waitany = "none left {k}" }},
                   {{ wait = "rest {k}" }},
                   {{ loop = "take back {k}", count = {messages}, variable = "i", body = [
                       {{ recv = "d", from = "(process + i + 1) % processes", tag = {back} }},
                   ] }},"#,
                from = if *is_from_any {
                    "any"
                } else {
                    "(process - i - 1) % processes"
                },
                tag = 400 + k,
                back = 500 + k
            ),
            Round::Collective {
                kind,
                root,
                bytes,
                group,
            } => write!(text, "{}", collective(k, kind, *root, *bytes, *group)),
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
        Just("barrier"),
        Just("gather"),
        Just("scatter"),
        Just("allgather"),
        Just("reducescatter"),
        Just("scan"),
    ];
    let grid = (1..6_u32, any::<bool>()).prop_map(|(width, is_column)| Grid { width, is_column });
    let group = prop::option::of(grid);
    let region = (1..6_u32, 1..9000_u64, 1..5000_u64, 0..3000_u64);
    prop_oneof![
        3 => work.prop_map(|(factor, modulus, even)| Round::Work { factor, modulus, even }),
        3 => shift.prop_map(|(shift, bytes, times)| Round::Shift { shift, bytes, times }),
        1 => bytes().prop_map(|bytes| Round::Pairs { bytes }),
        1 => bytes().prop_map(|bytes| Round::Gather { bytes }),
        1 => (bytes(), bytes()).prop_map(|(bytes, answer)| Round::Answers { bytes, answer }),
        2 => (1..6_u32, bytes(), 0..20_000_u64, any::<bool>()).prop_map(
            |(messages, bytes, work, is_from_any)| Round::Any { messages, bytes, work, is_from_any },
        ),
        4 => (kind, 0..6_u32, bytes(), group)
            .prop_map(|(kind, root, bytes, group)| Round::Collective { kind, root, bytes, group }),
        1 => region.prop_map(|(threads, factor, modulus, locked)| Round::Region {
            threads,
            factor,
            modulus,
            locked,
        }),
    ]
}
