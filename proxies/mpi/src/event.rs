//! A record for each call of MPI, for those who ask for it.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use cca_abi::recording::{ProxyMethod, Recording};

use crate::call::{Call, attached, is_outermost};
pub(crate) use crate::message::Language;
use crate::message::{Arguments, Moved};
use crate::request::{Requests, Role, forget};
use crate::wrappers::{MESSAGES, N_FUNCTIONS, ROLES};

static ARE_RECORDED: AtomicBool = AtomicBool::new(false);
static METHODS: [ProxyMethod; N_FUNCTIONS] = [const { ProxyMethod::new() }; N_FUNCTIONS];

/// Most words of a call: 13 arguments in C, the error code of Fortran, and room.
const MAX_WORDS: usize = 16;

/// Whether each call is recorded.
#[inline(always)]
pub(crate) fn are_recorded() -> bool {
    ARE_RECORDED.load(Ordering::Relaxed)
}

/// Records each call from now on as the methods with these ids, one a function; none if there are not as many.
pub(crate) fn record(ids: &[u32]) -> bool {
    let all = ids.len() == N_FUNCTIONS;
    if all {
        for (method, id) in METHODS.iter().zip(ids) {
            method.register(*id);
        }
    }
    forget();
    ARE_RECORDED.store(all, Ordering::Release);
    all
}

/// Makes a call and records it.
///
/// # Safety
/// `target` is the function with this place in [`crate::wrappers::NAMES`], and the words are its arguments.
#[cold]
#[inline(never)]
pub(crate) unsafe fn call(
    function: u32,
    language: Language,
    words: &[usize],
    target: *mut c_void,
) -> usize {
    let mut padded = [0; MAX_WORDS];
    padded[..words.len()].copy_from_slice(words);
    let place = function as usize;
    let recorder = if is_outermost() { attached() } else { None };
    let (arguments, role) = (Arguments { language, words }, ROLES[place]);
    let (mut moved, mut requests) = (Moved::NOTHING, Requests::default());
    let recording = recorder.and_then(|recorder| {
        Recording::begin(recorder, &METHODS[place], || {
            // SAFETY: the caller's own arguments.
            unsafe {
                requests = Requests::before(role, arguments);
                moved = match (role, MESSAGES[place]) {
                    (Role::StartsOne | Role::StartsAll, _) => requests.to_be_started(),
                    (_, Some(message)) => message.read(arguments),
                    _ => Moved::NOTHING,
                };
            }
            moved.words()
        })
    });
    let call = Call::begin(function);
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = padded;
    // SAFETY: words beyond the arguments are passed on that nobody reads; the caller takes them away again.
    let result = unsafe {
        let target: unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> usize = std::mem::transmute(target);
        target(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
    };
    drop(call);
    if let Some(recording) = recording {
        // An error code is an `int`. A subroutine of Fortran returns nothing.
        let failed = language == Language::C && result as i32 != 0;
        if failed || role == Role::None {
            recording.end(failed);
        } else {
            recording.end_with(false, |parameters| {
                // SAFETY: the caller's own arguments, after the call.
                let moved = unsafe { requests.after(role, arguments, moved) };
                *parameters = moved.words();
            });
        }
    }
    result
}
