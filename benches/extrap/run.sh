#!/bin/sh
# Compares Extra-P with Mastermind on one machine in one run. Needs python3 with venv, and a package index for the first
# run. Takes the options of run.py; after --real, folders of measurements for real.py, by default those measured here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/extrap
python=$work/venv/bin/python
mkdir -p "$work"
[ -x "$python" ] || python3 -m venv "$work/venv"
"$python" -c 'import extrap' 2>/dev/null || "$python" -m pip install --quiet extrap==4.2.5
cd "$root"
executable=$(cargo bench --quiet -p mastermind-models --bench extrap --no-run --message-format=json |
    "$python" -c 'import json, sys
names = [m.get("executable") for m in map(json.loads, sys.stdin) if m.get("target", {}).get("name") == "extrap"]
print([n for n in names if n][-1])')
script=run.py
if [ "${1-}" = --real ]; then
    shift
    script=real.py
    [ $# -gt 0 ] || set -- "$here/measured"
fi
exec env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" "$here/$script" "$executable" "$work" "$@"
