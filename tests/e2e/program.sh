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
check "without aiflame the calls do nothing" says "recording -38, unknown -38" "$app" ranges
check "a program with ranges" says "recording 1, unknown -38" recorded -o r.data "$app" ranges
check "each is there" is "deep,64
inner,2
open,1
other thread,1
outer ä,1" r.data "SELECT name, count(*) FROM ops WHERE kind = 'range' GROUP BY name ORDER BY name"
check "with what was launched in it" is "3
4" r.data "SELECT (SELECT count(*) FROM launches l WHERE l.tid = o.tid AND time_ns BETWEEN start_ns AND start_ns + dur_ns)
	FROM ops o WHERE name = 'inner' ORDER BY start_ns"
check "those inside another one lie inside" is 2 r.data "SELECT count(*) FROM ops a JOIN ops b USING (tid)
	WHERE a.name LIKE 'outer%' AND b.name = 'inner' AND b.start_ns >= a.start_ns AND b.start_ns + b.dur_ns <= a.start_ns + a.dur_ns"
check "another thread's are another thread's" is 1 r.data "SELECT count(DISTINCT a.tid <> b.tid) FROM ops a, ops b WHERE a.name = 'inner' AND b.name = 'other thread'"
check "what was open ends with the process" is 1 r.data "SELECT start_ns + dur_ns >= (SELECT max(start_ns + dur_ns) FROM ops WHERE name = 'deep') AND start_ns + dur_ns <= (SELECT max(end_ns) FROM processes) AS ok FROM ops WHERE name = 'open'"
check "what is too deep is counted" is 6 r.data "SELECT count FROM losses WHERE reason = 1450"
check "it adds up" says "everything adds up" "$aiflame" info r.data

# ---- steps ----
check "a program with steps" recorded -o s.data "$app" steps 5 20
check "each step has its launches" is "step#0,1
step#1,2
step#2,3
step#3,4
step#4,5" s.data "SELECT name, (SELECT count(*) FROM launches l WHERE l.tid = o.tid AND time_ns BETWEEN start_ns AND start_ns + dur_ns)
	FROM ops o WHERE kind = 'step' ORDER BY start_ns"
check "--steps 3:5" recorded --steps 3:5 -o w.data "$app" steps 8 400
check "collects these two, whole" is "step#3,4
step#4,5" w.data "SELECT name, (SELECT count(*) FROM launches l WHERE l.tid = o.tid AND time_ns BETWEEN start_ns AND start_ns + dur_ns)
	FROM ops o WHERE name IN ('step#3', 'step#4') ORDER BY start_ns"
check "of the step before some at most, of later ones none" is 1 w.data "SELECT count(*) BETWEEN 9 AND 12 FROM launches"
check "it adds up" says "everything adds up" "$aiflame" info w.data
for wrong in 3 3:3 5:3 x:y :; do
	check "--steps $wrong is no window" status_is 2 "$aiflame" record --steps $wrong -o x.data true
done

# ---- windows ----
check "a program that pauses and starts its recording" says "pause 0 start 0 pause 0" recorded -o p.data "$app" window
check "has in it what was not paused" is 4 p.data "SELECT count(*) FROM launches"
check "without one it is told" says "pause -38 start -38" "$app" window
check "--repeat needs to know how long, and how long not" status_is 2 "$aiflame" record --repeat 3 --duration 1 -o x.data true
check "--delay 0.3 --duration 0.2 --repeat 3" recorded --delay 0.3 --duration 0.2 --repeat 3 -o n.data "$app" steps 40 50
gaps() { # three stretches of steps
	sql n.data "SELECT start_ns, dur_ns FROM ops WHERE kind = 'step' ORDER BY 1" |
		awk -F, 'NR == 1 || $1 > end + 100000000 { n++ } { end = $1 + $2 } END { print n, "stretches"; exit n != 3 }'
}
check "collects three times" gaps

# ---- Python ----
export PYTHONPATH="$root/python" AIFLAME="$aiflame"
python=/usr/bin/python3
if ! "$python" -c 'import pyopencl' 2>/dev/null; then
	skip "a Python program asks for its own profile" "no python3-pyopencl"
	done_testing
	exit
fi
check "without the agent profile() says what to do" says 'eval "$(aiflame env)"' sh -c "'$python' '$root/tests/e2e/program.py' a.data 2>&1; true"
own() { (eval "$("$aiflame" env)" && exec "$python" "$root/tests/e2e/program.py" a.data --all-launches) >own.out; }
check "a Python program asks for its own profile" own
cat own.out
check "it has what was launched inside" grep -q "'launches': 32" own.out
check "its ranges" grep -q "^\['forward 0', 'forward 1', 'forward 2', 'decorated'\]" own.out
check "its steps" is 3 a.data "SELECT count(*) FROM ops WHERE kind = 'step'"
check "its Python frames" sh -c '"$1" flame -o f.folded a.data && grep -q "launch (program.py)_\[p\]" f.folded' - "$aiflame"
check "and shows them" grep -q '^html <iframe True True' own.out
check "inside of a recording it switches that" says "recording False True" recorded --delay 1000 -o b.data "$python" "$root/tests/e2e/program.py" c.data
check "which has what was launched inside" is 32 b.data "SELECT count(*) FROM launches"
done_testing
