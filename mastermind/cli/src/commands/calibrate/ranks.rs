//! The ranks that measure: started, or found.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, anyhow, bail};
use cca_comm::{Launched, MpiKind};
use cca_ports::{CommPort, PortError, RSlice, RSliceMut};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use mastermind_simulation::calibration::MessageTimes;
use serde::{Deserialize, Serialize};

use super::crowd::{self, Crowd};
use super::messages;
use crate::session::back_end;
use crate::session::framework::{COMM, COMM_PORT, Quiet, Session};

/// Maximum number of ranks that are measured while sharing a node's processors.
const LARGEST_CROWD: u32 = 256;

/// Prefix of the line in which the first rank reports its progress, per mille.
const PROGRESS_PREFIX: &str = "far ";

/// What ranks are started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Messages.
    Messages,
    /// Processors with more ranks than one.
    Crowd,
}

/// The part that ranks measure.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// One part; `None` for all that the ranks can measure.
    pub part: Option<Part>,
    /// How often each size of messages.
    pub rounds: u32,
    /// Processors of the first rank's node, if they are known.
    pub processors: Option<u32>,
}

/// The measurements.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The MPI's name.
    pub mpi: String,
    /// Nodes that the ranks were on.
    pub nodes: u32,
    /// Processors of the first rank's node.
    pub processors: u32,
    /// Links in a node and between nodes.
    pub links: [Option<MeasuredLink>; 2],
    /// More ranks than processors.
    pub crowd: Option<Crowd>,
}

/// Messages of a class of links.
#[derive(Debug, Serialize, Deserialize)]
pub struct MeasuredLink {
    /// By size.
    pub times: Vec<MessageTimes>,
    /// Bytes of the largest message that is sent eagerly; `None` if all are.
    pub rendezvous_bytes: Option<u64>,
    /// Whether the bytes of larger messages arrive while their sender does other work.
    pub is_fetched: bool,
}

/// Starts ranks for each part in turn.
///
/// # Errors
/// There is no MPI; the ranks fail.
pub fn start_and_measure(
    ranks: u32,
    mpi: Option<MpiKind>,
    rounds: u32,
) -> anyhow::Result<Measured> {
    let mut measured = start(ranks, mpi, Part::Messages, rounds)?;
    let crowd = (2 * measured.processors).min(LARGEST_CROWD);
    measured.crowd = match &measured.crowd {
        None if crowd > measured.processors => start(crowd, mpi, Part::Crowd, rounds)?.crowd,
        _ => measured.crowd,
    };
    Ok(measured)
}

fn start(ranks: u32, mpi: Option<MpiKind>, part: Part, rounds: u32) -> anyhow::Result<Measured> {
    let act = || anyhow!("cannot calibrate");
    let launched = back_end::launch(ranks as usize, mpi);
    let (kind, mut command) =
        launched.map_err(|error| anyhow!("cannot calibrate with {ranks} ranks: {error}"))?;
    let folder = std::env::temp_dir();
    let path = folder.join(format!("mastermind-calibrate-{}.json", std::process::id()));
    let name = part.to_possible_value();
    command.args(["calibrate", "--mpi", kind.name(), "--rounds"]);
    command.arg(rounds.to_string()).arg("--measured").arg(&path);
    command.arg("--processors").arg(processors().to_string());
    command.arg("--part");
    command.arg(name.map_or_else(String::new, |name| name.get_name().to_owned()));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context(act())?;
    let bar = ProgressBar::new(1000);
    let style = ProgressStyle::with_template("[{elapsed_precise}] {bar:40} {percent}% {msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_message(match part {
        Part::Messages => format!("messages between {ranks} ranks of {kind}"),
        Part::Crowd => format!("turns of {ranks} ranks of {kind}"),
    });
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(per_mille) = line
                .trim()
                .strip_prefix(PROGRESS_PREFIX)
                .and_then(|per_mille| per_mille.parse().ok())
            {
                bar.set_position(per_mille);
            }
        }
    }
    let status = child.wait().context(act())?;
    bar.finish_and_clear();
    let measured = read(&path);
    let _ = std::fs::remove_file(&path);
    match measured {
        Ok(measured) => Ok(measured),
        Err(error) if status.success() => Err(error),
        // The ranks have printed the reason.
        Err(_) => bail!(
            "cannot calibrate: {ranks} ranks of {kind} ended with {status}, expected them to measure"
        ),
    }
}

fn read(path: &Path) -> anyhow::Result<Measured> {
    let act = || format!("cannot read measurements \"{}\"", path.display());
    let text = std::fs::read_to_string(path).with_context(act)?;
    serde_json::from_str(&text).with_context(act)
}

/// Measures as one of the ranks.
///
/// # Returns
/// All measurements on the first rank, none on the others.
///
/// # Errors
/// There is only one rank; errors of the communicator.
pub fn measure(
    launched: &Launched,
    mpi: Option<MpiKind>,
    wanted: &Wanted,
) -> anyhow::Result<Option<Measured>> {
    let session = Session::start(Some(launched), mpi)?;
    if session.size < 2 {
        bail!("cannot calibrate with 1 rank: messages need a receiver, expected at least 2 ranks");
    }
    let measured = session
        .framework
        .with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| measure_on(comm, wanted))?;
    let measured = measured.map_err(anyhow::Error::from);
    // A rank that fails leaves the others waiting.
    let mut measured = match measured {
        Ok(measured) => measured,
        Err(error) => {
            if back_end::is_first_to_report() {
                crate::output::complain!("{}", crate::errors::worded(&session.at_rank(error)));
            }
            session
                .framework
                .with_port::<dyn CommPort, _>(COMM, COMM_PORT, |comm| comm.abort(1))??;
            bail!(Quiet);
        }
    };
    measured.mpi = session.mpi.map_or("no MPI", MpiKind::name).to_owned();
    Ok((session.rank == 0).then_some(measured))
}

fn measure_on(comm: &impl CommPort, wanted: &Wanted) -> Result<Measured, PortError> {
    let Wanted { part, rounds, .. } = *wanted;
    let rank = comm.rank()?;
    let places = places(comm)?;
    let mut nodes = places.clone();
    nodes.sort_unstable();
    nodes.dedup();
    let processors = wanted.processors.unwrap_or_else(processors);
    let mut measured = Measured {
        nodes: nodes.len() as u32,
        processors,
        ..Measured::default()
    };
    let on_progress = |fraction: f64| {
        // Read by the process that started the ranks.
        if rank == 0 && part.is_some() {
            crate::output::line(format!("{PROGRESS_PREFIX}{}", (1000.0 * fraction) as u32));
        }
    };
    if part != Some(Part::Crowd) {
        let first = places.first();
        for (class, is_near) in [true, false].into_iter().enumerate() {
            let others = places.iter().enumerate().skip(1);
            let mut other = others.filter(|(_, place)| (Some(*place) == first) == is_near);
            if let Some((peer, _)) = other.next() {
                let times = messages::measure(comm, peer as i32, rounds, &on_progress)?;
                measured.links[class] = Some(times);
            }
            comm.barrier()?;
        }
    }
    let here = places.iter().filter(|place| Some(*place) == places.first());
    let is_crowded = here.count() as u32 > processors && nodes.len() == 1;
    if part != Some(Part::Messages) && is_crowded {
        measured.crowd = Some(crowd::measure(comm, processors, &on_progress)?);
    }
    Ok(measured)
}

/// The node of each rank, as a number.
fn places(comm: &impl CommPort) -> Result<Vec<u64>, PortError> {
    let system = rustix::system::uname();
    let mine = [f64::from(crc32fast::hash(system.nodename().to_bytes()))];
    let gathered = comm.gather(0, RSlice::from_slice(&mine))?;
    let mut all = vec![0.0; comm.size()? as usize];
    for (place, values) in all.iter_mut().zip(gathered.iter()) {
        *place = values.first().copied().unwrap_or(0.0);
    }
    comm.broadcast(0, RSliceMut::from_mut_slice(&mut all))?;
    Ok(all.into_iter().map(|place| place as u64).collect())
}

/// Processors of this node, or as many as this process is bound to.
fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}
