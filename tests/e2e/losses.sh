#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each way in which a recording loses something is said: by info and the summary, whatever it is; by tables and pictures,
# where it is of what they show.
. "$(dirname "$0")/tap.sh"
"$build/tests/e2e/golden_profiles" full full.data "$root/tests/golden/cubin" || exit 1
"$aiflame" record -q --cpu -o cpu.data "$build/tests/e2e/cpu_hard" call 0.3 >shares || exit 1

every() { python3 "$root/tests/e2e/losses.py" "$root/src" "$aiflame" "$@"; }
check "info has each reason" every info full.data
# A profile of launches without times has a line of its own for them.
check "the summary has each reason" every summary full.data NO_TIMES
check "the summary of a CPU program has each reason" every summary cpu.data
check "the page has each reason" every page full.data
check "the page of a CPU program has each reason" every page cpu.data
check "the page of a flame scope has each reason" every scope cpu.data
check "a picture of devices says what it lacks" every picture full.data WORK RECORDS JOINS SAMPLES EVENTS --
check "a picture of CPUs says what it lacks" every picture cpu.data CPU OFF_CPU WAITS STACKS RECORDS EVENTS -- --of cpu
check "report --kernels says what it lacks" every table full.data WORK EXECUTIONS LAUNCHES RECORDS EVENTS -- --kernels
check "report --stacks says what it lacks" every table full.data WORK EXECUTIONS LAUNCHES RECORDS JOINS STACKS EVENTS -- --stacks
check "report --stalls says what it lacks" every table full.data SAMPLES -- --stalls
check "report --streams says what it lacks" every table full.data WORK EXECUTIONS LAUNCHES RECORDS CLOCKS EVENTS -- --streams
check "report --counters says what it lacks" every table full.data COUNTERS EVENTS -- --counters
check "report --ranges says what it lacks" every table full.data WORK RANGES EVENTS -- --ranges
check "report --sync says what it lacks" every table full.data CALLS RECORDS EVENTS -- --sync
check "report --cpu says what it lacks" every table cpu.data CPU WAITS STACKS RECORDS EVENTS -- --cpu
check "report --threads says what it lacks" every table cpu.data CPU OFF_CPU WAITS RECORDS EVENTS -- --threads
check "report --changes says what it lacks" every table full.data STEP_SUMS -- --changes
check "why says what a profile of a device lacks" every why full.data WORK EXECUTIONS LAUNCHES RECORDS JOINS STACKS CLOCKS CPU OFF_CPU RANGES CALLS EVENTS --
check "why says what a CPU program's profile lacks" every why cpu.data CPU OFF_CPU WAITS STACKS RECORDS EVENTS --
for view in diff gate export; do
	check "$view says what a profile of a device lacks" every $view full.data
	check "$view says what a CPU program's profile lacks" every $view cpu.data
done
# Nobody forgets one: whatever is a kind of loss is said by one of these, or named here as none of a view's.
kinds() {
	sed -n 's/^AIF_LACK(\([A-Z_]*\),.*/\1/p' "$root/src/profile/lacks.def" | grep -vx -e NAMES -e KINDS | while read -r kind; do
		grep -qE "^check .* $kind .*-- |^check .* $kind --" "$root/tests/e2e/losses.sh" || { echo "no view is asked for $kind"; exit 1; }
	done
}
check "each kind of loss is asked for" kinds
done_testing
