"""Extra-P and Mastermind on the same kernels: the table of accuracy and cost.

usage: run.py OURS WORK [--kernels N] [--seed S,S] [--only P/T] [--reuse]

OURS is the executable of the bench target `extrap` of `mastermind-models`, WORK a folder for what
passes between. `run.sh` builds the one and makes the other.

An error is the median over the kernels of a row; behind the ratio of ours to Extra-P's stands its standard error, by
resampling the kernels (with 200 of them about a tenth of it), and by how many of these it is above its target; below, the number is
negative. Several seeds are as many times the kernels. A row is `reached` where all its targets are; `at the limit` where what it
misses is at most one standard error worse than `limit.py`, which knows the noise and the number of terms, and behind it stands by how
many standard errors it is; else `missed`. What can be reached without knowing the number of terms `limit.py` tells as a program.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import warnings

import numpy

import kernels
import limit
import rival

VERDICTS = ["reached", "at the limit (within 1 s.e.)", "missed"]
AT_LIMIT = 1  # standard errors
COST = 200  # times less processor time a kernel of one parameter
NOISE = [0.0, 0.02, 0.05, 0.10]
# (parameters, terms): the targets for our median error, as a share of Extra-P's at each noise; for two terms
# without noise 1 % absolute.
CASES = {
    (1, 1): [None, 0.9, 0.55, 0.7],
    (2, 1): [None, 1.0, 1.0, 1.0],
    (3, 1): [None, 1.0, 1.0, 1.0],
    (1, 2): ["1 %", 0.5, 0.8, 1.0],
}


def errors(answers, case):
    return numpy.array([100 * abs(a / k["far_exact"] - 1) for a, k in zip(answers, case)])


def ratio_of_medians(ours, theirs):
    """The ratio of two medians over the same kernels and its standard error; not a number where there is no error."""
    if numpy.median(theirs) <= 1e-6:
        return math.nan, math.nan
    rng = numpy.random.default_rng(1)
    picked = rng.integers(len(ours), size=(400, len(ours)))
    drawn = numpy.median(ours[picked], axis=1) / numpy.median(theirs[picked], axis=1)
    return float(numpy.median(ours) / numpy.median(theirs)), float(drawn.std())


def exact(answers, case):
    same = sum([[tuple(f) for f in p] for p in a] == k["terms"] for a, k in zip(answers, case))
    return 100 * same / len(case)


def rivals(case, path, reuse, progress):
    if reuse and path.exists():
        return json.loads(path.read_text())
    rows = []
    for kernel in case:
        rows.append(rival.fit(kernel))
        progress(len(rows), len(case))
    rows = [{"terms": t, "far": f, "cpu_s": s} for t, f, s in rows]
    path.write_text(json.dumps(rows))
    return rows


def ours(case, executable, work, name):
    given, answers = work / f"{name}.jsonl", work / f"{name}.answers.jsonl"
    given.write_text("\n".join(json.dumps(k) for k in case))
    subprocess.run([executable, given, answers], check=True)
    return [json.loads(line) for line in answers.read_text().splitlines()]


class Progress:
    """How far the whole is, on standard error where that is a terminal."""

    def __init__(self, n_rows):
        self.row, self.n_rows = 0, n_rows

    def __call__(self, done, of):
        if sys.stderr.isatty() and (done % 10 == 0 or done == of):
            end = "" if done < of else "\r" + 60 * " " + "\r"
            print(f"\rrow {self.row} of {self.n_rows}: kernel {done} of {of} by Extra-P ", end=end, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ours")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--kernels", type=int, default=200, help="of a row; of one in three parameters half as many")
    parser.add_argument("--seed", default="1", help="or several, apart by commas")
    parser.add_argument("--coefficients", choices=kernels.COEFFICIENTS, default="alike")
    parser.add_argument("--only")
    parser.add_argument("--reuse", action="store_true", help="take Extra-P's answers of the run before")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    seeds = options.seed.split(",")
    print(f"{options.kernels * len(seeds)} kernels a row, of three parameters half as many, {kernels.REPETITIONS} repetitions, "
          f"coefficients {options.coefficients}, seed {options.seed}, error at {kernels.FAR}x the range")
    print("params terms noise | exact %              | median error %         | ratio to Extra-P's                  | cover %    half"
          "      | CPU ms a kernel")
    print("                   | Extra-P  ours  limit | Extra-P   ours   limit | is             target  s.e.  limit | in   4x    width %"
          "   | Extra-P   ours ratio | verdict")
    verdicts = dict.fromkeys(VERDICTS, 0)
    cpu_s = {True: [], False: []}
    wanted = {case: targets for case, targets in CASES.items() if options.only in (None, "{}/{}".format(*case))}
    progress = Progress(len(wanted) * len(NOISE))
    for (n_params, n_terms), targets in wanted.items():
        n = options.kernels // (2 if n_params > 2 else 1)
        for noise, target in zip(NOISE, targets):
            progress.row += 1
            case, theirs, mine = [], [], []
            for seed in seeds:
                name = f"{options.coefficients}-{seed}-{n_params}-{n_terms}-{int(noise * 100)}-{n}"
                drawn = kernels.kernels(seed, n, n_params, n_terms, noise, options.coefficients)
                theirs += rivals(drawn, options.work / f"{name}.rival.json", options.reuse, progress)
                mine += ours(drawn, options.ours, options.work, name)
                case += drawn
            verdicts[row(case, theirs, mine, (n_params, n_terms, noise), target)] += 1
            cpu_s[n_params == 1] += [(a["cpu_s"], b["cpu_s"]) for a, b in zip(theirs, mine)]
    missed = [is_single for is_single, pairs in cpu_s.items() if pairs and cost(pairs, is_single)]
    print("rows: " + ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items()))
    if missed or verdicts["missed"]:
        sys.exit("a row is missed")


def cost(pairs, is_single):
    """Prints what a kernel costs and returns whether the target is missed."""
    theirs, mine = (statistics.mean(side) for side in zip(*pairs))
    ratio, what = theirs / mine, "one parameter" if is_single else "several parameters"
    is_missed = is_single and ratio < COST
    target = f", target {COST}: {'missed' if is_missed else 'reached'}" if is_single else ""
    print(f"{what}: {len(pairs)} kernels, CPU ms a kernel {1e3 * theirs:.2f} by Extra-P, {1e3 * mine:.4f} by ours: ratio {ratio:.0f}{target}")
    return is_missed


def row(case, theirs, mine, label, target):
    """Prints a row and returns its verdict."""
    n_params, n_terms, noise = label
    both = (theirs, mine)
    share = [exact([a["terms"] for a in answers], case) for answers in both]
    error = [errors([a["far"] for a in answers], case) for answers in both]
    ratio, deviation = ratio_of_medians(error[1], error[0])
    best_share, best_error = limits(case, n_terms) if n_params == 1 else (math.nan, None)
    best_ratio = math.nan if best_error is None else ratio_of_medians(best_error, error[0])[0]
    near = 100 * sum(a["near_inside"] for a in mine) / sum(len(k["near"]) for k in case)
    far = 100 * sum(a["far_inside"] for a in mine) / sum(len(k["far_values"]) for k in case)
    median = float(numpy.median(error[1]))
    missed, at_limit = [], []

    def miss(what, beyond):
        # Not -0.0.
        says = f"{round(beyond, 1) + 0.0:+.1f} s.e. from the limit"
        (at_limit if beyond <= AT_LIMIT else missed).append(what if math.isinf(beyond) else f"{what} {says}")

    if n_terms == 1 and (share[1] < share[0] or share[1] < best_share - 2):
        miss("exact", beyond_share(share[1], best_share, len(case)))
    if not within(median, ratio, target):
        miss("error", beyond_error(error[1], best_error))
    if noise > 0 and not 90 <= near <= 98:
        missed.append("cover in")
    if noise > 0 and far < 80:
        missed.append("cover 4x")
    verdict = VERDICTS[2 if missed else 1 if at_limit else 0]
    says = ", ".join(missed + at_limit)
    print(
        f"{n_params:6} {n_terms:5} {100 * noise:4.0f}% | {share[0]:7.1f} {share[1]:5.1f} {shown(best_share, 6, 1)} "
        f"| {numpy.median(error[0]):7.2f} {median:6.2f} {shown(best_error, 7, 2)} "
        f"| {shown(ratio, 5, 2)} {'' if math.isnan(ratio) else '+-'}{shown(deviation, 5, 2)} {target or '':>9} "
        f"{'' if isinstance(target, str) or target is None else f'{(ratio - target) / deviation:+.1f}':>5} {shown(best_ratio, 6, 2)} "
        f"| {near:4.1f} {far:5.1f} {width(mine):6.1f} | {cpu(theirs):7.2f} {cpu(mine):7.4f} {cpu(theirs) / cpu(mine):5.0f} "
        f"| {verdict}{says and ': '}{says}",
        flush=True,
    )
    return verdict


def limits(case, n_terms):
    """Share of exact terms and errors of what can be reached."""
    guesses = [limit.fit(kernel, n_terms) for kernel in case]
    terms = [sorted([(0, round(e, 6), l)] for e, l in terms) for terms, _ in guesses]
    return exact(terms, case), errors([value for _, value in guesses], case)


def within(error, ratio, target):
    if target is None:
        return error <= 1e-3
    return error < 1 if target == "1 %" else ratio <= target


def beyond_share(share, best, n):
    """By how many standard errors a share of kernels, in per cent, is below the limit's; infinite where there is none."""
    deviation = math.sqrt(best * (100 - best) / n) if not math.isnan(best) else 0
    if deviation == 0:
        return -math.inf if share >= best else math.inf
    return (best - share) / deviation


def beyond_error(error, best):
    """By how many standard errors a median error is above the limit's; infinite where there is none."""
    ratio, deviation = (math.nan, 0) if best is None else ratio_of_medians(error, best)
    return (ratio - 1) / deviation if deviation > 0 else math.inf


def shown(value, wide, digits):
    """A number, or the median of several, in a column; blank where there is none."""
    number = math.nan if value is None else float(numpy.median(value))
    return " " * wide if math.isnan(number) else f"{number:{wide}.{digits}f}"


def width(answers):
    return 100 * statistics.median(math.inf if a["half_width"] is None else a["half_width"] for a in answers)


def cpu(answers):
    return 1e3 * statistics.mean(a["cpu_s"] for a in answers)


if __name__ == "__main__":
    main()
