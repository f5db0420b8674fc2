"""Small tables from what `measure.sh` recorded.

usage: tables.py WORK FOLDER

Of the kernels a row is a call as the driver wrote it, at every fourth size; of MPI the calls of the first rank; of the heat example the
median over the calls of its step in one run, since with more ranks than processors some calls are interrupted.
"""

import csv
import pathlib
import statistics
import sys


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def write(path, head, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def seconds(nanoseconds):
    return f"{1e-9 * float(nanoseconds):.6g}"


def main():
    work, folder = map(pathlib.Path, sys.argv[1:])
    sort = [(int(row["n [element]"]), row) for row in rows_of(work / "fit/sort.csv") if row["order"] == "random"]
    sizes = sorted({n for n, _ in sort})[::-4]
    write(folder / "sort.csv", ["n", "seconds"], [(n, seconds(row["time_ns"])) for n, row in sort if n in sizes])
    product = rows_of(work / "fit/product.csv")
    flops = sorted({float(row["flops"]) for row in product})[::-4]
    write(folder / "product.csv", ["flops", "seconds"],
          [(row["flops"], seconds(row["time_ns"])) for row in product if float(row["flops"]) in flops])
    events = [row for row in rows_of(work / "events.csv") if row["rank"] == "0" and float(row["bytes"] or 0) >= 1024]
    for method in ("MPI_Sendrecv", "MPI_Allgather", "MPI_Bcast"):
        write(folder / f"{method}.csv", ["bytes", "seconds"],
              [(row["bytes"], seconds(row["wall_ns"])) for row in events if row["method"] == method])
    heat = []
    for path in sorted(work.glob("heat-*-*.csv")):
        ranks = int(path.stem.split("-")[1])
        steps = [int(row["wall_ns"]) for row in rows_of(path) if row["method"] == "step"]
        heat.append((ranks, seconds(statistics.median(steps))))
    write(folder / "heat-step.csv", ["p", "seconds"], sorted(heat))


if __name__ == "__main__":
    main()
