//! Schedules in the binary form of LogGOPSim, as its `txt2bin` writes them.
//!
//! Little-endian numbers. After 8 bytes of a mark, from which all places count: ranks (4), the greatest processor and interface
//! (1 each), and for each rank where its part begins and ends (8 each). A part: its operations and those of them that wait for
//! nothing (4 each), the numbers of these, 39 bytes for each operation, and an appendix of operations that wait for others.
//!
//! ```text
//! waits 4, type 1 (send, recv, calc), peer 4, size 8, tag 4, cpu 1, nic 1,
//! how many wait for its end 4, their place in the appendix 4, the same for those that wait for its begin 8
//! ```

use super::read::{GoalError, MAX_RANKS};
use super::schedule::{ANY, Dependent, Kind, MAX_OPS, Op, Part, Schedule};

/// The mark at the begin of a file, and the one of a file that LogGOPSim has consumed with
/// `--save-mem`.
const MARK: u64 = 4223;
const USED_UP: u64 = 2342;

/// Bytes of an operation.
const OPERATION: usize = 39;

/// Whether a file that begins so is a schedule in the binary form.
pub(super) fn is_binary(begin: &[u8]) -> bool {
    let mark = begin.first_chunk().map(|mark| u64::from_le_bytes(*mark));
    matches!(mark, Some(MARK | USED_UP))
}

/// A file from the end of its mark on.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn at<const N: usize>(&self, at: usize) -> Result<[u8; N], GoalError> {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().ok_or_else(|| GoalError::Binary {
            found: format!("{} bytes", self.0.len() + 8),
            expected: format!("more than {at}; the file is cut or no schedule"),
        })
    }

    fn u32(&self, at: usize) -> Result<u32, GoalError> {
        self.at(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Result<u64, GoalError> {
        self.at(at).map(u64::from_le_bytes)
    }

    fn u8(&self, at: usize) -> Result<u8, GoalError> {
        Ok(self.at::<1>(at)?[0])
    }
}

fn wrong(found: String, expected: &str) -> GoalError {
    GoalError::Binary {
        found,
        expected: expected.to_owned(),
    }
}

/// Reads a schedule in the binary form; operations that wait for an operation stay in the order of
/// the file.
///
/// # Errors
/// [`GoalError::Binary`].
pub(super) fn read(file: &[u8]) -> Result<Schedule, GoalError> {
    let (mark, rest) = file.split_at_checked(8).unwrap_or((file, &[]));
    if mark == USED_UP.to_le_bytes() {
        return Err(wrong(
            "a schedule that LogGOPSim has used up (--save-mem)".into(),
            "one that was not run so",
        ));
    }
    let bytes = Bytes(rest);
    let ranks = bytes.u32(0)?;
    if ranks == 0 || u64::from(ranks) > MAX_RANKS {
        return Err(wrong(format!("{ranks} ranks"), "1 to 16777216"));
    }
    // A file that claims more ranks than it has room for is found out at the last of them.
    bytes.u64(6 + 16 * (ranks as usize - 1))?;
    let mut schedule = Schedule::default();
    let mut end = 6 + 16 * ranks as usize;
    for rank in 0..ranks as usize {
        let begin = usize::try_from(bytes.u64(6 + 16 * rank)?).unwrap_or(usize::MAX);
        // Parts that share bytes would make a schedule of any size.
        if begin < end {
            let found = format!("rank {rank} from byte {begin} on");
            return Err(wrong(found, "parts behind each other"));
        }
        end =
            read_part(&bytes, begin, ranks, &mut schedule).map_err(|error| error.in_rank(rank))?;
    }
    let ended = schedule.end();
    ended.ok_or_else(|| wrong("2^31 waits".into(), "fewer"))
}

/// Reads the part of a rank; returns its end.
fn read_part(
    bytes: &Bytes<'_>,
    begin: usize,
    ranks: u32,
    schedule: &mut Schedule,
) -> Result<usize, GoalError> {
    let far = || wrong(format!("a part at byte {begin}"), "one inside the file");
    let ops = bytes.u32(begin)?;
    let first = begin
        .checked_add(8 + 4 * bytes.u32(begin.saturating_add(4))? as usize)
        .ok_or_else(far)?;
    let appendix = (ops as usize)
        .checked_mul(OPERATION)
        .and_then(|length| first.checked_add(length))
        .filter(|appendix| *appendix <= bytes.0.len() && ops <= MAX_OPS)
        .ok_or_else(far)?;
    let mut part = Part {
        first_op: schedule.ops.len(),
        ops,
        cpus: 1,
        nics: 1,
        ..Part::default()
    };
    let mut n_waits = vec![0_u32; ops as usize];
    let mut so_far = 0;
    for op in 0..ops {
        let at = first + op as usize * OPERATION;
        let it = operation(bytes, at, ranks)?;
        part.cpus = part.cpus.max(u16::from(it.cpu) + 1);
        part.nics = part.nics.max(u16::from(it.nic) + 1);
        schedule.ops.push(&it, false);
        for (at, begin) in [(at + 23, false), (at + 31, true)] {
            let (n, from) = (bytes.u32(at)?, bytes.u32(at + 4)?);
            if n > 0 && from as usize != so_far {
                let found = format!("what waits for operation {op} at place {from}");
                return Err(wrong(found, "it behind what waits for those before"));
            }
            for _ in 0..n {
                let waiting = bytes.u32(appendix + so_far * 4)?;
                let known = n_waits.get_mut(waiting as usize);
                let Some(known) = known.filter(|_| waiting != op) else {
                    let found = format!("operation {waiting} that waits for operation {op}");
                    return Err(wrong(found, "another operation of the rank"));
                };
                *known += 1;
                so_far += 1;
                let by = Dependent::new(waiting, begin);
                let room = schedule.ops.room();
                schedule.dependents.add(&mut part, op, by, room);
            }
        }
    }
    for (op, n) in n_waits.into_iter().enumerate() {
        let said = bytes.u32(first + op * OPERATION)?;
        if said != n {
            let found = format!("operation {op} that waits {said} times");
            return Err(wrong(found, "as many times as others name it"));
        }
        (0..n).for_each(|_| schedule.ops.wait(part.first_op + op));
    }
    schedule.dependents.end_rank(&part, false);
    schedule.parts.push(part);
    Ok(appendix + 4 * so_far)
}

fn operation(bytes: &Bytes<'_>, at: usize, ranks: u32) -> Result<Op, GoalError> {
    let kind = match bytes.u8(at + 4)? {
        1 => Kind::Send,
        2 => Kind::Receive,
        3 => Kind::Calc,
        other => return Err(wrong(format!("an operation of type {other}"), "1, 2 or 3")),
    };
    let peer = bytes.u32(at + 5)?;
    if kind != Kind::Calc && peer >= ranks && !(kind == Kind::Receive && peer == ANY) {
        return Err(wrong(format!("peer {peer}"), "a rank of the schedule"));
    }
    let size = bytes.u64(at + 9)?;
    if size > super::read::GREATEST {
        return Err(wrong(format!("size {size}"), "a number up to 1e15"));
    }
    let is_calc = kind == Kind::Calc;
    Ok(Op {
        size,
        peer: if is_calc { 0 } else { peer },
        tag: if is_calc { 0 } else { bytes.u32(at + 17)? },
        waits: 0,
        kind,
        cpu: bytes.u8(at + 21)?,
        nic: bytes.u8(at + 22)?,
    })
}
