//! Asks for memory before it is needed: the state of many processes is larger than the caches.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the cache lines of some items, from one on. None need be there: no memory is read.
#[inline]
pub(crate) fn prefetch_range<T>(items: &[T], begin: usize, n: usize) {
    let bytes = n * size_of::<T>();
    let first = items.as_ptr().wrapping_add(begin).cast::<u8>();
    for line in 0..bytes.div_ceil(LINE) {
        prefetch_address(first.wrapping_add(line * LINE));
    }
    prefetch_address(first.wrapping_add(bytes.saturating_sub(1)));
}

/// Asks for the cache line of one of some items; it need not be there.
#[inline(always)]
pub(crate) fn prefetch_at<T>(items: &[T], at: u32) {
    prefetch_address(items.as_ptr().wrapping_add(at as usize));
}

/// Asks for the cache line of an item.
#[inline(always)]
pub(crate) fn prefetch<T>(item: &T) {
    prefetch_address(item);
}

#[inline(always)]
fn prefetch_address<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes no memory and cannot fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
