//! Every interleaving of a caller and a replacement: the caller never reaches a provider that was given up.
//!
//! Connector and slot are compiled here once more, over loom's atomics: `crate` and `cca_abi` mean this file in them.

#[path = "../src/connector.rs"]
#[expect(dead_code, reason = "what the framework alone calls")]
mod connector;
#[path = "../../abi/src/slot.rs"]
#[expect(dead_code, reason = "what stubs alone call")]
mod slot;

/// The atomics that the slot is made of.
mod atomic {
    pub use loom::sync::atomic::{AtomicPtr, Ordering};
}

extern crate cca_abi as abi;
extern crate self as cca_abi;

use std::sync::Arc;

use abi::RawPort;
use connector::{Connector, Target};
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use slot::{ConnectedPort, Slot};

/// Represents a provider: records whether it has been released.
struct Instance {
    // Leaked with the test's model, so that a wrong access is seen and not undefined.
    alive: &'static AtomicBool,
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.alive.store(false, Ordering::SeqCst);
    }
}

fn target() -> Arc<Target> {
    let alive: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(true)));
    let pair = RawPort {
        object: std::ptr::from_ref(alive).cast(),
        vtable: std::ptr::null(),
    };
    Target::new(pair, Arc::new(Instance { alive }))
}

fn call(slot: &Slot) {
    // SAFETY: the slot is connected and in use, which this test checks.
    let pair = unsafe { slot.load() };
    // SAFETY: the object is a leaked `AtomicBool`.
    let alive = unsafe { &*pair.object.cast::<AtomicBool>() };
    assert!(
        alive.load(Ordering::SeqCst),
        "called a provider that was given up"
    );
}

fn shared_slot(connector: &Connector) -> &'static Slot {
    // SAFETY: the model keeps the connector until both threads have ended.
    unsafe { &*connector.slot() }
}

#[test]
fn a_caller_meets_only_living_providers() {
    loom::model(|| {
        let mut connector = Connector::default();
        drop(connector.point_to(Some(target())));
        let framework = loom::sync::Arc::new(Mutex::new(connector));
        let caller = {
            let framework = framework.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    let slot = {
                        let mut connector = framework.lock().unwrap();
                        connector.acquire();
                        shared_slot(&connector)
                    };
                    call(slot);
                    call(slot);
                    let unreachable = framework.lock().unwrap().release();
                    drop(unreachable.unwrap());
                }
            })
        };
        let unreachable = framework.lock().unwrap().point_to(Some(target()));
        drop(unreachable);
        caller.join().unwrap();
        assert!(!framework.lock().unwrap().is_in_use());
    });
}

#[test]
fn a_replaced_provider_is_kept_until_its_caller_is_out() {
    loom::model(|| {
        let mut connector = Connector::default();
        drop(connector.point_to(Some(target())));
        connector.acquire();
        let slot = shared_slot(&connector);
        let framework = loom::sync::Arc::new(Mutex::new(connector));
        let replacer = {
            let framework = framework.clone();
            thread::spawn(move || drop(framework.lock().unwrap().point_to(Some(target()))))
        };
        call(slot);
        replacer.join().unwrap();
        call(slot);
        drop(framework.lock().unwrap().release().unwrap());
    });
}
