"""Whether the interval that `choose` gives of a total holds a fresh run's: 20 trainings and targets, half of them disturbed.

usage: cover.py MASTERMIND ASSEMBLY WORK [--trials N] [--repeat K] [--metric wall|cpu]

MASTERMIND is the program, ASSEMBLY one with alternatives, WORK a folder for the records. Each trial runs every planned assembly K times
(`plan --run`), fits models, chooses, runs what was chosen once more, and looks whether the recorded time of that run lies in the interval.
All programs of a trial share one processor; in every second trial another process is busy there, on and off at random, during the
training and the target. Fewer covered than 18 of 20, in proportion, make the exit code 1.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading

SHARE = 18 / 20
# Small: a run takes about a tenth of a second.
SETTINGS = ["--set", "mesh.nx=48", "--set", "mesh.ny=16", "--set", "driver.max_steps=30"]
ON_OFF_S = [0.05, 0.6]


class Busy:
    """Another process on the same processor, on and off."""

    def __init__(self, seed):
        self.rng, self.stop = random.Random(seed), threading.Event()
        self.thread = threading.Thread(target=self.disturb)

    def disturb(self):
        while not self.stop.is_set():
            spin = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.stop.wait(self.rng.uniform(*ON_OFF_S))
            spin.kill()
            spin.wait()
            self.stop.wait(self.rng.uniform(*ON_OFF_S))

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


class Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def verb(program, name, *arguments):
    done = subprocess.run([program, name, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"mastermind {name} {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def trial(options, number, disturbed):
    """The interval of the total, and the time of a fresh run, seconds."""
    program, assembly, work = options.mastermind, options.assembly, options.work / f"trial-{number}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    runs, models, best, target = (work / name for name in ("runs", "models.json", "best.toml", "target"))
    with Busy(number) if disturbed else Nothing():
        verb(program, "plan", assembly, "--run", "--records", runs, "--repeat", options.repeat, *SETTINGS)
        verb(program, "fit", *sorted(runs.iterdir()), "--metric", options.metric, "-o", models)
        first = sorted(runs.iterdir())[0]
        chosen = json.loads(verb(program, "choose", assembly, "--models", models, "--records", first, "--runs", runs, "--json"))
        replaced = [word for instance, name in chosen["best"].items() for word in ("--replace", f"{instance}={name}")]
        verb(program, "run", assembly, "--records", target, *replaced, *SETTINGS)
        choice = json.loads(verb(program, "choose", assembly, "--models", models, "--records", target, "--json"))
    if chosen["interval_s"][0] is None:
        sys.exit("no interval: too few runs were repeated; more --repeat")
    measured = sum(row["measured_s"] for row in choice["instances"] if row["measured_s"] is not None)
    return chosen["interval_s"], chosen["predicted_s"], measured


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mastermind")
    parser.add_argument("assembly")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--metric", default="wall")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    n_inside = 0
    print("trial disturbed   predicted s   95 % interval s           a fresh run s")
    for number in range(options.trials):
        disturbed = number % 2 == 1
        (lower, upper), predicted, measured = trial(options, number, disturbed)
        inside = lower <= measured <= upper
        n_inside += inside
        print(f"{number + 1:5} {'yes' if disturbed else 'no':9} {predicted:13.5f}   {lower:.5f} to {upper:.5f}   {measured:13.5f}  "
              f"{'inside' if inside else 'OUTSIDE'}", flush=True)
    wanted = SHARE * options.trials
    verdict = "reached" if n_inside >= wanted else "missed"
    print(f"{n_inside} of {options.trials} inside, target {wanted:.0f}: {verdict}")
    return 0 if verdict == "reached" else 1


if __name__ == "__main__":
    sys.exit(main())
