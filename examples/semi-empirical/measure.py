"""Communication times of this machine, by Mastermind's proxy of MPI: a transpose and a halo exchange on up to 16 ranks,
oversubscribed.

usage: measure.py MASTERMIND FOLDER [--mpi openmpi|mpich] [--repetitions N] [--only transpose|halo]

Compiles exchange.c, runs it under `mpirun … mastermind wrap`, and writes FOLDER/transpose.csv and FOLDER/halo.csv, as
`mastermind correct` takes them; half the points, drawn with a fixed seed, are for training. Of the repetitions the median counts.
"""

import argparse
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys

SIZES = [128, 256, 512, 1024]
RANKS = [2, 4, 8, 16]
CYCLES = [20, 60]
PROGRAMS = {"transpose": "MPI_Alltoall()", "halo": "MPI_Sendrecv()"}


def launcher(mpi, ranks):
    if mpi == "openmpi":
        return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    return ["mpirun.mpich", "-n", str(ranks)]


def seconds(options, executable, program, size, ranks, cycles):
    """Seconds in the routine, mean over the ranks."""
    records = options.folder / "records"
    shutil.rmtree(records, ignore_errors=True)
    wrap = [options.mastermind, "wrap", "--records", records, "--"]
    run = [executable, program, str(size), str(cycles)]
    subprocess.run(launcher(options.mpi, ranks) + wrap + run, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    profile = subprocess.run([options.mastermind, "profile", records, "--json"], check=True, capture_output=True)
    rows = json.loads(profile.stdout)["rows"]
    return next(row["inclusive_ns"] for row in rows if row["name"] == PROGRAMS[program]) * 1e-9


def measure(options, executable, program):
    points = [(size, ranks, cycles) for size in SIZES for ranks in RANKS for cycles in CYCLES]
    train = set(random.Random(1).sample(range(len(points)), len(points) // 2))
    times = {point: [] for point in points}
    # Measure round by round, so that a slow minute of the machine affects all points; every round is kept.
    for repetition in range(options.repetitions):
        for place, point in enumerate(points):
            times[point].append(seconds(options, executable, program, *point))
            if sys.stderr.isatty():
                print(f"\r{program}: round {repetition + 1}, {place + 1} of {len(points)}", end="", file=sys.stderr)
        write(options.folder / f"{program}.csv", times, train)


def write(path, times, train):
    with open(path, "w") as file:
        print("nx,np,T,t_observed,train", file=file)
        for place, (point, repeated) in enumerate(times.items()):
            print(*point, f"{statistics.median(repeated):.6g}", int(place in train), sep=",", file=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mastermind", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", choices=PROGRAMS, help="one of the two")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    executable = options.folder / "exchange"
    source = pathlib.Path(__file__).with_name("exchange.c")
    subprocess.run([f"mpicc.{options.mpi}", "-O2", "-o", executable, source], check=True)
    for program in [options.only] if options.only else PROGRAMS:
        measure(options, executable, program)


if __name__ == "__main__":
    main()
