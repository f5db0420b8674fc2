#!/usr/bin/env python3
"""Records series of equal runs of small programs into stores, a store for each program: record.py BINARIES FOLDER RUNS [PROGRAM…]

The programs take turns, so that all see the same machine. During half of the runs, in blocks of 10 to 20, another process keeps a
processor busy. A program that cannot be built here is named and left out. FOLDER/PROGRAM is the store; FOLDER/busy.txt has a line for
each round: 1 if it was busy.

Last, 15 runs of one program and 5 with a slower build of its library go into the store `slower`, and 15 runs of a program and 8 that take
twice the steps into the store `doubled`.
"""

import os
import pathlib
import random
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSY = [sys.executable, "-c", "while True: pass"]


def build_sparse(mastermind, folder):
    """The workload over the solver that needs no other library."""
    subprocess.run([mastermind, "proxy", ROOT / "examples/sparse/sparse.sidl", "-o", folder, "--language", "c", "--force"],
                   check=True, stdout=subprocess.DEVNULL)
    (folder / "lib").mkdir(exist_ok=True)
    for name in ["workload", "gradients"]:
        subprocess.run(["cc", "-std=gnu11", "-O2", "-fPIC", "-shared", "-I", folder / "c", "-I", ROOT / "examples",
                        "-o", folder / f"lib/lib{name}.so", ROOT / f"examples/sparse/{name}.c", folder / "c/sparse_ports.c", "-lm"], check=True)
    text = (ROOT / "examples/sparse/sparse.toml").read_text().replace("CholmodSimplicial\"", "ConjugateGradients\"", 1)
    # The other solvers are over libraries that may not be here.
    before, after = text.split("[alternatives]")
    (folder / "sparse.toml").write_text((before + after[after.index("[go]"):]).replace("sizes = 10", "sizes = 2"))
    return folder / "sparse.toml"


def build_fft(mastermind, folder):
    subprocess.run([ROOT / "examples/fft/build.sh", "--without-rustfft", mastermind, folder], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    # rustfft is a build of its own.
    text = (ROOT / "examples/fft/fft.toml").read_text().replace(", \"fft.RustFft\"", "")
    (folder / "fft.toml").write_text(text)
    return folder / "fft.toml"


def commands(mastermind, work, names):
    """The words before and after `--records F`, for each program that can be run here."""
    example = lambda name: ROOT / f"examples/{name}/{name}.toml"
    run = [mastermind, "run"]

    def shock():
        return run + [example("shock"), "--set", "driver.max_steps=120"], []

    def amr():
        return run + [example("shock-amr"), "--set", "driver.max_steps=12"], []

    def heat():
        return run + [example("heat"), "--set", "driver.nx=300", "--set", "driver.ny=300", "--set", "driver.steps=300"], []

    def sparse():
        folder = work / "sparse-made"
        assembly = build_sparse(mastermind, folder)
        return ["env", f"CCA_COMPONENT_PATH={folder / 'lib'}", *run, assembly], []

    def fft():
        folder = work / "fft-made"
        assembly = build_fft(mastermind, folder)
        return ["env", f"CCA_COMPONENT_PATH={folder / 'lib'}", *run, assembly], []

    def dynamics():
        subprocess.run(["mpicc", "-O2", "-o", work / "dynamics-made/dynamics", ROOT / "benches/replay/dynamics.c"], check=True)
        is_open_mpi = "Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
        launcher = ["mpirun"] + (["--use-hwthread-cpus"] if is_open_mpi else []) + ["-n", "2"]
        return launcher + [mastermind, "wrap", "--mpi-events"], ["--", work / "dynamics-made/dynamics", "600", "16"]

    programs = {"shock": shock, "amr": amr, "heat": heat, "sparse": sparse, "fft": fft, "dynamics": dynamics}
    found = {}
    for name, build in programs.items():
        if names and name not in names:
            continue
        try:
            (work / f"{name}-made").mkdir(exist_ok=True)
            found[name] = build()
            run_once(mastermind, work, name, found[name])
        except (OSError, subprocess.CalledProcessError) as error:
            found.pop(name, None)
            print(f"left out: {name}: {error}", flush=True)
    return found


def run_once(mastermind, work, name, words):
    before, after = words
    records = work / f"{name}-records"
    shutil.rmtree(records, ignore_errors=True)
    done = subprocess.run([*before, "--records", records, *after], capture_output=True, text=True, cwd=work)
    if done.returncode:
        raise OSError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}")
    return records


def slower_library(mastermind, work, words):
    """A store `slower`: 15 runs, then 5 with the solver compiled without optimisation."""
    shutil.rmtree(work / "slower", ignore_errors=True)
    folder = work / "sparse-made"
    for options in [["-O2"]] * 15 + [["-O0"]] * 5:
        subprocess.run(["cc", "-std=gnu11", *options, "-fPIC", "-shared", "-I", folder / "c", "-I", ROOT / "examples",
                        "-o", folder / "lib/libgradients.so", ROOT / "examples/sparse/gradients.c", folder / "c/sparse_ports.c", "-lm"], check=True)
        records = run_once(mastermind, work, "sparse", words)
        subprocess.run([mastermind, "history", "add", records, "--to", work / "slower", "--machine", "bench"],
                       check=True, stdout=subprocess.DEVNULL)


def doubled_workload(mastermind, work):
    """A store `doubled`: 15 runs, then 8 of twice the steps."""
    shutil.rmtree(work / "doubled", ignore_errors=True)
    assembly = ROOT / "examples/shock/shock.toml"
    for steps in [120] * 15 + [240] * 8:
        words = [mastermind, "run", assembly, "--set", f"driver.max_steps={steps}"], []
        records = run_once(mastermind, work, "shock", words)
        subprocess.run([mastermind, "history", "add", records, "--to", work / "doubled", "--machine", "bench"],
                       check=True, stdout=subprocess.DEVNULL)


def main():
    binaries, work, runs = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3])
    mastermind = binaries / "mastermind"
    work.mkdir(parents=True, exist_ok=True)
    # In a container one is root.
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"]:
        os.environ.setdefault(name, "1")
    programs = commands(mastermind, work, sys.argv[4:])
    for name in programs:
        shutil.rmtree(work / name, ignore_errors=True)
    chance = random.Random(46)
    is_busy, left, states = False, 0, []
    for _ in range(runs):
        if left == 0:
            is_busy, left = not is_busy if states else False, chance.randint(10, 20)
        left -= 1
        states.append(is_busy)
        busy = subprocess.Popen(BUSY) if is_busy else None
        try:
            for name, words in programs.items():
                records = run_once(mastermind, work, name, words)
                subprocess.run([mastermind, "history", "add", records, "--to", work / name, "--machine", "bench"],
                               check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finally:
            if busy:
                busy.kill()
                busy.wait()
    if "sparse" in programs:
        slower_library(mastermind, work, programs["sparse"])
    if "shock" in programs:
        doubled_workload(mastermind, work)
    (work / "busy.txt").write_text("".join(f"{int(state)}\n" for state in states))


if __name__ == "__main__":
    main()
