"""Extra-P and plain `fit` on real measurements, with the largest configuration left out.

usage: real.py OURS WORK FOLDER...

OURS and WORK are as in `run.py`. A FOLDER holds files that Extra-P reads (text, JSON, JSON lines, Talpas, experiments), or folders of
Cube profiles, one for each measurement; also tables (.csv) with a column `seconds`, whose other columns are parameters. No constant was
chosen on them.

In each file and metric the points with the largest value of the first parameter are left out. Both tools predict them from the others,
Extra-P with its default settings. `noise` is the standard error of the points left out, by their repetitions: somebody who knew the
exact time would be off by as much. Where a call was interrupted the noise is up to a third of the time, and the mean of the repetitions
says little about either tool. So the last line but one also has the ratio for typical times: the median of the points left out, our
clean law, and Extra-P's model of the medians.

A set is `reached` where our median error is at most 1.2 x Extra-P's. Otherwise it is judged like a row of `run.py`, by how many standard
errors it misses that. They come from call paths drawn again, and from true times drawn again by their repetitions and by how far
configurations lie from Extra-P's own model (`following.py`): a model that follows the points within 3 % is nearer to one left out than
that only by luck. The errors at the points left out of one call path are correlated, as they share the parameter's value.
`undecided` is within two such errors. `beyond the limit` is where the median of all forms that follow the points as well as Extra-P's
misses the target too (`limit`), and ours is within two errors of it and not below: a limit that ours beats is none. Otherwise `missed`.
The whole is missed where the geometric mean of the ratios is not below 1, or fewer than 80 % of the values left out are in our
intervals. Any miss makes the exit code 1.

Measurements that several files have count once. An excerpt that has some times of a fuller file at other coordinates is not what it
claims to be; it is named and not judged. Among sets that differ by luck, as many are ahead as behind, so the last line says how many
Extra-P misses by the same judgement.
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

from following import following, scatter
from rival import modeler_of

WORST = 1.2
COVER = 80
MIN_POINTS = 4  # that are left to fit
WITHIN = 2  # standard errors
DRAWS = 400
SAME = 1e-3  # per cent; errors below it are rounding
READERS = {".txt": [TextFileReader, TalpasFileReader], ".json": [JsonFileReader], ".jsonl": [JsonFileReader], ".extra-p": [ExperimentReader]}


def measured(kernel):
    """The measurements as text that does not depend on their order, on the name of the call path, or on rounding."""
    rows = sorted((point, sorted(f"{value:.9g}" for value in values)) for point, values in zip(kernel["points"], kernel["values"]))
    return json.dumps([[[float(x) for x in point], values] for point, values in rows] + [kernel["far"], kernel["far_exact"]])


def of_experiment(path):
    """Names of the parameters, and {metric: {call path: {point: values}}}, from a file that Extra-P reads."""
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
    return [parameter.name for parameter in experiment.parameters], found


def noise_of(values):
    """Standard error of a mean, in per cent of it; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    return 100 * float(numpy.std(values, ddof=1)) / math.sqrt(len(values)) / abs(float(numpy.mean(values)))


class Set:
    """The points left out of one file and metric: our answers and Extra-P's, and how well each true time is known."""

    def __init__(self, case, mine):
        self.case = case
        self.times = numpy.array([kernel["far_exact"] for kernel in case])
        self.noise = numpy.array([noise_of(kernel["far_values"]) for kernel in case]) / 100
        self.groups = [[i for i, k in enumerate(case) if k["callpath"] == path] for path in dict.fromkeys(k["callpath"] for k in case)]
        # The truth is the mean of the repetitions at the point left out, including interrupted ones.
        self.ours = numpy.array([answer["far_mean"] for answer in mine])
        models, self.rival, self.scatter = {}, [], []
        for kernel in case:
            known = json.dumps([kernel["points"], kernel["values"]])
            models.setdefault(known, theirs(kernel))
            function = models[known]
            self.rival.append(value_at(function, kernel["far"]))
            fitted = numpy.array([value_at(function, point) for point in kernel["points"]])
            self.scatter.append(scatter(kernel, fitted, 1 + len(function.compound_terms)))
        self.models = [models[json.dumps([kernel["points"], kernel["values"]])] for kernel in case]
        self.rival, self.scatter = numpy.array(self.rival), numpy.array(self.scatter)

    def by_medians(self, mine):
        """Our error over Extra-P's where medians are modelled and left out."""
        medians = [{**kernel, "values": [[float(numpy.median(values))] for values in kernel["values"]]} for kernel in self.case]
        times = numpy.array([float(numpy.median(kernel["far_values"])) for kernel in self.case])
        rival = numpy.array([value_at(theirs(kernel), kernel["far"]) for kernel in medians])
        ours = numpy.array([answer["far"] for answer in mine])
        return self.error(ours, times) / self.error(rival, times)

    def error(self, answers, times=None, rows=slice(None)):
        """Median error in per cent."""
        times = self.times if times is None else times
        return float(numpy.median(numpy.maximum(SAME, 100 * numpy.abs(answers / times - 1))[rows]))

    def beyond(self, ours, base):
        """By how many standard errors the error of some answers is above WORST x that of others."""
        off = self.error(ours) - WORST * self.error(base)
        if off <= 0:
            return 0.0
        rng = numpy.random.default_rng(1)
        drawn = []
        for _ in range(DRAWS):
            shared = numpy.zeros(len(self.case))
            for group in self.groups:
                shared[group] = rng.normal()
            times = self.times * numpy.maximum(1 + self.noise * rng.normal(size=len(self.case)) + self.scatter * shared, 0.01)
            rows = [i for group in rng.integers(len(self.groups), size=len(self.groups)) for i in self.groups[group]]
            drawn.append(self.error(ours, times, rows) - WORST * self.error(base, times, rows))
        deviation = float(numpy.std(drawn))
        return off / deviation if deviation > 0 else math.inf

    def limit(self):
        """Answers of all forms that follow the points as well as Extra-P's; Extra-P's own where there is none."""
        known, answers = {}, []
        for kernel, model, rival in zip(self.case, self.models, self.rival):
            key = json.dumps([kernel["points"], kernel["values"], kernel["far"]])
            if key not in known:
                fitted = numpy.array([value_at(model, point) for point in kernel["points"]])
                known[key] = following(kernel, fitted)
            answers.append(rival if known[key] is None else known[key])
        return numpy.array(answers)

    def verdict(self):
        """The verdict, by how many standard errors the target is missed, and the limit's error or None."""
        by = self.beyond(self.ours, self.rival)
        if by == 0:
            return "reached", by, None
        best = self.limit()
        if by <= WITHIN:
            return "undecided", by, self.error(best)
        is_limit = self.beyond(best, self.rival) > 0 and self.error(best) <= self.error(self.ours) and self.beyond(self.ours, best) <= WITHIN
        return ("beyond the limit" if is_limit else "missed"), by, self.error(best)


def elsewhere(names, points, fuller_names, fuller):
    """How many times of an excerpt, digit for digit, are a fuller file's at other values of the parameters of that; 0 where most are not
    at the same ones."""
    if not set(fuller_names) <= set(names) or len(points) >= len(fuller):
        return 0
    shared = [names.index(name) for name in fuller_names]
    at = {tuple(values): point for point, values in fuller.items() if len(set(values)) > 1}
    found = [at[tuple(values)] == tuple(point[i] for i in shared) for point, values in points.items() if tuple(values) in at]
    return len(found) - sum(found) if 2 * sum(found) > len(points) else 0


def value_at(function, point):
    return float(function.evaluate(point if len(point) > 1 else point[0]))


def of_table(path):
    names, points = [], {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            seconds = float(row.pop("seconds"))
            point = tuple(float(value) for value in row.values())
            points.setdefault(point, []).append(seconds)
            names = list(row)
    return names, {"seconds": {path.stem: points}}


def kernels_of(callpath, points):
    """One kernel for each point that is left out: those with the largest value of the first parameter that varies."""
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
                "callpath": callpath, "params": ["p", "x", "y", "z", "u", "v"][: len(varying)],
                "points": [[other[p] for p in varying] for other in kept],
                "values": list(kept.values()),
                "far": far, "far_exact": float(numpy.mean(values)), "far_values": values,
                "near": [], "near_values": [],
            }


def read(folders):
    """(file, names of the parameters, metric, {call path: {point: values}}) of each file and metric; names the files that cannot be read."""
    for folder in folders:
        for path in sorted(folder.iterdir()):
            is_cube = path.is_dir() and any(path.glob("*/*.cubex"))
            if not (is_cube or path.suffix.lower() in READERS or path.suffix == ".csv"):
                continue
            try:
                names, found = of_table(path) if path.suffix == ".csv" else of_experiment(path)
            except Exception as error:
                print(f"{path.name}: not read: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
                continue
            for metric, callpaths in found.items():
                yield path, names, metric, callpaths


def theirs(kernel):
    measurements = [Measurement(Coordinate(*point), None, None, values) for point, values in zip(kernel["points"], kernel["values"])]
    return modeler_of(len(kernel["params"]), False).create_model(measurements).hypothesis.function


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    ratios, of_medians, verdicts, n_rival, inside, of, seen = [], [], {}, 0, 0, 0, set()
    sets = list(read(options.folders))
    print(f"{'set':60} points | Extra-P %   ours %  ratio  noise scatter | cover %")
    for path, names, metric, callpaths in sets:
        name = f"{path.parent.name}/{path.name}: {metric}"
        others = [(other.name, points, known, has[callpath]) for other, known, what, has in sets if what == metric
                  for callpath, points in callpaths.items() if callpath in has]
        moved = {other: n for other, points, known, fuller in others if (n := elsewhere(names, points, known, fuller))}
        if moved:
            print(f"{name}: not judged: {', '.join(f'{n} times are those of {other} at other coordinates' for other, n in moved.items())}")
            continue
        case = [kernel for callpath, points in callpaths.items() for kernel in kernels_of(callpath, points)]
        case = [kernel for kernel in case if (text := measured(kernel)) not in seen and not seen.add(text)]
        if not case:
            continue
        given, answers = options.work / "real.jsonl", options.work / "real.answers.jsonl"
        given.write_text("\n".join(json.dumps(kernel) for kernel in case))
        subprocess.run([options.ours, given, answers], check=True)
        mine = [json.loads(line) for line in answers.read_text().splitlines()]
        judged = Set(case, mine)
        error, rival = judged.error(judged.ours), judged.error(judged.rival)
        here = (sum(a["far_inside"] for a in mine), sum(len(k["far_values"]) for k in case))
        inside, of = inside + here[0], of + here[1]
        ratios.append(error / rival)
        of_medians.append(judged.by_medians(mine))
        n_rival += judged.beyond(judged.rival, judged.ours) > WITHIN
        verdict, by, best = judged.verdict()
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
        text = verdict if by == 0 else f"{verdict}: {by:.1f} s.e., limit {best:.3f}"
        off, apart = 100 * numpy.median(judged.noise), 100 * numpy.median(judged.scatter)
        print(f"{name:60.60} {len(case):6} | {rival:9.3f} {error:8.3f} {error / rival:6.2f} {off:6.2f} {apart:7.2f} | {100 * here[0] / here[1]:5.1f} | {text}", flush=True)
    if not ratios:
        print("no set was read")
        return 1
    mean, cover = math.exp(numpy.mean(numpy.log(ratios))), 100 * inside / of
    counted = ", ".join(f"{verdicts.get(verdict, 0)} {verdict}" for verdict in ["reached", "undecided", "beyond the limit", "missed"])
    print(f"{len(ratios)} sets: {counted}; geometric mean of the ratios {mean:.2f}, target below 1; "
          f"{cover:.1f} % of {of} values inside, target {COVER}")
    above = [sum(ratio > WORST for ratio in ratios), sum(1 / ratio > WORST for ratio in ratios)]
    print(f"by medians, not judged: geometric mean of the ratios {math.exp(numpy.mean(numpy.log(of_medians))):.2f}")
    print(f"above {WORST} x the other's error: ours in {above[0]}, Extra-P in {above[1]}; by more than {WITHIN} s.e.: Extra-P in {n_rival}")
    return 1 if "missed" in verdicts or mean >= 1 or cover < COVER else 0


if __name__ == "__main__":
    sys.exit(main())
