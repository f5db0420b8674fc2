"""Checks that `predict` says so wherever it departs from the formula that `fit` shows, over problems drawn at random.

usage: told.py MASTERMIND WORK [--problems N] [--seed S]

MASTERMIND is the binary, WORK a folder for intermediate files. The problems are all forms of functions that `kernels.py` draws, in one to
three parameters, on its grids and with its noises. One plain `fit` fits all of them, and each is predicted at a quarter of the smallest
size and at 4 and 16 times the largest. The text that a user gets is checked: a prediction outside the interval of the shown formula, or
10 times larger or smaller, must come with the value of the formula; one that is 0 must say that it cannot be relied on; none may be
negative or not a number. A prediction that departs without a warning is printed, and makes the exit code 1.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys

from kernels import COEFFICIENTS, NOISE, Plan, kernels

MAX_FACTOR = 10  # times the shown formula
ROUNDING = 2e-3  # of numbers with four digits
PLACES = [1 / 4, 4, 16]  # of the smallest or the largest size
NUMBER = r"(-?[0-9.]+(?:e-?[0-9]+)?|-?inf|NaN)"
VALUE = re.compile(rf": wall time {NUMBER} s")
INTERVAL = re.compile(rf"take {NUMBER} to {NUMBER} s")


def drawn(seed, n):
    """Problems: kernels of plans and noise at random."""
    rng = random.Random(seed)
    for number in range(n):
        functions = rng.choice(["terms", "terms", "suite", "strong", "strong with log"])
        several = functions == "terms" and rng.random() < 0.4
        plan = Plan(
            functions=functions,
            n_params=rng.choice([2, 3]) if several else 1,
            n_terms=rng.choice([1, 2]) if functions == "terms" and not several else 1,
            coefficients=rng.choice(sorted(COEFFICIENTS)),
            n_sizes=rng.choice([4, 5, 8] if several else [4, 5, 6, 7, 8, 9, 25]),
            repetitions=rng.choice([1, 2, 3, 5, 20]),
            noise=rng.choice(sorted(NOISE)),
            cross=several and rng.random() < 0.3,
        )
        noise = rng.choice([0.0, 0.01, 0.02, 0.05, 0.1, 0.2])
        yield plan, noise, kernels(f"{seed}/{number}", 1, plan, noise)[0]


def asked(binary, models, name, at, shown):
    """The output of `predict`: the text, the value and its interval."""
    command = [binary, "predict", models, "--method", name, "--at", at] + (["--shown"] if shown else [])
    ran = subprocess.run(command, capture_output=True, text=True)
    text = ran.stdout + ran.stderr
    value, interval = VALUE.search(text), INTERVAL.search(text)
    found = float(value[1]) if value else None
    return text, found, [float(end) for end in interval.groups()] if interval else None


def silent(text, value, shown, interval):
    """Why a prediction lacks a warning; None where it needs none."""
    if value is None:
        return None if "cannot predict" in text else "no value and no error"
    if not 0 <= value < float("inf"):
        return "negative or no number"
    if value == 0:
        return None if "do not rely on it" in text else "0"
    has_warning = "the shown formula alone gives" in text or "do not rely on it" in text
    if has_warning or shown is None:
        return None
    if interval and not interval[0] * (1 - ROUNDING) <= value <= interval[1] * (1 + ROUNDING):
        return f"outside the shown formula's interval, {interval[0]} to {interval[1]}"
    if not shown / MAX_FACTOR <= value <= shown * MAX_FACTOR:
        return f"beyond {MAX_FACTOR} x the shown formula's {shown}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mastermind")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--seed", default="told")
    options = parser.parse_args()
    problems = list(drawn(options.seed, options.problems))
    counts, failures = {"predictions": 0, "outside the shown interval": 0, f"beyond {MAX_FACTOR} x": 0, "told": 0, "0": 0, "errors": 0}, []
    for n_params in (1, 2, 3):
        some = [(i, *problem) for i, problem in enumerate(problems) if len(problem[2]["params"]) == n_params]
        if not some:
            continue
        lines = []
        for i, _, _, kernel in some:
            for point, values in zip(kernel["points"], kernel["values"]):
                params = dict(zip(kernel["params"], point))
                lines += [json.dumps({"params": params, "callpath": f"problem{i}", "metric": "time", "value": max(v, 0.0)}) for v in values]
        measured, models = options.work / f"told{n_params}.jsonl", options.work / f"told{n_params}.json"
        measured.write_text("\n".join(lines) + "\n")
        subprocess.run([options.mastermind, "fit", measured, "-o", models, "--force"], check=True, stdout=subprocess.DEVNULL)
        stored = {model["method"]: model for model in json.loads(models.read_text())["models"]}
        for i, plan, noise, kernel in some:
            # A model a file: to read all of them for each prediction takes minutes.
            one = options.work / "told-one.json"
            one.write_text(json.dumps({"models": [stored[f"problem{i}"]]}))
            columns = list(zip(*kernel["points"]))
            for place in PLACES:
                at = ",".join(f"{p}={place * (min(c) if place < 1 else max(c))!r}" for p, c in zip(kernel["params"], columns))
                text, value, _ = asked(options.mastermind, one, f"problem{i}", at, False)
                _, shown, interval = asked(options.mastermind, one, f"problem{i}", at, True)
                counts["predictions"] += 1
                counts["errors"] += value is None
                counts["0"] += value == 0
                counts["told"] += "the shown formula alone gives" in text
                if value and shown is not None:
                    counts["outside the shown interval"] += bool(interval) and not interval[0] <= value <= interval[1]
                    counts[f"beyond {MAX_FACTOR} x"] += not shown / MAX_FACTOR <= value <= shown * MAX_FACTOR
                if (why := silent(text, value, shown, interval)) is not None:
                    failures.append(f"problem{i} ({plan.name()}, noise {noise}) at {at}: {value}: {why}")
    print("\n".join(failures))
    print(f"{len(problems)} problems, seed {options.seed}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    print(f"without a word: {len(failures)}, target 0: {'missed' if failures else 'reached'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
