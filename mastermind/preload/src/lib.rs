//! The recorder in a program that was never written for it: `mastermind wrap` preloads this library with the proxies.
//!
//! ```text
//! loaded                 reads what `wrap` left in the environment, has the proxy of MPI call before the first call
//! first call of MPI      starts the recording: not before, so that a shell or a launcher in between leaves no records
//! exit                   ends it
//! ```
//!
//! A thin door: [`mastermind_component::Wrapped`] does the work. Nothing is printed here; what goes wrong is left in a file
//! for `wrap` to tell, and the program goes on without a measurement.

use std::ffi::c_int;
use std::panic::catch_unwind;
use std::sync::{Mutex, OnceLock, PoisonError};

use cca_comm::launched;
use cca_loader::MpiProxy;
use mastermind_component::{WRAP_VARIABLE, WrapConfig, Wrapped};

/// What `wrap` asked for, and the proxy it preloaded.
static ASKED: OnceLock<(WrapConfig, MpiProxy)> = OnceLock::new();
static RUNNING: Mutex<Option<Wrapped>> = Mutex::new(None);

/// Called by the dynamic linker when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

extern "C" fn on_load() {
    // Into the program no panic goes.
    let _ = catch_unwind(|| {
        let Some(text) = variable(WRAP_VARIABLE) else {
            return;
        };
        let Ok(config) = serde_json::from_str::<WrapConfig>(&text) else {
            return;
        };
        match MpiProxy::open(&config.proxy, None) {
            Ok(proxy) => {
                proxy.before_first_call(start);
                let _ = ASKED.set((config, proxy));
            }
            Err(error) => tell(&config, 0, &error.to_string()),
        }
    });
}

extern "C" fn start() {
    let _ = catch_unwind(|| {
        let Some((config, proxy)) = ASKED.get() else {
            return;
        };
        let launched = launched(variable).ok().flatten();
        let rank = launched.map_or(0, |launched| launched.rank as u32);
        let ranks = launched.and_then(|launched| launched.size).unwrap_or(1);
        match Wrapped::start(config, proxy, rank, ranks as u32) {
            Ok(wrapped) => {
                *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(wrapped);
                // SAFETY: the function lives as long as the process: the library is never closed.
                let _: c_int = unsafe { libc::atexit(end) };
            }
            Err(error) => tell(config, rank, &error.to_string()),
        }
    });
}

extern "C" fn end() {
    let _ = catch_unwind(|| {
        let running = RUNNING
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // A forked child that ends has nothing of its own to end.
        let Some(wrapped) = running.filter(Wrapped::is_own_process) else {
            return;
        };
        let rank = wrapped.rank();
        if let (Err(error), Some((config, _))) = (wrapped.finish(), ASKED.get()) {
            tell(config, rank, &error.to_string());
        }
    });
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Leaves a message for `wrap`.
fn tell(config: &WrapConfig, rank: u32, message: &str) {
    // Where not even this can be written, `wrap` finds no records and says that.
    let _ = config.leave_message(rank, message);
}
