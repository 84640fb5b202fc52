#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processes that were not started by a recorder: `aiflame env`, record -p and -a, ctl, and that nothing of
# it shows in the process.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/attach_app
agent=$build/src/agent/libaiflame-agent.so
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
dir=$work/run/aiflame

# carrying COMMAND...: with the variables
carrying() {
	(eval "$("$aiflame" env)" && exec "$@")
}
# start NAME PROGRAM [ARGUMENT...]: a target, told by `tell NAME`, which waits for the answer
start() {
	name=$1
	shift
	rm -f "$name.in" "$name.out"
	mkfifo "$name.in"
	: >"$name.out"
	(eval "$("$aiflame" env)" && exec "$@" <"$name.in" >"$name.out" 2>"$name.err") &
	eval "pid_$name=$!"
	# Kept open for the target's life.
	case $name in
	a) exec 7>"$name.in" ;;
	b) exec 8>"$name.in" ;;
	esac
}
pid() { eval "echo \$pid_$1"; }
tell() {
	lines=$(wc -l <"$1.out")
	case $1 in
	a) echo "$2" >&7 ;;
	b) echo "$2" >&8 ;;
	esac
	for _ in $(seq 600); do
		[ "$(wc -l <"$1.out")" -gt "$lines" ] && break
		sleep 0.05
	done
	tail -n 1 "$1.out" | cut -d' ' -f2
}
finish() {
	case $1 in
	a) echo quit >&7; exec 7>&- ;;
	b) echo quit >&8; exec 8>&- ;;
	esac
	wait "$(pid "$1")"
}
# recorded PID [SECONDS]: until it is. Its helper looks at the bell each 0.05 s.
recorded() {
	for _ in $(seq 200); do
		"$aiflame" ctl status | awk -v pid="$1" '$1 == pid && $4 != "-" { ok = 1 } END { exit !ok }' &&
			sleep 0.3 && return 0
		sleep 0.05
	done
	"$aiflame" ctl status
	cat ./*.err
	return 1
}
# collecting NAME [N]: until it does, of N processes that it has woken
collecting() {
	for _ in $(seq 200); do
		"$aiflame" ctl status | awk -v name="$1" -v n="${2:-0}" '$1 == name && / collects / { ok = 1 } $4 == name { got++ }
			END { exit !(ok && got >= n) }' && sleep 0.3 && return 0
		sleep 0.05
	done
	"$aiflame" ctl status
	return 1
}
# recorder NAME OPTION...: in the background, writes NAME.data
recorder() {
	data=$1
	shift
	timeout -k 5 120 env --default-signal=INT "$aiflame" record -q --all-launches --cpu-rate 0 -o "$data.data" --name "$data" "$@" \
		2>"$data.err" &
	eval "recorder_$data=$!"
}
launches() { "$aiflame" query --format csv "$1.data" "SELECT count(*) FROM launches" | tail -1; }
# recorded_are NAME N
recorded_are() {
	got=$(launches "$1")
	[ "$got" = "$2" ] && says "everything adds up" "$aiflame" info "$1.data" ||
		{ echo "$got instead of $2"; "$aiflame" query "$1.data" "SELECT * FROM losses"; return 1; }
}
# gaps NAME LEAST [MOST]: ms in which nothing was collected, and that the report has them
gaps() {
	got=$("$aiflame" query --format csv "$1.data" "SELECT coalesce(sum(end_ns - start_ns), 0) / 1000000
		FROM windows WHERE device IS NULL AND thread IS NULL" | tail -1)
	[ "$got" -ge "$2" ] && [ "$got" -le "${3:-100000}" ] &&
		"$aiflame" info "$1.data" | awk '/ not collected/ { ok = $4 > 0 } END { exit !ok }' && return 0
	echo "$got ms, not $2 to ${3:-}"
	"$aiflame" query "$1.data" "SELECT * FROM windows"
	"$aiflame" info "$1.data" | sed -n '/^conservation/,/overlap/p'
	return 1
}
status_of() { eval "wait \$recorder_$1"; }

# ---- what to set

check "env: sh can be eval'ed" sh -c "
	eval \"\$('$aiflame' env)\" && [ \"\$LD_PRELOAD\" = '$agent' ] && [ \"\$OPENCL_LAYERS\" = '$agent' ] &&
	[ \"\$AIFLAME_STANDBY\" = '$dir' ] && [ \"\$AIFLAME_LEVEL\" = graphs ]"
check "twice is as good as once" sh -c "
	eval \"\$('$aiflame' env)\" && eval \"\$('$aiflame' env)\" && [ \"\$LD_PRELOAD\" = '$agent' ]"
check "what was preloaded before stays" sh -c "
	LD_PRELOAD=libm.so.6 '$aiflame' env | grep -qx \"export LD_PRELOAD=$agent:libm.so.6\""
check "its directory is ours alone" sh -c "[ \$(stat -c %a '$dir') = 700 ]"
check "env: docker gives words" sh -c "
	set -- \$('$aiflame' env --format docker) && [ \$# -eq 16 ] && [ \"\$1\" = --volume ] &&
	[ \"\$2\" = '$agent:$agent:ro' ] && [ \"\$5\" = --env ] && [ \"\$6\" = 'LD_PRELOAD=$agent' ]"
check "env: jupyter is JSON" sh -c "
	(printf '{'; '$aiflame' env --format jupyter; printf '}') | python3 -c '
import json, sys
e = json.load(sys.stdin)[\"env\"]
assert e[\"AIFLAME_STANDBY\"] == \"$dir\" and len(e) == 6'"
check "env: systemd is a unit's lines" sh -c "
	'$aiflame' env --format systemd | awk 'NR == 1 { ok = \$0 == \"[Service]\" } NR > 1 { ok = ok && /^Environment=\".*=.*\"\$/ }
		END { exit !ok || NR != 7 }'"
check "env: k8s names each variable and both volumes" sh -c "
	'$aiflame' env --format k8s >k.yaml && [ \$(grep -c '^- name:' k.yaml) = 10 ] && ! grep -q '	' k.yaml"
check "env: slurm can be eval'ed" sh -c "eval \"\$('$aiflame' env --format slurm)\" && [ -n \"\$AIFLAME_STANDBY\" ]"
chmod 755 run/aiflame
check "a directory that others may read is refused" says "mode 0700" "$aiflame" env
chmod 700 run/aiflame
mv run/aiflame run/elsewhere && ln -s elsewhere run/aiflame
check "a link is refused" status_is 1 "$aiflame" env
rm run/aiflame && mv run/elsewhere run/aiflame

# ---- before, while, after

check "a program without a runtime shows nothing" sh -c "
	eval \"\$('$aiflame' env)\" && true && [ -z \"\$(ls '$dir')\" ]"
# Carries the agent and never starts a runtime.
(eval "$("$aiflame" env)" && exec sleep 30) &
sleeper=$!
soon_carries() {
	for _ in $(seq 100); do
		grep -qs libaiflame-agent "/proc/$sleeper/maps" && grep -qs sleep "/proc/$sleeper/comm" && return 0
		sleep 0.05
	done
	return 1
}
check "one without a runtime runs" soon_carries
check "ctl lists it, too" sh -c "'$aiflame' ctl status | grep -qE '^$sleeper +none yet +- +- +sleep 30'"
check "--duration ends what waits for a runtime" status_is 0 timeout 20 "$aiflame" record -o w.data -p $sleeper --duration 0.5
check "and it says that it waited" says "no accelerator runtime has started in what was recorded" \
	timeout 20 "$aiflame" record -o w.data -p $sleeper --duration 0.5
check "for one that carries the agent" sh -c "grep -q 'of 1 process seen, 1 carried the agent, 0 started' says.out"
check "nobody is ready: record -a says that" says "no process on standby has started an accelerator runtime" \
	timeout 20 "$aiflame" record -o w.data -a --duration 0.5
kill $sleeper
wait $sleeper 2>/dev/null
check "and it leaves nothing" test -z "$(ls "$dir")"
start a "$app" 4
check "a runtime starts" test "$(tell a begin)" = 0
check "its page is the user's alone" sh -c "[ \$(stat -c %a '$dir'/*.agent) = 600 ]"
check "ctl lists it" says "fake" "$aiflame" ctl status
check "it holds no descriptor" sh -c "! ls -l /proc/$(pid a)/fd | grep -e aiflame/ -e socket"
check "launches before" test "$(tell a 'launch 25')" = 100
recorder r1 -p "$(pid a)"
check "it is recorded" recorded "$(pid a)"
check "ctl says by whom" says r1 "$aiflame" ctl status
# Process 1 is never ours; where its memory map can be read it carries no agent.
check "what cannot be read is said" sh -c "
	'$aiflame' record -q -o x.data -p 1 2>&1 | grep -qE 'CAP_SYS_PTRACE|does not carry the agent|belongs to user'"
check "another recorder is told so" says "is being recorded by r1" "$aiflame" record -q -o x.data -p "$(pid a)"
check "and leaves no profile" test ! -e x.data
check "it holds no descriptor" sh -c "! ls -l /proc/$(pid a)/fd | grep -e aiflame/ -e socket"
# A thread that others wait for must not be behind all that runs here: its priority could not be raised again.
check "the recorder's threads have one priority" test \
	"$(awk '{ print $19 }' /proc/"$(pgrep -P "$recorder_r1" aiflame)"/task/*/stat | sort -u | wc -l)" = 1
tell a "launch 250" >/dev/null
sleep 0.3
kill -TERM "$recorder_r1"
check "a signal to the recorder" status_of r1
check "leaves the target alive, and its launches" test "$(tell a 'launch 25')" = 1200
check "exactly those between are recorded" recorded_are r1 1000
check "their stacks are there" sh -c "
	'$aiflame' query r1.data 'SELECT function FROM frames' | grep -qw launch"
sleep 0.6
check "afterwards no memory of the recorder's is mapped" sh -c "! grep memfd:aiflame /proc/$(pid a)/maps"
recorder r2 -p "$(pid a)" --name "my rec"
check "it can be recorded again" recorded "$(pid a)"
check "what ends that is said as a shell takes it" says "aiflame ctl stop 'my rec'" "$aiflame" record -q -o x.data -p "$(pid a)"
tell a "launch 50" >/dev/null
sleep 0.3
check "ctl stop NAME" "$aiflame" ctl stop "my rec"
check "ends the recording" status_of r2
check "with its launches" recorded_are r2 200
recorder r3 -p "$(pid a)" --duration 1.2
recorded "$(pid a)"
tell a "launch 10" >/dev/null
check "--duration ends it, too" status_of r3
check "with its launches" recorded_are r3 40

# ---- pauses

recorder r4 -p "$(pid a)"
recorded "$(pid a)"
tell a "launch 10" >/dev/null
sleep 0.3
"$aiflame" ctl pause r4
sleep 0.5
tell a "launch 100" >/dev/null
check "ctl says that it pauses" says paused "$aiflame" ctl status
"$aiflame" ctl start "$(pid a)"
sleep 0.5
tell a "launch 10" >/dev/null
sleep 0.3
"$aiflame" ctl stop "$(pid a)"
status_of r4
check "ctl pause and start, by a recorded process's number" recorded_are r4 80
check "what passed meanwhile was not collected" gaps r4 150
check "and the first screen says so" says "; not collected " "$aiflame" report r4.data
recorder r5 -p "$(pid a)" --delay 1.5 --duration 1
recorded "$(pid a)"
tell a "launch 100" >/dev/null
sleep 1.6
tell a "launch 10" >/dev/null
status_of r5
check "--delay collects nothing before" recorded_are r5 40
check "nor is that idle" gaps r5 1000
recorder silent -p "$(pid a)"
recorded "$(pid a)"
tell a "launch 10" >/dev/null
sleep 0.3
stopped=$(pgrep -P "$recorder_silent")
kill -STOP "$stopped"
sleep 3.5
tell a "launch 10" >/dev/null
kill -CONT "$stopped"
sleep 0.7
tell a "launch 10" >/dev/null
sleep 0.3
"$aiflame" ctl stop silent
status_of silent
check "a recorder that is silent gets nothing" recorded_are silent 80
check "and knows" gaps silent 500

# ---- what the target does meanwhile

recorder r6 -p "$(pid a)"
recorded "$(pid a)"
tell a "launch 10" >/dev/null
tell a close >/dev/null
sleep 0.5
tell a "launch 10" >/dev/null
sleep 0.3
"$aiflame" ctl stop r6
status_of r6
check "a target that closes all descriptors" recorded_are r6 80
recorder r7 -p "$(pid a)"
check "and is recorded again" recorded "$(pid a)"
tell a "launch 10" >/dev/null
tell a "fork 33" >/dev/null
sleep 0.3
"$aiflame" ctl stop r7
status_of r7
check "a target that forks: its child's launches, too" recorded_are r7 73
check "in two processes" test "$("$aiflame" query --format csv r7.data 'SELECT count(*) FROM processes' | tail -1)" = 2
check "a child of a dormant process" test "$(tell a 'fork 5')" -gt 0
"$aiflame" ctl status >/dev/null
check "leaves nothing" test "$(ls "$dir" | wc -l)" = 1

# ---- recorders that die

recorder k1 -p "$(pid a)"
recorded "$(pid a)"
tell a "launch 10" >/dev/null
sleep 1.2
pkill -9 -P "$recorder_k1" aiflame
status_of k1
recorder k2 -p "$(pid a)" --flame k2.html
check "after a recorder's death by -9 the next one has it" recorded "$(pid a)"
tell a "launch 20" >/dev/null
sleep 0.3
"$aiflame" ctl stop k2
status_of k2
check "with its launches" recorded_are k2 80
check "and the page that was asked for" grep -qi "^<!doctype html>" k2.html
check "what the first one left is gone" test "$(ls "$dir" | wc -l)" = 1

# ---- profiler first, and the end of targets

recorder all -a --flame all.svg
sleep 0.5
recorded "$(pid a)"
start b "$app" 2
tell a "launch 10" >/dev/null
check "record -a: workload later: not a launch is lost" test "$(tell b 'launch 1000')" = 2000
sleep 0.3
finish b
check "a target may end" test $? = 0
tell a "launch 10" >/dev/null
sleep 0.3
kill -INT "$(pgrep -P "$recorder_all" aiflame)" # as Ctrl-C, which here reaches nobody else
check "Ctrl-C ends it" status_of all
check "both are in the profile" recorded_are all 2080
check "and the picture of both is there" grep -q '>launch' all.svg
recorder dead -p "$(pid a)"
recorded "$(pid a)"
tell a "launch 10" >/dev/null
sleep 0.3
echo crash >&7
wait "$(pid a)" 2>/dev/null
check "a target dies: its recording ends by itself" status_of dead
check "with its launches" recorded_are dead 40
check "and its page is taken away" sh -c "ls '$dir'; [ -z \"\$(ls '$dir')\" ]"
start a python3 -c 'import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(60)' "$app" 1
tell a begin >/dev/null
child_of_a=$(pgrep -P "$(pid a)")
recorder unseen -p "$child_of_a"
recorded "$child_of_a"
echo crash >&7
status_of unseen
check "also if its parent does not wait for it" sh -c "ls '$dir'; [ -z \"\$(ls '$dir')\" ]"
kill "$(pid a)"
wait "$(pid a)" 2>/dev/null

# ---- waiting; refusals

start a "$app" 1
recorder w -p "$(pid a)"
collecting w
check "before the runtime starts" test "$(tell a 'launch 500')" = 500
sleep 0.3
finish a
status_of w
check "a runtime that starts later is recorded from its first launch" recorded_are w 500
start a sh -c "'$app' 2; true"
tell a begin >/dev/null
recorder child -p "$(pid a)"
collecting child 1
tell a "launch 50" >/dev/null
sleep 0.3
"$aiflame" ctl stop child
status_of child
check "a process's child that runs already" recorded_are child 100
finish a
start a "$app" 1
tell a title >/dev/null
check "a title took the environment's place" says "overwritten them with a title" "$aiflame" record -q -o x.data -p "$(pid a)"
tell a begin >/dev/null
recorder titled -p "$(pid a)"
check "when its runtime has started it is recorded" recorded "$(pid a)"
tell a "launch 50" >/dev/null
sleep 0.3
"$aiflame" ctl stop titled
status_of titled
check "with its launches, too" recorded_are titled 50
finish a
check "no such process" says "does not exist" "$aiflame" record -q -p 4194303
# Its parent never asks how it ended.
python3 -c '
import os, sys, time
pid = os.fork()
pid or os._exit(0)
print(pid, flush=True)
time.sleep(60)' >zombie.out &
parent=$!
for _ in $(seq 200); do
	[ -s zombie.out ] && grep -q "^State:.Z" "/proc/$(cat zombie.out)/status" && break
	sleep 0.05
done
check "one that has ended" says "process $(cat zombie.out): has ended; see ps -e" "$aiflame" record -q -p "$(cat zombie.out)"
kill $parent
sleep 60 &
sleeper=$!
check "a process without the agent" says "aiflame env" "$aiflame" record -q -p $sleeper
kill $sleeper
check "no process at all" status_is 2 "$aiflame" record -q -p one
check "-p and a command" status_is 2 "$aiflame" record -q -a true
check "ctl stop without a recording" says "no recording is running" "$aiflame" ctl stop
check "ctl nonsense" status_is 2 "$aiflame" ctl nonsense
# (The tree may lie in a closed folder.)
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups test -x "$aiflame"; then
	start a "$app" 1
	tell a begin >/dev/null
	chmod 711 "$work"
	check "another user's process" says "belongs to user" setpriv --reuid=65534 --clear-groups \
		env XDG_RUNTIME_DIR=/nowhere "$aiflame" record -q -o /dev/null -p "$(pid a)"
	check "another user's directory" status_is 1 setpriv --reuid=65534 --clear-groups \
		env AIFLAME_STANDBY="$dir" "$aiflame" ctl status
	finish a
	# Root records a user's process.
	mkdir -m 700 user && chown 65534 user
	rm -f a.in && mkfifo a.in && chown 65534 a.in
	(eval "$("$aiflame" env)" && AIFLAME_STANDBY=$work/user/s exec setpriv --reuid=65534 --clear-groups "$app" 2 \
		<a.in >a.out) &
	pid_a=$!
	exec 7>a.in
	tell a begin >/dev/null
	recorder root -p "$pid_a"
	sleep 1
	tell a "launch 50" >/dev/null
	sleep 0.3
	kill -TERM "$recorder_root"
	status_of root
	check "root records a user's process" recorded_are root 100
	# With more rights than the user's it would follow the user's links to anywhere.
	chmod 500 user/s
	check "and writes nothing where that user may not" says "its owner must be able to write there" \
		"$aiflame" record -q -o x.data -p "$pid_a" --duration 0.1
	chmod 700 user/s
	check "or leaves it behind" test "$(ls user/s | wc -l)" = 1
	finish a
	# Not in a chroot, whose root is no mount point.
	if unshare -p -f --mount-proc true 2>/dev/null; then
		start a unshare -p -f --mount-proc "$app" 2
		tell a begin >/dev/null
		inner=$(pgrep -P "$(pid a)")
		check "a process of another namespace is listed by its own number" says "(1)" "$aiflame" ctl status
		recorder inner -p "$inner"
		collecting inner
		tell a "launch 50" >/dev/null
		sleep 0.3
		check "it is recorded by its number here" "$aiflame" ctl stop inner
		status_of inner
		check "with its launches" recorded_are inner 100
		recorder inner_all -a
		collecting inner_all 1
		tell a "launch 50" >/dev/null
		sleep 0.3
		"$aiflame" ctl stop inner_all
		status_of inner_all
		check "and by record -a" recorded_are inner_all 100
		check "a recorder in there does not know ours" says "does not exist" \
			unshare -p -f --mount-proc "$aiflame" record -q -o x.data -p "$inner"
		finish a
		# From where neither has a number.
		start a "$app" 2
		tell a begin >/dev/null
		unshare -p -f --mount-proc "$aiflame" record -q -a --all-launches -o outer.data --name outer &
		outer=$!
		collecting outer 1
		start b "$app" 2
		tell b begin >/dev/null
		collecting outer 2
		tell a "launch 50" >/dev/null
		tell b "launch 50" >/dev/null
		sleep 0.3
		"$aiflame" ctl stop outer
		wait $outer
		check "a recorder that sees neither keeps two processes apart" test "$("$aiflame" query --format csv outer.data \
			"SELECT count(DISTINCT process) || ' ' || count(*) FROM launches" | tail -n 1)" = "2 200"
		finish a
		finish b
	else
		skip "processes of other namespaces" "unshare --mount-proc does not work here"
	fi
fi

# ---- what lies in the directory is anybody's who is this user

start a "$app" 2
tell a begin >/dev/null
recorder h1 -p "$(pid a)"
recorded "$(pid a)"
"$aiflame" ctl stop h1
status_of h1
page=$(ls "$dir"/*.agent)
printf 'x\033[31m' | dd of="$page" bs=1 seek=32 conv=notrunc 2>/dev/null
check "what a page says does nothing to a terminal" says "x?[31m" "$aiflame" ctl status
# helper_ticks: CPU time of the agent's thread
helper_ticks() {
	awk '$2 == "(aiflame)" { print $14 + $15 }' /proc/"$(pid a)"/task/*/stat
}
truncate -s 100 "$page"
sleep 1.2 # until it looks
before=$(helper_ticks)
sleep 0.5
check "a page that is cut short does not keep the agent busy" test $(($(helper_ticks) - before)) -lt 10
rm "$page"
mkdir "$dir/r-pipe" && mkfifo "$dir/r-pipe/about"
check "a pipe in place of a recording holds nobody up" sh -c "
	eval \"\$('$aiflame' env)\" && printf 'launch 5\nquit\n' | timeout 20 '$app' 1 >/dev/null"
check "nor ctl" timeout 20 "$aiflame" ctl status
rm -r "$dir/r-pipe"
finish a

# ---- again and again, while eight threads launch: CYCLES=200 for a minute and a half

start a "$app" 8
tell a storm >/dev/null
cycles=${CYCLES:-20}
cycle() {
	good=0
	for i in $(seq "$cycles"); do
		timeout 30 "$aiflame" record -q --device-rate 0 --cpu-rate 0 --no-code -o c.data -p "$(pid a)" \
			--duration "0.$((i % 3 + 1))5" 2>c.err || { echo "status $?"; cat c.err; continue; }
		[ "$(launches c)" -gt 0 ] && good=$((good + 1)) || "$aiflame" info c.data
	done
	echo "$good of $cycles"
	[ $good = "$cycles" ]
}
check "attached and detached $cycles times under eight launching threads" cycle
before=$(wc -l <a.out)
check "the target is well" test "$(tell a calm)" -gt 0
sleep 0.5
check "and holds at most one old mapping" test "$(grep -c memfd:aiflame /proc/"$(pid a)"/maps)" = 0
check "and no descriptor" sh -c "! ls -l /proc/$(pid a)/fd | grep -e aiflame/ -e socket"
finish a
check "and ends well" test $? = 0

# ---- the same with a real runtime

cl=$build/tests/e2e/attach_cl
if [ -x "$cl" ] && echo begin | "$cl" 1 >/dev/null 2>&1; then
	start a "$cl" 2
	tell a "launch 20" >/dev/null
	for i in 1 2; do
		recorder cl$i -p "$(pid a)"
		check "OpenCL: recorded" recorded "$(pid a)"
		tell a "launch 100" >/dev/null
		sleep 0.5
		"$aiflame" ctl stop cl$i
		status_of cl$i
		check "OpenCL: launches between" recorded_are cl$i 200
		check "OpenCL: with their times" test \
			"$("$aiflame" query --format csv cl$i.data 'SELECT count(*) FROM executions' | tail -1)" = 200
		check "OpenCL: the kernel has its name" sh -c "
			'$aiflame' query cl$i.data 'SELECT name FROM kernels' | grep -q add_one"
		tell a "launch 20" >/dev/null
	done
	finish a
	check "OpenCL: the program ends well" test $? = 0
else
	n=$((n + 1))
	echo "ok $n - OpenCL targets # SKIP no OpenCL device: install pocl-opencl-icd ocl-icd-libopencl1"
fi
check "nothing is left" test -z "$(ls -A "$dir" 2>/dev/null)"
done_testing
