//! The time of a thread by method, in bins of equal width.
//!
//! Records are in the order in which calls ended. So when a call's record is read, the calls made from it have been read, and the time
//! in a bin that they did not take is the call's own. Only the first bin of a call also contains earlier calls; its part there is what
//! remains of the call's exclusive time.
//!
//! ```text
//! bins        |           |           |           |
//! go          ############################################
//! flux           ##### #####            #######
//! own of go   ###     #     ############       ###########     first bin: the rest; others: width minus flux
//! ```

/// Time of a method in a bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BinPart {
    pub(super) bin: u32,
    pub(super) method: u32,
    pub(super) ns: u64,
}

/// Parts by bin, each bin's by method.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bins {
    /// Index of the first part of each bin, and the number of parts. Shape `[bins + 1]`.
    pub(super) starts: Vec<u32>,
    pub(super) methods: Vec<u32>,
    /// Nanoseconds.
    pub(super) times: Vec<f32>,
}

impl Bins {
    /// # Arguments
    /// * `parts` - in the order of bins and methods, each pair once
    pub(super) fn of(parts: &[BinPart], n_bins: usize) -> Self {
        let mut starts = vec![0; n_bins + 1];
        for part in parts {
            starts[part.bin as usize + 1] += 1;
        }
        for bin in 0..n_bins {
            starts[bin + 1] += starts[bin];
        }
        Self {
            starts,
            methods: parts.iter().map(|part| part.method).collect(),
            times: parts.iter().map(|part| part.ns as f32).collect(),
        }
    }

    /// Methods and times of a range of bins.
    pub(super) fn of_range(
        &self,
        bins: std::ops::Range<usize>,
    ) -> impl Iterator<Item = (u32, f32)> {
        let (from, to) = (self.starts[bins.start], self.starts[bins.end]);
        let parts = from as usize..to as usize;
        let methods = self.methods[parts.clone()].iter();
        methods.copied().zip(self.times[parts].iter().copied())
    }
}

/// Sorts parts, and adds up those of one bin and method.
pub(super) fn add_up(parts: &mut Vec<BinPart>) {
    parts.sort_unstable_by_key(|part| (part.bin, part.method));
    parts.dedup_by(|next, first| {
        let is_same = (next.bin, next.method) == (first.bin, first.method);
        if is_same {
            first.ns += next.ns;
        }
        is_same
    });
}

/// Collects the parts of one thread.
#[derive(Debug)]
pub(super) struct ThreadBins {
    bin_ns: u64,
    /// Time of all calls so far in each bin.
    covered_ns: Vec<u64>,
    /// The bin of the latest short call, and the sums in it, by method.
    latest: usize,
    sums_ns: Vec<u64>,
    /// Methods with a sum.
    summed: Vec<u32>,
    parts: Vec<BinPart>,
}

impl ThreadBins {
    /// # Arguments
    /// * `bin_ns` - the width of a bin, at least 1
    pub(super) fn new(bin_ns: u64, n_bins: usize, n_methods: usize) -> Self {
        Self {
            bin_ns,
            covered_ns: vec![0; n_bins],
            latest: 0,
            sums_ns: vec![0; n_methods],
            summed: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// The bin of a moment.
    #[inline]
    pub(super) fn bin(&self, ns: u64) -> usize {
        ((ns / self.bin_ns) as usize).min(self.covered_ns.len() - 1)
    }

    /// Adds a call, after the calls made from it.
    ///
    /// # Arguments
    /// * `begin_ns`, `end_ns` - since the beginning of the first bin
    /// * `own_ns` - its exclusive time; a larger number if that is not known
    ///
    /// # Returns
    /// The bins in which it began and ended.
    #[inline]
    pub(super) fn add(
        &mut self,
        method: u32,
        begin_ns: u64,
        end_ns: u64,
        own_ns: u64,
    ) -> (usize, usize) {
        let first = self.bin(begin_ns);
        let last = self.bin(end_ns.saturating_sub(1)).max(first);
        if first < last {
            self.add_long(method, begin_ns, end_ns, own_ns);
            return (first, last);
        }
        if first != self.latest {
            self.end_bin();
            self.latest = first;
        }
        let free_ns = self.bin_ns.saturating_sub(self.covered_ns[first]);
        let own_ns = own_ns.min(end_ns - begin_ns).min(free_ns);
        let sum = &mut self.sums_ns[method as usize];
        if *sum == 0 && own_ns > 0 {
            self.summed.push(method);
        }
        *sum += own_ns;
        self.covered_ns[first] += own_ns;
        (first, last)
    }

    /// Adds a call over several bins.
    fn add_long(&mut self, method: u32, begin_ns: u64, end_ns: u64, own_ns: u64) {
        let (first, last) = (self.bin(begin_ns), self.bin(end_ns - 1));
        let mut rest_ns = own_ns;
        for bin in (first + 1..=last).rev() {
            let in_bin_ns = (end_ns - bin as u64 * self.bin_ns).min(self.bin_ns);
            let free_ns = in_bin_ns.saturating_sub(self.covered_ns[bin]);
            rest_ns = rest_ns.saturating_sub(free_ns);
            self.add_part(bin, method, free_ns);
        }
        let in_first_ns = (first as u64 + 1) * self.bin_ns - begin_ns;
        let free_ns = self.bin_ns.saturating_sub(self.covered_ns[first]);
        self.add_part(first, method, rest_ns.min(in_first_ns).min(free_ns));
    }

    fn add_part(&mut self, bin: usize, method: u32, ns: u64) {
        if ns > 0 {
            self.covered_ns[bin] += ns;
            let bin = bin as u32;
            self.parts.push(BinPart { bin, method, ns });
        }
    }

    fn end_bin(&mut self) {
        let bin = self.latest as u32;
        for method in self.summed.drain(..) {
            let ns = std::mem::take(&mut self.sums_ns[method as usize]);
            self.parts.push(BinPart { bin, method, ns });
        }
    }

    /// The parts, in the order of bins and methods.
    pub(super) fn finish(mut self) -> Vec<BinPart> {
        self.end_bin();
        add_up(&mut self.parts);
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Strategy, any, prop, proptest};

    /// A call with calls in it: its beginning and end.
    #[derive(Clone, Debug)]
    struct Tree {
        method: u32,
        begin: u64,
        end: u64,
        inner: Vec<Tree>,
    }

    /// Cuts a span at random places, as often as `shape` has numbers, each cut a call with calls in it.
    fn tree(begin: u64, end: u64, shape: &[u64], depth: usize) -> Tree {
        let method = (shape.first().copied().unwrap_or(0) % 3) as u32;
        let mut inner = Vec::new();
        let mut now = begin;
        if depth > 0 && !shape.is_empty() {
            for (place, number) in shape.iter().enumerate() {
                let from = now + number % 7;
                let to = from + number % 41;
                if to > end {
                    break;
                }
                inner.push(tree(from, to, &shape[place + 1..], depth - 1));
                now = to;
            }
        }
        Tree {
            method,
            begin,
            end,
            inner,
        }
    }

    fn add(bins: &mut ThreadBins, tree: &Tree, owner: &mut [Option<u32>]) {
        owner[tree.begin as usize..tree.end as usize].fill(Some(tree.method));
        let mut own = tree.end - tree.begin;
        for inner in &tree.inner {
            add(bins, inner, owner);
            own -= inner.end - inner.begin;
        }
        bins.add(tree.method, tree.begin, tree.end, own);
    }

    proptest! {
        /// Each nanosecond belongs to the innermost call.
        #[test]
        fn the_time_in_a_bin_is_that_of_the_innermost_calls(
            shape in prop::collection::vec(any::<u64>(), 1..12),
            bin_ns in 1_u64..60,
            begin in (0_u64..50).prop_map(|begin| begin),
        ) {
            let (end, span) = (begin + 300, 400_u64);
            let n_bins = span.div_ceil(bin_ns) as usize;
            let mut bins = ThreadBins::new(bin_ns, n_bins, 3);
            let mut owner = vec![None; span as usize];
            add(&mut bins, &tree(begin, end, &shape, 3), &mut owner);
            let mut expected = Vec::new();
            for (ns, method) in owner.iter().enumerate() {
                let bin = (ns as u64 / bin_ns) as u32;
                expected.extend(method.map(|method| BinPart { bin, method, ns: 1 }));
            }
            add_up(&mut expected);
            assert_eq!(bins.finish(), expected);
        }
    }
}
