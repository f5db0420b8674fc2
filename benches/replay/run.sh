#!/usr/bin/env bash
# From a run to a model: the heat and transport examples, a program like CoMD (dynamics.c) and, where it is given, HPCG are recorded with
# --mpi-events and done again on a machine file that `calibrate` has measured. The replay must predict the recorded elapsed time within
# 10 %, in the median of the rounds; on the same machine with links a hundred times slower, it must say that the run would take longer.
#
# Usage: benches/replay/run.sh [ROUNDS] [HPCG]
#   ROUNDS  recordings of each program, 3 by default
#   HPCG    the xhpcg of an MPI that is here, with the name of that MPI: openmpi=PATH or mpich=PATH
# Needs a built target/release (cargo xtask build, which builds the MPI back ends too), an MPI, python3, and two processors that are idle.
# Ends with 1 where a row is missed.
set -u
cd "$(dirname "$0")/../.." || exit 2
rounds=${1:-3} hpcg=${2:-}
mastermind=$PWD/target/release/mastermind
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
missed=0

# Field of a JSON document on standard input.
field() { python3 -c 'import json,sys; d=json.load(sys.stdin)
for k in sys.argv[1].split("."): d=d[k]
print(d)' "$1"; }

# row NAME COMMAND...: COMMAND records into $work/records.
row() {
  local name=$1 differences="" slower="" elapsed=0 notes=0
  shift
  for _ in $(seq "$rounds"); do
    rm -rf "$work/records"
    "$@" > "$work/said" 2>&1 || { echo "$name: cannot record"; tail -5 "$work/said"; missed=1; return; }
    "$mastermind" simulate "$work/records" --machine "$work/machine.toml" --json > "$work/simulated" 2> "$work/told" ||
      { echo "$name: cannot replay"; cat "$work/told"; missed=1; return; }
    differences+=" $(field recorded.difference_percent < "$work/simulated")"
    elapsed=$(field recorded.elapsed_ns < "$work/simulated")
    notes=$(grep -c "left out\|no record" "$work/told")
    slower+=" $("$mastermind" simulate "$work/records" --machine "$work/slow.toml" --json 2> "$work/told" | field recorded.difference_percent)"
  done
  python3 - "$name" "$elapsed" "$notes" "$differences" "$slower" <<'END' || missed=1
import statistics, sys
name, elapsed, notes, differences, slower = sys.argv[1:]
differences, slower = (sorted(map(float, text.split())) for text in (differences, slower))
median = statistics.median(differences)
reached = abs(median) <= 10 and int(notes) == 0 and statistics.median(slower) > median
print(f"{name:28} {int(elapsed) / 1e9:8.3f} s recorded, replay {median:+6.2f} % ({differences[0]:+.2f} to {differences[-1]:+.2f}; 10 asked), "
      f"links 100 times slower {statistics.median(slower):+8.1f} %: {'reached' if reached else 'MISSED'}")
sys.exit(not reached)
END
}

wrapped() { "$launcher" -n 2 "$mastermind" wrap --mpi-events --records "$work/records" -- "$@"; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
n_mpis=0
for mpi in openmpi mpich; do
  launcher=mpirun.$mpi
  command -v "$launcher" > /dev/null && command -v "mpicc.$mpi" > /dev/null || continue
  n_mpis=$((n_mpis + 1))
  echo "$mpi, 2 ranks, $rounds rounds"
  "mpicc.$mpi" -O2 -o "$work/dynamics" benches/replay/dynamics.c || exit 2
  "$mastermind" calibrate -o "$work/machine.toml" --mpi $mpi --force > "$work/said" 2>&1 || { cat "$work/said"; exit 2; }
  python3 - "$work/machine.toml" > "$work/slow.toml" <<'END'
import re, sys
slower = lambda match: f"{match[1]}{100 * float(match[2])}"
print(re.sub(r"((?:latency_ns|gap_ns|gap_per_byte_ns) *= *)([0-9.e+]+)", slower, open(sys.argv[1]).read()))
END
  row "heat" "$mastermind" run examples/heat/heat.toml --mpi $mpi --ranks 2 --mpi-events --records "$work/records"
  row "transport" "$mastermind" run examples/transport/transport.toml --mpi $mpi --ranks 2 --mpi-events --records "$work/records"
  row "dynamics, 24 cells a side" wrapped "$work/dynamics" 100 24
  case $hpcg in
    $mpi=*) cd "$work" && printf 'HPCG benchmark input file\n\n32 32 32\n5\n' > hpcg.dat && row "HPCG, 32 x 32 x 32" wrapped "${hpcg#*=}"; cd - > /dev/null || exit 2 ;;
  esac
done
[ $n_mpis -gt 0 ] || { echo "no MPI with its compiler is here"; exit 2; }
exit $missed
