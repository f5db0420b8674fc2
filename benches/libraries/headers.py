#!/usr/bin/env python3
"""Reads the headers of Debian's -dev packages as `mastermind proxy` does, and holds what it read against two others.

The declarations that the proxies were made of are given to the C compiler after the header itself: it refuses each that differs.
The names are compared with castxml's. At least 95 % of the functions must be recorded, none may conflict or be missing, and no
header may take a second of the processor for 150 functions; else this ends with an error. What is not installed is passed over; at
least 30 are needed:

    apt-get install castxml zlib1g-dev liblz4-dev libzstd-dev libbz2-dev liblzma-dev libsqlite3-dev libfftw3-dev libgsl-dev \\
        libsuitesparse-dev libblas-dev liblapacke-dev libpng-dev libtiff-dev libgmp-dev libmpfr-dev libexpat1-dev libxxhash-dev \\
        libarchive-dev libcurl4-openssl-dev libxml2-dev libssl-dev libncurses-dev libreadline-dev libsodium-dev libnetcdf-dev \\
        libuv1-dev libgit2-dev libsndfile1-dev libffi-dev libhdf5-dev libpcre2-dev libglib2.0-dev
    benches/libraries/headers.py [FOLDER OF THE BINARIES]
"""

import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HEADERS = """zlib.h lz4.h lz4hc.h zstd.h bzlib.h lzma.h sqlite3.h fftw3.h gsl/gsl_fft_complex.h gsl/gsl_linalg.h
suitesparse/umfpack.h suitesparse/cholmod.h suitesparse/klu.h cblas.h lapacke.h png.h tiffio.h gmp.h mpfr.h expat.h xxhash.h
archive.h curl/curl.h libxml/tree.h openssl/evp.h ncurses.h readline/readline.h sodium.h netcdf.h uv.h git2.h sndfile.h ffi.h
hdf5.h pcre2.h glib.h""".split()
LIBRARY = "/usr/lib/x86_64-linux-gnu"
OPTIONS = {
    "pcre2.h": ["-DPCRE2_CODE_UNIT_WIDTH=8"],
    "libxml/tree.h": ["-I/usr/include/libxml2"],
    "hdf5.h": ["-I/usr/include/hdf5/serial"],
    "glib.h": ["-I/usr/include/glib-2.0", f"-I{LIBRARY}/glib-2.0/include"],
}
# The compiler's own, which castxml lists.
BUILT_IN = "__builtin_"


def generate(mastermind, header, folder):
    """The document of `mastermind proxy`, and the seconds of the processor that it took; None if it fails."""
    command = [mastermind, "proxy", header, "-o", folder, "--source-only", "--force", "--json"]
    start = processor_seconds()
    done = subprocess.run(command + OPTIONS.get(header, []), capture_output=True, text=True)
    seconds = processor_seconds() - start
    if done.returncode != 0:
        print(f"{header}: {done.stderr.strip()}")
        return None, seconds
    return json.loads(done.stdout), seconds


def processor_seconds():
    """Processor seconds of all child processes: on a busy machine the time of day says little."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def conflicts(header, source):
    """The declarations that the C compiler does not take for those of the header."""
    declared = re.findall(r"^/\* \d+: (.*) \*/$", source, re.M)
    undefined = "\n".join(re.findall(r"^#undef .*$", source, re.M))
    text = f"#define _GNU_SOURCE\n#include <{header}>\n{undefined}\n" + "".join(f"{one};\n" for one in declared)
    command = ["cc", "-std=gnu11", "-w", "-fsyntax-only", "-x", "c", "-"] + OPTIONS.get(header, [])
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return [line for line in done.stderr.splitlines() if "error" in line]


def functions_of_castxml(header, folder):
    """Names of the functions that castxml finds in the header's own file."""
    result = pathlib.Path(folder, "castxml.xml")
    source = pathlib.Path(folder, "castxml.c")
    source.write_text(f"#include <{header}>\n")
    command = ["castxml", "--castxml-output=1", "-std=gnu11", "-D_GNU_SOURCE", "-D_Float128=__float128", "-o", result, source]
    subprocess.run(command + OPTIONS.get(header, []), check=True, capture_output=True)
    tree = ElementTree.parse(result).getroot()
    own = {file.get("id") for file in tree.iter("File") if file.get("name").endswith("/" + header)}
    names = {function.get("name") for function in tree.iter("Function") if function.get("file") in own}
    return {name for name in names if not name.startswith(BUILT_IN)}


def installed(header):
    command = ["cc", "-fsyntax-only", "-w", "-x", "c", "-"] + OPTIONS.get(header, [])
    return subprocess.run(command, input=f"#include <{header}>\n", text=True, capture_output=True).returncode == 0


def main():
    here = pathlib.Path(__file__).resolve().parent
    binaries = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent.parent / "target/release"
    headers = [header for header in HEADERS if installed(header)]
    recorded = forwarded = 0
    missed = [f"{len(headers)} headers are installed, at least 30 are needed"] if len(headers) < 30 else []
    for header in headers:
        with tempfile.TemporaryDirectory() as folder:
            made, seconds = generate(binaries / "mastermind", header, folder)
            if made is None:
                missed.append(f"{header}: no proxy")
                continue
            wrong = conflicts(header, pathlib.Path(made["source"]).read_text())
            others = [entry["function"] for kind in ("forwarded", "left_alone") for entry in made[kind]]
            lacking = sorted(functions_of_castxml(header, folder) - set(made["recorded"]) - set(others))
        n_recorded, n_forwarded = len(made["recorded"]), len(made["forwarded"])
        recorded, forwarded = recorded + n_recorded, forwarded + n_forwarded
        print(f"{header:24} {n_recorded:5} recorded {n_forwarded:3} forwarded {len(made['left_alone']):4} left alone"
              f" {seconds:6.2f} s  {' '.join(wrong[:1] + lacking)}")
        missed += [f"{header}: {line}" for line in wrong + lacking]
        if seconds > max(1, (n_recorded + n_forwarded) / 150):
            missed.append(f"{header}: {seconds:.2f} s")
    share = 100 * recorded / max(1, recorded + forwarded)
    print(f"{recorded} of {recorded + forwarded} functions are recorded: {share:.1f} %, at least 95 % are needed")
    if share < 95:
        missed.append("too few functions are recorded")
    sys.exit("missed:\n" + "\n".join(missed) if missed else 0)


main()
