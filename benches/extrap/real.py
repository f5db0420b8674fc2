"""Extra-P and plain `fit` on real measurements, the largest configuration left out.

usage: real.py OURS WORK FOLDER...

OURS and WORK are as of `run.py`. A FOLDER holds files that Extra-P reads (text, JSON, JSON lines, Talpas, experiments), or folders of Cube
profiles, one a measurement; also tables (.csv) with a column `seconds`, whose other columns are parameters. Nothing here chose a constant.

Of each file and metric the points with the largest value of the first parameter are left out and predicted by both tools from the others,
Extra-P with its default settings. `noise` is the standard error of what was left out, by its repetitions: who knew the time itself would be
off by as much. A set is `missed` where our median error is above 1.2 x Extra-P's; `noise` where it is, but within two such standard errors,
so that the set does not tell the two apart; the whole is missed where the geometric mean of the ratios is not below 1, or fewer than 80 % of
the values left out are in our intervals. Anything missed makes the exit code 1. Measurements that several files have count once.
"""

import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import warnings

import numpy
from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.fileio.experiment_io import ExperimentReader
from extrap.fileio.file_reader.cube_file_reader2 import CubeFileReader2
from extrap.fileio.file_reader.json_file_reader import JsonFileReader
from extrap.fileio.file_reader.talpas_file_reader import TalpasFileReader
from extrap.fileio.file_reader.text_file_reader import TextFileReader

from rival import modeler_of

WORST = 1.2
COVER = 80
MIN_POINTS = 4  # that are left to fit
WITHIN = 2  # standard errors
SAME = 1e-3  # per cent; errors below it are rounding
READERS = {".txt": [TextFileReader, TalpasFileReader], ".json": [JsonFileReader], ".jsonl": [JsonFileReader], ".extra-p": [ExperimentReader]}


def of_experiment(path):
    """{metric: {call path: {point: values}}} of what Extra-P reads."""
    readers = [CubeFileReader2] if path.is_dir() else READERS[path.suffix.lower()]
    for number, reader in enumerate(readers):
        try:
            reader = reader()
            reader.keep_values = True
            experiment = reader.read_experiment(str(path))
            break
        except Exception:
            if number + 1 == len(readers):
                raise
    found = {}
    for (callpath, metric), measurements in experiment.measurements.items():
        points = {}
        for m in measurements:
            values = m.values if m.values is not None else [m.mean]
            points[tuple(m.coordinate.as_tuple())] = [float(v) for v in numpy.ravel(values)]
        found.setdefault(metric.name, {})[callpath.name] = points
    return found


def noise_of(values):
    """Standard error of a mean, in per cent of it; 0 where one value does not tell."""
    if len(values) < 2:
        return 0.0
    return 100 * float(numpy.std(values, ddof=1)) / math.sqrt(len(values)) / abs(float(numpy.mean(values)))


def of_table(path):
    points = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            seconds = float(row.pop("seconds"))
            point = tuple(float(value) for value in row.values())
            points.setdefault(point, []).append(seconds)
    return {"seconds": {path.stem: points}}


def kernels_of(points):
    """One a point that is left out: those with the largest value of the first parameter that varies."""
    n_params = len(next(iter(points)))
    varying = [p for p in range(n_params) if len({point[p] for point in points}) > 1]
    if not varying or any(value <= 0 for point in points for value in (point[p] for p in varying)):
        return
    largest = max(point[varying[0]] for point in points)
    kept = {point: values for point, values in points.items() if point[varying[0]] < largest}
    if len(kept) < MIN_POINTS or any(min(values) < 0 for values in kept.values()) or max(map(max, kept.values())) <= 0:
        return
    varying = [p for p in varying if len({point[p] for point in kept}) > 1]
    for point, values in points.items():
        if point[varying[0]] == largest and numpy.mean(values) > 0:
            far = [point[p] for p in varying]
            yield {
                "params": ["p", "x", "y", "z", "u", "v"][: len(varying)],
                "points": [[other[p] for p in varying] for other in kept],
                "values": list(kept.values()),
                "far": far, "far_exact": float(numpy.mean(values)), "far_values": values,
                "near": [], "near_values": [],
            }


def theirs(kernel):
    measurements = [Measurement(Coordinate(*point), None, None, values) for point, values in zip(kernel["points"], kernel["values"])]
    model = modeler_of(len(kernel["params"]), False).create_model(measurements)
    far = kernel["far"]
    return float(model.hypothesis.function.evaluate(far if len(far) > 1 else far[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    ratios, n_missed, inside, of, seen = [], 0, 0, 0, set()
    print(f"{'set':60} points | Extra-P %   ours %  ratio  noise | cover %")
    for folder in options.folders:
        for path in sorted(folder.iterdir()):
            is_cube = path.is_dir() and any(path.glob("*/*.cubex"))
            if not (is_cube or path.suffix.lower() in READERS or path.suffix == ".csv"):
                continue
            try:
                found = of_table(path) if path.suffix == ".csv" else of_experiment(path)
            except Exception as error:
                print(f"{path.name}: not read: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
                continue
            for metric, callpaths in found.items():
                case = [kernel for points in callpaths.values() for kernel in kernels_of(points)]
                case = [kernel for kernel in case if (text := json.dumps(kernel)) not in seen and not seen.add(text)]
                if not case:
                    continue
                given, answers = options.work / "real.jsonl", options.work / "real.answers.jsonl"
                given.write_text("\n".join(json.dumps(kernel) for kernel in case))
                subprocess.run([options.ours, given, answers], check=True)
                mine = [json.loads(line) for line in answers.read_text().splitlines()]
                error = [max(SAME, 100 * abs(a["far"] / k["far_exact"] - 1)) for a, k in zip(mine, case)]
                rival = [max(SAME, 100 * abs(theirs(k) / k["far_exact"] - 1)) for k in case]
                error, rival = (float(numpy.median(errors)) for errors in (error, rival))
                here = (sum(a["far_inside"] for a in mine), sum(len(k["far_values"]) for k in case))
                inside, of = inside + here[0], of + here[1]
                ratios.append(error / rival)
                noise = float(numpy.median([noise_of(k["far_values"]) for k in case]))
                verdict = "reached" if error <= WORST * rival else "noise" if error <= WITHIN * noise else "missed"
                n_missed += verdict == "missed"
                name = f"{path.parent.name}/{path.name}: {metric}"
                print(f"{name:60.60} {len(case):6} | {rival:9.3f} {error:8.3f} {error / rival:6.2f} {noise:6.2f} | {100 * here[0] / here[1]:5.1f} | {verdict}", flush=True)
    if not ratios:
        print("no set was read")
        return 1
    mean, cover = math.exp(numpy.mean(numpy.log(ratios))), 100 * inside / of
    print(f"{len(ratios)} sets, {n_missed} missed; geometric mean of the ratios {mean:.2f}, target below 1; "
          f"{cover:.1f} % of {of} values inside, target {COVER}")
    return 1 if n_missed or mean >= 1 or cover < COVER else 0


if __name__ == "__main__":
    sys.exit(main())
