#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame stacks: what every thread of a program that runs does, seen from outside, and that the program does not notice.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/stacks_app
here=$root/tests/e2e
unset LD_PRELOAD
mkfifo in out

# start COMMAND...: waits until it says that it is ready; its number is $pid. Its input stays open.
start() {
	"$@" <in >out 2>app.err &
	pid=$!
	exec 7>in 8<out
	read -r line <&8
	[ "$line" = ready ] || echo "not ok - $* says '$line' instead of ready"
}
# finish: ends the program by a line, and says how it ended
finish() {
	echo >&7
	exec 7>&-
	read -r line <&8
	exec 8<&-
	wait "$pid"
	status=$?
}
# quit: ends one that would not end by itself
quit() {
	exec 7>&-
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	exec 8<&-
}
# sees CASE ...: a look at the program is what the case says; its threads may not have arrived yet
sees() {
	"$aiflame" stacks --json "$pid" >look.json && python3 "$here/stacks_check.py" "$@" <look.json
}

start "$app" threads
check "threads that wait in a pipe, a condition, a read-write lock and none at all are told with their stacks" wait_until sees threads
check "the text says what is waited for, and by whom it is held" sh -c "'$aiflame' stacks $pid | grep -q 'waits for read-write lock 0x[0-9a-f]*, held by thread $pid \"stacks_app\"'"
check "the text has lines of the program's source" sh -c "'$aiflame' stacks $pid | grep -q 'read_a_pipe (.*stacks_app.c:[0-9]*)'"
check "--verbose says how many threads were stopped and for how long" sh -c "'$aiflame' stacks -v $pid | grep -qE '^stopped: 1 thread, the longest for [0-9.]+ (us|ms|s)'"
check "a program is found by its name" says "process $pid: " "$aiflame" stacks stacks_app
check "a thread's number stands for its process" sh -c "'$aiflame' stacks \$(ls /proc/$pid/task | tail -n 1) | grep -q '^process $pid: '"
finish
check "the program that was looked at ends as it would have" test "$line:$status" = end:0

# A name may hold anything: a second line must not look like one of ours.
start sh -c "exec '$app' threads 'x
thread 1 \"forged\" runs'"
check "a line end in a program's arguments makes no line of the output" sh -c "'$aiflame' stacks $pid >look.txt && grep -q forged look.txt && ! grep -q '^thread 1 ' look.txt"
finish
start "$app" deadlock
check "threads that wait for each other are a deadlock of both" wait_until sees deadlock
check "the text names both holders" sh -c "'$aiflame' stacks $pid | grep -qE '^deadlock: thread [0-9]+ \"(left|right)\" waits for mutex 0x[0-9a-f]+, held by thread [0-9]+ \"(left|right)\"; thread [0-9]+ \"(left|right)\" waits for mutex'"
quit

start "$app" poll
check "a hundred looks at a thread that polls all succeed" sh -c "for i in \$(seq 100); do '$aiflame' stacks $pid >/dev/null || exit 1; done"
finish
check "no call of a program fails by being looked at" test "$line:$status" = end:0

start "$app" many 1000
check "a thousand threads are all seen" wait_until sees many 1000
check "threads that do the same are one stack in the text" sh -c "'$aiflame' stacks $pid | grep -qE '\[the same: .* and [0-9]+ more\]'"
finish

start "$app" threads
wait_until sees threads
kill -STOP $pid
# Each thread stops by itself, and the first may be before the others.
is_stopped() { [ -z "$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$pid/task"/*/status | grep -v T)" ]; }
wait_until is_stopped
check "a program that a signal has stopped is told as such, with its stacks" sh -c "'$aiflame' stacks $pid >look.txt && grep -q 'is stopped by a signal' look.txt && grep -q add_up look.txt"
check "a program that a signal has stopped still is" is_stopped
kill -CONT $pid
finish
check "a program that was stopped ends as it would have" test "$line:$status" = end:0

start "$app" come-and-go
check "threads that end meanwhile are no failure" sh -c "for i in \$(seq 30); do '$aiflame' stacks --json $pid | python3 -m json.tool >/dev/null || exit 1; done"
quit

start "$app" exit
wait "$pid"
exec 7>&- 8<&-
check "a process that has ended is said to be none" says "there is no process $pid" "$aiflame" stacks "$pid"
check "a process that has ended is status 1" status_is 1 "$aiflame" stacks "$pid"
check "a name that no process has is said" says "there is no process named no-such-program" "$aiflame" stacks no-such-program
check "without a process it is misuse" status_is 2 "$aiflame" stacks
# Programs that end at any moment while they are looked at.
check "processes that end while they are looked at leave one line or a stack" sh -c "
	for i in \$(seq 40); do
		sleep 0.0\$((i % 7)) & '$aiflame' stacks \$! >look.txt 2>&1; r=\$?
		[ \$r -le 1 ] && { [ \$r = 0 ] || [ \$(wc -l <look.txt) = 1 ]; } || { echo \$r; cat look.txt; exit 1; }
		wait
	done"

cat >parent.py <<'END'
import subprocess
child = subprocess.Popen(["sleep", "1000"])
print(child.pid, flush=True)
child.wait()
END
python3 parent.py >child &
parent=$!
wait_until test -s child
waits_for_child() { "$aiflame" stacks --children $parent >look.txt && grep -q "^process $(cat child): sleep" look.txt && grep -q "waits for the end of process $(cat child) (sleep)" look.txt; }
check "--children shows the processes that it has started, and which one it waits for" wait_until waits_for_child
kill "$(cat child)"
wait

seen=
for python in python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 ${AIFLAME_PYTHONS:-}; do
	version=$("$python" -c 'import sys; sys.version_info >= (3, 8) and print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
	[ "$version" ] || continue
	case " $seen " in *" $version "*) continue ;; esac
	seen="$seen $version"
	start "$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')" "$here/stacks.py"
	check "Python $version: functions and the C between them are in their true order, with lines" wait_until sees python "$version"
	quit
done
check "some Python was tried" test -n "$seen"

start "$app" threads
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	# The build may be closed to other users.
	cp "$aiflame" aiflame && cp "$app" app && chmod 755 aiflame app "$work"
	check "a process of another user is refused, with the way to see it" says "process $pid may not be read: it belongs to user 0; run this as that user or as root" $nobody ./aiflame stacks "$pid"
	quit
	start $nobody ./app secret
	check "a process that forbids it is refused, with the way to see it" says "process $pid may not be read: it has forbidden that" $nobody ./aiflame stacks "$pid"
	check "root may look at it all the same" says "main" "$aiflame" stacks "$pid"
	finish
	# Its memory waits for a thread that would serve it.
	"$app" unserved </dev/null >unserved.out 2>&1
	if [ $? = 2 ] && [ "$(uname -m)" = x86_64 ]; then
		start "$app" unserved
		check "root's look at a stack that nobody serves ends" says "waits in pause" timeout 120 "$aiflame" stacks "$pid"
		quit
	else
		skip "root's look at a stack that nobody serves ends" "not x86-64, or no userfaultfd here"
	fi
	start $nobody ./app threads
	check "a process of one's own needs no root" says "read_a_pipe" $nobody ./aiflame stacks "$pid"
	finish
else
	quit
	skip "refusals are said" "needs root and setpriv"
fi

done_testing
