#!/usr/bin/env python3
"""Closed queueing networks: `mastermind queue` against LINE's exact and approximate mean value analysis.

usage: line.py [--networks 200] [--seed 1] [--mastermind PATH] [--record FILE]

Needs LINE (pip install line-solver). Makes random networks of 2 to 20 stations (a fifth of them delays, in each fourth network some with
several servers) and 1 to 4 classes, solves each by LINE (exact, Linearizer, its extended Linearizer, Bard-Schweitzer) and by `mastermind
queue` (exact, linearizer, bard-schweitzer), and prints the errors of throughput. Exits with 1 where a row is missed. `--record` also writes
the networks with LINE's exact throughputs, as tests/networks.jsonl of the crate.
"""

import argparse
import json
import logging
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# Most populations of a network that LINE solves exactly in a second or two.
MAX_POPULATIONS = 2000


def make(rng: random.Random, number: int) -> dict:
    """A random network: stations with demands by class, and classes."""
    n_classes = rng.randint(1, 4)
    while True:
        customers = [rng.randint(1, 24 if n_classes == 1 else 12) for _ in range(n_classes)]
        populations = 1
        for n in customers:
            populations *= n + 1
        if populations <= MAX_POPULATIONS:
            break
    classes = [
        {"name": f"c{r}", "customers": n, "think_s": rng.choice([0.0, 10 ** rng.uniform(-2, 1)])}
        for r, n in enumerate(customers)
    ]
    stations = []
    for i in range(rng.randint(2, 20)):
        station = {"name": f"s{i}", "demand_s": {c["name"]: 10 ** rng.uniform(-3, 0) for c in classes}}
        if i > 0 and rng.random() < 0.2:
            station["delay"] = True
        elif number % 4 == 3 and rng.random() < 0.5:
            station["servers"] = rng.randint(2, 4)
        stations.append(station)
    return {"classes": classes, "stations": stations}


def line_throughputs(network: dict, method: str) -> list[float]:
    """Throughput of each class by LINE."""
    from line_solver import ClosedClass, Delay, Exp, Network, Queue, SchedStrategy, SolverMVA

    model = Network("model")
    think = Delay(model, "think")
    nodes = [think]
    for station in network["stations"]:
        if station.get("delay"):
            nodes.append(Delay(model, station["name"]))
        else:
            node = Queue(model, station["name"], SchedStrategy.PS)
            if station.get("servers", 1) > 1:
                node.setNumberOfServers(station["servers"])
            nodes.append(node)
    classes = [ClosedClass(model, c["name"], c["customers"], think, 0) for c in network["classes"]]
    for line_class, c in zip(classes, network["classes"]):
        # No time at all is 1e-8 s there.
        think.setService(line_class, Exp.fitMean(max(c["think_s"], 1e-8)))
        for node, station in zip(nodes[1:], network["stations"]):
            node.setService(line_class, Exp.fitMean(station["demand_s"][c["name"]]))
    model.link(Network.serialRouting(nodes))
    table = SolverMVA(model, method=method, verbose=False).getAvgTable()
    table = getattr(table, "data", table)
    rows = table[table["Station"] == "think"]
    by_class = dict(zip(rows["JobClass"].astype(str), rows["Tput"].astype(float)))
    return [by_class[c["name"]] for c in network["classes"]]


def toml(network: dict) -> str:
    """The network as a file of `mastermind queue`."""
    lines = []
    for c in network["classes"]:
        lines += ["[[classes]]", f'name = "{c["name"]}"', f"customers = {c['customers']}", f"think_s = {c['think_s']!r}"]
    for s in network["stations"]:
        demands = ", ".join(f"{name} = {demand!r}" for name, demand in s["demand_s"].items())
        lines += ["[[stations]]", f'name = "{s["name"]}"', f"demand_s = {{ {demands} }}"]
        lines += ["delay = true"] if s.get("delay") else []
        lines += [f"servers = {s['servers']}"] if "servers" in s else []
    return "\n".join(lines) + "\n"


def own_throughputs(mastermind: str, path: Path, method: str) -> list[float]:
    """Throughput of each class by `mastermind queue`."""
    words = [mastermind, "queue", str(path), "--method", method, "--json"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return [c["throughput"] for c in found["classes"]]


def worst(found: list[float], exact: list[float]) -> float:
    """The relative error of the worst class."""
    return max(abs(a / b - 1) for a, b in zip(found, exact))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mastermind", default="target/release/mastermind")
    parser.add_argument("--record")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    rng = random.Random(options.seed)
    errors: dict[str, list[float]] = {}
    recorded = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.networks):
            network = make(rng, number)
            path = Path(folder) / "network.toml"
            for one in network["classes"]:
                one["think_s"] = max(one["think_s"], 1e-8)
            path.write_text(toml(network))
            exact = line_throughputs(network, "exact")
            has_servers = any("servers" in s for s in network["stations"])
            kind = "several servers" if has_servers else "one server"
            for name, found in [
                ("exact", own_throughputs(options.mastermind, path, "exact")),
                ("linearizer", own_throughputs(options.mastermind, path, "linearizer")),
                ("bard-schweitzer", own_throughputs(options.mastermind, path, "bard-schweitzer")),
                ("LINE lin", line_throughputs(network, "lin")),
                ("LINE amva", line_throughputs(network, "amva")),
                ("LINE bs", line_throughputs(network, "bs")),
            ]:
                errors.setdefault(f"{name}, {kind}", []).append(worst(found, exact))
            recorded.append({**network, "throughput": exact})
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {options.networks}", end="", file=sys.stderr)
    print(f"\n{'worst class of a network':32}{'n':>5}{'median %':>12}{'worst %':>12}")
    for name, found in sorted(errors.items(), key=lambda item: (item[0].split(", ")[1], item[0])):
        print(f"{name:32}{len(found):5}{100 * statistics.median(found):12.6f}{100 * max(found):12.6f}")
    if options.record:
        Path(options.record).write_text("\n".join(json.dumps(one) for one in recorded) + "\n")
    missed = []
    for kind in ("one server", "several servers"):
        of = lambda name: errors.get(f"{name}, {kind}", [0.0])
        if max(of("exact")) > 1e-9:
            missed.append(f"exact, {kind}: {max(of('exact')):.2e}, expected at most 1e-9")
        best = min(statistics.median(of(name)) for name in ("LINE lin", "LINE amva", "LINE bs"))
        if statistics.median(of("linearizer")) > best:
            missed.append(f"linearizer, {kind}: median {statistics.median(of('linearizer')):.2e}, LINE's best has {best:.2e}")
    print("\n".join(f"missed: {one}" for one in missed) or "all rows reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
