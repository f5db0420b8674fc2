#!/bin/sh
# From a GOAL text to finishing times: LogGOPSim's conversion and simulation (its txt2bin and LogGOPSim, github.com/spcl/LogGOPSim built
# with -O3, taken from the PATH; left out where they are not) against the command `mastermind simulate`, in turns on one text. CPU seconds,
# user and system. With `--rules loggopsim` our finishing time must be theirs.
#
# Usage: goal.sh [ROUNDS] [PATTERN...]
#   ROUNDS   3 by default
#   PATTERN  all by default: wavefront (100 x 100 ranks, 3.17 million messages), allreduce, random, all-to-all, halo, halo-rendezvous
set -eu
here=$(dirname "$(readlink -f "$0")")
cd "$here/../.."
for tool in txt2bin LogGOPSim bash; do
    if ! command -v "$tool" >/dev/null; then
        echo "must reach: unknown  GOAL text to finishing times, LogGOPSim against us: no $tool"
        exit 0
    fi
done
rounds=3
case ${1:-} in
    [0-9]*) rounds=$1 && shift ;;
esac
[ $# -gt 0 ] || set -- wavefront allreduce random all-to-all halo halo-rendezvous
cargo build --quiet --release -p mastermind-cli
mastermind=${CARGO_TARGET_DIR:-target}/release/mastermind
work=$(mktemp -d)
converted=$work
trap 'rm -rf "$work" "$converted"' EXIT
# Theirs is spared the disk, where memory has room for what it converts to.
if [ "$(df -Pk /dev/shm 2>/dev/null | awk 'END { print ($4 > 2000000) }')" = 1 ]; then
    converted=$(mktemp -d -p /dev/shm)
fi
text=$work/schedule.goal

# CPU seconds of a command; its output is in $work/run.out.
cpu_s() {
    bash -c 'TIMEFORMAT="%U %S"; { time "$@" >"$0.out" 2>"$0.err"; } 2>"$0.time"' "$work/run" "$@" || {
        cat "$work/run.err" >&2
        exit 1
    }
    awk '{ printf "%.3f", $1 + $2 }' "$work/run.time"
}

simulate() { cpu_s "$mastermind" simulate --machine examples/sweep3d/machine.toml "$@" "$text"; }

# The finishing time that `mastermind simulate` has printed, in ns.
finish_ns() { sed -n 's/^[^:]*: \([0-9]*\)\.\([0-9]*\) ms on .*/\1\2/p' "$work/run.out"; }

# row PATTERN TIMES: writes its schedule, runs both, and judges the ratio of the least CPU seconds of each: another tenant of the machine
# makes a run slower and never faster.
row() {
    cargo bench --quiet -p mastermind-simulation --bench goal -- --write "$1" "$text"
    : >"$work/seconds"
    simulate --rules loggopsim >/dev/null
    by_their_rules_ns=$(finish_ns)
    for round in $(seq "$rounds"); do
        ours_s=$(simulate)
        ours_ns=$(finish_ns)
        convert_s=$(cpu_s txt2bin -i "$text" -o "$converted/schedule.bin")
        # -S: the most bytes that go without asking; -b: no time of each rank.
        simulate_s=$(cpu_s LogGOPSim -f "$converted/schedule.bin" -L 2500 -o 1500 -g 1000 -G 1 -O 0 -S 65535 -b)
        theirs_ns=$(grep -oE '(time at host [0-9]+|Maximum.*): [0-9]+' "$work/run.out" | grep -oE '[0-9]+$' | sort -n | tail -1)
        rm "$converted/schedule.bin"
        echo "$1 $round $convert_s $simulate_s $ours_s $theirs_ns $ours_ns" | awk '{
            printf "%s, round %d: txt2bin %.2f and LogGOPSim %.2f CPU s, finish %s ns; mastermind simulate %.2f CPU s, finish %s ns; ratio %.2f\n",
                $1, $2, $3, $4, $6, $5, $7, ($3 + $4) / $5 }'
        echo "$convert_s $simulate_s $ours_s" >>"$work/seconds"
    done
    if [ "$by_their_rules_ns" != "$theirs_ns" ]; then
        echo "must reach: MISSED   GOAL, $1: by LogGOPSim's rules it ends at $by_their_rules_ns ns, at $theirs_ns ns there"
        return 1
    fi
    awk -v pattern="$1" -v least="$2" '
        NR == 1 || $1 + $2 < theirs { theirs = $1 + $2 }
        NR == 1 || $3 < ours { ours = $3 }
        END {
            ratio = theirs / ours
            printf "must reach: %-8s GOAL text to finishing times, %s, LogGOPSim against us, best of %d rounds: %.2f against %.2f CPU s, %.2f times, at least %s times\n",
                (ratio >= least ? "reached" : "MISSED"), pattern, NR, theirs, ours, ratio, least
            exit ratio < least
        }' "$work/seconds"
}

missed=0
for pattern; do
    case $pattern in
        halo) least=4.5 ;;
        halo-rendezvous) least=3.5 ;;
        *) least=8 ;;
    esac
    row "$pattern" "$least" || missed=1
done
exit "$missed"
