#!/bin/sh
# How many messages a CPU second the engine simulates, and how fast it is from a GOAL text on. The same run measures
# LogGOPSim on the same text (goal.sh) and SimGrid's SMPI (Debian's libsimgrid-dev); each is left out where it is not
# installed. LogGOPSim's authors and others state 0.3 to 0.75 million messages a CPU second for it. Ends with 1 where a
# row is missed.
#
# Usage: run.sh [PART...]
#   PART  all but the million by default:
#         sweep     the wavefront of 10,000 and of 28,000 ranks, and the model of LAPW0
#         million   the wavefront of a million ranks, which takes a minute and 400 MB
#         programs  seven other programs, each of 1,000, 10,000 and 100,000 ranks: 42 rows
#         goal      GOAL text to finishing times, alone and against LogGOPSim
#         smpi      compared with SimGrid's SMPI
set -eu
missed=0
here=$(dirname "$(readlink -f "$0")")
cd "$here/../.."
[ $# -gt 0 ] || set -- sweep programs goal smpi
bench() { cargo bench --quiet -p mastermind-simulation --bench "$@" || missed=1; }

smpi() {
    if ! command -v smpicc >/dev/null; then
        echo "no smpicc: SimGrid is left out"
        return
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    side=${SIDE:-32}
    ranks=$((side * side))
    cat >"$work/platform.xml" <<XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="nodes" prefix="n" suffix="" radical="0-$((ranks - 1))" speed="1Gf" bw="1GBps" lat="1250ns"/>
</platform>
XML
    seq 0 $((ranks - 1)) | sed 's/^/n/' >"$work/hosts"
    smpicc -O2 "$here/sweep.c" -o "$work/sweep" >/dev/null
    bash -c "TIMEFORMAT='%U %S'; time smpirun -np $ranks -platform '$work/platform.xml' -hostfile '$work/hosts' \
        --cfg=smpi/host-speed:1Gf --cfg=smpi/simulate-computation:no --log=root.thresh:critical \
        '$work/sweep' $side $side 20 6000 0.001" >"$work/out" 2>"$work/time"
    cat "$work/out"
    tail -1 "$work/time" | awk -v side="$side" '{
        messages = 2 * side * (side - 1) * 20 * 8; cpu = $1 + $2;
        printf "SimGrid SMPI: %d processes: %d messages, %.3f CPU s, %.3f M messages/CPU s\n", side * side, messages, cpu, messages / cpu / 1e6 }'
}

for part; do
    case $part in
        sweep) bench sweep ;;
        million) bench sweep -- million ;;
        programs) bench programs -- large ;;
        goal)
            bench goal
            sh "$here/goal.sh" || missed=1
            ;;
        smpi) smpi ;;
        *)
            echo "no part \"$part\", expected sweep, million, programs, goal or smpi" >&2
            exit 2
            ;;
    esac
done
exit "$missed"
