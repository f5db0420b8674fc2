#!/bin/sh
# run.sh [options of line.py]: formulas of contention compared with LINE's and with simulations; the sensitivity of a
# simulated time compared with simulations with other parameters. Needs python3 with venv, and a package index for the
# first run. Ends with an error where a row is missed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/queueing
python=$work/venv/bin/python
mkdir -p "$work"
[ -x "$python" ] || python3 -m venv "$work/venv"
"$python" -c 'import line_solver' 2>/dev/null || "$python" -m pip install --quiet line-solver==3.0.8.0
cd "$root"
mastermind=$target/release/mastermind
missed=0
python3 "$here/sensitivity.py" --mastermind "$mastermind" || missed=1
"$mastermind" simulate examples/queueing/requests.toml --machine examples/sweep3d/machine.toml \
    --study examples/queueing/requests-study.toml || missed=1
"$python" "$here/line.py" --mastermind "$mastermind" "$@" || missed=1
exit $missed
