#!/usr/bin/env bash
# Cost of a call through the proxy of a C library, and its limits:
#
# * forwarded without records, with 2 and with 13 arguments: 1 ns more than a plain call
# * recorded, between prepared chunks, and in sequence with 250 ns of work before each: 25 ns more
# * recorded with its call site: 3 ns more than that
# * recorded, relative to the floor of a record (two time-stamp reads and 40 bytes): 1.35, as in `port_call`
#
# Ends with an error where a figure is missed.
#
#     benches/libraries/calls.sh [FOLDER OF THE BINARIES]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
binaries=${1:-$here/../../target/release}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$here"/nothing.* "$here"/loop.c "$folder"
cd "$folder"
cc -O2 -shared -fPIC -o libnothing.so nothing.c
cc -O2 -o loop loop.c -L. -lnothing -Wl,-rpath,"$folder"
"$binaries/mastermind" proxy nothing.h --markup nothing.toml -o . > /dev/null
recorded() { # OPTIONS -- ARGUMENTS
    "$binaries/mastermind" wrap --proxy libnothing_proxy.so --records records --overwrite "$@"
}
# Steps of work that take 250 ns.
steps=$(./loop 100000 1 1000 | awk '{ printf "%d", 250 * 1000 / $1 }')
missed=1
for try in 1 2 3; do
    # One after the other, nine times: the machine's speed changes.
    for round in $(seq 9); do
        echo "plain $(./loop 20000 20)"
        echo "forwarded $(LD_PRELOAD=./libnothing_proxy.so ./loop 20000 20)"
        echo "recorded $(recorded -- ./loop 5000 50)"
        echo "sited $(recorded --call-sites -- ./loop 5000 50)"
        echo "working $(./loop 1000000 2 "$steps")"
        echo "sustained $(recorded -- ./loop 1000000 2 "$steps")"
    done | awk '
        seen[$1]++ == 0 || $2 < few[$1] { few[$1] = $2 }
        seen[$1] == 1 || $3 < many[$1] { many[$1] = $3 }
        seen[$1] == 1 || $4 < least[$1] { least[$1] = $4 }
        function row(what, than, limit,    a, b) {
            a = few[what] - few[than]; b = many[what] - many[than]
            printf "%-10s +%.2f ns with 2 arguments, +%.2f ns with 13 (at most +%g)\n", what, a, b, limit
            if (seen[what] != 9 || a > limit || b > limit) missed = 1
        }
        END {
            printf "plain      %.2f ns with 2 arguments, %.2f ns with 13\n", few["plain"], many["plain"]
            row("forwarded", "plain", 1); row("recorded", "plain", 25); row("sited", "recorded", 3)
            more = few["sustained"] - few["working"]
            printf "sustained  +%.2f ns with 2 arguments, with %.0f ns of work a call (at most +25)\n", more, few["working"]
            ratio = (few["recorded"] - few["plain"]) / (least["plain"] - few["plain"])
            printf "recorded, by the floor of a record: %.2f (at most 1.35)\n", ratio
            if (seen["sustained"] != 9 || more > 25 || ratio > 1.35) missed = 1
            exit missed
        }' && missed=0 && break
    echo "missed in try $try"
done
exit $missed
