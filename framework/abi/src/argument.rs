//! Arguments that may be an enumeration: C may pass any number for one, which Rust must not even read as
//! the enumeration.

use core::mem::MaybeUninit;

use crate::{ErrorCode, PortError};

/// An enumeration that crosses the border; `#[derive(PerfValue)]` implements it.
///
/// # Safety
/// Its variants have no fields and are numbered from 0 to `COUNT - 1`.
pub unsafe trait Enumeration: Copy {
    /// Number of variants.
    const COUNT: u64;
}

// SAFETY: 0 is false, 1 is true.
unsafe impl Enumeration for bool {
    const COUNT: u64 = 2;
}

/// An argument as its bits.
#[doc(hidden)]
pub struct Argument<T>(pub MaybeUninit<T>);

impl<T: Enumeration> Argument<T> {
    /// The argument, if its bits are a value of the enumeration.
    ///
    /// # Safety
    /// At least as many bytes as a `T` has were written.
    ///
    /// # Errors
    /// [`ErrorCode::BadParameter`].
    #[inline(always)]
    pub unsafe fn checked(self, name: &str) -> Result<T, PortError> {
        let bits = self.0.as_ptr();
        // SAFETY: the bytes were written (the caller's promise); any bits are a number.
        let number = unsafe {
            match size_of::<T>() {
                1 => u64::from(bits.cast::<u8>().read()),
                2 => u64::from(bits.cast::<u16>().read()),
                4 => u64::from(bits.cast::<u32>().read()),
                8 => bits.cast::<u64>().read(),
                // An enumeration with one variant has no size.
                _ => 0,
            }
        };
        if number >= T::COUNT {
            return Err(out_of_range(name, number, T::COUNT));
        }
        // SAFETY: the variants are numbered from 0 to `COUNT - 1`.
        Ok(unsafe { self.0.assume_init() })
    }
}

#[cold]
fn out_of_range(name: &str, number: u64, count: u64) -> PortError {
    let last = count.saturating_sub(1);
    let message = format!("cannot take argument \"{name}\": {number}, expected 0 to {last}");
    PortError::new(ErrorCode::BadParameter, message)
}

/// Any other argument; found only where [`Argument`] has no function of its own for it.
#[doc(hidden)]
pub trait AnyArgument<T> {
    /// The argument.
    ///
    /// # Safety
    /// It is a value of its type.
    ///
    /// # Errors
    /// None.
    unsafe fn checked(self, name: &str) -> Result<T, PortError>;
}

impl<T> AnyArgument<T> for Argument<T> {
    #[inline(always)]
    unsafe fn checked(self, _: &str) -> Result<T, PortError> {
        // SAFETY: the caller's promise.
        Ok(unsafe { self.0.assume_init() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(u32)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Axis {
        X = 0,
        Y = 1,
    }

    // SAFETY: two variants, from 0.
    unsafe impl Enumeration for Axis {
        const COUNT: u64 = 2;
    }

    fn axis(number: u32) -> Result<Axis, PortError> {
        let mut bits = MaybeUninit::<Axis>::uninit();
        // SAFETY: all bytes of it are written.
        unsafe {
            bits.as_mut_ptr().cast::<u32>().write(number);
            Argument(bits).checked("axis")
        }
    }

    #[test]
    fn a_number_that_is_no_variant_is_an_error() {
        assert_eq!(axis(0), Ok(Axis::X));
        assert_eq!(axis(1), Ok(Axis::Y));
        let error = axis(2).unwrap_err();
        assert_eq!(
            error.message(),
            "cannot take argument \"axis\": 2, expected 0 to 1"
        );
        assert_eq!(error.code(), ErrorCode::BadParameter);
        assert!(axis(u32::MAX).is_err());
    }

    #[test]
    fn any_other_argument_is_taken_as_it_is() {
        // SAFETY: initialised.
        let text = unsafe { Argument(MaybeUninit::new(String::from("a"))).checked("text") };
        assert_eq!(text.unwrap(), "a");
    }
}
