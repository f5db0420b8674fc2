//! Slope limiters.

/// A limited slope of a cell from the differences to its two neighbours.
pub trait Limiter {
    /// The slope, in units of the variable per cell.
    ///
    /// # Arguments
    /// * `a` - difference to the lower neighbour, `w[i] - w[i-1]`
    /// * `b` - difference to the upper neighbour, `w[i+1] - w[i]`
    ///
    /// # Returns
    /// 0 where `a` and `b` differ in sign, so that no new extremum arises. Odd in `(a, b)` and
    /// symmetric in its arguments, bit for bit.
    fn slope(a: f64, b: f64) -> f64;
}

/// Monotonized central: the central slope, limited to twice either difference.
///
/// # Source
/// Case study, section 4.1: `sgn · min(2|a|, 2|b|, |a + b|/2)` if `ab > 0`, else 0.
#[derive(Clone, Copy, Debug)]
pub struct Mc;

impl Limiter for Mc {
    #[inline(always)]
    fn slope(a: f64, b: f64) -> f64 {
        let one_sided = 2.0 * smaller(a.abs(), b.abs());
        limited(a, b, smaller(one_sided, 0.5 * (a + b).abs()))
    }
}

/// Minmod: the smaller of the two differences; the most diffusive limiter.
///
/// # Source
/// Case study, section 4.1: `sgn · min(|a|, |b|)` if `ab > 0`, else 0.
#[derive(Clone, Copy, Debug)]
pub struct Minmod;

impl Limiter for Minmod {
    #[inline(always)]
    fn slope(a: f64, b: f64) -> f64 {
        limited(a, b, smaller(a.abs(), b.abs()))
    }
}

/// `size` with the common sign of `a` and `b`, or 0 if their signs differ.
#[inline(always)]
fn limited(a: f64, b: f64, size: f64) -> f64 {
    if a * b > 0.0 { size.copysign(a) } else { 0.0 }
}

/// The smaller number. Unlike `f64::min` this is one machine instruction: no case for NaN.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc_takes_the_smallest_of_three() {
        assert_eq!(Mc::slope(1.0, 1.5), 1.25);
        assert_eq!(Mc::slope(1.0, 9.0), 2.0);
        assert_eq!(Mc::slope(-9.0, -1.0), -2.0);
        assert_eq!(Mc::slope(1.0, -1.0), 0.0);
        assert_eq!(Mc::slope(0.0, 1.0), 0.0);
    }

    #[test]
    fn minmod_takes_the_smaller() {
        assert_eq!(Minmod::slope(1.0, 1.5), 1.0);
        assert_eq!(Minmod::slope(-2.0, -1.5), -1.5);
        assert_eq!(Minmod::slope(-2.0, 1.5), 0.0);
    }
}
