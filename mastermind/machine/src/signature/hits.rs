//! Hits of any cache at any size, from traces at some sizes.
//!
//! At a traced size with a number of sets whose stacks were kept the misses are exact. Elsewhere each instruction's
//! count, stride, run length and quantiles of the stack distance are interpolated over the size, and a formula gives
//! the probability that an access of a distance misses:
//!
//! ```text
//! the lines of the window go by a stride of s bytes     they fill S/gcd(s/64, S) sets evenly: a ramp
//! they go by small strides                              they fill all sets evenly: a ramp
//! they are irregular                                    as many of d of the F lines fall into a set as of a draw without replacement
//! ```
//!
//! # Source
//! The formula of strided windows and its bounds (a share of 0.6, a quarter of the count, 3 r) come from the study
//! behind this design, chosen on its own kernels. The draw without replacement is ours: it equals the binomial of M.D.
//! Hill, A.J. Smith, IEEE Trans. Comput. 38 (1989) 1612 (from memory, not checked) if the footprint F is far larger
//! than d, and fills all sets equally if d is near F.

use std::collections::{BTreeMap, BTreeSet};

use super::stacks::NEVER;
use super::trace::{Accesses, LINE_BYTES, QUANTILES};
use super::{MIN_SIZES, Quantity, Signature};

/// Share of its stride from which an instruction counts as strided.
const REGULAR: f64 = 0.6;

/// Part of an instruction's count that another one must have for its stride to determine the
/// window.
const RULES: f64 = 0.25;

/// Runs of a stride in a window from which on it no longer decides which sets are filled.
const RUNS: f64 = 3.0;

/// Ratio of the least to the greatest count of instructions of an unrolled loop. Arbitrary: the counts are equal except for
/// the rest of a row.
const UNROLLED: f64 = 0.8;

/// Maximum relative error of a form at a left-out size; beyond, it gives way to a power law between the two nearest
/// sizes.
const LOOSE: f64 = 0.25;

/// The share of an instruction whose stride is nearly always the same.
const LONGEST_RUN: f64 = 1e9;

/// A cache with lines of 64 bytes that replaces the least recently used line of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Sets.
    pub n_sets: usize,
    /// Lines of a set.
    pub ways: usize,
}

/// Pattern of the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// By up to a line.
    Sequential,
    /// By more than that.
    Strided,
    /// By nothing that repeats.
    Irregular,
}

/// Accesses and misses of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Misses {
    /// Accesses.
    pub accesses: f64,
    /// Misses by [`Pattern`].
    pub misses: [f64; 3],
    /// Whether they were counted and not computed. If so, they are divided among the patterns in proportion to the
    /// computed ones.
    pub is_exact: bool,
}

/// A part of an instruction's accesses at a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// How many.
    pub count: f64,
    /// Pattern of their addresses.
    pub pattern: Pattern,
    /// Whether they store.
    pub is_store: bool,
    /// Stack distance, lines.
    pub distance: f64,
    /// How likely one misses each of two caches.
    pub missed: [f64; 2],
}

/// Data of an instruction, over the size.
struct Instruction {
    is_store: bool,
    count: Curve,
    changes: Curve,
    run: Curve,
    /// `None` where strides are on no line.
    stride: Option<Line>,
    /// First addresses.
    firsts: Vec<(f64, f64)>,
    distances: Vec<Curve>,
}

/// A number that is on a line over the size, to a word: intercept and slope.
#[derive(Clone, Copy)]
struct Line([f64; 2]);

/// A quantity over the size.
struct Curve {
    points: Vec<(f64, f64)>,
    /// `None` if none of the forms holds.
    form: Option<Quantity>,
}

/// An instruction at a size.
struct AtSize<'m> {
    n: f64,
    of: &'m Instruction,
    count: f64,
    changes: f64,
    run: f64,
    stride: Option<i64>,
    distances: Vec<f64>,
}

/// The memory that a method uses, over the size.
pub struct MemoryModel<'s> {
    signature: &'s Signature,
    footprint: Curve,
    instructions: Vec<Instruction>,
}

impl Geometry {
    /// Of a cache of this many bytes.
    ///
    /// # Returns
    /// `None` if it has no whole number of sets.
    pub fn of(bytes: u64, ways: u64) -> Option<Self> {
        let set_bytes = ways.checked_mul(LINE_BYTES).filter(|of| *of > 0)?;
        let is_whole = bytes > 0 && bytes.is_multiple_of(set_bytes);
        is_whole.then_some(Self {
            n_sets: (bytes / set_bytes) as usize,
            ways: ways as usize,
        })
    }
}

impl Geometry {
    /// How much it holds.
    pub fn bytes(self) -> f64 {
        (self.n_sets * self.ways) as f64 * LINE_BYTES as f64
    }
}

impl Misses {
    /// All of them.
    pub fn total(&self) -> f64 {
        self.misses.iter().sum()
    }

    /// The share of accesses that are hits, 0 to 1.
    pub fn hit_rate(&self) -> f64 {
        1.0 - self.total() / self.accesses.max(1.0)
    }
}

impl Curve {
    fn of(points: Vec<(f64, f64)>, worth: f64) -> Self {
        let form = Quantity::over(&points, &vec![worth; points.len()]);
        Self {
            form: form.filter(|of| of.left_out <= LOOSE),
            points,
        }
    }

    /// At a size: the traced value, else that of the form, else that of the power law through the two
    /// nearest sizes.
    fn at(&self, n: f64) -> f64 {
        if let Some((_, value)) = self.points.iter().find(|(of, _)| *of == n) {
            return *value;
        }
        if let Some(form) = &self.form {
            return form.at(n);
        }
        let after = self.points.partition_point(|(of, _)| *of < n);
        let after = after.clamp(1, self.points.len().max(2) - 1);
        let [Some((n0, y0)), Some((n1, y1))] = [after - 1, after].map(|of| self.points.get(of))
        else {
            return self.points.first().map_or(0.0, |(_, value)| *value);
        };
        if *y0 <= 0.0 || *y1 <= 0.0 {
            let part = ((n - n0) / (n1 - n0)).clamp(0.0, 1.0);
            return y0 + (y1 - y0) * part;
        }
        let power = ((y1 / y0).ln() / (n1 / n0).ln()).clamp(0.0, 3.0);
        y1 * (n / n1).powf(power)
    }
}

impl Instruction {
    fn of(name: &str, sizes: &[f64], traced: &[Option<&Accesses>]) -> Self {
        let curve = |of: &dyn Fn(&Accesses) -> f64, worth: f64| {
            let points = sizes.iter().zip(traced);
            let points = points.map(|(n, traced)| (*n, traced.map_or(0.0, of)));
            Curve::of(points.collect(), worth)
        };
        // Where the instruction was not executed there is no distance either.
        let seen = |of: &dyn Fn(&Accesses) -> f64, worth: f64| {
            let points = sizes.iter().zip(traced);
            let points = points.filter_map(|(n, traced)| Some((*n, of((*traced)?))));
            Curve::of(points.collect(), worth)
        };
        Self {
            is_store: name.ends_with('w'),
            count: curve(&|of| of.count, 1.0),
            changes: curve(&|of| of.changes, 1.0),
            run: seen(&|of| (1.0 - of.share).recip().min(LONGEST_RUN), 1.0),
            stride: stride(sizes, traced),
            firsts: (sizes.iter().zip(traced))
                .filter_map(|(n, traced)| Some((*n, traced.as_ref()?.first as f64)))
                .collect(),
            distances: (0..QUANTILES)
                .map(|place| seen(&|of| of.distances.get(place).copied().unwrap_or(0.0), 1.0))
                .collect(),
        }
    }

    fn at(&self, n: f64) -> AtSize<'_> {
        let count = self.count.at(n);
        AtSize {
            n,
            of: self,
            count,
            changes: self.changes.at(n).min(count),
            run: self.run.at(n),
            stride: self.stride.map(|line| line.at(n).round() as i64),
            distances: self.distances.iter().map(|of| of.at(n)).collect(),
        }
    }
}

impl Line {
    /// A line through all points; `None` if one is off it, or there are no points.
    fn through(points: &[(f64, f64)]) -> Option<Self> {
        let (first, last) = (points.first()?, points.last()?);
        let by = match first.0 == last.0 {
            true => 0.0,
            false => (last.1 - first.1) / (last.0 - first.0),
        };
        let line = Self([first.1 - by * first.0, by]);
        // Over a size that is not a whole number of rows it is off by a word.
        let is_on = |(n, y): &(f64, f64)| (line.at(*n) - y).abs() <= 8.0;
        points.iter().all(is_on).then_some(line)
    }

    fn at(self, n: f64) -> f64 {
        self.0[0] + self.0[1] * n
    }
}

/// The line through the strides of the sizes at which there is one.
fn stride(sizes: &[f64], traced: &[Option<&Accesses>]) -> Option<Line> {
    let points = sizes.iter().zip(traced);
    let points = points.filter_map(|(n, traced)| {
        let of = traced.filter(|of| of.share >= REGULAR)?;
        Some((*n, of.stride as f64))
    });
    let points: Vec<(f64, f64)> = points.collect();
    let n_traced = traced.iter().flatten().count();
    (2 * points.len() > n_traced).then(|| Line::through(&points))?
}

impl<'s> MemoryModel<'s> {
    /// Of a signature with distances.
    ///
    /// # Returns
    /// `None` with fewer than [`MIN_SIZES`] sizes that have them.
    pub fn of(signature: &'s Signature) -> Option<Self> {
        let sizes = signature.sizes.iter();
        let (sizes, memories): (Vec<f64>, Vec<_>) = sizes
            .filter_map(|size| Some((size.n, size.memory.as_ref()?)))
            .unzip();
        if sizes.len() < MIN_SIZES {
            return None;
        }
        let mut by_name: BTreeMap<&str, Vec<Option<&Accesses>>> = BTreeMap::new();
        for (place, memory) in memories.iter().enumerate() {
            for of in &memory.instructions {
                let sizes = by_name
                    .entry(&of.at)
                    .or_insert_with(|| vec![None; memories.len()]);
                sizes[place] = Some(of);
            }
        }
        let footprints = sizes
            .iter()
            .zip(&memories)
            .map(|(n, of)| (*n, of.footprint));
        Some(Self {
            signature,
            footprint: Curve::of(footprints.collect(), 1.0),
            instructions: (by_name.iter())
                .map(|(name, of)| Instruction::of(name, &sizes, of))
                .collect(),
        })
    }

    /// Misses of a cache in a call of a size, exact if they were counted.
    pub fn misses(&self, n: f64, cache: Geometry) -> Misses {
        let mut misses = self.computed(n, cache);
        let traced = self.signature.sizes.iter().find(|size| size.n == n);
        let memory = traced.and_then(|size| size.memory.as_ref());
        if let Some(exact) = memory.and_then(|of| of.misses(cache.n_sets, cache.ways)) {
            let total = misses.total();
            let scale = |of: f64| {
                if total > 0.0 {
                    of * exact / total
                } else {
                    exact / 3.0
                }
            };
            misses.misses = misses.misses.map(scale);
            misses.is_exact = true;
        }
        misses
    }

    /// The same by the formulas, whether it was counted or not.
    pub fn computed(&self, n: f64, cache: Geometry) -> Misses {
        let mut found = Misses::default();
        self.each(n, [cache; 2], |part| {
            found.accesses += part.count;
            found.misses[part.pattern as usize] += part.count * part.missed[0];
        });
        found
    }

    /// All parts of a call of a size, with how likely they miss two caches.
    pub fn each(&self, n: f64, caches: [Geometry; 2], mut use_part: impl FnMut(Part)) {
        let all: Vec<AtSize<'_>> = self.instructions.iter().map(|of| of.at(n)).collect();
        let footprint = self.footprint.at(n);
        for of in &all {
            let window = Window::of(of, &all);
            for distance in &of.distances {
                use_part(Part {
                    count: of.count / QUANTILES as f64,
                    pattern: of.pattern(),
                    is_store: of.of.is_store,
                    distance: *distance,
                    missed: caches.map(|cache| window.miss(*distance, footprint, cache)),
                });
            }
        }
    }
}

impl AtSize<'_> {
    fn pattern(&self) -> Pattern {
        match self.stride {
            None => Pattern::Irregular,
            Some(stride) if stride.unsigned_abs() > LINE_BYTES => Pattern::Strided,
            Some(_) => Pattern::Sequential,
        }
    }

    /// Offset of another instruction of the same stride after this one, bytes; `None` if it is on no line over the
    /// size, as between arrays that are allocated separately.
    fn offset(&self, other: &Self) -> Option<i64> {
        let pairs = self.of.firsts.iter().filter_map(|(n, first)| {
            let (_, of) = other.of.firsts.iter().find(|(at, _)| at == n)?;
            Some((*n, of - first))
        });
        let line = Line::through(&Vec::from_iter(pairs))?;
        Some(line.at(self.n).round() as i64)
    }

    fn long_stride(&self) -> Option<i64> {
        self.stride.filter(|of| of.unsigned_abs() > LINE_BYTES)
    }
}

/// Distribution over the sets of the lines between two uses of a line.
enum Window {
    /// A share of them is strided, in runs of some length.
    Strided {
        bytes: u64,
        share: f64,
        run: f64,
        /// Offsets of other instructions with the same stride, as those of an unrolled loop.
        offsets: Vec<i64>,
    },
    Sequential,
    Irregular,
}

impl Window {
    fn of(own: &AtSize<'_>, all: &[AtSize<'_>]) -> Self {
        let others = all
            .iter()
            .filter(|of| of.long_stride().is_some() && of.count >= RULES * own.count);
        let ruling = match own.long_stride() {
            Some(_) => Some(own),
            None => others.max_by(|one, other| one.count.total_cmp(&other.count)),
        };
        let Some((ruling, stride)) = ruling.and_then(|of| Some((of, of.long_stride()?))) else {
            return match own.stride {
                Some(_) => Self::Sequential,
                None => Self::Irregular,
            };
        };
        let changes = |of: &AtSize<'_>| of.changes;
        let strided = || all.iter().filter(|of| of.stride == Some(stride));
        let share = strided().map(changes).sum::<f64>() / all.iter().map(changes).sum::<f64>();
        let alike = strided().filter(|of| {
            of.count >= UNROLLED * ruling.count && of.count * UNROLLED <= ruling.count
        });
        Self::Strided {
            offsets: alike.filter_map(|of| ruling.offset(of)).collect(),
            bytes: stride.unsigned_abs(),
            share,
            run: ruling.run,
        }
    }

    /// How likely an access misses.
    ///
    /// # Arguments
    /// * `distance` - its stack distance, lines
    /// * `footprint` - lines that the call uses
    fn miss(&self, distance: f64, footprint: f64, cache: Geometry) -> f64 {
        if distance >= NEVER as f64 {
            return 1.0;
        }
        let (d, sets, ways) = (distance, cache.n_sets as f64, cache.ways as f64);
        let evenly = |lines: f64, sets: f64| (lines + 1.0) / sets - 1.0;
        let others = match self {
            Self::Irregular => return drawn(d, footprint, cache),
            Self::Sequential => evenly(d, sets),
            Self::Strided {
                bytes,
                share,
                run,
                offsets,
            } => {
                let filled = match d * share > RUNS * run {
                    true => sets,
                    false => sets_of_stride(*bytes, offsets, cache.n_sets),
                };
                evenly(d * share, filled) + d * (1.0 - share) / sets
            }
        };
        (others - (ways - 1.0)).clamp(0.0, 1.0)
    }
}

/// Sets that lines of a stride fall into: of each begin those that are a multiple of the greatest common divisor away.
fn sets_of_stride(bytes: u64, offsets: &[i64], n_sets: usize) -> f64 {
    let all = LINE_BYTES * n_sets as u64;
    let (mut one, mut other) = (bytes, all);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    let divisor = one.max(LINE_BYTES);
    let begins = offsets.iter().chain([&0]);
    let begins = begins.map(|of| of.rem_euclid(divisor as i64) as u64);
    // Neighbours are mostly in one line.
    let (mut distinct, mut last) = (0, None);
    for begin in BTreeSet::from_iter(begins) {
        let is_near = |of: u64| begin < of + LINE_BYTES || begin + LINE_BYTES > divisor;
        if !last.is_some_and(is_near) {
            (distinct, last) = (distinct + 1, Some(begin));
        }
    }
    (distinct * (all / divisor)).min(n_sets as u64) as f64
}

/// Probability that, of d lines drawn from the others of a dense footprint, at least as many as the ways are in the set
/// of one line.
fn drawn(distance: f64, footprint: f64, cache: Geometry) -> f64 {
    let (sets, ways) = (cache.n_sets as f64, cache.ways as f64);
    let (d, mean) = (distance.round(), distance / sets);
    let all = footprint.max(d + 1.0) - 1.0;
    let of_set = ((all + 1.0) / sets - 1.0).round();
    if of_set < ways || d < ways {
        return 0.0;
    }
    // Ten standard deviations above: the first term has no place in a double.
    if mean > ways + 10.0 * mean.sqrt() {
        return 1.0;
    }
    match d <= 0.5 * all {
        true => 1.0 - at_most(ways - 1.0, d, of_set, all),
        // The same of the lines that are not drawn, which are fewer.
        false => at_most(of_set - ways, all - d, of_set, all),
    }
}

/// How likely of some draws without replacement at most `most` are of the `of_set` among all: the hypergeometric distribution.
fn at_most(most: f64, draws: f64, of_set: f64, all: f64) -> f64 {
    let first = (0..of_set as usize).map(|line| (all - draws - line as f64) / (all - line as f64));
    let mut term: f64 = first.map(|of| of.max(0.0)).product();
    let mut sum = term;
    for k in 0..most as usize {
        let k = k as f64;
        term *= (of_set - k) * (draws - k).max(0.0)
            / ((k + 1.0) * (all - of_set - draws + k + 1.0).max(1.0));
        sum += term;
    }
    sum.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_powers_of_two_fill_few_sets() {
        let of = |bytes, offsets: &[i64]| sets_of_stride(bytes, offsets, 64);
        assert_eq!(of(8, &[]), 64.0);
        assert_eq!(of(4096, &[]), 1.0);
        assert_eq!(of(4096 + 64, &[]), 64.0);
        assert_eq!(of(1024, &[]), 4.0);
        // Unrolled twice: a stride of half as much.
        assert_eq!(of(2048, &[1024, 0]), 4.0);
        assert_eq!(of(2048, &[8, -8, -2048]), 2.0);
    }

    #[test]
    fn a_draw_from_much_is_the_binomial_and_from_little_is_even() {
        let cache = Geometry {
            n_sets: 64,
            ways: 8,
        };
        // 1 - Σ C(d,k) S^-k (1-1/S)^(d-k), k < 8, d = 400.
        let mut term = (1.0_f64 - 1.0 / 64.0).powi(400);
        let mut below = term;
        for k in 0..7 {
            term *= (400.0 - k as f64) / (k as f64 + 1.0) / 63.0;
            below += term;
        }
        assert!((drawn(400.0, 1e6, cache) - (1.0 - below)).abs() < 1e-3);
        assert_eq!(drawn(500.0, 512.0, cache), 0.0);
        assert_eq!(drawn(1e5, 1e6, cache), 1.0);
        assert!(drawn(600.0, 640.0, cache) > 0.9);
    }

    #[test]
    fn geometries_have_whole_sets() {
        let cache = Geometry {
            n_sets: 64,
            ways: 8,
        };
        assert_eq!(Geometry::of(32768, 8), Some(cache));
        assert_eq!(Geometry::of(32768, 7), None);
        assert_eq!(Geometry::of(0, 8), None);
        assert_eq!(Geometry::of(64, 0), None);
    }
}
