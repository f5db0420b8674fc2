//! The cost of a measurement.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

use cca_abi::recording::{
    LogCells, ProxyMethod, Recorder, RecorderFunctions, Recording, RecordingContext,
};
use mastermind_records::definition::CostDefinition;

use crate::clock::Clock;

const N_CALLS: usize = 500;
const N_ROUNDS: usize = 21;
const WORDS_PER_CALL: usize = 6;

/// A log in plain memory that is used repeatedly.
struct Scratch {
    context: Box<RecordingContext>,
    words: Vec<u64>,
    _cells: Box<LogCells>,
}

impl Scratch {
    fn new(clock: &Clock) -> Self {
        // SAFETY: zeros are valid for both: integers, null pointers, no function.
        let (mut context, cells) = unsafe {
            (
                Box::new(std::mem::zeroed::<RecordingContext>()),
                Box::new(std::mem::zeroed::<LogCells>()),
            )
        };
        let words = vec![0; N_CALLS * WORDS_PER_CALL];
        // SAFETY: the cells are kept with the context.
        unsafe { context.open_in(&raw const *cells) };
        context.measure_with(clock.function(), false);
        let mut scratch = Self {
            context,
            words,
            _cells: cells,
        };
        scratch.rewind();
        scratch
    }

    fn rewind(&mut self) {
        let words = self.words.as_mut_ptr_range();
        (self.context.cursor, self.context.end, self.context.origin) =
            (words.start, words.end, words.start as usize);
    }
}

extern "C" fn context(object: *const c_void) -> *mut RecordingContext {
    object.cast_mut().cast()
}
extern "C" fn roll_over(_: *const c_void, _: *mut RecordingContext, _: u64) -> u32 {
    0
}
extern "C" fn call_path(_: *const c_void, _: *mut RecordingContext, _: u32, _: u32) -> u32 {
    1
}
extern "C" fn lost(_: *const c_void, _: *mut RecordingContext, _: u32, _: u64, _: u64) {}
extern "C" fn begin_out_of_order(_: *const c_void, _: *mut RecordingContext, _: i64) -> u32 {
    0
}
extern "C" fn end_out_of_order(
    _: *const c_void,
    _: *mut RecordingContext,
    _: u32,
    _: u64,
    _: i64,
    _: i64,
) -> u32 {
    0
}
extern "C" fn counters(_: *const c_void, _: *mut RecordingContext, _: u32, _: *mut u64) -> u32 {
    0
}

/// Measures the cost of recording a call with two parameters: the median of 21 rounds of 500 empty calls. Takes less
/// than 1 ms.
pub fn measure_cost(clock: &Clock) -> CostDefinition {
    let mut scratch = Scratch::new(clock);
    let object: *const c_void = ptr::from_mut(&mut *scratch.context).cast();
    // SAFETY: `object` is the context; only this thread knows the recorder, and it dies before the context.
    let recorder = unsafe {
        Recorder::new(
            object,
            clock.now(),
            RecorderFunctions {
                context,
                roll_over,
                call_path,
                lost,
                counters,
                begin_out_of_order,
                end_out_of_order,
            },
        )
    };
    let method = ProxyMethod::new();
    method.register(1);
    let (mut rounds, mut inside) = (Vec::with_capacity(N_ROUNDS), Vec::with_capacity(N_ROUNDS));
    for _ in 0..N_ROUNDS {
        scratch.rewind();
        let begin = clock.now();
        for call in 0..N_CALLS as u64 {
            let recording = Recording::begin(&recorder, &method, || black_box([call, call]));
            if let Some(recording) = recording {
                recording.end(black_box(false));
            }
        }
        rounds.push(clock.now().saturating_sub(begin));
        // The sum, since a single call may lie within a step of the clock.
        let walls = scratch.words.iter().skip(2).step_by(WORDS_PER_CALL);
        inside.push(walls.sum());
    }
    let ns_per_tick = 1e9 / clock.ticks_per_second();
    CostDefinition {
        record_ns: median(&mut rounds) as f64 * ns_per_tick / N_CALLS as f64,
        inside_ns: median(&mut inside) as f64 * ns_per_tick / N_CALLS as f64,
    }
}

fn median(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_plausible() {
        let cost = measure_cost(&Clock::detect());
        assert!(
            cost.record_ns > 1.0 && cost.record_ns < 10_000.0,
            "{cost:?}"
        );
        assert!(
            cost.inside_ns >= 0.0 && cost.inside_ns <= cost.record_ns,
            "{cost:?}"
        );
    }
}
