#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record -a --inject always: programs that nobody prepared are started as usual, and are in the picture.
. "$(dirname "$0")/tap.sh"
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
app=$build/tests/e2e/idle_app
if [ "$(uname -m)" != x86_64 ] || [ ! -x "$app" ]; then
	skip "record -a --inject always joins programs as they appear" "not on this machine, or OpenCL was not there at build time"
	done_testing
	exit
fi

# record_all OPTION...: in the background, until `end_recording`
record_all() {
	"$aiflame" record -a --name all -o all.data "$@" >all.out 2>all.err &
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

"$app" 100000 >first.out 2>&1 &
first=$!
as_usual() {
	record_all --inject always --all-launches --flame all.svg || return
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
	return $failed
}
check "programs that run already, and that start later, are joined; one without a device is not" as_usual
check "the picture has their kernels" grep -q "target_launch" all.svg
check "the profile of joined programs has the time of their kernels" says "spin" "$aiflame" report --kernels all.data
never() {
	"$app" 100000 >first.out 2>&1 &
	first=$!
	record_all
	wait_until grep -q libpocl "/proc/$first/maps"
	"$aiflame" ctl sync all && "$aiflame" ctl sync all && ! grep -q libaiflame-agent "/proc/$first/maps"
	failed=$?
	kill $first
	end_recording && says "record -a --inject always" cat all.err && return $failed
}
check "without --inject always record -a leaves programs alone, and says how they are recorded" never
done_testing
