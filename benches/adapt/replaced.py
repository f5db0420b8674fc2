"""Runs the case study with a flux that becomes slow, once adapted and once with a component that knew when, and judges."""

import json
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys

WORK, ROOT, TARGET, FIXTURE = (pathlib.Path(path) for path in sys.argv[1:])
RUNS = 7
# Steps of the application; the flux becomes slow after half of them. The verdict is on the last one.
LENGTHS = [300, 1200]
# Calls of the flux a step: eight patches, two stages, two axes.
CALLS = 32
WITHIN = 1.10
# Part of the processor seconds that following the records and deciding may take.
SHARE = 0.01


def mastermind(*arguments):
    """Runs the binary in the work folder. Returns its processor seconds, with those of its ranks, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [TARGET / "mastermind", *arguments]
    ended = subprocess.run(command, cwd=WORK, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        sys.exit(f"{command}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, ended.stdout


def assembly(flux, steps):
    """The case study with this flux; nothing else is swapped."""
    text = (ROOT / "examples/shock/shock.toml").read_text()
    slow = f"[parameters.flux]\nslow_after = {CALLS * steps // 2}\n"
    for old, new in [
        ('path = ["../../target/release"]', f'path = ["{TARGET}", "{FIXTURE}"]'),
        ('flux = "hydro.GodunovFlux"', f'flux = "test.{flux}"\nkernel = "hydro.EfmFlux"'),
        ('"rhs.flux" = "flux.flux"', '"rhs.flux" = "flux.flux"\n"flux.kernel" = "kernel.flux"'),
        ("end_time = 0.85", f"end_time = 1000.0\nmax_steps = {steps}"),
        ('flux = ["hydro.', 'flux = ["test.SlowingFlux", "test.SteadyFlux"]\n# ["hydro.'),
        ("states = [", "# states = ["),
        ("[go]", ("" if flux == "SteadyFlux" else slow) + "[go]"),
    ]:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = WORK / f"{flux}-{steps}.toml"
    path.write_text(text)
    return path


def decided(steps):
    lines = (WORK / "adapted/decisions.0.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def compare(steps):
    knowing, slowing, steady = (assembly(f"{name}Flux", steps) for name in ("Knowing", "Slowing", "Steady"))
    inputs = []
    for path in (slowing, steady):
        records = f"models-{path.stem}"
        mastermind("run", path, "--records", records, "--overwrite", "--set", "driver.max_steps=8")
        inputs.append(records)
    mastermind("fit", *inputs, "-o", "models.json", "--force")
    ratios, kept, shares = [], [], []
    for _ in range(RUNS):
        oracle_s, _ = mastermind("run", knowing, "--records", "known", "--overwrite")
        adapted_s, output = mastermind("run", slowing, "--records", "adapted", "--overwrite", "--adapt", "models.json")
        ratios.append(adapted_s / oracle_s)
        decisions = decided(steps)
        kept.append([(d["act"], d["to"], d["step"]) for d in decisions if d["act"] in ("keep", "back", "failed")])
        shares.append(float(output.split(" s spent on it")[0].split()[-1]) / adapted_s)
        known_slow_s = oracle_s
    never_s, _ = mastermind("run", slowing, "--records", "adapted", "--overwrite")
    ratio = statistics.median(ratios)
    print(
        f"{steps} steps, oracle {oracle_s:.2f} s: adapted {ratio:.3f} times as much in the median of {RUNS} "
        f"({min(ratios):.3f} to {max(ratios):.3f}); never adapted {never_s / known_slow_s:.2f}; "
        f"deciding took {100 * statistics.median(shares):.2f} %",
        flush=True,
    )
    for decisions in kept:
        print("   ", "; ".join(f"step {step}: {act} {to}" for act, to, step in decisions))
    share = statistics.median(shares)
    return ratio, share, [[to for act, to, _ in run if act == "keep"] for run in kept], [run[-1][2] for run in kept if run]


def main():
    for folder in ("known", "adapted"):
        shutil.rmtree(WORK / folder, ignore_errors=True)
    missed = []
    for steps in LENGTHS:
        ratio, share, kept, at = compare(steps)
        if share > SHARE:
            missed.append(f"{steps} steps: deciding took {100 * share:.2f} %, at most {100 * SHARE:.0f}")
        if steps != LENGTHS[-1]:
            continue
        if ratio > WITHIN:
            missed.append(f"{ratio:.3f} times the processor seconds of an oracle that knew, at most {WITHIN}")
        if any(classes[-1:] != ["test.SteadyFlux"] for classes in kept):
            missed.append(f"the slow flux is not replaced in every run: {kept}")
        if any(classes != kept[0] for classes in kept):
            missed.append(f"identical runs keep different classes: {kept}")
        if max(at) - min(at) > 0.05 * steps:
            missed.append(f"identical runs decide at steps {min(at)} to {max(at)} of {steps}, within 5 %")
    for line in missed:
        print(f"MISSED {line}")
    sys.exit(1 if missed else 0)


main()
