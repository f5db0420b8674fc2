#!/usr/bin/env bash
# Builds the port of fft.sidl and its components.
#
#     examples/fft/build.sh [MASTERMIND] [FOLDER]
#
# Needs a C compiler and Debian's libfftw3-dev and libgsl-dev. rustfft also needs cargo and crates.io; --without-rustfft omits it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rustfft=yes
if [ "${1:-}" = --without-rustfft ]; then rustfft=no; shift; fi
mastermind=$(realpath "${1:-$here/../../target/release/mastermind}")
made=${2:-$here/made}
mkdir -p "$made/lib"
"$mastermind" proxy "$here/fft.sidl" -o "$made" --framework "$here/../../framework" --force
component() { # NAME LIBRARIES
    name=$1; shift
    cc -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -I "$made/c" -I "$here/.." \
        -o "$made/lib/lib$name.so" "$here/$name.c" "$made/c/fft_ports.c" "$@" -lm
}
component workload
component fftw -lfftw3
component gsl -lgsl -lgslcblas
if [ $rustfft = yes ]; then
    # A copy whose paths refer to the generated ports, wherever FOLDER is.
    made=$(realpath "$made")
    rm -rf "$made/rustfft"
    cp -r "$here/rustfft" "$made/rustfft"
    sed -i -e "s|\.\./\.\./\.\./framework|$(realpath "$here/../../framework")|" -e "s|\.\./made/rust|$made/rust|" "$made/rustfft/Cargo.toml"
    cargo build --release --manifest-path "$made/rustfft/Cargo.toml" --target-dir "$made/target"
    cp "$made/target/release/librustfft_component.so" "$made/lib/"
fi
