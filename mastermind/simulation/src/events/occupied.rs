//! Which buckets of a ring are not empty.

/// One bit for each bucket, 64 in each of `WORDS` words.
pub(crate) struct OccupiedBuckets<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for OccupiedBuckets<WORDS> {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

impl<const WORDS: usize> OccupiedBuckets<WORDS> {
    const BUCKETS: usize = WORDS * 64;

    #[inline]
    pub(crate) fn set(&mut self, bucket: usize) {
        self.0[bucket / 64] |= 1 << (bucket % 64);
    }

    #[inline]
    pub(crate) fn clear(&mut self, bucket: usize) {
        self.0[bucket / 64] &= !(1 << (bucket % 64));
    }

    /// The first window from `from` on whose bucket is not empty; a window is in the bucket of its remainder.
    pub(crate) fn next(&self, from: u64) -> Option<u64> {
        let start = from as usize % Self::BUCKETS;
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let mut bits = self.0[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == WORDS {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let bucket = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (bucket + Self::BUCKETS - start) % Self::BUCKETS;
                return Some(from + ahead as u64);
            }
        }
        None
    }
}
