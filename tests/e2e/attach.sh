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

# pipes NAME: for the two targets that there are at a time. Their ends are kept open for the target's life.
pipes() {
	rm -f "$1.in" "$1.out"
	mkfifo "$1.in" "$1.out"
}
connect() {
	case $1 in
	a) exec 5<a.out 7>a.in ;;
	b) exec 6<b.out 8>b.in ;;
	esac
}
# start NAME PROGRAM [ARGUMENT...]: a target, told by `tell NAME`, which waits for the answer
start() {
	name=$1
	shift
	pipes "$name"
	(eval "$("$aiflame" env)" && exec "$@" >"$name.out" <"$name.in" 2>"$name.err") &
	eval "pid_$name=$!"
	connect "$name"
}
pid() { eval "echo \$pid_$1"; }
say() {
	case $1 in
	a) echo "$2" >&7 ;;
	b) echo "$2" >&8 ;;
	esac
}
tell() {
	say "$1" "$2"
	case $1 in
	a) timeout 120 head -n 1 <&5 ;;
	b) timeout 120 head -n 1 <&6 ;;
	esac | cut -d' ' -f2
}
finish() {
	say "$1" quit
	case $1 in
	a) exec 7>&- 5<&- ;;
	b) exec 8>&- 6<&- ;;
	esac
	wait_until ended "$(pid "$1")" && wait "$(pid "$1")"
}
# recorder NAME OPTION...: in the background, writes NAME.data
recorder() {
	data=$1
	shift
	env --default-signal=INT "$aiflame" record -q --all-launches --cpu-rate 0 -o "$data.data" --name "$data" "$@" 2>"$data.err" &
	eval "recorder_$data=$!"
}
synced() { "$aiflame" ctl sync "$1"; }
# collecting NAME: until all processes that it found do as they were told
collecting() { wait_until synced "$1" || { "$aiflame" ctl status; cat ./*.err; return 1; }; }
recorded_by() { "$aiflame" ctl status | awk -v pid="$2" -v by="$1" '$1 == pid && $4 == by { ok = 1 } END { exit !ok }'; }
# recorded NAME PID: that recording has the process, which collects
recorded() { collecting "$1" && recorded_by "$1" "$2"; }
status_of() {
	eval "recorder=\$recorder_$1"
	wait_until ended "$recorder" || return
	wait "$recorder"
}
# stop NAME: and its status
stop() { "$aiflame" ctl stop "$1" && status_of "$1"; }
launches() { "$aiflame" query --format csv "$1.data" "SELECT count(*) FROM launches" | tail -1; }
# recorded_are NAME N
recorded_are() {
	got=$(launches "$1")
	[ "$got" = "$2" ] && says "everything adds up" "$aiflame" info "$1.data" ||
		{ echo "$got instead of $2"; "$aiflame" query "$1.data" "SELECT * FROM losses"; return 1; }
}
ms() { echo $(($(date +%s%N) / 1000000)); }
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
# is_recording NAME 0|1: as the target itself says
is_recording() { test "$(tell "$1" recording)" = "$2"; }
# leaves N: so many entries are in the standby directory
leaves() { ls "$dir" && [ "$(ls -A "$dir" | wc -l)" = "$1" ]; }
# no_descriptor NAME: of ours, in that process
no_descriptor() { ! ls -l "/proc/$(pid "$1")/fd" | grep -e aiflame/ -e socket; }
# rests NAME: how often the agent's thread has given up its CPU by itself; one that finds no rest would not
rests() { awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "$(grep -lx aiflame /proc/"$(pid "$1")"/task/*/comm | sed 's/comm$/status/')"; }
# has_rested NAME: three times since $before, so that it has looked at its page since then
has_rested() { [ "$(rests "$1")" -ge $((before + 3)) ]; }
# ring_again PAGE: one more on the page's bell, see src/wire/standby.h
ring_again() {
	python3 -c 'import struct, sys
page = open(sys.argv[1], "r+b", buffering=0)
page.seek(128)
bell, = struct.unpack("=I", page.read(4))
page.seek(128)
page.write(struct.pack("=I", bell + 1))' "$1"
}
unmapped() { ! grep memfd:aiflame "/proc/$(pid "$1")/maps"; }

# ---- what to set

check "env: its lines for sh can be eval'ed" sh -c "
	eval \"\$('$aiflame' env)\" && [ \"\$LD_PRELOAD\" = '$agent' ] && [ \"\$OPENCL_LAYERS\" = '$agent' ] &&
	[ \"\$AIFLAME_STANDBY\" = '$dir' ] && [ \"\$AIFLAME_LEVEL\" = graphs ]"
check "env: eval'ed twice, the agent is preloaded once" sh -c "
	eval \"\$('$aiflame' env)\" && eval \"\$('$aiflame' env)\" && [ \"\$LD_PRELOAD\" = '$agent' ]"
check "env: a library that was preloaded before stays" sh -c "
	LD_PRELOAD=libm.so.6 '$aiflame' env | grep -qx \"export LD_PRELOAD=$agent:libm.so.6\""
check "env: the standby directory is the user's alone" sh -c "[ \$(stat -c %a '$dir') = 700 ]"
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
check "env: a standby directory that others may read is refused" says "mode 0700" "$aiflame" env
chmod 700 run/aiflame
mv run/aiflame run/elsewhere && ln -s elsewhere run/aiflame
check "env: a standby directory that is a link is refused" status_is 1 "$aiflame" env
rm run/aiflame && mv run/elsewhere run/aiflame

# ---- before, while, after

check "a program without a runtime leaves nothing in the standby directory" sh -c "
	eval \"\$('$aiflame' env)\" && true && [ -z \"\$(ls '$dir')\" ]"
# Carries the agent and never starts a runtime.
(eval "$("$aiflame" env)" && exec sleep 600) &
sleeper=$!
carries() { grep -qs libaiflame-agent "/proc/$sleeper/maps" && grep -qs sleep "/proc/$sleeper/comm"; }
check "a program without a runtime carries the agent" wait_until carries
check "ctl status lists a process without a runtime" sh -c "'$aiflame' ctl status | grep -qE '^$sleeper +none yet +- +- +sleep 600'"
check "record -p of a process without a runtime ends after --duration" status_is 0 timeout 60 "$aiflame" record -o w.data -p $sleeper --duration 0.2
check "record -p of a process without a runtime says that it waited" says "no accelerator runtime has started in what was recorded" \
	timeout 60 "$aiflame" record -o w.data -p $sleeper --duration 0.2
check "record -p of a process without a runtime counts it as one that carried the agent" sh -c "grep -q 'of 1 process seen, 1 carried the agent, 0 started' says.out"
check "record -a says that no process has started a runtime" says "no process on standby has started an accelerator runtime" \
	timeout 60 "$aiflame" record -o w.data -a --inject never --duration 0.2
kill $sleeper
wait $sleeper 2>/dev/null
check "a process that has ended without a runtime leaves nothing in the standby directory" leaves 0
start a "$app" 4
check "a program on standby starts its runtime" test "$(tell a begin)" = 0
check "a process's page is the user's alone" sh -c "[ \$(stat -c %a '$dir'/*.agent) = 600 ]"
check "ctl status lists a process on standby with its runtime" says "fake" "$aiflame" ctl status
check "a process on standby holds no descriptor of the agent's" no_descriptor a
check "a process on standby launches" test "$(tell a 'launch 25')" = 100
recorder r1 -p "$(pid a)"
check "record -p: the process collects once ctl sync has answered" recorded r1 "$(pid a)"
check "ctl status says who records a process" says r1 "$aiflame" ctl status
# Process 1 is never ours; where its memory map can be read it carries no agent.
check "record -p says why process 1 cannot be recorded" sh -c "
	'$aiflame' record -q -o x.data -p 1 2>&1 | grep -qE 'CAP_SYS_PTRACE|is the first process|belongs to user'"
check "record -p of a recorded process says who records it" says "is being recorded by r1" "$aiflame" record -q -o x.data -p "$(pid a)"
check "record -p of a recorded process leaves no profile" test ! -e x.data
check "a recorded process holds no descriptor of the agent's" no_descriptor a
# A thread that others wait for must not be behind all that runs here: its priority could not be raised again.
check "all threads of a recorder have one priority" test \
	"$(awk '{ print $19 }' /proc/"$recorder_r1"/task/*/stat | sort -u | wc -l)" = 1
tell a "launch 250" >/dev/null
kill -TERM "$recorder_r1"
check "record -p ends well with SIGTERM" status_of r1
check "a target lives and launches after its recorder's end" test "$(tell a 'launch 25')" = 1200
check "record -p has exactly the launches between its begin and SIGTERM" recorded_are r1 1000
check "launches of record -p have their stacks" sh -c "
	'$aiflame' query r1.data 'SELECT function FROM frames' | grep -qw launch"
check "no memory of the recorder's stays mapped in a target" wait_until unmapped a
recorder r2 -p "$(pid a)" --name "my rec"
check "a process can be recorded a second time" collecting "my rec"
check "ctl stop NAME is given as a shell takes it" says "aiflame ctl stop 'my rec'" "$aiflame" record -q -o x.data -p "$(pid a)"
tell a "launch 50" >/dev/null
check "ctl stop takes a NAME with a space" "$aiflame" ctl stop "my rec"
check "a recording ends well with ctl stop" status_of r2
check "a recording that ctl stop has ended has all launches" recorded_are r2 200
# Longer and longer, until what is launched first comes before the end.
lasts() {
	for seconds in 1 8 64; do
		recorder r3 -p "$(pid a)" --duration $seconds
		collecting r3
		tell a "launch 10" >/dev/null
		recorded_by r3 "$(pid a)" && break
		status_of r3
	done
	status_of r3 && recorded_are r3 40
}
check "record -p --duration ends by itself, with all launches before" lasts

# ---- ctl sync

recorder s1 -p "$(pid a)"
collecting s1
tell a "launch 1000" >/dev/null
check "ctl sync of a recording answers" "$aiflame" ctl sync s1
kill -9 "$recorder_s1"
status_of s1
check "launches before ctl sync are in the file of a recorder that was killed then" test "$(launches s1)" = 4000
check "executions before ctl sync are in the file of a recorder that was killed then" test \
	"$("$aiflame" query --format csv s1.data 'SELECT count(*) FROM executions' | tail -1)" = 4000
check "ctl sync without a recording says that none is running" says "no recording is running" "$aiflame" ctl sync
check "ctl sync of an unknown name fails" status_is 1 "$aiflame" ctl sync s1
recorder s2 -p "$(pid a)"
collecting s2
kill -STOP "$(pid a)"
"$aiflame" ctl pause s2
"$aiflame" ctl sync s2 >sync.out 2>&1 &
syncing=$!
kill -CONT "$(pid a)"
check "ctl sync answers once the stopped process goes on" wait $syncing
check "a process has stopped collecting when ctl sync after ctl pause has answered" test "$(tell a recording)" = 0
stop s2

# ---- pauses

recorder r4 -p "$(pid a)"
collecting r4
tell a "launch 10" >/dev/null
"$aiflame" ctl pause r4
"$aiflame" ctl sync r4
since=$(ms)
tell a "launch 100" >/dev/null
check "ctl status says that a recording pauses" says paused "$aiflame" ctl status
paused=$(($(ms) - since))
"$aiflame" ctl start "$(pid a)"
"$aiflame" ctl sync r4
tell a "launch 10" >/dev/null
"$aiflame" ctl stop "$(pid a)"
status_of r4
check "ctl pause and start, by a recorded process's number: only launches outside of the pause are recorded" recorded_are r4 80
check "the time of a pause was not collected" gaps r4 $paused
check "the first screen says how long nothing was collected" says "; not collected " "$aiflame" report r4.data
# Longer and longer, until what is launched first comes before the delay's end.
waits() { "$aiflame" ctl status | grep -q '^r5 .* paused '; }
goes() { "$aiflame" ctl status | grep -q '^r5 .* collects '; }
later() {
	for seconds in 1 8 64; do
		recorder r5 -p "$(pid a)" --delay $seconds
		collecting r5
		since=$(ms)
		tell a "launch 100" >/dev/null
		paused=$(($(ms) - since))
		waits && break
		stop r5
	done
	wait_until goes && "$aiflame" ctl sync r5
	tell a "launch 10" >/dev/null
	stop r5 && recorded_are r5 40
}
check "record -p --delay collects nothing before, and all after" later
check "the time of --delay is not idle, but not collected" gaps r5 $paused
recorder silent -p "$(pid a)"
collecting silent
tell a "launch 10" >/dev/null
kill -STOP "$recorder_silent"
check "a process stops collecting when its recorder is silent" wait_until is_recording a 0
since=$(ms)
tell a "launch 10" >/dev/null
paused=$(($(ms) - since))
kill -CONT "$recorder_silent"
check "a process collects again when its recorder goes on" wait_until is_recording a 1
tell a "launch 10" >/dev/null
stop silent
check "a recorder that was silent has no launch of that time" recorded_are silent 80
check "a recorder that was silent knows that it was" gaps silent $paused

# ---- what the target does meanwhile

recorder r6 -p "$(pid a)"
collecting r6
tell a "launch 10" >/dev/null
tell a close >/dev/null
"$aiflame" ctl sync r6
tell a "launch 10" >/dev/null
stop r6
check "a target that closes all descriptors is recorded on" recorded_are r6 80
recorder r7 -p "$(pid a)"
check "a target that has closed all descriptors can be recorded again" recorded r7 "$(pid a)"
tell a "launch 10" >/dev/null
tell a "fork 33" >/dev/null
stop r7
check "launches of a forked child are recorded with its parent's" recorded_are r7 73
check "a forked child is a process of the profile" test "$("$aiflame" query --format csv r7.data 'SELECT count(*) FROM processes' | tail -1)" = 2
check "a process on standby may fork a child that launches" test "$(tell a 'fork 5')" -gt 0
"$aiflame" ctl status >/dev/null
check "a forked child of a process on standby leaves nothing" leaves 1

# ---- recorders that die

recorder k1 -p "$(pid a)"
collecting k1
tell a "launch 10" >/dev/null
kill -9 "$recorder_k1"
status_of k1
recorder k2 -p "$(pid a)" --flame k2.html
check "after a recorder's death by -9 the next one records the process" recorded k2 "$(pid a)"
tell a "launch 20" >/dev/null
stop k2
check "the recorder after one that was killed has all launches" recorded_are k2 80
check "record -p --flame writes a page" grep -qi "^<!doctype html>" k2.html
check "once the next recorder has ended, the standby directory has nothing of a killed one" leaves 1

# ---- profiler first, and the end of targets

recorder all -a --inject never --flame all.svg
check "record -a records a process on standby" recorded all "$(pid a)"
start b "$app" 2
tell a "launch 10" >/dev/null
check "record -a: a workload that starts later launches" test "$(tell b 'launch 1000')" = 2000
finish b
check "a target of record -a may end" test $? = 0
tell a "launch 10" >/dev/null
kill -INT "$recorder_all" # as Ctrl-C, which here reaches nobody else
check "record -a ends well with Ctrl-C" status_of all
check "record -a has every launch of both, from the first one of the later process on" recorded_are all 2080
check "record -a --flame draws the picture of both" grep -q '>launch' all.svg
recorder dead -p "$(pid a)"
collecting dead
tell a "launch 10" >/dev/null
say a crash
wait "$(pid a)" 2>/dev/null
check "record -p ends by itself when its target dies" status_of dead
check "a target that died has its launches in the profile" recorded_are dead 40
check "the page of a target that died is taken away" leaves 0
start a python3 -c 'import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(600)' "$app" 1
tell a begin >/dev/null
child_of_a=$(pgrep -P "$(pid a)")
recorder unseen -p "$child_of_a"
collecting unseen
say a crash
status_of unseen
check "the page of a target that died is taken away although its parent does not wait for it" leaves 0
kill "$(pid a)"
wait "$(pid a)" 2>/dev/null

# ---- waiting; refusals

start a "$app" 1
recorder w -p "$(pid a)"
collecting w
check "a process starts its runtime while record -p waits for it" test "$(tell a 'launch 500')" = 500
finish a
status_of w
check "a runtime that starts later is recorded from its first launch" recorded_are w 500
start a sh -c "'$app' 2; true"
tell a begin >/dev/null
recorder child -p "$(pid a)"
collecting child
tell a "launch 50" >/dev/null
stop child
check "record -p of a parent records its child that runs already" recorded_are child 100
finish a
start a "$app" 1
tell a title >/dev/null
check "record -p says that a process has overwritten its environment with a title" says "overwritten them with a title" "$aiflame" record -q -o x.data -p "$(pid a)"
tell a begin >/dev/null
recorder titled -p "$(pid a)"
check "a process with a title can be recorded once its runtime has started" recorded titled "$(pid a)"
tell a "launch 50" >/dev/null
stop titled
check "a process with a title has its launches in the profile" recorded_are titled 50
finish a
check "record -p of no process says that it does not exist" says "does not exist" "$aiflame" record -q -p 4194303
# Its parent never asks how it ended.
python3 -c '
import os, sys, time
pid = os.fork()
pid or os._exit(0)
print(pid, flush=True)
time.sleep(600)' >zombie.out &
parent=$!
is_zombie() { [ -s zombie.out ] && grep -q "^State:.Z" "/proc/$(cat zombie.out)/status"; }
wait_until is_zombie
check "record -p of a process that has ended says so" says "process $(cat zombie.out): has ended; see ps -e" "$aiflame" record -q -p "$(cat zombie.out)"
kill $parent
sleep 600 &
sleeper=$!
check "record -p of a process without the agent names aiflame env" says "aiflame env" "$aiflame" record -q --inject never -p $sleeper
kill $sleeper
check "record -p of a word that is no number is refused" status_is 2 "$aiflame" record -q -p one
check "record -a with a command is refused" status_is 2 "$aiflame" record -q -a true
check "ctl stop without a recording says that none is running" says "no recording is running" "$aiflame" ctl stop
check "ctl refuses a word that it does not know" status_is 2 "$aiflame" ctl nonsense
# (The tree may lie in a closed folder.)
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups test -x "$aiflame"; then
	start a "$app" 1
	tell a begin >/dev/null
	chmod 711 "$work"
	check "record -p of another user's process says whose it is" says "belongs to user" setpriv --reuid=65534 --clear-groups \
		env XDG_RUNTIME_DIR=/nowhere "$aiflame" record -q -o /dev/null -p "$(pid a)"
	check "ctl refuses another user's standby directory" status_is 1 setpriv --reuid=65534 --clear-groups \
		env AIFLAME_STANDBY="$dir" "$aiflame" ctl status
	finish a
	# Root records a user's process.
	mkdir -m 700 user && chown 65534 user
	pipes a
	chown 65534 a.in
	(eval "$("$aiflame" env)" && AIFLAME_STANDBY=$work/user/s exec setpriv --reuid=65534 --clear-groups "$app" 2 \
		<a.in >a.out) &
	pid_a=$!
	exec 7>a.in 5<a.out
	tell a begin >/dev/null
	recorder root -p "$pid_a"
	# That recording is known in the user's directory only.
	root_synced() { AIFLAME_STANDBY=$work/user/s setpriv --reuid=65534 --clear-groups "$aiflame" ctl sync root; }
	check "a user's ctl sync is answered by root's recorder of the user's process" wait_until root_synced
	check "a user gets no snapshot of root's recording" status_is 1 env AIFLAME_STANDBY="$work/user/s" setpriv --reuid=65534 --clear-groups \
		"$aiflame" ctl snapshot root -o "$work/user/stolen.data"
	check "a snapshot that a user is refused leaves no file" test ! -e user/stolen.data
	tell a "launch 50" >/dev/null
	kill -TERM "$recorder_root"
	status_of root
	check "root records a user's process" recorded_are root 100
	# With more rights than the user's it would follow the user's links to anywhere.
	chmod 500 user/s
	check "root's recorder writes nothing where the user may not" says "its owner must be able to write there" \
		"$aiflame" record -q -o x.data -p "$pid_a" --duration 0.1
	chmod 700 user/s
	check "root's recorder leaves nothing in the user's standby directory" test "$(ls user/s | wc -l)" = 1
	finish a
	# Not in a chroot, whose root is no mount point.
	if unshare -p -f --mount-proc true 2>/dev/null; then
		start a unshare -p -f --mount-proc "$app" 2
		tell a begin >/dev/null
		inner=$(pgrep -P "$(pid a)")
		check "ctl status lists a process of another namespace by its own number" says "(1)" "$aiflame" ctl status
		recorder inner -p "$inner"
		wait_until is_recording a 1
		tell a "launch 50" >/dev/null
		check "ctl stop ends the recording of a process of another namespace" "$aiflame" ctl stop inner
		status_of inner
		check "a process of another namespace is recorded by its number here" recorded_are inner 100
		recorder inner_all -a --inject never
		wait_until is_recording a 1
		tell a "launch 50" >/dev/null
		stop inner_all
		check "record -a records a process of another namespace" recorded_are inner_all 100
		# Within the namespace it is process 1, as a container's main process is for its side-car.
		if nsenter -t "$inner" -p -- true 2>/dev/null; then
			nsenter -t "$inner" -p -- unshare -m sh -c 'mount -t proc proc /proc && exec "$@"' - \
				"$aiflame" record -q -p 1 --all-launches -o "$work/first.data" --name first &
			recorder_first=$!
			wait_until is_recording a 1
			tell a "launch 50" >/dev/null
			stop first
			check "the first process of a namespace is recorded as 1 from within" recorded_are first 100
		else
			skip "the first process of a namespace is recorded as 1 from within" "nsenter does not work here"
		fi
		check "a recorder in another namespace does not know a process by its number here" says "does not exist" \
			unshare -p -f --mount-proc "$aiflame" record -q -o x.data -p "$inner"
		finish a
		# From where neither has a number.
		start a "$app" 2
		tell a begin >/dev/null
		unshare -p -f --mount-proc "$aiflame" record -q -a --inject never --all-launches -o outer.data --name outer &
		recorder_outer=$!
		wait_until is_recording a 1
		start b "$app" 2
		tell b begin >/dev/null
		wait_until is_recording b 1
		tell a "launch 50" >/dev/null
		tell b "launch 50" >/dev/null
		# A recorder that does not see by their numbers that they have joined rings again; here, by hand, for certain.
		for name in a b; do
			before=$(rests $name)
			ring_again "$dir/$(pid $name)"-*.agent
			check "a recorded process whose recorder rings again, $name: its agent goes on" wait_until has_rested $name
		done
		tell a "launch 50" >/dev/null
		tell b "launch 50" >/dev/null
		stop outer
		check "a recorder in another namespace keeps two processes apart" test "$("$aiflame" query --format csv outer.data \
			"SELECT (SELECT count(*) FROM processes) || ' ' || count(DISTINCT process) || ' ' || count(*) FROM launches" | tail -n 1)" = "2 2 400"
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
collecting h1
stop h1
page=$(ls "$dir"/*.agent)
printf 'x\033[31m' | dd of="$page" bs=1 seek=32 conv=notrunc 2>/dev/null
check "ctl status shows a page's escape sequences as text" says "x?[31m" "$aiflame" ctl status
truncate -s 100 "$page"
before=$(rests a)
check "a page that is cut short does not keep the agent busy" wait_until has_rested a
rm "$page"
mkdir "$dir/r-pipe" && mkfifo "$dir/r-pipe/about"
check "a pipe in place of a recording does not hold a program up" sh -c "
	eval \"\$('$aiflame' env)\" && printf 'launch 5\nquit\n' | timeout 60 '$app' 1 >/dev/null"
check "a pipe in place of a recording does not hold ctl up" timeout 60 "$aiflame" ctl status
rm -r "$dir/r-pipe"
finish a

# ---- again and again, while eight threads launch: CYCLES=200 for a minute and a half

start a "$app" 8
tell a storm >/dev/null
cycles=${CYCLES:-12}
cycle() {
	good=0
	for i in $(seq "$cycles"); do
		recorder c --device-rate 0 --no-code -p "$(pid a)"
		wait_until in_file c "SELECT count(*) > 0 FROM launches" && good=$((good + 1)) || "$aiflame" ctl status
		stop c || { echo "status $?"; cat c.err; }
	done
	echo "$good of $cycles"
	[ $good = "$cycles" ]
}
check "a process is recorded $cycles times under eight launching threads, each time with launches" cycle
check "a process that was recorded $cycles times launches" test "$(tell a calm)" -gt 0
check "a process that was recorded $cycles times keeps no old mapping" wait_until unmapped a
check "a process that was recorded $cycles times holds no descriptor" no_descriptor a
finish a
check "a process that was recorded $cycles times ends well" test $? = 0

# ---- the same with a real runtime

cl=$build/tests/e2e/attach_cl
if [ -x "$cl" ] && echo begin | "$cl" 1 >/dev/null 2>&1; then
	start a "$cl" 2
	tell a "launch 20" >/dev/null
	for i in 1 2; do
		recorder cl$i -p "$(pid a)"
		check "OpenCL, recording $i: the process is recorded" recorded cl$i "$(pid a)"
		tell a "launch 100" >/dev/null
		stop cl$i
		check "OpenCL, recording $i: exactly the launches between are there" recorded_are cl$i 200
		check "OpenCL, recording $i: launches have their times" test \
			"$("$aiflame" query --format csv cl$i.data 'SELECT count(*) FROM executions' | tail -1)" = 200
		check "OpenCL, recording $i: the kernel has its name" sh -c "
			'$aiflame' query cl$i.data 'SELECT name FROM kernels' | grep -q add_one"
		tell a "launch 20" >/dev/null
	done
	finish a
	check "OpenCL: the recorded program ends well" test $? = 0
else
	skip "OpenCL targets" "no OpenCL device: install pocl-opencl-icd ocl-icd-libopencl1"
fi
check "all that was recorded leaves nothing in the standby directory" leaves 0
done_testing
