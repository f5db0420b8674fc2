//! The text of a schedule, read in pieces: nothing of it is kept.
//!
//! [`read_goal`] takes a text and returns a [`Schedule`]; `Reader` has the state between two lines: the rank, its
//! labels, a comment. Lines in the form that generators write, which are most of all, are read by `plain` in one go;
//! all other lines go through `Reader::line`, and both must give the same. The first invalid line is the error, with
//! its number. Operations are kept in `ops`, in eight bytes for most. The binary form is read by `binary`; the head of
//! the module `goal` describes the language.
//!
//! ```
//! use mastermind_programs::goal::read_goal;
//!
//! let text = "num_ranks 2
//! rank 0 {
//! a: calc 1000
//! send 8b to 1 tag 7
//! }
//! rank 1 {
//! c: recv 8b from 0 tag 7
//! d: calc 500
//! d requires c
//! }";
//! let schedule = read_goal(text.as_bytes())?;
//! assert_eq!((schedule.ranks(), schedule.operations()), (2, 4));
//!
//! let error = read_goal(text.replace("requires c", "requires a").as_bytes()).unwrap_err();
//! let told = "line 9 of schedule: label \"a\", expected the label of an operation above";
//! assert!(error.to_string().contains(told), "{error}");
//! # Ok::<(), mastermind_programs::goal::GoalError>(())
//! ```

mod plain;

use std::io::Read;

use memchr::{memchr, memchr_iter};

use crate::goal::binary;
use crate::goal::labels::Labels;
use crate::goal::schedule::{ANY, Dependent, Kind, MAX_OPS, Op, Part, Schedule};

/// Bytes that are read at a time: the nearer caches hold them.
const PIECE: usize = 1 << 18;

/// Longest line, bytes.
const LONGEST: usize = 1 << 16;

/// Most ranks.
pub(super) const MAX_RANKS: u64 = 1 << 24;

/// Greatest time of a calculation, nanoseconds, and number of bytes of a message.
pub(super) const GREATEST: u64 = 1_000_000_000_000_000;

/// A text that is no schedule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GoalError {
    /// The text cannot be read.
    #[error("cannot read schedule")]
    Io(#[from] std::io::Error),
    /// A line is not as it must be.
    #[error("cannot read line {line} of schedule: {found}, expected {expected}")]
    Line {
        /// From 1.
        line: u64,
        /// The text found.
        found: String,
        /// The expected text.
        expected: &'static str,
    },
    /// A file in the binary form is not as it must be.
    #[error("cannot read schedule in LogGOPSim's binary form: {found}, expected {expected}")]
    Binary {
        /// The text found.
        found: String,
        /// The expected text.
        expected: String,
    },
}

impl GoalError {
    /// The same, with the rank that it is in.
    pub(super) fn in_rank(self, rank: usize) -> Self {
        match self {
            Self::Binary { found, expected } => Self::Binary {
                found: format!("{found} in rank {rank}"),
                expected,
            },
            other => other,
        }
    }
}

/// In which order operations become free together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WaitOrder {
    /// In their own order, whatever line declares their wait: it takes the least room.
    #[default]
    Operations,
    /// In the order of the lines that declare their waits, as the rules of LogGOPSim require.
    Lines,
}

/// Reads a schedule.
///
/// # Errors
/// [`GoalError`] at the first line that is wrong.
pub fn read_goal(source: impl Read) -> Result<Schedule, GoalError> {
    read_goal_of(source, 0)
}

/// Reads a schedule whose text has about `bytes` bytes, such as the size of its file: room for it is
/// made at once.
///
/// # Errors
/// As [`read_goal`].
pub fn read_goal_of(source: impl Read, bytes: u64) -> Result<Schedule, GoalError> {
    read_goal_in(source, bytes, WaitOrder::default())
}

/// Reads a schedule, as text or in LogGOPSim's binary form.
///
/// # Arguments
/// * `bytes` - its approximate length, 0 if that is unknown
///
/// # Errors
/// As [`read_goal`].
pub fn read_goal_in(
    mut source: impl Read,
    bytes: u64,
    order: WaitOrder,
) -> Result<Schedule, GoalError> {
    // The reading code is not generic: generic code is compiled, and optimised, with the crate that calls it.
    read_from(&mut source, bytes, order)
}

fn read_from(source: &mut dyn Read, bytes: u64, order: WaitOrder) -> Result<Schedule, GoalError> {
    let mut begin = Vec::new();
    Read::take(&mut *source, 8).read_to_end(&mut begin)?;
    if binary::is_binary(&begin) {
        source.read_to_end(&mut begin)?;
        return binary::read(&begin);
    }
    let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    if !begin.iter().all(is_text) {
        return Err(GoalError::Line {
            line: 1,
            found: "bytes that are no text".to_owned(),
            expected: "num_ranks and a number, or a file that LogGOPSim's txt2bin has written",
        });
    }
    read_text(&mut begin.as_slice().chain(source), bytes, order)
}

fn read_text(source: &mut dyn Read, bytes: u64, order: WaitOrder) -> Result<Schedule, GoalError> {
    let mut reader = Reader {
        order,
        ..Reader::default()
    };
    let mut buffer = vec![0_u8; PIECE + LONGEST];
    let mut kept = 0;
    loop {
        let n = source.read(&mut buffer[kept..])?;
        let end = kept + n;
        if n == 0 {
            reader.line(&buffer[..kept])?;
            return reader.finish();
        }
        let mut from = 0;
        loop {
            if order == WaitOrder::Operations
                && let Some(length) = reader.plain_lines(&buffer[from..end])
            {
                from += length;
            }
            let Some(length) = memchr(b'\n', &buffer[from..end]) else {
                break;
            };
            reader.line(&buffer[from..from + length])?;
            from += length + 1;
        }
        kept = end - from;
        if bytes > end as u64 {
            reader.make_room(from as u64, bytes);
        }
        if kept > LONGEST {
            reader.number += 1;
            return Err(reader.wrong("a longer line", "at most 65536 bytes"));
        }
        buffer.copy_within(from..end, 0);
    }
}

#[derive(Default)]
struct Reader {
    order: WaitOrder,
    schedule: Schedule,
    labels: Labels,
    /// Lines so far.
    number: u64,
    ranks: Option<u64>,
    /// The rank whose operations are being read.
    rank: Option<usize>,
    /// The rank whose `{` is still to come.
    opening: Option<usize>,
    part: Part,
    /// Ranks that were there.
    seen: Vec<bool>,
    in_comment: bool,
    /// Room was made for the operations to come.
    has_room: bool,
}

/// The rest of a line.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline]
    fn blanks(&mut self) {
        while let [b' ' | b'\t' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Letters, digits and underlines, after blanks.
    #[inline]
    fn word(&mut self) -> &'a [u8] {
        self.blanks();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let end = self.rest.iter().position(|byte| !is_part(byte));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    /// A whole number, after blanks.
    #[inline]
    fn number(&mut self) -> Option<u64> {
        self.blanks();
        let mut value = 0_u64;
        let mut digits = 0;
        while let [digit @ b'0'..=b'9', rest @ ..] = self.rest {
            value = value
                .checked_mul(10)?
                .checked_add(u64::from(digit - b'0'))?;
            digits += 1;
            self.rest = rest;
        }
        (digits > 0).then_some(value)
    }

    /// A sign, after blanks.
    #[inline]
    fn sign(&mut self, sign: u8) -> bool {
        self.blanks();
        match self.rest {
            [first, rest @ ..] if *first == sign => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Whether only a comment is left.
    #[inline]
    fn is_done(&mut self) -> bool {
        self.blanks();
        self.rest.is_empty() || self.rest.starts_with(b"//")
    }
}

impl Reader {
    /// Makes room for the operations of a text, extrapolated from those of its first `read` bytes.
    fn make_room(&mut self, read: u64, bytes: u64) {
        let ops = &mut self.schedule.ops;
        if !self.has_room && ops.len() > 0 {
            self.has_room = true;
            let of_all = ops.len() as f64 / read as f64 * bytes as f64;
            // Names and numbers grow longer, so that the rest of a text has fewer.
            ops.make_room((of_all * 1.05) as usize);
        }
    }

    fn wrong(&self, found: impl Into<String>, expected: &'static str) -> GoalError {
        GoalError::Line {
            line: self.number,
            found: found.into(),
            expected,
        }
    }

    /// The rest of a line, for an error.
    fn shown(cursor: &Cursor<'_>) -> String {
        let end = cursor.rest.len().min(40);
        match &cursor.rest[..end] {
            [] => "the end of the line".to_owned(),
            rest => format!("\"{}\"", String::from_utf8_lossy(rest).trim_end()),
        }
    }

    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<(), GoalError> {
        self.number += 1;
        let mut cursor = Cursor { rest: line };
        let has_comment = || memchr_iter(b'/', line).any(|at| line.get(at + 1) == Some(&b'*'));
        if self.in_comment || has_comment() {
            let plain = self.without_comments(line);
            return self.statement(&mut Cursor { rest: &plain });
        }
        self.statement(&mut cursor)
    }

    /// The line without `/* … */`, which may span lines.
    fn without_comments(&mut self, line: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut at = 0;
        while at < line.len() {
            let pair = line.get(at..at + 2);
            match (self.in_comment, pair) {
                (true, Some(b"*/")) => (self.in_comment, at) = (false, at + 2),
                (true, _) => at += 1,
                (false, Some(b"//")) => break,
                (false, Some(b"/*")) => (self.in_comment, at) = (true, at + 2),
                (false, _) => {
                    plain.push(line[at]);
                    at += 1;
                }
            }
        }
        plain
    }

    #[inline]
    fn statement(&mut self, cursor: &mut Cursor<'_>) -> Result<(), GoalError> {
        if cursor.is_done() {
            return Ok(());
        }
        if self.rank.is_some() {
            self.inside(cursor)?;
        } else {
            self.outside(cursor)?;
        }
        if cursor.is_done() {
            return Ok(());
        }
        Err(self.wrong(Self::shown(cursor), "the end of the line"))
    }

    fn outside(&mut self, cursor: &mut Cursor<'_>) -> Result<(), GoalError> {
        if let Some(rank) = self.opening {
            if !cursor.sign(b'{') {
                return Err(self.wrong(Self::shown(cursor), "{"));
            }
            self.open(rank);
            return Ok(());
        }
        let before = Self::shown(cursor);
        match (cursor.word(), self.ranks) {
            (b"num_ranks", None) => {
                let n = cursor.number().filter(|n| (1..=MAX_RANKS).contains(n));
                let Some(n) = n else {
                    return Err(self.wrong(before, "num_ranks and 1 to 16777216"));
                };
                self.ranks = Some(n);
                self.schedule.parts = vec![
                    Part {
                        cpus: 1,
                        nics: 1,
                        ..Part::default()
                    };
                    n as usize
                ];
                self.seen = vec![false; n as usize];
                Ok(())
            }
            (b"rank", Some(ranks)) => {
                let rank = cursor.number().filter(|rank| *rank < ranks);
                let Some(rank) = rank.map(|rank| rank as usize) else {
                    return Err(self.wrong(before, "rank and a number below num_ranks"));
                };
                if std::mem::replace(&mut self.seen[rank], true) {
                    return Err(self.wrong(format!("rank {rank} a second time"), "each rank once"));
                }
                self.opening = Some(rank);
                if cursor.sign(b'{') {
                    self.open(rank);
                }
                Ok(())
            }
            (_, None) => Err(self.wrong(before, "num_ranks and a number")),
            (_, Some(_)) => Err(self.wrong(before, "rank, a number and {")),
        }
    }

    fn open(&mut self, rank: usize) {
        self.opening = None;
        self.rank = Some(rank);
        self.labels.clear();
        self.part = Part {
            first_op: self.schedule.ops.len(),
            cpus: 1,
            nics: 1,
            ..Part::default()
        };
    }

    fn close(&mut self, rank: usize) {
        let part = &mut self.part;
        part.ops = (self.schedule.ops.len() - part.first_op) as u32;
        let is_sorted = self.order == WaitOrder::Operations;
        self.schedule.dependents.end_rank(part, is_sorted);
        self.schedule.parts[rank] = *part;
        self.rank = None;
    }

    #[inline]
    fn inside(&mut self, cursor: &mut Cursor<'_>) -> Result<(), GoalError> {
        if let (true, Some(rank)) = (cursor.sign(b'}'), self.rank) {
            self.close(rank);
            return Ok(());
        }
        let begin = cursor.rest;
        let word = cursor.word();
        if cursor.sign(b':') {
            if word.is_empty() {
                return Err(self.wrong("a colon", "a label before it"));
            }
            let op = self.operation(cursor)?;
            if !self.labels.insert(word, op) {
                let name = String::from_utf8_lossy(word).into_owned();
                return Err(self.wrong(
                    format!("label \"{name}\" a second time"),
                    "each label once a rank",
                ));
            }
            return Ok(());
        }
        let begins = match cursor.word() {
            b"requires" => false,
            b"irequires" => true,
            _ => {
                cursor.rest = begin;
                return self.operation(cursor).map(drop);
            }
        };
        let other = cursor.word();
        if other.is_empty() {
            return Err(self.wrong(Self::shown(cursor), "the label of an operation above"));
        }
        let (op, on) = (self.labelled(word)?, self.labelled(other)?);
        self.depend(op, on, begins)
    }

    #[inline]
    fn labelled(&self, name: &[u8]) -> Result<u32, GoalError> {
        self.labels.get(name).ok_or_else(|| {
            let name = String::from_utf8_lossy(name).into_owned();
            self.wrong(
                format!("label \"{name}\""),
                "the label of an operation above",
            )
        })
    }

    #[inline]
    fn depend(&mut self, op: u32, on: u32, begin: bool) -> Result<(), GoalError> {
        if op == on {
            return Err(self.wrong("an operation that requires itself", "another one"));
        }
        let waiting = self.part.first_op + op as usize;
        if op == on + 1 && !begin && self.order == WaitOrder::Operations {
            self.schedule.ops.wait_for_previous(waiting);
        } else {
            let Schedule {
                ops, dependents, ..
            } = &mut self.schedule;
            ops.wait(waiting);
            let by = Dependent::new(op, begin);
            dependents.add(&mut self.part, on, by, ops.room());
        }
        Ok(())
    }

    /// `calc N`, `send Nb to N`, `recv Nb from N` and their options; returns the operation's index.
    #[inline]
    fn operation(&mut self, cursor: &mut Cursor<'_>) -> Result<u32, GoalError> {
        let before = cursor.rest;
        let kind = match cursor.word() {
            b"calc" => Kind::Calc,
            b"send" => Kind::Send,
            b"recv" => Kind::Receive,
            _ => {
                let found = Self::shown(&Cursor { rest: before });
                return Err(self.wrong(found, "calc, send, recv, requires or irequires"));
            }
        };
        let Some(size) = cursor.number().filter(|size| *size <= GREATEST) else {
            return Err(self.wrong(Self::shown(&Cursor { rest: before }), "a number up to 1e15"));
        };
        let mut op = Op {
            size,
            peer: 0,
            tag: 0,
            waits: 0,
            kind,
            cpu: 0,
            nic: 0,
        };
        if kind != Kind::Calc {
            op.peer = self.peer(cursor, kind)?;
        }
        self.options(cursor, &mut op)?;
        let index = self.schedule.ops.len() - self.part.first_op;
        if index >= MAX_OPS as usize {
            return Err(self.wrong("more operations", "at most 2147483648 a rank"));
        }
        self.part.cpus = self.part.cpus.max(u16::from(op.cpu) + 1);
        self.part.nics = self.part.nics.max(u16::from(op.nic) + 1);
        self.schedule.ops.push(&op, false);
        Ok(index as u32)
    }

    /// `b to N`, `b from N`.
    #[inline]
    fn peer(&mut self, cursor: &mut Cursor<'_>, kind: Kind) -> Result<u32, GoalError> {
        let (word, expected) = match kind {
            Kind::Send => (&b"to"[..], "b, to and a rank below num_ranks"),
            _ => (&b"from"[..], "b, from and a rank below num_ranks, or -1"),
        };
        cursor.sign(b'b');
        let before = cursor.rest;
        let fits = cursor.word() == word;
        let any = kind == Kind::Receive && cursor.sign(b'-');
        let peer = cursor.number();
        match (fits, any, peer) {
            (true, true, Some(1)) => Ok(ANY),
            (true, false, Some(peer)) if peer < self.ranks.unwrap_or(0) => Ok(peer as u32),
            _ => Err(self.wrong(Self::shown(&Cursor { rest: before }), expected)),
        }
    }

    /// `tag N`, `cpu N`, `nic N`.
    #[inline]
    fn options(&mut self, cursor: &mut Cursor<'_>, op: &mut Op) -> Result<(), GoalError> {
        while !cursor.is_done() {
            let before = cursor.rest;
            let word = cursor.word();
            let any = word == b"tag" && op.kind == Kind::Receive && cursor.sign(b'-');
            let number = cursor.number();
            match (word, number) {
                (b"tag", Some(1)) if any => op.tag = ANY,
                (b"tag", Some(tag)) if tag < u64::from(ANY) && !any && op.kind != Kind::Calc => {
                    op.tag = tag as u32
                }
                (b"cpu", Some(cpu)) if cpu < 256 => op.cpu = cpu as u8,
                (b"nic", Some(nic)) if nic < 256 => op.nic = nic as u8,
                _ => {
                    let found = Self::shown(&Cursor { rest: before });
                    return Err(self.wrong(
                        found,
                        "tag and a number below 2^32 - 1, or cpu or nic and one below 256",
                    ));
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Schedule, GoalError> {
        if self.ranks.is_none() {
            return Err(self.wrong("the end of the text", "num_ranks and a number"));
        }
        if let Some(rank) = self.rank.or(self.opening) {
            return Err(self.wrong(format!("the end of the text in rank {rank}"), "}"));
        }
        if self.in_comment {
            return Err(self.wrong("the end of the text in a comment", "*/"));
        }
        let wrong = self.wrong("2^31 lines with requires or irequires", "fewer");
        self.schedule.end().ok_or(wrong)
    }
}
