"""Orders of calls replayed through all policies, and which of these is first."""

import json
import math
import subprocess

import numpy

import families
import rivals

CALLS = 10_000
MIXES = ("uniform", "1/sqrt(t)", "equal seconds")
SLOWER = "one 100 times slower"
# Orders of the calls; the decision tree, which is far behind, in the first few.
ORDERS, TREE_ORDERS = 10, 2


def sequence(kinds, seconds, mix, order):
    """Calls of a mix in one order."""
    if mix == SLOWER:
        seconds, mix = numpy.concatenate([seconds, 100 * seconds[:, :1]], axis=1), "uniform"
    random = numpy.random.default_rng([order, MIXES.index(mix)])
    return families.sequence(kinds, seconds, mix, CALLS, random)


def replayed(replay, path, kinds, seconds, mix):
    """Results of each policy: shares by name and order, and the replay's report on each order."""
    shares, reports = {}, []
    for order in range(ORDERS):
        made = sequence(kinds, seconds, mix, order)
        path.write_text(json.dumps(made))
        reports.append(json.loads(subprocess.run([replay, path], check=True, capture_output=True, text=True).stdout))
        of_order = reports[-1]["share"] | rivals.shares(made, order < TREE_ORDERS)
        for name, share in of_order.items():
            shares.setdefault(name, []).append(share)
    return shares, reports


def difference(ours, other):
    """Mean difference over the orders that both have, and its standard error."""
    off = numpy.array([a - b for a, b in zip(ours, other)])
    return off.mean(), off.std(ddof=1) / math.sqrt(len(off))


def place(shares, others):
    """Where "ours" ranks among the others.

    # Returns
    "first", "not told from NAME", or "behind NAME" if NAME is ahead by more than two standard errors.
    """
    off = {name: difference(shares["ours"], shares[name]) for name in others}
    behind = {name: mean for name, (mean, error) in off.items() if mean + 2 * error < 0}
    ahead = {name: mean for name, (mean, _) in off.items() if mean < 0}
    for word, found in (("behind", behind), ("not told from", ahead)):
        if found:
            worst = min(found, key=found.get)
            mean, error = off[worst]
            return f"{word} {worst} ({100 * mean:+.1f} points, standard error {100 * error:.1f})"
    return "first"
