#!/usr/bin/env python3
"""Holds programs of Debian that nobody here wrote against themselves under `mastermind wrap` with the proxies of their libraries.

What a program makes must be the same to the last bit, and the records must have the parameters that follow from what it was given:
the sizes of the blocks that mksquashfs cuts files into, the bytes that rsync sends, the statements that sqlite3 prepares, the shapes of
the matrices that NumPy multiplies, the lengths of lammps's transforms, the messages of mpi4py. Ends with an error if one differs, or if
a program or header is missing:

    apt-get install squashfs-tools rsync sqlite3 python3-numpy python3-venv lammps openmpi-bin mpich \\
        liblz4-dev libzstd-dev libsqlite3-dev libblas-dev libfftw3-dev
    benches/libraries/programs.py [FOLDER OF THE BINARIES]

NumPy and mpi4py of PyPI are installed into a virtual environment that is gone afterwards.
"""

import csv
import dataclasses
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import typing
import venv

HERE = pathlib.Path(__file__).resolve().parent
# Of the files to be packed or sent, bytes.
SIZES = {"a": 1_000_000, "b": 300_000, "c": 131_072}
BLOCK = 131_072
# squashfs compresses its own tables in pieces of this many bytes at most.
MAX_METADATA_BYTES = 8192
STATEMENTS = ["create table t(x integer, y text);", "insert into t values (1, 'one'), (2, 'two');", "select sum(x), max(y) from t;"]


def blocks():
    """Sizes of the blocks that the files are cut into."""
    sizes = []
    for size in SIZES.values():
        sizes += [BLOCK] * (size // BLOCK) + ([size % BLOCK] if size % BLOCK else [])
    return sorted(sizes)


def squashed(calls):
    found = sorted(int(call["size"]) for call in calls if int(call["size"]) > MAX_METADATA_BYTES)
    return found == blocks(), f"{len(found)} blocks, {sum(found)} bytes"


def sent(calls):
    found = sum(int(call["size"]) for call in calls)
    return found == sum(SIZES.values()), f"{found} bytes"


def prepared(calls):
    found = [int(call["length"]) for call in calls]
    missing = [text for text in STATEMENTS if len(text) not in found and len(text) + 1 not in found]
    return not missing, f"{len(found)} statements, lengths {sorted(set(found))}"


def multiplied(calls):
    found = [tuple(int(call[name]) for name in "mnk") for call in calls]
    return found == SHAPES, f"{len(found)} products, {found}"


def transformed(calls):
    """Each call plans the lines along one axis of the mesh, which all have its length."""
    found = sorted({int(call["n"]) for call in calls})
    return found == sorted(set(MESH)), f"{len(calls)} plans, lengths {found}"


def exchanged(calls):
    def of(function, column):
        # Where the MPI has the functions with counts of 64 bits, mpi4py calls those.
        return sorted(int(call[column]) for call in calls if call["method"] in (function, f"{function}_c"))

    seen = {
        "sent": of("MPI_Send", "bytes"),
        "to": of("MPI_Send", "peer"),
        "received": of("MPI_Recv", "bytes"),
        "reduced": of("MPI_Allreduce", "bytes"),
    }
    sent = sorted(8 * n for n in MESSAGES)
    expected = {"sent": sent, "to": [1] * len(sent), "received": sent, "reduced": [8 * REDUCED] * 2}
    return seen == expected, f"{seen}"


# Rows of the first matrix, columns of the second, columns of the first.
SHAPES = [(64, 48, 32), (7, 300, 5), (100, 100, 250)]
PRODUCTS = f"""
import sys, numpy
for m, n, k in {SHAPES}:
    a = numpy.sin(numpy.arange(m * k, dtype=float)).reshape(m, k)
    b = numpy.cos(numpy.arange(k * n, dtype=float)).reshape(k, n)
    sys.stdout.write((a @ b).tobytes().hex() + "\\n")
"""
# As BLAS with integers of 64 bits is called in NumPy of PyPI, which brings one and no header.
OWN_BLAS = """#include <stdint.h>
void scipy_cblas_dgemm64_(int order, int transa, int transb, int64_t M, int64_t N, int64_t K, double alpha, const double *A, int64_t lda,
                          const double *B, int64_t ldb, double beta, double *C, int64_t ldc);
"""
MNK = 'm = "M", n = "N", k = "K"'
MESH = (16, 20, 24)
IONS = f"""
units lj
atom_style charge
lattice fcc 0.5
region box block 0 4 0 5 0 6
create_box 2 box
create_atoms 1 box
set type 1 type/fraction 2 0.5 12393
mass * 1.0
set type 1 charge 1.0
set type 2 charge -1.0
pair_style lj/cut/coul/long 2.5
pair_coeff * * 1.0 1.0
kspace_style pppm 1.0e-3
kspace_modify mesh {MESH[0]} {MESH[1]} {MESH[2]}
velocity all create 1.0 87287
fix 1 all nve
dump 1 all custom 10 OUT/atoms id type x y z vx vy vz
dump_modify 1 sort id format float %24.17g
run 20
"""
# Numbers in each message, and in each reduction.
MESSAGES = [1, 10, 1000]
REDUCED = 17
EXCHANGE = f"""
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
for n in {MESSAGES}:
    if world.rank == 0:
        world.Send(numpy.arange(n, dtype=float), dest=1)
    else:
        got = numpy.empty(n)
        world.Recv(got, source=0)
        open("OUT/got", "a").write(got.tobytes().hex() + "\\n")
sum = numpy.empty({REDUCED})
world.Allreduce(numpy.arange({REDUCED}, dtype=float) + world.rank, sum)
if world.rank == 1:
    open("OUT/got", "a").write(sum.tobytes().hex() + "\\n")
"""


@dataclasses.dataclass
class Case:
    """A program and the known facts about it; OUT in its words is the folder for its output."""

    name: str
    command: list
    judge: typing.Callable
    made: str = None  # a file to compare in addition to the output
    header: str = None  # a header that is installed
    own_header: str = None  # or the text of one
    function: str = None  # the function whose calls are judged; without a header, one of MPI
    parameters: str = ""
    launcher: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)


SQUASH = ["mksquashfs", "files", "OUT/image", "-quiet", "-no-progress", "-no-fragments", "-no-xattrs", "-processors", "1", "-mkfs-time", "0",
          "-all-time", "0", "-comp"]
LAMMPS = ["lmp", "-in", "OUT.in", "-log", "none", "-screen", "none"]
OPEN_MPI = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
MPIS = [("Open MPI", OPEN_MPI, "openmpi"), ("MPICH", ["mpirun.mpich", "-n", "2"], "mpich")]
# The name by which mpi4py of PyPI loads MPICH's library, and Debian's file.
MPICH = {"libmpi.so.12": "/usr/lib/x86_64-linux-gnu/libmpich.so.12"}


def cases(python, libraries):
    """All of them; `python` is the virtual environment's, `libraries` a folder with MPICH's."""
    yield Case("mksquashfs lz4", [*SQUASH, "lz4"], squashed, "image", "lz4.h", function="LZ4_compress_default", parameters='size = "srcSize"')
    yield Case("mksquashfs zstd", [*SQUASH, "zstd"], squashed, "image", "zstd.h", function="ZSTD_compressCCtx", parameters='size = "srcSize"')
    yield Case("rsync lz4", ["rsync", "-a", "-z", "--compress-choice=lz4", "--whole-file", "files/", "OUT/copy/"], sent, "copy", "lz4.h",
               function="LZ4_compress_default", parameters='size = "srcSize"')
    yield Case("sqlite3", ["sqlite3", ":memory:", *STATEMENTS], prepared, None, "sqlite3.h", function="sqlite3_prepare_v2",
               parameters='length = "strlen(zSql)"')
    yield Case("NumPy of Debian", ["/usr/bin/python3", "-c", PRODUCTS], multiplied, None, "cblas.h", function="cblas_dgemm",
               parameters=MNK, environment=ONE_THREAD)
    yield Case("NumPy of PyPI", [python, "-c", PRODUCTS], multiplied, own_header=OWN_BLAS, function="scipy_cblas_dgemm64_",
               parameters=MNK, environment=ONE_THREAD)
    yield Case("lammps", LAMMPS, transformed, "atoms", "fftw3.h", function="fftw_plan_many_dft", parameters='n = "n[0]"',
               environment=ONE_THREAD, files={".in": IONS})
    for name, launcher, abi in MPIS:
        yield Case(f"mpi4py of PyPI under {name}", [python, "OUT.py"], exchanged, "got", launcher=launcher,
                   environment={**ONE_THREAD, "MPI4PY_MPIABI": abi, "LD_LIBRARY_PATH": str(libraries)}, files={".py": EXCHANGE})


def run(command, folder, out, environment=None):
    words = [str(word).replace("OUT", out) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def content(path):
    if path.is_dir():
        return {file.relative_to(path): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
    return path.read_bytes()


def proxy(mastermind, folder, case):
    """The library that `wrap` preloads."""
    if case.function is None:
        return ["--mpi-events"]
    (folder / "markup.toml").write_text(f"[functions.{case.function}]\nparameters = {{ {case.parameters} }}\n")
    if case.own_header is not None:
        (folder / "own.h").write_text(case.own_header)
    run([mastermind, "proxy", case.header or "own.h", "--markup", "markup.toml", "-o", "made", "--force"], folder, "")
    [library] = (folder / "made").glob("lib*_proxy.so")
    return ["--proxy", library]


def hold(mastermind, folder, case):
    """Whether the case passes, and the findings."""
    wrap = [mastermind, "wrap", *proxy(mastermind, folder, case), "--records", "records", "--"]
    outputs = []
    for out, before in [("plain", []), ("wrapped", wrap)]:
        (folder / out).mkdir()
        for end, text in case.files.items():
            (folder / f"{out}{end}").write_text(text.replace("OUT", out))
        printed = run([*case.launcher, *before, *case.command], folder, out, case.environment).replace(out, "OUT")
        outputs.append((printed, content(folder / out / case.made) if case.made else None))
    run([mastermind, "export", "records", "--format", "csv", "--one-table", "-o", "calls.csv"], folder, "")
    with open(folder / "calls.csv", newline="") as table:
        calls = [row for row in csv.DictReader(table) if case.function in (None, row["method"])]
    holds, seen = case.judge(calls)
    is_same = outputs[0] == outputs[1] and any(outputs[0])
    return holds and is_same, f"output {'the same' if is_same else 'DIFFERS'}; {seen}"


def write_files(folder):
    (folder / "files").mkdir()
    numbers = random.Random(1)
    words = [bytes(numbers.choices(range(97, 123), k=12)) + b" " for _ in range(64)]
    for file, size in SIZES.items():
        # Can be compressed to less than half, so that rsync takes no piece twice; and has no block of zeros, which are not stored.
        text = b"".join(numbers.choices(words, k=size // 13 + 1))
        (folder / "files" / file).write_bytes(text[:size])


def missing(case):
    """Programs and headers that are not installed."""
    programs = [shutil.which(str(words[0])) or words[0] for words in (case.launcher, case.command) if words]
    folders = [pathlib.Path("/usr/include"), pathlib.Path("/usr/include/x86_64-linux-gnu")]
    is_there = case.header is None or any((folder / case.header).exists() for folder in folders)
    return [str(what) for what in programs if not os.path.exists(what)] + ([] if is_there else [case.header])


def main():
    binaries = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "../../target/release").resolve()
    missed = False
    with tempfile.TemporaryDirectory() as environment:
        venv.create(environment, with_pip=True)
        python = pathlib.Path(environment) / "bin/python"
        run([python, "-m", "pip", "install", "--quiet", "numpy", "mpi4py"], environment, "")
        libraries = pathlib.Path(environment) / "libraries"
        libraries.mkdir()
        for name, library in MPICH.items():
            (libraries / name).symlink_to(library)
        for case in cases(python, libraries):
            with tempfile.TemporaryDirectory() as name_of_folder:
                folder = pathlib.Path(name_of_folder)
                write_files(folder)
                try:
                    if missing(case):
                        raise RuntimeError(f"{', '.join(missing(case))} is not installed")
                    holds, seen = hold(binaries / "mastermind", folder, case)
                except (RuntimeError, ValueError, KeyError, OSError) as error:
                    holds, seen = False, str(error)
            missed |= not holds
            print(f"must reach: {'reached ' if holds else 'MISSED  '} {case.name}: {seen}", flush=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
