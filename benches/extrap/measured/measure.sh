#!/bin/sh
# Measures the tables of this folder anew, with the project's own commands: kernels of other crates, calls of MPI by their bytes, and the
# step of the heat example over ranks. usage: measure.sh TARGET WORK, TARGET being the folder of the built `mastermind` and components.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
target=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
cd "$work"
cargo run --quiet --release --manifest-path "$root/examples/kernels/Cargo.toml" -- fit check 1 2
mpicc -O2 "$here/sizes.c" -o sizes
mpirun -n 2 "$target/mastermind" wrap --mpi-events --records events -- ./sizes
"$target/mastermind" export events --format csv --one-table -o events.csv
for run in 1 2 3 4 5; do
    for ranks in 1 2 3 4 6 8; do
        CCA_COMPONENT_PATH=$target "$target/mastermind" run "$root/examples/heat/heat.toml" --ranks $ranks --records "heat-$ranks-$run" \
            --set driver.nx=768 --set driver.ny=768 --set driver.steps=60
        "$target/mastermind" export "heat-$ranks-$run" --format csv --one-table -o "heat-$ranks-$run.csv"
    done
done
python3 "$here/tables.py" "$work" "$here"
