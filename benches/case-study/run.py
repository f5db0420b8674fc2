"""Plans, records, fits, predicts every assembly, runs each, and judges."""

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
# Runs of each planned assembly, and fresh ones of each assembly: of the latter half beside a second busy program.
PLANNED, FRESH, SINGLE = 5, 5, 100
# End of the simulated time: half a second to a second of processor time a run.
END = {"shock": 0.85, "shock-amr": 0.2}
SITES = {"shock": ["flux", "states"], "shock-amr": ["flux", "states", "icc"]}


def mastermind(*arguments):
    command = [str(TARGET / "mastermind"), *map(str, arguments)]
    ended = subprocess.run(command, cwd=WORK, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"{' '.join(command)}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


class Study:
    """An example with its alternatives at the sites that are looked at."""

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


def fresh_s(path, folder, disturbed=False):
    """Processor seconds of a fresh run, of its components."""
    n_others = multiprocessing.cpu_count() if disturbed else 0
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(n_others)]
    for other in others:
        other.start()
    mastermind("run", path, "--records", folder)
    for other in others:
        other.terminate()
    told = json.loads(mastermind("choose", path, "--models", MODELS[path], "--records", folder, "--json"))
    shutil.rmtree(WORK / folder)
    return told["measured"]["processor_s"]


# The models of each assembly file.
MODELS = {}


def study(name, missed):
    study = Study(name)
    planned, models = f"planned-{name}", f"{name}.json"
    plan = mastermind("plan", study.path, "--run", "--records", planned, "--repeat", PLANNED)
    print(f"{name}: {plan.splitlines()[-1]}", flush=True)
    folders = sorted(str(path.relative_to(WORK)) for path in (WORK / planned).iterdir())
    mastermind("fit", *folders, "-o", models, "--force", "--statistic", "median")
    predictions = {}
    for label, path in study.assemblies():
        MODELS[path] = models
        options = ["--models", models, "--records", f"{planned}/run1-1", "--runs", planned, "--json"]
        told = json.loads(mastermind("choose", path, *options))
        predictions[label] = (path, told["predicted_s"], told["interval_s"], told["between_runs"])
    widest = max((high / low) ** 0.5 - 1 for _, _, (low, high), _ in predictions.values())
    errors, means = {}, {}
    for _ in range(FRESH):
        for label, (path, *_) in predictions.items():
            means.setdefault(label, []).append(fresh_s(path, f"fresh-{name}"))
    for label, (path, predicted_s, (low, high), between) in predictions.items():
        mean_s = statistics.mean(means[label])
        errors[label] = predicted_s / mean_s - 1
        inside = sum(low <= s <= high for s in means[label])
        print(
            f"{name} {label}: predicted {predicted_s:.4f} s ({low:.4f} to {high:.4f}), fresh {mean_s:.4f} s "
            f"({min(means[label]):.4f} to {max(means[label]):.4f}), off by {100 * errors[label]:+.1f} %, {inside} of {FRESH} inside",
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


def coverage(predictions, missed):
    """Fresh single runs of all assemblies in turns, every other one disturbed."""
    inside = [0, 0]
    for turn, (path, _, (low, high), _) in zip(range(SINGLE), itertools.cycle(predictions)):
        seconds = fresh_s(path, "single", disturbed=turn % 2 == 1)
        inside[turn % 2] += low <= seconds <= high
    print(f"interval covers {sum(inside)} of {SINGLE} fresh runs: {inside[0]} quiet ones, {inside[1]} disturbed ones")
    if sum(inside) < 0.9 * SINGLE:
        missed.append(f"the interval covers {sum(inside)} of {SINGLE} fresh runs, at least {0.9 * SINGLE:.0f}")


def larger(missed):
    """Twice the base grid, from smaller runs."""
    study = Study("shock")
    path = study.variant({}, {})
    grid = lambda nx: ["--set", f"mesh.nx={nx}", "--set", f"mesh.ny={nx // 3}"]
    for nx in (48, 72, 96):
        for turn in range(2):
            mastermind("run", path, "--records", f"sizes/{nx}-{turn}", *grid(nx))
    inputs = [f"sizes/{nx}-{turn}" for nx in (48, 72, 96) for turn in range(2)]
    mastermind("fit", *inputs, "-o", "sizes.json", "--force", "--statistic", "median")
    options = ["--models", "sizes.json", "--records", "sizes/96-0", "--runs", "sizes", "--json"]
    predicted_s = json.loads(mastermind("choose", path, *options, *grid(192)))["predicted_s"]
    fresh = []
    for _ in range(FRESH):
        mastermind("run", path, "--records", "large", "--overwrite", *grid(192))
        told = json.loads(mastermind("choose", path, "--models", "sizes.json", "--records", "large", "--json"))
        fresh.append(told["measured"]["processor_s"])
    error = predicted_s / statistics.mean(fresh) - 1
    print(f"twice the grid: predicted {predicted_s:.3f} s, fresh {statistics.mean(fresh):.3f} s, off by {100 * error:+.1f} %")
    if abs(error) > 0.15:
        missed.append(f"twice the grid: off by {error:.3f}, at most 0.15")


def main():
    missed, predictions = [], []
    for name in SITES:
        predictions += study(name, missed).values()
    coverage(predictions, missed)
    larger(missed)
    for line in missed:
        print(f"MISSED {line}")
    sys.exit(1 if missed else 0)


main()
