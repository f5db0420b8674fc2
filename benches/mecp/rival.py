"""Operon and the error correction search on the same problems: processor seconds of a run of 3000 candidates and 100
generations on 32 points, and side by side how well both correct.

usage: rival.py OURS FOLDER [TRIALS]

OURS is the executable of the bench target `mecp`, FOLDER holds what it writes with `--problems`. Runs of both follow each other in turn, and the
share of Operon's time is the median of those of neighbours: a machine may be twice as slow for seconds on end. Operon corrects the same base: it fits the ratio of the
observed time to the base at the training points, over the inputs and the base, one thread. Ends with an error where a run of
ours takes more than 0.5 s or more than a sixth of Operon's.
"""

import collections
import csv
import pathlib
import statistics
import subprocess
import sys
import time
import warnings

import numpy
from pyoperon.sklearn import SymbolicRegressor

MAX_S = 0.5
SHARE = 1 / 6
ROUNDS = 2
SPLITS = {"r": "random half", "c": "cells held out", "e": "extrapolation"}


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def problem(path):
    """Inputs and base, observed time by base, and which points are for training."""
    table = rows(path)
    names = [name for name in table[0] if name not in ("t_observed", "train")]
    column = lambda name: numpy.array([float(row[name]) for row in table])
    inputs = numpy.stack([column(name) for name in names], axis=1)
    return inputs, column("t_observed") / column("t_comm"), column("train") == 1


def run(inputs, ratio, seed):
    """A model, and the processor seconds of its fit."""
    model = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,pow,log,exp,constant,variable",
        population_size=3000,
        pool_size=3000,
        generations=100,
        max_evaluations=10**9,
        optimizer_iterations=0,
        crossover_probability=0.9,
        mutation_probability=0.1,
        max_length=31,
        max_depth=7,
        n_threads=1,
        random_state=seed,
    )
    start = time.process_time()
    model.fit(inputs, ratio)
    return model, time.process_time() - start


def error(calculated, ratio):
    """Root mean square of the relative errors of the times."""
    with numpy.errstate(all="ignore"):
        found = float(numpy.sqrt(numpy.mean((calculated / ratio - 1) ** 2)))
    return found if numpy.isfinite(found) else float("inf")


def ratios(path, n_trials):
    """Operon's error at the test points by that of the base, a trial each."""
    inputs, ratio, is_train = problem(path)
    of_base = error(numpy.ones_like(ratio[~is_train]), ratio[~is_train])
    found = []
    for seed in range(1, n_trials + 1):
        model, _ = run(inputs[is_train], ratio[is_train], seed)
        found.append(error(model.predict(inputs[~is_train]), ratio[~is_train]) / of_base)
    return found


def print_row(split, name, values):
    share = lambda is_so: 100 * sum(map(is_so, values)) / len(values)
    print(f"{SPLITS[split]:15} {name:13} | {share(lambda r: r < 1):8.1f} | {share(lambda r: r > 1.05):14.1f} | "
          f"{100 * (1 - statistics.median(values)):18.1f} | {max(values):.3g}", flush=True)


def accuracy(folder, n_trials):
    ours = collections.defaultdict(list)
    for row in rows(folder / "ratios.csv"):
        ours[row["split"], row["case"]].append(float(row["ratio"]))
    print("\nEVH1 split      which         | better % | worse by 5 % % | median reduction % | greatest error by the base's")
    for split in SPLITS:
        paths = sorted(folder.glob(f"{split}-*.csv"))
        if not paths:
            continue
        print_row(split, "Operon", [value for path in paths for value in ratios(path, n_trials)])
        for (of, case), values in sorted(ours.items()):
            if of == split:
                print_row(split, f"ours, case {case}", values)


def costs(executable, folder):
    """Processor seconds of Operon's runs, and of ours by case those of each run with their share of Operon's just before."""
    theirs, ours = [], collections.defaultdict(list)
    for _ in range(ROUNDS):
        for path in sorted(folder.glob("cost-*.csv")):
            inputs, ratio, _ = problem(path)
            theirs.append(run(inputs, ratio, seed=1)[1])
            place = path.stem.split("-")[1]
            output = subprocess.run([executable, "--cost", place], check=True, capture_output=True, text=True).stdout
            for row in csv.DictReader(output.splitlines()):
                seconds = float(row["cpu_s"])
                ours[row["case"]].append((seconds, seconds / theirs[-1]))
    return theirs, ours


def main():
    warnings.simplefilter("ignore")
    executable, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    n_trials = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    theirs, ours = costs(executable, folder)
    print(f"Operon, 3000 candidates, 100 generations, 32 points: {statistics.median(theirs):.2f} CPU s a run", flush=True)
    missed = 0
    for case, runs in sorted(ours.items()):
        seconds, share = (statistics.median(values) for values in zip(*runs))
        is_reached = seconds <= MAX_S and share <= SHARE
        missed += not is_reached
        verdict = "reached " if is_reached else "MISSED  "
        print(f"must reach: {verdict} case {case}: {seconds:.2f} CPU s a run, at most {MAX_S}; "
              f"{share:.3f} of Operon's, at most {SHARE:.3f}", flush=True)
    accuracy(folder, n_trials)
    return 1 if missed or not ours else 0


if __name__ == "__main__":
    sys.exit(main())
