#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record -a: programs that nobody prepared are started as usual, and are in the picture.
# In a namespace of processes of its own, where that can be had, the recorder sees no other test's programs.
if [ -z "${OWN_PROCESSES:-}" ] && unshare -p -f --kill-child --mount-proc true 2>/dev/null; then
	OWN_PROCESSES=1 exec unshare -p -f --kill-child --mount-proc "$0"
fi
. "$(dirname "$0")/tap.sh"
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
app=$build/tests/e2e/idle_app
if [ "$(uname -m)" != x86_64 ] || [ ! -x "$app" ]; then
	skip "record -a joins programs as they appear" "not on this machine, or OpenCL was not there at build time"
	done_testing
	exit
fi

# record_all OPTION...: in the background, until `end_recording`
record_all() {
	"$aiflame" record -a -v --name all -o all.data "$@" >all.out 2>all.err &
	recorder=$!
	wait_until is_recording
}
is_recording() { "$aiflame" ctl status | grep -q "^all "; }
end_recording() {
	"$aiflame" ctl stop all
	wait $recorder
	status=$?
	[ $status -eq 0 ] || { echo "status $status"; cat all.out all.err; return 1; }
}
is_joined() { grep -q "process $1: the agent was put into it" all.err; }
has_launched() { in_file all "SELECT count(*) > 2 FROM launches JOIN processes ON processes.id = launches.process WHERE processes.pid = $1"; }
has_driver() { grep -q libpocl "/proc/$1/maps"; }
carries_agent() { grep -q 'memfd:libaiflame-agent' "/proc/$1/maps"; }
# of PID: the lines on that process in the list at the end
of() { sed '1,/ nobody had prepared$/d' all.err | grep "process $1[,:]"; }

"$app" 100000 >first.out 2>&1 &
first=$!
as_usual() {
	record_all --all-launches --flame all.svg || return
	"$app" 100000 >second.out 2>&1 &
	second=$!
	sleep 1000 &
	other=$!
	wait_until is_joined $first && wait_until is_joined $second && wait_until has_launched $first && wait_until has_launched $second
	failed=$?
	! grep "process $other" all.err || failed=1
	kill -0 $first && kill -0 $second || failed=1
	end_recording || failed=1
	kill $first $second $other
	# One that has not ended yet is on standby, and used a device.
	wait_until ended $first $second || failed=1
	return $failed
}
check "programs that run already, and that start later, are joined; one without a device is not" as_usual
check "the picture has their kernels" grep -q "target_launch" all.svg
check "the profile of joined programs has the time of their kernels" says "spin" "$aiflame" report --kernels all.data
listed() { of $first | grep -q 'idle_app: a thread stood still for [0-9.]* ms$' && of $second | grep -q 'idle_app: a thread stood still'; }
check "at the end record -a lists who was joined" listed

never() {
	"$app" 100000 >first.out 2>&1 &
	first=$!
	record_all --inject never
	wait_until has_driver $first
	"$aiflame" ctl sync all && "$aiflame" ctl sync all && ! carries_agent $first
	failed=$?
	kill $first
	end_recording && says "leave out --inject never" cat all.err && return $failed
}
check "record -a --inject never leaves programs alone, and says how they are recorded" never

# What stands in the way of one passes: it is tried again. A filter stays.
cat >filtered.py <<'END2'
import ctypes, struct, sys
ctypes.CDLL("libOpenCL.so.1")
libc = ctypes.CDLL(None)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
prog = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(prog)) == 0
print("ready", flush=True)
sys.stdin.read()
END2
says_of() { grep -q "process $1: $2" all.err; }
again() {
	"$app" 100000 >first.out 2>&1 &
	first=$!
	wait_until has_driver $first
	kill -STOP $first
	wait_until grep -q '^State:.*T' "/proc/$first/status"
	record_all || return
	mkfifo in
	python3 filtered.py <in >filtered.out 2>&1 &
	filtered=$!
	exec 9>in
	wait_until says_of $first "is stopped" && wait_until says_of $filtered "has a seccomp filter"
	failed=$?
	kill -CONT $first
	wait_until is_joined $first || failed=1
	end_recording || failed=1
	exec 9>&-
	wait $filtered || failed=1
	kill $first
	[ "$(of $first | wc -l)" = 1 ] && of $first | grep -q "stood still" && of $filtered | grep -q "has a seccomp filter" || { cat all.err; failed=1; }
	return $failed
}
check "a program that could not be joined is tried again, one with a seccomp filter is left alone, and the list has the last word" again

# The loader maps a program's libraries one after the other, a runtime's before that of C, perhaps.
as_loaded() {
	(loading "$app" 100000) >first.out 2>&1 &
	first=$!
	wait_until grep -q libOpenCL "/proc/$first/maps" && ! grep libc.so "/proc/$first/maps" || return
	record_all
	"$app" 100000 >second.out 2>&1 &
	second=$!
	wait_until is_joined $second
	failed=$?
	loaded && wait_until is_joined $first || failed=1
	end_recording || failed=1
	kill $first $second
	wait_until ended $first $second && ! grep "process $first: .* C library" all.err && return $failed
}
check "record -a joins a program that it saw before its libraries were there" as_loaded

always() {
	sleep 1000 &
	other=$!
	record_all --inject always
	wait_until is_joined $other && carries_agent $other
	failed=$?
	end_recording || failed=1
	kill $other
	return $failed
}
if [ $$ = 1 ]; then # the first process of that namespace
	check "record -a --inject always joins programs without a device" always
else
	skip "record -a --inject always joins programs without a device" "it would join all of this user's"
fi

# ---- iaprof's workflow: the recorder is started, then a program as usual, and the recorder is ended

# workflow BY SIGNAL: as BY, in a directory of its own
workflow() {
	by=$1
	$by "$program" record -a --flame out.svg >record.out 2>record.err &
	recorder=$!
	wait_until says "aiflame.data" $by "$program" ctl status || { cat record.err; return 1; }
	$by "$app" 100000 >app.out 2>&1 &
	target=$!
	wait_until launches_are_seen
	failed=$?
	kill "-$2" $recorder
	wait $recorder || failed=1
	kill -0 $target || failed=1
	kill $target
	grep -q "process $target, idle_app: a thread stood still" record.err && grep -q "spin" out.svg && grep -q clEnqueueNDRangeKernel out.svg ||
		{ head -n 12 record.err; failed=1; }
	return $failed
}
launches_are_seen() {
	$by "$program" ctl sync aiflame.data && cp aiflame.data so-far.data &&
		[ "$("$aiflame" query --format csv so-far.data "SELECT count(*) > 2 FROM launches JOIN processes ON processes.id = launches.process WHERE processes.pid = $target" | tail -n 1)" = 1 ]
}
program=$aiflame
check "record -a --flame out.svg, a program as usual, SIGTERM: the picture has its kernels" workflow env TERM
check "record -a --flame out.svg, a program as usual, Ctrl-C: the picture has its kernels" workflow "env --default-signal=INT" INT
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]; then
	chmod 755 "$work"
	mkdir -m 700 nobody nobody/run
	cp "$aiflame" aiflame && cp "$build/src/agent/libaiflame-agent.so" . && chmod 755 aiflame libaiflame-agent.so
	chown -R 65534:65534 nobody
	program=$work/aiflame
	as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups env --default-signal=INT AIFLAME_AGENT=$work/libaiflame-agent.so
		XDG_RUNTIME_DIR=$work/nobody/run XDG_STATE_HOME=$work/nobody XDG_CACHE_HOME=$work/nobody POCL_CACHE_DIR=$work/nobody HOME=$work/nobody"
	cd nobody || exit 1
	check "an ordinary user's record -a --flame out.svg, a program as usual, Ctrl-C: the picture has its kernels" workflow "$as_nobody" INT
	cd ..
else
	skip "an ordinary user's record -a --flame out.svg, a program as usual, Ctrl-C: the picture has its kernels" "needs root, setpriv and no yama"
fi
done_testing
