#!/bin/sh
# From a GOAL text to finishing times: LogGOPSim's conversion and simulation (its txt2bin and LogGOPSim, taken from the PATH; left out where
# they are not) against the command `mastermind simulate`, in turns on one text, the wavefront's of 100 x 100 ranks (380 MB, 3.17 million
# messages). CPU seconds, user and system. A number of rounds may be given.
set -eu
here=$(dirname "$(readlink -f "$0")")
cd "$here/../.."
for tool in txt2bin LogGOPSim bash; do
    if ! command -v "$tool" >/dev/null; then
        echo "must reach: unknown  GOAL text to finishing times, LogGOPSim against us: no $tool"
        exit 0
    fi
done
cargo build --quiet --release -p mastermind-cli
mastermind=${CARGO_TARGET_DIR:-target}/release/mastermind
work=$(mktemp -d)
converted=$work
trap 'rm -rf "$work" "$converted"' EXIT
# Theirs is spared the disk, where memory has room for what it converts to.
if [ "$(df -Pk /dev/shm 2>/dev/null | awk 'END { print ($4 > 2000000) }')" = 1 ]; then
    converted=$(mktemp -d -p /dev/shm)
fi
cargo bench --quiet -p mastermind-simulation --bench goal -- --write "$work/sweep.goal"

# CPU seconds of a command; what it prints is in $work/run.out.
cpu_s() {
    bash -c 'TIMEFORMAT="%U %S"; { time "$@" >"$0.out" 2>"$0.err"; } 2>"$0.time"' "$work/run" "$@" || {
        cat "$work/run.err" >&2
        exit 1
    }
    awk '{ printf "%.3f", $1 + $2 }' "$work/run.time"
}

for round in $(seq "${1:-3}"); do
    ours_s=$(cpu_s "$mastermind" simulate --machine examples/sweep3d/machine.toml "$work/sweep.goal")
    ours_ns=$(sed -n 's/^[^:]*: \([0-9]*\)\.\([0-9]*\) ms on .*/\1\2/p' "$work/run.out")
    convert_s=$(cpu_s txt2bin -i "$work/sweep.goal" -o "$converted/sweep.bin")
    # -S: the most bytes that go without asking; -b: no time of each rank.
    simulate_s=$(cpu_s LogGOPSim -f "$converted/sweep.bin" -L 2500 -o 1500 -g 1000 -G 1 -O 0 -S 65535 -b)
    theirs_ns=$(grep -oE '(time at host [0-9]+|Maximum.*): [0-9]+' "$work/run.out" | grep -oE '[0-9]+$' | sort -n | tail -1)
    rm "$converted/sweep.bin"
    echo "$round $convert_s $simulate_s $ours_s $theirs_ns $ours_ns" | awk '{
        printf "round %d: txt2bin %.2f and LogGOPSim %.2f CPU s, finish %s ns; mastermind simulate %.2f CPU s, finish %s ns; ratio %.2f\n",
            $1, $2, $3, $5, $4, $6, ($2 + $3) / $4 }'
    echo "$convert_s $simulate_s $ours_s" | awk '{ print ($1 + $2) / $3 }' >>"$work/ratios"
done
sort -n "$work/ratios" | awk '{ all[NR] = $1 } END {
    median = (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2; least = 7
    printf "must reach: %-8s GOAL text to finishing times, LogGOPSim against us, median of %d rounds: %.2f times, at least %d times\n",
        (median >= least ? "reached" : "MISSED"), NR, median, least
    exit median < least }'
