#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The runbook's loop (docs/runbook.md) on two trainings, of C with OpenMP and of PyTorch on the CPU: measure, judge, keep, change
# one thing, measure again, compare. The changes are faults; printed is which signals fire for which.
#   bench/runbook_loop.sh
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
root=${bench%/*}
aiflame=${BUILD_DIR:-$root/build}/src/aiflame
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONPATH="$root/python"
# Threads that wait for others sleep: what spins on a busy machine would be most of the time.
export OMP_WAIT_POLICY=passive

metric='train_tok_s={}/train.json:.train_tok_s'

# signals BEFORE AFTER: those that fire of a change, with what `check` says of the run alone
signals() {
	{
		"$aiflame" runbook compare "$1" "$2" --metric "$metric" || :
		"$aiflame" runbook check "$2" --cannot-tell pass || :
	} >said 2>&1
	grep '^signal' said | sed 's/, beyond \([^:]*\):.*/, beyond \1/' | sort -u || echo 'none'
}
loop() { # NAME FAULTS COMMAND...
	name=$1 faults=$2
	shift 2
	echo "== $name"
	for run in calm again $faults; do
		echo "$run" >fault
		"$aiflame" runbook run -d "$name-$run" -r 1 --threads 2 --mode train --metric "$metric" \
			-- "$@" "{}/train.json" >run.out 2>&1 || { cat run.out; exit 1; }
		echo "-- $run: $(cat "$name-$run/train.json")"
		[ "$run" = calm ] || signals "$name-calm" "$name-$run" | sed 's/^/     /'
		gate=0
		"$aiflame" runbook check "$name-$run" --cannot-tell pass --require '{}/train.json:.is_learning=true' >gate.out 2>&1 || gate=$?
		echo "     gate with --require is_learning: status $gate"
		"$aiflame" runbook ledger "$name-$run" --note "$run" --baseline "$name-calm" >/dev/null 2>&1 || echo "     ledger: no entry"
	done
	"$aiflame" runbook render "$name-calm" >/dev/null
	echo "-- artifacts of $name-calm by the definitions of their fields"
	python3 "$root/tests/e2e/runbook_fields.py" "$name-calm" && echo "     all fields, with their types, and no others"
	(cd "$name-calm" && find . -maxdepth 1 -type f ! -name '.*' | sort | tr '\n' ' ')
	echo
}
cc=${CC:-cc}
$cc -O2 -g -fopenmp -I"$root/include" -o train "$bench/runbook_train.c"
loop c "slow copy chase wrong" ./train
python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import torch' 2>/dev/null && python=$p && break
done
if [ -n "$python" ]; then
	loop torch "slow copy wrong" "$python" "$bench/runbook_train.py"
else
	echo "torch: skipped: no python3 with torch; install python3-torch"
fi
