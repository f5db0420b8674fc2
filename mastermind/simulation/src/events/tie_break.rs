//! The tie-break key: which of two events of one nanosecond comes first. The one that was scheduled first does.

/// When an event was scheduled, when the event that scheduled it was, and so on back, seven times in all; the earlier is
/// the lesser.
///
/// All but the last are kept as the distance to the next, of 32 bits, complemented so that an earlier
/// one is less; distances of more than 4.29 s count as equal. Two distances share one word, the later
/// one in its upper half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TieBreak {
    last_ns: u64,
    before: [u64; 3],
}

impl TieBreak {
    /// The key of initial events.
    pub(crate) const START: Self = Self {
        last_ns: 0,
        before: [u64::MAX; 3],
    };

    /// When the event was scheduled.
    #[inline]
    pub(crate) fn last_ns(self) -> u64 {
        self.last_ns
    }

    /// The key of an event that one of this key schedules at `now_ns`.
    #[inline]
    pub(crate) fn then(self, now_ns: u64) -> Self {
        let distance = (now_ns - self.last_ns).min(u64::from(u32::MAX)) as u32;
        let [a, b, c] = self.before;
        Self {
            last_ns: now_ns,
            before: [
                u64::from(!distance) << 32 | a >> 32,
                a << 32 | b >> 32,
                b << 32 | c >> 32,
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TieBreak;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chains_compare_as_the_times_they_stand_for(
            a in prop::collection::vec(0..4_u64, 7),
            b in prop::collection::vec(0..4_u64, 7),
        ) {
            let times = |steps: &[u64]| {
                let mut now = 0;
                let times = steps.iter().map(|step| { now += step; now });
                times.collect::<Vec<u64>>()
            };
            let chain = |times: &[u64]| times.iter().fold(TieBreak::START, |chain, t| chain.then(*t));
            let (a, b) = (times(&a), times(&b));
            let backwards = |times: &[u64]| times.iter().rev().copied().collect::<Vec<_>>();
            prop_assert_eq!(chain(&a).cmp(&chain(&b)), backwards(&a).cmp(&backwards(&b)));
        }
    }
}
