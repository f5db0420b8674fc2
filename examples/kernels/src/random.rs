//! Pseudorandom numbers, reproducible for each seed.

/// A generator of numbers.
///
/// # Source
/// G.L. Steele, D. Lea, C.H. Flood, OOPSLA 2014: SplitMix64 (recalled, not looked up).
pub struct Random(pub u64);

impl Random {
    /// A random integer of 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A size between `low` and `high`, with all decades equally likely.
    pub fn size(&mut self, low: f64, high: f64) -> usize {
        (low * (high / low).powf(self.unit())).round() as usize
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = (self.unit() * (i + 1) as f64) as usize;
            items.swap(i, j);
        }
    }
}
