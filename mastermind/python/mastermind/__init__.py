"""Records of measured components, models of their time, and the choice among implementations.

>>> import mastermind
>>> run = mastermind.open("records")
>>> run.records(["method", "q", "wall_ns"], methods=["flux.compute"]).to_polars()
>>> models = run.fit("flux.compute")
>>> models[0].predict(q=[1e5, 1e6])
"""

import os
import warnings

from ._mastermind import Model, Models, Records, Run, Table, choose

__all__ = ["IncompleteRun", "Model", "Models", "Records", "Run", "Table", "choose", "load_models", "open", "to_hatchet"]


class IncompleteRun(UserWarning):
    """Something of a run or a table is missing: every number made from it lacks that."""


def open(path, *, time=None, unit="s", params=None):
    """Opens a record directory as a `Run`; a file of measurements (.csv, .tsv, .txt, .json, .jsonl, .extra-p) as a `Table`.

    Missing parts of a run (damaged logs, calls without a record, an end) and unused parts of a table (values that are no times,
    columns that are no parameters) give a warning, `IncompleteRun`, and stay in `missing`.

    time: column of a table with the times, if it is not called wall, time, time_us or the like.
    unit: unit of its times, if neither column nor cells have one: s, ms, us or ns.
    params: columns that are its parameters; without them all that are neither times nor ranks, repetitions and the like.

    Raises ValueError if there are no records or no measurements.
    """
    path = os.fspath(path)
    if os.path.isfile(path):
        opened = Table(path, time=time, unit=unit, params=params)
    else:
        opened = Run(path)
    for missing in opened.missing:
        warnings.warn(f"{path}: {missing}", IncompleteRun, stacklevel=2)
    return opened


def load_models(path, *, shown=False):
    """Reads models that `mastermind fit -o` or `Models.save` wrote.

    shown: predict by the shown formula of each model alone, not by the median over all credible ones.
    """
    return Models.load(os.fspath(path), shown=shown)


def to_hatchet(run):
    """The calls of a run as a `hatchet.GraphFrame`: a node per call path; metrics `time` (own) and `time (inc)`, seconds, and `calls`.

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
