#!/usr/bin/env python3
"""Models of recorded runs that scale: runs on few ranks become one program model, whose time on more ranks must be that of the run recorded on
those, both simulated on one machine file. Ranks are recorded in processor time (--cpu), so that there may be more than processors.

Usage: benches/end-to-end/run.py RELEASE [NAME=COMMAND ...]
  RELEASE  the folder of the built program
  COMMAND  a program of Open MPI that is recorded on 2, 4, 8 and 16 ranks too, {ranks} and {x}, {y}, {z} in it being their number and the sides of
           their grid; its model must be within 15 %, or be refused
Heat and transport must be within 5 %. Each number is one recording; ends with 1 where a row is missed.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Nodes of one processor: the comparison is of the model, not of the machine.
MACHINE = """[nodes]
processors = 1
[network]
latency_ns = 1500
overhead_ns = 300
gap_ns = 500
gap_per_byte_ns = 0.1
"""
MAX_LINES = 60


def called(*words):
    done = subprocess.run([str(word) for word in words], env=ENVIRONMENT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def sides(ranks):
    """Those of the grid of three axes that MPI_Dims_create makes of a power of two."""
    k = ranks.bit_length() - 1
    return {"x": 2 ** ((k + 2) // 3), "y": 2 ** ((k + 1) // 3), "z": 2 ** (k // 3)}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    mastermind = Path(sys.argv[1]).resolve() / "mastermind"
    others = [argument.split("=", 1) for argument in sys.argv[2:]]
    work = Path(tempfile.mkdtemp())
    (work / "machine.toml").write_text(MACHINE)
    launcher = ["mpirun.openmpi", "--oversubscribe", "-n"]
    n_missed = 0

    def record(name, ranks, command=None):
        records = work / f"{name}{ranks}"
        record_options = ["--mpi-events", "--cpu", "--records", records]
        if command is None:
            assembly = ROOT / f"examples/{name}/{name}.toml"
            words = [*launcher, ranks, mastermind, "run", assembly, "--mpi", "openmpi", *record_options]
        else:
            program = shlex.split(command.format(ranks=ranks, **sides(ranks)))
            words = [*launcher, ranks, mastermind, "wrap", *record_options, "--", *program]
        code, _, error = called(*words)
        if code != 0:
            sys.exit(f"cannot record {name} on {ranks} ranks:\n{error[-2000:]}")

    def simulated(what, ranks):
        code, text, error = called(mastermind, "simulate", what, "--machine", work / "machine.toml", "--ranks", ranks, "--json")
        if code != 0:
            return None, error.strip().splitlines()[-1] if error.strip() else "no reason"
        return json.loads(text)["makespan_ns"] * 1e-6, ""

    def row(name, of, on, bar, may_be_refused):
        nonlocal n_missed
        model = work / f"{name}-{'-'.join(map(str, of))}.toml"
        code, _, error = called(mastermind, "transform", *[work / f"{name}{n}" for n in of], "-o", model, "--force")
        reason = error.strip().splitlines()[-1] if code != 0 and error.strip() else ""
        lines = len(model.read_text().splitlines()) if code == 0 else 0
        for ranks in on:
            expected, why = simulated(work / f"{name}{ranks}", ranks)
            if expected is None:
                sys.exit(f"cannot simulate {name} on {ranks} ranks: {why}")
            found, refused = simulated(model, ranks) if code == 0 else (None, reason)
            what = f"{name:12} {', '.join(map(str, of)):9} -> {ranks:3}  run {expected:9.2f} ms"
            if found is None:
                reached, said = may_be_refused, f"refused: {refused[:110]}"
            else:
                off = 100 * (found / expected - 1)
                reached, said = abs(off) <= bar, f"model {found:9.2f} ms, {off:+6.2f} % ({bar} asked), {lines} lines"
            n_missed += not reached
            print(f"{what}, {said}: {'reached' if reached else 'MISSED'}", flush=True)
        if name == "heat":
            reached = 0 < lines <= MAX_LINES
            n_missed += not reached
            print(f"{name:12} {', '.join(map(str, of)):9}  {lines} lines ({MAX_LINES} asked): {'reached' if reached else 'MISSED'}", flush=True)

    for name in ["heat", "transport"]:
        for ranks in [1, 2, 4, 8, 16]:
            record(name, ranks)
        row(name, [2, 4, 8], [16], 5, False)
        row(name, [1, 2, 4], [8, 16], 5, False)
    for name, command in others:
        for ranks in [2, 4, 8, 16]:
            record(name, ranks, command)
        row(name, [2, 4], [16], 15, True)
        row(name, [2, 4, 8], [16], 15, True)
    print(f"{n_missed} missed")
    return n_missed != 0


if __name__ == "__main__":
    sys.exit(main())
