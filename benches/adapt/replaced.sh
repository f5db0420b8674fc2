#!/bin/sh
# Cost of a run that adapts when a component becomes slow in mid-run, compared with a run that knew when: processor
# seconds of both, in turns. Ends with an error where a row is missed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/adapt
fixture=$work/fixture
mkdir -p "$fixture"
cp -R "$root/tests/fixtures/adapting/." "$fixture"
cp "$root/Cargo.lock" "$fixture/Cargo.lock"
sed -i "s|\"../../../|\"$root/|" "$fixture/Cargo.toml"
cd "$root"
cargo build --quiet --release
cargo build --quiet --release --offline --manifest-path "$fixture/Cargo.toml" --target-dir "$work/target"
python3 "$here/replaced.py" "$work" "$root" "$target/release" "$work/target/release/libadapting.so"
