#!/usr/bin/env bash
# Builds the port of sparse.sidl and its components.
#
#     examples/sparse/build.sh [MASTERMIND] [FOLDER]
#
# Needs a C compiler and Debian's libsuitesparse-dev, libsuperlu-dev and liblapack-dev.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mastermind=$(realpath "${1:-$here/../../target/release/mastermind}")
made=${2:-$here/made}
mkdir -p "$made/lib"
"$mastermind" proxy "$here/sparse.sidl" -o "$made" --language c --force
component() { # SOURCE NAME OPTIONS
    source=$1; name=$2; shift 2
    cc -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -I "$made/c" -I "$here/.." \
        -o "$made/lib/lib$name.so" "$here/$source.c" "$made/c/sparse_ports.c" "$@" -lm
}
component workload workload
component banded banded -llapack
component cholmod cholmod_simplicial -lcholmod
component cholmod cholmod_supernodal -DSUPERNODAL -lcholmod
component klu klu -lklu
component umfpack umfpack -lumfpack
component superlu superlu -lsuperlu
component gradients gradients
