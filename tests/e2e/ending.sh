#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How a program's end by a signal is told, and what is remembered of one that ended with CUPTI in use.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/ending_app
crashes=$XDG_STATE_HOME/aiflame/cupti-crashes
ulimit -c 0

# rec NAME STATUS COMMAND...: its status is ours; the first screen is in NAME.err
rec() {
	name=$1
	wanted=$2
	shift 2
	"$aiflame" record -o "$name.data" "$@" >"$name.out" 2>"$name.err"
	got=$?
	[ $got -eq "$wanted" ] || { echo "status $got"; cat "$name.err"; return 1; }
}
# begins NAME PATTERN: the first line of the first screen, which report prints again. Shells say a word themselves.
begins() {
	grep -vx Aborted "$1.err" | head -n 1 >first
	grep -qxE -- "$2" first || { cat "$1.err"; return 1; }
	"$aiflame" report "$1.data" | head -n 1 | cmp - first
}
kept='; what was recorded until then is kept'

check "the recorder ends with 139 after a program that SIGSEGV ended" rec segv 139 sh -c 'kill -SEGV $$'
check "an end by SIGSEGV is the summary's first line" begins segv "sh -c 'kill -SEGV \\$\\$' was ended by SIGSEGV \(signal 11\) after [0-9.]+ m?s$kept"
check "an end by SIGSEGV without CUPTI: nothing is said of CUPTI" sh -c '! grep -q cupti segv.err'
check "the recorder ends with 139 after a shell whose command SIGSEGV ended" rec status 139 sh -c 'exit 139'
check "a shell's status 139 is told as SIGSEGV" begins status "sh -c 'exit 139' exited with status 139, as after SIGSEGV, after [0-9.]+ m?s$kept"
check "the recorder ends with another status of its command" rec other 3 sh -c 'exit 3'
check "an exit status that is no signal stands behind "ran"" begins other "ran      sh -c 'exit 3' on .* exit status 3"
check "the recorder ends with 130 after Ctrl-C" rec int 130 sh -c 'kill -INT $PPID; exec sleep 9'
check "a command that Ctrl-C stopped is called stopped, not ended by a crash" begins int "sh -c .* was stopped by SIGINT \(signal 2\) after [0-9.]+ m?s$kept"
check "the recorder ends with 143 after a command that SIGTERM ended" rec term 143 sh -c 'kill -TERM $$'
check "a command that SIGTERM stopped is called stopped" begins term "sh -c .* was stopped by SIGTERM \(signal 15\) after .*$kept"
check "the recorder ends with 137 after a command that SIGKILL ended" rec killed 137 sh -c 'kill -KILL $$'
check "an end by SIGKILL is no out-of-memory killer's where that killed nothing" begins killed "sh -c .* was stopped by SIGKILL \(signal 9\) after [0-9.]+ m?s, which the program or somebody else sent: the kernel's out-of-memory killer killed nothing meanwhile$kept"
check "the recorder ends with 159 after a command that SIGSYS ended" rec sys 159 sh -c 'kill -SYS $$'
check "an end by SIGSYS names the filter that the program may have installed" begins sys "sh -c .* was ended by SIGSYS \(signal 31\) after [0-9.]+ m?s, as at a call that a filter of system calls \(seccomp\) forbids: perhaps one of the agent's, .*$kept"
check "record --kill ends its command with SIGTERM" rec asked 143 --duration 0.2 --kill sleep 9
check "an end by record --kill is no crash in the summary" begins asked "ran      sleep 9 on .*"
check "ends without CUPTI are not remembered" test ! -e "$XDG_STATE_HOME"

# ---- with CUPTI in use ----
# The real agent says so in a process with libcupti; here the program writes it itself.
check "a program with CUPTI that ends well" rec well 0 "$app" 1 0
check "a program with CUPTI that ended well is not remembered" test ! -e "$crashes"
check "info has a line of the program's CUPTI" says "13.0 (build abababababababababababababababababababab), used: blocks" "$aiflame" info well.data
check "a program with CUPTI that ends by SIGINT" rec stopped 130 "$app" 1 2
check "a program with CUPTI that SIGINT ended is not remembered" test ! -e "$crashes"
check "a program with CUPTI that SIGINT ended gets no advice on CUPTI" sh -c '! grep -qe --cupti stopped.err'

check "a program with CUPTI that ends by SIGSEGV" rec crash 139 "$app" 1 11
check "a crash with CUPTI is the summary's first line" begins crash ".*/ending_app 1 11 was ended by SIGSEGV .*$kept"
check "a crash with CUPTI: the summary's second line says what to try" sh -c "sed -n 2p crash.err | grep -qx 'try      does it also end without aiflame? If not, in this order: record --cupti throughout, --device-rate 0, --all-launches; and please report it'"
check "a crash with CUPTI: the summary's third line says what the next recording asks" sh -c "sed -n 3p crash.err | grep -qx '         the next recording with this libcupti asks less of it (--cupti throughout); forget it with: rm $crashes'"
check "a crash with CUPTI: the summary is not longer than 18 lines" sh -c '[ $(wc -l <crash.err) -le 18 ]'
check "a crash with CUPTI is remembered in one line" grep -qxE "(ab){20} blocks $(date +%Y)-[0-9]{2}-[0-9]{2} SIGSEGV .*/ending_app 1 11" "$crashes"
check "crashes are remembered in a file of the user's alone" test "$(stat -c %a "$crashes" "$XDG_STATE_HOME/aiflame" | tr '\n' ' ')" = "600 700 "
check "the next program with that CUPTI is told of the crash" sh -c "'$aiflame' record -q -o n.data '$app' 2 0 | grep -qx '0 ab-1'"
check "a program is told what --cupti asks" sh -c "'$aiflame' record -q --cupti throughout -o n.data '$app' 2 0 | grep -qx '2 ab-1'"
check "record --cupti refuses an unknown word" status_is 2 "$aiflame" record --cupti less -o n.data true
check "a shell's command with CUPTI that ends by SIGBUS" rec shell 135 sh -c "exec 2>/dev/null; '$app' 3 7; exit \$?"
check "a shell's status 135 is told as SIGBUS" begins shell "sh -c .* exited with status 135, as after SIGBUS, after .*$kept"
check "a shell's status 135 with CUPTI is remembered" sh -c "[ \$(wc -l <'$crashes') = 2 ] && '$aiflame' record -q -o n.data '$app' 1 0 | grep -qx '0 ab-3'"
doctor_lists() { # with a libcuda: elsewhere nothing of NVIDIA is said
	LD_LIBRARY_PATH=$build/tests/mock/cuda "$aiflame" doctor >doctor.out
	grep 'CUPTI crashes .*build \(ab\)\{20\}, used as --cupti records, ended a program by SIGBUS on ' doctor.out | grep -qF "forget all with: rm $crashes"
}
check "doctor lists crashes with CUPTI" doctor_lists
: >"$crashes"
# The kernel leaves lines out where many processes fault.
logged() { dmesg 2>/dev/null | grep -c 'ending_app\[[0-9]*\]: segfault at 8 '; }
before=$(logged)
check "a program with CUPTI that faults in its own code" rec fault 139 "$app" 1 -1
if [ -r /dev/kmsg ] && [ "$(logged)" -gt "$before" ]; then
	check "a real fault: the summary says in which file" begins fault ".* was ended by SIGSEGV \(signal 11\) in ending_app after .*"
	check "a real fault outside of CUPTI is not remembered" test ! -s "$crashes"
else
	skip "a real fault: the summary says in which file" "the kernel's log does not have it"
fi
rm "$crashes"
ln -s "$work/elsewhere" "$crashes"
check "a program with CUPTI crashes where the list of crashes is a link" rec link 139 "$app" 1 11
check "a list of crashes that is a link is not followed" sh -c '! grep -q "forget it" link.err && ! [ -e elsewhere ]'
rm -r "$XDG_STATE_HOME"

# The agent's own word: a MOCK of libcuda and libcupti (tests/mock/cuda/mock.h), and a program that is ended while it launches.
mock=$build/tests/mock/cuda
crash_mock() {
	LD_LIBRARY_PATH=$mock AIFLAME_STANDBY=$work/standby MOCK_LOG=$work/mock.log rec mock 139 sh -c '"$@" &
		until grep -qs " activity kind=10 on=1 " "$MOCK_LOG" || ! kill -0 $!; do sleep 0.05; done; kill -SEGV $!; wait $!' - \
		"$mock/app" -f never -g 100 "$root/tests/golden/cubin/kernels_sm90a.cubin"
}
check "a CUDA program on the mock is ended by SIGSEGV" crash_mock
if [ -n "$("$aiflame" query --format csv mock.data "SELECT value FROM meta WHERE key = 'cupti.use'" | tail -n +2)" ]; then
	check "a CUDA program that crashed has told what it asks of CUPTI" says ', used: ' "$aiflame" info mock.data
	check "a CUDA program that crashed is remembered" test -s "$crashes"
	check "a CUDA program that crashed: the first screen says what the next recording asks" grep -q "the next recording with this libcupti asks " mock.err
else
	skip "a CUDA program that crashed is remembered" "its agent does not say what it asks of CUPTI"
fi
check "without a home directory recording works as ever" env -u XDG_STATE_HOME HOME=/nowhere "$aiflame" record -q -o n.data true
done_testing
