#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Level Zero's loader looks for its tools when it starts: of a program that nobody prepared its launches are not recorded, and
# who attaches to it is told so. Its own loader, below it a SIMULATED driver (tests/mock/level_zero).
# In a namespace of processes of its own the recorder sees no other test's programs.
if [ -z "${OWN_PROCESSES:-}" ] && unshare -p -f --kill-child --mount-proc true 2>/dev/null; then
	OWN_PROCESSES=1 exec unshare -p -f --kill-child --mount-proc "$0"
fi
. "$(dirname "$0")/tap.sh"
mock=$build/tests/mock/level_zero
[ -x "$mock/ze_app" ] || { echo "1..0 # SKIP the tests were built without Level Zero's headers (libze-dev)"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "1..0 # SKIP the agent is put into programs on x86-64 only"; exit 0; }
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS ZE_ENABLE_ALT_DRIVERS ZE_ENABLE_TRACING_LAYER ZE_ENABLE_LOADER_INTERCEPT ZET_ENABLE_METRICS ZE_MOCK
printf 'no code' >mm.bin

start() {
	rm -f until
	env "ZE_APP_UNTIL=$work/until" "ZE_ENABLE_ALT_DRIVERS=$mock/libze_mock.so" "$mock/ze_app" mm.bin mm,add loop >out 2>&1 &
	target=$!
	wait_until grep -q libze_mock "/proc/$target/maps"
}
finish() {
	: >until
	wait "$target" && grep -qx "drivers 1, errors 0" out || { cat out; return 1; }
}
says_no_launches() { says "launches not recorded of a process that the agent was put into while it ran: a runtime looks for its tools when it starts (process $target)" "$@"; }
lists_it() {
	"$aiflame" record -a --duration 2 -o all.data >all.err 2>&1
	grep -qF "process $target: uses Level Zero, which lets no tool in later; to record its launches, start it with" all.err || { cat all.err; return 1; }
}
of_all() {
	start
	lists_it && ! grep -q libaiflame "/proc/$target/maps" && finish
}
check "record -a leaves a program of Level Zero alone, and says why" of_all
of_one() {
	start
	says_no_launches "$aiflame" record -p "$target" --duration 0.5 -o one.data &&
		says_no_launches "$aiflame" record -p "$target" --duration 0.5 -o again.data && lists_it && finish
}
check "record -p of a program of Level Zero says that it has no launches, each time, and record -a behind it" of_one
unharmed() {
	start
	for _ in 1 2 3; do
		"$aiflame" record -q -p "$target" --inject always --cpu --duration 0.3 -o cpu.data || return
	done
	finish
}
check "a program of Level Zero that is attached to with --cpu ends as it would have" unharmed
done_testing
