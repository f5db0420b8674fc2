//! One explicit step on a block.

/// Conductivity at a temperature, `u^(5/2)`.
///
/// # Source
/// L. Spitzer, R. Härm, Phys. Rev. 89, 1953: conduction of heat by the electrons of a plasma, without its constant.
#[inline]
pub fn conductivity(u: f64) -> f64 {
    u * u * u.sqrt()
}

/// Flow through the face between two cells: the same with the opposite sign from the other side.
#[inline]
fn flow(here: f64, there: f64) -> f64 {
    conductivity(0.5 * (here + there)) * (there - here)
}

/// A hot spot in the lower left of a grid, `1 + 2 exp(-((x - 0.3)^2 + (y - 0.4)^2) / 0.02)`, on a block of it.
///
/// # Arguments
/// * `columns` - cells of a row, two ghost cells included
/// * `first` - where the block begins in the whole grid, its ghost cells not counted
/// * `grid` - cells of the whole grid along x and y; its sides are of length 1
/// * `to` - receives the temperatures, shape `[rows][columns]`
///
/// # Returns
/// The largest of them.
pub fn hot_spot(
    columns: usize,
    first: (usize, usize),
    grid: (usize, usize),
    to: &mut [f64],
) -> f64 {
    let mut largest = 0.0;
    for (k, cell) in to.iter_mut().enumerate() {
        // Ghost cells beyond the grid are set by the first exchange.
        let x = ((first.0 + k % columns) as f64 - 0.5) / grid.0 as f64;
        let y = ((first.1 + k / columns) as f64 - 0.5) / grid.1 as f64;
        let square = (x - 0.3).powi(2) + (y - 0.4).powi(2);
        *cell = 1.0 + 2.0 * (-square / 0.02).exp();
        largest = f64::max(largest, *cell);
    }
    largest
}

/// One step of `du/dt = div(k(u) grad u)` by central differences in space and Euler's in time.
///
/// # Arguments
/// * `columns` - cells of a row, two ghost cells included, at least 3
/// * `rate` - time step over the square of a cell's side; stable up to `1 / (4 k)` with the largest `k`
/// * `from`, `to` - shape `[rows][columns]`, at least 3 rows; the ghost cells of `to` stay as they are
///
/// # Returns
/// The largest new temperature, NaN if one is NaN or not above 0.
pub fn step(columns: usize, rate: f64, from: &[f64], to: &mut [f64]) -> f64 {
    let rows = from.len() / columns;
    let inside = columns - 2;
    let (mut largest, mut is_sound) = (0.0_f64, true);
    for row in 1..rows - 1 {
        let at = row * columns + 1;
        let here = &from[at..at + inside];
        let west = &from[at - 1..at - 1 + inside];
        let east = &from[at + 1..at + 1 + inside];
        let south = &from[at - columns..at - columns + inside];
        let north = &from[at + columns..at + columns + inside];
        let new = &mut to[at..at + inside];
        for i in 0..inside {
            let u = here[i];
            let along_x = flow(u, west[i]) + flow(u, east[i]);
            let along_y = flow(u, south[i]) + flow(u, north[i]);
            let next = u + rate * (along_x + along_y);
            new[i] = next;
            largest = if next > largest { next } else { largest };
            // A NaN is not above 0 either.
            is_sound &= next > 0.0;
        }
    }
    if is_sound { largest } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with ghost cells that mirror the next cell at a side: nothing flows out.
    fn mirrored(columns: usize, rows: usize, inside: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let clamp = |k: usize, n: usize| k.clamp(1, n - 2);
        let cell = |k: usize| inside(clamp(k % columns, columns), clamp(k / columns, rows));
        (0..columns * rows).map(cell).collect()
    }

    #[test]
    fn one_cell_that_is_hotter_loses_what_its_neighbours_gain() {
        let hot = |i, j| if (i, j) == (2, 2) { 3.0 } else { 1.0 };
        let from = mirrored(5, 5, hot);
        let mut to = from.clone();
        let largest = step(5, 0.01, &from, &mut to);
        // By hand: k at the mean temperature 2 is 2^2.5, the difference 2.
        let flow = 0.01 * 2.0_f64.powf(2.5) * 2.0;
        assert!((to[12] - (3.0 - 4.0 * flow)).abs() < 1e-14);
        assert!((to[11] - (1.0 + flow)).abs() < 1e-14);
        assert_eq!(largest, to[12]);
        let sum =
            |u: &[f64]| -> f64 { u.chunks(5).skip(1).take(3).flat_map(|row| &row[1..4]).sum() };
        assert!((sum(&to) - sum(&from)).abs() < 1e-13);
    }

    #[test]
    fn what_is_no_temperature_is_an_error() {
        for wrong in [f64::NAN, -1.0] {
            let from = mirrored(5, 5, |i, j| if (i, j) == (1, 3) { wrong } else { 1.0 });
            let mut to = from.clone();
            assert!(step(5, 0.01, &from, &mut to).is_nan());
        }
    }
}
