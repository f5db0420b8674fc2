"""Operon and the error correction search on the same 32-point problems: processor seconds of a run of 3000 candidates and 100
generations, one thread.

usage: rival.py FOLDER

FOLDER holds what the bench target `mecp` writes with `--problems`: tables, and in ours.txt the processor seconds of our runs by
case. Operon corrects the same base: it fits the ratio of the observed time to the base, over the inputs and the base. Ends with an
error where a run of ours takes more than 0.5 s or more than a sixth of Operon's.
"""

import csv
import pathlib
import sys
import time

import numpy
from pyoperon.sklearn import SymbolicRegressor

MOST_S = 0.5
SHARE = 1 / 6


def problem(path):
    with open(path, newline="") as file:
        rows = [[float(field) for field in row] for row in list(csv.reader(file))[1:]]
    table = numpy.array(rows)
    return table[:, :4], table[:, 4] / table[:, 3]


def run_s(inputs, ratio, seed):
    """Processor seconds, and the root mean square relative error of the corrected times."""
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
    return time.process_time() - start, float(numpy.sqrt(numpy.mean((model.predict(inputs) / ratio - 1) ** 2)))


def main():
    folder = pathlib.Path(sys.argv[1])
    ours = [float(line) for line in (folder / "ours.txt").read_text().split()]
    runs = [run_s(*problem(path), seed=1) for path in sorted(folder.glob("problem-*.csv"))]
    theirs = sum(seconds for seconds, _ in runs) / len(runs)
    print(f"Operon, 3000 candidates, 100 generations, 32 points: {theirs:.2f} CPU s a run")
    missed = 0
    for case, seconds in enumerate(ours, 1):
        is_reached = seconds <= MOST_S and seconds <= SHARE * theirs
        missed += not is_reached
        verdict = "reached " if is_reached else "MISSED  "
        print(f"must reach: {verdict} case {case}: {seconds:.2f} CPU s a run, at most {MOST_S}; "
              f"{seconds / theirs:.3f} of Operon's, at most {SHARE:.3f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
