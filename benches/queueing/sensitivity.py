#!/usr/bin/env python3
"""`simulate --sensitivity` against simulations with other parameters.

usage: sensitivity.py [--mastermind PATH]

Simulates examples of the tree with `--sensitivity`, predicts from the derivatives what the run takes with one parameter of the machine 1 %
and 10 % longer, and simulates with it. A row is missed where the prediction is more than 1 % off although the parameter is 1 % longer,
or where the run takes less time than predicted: the time is the maximum of linear functions. Then it simulates with each latency that is
said to be tolerated, which has to take that much longer, to a hundredth of it. Exits with 1 where a row is missed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Example, options, and the whole parameters of its machine, nanoseconds.
MODELS = [
    ("sweep3d/sweep3d.toml", ["--ranks", "100"]),
    ("sweep3d/sweep3d.toml", ["--ranks", "400"]),
    ("sample/sample.puml", ["--ranks", "16"]),
    ("lapw0/lapw0.toml", ["--ranks", "64"]),
    ("queueing/requests.toml", ["--ranks", "9"]),
]
MACHINE = {
    "latency_ns": 25000,
    "send_overhead_ns": 1500,
    "receive_overhead_ns": 1800,
    "gap_ns": 3000,
    "gap_per_byte_ns": 1.0,
}


def simulate(mastermind: str, model: str, options: list[str], machine: dict, *more: str) -> dict:
    """The report of a simulation."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        lines = ["[nodes]", "processors = 1", "[network]"]
        lines += [f"{name} = {value!r}" for name, value in machine.items()]
        file.write("\n".join(lines) + "\n")
        file.flush()
        words = [mastermind, "simulate", str(ROOT / "examples" / model), "--machine", file.name, "--json"]
        done = subprocess.run([*words, *options, *more], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr}")
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mastermind", default="target/release/mastermind")
    mastermind = parser.parse_args().mastermind
    missed = []
    print(f"{'model':28}{'parameter':24}{'+1 %: ms':>12}{'predicted':>12}{'off %':>9}{'+10 %: off %':>14}")
    for model, options in MODELS:
        report = simulate(mastermind, model, options, MACHINE, "--sensitivity")
        found, base = report["sensitivity"], report["makespan_ns"]
        times = {row["parameter"]: row["time_ns"] for row in found["rows"] if row["of"] == "inter"}
        for name, value in MACHINE.items():
            off = []
            for factor in (1.01, 1.1):
                longer = {**MACHINE, name: type(value)(round(value * factor, 6))}
                simulated = simulate(mastermind, model, options, longer)["makespan_ns"]
                predicted = base + times.get(name, 0) * (longer[name] / value - 1)
                off.append((predicted / simulated - 1, simulated, predicted))
            (first, simulated, predicted), (second, *_) = off
            what = f"{model.split('/')[0]} {options[1]}"
            print(f"{what:28}{name:24}{simulated / 1e6:12.4f}{predicted / 1e6:12.4f}{100 * first:9.4f}{100 * second:14.4f}")
            # A nanosecond a message is lost by rounding.
            if abs(first) > 0.01 or first > 1e-4 or second > 1e-3:
                missed.append(f"{what}, {name}: {100 * first:.4f} %, {100 * second:.4f} %")
        for row in found["tolerance"]:
            growth, slowdown = row["growth_percent"], row["slowdown_percent"] / 100
            if growth is None:
                print(f"{model}: no latency makes it {100 * slowdown:.0f} % slower")
                continue
            latency = round(MACHINE["latency_ns"] * (1 + growth / 100))
            slow = simulate(mastermind, model, options, {**MACHINE, "latency_ns": latency})["makespan_ns"]
            print(f"{model}: latency {growth:.1f} % longer for {100 * slowdown:.0f} %; simulated {100 * (slow / base - 1):.3f} %")
            if row["confirmed"] and abs(slow / base - 1 - slowdown) > 0.011 * slowdown:
                missed.append(f"{model}, tolerance of {slowdown}: {slow / base - 1}")
    print("\n".join(f"missed: {one}" for one in missed) or "all rows reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
