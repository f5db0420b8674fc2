#!/usr/bin/env bash
# Runs a NumPy program on the reference BLAS, on OpenBLAS, with a switch by `redirect` while it runs, and with a switch by `--adapt`.
# Ends with an error if the results differ, or if the faster BLAS was not found.
#
#     examples/numpy-blas/run.sh FOLDER [MASTERMIND]
#
# Needs Debian's python3-numpy, libblas-dev (its libblas3 is the reference BLAS) and libopenblas0-pthread.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mastermind=$(realpath "${2:-$here/../../target/release/mastermind}")
mkdir -p "$1"
cd "$1"
libraries=/usr/lib/x86_64-linux-gnu
reference=$libraries/blas/libblas.so.3
openblas=$libraries/openblas-pthread/libblas.so.3
export OPENBLAS_NUM_THREADS=1
rounds=20
"$mastermind" proxy cblas.h --markup "$here/cblas.toml" -o . --force > proxy.txt
run() { # NAME OPTIONS
    name=$1; shift
    "$mastermind" wrap --proxy libcblas_proxy.so --records "$name" --overwrite "$@" -- \
        /usr/bin/python3 "$here/program.py" "$name.npy" $rounds
}
run reference --use cblas="$reference" > reference.txt
run openblas --use cblas="$openblas" > openblas.txt

# Switches to the other library after the program's first five rounds.
coproc wrapped { run swapped --use cblas="$reference"; }
process=$wrapped_PID
while read -r line; do
    if [ "$line" = "round 4" ]; then "$mastermind" use "$process" cblas="$openblas"; fi
done <&"${wrapped[0]}"
wait "$process"

# The models describe the reference BLAS only. The run learns OpenBLAS's times within 2 % of its own time, so it must be longer.
rounds=100
"$mastermind" fit reference -o models.json --force > models.txt
LD_LIBRARY_PATH=$libraries/blas run adapted --use cblas="$openblas" --adapt models.json > adapted.txt
"$mastermind" info adapted | grep decision
"$mastermind" info adapted | grep -q "cblas: keep libblas.so.3:"

/usr/bin/python3 - <<'END'
import numpy
first = numpy.load("reference.npy")
for name in ["openblas", "swapped", "adapted"]:
    difference = numpy.max(numpy.abs(numpy.load(f"{name}.npy")[: len(first)] / first - 1))
    print(f"{name}: results differ by at most {difference:.1e} of a result")
    assert difference < 1e-12, name
END
"$mastermind" compare reference openblas
"$mastermind" profile swapped
