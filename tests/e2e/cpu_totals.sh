#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --cpu: the profile's CPU time is what the operating system counted of the command and what it started, from their
# beginnings to their ends, in every view.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_app
threads=$build/tests/e2e/cpu_threads

number() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }
meta() { number "$1" "SELECT value FROM meta WHERE key = '$2'"; }
# marked FILE MARK: ns of CPU time on that mark
marked() {
	number "$1" "SELECT coalesce(sum(weight_ns), 0) FROM cpu_samples WHERE stack IN
		(SELECT s.id FROM stacks s JOIN frames f ON f.id = s.frame JOIN strings t ON t.id = f.address
			WHERE f.kind = 'mark' AND t.text = '$2')"
}
profile() { number "$1" 'SELECT sum(weight_ns) FROM cpu_samples'; }
# adds_up FILE: what the profile has and the agent's threads are no more than 1 % below getrusage(). On a busy machine time in the OS
# kernel was seen twice, as that of a system call and as CPU_UNKNOWN, by up to 50 ms.
adds_up() {
	awk -v profile="$(profile "$1")" -v agent="$(meta "$1" cost.helper_cpu_ns)" -v all="$(meta "$1" cost.target_cpu_ns)" 'BEGIN {
		print profile, agent, all; d = profile + agent - all; exit !(all > 0 && d < 0.02 * all + 60e6 && d > -0.0101 * all) }'
}
# mostly_known FILE PERCENT: so much is of the processes' own samples and clocks
mostly_known() {
	awk -v not="$(marked "$1" '[not sampled]')" -v all="$(meta "$1" cost.target_cpu_ns)" -v least="$2" 'BEGIN {
		print not, all; exit !(not <= (100 - least) / 100 * all) }'
}
# recorded NAME WHAT COMMAND...
recorded() {
	name=$1 what_it_is=$2
	shift 2
	check "$what_it_is is recorded" "$aiflame" record -q --cpu -o "$name.data" "$@"
	check "the CPU time of $what_it_is is what getrusage() says" adds_up "$name.data"
}

if ! "$aiflame" record -q --cpu --cpu-clock tick -o none.data true 2>refused; then
	skip "the profile's CPU time is what getrusage() says" "CPU time in the OS kernel is not sampled here"
	done_testing
	exit 0
fi

recorded short "a program of 50 ms" dd if=/dev/zero of=/dev/null bs=512 count=100000
recorded second "a program of one second" "$app" shares 1
check "a program of one second: nearly all of it is of the program's own clocks" mostly_known second.data 95
check "a program of one second: what the program used before it was sampled stands apart" [ "$(marked second.data '[before sampling]')" -gt 0 ]
recorded ended "a program of 2 ms" /bin/true
check "a program that was over before it was sampled stands as not sampled" [ "$(marked ended.data '[not sampled]')" -gt 0 ]
recorded threads "a program with threads of 5 ms" "$threads" 5 1
check "threads of 5 ms: nearly all of it is of the program's own clocks" mostly_known threads.data 95
recorded forks "a shell that starts short programs" sh -c 'for i in 1 2 3; do head -c 30000000 /dev/zero | cksum; done'
# What a program used before it became another is counted once.
recorded exec "a shell that becomes another program" sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exec dd if=/dev/zero of=/dev/null bs=512 count=200000'

# views FILE: all that sum CPU time have the same
views() {
	"$aiflame" flame --of cpu -o "$1.folded" "$1" && "$aiflame" report --cpu --limit 0 --format csv "$1" >"$1.csv" &&
		awk -v all="$(profile "$1")" '{ n += $NF } END { print n, all; exit n != all }' "$1.folded" &&
		python3 -c "
import csv
all, before, rows = $(profile "$1"), $(marked "$1" '[before sampling]') + $(marked "$1" '[after sampling]') + $(marked "$1" '[not sampled]'), list(csv.DictReader(open('$1.csv')))
none = $(number "$1" 'SELECT coalesce(sum(weight_ns), 0) FROM cpu_samples WHERE stack IS NULL')
print(sum(int(r['self']) for r in rows), before, none, all)
assert sum(int(r['self']) for r in rows) + before + none == all"
}
check "the flame graph and the table of functions have the same CPU time" views second.data
# interval FILE: half of the 95 % interval, 98 points by the root of the number of samples
interval() {
	"$aiflame" report --cpu "$1" | head -1 | tr -d , >interval.out
	sed -n 's/.* \([0-9]*\) samples* (a share of 50 % is known to \([0-9.]*\) points at best).*/\1 \2/p' interval.out |
		awk '{ wanted = 98 / sqrt($1); wanted = wanted > 50 ? 50 : wanted; good = $2 > 0.94 * wanted && $2 < 1.06 * wanted } END { exit !good }' || { cat interval.out; return 1; }
}
check "the table of functions says how exactly shares are known" interval second.data
check "the table of functions says what is of no function" says 'of it before and after samples, of no function' "$aiflame" report --cpu second.data
check "the summary says how much of the CPU time is before and after samples" says "before threads' first samples and after their last" "$aiflame" report second.data
check "time before the first sample is no function" sh -c "! '$aiflame' report --cpu --limit 0 second.data | grep -F '[before'"
check "time before the first sample is no sample" [ "$("$aiflame" flame --of cpu --by samples -o - --format folded second.data | grep -cF '[before')" = 0 ]

# A process that is attached to: what it used before is none of the recording.
AIFLAME_STANDBY=$work/standby
export AIFLAME_STANDBY
(eval "$("$aiflame" env)" && exec "$app" shares 6 >/dev/null) &
attached=$!
used() { awk '{ print ($14 + $15) * 10 }' "/proc/$attached/stat"; }
has_used() { # MS
	until [ "$(used)" -ge "$1" ]; do kill -0 $attached || return 1; sleep 0.05; done
}
check "a process has used 2 s before it is attached to" has_used 2000
before=$(used)
check "a process is attached to" "$aiflame" record -q --cpu -p $attached -o attached.data --duration 1
after=$(used)
check "an attached process: what it used before is not in the profile" \
	awk -v profile="$(profile attached.data)" -v ms=$((after - before)) 'BEGIN { print profile / 1e6, ms; exit !(profile > 0 && profile / 1e6 <= ms + 50) }'
kill $attached 2>/dev/null
wait $attached 2>/dev/null
done_testing
