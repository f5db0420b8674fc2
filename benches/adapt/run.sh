#!/bin/sh
# run.sh [FAMILY...]: fft and sparse, which are judged by default; sort, convolve, matmul, compress, for choosing
# constants.
#
# How near calls come to an oracle while they are sent to one of several implementations whose costs are being learnt.
# The policy of `run --adapt --dispatch`, in steps of ten calls and with its default budget, is compared with StarPU's
# history rule, epsilon-greedy, Thompson sampling, and LinUCB and a decision tree of mabwiser. All are replayed over
# several orders of the calls, on times measured here of Fourier transforms and of sparse matrix-vector products. At
# sizes that are never called, the policy is compared with what could be known of them (known.py). Needs python3 with
# venv, and a package index for the first run. Ends with an error where a row is missed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/adapt
python=$work/venv/bin/python
mkdir -p "$work"
[ -x "$python" ] || python3 -m venv "$work/venv"
"$python" -c 'import mabwiser, pyfftw, scipy, sklearn' 2>/dev/null ||
    "$python" -m pip install --quiet numpy scipy==1.17.1 pyfftw==0.15.1 mabwiser==2.7.4 scikit-learn
cd "$root"
cargo build --quiet --release -p mastermind-composition --example replay
env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" "$here/run.py" "$work" "$target/release/examples/replay" "$@"
