//! A stand-in answers calls in a dry run, in place of a provider: it computes nothing, and leaves outputs as they
//! are.
//!
//! Among the targets of a dispatcher, a port without a table represents it, and the generated dispatcher recognises it
//! by that. Arrays that the method would write keep their values, and the call returns the default of its result. A
//! [`StandIn`] that poisons sets every real number among the outputs to NaN instead, to detect code that decides by
//! them.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::{PortError, RSliceMut, RVec, RawPort};

/// Answers the calls of one method.
#[repr(C)]
#[derive(Debug, Default)]
pub struct StandIn {
    poisons: u64,
    n_poisoned: AtomicU64,
}

impl StandIn {
    /// # Arguments
    /// * `poisons` - whether real numbers among the outputs become NaN
    pub fn new(poisons: bool) -> Self {
        StandIn {
            poisons: u64::from(poisons),
            n_poisoned: AtomicU64::new(0),
        }
    }

    /// Numbers that were made NaN until now.
    pub fn n_poisoned(&self) -> u64 {
        self.n_poisoned.load(Ordering::Relaxed)
    }

    /// The port that represents it among a dispatcher's targets.
    pub fn port(&self) -> RawPort {
        RawPort {
            object: core::ptr::from_ref(self).cast(),
            vtable: core::ptr::null(),
        }
    }

    fn poison(&self, output: &mut impl Poison) {
        if self.poisons != 0 {
            let n = output.poison();
            self.n_poisoned.fetch_add(n, Ordering::Relaxed);
        }
    }
}

impl RawPort {
    /// The stand-in that the port represents, if it represents one.
    ///
    /// # Safety
    /// A port without a table is [`StandIn::port`] of a stand-in that lives as long as the port is
    /// used.
    #[inline(always)]
    pub unsafe fn stand_in<'a>(self) -> Option<&'a StandIn> {
        match self.vtable.is_null() {
            // SAFETY: the caller's promise.
            true => unsafe { self.object.cast::<StandIn>().as_ref() },
            false => None,
        }
    }
}

/// An output of a method whose real numbers can be made NaN.
///
/// A struct with an array that the method writes implements it with the array's implementation.
pub trait Poison {
    /// Whether an argument of the type is an output: the caller sees what is written to it.
    const IS_LENT: bool = true;

    /// Makes every real number NaN.
    ///
    /// # Returns
    /// How many there are.
    fn poison(&mut self) -> u64;
}

impl Poison for f64 {
    const IS_LENT: bool = false;

    fn poison(&mut self) -> u64 {
        *self = f64::NAN;
        1
    }
}

impl Poison for f32 {
    const IS_LENT: bool = false;

    fn poison(&mut self) -> u64 {
        *self = f32::NAN;
        1
    }
}

impl<T: Poison> Poison for [T] {
    fn poison(&mut self) -> u64 {
        self.iter_mut().map(Poison::poison).sum()
    }
}

impl<T: Poison + ?Sized> Poison for &mut T {
    fn poison(&mut self) -> u64 {
        (**self).poison()
    }
}

impl<T: Poison> Poison for RSliceMut<'_, T> {
    fn poison(&mut self) -> u64 {
        self.as_mut_slice().poison()
    }
}

impl<T: Poison> Poison for RVec<T> {
    const IS_LENT: bool = false;

    fn poison(&mut self) -> u64 {
        self.as_mut_slice().poison()
    }
}

/// An argument or a result of a call that a stand-in answers.
#[doc(hidden)]
pub struct Output<'a, T>(pub &'a mut T);

impl<T: Poison> Output<'_, T> {
    /// Poisons it, if the stand-in does.
    pub fn poison(self, stand_in: &StandIn) {
        stand_in.poison(self.0);
    }

    /// The same for an argument, which is an output only if it is borrowed mutably.
    pub fn poison_lent(self, stand_in: &StandIn) {
        if T::IS_LENT {
            self.poison(stand_in);
        }
    }
}

/// Any other argument or result; found only where [`Output`] has no function of its own for it.
#[doc(hidden)]
pub trait AnyOutput: Sized {
    /// Leaves it as it is.
    fn poison(self, _: &StandIn) {}

    /// Leaves it as it is.
    fn poison_lent(self, _: &StandIn) {}
}

impl<T> AnyOutput for Output<'_, T> {}

/// Result of a method that a stand-in answers.
#[doc(hidden)]
pub struct Outcome<T>(PhantomData<T>);

impl<T> Outcome<T> {
    /// Of the type that `out` has room for.
    pub fn of(_out: *mut T) -> Self {
        Outcome(PhantomData)
    }
}

impl<T: Default> Outcome<T> {
    /// The default of the type.
    ///
    /// # Errors
    /// None.
    pub fn value(self, _method: &str) -> Result<T, PortError> {
        Ok(T::default())
    }
}

/// Any other result; found only where [`Outcome`] has no function of its own for it.
#[doc(hidden)]
pub trait AnyOutcome<T>: Sized {
    /// No value.
    ///
    /// # Errors
    /// Always.
    fn value(self, method: &str) -> Result<T, PortError> {
        Err(PortError::failed(format_args!(
            "cannot leave out method \"{method}\": it returns a {}, expected a type that implements Default",
            core::any::type_name::<T>()
        )))
    }
}

impl<T> AnyOutcome<T> for Outcome<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Opaque;

    #[test]
    fn what_is_known_as_an_output_is_poisoned_and_the_rest_is_left() {
        let stand_in = StandIn::new(true);
        let (mut values, mut number, mut opaque) = ([1.0_f64, 2.0], 3_i64, Opaque);
        let mut lent = RSliceMut::from_mut_slice(&mut values);
        Output(&mut lent).poison_lent(&stand_in);
        // An argument that is passed by value is no output.
        let mut passed = 2.5_f64;
        Output(&mut passed).poison_lent(&stand_in);
        assert_eq!(passed, 2.5);
        Output(&mut number).poison(&stand_in);
        Output(&mut opaque).poison(&stand_in);
        assert!(values.iter().all(|value| value.is_nan()));
        assert_eq!((number, stand_in.n_poisoned()), (3, 2));
        let mut value = 1.0;
        Output(&mut value).poison(&StandIn::new(false));
        assert_eq!(value, 1.0);
    }

    #[test]
    fn a_result_is_its_default_or_an_error() {
        let mut number = 7.0_f64;
        assert_eq!(Outcome::of(&raw mut number).value("rate"), Ok(0.0));
        let mut opaque = Opaque;
        let error = Outcome::of(&raw mut opaque).value("rate").err().unwrap();
        assert!(
            error
                .message()
                .starts_with("cannot leave out method \"rate\"")
        );
    }

    #[test]
    fn a_port_without_a_table_is_a_stand_in() {
        let stand_in = StandIn::new(false);
        // SAFETY: the stand-in lives; the other port has a table, which is never read.
        let (found, other) = unsafe {
            let other = RawPort {
                object: core::ptr::null(),
                vtable: core::ptr::dangling(),
            };
            (stand_in.port().stand_in(), other.stand_in())
        };
        assert!(found.is_some_and(|found| core::ptr::eq(found, &raw const stand_in)));
        assert!(other.is_none());
    }
}
