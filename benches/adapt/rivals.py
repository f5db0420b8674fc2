"""Policies of `mabwiser`, replayed.

Their reward is the logarithm of a call's speed relative to a reference at its size; without one the effect of the size would hide that
of the class. The least median of the size is a reference only for a policy that knows the oracle's times beforehand: one call of one
class shows it how near to the best that class is. References known during a run are the least time so far at the size, and the
expectation of a regression over all calls so far.
"""

import math

import numpy
from mabwiser.mab import MAB, LearningPolicy, NeighborhoodPolicy

WITH_ORACLE = ", given the oracle's times"


def contexts(kinds):
    """Group, logarithms of the sizes and their squares."""
    n_groups = 1 + max(kind["group"] for kind in kinds)
    found = []
    for kind in kinds:
        group = [float(kind["group"] == g) for g in range(n_groups)]
        found.append(group + [x / 10 for x in kind["x"]] + [(x / 10) ** 2 for x in kind["x"]])
    return numpy.array(found)


class OverOracle:
    def __init__(self, replayed):
        self.least = numpy.array(replayed["middle"]).min(axis=1)

    def reward(self, kind, seconds):
        return -math.log(seconds / self.least[kind])


class OverLeastSeen:
    def __init__(self, replayed):
        self.least = numpy.full(len(replayed["kinds"]), math.inf)

    def reward(self, kind, seconds):
        self.least[kind] = min(self.least[kind], seconds)
        return -math.log(seconds / self.least[kind])


class OverRegression:
    """Ridge regression of the logarithm of the time."""

    def __init__(self, replayed):
        self.contexts = contexts(replayed["kinds"])
        n = self.contexts.shape[1]
        self.normal, self.right = 1e-3 * numpy.eye(n), numpy.zeros(n)

    def reward(self, kind, seconds):
        x, ln = self.contexts[kind], math.log(seconds)
        self.normal += numpy.outer(x, x)
        self.right += ln * x
        return float(x @ numpy.linalg.solve(self.normal, self.right)) - ln


def blocks(n_calls, n_arms):
    """Calls between two refits: one by one at first, then 50, since refitting more often changes little and takes hours."""
    begin = 2 * n_arms
    while begin < n_calls:
        end = begin + 1 if begin < 60 else (begin // 50 + 1) * 50
        yield begin, min(end, n_calls)
        begin = end


def share(policy, over, replayed):
    """The oracle's seconds over the policy's."""
    of_kind, called = contexts(replayed["kinds"]), numpy.array(replayed["calls"])
    times, middle = numpy.array(replayed["times"]), numpy.array(replayed["middle"])
    n_calls, n_arms = times.shape
    oracle = times[numpy.arange(n_calls), middle[called].argmin(axis=1)].sum()
    over = over(replayed)
    chosen = numpy.zeros(n_calls, dtype=int)

    def observed(block):
        rewards = [over.reward(called[i], times[i, chosen[i]]) for i in block]
        return chosen[block], numpy.array(rewards), of_kind[called[block]]

    first = numpy.arange(2 * n_arms)
    chosen[first] = first % n_arms
    policy.fit(*observed(first))
    for begin, end in blocks(n_calls, n_arms):
        block = numpy.arange(begin, end)
        chosen[block] = policy.predict(of_kind[called[block]])
        policy.partial_fit(*observed(block))
    return oracle / times[numpy.arange(n_calls), chosen].sum()


def shares(replayed, with_tree):
    """By name. The tree takes ten seconds, the others a fraction of one."""
    arms = list(range(len(replayed["times"][0])))
    found = {}
    for name, over in (
        ("LinUCB over the least seen", OverLeastSeen),
        ("LinUCB over a regression", OverRegression),
        ("LinUCB" + WITH_ORACLE, OverOracle),
    ):
        found[name] = share(MAB(arms, LearningPolicy.LinUCB(alpha=0.5)), over, replayed)
    if with_tree:
        tree = MAB(arms, LearningPolicy.EpsilonGreedy(0.05), NeighborhoodPolicy.TreeBandit())
        found["decision tree"] = share(tree, OverLeastSeen, replayed)
    return found
