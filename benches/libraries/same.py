#!/usr/bin/env python3
"""Holds what programs of C print that call a library directly against what they print when the calls go through its proxy.

Of each header `mastermind proxy` makes and builds the proxy; the program in same/ runs by itself, and under `mastermind wrap` with the
proxy, recorded. The output must be the same to the last bit, and every function that the program calls and the proxy records must have
records. Ends with an error if one differs, or if a header is missing:

    apt-get install libfftw3-dev libgsl-dev libsuitesparse-dev liblz4-dev liblapacke-dev
    benches/libraries/same.py [FOLDER OF THE BINARIES]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# The header, the program, the libraries that it is linked with.
CASES = [
    ("fftw3.h", "fftw3.c", ["-lfftw3"]),
    ("gsl/gsl_fft_complex.h", "gsl_fft_complex.c", ["-lgsl", "-lgslcblas"]),
    ("suitesparse/umfpack.h", "umfpack.c", ["-lumfpack"]),
    ("suitesparse/cholmod.h", "cholmod.c", ["-lcholmod"]),
    ("lz4.h", "lz4.c", ["-llz4"]),
    ("lapacke.h", "lapacke.c", ["-llapacke"]),
]


def run(command, folder):
    # Sums in one order: results are compared bit by bit.
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def called(source, functions):
    """Those of the functions that the source names before a bracket."""
    words = set(re.findall(r"\b(\w+)\(", source))
    return words & set(functions)


def compare(mastermind, header, program, libraries, folder):
    made = json.loads(run([mastermind, "proxy", header, "-o", folder, "--json"], folder))
    source = (HERE / "same" / program).read_text()
    binary = folder / "program"
    run(["cc", "-O2", "-o", binary, HERE / "same" / program, *libraries, "-lm"], folder)
    plain = run([binary], folder)
    wrapped = run([mastermind, "wrap", "--proxy", made["library"], "--records", "records", "--", binary], folder)
    # `wrap` reports its records after the program's output.
    if not wrapped.startswith(plain) or not plain:
        raise RuntimeError("the output differs")
    rows = json.loads(run([mastermind, "profile", "records", "--json"], folder))["rows"]
    recorded = {row["name"].split(".")[-1].rstrip("()") for row in rows if row["calls"] > 0}
    wanted = called(source, made["recorded"])
    if not wanted or wanted - recorded:
        raise RuntimeError(f"no records of {', '.join(sorted(wanted - recorded)) or 'anything'}")
    return len(made["recorded"]), len(wanted), len(plain.splitlines())


def main():
    binaries = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[1] / "target/release").resolve()
    n_failed = 0
    for header, program, libraries in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                functions, used, lines = compare(binaries / "mastermind", header, program, libraries, pathlib.Path(folder))
                print(f"{header}: {functions} functions recorded, {used} of them called, {lines} lines of output the same")
            except RuntimeError as error:
                print(f"{header}: FAILED: {error}")
                n_failed += 1
    sys.exit(1 if n_failed else 0)


main()
