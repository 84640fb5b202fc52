#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record -p PID --cpu and -a --cpu of programs that nobody prepared: sampled from outside, by perf_event.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/stacks_app
no_perf=$build/tests/e2e/no_perf
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
mkfifo in

if ! python3 - <<'END'
import ctypes, sys
attr = (ctypes.c_uint32 * 32)(1, 128)  # PERF_TYPE_SOFTWARE; cpu-clock
attr[10] = 1 << 5 | 1 << 6             # in user code
sys.exit(ctypes.CDLL(None).syscall(298 if sys.maxsize and __import__("platform").machine() == "x86_64" else 241, attr, 0, -1, -1, 0) < 0)
END
then
	skip "programs without the agent are sampled" "perf_event is refused"
	done_testing
fi

"$app" threads <in >app.out &
pid=$!
exec 7>in
wait_until grep -q ready app.out
# recorded NAME OPTION...: until the profile so far has a hundred samples of the program
recorded() {
	data=$1
	shift
	env --default-signal=INT "$aiflame" record -q --cpu --name "$data" -o "$data.data" "$@" 2>"$data.err" &
	recorder=$!
	wait_until in_file "$data" "SELECT count(*) >= 100 FROM cpu_samples c JOIN processes p ON p.id = c.process JOIN stacks s ON s.id = c.stack
		JOIN frames f ON f.id = s.frame WHERE f.function = 'add_up'" || cat "$data.err"
	kill -INT $recorder
	wait $recorder
}
# is FILE SQL: what the profile holds fulfils it
is() { [ "$("$aiflame" query --format csv "$1" "$2" | tail -n 1)" = 1 ]; }
stack="cpu_samples c JOIN stacks s ON s.id = c.stack JOIN frames f ON f.id = s.frame"

check "a program without the agent is recorded by its number" recorded p -p $pid
check "nearly all of its samples are in the function that computes" is p.data \
	"SELECT sum(f.function = 'add_up') >= 0.9 * count(*) FROM $stack WHERE f.kind <> 'os'"
check "stacks of a program without the agent reach the thread's start" is p.data \
	"SELECT sum(s.flags = 0) >= 0.99 * count(*) FROM cpu_samples c JOIN stacks s ON s.id = c.stack"
check "callers stand below: add_up() was called by computer()" sh -c "'$aiflame' flame --of cpu --format folded -o - p.data | grep -q 'computer;add_up '"
check "the summary speaks of CPU time" says "on CPU in 1 thread" "$aiflame" record --cpu -p $pid --duration 1 -o q.data
idle() {
	sleep 1000 &
	wait_until grep -q '^State:.*S' /proc/$!/status && wait_until grep -qx sleep /proc/$!/comm &&
		says "cpu      none: what was recorded used no CPU meanwhile" "$aiflame" record --cpu -p $! --inject never --duration 0.5 -o idle.data &&
		! grep 'nothing was executed' says.out
	got=$?
	kill $!
	return $got
}
check "the summary says of a program that only waits that it used no CPU" idle
check "report --cpu shows the function with its line" says "stacks_app.c:" "$aiflame" report --cpu p.data
check "without --cpu it is said what would do" says "does not carry the agent; start it with the variables that \`aiflame env\` prints, or use \`aiflame record\` with --cpu" \
	"$aiflame" record -p $pid --inject never -o r.data
check "where perf_event is refused it is said, with the way out" says "perf_event may not sample it from outside; record as root" \
	"$no_perf" "$aiflame" record --cpu -p $pid --inject never -o r.data
check "where perf_event is refused nothing is recorded" status_is 125 "$no_perf" "$aiflame" record --cpu -p $pid --inject never -o r.data
check "all processes are recorded with -a, each under its name" recorded a -a --inject never
check "the program is among all processes" sh -c "'$aiflame' flame --of cpu --format folded -o - a.data | grep -q 'computer;computer;add_up '"

# delay TID: ns that a thread has waited for a CPU, ever
delay() { awk '{ print $2 }' /proc/$pid/task/$1/schedstat; }
# starved: the profile of threads that another program keeps from their CPU has what they waited, by the kernel's count
starved() {
	cpu=$(taskset -cp $pid | sed -E 's/.*: *([0-9]+).*/\1/')
	taskset -acp "$cpu" $pid >/dev/null
	busiest=$(for t in /proc/$pid/task/*; do echo "$(awk '{ print $1 }' "$t/schedstat") ${t##*/}"; done | sort -n | tail -n 1 | cut -d ' ' -f 2)
	taskset -c "$cpu" sh -c 'while :; do :; done' &
	other=$!
	env --default-signal=INT "$aiflame" record -q --cpu -p $pid -o s.data 2>s.err &
	recorder=$!
	wait_until in_file s "SELECT count(*) >= 10 FROM cpu_samples"
	before=$(delay "$busiest")
	wait_until sh -c "[ \$(awk '{ print \$2 }' /proc/$pid/task/$busiest/schedstat) -gt $((before + 500000000)) ]"
	after=$(delay "$busiest")
	kill -INT $recorder
	wait $recorder
	kill $other
	wait $other 2>/dev/null
	"$aiflame" why --format json s.data >s.json
	python3 -c "
import json
waited = json.load(open('s.json'))['run_delay']['waited_ns']
print($after - $before, waited)
assert waited >= 0.95 * ($after - $before)"
}
check "waits for a CPU that others had are in the profile of a process without the agent, by the kernel's count" starved
check "why says that the machine was busy, of a process without the agent" sh -c "'$aiflame' why s.data | grep -qE '^machine  busy: [0-9]+ threads? waited '"

echo >&7
exec 7>&-
check "the program that was sampled ends as it would have" wait $pid

# What a named process starts is its children.
sh -c "'$app' threads <in >child.out; true" &
parent=$!
exec 7>in
wait_until grep -q ready child.out
check "a process's children are recorded with it" recorded c -p $parent
check "the child's function is there" is c.data "SELECT sum(f.function = 'add_up') > 0 FROM $stack"
echo >&7
exec 7>&-
wait $parent

# What a process starts by exec() after the agent was put into it has no agent.
mkfifo go
bash -c "read -r _ <go; '$app' threads <in >later.out; true" &
parent=$!
exec 6<>go
# records_later: what the parent starts once the agent is in it is sampled, too
records_later() {
	env --default-signal=INT "$aiflame" record -q --cpu -p $parent --inject always -o l.data 2>l.err &
	recorder=$!
	wait_until grep -q memfd:libaiflame-agent /proc/$parent/maps || { cat l.err; kill -INT $recorder; wait $recorder; return 1; }
	echo >&6
	exec 7>in
	wait_until in_file l "SELECT count(*) >= 10 FROM $stack WHERE f.function = 'add_up'"
	found=$?
	kill -INT $recorder
	wait $recorder
	return $found
}
check "programs that a process starts by exec() after the agent was put into it are sampled" records_later
echo >&6
echo >&7
exec 6>&- 7>&-
wait $parent

# Threads that end before they are found have no samples: their CPU time is known all the same. Theirs is less than a turn on a CPU, so
# that others keep them from it once at most.
cat >short.py <<'END'
import threading, time
def work():
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass
print("ready", flush=True)
while True:
    threads = [threading.Thread(target=work) for i in range(2)]
    for t in threads: t.start()
    for t in threads: t.join()
END
python3 short.py >short.out <&- &
pid=$!
wait_until grep -q ready short.out
# used: ns of CPU time of the program
used() { python3 -c "import time; print(int(1e9 * time.clock_gettime(~$pid << 3 | 2)))"; }
# has_all: the profile has the CPU time that the program used while it was recorded
has_all() {
	env --default-signal=INT "$aiflame" record -q --cpu -p $pid -o t.data 2>t.err &
	recorder=$!
	wait_until in_file t "SELECT count(*) > 0 FROM cpu_samples"
	before=$(used)
	wait_until sh -c "[ \$(python3 -c 'import time; print(int(1e9 * time.clock_gettime(~$pid << 3 | 2)))') -gt $((before + 700000000)) ]"
	after=$(used)
	kill -INT $recorder
	wait $recorder
	is t.data "SELECT sum(weight_ns) >= 0.9 * ($after - $before) FROM cpu_samples"
}
check "CPU time of threads that end before they are found is in the profile" has_all
check "CPU time of threads that end before they are found is counted as unsampled" is t.data "SELECT sum(count) >= 100 FROM losses WHERE name = 'CPU_UNSAMPLED'"
check "why says how much of the CPU time has no sample, and of what it can be" sh -c "'$aiflame' why t.data | grep -qE '^missing +[0-9.]+ % of the CPU time has no sample: .*, the OS kernel.s part without root'"
check "why says how to record the functions of a Python program that is sampled from outside" says "record with --inject always" "$aiflame" why t.data
kill $pid
wait $pid 2>/dev/null

# A recording ends when what it records does.
"$app" threads <in >end.out &
pid=$!
exec 7>in
wait_until grep -q ready end.out
"$aiflame" record -q --cpu -p $pid -o e.data 2>e.err &
recorder=$!
wait_until in_file e "SELECT count(*) > 0 FROM cpu_samples"
echo >&7
exec 7>&-
check "a recording ends when the process that it was asked for has ended" wait $recorder
wait $pid

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	chmod 755 "$work"
	mkdir -m 700 nobody && chown 65534:65534 nobody
	cp "$aiflame" aiflame && chmod 755 aiflame
	cp "$build/src/agent/libaiflame-agent.so" . && chmod 755 libaiflame-agent.so
	$nobody "$app" threads <in >own.out &
	pid=$!
	exec 7>in
	wait_until grep -q ready own.out
	check "a process of one's own is recorded without root" env AIFLAME_AGENT="$work/libaiflame-agent.so" XDG_RUNTIME_DIR="$work/nobody" \
		HOME="$work/nobody" $nobody ./aiflame record -q --cpu -p $pid --duration 2 -o nobody/n.data
	check "stacks that were sampled without root reach the thread's start" is nobody/n.data \
		"SELECT count(*) > 0 AND sum(s.flags = 0) >= 0.99 * count(*) FROM cpu_samples c JOIN stacks s ON s.id = c.stack"
	echo >&7
	exec 7>&-
	wait $pid
else
	skip "a process of one's own is recorded without root" "needs root and setpriv"
fi
done_testing
