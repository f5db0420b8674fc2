//! Prefetches memory before it is needed: the state of many processes is larger than the caches.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the cache lines of all items.
#[inline]
pub(crate) fn prefetch_all<T>(items: &[T]) {
    let step = (LINE / size_of::<T>()).max(1);
    items.iter().step_by(step).for_each(prefetch);
    items.last().into_iter().for_each(prefetch);
}

/// Prefetches the cache line of an item.
#[inline]
pub(crate) fn prefetch<T>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is a reference's; a prefetch changes no memory and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
