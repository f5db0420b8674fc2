//! Chooses one of several providers for a call by its performance parameters: a table that a generated dispatcher looks
//! up.
//!
//! A [`Decision`] is a tree of [`DecisionNode`]s for one method. Each node looks at one parameter, finds between which of its
//! bounds the value lies, and leads to another node or to a provider. With one parameter that is one node: the dispatcher of
//! a port adds a search among a few numbers and one more call through a table.

use core::marker::PhantomData;

use crate::recording::ParameterKind;
use crate::{PortError, RSlice, RawPort, SlotPointer};

/// One node of a method's tree.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DecisionNode {
    /// Place of the parameter among the method's.
    pub parameter: u32,
    /// 1 where the parameter is a real number, else 0.
    pub is_real: u32,
    /// 0 if every call goes to the only entry of `next`, whatever its parameters are.
    pub n_bounds: usize,
    /// Keys ([`decision_key`]) in ascending order, `[n_bounds]`.
    pub bounds: *const i64,
    /// Next step for each number of bounds at or below the value, `[n_bounds + 1]`: a provider's index, or
    /// [`INNER_NODE`] and the index of a node.
    pub next: *const u32,
}

/// In [`DecisionNode::next`]: the rest of the word is the place of a node.
pub const INNER_NODE: u32 = 1 << 31;

/// The tree of one method; nodes lead to later nodes only.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// The nodes; the first one is where a decision begins. Null where every call goes to the first provider.
    pub nodes: *const DecisionNode,
}

// SAFETY: immutable, and valid as long as the dispatcher (`NewDispatcher`).
unsafe impl Send for Decision {}
// SAFETY: as for `Send`.
unsafe impl Sync for Decision {}

/// A number of the order that the values of a parameter have: of an integer, an enumeration or, of a real number, of its bits.
#[inline(always)]
pub const fn decision_key(word: u64, is_real: bool) -> i64 {
    let bits = word as i64;
    match is_real {
        // Negative numbers have their order of size turned round.
        true => bits ^ (((bits >> 63) as u64) >> 1) as i64,
        false => bits,
    }
}

/// Whether the words of a parameter of this kind encode real numbers.
pub fn is_real(kind: ParameterKind) -> bool {
    kind == ParameterKind::Real
}

impl Decision {
    /// The place of the provider for a call.
    ///
    /// # Safety
    /// The tree is as [`DecisionNode`] requires, and each parameter's index is below `N`.
    #[inline(always)]
    pub unsafe fn provider<const N: usize>(&self, words: [u64; N]) -> usize {
        let mut node = self.nodes;
        if node.is_null() {
            return 0;
        }
        loop {
            // SAFETY: the tree is whole (promise of the caller), so that all places lie within its arrays.
            unsafe {
                let DecisionNode {
                    parameter,
                    is_real,
                    n_bounds,
                    bounds,
                    next,
                } = *node;
                let mut below = 0;
                if n_bounds > 0 {
                    let key = decision_key(*words.get_unchecked(parameter as usize), is_real != 0);
                    // Halves the rest without a branch on the value, which no processor could
                    // predict.
                    let (mut first, mut left) = (bounds, n_bounds);
                    while left > 1 {
                        let half = left / 2;
                        let is_beyond = *first.add(half - 1) <= key;
                        first = first.add(if is_beyond { half } else { 0 });
                        left -= half;
                    }
                    below = first.offset_from(bounds) as usize + usize::from(*first <= key);
                }
                let place = *next.add(below);
                if place & INNER_NODE == 0 {
                    return place as usize;
                }
                node = self.nodes.add((place & !INNER_NODE) as usize);
            }
        }
    }
}

/// State of the dispatcher of a port with `N` methods; `P` only distinguishes the dispatchers of different ports.
#[doc(hidden)]
#[derive(Debug)]
pub struct Dispatcher<P: ?Sized, const N: usize> {
    providers: *const SlotPointer,
    decisions: [Decision; N],
    port: PhantomData<fn(&P)>,
}

// SAFETY: slots serve every thread, decisions are immutable.
unsafe impl<P: ?Sized, const N: usize> Send for Dispatcher<P, N> {}
// SAFETY: as for `Send`.
unsafe impl<P: ?Sized, const N: usize> Sync for Dispatcher<P, N> {}

impl<P: ?Sized, const N: usize> Dispatcher<P, N> {
    /// A dispatcher.
    ///
    /// An extra decision behind those of the methods marks that a provider may be a [`crate::StandIn`]: the dispatchers
    /// of earlier versions return an error for it.
    ///
    /// # Errors
    /// Another number of decisions than the interface has methods.
    ///
    /// # Safety
    /// As [`crate::NewDispatcher`] has it.
    pub unsafe fn new(
        providers: *const SlotPointer,
        decisions: RSlice<'_, Decision>,
    ) -> Result<Self, PortError> {
        let found = decisions.len();
        let decisions = decisions.as_slice();
        let of_methods = match found.checked_sub(N) {
            Some(0 | 1) => &decisions[..N],
            _ => decisions,
        };
        let decisions = of_methods.try_into().map_err(|_| {
            PortError::failed(format_args!(
                "cannot make a dispatcher: decisions for {found} methods, expected {N}"
            ))
        })?;
        Ok(Dispatcher {
            providers,
            decisions,
            port: PhantomData,
        })
    }

    /// The provider of a call of a method.
    ///
    /// # Safety
    /// `method` is below `N`, and `words` are the method's parameters.
    #[inline(always)]
    pub unsafe fn target<const W: usize>(&self, method: usize, words: [u64; W]) -> RawPort {
        // SAFETY: the indices of providers are those of the slots that the maker of the dispatcher gave
        // (`NewDispatcher`), all connected.
        unsafe {
            let decision = self.decisions.get_unchecked(method);
            (*self.providers.add(decision.provider(words))).load()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_the_values() {
        let reals = [
            f64::NEG_INFINITY,
            -2.5,
            -1.0,
            -0.0,
            0.0,
            1e-300,
            1.0,
            2.5,
            f64::INFINITY,
        ];
        let keys = reals.map(|x| decision_key(x.to_bits(), true));
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        let keys = [-7_i64, -1, 0, 3].map(|n| decision_key(n as u64, false));
        assert!(keys.is_sorted());
    }

    /// Every number of bounds, every value next to and at each of them.
    #[test]
    fn a_value_lies_between_its_bounds() {
        for n_bounds in 1..12_usize {
            let bounds: Vec<i64> = (1..=n_bounds as i64).map(|n| 10 * n).collect();
            let next: Vec<u32> = (0..=n_bounds as u32).collect();
            let node = DecisionNode {
                parameter: 1,
                is_real: 0,
                n_bounds,
                bounds: bounds.as_ptr(),
                next: next.as_ptr(),
            };
            let decision = Decision {
                nodes: &raw const node,
            };
            for value in 0..=10 * n_bounds as i64 + 10 {
                let expected = bounds.iter().filter(|bound| **bound <= value).count();
                // SAFETY: one node with all its arrays, and two words.
                let found = unsafe { decision.provider([99, value as u64]) };
                assert_eq!(found, expected, "{value} among {bounds:?}");
            }
        }
    }

    #[test]
    fn a_node_without_bounds_reads_no_parameter() {
        let next = [7];
        let node = DecisionNode {
            parameter: 0,
            is_real: 0,
            n_bounds: 0,
            bounds: core::ptr::null(),
            next: next.as_ptr(),
        };
        let decision = Decision {
            nodes: &raw const node,
        };
        // SAFETY: one node with its one place.
        assert_eq!(unsafe { decision.provider([]) }, 7);
    }

    #[test]
    fn one_decision_more_than_methods_is_taken() {
        enum Port {}
        let slots = [];
        let decisions = [Decision {
            nodes: core::ptr::null(),
        }; 4];
        let made = |n: usize| {
            let decisions = RSlice::from_slice(&decisions[..n]);
            // SAFETY: nothing is called, so no slot is read.
            unsafe { Dispatcher::<Port, 2>::new(slots.as_ptr(), decisions) }.is_ok()
        };
        assert_eq!([1, 2, 3, 4].map(made), [false, true, true, false]);
    }

    #[test]
    fn a_node_leads_to_another() {
        let (bounds, next) = ([1, 2], [0, INNER_NODE | 1, 2]);
        let (real_bounds, real_next) = ([decision_key(0.5_f64.to_bits(), true)], [3, 4]);
        let nodes = [
            DecisionNode {
                parameter: 0,
                is_real: 0,
                n_bounds: 2,
                bounds: bounds.as_ptr(),
                next: next.as_ptr(),
            },
            DecisionNode {
                parameter: 1,
                is_real: 1,
                n_bounds: 1,
                bounds: real_bounds.as_ptr(),
                next: real_next.as_ptr(),
            },
        ];
        let decision = Decision {
            nodes: nodes.as_ptr(),
        };
        let at = |label: u64, x: f64| {
            // SAFETY: two whole nodes, of which the first leads to the second, and two words.
            unsafe { decision.provider([label, x.to_bits()]) }
        };
        assert_eq!([at(0, 9.0), at(2, 9.0), at(5, 9.0)], [0, 2, 2]);
        assert_eq!(
            [at(1, -3.0), at(1, 0.49), at(1, 0.5), at(1, 7.0)],
            [3, 3, 4, 4]
        );
    }
}
