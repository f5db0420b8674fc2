#!/bin/sh
# Checks that each class keeps the backward error that sparse.toml declares for it, over all systems of the workload. Conjugate
# gradients must fail at the limit of the factorisations, which shows that the check can fail. Run build.sh first; needs `mastermind`.
set -u
cd "$(dirname "$0")" || exit 1
records=$(mktemp -d)
trap 'rm -rf "$records"' EXIT
missed=0

# held CLASS DIGITS: succeeds if no backward error exceeds 10 to the minus DIGITS.
held() {
    mastermind run sparse.toml --replace "solver=$1" --set "driver.digits=$2" --records "$records/run" --overwrite >"$records/log" 2>&1
}

for line in $(sed -n 's/^"\(sparse\.[A-Za-z]*\)" = { error = 1e-\([0-9]*\) }.*/\1:\2/p' sparse.toml); do
    class=${line%%:*} digits=${line##*:}
    if held "$class" "$digits"; then
        echo "must reach: reached  $class: backward error at most 1e-$digits"
    else
        echo "must reach: MISSED   $class: backward error at most 1e-$digits: $(tail -n 1 "$records/log")"
        missed=1
    fi
done
if held sparse.ConjugateGradients 14; then
    echo "must reach: MISSED   sparse.ConjugateGradients passes at 1e-14: the check finds nothing"
    missed=1
fi
exit $missed
