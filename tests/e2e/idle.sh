#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why devices are idle: report --idle and flame --of idle, against a program that knows it.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/idle_app
[ -x "$app" ] || { echo "1..0 # SKIP OpenCL was not there at build time"; exit 0; }

record() { "$aiflame" record -q --all-launches --cpu-clock perf -F 999 --device-rate 0 -o idle.data "$app" 200 >idle.out; }
truth() { sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" idle.out; }
# blamed CAUSES FUNCTION: ns of these causes (a regular expression) on stacks with the function
blamed() {
	python3 - "$1" "$2" <<'EOF'
import csv, re, sys
rows = csv.DictReader(open("idle.csv"))
print(sum(int(r["idle"]) for r in rows if re.fullmatch(sys.argv[1], r["cause"]) and sys.argv[2] in r["stack"]))
EOF
}
# near WHAT CAUSES FUNCTION: the time that the program says, to four standard errors of 999 samples a second of it
near() {
	is=$(blamed "$2" "$3") was=$(truth "$1")
	awk -v a="$is" -v b="$was" 'BEGIN { e = b > 0 ? 4 / sqrt(999e-9 * b) : 0; printf "%d ns, truly %d, +-%.0f %%\n", a, b, 100 * e
		exit !(b > 0 && a >= (1 - e) * b && a <= (1 + e) * b) }'
}
agrees() {
	record && "$aiflame" report --idle --format csv --limit 0 idle.data >idle.csv &&
		near compute_ns 'on CPU' compute_on_host && near compile_ns 'compile|on CPU' compile_on_host && near off_ns 'off CPU|no CPU|host' main
}
check "the right function is to blame for what it did while the device was idle" agrees
sums() {
	idle=$(python3 -c 'import csv; print(sum(int(r["idle"]) for r in csv.DictReader(open("idle.csv"))))')
	whole=$("$aiflame" query --format csv idle.data 'SELECT sum(idle_ns) FROM device_times' | tail -n 1 | tr -d '\r')
	drawn=$("$aiflame" flame --of idle -o - --format folded idle.data | awk '{ n += $NF } END { printf "%.0f", n }')
	gaps=$("$aiflame" report --gaps --format csv --limit 0 idle.data | python3 -c 'import csv, sys; print(sum(int(r["idle"]) for r in csv.DictReader(sys.stdin)))')
	echo "$idle $whole $drawn $gaps"
	[ "$idle" = "$whole" ] && [ "$idle" = "$drawn" ] && [ "$idle" = "$gaps" ]
}
check "table, picture, single gaps and SQL have the same idle time" sums
by_caller() {
	"$aiflame" report --idle --by caller --format csv --limit 0 idle.data >caller.csv && python3 - <<'END'
import collections, csv
by = [collections.Counter(), collections.Counter()]
rows = [list(csv.DictReader(open(f))) for f in ("idle.csv", "caller.csv")]
for of, sums in zip(rows, by):
    for r in of:
        sums[r["process"], r["cause"], r["caller"]] += int(r["idle"])
print([len(of) for of in rows], by[0] - by[1], by[1] - by[0])
assert by[0] == by[1] and len(rows[1]) == len(by[1]) <= len(rows[0]) and not any(r["stack"] for r in rows[1])
END
}
check "report --idle --by caller has one row for each cause and caller, with the time of all its stacks" by_caller
check "flame --of idle has the causes" sh -c "'$aiflame' flame --of idle -o idle.svg idle.data && grep -q 'idle in [0-9]* gaps: ' idle.svg && grep -q '\[idle: on CPU\]' idle.svg"
check "flame --of idle --focus shows the stacks with the function alone" sh -c "'$aiflame' flame --of idle --focus compile_on_host -o - --format folded idle.data >focus.folded && ! grep -v compile_on_host focus.folded"
check "flame --of idle refuses units of work" status_is 2 "$aiflame" flame --of idle --by launches idle.data
check "report --idle of 0.1 s has at most that much idle time" sh -c "[ \$('$aiflame' report --idle --time 0.5,0.6 --format csv --limit 0 idle.data | python3 -c 'import csv, sys; print(sum(int(r[\"idle\"]) for r in csv.DictReader(sys.stdin)))') -le 100000000 ]"
# ---- a server without requests
serve() {
	"$aiflame" record -q --wall --all-launches -F 999 --device-rate 0 -o idle.data "$app" serve 100 >idle.out &&
		"$aiflame" report --idle --format csv --limit 0 idle.data >idle.csv && near demand_ns 'no demand' wait_for_request
}
check "a server that waits for requests has no demand" serve
check "a server without demand: table, picture, single gaps and SQL have the same idle time" sums
check "a server without demand: info says that the causes add up" says "the causes add up on each device" "$aiflame" info idle.data
check "a server without demand: why says that nothing bounds it" says "bound by nothing to do: for " "$aiflame" why idle.data
check "a server without demand: why says that it has no loop" says "loop     none, but " "$aiflame" why idle.data
# The recorder sees from outside in what it waits, and where; what it waits for a CPU is none of that.
outside() {
	"$aiflame" record -q --all-launches --device-rate 0 -o idle.data "$app" serve 300 >idle.out &&
		"$aiflame" report --idle --format csv --limit 0 idle.data >idle.csv || return
	is=$(blamed 'no demand' '') was=$(truth demand_ns) there=$(blamed 'no demand' wait_for_request)
	[ "$((2 * there))" -ge "$is" ] || { echo "$there ns of $is in wait_for_request"; return 1; }
	echo "$is ns, truly $was"
	awk -v a="$is" -v b="$was" 'BEGIN { exit !(a >= 0.5 * b && a <= 1.15 * b) }'
}
check "a server without demand is told by looks from outside, with its line" outside
check "a server without demand, seen from outside: all have the same idle time" sums
check "a server without demand, seen from outside: why says in which call it waits" says "and nothing computes: in accept" "$aiflame" why idle.data
check "a server without demand, seen from outside: why's JSON has the call in which it waits" says '"seen":"in accept"' "$aiflame" why --format json idle.data
no_stacks() {
	kept=$("$aiflame" query --format csv idle.data "SELECT count(*) FROM cpu_samples JOIN stacks ON stacks.id = stack JOIN frames ON frames.id = frame WHERE waiting_ns AND frames.kind = 'mark'" | tail -1 | tr -d '\r')
	echo "$kept rows"
	[ "$kept" = 0 ] && ! "$aiflame" flame --of off-cpu -o - --format folded idle.data | grep -q seen
}
check "a server without demand, seen from outside: no view of CPU time has what was seen" no_stacks
# A machine whose CPU another program has, too: what the program loses by that is none of its own.
busy() {
	taskset -c 0 sh -c 'while :; do :; done' &
	hog=$!
	taskset -c 0 "$aiflame" record --all-launches --device-rate 0 -o idle.data "$app" 100 >idle.out 2>summary
	status=$?
	kill "$hog"
	wait "$hog" 2>/dev/null
	"$aiflame" report --idle --format csv --limit 0 idle.data >idle.csv && "$aiflame" why idle.data >why.txt || return
	cat summary why.txt
	# It sleeps 300 ms; all the rest of the time off CPU it had none.
	is=$(blamed 'no CPU' '') was=$(($(truth off_ns) - 300000000))
	echo "$is ns, truly $was or more"
	[ "$status" = 0 ] && [ "$was" -gt 0 ] && [ "$is" -ge $((was / 2)) ] &&
		grep -qE '^ +the machine was busy: 1 thread waited [^ ]* m?s for a CPU, [0-9.]+ % of the time that it could have run$' summary &&
		grep -q '^machine  busy: 1 thread waited ' why.txt && grep -q ' a busy machine [0-9.]* %' why.txt
}
if taskset -c 0 true 2>/dev/null; then
	check "a busy machine is told from a slow program" busy
	check "a busy machine: table, picture, single gaps and SQL have the same idle time" sums
else
	skip "a busy machine is told from a slow program" "taskset is not there, or CPU 0 is not ours"
fi
plain='env --' # without CAP_SYS_PTRACE
[ "$(id -u)" != 0 ] || plain='setpriv --bounding-set=-sys_ptrace'
hidden() {
	$plain "$aiflame" record -q --all-launches --device-rate 0 -o idle.data "$app" hide serve 50 >idle.out 2>record.err && "$aiflame" report --idle idle.data >idle.txt || return
	cat idle.txt
	# Where perf is refused, too, no thread is looked at.
	"$aiflame" info idle.data | grep -E 'not seen what launching threads wait for: .*refused|no CPU samples: perf_event is refused, process' && ! grep -q 'no demand' idle.txt
}
if $plain true 2>/dev/null; then
	check "a process that cannot be looked into is said to be so" hidden
else
	skip "a process that cannot be looked into is said to be so" "setpriv is not there"
fi
unseen() {
	"$aiflame" record -q --all-launches --calls off --cpu-clock perf -F 999 --device-rate 0 -o idle.data "$app" serve 50 >idle.out && "$aiflame" report --idle idle.data >idle.txt || return
	cat idle.txt
	grep -q 'off CPU' idle.txt && ! grep -q 'no demand' idle.txt
}
check "a wait that nothing shows is off CPU and no more" unseen
"$aiflame" record -q -o none.data true 2>/dev/null
check "report --idle of a profile without device work is empty" sh -c "'$aiflame' report --idle none.data | grep -q '^no idle time'"
check "flame --of idle of a profile without device work ends with 1" status_is 1 "$aiflame" flame --of idle -o none.svg none.data
done_testing
