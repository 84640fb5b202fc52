#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a program tells of itself: aiflame.h and aiflame.py, --steps, --repeat.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/program_app
if [ ! -x "$app" ]; then
	echo "1..0 # SKIP no OpenCL to build with"
	exit 0
fi
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
sql() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
# is WANTED FILE SQL
is() { got=$(sql "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }
recorded() { "$aiflame" record -q --all-launches "$@"; }

# ---- ranges ----
check "unrecorded, calls of aiflame.h do nothing" says "recording -38, unknown -38" "$app" ranges
check "a program with ranges is recorded" says "recording 1, unknown -38" recorded -o r.data "$app" ranges
check "each range is there" is "deep,64
inner,2
open,1
other thread,1
outer ä,1" r.data "SELECT name, count(*) FROM ops WHERE kind = 'range' GROUP BY name ORDER BY name"
check "ranges have what was launched in them" is "3
4" r.data "SELECT (SELECT count(*) FROM launches l WHERE l.tid = o.tid AND time_ns BETWEEN start_ns AND start_ns + dur_ns)
	FROM ops o WHERE name = 'inner' ORDER BY start_ns"
check "ranges inside another one lie inside" is 2 r.data "SELECT count(*) FROM ops a JOIN ops b USING (tid)
	WHERE a.name LIKE 'outer%' AND b.name = 'inner' AND b.start_ns >= a.start_ns AND b.start_ns + b.dur_ns <= a.start_ns + a.dur_ns"
check "ranges of another thread are that thread's" is 1 r.data "SELECT count(DISTINCT a.tid <> b.tid) FROM ops a, ops b WHERE a.name = 'inner' AND b.name = 'other thread'"
check "ranges that were open end with the process" is 1 r.data "SELECT start_ns + dur_ns >= (SELECT max(start_ns + dur_ns) FROM ops WHERE name = 'deep') AND start_ns + dur_ns <= (SELECT max(end_ns) FROM processes) AS ok FROM ops WHERE name = 'open'"
check "ranges that are too deep are counted" is 6 r.data "SELECT count FROM losses WHERE reason = 1450"
check "a program with ranges: the numbers add up" says "everything adds up" "$aiflame" info r.data

# ---- steps ----
check "a program with steps is recorded" recorded -o s.data "$app" steps 5 20
check "each step has its launches" is "step#0,1
step#1,2
step#2,3
step#3,4
step#4,5" s.data "SELECT name, (SELECT count(*) FROM launches l WHERE l.tid = o.tid AND time_ns BETWEEN start_ns AND start_ns + dur_ns)
	FROM ops o WHERE kind = 'step' ORDER BY start_ns"
check "record --steps 3:5 records a program that marks its steps" recorded --steps 3:5 -o w.data "$app" steps 8 400
check "record --steps 3:5 collects these two steps, whole" is "step#3,4
step#4,5" w.data "SELECT name, (SELECT count(*) FROM launches l WHERE l.tid = o.tid AND time_ns BETWEEN start_ns AND start_ns + dur_ns)
	FROM ops o WHERE name IN ('step#3', 'step#4') ORDER BY start_ns"
check "record --steps 3:5 has some of the step before at most, and none of later ones" is 1 w.data "SELECT count(*) BETWEEN 9 AND 12 FROM launches"
check "record --steps 3:5: the numbers add up" says "everything adds up" "$aiflame" info w.data
for wrong in 3 3:3 5:3 x:y :; do
	check "--steps $wrong is no window" status_is 2 "$aiflame" record --steps $wrong -o x.data true
done

# ---- cycles ----
steps_of() { # steps_of FILE: those that views of it show
	"$aiflame" report --steps --format json "$1" | python3 -c 'import json, sys
for r in json.load(sys.stdin)["rows"]: print(r["step"], r["launches"], sep=",")'
}
launches_of() { # launches_of FILE [OPTION...]
	"$aiflame" report --kernels --format json "$@" | python3 -c 'import json, sys; print(sum(r["launches"] for r in json.load(sys.stdin)["rows"]))'
}
# steps_are WANTED FILE
steps_are() { got=$(steps_of "$2"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; "$aiflame" report --steps "$2"; return 1; }; }
check "record --schedule 1:1:2:2:1 makes two files of two steps each" says "2 cycles, from steps 3 to 4 (c.1.data) to steps 7 to 8 (c.2.data)" \
	"$aiflame" record --all-launches --schedule 1:1:2:2:1 -o c.data --on-cycle 'echo "$AIFLAME_CYCLE $1 $AIFLAME_PROFILE" >>ran; [ -s "$1" ] && exit 3' "$app" steps 12 80
check "--schedule writes a profile for each cycle, with its steps" steps_are "step#3,4
step#4,5" c.1.data
check "--schedule: the second cycle's profile has its steps" steps_are "step#7,8
step#8,9" c.2.data
check "--schedule: the profile of all has the steps of both cycles" sh -c '"$1" report --steps --format csv c.data | grep -q "step#4" && "$1" report --steps --format csv c.data | grep -q "step#8"' - "$aiflame"
check "--schedule: pictures say of which steps they are" sh -c '"$1" flame -o c.svg c.2.data && grep -q "only cycle 2, steps 7 to 8" c.svg' - "$aiflame"
check "--schedule: --time all shows what lies around the steps" test "$(launches_of c.1.data)" = 9 -a "$(launches_of --time all c.1.data)" -gt 9
check "--schedule: each profile adds up" sh -c 'for f in c.1.data c.2.data; do "$1" info $f | grep -q "everything adds up" || exit 1; done' - "$aiflame"
check "--on-cycle runs its command for each cycle" test "$(cat ran)" = "1 c.1.data c.1.data
2 c.2.data c.2.data"
check "--on-cycle: a command's failure is said, and the recording goes on" grep -q "cycle 1: the command ended with status 3" says.out
"$aiflame" record -q --all-launches --schedule 0:1:6 -o d.data "$app" steps 10 40
check "a cycle that the end cuts short is written" steps_are "step#8,9
step#9,10" d.2.data
check "--schedule takes turns that are found for steps" says "2 cycles, from steps 4 to 6 (f.1.data) to steps 9 to 11 (f.2.data)" \
	"$aiflame" record --all-launches --schedule 1:1:3:2:2 -o f.data "$matmul" 64 60
check "--schedule of turns that are found: three steps in each profile" sh -c '[ "$("$1" report --steps --format csv f.2.data | tail -n +2 | wc -l)" = 3 ]' - "$aiflame"
check "--schedule of a program without a loop is said" says "no cycle: step 0 was not reached; no step is marked" \
	"$aiflame" record --all-launches --schedule 0:0:1:1 -o g.data "$app" window
(eval "$("$aiflame" env)" && exec "$app" steps 400 20 >steps.out) &
running=$!
is_running() { "$aiflame" ctl status | grep -q "^$running "; }
wait_until is_running
check "-p counts from the attach, and ends behind the last cycle" says "cycle 1, steps 1 to 3: a.1.data" \
	timeout 60 "$aiflame" record --all-launches -p $running --schedule 0:1:3:1 -o a.data
check "record -p --schedule has the steps from the attach on" sh -c '[ "$("$1" report --steps --format csv a.1.data | tail -n +2 | wc -l)" = 3 ]' - "$aiflame"
kill $running
for wrong in 1:1 1:1:0 1:1:1:1:1:1 a:1:1 1::1; do
	check "record refuses --schedule $wrong" status_is 2 "$aiflame" record --schedule $wrong -o x.data true
done
check "record refuses --on-cycle without a schedule" status_is 2 "$aiflame" record --on-cycle true -o x.data true

# ---- windows ----
check "a program that pauses and starts its recording is recorded" says "pause 0 start 0 pause 0" recorded -o p.data "$app" window
check "a program that pauses and starts its recording has what was not paused" is 4 p.data "SELECT count(*) FROM launches"
check "unrecorded, a program is told that nothing records" says "pause -38 start -38" "$app" window
check "--repeat without --delay or --duration is refused" status_is 2 "$aiflame" record --repeat 3 --duration 1 -o x.data true
# Longer and longer, until the program is there before the first stretch begins (a time before it was not collected), and each stretch
# lasts longer than two steps. A recorder that gets no CPU for long makes more of one stretch.
stretches() {
	for delay in 2 8 32; do
		recorded --delay $delay --duration $((delay * 100))ms --repeat 3 -o n.data "$app" steps $((80 * delay)) 50 || return
		[ "$(sql n.data "SELECT (SELECT coalesce(min(start_ns), 1e18) FROM windows WHERE $pause) < ${delay}e9 AND
			(SELECT 2 * max(dur_ns) FROM ops WHERE kind = 'step') < ${delay}e8")" = 0 ] || break
	done
	# A stretch of steps: those that the same time which was not collected came before, last.
	got=$(sql n.data "SELECT count(DISTINCT (SELECT max(end_ns) FROM windows WHERE $pause AND end_ns <= o.start_ns + o.dur_ns))
		FROM ops o WHERE kind = 'step'")
	silent=$(sql n.data "SELECT coalesce(sum(count), 0) FROM losses WHERE name = 'RECORDER_SILENT'")
	echo "$got stretches, $silent times without a recorder"
	[ "$got" -ge 3 ] && [ "$got" -le $((3 + silent)) ]
}
pause="device IS NULL AND thread IS NULL AND NOT held"
check "record --delay 2 --duration 0.2 --repeat 3 collects three times" stretches

# ---- Python ----
export PYTHONPATH="$root/python" AIFLAME="$aiflame"
python=/usr/bin/python3
if ! "$python" -c 'import pyopencl' 2>/dev/null; then
	skip "a Python program asks for its own profile" "no python3-pyopencl"
	done_testing
	exit
fi
check "where the agent cannot be loaded profile() says what to do" says 'eval "$(aiflame env)"' sh -c "AIFLAME=/nonexistent '$python' '$root/tests/e2e/program.py' a.data 2>&1; true"
check "an OpenCL program that nobody prepared asks for its own profile" sh -c "'$python' '$root/tests/e2e/program.py' u.data --all-launches >own.out"
check "the profile that an unprepared program asks for has what was launched inside, and its ranges" sh -c "grep -q \"'launches': 32\" own.out && grep -q \"^.'forward 0', 'forward 1', 'forward 2', 'decorated'\" own.out"
own() { (eval "$("$aiflame" env)" && exec "$python" "$root/tests/e2e/program.py" a.data --all-launches) >own.out; }
check "a Python program asks for its own profile" own
cat own.out
check "a Python program's own profile has what was launched inside" grep -q "'launches': 32" own.out
check "a Python program's own profile has its ranges" grep -q "^\['forward 0', 'forward 1', 'forward 2', 'decorated'\]" own.out
check "a Python program's own profile has its steps" is 3 a.data "SELECT count(*) FROM ops WHERE kind = 'step'"
check "a Python program's own profile has its Python frames" sh -c '"$1" flame -o f.folded a.data && grep -q "launch (program.py)_\[p\]" f.folded' - "$aiflame"
check "a Python program's own profile shows Python frames" grep -q '^html <iframe True True' own.out
itself() { (eval "$("$aiflame" env)" && exec "$python" "$root/tests/e2e/program_schedule.py" "$@"); }
check "a program profiles its loop by a schedule, as torch does" says "cycle 1 at step 5 s.1.data step#3 step#4 9
cycle 2 at step 9 s.2.data step#7 step#8 17" itself schedule s.data
check "aiflame.profile takes a schedule of torch's" says "cycle 2 at step 9 t.2.data step#7 step#8 17" itself torch t.data
check "aiflame.profile may begin before the device is opened" says "cycle 1 at step 4 l.1.data step#1 step#2 step#3 9" itself late l.data
check "aiflame.profile without an agent to load warns, and the program runs" says "does not carry the agent" env AIFLAME=/nonexistent "$python" "$root/tests/e2e/program_schedule.py" schedule n.data
check "aiflame.profile without an agent to load writes nothing" test ! -e n.1.data
if "$python" -c 'import torch' 2>torch.err; then
	check "schedules and on_trace_ready are torch.profiler's" says "3296 runs are the same" "$python" "$root/tests/e2e/program_torch.py" all
	recorded_like_torch() { (eval "$("$aiflame" env)" && exec "$python" "$root/tests/e2e/program_torch.py" recorded p.data); }
	check "schedules of recordings are torch.profiler's, those that stop() cuts short among them" recorded_like_torch
else
	skip "record --schedule has the steps that torch.profiler's schedules have" "no python3 with torch: install python3-torch (300 MB)"
fi
export PYTHONPATH="$root/python:$root/examples"
check "a server profiles itself on request" says "200 200 404 True" itself server server.data
check "a server's own profile has what ran between the requests" is 5 server.data "SELECT count(*) FROM launches"
check "a program's profile inside of a recording switches that" says "recording False True" recorded --delay 1000 -o b.data "$python" "$root/tests/e2e/program.py" c.data
check "a recording that the program switches has what was launched inside" is 32 b.data "SELECT count(*) FROM launches"
done_testing
