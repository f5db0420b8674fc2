//! Memory of large runs on huge pages: a visit touches a dozen distant places, and with small pages the
//! processor would look up the address of nearly each.

/// Bytes of a huge page.
const HUGE: usize = 1 << 21;

/// Bytes that allocators put before large memory, at most.
const HEADER: usize = 64;

/// `n` times a value.
pub fn vec_of<T: Clone>(value: T, n: usize) -> Vec<T> {
    let mut items = Vec::new();
    reserve(&mut items, n);
    items.resize(n, value);
    items
}

/// Makes room for `more` items. Large room comes in whole huge pages, since Linux aligns such memory; unused pages
/// occupy address space only.
pub fn reserve<T>(items: &mut Vec<T>, more: usize) {
    let bytes = (items.len() + more) * size_of::<T>() + HEADER;
    if bytes < HUGE {
        items.reserve_exact(more);
        return;
    }
    if items.capacity() - items.len() < more {
        let room = bytes.next_multiple_of(HUGE) - HEADER;
        items.reserve_exact(room / size_of::<T>() - items.len());
    }
    #[cfg(target_os = "linux")]
    advise(items, more);
}

/// Requests huge pages if the next `more` items fill them.
#[cfg(target_os = "linux")]
fn advise<T>(items: &mut Vec<T>, more: usize) {
    use rustix::mm::{Advice, madvise};
    use rustix::param::page_size;
    let free = &mut items.spare_capacity_mut()[..more];
    let bytes = size_of_val(free);
    let begin = free.as_mut_ptr().cast::<u8>();
    // From the begin of the page: where the items are the first of their memory, a huge page begins there.
    let before = begin.addr() % page_size();
    // SAFETY: the range is that of the vector's spare room and the rest of the page in which it begins; the advice
    // changes no contents and keeps all mapped. It is only advice: without it the program runs as before.
    let _ = unsafe {
        madvise(
            begin.wrapping_sub(before).cast(),
            before + bytes,
            Advice::LinuxHugepage,
        )
    };
}
