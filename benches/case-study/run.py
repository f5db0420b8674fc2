"""Plans, records, fits, predicts every assembly, runs each, and judges.

Measurements are kept with the records (`measured.json`), so that a study that was stopped continues. With other programs it starts
anew.
"""

import hashlib
import itertools
import json
import multiprocessing
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

WORK, ROOT, TARGET = (pathlib.Path(path) for path in sys.argv[1:4])
# Runs of each planned assembly, and fresh runs of each assembly, half of the latter while other programs keep the
# processors busy.
PLANNED, FRESH, SINGLE = 5, 5, 100
# Earlier runs of each of two other programs on this machine, every other one with busy processors: they show how much
# the states of the machine change a run.
EARLIER = 11
# End of the simulated time: half a second to a second of processor time a run.
END = {"shock": 0.85, "shock-amr": 0.2}
SITES = {"shock": ["flux", "states"], "shock-amr": ["flux", "states", "icc"]}


def mastermind(*arguments):
    command = [str(TARGET / "mastermind"), *map(str, arguments)]
    ended = subprocess.run(command, cwd=WORK, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"{' '.join(command)}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


class Measured:
    """The measurements so far, by name, in a file."""

    def __init__(self):
        self.path = WORK / "measured.json"
        programs = [TARGET / "mastermind", *sorted(TARGET.glob("lib*.so")), pathlib.Path(__file__)]
        digest = hashlib.sha256()
        for program in programs:
            digest.update(program.read_bytes())
        self.values = {"programs": digest.hexdigest()}
        if self.path.exists():
            known = json.loads(self.path.read_text())
            if known["programs"] == self.values["programs"]:
                self.values = known
                print(f"{len(known) - 1} measurements are known, {self.path}", flush=True)
                return
        for entry in WORK.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def get(self, name, measure):
        """The measurement of this name, taken now if there is none."""
        if name not in self.values:
            self.values[name] = measure()
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.values))
            new.rename(self.path)
        return self.values[name]


class Study:
    """An example with its alternatives at the examined sites."""

    def __init__(self, name):
        self.name = name
        text = (ROOT / f"examples/{name}/{name}.toml").read_text()
        text = text.replace("../../target/release", str(TARGET))
        text = re.sub(r"end_time = .*", f"end_time = {END[name]}", text)
        head, table = text.split("[alternatives]\n")
        listed, tail = table.split("\n\n", 1)
        self.classes = {}
        for line in listed.splitlines():
            site, classes = line.split(" = ")
            if site in SITES[name]:
                self.classes[site] = json.loads(classes)
        self.head, self.tail = head, tail
        self.path = self.variant({}, self.classes)

    def variant(self, assembly, alternatives):
        """A file of the assembly with these classes in their places."""
        head = self.head
        for site, of_site in assembly.items():
            head = re.sub(rf'^{site} = ".*"', f'{site} = "{of_site}"', head, flags=re.M)
        lines = [f"{site} = {json.dumps(classes)}" for site, classes in alternatives.items()]
        name = "-".join([self.name, *(c.split(".")[1] for c in assembly.values())])
        path = WORK / f"{name}.toml"
        path.write_text(head + "[alternatives]\n" + "\n".join(lines) + "\n\n" + self.tail)
        return path

    def assemblies(self):
        """Every assembly, as a file that is just this one."""
        for classes in itertools.product(*self.classes.values()):
            assembly = dict(zip(self.classes, classes))
            yield "+".join(c.split(".")[1] for c in classes), self.variant(assembly, {})


def spin():
    while True:
        pass


def run(path, folder, *options, disturbed=False):
    """Runs and records, alone or while as many other programs as there are processors are busy."""
    shutil.rmtree(WORK / folder, ignore_errors=True)
    n_others = multiprocessing.cpu_count() if disturbed else 0
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(n_others)]
    for other in others:
        other.start()
    mastermind("run", path, "--records", folder, *options)
    for other in others:
        other.terminate()


def fresh_s(path, folder, disturbed=False):
    """Processor seconds of a fresh run, of its components."""
    run(path, folder, disturbed=disturbed)
    choice = json.loads(mastermind("choose", path, "--models", MODELS[path], "--records", folder, "--json"))
    shutil.rmtree(WORK / folder)
    return choice["measured"]["processor_s"]


# The models of each assembly file.
MODELS = {}


def earlier(measured):
    """Runs of other programs, every other one disturbed."""
    heat = (ROOT / "examples/heat/heat.toml").read_text().replace("../../target/release", str(TARGET))
    sod = (ROOT / "examples/sod/sod.toml").read_text().replace("../../target/release", str(TARGET))
    # As long as the runs that are predicted: the machine's speed stays the same for a tenth of a second, not for a whole run.
    sod = sod.replace("nx = 200", "nx = 500")
    for name, text in (("heat", heat), ("sod", sod)):
        path = WORK / f"{name}.toml"
        path.write_text(text)
        for turn in range(EARLIER):
            folder = f"earlier/{name}-{turn}"
            measured.get(folder, lambda: run(path, folder, disturbed=turn % 2 == 1))
    return "earlier"


def plan_and_fit(study, planned, models):
    """Executes the runs that `plan` asks for, and fits the models."""
    shutil.rmtree(WORK / planned, ignore_errors=True)
    plan = mastermind("plan", study.path, "--run", "--records", planned, "--repeat", PLANNED)
    folders = sorted(str(path.relative_to(WORK)) for path in (WORK / planned).iterdir())
    mastermind("fit", *folders, "-o", models, "--force", "--statistic", "median")
    return plan.splitlines()[-1]


def known_to(runs):
    """Relative standard error of the mean of runs, the precision to which it can be known."""
    return statistics.stdev(runs) / len(runs) ** 0.5 / statistics.mean(runs)


def study(name, measured, missed):
    study = Study(name)
    before = earlier(measured)
    planned, models = f"planned-{name}", f"{name}.json"
    plan = measured.get(planned, lambda: plan_and_fit(study, planned, models))
    print(f"{name}: {plan}", flush=True)
    predictions = {}
    for label, path in study.assemblies():
        MODELS[path] = models
        options = ["--models", models, "--records", f"{planned}/run1-1", "--runs", planned, "--earlier", before, "--json"]
        choice = json.loads(mastermind("choose", path, *options))
        predictions[label] = (path, choice["predicted_s"], choice["interval_s"], choice["between_runs"])
    widest = max((high / low) ** 0.5 - 1 for _, _, (low, high), _ in predictions.values())
    errors, means = {}, {}
    for turn in range(FRESH):
        for label, (path, *_) in predictions.items():
            fresh = measured.get(f"{name} {label} {turn}", lambda: fresh_s(path, f"fresh-{name}"))
            means.setdefault(label, []).append(fresh)
    for label, (path, predicted_s, (low, high), between) in predictions.items():
        mean_s = statistics.mean(means[label])
        errors[label] = predicted_s / mean_s - 1
        inside = sum(low <= s <= high for s in means[label])
        print(
            f"{name} {label}: predicted {predicted_s:.4f} s ({low:.4f} to {high:.4f}), fresh {mean_s:.4f} s "
            f"({min(means[label]):.4f} to {max(means[label]):.4f}; their mean is known to {100 * known_to(means[label]):.1f} %), "
            f"off by {100 * errors[label]:+.1f} %, {inside} of {FRESH} inside",
            flush=True,
        )
    mean_error = statistics.mean(abs(error) for error in errors.values())
    largest = max(abs(error) for error in errors.values())
    wrong = []
    for a, b in itertools.combinations(predictions, 2):
        fresh = [statistics.mean(means[label]) for label in (a, b)]
        if abs(fresh[0] / fresh[1] - 1) > 0.05:
            if (fresh[0] < fresh[1]) != (predictions[a][1] < predictions[b][1]):
                wrong.append((a, b))
    spread = next(iter(predictions.values()))[3]
    print(
        f"{name}: mean error {100 * mean_error:.1f} %, largest {100 * largest:.1f} %, {len(wrong)} pairs ranked wrongly, "
        f"half-width {100 * widest:.0f} %, runs differ by {100 * spread['deviation']:.1f} %"
    )
    if mean_error > 0.05:
        missed.append(f"{name}: mean error {mean_error:.3f}, at most 0.05")
    if largest > 0.10:
        missed.append(f"{name}: largest error {largest:.3f}, at most 0.10")
    if wrong:
        missed.append(f"{name}: ranked wrongly: {wrong}")
    if widest > 0.26:
        missed.append(f"{name}: half-width {widest:.2f}, at most 0.26")
    return predictions


def coverage(predictions, measured, missed):
    """Fresh single runs of all assemblies in turns, every other one disturbed."""
    inside = [0, 0]
    for turn, (path, _, (low, high), _) in zip(range(SINGLE), itertools.cycle(predictions)):
        disturbed = turn % 2 == 1
        seconds = measured.get(f"single {turn}", lambda: fresh_s(path, "single", disturbed))
        inside[turn % 2] += low <= seconds <= high
    print(f"interval covers {sum(inside)} of {SINGLE} fresh runs: {inside[0]} quiet ones, {inside[1]} disturbed ones")
    if sum(inside) < 0.9 * SINGLE:
        missed.append(f"the interval covers {sum(inside)} of {SINGLE} fresh runs, at least {0.9 * SINGLE:.0f}")


def smaller(measured, name, settings):
    """Runs an assembly with each of some settings, and fits models of them all."""
    path = Study("shock").variant({}, {})
    for label, options in settings.items():
        for turn in range(PLANNED):
            folder = f"{name}/{label}-{turn}"
            measured.get(folder, lambda: run(path, folder, *options))
    inputs = [f"{name}/{label}-{turn}" for label in settings for turn in range(PLANNED)]
    fit = lambda: mastermind("fit", *inputs, "-o", f"{name}.json", "--force", "--statistic", "median")
    measured.get(f"{name}.json", fit)
    return path, inputs


def predict_larger(what, name, settings, wanted, measured, missed):
    """A workload that was not run, predicted from smaller runs, compared with the mean of fresh runs.

    The compared processor seconds are those of computing and, where each rank has a processor, those in MPI, which waits busily. Ranks
    that share processors are in MPI while others compute. That is no processor time and is reported separately, with the spread of the
    runs.
    """
    path, inputs = smaller(measured, name, settings)
    before = earlier(measured)
    options = ["--models", f"{name}.json", "--records", inputs[-1], "--runs", name, "--earlier", before, "--json", *wanted]
    choice = json.loads(mastermind("choose", path, *options))
    on_ranks = choice.get("on_ranks")
    shared = on_ranks is not None and on_ranks["ranks"] > (on_ranks["processors"] or on_ranks["ranks"])

    def fresh_s():
        run(path, "large", *wanted)
        choice = json.loads(mastermind("choose", path, "--models", f"{name}.json", "--records", "large", "--json"))
        return choice["measured"]["computation_s"], choice["measured"]["mpi_s"]

    fresh = [measured.get(f"{what} fresh {turn}", fresh_s) for turn in range(FRESH)]
    totals = [computation_s + mpi_s for computation_s, mpi_s in fresh]
    rows = [("in all", choice["predicted_s"], choice["interval_s"], totals, not shared)]
    if on_ranks:
        computing = on_ranks["computation_s"], on_ranks["computation_interval_s"]
        rows.append(("computing", *computing, [computation_s for computation_s, _ in fresh], True))
        if on_ranks["mpi"]:
            rows.append(("in MPI", on_ranks["mpi_s"], on_ranks["mpi"]["interval_s"], [mpi_s for _, mpi_s in fresh], False))
    for part, predicted_s, (low, high), runs, is_judged in rows:
        mean_s = statistics.mean(runs)
        error = predicted_s / mean_s - 1
        inside = sum(low <= s <= high for s in runs)
        print(
            f"{what}, {part}: predicted {predicted_s:.3f} s ({low:.3f} to {high:.3f}), fresh {mean_s:.3f} s ({min(runs):.3f} to "
            f"{max(runs):.3f}; their mean is known to {100 * known_to(runs):.1f} %), off by {100 * error:+.1f} %, "
            f"{inside} of {FRESH} inside{'' if is_judged else '; no processor time, or a part: not judged'}",
            flush=True,
        )
        if is_judged and abs(error) > 0.15:
            missed.append(f"{what}, {part}: off by {error:.3f}, at most 0.15")


def grid(nx):
    return ["--set", f"mesh.nx={nx}", "--set", f"mesh.ny={nx // 3}"]


def larger(measured, missed):
    """Twice the base grid, and another number of ranks, from smaller runs."""
    sizes = {str(nx): grid(nx) for nx in (48, 72, 96)}
    predict_larger("twice the grid", "sizes", sizes, grid(192), measured, missed)
    # How long ranks wait for one another follows from small runs with as many of them, and from no others.
    counts = {f"{n}-ranks-{nx}": ["--ranks", str(n), *grid(nx)] for n in (1, 2, 4) for nx in (36, 48, 72)}
    for ranks in (2, 4):
        predict_larger(f"{ranks} ranks", "ranks", counts, ["--ranks", str(ranks), *grid(96)], measured, missed)


def main():
    missed, predictions = [], []
    measured = Measured()
    for name in SITES:
        predictions += study(name, measured, missed).values()
    coverage(predictions, measured, missed)
    larger(measured, missed)
    for line in missed:
        print(f"MISSED {line}")
    sys.exit(1 if missed else 0)


main()
