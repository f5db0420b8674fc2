#!/usr/bin/env bash
# What a call through the proxy of a C library costs: forwarded without records at most 1 ns more than a plain call, with 2
# arguments and with 13; recorded between prepared chunks at most 25 ns more, and with its call site 3 more than that. Ends with
# an error where a figure is missed.
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
missed=1
for try in 1 2 3; do
    # One after the other, nine times: the machine's speed changes.
    for round in $(seq 9); do
        echo "plain $(./loop 20000 20)"
        echo "forwarded $(LD_PRELOAD=./libnothing_proxy.so ./loop 20000 20)"
        for way in recorded sited; do
            options=$([ $way = sited ] && echo --call-sites || true)
            echo "$way $("$binaries/mastermind" wrap --proxy libnothing_proxy.so $options --records records --overwrite -- ./loop 5000 50)"
        done
    done | awk '
        seen[$1]++ == 0 || $2 < few[$1] { few[$1] = $2 }
        seen[$1] == 1 || $3 < many[$1] { many[$1] = $3 }
        function row(what, than, limit,    a, b) {
            a = few[what] - few[than]; b = many[what] - many[than]
            printf "%-10s +%.2f ns with 2 arguments, +%.2f ns with 13 (at most +%g)\n", what, a, b, limit
            if (seen[what] != 9 || a > limit || b > limit) missed = 1
        }
        END {
            printf "plain      %.2f ns with 2 arguments, %.2f ns with 13\n", few["plain"], many["plain"]
            row("forwarded", "plain", 1); row("recorded", "plain", 25); row("sited", "recorded", 3); exit missed
        }' && missed=0 && break
    echo "missed in try $try"
done
exit $missed
