//! The integration tests of this crate, a subject a file: `cargo test --release -p mastermind-models --test all clock_step::` runs those of one.

mod benchmarks;
mod beyond_the_sizes;
mod busy_machine;
mod carried;
mod clock_step;
mod contradictions;
mod curves;
mod edges;
mod even_scatter;
mod families;
mod few_calls;
mod inputs;
mod intervals;
mod many_parameters;
mod normal_form;
mod planted;
mod rendering;
mod rooms;
mod shown;
mod suggest;
mod two_ranges;
mod uneven_calls;
mod warnings;
mod written_formulas;
