//! C-layout types that cross a library boundary. All other crates depend on this one; it almost never changes.
//!
//! * [`RawPort`], [`VtableHeader`], [`InterfaceDescriptor`]: a port at run time and its description;
//! * [`Slot`]: one end of a connection, re-pointed while calls run;
//! * [`Decision`]: the choice between several providers of a call;
//! * [`ClassDescriptor`], [`LibraryDescriptor`]: exports of a component library under [`ENTRY_SYMBOL`];
//! * [`ErrorBuffer`], [`PortError`]: how an error crosses the border, panics included;
//! * [`guest`]: how work of ours runs on a thread of a foreign program;
//! * [`recording`]: the context through which generated proxies append records in line.
//!
//! The same layouts in C are in `include/cca.h`; `tests/c_header.rs` compares the two.
//!
//! `abi_stable` stays behind this crate: its types are re-exported here and no other crate lists it.
//! A crate whose own structs cross the border writes [`shared_types!`] once at its root and derives
//! [`StableAbi`] for them.

mod argument;
mod c_header;
mod component;
mod dispatch;
mod entry;
mod error;
mod guard;
#[cfg(target_os = "linux")]
pub mod guest;
mod interface;
mod layout;
mod owned;

mod port;
pub mod recording;
mod slot;
mod slot_pointer;
mod stand_in;

/// The atomics that slots are made of.
mod atomic {
    pub use std::sync::atomic::{AtomicPtr, Ordering};
}

pub use abi_stable::StableAbi;
pub use abi_stable::std_types::{ROption, RResult, RSlice, RSliceMut, RStr, RString, RVec};
pub use argument::Enumeration;
#[doc(hidden)]
pub use argument::{AnyArgument, Argument};
pub use c_header::c_header;
pub use component::{
    ABI_VERSION, ClassDescriptor, ComponentVtable, ENTRY_SYMBOL, LAYOUT_ABI, LibraryDescriptor,
    LibraryEntry, RawComponent,
};
#[doc(hidden)]
pub use dispatch::Dispatcher;
pub use dispatch::{Decision, DecisionNode, INNER_NODE, decision_key, is_real};
#[doc(hidden)]
pub use entry::{RegisteredClass, cca_component_v2};
pub use error::{ErrorBuffer, ErrorCode, PortError};
pub use guard::{call, call_connected, guard, guard_value, panic_message};
pub use interface::{Interface, ProvidedBy};
pub use layout::compare_layouts;
pub use owned::{OwnedArray, OwnedText, ReleaseArray};
pub use port::{
    InterfaceDescriptor, InterfacePointer, MAX_TEXT_BYTES, MethodDescriptor, NewDispatcher,
    NewProxy, OwnedPort, PerfDescriptor, RawPort, VtableHeader, checked_text, hash_signature,
    missing_function, owns_nothing, proxy_methods,
};
pub use slot::{ConnectedPort, Slot};
pub use slot_pointer::SlotPointer;
#[doc(hidden)]
pub use stand_in::{AnyOutcome, AnyOutput, Outcome, Output};
pub use stand_in::{Poison, StandIn};

// The derive of `StableAbi` names its items by the path `::abi_stable`; `shared_types!` makes that
// path lead here, so that the items must be found here.
#[doc(hidden)]
pub use abi_stable::*;
#[doc(hidden)]
pub use inventory;

/// Lets a crate derive [`StableAbi`] for the structs that its ports pass; once, at the crate root.
#[macro_export]
macro_rules! shared_types {
    () => {
        extern crate cca_abi as abi_stable;
    };
}
