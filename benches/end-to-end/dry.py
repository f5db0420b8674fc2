#!/usr/bin/env python3
"""Dry runs of the shock problem at 16 times the cells, next to the real run of that size: how far the predicted time is off, and what part of
the real run's time the prediction takes.

Usage: benches/end-to-end/dry.py RELEASE [--steps N]
  RELEASE  the folder of the built program

Models are fitted to runs of a quarter to a half of the side's cells. Two sets of methods are left out: the kernels (flux and states), and the
whole right-hand side, which calls them. The cells are 16 times as many in 16 times as many patches, and in patches 16 times as large. The time of a dry run is asked for only of the second set: with
the kernels alone what must run takes longer than that, which is shown. Times are those of the driver's Go port, of the runs those of the whole process; medians of three rounds, each of training, real and dry runs in turns. Ends with 1 where a row is missed.
"""
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASSEMBLY = ROOT / "examples/shock/shock.toml"
REPEAT = 3
# The table of the issue: predicted within a tenth, in a twentieth of the time.
MAX_OFF = 10.0
MAX_SHARE = 5.0


def main():
    words = sys.argv[1:]
    steps = 400
    if "--steps" in words:
        place = words.index("--steps")
        steps = int(words[place + 1])
        del words[place:place + 2]
    if len(words) != 1:
        sys.exit(__doc__)
    mastermind = Path(words[0]).resolve() / "mastermind"
    work = Path(tempfile.mkdtemp())
    n_missed = 0

    def called(*arguments):
        begun = time.monotonic()
        done = subprocess.run([str(mastermind), *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"cannot run {arguments}:\n{done.stderr[-2000:]}")
        return time.monotonic() - begun

    def mesh(nx, ny, px, py):
        settings = {"mesh.nx": nx, "mesh.ny": ny, "mesh.patches_x": px, "mesh.patches_y": py, "driver.max_steps": steps}
        return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]

    def go_s(records):
        text = subprocess.run([str(mastermind), "profile", str(records), "--json"], capture_output=True, text=True, check=True).stdout
        rows = json.loads(text)["rows"]
        return next(row["inclusive_ns"] for row in rows if row["name"] == "driver.go") * 1e-9

    sets = [("kernels", "wall", []), ("right-hand side", "inclusive", ["--dry-method", "rhs.*"])]
    sizes = [(384, 128, 16, 8), (384, 128, 4, 2)]
    rows = {}
    for k in range(REPEAT):
        # In turns, since a machine is faster at one time than at another.
        trained = [work / f"train{k}-{n}" for n in range(3)]
        for records, size in zip(trained, [(96, 32, 4, 2), (192, 64, 4, 2), (192, 64, 2, 1)]):
            called("run", ASSEMBLY, "--records", records, *mesh(*size))
        for metric in ["wall", "inclusive"]:
            called("fit", *trained, "--metric", metric, "-o", work / f"models-{metric}.json", "--force")
        for size in sizes:
            records = work / f"real{k}-{size[2]}"
            real_s = called("run", ASSEMBLY, "--records", records, *mesh(*size))
            measured_s = go_s(records)
            for name, metric, left_out in sets:
                records = work / f"dry{k}-{metric}-{size[2]}"
                took_s = called("run", ASSEMBLY, "--records", records, "--dry", work / f"models-{metric}.json", *left_out, *mesh(*size))
                found = json.loads((records / "dry.json").read_text())
                row = {
                    "off": 100 * (found["total_s"] / measured_s - 1),
                    "share": 100 * took_s / real_s,
                    "own": 100 * found["own_s"] / measured_s,
                    "beyond": sum(row["beyond_range"] for row in found["methods"]),
                    "measured": measured_s,
                    "predicted": found["total_s"],
                }
                rows.setdefault((name, size), []).append(row)
    for (name, size), found in rows.items():
        of = {key: statistics.median(row[key] for row in found) for key in found[0]}
        where = f"{name:15} {size[2]:2} x {size[3]} patches:"
        offs = ", ".join(f"{row['off']:+.2f}" for row in found)
        is_off = abs(of["off"]) > MAX_OFF
        n_missed += is_off
        print(
            f"{where} measured {of['measured']:7.3f} s, predicted {of['predicted']:7.3f} s, {of['off']:+6.2f} % ({offs}),"
            f" {of['beyond']:.0f} calls beyond range ({MAX_OFF:g} % asked): {'MISSED' if is_off else 'reached'}"
        )
        said = f"{where} the dry run takes {of['share']:5.2f} % of the real run's time, what must run alone {of['own']:5.2f} %"
        if name == "kernels":
            print(f"{said}: {MAX_SHARE:g} % cannot be had with only the kernels left out", flush=True)
        else:
            n_missed += of["share"] > MAX_SHARE
            print(f"{said} ({MAX_SHARE:g} % asked): {'MISSED' if of['share'] > MAX_SHARE else 'reached'}", flush=True)
    print(f"{n_missed} missed")
    return n_missed != 0


if __name__ == "__main__":
    sys.exit(main())
