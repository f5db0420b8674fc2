//! Arrays and texts that a method gives to its caller, from any language: with the function that frees them on the side
//! that made them.

use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use abi_stable::StableAbi;

/// Gives an array back to the side that made it.
pub type ReleaseArray<T> = unsafe extern "C" fn(data: *mut T, length: usize);

/// Consecutive elements, owned by the holder of this struct: in C a pointer, a length, and the function that frees
/// them.
///
/// ```
/// use cca_abi::OwnedArray;
///
/// let array = OwnedArray::from(vec![1.0, 2.0]);
/// assert_eq!(array.iter().sum::<f64>(), 3.0);
/// ```
#[repr(C)]
#[derive(StableAbi)]
pub struct OwnedArray<T> {
    data: *mut T,
    length: usize,
    /// Null if there is nothing to free, as for a constant.
    #[sabi(unsafe_opaque_field)]
    release: Option<ReleaseArray<T>>,
}

// SAFETY: it owns its elements.
unsafe impl<T: Send> Send for OwnedArray<T> {}
// SAFETY: a shared one only reads them.
unsafe impl<T: Sync> Sync for OwnedArray<T> {}

impl<T> From<Vec<T>> for OwnedArray<T> {
    fn from(vector: Vec<T>) -> Self {
        unsafe extern "C" fn release<T>(data: *mut T, length: usize) {
            // SAFETY: pointer and length belong to a boxed slice, which is given back once (`Drop`).
            let elements =
                unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(data, length)) };
            // A destructor that panics must not unwind across the border.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(elements)));
        }
        let elements = Box::leak(vector.into_boxed_slice());
        OwnedArray {
            data: elements.as_mut_ptr(),
            length: elements.len(),
            release: Some(release::<T>),
        }
    }
}

impl<T> Default for OwnedArray<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> Deref for OwnedArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // C leaves a null pointer for an empty array, which must not become a slice.
        if self.data.is_null() || self.length == 0 {
            return &[];
        }
        // SAFETY: the pointer leads to `length` elements until they are released (`From`; required of C).
        unsafe { std::slice::from_raw_parts(self.data, self.length) }
    }
}

impl<T> Drop for OwnedArray<T> {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            // SAFETY: the elements are owned, and given back once.
            unsafe { release(self.data, self.length) }
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for OwnedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

/// A text that its holder owns; UTF-8 without a terminating zero.
#[repr(transparent)]
#[derive(Debug, Default, StableAbi)]
pub struct OwnedText(OwnedArray<u8>);

impl OwnedText {
    /// The text; bytes that are not UTF-8, which C may pass, are replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no character.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<&str> for OwnedText {
    fn from(text: &str) -> Self {
        OwnedText(text.as_bytes().to_vec().into())
    }
}

impl From<String> for OwnedText {
    fn from(text: String) -> Self {
        OwnedText(text.into_bytes().into())
    }
}

impl fmt::Display for OwnedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static RELEASED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn count(_: *mut f64, length: usize) {
        RELEASED.fetch_add(length, Ordering::Relaxed);
    }

    #[test]
    fn what_another_side_made_is_given_back_to_it_once() {
        let mut elements = [1.0, 2.0, 3.0];
        let array = OwnedArray {
            data: elements.as_mut_ptr(),
            length: 3,
            release: Some(count as ReleaseArray<f64>),
        };
        assert_eq!(*array, [1.0, 2.0, 3.0]);
        drop(array);
        assert_eq!(RELEASED.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn nothing_from_c_is_no_element() {
        let array: OwnedArray<f64> = OwnedArray {
            data: std::ptr::null_mut(),
            length: 7,
            release: None,
        };
        assert!(array.is_empty());
        let text = OwnedText(OwnedArray::from(vec![b'a', 0xff]));
        assert_eq!((text.to_text().as_str(), text.len()), ("a\u{fffd}", 2));
        assert_eq!(OwnedText::from("b").to_string(), "b");
        drop(OwnedArray::from(vec![String::from("freed")]));
    }
}
