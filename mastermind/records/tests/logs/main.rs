//! Record logs, written and read.

mod common;
mod damage;
mod round_trip;
