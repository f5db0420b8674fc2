"""Processor time of the whole command, `mastermind fit` compared with `extrap`, on one file of many kernels.

usage: cost.py MASTERMIND EXTRAP WORK [--kernels N] [--rounds N]

The kernels are those of `kernels.py` in one parameter, 5 sizes x 5 repetitions at 5 % noise, as JSON lines, a call path each. Start,
reading and writing count for both. The comparison is of the minimum over rounds in which both take turns: a run of ours lasts a fifth of
a second, and processors change their speed within one. A ratio below 50 makes the exit code 1.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

from kernels import Plan, kernels

COST = 50


def cpu_s(command):
    """User and system time of a command with its children, seconds."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mastermind")
    parser.add_argument("extrap")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = []
    for number, kernel in enumerate(kernels("cost", options.kernels, Plan(), 0.05)):
        for point, values in zip(kernel["points"], kernel["values"]):
            for value in values:
                measured = {"params": {"x": point[0]}, "callpath": f"kernel{number}", "metric": "time", "value": value}
                lines.append(json.dumps(measured))
    path = options.work / "cost.jsonl"
    path.write_text("\n".join(lines) + "\n")
    our_command = [options.mastermind, "fit", path, "-o", options.work / "cost.json", "--force"]
    their_command = [options.extrap, "--json", path, "--disable-progress", "--save-experiment", options.work / "cost.extra-p"]
    rounds = []
    for number in range(1, options.rounds + 1):
        # Ours in the middle of the time that theirs takes, in the mean.
        before, theirs, after = cpu_s(our_command), cpu_s(their_command), cpu_s(our_command)
        rounds.append((min(before, after), theirs))
        print(f"round {number}: Extra-P {theirs:.2f} s, ours {before:.3f} and {after:.3f} s", flush=True)
    ours, theirs = (min(side) for side in zip(*rounds))
    ratio = theirs / ours
    verdict = "reached" if ratio >= COST else "missed"
    print(f"whole command, {options.kernels} kernels: Extra-P {theirs:.2f} s, ours {ours:.3f} s of processor time, ratio {ratio:.0f}, target {COST}: {verdict}")
    return 0 if verdict == "reached" else 1


if __name__ == "__main__":
    sys.exit(main())
