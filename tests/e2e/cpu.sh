#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CPU samples: are they true?
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_app
cl=$build/tests/e2e/cpu_cl
no_perf=$build/tests/e2e/no_perf
here=$root/tests/e2e
ticks=

# number FILE SQL: one value
number() {
	"$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'
}
# between LOW VALUE HIGH
between() {
	awk -v a="$1" -v x="$2" -v b="$3" 'BEGIN { print a, "<=", x, "<=", b; exit !(a <= x && x <= b) }'
}
# Rows that are samples: CPU time before a thread's first one and after its last has a mark in place of a stack.
samples="stack NOT IN (SELECT s.id FROM stacks s JOIN frames f ON f.id = s.frame WHERE f.kind = 'mark')"
# is_sampled FILE LOW HIGH: seconds on CPU
is_sampled() {
	between "$2" "$(number "$1" "SELECT coalesce(sum(weight_ns), 0) / 1e9 FROM cpu_samples WHERE stack IS NULL OR $samples")" "$3"
}

# is_lossless FILE: no sample was dropped
is_lossless() {
	[ "$(number "$1" "SELECT coalesce(sum(count), 0) FROM losses WHERE name = 'CPU_LOST'")" = 0 ]
}

# What they say is so.
# true_shares CLOCK FILE POINTS: of a program that measures its functions' shares itself
true_shares() {
	check "$1: a program that measures its functions' shares is recorded" sh -c "'$aiflame' record --cpu-clock $1 -F 999 -o $2.data '$app' shares 4 >shares 2>$2.screen"
	used=$(sed -n 's/^sum //p' shares)
	check "$1: all of the CPU time is sampled" is_sampled $2.data "$(awk "BEGIN { print 0.98 * $used }")" "$(awk "BEGIN { print 1.02 * $used }")"
	"$aiflame" flame --of cpu --detail full -o $2.folded $2.data
	check "$1: each function has its share, within $3 points" python3 "$here/cpu_compare.py" $3 $2.folded shares leaf
	check "$1: stacks are complete" sh -c "! grep -q truncated $2.folded && grep -q '^_start;.*main;shares' $2.folded"
	check "$1: no sample is lost" is_lossless $2.data
}
true_shares perf s 3
check "perf: the rate is what was asked" grep -q 'samples at 999 Hz' s.screen
if "$aiflame" record -q --cpu-clock tick -o none.data true 2>refused; then
	ticks=tick
	# Fewer samples: some 1,000, at a tick of 4 ms.
	true_shares tick tick 10
	check "tick: the summary says the rate that was reached" grep -qE 'samples at [0-9]+ Hz \(999 asked(, [0-9]+ reached)?\)' tick.screen
else
	check "timers that could interrupt system calls are refused" grep -q 'EINTR' refused
fi
check "the first screen has CPU time" says "on CPU in 1 thread" "$aiflame" record -F 99 -o t.data "$app" shares 1
check "the picture of CPU time says the rate" sh -c "'$aiflame' flame --of cpu -o s.svg s.data && grep -q 'samples at 999 Hz' s.svg"
check "flame --of cpu --by samples draws counts" sh -c "'$aiflame' flame --of cpu --by samples -o n.folded s.data &&
	[ \$(awk '{ n += \$NF } END { print n }' n.folded) = $(number s.data "SELECT count(*) FROM cpu_samples WHERE stack IS NULL OR $samples") ]"
check "flame --of cpu refuses what is about devices" status_is 2 "$aiflame" flame --of cpu --kernel x s.data
check "a deep CPU stack is whole" sh -c "'$aiflame' record -q -o d.data '$app' deep 1 &&
	'$aiflame' flame --of cpu --detail full -o d.folded d.data &&
	grep -qE '^_start;.*main(_\[i\])?;deep(_\[i\])?;(deep(_\[i\])?;){39}.*burn' d.folded && ! grep -q truncated d.folded"
check "64 threads with stacks of 120 frames are recorded" metered "$aiflame" record -q -o many.data "$app" many 6
# Where other programs have the CPUs, ticks come upon a thread of 90 ms some five times, and upon one of many not at all.
threads=64
[ "$busy" = 0 ] || threads=58
check "64 threads: each was sampled" between $threads "$(number many.data "SELECT count(DISTINCT tid) FROM cpu_samples WHERE $samples")" 65
# Each has some 90 ms, of which what passes until the helper sees it is not sampled.
check "64 threads: nearly all of their time is sampled" is_sampled many.data 4.8 6.3
check "64 threads: no sample is lost" is_lossless many.data
check "64 threads: each has its own towers" sh -c "'$aiflame' flame --of cpu -o many.folded many.data &&
	[ \$(cut -d';' -f1 many.folded | sort -u | grep -c '^.thread .*[0-9].') -ge $threads ] && ! grep -Ev '^.(main )?thread ' many.folded"
check "--by-thread no: threads have no towers of their own" sh -c "'$aiflame' flame --of cpu --by-thread no -o one.folded many.data && ! grep -Eq '^.(main )?thread ' one.folded &&
	[ \$(awk '{ n += \$NF } END { print n }' one.folded) = \$(awk '{ n += \$NF } END { print n }' many.folded) ]"

check "a program with a thread that hardly ever runs is recorded" sh -c "'$aiflame' record -q -o rare.data '$app' rarely 6 >rarely"
check "a thread that hardly ever runs is sampled" is_sampled rare.data 0.03 "$(awk '{ print $2 + 0.01 }' rarely)"

# Python.
check "a Python program is recorded" sh -c "'$aiflame' record -q --cpu-clock perf -F 999 -o p.data python3 '$here/cpu.py' 3 >pshares"
"$aiflame" flame --of cpu --detail full -o p.folded p.data
check "a Python program's functions have their shares" python3 "$here/cpu_compare.py" 3 p.folded pshares any
check "a Python program's functions stand in their true order" grep -q 'main (cpu.py:*[0-9]*)*.*_\[p\];.*Model.forward.*[^;]*;.*<genexpr>.*Model.layer.*<lambda>' p.folded
check "a program with deep Python stacks, whose functions are all new, is recorded" "$aiflame" record -q -o pd.data python3 "$here/cpu.py" 4 deep
check "deep Python stacks have all of their frames" sh -c "[ $(number pd.data "SELECT max(n) FROM (WITH RECURSIVE up(top, id) AS (
	SELECT DISTINCT stack, stack FROM cpu_samples UNION ALL SELECT top, parent FROM up JOIN stacks ON stacks.id = up.id WHERE parent IS NOT NULL)
	SELECT top, count(*) AS n FROM up JOIN stacks ON stacks.id = up.id JOIN frames ON frames.id = stacks.frame WHERE kind = 'python' GROUP BY top)") -ge 120 ]"
check "deep Python stacks: all of the time is sampled" is_sampled pd.data 3.8 4.6
check "deep Python stacks: no sample is lost" is_lossless pd.data
check "--no-python samples without Python frames" sh -c "'$aiflame' record -q --no-python -o np.data python3 '$here/cpu.py' 0.5 >/dev/null &&
	[ $(number p.data "SELECT count(*) FROM frames WHERE kind = 'python'") -gt 3 ] &&
	[ \$('$aiflame' query --format csv np.data \"SELECT count(*) FROM frames WHERE kind = 'python'\" | tail -1) = 0 ]"

# Another profiler's opinion, of the same run. Where the two differ the program decides, which knows its shares: perf has been off by
# 4 points where the program and aiflame agreed within 0.3.
by_perf() {
	"$aiflame" record -q --cpu-clock perf -F 999 -o b.data perf record -q -e cpu-clock:u -F 1307 -o perf.data "$@" >by_program &&
		"$aiflame" flame --of cpu --detail full -o b.folded b.data &&
		perf report -i perf.data --stdio -s symbol 2>/dev/null |
		sed -nE 's/^ *([0-9.]+)% +\[.\] ([^ ]+).*/\2 \1/p' >by_perf &&
		{ python3 "$here/cpu_compare.py" 3 b.folded by_perf leaf || by_itself; }
}
by_itself() {
	grep '^part_' by_program >by_parts && python3 "$here/cpu_compare.py" 3 b.folded by_parts leaf
}
if perf record -q -e cpu-clock:u -o perf.data true >/dev/null 2>&1; then
	check "perf record agrees on a C program" by_perf "$app" shares 4
	check "perf record agrees on a Python program" by_perf python3 "$here/cpu.py" 6
fi

check "a program with a coroutine on a small stack is recorded" "$aiflame" record -q -F 999 -o c.data "$app" coroutine 1
check "a coroutine on a small stack is sampled" is_sampled c.data 0.95 1.05
check "a program is sampled as often as can be" "$aiflame" record -q --cpu-clock perf -F 4999 -o r.data "$app" registers 2
# A thread in the handler blocks all signals, and is sampled nevertheless: whether threads block them is looked at each
# 250 ms, and who does is left out until the next look.
check "no thread is left out for longer than 100 ms" sh -c "
	for f in s p r; do
		'$aiflame' query --format csv \$f.data \"SELECT max(weight_ns) / 1e6 FROM cpu_samples WHERE $samples\" | tail -1
	done | awk '{ print } \$1 > 100 { late = 1 } END { exit late || NR != 3 }'"

# What is waited for. The program knows it, too; on a busy machine its thread also waits for a CPU in between.
# said_of A WORD B: A times what the program says of that, and B
said_of() { awk -v a="$1" -v word="$2" -v b="$3" '$1 == word { print a * $2 + b }' said; }
# plus A B: their sum
plus() { awk -v a="$1" -v b="$2" 'BEGIN { print a + b }'; }
# waits_as_said HOW: its calls' waiting as rows, apart from its CPU time. Before the loop it waits once, for as long as a busy machine
# needs to compile.
waits_as_said() {
	# shellcheck disable=SC2086 # a list of words
	POCL_MAX_PTHREAD_COUNT=1 "$aiflame" record -q $how -o v.data "$cl" "$1" 2 >said &&
		between "$(said_of 0.85 waiting 0)" "$(number v.data "SELECT sum(waiting_ns) / 1e9 FROM cpu_samples")" \
			"$(plus "$(said_of 1.1 waiting 0.1)" "$(said_of 1.1 early_waiting 0)")" &&
		between "$(said_of 0.85 cpu -0.05)" "$(number v.data "SELECT sum(weight_ns) / 1e9 FROM cpu_samples")" \
			"$(plus "$(said_of 1.1 cpu 0.1)" "$(said_of 1 early_cpu 0)")" &&
		between 0.6 "$(number v.data "SELECT sum(weight_ns + waiting_ns) / 1e9 FROM cpu_samples")" \
			"$(plus "$(said_of 1 wall 0.35)" "$(said_of 1 early_waiting 0)")" &&
		"$aiflame" flame --of cpu -o v.folded v.data
}
how=
if [ -x "$cl" ]; then
	check "waiting in clFinish is a tower" waits_as_said finish
	check "the tower of clFinish ends where it waits" grep -qE '^main.*;wait_for(_\[i\])?;clFinish;\[waiting: clFinish\] [0-9]+$' v.folded
	check "waiting for events has the time that the program says" waits_as_said events
	check "waiting for events is a tower" grep -qE ';\[waiting: clWaitForEvents\] [0-9]+$' v.folded
	check "reading that blocks has the time that the program says" waits_as_said read
	check "reading that blocks is a tower" grep -qE ';\[waiting: clEnqueueReadBuffer\] [0-9]+$' v.folded
	check "mapping that blocks has the time that the program says" waits_as_said map
	check "mapping that blocks is a tower" grep -qE ';\[waiting: clEnqueueMapBuffer\] [0-9]+$' v.folded
	check "many short waits have the time that the program says" waits_as_said short
	check "many short waits are not a row each" between 1 "$(number v.data 'SELECT count(*) FROM cpu_samples WHERE waiting_ns')" 600
	how='--overhead 0.1'
	check "many short waits have their time where nearly all launches are left out" waits_as_said short
	check "nearly all launches are left out with --overhead 0.1" between 100 "$(number v.data "SELECT value FROM meta WHERE key = 'overhead.uncaptured'")" 100000000
	check "reading that blocks has its time where nearly all launches are left out" waits_as_said read
	how=
	check "the summary says what is waited for devices" says "waiting for devices" "$aiflame" record -o v.data "$cl" finish 0.5
	check "flame --of cpu --by samples has no waiting" sh -c "'$aiflame' flame --of cpu --by samples -o vn.folded v.data && ! grep -q waiting vn.folded"
	# Samples tell of all of a thread's time, once: of waiting by the stack of the call, not by what is inside.
	# walled HOW CALL
	walled() {
		POCL_MAX_PTHREAD_COUNT=1 "$aiflame" record -q --wall -F 199 -o v.data "$cl" "$1" 2 >said &&
			between "$(said_of 0.8 waiting -0.05)" "$(number v.data "SELECT sum(waiting_ns) / 1e9 FROM cpu_samples")" \
				"$(awk '{ v[$1] = $2 } END { print 1.1 * (v["wall"] - v["cpu"]) + v["early_wall"] - v["early_cpu"] + 0.15 }' said)" &&
			between 1 "$(number v.data "SELECT max(ns) / 1e9 FROM (SELECT sum(weight_ns + waiting_ns) AS ns FROM cpu_samples GROUP BY tid)")" \
				"$(plus "$(said_of 1 wall 0.5)" "$(said_of 1 early_wall 0)")" &&
			"$aiflame" flame --of cpu -o v.folded v.data &&
			grep -qE "^main.*;wait_for(_\\[i\\])?;$2;\\[waiting: $2\\] [0-9]+\$" v.folded &&
			! grep -F '[waiting' v.folded | grep -vE ";(clFinish;\\[waiting: clFinish|$2;\\[waiting: $2)\\] "
	}
	check "samples in clFinish are waiting in it with --wall" walled finish clFinish
	check "samples in clWaitForEvents are waiting in it with --wall" walled events clWaitForEvents
	check "samples in a blocking read are waiting in it with --wall" walled read clEnqueueReadBuffer
	# Nearly all of read_for() is the OS kernel's. By default a thread is sampled 99 times a second.
	check "a program that launches and reads files is recorded" "$aiflame" record -q -o v.data "$cl" calls 1
	"$aiflame" flame --of cpu --format folded -o f.folded v.data
	check "record of a program that launches: time in the OS kernel is of who called it" \
		awk '/;read_for[; ]/ { all += $NF; if (/;\[kernel\]_\[k\] /) os += $NF } END { print os, all; exit !(os > 0.5 * all) }' f.folded
	check "record -F 0 has no waiting" sh -c "'$aiflame' record -q -F 0 -o v.data '$cl' finish 0.5 >/dev/null &&
		[ \$('$aiflame' query --format csv v.data 'SELECT count(*) FROM cpu_samples' | tail -1) = 0 ]"
	check "waits are there where perf_event is refused" sh -c "'$no_perf' '$aiflame' record -q --cpu-clock perf -o v.data '$cl' finish 0.5 >/dev/null &&
		[ \$('$aiflame' query --format csv v.data 'SELECT count(*) > 3 AND min(waiting_ns) > 0 FROM cpu_samples' | tail -1) = 1 ]"
fi

# Who is sampled, and by whom.
if [ -x "$cl" ]; then
	check "a program and its CPU device are at work" "$aiflame" record -q --cpu-clock perf -F 999 -o m.data "$cl" finish 2
	workers=$(number m.data "SELECT group_concat(tid) FROM (SELECT DISTINCT t.tid FROM samples s JOIN threads t ON t.id = s.thread ORDER BY 1)")
	check "the device has workers" test -n "$workers"
	check "CPU samples leave a device's workers to the device" test "$(number m.data "SELECT count(*) FROM cpu_samples WHERE tid IN ($workers)")" = 0
	check "CPU samples are of the program's own thread only" test "$(number m.data "
		SELECT count(DISTINCT tid) = 1 AND min(tid) = (SELECT pid FROM processes WHERE runtime) AND count(*) > 100 FROM cpu_samples")" = 1
fi
check "record -F 0 samples nothing" sh -c "'$aiflame' record -q -F 0 -o z.data '$app' shares 0.5 >/dev/null &&
	[ \$('$aiflame' query --format csv z.data 'SELECT count(*) FROM cpu_samples' | tail -1) = 0 ]"
check "perf_event that is refused is said" sh -c "'$no_perf' '$aiflame' record --cpu-clock perf -o q.data '$app' shares 0.5 2>&1 |
	grep -q 'no CPU samples: perf_event is refused'"
check "perf_event that is refused: no sample is taken" is_sampled q.data 0 0
[ -z "$ticks" ] || check "timers sample where perf_event is refused" sh -c "'$no_perf' '$aiflame' record -q -o q.data '$app' shares 1 >/dev/null"
[ -z "$ticks" ] || check "timers sample all of the time where perf_event is refused" is_sampled q.data 0.9 1.1
check "a program is recorded with --wall where perf_event is refused" sh -c "'$no_perf' '$aiflame' record -q --wall -F 999 -o q.data '$app' shares 1 >/dev/null"
check "all of the time is sampled with --wall where perf_event is refused" is_sampled q.data 0.9 "$(number q.data 'SELECT (max(time_ns) - min(time_ns)) / 1e9 + 0.3 FROM cpu_samples')"
done_testing
