#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record -a as root: programs of all users are started as usual, and are in the picture. As another user: that user's alone.
# In a namespace of processes of its own the recorder sees no other test's programs.
if [ -z "${OWN_PROCESSES:-}" ] && unshare -p -f --kill-child --mount-proc true 2>/dev/null; then
	OWN_PROCESSES=1 exec unshare -p -f --kill-child --mount-proc "$0"
fi
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/attach_cl
why=
[ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ] || why="kernel.yama.ptrace_scope is set"
# Bits of CAP_CHOWN, CAP_SETGID, CAP_SETUID and CAP_SYS_PTRACE, which a container's root may lack.
may_all() { caps=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) && [ $((0x$caps & 0x800c1)) = $((0x800c1)) ]; }
[ "$(id -u)" = 0 ] && [ -n "${OWN_PROCESSES:-}" ] && command -v setpriv >/dev/null && may_all || why="needs root, namespaces of processes and setpriv"
[ "$(uname -m)" = x86_64 ] && [ -x "$app" ] || why="not on this machine, or OpenCL was not there at build time"
if [ -n "$why" ]; then
	skip "root's record -a joins programs of all users" "$why"
	done_testing
	exit
fi
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
chmod 755 "$work"
cp "$aiflame" aiflame && cp "$build/src/agent/libaiflame-agent.so" "$app" . && chmod 755 aiflame libaiflame-agent.so attach_cl
for user in 61234 61235; do
	mkdir -m 700 $user && chown $user:$user $user
done
# What `aiflame env` prints, but the directory.
prepared="LD_PRELOAD=$work/libaiflame-agent.so OPENCL_LAYERS=$work/libaiflame-agent.so"

# as USER VARIABLE=VALUE... COMMAND...: instead of this process
as() {
	by=$1
	shift
	[ "$by" != 0 ] || exec env "$@"
	exec setpriv --reuid "$by" --regid "$by" --clear-groups env AIFLAME_AGENT="$work/libaiflame-agent.so" XDG_RUNTIME_DIR="$work/$by" \
		XDG_STATE_HOME="$work/$by" XDG_CACHE_HOME="$work/$by" POCL_CACHE_DIR="$work/$by" HOME="$work/$by" "$@"
}
# start N USER [VARIABLE=VALUE...]: program N, 3 to 9, as that user; descriptor N leads to it
start() {
	name=$1 user=$2
	shift 2
	rm -f "in.$name"
	mkfifo "in.$name"
	as "$user" "$@" "$work/attach_cl" <"in.$name" >"out.$name" 2>"err.$name" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
	eval "pid_$name=$!; exec $name>in.$name"
	echo launch 1 >&"$name"
	wait_until grep -q "launch 1" "out.$name"
}
pid() { eval "echo \$pid_$1"; }
# quit N: its output and its end are those of a program that nobody records
quit() {
	echo quit >&"$1"
	wait "$(pid "$1")"
	status=$?
	[ $status = 0 ] && [ ! -s "err.$1" ] && awk '$0 != "launch " NR { exit 1 }' "out.$1" || { echo "program $1: status $status"; cat "out.$1" "err.$1"; return 1; }
}
# record_all OPTION...: in the background, until `end_recording`
record_all() {
	rm -f all.data*
	"$aiflame" record -a -v --all-launches --name all -o all.data "$@" >all.out 2>all.err 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
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
# Of a program, by which more is launched each time.
has_launched() {
	echo launch 1 >&"$1"
	in_file all "SELECT count(*) > 2 FROM launches JOIN processes ON processes.id = launches.process WHERE processes.pid = $(pid "$1")"
}
# of N: the line on that program in the list at the end
of() { sed '1,/ nobody had prepared$/d' all.err | grep "process $(pid "$1")[,:]"; }
is_clean() { ! find 61234 61235 \( -user 0 -o -group 0 -o -name 'r-*' \) -printf '%p is left, of %u:%g\n' | grep .; }

# Of two users and of root; of one of them in two directories, in each of which a program that starts later finds the recording
# itself: by the directory it is known who has joined.
all_users() {
	start 3 0 AIFLAME_STANDBY="$work/run/aiflame"
	start 4 61234 AIFLAME_STANDBY="$work/61234/one"
	start 5 61234 $prepared AIFLAME_STANDBY="$work/61234/two"
	record_all --flame all.svg || return
	start 6 61235 AIFLAME_STANDBY="$work/61235/one"
	wait_until has_launched 3 && wait_until has_launched 4 && wait_until has_launched 5 && wait_until has_launched 6 || return
	start 7 61234 $prepared AIFLAME_STANDBY="$work/61234/two"
	start 8 61234 $prepared AIFLAME_STANDBY="$work/61234/one"
	wait_until has_launched 7 && wait_until has_launched 8 || return
	"$aiflame" ctl sync all || return
	(as 61234 AIFLAME_STANDBY="$work/61234/two" "$work/aiflame" ctl status) | grep "^all " || return
	! (as 61234 AIFLAME_STANDBY="$work/61234/two" "$work/aiflame" ctl stop all) && is_recording || { echo "another user has ended it"; return 1; }
	end_recording && for k in 3 4 5 6 7 8; do quit $k || return; done
}
check "root's record -a joins programs of all users, in whichever directory, and these cannot end it" all_users
check "the picture has the kernels of all users" grep -q "add_one" all.svg
whose() {
	of 3 | grep -q "attach_cl: a thread" && of 4 | grep -q "attach_cl, of user 61234: a thread stood still" && of 6 | grep -q "attach_cl, of user 61235: a thread" ||
		{ cat all.err; return 1; }
}
check "the list says whose the programs are" whose
check "root leaves nothing in directories of users" is_clean

# What an agent leaves of a kernel's code lies in its user's directory. The GPU is a mock (tests/mock/cuda).
is_announced() { ls 61234/gpu/r-*/about; }
device_code() {
	cp -rL "$build/tests/mock/cuda" mock && cp "$root/tests/golden/cubin/kernels_sm90a.cubin" . && chmod -R a+rX mock kernels_sm90a.cubin
	export AIFLAME_SAMPLING_KEY=$$
	start 3 61234 $prepared AIFLAME_STANDBY="$work/61234/gpu"
	record_all || return
	wait_until is_announced || return
	as 61234 $prepared CUDA_INJECTION64_PATH="$work/libaiflame-agent.so" AIFLAME_STANDBY="$work/61234/gpu" LD_LIBRARY_PATH="$work/mock" \
		MOCK_CUPTI=version=130001 "$work/mock/app" -f "$work/61234/over" -t 2 "$work/kernels_sm90a.cubin" >mock.out 2>&1 3>&- &
	mock=$!
	wait_until in_file all "SELECT ifnull(sum(count), 0) > 100 FROM samples"
	failed=$?
	: >61234/over
	wait $mock && end_recording && quit 3 && [ $failed = 0 ] || { cat mock.out all.err; return 1; }
	"$aiflame" annotate calls all.data >annotated.out 2>&1 && grep -q 'sm_90' annotated.out || { cat annotated.out; return 1; }
}
if [ -x "$build/tests/mock/cuda/app" ]; then
	check "root's record -a has the instructions of kernels of another user's program" device_code
else
	skip "root's record -a has the instructions of kernels of another user's program" "no mock"
fi

# What they name is no standby directory, or one full of traps; one is stopped, and does not answer.
hostile() {
	mkdir -m 700 61234/traps 61234/open && chmod 755 61234/open
	mkdir -m 700 roots && mkfifo 61234/traps/1-2-3.agent
	ln -s /etc/shadow 61234/traps/2-2-3.agent
	ln -s "$work/roots" 61234/link
	python3 -c 'import os
for i in range(20000): open("61234/traps/%0200d" % i, "w")
for i in range(300): open("61234/traps/9%d-2-3.agent" % i, "w").write("a" * 4096)'
	chown -hR 61234:61234 61234
	start 3 0 AIFLAME_STANDBY="$work/run/aiflame"
	start 4 61234 AIFLAME_STANDBY="$work/61234/traps"
	start 5 61234 AIFLAME_STANDBY="$work/61234/open"
	start 6 61234 AIFLAME_STANDBY="$work/61234/link"
	start 7 61234 $prepared AIFLAME_STANDBY="$work/roots"
	start 8 61235 $prepared AIFLAME_STANDBY="$work/61234/one"
	start 9 61235 $prepared AIFLAME_STANDBY="$work/61235/one"
	kill -STOP "$pid_9"
	record_all || return
	wait_until has_launched 3 || return
	for k in 5 6 7 8; do wait_until is_refused $k || { cat all.err; return 1; }; done
	"$aiflame" ctl sync all && end_recording || return
	kill -CONT "$pid_9"
	for k in 3 4 5 6 7 8 9; do quit $k || return; done
	[ -p 61234/traps/1-2-3.agent ] && [ -h 61234/traps/2-2-3.agent ] && [ "$(ls 61234/traps | wc -l)" -ge 20000 ] || { echo "something is gone"; return 1; }
	! find roots -mindepth 1 | grep .
}
is_refused() { grep -q "process $(pid "$1"), of user [0-9]*: its standby directory .* cannot be used: " all.err; }
check "root's record -a goes on beside programs that are stopped, or name a directory of traps, of others, or a link, and says which" hostile
check "root leaves nothing in directories of hostile users" is_clean

of_one() {
	start 3 61234 AIFLAME_STANDBY="$work/61234/three"
	start 4 61235 AIFLAME_STANDBY="$work/61235/three"
	cd 61234 || return
	as 61234 AIFLAME_STANDBY="$work/61234/three" "$work/aiflame" record -a -v --all-launches --name all -o all.data >all.out 2>all.err 3>&- 4>&- &
	recorder=$!
	cd ..
	wait_until grep -q "process $(pid 3): the agent was put into it" 61234/all.err
	failed=$?
	(as 61234 AIFLAME_STANDBY="$work/61234/three" "$work/aiflame" ctl stop all) && wait $recorder || failed=1
	! grep "process $(pid 4)" 61234/all.err && ! grep libaiflame-agent "/proc/$(pid 4)/maps" || failed=1
	[ $failed = 0 ] || cat 61234/all.err
	quit 3 && quit 4 && return $failed
}
check "record -a of an ordinary user joins that user's programs alone" of_one
done_testing
