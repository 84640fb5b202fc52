#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --cpu: CPU time that is hard to sample. The program measures its functions' shares.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_hard

number() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }
# shares FILE MEASURED POINTS: each function of MEASURED has its share of their sum, with what it calls, within so many points.
shares() {
	"$aiflame" report --cpu --limit 0 --format csv "$1" | python3 -c "
import csv, sys
rows = {r['function']: r for r in csv.DictReader(sys.stdin)}
want = {name: float(share) for name, share in (line.split() for line in open('$2'))}
all = sum(float(rows[name]['total_share']) for name in want)
for name, share in want.items():
    have = 100 * float(rows[name]['total_share']) / all
    print(name, share, have)
    assert abs(have - share) <= $3"
}
# all_rooted FOLDED: burn() is there, and always with all that is around it.
all_rooted() {
	awk '/;burn / { all++; if (/^(main;([^;]*;)?raises;.*raise.*;in_handler|fiber;fiber_step);burn /) good++ }
		END { exit !all || good != all }' "$1"
}
# Rows without a stack are not of any.
heaviest() {
	number "$1" "SELECT max(weight_ns) FROM cpu_samples WHERE stack NOT IN
		(SELECT s.id FROM stacks s JOIN frames f ON f.id = s.frame WHERE f.kind = 'mark')"
}

# Time in the OS kernel. Of 600 samples a share of a half is known to within 4 points (twice the standard error).
for clock in perf tick; do
	for kind in call faults; do
		check "$kind, --cpu-clock $clock" sh -c "'$aiflame' record -q --cpu -F 499 --cpu-clock $clock -o $kind-$clock.data '$app' $kind 3 >$kind.shares 2>$kind-$clock.switches"
		# Page faults are known by the kernel's accounts only, which are a tick behind: ticks in user code that
		# comes each millisecond after as much of faults are taken for such, one of eight.
		points=10
		[ $kind = call ] || points=25
		check "$kind, --cpu-clock $clock: time in the OS kernel is of who called it" shares "$kind-$clock.data" "$kind.shares" $points
	done
	check "--cpu-clock $clock: a system call has a leaf" sh -c "'$aiflame' flame --of cpu --detail full -o f.folded call-$clock.data && grep -qE ';in_call;.*;\[kernel\]_\[k\] ' f.folded"
	for case in handler own_stack fiber; do
		check "$case, --cpu-clock $clock" "$aiflame" record -q --cpu --cpu-clock $clock -o $case.data "$app" $case
		"$aiflame" flame --of cpu -o $case.folded $case.data
		cat $case.folded
		check "$case, --cpu-clock $clock: all frames are there" all_rooted $case.folded
	done
	# Where others take the CPU, a period is what ticks reach there, at most eight of them; two of them for a few times a second.
	tick=$(python3 -c 'import time; print(round(time.clock_getres(6) * 1e9))') # CLOCK_MONOTONIC_COARSE
	most=$((6 * tick + 3000000))
	[ "$(cat call-$clock.switches)" -lt 20 ] || most=$((24 * tick + 6000000))
	check "--cpu-clock $clock: no sample weighs more than three periods" sh -c "[ $(heaviest call-$clock.data) -le $most ]"
done

check "a thread that blocks signals" "$aiflame" record -q --cpu -o blocks.data "$app" blocks 0.6
check "a thread that blocks signals is counted" says CPU_THREAD_BLOCKS "$aiflame" info blocks.data
check "a recursion of 3,000 calls" "$aiflame" record -q --cpu -o deep.data "$app" deep 1
check "a recursion of 3,000 calls: stacks that are cut are counted" says STACK_DEEP "$aiflame" info deep.data
# adds_up FILE: the profile's CPU time is what getrusage() has, but for 1 % below and, on a busy machine, some ms above
adds_up() {
	number "$1" "SELECT (sum(weight_ns) + (SELECT value FROM meta WHERE key = 'cost.helper_cpu_ns')) || ' ' ||
		(SELECT value FROM meta WHERE key = 'cost.target_cpu_ns') FROM cpu_samples" >sums
	cat sums
	awk '{ exit !($1 > 0.99 * $2 && $1 < 1.02 * $2 + 60e6) }' sums
}
for clock in perf tick; do
	check "threads of 5 ms, --cpu-clock $clock" sh -c "'$aiflame' record -q --cpu --cpu-clock $clock -o short.data '$app' short 1.5 >short.ms"
	check "threads of 5 ms, --cpu-clock $clock: all CPU time is in the profile" adds_up short.data
done
# Threads that leave the CPU often need no perf_event, which costs each time; a thread that computes has one.
events() { find "/proc/$recorder/fd" -lname 'anon_inode:\[perf_event\]' 2>/dev/null | wc -l; }
until_events() { # NUMBER: the recorder has so many
	until [ "$(events)" = "$1" ]; do kill -0 "$recorder" || return 1; sleep 0.02; done
}
if [ "$(uname -m)" = x86_64 ] && "$aiflame" record -q --cpu --cpu-clock perf -o perf.data true 2>/dev/null && ! "$aiflame" info perf.data | grep -q CPU_NO_PERF; then
	"$aiflame" record -q --cpu -o switches.data "$app" switches >switches.ms &
	recorder=$!
	check "three threads that compute: each has an event" until_events 3
	touch go
	check "two threads that wait for each other: their events are closed" until_events 1
	touch stop
	check "threads that leave the CPU often" wait "$recorder"
	check "threads that leave the CPU often: all CPU time is in the profile" adds_up switches.data
fi
# Programs of some milliseconds have ended before they are sampled.
cat >short.sh <<'END'
i=0
while [ $i -lt 60 ]; do
	head -c 100000 /dev/zero | cksum >/dev/null
	i=$((i + 1))
done
END
check "short programs" "$aiflame" record -q --cpu -o programs.data sh short.sh
check "short programs: CPU time without samples is counted" says CPU_UNSAMPLED "$aiflame" info programs.data
# Python's deep recursions, whose frames lie in several pieces of memory.
cat >rec.py <<'END'
import sys, time
sys.setrecursionlimit(3000)
def turn(n):
    x = 0
    for i in range(n):
        x += i * i
    return x
def rec(n):
    if n:
        return rec(n - 1) + 1
    began = time.process_time()
    while time.process_time() - began < 0.3:
        turn(2000)
    return 1
for _ in range(3):
    rec(900)
END
# whole FOLDED: turn() is there, nearly always below 901 calls of rec(): a sample may come as a frame is made.
whole() {
	awk '/;turn \(/ { all += $NF; if (gsub(/;rec \(/, ";") == 901 && !/truncated/) good += $NF } END { print good, all; exit !all || good < 0.97 * all }' "$1"
}
for python in /usr/bin/python3 python3; do
	"$python" -c 'import sys; assert (3, 8) <= sys.version_info[:2] <= (3, 14)' 2>/dev/null || continue
	version=$("$python" -V)
	check "$version: a recursion of 900 calls" "$aiflame" record -q --cpu -o rec.data "$python" rec.py
	"$aiflame" flame --of cpu --detail full -o rec.folded rec.data
	check "$version: a recursion of 900 calls has all of its frames" whole rec.folded
done
done_testing
