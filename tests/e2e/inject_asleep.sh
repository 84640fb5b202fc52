#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record -p --cpu of programs that were started with the agent and use no device: it is asleep in them, and is woken. Nothing is
# loaded a second time.
. "$(dirname "$0")/tap.sh"
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS

case $(uname -m) in
x86_64) ;;
*)
	skip "an agent that is asleep is woken" "not yet on this machine"
	done_testing
	exit
	;;
esac

cat >spin.py <<'END'
import os, sys
def spin_hot(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
if len(sys.argv) > 1:
    print("waits", flush=True)
    os.read(0, 1)  # until the agent is there
    if os.fork():
        os.wait()
        sys.exit()
    print(os.getpid(), flush=True)
print("ready", flush=True)
while True:
    spin_hot(10000)
END
# start: a Python program that carries the agent and computes
start() {
	rm -f ready
	(eval "$("$aiflame" env)" && exec python3 spin.py >ready) &
	target=$!
	wait_until grep -q ready ready
}
stop() {
	kill "$1"
	wait "$1" 2>/dev/null
	true
}
python_samples="SELECT count(*) >= 20 FROM cpu_samples c JOIN stacks s ON s.id = c.stack JOIN frames f ON f.id = s.frame
	WHERE f.function LIKE 'spin_hot%'"
native_samples="SELECT count(*) >= 20 FROM cpu_samples"
# recorded NAME SQL OPTION...: until what the profile so far holds fulfils it
recorded() {
	data=$1 sql=$2
	shift 2
	env --default-signal=INT "$aiflame" record --cpu --name "$data" -o "$data.data" "$@" 2>"$data.err" &
	recorder=$!
	wait_until in_file "$data" "$sql"
	found=$?
	kill -INT $recorder
	wait $recorder
	[ $found = 0 ] || { cat "$data.err"; return 1; }
}

start
check "a Python program that was started with the agent has its Python functions" recorded a "$python_samples" -p $target
check "a program that is sampled is not said to wait for a runtime" sh -c '! grep "waiting for" a.err'
check "an agent that is woken is said to be, and how long a thread stood still for it" grep -q "process $target: the agent in it was woken; a thread of it stood still for" a.err
check "an agent that is woken is not loaded a second time" sh -c "! grep memfd:libaiflame /proc/$target/maps"
check "a program whose agent was woken is on standby" sh -c '"$1" ctl status | grep "^ *$2 " | grep -v "none yet"' sh "$aiflame" $target
check "the next recording takes the agent that was woken" recorded b "$python_samples" -p $target
check "no thread stands still for the next recording" sh -c '! grep "stood still" b.err'
stop $target

start
check "a Python program that was started with the agent has its Python functions with --inject always" recorded c "$python_samples" -p $target --inject always
stop $target

start
if recorded d "$native_samples" -p $target --inject never >d.out 2>&1; then
	check "an agent sleeps on with --inject never" sh -c '"$1" ctl status | grep "^ *$2 .*none yet"' sh "$aiflame" $target
	check "a program that is sampled from outside with --inject never is not said to wait for a runtime" sh -c '! grep "waiting for\|stood still" d.err'
	check "the summary says how to have the functions of a Python program that was sampled from outside" grep -q "^python .*inject always" d.err
	check "an interpreter that was sampled from outside has its own CPU time" says _PyEval_EvalFrameDefault "$aiflame" report --cpu d.data
else
	skip "an agent sleeps on with --inject never" "no samples from outside here"
fi
stop $target

# A child of a process that nobody prepared has its parent's agent, asleep.
mkfifo in
python3 spin.py fork <in >child &
parent=$!
exec 7>in
child_pid() { grep -x '[0-9]*' child; }
with_child() {
	wait_until grep -q waits child || return
	"$aiflame" record -q -p $parent --cpu --inject always --duration 0.2 -o e.data || return
	echo >&7
	wait_until grep -q ready child
	recorded f "$python_samples" -p "$(child_pid)" --inject always
}
check "a child that was forked after the agent was put into its parent has its Python functions" with_child
stop "$(child_pid)"
exec 7>&-
stop $parent

# A runtime that starts later is seen as without that.
mkfifo to from
(eval "$("$aiflame" env)" && exec "$build/tests/e2e/attach_app" <to >from) &
target=$!
exec 8>to 9<from
wait_until grep -qx attach_app /proc/$target/comm
later() {
	env --default-signal=INT "$aiflame" record -q --all-launches --cpu -p $target --name g -o g.data 2>g.err &
	recorder=$!
	wait_until sh -c '"$1" ctl status | grep "^ *$2 .* g\b"' sh "$aiflame" $target || { cat g.err; kill -INT $recorder; return 1; }
	echo "launch 50" >&8
	head -n 1 <&9
	kill -INT $recorder
	wait $recorder
	[ "$("$aiflame" query --format csv g.data "SELECT count(*) = 50 FROM launches" | tail -n 1)" = 1 ]
}
check "launches of a runtime that starts in a process whose agent was woken are recorded" later
echo quit >&8
check "a program whose agent was woken ends as it would have" wait $target
done_testing
