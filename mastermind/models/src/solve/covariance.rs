//! Covariances of fitted coefficients.
//!
//! In: cells. Out: [`Covariance`], which stores the lower triangle, one row per coefficient.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// Cells of three coefficients, as many as a formula of one parameter has.
const FEW: usize = 6;

/// The covariance of fitted coefficients, symmetric.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Covariance {
    size: usize,
    /// Rows of the lower triangle, one after the other.
    cells: SmallVec<[f64; FEW]>,
}

impl Covariance {
    /// A covariance from its lower triangle.
    ///
    /// # Arguments
    /// * `cell` - the covariance of coefficients `i` and `j`, `j <= i < size`
    pub fn new(size: usize, mut cell: impl FnMut(usize, usize) -> f64) -> Self {
        let mut cells = SmallVec::with_capacity(size * (size + 1) / 2);
        for i in 0..size {
            cells.extend((0..=i).map(|j| cell(i, j)));
        }
        Self { size, cells }
    }

    /// Number of coefficients.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Covariance of two coefficients.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        let (row, column) = (i.max(j), i.min(j));
        self.cells[row * (row + 1) / 2 + column]
    }

    /// Its product with a vector.
    ///
    /// # Arguments
    /// * `vector` - shape `[size]`
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        let row = |i: usize| (0..self.size).map(|j| self.at(i, j) * vector[j]).sum();
        (0..self.size).map(row).collect()
    }

    /// Variance of a linear combination of the coefficients, ≥ 0.
    ///
    /// # Arguments
    /// * `gradient` - the factors of the coefficients, shape `[size]`
    pub fn variance(&self, gradient: &[f64]) -> f64 {
        let row = |i: usize| {
            let products = (0..self.size).map(|j| self.at(i, j) * gradient[j]);
            gradient[i] * products.sum::<f64>()
        };
        (0..self.size).map(row).sum::<f64>().max(0.0)
    }

    /// Whether every cell is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.cells.iter().all(|cell| cell.is_finite())
    }

    /// Multiplies every cell by a factor.
    pub(crate) fn widen(&mut self, factor: f64) {
        self.cells.iter_mut().for_each(|cell| *cell *= factor);
    }
}

impl Serialize for Covariance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = |i: usize| &self.cells[i * (i + 1) / 2..][..i + 1];
        serializer.collect_seq((0..self.size).map(row))
    }
}

/// The rows up to the diagonal; of a full matrix, only the lower triangle is read.
impl<'de> Deserialize<'de> for Covariance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rows = Vec::<SmallVec<[f64; FEW]>>::deserialize(deserializer)?;
        let size = rows.len();
        let is_triangle = rows.iter().enumerate().all(|(i, row)| row.len() == i + 1);
        if !is_triangle && !rows.iter().all(|row| row.len() == size) {
            let expected = "a covariance with as many columns as rows, or up to the diagonal";
            return Err(serde::de::Error::custom(format!("expected {expected}")));
        }
        Ok(Self::new(size, |i, j| rows[i][j]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_is_stored_and_a_square_is_read() {
        let cells = [[4.0, 0.0, 0.0], [1.0 / 3.0, 5.0, 0.0], [0.1, -2.0, 6.0]];
        let covariance = Covariance::new(3, |i, j| cells[i][j]);
        let text = serde_json::to_string(&covariance).unwrap();
        assert_eq!(text, "[[4.0],[0.3333333333333333,5.0],[0.1,-2.0,6.0]]");
        let read = |text: &str| serde_json::from_str::<Covariance>(text);
        assert_eq!(read(&text).unwrap(), covariance);
        let square = "[[4.0,0.3333333333333333,0.1],[0.3333333333333333,5.0,-2.0],[0.1,-2.0,6.0]]";
        assert_eq!(read(square).unwrap(), covariance);
        for wrong in ["[[1,2],[3]]", "[[1,2]]", "[1]"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_variance_is_that_of_the_whole_matrix() {
        let covariance = Covariance::new(2, |i, j| [[4.0, 0.0], [-1.0, 2.0]][i][j]);
        assert_eq!(covariance.times(&[1.0, 3.0]), [1.0, 5.0]);
        assert_eq!(covariance.variance(&[1.0, 3.0]), 16.0);
        assert_eq!(covariance.at(0, 1), -1.0);
    }
}
