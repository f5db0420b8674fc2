//! Reads `machine.toml`: from its text to a [`Machine`] whose values are all in bounds.
//!
//! The file (its form is at the head of `machine`) is read into raw tables in which nearly every
//! key may be missing and none may be unknown, so a misspelt key is an error instead of a default.
//! Each value is then checked and completed, from the general to the particular:
//!
//! ```text
//! Link::default()     L = 2500, o = 1500, …     for what no table has
//! [network]           overhead_ns = 900         every link has o = 900
//! [network.intra]     latency_ns = 300          in a node: L = 300, o = 900
//! ```
//!
//! In one table, `send_overhead_ns` and `receive_overhead_ns` go before `overhead_ns`. The bounds
//! hold for everything behind: times are at most an hour, a period of noise is at least twice its
//! length, and a class of links has nodes that it connects.

use serde::Deserialize;

use mastermind_programs::Collectives;

use super::{
    Lengths, Link, MOST_PIECES, Machine, NearLink, Noise, Piece, Pieces, Queue, Rendezvous, Waiting,
};

/// Longest time and greatest time a byte, nanoseconds: an hour.
const LONGEST_NS: f64 = 3.6e12;

/// A machine file that cannot be used: it has another form, a value is out of its bounds, or some
/// values do not go together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// It is no TOML of this form.
    #[error("cannot read machine: no TOML of a machine's form")]
    Toml(#[from] Box<toml::de::Error>),
    /// A number is out of its bounds.
    #[error("cannot use machine parameter \"{parameter}\": {found}, expected {expected}")]
    OutOfBounds {
        /// The parameter.
        parameter: &'static str,
        /// Its value.
        found: f64,
        /// Its bounds.
        expected: &'static str,
    },
    /// Processes that never leave their processor, and no time slices.
    #[error(
        "cannot use machine parameter \"nodes.waiting\": \"spins\" where a processor is kept as long as \
         it is wanted, expected queue = {{ round_robin_ns = … }}"
    )]
    SpinsForEver,
    /// Links of a class without nodes that they connect.
    #[error(
        "cannot use machine parameter \"network.{class}\": no \"nodes.per_{class}\", expected how many nodes a {class} has"
    )]
    NoNodes {
        /// The class.
        class: &'static str,
    },
    /// More pieces than a link may have.
    #[error("cannot use machine parameter \"pieces\": {found} of them, expected at most {most}", most = MOST_PIECES)]
    Pieces {
        /// How many there are.
        found: usize,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    nodes: RawNodes,
    #[serde(default)]
    network: RawNetwork,
    #[serde(default)]
    collectives: RawCollectives,
    noise: Option<RawNoise>,
    /// Measurements of `mastermind machine`: no time of a simulation depends on them.
    #[serde(rename = "processor")]
    _processor: Option<toml::Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNoise {
    every_ns: f64,
    length_ns: f64,
    #[serde(default)]
    lengths: RawLengths,
    #[serde(default)]
    synchronous: bool,
    #[serde(default)]
    seed: u32,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum RawLengths {
    #[default]
    Constant,
    Exponential,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawCollectives {
    #[serde(default)]
    library: RawLibrary,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum RawLibrary {
    #[default]
    Basic,
    Mpich,
    OpenMpi,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawNodes {
    count: Option<f64>,
    processors: Option<f64>,
    per_switch: Option<f64>,
    per_group: Option<f64>,
    queue: Option<RawQueue>,
    waiting: Option<RawWaiting>,
    regroup_turns: Option<f64>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum RawRendezvous {
    Sent,
    Fetched,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum RawWaiting {
    Blocks,
    Yields,
    Spins,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawQueue {
    Fcfs,
    RoundRobinNs(f64),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawNetwork {
    latency_ns: Option<f64>,
    overhead_ns: Option<f64>,
    send_overhead_ns: Option<f64>,
    receive_overhead_ns: Option<f64>,
    gap_ns: Option<f64>,
    gap_per_byte_ns: Option<f64>,
    overhead_per_byte_ns: Option<f64>,
    rendezvous_bytes: Option<f64>,
    rendezvous: Option<RawRendezvous>,
    pieces: Option<Vec<RawPiece>>,
    #[serde(default)]
    intra: RawLink,
    #[serde(default)]
    inter: RawLink,
    switch: Option<RawLink>,
    group: Option<RawLink>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(deny_unknown_fields)]
struct RawLink {
    latency_ns: Option<f64>,
    overhead_ns: Option<f64>,
    send_overhead_ns: Option<f64>,
    receive_overhead_ns: Option<f64>,
    gap_ns: Option<f64>,
    gap_per_byte_ns: Option<f64>,
    overhead_per_byte_ns: Option<f64>,
    rendezvous_bytes: Option<f64>,
    rendezvous: Option<RawRendezvous>,
    pieces: Option<Vec<RawPiece>>,
    uplinks: Option<f64>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(deny_unknown_fields)]
struct RawPiece {
    above_bytes: f64,
    #[serde(default)]
    added_ns: f64,
    gap_per_byte_ns: f64,
}

/// Reads a machine file; missing values are those of [`Machine::default`].
///
/// # Errors
/// [`MachineError`].
pub fn read_machine(text: &str) -> Result<Machine, MachineError> {
    let document: Document = toml::from_str(text).map_err(Box::new)?;
    let RawNodes {
        count,
        processors,
        per_switch,
        per_group,
        queue,
        waiting,
        regroup_turns,
    } = document.nodes;
    let whole = |parameter, value: Option<f64>| match value {
        None => Ok(None),
        Some(x) if x.fract() == 0.0 && (1.0..=1e9).contains(&x) => Ok(Some(x as u32)),
        Some(found) => Err(MachineError::OutOfBounds {
            parameter,
            found,
            expected: "a whole number from 1 to 1e9",
        }),
    };
    let queue = match queue {
        None | Some(RawQueue::Fcfs) => Queue::Fcfs,
        Some(RawQueue::RoundRobinNs(found)) if (1.0..=LONGEST_NS).contains(&found) => {
            let quantum_ns = found.round() as u64;
            Queue::RoundRobin { quantum_ns }
        }
        Some(RawQueue::RoundRobinNs(found)) => {
            return Err(MachineError::OutOfBounds {
                parameter: "round_robin_ns",
                found,
                expected: "1 to 3.6e12",
            });
        }
    };
    let waiting = match waiting {
        None | Some(RawWaiting::Blocks) => Waiting::Blocks,
        Some(RawWaiting::Yields) => Waiting::Yields,
        Some(RawWaiting::Spins) if queue == Queue::Fcfs => return Err(MachineError::SpinsForEver),
        Some(RawWaiting::Spins) => Waiting::Spins,
    };
    let n = &document.network;
    // The values of [network] in the form of a class, to be completed by the defaults.
    let both = RawLink {
        latency_ns: n.latency_ns,
        overhead_ns: n.overhead_ns,
        send_overhead_ns: n.send_overhead_ns,
        receive_overhead_ns: n.receive_overhead_ns,
        gap_ns: n.gap_ns,
        gap_per_byte_ns: n.gap_per_byte_ns,
        overhead_per_byte_ns: n.overhead_per_byte_ns,
        rendezvous_bytes: n.rendezvous_bytes,
        rendezvous: n.rendezvous,
        pieces: n.pieces.clone(),
        uplinks: None,
    };
    let network = link(&both, Link::default())?;
    // Switches and groups are there if their numbers of nodes are; the table of their links may be
    // missing.
    let near = |class, parameter, nodes: Option<u32>, raw: &Option<RawLink>| match (nodes, raw) {
        (None, Some(_)) => Err(MachineError::NoNodes { class }),
        (None, None) => Ok(None),
        (Some(nodes), raw) => {
            let link = raw.as_ref().map_or(Ok(network), |raw| link(raw, network))?;
            let uplinks = whole(parameter, raw.as_ref().and_then(|raw| raw.uplinks))?;
            Ok(Some(NearLink {
                nodes,
                link,
                uplinks,
            }))
        }
    };
    for (parameter, raw) in [
        ("network.intra.uplinks", &n.intra),
        ("network.inter.uplinks", &n.inter),
    ] {
        if let Some(found) = raw.uplinks {
            return Err(MachineError::OutOfBounds {
                parameter,
                found,
                expected: "none, or those of [network.switch] or [network.group]",
            });
        }
    }
    let per_switch = whole("nodes.per_switch", per_switch)?;
    let per_group = whole("nodes.per_group", per_group)?;
    if let (Some(switch), Some(group)) = (per_switch, per_group)
        && group % switch != 0
    {
        return Err(MachineError::OutOfBounds {
            parameter: "nodes.per_group",
            found: f64::from(group),
            expected: "a multiple of nodes.per_switch",
        });
    }
    Ok(Machine {
        nodes: whole("nodes.count", count)?,
        processors: whole("nodes.processors", processors)?.unwrap_or(1),
        queue,
        waiting,
        regroup_turns: match whole("nodes.regroup_turns", regroup_turns)? {
            // A time slice that follows each would never end.
            Some(1) => {
                return Err(MachineError::OutOfBounds {
                    parameter: "nodes.regroup_turns",
                    found: 1.0,
                    expected: "a whole number from 2 to 1e9",
                });
            }
            turns => turns,
        },
        intra: link(&n.intra, network)?,
        switch: near("switch", "network.switch.uplinks", per_switch, &n.switch)?,
        group: near("group", "network.group.uplinks", per_group, &n.group)?,
        inter: link(&n.inter, network)?,
        collectives: match document.collectives.library {
            RawLibrary::Basic => Collectives::Basic,
            RawLibrary::Mpich => Collectives::Mpich,
            RawLibrary::OpenMpi => Collectives::OpenMpi,
        },
        noise: document.noise.as_ref().map(noise).transpose()?,
    })
}

fn noise(raw: &RawNoise) -> Result<Noise, MachineError> {
    let refuse = |parameter, found, expected| {
        Err(MachineError::OutOfBounds {
            parameter,
            found,
            expected,
        })
    };
    let (every_ns, length_ns) = (raw.every_ns.round(), raw.length_ns.round());
    if !(1.0..=LONGEST_NS).contains(&every_ns) {
        return refuse("noise.every_ns", raw.every_ns, "1 to 3.6e12");
    }
    if !(0.0..=every_ns / 2.0).contains(&length_ns) {
        return refuse(
            "noise.length_ns",
            raw.length_ns,
            "0 to half of noise.every_ns",
        );
    }
    Ok(Noise {
        every_ns: every_ns as u64,
        length_ns: length_ns as u64,
        lengths: match raw.lengths {
            RawLengths::Constant => Lengths::Constant,
            RawLengths::Exponential => Lengths::Exponential,
        },
        is_synchronous: raw.synchronous,
        seed: u64::from(raw.seed),
    })
}

/// A link with the values of `raw`, the rest as `base`.
fn link(raw: &RawLink, base: Link) -> Result<Link, MachineError> {
    let number = |parameter, value: Option<f64>, base: f64| match value {
        None => Ok(base),
        Some(x) if (0.0..=LONGEST_NS).contains(&x) => Ok(x),
        Some(found) => Err(MachineError::OutOfBounds {
            parameter,
            found,
            expected: "0 to 3.6e12",
        }),
    };
    let whole = |parameter, value: Option<f64>, base: u64| {
        number(parameter, value, base as f64).map(|x| x.round() as u64)
    };
    let send = raw.send_overhead_ns.or(raw.overhead_ns);
    let receive = raw.receive_overhead_ns.or(raw.overhead_ns);
    Ok(Link {
        latency_ns: whole("latency_ns", raw.latency_ns, base.latency_ns)?,
        send_overhead_ns: whole("send_overhead_ns", send, base.send_overhead_ns)?,
        receive_overhead_ns: whole("receive_overhead_ns", receive, base.receive_overhead_ns)?,
        gap_ns: whole("gap_ns", raw.gap_ns, base.gap_ns)?,
        gap_per_byte_ns: number("gap_per_byte_ns", raw.gap_per_byte_ns, base.gap_per_byte_ns)?,
        overhead_per_byte_ns: number(
            "overhead_per_byte_ns",
            raw.overhead_per_byte_ns,
            base.overhead_per_byte_ns,
        )?,
        rendezvous_bytes: whole(
            "rendezvous_bytes",
            raw.rendezvous_bytes,
            base.rendezvous_bytes,
        )?,
        rendezvous: match raw.rendezvous {
            None => base.rendezvous,
            Some(RawRendezvous::Sent) => Rendezvous::Sent,
            Some(RawRendezvous::Fetched) => Rendezvous::Fetched,
        },
        pieces: raw.pieces.as_deref().map_or(Ok(base.pieces), pieces)?,
    })
}

fn pieces(raw: &[RawPiece]) -> Result<Pieces, MachineError> {
    let within = |parameter, found: f64, least: f64, expected| {
        if (least..=LONGEST_NS).contains(&found) {
            return Ok(found);
        }
        Err(MachineError::OutOfBounds {
            parameter,
            found,
            expected,
        })
    };
    let piece = |raw: &RawPiece| -> Result<Piece, MachineError> {
        Ok(Piece {
            above_bytes: within("above_bytes", raw.above_bytes, 0.0, "0 to 3.6e12")? as u64,
            added_ns: within("added_ns", raw.added_ns, -LONGEST_NS, "-3.6e12 to 3.6e12")?,
            gap_per_byte_ns: within("gap_per_byte_ns", raw.gap_per_byte_ns, 0.0, "0 to 3.6e12")?,
        })
    };
    let list = raw.iter().map(piece).collect::<Result<Vec<_>, _>>()?;
    Pieces::new(&list).ok_or(MachineError::Pieces { found: list.len() })
}
