//! Exchange of records between the ranks of a run, and their agreement on them.
//!
//! Each rank packs its calls since the last exchange into a [`Told`], in which it numbers each [`CallKind`] itself.
//! The first rank gathers these, translates the numbers ([`Agreement`]), merges lines of the same step and kind,
//! checks that all ranks are at the same step and have made the same decisions, and broadcasts the result
//! ([`Agreed`]). So all ranks go on from the same numbers, or all of them stop.
//!
//! ```text
//! rank 0   new_kinds [q=100, q=900]   lines [step 4, kind 0, 3 calls]
//! rank 1   new_kinds [q=900, q=100]   lines [step 4, kind 1, 3 calls]
//! agreed   new_kinds [q=100, q=900]   lines [step 4, kind 0, 6 calls]
//! ```

use std::collections::{BTreeMap, HashMap};

use cca_ports::{CommPort, PortError, RSlice, RSliceMut, Reduction};
use mastermind_composition::adapt::{Batch, CallKind};
use serde::{Deserialize, Serialize};

use super::pace::{Spent, timed};
use crate::summary::{packed, unpacked};

/// Communication between the ranks that decide together. All methods are collective.
pub trait Ranks {
    /// Number of ranks.
    fn size(&self) -> Result<u32, PortError>;

    /// Sums whole numbers over the ranks; their sum does not depend on the order.
    fn sum(&self, numbers: &mut [f64]) -> Result<(), PortError>;

    /// Gathers bytes on the first rank, by rank; the result is empty elsewhere.
    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, PortError>;

    /// Broadcasts the first rank's bytes.
    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), PortError>;

    /// Whether something was done on all ranks, or the reason why not; the same on each rank.
    fn agree_on(&self, is_done: bool) -> Result<Result<(), String>, PortError> {
        let mut failed = [f64::from(u8::from(!is_done))];
        self.sum(&mut failed)?;
        if failed[0] == 0.0 {
            return Ok(Ok(()));
        }
        let ranks = self.size()?;
        Ok(Err(format!("it fails on {} of {ranks} ranks", failed[0])))
    }
}

/// The ranks of a communicator.
pub struct OfCommunicator<'a, C>(pub &'a C);

impl<C: CommPort> Ranks for OfCommunicator<'_, C> {
    fn size(&self) -> Result<u32, PortError> {
        Ok(self.0.size()?.max(1) as u32)
    }

    fn sum(&self, numbers: &mut [f64]) -> Result<(), PortError> {
        let numbers = RSliceMut::from_mut_slice(numbers);
        self.0.all_reduce(Reduction::Sum, numbers)
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, PortError> {
        let all = self.0.gather(0, RSlice::from_slice(&packed(bytes)))?;
        Ok(all.iter().map(|words| unpacked(words)).collect())
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), PortError> {
        let mut words = packed(bytes);
        let mut length = [words.len() as f64];
        let spread = |words: &mut [f64]| self.0.broadcast(0, RSliceMut::from_mut_slice(words));
        spread(&mut length)?;
        words.resize(length[0] as usize, 0.0);
        spread(&mut words)?;
        *bytes = unpacked(&words);
        Ok(())
    }
}

/// Exchanges the ranks' contributions; the result is the same on each rank. Collective.
///
/// # Arguments
/// * `agreement` - the first rank's numbers so far
/// * `own_s` - processor seconds of deciding, to which this adds its own without waiting for other ranks
///
/// # Errors
/// Errors of the communicator.
pub fn exchange(
    told: Told,
    agreement: &mut Agreement,
    ranks: &impl Ranks,
    own_s: &mut f64,
) -> Result<Agreed, PortError> {
    if ranks.size()? <= 1 {
        return Ok(timed(own_s, || agreement.agree(vec![Ok(told)])));
    }
    let own = timed(own_s, || serde_json::to_vec(&told));
    let all = ranks.gather(&own.map_err(PortError::failed)?)?;
    let mut bytes = Vec::new();
    if !all.is_empty() {
        let agreed = timed(own_s, || {
            let told = all
                .iter()
                .map(|told| serde_json::from_slice(told).map_err(|error| error.to_string()));
            serde_json::to_vec(&agreement.agree(told.collect()))
        });
        bytes = agreed.map_err(PortError::failed)?;
    }
    ranks.broadcast(&mut bytes)?;
    timed(own_s, || serde_json::from_slice(&bytes)).map_err(PortError::failed)
}

/// One rank's contribution to an exchange.
#[derive(Serialize, Deserialize)]
pub struct Told {
    pub step: u64,
    /// Whether the application has ended here, so that it reports no more steps.
    pub has_ended: bool,
    /// Reason why this rank's calls can no longer be judged.
    pub unrecorded: Option<String>,
    pub digest: u32,
    pub spent: Spent,
    pub elapsed_s: f64,
    /// Each new call kind of this rank; their numbers follow their order.
    pub new_kinds: Vec<CallKind>,
    /// Number of calls that came faster than they can be examined and that no line contains.
    pub left_out: u64,
    /// In the order of steps.
    pub lines: Vec<Line>,
}

/// Calls of one kind in one step or in several consecutive ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "LineWords", into = "LineWords")]
pub struct Line {
    /// The last of these steps.
    pub step: u64,
    /// Number of the kind.
    pub kind: usize,
    /// Number of calls that did not fail.
    pub calls: u64,
    pub failed: u64,
    /// Median logarithm of their seconds.
    pub ln_mean: f64,
}

/// A line without field names, for JSON.
type LineWords = (u64, usize, u64, u64, f64);

impl From<LineWords> for Line {
    fn from((step, kind, calls, failed, ln_mean): LineWords) -> Self {
        Line {
            step,
            kind,
            calls,
            failed,
            ln_mean,
        }
    }
}

impl From<Line> for LineWords {
    fn from(line: Line) -> Self {
        (line.step, line.kind, line.calls, line.failed, line.ln_mean)
    }
}

impl From<Line> for Batch {
    fn from(line: Line) -> Self {
        Batch {
            kind: line.kind,
            step: line.step,
            calls: line.calls,
            failed: line.failed,
            ln_mean: line.ln_mean,
        }
    }
}

/// The common result of an exchange.
#[derive(Serialize, Deserialize)]
pub struct Agreed {
    /// Number of steps of the application, or the reason why a rank disagrees.
    pub step: Result<u64, String>,
    /// Reason why the calls of a rank can no longer be judged, including those of trials.
    pub unrecorded: Option<String>,
    pub fraction: f64,
    pub elapsed_s: f64,
    /// The first rank's values.
    pub spent: Spent,
    /// Each new call kind, in the order of the first rank's numbers.
    pub new_kinds: Vec<CallKind>,
    /// Part of the calls of all ranks that the lines contain.
    pub told: f64,
    /// In the order of steps, of all ranks together.
    pub lines: Vec<Line>,
}

/// Number of first steps whose calls do not represent later ones: they touch memory and read code for the first time,
/// which would count against the class that the run begins with.
const WARM_UP_STEPS: u64 = 1;

/// The calls to decide on: those after the warm-up.
pub fn batches(lines: &[Line]) -> Vec<Batch> {
    let warm = lines.iter().filter(|line| line.step > WARM_UP_STEPS);
    warm.copied().map(Batch::from).collect()
}

/// The first rank's numbers for each call kind of each rank.
#[derive(Default)]
pub struct Agreement {
    by_key: HashMap<String, usize>,
    /// Common number of each kind of a rank, by rank.
    of_rank: Vec<Vec<usize>>,
}

impl Agreement {
    /// Combines the contributions of all ranks, in the order of ranks.
    pub fn agree(&mut self, told: Vec<Result<Told, String>>) -> Agreed {
        let mut agreed = Agreed {
            step: Err("rank 0 has sent nothing".into()),
            unrecorded: None,
            fraction: 0.0,
            elapsed_s: 0.0,
            spent: Spent::default(),
            new_kinds: Vec::new(),
            told: 1.0,
            lines: Vec::new(),
        };
        self.of_rank.resize_with(told.len(), Vec::new);
        let mut first: Option<Told> = None;
        let (mut n_told, mut left_out) = (0, 0);
        let mut lines = Lines::default();
        for (rank, told) in told.into_iter().enumerate() {
            let told = match told {
                Ok(told) => told,
                Err(error) => {
                    agreed.step = Err(format!(
                        "rank {rank} sends nothing that can be read: {error}"
                    ));
                    return agreed;
                }
            };
            self.know(rank, &told.new_kinds, &mut agreed.new_kinds);
            if agreed.unrecorded.is_none() {
                agreed.unrecorded.clone_from(&told.unrecorded);
            }
            left_out += told.left_out;
            n_told += told.lines.iter().map(|line| line.calls).sum::<u64>();
            let of_rank = &self.of_rank[rank];
            for line in &told.lines {
                let Some(kind) = of_rank.get(line.kind) else {
                    agreed.step = Err(format!(
                        "rank {rank} sends calls of cell {}, expected one below {}",
                        line.kind,
                        of_rank.len()
                    ));
                    return agreed;
                };
                lines.add(Line {
                    kind: *kind,
                    ..*line
                });
            }
            if let Some(first) = &first {
                if let Some(why) = disagreement(rank, &told, first) {
                    agreed.step = Err(why);
                    return agreed;
                }
            } else {
                agreed.step = Ok(told.step);
                (agreed.fraction, agreed.elapsed_s) = (told.spent.fraction, told.elapsed_s);
                agreed.spent = told.spent;
                first = Some(told);
            }
        }
        agreed.lines = lines.merged();
        if n_told > 0 {
            agreed.told = n_told as f64 / (n_told + left_out) as f64;
        }
        agreed
    }

    /// Numbers each new kind of a rank, and collects those that no rank had before.
    fn know(&mut self, rank: usize, new: &[CallKind], new_to_all: &mut Vec<CallKind>) {
        for kind in new {
            let n_known = self.by_key.len();
            let number = *self.by_key.entry(kind.key()).or_insert(n_known);
            if number == n_known {
                new_to_all.push(kind.clone());
            }
            self.of_rank[rank].push(number);
        }
    }
}

/// Reason why a rank cannot go on with the first one.
fn disagreement(rank: usize, told: &Told, first: &Told) -> Option<String> {
    if told.has_ended != first.has_ended {
        let [(ended, at), (other, on)] = match told.has_ended {
            true => [(rank, told.step), (0, first.step)],
            false => [(0, first.step), (rank, told.step)],
        };
        return Some(format!(
            "the application has ended on rank {ended} after {at} reported steps and reports step {on} on rank {other}, \
             expected as many on each"
        ));
    }
    if told.step != first.step {
        let (found, expected) = (told.step, first.step);
        if told.has_ended {
            return Some(format!(
                "the application has ended on rank 0 after {expected} reported steps and on rank {rank} after {found}, expected as \
                 many on each"
            ));
        }
        return Some(format!(
            "rank {rank} is at step {found}, expected {expected}"
        ));
    }
    (told.digest != first.digest)
        .then(|| format!("rank {rank} has other models, alternatives or decisions than rank 0"))
}

/// Lines of several ranks; lines of the same step and kind are merged.
#[derive(Default)]
struct Lines {
    lines: Vec<Line>,
    places: BTreeMap<(u64, usize), usize>,
}

impl Lines {
    fn add(&mut self, line: Line) {
        let place = self.places.entry((line.step, line.kind));
        let place = *place.or_insert(self.lines.len());
        let Some(sum) = self.lines.get_mut(place) else {
            self.lines.push(line);
            return;
        };
        let calls = sum.calls + line.calls;
        if calls > 0 {
            let (one, other) = (sum.calls as f64, line.calls as f64);
            sum.ln_mean = (one * sum.ln_mean + other * line.ln_mean) / calls as f64;
        }
        sum.calls = calls;
        sum.failed += line.failed;
    }

    fn merged(self) -> Vec<Line> {
        let places = self.places.into_values();
        places.map(|place| self.lines[place]).collect()
    }
}

#[cfg(test)]
mod tests {
    use mastermind_models::Coordinate;

    use super::*;

    fn kind(q: f64) -> CallKind {
        CallKind {
            is_own: false,
            instance: "flux".into(),
            class: "A".into(),
            port_method: "flux.compute".into(),
            coordinate: Coordinate::new().with("q", q),
        }
    }

    fn line(step: u64, kind: usize, ln_mean: f64) -> Line {
        Line {
            step,
            kind,
            calls: 3,
            failed: 1,
            ln_mean,
        }
    }

    fn told(step: u64, digest: u32, sizes: &[f64], lines: &[Line]) -> Result<Told, String> {
        Ok(Told {
            step,
            has_ended: false,
            unrecorded: None,
            digest,
            spent: Spent::default(),
            elapsed_s: 2.0,
            new_kinds: sizes.iter().map(|q| kind(*q)).collect(),
            left_out: 0,
            lines: lines.to_vec(),
        })
    }

    /// Each rank gives numbers in the order of its first calls.
    #[test]
    fn what_ranks_have_recorded_is_added_up() {
        let mut agreement = Agreement::default();
        let one = told(4, 0, &[100.0, 900.0], &[line(4, 0, -9.0), line(4, 1, -5.0)]);
        let other = told(4, 0, &[900.0, 100.0], &[line(3, 0, -4.0), line(4, 0, -6.0)]);
        let agreed = agreement.agree(vec![one, other]);
        assert_eq!(agreed.step, Ok(4));
        assert_eq!(agreed.new_kinds, [kind(100.0), kind(900.0)]);
        let both = Line {
            calls: 6,
            failed: 2,
            ..line(4, 1, -5.5)
        };
        assert_eq!(agreed.lines, [line(3, 1, -4.0), line(4, 0, -9.0), both]);
        // A known kind keeps its number.
        let one = told(5, 0, &[], &[line(5, 1, -5.0)]);
        let other = told(5, 0, &[500.0], &[line(5, 0, -5.0), line(5, 2, -7.0)]);
        let agreed = agreement.agree(vec![one, other]);
        assert_eq!(agreed.new_kinds, [kind(500.0)]);
        let numbers: Vec<_> = agreed.lines.iter().map(|line| line.kind).collect();
        assert_eq!(numbers, [1, 2]);
    }

    #[test]
    fn the_first_step_is_not_held_against_its_class() {
        let decided = batches(&[line(1, 0, -3.0), line(2, 0, -5.0), line(2, 1, -6.0)]);
        let told: Vec<_> = decided.iter().map(|b| (b.kind, b.ln_mean)).collect();
        assert_eq!(told, [(0, -5.0), (1, -6.0)]);
    }

    /// One rank reports three calls of five, the other all three of its calls.
    #[test]
    fn calls_that_no_rank_tells_are_known() {
        let mut agreement = Agreement::default();
        let one = told(4, 0, &[100.0], &[line(4, 0, -9.0)]).map(|told| Told {
            left_out: 2,
            ..told
        });
        let other = told(4, 0, &[100.0], &[line(4, 0, -9.0)]);
        let agreed = agreement.agree(vec![one, other]);
        assert_eq!((agreed.told, agreed.lines[0].calls), (0.75, 6));
        assert_eq!(agreement.agree(vec![told(5, 0, &[], &[])]).told, 1.0);
    }

    #[test]
    fn what_goes_from_rank_to_rank_comes_back() {
        let sent = told(4, 7, &[100.0], &[line(4, 0, -9.25)]).expect("told");
        let text = serde_json::to_string(&sent).expect("JSON");
        let back: Told = serde_json::from_str(&text).expect("what was sent");
        assert_eq!(back.lines, sent.lines, "{text}");
        assert_eq!(back.new_kinds, sent.new_kinds);
        assert!(text.contains("[4,0,3,1,-9.25]"), "{text}");
    }

    #[test]
    fn a_rank_that_disagrees_is_told() {
        let told = |step, digest| told(step, digest, &[], &[]);
        let error = |told| {
            Agreement::default()
                .agree(told)
                .step
                .expect_err("no agreement")
        };
        let behind = error(vec![told(4, 0), told(4, 0), told(3, 0)]);
        assert_eq!(behind, "rank 2 is at step 3, expected 4");
        let other = error(vec![told(4, 0), told(4, 7)]);
        assert_eq!(
            other,
            "rank 1 has other models, alternatives or decisions than rank 0"
        );
        let garbled = error(vec![told(4, 0), Err("an end".into())]);
        assert!(garbled.starts_with("rank 1 sends nothing that can be read"));
        let unknown = told(4, 0).map(|told| Told {
            lines: vec![line(4, 0, 1.0)],
            ..told
        });
        assert_eq!(
            error(vec![told(4, 0), unknown]),
            "rank 1 sends calls of cell 0, expected one below 0"
        );
        let ends = |step| {
            told(step, 0).map(|told| Told {
                has_ended: true,
                ..told
            })
        };
        assert_eq!(
            error(vec![ends(3), ends(5)]),
            "the application has ended on rank 0 after 3 reported steps and on rank 1 after 5, expected as many on each"
        );
        let ended = ends(9);
        assert_eq!(
            error(vec![told(4, 0), ended]),
            "the application has ended on rank 1 after 9 reported steps and reports step 4 on rank 0, expected as many on each"
        );
    }
}
