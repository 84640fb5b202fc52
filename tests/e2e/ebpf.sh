#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --ebpf: does it agree with perf, with what programs measure themselves, and with what they did?
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/ebpf_app
here=$root/tests/e2e
# `ctl status` lists all recordings of the runtime directory, those of tests beside this one included.
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"

if ! "$aiflame" record -q --ebpf -o x.data true >x.out 2>&1 && grep -q -- '--ebpf:' x.out; then
	skip "BPF programs sample the CPUs of a command" "$(sed 's/^aiflame: //' x.out | head -1)"
	done_testing
	exit
fi
# number FILE SQL: one value
number() {
	"$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'
}
# between LOW VALUE HIGH
between() {
	awk -v a="$1" -v x="$2" -v b="$3" 'BEGIN { print a, "<=", x, "<=", b; exit !(a <= x && x <= b) }'
}
# sum_of FILE RE: what stacks that match add up to
sum_of() {
	awk -v re="$2" '$0 ~ re { n += $NF } END { printf "%.6f\n", n / 1e9 }' "$1"
}
is_announced() {
	"$aiflame" ctl status 2>/dev/null | grep -q "$1"
}

# Against perf, which samples the same run.
agrees_with_perf() { # for longer where the program has a CPU for little of the time
	for seconds in 4 16 60; do
		"$aiflame" record -q --ebpf -F 997 -o k.data perf record -q -B -g -e cpu-clock -F 1307 -o perf.data "$app" calls $seconds >/dev/null &&
			"$aiflame" flame --of cpu --by-thread no --by samples --detail full -o k.folded k.data &&
			perf script -i perf.data -F comm,ip,sym,dso >perf.txt 2>/dev/null || return
		python3 "$here/ebpf_compare.py" k.folded perf.txt ebpf_app
		status=$?
		[ $status = 3 ] || return $status
	done
	return 1
}
if perf record -q -B -g -e cpu-clock -o perf.data true >/dev/null 2>&1; then
	check "OS kernel functions have the shares that perf record -g gives them" agrees_with_perf
else
	skip "OS kernel functions have perf's shares" "perf does not work here"
	"$aiflame" record -q --ebpf -F 997 -o k.data "$app" calls 4
	"$aiflame" flame --of cpu --by-thread no --by samples --detail full -o k.folded k.data
fi
# libc's functions keep no frame pointer: their caller is passed over.
check "stacks have the program's part in front, the OS kernel's behind" grep -qE \
	'main;calls;[^;]*read;(entry_SYSCALL|el0)[^;]*_\[k\];.*vfs_read_\[k\]' k.folded
check "stacks along frame pointers are marked as that" grep -q '^\[frame pointers' k.folded
check "the picture has the OS kernel's colour" sh -c "'$aiflame' flame --of cpu -o k.svg k.data && grep -q 'OS kernel' k.svg"
check "SQL has frames of the OS kernel" between 5 "$(number k.data "SELECT count(*) FROM frames JOIN frame_names ON frame = id WHERE kind = 'os'")" 100000
check "record --ebpf records the command and its children only" sh -c "! '$aiflame' query k.data 'SELECT cmdline FROM processes' | grep -q kworker"

# All of the CPU time, once. The agent has taken none of it: there is no runtime.
cpu_time_is_all_there() {
	"$aiflame" record -q --ebpf -F 997 -o c.data "$app" burn 2 &&
		between 1.8 "$(number c.data 'SELECT sum(weight_ns) / 1e9 FROM cpu_samples')" 2.3
}
check "CPU time by BPF is what the program used" cpu_time_is_all_there
# Where the agent samples, nobody else does.
agent_alone() {
	"$aiflame" record -q --ebpf -F 499 -o a.data "$build/tests/e2e/cpu_app" shares 3 >shares &&
		"$aiflame" flame --of cpu --by-thread no -o a.folded a.data &&
		used=$(sed -n 's/^sum //p' shares) &&
		between "$(awk "BEGIN { print 0.9 * $used }")" "$(number a.data 'SELECT sum(weight_ns) / 1e9 FROM cpu_samples')" \
			"$(awk "BEGIN { print 1.1 * $used + 0.2 }")" &&
		between 0 "$(sum_of a.folded '^.frame pointers.*shares')" 0.3
}
check "a process that its agent samples is not counted twice by BPF" agent_alone

# Off CPU.
sleeps() {
	"$aiflame" record -q --ebpf --off-cpu -o s.data "$app" sleep >said &&
		"$aiflame" flame --of off-cpu -o s.folded s.data &&
		read -r least most shortest longest <said &&
		between "$least" "$(sum_of s.folded 'nanosleep.*off CPU]')" "$most"
}
check "time off CPU is as long as the program slept" sleeps
check "each sleep of the program is a row" between 3 "$(number s.data "SELECT count(*) FROM cpu_samples WHERE waiting_ns BETWEEN $shortest AND $longest")" 3
# In one table of 16384 places some 11 of so many stacks have none.
have_stacks() {
	"$aiflame" record -q --ebpf --off-cpu -o w.data "$app" ways 600 && "$aiflame" flame --of off-cpu --detail full -o w.folded w.data &&
		lost=$(number w.data "SELECT coalesce(sum(count), 0) FROM losses WHERE name = 'EBPF_OFF_STACKS'") &&
		kept=$(grep -c 'ways;fork_at;.*nanosleep.*off CPU]' w.folded) && echo "$kept stacks, lost $lost" && [ "$kept" -ge 595 ] && [ "$lost" -le 2 ]
}
check "hundreds of stacks off CPU are all kept" have_stacks
leads_off_cpu() {
	"$aiflame" report s.data >first && grep -q '^cpu .* off CPU.*: .*aiflame flame --of off-cpu s.data$' first && grep -q 'next: .*aiflame flame --of off-cpu s.data' first || { cat first; return 1; }
}
check "the first screen leads to time off CPU" leads_off_cpu
check "time off CPU is no time on CPU" sh -c "! '$aiflame' flame --of cpu -o /dev/stdout --format folded s.data | grep -q 'off CPU'"
check "time off CPU is no waiting for devices" sh -c "! '$aiflame' info s.data | grep -q 'waiting for devices'"
check "without --off-cpu there is no time off CPU" says "record with --ebpf --off-cpu" "$aiflame" flame --of off-cpu -o n.svg c.data
check "--off-cpu alone is refused" status_is 2 "$aiflame" record --off-cpu true

# Who ended it: a sleep ends by a timer. A launching thread that another feeds waits for that.
slept_for_a_timer() {
	by=$(number s.data "SELECT count(*) FROM cpu_samples JOIN stacks AS s ON s.id = waker JOIN frames AS f ON f.id = s.frame
		WHERE waiting_ns BETWEEN $shortest AND $longest AND f.kind = 'os'")
	echo "$by of 3" && [ "$by" = 3 ]
}
check "each sleep has the stack that ended it" slept_for_a_timer
fed() {
	"$aiflame" record -q --ebpf --off-cpu --all-launches --device-rate 0 -o f.data "$build/tests/e2e/idle_app" fed 200 >fed.out &&
		"$aiflame" report --idle --format csv --limit 0 f.data >fed.csv && "$aiflame" why --format json f.data >fed.json &&
		python3 - <<'EOF'
import csv, json, re, sys
said = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", open("fed.out").read())}
# It goes on when it has a CPU, until when it waits, on a busy machine longer than it is fed.
fed, waited = said["fed_ns"], said["waited_ns"]
table = sum(int(r["idle"]) for r in csv.DictReader(open("fed.csv")) if r["waits_for"].startswith("feeder: compute_on_host"))
waits = [w for i in json.load(open("fed.json"))["idle"] for w in i.get("waits_for", [])]
why = sum(w["ns"] for w in waits if w["what"].startswith("feeder: compute_on_host ("))
print(said, "table", table, "why", why)
sys.exit(not (0.8 * fed < table < 1.1 * waited and 0.8 * fed < why < 1.1 * waited))
EOF
}
if [ -x "$build/tests/e2e/idle_app" ]; then
	check "a thread that another feeds waits for that, and for what it does" fed
	check "a thread that another feeds: why says by whom" sh -c "'$aiflame' why f.data | grep -q ', waits for feeder: compute_on_host (idle_app.c'"
	check "a thread that another feeds: why says what to try" says "do faster, or earlier, what its launching thread waits for" "$aiflame" why f.data
	check "a thread that another feeds: the picture has the feeder" sh -c "'$aiflame' flame --of idle --format folded -o - f.data | grep -q ';.idle[a-z ]*: off CPU.;.waits for feeder.;.*compute_on_host'"
else
	skip "a thread that another feeds waits for that" "OpenCL was not there at build time"
fi

# All processes, and those of before.
"$app" burn 600 &
before=$!
whole_machine() {
	"$aiflame" record -q -a --inject never --ebpf -F 499 --name whole --duration 60 -o m.data &
	recorder=$!
	wait_until is_announced whole
	# Each lives for some milliseconds only.
	for _ in $(seq 30); do "$app" burn 0.02; done
	"$aiflame" ctl sync whole
	"$aiflame" ctl stop whole
	wait $recorder
	"$aiflame" flame --of cpu -o m.folded m.data
}
check "record -a --ebpf records the whole machine" whole_machine
check "a process that ran before record -a has its functions" grep -qE 'ebpf_app;main;burn' m.folded
one_of_before() {
	between 0.1 "$(number m.data "SELECT sum(weight_ns) / 1e9 FROM cpu_samples JOIN processes ON processes.id = process WHERE pid = $before")" 100
}
check "a process that ran before record -a was sampled" one_of_before
# With 30 that live for 20 ms each, most have samples.
check "record -a tells short-lived processes apart" between 10 "$(number m.data "SELECT count(*) FROM processes WHERE cmdline LIKE '%burn 0.02%' OR exe LIKE '%ebpf_app'")" 100
unnamed() {
	awk '/;ebpf_app/ { all += $NF } /;ebpf_app;.*\[ebpf_app\+0x/ { bad += $NF } END { print bad + 0, "of", all; exit !(all && bad < all / 20) }' m.folded
}
check "record -a: short-lived processes have names" unnamed
kill $before
wait $before 2>/dev/null

# Launches of programs that carry no agent.
launches() {
	"$app" launch 300 >launch.out &
	target=$!
	wait_until grep -q ready launch.out
	if [ "$1" = all ]; then set -- -a; else set -- -p $target; fi
	"$aiflame" record -q --ebpf "$@" -o l.data &
	recorder=$!
	wait_until is_announced l.data
	kill -USR1 $target
	wait_until grep -q 'done' launch.out
	"$aiflame" ctl sync l.data
	kill $recorder # in the background of a script SIGINT is ignored
	wait $recorder
	kill $target
	wait $target 2>/dev/null
	"$aiflame" flame --by launches -o l.folded l.data
}
for how in one all; do
	check "launches of a program that runs already ($how)" launches $how
	check "launches of a program that runs already ($how): each is there" between 1200 "$(number l.data "SELECT count(*) FROM launches JOIN processes ON processes.id = process WHERE pid = $target")" 1200
	check "launches of a program that runs already ($how) have their caller, which is on no frame pointer's way" \
		sh -c "grep -qE 'main;launch;train_step;cuLaunchKernel;.unknown kernel._.g. 600$' l.folded && grep -qE 'launch;infer;cuLaunchKernel;.unknown kernel._.g. 300$' l.folded"
	led_to() {
		"$aiflame" report l.data >first && grep -q '^launches 1,200, times not known, as they were seen from outside.*: aiflame flame --by launches l.data$' first &&
			! grep 'nothing was executed' first && says "launches without times" "$aiflame" flame -o l2.folded l.data && cmp l.folded l2.folded
	}
	# Of other programs with -a, there may be times, too.
	[ $how = all ] || check "launches of a program that runs already ($how): the first screen leads to them" led_to
	check "launches of Level Zero in a program that runs already are there" grep -qE 'launch;infer;zeCommandListAppendLaunchKernel;.unknown kernel._.g. 300$' l.folded
done
# With -a those of other programs, too.
check "launches without the agent are counted apart" sh -c "'$aiflame' info l.data | grep -qE 'seen from outside.* [1-9][0-9,]*,[0-9]' && '$aiflame' info l.data | grep -q 'everything adds up'"

# Without privileges it says which. Nobody may look into root's directories.
mkdir open && chmod 777 open && chmod 711 . && cp "$aiflame" "$build/src/agent/libaiflame-agent.so" open
check "refusals of BPF are said with what helps" says "CAP_BPF and CAP_PERFMON" setpriv --reuid=65534 --regid=65534 --clear-groups \
	env AIFLAME_AGENT="$work/open/libaiflame-agent.so" open/aiflame record --ebpf -o open/x.data true
done_testing
