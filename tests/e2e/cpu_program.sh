#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --cpu: programs without an accelerator. Their functions' shares are known: they measure them.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_program
here=$root/tests/e2e

# number FILE SQL: one value
number() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }
# between LOW VALUE HIGH
between() { awk -v a="$1" -v x="$2" -v b="$3" 'BEGIN { print a, "<=", x, "<=", b; exit !(a <= x && x <= b) }'; }
weight() { number "$1" 'SELECT coalesce(sum(weight_ns), 0) / 1e9 FROM cpu_samples'; }
# shares FILE MEASURED COLUMN: each function of MEASURED has its share in report --cpu, within three points. Shares are of what the
# program measures: start and end of an interpreter take the longer the busier the machine is.
shares() {
	"$aiflame" report --cpu --limit 0 --format csv "$1" | python3 -c "
import csv, re, sys
rows = {re.sub(r' \(.*', '', r['function']): r for r in csv.DictReader(sys.stdin)}
want = {name: float(share) for name, share in (line.split() for line in open('$2')) if name != 'sum'}
all = sum(float(rows[name]['total_share']) for name in want)
for name, share in want.items():
    have = 100 * float(rows[name]['$3']) / all
    print(name, share, have)
    assert abs(have - share) <= 3"
}

# Marks of a program that are made while a thread of the agent's meets the recorder.
check "a first range waits for a recorder that is slow to answer" "$aiflame" record -q --cpu -o first.data "$build/tests/e2e/first_range"
check "a first range that waits for a slow recorder is recorded" test "$(number first.data "SELECT group_concat(name, ' ') FROM ops WHERE kind = 'range'")" = "first second"

# C.
check "a C program is recorded" sh -c "'$aiflame' record --cpu --cpu-clock perf -F 999 -o c.data '$app' 3 >c.shares 2>c.screen"
used=$(sed -n 's/^sum //p' c.shares)
check "nearly all of its CPU time is sampled" between "$(awk "BEGIN { print 0.95 * $used - 0.05 }")" "$(weight c.data)" "$(awk "BEGIN { print 1.02 * $used + 0.05 }")"
check "each function has the share that the program measures" shares c.data c.shares total_share
check "a C program: the callers have all of the CPU time" sh -c "'$aiflame' report --cpu --limit 0 --format csv c.data | grep -E '^[0-9.]+,[0-9]+,(0[.]9[5-9]|1[.]).*,train,'"
check "a C program: stacks are whole" sh -c "'$aiflame' flame --of cpu --detail full -o c.folded c.data &&
	grep -q '^_start;.*main;train;step;gemm' c.folded && ! grep -q truncated c.folded"
check "the summary has a C program's functions" grep -qE '^function +[56][0-9.]+ % +gemm ' c.screen
check "the summary says how many stacks are whole" grep -qE '^quality +(99|100)[0-9.]* % of the samples have a whole stack' c.screen
check "the summary says what sampling cost" grep -q '^cost .*of which the agent' c.screen
# has_nearly_all SCREEN: the profile has all of the CPU time within 1 %, and of a busy machine's up to 50 ms too much (docs/cpu.md).
has_nearly_all() {
	sed -nE 's/^cost .*; the profile has ([0-9.]+) % of it, [0-9.]+ m?s before threads.* and after their last; the recorder.*/\1/p' "$1" |
		awk -v used="$used" '{ n++; print $1, used; bad = $1 < 99 || $1 > 101 + 5 / used } END { exit n != 1 || bad }'
}
check "the summary says how much of the command's CPU time the profile has" has_nearly_all c.screen
check "the CPU time that the profile has is that of its samples and of the agent's thread" test "$(number c.data "SELECT abs((SELECT sum(weight_ns) FROM cpu_samples) +
	(SELECT value FROM meta WHERE key = 'cost.helper_cpu_ns') - (SELECT value FROM meta WHERE key = 'cost.cpu_known_ns')) < 1000000")" = 1
check "the summary of a CPU program has no word of devices" sh -c "! grep -qE 'device|OpenCL|runtime' c.screen"
# Where the agent's thread has no CPU for long, time has no stack, which is counted too (1356, 1357); how much is judged above.
check "no sample was lost" sh -c "'$aiflame' query --format csv c.data 'SELECT name, count, detail FROM losses WHERE reason NOT IN (1356, 1357)' >lost.csv; cat lost.csv; [ \$(wc -l <lost.csv) = 1 ]"
# How long a thread is on a CPU is another program's doing, too, unless it goes before all others.
if chrt --fifo 1 true 2>/dev/null; then
	check "a program that goes before all others" sh -c "chrt --fifo 1 '$aiflame' record -q --cpu -o why.data '$app' 2 >why.shares"
	check "why says that one thread bounds the program" says "bound by one thread, which computes" "$aiflame" why why.data
	check "why names the function to make faster" says "make gemm faster" "$aiflame" why why.data
else
	# bound: by the one thread that computes, if it was on a CPU, by its own word; by the machine, if others had its CPUs
	bound() {
		share=$(number c.data "SELECT 100.0 * $used / (max(end_ns - start_ns) / 1e9) FROM processes")
		"$aiflame" why c.data >why.txt && echo "on a CPU for $share % of the time" && cat why.txt
		awk -v share="$share" '/^bound by one thread, which computes/ { one = 1 } /^bound by (the machine|what is not on a CPU)/ { off = 1 } /make gemm faster/ { gemm = 1 }
			END { exit !(share > 95 ? one && gemm : share < 70 ? off : one && gemm || off) }' why.txt
	}
	check "why says what bounds the program: one thread, or the machine" bound
fi
check "why's JSON has CPU time" sh -c "'$aiflame' why --format json c.data | python3 -c '
import json, sys
w = json.load(sys.stdin)
assert w[\"of\"] == \"cpu\" and w[\"functions\"][0][\"function\"] == \"gemm\" and w[\"threads\"] == 1, w'"
check "annotate: a line, and instructions" sh -c "'$aiflame' annotate '^gemm$' c.data >gemm.txt && grep -qE '% +#+ +cpu_program.c:[0-9]+' gemm.txt && grep -qE '\\+0x[0-9a-f]{4}  ' gemm.txt"
check "annotate: lines of a function that spends its time in others, with what they call" sh -c "'$aiflame' annotate '^step$' c.data >step.txt; cat step.txt; grep -qE '^ *(100\.0|99\.[0-9]) % +#+ +cpu_program.c:[0-9]+' step.txt && grep -qE '^ *[56][0-9.]+ % +#+ +calls gemm$' step.txt && grep -qE '^ *[23][0-9.]+ % +#+ +calls attention$' step.txt"
check "annotate: a function that computes itself has no list of calls" sh -c "! grep -q 'with what they call:' gemm.txt"
check "annotate refuses a function that is not there" says "the one with most is gemm" "$aiflame" annotate nothere c.data
check "the page has CPU time" sh -c "'$aiflame' view -o c.html c.data && [ -s c.html ]"
for format in folded pprof speedscope chrome perfetto firefox otlp sqlite; do
	check "export: $format" sh -c "'$aiflame' export --format $format -o c.$format c.data && [ -s c.$format ]"
done
check "folded text is of CPU time" sh -c "grep -q 'main;train;step;gemm' c.folded"
check "a profile without CPU samples: it is said how to get some" sh -c "'$aiflame' record -q -o none.data true && '$aiflame' report --cpu none.data | grep -q 'record with --cpu'"

# Threads, processes.
check "a program with threads is recorded" sh -c "'$aiflame' record -q --cpu --cpu-clock perf -F 499 -o t.data '$app' 1 threads 4 >t.shares"
check "a program with threads: all of them are sampled" between 4 "$(number t.data 'SELECT count(DISTINCT tid) FROM cpu_samples WHERE stack IS NOT NULL')" 5
check "a program with threads: nearly all of their time is sampled" between 3.4 "$(weight t.data)" 4.3
check "a program with threads: functions have their shares" shares t.data t.shares total_share
check "a program with forked processes is recorded" "$aiflame" record -q --cpu --cpu-clock perf -F 499 -o f.data "$app" 1 forks 3
check "a program with forked processes: all of them are sampled" between 3 "$(number f.data 'SELECT count(DISTINCT process) FROM cpu_samples')" 4
# The parent only waits. On a machine with twice as many busy threads as CPUs that takes up to 0.9 s of CPU time in the kernel, which
# then takes the /proc of an ended process apart while the recorder, without a CPU, has part of it in its hands.
check "a program with forked processes: nearly all of their time is sampled" between 2.6 \
	"$(number f.data 'SELECT sum(weight_ns) / 1e9 FROM cpu_samples WHERE process != (SELECT min(id) FROM processes)')" 3.2
check "a program that a shell starts is recorded" sh -c "'$aiflame' record -q --cpu --cpu-clock perf -o s.data sh -c \"'$app' 1 >s.shares; :\""
check "a program that a shell starts has its functions' shares" shares s.data s.shares total_share
check "a script of short commands ends as it does unrecorded" sh -c "'$aiflame' record --cpu -o n.data sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done' 2>n.screen; ! grep -q ^trouble n.screen"
check "a program that sleeps is recorded" sh -c "'$aiflame' record -q --cpu -o w.data '$app' 3 sleeps >w.shares"
# Of a machine with many busy threads it is held up by these for longer than it sleeps.
not_by_cpu() {
	"$aiflame" why --format json w.data >w.json && python3 -c '
import json
w = json.load(open("w.json"))
d = w["run_delay"]
print(w["bound_by"], w["busiest_ppm"], d)
held_up = d["waited_ns"] >= 0.25 * (d["waited_ns"] + d["ran_ns"]) and d["waited_ns"] + d["ran_ns"] >= 0.5 * w["time_ns"]
assert w["bound_by"] == ["off_cpu"] or held_up and w["bound_by"] == ["machine"]'
}
check "a program that sleeps is bound by what is not on a CPU, or by the machine whose CPUs others had" not_by_cpu

# Others on the one CPU that the program may use: they leave it a third, and its own count of what it waited is what the kernel has.
others=
for i in 1 2; do
	taskset -c 0 sh -c 'while kill -0 $1 2>/dev/null; do :; done' - $$ &
	others="$others $!"
done
cat >shared.py <<'END'
import time
end = time.time() + 3
while time.time() < end:
    sum(range(1000))
print(open("/proc/self/schedstat").read().split()[1])
END
check "a program that shares its CPU is recorded" sh -c "taskset -c 0 '$aiflame' record -q --cpu -o d.data python3 shared.py >waited"
kill $others
held_up() {
	"$aiflame" why --format json d.data >d.json && python3 -c '
import json
w, truth = json.load(open("d.json")), int(open("waited").read())
print(w["bound_by"], w["run_delay"], truth)
assert w["bound_by"] == ["machine"] and abs(w["run_delay"]["waited_ns"] - truth) <= truth / 5'
}
check "why says for how long a program waited for CPUs that others had, as the program counts it" held_up
check "why says that the machine was busy while a program shared its CPU" sh -c "'$aiflame' why d.data >d.txt; cat d.txt; grep -qE '^bound by the machine, whose CPUs others had: ' d.txt && grep -qE '^machine  busy: [0-9]+ threads? waited ' d.txt"

# One other that is nicer by six has a fifth of the CPU: the program is what there is to make faster.
beside_nicer() {
	taskset -c 0 nice -n 6 sh -c 'while kill -0 $1 2>/dev/null; do :; done' - $$ &
	taskset -c 0 "$aiflame" record -q --cpu -o n.data python3 shared.py >waited
	kill $!
	wait $! || true
}
metered beside_nicer
on_calm "why says that one thread is the bound while another program has a fifth of its CPU" sh -c "'$aiflame' why n.data >n.txt; cat n.txt waited; grep -q '^bound by one thread, which computes: ' n.txt"

# Python.
python=$(python3 -c 'import sys; print(sys.executable)')
check "a Python program is recorded" sh -c "'$aiflame' record --cpu --cpu-clock perf -F 999 -o p.data '$python' '$here/cpu_program.py' 3 >p.shares 2>p.screen"
check "a Python program's functions have their shares" shares p.data p.shares total_share
check "the interpreter's own functions stand for Python's" shares p.data p.shares self_share
check "the summary has a Python program's functions" grep -qE '^function +[56][0-9.]+ % +gemm \(cpu_program.py\)' p.screen
check "why names a Python function's file once" sh -c "'$aiflame' why p.data | grep -qE '^function +[0-9.]+ % +gemm \(cpu_program.py:[0-9]+\)$'"
check "annotate: lines" sh -c "'$aiflame' annotate '^gemm' p.data | grep -qE '% +#+ +cpu_program.py:[0-9]+'"

# Two sides.
for i in 1 2 3; do
	"$aiflame" record -q --cpu --cpu-clock perf -o "a$i.data" "$app" 0.4 >/dev/null
	"$aiflame" record -q --cpu --cpu-clock perf -o "b$i.data" "$app" 0.8 >/dev/null
done
check "diff: twice the CPU time is more" sh -c "'$aiflame' diff a1.data,a2.data,a3.data b1.data,b2.data,b3.data >d.txt; cat d.txt; grep -E 'CPU time .* more' d.txt && grep -E 'more time +more CPU time: .* gemm < step < train' d.txt"
check "gate: by time and CPU time" sh -c "'$aiflame' gate a1.data,a2.data,a3.data b1.data,b2.data,b3.data >g.txt; [ \$? = 3 ] && grep -q '^exceeded *cpu' g.txt && ! grep -q device g.txt"
check "gate: a budget of CPU time" status_is 3 "$aiflame" gate --budget 'cpu +10%' a1.data,a2.data,a3.data b1.data,b2.data,b3.data

# Another user, without privileges.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$aiflame"; then
	chmod 777 . && mkdir -m 777 user
	check "an ordinary user's program is recorded" setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$PWD/user" XDG_STATE_HOME="$PWD/user" "$aiflame" record -q --cpu -o user/u.data "$app" 1
	check "an ordinary user's program has its functions' shares" between 0.9 "$(weight user/u.data)" 1.1
else
	skip "without privileges" "the other cases have none"
fi

# Usage.
check "--cpu without a rate is refused" status_is 2 "$aiflame" record --cpu -F 0 true
done_testing
