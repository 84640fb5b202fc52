#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls that hold a thread up, begin and end: idle time and report --sync, against a program that has written down what it did.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/calls_app
[ -x "$app" ] || { echo "1..0 # SKIP OpenCL was not there at build time"; exit 0; }

# record MODE ROUNDS [OPTION...]
record() {
	mode=$1 rounds=$2
	shift 2
	"$aiflame" record -q --all-launches --cpu-clock perf -F 999 --device-rate 0 "$@" -o "$mode.data" "$app" "$mode" "$rounds" >"$mode.truth"
}
query() { "$aiflame" query --format csv "$1" "$2" | tail -n 1 | tr -d '\r'; }
# agrees MODE ROUNDS: class and function of 95 % of the idle time are those that the program says
agrees() {
	metered record "$1" "$2" && "$aiflame" report --idle --format csv --limit 0 "$1.data" >"$1.csv" &&
		python3 "$root/tests/e2e/calls_compare.py" "$1.truth" "$1.csv" >"$1.compared" &&
		cat "$1.compared" && awk '$1 == "agrees" { exit !($2 >= 0.95) }' "$1.compared"
}
for mode in 'finish 1000' 'allocate 200' 'copy 500' 'compile 8' 'event 200' 'threads 1000' 'compute 1000' 'mix 200'; do
	on_calm "idle time has the class and function that the program says: ${mode% *}" agrees ${mode}
done
same_sums() {
	for mode in copy event mix threads; do
		table=$("$aiflame" report --sync --format csv --limit 0 $mode.data | python3 -c 'import csv, sys
rows = list(csv.DictReader(sys.stdin)); print(sum(int(r["time"]) for r in rows), sum(int(r["calls"]) for r in rows))')
		sql=$(query $mode.data 'SELECT sum(dur_ns) || " " || count(*) FROM calls')
		rows=$(query $mode.data "SELECT sum(dur_ns) || ' ' || count(*) FROM ops WHERE kind = 'runtime'")
		idle=$("$aiflame" report --idle --format csv --limit 0 $mode.data | python3 -c 'import csv, sys
print(sum(int(r["idle"]) for r in csv.DictReader(sys.stdin)))')
		whole=$(query $mode.data 'SELECT sum(idle_ns) FROM device_times')
		echo "$mode: $table, $sql, $rows; $idle, $whole"
		[ "$table" = "$sql" ] && [ "$sql" = "$rows" ] && [ "$idle" = "$whole" ] || return 1
	done
}
check "report --sync and SQL have the same time in calls; report --idle and SQL the same idle time" same_sums
# All of each such call lies in one gap.
compile_is_idle() {
	"$aiflame" report --sync --format csv --limit 0 compile.data >compile.sync
	python3 - <<'END'
import csv
meanwhile = sum(int(r["device_idle"]) for r in csv.DictReader(open("compile.sync"))
                if r["kind"] == "compile" and r["caller"].startswith("compile_program"))
idle = sum(int(r["idle"]) for r in csv.DictReader(open("compile.csv")) if r["cause"] == "compile" and "clBuildProgram" in r["stack"])
print(meanwhile, idle)
raise SystemExit(not (idle and abs(meanwhile - idle) <= 1e-4 * idle))
END
}
check "a device is idle for as long in compiling by --sync as by --idle" compile_is_idle
check "report --sync lists a call by its caller's line, with its kind" sh -c "'$aiflame' report --sync mix.data | grep -q 'synchronise *clWaitForEvents *wait_for_event (calls_app.c:[0-9]*)'"
threads_agree() {
	for mode in threads copy; do
		waits=$(query $mode.data "SELECT sum(dur_ns) FROM calls WHERE kind IN ('synchronise', 'copy')")
		for table in threads processes; do
			sum=$("$aiflame" report --$table --format csv --limit 0 $mode.data | python3 -c 'import csv, sys
print(sum(int(r["waiting"]) for r in csv.DictReader(sys.stdin)))')
			echo "$mode $table: $sum, $waits"
			[ "$sum" = "$waits" ] || return 1
		done
	done
}
check "threads and processes wait for as long as SQL sums up" threads_agree
record poll 100000
counted() {
	rows=$(query poll.data 'SELECT count(*) FROM calls')
	short=$(query poll.data "SELECT value FROM meta WHERE key = 'short_calls'")
	echo "$rows rows, $short counted"
	# clBuildProgram, clCreateKernel, two of clCreateBuffer, one clFinish of a launch
	[ "$((rows + short))" -eq 100005 ] && [ "$rows" -lt 50000 ]
}
check "calls with nothing to wait for are counted, each once" counted
# A machine that is shared may take four seconds to compile.
open_call() {
	for seconds in 4 16 64; do
		"$aiflame" record -q --duration $seconds --kill --device-rate 0 -o hang.data "$app" hang 1 >hang.out
		shows_open_call && return
	done
	return 1
}
shows_open_call() {
	query hang.data "SELECT name || ' ' || (start_ns + dur_ns > 0.5 * (SELECT max(end_ns) FROM processes)) FROM calls WHERE dur_ns > 300000000"
	"$aiflame" report --sync hang.data | grep -q 'clWaitForEvents *wait_for_event' &&
		"$aiflame" info hang.data | grep -q 'call that had not returned'
}
check "a call that does not return is shown until the end" open_call
record finish 200 --calls off
check "--calls off records no calls, and idle time has a cause all the same" sh -c "[ \$('$aiflame' query --format csv finish.data 'SELECT count(*) FROM calls' | tail -n 1) -eq 0 ] && '$aiflame' report --idle finish.data | grep -q wait"
done_testing
