#!/bin/sh
# How well the composite model predicts the time of an assembly before it is run: the case study, on a uniform and on an
# adaptive mesh, with models of the runs that `plan` asks for. Every assembly is predicted, then run. Times are
# processor seconds, so that a shared machine matters little. Ends with an error where a row is missed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/case-study
mkdir -p "$work"
cd "$root"
cargo build --quiet --release
python3 "$here/run.py" "$work" "$root" "$target/release" "$@"
