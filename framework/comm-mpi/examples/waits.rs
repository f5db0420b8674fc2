//! A program in Rust whose time in MPI is long waits, for the end-to-end test of measured MPI time: two ranks that wait
//! for one another in turns, like `tests/fixtures/mpi/waits.h` in C.

use std::thread::sleep;
use std::time::Duration;

use mpi::collective::SystemOperation;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

fn main() {
    let universe = mpi::initialize().expect("MPI starts");
    let world = universe.world();
    let rank = world.rank();
    let other = world.process_at_rank(1 - rank);
    for round in 0..4 {
        let is_late = round % 2 == rank;
        if is_late {
            sleep(Duration::from_millis(20));
        }
        world.barrier();
        if !is_late {
            sleep(Duration::from_millis(10));
        }
        let (mine, mut sum) = (f64::from(rank + round), 0.0);
        world.all_reduce_into(&mine, &mut sum, SystemOperation::sum());
        assert_eq!(sum, f64::from(2 * round + 1));
        if is_late {
            sleep(Duration::from_millis(30));
            other.send(&mine);
        } else {
            let (_, _) = other.receive::<f64>();
        }
    }
}
