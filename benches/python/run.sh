#!/bin/sh
# The Python package as a user gets it: its wheel in a fresh environment, its notebooks executed, its table in pandas,
# Polars and DuckDB compared with the log's own values, 10^7 records in memory; compared with Hatchet and Caliper's
# reader. Ends with an error where a row is missed. Needs python3 with venv, a C compiler, and a package index.
#
#     benches/python/run.sh [FOLDER OF THE BINARIES]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
binaries=$(cd "${1:-$target/release}" && pwd)
work=$target/python
rm -rf "$work/fresh" "$work/wheels" "$work/run"
mkdir -p "$work/run"
python3 -m venv "$work/fresh"
CARGO_TARGET_DIR=$target "$work/fresh/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/wheels" "$root/mastermind/python"
"$work/fresh/bin/pip" install --quiet --no-index "$work"/wheels/*.whl
[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet pyarrow pandas polars duckdb matplotlib nbclient ipykernel hatchet caliper-reader
"$work/venv/bin/pip" install --quiet --no-index --force-reinstall "$work"/wheels/*.whl
PATH=$binaries:$work/venv/bin:$PATH
# As a container's only user may have to.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PATH OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
cd "$work/run"
ln -s "$root/examples" examples
cp "$root"/benches/libraries/nothing.* "$root/benches/libraries/loop.c" .
cc -O2 -shared -fPIC -o libnothing.so nothing.c
cc -O2 -o loop loop.c -L. -lnothing -Wl,-rpath,"$work/run"
mastermind proxy nothing.h --markup nothing.toml -o . > /dev/null
mastermind wrap --proxy libnothing_proxy.so --records many -- ./loop 33100 100 > /dev/null
mastermind run examples/shock/shock.toml --records shock --set driver.max_steps=20 > /dev/null
exec python "$here/check.py" "$work/fresh/bin/python" "$root/mastermind/python/notebooks" "$work"/wheels/*.whl
