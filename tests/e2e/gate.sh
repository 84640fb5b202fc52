#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a gate must not take for a win: runs that failed, values of damaged files, budgets that were mistyped.
. "$(dirname "$0")/tap.sh"

# Runs without a device: CPU time is sampled.
mkdir fine status status_too killed
for i in 1 2 3; do
	work_and() { "$aiflame" record -q --cpu -o "$1/$i.data" -- sh -c "i=0; while [ \$i -lt 400000 ]; do i=\$((i+1)); done; $2" >"$work/record.out" 2>&1; }
	work_and fine true
	work_and status 'exit 3'
	work_and status_too 'exit 3'
	work_and killed 'kill -9 $$'
done
if says 'cpu' "$aiflame" gate --budget 'cpu <= 1000s' fine status_too && ! grep -q 'not compared' says.out; then
	check "CPU time of runs that failed is no win" says 'no verdict: exit statuses differ: fine/1.data ended with 0, status/1.data with 3' "$aiflame" gate --budget 'cpu <= 1000s' fine status
	check "which the status says" status_is 4 "$aiflame" gate --budget 'cpu <= 1000s' fine status
	check "but where all did, it is judged" status_is 0 "$aiflame" gate --budget 'cpu <= 1000s' status status_too
	check "CPU time of runs that were killed is no win" says "no verdict: killed/1.data: its command was ended by SIGKILL" "$aiflame" gate --budget 'cpu <= 1000s' fine killed
	check "nor of a baseline of them" sh -c "'$aiflame' baseline set k killed >k.txt && '$aiflame' gate --budget 'cpu <= 1000s' fine baseline:k >k.txt; [ \$? = 4 ] && grep -q 'its command was ended by SIGKILL' k.txt"
else
	skip "CPU time of runs that failed is no win" "the CPU cannot be sampled here"
fi
echo "1..$n"
[ $failed -eq 0 ]
