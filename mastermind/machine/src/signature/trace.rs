//! The accesses of a call, as the valgrind tool `valgrind/distances.c` writes them, summed up as they come.
//!
//! Input: words of 64 bits, each an access (the number of its instruction and its address) or a mark, then lines of
//! text that describe the instructions. Output: [`Memory`] of the last call. The stacks run over all calls, so the last
//! one finds caches that earlier calls have filled; accesses outside of the calls are not in the trace.
//!
//! A tool of our own rather than lackey: lackey writes a line of text for each access and each instruction of the whole
//! program, a microsecond each; this one writes eight bytes for each access of one function, about fifty times less.
//! The stacks are here and not in the tool because the pipe between them lets both run at the same time, and because a
//! tool has no tests.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use serde::{Deserialize, Serialize};

use super::stacks::{AllSets, MAX_WAYS, NEVER, SETS, Stack};

/// Bytes of a line, the same for all caches.
pub const LINE_BYTES: u64 = 64;

/// Quantiles of stack distances that are kept for an instruction. With 32, an error of a hit rate is at most a sixty-fourth for each
/// working set that an instruction has; more make files larger.
pub const QUANTILES: usize = 32;

/// Strides of an instruction that are counted: beyond these the rarest gives its place up.
const STRIDES: usize = 8;

/// Upper 16 bits of a word that is a mark.
const MARK: u64 = 0xffff;

/// Marks.
const BEGIN: u64 = 1;
const END: u64 = 2;
const TEXT: u64 = 3;

/// The bit of a mark with the number of bytes that an instruction accesses.
const BYTES: u64 = 1 << 40;

/// Reads and writes of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Distinct lines of it.
    pub footprint: f64,
    /// By instruction, in the order of their names.
    pub instructions: Vec<Accesses>,
    /// For each number of sets, accesses by the place of their line in the stack of its set; the last number is of those beyond
    /// [`MAX_WAYS`].
    pub sets: BTreeMap<usize, Vec<f64>>,
}

/// The loads or the stores of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accesses {
    /// Object file, address in it, and `r` or `w`.
    pub at: String,
    /// How many.
    pub count: f64,
    /// The most frequent difference of an address from the one before, bytes.
    pub stride: i64,
    /// Its share of the accesses.
    pub share: f64,
    /// The first address of the call.
    pub first: u64,
    /// Accesses of another line than the access before.
    pub changes: f64,
    /// Stack distances at the middle of each of [`QUANTILES`] equal parts, ascending, lines.
    pub distances: Vec<f64>,
}

/// Contents of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Calls of the function.
    pub n_calls: usize,
    /// Accesses of the last one.
    pub memory: Memory,
    /// Instructions of the last one, by type.
    pub counts: BTreeMap<String, f64>,
}

/// An instruction while it is counted.
#[derive(Clone, Default)]
struct Counting {
    bytes: u64,
    at: String,
    count: u64,
    changes: u64,
    first: u64,
    last: Option<u64>,
    strides: Vec<(i64, u64)>,
    /// By [`bin`].
    distances: Vec<u64>,
}

/// Everything while it is counted.
struct Counter {
    stack: Stack,
    all_sets: AllSets,
    instructions: Vec<Counting>,
    sets: [[u64; MAX_WAYS + 1]; SETS.len()],
    /// Accesses of the line before, which are at place 0 of all sets.
    n_same: u64,
    last: u64,
    /// Lines of the call, by their distance at its first use of them.
    first_uses: u64,
    seen: UsedLines,
}

/// Which lines the present call has used.
#[derive(Default)]
struct UsedLines {
    pages: std::collections::HashMap<u64, Box<[u64; 64]>>,
}

impl UsedLines {
    /// Whether a line is new.
    fn is_new(&mut self, line: u64) -> bool {
        let page = self
            .pages
            .entry(line >> 12)
            .or_insert_with(|| Box::new([0; 64]));
        let (word, bit) = (&mut page[(line >> 6) as usize & 63], 1 << (line & 63));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// Reads a trace.
///
/// # Errors
/// It cannot be read, ends before its text, or its text is invalid.
pub fn read(input: impl Read) -> io::Result<Trace> {
    let mut input = io::BufReader::with_capacity(1 << 16, input);
    let mut counter = Counter::new();
    let mut n_calls = 0;
    loop {
        let mut word = [0; 8];
        input.read_exact(&mut word)?;
        let word = u64::from_ne_bytes(word);
        let (number, value) = (word >> 48, word & ((1 << 48) - 1));
        match (number, value) {
            (MARK, BEGIN) => {
                n_calls += 1;
                counter.begin();
            }
            (MARK, END) => {}
            (MARK, TEXT) => break,
            (MARK, value) if value & BYTES != 0 => {
                counter.instruction((value >> 16 & 0xffff) as usize).bytes = value & 0xffff;
            }
            (MARK, _) => return Err(wrong(format!("mark {value}"))),
            _ => counter.access(number as usize, value),
        }
    }
    let counts = counter.read_text(&mut input)?;
    Ok(Trace {
        n_calls,
        memory: counter.into_memory(),
        counts,
    })
}

fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} in a trace"))
}

impl Counter {
    fn new() -> Self {
        Self {
            stack: Stack::default(),
            all_sets: AllSets::default(),
            instructions: Vec::new(),
            sets: [[0; MAX_WAYS + 1]; SETS.len()],
            n_same: 0,
            last: u64::MAX,
            first_uses: 0,
            seen: UsedLines::default(),
        }
    }

    /// A call begins: the counts of the one before are dropped, the stacks stay.
    fn begin(&mut self) {
        self.instructions.iter_mut().for_each(Counting::clear);
        self.sets = [[0; MAX_WAYS + 1]; SETS.len()];
        self.n_same = 0;
        self.first_uses = 0;
        self.seen = UsedLines::default();
    }

    fn instruction(&mut self, number: usize) -> &mut Counting {
        if number >= self.instructions.len() {
            self.instructions.resize_with(number + 1, Counting::default);
        }
        &mut self.instructions[number]
    }

    fn access(&mut self, number: usize, address: u64) {
        let bytes = self.instruction(number).bytes.max(1);
        let distance = self.access_lines(address / LINE_BYTES, (address + bytes - 1) / LINE_BYTES);
        self.instructions[number].add(address, distance);
    }

    /// An access of a line or, if it crosses the border of two, of both; it misses if one of them does.
    fn access_lines(&mut self, first: u64, second: u64) -> u64 {
        if first == self.last && second == first {
            self.n_same += 1;
            return 0;
        }
        let (mut distance, mut places) = self.access_line(first);
        if second != first {
            let (other, others) = self.access_line(second);
            distance = distance.max(other);
            for (place, other) in places.iter_mut().zip(others) {
                *place = other.max(*place);
            }
        }
        self.last = second;
        for (counts, place) in self.sets.iter_mut().zip(places) {
            counts[place] += 1;
        }
        distance
    }

    fn access_line(&mut self, line: u64) -> (u64, [usize; SETS.len()]) {
        self.first_uses += u64::from(self.seen.is_new(line));
        (self.stack.access(line), self.all_sets.access(line))
    }

    /// The lines behind the accesses.
    fn read_text(&mut self, input: &mut impl BufRead) -> io::Result<BTreeMap<String, f64>> {
        let mut counts = BTreeMap::new();
        for line in input.lines() {
            let line = line?;
            let mut words = line.split(' ');
            let read = match words.next() {
                Some("count") => (|| {
                    let name = words.next()?;
                    counts.insert(name.to_owned(), words.next()?.parse().ok()?);
                    Some(())
                })(),
                Some("at") => (|| {
                    let number: usize = words.next()?.parse().ok()?;
                    let (kind, offset) = (words.next()?, words.next()?);
                    let object = words.collect::<Vec<_>>().join(" ");
                    let object = object.rsplit('/').next().unwrap_or_default().to_owned();
                    if let Some(of) = self.instructions.get_mut(number) {
                        of.at = format!("{object}+{offset}{kind}");
                    }
                    Some(())
                })(),
                _ => None,
            };
            read.ok_or_else(|| wrong(format!("line \"{line}\"")))?;
        }
        Ok(counts)
    }

    fn into_memory(self) -> Memory {
        let used = self.instructions.iter().filter(|of| of.count > 0);
        let mut instructions: Vec<Accesses> = used.map(Counting::accesses).collect();
        instructions.sort_by(|one, other| one.at.cmp(&other.at));
        let sets = SETS.into_iter().zip(&self.sets).map(|(n_sets, counts)| {
            let mut counts: Vec<f64> = counts.iter().map(|n| *n as f64).collect();
            counts[0] += self.n_same as f64;
            (n_sets, counts)
        });
        Memory {
            footprint: self.first_uses as f64,
            instructions,
            sets: sets.collect(),
        }
    }
}

impl Counting {
    fn clear(&mut self) {
        (self.count, self.changes, self.last) = (0, 0, None);
        self.strides.clear();
        self.distances.clear();
    }

    fn add(&mut self, address: u64, distance: u64) {
        self.count += 1;
        if let Some(last) = self.last {
            self.changes += u64::from(last / LINE_BYTES != address / LINE_BYTES);
            self.add_stride(address.wrapping_sub(last) as i64);
        } else {
            self.changes += 1;
            self.first = address;
        }
        self.last = Some(address);
        let bin = bin(distance);
        if bin >= self.distances.len() {
            self.distances.resize(bin + 1, 0);
        }
        self.distances[bin] += 1;
    }

    fn add_stride(&mut self, stride: i64) {
        if let Some((_, n)) = self.strides.iter_mut().find(|(of, _)| *of == stride) {
            *n += 1;
        } else if self.strides.len() < STRIDES {
            self.strides.push((stride, 1));
        } else {
            // Misra and Gries: a value more frequent than one in nine stays.
            self.strides.iter_mut().for_each(|(_, n)| *n -= 1);
            self.strides.retain(|(_, n)| *n > 0);
        }
    }

    fn accesses(&self) -> Accesses {
        let most = self.strides.iter().max_by_key(|(_, n)| *n);
        let (stride, n) = most.copied().unwrap_or((0, 0));
        Accesses {
            at: self.at.clone(),
            count: self.count as f64,
            stride,
            share: n as f64 / (self.count - 1).max(1) as f64,
            first: self.first,
            changes: self.changes as f64,
            distances: self.quantiles(),
        }
    }

    fn quantiles(&self) -> Vec<f64> {
        let mut quantiles = Vec::with_capacity(QUANTILES);
        let mut below = 0.0;
        for (bin, n) in self.distances.iter().enumerate() {
            let n = *n as f64;
            while quantiles.len() < QUANTILES {
                let rank = (quantiles.len() as f64 + 0.5) / QUANTILES as f64 * self.count as f64;
                if n == 0.0 || rank > below + n {
                    break;
                }
                let [low, high] = [bin, bin + 1].map(bin_start);
                quantiles.push(low + (high - low - 1.0).max(0.0) * (rank - below) / n);
            }
            below += n;
        }
        quantiles
    }
}

/// Sixteen bins an octave; up to 16 one for each number.
fn bin(distance: u64) -> usize {
    match distance {
        0 => 0,
        _ => ((distance as f64).to_bits() >> 48) as usize - (1023 << 4) + 1,
    }
}

/// The least distance of a bin.
fn bin_start(bin: usize) -> f64 {
    match bin.checked_sub(1) {
        None => 0.0,
        Some(bin) => f64::from_bits(((bin + (1023 << 4)) as u64) << 48),
    }
}

impl Accesses {
    /// Whether a distance marks a line that was never used before.
    pub fn is_first(distance: f64) -> bool {
        distance >= NEVER as f64
    }
}

impl Memory {
    /// Misses of a cache of this many sets and ways, exactly; `None` if they were not counted.
    ///
    /// # Arguments
    /// * `n_sets`, `ways` - of the cache, with lines of 64 bytes and least recently used replacement
    pub fn misses(&self, n_sets: usize, ways: usize) -> Option<f64> {
        let counts = self.sets.get(&n_sets)?;
        (ways < counts.len()).then(|| counts[ways..].iter().sum())
    }

    /// All accesses.
    pub fn accesses(&self) -> f64 {
        self.instructions.iter().map(|of| of.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace of calls that each go over an array by a stride.
    fn trace(calls: &[(u64, u64)]) -> Vec<u8> {
        let mut words = vec![MARK << 48 | BYTES | 2 << 16 | 8];
        for (n, stride) in calls {
            words.push(MARK << 48 | BEGIN);
            words.extend((0..*n).map(|i| 2 << 48 | (0x10000 + i * stride)));
            words.push(MARK << 48 | END);
        }
        words.push(MARK << 48 | TEXT);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(b"count instructions 12\nat 2 r 4a0 /lib/a b.so\n");
        bytes
    }

    #[test]
    fn the_last_call_counts_and_the_others_fill_the_caches() {
        let found = read(&trace(&[(3, 8), (640, 64), (640, 64)])[..]).unwrap();
        assert_eq!((found.n_calls, found.counts["instructions"]), (3, 12.0));
        let [of] = &found.memory.instructions[..] else {
            panic!("{found:?}");
        };
        assert_eq!(
            (of.at.as_str(), of.count, of.stride),
            ("a b.so+4a0r", 640.0, 64)
        );
        assert_eq!((of.share, of.changes), (1.0, 640.0));
        assert_eq!(found.memory.footprint, 640.0);
        assert!(
            of.distances.iter().all(|d| (d - 639.0).abs() < 32.0),
            "{of:?}"
        );
        // Ten lines in each of 64 sets.
        assert_eq!(found.memory.misses(64, 10), Some(0.0));
        assert_eq!(found.memory.misses(64, 9), Some(640.0));
        assert_eq!(found.memory.misses(60, 9), None);
    }

    #[test]
    fn a_trace_that_is_cut_is_an_error() {
        let whole = trace(&[(100, 8)]);
        assert!(read(&whole[..400]).is_err());
        assert!(read(&whole[..whole.len() - 5]).is_ok());
        assert!(read(&[&whole[..], b"at x\n"].concat()[..]).is_err());
    }

    #[test]
    fn bins_hold_their_distances() {
        for distance in (0..100_000).chain([NEVER]) {
            let bin = bin(distance);
            let range = bin_start(bin)..bin_start(bin + 1);
            assert!(range.contains(&(distance as f64)), "{distance}");
        }
    }
}
