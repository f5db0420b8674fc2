//! Memory of large runs on large pages: a visit touches a dozen places that lie far apart, and with small
//! pages the processor would look up the address of nearly each.

/// Least bytes for which large pages are worth asking for.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 22;

/// `n` times a value.
pub(crate) fn vec_of<T: Clone>(value: T, n: usize) -> Vec<T> {
    let mut items = Vec::new();
    reserve(&mut items, n);
    items.resize(n, value);
    items
}

/// Makes room for `more` items, no more than that.
pub(crate) fn reserve<T>(items: &mut Vec<T>, more: usize) {
    items.reserve_exact(more);
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        use rustix::param::page_size;
        let free = items.spare_capacity_mut();
        let bytes = size_of_val(free);
        if bytes < LARGE {
            return;
        }
        let begin = free.as_mut_ptr().cast::<u8>();
        let skip = begin.align_offset(page_size());
        if skip < bytes {
            // SAFETY: the range lies in the spare room of the vector, whose contents nobody reads; the advice
            // changes no contents. It is advice: without it all goes on as before.
            let _ = unsafe {
                madvise(
                    begin.wrapping_add(skip).cast(),
                    bytes - skip,
                    Advice::LinuxHugepage,
                )
            };
        }
    }
}
