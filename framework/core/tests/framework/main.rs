//! The framework by itself: components of this program, built, used and taken apart.

cca_abi::shared_types!();

mod builder;
mod components;
mod dispatching;
mod events;
mod frameworks;
mod plain;
mod replacing;
mod scale;
mod stand_ins;
mod stateful;
