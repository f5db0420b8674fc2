#!/usr/bin/env python3
"""Results of `fit` and `compare` on records of the adaptive case study, taken while another process keeps a processor busy.

usage: run.py FOLDER_OF_THE_BINARIES [ROUNDS]

`fit`, without options: for each method whose calls have sizes, up to 12 coordinates with 20 calls or more, spread over the range. In
each third of them the median ratio of prediction and measurement (the median of the calls there, own time) must be within 25 %.
Otherwise the model must say that it is none (`no model`, `poor`), or that it does not describe typical calls (few calls hold most of the
time, or it departs from the medians). `compare`, ROUNDS times (20): the flux of two runs of one assembly is `same` or `cannot tell`;
Godunov's and EFM's are distinguished as in runs without the busy process. Ends with an error where a row is missed.
"""

import csv
import io
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

WITHIN = 0.25
MIN_CALLS = 20
MAX_PLACES = 12
FIXED = {"run", "rank", "thread", "instance", "class", "port", "method", "seq", "start_ns", "wall_ns", "mpi_ns", "compute_ns", "callpath",
         "parent_seq", "failed"}

root = pathlib.Path(__file__).resolve().parents[2]
binaries = pathlib.Path(sys.argv[1]).resolve()
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
environment = dict(os.environ, CCA_COMPONENT_PATH=str(binaries), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
missed = []
began = time.monotonic()


def mastermind(*words):
    return subprocess.run([binaries / "mastermind", *words], check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def run(records, *options):
    """The adaptive case of the demonstration, shortened, on 3 ranks where there is an MPI."""
    assembly = root / "examples/shock-amr/shock-amr.toml"
    ranks = ["--ranks", "3"] if shutil.which("mpirun") else []
    mastermind("run", str(assembly), "--records", records, "--overwrite", "--set", "driver.end_time=0.3", *ranks, *options)


def row(what, found, limit, reached):
    print(f"{'reached' if reached else 'MISSED '}  {what}: {found}, {limit}", flush=True)
    if not reached:
        missed.append(what)


def progress(what):
    """Prints the current part, and for how long the bench has run."""
    print(f"{time.monotonic() - began:6.0f} s  {what}", file=sys.stderr, flush=True)


def own_times(records):
    """(class::port.method) -> parameters -> own times, seconds."""
    rows = list(csv.DictReader(io.StringIO(mastermind("export", records, "--format", "csv", "--one-table", "-o", "-"))))
    inner = defaultdict(int)
    for call in rows:
        if call["parent_seq"]:
            inner[call["rank"], call["thread"], call["parent_seq"]] += int(call["wall_ns"])
    times = defaultdict(lambda: defaultdict(list))
    names = [name for name in rows[0] if name not in FIXED]
    for call in rows:
        at = tuple((name, call[name]) for name in names if call[name] != "")
        own = int(call["wall_ns"]) - inner[call["rank"], call["thread"], call["seq"]]
        times[f"{call['class']}::{call['port']}.{call['method']}"][at].append(own * 1e-9)
    return times


def fits(records):
    mastermind("fit", records, "-o", "models.json", "--force")
    times = own_times(records)
    for model in json.loads(pathlib.Path("models.json").read_text())["models"]:
        names, mode = model["params"], model.get("where", {})
        places = [
            (at, statistics.median(calls))
            for at, calls in times[model["method"]].items()
            if len(calls) >= MIN_CALLS and all(dict(at).get(name) == label for name, label in mode.items())
        ]
        if not names or len(places) < 3:
            continue
        places.sort(key=lambda place: [float(dict(place[0])[name]) for name in names])
        step = max(1, len(places) // MAX_PLACES)
        ratios = []
        for at, median in places[::step]:
            words = ",".join(f"{name}={value}" for name, value in at)
            output = mastermind("predict", "models.json", "--method", model["method"], "--at", words, "--json")
            ratios.append(json.loads(output)["value_s"] / median)
        third = max(1, len(ratios) // 3)
        parts = [statistics.median(ratios[:third]), statistics.median(ratios[third:-third] or ratios), statistics.median(ratios[-third:])]
        has_note = any(note["note"] in ("no-model", "poor", "uneven", "beside-medians") for note in model["notes"])
        good = all(abs(part - 1) <= WITHIN for part in parts)
        found = "predicted by median " + ", ".join(f"{part:.2f}" for part in parts) + (" (with a note)" if has_note else "")
        row(f"fit {model['method']} {' '.join(mode.values())}".strip(), found, "within 25 %, or a note", good or has_note)


def verdict(first, second):
    methods = json.loads(mastermind("compare", first, second, "--json"))["methods"]
    return next(method["verdict"] for method in methods if method["name"] == "flux.compute")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        efm = ["--replace", "flux=hydro.EfmFlux"]
        progress("quiet runs")
        run("quiet-godunov")
        run("quiet-efm", *efm)
        expected = verdict("quiet-godunov", "quiet-efm")
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        same, right = 0, 0
        try:
            progress("a run beside the busy process, and its models")
            run("records")
            fits("records")
            for number in range(1, rounds + 1):
                run("first")
                run("second")
                run("efm", *efm)
                itself, efms = verdict("first", "second"), verdict("first", "efm")
                same += itself in ("same", "cannot tell")
                right += efms == expected
                progress(f"round {number} of {rounds}: with itself {itself}, Godunov's and EFM's {efms}")
        finally:
            busy.kill()
        row("compare of a run with itself: same or cannot tell", f"{same} of {rounds}", "all", same == rounds)
        row(f"compare of Godunov's and EFM's flux: {expected}", f"{right} of {rounds}", "all", right == rounds)
    sys.exit(1 if missed else 0)


main()
