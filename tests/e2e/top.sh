#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame top: one window for programs, the live screen in a terminal, and whom it watches.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
app=$build/tests/e2e/idle_app
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
[ -x "$app" ] || { skip "aiflame top shows what a program does" "no OpenCL"; done_testing; exit; }

once() { "$aiflame" top --once --window 1 "$@"; }
at_terminal() { python3 "$here/top.py" "$@"; }

# no_left ROUNDS: no program of this test with that argument goes on
left() { ps -eo ppid=,args= | awk -v app="$app" -v rounds="$1" '$2 == app && $3 == rounds { print; bad = 1 } END { exit bad }'; }
no_left() { wait_until left "$1"; }

# busy_once WHAT OPTION...: a window of the program in text, longer until WHAT is in it: where CPUs are short, a window of
# a second ends while the program compiles its first kernel, or before its first sleep
busy_once() {
	wanted=$1
	shift
	for window in 1 4 16 60; do
		"$aiflame" top --once --window "$window" "$@" -- "$app" 100000 >text 2>err || return
		grep -q "$wanted" text && return
	done
	return 1
}

# ---- one window
check "top --once of a command prints a window" busy_once "off CPU  \\["
check "top --once: the window has its device, quality and cost" grep -Eq '^quality: [0-9,]+ launches, joined 100.0 %, lost 0$' text
check "top --once: the window has kernels with who launched them" grep -Eq '^ 100.0 % .* spin  \[target_launch\]$' text
check "top --once: the window has idle time by cause" grep -Eq ' %.* off CPU  \[' text
# The program's first work is a copy; its kernel is compiled behind that.
members() {
	for window in 2 8 60; do
		"$aiflame" top --once --window "$window" --format json -- "$app" 100000 2>err | python3 "$here/top_check.py" "$root/docs/top.md" && return
	done
	return 1
}
check "top --format json has the members that docs/top.md says" members
chosen() { busy_once spin --view kernel --limit 1 && ! grep -q 'off CPU' text; }
check "--view and --limit choose the rows" chosen
check "output of the command is not in the window" sh -c "'$aiflame' top --once --window 1 --format json -- sh -c 'echo noise; $app 100000' 2>err |
	python3 -m json.tool >/dev/null && grep -q noise err"
check "the command of top --once has ended with the window" no_left 100000
check "a command that uses no device has a window without rows" says "Nothing ran on a device" once -- true
check "top of a command that does not exist ends with 127" status_is 127 once -- ./no-such-program
check "top --once leaves no profile" sh -c "! ls ./*.data* 2>/dev/null"
check "top -p of a process without the agent is refused" status_is 1 once -p $$
check "top -p of a process that does not exist says so" says "does not exist" once -p 999999
check "top -r of a recording that does not run says so" says "no such recording" once -r nothing
check "top refuses two sources" status_is 2 once -a -p 1
check "--format json needs --once" status_is 2 "$aiflame" top --format json -- true
check "a window has 1 to 60 seconds" status_is 2 "$aiflame" top --once --window 100 -- true
check "top without a terminal names --once" says "use --once" "$aiflame" top -- true
check "top with TERM=dumb names --once" sh -c "TERM=dumb script -qec '$aiflame top -- true' /dev/null | grep -q 'use --once'"

# ---- GPUs, on mocks of CUDA and NVML
mock=$build/tests/mock/cuda
# on_mock FILE WHAT OPTION...: a window of the program, longer until WHAT is in it: where CPUs are short, two seconds end before its work
on_mock() (
	file=$1 what=$2
	shift 2
	LD_LIBRARY_PATH=$mock:$build/tests/mock/nvml AIFLAME_STANDBY=$work/standby MOCK_NVML=
	export LD_LIBRARY_PATH AIFLAME_STANDBY MOCK_NVML
	for window in 2 8 30; do
		"$aiflame" top --once --window "$window" "$@" -- "$mock/app" -s 100 -n 40000 -d 2 -t 2 "$root/tests/golden/cubin/kernels_sm90a.cubin" >"$file" 2>mock.err
		grep -Eq "$what" "$file" && return
	done
)
if [ -x "$mock/app" ]; then
	on_mock mock.out 'no samples with a reason for waiting: .* give a larger --overhead' --view stall --overhead 1
	check "each GPU has a line with its clock and power" sh -c "[ \$(grep -c '^device [01]: Mock GPU: busy .* 1980 MHz, 150 W, 40 C' mock.out) = 2 ]"
	check "a window without stalls, of which launches were left out, says what to give" grep -q 'no samples with a reason for waiting: .* give a larger --overhead' mock.out
	check "launches that were left out are counted" grep -Eq '^quality: .* left out [0-9.]+ %' mock.out
	on_mock stalls.out long_scoreboard --view stall --overhead 20
	check "stalls have their kernels" grep -Eq ' %.* long_scoreboard  \[calls\]' stalls.out
else
	skip "aiflame top shows GPUs" "no mock of CUDA was built"
fi

# ---- processes that run, recordings that run
(eval "$("$aiflame" env)" && exec "$app" 1000000 >/dev/null) &
target=$!
has_opencl() { "$aiflame" ctl status | grep -q "^$target .*opencl"; }
wait_until has_opencl
# spins OPTION...: a window has its kernel. It compiles another now and then, for a second and more where CPUs are busy.
spins() { "$aiflame" top --once --window 1 "$@" >w && cat w && grep -q ' spin ' w; }
check "top -p records a process that runs" wait_until spins -p "$target"
check "top -a records all processes on standby" wait_until sh -c "'$aiflame' top --once --window 1 -a >a && grep -q '$target .*idle_app' a"
"$aiflame" record -q -o rec.data -p "$target" &
recorder=$!
synced() { "$aiflame" ctl sync rec.data; }
wait_until synced
watched() { spins && grep -q 'of recording rec.data' w; }
check "top watches the recording that runs" wait_until watched
check "top watches a recording by its name" wait_until spins -r rec.data
check "top watches a recording by a process that it records" sh -c "'$aiflame' top --once --window 1 -p $target | grep -q 'recording rec.data, process $target'"
"$aiflame" top --once --window 30 -r rec.data >/dev/null 2>&1 &
watcher=$!
# The recorder has given it a socket.
watches() { [ -n "$(find "/proc/$watcher/fd" -lname 'socket:*' 2>/dev/null)" ]; }
wait_until watches
kill -KILL "$watcher"
wait "$watcher" 2>/dev/null
check "a watcher that is killed does no harm to the recording" wait_until spins -r rec.data
"$aiflame" ctl stop rec.data >/dev/null
wait "$recorder"
check "the watched recording is whole" "$aiflame" info rec.data
kill "$target"
wait "$target" 2>/dev/null

# ---- the live screen
check "keys do what the help says" at_terminal keys "$aiflame" top -- "$app" 1000000
check "the window that was written is a profile" sh -c "'$aiflame' report --kernels aiflame-top-1.data | grep -q spin"
check "the numbers of the window that was written add up" says "conservation" "$aiflame" info aiflame-top-1.data
rm -f aiflame-top-*
check "top draws any size from 1 by 1, and follows changes of it" at_terminal sizes "$aiflame" top -- "$app" 1000000
check "signals to top restore the terminal" at_terminal signals "$aiflame" top -- "$app" 1000000
check "a fault of top restores the terminal" at_terminal faults "$aiflame" top -- "$app" 1000000
check "a terminal that is closed ends top and its recorder" at_terminal closed "$aiflame" top -- "$app" 1000000
check "Ctrl-Z gives the terminal back, and fg takes it again" at_terminal suspended "$aiflame" top -- "$app" 1000000
check "the last window stays after the command's end" at_terminal target_ends "$aiflame" top -- "$app" 300
check "top of a command that cannot be started restores the terminal" at_terminal no_command "$aiflame" top -- ./no-such-program
printf '%s\n' 'echo alpha' "printf '\\033]0;evil\\007'" 'sleep 2' 'echo omega' >writes.sh
check "the end of what the command wrote is printed" at_terminal output "$aiflame" top -- sh writes.sh
check "top survives the recorder's death" at_terminal recorder_dies "$aiflame" top -- "$app" 3000
check "top draws without colour with NO_COLOR, and in ASCII without UTF-8" at_terminal plain "$aiflame" top -- "$app" 1000000
ln -s "$app" "$(printf 'evil\033]0;title\007\033[31m')"
check "escape sequences of programs stay harmless" at_terminal hostile "$aiflame" top -- "./$(printf 'evil\033]0;title\007\033[31m')" 1000000
check "no program that top started goes on" no_left 1000000

done_testing
