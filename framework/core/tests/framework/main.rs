//! The framework by itself: components of this program, built, used and taken apart.

mod builder;
mod components;
mod dispatching;
mod events;
mod frameworks;
mod plain;
mod replacing;
mod scale;
mod stateful;
