//! Arrays with several indices, as SIDL has them: elements, lower bounds, extents and strides.

use std::ops::{Deref, DerefMut};

use cca_abi::{OwnedArray, Poison, RSlice, RSliceMut, StableAbi};

/// Place of an element of an array with `N` indices.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct ArrayShape<const N: usize> {
    /// The least value of each index.
    pub lower: [i64; N],
    /// How many values each index takes.
    pub extent: [u64; N],
    /// Elements from one value of each index to the next.
    pub stride: [u64; N],
}

impl<const N: usize> ArrayShape<N> {
    /// Elements side by side, indices from 0, the last one fastest, as in C.
    pub fn row_major(extent: [u64; N]) -> Self {
        Self::dense(extent, (0..N).rev())
    }

    /// Elements side by side, indices from 0, the first one fastest, as in Fortran.
    pub fn column_major(extent: [u64; N]) -> Self {
        Self::dense(extent, 0..N)
    }

    fn dense(extent: [u64; N], fastest_first: impl Iterator<Item = usize>) -> Self {
        let (mut stride, mut next) = ([0; N], 1_u64);
        for place in fastest_first {
            stride[place] = next;
            next = next.saturating_mul(extent[place]);
        }
        ArrayShape {
            lower: [0; N],
            extent,
            stride,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        let elements = self.extent.iter().try_fold(1_u64, |n, m| n.checked_mul(*m));
        elements.unwrap_or(u64::MAX) as usize
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of an element; none outside of the bounds.
    pub fn place(&self, index: [i64; N]) -> Option<usize> {
        let mut place = 0_u64;
        for (i, index) in index.into_iter().enumerate() {
            let step = u64::try_from(index.checked_sub(self.lower[i])?).ok()?;
            if step >= self.extent[i] {
                return None;
            }
            place = place.checked_add(step.checked_mul(self.stride[i])?)?;
        }
        usize::try_from(place).ok()
    }
}

/// An array with `N` indices whose elements are in `E`: borrowed, borrowed mutably, or owned.
///
/// ```
/// use cca_ports::{Array, ArrayShape, RSlice};
///
/// let shape = ArrayShape::row_major([2, 3]);
/// let array = Array { elements: RSlice::from_slice(&[1, 2, 3, 4, 5, 6]), shape };
/// assert_eq!(array.get([1, 0]), Some(&4));
/// assert_eq!(array.get([2, 0]), None);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Array<E, const N: usize> {
    /// The elements, from the one with the least indices on.
    pub elements: E,
    /// Place of each element.
    pub shape: ArrayShape<N>,
}

/// An array that is lent for the call.
pub type LentArray<'a, T, const N: usize> = Array<RSlice<'a, T>, N>;
/// An array that is lent for the call, to be written to.
pub type LentArrayMut<'a, T, const N: usize> = Array<RSliceMut<'a, T>, N>;
/// An array that the caller gets.
pub type GivenArray<T, const N: usize> = Array<OwnedArray<T>, N>;

impl<T, E: Deref<Target = [T]>, const N: usize> Array<E, N> {
    /// An element; `None` outside of the bounds, or if the array has fewer elements than its shape
    /// requires.
    pub fn get(&self, index: [i64; N]) -> Option<&T> {
        self.elements.get(self.shape.place(index)?)
    }

    /// An element to be written to; as [`Array::get`].
    pub fn get_mut(&mut self, index: [i64; N]) -> Option<&mut T>
    where
        E: DerefMut,
    {
        let place = self.shape.place(index)?;
        self.elements.get_mut(place)
    }

    /// Number of elements that the shape has.
    pub fn len(&self) -> usize {
        self.shape.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<E: Poison, const N: usize> Poison for Array<E, N> {
    const IS_LENT: bool = E::IS_LENT;

    fn poison(&mut self) -> u64 {
        self.elements.poison()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_lead_where_the_strides_say() {
        let mut shape = ArrayShape::column_major([2, 3]);
        assert_eq!((shape.stride, shape.len()), ([1, 2], 6));
        shape.lower = [1, -1];
        assert_eq!(shape.place([2, 1]), Some(5));
        assert_eq!(shape.place([0, 0]), None);
        assert_eq!(shape.place([3, 0]), None);
        assert_eq!(
            ArrayShape::row_major([u64::MAX, u64::MAX]).place([0, 1]),
            Some(1)
        );
        let mut elements = [0.0; 4];
        let mut array = Array {
            elements: RSliceMut::from_mut_slice(&mut elements),
            shape: ArrayShape::row_major([2, 3]),
        };
        *array.get_mut([1, 0]).unwrap() = 5.0;
        // Fewer elements than the shape requires.
        assert_eq!((array.get([1, 0]), array.get([1, 2])), (Some(&5.0), None));
    }
}
