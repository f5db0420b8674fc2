//! Record logs, written and read.

mod changing;
mod common;
mod damage;
mod following;
mod memory;
mod packing;
mod round_trip;
mod sums;
mod timeline;
