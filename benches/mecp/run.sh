#!/bin/sh
# The error correction search in one run: its cost and accuracy compared with Operon's on the same problems (3 trials
# each), then its own tables, 30 trials each, about an hour on two processors. Rows are printed as they are done. Needs
# python3 with venv, and a package index for the first run. Takes the options of the bench target `mecp`, say --trials
# 5. Ends with an error where a row is missed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/mecp
python=$work/venv/bin/python
mkdir -p "$work"
[ -x "$python" ] || python3 -m venv "$work/venv"
"$python" -c 'import pyoperon' 2>/dev/null || "$python" -m pip install --quiet pyoperon==0.6.2
cd "$root"
executable=$(cargo bench --quiet -p mastermind-correction --bench mecp --no-run --message-format=json |
    "$python" -c 'import json, sys
names = [m.get("executable") for m in map(json.loads, sys.stdin) if m.get("target", {}).get("name") == "mecp"]
print([n for n in names if n][-1])')
status=0
"$executable" --problems "$work"
env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" "$here/rival.py" "$executable" "$work" || status=1
"$executable" --bench "$@" || status=1
exit $status
