#!/bin/sh
# run.sh [RUNS]: series of equal runs of small programs, half of them while other work runs. Shows how often `history
# check` calls them slower, and how soon it finds a component that is, compared with Apache Otava on the same series.
# Needs python3 with venv, and a package index for the first run. Ends with an error where a row is missed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/history
python=$work/venv/bin/python
mkdir -p "$work"
[ -x "$python" ] || python3 -m venv "$work/venv"
"$python" -c 'import otava' 2>/dev/null || "$python" -m pip install --quiet apache-otava==0.8.0
cd "$root"
python3 "$here/record.py" "$target/release" "$work/series" "${1:-200}"
missed=0
cargo bench --quiet -p mastermind-history --bench series -- "$work/series" "$work/series.json" || missed=1
"$python" "$here/rival.py" "$work/series.json"
exit $missed
