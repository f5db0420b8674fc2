//! How a thread finds its recording context.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::RecordingContext;

/// Places for contexts; most programs have fewer threads that record.
const N_PLACES: usize = 64;

/// Whether [`thread_pointer`] distinguishes threads.
const HAS_THREAD_POINTER: bool = cfg!(all(target_arch = "x86_64", target_os = "linux"));

/// The context at a place that is free: no thread's.
struct Nobody(RecordingContext);

// SAFETY: it is never appended to; of it, only an atomic is read.
unsafe impl Sync for Nobody {}

// SAFETY: zeros are a valid context.
static NOBODY: Nobody = Nobody(unsafe { std::mem::zeroed() });

fn nobody() -> *mut RecordingContext {
    (&raw const NOBODY.0).cast_mut()
}

/// A number that no two living threads share and that is not 0; 0 on processors that offer none, where no context is
/// found by it.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[inline(always)]
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the psABI has the thread pointer in the first word of the segment that `fs` points to, in every library.
    unsafe {
        std::arch::asm!(
            "mov {}, fs:[0]", out(reg) pointer, options(pure, readonly, nostack, preserves_flags)
        );
    }
    pointer
}

/// As above.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[inline(always)]
pub fn thread_pointer() -> usize {
    0
}

/// The contexts of a recorder's threads, each at the place that its thread pointer leads to; of threads that share a
/// place, one context.
#[repr(C)]
#[derive(Debug)]
pub(super) struct ThreadContexts {
    places: [AtomicPtr<RecordingContext>; N_PLACES],
}

impl ThreadContexts {
    pub(super) fn new() -> Self {
        Self {
            places: std::array::from_fn(|_| AtomicPtr::new(nobody())),
        }
    }

    #[inline(always)]
    fn place(&self, thread: usize) -> &AtomicPtr<RecordingContext> {
        // Thread pointers are 8 MiB and a page apart, or a stack of another size and a page: an odd number of pages, so that as many
        // threads as there are places have one each.
        &self.places[(thread >> 12 ^ thread >> 18) % N_PLACES]
    }

    /// The context at the place of the thread with this pointer, which need not be the thread's own.
    #[inline(always)]
    pub(super) fn at_place_of(&self, thread: usize) -> NonNull<RecordingContext> {
        let context = self.place(thread).load(Ordering::Acquire);
        // SAFETY: a place is never null.
        unsafe { NonNull::new_unchecked(context) }
    }

    /// Whether a context found at the place of the thread with this pointer is the thread's own.
    ///
    /// # Safety
    /// It came from [`ThreadContexts::at_place_of`].
    #[inline(always)]
    pub(super) unsafe fn is_own(context: *mut RecordingContext, thread: usize) -> bool {
        // SAFETY: [`Nobody`]'s context, or one that the recorder keeps mapped; only an atomic of it
        // is read.
        HAS_THREAD_POINTER && unsafe { (*context).seen_by() } == thread
    }

    /// The context of the thread with this pointer, if it is at its place; else null.
    #[inline(always)]
    pub(super) fn of_thread(&self, thread: usize) -> *mut RecordingContext {
        let context = self.at_place_of(thread).as_ptr();
        // SAFETY: it is the one at the place.
        match unsafe { Self::is_own(context, thread) } {
            true => context,
            false => std::ptr::null_mut(),
        }
    }

    /// Puts a context that was shown to its thread at the thread's place, unless another living thread's is there.
    ///
    /// # Safety
    /// The context stays mapped as long as the recorder is used.
    pub(super) unsafe fn keep(&self, context: *mut RecordingContext) {
        // SAFETY: required of the caller, and of the code that stored the previous context.
        unsafe {
            let place = self.place((*context).seen_by());
            let is_free = (*place.load(Ordering::Acquire)).seen_by() == 0;
            if is_free {
                place.store(context, Ordering::Release);
            }
        }
    }
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_found_by_its_thread_until_it_is_hidden() {
        // SAFETY: zeros are a valid context.
        let context = Box::into_raw(Box::new(unsafe { std::mem::zeroed::<RecordingContext>() }));
        let contexts = ThreadContexts::new();
        let found = || contexts.of_thread(thread_pointer());
        assert!(found().is_null());
        // SAFETY: it lives to the end of the test.
        unsafe {
            (*context).show_to_thread();
            contexts.keep(context);
        }
        assert_eq!(found(), context);
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| found().is_null()).join());
        assert!(elsewhere.unwrap());
        // SAFETY: as above; released once.
        unsafe {
            (*context).hide_from_thread();
            assert!(found().is_null());
            drop(Box::from_raw(context));
        }
    }

    #[test]
    fn a_place_goes_to_the_next_when_its_context_is_hidden() {
        // SAFETY: zeros are valid contexts.
        let [first, second] =
            [(); 2].map(|()| Box::new(unsafe { std::mem::zeroed::<RecordingContext>() }));
        let contexts = ThreadContexts::new();
        let pointer = |context: &RecordingContext| std::ptr::from_ref(context).cast_mut();
        for context in [&first, &second] {
            context.show_to_thread();
            // SAFETY: both live as long as the places do.
            unsafe { contexts.keep(pointer(context)) };
        }
        assert_eq!(contexts.of_thread(thread_pointer()), pointer(&first));
        first.hide_from_thread();
        // SAFETY: as above.
        unsafe { contexts.keep(pointer(&second)) };
        assert_eq!(contexts.of_thread(thread_pointer()), pointer(&second));
    }
}
