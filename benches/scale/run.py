#!/usr/bin/env python3
"""Records of large runs: what a call takes packed, how fast logs are packed and read, and what a profile of 100,000 ranks takes.

usage: run.py FOLDER_OF_THE_BINARIES [RANKS]

Bytes a call: the case study, a program that is wrapped with --mpi-events, a C library behind a proxy whose 10^7 calls are also packed and
read. RANKS (100,000) logs of 12 call sites are made by `simulate --records`, packed and loose. What `profile` and `fit` print on one process
and on 2 and 4 ranks of both MPIs; files and the summary after a run of 64 ranks. Processor seconds, but for the limits on whole seconds. Ends with an error where a row is missed; a row that cannot be measured here is said and no miss.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[2]
binaries = pathlib.Path(sys.argv[1]).resolve()
ranks = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
program = binaries / "mastermind"
environment = dict(os.environ, CCA_COMPONENT_PATH=str(binaries), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
missed = []

SITES = """
[model]
name = "sites"
main = "Main"

[globals]
right = "process + 1 < processes ? process + 1 : none"
left = "process > 0 ? process - 1 : none"

[activities.Main]
flow = [
    { action = "read", cost = "ms(2)" },
    { action = "set up", cost = "ms(1)" },
    { send = "halo right", to = "right", bytes = 8000 },
    { recv = "halo from left", from = "left" },
    { action = "flux", cost = "us(700)" },
    { action = "states", cost = "us(900)" },
    { send = "halo left", to = "left", bytes = 8000 },
    { recv = "halo from right", from = "right" },
    { action = "update", cost = "us(300)" },
    { barrier = "step" },
    { action = "reduce", cost = "us(20)" },
    { action = "write", cost = "ms(3)" },
]
"""

CALLS = 10_000_000
LIBRARY_H = "double work(int n, double x);\n"
LIBRARY_C = "double work(int n, double x) { for (int i = 0; i < n; i++) x = x * 0.5 + 1; return x; }\n"
MARKUP = '[functions.work]\nparameters = { n = "n" }\n'
PROGRAM_C = """#include "work.h"
int main(void) { volatile double x = 0; for (int i = 0; i < %d; i++) x = work(1 + i %% 48, x); return 0; }
""" % CALLS
RING_C = """#include <mpi.h>
int main(int argc, char **argv) {
    int rank, size; static char out[4096], in[4096];
    MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20000; i++) {
        int n = 64 << (i % 6); MPI_Request requests[2];
        MPI_Irecv(in, n, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, n, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (i % 10 == 0) MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
"""


def row(what, found, limit, reached):
    print(f"{'reached' if reached else 'MISSED '}  {what}: {found}, {limit}", flush=True)
    if not reached:
        missed.append(what)


def unknown(what, why):
    print(f"unknown  {what}: {why}", flush=True)


def mastermind(*words, before=()):
    """The output of the command, its seconds (wall, then processor), and its largest memory, MB."""
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        child = subprocess.Popen([*before, program, *words], stdout=out, stderr=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        whole = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"error: cannot run {words}: exit code {child.returncode}, expected 0")
        out.seek(0)
        return out.read().decode(), whole, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def bytes_a_call(what, records, limit):
    packed = json.loads(mastermind("pack", records, "--json")[0])
    found = packed["packed_bytes"] / packed["records"]
    row(f"bytes a call packed, {what}", f"{found:.2f}", f"at most {limit}", found <= limit)


def case_study():
    mastermind("run", str(root / "examples/sod/sod.toml"), "--records", "case")
    bytes_a_call("case study", "case", 8)


def events():
    if not (shutil.which("mpicc") and shutil.which("mpirun")):
        return unknown("bytes a call packed, wrapped MPI with events", "no mpicc and mpirun")
    pathlib.Path("ring.c").write_text(RING_C)
    subprocess.run(["mpicc", "-O2", "-o", "ring", "ring.c"], check=True)
    launch = ["mpirun", "-n", "2", str(program), "wrap", "--mpi-events", "--records", "events", "--", "./ring"]
    subprocess.run(launch, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bytes_a_call("wrapped MPI with events", "events", 12)
    read_together("events", ["export", "report"])


def library():
    if not shutil.which("cc"):
        return unknown("a library behind a proxy", "no cc")
    for name, text in [("work.h", LIBRARY_H), ("work.c", LIBRARY_C), ("program.c", PROGRAM_C), ("work.toml", MARKUP)]:
        pathlib.Path(name).write_text(text)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", "libwork.so", "work.c"], check=True)
    subprocess.run(["cc", "-O2", "-o", "program", "program.c", "-L.", "-lwork", "-Wl,-rpath,$ORIGIN"], check=True)
    mastermind("proxy", "work.h", "--markup", "work.toml", "-o", "proxies")
    proxy = next(pathlib.Path("proxies").glob("lib*.so"))
    mastermind("wrap", "--proxy", str(proxy), "--records", "library", "--", "./program")
    shown, _, raw, _ = mastermind("profile", "library", "--json")
    text, _, packing, _ = mastermind("pack", "library", "--json")
    packed = json.loads(text)
    found = packed["packed_bytes"] / packed["records"]
    row("bytes a call packed, a proxied library", f"{found:.2f}", "at most 8", found <= 8)
    speed = packed["log_bytes"] / 1e6 / packing
    row("packing, MB of log a processor second, read back", f"{speed:.0f}", "at least 200", speed >= 200)
    again, _, reading, _ = mastermind("profile", "library", "--json")
    row("the profile of packed records", "the same" if again == shown else "another", "the same", again == shown)
    for what, seconds, limit in [("raw", raw, 100), ("packed", reading, 40)]:
        speed = packed["records"] / 1e6 / seconds
        row(f"profile, million records a processor second, {what}", f"{speed:.1f}", f"at least {limit}", speed >= limit)


def many_ranks():
    pathlib.Path("sites.toml").write_text(SITES)
    pathlib.Path("machine.toml").write_text("[nodes]\nprocessors = 64\n")
    shown = []
    for what, options, limit in [("packed", [], 20), ("loose", ["--loose"], 60)]:
        mastermind("simulate", "sites.toml", "--machine", "machine.toml", "--ranks", str(ranks), "--records", "many", "--json", *options)
        read_together("many", ["profile", "fit", "compare", "report"])
        for verb in [["profile", "many"], ["report", "many", "-o", "report.html", "--force"], ["compare", "many", "many"]]:
            text, whole, _, megabytes = mastermind(*verb)
            title = f"{verb[0]} of {ranks} logs, {what}"
            row(f"{title}, seconds", f"{whole:.1f}", f"at most {limit}", whole <= limit)
            row(f"{title}, MB", f"{megabytes:.0f}", "at most 500", megabytes <= 500)
            if verb[0] == "profile":
                shown.append(text)
        _, one, _, _ = mastermind("profile", "many", before=["taskset", "-c", "0"]) if shutil.which("taskset") else (0, 0, 0, 0)
        if one and os.cpu_count() >= 2:
            _, two, _, _ = mastermind("profile", "many")
            row(f"profile of {ranks} logs, {what}, faster by all processors", f"{one / two:.2f}", "at least 1.7", one / two >= 1.7)
        else:
            unknown(f"profile of {ranks} logs, {what}, faster by all processors", "no taskset, or one processor")
        shutil.rmtree("many")
    row("the profiles of packed and loose records", "the same" if shown[0] == shown[1] else "unlike", "the same", shown[0] == shown[1])


def launchers():
    """The launcher of each MPI that has a back end, with the options that let it start more ranks than there are processors."""
    for kind, options in [("openmpi", ["--oversubscribe", "--bind-to", "none"]), ("mpich", [])]:
        if shutil.which(f"mpirun.{kind}") and (binaries / "mpi" / kind / "libcca_comm_mpi.so").exists():
            yield kind, [f"mpirun.{kind}", *options, "-n"]
        else:
            unknown(f"on ranks of {kind}", f"no mpirun.{kind}, or no back end")


OUTPUTS = {
    "compare": ["--json"],
    "export": ["--format", "csv", "-o", "together", "--force"],
    "report": ["-o", "together.html", "--force"],
}


def output(words, before=()):
    """What a verb prints and writes."""
    printed = mastermind(*words, before=before)[0]
    written = [pathlib.Path("together.html"), *sorted(pathlib.Path("together").glob("*"))]
    digests = [(path.name, hashlib.sha256(path.read_bytes()).digest()) for path in written if path.is_file()]
    shutil.rmtree("together", ignore_errors=True)
    pathlib.Path("together.html").unlink(missing_ok=True)
    return printed, digests


def read_together(records, verbs):
    """The output on one process and on several, which share the logs, must have the same bytes."""
    for verb in verbs:
        words = [verb, records, *([records] if verb == "compare" else []), *OUTPUTS.get(verb, ["--json"])]
        alone = output(words)
        for kind, launch in launchers():
            for n in ["2", "4"]:
                found = output(words, before=[*launch, n])
                same = found == alone
                row(f"{verb} of {records} on {n} ranks of {kind}", "the same" if same else "another", "as one process", same)


def fit_rates():
    """Records of a library that four processes call, loose and packed."""
    if not pathlib.Path("program").exists():
        return unknown("fit, records a second", "no program with a library")
    kind, launch = next(launchers(), (None, None))
    if not kind:
        return unknown("fit, records a second", "no launcher")
    proxy = next(pathlib.Path("proxies").glob("lib*.so"))
    wrap = [*launch, "4", str(program), "wrap", "--proxy", str(proxy), "--keep-logs", "--records", "four", "--", "./program"]
    subprocess.run(wrap, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    said = []
    for what, limit in [("raw", 100), ("packed", 40)]:
        if what == "packed":
            mastermind("pack", "four")
        text, whole, seconds, _ = mastermind("fit", "four")
        said.append(text)
        speed = 4 * CALLS / 1e6 / seconds
        row(f"fit, million records a processor second, {what}", f"{speed:.1f}", f"at least {limit}", speed >= limit)
        if shutil.which("taskset") and os.cpu_count() >= 2:
            _, one, _, _ = mastermind("fit", "four", before=["taskset", "-c", "0"])
            row(f"fit of {4 * CALLS:.0e} records, {what}, faster by all processors", f"{one / whole:.2f}", "at least 1.7", one / whole >= 1.7)
    row("the fits of packed and loose records", "the same" if said[0] == said[1] else "unlike", "the same", said[0] == said[1])
    read_together("four", ["profile", "fit"])


def files_of_a_node():
    """The files of a run of 64 ranks on one node: a container, and files that exist once per run and not once per node."""
    for kind, launch in launchers():
        cc = shutil.which(f"mpicc.{kind}")
        if not cc:
            unknown(f"files after a run of 64 ranks of {kind}", f"no mpicc.{kind}")
            continue
        # Ranks of MPICH wait busily for a processor: 64 of them on two take some 2 s an iteration of ten.
        pathlib.Path("short.c").write_text(RING_C.replace("20000", "10"))
        subprocess.run([cc, "-O2", "-w", "-o", "short", "short.c"], check=True)
        line = [*launch, "64", str(program), "wrap", "--mpi-events", "--records", f"node-{kind}", "--", "./short"]
        subprocess.run(line, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        names = sorted(os.listdir(f"node-{kind}"))
        row(f"files after a run of 64 ranks on a node, {kind}", " ".join(names), "at most 2", len(names) <= 2)
        ranks = json.loads(mastermind("profile", f"node-{kind}", "--json")[0])["ranks"]
        row(f"ranks in them, {kind}", ranks, "64", ranks == 64)
        found = [mastermind("profile", f"node-{kind}", "--json", "--spread", *more)[0] for more in [[], ["--summary"]]]
        found = [json.loads(text)["rows"] for text in found]
        row(f"the summary of 64 ranks, {kind}", "as the logs" if found[0] == found[1] else "another", "as the logs", found[0] == found[1])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        case_study()
        events()
        library()
        fit_rates()
        files_of_a_node()
        many_ranks()
        os.chdir("/")
    sys.exit(1 if missed else 0)


main()
