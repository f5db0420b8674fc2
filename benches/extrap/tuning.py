"""The sets of functions that the constants of the models were chosen on; `run.py` does not report on them.

usage: tuning.py OURS WORK [--kernels N] [--seed S] [--limit]

Prints for each plan and noise the share of exact forms, the median and the 90 % quantile of the error at 4 x the range, the same by
`limit.py` with --limit, the coverage of the 95 % intervals inside the range and at 4 x, and the half-width there.
"""

import argparse
import json
import pathlib
import subprocess

import numpy

import kernels
import limit
from kernels import Plan

PLANS = [
    Plan(coefficients="tuning", n_sizes=6, repetitions=4),
    Plan(coefficients="tuning", n_sizes=7, repetitions=6),
    Plan(coefficients="tuning", n_sizes=6, repetitions=4, n_terms=2),
    Plan(coefficients="tuning", n_sizes="5 others"),
    Plan(coefficients="tuning", n_sizes="5 others", repetitions=15),
    Plan(coefficients="tuning", n_sizes="5 others", n_terms=2),
    Plan(coefficients="tuning constant", n_sizes="5 others"),
    Plan(coefficients="tuning constant", n_sizes="5 others", n_terms=2),
    Plan(functions="suite", n_sizes="5 others"),
    Plan(functions="suite", n_sizes=6, repetitions=4),
    Plan(functions="suite", n_sizes=7, repetitions=6),
    Plan(functions="strong", n_sizes=6, repetitions=4),
    Plan(functions="strong with log", n_sizes=6, repetitions=4),
    Plan(functions="divided tuning", n_sizes=8, repetitions=1),
    Plan(coefficients="tuning", n_sizes=6, repetitions=1),
    Plan(coefficients="tuning", n_sizes=6, repetitions=4, noise="uniform"),
    Plan(coefficients="tuning", n_sizes=7, repetitions=6, noise="uniform"),
    Plan(coefficients="tuning", n_sizes=6, repetitions=4, noise="bursts"),
    Plan(coefficients="tuning", n_sizes=7, repetitions=6, noise="bursts"),
]
NOISE = [0.0, 0.02, 0.05, 0.10]


def ours(executable, work, case, name):
    given, answers = work / f"{name}.jsonl", work / f"{name}.answers.jsonl"
    given.write_text("\n".join(json.dumps(k) for k in case))
    subprocess.run([executable, given, answers], check=True)
    return [json.loads(line) for line in answers.read_text().splitlines()]


def is_exact(terms, kernel):
    return [[tuple(factor) for factor in product] for product in terms] == kernel["terms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--kernels", type=int, default=100)
    parser.add_argument("--seed", default="tuning")
    parser.add_argument("--limit", action="store_true")
    options = parser.parse_args()
    options.work.mkdir(exist_ok=True)
    print(f"{'plan':44} noise exact% (limit)  error% (limit)   90%    | in    4x   half% told% | CPU ms")
    for plan in PLANS:
        for noise in NOISE:
            case = kernels.kernels(options.seed, options.kernels, plan, noise)
            answers = ours(options.ours, options.work, case, "tuning")
            error = numpy.array([100 * abs(a["far"] / k["far_exact"] - 1) for a, k in zip(answers, case)])
            exact = best = best_share = numpy.nan
            if plan.functions == "terms":
                exact = 100 * numpy.mean([is_exact(a["terms"], k) for a, k in zip(answers, case)])
                if options.limit:
                    guesses = [limit.fit(kernel, plan.n_terms) for kernel in case]
                    best = numpy.median([100 * abs(v / k["far_exact"] - 1) for (_, v), k in zip(guesses, case)])
                    found = [sorted([(0, round(e, 6), l)] for e, l in terms) for terms, _ in guesses]
                    best_share = 100 * numpy.mean([is_exact(t, k) for t, k in zip(found, case)])
            near = 100 * sum(a["near_inside"] for a in answers) / sum(len(k["near"]) for k in case)
            far = 100 * sum(a["far_inside"] for a in answers) / sum(len(k["far_values"]) for k in case)
            half, half_known = (
                100 * numpy.median([numpy.inf if a[key] is None else a[key] for a in answers])
                for key in ("half_width", "half_width_told")
            )
            cpu = 1e3 * numpy.mean([a["cpu_s"] for a in answers])
            print(f"{plan.name():44} {noise:4.0%} {exact:6.1f} {best_share:6.1f} {numpy.median(error):9.3f} {best:7.3f} "
                  f"{numpy.quantile(error, 0.9):9.2f} | {near:4.1f} {far:5.1f} {half:6.1f} {half_known:6.1f} | {cpu:.3f}", flush=True)


if __name__ == "__main__":
    main()
