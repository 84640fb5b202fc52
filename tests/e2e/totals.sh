#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where launches are left out (the default), every table, export and SQL says the same of the whole: busy, idle, time by
# kernel, launches, copies; and what the program knows of itself. CUDA on a mock of libcuda and libcupti
# (tests/mock/cuda/mock.h), whose executions take as long as they were asked to.
. "$(dirname "$0")/tap.sh"
mock=$build/tests/mock/cuda
cubin=$root/tests/golden/cubin/kernels_sm90a.cubin
AIFLAME_STANDBY=$work/standby
export AIFLAME_STANDBY
unset CUDA_INJECTION64_PATH AIFLAME_NO_COUNTERS

ask() { "$aiflame" query --format csv "$1.data" "$2" | tail -n +2; }
# left_out NAME: most launches were, and enough blocks were captured to tell how much they differ: a standard error of few
# is worth little. How many there are depends on what a launch costs then, as the budget measured.
left_out() {
	[ "$(ask "$1" 'SELECT 2 * sum(CASE held WHEN 0 THEN launches ELSE 0 END) > sum(launches) AND sum(held AND p < 1 AND launches >= 32) >= 20
		FROM windows WHERE device IS NULL')" = 1 ]
}
# rec NAME LAUNCHES OPTIONS...: a program that loads, warms up slowly and then launches all the time, until enough was left out
rec() {
	name=$1 launches=$2
	shift 2
	for more in 1 2 4 8; do
		LD_LIBRARY_PATH=$mock MOCK_CUPTI=callback=400,record=2000 timeout -k 5 120 "$aiflame" record -q --overhead "${budget:-2}" --cpu-rate 0 -o "$name.data" \
			"$mock/app" "$@" -n $((more * launches)) "$cubin" >"$name.out" || { echo "$((more * launches)) launches: status $?" && return 1; }
		left_out "$name" && return
	done
	ask "$name" 'SELECT held, p, launches FROM windows WHERE device IS NULL'
	return 1
}
agree() { python3 "$here/totals.py" "$aiflame" "$1.data" "$1.out" "$work/$1"; }
here=$root/tests/e2e

# Older details are dropped: tables that read them and sums that do not begin at one moment.
kept() {
	LD_LIBRARY_PATH=$mock MOCK_CUPTI=callback=400,record=2000 timeout -k 5 120 "$aiflame" record -q --all-launches --keep 500ms --cpu-rate 0 \
		-o kept.data "$mock/app" -c -g 0 -b 20000 -n 180000 "$cubin" >/dev/null || return
	sums=$(ask kept 'SELECT sum(busy_ns), sum(idle_ns) FROM device_times')
	tables=$("$aiflame" report --breakdown --format csv --limit 0 kept.data | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
print(sum(int(r["span"]) - int(r["idle"]) for r in rows), sum(int(r["idle"]) for r in rows), sep=",")')
	causes=$("$aiflame" report --idle --format csv --limit 0 kept.data | python3 -c '
import csv, sys
print(sum(int(r["idle"]) for r in csv.DictReader(sys.stdin)))')
	echo "$sums $tables $causes"
	"$aiflame" report kept.data | grep 'are kept and shown' && [ "$sums" = "$tables" ] && [ "${sums#*,}" = "$causes" ]
}
check "every table has the same times of what --keep left" kept

# One stream: busy is the sum of what ran. The large copy is over before the first launch is left out.
one_stream() { rec loop 350000 -g 0 -b 10000 -c -l -k -w 600 -s 700 && agree loop; }
check "a warm-up, then many launches of two kernels and copies, most of which are left out: every table, export and SQL says the same, and what is true" \
	one_stream
sed -n 's/^#\?/# /p' loop/table.txt 2>/dev/null
exact() { # the time of the first copy is known to the nanosecond
	ask loop "SELECT error_ns, grade, time_ns FROM attributed WHERE kind = 'write' AND time_ns > 10000000 AND launches = 1" >exact.out
	cat exact.out
	[ "$(cat exact.out)" = "0,exact,10005000" ]
}
check "a copy that was captured before launches were left out is exact, and has no error" exact
starts() { # within 20 ms: what the program needs until it sleeps
	"$aiflame" report loop.data | sed -n 's/.*; before the first work \([0-9.]* m*s\).*/\1/p' | awk '{ printf "%d\n", $2 == "s" ? 1000 * $1 : $1 }' >start.out
	[ "$(cat start.out)" -ge 700 ] && [ "$(cat start.out)" -le 2000 ]
}
check "the time until the first work is not idle time" starts
# In the warm-up, behind the large copy: each launch was captured there, each is 5 to 10 us, about 1 ms apart.
warm=$(ask loop "SELECT printf('%.6f %.6f', min(start_ns) / 1e9 + 0.02, min(start_ns) / 1e9 + 0.22) FROM executions" | tr ' ' ,)
part() {
	"$aiflame" report --time "$warm" loop.data >part.out && cat part.out &&
		grep -q '^shown    what ran from [0-9.]* m*s to [0-9.]* m*s$' part.out && grep -q '^busy     0\.[0-9]* % of the time from the first to the last device work' part.out
}
check "the summary takes --time" part
weigh() { # what was captured in a part stands for what was left out in it, wherever it is shown
	"$aiflame" flame --format folded --time 1,6 -o part.folded loop.data && "$aiflame" export --format firefox --time 1,6 -o part.json loop.data &&
		python3 -c 'import json
a = sum(float(line.rsplit(" ", 1)[1]) for line in open("part.folded"))
b = 1e6 * sum(sum(t["samples"]["weight"]) for t in json.load(open("part.json"))["threads"] if t["samples"].get("weight"))
print(a, b)
assert abs(a - b) < 1e-5 * a'
}
check "a picture and a time line of a part weigh the same" weigh
# counted FROM,TO: launches of which a time line of that part says that they were left out
counted() { "$aiflame" export --format perfetto --time "$1" -o part.pftrace loop.data 2>&1 | sed -n 's/.*: \([0-9]*\) launches were left out.*/\1/p'; }
# The first third of the time from the first off-block to the end.
third=$(ask loop "SELECT printf('%.6f %.6f', min(start_ns) / 1e9, (2 * min(start_ns) + max(end_ns)) / 3e9) FROM windows
	WHERE device IS NULL AND held = 0 AND launches > 0" | tr ' ' ,)
of_parts() { # in which all were captured; in which none nearly was; and both
	some=$(counted "$third") all=$(counted 0,1000)
	echo "$(counted "$warm") $third: $some $all"
	[ -z "$(counted "$warm")" ] && [ "$some" -gt 0 ] && [ "$all" -gt $((3 * some / 2)) ]
}
check "a time line says of its part how many launches were left out" of_parts
blank=$(ask loop "SELECT printf('%.6f %.6f', (2 * start_ns + end_ns) / 3e9, (start_ns + 2 * end_ns) / 3e9) FROM windows
	WHERE device IS NULL AND held = 0 AND launches > 100 ORDER BY end_ns - start_ns DESC LIMIT 1" | tr ' ' ,)
unknown() { # no table says of it that nothing ran
	for table in kernels stacks copies launches stalls breakdown comm idle streams; do
		"$aiflame" report --$table --time "$blank" loop.data >blank.out 2>&1
		[ $? -eq 1 ] && grep -q 'launches were left out in this span' blank.out || { echo "$table $blank" && cat blank.out && return 1; }
	done
}
check "tables say that what ran is not known where all launches were left out" unknown
silent() { # nor does an export
	for format in pprof otlp speedscope chrome firefox perfetto; do
		"$aiflame" export --format $format --time "$blank" -o blank.$format loop.data >blank.out 2>&1
		grep -q 'launches were left out' blank.out || { echo "$format $blank" && cat blank.out && return 1; }
	done
}
check "exports say that launches were left out where all were" silent
captured=$(ask loop 'SELECT round(100.0 * (SELECT count(*) FROM launches) / ((SELECT count(*) FROM launches) + sum(launches)), 2) FROM windows WHERE device IS NULL AND held = 0')
says_part() { # TABLE: its first line says of how much it is
	"$aiflame" report "$1" --limit 3 loop.data >part.out
	head -n 1 part.out | sed -n 's/.*of what was captured, \([0-9.]*\) % of the launches.*/\1/p' >of.out
	cat part.out of.out
	awk -v is="$captured" '{ d = $1 - is; n++ } END { exit !(n == 1 && d < 0.1 && d > -0.1) }' of.out
}
check "single gaps say of how much they are" says_part --gaps
check "single launches say of how much they are" says_part --launches
check "queues' lengths say of how much they are" says_part --streams

# Two devices, with a thread and a stream each.
two_devices() { budget=10 rec two 200000 -g 0 -b 10000 -c -t 2 -d 2 && agree two; }
check "two devices: most launches are left out, and every table, export and SQL says the same, and what is true" two_devices

# One that never rests, so that there is not always time for what is estimated.
full() { budget=10 rec full 300000 -g 0 -c -t 2 -d 2 && agree full; }
check "two devices that never rest: every table, export and SQL says the same, and what is true" full

# Where all is captured, all is exact.
rec_all() { LD_LIBRARY_PATH=$mock timeout -k 5 60 "$aiflame" record -q --all-launches --cpu-rate 0 -o all.data "$mock/app" -g 50 -c -k -l -n 3000 "$cubin" >all.out; }
check "a program is recorded with --all-launches" rec_all
check "--all-launches: every table, export and SQL says the same, and what is true" agree all
check "--all-launches: nothing has an error" sh -c '! grep -q "±" all/table.txt && ! "$1" report all.data | grep -q "±" && ! "$1" report --gaps all.data | grep -q "of what was captured"' - "$aiflame"
done_testing
