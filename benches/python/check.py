"""The rows of run.sh, in a folder with the records `shock` and `many`.

usage: check.py PYTHON_OF_A_FRESH_ENVIRONMENT NOTEBOOKS WHEEL
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import time

import caliperreader
import duckdb
import mastermind
import nbclient
import nbformat
import pandas
import polars
import pyarrow

WHEEL_MB = 10
SECONDS = 0.5
MEMORY = 1.2
ROUNDS = 7

missed = []


def row(what, found, limit, reached):
    print(f"{'reached' if reached else 'MISSED '}  {what}: {found}, {limit}", flush=True)
    if not reached:
        missed.append(what)


MEASURE_MEMORY = """
import json, mastermind, pyarrow, sys

def kilobytes(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key))

# The libraries themselves are in memory before.
pyarrow.table(mastermind.open("shock").records())
records = mastermind.open("many").records(json.loads(sys.argv[1]))
before = kilobytes("VmRSS")
table = pyarrow.table(records)
print(1024 * (kilobytes("VmHWM") - before) / table.nbytes)
"""


def notebooks(folder):
    """Each notebook in a kernel of its own; figures are left as pictures next to this run."""
    for path in sorted(folder.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        for old in ["ring.records", "godunov", "efm", "sweep-godunov", "sweep-efm", "workload", "workload-minmod"]:
            subprocess.run(["rm", "-rf", old], check=True)
        for old in ["models.json", "all-models.json", "workload.parquet"]:
            pathlib.Path(old).unlink(missing_ok=True)
        try:
            nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
            error = None
        except nbclient.exceptions.CellExecutionError as raised:
            error = str(raised).splitlines()[-1]
        pictures = [o["data"]["image/png"] for c in notebook.cells for o in c.get("outputs", []) if "image/png" in o.get("data", {})]
        for number, picture in enumerate(pictures):
            pathlib.Path(f"{path.stem}-{number}.png").write_bytes(base64.b64decode(picture))
        row(f"notebook {path.name}", error or f"executed, {len(pictures)} figures", "no error expected", error is None)


def tables():
    """Rows, columns and sums as the log has them, whoever reads the stream or the exported files."""
    subprocess.run(["mastermind", "export", "shock", "-o", "shock.parquet", "--force"], check=True, stdout=subprocess.DEVNULL)
    csv = subprocess.run(["mastermind", "export", "shock", "--format", "csv", "-o", "-"], check=True, stdout=subprocess.PIPE, text=True).stdout
    pathlib.Path("shock.csv").write_text(csv)
    run = mastermind.open("shock")
    profile = json.loads(subprocess.run(["mastermind", "profile", "shock", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    whole = {"rows": len(run), "columns": len(run.records().columns)}
    stream = run.records()
    tables = {
        "pandas, stream": stream.to_pandas(),
        "pandas, Parquet": pandas.read_parquet("shock.parquet"),
        "pandas, CSV": pandas.read_csv("shock.csv"),
        "Polars, stream": polars.DataFrame(stream),
        "Polars, Parquet": polars.read_parquet("shock.parquet"),
        "Polars, CSV": polars.read_csv("shock.csv"),
        "DuckDB, stream": duckdb.sql("select * from stream"),
        "DuckDB, Parquet": duckdb.sql("select * from 'shock.parquet'"),
        "DuckDB, CSV": duckdb.sql("select * from 'shock.csv'"),
    }
    expected = None
    for name, table in tables.items():
        if name.startswith("DuckDB"):
            table = table.df()
        n = {"rows": len(table), "columns": len(table.columns)}
        # Labels of a mode are text, absent numbers are absent.
        axes = sorted({str(axis) for axis in table["axis"] if isinstance(axis, str)})
        sums = [int(table[c].sum()) for c in ["wall_ns", "seq", "q"]] + [axes]
        expected = expected or sums
        row(f"{name}: rows, columns, sums", f"{n['rows']} x {n['columns']}", "as in the log", n == whole and sums == expected)
    calls = sum(r["calls"] for r in profile["rows"] if r["name"] != "(measurement)")
    row("calls of the profile", int(calls), f"{whole['rows']} records", int(calls) == whole["rows"])


def hatchet():
    """The call tree in Hatchet: a node a call path, and the same times."""
    run = mastermind.open("shock")
    frame, tree = mastermind.to_hatchet(run).dataframe, run.call_tree()
    found = [len(frame), round(float(frame["time"].sum()), 9), int(frame["calls"].sum())]
    expected = [len(tree), round(sum(r["own_s"] for r in tree), 9), int(sum(r["calls"] for r in tree))]
    row("Hatchet: call paths, own seconds, calls", found, f"{expected} in the log", found == expected)


def caliper():
    """The same calls read by Caliper's reader, from a profile as Caliper writes it, into records in Python's memory."""
    calls = mastermind.open("shock").records(["method", "q", "wall_ns"]).to_dict()
    lines = ["__rec=node,id=10,attr=10,data=268", "__rec=node,id=11,attr=8,data=method,parent=3", "__rec=node,id=12,attr=10,data=65",
             "__rec=node,id=13,attr=8,data=q,parent=1", "__rec=node,id=14,attr=8,data=wall_ns,parent=1"]
    nodes = {}
    for method, q, wall in zip(*calls.values()):
        if method not in nodes:
            nodes[method] = 20 + len(nodes)
            lines.append(f"__rec=node,id={nodes[method]},attr=11,data={method}")
        lines.append(f"__rec=ctx,ref={nodes[method]},attr=13=14,data={q or 0}={wall}")
    pathlib.Path("shock.cali").write_text("\n".join(lines) + "\n")
    least = [float("inf")] * 2
    for _ in range(ROUNDS):
        start = time.perf_counter()
        reader = caliperreader.CaliperReader()
        reader.read("shock.cali")
        middle = time.perf_counter()
        table = mastermind.open("shock").records(["method", "q", "wall_ns"]).to_dict()
        least = [min(least[0], middle - start), min(least[1], time.perf_counter() - middle)]
    same = [int(r["wall_ns"]) for r in reader.records] == table["wall_ns"]
    found = f"{least[1] * 1e3:.1f} ms for {len(table['q'])} calls as lists, {least[0] / least[1]:.0f} times as fast"
    row("beside Caliper's reader", found, f"{least[0] * 1e3:.1f} ms there", same and least[1] < least[0])


def many():
    """10^7 records as an Arrow table in this process."""
    run = mastermind.open("many")
    for what, columns in [("all columns", None), ("method, n, wall_ns", ["method", "n", "wall_ns"])]:
        seconds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            rows = pyarrow.table(run.records(columns)).num_rows
            seconds.append(time.perf_counter() - start)
        least = min(seconds)
        row(f"{rows} records, {what}", f"{least:.3f} s", f"at most {SECONDS} s", least <= SECONDS and rows >= 10**7)
        # The peak of a process of its own, which begins with nothing to reuse.
        ran = subprocess.run([sys.executable, "-c", MEASURE_MEMORY, json.dumps(columns)], check=True, stdout=subprocess.PIPE)
        ratio = float(ran.stdout)
        row(f"memory at its peak, {what}", f"{ratio:.2f} of the columns", f"at most {MEMORY}", ratio <= MEMORY)


def main():
    fresh, folder, wheel = sys.argv[1:]
    megabytes = os.path.getsize(wheel) / 1e6
    row("wheel", f"{megabytes:.1f} MB", f"below {WHEEL_MB} MB", megabytes < WHEEL_MB)
    script = "import mastermind, sys; r = mastermind.open('shock'); print(len(r.records(['seq']).to_dict()['seq']) == len(r) > 0)"
    output = subprocess.run([fresh, "-c", script], stdout=subprocess.PIPE, text=True).stdout.strip()
    row("without any other package", output, "True expected", output == "True")
    many()
    tables()
    hatchet()
    caliper()
    notebooks(pathlib.Path(folder))
    sys.exit(1 if missed else 0)


main()
