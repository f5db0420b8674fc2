//! Times of single instructions of x86-64.
//!
//! In assembly: a compiler keeps values in memory if it has too few registers, and computes constants ahead.

use std::arch::asm;
use std::hint::black_box;
use std::time::Instant;

use super::{Key, Pass};

/// Instructions of a loop's body.
const BODY: u64 = 64;

/// Rounds of a loop: with [`BODY`] some 50 to 500 microseconds, a hundred times the cost of reading the
/// clock.
const ROUNDS: u64 = 2_000;

/// Values of each in a pass.
const VALUES: usize = 40;

/// Cycles from one integer multiplication of 32 bits to the next that waits for it.
///
/// # Source
/// Agner Fog, "Instruction tables", IMUL r32,r32: 3 on Intel's processors since Core 2 and on AMD's since K10.
const MULTIPLICATION_CYCLES: f64 = 3.0;

/// Repeats instructions, each of which uses the result of the one before it.
macro_rules! chain {
    ($class:ident, $start:expr, $instruction:literal) => {
        || {
            let mut value = $start;
            // SAFETY: registers of its own.
            unsafe {
                asm!(
                    "2:", ".rept 64", $instruction, ".endr", "dec {n}", "jnz 2b",
                    x = inout($class) value,
                    n = inout(reg) ROUNDS => _,
                    options(nomem, nostack)
                );
            }
            black_box(value);
        }
    };
}

/// Repeats eight instructions on eight registers.
macro_rules! eight {
    ($instruction:literal, $operands:literal) => {
        || {
            // SAFETY: registers that are declared as changed.
            unsafe {
                asm!(
                    "2:", ".rept 8",
                    concat!($instruction, " xmm0, ", $operands),
                    concat!($instruction, " xmm1, ", $operands),
                    concat!($instruction, " xmm2, ", $operands),
                    concat!($instruction, " xmm3, ", $operands),
                    concat!($instruction, " xmm4, ", $operands),
                    concat!($instruction, " xmm5, ", $operands),
                    concat!($instruction, " xmm6, ", $operands),
                    concat!($instruction, " xmm7, ", $operands),
                    ".endr", "dec {n}", "jnz 2b",
                    n = inout(reg) ROUNDS => _,
                    in("xmm8") 1.0_f64,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    options(nomem, nostack)
                );
            }
        }
    };
}

/// Measures all of them.
pub fn measure(pass: &mut Pass) {
    let multiply = chain!(reg, 3_u64, "imul {x:e}, {x:e}");
    // The clock goes up with work.
    times(BODY, multiply);
    let multiplications = times(BODY, multiply);
    let hertz = multiplications
        .iter()
        .map(|ns| MULTIPLICATION_CYCLES * 1e9 / ns);
    pass.insert(Key::Clock, hertz.collect());
    pass.insert(Key::Latency("integer multiplication"), multiplications);
    let mut latency = |name, work: &dyn Fn()| pass.insert(Key::Latency(name), times(BODY, work));
    latency("addition", &chain!(xmm_reg, 1.0_f64, "addsd {x}, {x}"));
    latency(
        "multiplication",
        &chain!(xmm_reg, 1.0_f64, "mulsd {x}, {x}"),
    );
    latency("division", &chain!(xmm_reg, 1.0_f64, "divsd {x}, {x}"));
    latency("square root", &chain!(xmm_reg, 1.0_f64, "sqrtsd {x}, {x}"));
    if is_x86_feature_detected!("fma") {
        let work = chain!(xmm_reg, 1.0_f64, "vfmadd213sd {x}, {x}, {x}");
        latency("fused multiply-add", &work);
    }
    let mut throughput =
        |name, work: &dyn Fn()| pass.insert(Key::Throughput(name), times(BODY, work));
    throughput("addition", &eight!("addsd", "xmm8"));
    throughput("multiplication", &eight!("mulsd", "xmm8"));
    throughput("division", &eight!("divsd", "xmm8"));
    throughput("vector addition of 128 bits", &eight!("addpd", "xmm8"));
    throughput("load", &loads);
    throughput("store", &stores);
    pass.insert(Key::Penalty("branch misprediction"), mispredictions());
}

/// Nanoseconds of an instruction.
///
/// # Arguments
/// * `n` - instructions of a round
fn times(n: u64, work: impl Fn()) -> Vec<f64> {
    let one = |_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64() * 1e9 / (n * ROUNDS) as f64
    };
    (0..VALUES).map(one).collect()
}

/// Loads from a line that the nearest cache holds.
fn loads() {
    let words = [0_u64; 8];
    // SAFETY: reads of an array of its own.
    unsafe {
        asm!(
            "2:", ".rept 8",
            "mov {a}, [{p}]", "mov {a}, [{p} + 8]", "mov {a}, [{p} + 16]", "mov {a}, [{p} + 24]",
            "mov {a}, [{p} + 32]", "mov {a}, [{p} + 40]", "mov {a}, [{p} + 48]", "mov {a}, [{p} + 56]",
            ".endr", "dec {n}", "jnz 2b",
            a = out(reg) _,
            p = in(reg) words.as_ptr(),
            n = inout(reg) ROUNDS => _,
            options(readonly, nostack)
        );
    }
}

/// Stores into a line that the nearest cache holds.
fn stores() {
    let mut words = [0_u64; 8];
    // SAFETY: writes into an array of its own.
    unsafe {
        asm!(
            "2:", ".rept 8",
            "mov [{p}], {n}", "mov [{p} + 8], {n}", "mov [{p} + 16], {n}", "mov [{p} + 24], {n}",
            "mov [{p} + 32], {n}", "mov [{p} + 40], {n}", "mov [{p} + 48], {n}", "mov [{p} + 56], {n}",
            ".endr", "dec {n}", "jnz 2b",
            p = in(reg) words.as_mut_ptr(),
            n = inout(reg) ROUNDS => _,
            options(nostack)
        );
    }
    black_box(words);
}

/// Cost of a branch that goes either way by chance, over one that always goes the same way; half of the former are
/// mispredicted.
fn mispredictions() -> Vec<f64> {
    /// Branches: more than a predictor keeps.
    const N: usize = 1 << 16;
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut ways = vec![0_u8; N];
    let time = |ways: &[u8]| {
        let began = Instant::now();
        // SAFETY: reads of a slice, as many as it has.
        unsafe {
            asm!(
                "2:", "test byte ptr [{p}], 1", "jz 3f", "add {a}, 3", "3:", "inc {p}", "dec {n}", "jnz 2b",
                p = inout(reg) ways.as_ptr() => _,
                a = inout(reg) 0_u64 => _,
                n = inout(reg) N => _,
                options(readonly, nostack)
            );
        }
        began.elapsed().as_secs_f64() * 1e9 / N as f64
    };
    let (mut by_chance, mut always) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..VALUES {
        // Others each time, so that none can be learnt (xorshift, Marsaglia 2003).
        for way in &mut ways {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            *way = (seed >> 33) as u8;
        }
        by_chance = time(&ways).min(by_chance);
        ways.fill(0);
        always = time(&ways).min(always);
    }
    // The least difference would be that of a pair with unequal disturbances.
    vec![2.0 * (by_chance - always)]
}
