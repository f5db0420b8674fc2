//! The kernels.

use grid_ports::{Block, Direction};

/// Flux through the faces of a block, first incoming and then outgoing.
pub struct Faces<'a> {
    /// Across x, shape `[n_directions][nz][ny]`.
    pub x: &'a mut [f64],
    /// Across y, shape `[n_directions][nz][nx]`.
    pub y: &'a mut [f64],
    /// Across z, shape `[n_directions][ny][nx]`.
    pub z: &'a mut [f64],
}

/// Sweeps a block along the directions of an octant, cell after cell from where the particles come in.
///
/// With the mean of incoming and outgoing flux as a cell's flux (diamond differences), a cell with the cosines m and
/// the optical thickness t has the flux `(q + sum 2 m/t in) / (1 + sum 2 m/t)`, and `2 flux - in` leaves on each axis.
///
/// # Arguments
/// * `source`, `flux` - shape `[nz][ny][nx]`; the flux is added to
///
/// # Panics
/// If an array has another shape.
///
/// # Source
/// E.E. Lewis, W.F. Miller, "Computational Methods of Neutron Transport", 1984, chapter 4 (recalled).
pub fn sweep(
    block: Block,
    directions: &[Direction],
    source: &[f64],
    flux: &mut [f64],
    faces: Faces<'_>,
) {
    let Block { nx, ny, nz, .. } = block;
    let place = |bit: u32, k: usize, n: usize| match block.octant >> bit & 1 {
        0 => k,
        _ => n - 1 - k,
    };
    for (d, direction) in directions.iter().enumerate() {
        let [a, b, c] = direction.cosines.map(|m| 2.0 * m / block.thickness);
        let scale = 1.0 / (1.0 + a + b + c);
        for k in (0..nz).map(|k| place(2, k, nz)) {
            for j in (0..ny).map(|j| place(1, j, ny)) {
                let row = (k * ny + j) * nx;
                let source = &source[row..row + nx];
                let flux = &mut flux[row..row + nx];
                let y = &mut faces.y[(d * nz + k) * nx..][..nx];
                let z = &mut faces.z[(d * ny + j) * nx..][..nx];
                let x = &mut faces.x[(d * nz + k) * ny + j];
                let mut cell = |i: usize| {
                    let mean = (source[i] + a * *x + b * y[i] + c * z[i]) * scale;
                    *x = 2.0 * mean - *x;
                    y[i] = 2.0 * mean - y[i];
                    z[i] = 2.0 * mean - z[i];
                    flux[i] += direction.weight * mean;
                };
                match block.octant & 1 {
                    0 => (0..nx).for_each(&mut cell),
                    _ => (0..nx).rev().for_each(&mut cell),
                }
            }
        }
    }
}

/// The source of the next iteration, `fixed + ratio flux`; the flux becomes 0.
///
/// # Returns
/// The largest change of the source.
pub fn scatter(ratio: f64, fixed: f64, flux: &mut [f64], source: &mut [f64]) -> f64 {
    let mut change = 0.0_f64;
    for (flux, source) in flux.iter_mut().zip(source) {
        let new = fixed + ratio * *flux;
        change = change.max((new - *source).abs());
        (*source, *flux) = (new, 0.0);
    }
    change
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directions;

    #[test]
    fn what_comes_in_is_absorbed_or_goes_out() {
        // Of each cell and direction: thickness (source - flux) = sum of cosines (out - in).
        let (nx, ny, nz) = (5, 4, 3);
        let directions = directions();
        for octant in 0..8 {
            let thickness = 0.7;
            let block = Block {
                nx,
                ny,
                nz,
                octant,
                thickness,
            };
            let source: Vec<f64> = (0..60).map(|k| 1.0 + f64::from(k % 7)).collect();
            let mut flux = vec![0.0; 60];
            let n = directions.len();
            let (mut x, mut y, mut z) = (vec![0.3; n * 12], vec![0.1; n * 15], vec![0.2; n * 20]);
            let before = (x.clone(), y.clone(), z.clone());
            let faces = Faces {
                x: &mut x,
                y: &mut y,
                z: &mut z,
            };
            sweep(block, &directions, &source, &mut flux, faces);
            let gained = |new: &[f64], old: &[f64], axis: usize| -> f64 {
                let per = new.len() / n;
                let gain = |k: usize| {
                    let direction = directions[k / per];
                    direction.weight * direction.cosines[axis] * (new[k] - old[k])
                };
                (0..new.len()).map(gain).sum()
            };
            let out =
                gained(&x, &before.0, 0) + gained(&y, &before.1, 1) + gained(&z, &before.2, 2);
            let weight: f64 = directions.iter().map(|d| d.weight).sum();
            let born = source.iter().sum::<f64>() * weight;
            let kept = thickness * (born - flux.iter().sum::<f64>());
            assert!((out - kept).abs() < 1e-12, "octant {octant}: {out} {kept}");
        }
    }

    #[test]
    fn an_octant_is_the_mirror_of_another() {
        let directions = directions();
        let swept = |octant: u32, mirrored: bool| {
            let block = Block {
                nx: 4,
                ny: 1,
                nz: 1,
                octant,
                thickness: 1.0,
            };
            let mut source = vec![1.0, 2.0, 3.0, 4.0];
            if mirrored {
                source.reverse();
            }
            let mut flux = vec![0.0; 4];
            let (mut x, mut y, mut z) = ([0.0; 6], [0.0; 24], [0.0; 24]);
            let faces = Faces {
                x: &mut x,
                y: &mut y,
                z: &mut z,
            };
            sweep(block, &directions, &source, &mut flux, faces);
            if mirrored {
                flux.reverse();
            }
            flux
        };
        assert_eq!(swept(0, false), swept(1, true));
        assert_ne!(swept(0, false), swept(1, false));
    }

    #[test]
    fn scattering_makes_the_next_source() {
        let (mut flux, mut source) = ([2.0, 4.0], [1.0, 1.0]);
        assert_eq!(scatter(0.5, 1.0, &mut flux, &mut source), 2.0);
        assert_eq!((flux, source), ([0.0, 0.0], [2.0, 3.0]));
    }
}
