#!/usr/bin/env python3
"""Checks that `wrap` and mpiP report the same seconds in MPI, and the same numbers of calls.

    benches/mpip/run.py LIBMPIP [FOLDER OF THE BINARIES]

LIBMPIP is libmpiP.so of mpiP 3.5, built for the MPI of `mpicc` and `mpirun`. The time in MPI of a real program differs from run to run by
far more than the two tools may differ, so the program here (`late.c`) has a fixed one: the first rank waits for the second, which is late
by a fixed time. Runs under either tool and under neither alternate; medians are compared. Ends with an error where a figure is missed.
On a busy machine run it by `chrt -r 5`: other work that takes the processors away prolongs the waits.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 9
# Turns, and the delay of the second rank, microseconds: 3 waits a turn; less than 1 s in all (mpiP prints three digits).
TURNS, LATE_US = 100, 2800
FUNCTIONS = ["Barrier", "Recv", "Send", "Allreduce", "Bcast"]
HERE = Path(__file__).resolve().parent


def mpirun(words, folder, environment=None):
    # No more ranks than processors: Open MPI would give them away while it waits.
    ranks = ["mpirun", "--use-hwthread-cpus", "-n", "2"] if is_open_mpi() else ["mpirun", "-n", "2"]
    run = subprocess.run(ranks + words, cwd=folder, env={**os.environ, **(environment or {})}, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"cannot run {words}: {run.stderr}")


def is_open_mpi():
    return "Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout


def by_mpip(library, program, folder):
    """Seconds in MPI of each rank, and calls of each function."""
    mpirun(["env", f"LD_PRELOAD={library}", *program], folder, {"MPIP": "-t 0.0 -y -f ."})
    [report] = folder.glob("*.mpiP")
    text = report.read_text()
    report.unlink()
    part = text.split("MPI Time (seconds)")[1].split("@---")[0]
    seconds = {int(rank): float(mpi) for rank, mpi in re.findall(r"^\s+(\d+)\s+[\d.e+-]+\s+([\d.e+-]+)", part, re.M)}
    part = text.split("Callsite Time statistics")[1].split("@---")[0]
    calls = {name: 0 for name in FUNCTIONS}
    for name, rank, count in re.findall(r"^(\w+)\s+\d+\s+(\d+|\*)\s+(\d+)", part, re.M):
        if rank != "*" and name in calls:
            calls[name] += int(count)
    return seconds, calls


def by_wrap(binaries, program, folder):
    shutil.rmtree(folder / "records", ignore_errors=True)
    mastermind = str(binaries / "mastermind")
    mpirun([mastermind, "wrap", "--call-sites", "--records", "records", "--", *program], folder)
    shown = subprocess.run([mastermind, "profile", "--mpi", "--json", "records"], cwd=folder, capture_output=True, text=True, check=True)
    report = json.loads(shown.stdout)
    seconds = {rank["rank"]: rank["mpi_ns"] * 1e-9 for rank in report["ranks"]}
    calls = {name: 0 for name in FUNCTIONS}
    for function in report["functions"]:
        name = function["name"].removeprefix("MPI_").removesuffix("()")
        if name in calls:
            calls[name] = function["calls"]
    return seconds, calls


def main():
    library = Path(sys.argv[1]).resolve()
    binaries = Path(sys.argv[2] if len(sys.argv) > 2 else HERE / "../../target/release").resolve()
    missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["mpicc", "-O2", "-o", folder / "late", HERE / "late.c"], check=True)
        program = ["./late", str(TURNS), str(LATE_US)]
        theirs, ours = [], []
        for round in range(ROUNDS):
            one, other = by_mpip(library, program, folder), by_wrap(binaries, program, folder)
            print(f"round {round}: rank 0 by mpiP {one[0][0]:.4f} s, by wrap {other[0][0]:.4f} s", flush=True)
            if one[1] != other[1]:
                print(f"must reach: MISSED   calls by mpiP {one[1]}, by wrap {other[1]}")
                missed = True
            theirs.append(one[0][0])
            ours.append(other[0][0])
    designed = 3 * TURNS * LATE_US * 1e-6
    a, b = statistics.median(theirs), statistics.median(ours)
    off = 100.0 * abs(b - a) / a
    verdict = "reached " if off <= 1.0 else "MISSED  "
    print(f"must reach: {verdict} seconds in MPI of rank 0: {b:.4f}, by mpiP {a:.4f}, {off:.2f} % apart, at most 1 %; by design {designed:.4f}")
    sys.exit(missed or off > 1.0)


if __name__ == "__main__":
    main()
