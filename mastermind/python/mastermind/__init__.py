"""Records of measured components, models of their time, and the choice among implementations.

>>> import mastermind
>>> run = mastermind.open("records")
>>> run.records(["method", "q", "wall_ns"], methods=["flux.compute"]).to_polars()
>>> models = run.fit("flux.compute")
>>> models[0].predict(q=[1e5, 1e6])
"""

import os
import warnings

from ._mastermind import Model, Models, Records, Run, choose

__all__ = ["IncompleteRun", "Model", "Models", "Records", "Run", "choose", "load_models", "open", "to_hatchet"]


class IncompleteRun(UserWarning):
    """Something of a run is missing: every number made from it lacks that."""


def open(directory):
    """Opens a record directory.

    What the run lacks (damaged logs, calls without a record, an end) is a warning, `IncompleteRun`, and stays in `Run.missing`.

    Raises ValueError where there are no records.
    """
    run = Run(os.fspath(directory))
    for missing in run.missing:
        warnings.warn(f"{os.fspath(directory)}: {missing}", IncompleteRun, stacklevel=2)
    return run


def load_models(path, *, shown=False):
    """Reads models that `mastermind fit -o` or `Models.save` wrote.

    shown: predict by the shown formula of each model alone, not by the median over all credible ones.
    """
    return Models.load(os.fspath(path), shown=shown)


def to_hatchet(run):
    """The calls of a run as a `hatchet.GraphFrame`: a node a call path; metrics `time` (own) and `time (inc)`, seconds, and `calls`.

    Needs hatchet.
    """
    import hatchet

    roots, nodes = [], {}
    for row in run.call_tree():
        path = tuple(row["path"])
        node = {
            "frame": {"name": path[-1], "type": "function"},
            "metrics": {"time": row["own_s"], "time (inc)": row["wall_s"], "calls": row["calls"]},
            "children": [],
        }
        nodes[path] = node
        caller = nodes.get(path[:-1])
        (roots if caller is None else caller["children"]).append(node)
    return hatchet.GraphFrame.from_literal(roots)
