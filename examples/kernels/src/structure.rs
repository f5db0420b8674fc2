//! Decomposition of a Fourier transform, on which its cost depends besides its length.
//!
//! # Source
//! `rustfft` 6.4.1, `src/avx/avx_planner.rs`: the lengths with their own kernel, and the algorithms for lengths with
//! factors other than 2, 3, 5, 7 and 11.

/// Prime factors with mixed-radix steps.
const STEPS: [usize; 5] = [2, 3, 5, 7, 11];

/// Lengths besides those of [`STEPS`] that have their own kernel.
const KERNELS: [usize; 6] = [13, 17, 19, 23, 29, 31];

/// How a transform is calculated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Steps for small factors only.
    Steps,
    /// A kernel for one larger factor.
    Kernel,
    /// Rader's algorithm for a large prime p: two transforms of p - 1.
    Rader,
    /// Bluestein's algorithm for large factors: two transforms of at least twice their product.
    Bluestein,
}

impl Kind {
    /// All algorithms.
    pub const ALL: [Kind; 4] = [Kind::Steps, Kind::Kernel, Kind::Rader, Kind::Bluestein];

    /// The label in a table.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Steps => "steps",
            Kind::Kernel => "kernel",
            Kind::Rader => "Rader",
            Kind::Bluestein => "Bluestein",
        }
    }
}

/// Properties of a length that are known without a measurement.
pub struct Structure {
    /// The length.
    pub n: usize,
    /// How it is calculated.
    pub kind: Kind,
    /// Points times the cost of their factors, summed over all inner transforms.
    pub work: usize,
}

impl Structure {
    /// Computes the structure of a length.
    pub fn of(n: usize) -> Self {
        let (small, others): (Vec<usize>, Vec<usize>) =
            factors(n).into_iter().partition(|p| STEPS.contains(p));
        let other: usize = others.iter().product();
        let steps = n * costs(&small);
        let twice = |inner: usize| 2 * (n / other) * inner * costs(&factors(inner));
        let (kind, work) = match others.len() {
            0 => (Kind::Steps, steps),
            _ if KERNELS.contains(&other) => (Kind::Kernel, steps + n * cost(other)),
            1 if has_kernels(other - 1) => (Kind::Rader, steps + twice(other - 1)),
            _ => (Kind::Bluestein, steps + twice(padded(other))),
        };
        Self { n, kind, work }
    }
}

/// Cost of factors for each point.
fn costs(factors: &[usize]) -> usize {
    factors.iter().map(|p| cost(*p)).sum()
}

/// Cost of a prime factor for each point, in units of a factor of 2: factors 2 and 3 are combined to steps of 8, 9 or 12.
fn cost(factor: usize) -> usize {
    match factor {
        2 => 1,
        3 => 2,
        5 => 4,
        7 | 11 => 5,
        kernel => kernel * 3 / 4,
    }
}

/// Whether steps and at most one kernel suffice for a length.
fn has_kernels(n: usize) -> bool {
    let others = factors(n).into_iter().filter(|p| !STEPS.contains(p));
    let other = others.product();
    other == 1 || KERNELS.contains(&other)
}

/// The inner length of Bluestein's algorithm for length `n`: the smallest sufficient one with no factors but 2 and 3 that is a
/// multiple of 4; large ones are multiples of 3.
fn padded(n: usize) -> usize {
    let least = 2 * n - 1;
    let lengths = (0..20_u32).filter_map(|threes| {
        let odd = 3_usize.pow(threes);
        let even = least.div_ceil(odd).next_power_of_two().max(4);
        let is_slow = matches!((threes, even.ilog2()), (0, 14..) | (..4, 15..));
        (!is_slow).then_some(odd * even)
    });
    lengths.min().unwrap_or(least)
}

/// The prime factors, in ascending order.
fn factors(mut n: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut factor = 2;
    while factor * factor <= n {
        while n.is_multiple_of(factor) {
            found.push(factor);
            n /= factor;
        }
        factor += 1;
    }
    if n > 1 {
        found.push(n);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_taken_apart() {
        let of = |n| {
            let Structure { kind, work, .. } = Structure::of(n);
            (kind, work)
        };
        assert_eq!(of(12), (Kind::Steps, 12 * 4));
        assert_eq!(of(26), (Kind::Kernel, 26 * 10));
        assert_eq!(of(2 * 37), (Kind::Rader, 74 + 4 * 36 * 6));
        assert_eq!(of(47).0, Kind::Rader, "46 has a kernel for 23");
        // 2 · 83 - 1 = 165, for which 192 suffices.
        assert_eq!(of(83), (Kind::Bluestein, 2 * 192 * 8));
    }
}
