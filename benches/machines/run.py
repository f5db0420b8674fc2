#!/usr/bin/env python3
"""Whether libraries that chose other code are found, whether the processor is measured alike twice, whether models carried to another machine
hold there, and what signatures say of hits and times: run.py BINARIES

A program loads libraries of others, as they are on this machine and in wheels of PyPI that the benchmark installs into a folder of its own. It is
wrapped with a variable that changes the code of one of them, and without; `compare` must warn of that library's code, and between equal runs
of nothing. A library that cannot be had here, or whose code the variable does not change when it is asked directly, is named and left out.
`--quick` leaves out the processor, the models and the signatures; `--signatures` is of these alone.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from carry import carry
from signatures import signatures

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = ["numpy", "scipy", "mkl"]

# The library to load, a part of its name, and variables that change its code; from the documents that `STEERING` in
# mastermind/machine/src/dispatch/known.rs names.
SEEDS = [
    ("libopenblas.so.0", "openblas", ["OPENBLAS_CORETYPE=Haswell", "OPENBLAS_CORETYPE=Sandybridge", "OPENBLAS_CORETYPE=Nehalem",
                                      "OPENBLAS_CORETYPE=SkylakeX", "OPENBLAS_CORETYPE=Zen", "OPENBLAS_NUM_THREADS=1"]),
    ("*/libscipy_openblas64_*", "scipy_openblas64", ["OPENBLAS_CORETYPE=SkylakeX", "OPENBLAS_CORETYPE=Nehalem", "OPENBLAS_CORETYPE=Prescott"]),
    ("*/libscipy_openblas-*", "scipy_openblas-", ["OPENBLAS_CORETYPE=SkylakeX", "OPENBLAS_CORETYPE=Nehalem"]),
    ("*/libmkl_rt.so*", "mkl_rt", ["MKL_ENABLE_INSTRUCTIONS=AVX2", "MKL_ENABLE_INSTRUCTIONS=SSE4_2", "MKL_NUM_THREADS=1"]),
    ("libcrypto.so.3", "crypto", ["OPENSSL_ia32cap=~0x200000200000000", "OPENSSL_ia32cap=:0"]),
    ("libc.so.6", "libc", ["GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F", "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX2"]),
]
EQUAL_PAIRS = 20
STABLE_WITHIN = 0.07

PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
double scale(int n);
int main(int argc, char **argv) {
    double sum = 0;
    for (int i = 1; i < argc; i++)
        if (!dlopen(argv[i], RTLD_NOW)) { fprintf(stderr, "%s\\n", dlerror()); return 1; }
    for (int i = 1; i <= 40; i++) sum += scale(i % 4 * 100);
    return sum < 0;
}
"""
SCALE = "double scale(int n) { volatile double s = 0; for (int i = 0; i < n; i++) s += i; return s; }"


def sh(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)


def install(folder):
    """The wheels, in a folder; an empty one where there is no network."""
    sh(sys.executable, "-m", "venv", folder)
    sh(folder / "bin/pip", "install", "-q", *WHEELS)
    return folder


def found(pattern, wheels):
    """The path or name of a library to load; None if it is not there."""
    if "/" in pattern:
        paths = sorted(wheels.rglob(pattern.split("/", 1)[1]))
        return str(paths[0]) if paths else None
    return pattern


def main():
    mastermind = pathlib.Path(sys.argv[1]).resolve() / "mastermind"
    work = pathlib.Path(tempfile.mkdtemp(prefix="machines-"))
    if "--signatures" in sys.argv:
        n_missed = signatures(mastermind, work)
        print(f"{n_missed} missed")
        return n_missed != 0
    (work / "scale.h").write_text("double scale(int n);\n")
    (work / "scale.c").write_text(SCALE)
    (work / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libscale.so", "scale.c"], cwd=work, check=True)
    subprocess.run(["cc", "-o", "program", "program.c", "-L.", "-lscale", "-ldl", "-Wl,-rpath,$ORIGIN"], cwd=work, check=True)
    subprocess.run([mastermind, "proxy", "scale.h", "-o", "proxies"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    wheels = install(work / "wheels")
    plain = {name: value for name, value in os.environ.items() if not re.match("OPENBLAS|MKL|OPENSSL|GLIBC|OMP|BLIS", name)}
    plain["LD_LIBRARY_PATH"] = str(wheels / "lib")
    n_missed = n_runs = 0

    def wrap(library, variable=None):
        nonlocal n_runs
        n_runs += 1
        records = work / f"records{n_runs}"
        environment = dict(plain, **dict([variable.split("=", 1)] if variable else []))
        run = sh(mastermind, "wrap", "--proxy", "proxies/libscale_proxy.so", "--records", records, "--", "./program", library,
                 cwd=work, env=environment)
        return records if run.returncode == 0 else None

    def code(records, part):
        shown = json.loads(sh(mastermind, "info", records, "--json").stdout)["dispatch"]["libraries"]
        answers = [(of["code"], of.get("threads")) for of in shown if part in of["path"]]
        return answers[0] if answers else None

    def warned(one, other):
        stderr = sh(mastermind, "compare", one, other).stderr
        return " ".join(line for line in stderr.splitlines() if "libraries of the runs differ" in line)

    loaded = []
    for pattern, part, variables in SEEDS:
        library = found(pattern, wheels)
        base = wrap(library) if library else None
        if base is None or code(base, part) is None:
            print(f"{part:18} left out: cannot be loaded here, or does not answer")
            continue
        loaded.append(library)
        for variable in variables:
            other = wrap(library, variable)
            if other is None:
                print(f"{part:18} {variable:52} left out: the program does not start with it")
                continue
            before, after = code(base, part), code(other, part)
            if before == after:
                print(f"{part:18} {variable:52} left out: the library runs {before[0][:40]} as without")
                continue
            text = warned(base, other)
            reached = part in text and variable.split("=")[0] in text
            n_missed += not reached
            print(f"{part:18} {variable:52} {before[0][:28]} -> {after[0][:28]}: {'found' if reached else 'MISSED'}", flush=True)
    n_false = 0
    for pair in range(EQUAL_PAIRS):
        library = loaded[pair % len(loaded)]
        n_false += warned(wrap(library), wrap(library)) != ""
    n_missed += n_false != 0
    print(f"equal runs         {n_false} of {EQUAL_PAIRS} pairs said to differ (0 asked): {'reached' if n_false == 0 else 'MISSED'}")
    if "--quick" not in sys.argv:
        n_missed += processor(mastermind)
        n_missed += carry(mastermind, work, wheels, plain)
        n_missed += signatures(mastermind, work)
    print(f"{n_missed} missed")
    return n_missed != 0


def numbers(value, path=()):
    """Each number of a document, by its path."""
    if isinstance(value, dict) and "passes" in value:
        yield path, value
    elif isinstance(value, dict):
        for key, of in value.items():
            yield from numbers(of, path + (key,))
    elif isinstance(value, list):
        for of in value:
            if isinstance(of, dict):
                key = tuple(of.get(key) for key in ["bytes", "huge_pages", "threads"])
                yield from numbers(of, path + key)


def processor(mastermind):
    """Two measurements of the processor, one after the other."""
    once = lambda: dict(numbers(json.loads(sh(mastermind, "machine", "--json").stdout)))
    one, other = once(), once()
    stable = [key for key in one if not one[key]["unstable"] and not other[key]["unstable"]]
    off = {key: abs(other[key]["best"] / one[key]["best"] - 1) for key in stable}
    far = {key: of for key, of in off.items() if of > STABLE_WITHIN}
    for key, of in sorted(far.items(), key=lambda item: -item[1])[:8]:
        print(f"  {' '.join(str(part) for part in key if part is not None)}: {100 * of:.0f} % apart")
    reached = not far
    print(f"processor twice    {len(one)} numbers, {len(stable)} stable in both, {len(far)} of them more than {100 * STABLE_WITHIN:.0f} % apart "
          f"(0 asked): {'reached' if reached else 'MISSED'}")
    return not reached


if __name__ == "__main__":
    sys.exit(main())
