"""The data that the constants of `samples/few_calls.rs` were chosen on: sizes measured once, with and without preempted calls.

usage: few_calls.py MASTERMIND WORK [--files N] [--seed S]

MASTERMIND is the binary, WORK a folder for the tables that it fits. Laws, grids, noise and heights of spikes are drawn at random, none
of them as in `kernels.py`. Prints these shares by law, grid, noise and height: clean tables that lose a call; tables with one spike in
their middle that is not found; tables whose first call is a spike that is not found; spikes that are not found in tables of two to four;
and tables of resonances that lose a call.
"""

import argparse
import collections
import json
import pathlib
import subprocess

import numpy

GRIDS = ["0..n", "1..n", "steps", "geometric", "log-uniform", "uniform", "powers and hundreds"]
NOISE = ["2 %", "5 %", "10 %", "20 %", "40 %", "Student", "two modes", "coarse clock"]
RESONANCES = ["primes", "every second", "powers of two", "multiples", "every k-th", "8 % at random"]
PART = 500  # tables of one call of the binary


def grid(rng, kind):
    n = int(numpy.exp(rng.uniform(numpy.log(12), numpy.log(300))))
    if kind == "0..n":
        x = numpy.arange(n)
    elif kind == "1..n":
        x = numpy.arange(1, n + 1)
    elif kind == "steps":
        x = int(rng.integers(2, 1000)) * numpy.arange(1, n + 1)
    elif kind == "geometric":
        x = numpy.round(rng.choice([1, 2, 16, 100]) * rng.choice([1.5, 2, 4, 10]) ** numpy.arange(min(n, 20)))
    elif kind == "log-uniform":
        x = 1 + numpy.exp(rng.uniform(0, numpy.log(10 ** rng.uniform(2, 6)), n)).astype(int)
    elif kind == "uniform":
        x = rng.integers(1, int(10 ** rng.uniform(2, 6)), n)
    else:
        x = numpy.concatenate([2 ** numpy.arange(1, 11), 100 * numpy.arange(1, 11)])
    return numpy.unique(x).astype(float)


def laws(rng, x):
    """Times of each law at sizes `x`."""
    largest, p, part = x.max(), numpy.maximum(x, 1), numpy.maximum(x, 0) / x.max()
    c, step = 10 ** rng.uniform(-3, 1), 10 ** rng.uniform(0.3, 2)
    place, rank = rng.choice(x[1:]), numpy.arange(len(x))
    return {
        "constant": numpy.ones(len(x)), "line": c + part, "n log n": 0.1 * c + part * numpy.log(p + 1), "n^2": 0.1 * c + part**2,
        "n^3": 0.01 * c + part**3, "root": 0.1 * c + part**0.5, "logarithm": 1 + numpy.log(p), "1/p": 0.01 * c + 1 / p,
        "1/p^2": 1e-3 * c + p**-2, "1/p^3": 1e-4 * c + p**-3, "1/p + c p": 1 / p + 0.1 * c * p / largest,
        "falling exponential": 0.1 * c + numpy.exp(-part * rng.uniform(1, 30)),
        "stairs": numpy.ceil((x + 1) / (largest / rng.integers(2, 9))), "cliff": numpy.where(x > place, step, 1) * (part + 0.3),
        "cliff down": numpy.where(x > place, 1, step) * (part + 0.3), "regimes": numpy.maximum(1, (x / numpy.median(x)) ** 3),
        "bump": 1 + step * numpy.exp(-(((rank - rng.uniform(0, len(x))) / rng.uniform(1.5, 6)) ** 2)),
        "one in ten fast": numpy.where(rng.random(len(x)) < 0.1, 0.1, 1.0),
    }


def noisy(rng, times, kind):
    normal = rng.standard_normal(len(times))
    if kind == "Student":
        return times * numpy.exp(0.05 * rng.standard_t(3, len(times)))
    if kind == "two modes":
        slow = rng.random(len(times)) < rng.uniform(0.02, 0.5)
        return times * numpy.where(slow, rng.uniform(1.3, 3), 1) * numpy.exp(0.02 * normal)
    if kind == "coarse clock":
        step = numpy.median(times) / rng.integers(2, 20)
        return step * numpy.maximum(1, numpy.round(times * numpy.exp(0.03 * normal) / step + rng.random(len(times)) - 0.5))
    return times * numpy.exp(float(kind.split()[0]) / 100 * normal)


def resonant(rng, x, kind):
    rank, is_whole = numpy.arange(len(x)), x > 1
    if kind == "primes":
        return numpy.array([v > 1 and all(v % k for k in range(2, int(v**0.5) + 1)) for v in x])
    if kind == "every second":
        return rank % 2 == 1
    if kind == "powers of two":
        return (x >= 16) & (numpy.log2(numpy.maximum(x, 1)) % 1 == 0)
    if kind == "multiples":
        return is_whole & (x % rng.choice([8, 16, 32, 64]) == 0)
    if kind == "every k-th":
        return rank % int(rng.integers(3, 20)) == 2
    return rng.random(len(x)) < 0.08


def tables(rng, files):
    """(purpose, labels, number of spikes, sizes, times) of each table."""
    for _ in range(files):
        kind = rng.choice(GRIDS)
        x = grid(rng, kind)
        if len(x) < 12:
            continue
        all_laws = laws(rng, x)
        law, noise = rng.choice(list(all_laws)), rng.choice(NOISE)
        times = noisy(rng, all_laws[law], noise)
        labels = [kind, law, noise]
        yield "clean", labels, 0, x, times
        height = 10 ** rng.uniform(numpy.log10(3), 3)
        height_label = [f"height {'3-10' if height < 10 else '10-30' if height < 30 else '30-1000'}"]
        for what, row in ("spike", int(rng.integers(1, len(x) - 1))), ("first", 0):
            spiky = times.copy()
            spiky[row] *= height
            yield what, height_label + (labels if height >= 10 else []), 1, x, spiky
        n = int(rng.integers(2, 5))
        several = times.copy()
        several[rng.choice(numpy.arange(1, len(x) - 1), n, replace=False)] *= 10 ** rng.uniform(numpy.log10(3), 3, n)
        yield "several", [f"{n} of {'12-39' if len(x) < 40 else '40-99' if len(x) < 100 else '100-300'}"], n, x, several
        resonance = rng.choice(RESONANCES)
        rows = resonant(rng, x, resonance)
        heights = numpy.maximum(1.2, 10 ** rng.uniform(0.3, 1.5) * numpy.exp(0.3 * rng.standard_normal(len(x))))
        if sum(rows) >= 2:
            count = "two of them" if sum(rows) == 2 else "more of them"
            yield "resonance", [resonance, count], 0, x, noisy(rng, numpy.where(rows, heights, 1) * all_laws[law], noise)


def aside(mastermind, work, part):
    """Calls set aside in each table."""
    for old in work.glob("*.csv"):
        old.unlink()
    for i, (_, _, _, x, times) in enumerate(part):
        rows = "".join(f"{a},{t}\n" for a, t in zip(x, times))
        (work / f"t{i}.csv").write_text("x,seconds\n" + rows)
    ended = subprocess.run([mastermind, "fit", work, "--json"], check=True, capture_output=True, text=True)
    models = {model["method"]: model for model in json.loads(ended.stdout)["models"]}
    notes = (models[f"t{i}"]["notes"] for i in range(len(part)))
    return [sum(note["n_records"] for note in of if note["note"] == "set-aside") for of in notes]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mastermind")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.work.mkdir(exist_ok=True)
    drawn = list(tables(numpy.random.default_rng(options.seed), options.files))
    wrong = collections.defaultdict(lambda: collections.defaultdict(list))
    for start in range(0, len(drawn), PART):
        part = drawn[start : start + PART]
        for (what, labels, n, _, _), found in zip(part, aside(options.mastermind, options.work, part)):
            share = float(found > 0) if n == 0 else max(0, n - found) / n
            for label in ["all", *labels]:
                wrong[what][label].append(share)
    for what, name in [("clean", "clean, a call lost"), ("spike", "one spike, missed; from 10 x by the rest"),
                       ("first", "the first call a spike, missed; from 10 x by the rest"), ("several", "several spikes, share missed"),
                       ("resonance", "resonances, a call lost")]:
        print(name)
        for label, shares in sorted(wrong[what].items()):
            print(f"    {label:22} {100 * numpy.mean(shares):6.2f} % of {len(shares)}")


if __name__ == "__main__":
    main()
