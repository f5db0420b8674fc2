//! The ordinates.

use grid_ports::Direction;

/// Directions of an octant.
pub const N_DIRECTIONS: usize = 6;

/// The directions of one octant of the level-symmetric quadrature S6.
///
/// The smallest cosine is the one free number of such a set; the others follow from the directions being of length 1 and
/// the cosines evenly spaced in their squares, the weights from the even moments.
///
/// # Returns
/// Weights add up to 1/8, so the weights of all octants add up to 1.
///
/// # Source
/// B.G. Carlson, K.D. Lathrop, in H. Greenspan et al. (eds.), "Computing Methods in Reactor Physics", 1968 (recalled).
pub fn directions() -> [Direction; N_DIRECTIONS] {
    let least = 0.266_635_5_f64;
    let step = (1.0 - 3.0 * least * least) / 2.0;
    let cosine = |level: usize| (least * least + level as f64 * step).sqrt();
    // Three directions with levels (0, 0, 2), three with (0, 1, 1); their mean squares of a cosine are 1/3 each, so the
    // fourth moment, 1/5, decides.
    let fourth = |levels: [usize; 3]| levels.map(|l| cosine(l).powi(4)).iter().sum::<f64>() / 3.0;
    let (corner, side) = (fourth([0, 0, 2]), fourth([0, 1, 1]));
    let part = (0.2 - side) / (corner - side);
    let direction = |levels: [usize; 3], part: f64| Direction {
        cosines: levels.map(cosine),
        weight: part / 24.0,
    };
    [
        direction([0, 0, 2], part),
        direction([0, 2, 0], part),
        direction([2, 0, 0], part),
        direction([0, 1, 1], 1.0 - part),
        direction([1, 0, 1], 1.0 - part),
        direction([1, 1, 0], 1.0 - part),
    ]
}

#[cfg(test)]
mod tests {
    use super::directions;

    #[test]
    fn even_moments_up_to_the_fourth_are_exact() {
        let all = directions();
        let moment = |power: i32| -> f64 {
            let part = all.iter().map(|d| d.weight * d.cosines[0].powi(power));
            8.0 * part.sum::<f64>()
        };
        for (power, expected) in [(0, 1.0), (2, 1.0 / 3.0), (4, 0.2)] {
            assert!((moment(power) - expected).abs() < 1e-14, "{power}");
        }
        for direction in all {
            let square: f64 = direction.cosines.iter().map(|c| c * c).sum();
            assert!((square - 1.0).abs() < 1e-14 && direction.weight > 0.0);
        }
    }
}
