//! Record logs, written and read.

mod changing;
mod common;
mod damage;
mod round_trip;
