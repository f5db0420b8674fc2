"""Extra-P and plain `fit` on the same kernels: the table of accuracy, intervals and cost.

usage: run.py OURS WORK [--kernels N] [--seed S,S] [--only TEXT] [--reuse]

OURS is the executable of the bench target `extrap` of `mastermind-models`, WORK a folder for intermediate files. `run.sh` builds the one
and makes the other. No constant of ours was chosen on any of the sets here: those are in `tuning.py`.

An error is the median over the kernels of a row of the error at 4 x the range. `limit` is `limit.py`: for terms of one parameter a
selector that knows the noise and the number of terms, elsewhere one that knows the form. The verdicts of a row:

  reached           all its targets are reached
  undecided         each target that it misses is within two standard errors, over its kernels
  beyond the limit  the best selector without the answer misses the target on the same kernels too, and ours is within two standard
                    errors of it and not better, since a selector that ours beats is no limit
  missed            otherwise; makes the exit code 1

The best selector without the answer does not know the number of terms, or the family; for errors, where ours beats it, `limit` is
taken, which knows more. For coverage it knows the function and treats the noise as normal.

A miss by less than the row's own error is not known. So a row that misses a target by no more than three standard errors is drawn
with 8 x the kernels (`--again`), and judged by all of them.
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
from kernels import Plan

NOISE = [0.0, 0.02, 0.05, 0.10]
VERDICTS = ["reached", "undecided", "beyond the limit", "missed"]
WITHIN = 2.0  # standard errors of a target that a row may miss it by
SURE = 3.0  # standard errors beyond which no more kernels are drawn
GRANTED = 0.02  # of the limit's share of exact forms
COST = 50  # times less processor time than Extra-P, over all rows of one parameter
ONE = {"exact": True, "of_limit": 1.1, "of_rival": 1.0, "at_zero": 1e-3}
TWO = {"of_limit": 1.2, "of_rival": 1.0, "at_zero": 1.0}
BELOW = {"of_rival": 1.0, "at_zero": 1e-3}
OTHERS = {5: [None, 0.4, 0.75, 0.9], 9: [None, 0.25, 0.4, 0.5], 25: [None, 0.1, 0.2, 0.3]}
# Each row: the plan and its targets.
ROWS = [
    (Plan(), ONE),
    (Plan(coefficients="log-uniform"), ONE),
    (Plan(coefficients="constant"), ONE),
    (Plan(n_sizes=4), BELOW),
    (Plan(n_sizes=8, noise="uniform"), ONE),
    (Plan(n_sizes=25, repetitions=3, noise="log-normal"), ONE),
    (Plan(repetitions=1), BELOW),
    (Plan(repetitions=20, noise="log-normal"), ONE),
    (Plan(noise="spikes"), BELOW),
    (Plan(n_terms=2), TWO),
    (Plan(n_terms=2, coefficients="log-uniform"), TWO),
    (Plan(n_terms=2, coefficients="constant"), TWO),
    (Plan(functions="suite"), {"of_negative": OTHERS[5]}),
    (Plan(functions="suite", n_sizes=9), {"of_negative": OTHERS[9]}),
    (Plan(functions="suite", n_sizes=25), {"of_negative": OTHERS[25]}),
    (Plan(functions="strong"), {"of_negative": [None, 0.5, 0.5, None], "at_zero": 1e-3, "cover": 90}),
    (Plan(functions="strong with log"), {"below": [None, 10, 16, None], "at_zero": 1.0, "cover": 90}),
    (Plan(functions="divided", n_sizes=8, repetitions=1), {"of_rival": 1.0, "cover": 88}),
    (Plan(functions="divided", n_sizes=6, repetitions=3), {"of_rival": 1.0, "cover": 88}),
    (Plan(n_params=2), BELOW),
    (Plan(n_params=2, cross=True), BELOW),
    (Plan(n_params=3), BELOW),
]


class Row:
    """The answers of ours, Extra-P's and the limit's for the kernels of one plan and noise."""

    def __init__(self, plan, noise, case, theirs, mine, is_limited):
        self.plan, self.noise, self.case, self.theirs, self.mine = plan, noise, case, theirs, mine
        self._best_error = None
        self.error = self.errors([a["far"] for a in mine])
        self.rival_error = self.errors([a["far"] for a in theirs])
        self.limit_exact = None
        if not is_limited:
            self.limit_error = self.errors([limit.known(kernel) for kernel in case])
        else:
            guesses = [limit.fit(kernel, plan.n_terms) for kernel in case]
            terms = [sorted([(0, round(e, 6), l)] for e, l in terms) for terms, _ in guesses]
            self.limit_exact = self.exact(terms)
            self.limit_error = self.errors([value for _, value in guesses])

    def best_error(self):
        """Errors of the best selector without the answer: for terms of one parameter one that does not know their number, for other families one
        that does not know which; in several parameters one that knows the form.
        """
        if self._best_error is None:
            selector = limit.unknown_terms if self.plan.functions == "terms" else limit.unknown_family
            one_parameter = self.plan.n_params == 1
            self._best_error = self.errors([selector(kernel) for kernel in self.case]) if one_parameter else self.limit_error
        return self._best_error

    def errors(self, answers):
        return numpy.array([100 * abs(a / k["far_exact"] - 1) for a, k in zip(answers, self.case)])

    def exact(self, answers):
        """Whether the terms are those of each kernel; `None` where its form is not a normal form."""
        if self.case[0]["terms"] is None:
            return None
        return numpy.array([[[tuple(f) for f in p] for p in a] == k["terms"] for a, k in zip(answers, self.case)])

    def coverage(self, key, values):
        return 100 * sum(a[key] for a in self.mine) / sum(len(k[values]) for k in self.case)

    def missed_cover(self, key, values, least, most=100):
        """By how many standard errors a coverage is outside `least` to `most`, values of one kernel standing or falling together as they do
        there, or at least as independent ones scatter about the target."""
        shares = numpy.array([100 * a[key] / len(k[values]) for a, k in zip(self.mine, self.case)])
        cover, target = shares.mean(), least if shares.mean() < least else most
        n = sum(len(k[values]) for k in self.case)
        deviation = max(shares.std() / math.sqrt(len(shares)), math.sqrt(target * (100 - target) / n))
        off = max(0.0, least - cover, cover - most)
        return off / deviation if off > 0 else 0.0

    def width(self, key):
        return 100 * statistics.median(math.inf if a[key] is None else a[key] for a in self.mine)


def beyond(ours, base, factor, statistic):
    """By how many standard errors a statistic of ours is above `factor` times that of `base`, over the same kernels."""
    here = statistic(ours) - factor * statistic(base)
    if here <= 0:
        return 0.0
    rng = numpy.random.default_rng(1)
    picked = rng.integers(len(ours), size=(300, len(ours)))
    drawn = [statistic(ours[some]) - factor * statistic(base[some]) for some in picked]
    deviation = float(numpy.std(drawn))
    return here / deviation if deviation > 0 else math.inf


class Miss:
    """A missed target, by how many standard errors it is missed, and whether the best possible selector misses it too."""

    def __init__(self, what, by, best=None, best_by=0.0, apart_by=math.inf, is_limit=False):
        self.what, self.by = what, by
        # Error of the best selector, as text; by how much it misses the target; by how much ours is worse than it; and
        # whether it is no worse than ours: a selector that ours beats is no limit.
        self.best, self.is_beyond = best, by > WITHIN and is_limit and best_by > 0 and apart_by <= WITHIN

    def __str__(self):
        best = f", the best {self.best}" if self.best is not None else ""
        return f"; {self.what}: {self.by:.1f} s.e.{best}"


def misses(row, targets, index):
    """The missed targets."""
    median, mean = numpy.median, numpy.mean
    found = []

    def check_error(what, base, factor):
        by = beyond(row.error, base, factor, median)
        if by <= 0:
            return
        if by <= WITHIN:
            found.append(Miss(what, by))
            return
        # Where ours beats that selector, the limit is the one that knows more.
        best = min(row.best_error(), row.limit_error, key=lambda error: median(error) > median(row.error))
        apart = beyond(row.error, best, 1.0, median)
        found.append(Miss(what, by, f"{median(best):.2f} %", beyond(best, base, factor, median), apart, median(best) <= median(row.error)))

    if row.noise == 0:
        if "at_zero" in targets and median(row.error) > targets["at_zero"]:
            found.append(Miss(f"error above {targets['at_zero']} %", math.inf))
        return found
    if "exact" in targets:
        mine, theirs = (-row.exact([a["terms"] for a in side]).astype(float) for side in (row.mine, row.theirs))
        best = -row.limit_exact.astype(float)
        for what, base in (("exact of the limit", best + GRANTED), ("exact of Extra-P", theirs)):
            if (by := beyond(mine, base, 1.0, mean)) > 0:
                # Two points below the best are granted, as of the limit.
                apart = beyond(mine, best + GRANTED, 1.0, mean)
                found.append(Miss(what, by, f"{100 * abs(mean(best)):.1f} %", beyond(best, base, 1.0, mean), apart, mean(best) <= mean(mine)))
    if "of_limit" in targets:
        check_error(f"error of the limit x {targets['of_limit']}", row.limit_error, targets["of_limit"])
    if "of_rival" in targets:
        check_error("error of Extra-P", row.rival_error, targets["of_rival"])
    if (share := targets.get("of_negative", [None] * 4)[index]) is not None:
        check_error(f"error of Extra-P x {share}", row.rival_error, share)
    if (below := targets.get("below", [None] * 4)[index]) is not None:
        check_error(f"error {below} %", numpy.full(len(row.error), below), 1.0)
    if (by := row.missed_cover("near_inside", "near_values", 92, 98)) > 0:
        best = limit.cover(row.case, row.noise)
        # Both by the error of ours: the best's values are independent, and scatter less.
        scale = by / max(92 - row.coverage("near_inside", "near_values"), row.coverage("near_inside", "near_values") - 98)
        off = max(0.0, 92 - best, best - 98) * scale
        found.append(Miss("cover in", by, f"{best:.1f} %", off, by - off, off <= by))
    if (by := row.missed_cover("far_inside", "far_values", targets.get("cover", 85))) > 0:
        found.append(Miss("cover 4x", by))
    if "exact" in targets and row.width("half_width") > 1.2 * row.width("half_width_told"):
        widths = [numpy.array([a[key] or math.inf for a in row.mine]) for key in ("half_width", "half_width_told")]
        if (by := beyond(*widths, 1.2, median)) > 0:
            what = "half-width of that told x 1.2"
            found.append(Miss(what, by) if by <= WITHIN else wide(row, what, by, widths))
    return found


def wide(row, what, by, widths):
    """The miss of the target by our half-widths, compared with those of a selector that does not know the family."""
    median, (ours, of_known_family) = numpy.median, widths
    best = numpy.array([limit.half_width(kernel) for kernel in row.case])
    apart = beyond(ours, best, 1.0, median)
    return Miss(what, by, f"{100 * median(best):.1f} %", beyond(best, of_known_family, 1.2, median), apart, median(best) <= median(ours))


def rivals(case, path, reuse, progress, negative):
    if reuse and path.exists():
        return json.loads(path.read_text())
    rows = []
    for kernel in case:
        rows.append(rival.fit(kernel, negative))
        progress(len(rows), len(case))
    rows = [{"terms": t, "far": f, "cpu_s": s} for t, f, s in rows]
    path.write_text(json.dumps(rows))
    return rows


def ours(case, executable, work, name):
    given, answers = work / f"{name}.jsonl", work / f"{name}.answers.jsonl"
    given.write_text("\n".join(json.dumps(k) for k in case))
    subprocess.run([executable, given, answers], check=True)
    return [json.loads(line) for line in answers.read_text().splitlines()]


class Drawn:
    """The kernels of a row, with Extra-P's answers and ours, as many as were asked for."""

    def __init__(self, options, plan, noise, n, progress):
        self.options, self.plan, self.noise, self.n, self.progress = options, plan, noise, n, progress
        self.case, self.theirs, self.mine = [], [], []

    def more(self, seed):
        name = f"{seed}-{self.plan.name()}-{round(self.noise * 100)}-{self.n}"
        case, work = kernels.kernels(seed, self.n, self.plan, self.noise), self.options.work
        negative = self.plan.functions != "terms"
        self.theirs += rivals(case, work / f"{name}.rival.json", self.options.reuse, self.progress, negative)
        self.mine += ours(case, self.options.ours, work, name)
        self.case += case

    def row(self):
        is_limited = self.plan.functions == "terms" and self.plan.n_params == 1
        return Row(self.plan, self.noise, self.case, self.theirs, self.mine, is_limited)


class Progress:
    """How far the whole is, on standard error where that is a terminal."""

    def __init__(self, n_rows):
        self.row, self.n_rows = 0, n_rows

    def __call__(self, done, of):
        if sys.stderr.isatty() and (done % 10 == 0 or done == of):
            end = "" if done < of else "\r" + 60 * " " + "\r"
            print(f"\rrow {self.row} of {self.n_rows}: kernel {done} of {of} by Extra-P ", end=end, file=sys.stderr)


def shown(row):
    def share(answers):
        exact = None if answers is None else row.exact(answers)
        return "     " if exact is None else f"{100 * exact.mean():5.1f}"

    mine, theirs = ([a["terms"] for a in side] for side in (row.mine, row.theirs))
    best = "     " if row.limit_exact is None else f"{100 * row.limit_exact.mean():5.1f}"
    error = [float(numpy.median(e)) for e in (row.rival_error, row.error)]
    error_limit = f"{float(numpy.median(row.limit_error)):7.2f}"
    cpu = [1e3 * statistics.mean(a["cpu_s"] for a in side) for side in (row.theirs, row.mine)]
    return (
        f"{row.plan.name():42} {row.noise:4.0%} {len(row.case):4} | {share(theirs)} {share(mine)} {best} | {error[0]:8.2f} {error[1]:8.2f} {error_limit} "
        f"| {row.coverage('near_inside', 'near_values'):5.1f} {row.coverage('far_inside', 'far_values'):5.1f} "
        f"{row.width('half_width'):6.1f} {row.width('half_width_told'):6.1f} | {cpu[0]:7.2f} {cpu[1]:6.3f} {cpu[0] / cpu[1]:5.0f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--kernels", type=int, default=120, help="of a row; of one in several parameters half as many")
    parser.add_argument("--seed", default="1", help="or several, apart by commas")
    parser.add_argument("--only", help="rows whose name contains this")
    parser.add_argument("--again", type=int, default=8, help="times the kernels for a row that misses a target by little")
    parser.add_argument("--reuse", action="store_true", help="take Extra-P's answers of the run before")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    seeds = options.seed.split(",")
    rows = [(plan, targets) for plan, targets in ROWS if options.only is None or options.only in plan.name()]
    print(f"{options.kernels * len(seeds)} kernels a row, in several parameters half as many; seed {options.seed}; error at {kernels.FAR_FACTOR} x the "
          "range; functions, parameters, terms, coefficients, sizes x repetitions, noise")
    print(f"{'':42}           | exact %           | median error %            | cover % half-width % | CPU ms a kernel")
    print(f"{'set':42} noise   n | Extra-P our limit |  Extra-P     ours   limit |    in   4x  plain   told | Extra-P   ours ratio")
    progress, counts, cpu_s = Progress(len(rows) * len(NOISE)), {verdict: 0 for verdict in VERDICTS}, [0.0, 0.0]
    for plan, targets in rows:
        n = options.kernels // (2 if plan.n_params > 1 else 1)
        for index, noise in enumerate(NOISE):
            progress.row += 1
            drawn = Drawn(options, plan, noise, n, progress)
            for seed in seeds:
                drawn.more(seed)
            row = drawn.row()
            found = misses(row, targets, index)
            if 0 < max((miss.by for miss in found), default=0) <= SURE:
                for seed in seeds:
                    for again in range(1, options.again):
                        drawn.more(f"{seed}.{again}")
                row = drawn.row()
                found = misses(row, targets, index)
            wrong = [miss for miss in found if miss.by > WITHIN]
            verdict = "reached" if not found else "undecided" if not wrong else "missed"
            if wrong and all(miss.is_beyond for miss in wrong):
                verdict = "beyond the limit"
            counts[verdict] += 1
            says = "".join(map(str, found))
            print(f"{shown(row)} | {verdict}{says}", flush=True)
            if plan.n_params == 1 and plan.functions == "terms":
                cpu_s = [total + sum(a["cpu_s"] for a in side) for total, side in zip(cpu_s, (row.theirs, row.mine))]
    if cpu_s[1] > 0:
        ratio = cpu_s[0] / cpu_s[1]
        verdict = "reached" if ratio >= COST else "missed"
        counts[verdict] += 1
        print(f"processor time of Extra-P over ours, one parameter: {ratio:.0f}, target {COST}: {verdict}")
    print("rows: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items()))
    return 1 if counts["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
