//! Measured messages to the parameters of a class of links.
//!
//! Lines over ranges of sizes (the regimes of `mastermind-models`) are fitted to the times of messages that go back
//! and forth between two processes, separately for eager messages and for rendezvous. The overheads are the times that
//! the processes themselves spend in a call; the latency is the rest of the time of a small message.
//!
//! Where the receiver fetches large messages (`rendezvous = "fetched"`), as both MPIs do in a node out of the sender's memory, a sender that
//! is at work does not hold a pipeline up: `calibrate` receives one while its sender stays away from MPI.
//!
//! Links are measured through `cca.Comm`, by the binary itself as ranks: a component's time of a message includes the
//! port, the buffer and the wait. A size is sent by rendezvous if its sender still waits after both have gone on
//! exchanging other messages; no time limit decides that.
//!
//! # Source
//! T. Kielmann, H. Bal, K. Verstoep, "Fast Measurement of LogP Parameters for Message Passing Platforms", 2000
//! (the overheads and the gap apart from the round trip, parameters by size); V. Adve et al., "POEMS", 2000,
//! section 4.2 (parameters solved for from round trips, another set for large messages).

use mastermind_models::{Family, Metric, Parameter, SampleSet, Term, fit_family};
use serde::{Deserialize, Serialize};

use crate::machine::{Link, MOST_PIECES, Piece, Pieces};

/// Bytes up to which a message counts as small: its bytes take less than its overheads.
const SMALL_BYTES: u64 = 512;

/// Distinct sizes that a fit needs.
const FEWEST_SIZES: usize = 2;

/// Measurements of messages of one size; each list has one number per round, nanoseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MessageTimes {
    /// Size, bytes.
    pub bytes: u64,
    /// Half the time to the other process and back.
    pub one_way_ns: Vec<f64>,
    /// A call that sends, the receiver waiting.
    pub send_ns: Vec<f64>,
    /// A call that receives a message that has already arrived.
    pub receive_ns: Vec<f64>,
    /// Between one and the next of many sent in a row.
    pub between_ns: Vec<f64>,
}

/// Measurements that no link can be fitted to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// Too few sizes.
    #[error(
        "cannot fit link: {found} sizes of messages that {kind}, expected at least {FEWEST_SIZES}"
    )]
    TooFewSizes {
        /// Protocol of the messages: eager, or rendezvous.
        kind: &'static str,
        /// How many sizes.
        found: usize,
    },
    /// A model of the times failed.
    #[error("cannot fit link: no line through the times of messages that {kind}")]
    NoLine {
        /// Protocol of the messages.
        kind: &'static str,
        /// Why.
        #[source]
        source: mastermind_models::Error,
    },
}

/// A fitted link, and how well it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedLink {
    /// The parameters.
    pub link: Link,
    /// Median over the sizes of how far the link's time of a message is off the measured one, per cent.
    pub median_error_percent: f64,
    /// The most that it is off.
    pub largest_error_percent: f64,
}

/// A line over a range of sizes: `constant + slope (bytes - 1)`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    above_bytes: u64,
    constant_ns: f64,
    slope_ns: f64,
}

/// Fits a link to measured messages.
///
/// # Arguments
/// * `times` - by size, in any order
/// * `rendezvous_bytes` - the largest message that is sent without waiting for its receiver; `None` where all were
///
/// # Errors
/// [`CalibrationError`].
pub fn fit_link(
    times: &[MessageTimes],
    rendezvous_bytes: Option<u64>,
) -> Result<FittedLink, CalibrationError> {
    let mut times: Vec<&MessageTimes> = times.iter().collect();
    times.sort_by_key(|times| times.bytes);
    let largest = times.last().map_or(0, |times| times.bytes);
    let threshold = rendezvous_bytes.unwrap_or(largest);
    let split = times.partition_point(|times| times.bytes <= threshold);
    let (eager, asking) = times.split_at(split);
    let eager_lines = lines(eager, 0, "are sent at once")?;
    let mut link = basis(eager, &eager_lines);
    link.rendezvous_bytes = threshold;
    let [first, later @ ..] = &eager_lines[..] else {
        let (kind, found) = ("are sent at once", 0);
        return Err(CalibrationError::TooFewSizes { kind, found });
    };
    let mut pieces: Vec<Piece> = later
        .iter()
        .map(|line| line.piece(first.constant_ns))
        .collect();
    if !asking.is_empty() {
        let bare = link.one_way_ns(threshold + 1) - link.receive_ns(threshold + 1);
        let bare = (bare + link.receive_overhead_ns) as f64;
        let lines = lines(asking, threshold, "ask first")?;
        pieces.extend(lines.iter().map(|line| line.piece(bare)));
    }
    pieces.truncate(MOST_PIECES);
    link.pieces = Pieces::new(&pieces).unwrap_or_default();
    let mut errors: Vec<f64> = times
        .iter()
        .map(|times| {
            let measured = median(&times.one_way_ns);
            100.0 * (link.one_way_ns(times.bytes) as f64 / measured - 1.0).abs()
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    Ok(FittedLink {
        link,
        median_error_percent: median(&errors),
        largest_error_percent: errors.last().copied().unwrap_or(0.0),
    })
}

/// Parameters from small messages, and the slopes of the first line.
fn basis(eager: &[&MessageTimes], lines: &[Line]) -> Link {
    let small: Vec<_> = eager.iter().filter(|t| t.bytes <= SMALL_BYTES).collect();
    let of_small = |part: fn(&MessageTimes) -> &Vec<f64>| {
        median(
            &small
                .iter()
                .map(|times| median(part(times)))
                .collect::<Vec<_>>(),
        )
    };
    let (constant_ns, slope_ns) = lines
        .first()
        .map_or((0.0, 0.0), |line| (line.constant_ns, line.slope_ns));
    let send_ns = of_small(|times| &times.send_ns).min(constant_ns);
    // A waiting receive has done a part of its work before the message arrives: its overhead is then the rest of the
    // time of a message.
    let receive_ns = of_small(|times| &times.receive_ns).min(constant_ns - send_ns);
    let latency_ns = (constant_ns - send_ns - receive_ns).max(1.0);
    Link {
        latency_ns: latency_ns.round() as u64,
        send_overhead_ns: send_ns.round() as u64,
        receive_overhead_ns: receive_ns.round() as u64,
        gap_ns: of_small(|times| &times.between_ns).round() as u64,
        gap_per_byte_ns: slope_ns,
        overhead_per_byte_ns: send_slope(eager).min(slope_ns),
        ..Link::default()
    }
}

/// Time a byte that a call that sends takes, by the larger half of the sizes.
fn send_slope(eager: &[&MessageTimes]) -> f64 {
    let larger = &eager[eager.len() / 2..];
    let points = larger
        .iter()
        .map(|times| (times.bytes as f64, median(&times.send_ns)));
    middle_slope(&points.collect::<Vec<_>>())
}

/// A line that a few disturbed sizes do not move, nowhere below 0.
fn middle_line(times: &[&MessageTimes], above_bytes: u64) -> Line {
    let of = |times: &&MessageTimes| {
        (
            times.bytes.saturating_sub(1) as f64,
            median(&times.one_way_ns),
        )
    };
    let points: Vec<_> = times.iter().map(of).collect();
    let slope_ns = middle_slope(&points);
    let left = points.iter().map(|(bytes, ns)| ns - slope_ns * bytes);
    Line {
        above_bytes,
        constant_ns: median(&left.collect::<Vec<_>>()).max(0.0),
        slope_ns,
    }
}

/// The median of the slopes between every two points, at least 0 (Theil and Sen's).
fn middle_slope(points: &[(f64, f64)]) -> f64 {
    let slopes: Vec<_> = points
        .iter()
        .enumerate()
        .flat_map(|(at, a)| {
            points[at + 1..]
                .iter()
                .map(move |b| (b.1 - a.1) / (b.0 - a.0))
        })
        .filter(|slope| slope.is_finite())
        .collect();
    median(&slopes).max(0.0)
}

/// Lines over ranges of sizes, above `above_bytes` all.
fn lines(
    times: &[&MessageTimes],
    above_bytes: u64,
    kind: &'static str,
) -> Result<Vec<Line>, CalibrationError> {
    let found = times.len();
    if found < FEWEST_SIZES {
        return Err(CalibrationError::TooFewSizes { kind, found });
    }
    let failed = |source| CalibrationError::NoLine { kind, source };
    let mut set = SampleSet::new(Metric::Wall);
    let parameters = [Parameter::integer("bytes", "B")];
    let method = set.declare("message", &parameters).map_err(failed)?;
    for times in times {
        for ns in &times.one_way_ns {
            // Bytes but the first, as in LogGP; a value that is not a time cannot come from a
            // measurement.
            let bytes = times.bytes.saturating_sub(1) as f64;
            let _ = set.push(method, &[bytes], ns * 1e-9);
        }
    }
    let samples = set.finish();
    let Some(samples) = samples.first() else {
        return Ok(Vec::new());
    };
    let fitted =
        fit_family(samples, Family::Regimes).or_else(|_| fit_family(samples, Family::Line));
    let Ok(models) = fitted else {
        // Noise, with which no line is above 0 at all sizes.
        return Ok(vec![middle_line(times, above_bytes)]);
    };
    let formula = models.first().map(|model| &model.formula);
    let Some(formula) = formula else {
        return Ok(Vec::new());
    };
    let mut lines: Vec<Line> = Vec::new();
    let constant = Term::new(formula.constant, Vec::new());
    for term in formula.terms.iter().chain([&constant]) {
        let from = term.regime.as_ref().and_then(|regime| regime.from);
        // A range of `bytes - 1` from here on.
        let above = from.map_or(above_bytes, |from| from.ceil() as u64);
        let at = lines.iter().position(|line| line.above_bytes == above);
        let at = at.unwrap_or_else(|| {
            lines.push(Line {
                above_bytes: above,
                constant_ns: 0.0,
                slope_ns: 0.0,
            });
            lines.len() - 1
        });
        match term.factors.is_empty() {
            true => lines[at].constant_ns += term.coefficient * 1e9,
            false => lines[at].slope_ns += term.coefficient * 1e9,
        }
    }
    lines.sort_by_key(|line| line.above_bytes);
    for place in 0..lines.len() {
        let Line {
            above_bytes,
            slope_ns,
            ..
        } = lines[place];
        if slope_ns < 0.0 {
            // More bytes do not take less time: some sizes of the range were disturbed.
            let until = lines
                .get(place + 1)
                .map_or(u64::MAX, |next| next.above_bytes);
            let range = times
                .iter()
                .filter(|times| (above_bytes..=until).contains(&times.bytes));
            lines[place] = middle_line(&range.copied().collect::<Vec<_>>(), above_bytes);
        }
    }
    Ok(lines)
}

impl Line {
    /// The piece that makes the time of a message this line, given its time without its bytes.
    fn piece(&self, bare_ns: f64) -> Piece {
        Piece {
            above_bytes: self.above_bytes,
            added_ns: self.constant_ns - bare_ns,
            gap_per_byte_ns: self.slope_ns.max(0.0),
        }
    }
}

/// The middle of some numbers, 0 of none.
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests;
