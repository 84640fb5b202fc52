#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What bounds a program: aiflame why, and --time loop, startup, tail and step:N, against programs that know it.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/idle_app
[ -x "$app" ] || { echo "1..0 # SKIP OpenCL was not there at build time"; exit 0; }

# ask EXPRESSION: of w, the answer as JSON, and of truth, what the program printed
cat >ask.py <<'EOF'
import json, re, sys
w = json.load(open("why.json"))
truth = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", open("out").read())}
group = {g["group"]: g for g in w["groups"]}
near = lambda a, b, part: abs(a - b) <= part * b
computed = lambda: sum(i["ns"] for i in w["idle"] if "compute_on_host" in i["place"] and i["group"] == "host")
# to four standard errors of 999 samples a second
sampled = lambda a, b: near(a, b, 4 / (999e-9 * b) ** 0.5)
print({k: g["ns"] for k, g in group.items()}, truth, w["loop"], w["time_ns"])
sys.exit(not eval("(" + sys.argv[1] + ")"))
EOF
ask() { python3 ask.py "$1"; }

# ---- a program that knows why its device is idle: 200 rounds
record() { "$aiflame" record -q --all-launches --cpu-clock perf -F 999 --device-rate 0 -o idle.data "$app" 200 >out && "$aiflame" why --format json idle.data >why.json; }
check "a program is recorded that knows why its device is idle" record
check "computing has the time that the program says" ask 'sampled(group["host"]["ns"], truth["compute_ns"])'
check "the function that computes has the time that the program says" ask 'sampled(computed(), truth["compute_ns"])'
check "compiling has the time that the program says" ask 'sampled(group["compile"]["ns"], truth["compile_ns"])'
check "sleeping, or having no CPU, has the time that the program says" ask 'sampled(sum(group[g]["ns"] for g in ("off_cpu", "no_cpu") if g in group), truth["off_ns"])'
check "why finds the loop of a program, whose last round has no known end" \
	ask 'w["loop"]["found_by"] == "launches" and w["loop"]["steps"] == 199 and "idle_app.c" in w["loop"]["place"]'
check "why's loop goes from the first round to the last" \
	ask 'len(w["phases"]) == 3 and all(a["to_ns"] == b["from_ns"] for a, b in zip(w["phases"], w["phases"][1:]))'
check "why's groups sum to the time, owners to the idle time" \
	ask 'sum(g["ns"] for g in w["groups"]) == w["time_ns"] and sum(i["ns"] for i in w["idle"]) == w["idle_ns"]'
sum_of_idle() { python3 -c 'import csv, sys; print(sum(int(r["idle"]) for r in csv.DictReader(sys.stdin)))'; }
idle_of_loop() {
	table=$("$aiflame" report --idle --time loop --format csv --limit 0 idle.data | sum_of_idle)
	echo "$table"
	ask "w['idle_ns'] == $table"
}
check "report --idle --time loop has the idle time of why's loop" idle_of_loop
# A busy machine has no bounds.
bound_of_compiling() {
	if ask '"at_most_ppm" in group["compile"]'; then
		ask 'near(group["compile"]["at_most_ppm"] / 1e6, w["time_ns"] / (w["time_ns"] - group["compile"]["ns"]), 0.1)'
	else
		"$aiflame" why idle.data | grep '^machine  busy: '
	fi
}
check "why's bound of compiling, by a replay, is time / (time - compiling): nothing runs beside it" bound_of_compiling
check "why lists the largest group first, and is bound by it from 40 % on, or by a function with more" \
	ask 'w["groups"] == sorted(w["groups"], key=lambda g: -g["ns"]) and ("no device works because of it" in w["verdict"] or
		w["bound_by"][0] == w["groups"][0]["group"] and (len(w["bound_by"]) == 1) == (w["groups"][0]["share_ppm"] >= 400000))'
says_it() {
	"$aiflame" why idle.data >text || return
	cat text
	[ "$(wc -l <text)" -le 25 ] && grep -q '^loop     199 turns of main' text && grep -q '^bound by ' text &&
		grep -qE '^(try|   )      (at most |[0-9.]+ % of the time: )' text && grep -qF "$(python3 -c 'import json; print(json.load(open("why.json"))["owners"][0]["place"])')" text
}
check "why's text says in at most 25 lines what its JSON says" says_it

check "why: each launch finds the device idle, and each wait leaves it so" \
	ask 'w["queue"]["launches"] >= 398 and w["queue"]["found_idle_ppm"] > 990000 and w["queue"]["waits_emptied"] == w["queue"]["waits"]'
check "why counts waits as often as the program does" ask 'abs(w["queue"]["waits"] - truth["waits"]) <= 10 + truth["waits"] / 10'
# On few CPUs the device may be done before a launch call returns, which then nobody waits for.
lock_step() {
	for try in 1 2 3 4 5; do
		ask 'truth["waits"] >= 240' && break
		record
	done
	ask 'w["queue"]["state"] == "lock_step"'
}
if lock_step >lock.out 2>&1 || ask 'truth["waits"] >= 240' >/dev/null 2>&1; then
	check "why calls a queue that each wait empties lock step" ask 'w["queue"]["state"] == "lock_step"'
else
	skip "why calls a queue that each wait empties lock step" "in five runs the device was done before most launch calls returned"
fi

check "why's causes of idle time add up on each device" \
	ask 'w["causes"] and all(d["idle_ns"] == sum(v for k, v in d.items() if k not in ("process", "device", "idle_ns")) for d in w["causes"]) and
		sum(d["idle_ns"] for d in w["causes"]) == w["idle_ns"]'
check "info says that the causes of idle time add up" says "the causes add up on each device" "$aiflame" info idle.data

# ---- --loop
chosen() {
	"$aiflame" why --format json --loop "$1" idle.data >chosen.json && python3 -c '
import json
a, b = (json.load(open(f))["loop"] for f in ("why.json", "chosen.json"))
print(a["place"], a["steps"], b["place"], b["steps"])
exit((a["place"], a["steps"]) != (b["place"], b["steps"]))'
}
check "--loop 1 is the loop that why finds" chosen 1
check "--loop takes a function that the loop is in" chosen main
check "--loop takes a loop as why prints it" chosen "$("$aiflame" why --format json idle.data | python3 -c 'import json, sys; print(json.load(sys.stdin)["loop"]["place"])')"
check "--loop names a loop that is not there" says "--loop '9': none of the 1 in the launches" "$aiflame" why --loop 9 idle.data
check "--loop with a function that no loop is in is refused" says "--loop 'nowhere': none of the 1" "$aiflame" why --loop nowhere idle.data

# ---- parts of the run
"$aiflame" report --steps --format csv --limit 0 idle.data >steps.csv
launches() { "$aiflame" report --launches --format csv --limit 0 --time "$1" idle.data | tail -n +2 | wc -l; }
parts() {
	all=$("$aiflame" report --launches --format csv --limit 0 idle.data | tail -n +2 | wc -l)
	of="$(launches startup) $(launches loop) $(launches tail)"
	echo "$all: $of"
	[ "$(echo "$of" | awk '{ print $1 + $2 + $3 }')" = "$all" ] && [ "$(launches steps:1-199)" = "$(launches loop)" ]
}
check "start-up, loop and tail have all launches, steps those of the loop" parts
one_step() {
	"$aiflame" why --format json --time step:7 idle.data >step.json
	from=$(python3 -c 'import json; print(json.load(open("step.json"))["window"]["from_ns"])')
	row=$(sed -n 8p steps.csv | cut -d, -f1)
	echo "$from $row"
	[ "$from" = "$row" ]
}
check "--time step:7 is the seventh row of report --steps" one_step
its_row() {
	"$aiflame" report --steps --time step:7 --format csv idle.data | tail -n +2 | tr -d '\r' >row.csv
	cat row.csv
	sed -n 8p steps.csv | tr -d '\r' | cmp - row.csv
}
check "report --steps --time step:7 has that row alone" its_row
check "flame --time steps:5-7 is a picture of three steps" sh -c "'$aiflame' flame --time steps:5-7 -o - --format folded idle.data | grep -q spin"
whole_loop() {
	"$aiflame" why --format json idle.data >why.json
	drawn=$("$aiflame" flame --of loop -o - --format folded idle.data | awk '{ n += $NF } END { printf "%.0f", n }')
	echo "$drawn"
	ask "near($drawn, w['time_ns'], 0.001)"
}
check "flame --of loop has device time and idle time, as wide as the loop is long" whole_loop
check "flame --of loop puts device time and idle time on the stacks that have them" sh -c "'$aiflame' flame --of loop -o - --format folded idle.data >loop.folded &&
	grep -q 'compute_on_host.*\[idle: on CPU\]' loop.folded && grep -q ';spin' loop.folded"
check "flame --of loop --time step:7 has the idle time of a step" sh -c "'$aiflame' flame --of loop --time step:7 -o - --format folded idle.data | grep -q '\[idle'"
check "flame --of loop --by samples is misuse" status_is 2 "$aiflame" flame --of loop --by samples -o l.svg idle.data
check "export --time step:5 exports a step" sh -c "'$aiflame' export --format folded --time step:5 -o step.folded idle.data && grep -q spin step.folded"
check "a step that is not there is refused, with the number there are" says "there is no step 500; there are 199" "$aiflame" report --time step:500 idle.data
for bad in step:0 step: steps:3 steps:5-3 steps:-3 loop:1 steps:1-99999999999; do
	check "--time $bad is wrong usage" status_is 2 "$aiflame" report --time $bad idle.data
done
# The strip above a picture: a bar M X 100 h WIDTH v -HEIGHT, of 600 by 100, is that much of the recording.
cat >strip.py <<'EOF'
import re, sys
svg, busy, ns = open(sys.argv[1]).read(), int(sys.argv[2]), int(sys.argv[3])
path = re.search(r'<path d="([^"]*)" class="busy"', svg).group(1)
area = sum(int(w) * int(h) for w, h in re.findall(r"M\d+ 100h(\d+)v-(\d+)h-\d+z", path))
said = float(re.search(r'class="strip"><title>[^<]*: busy ([0-9.]+) %', svg).group(1))
print(area / 60000, said / 100, busy / ns)
sys.exit(abs(said / 100 - busy / ns) > 0.001 or abs(area / 60000 - busy / ns) > 0.01)
EOF
strip() {
	busy=$("$aiflame" query --format csv idle.data 'SELECT sum(busy_ns) FROM device_times' | tail -1)
	length=$("$aiflame" query --format csv idle.data 'SELECT last_ns + after_ns FROM device_times' | tail -1)
	"$aiflame" flame --time loop -o strip.svg idle.data && python3 strip.py strip.svg "$busy" "$length"
}
check "the strip above a flame graph has the device's time" strip
check "the strip above a flame graph is faded where the picture shows nothing" grep -q 'class="faded"' strip.svg
per_step() {
	whole=$("$aiflame" flame --of loop -o - --format folded idle.data | awk '{ n += $NF } END { print n / 199 / 1e6 }')
	"$aiflame" flame --per step --of loop -o step.svg idle.data
	said=$(sed -n 's/.*>all \([0-9.]*\) ms a step.*/\1/p' step.svg)
	echo "$whole $said"
	grep -q 'the mean of 199 steps' step.svg && awk "BEGIN { exit !($said > 0.9 * $whole && $said < 1.1 * $whole) }"
}
check "report --per step divides by the steps" per_step
check "flame --per step of start-up is refused" says "give --time loop or steps:N-M" "$aiflame" flame --per step --time startup -o p.svg idle.data
check "flame --per step is misuse" status_is 2 "$aiflame" flame --per step --format folded -o - idle.data
check "a picture of a part names --time" sh -c "'$aiflame' flame --time steps:5-7 -o - idle.data | grep -q 'only --time steps:5-7'"

# ---- other programs
"$aiflame" record -q --all-launches -F 0 --device-rate 0 -o calls.data "$app" 50 >/dev/null
check "why knows calls of a host that was not sampled" says "): compiling" "$aiflame" why calls.data
"$aiflame" record -q --all-launches -F 0 --device-rate 0 --calls off -o unsampled.data "$app" 50 >/dev/null
check "why says that the host was not sampled" says "what it did meanwhile was not sampled" "$aiflame" why unsampled.data
check "matmul is recorded" "$aiflame" record -q --all-launches -o matmul.data "$matmul" 256 12
"$aiflame" why --format json matmul.data >why.json
: >out
check "why calls matmul device-bound, with a queue ahead" ask 'w["bound_by"] == ["compute"] and w["queue"]["state"] == "ahead" and w["bound_word"] == "device-bound"'
check "why's turns of queued launches have the time of their work" ask 'w["loop"]["steps"] >= 4 and w["loop"]["median_ns"] * w["loop"]["steps"] <= 2 * w["time_ns"]'
check "why says that matmul's queue is long" \
	ask 'w["queue"]["ahead_median"] >= 2 and w["queue"]["ahead_median_ns"] > w["loop"]["median_ns"] and w["queue"]["step_ahead_ppm"] > 500000'
# Each launch's depth, by the rows of launches and executions.
cat >depth.py <<'EOF'
import csv, subprocess, sys
def ask(sql):
    text = subprocess.run([sys.argv[1], "query", "--format", "csv", sys.argv[2], sql], check=True, capture_output=True, text=True).stdout
    return [[int(float(v)) for v in row] for row in list(csv.reader(text.splitlines()))[1:]]
work = {}
for table in ("executions", "copies"):
    for launch, at, start, dur in ask("SELECT l.launch, l.time_ns, x.start_ns, x.dur_ns FROM launches l JOIN %s x ON x.launch = l.launch" % table):
        work[launch] = (at, start, start + dur)
rows = ask("SELECT launch, time_ns, delay_ns, ahead, ahead_ns FROM queue")
queued = 0
for launch, at, delay, ahead, ahead_ns in rows:
    before = [w for k, w in work.items() if k != launch and w[0] < at and w[2] > at]
    busy = end = 0
    for _, start, stop in sorted(before, key=lambda w: w[1]):
        busy += max(0, stop - max(start, at, end))
        end = max(end, stop)
    queued += ahead > 0
    want = (work[launch][0], work[launch][1] - at, len(before), busy)
    assert (at, delay, ahead, ahead_ns) == want, (launch, at, delay, ahead, ahead_ns, want)
print(len(rows), "launches,", queued, "behind others")
sys.exit(len(rows) != len(work) or len(rows) < 30 or queued < 10)
EOF
check "why's depth of the queue at each launch is what SQL says of launches and executions" python3 depth.py "$aiflame" matmul.data
by_turn() {
	"$aiflame" report --queue --format csv --limit 0 matmul.data >queue.csv
	cat queue.csv
	python3 -c 'import csv, json; rows = list(csv.DictReader(open("queue.csv"))); w = json.load(open("why.json"))
assert len(rows) == w["loop"]["steps"] and sum(int(r["launches"]) for r in rows) == w["queue"]["launches"] > 0'
}
check "report --queue has a row for each turn" by_turn
waits_of_all() { "$aiflame" why --time 0,1000 --format json matmul.data >why.json && ask 'w["queue"]["waits"] >= 3 and w["queue"]["waits_emptied"] == w["queue"]["waits"]'; }
check "why says that the wait behind each product empties the queue" waits_of_all
"$build/tests/e2e/golden_profiles" full full.data "$root/tests/golden/cubin"
"$aiflame" why --format json full.data >why.json
check "why finds steps that are marked" ask 'w["loop"]["found_by"] == "marks" and w["loop"]["steps"] == 4'
check "why says that a part was asked for" says "of the part that was asked for" "$aiflame" why --time step:2 full.data

begins_late() { # EXPRESSION OPTIONS...: what is not there is no start-up
	what=$1
	shift
	"$aiflame" record -q --all-launches -F 0 --device-rate 0 -o late.data "$@" "$app" 400 >/dev/null
	launch=$("$aiflame" query --format csv late.data 'SELECT min(time_ns) FROM launches' | tail -1)
	first=$("$aiflame" query --format csv late.data "SELECT min($launch, coalesce((SELECT min(start_ns) FROM calls), $launch))" | tail -1)
	pause=$("$aiflame" query --format csv late.data 'SELECT coalesce(min(end_ns), 0) FROM windows WHERE device IS NULL AND NOT held' | tail -1)
	"$aiflame" why --format json late.data >why.json
	"$aiflame" why late.data >text
	head -2 text
	echo "first call $first, first launch $launch, pause until $pause"
	ask "$(echo "$what" | sed "s/FIRST/$first/g; s/LAUNCH/$launch/; s/PAUSE/$pause/")"
}
# PAUSE: the end of the first time in which nothing was collected.
begins_late "w['phases'][0]['from_ns'] >= PAUSE > 0" --delay 1 >delayed.out 2>&1
delayed=$?
is_late() { cat delayed.out && return $delayed; }
if [ "$pause" = 0 ]; then
	skip "why's start-up does not begin before --delay ends" "the runtime started after the delay"
else
	check "why's start-up does not begin before --delay ends" is_late
fi
# Seconds are dropped as a whole, of each kind of rows by its own; the program is in a call, or launches, all the time.
check "why's start-up does not begin in what --keep dropped" begins_late "abs(w['phases'][0]['from_ns'] - FIRST) < 1e9 < FIRST" --keep 0.5
check "why says that a part was not kept" grep -q '^phases .* not kept, ' text

# ---- what cannot be known is said
"$aiflame" record -q -o none.data true 2>/dev/null
check "why of a profile without device work says so" says "no process used a device" "$aiflame" why none.data
nothing() { "$aiflame" why --format json none.data >why.json && ask 'w["time_ns"] == 0 and w["groups"] == []'; }
check "why --format json of a profile without device work has no time and no groups" nothing
check "report --time loop of a profile without a loop is refused" says "no step is marked" "$aiflame" report --time loop none.data
"$aiflame" record -q --all-launches -o one.data "$matmul" 64 1
check "why calls one turn no loop" says "loop     none" "$aiflame" why one.data
check "flame --of loop of a profile without a loop draws all, and says so" says "no loop was found in the launches: drawing all" "$aiflame" flame --of loop -o one.svg one.data
cut_short() {
	"$aiflame" record -q --all-launches -o cut.data "$app" 100000 >/dev/null &
	recorder=$!
	wait_until in_file cut "SELECT count(*) >= 100 FROM executions"
	program=$(cat "/proc/$recorder/task/$recorder/children")
	kill -9 $recorder
	wait $recorder 2>/dev/null
	kill $program
	"$aiflame" why cut.data >cut.out 2>cut.err
	cat cut.out cut.err
	grep -q 'cut short' cut.err && grep -q '^bound by ' cut.out
}
check "why of a recording whose recorder was killed has what there is until then" cut_short
cat >kernels.json <<'EOF'
{"traceEvents": [
 {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"device": 0, "stream": 7}},
 {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 111, "dur": 5, "args": {"device": 0, "stream": 7}}
]}
EOF
"$aiflame" import -q -o kernels.data kernels.json
check "why of kernels without launches blames nobody" says "bound by what is not known" "$aiflame" why kernels.data
done_testing
