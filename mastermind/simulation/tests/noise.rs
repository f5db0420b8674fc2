//! How noise lengthens a computation, second by second: nothing of the engines' arithmetic.

use mastermind_simulation::machine::{Lengths, Machine, Noise, read_machine};

/// When a computation ends that begins at `begin_ns` and takes so long by itself, nanoseconds.
pub fn end_ns(machine: &Machine, processor: (u32, u32), begin_ns: u64, work_ns: u64) -> u64 {
    let Some(noise) = machine.noise else {
        return begin_ns + work_ns;
    };
    let (mut now_ns, mut left_ns) = (begin_ns, work_ns);
    for period in begin_ns / noise.every_ns.. {
        let (at_ns, length_ns) = noise.interruption(processor, period);
        if at_ns < begin_ns {
            continue;
        }
        let computed_ns = at_ns.saturating_sub(now_ns).min(left_ns);
        (now_ns, left_ns) = (now_ns + computed_ns, left_ns - computed_ns);
        if left_ns == 0 {
            break;
        }
        now_ns += length_ns;
    }
    now_ns
}

/// Some noise, from four pseudorandom numbers.
pub fn noise(every_ns: u64, share: u64, seed: u64, kind: u64) -> Noise {
    Noise {
        every_ns,
        length_ns: every_ns * (share % 50) / 100,
        lengths: match kind % 2 {
            0 => Lengths::Constant,
            _ => Lengths::Exponential,
        },
        is_synchronous: kind % 3 == 2,
        seed,
    }
}

#[test]
fn noise_of_a_machine_file_lengthens_computation_alone() {
    let text = "[noise]\nevery_ns = 1000\nlength_ns = 100\nsynchronous = true\nseed = 5\n";
    let machine = read_machine(text).expect("a machine");
    let expected = Noise {
        every_ns: 1000,
        length_ns: 100,
        lengths: Lengths::Constant,
        is_synchronous: true,
        seed: 5,
    };
    assert_eq!(machine.noise, Some(expected));
    // Nine periods of computation in ten of time.
    let end_ns = end_ns(&machine, (3, 0), 0, 900_000);
    assert!(end_ns.abs_diff(1_000_000) <= 200, "{end_ns}");
}
