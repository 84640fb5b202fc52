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

check "a program that ends by SIGSEGV" rec segv 139 sh -c 'kill -SEGV $$'
check "is the first line" begins segv "sh -c 'kill -SEGV \\$\\$' was ended by SIGSEGV \(signal 11\) after [0-9.]+ m?s$kept"
check "nothing is said of CUPTI, which was not there" sh -c '! grep -q cupti segv.err'
check "a shell whose command ended so" rec status 139 sh -c 'exit 139'
check "is told, too" begins status "sh -c 'exit 139' exited with status 139, as after SIGSEGV, after [0-9.]+ m?s$kept"
check "another status" rec other 3 sh -c 'exit 3'
check "is where it was" begins other "ran      sh -c 'exit 3' on .* exit status 3"
check "Ctrl-C" rec int 130 sh -c 'kill -INT $PPID; exec sleep 9'
check "is no crash" begins int "sh -c .* was stopped by SIGINT \(signal 2\) after [0-9.]+ m?s$kept"
check "SIGTERM" rec term 143 sh -c 'kill -TERM $$'
check "is none, either" begins term "sh -c .* was stopped by SIGTERM \(signal 15\) after .*$kept"
check "SIGKILL" rec killed 137 sh -c 'kill -KILL $$'
check "may be the out-of-memory killer's" begins killed "sh -c .* was stopped by SIGKILL \(signal 9\) after [0-9.]+ m?s, likely by the kernel's out-of-memory killer \(see dmesg\), unless you sent it$kept"
check "--kill" rec asked 143 --duration 0.2 --kill sleep 9
check "was asked for" begins asked "ran      sleep 9 on .*"
check "nothing is remembered of all that" test ! -e "$XDG_STATE_HOME"

# ---- with CUPTI in use ----
# The real agent says so in a process with libcupti; here the program writes it itself.
check "a program that has CUPTI and ends well" rec well 0 "$app" 1 0
check "is not remembered" test ! -e "$crashes"
check "info has a line of its CUPTI" says "13.0 (build abababababababababababababababababababab), used: blocks" "$aiflame" info well.data
check "one that ends by SIGINT" rec stopped 130 "$app" 1 2
check "is not" test ! -e "$crashes"
check "nor is it advised" sh -c '! grep -q cupti stopped.err'

check "one that ends by SIGSEGV" rec crash 139 "$app" 1 11
check "is the first line" begins crash ".*/ending_app 1 11 was ended by SIGSEGV .*$kept"
check "the second says what to try" sh -c "sed -n 2p crash.err | grep -qx 'try      does it also end without aiflame? If not, in this order: record --cupti throughout, --device-rate 0, --all-launches; and please report it'"
check "the third what is asked next" sh -c "sed -n 3p crash.err | grep -qx '         the next recording with this libcupti asks less of it (--cupti throughout); forget it with: rm $crashes'"
check "it is not long" sh -c '[ $(wc -l <crash.err) -le 18 ]'
check "remembered is one line" grep -qxE "(ab){20} blocks $(date +%Y)-[0-9]{2}-[0-9]{2} SIGSEGV .*/ending_app 1 11" "$crashes"
check "in a file of the user's alone" test "$(stat -c %a "$crashes" "$XDG_STATE_HOME/aiflame" | tr '\n' ' ')" = "600 700 "
check "the next program is told of it" sh -c "'$aiflame' record -q -o n.data '$app' 2 0 | grep -qx '0 ab-1'"
check "and of what is asked" sh -c "'$aiflame' record -q --cupti throughout -o n.data '$app' 2 0 | grep -qx '2 ab-1'"
check "a word that is none is refused" status_is 2 "$aiflame" record --cupti less -o n.data true
check "a shell's command that ends by SIGBUS" rec shell 135 sh -c "exec 2>/dev/null; '$app' 3 7; exit \$?"
check "is told" begins shell "sh -c .* exited with status 135, as after SIGBUS, after .*$kept"
check "and remembered" sh -c "[ \$(wc -l <'$crashes') = 2 ] && '$aiflame' record -q -o n.data '$app' 1 0 | grep -qx '0 ab-3'"
doctor_lists() { # with a libcuda: elsewhere nothing of NVIDIA is said
	LD_LIBRARY_PATH=$build/tests/mock/cuda "$aiflame" doctor >doctor.out
	grep 'CUPTI crashes .*build \(ab\)\{20\}, used as --cupti records, ended a program by SIGBUS on ' doctor.out | grep -qF "forget all with: rm $crashes"
}
check "doctor lists it" doctor_lists
: >"$crashes"
# The kernel leaves lines out where many processes fault.
logged() { dmesg 2>/dev/null | grep -c 'ending_app\[[0-9]*\]: segfault at 8 '; }
before=$(logged)
check "a real fault elsewhere" rec fault 139 "$app" 1 -1
if [ -r /dev/kmsg ] && [ "$(logged)" -gt "$before" ]; then
	check "is said where" begins fault ".* was ended by SIGSEGV \(signal 11\) in ending_app after .*"
	check "and not remembered" test ! -s "$crashes"
else
	skip "is said where" "the kernel's log does not have it"
fi
rm "$crashes"
ln -s "$work/elsewhere" "$crashes"
check "a link is not followed" rec link 139 "$app" 1 11
check "and nothing said of it" sh -c '! grep -q "forget it" link.err && ! [ -e elsewhere ]'
rm -r "$XDG_STATE_HOME"

# The agent's own word: a MOCK of libcuda and libcupti (tests/mock/cuda/mock.h), and a program that is ended while it launches.
mock=$build/tests/mock/cuda
crash_mock() {
	LD_LIBRARY_PATH=$mock AIFLAME_STANDBY=$work/standby rec mock 139 sh -c '"$@" & sleep 1; kill -SEGV $!; wait $!' - \
		"$mock/app" -f never -g 100 "$root/tests/golden/cubin/kernels_sm90a.cubin"
}
check "a CUDA program that is ended by SIGSEGV" crash_mock
if [ -n "$("$aiflame" query --format csv mock.data "SELECT value FROM meta WHERE key = 'cupti.use'" | tail -n +2)" ]; then
	check "has told what it asks of CUPTI" says ', used: ' "$aiflame" info mock.data
	check "and is remembered" test -s "$crashes"
	check "as the first screen says" grep -q "the next recording with this libcupti asks " mock.err
else
	skip "and is remembered" "its agent does not say what it asks of CUPTI"
fi
check "where there is no home all else is as before" env -u XDG_STATE_HOME HOME=/nowhere "$aiflame" record -q -o n.data true
done_testing
