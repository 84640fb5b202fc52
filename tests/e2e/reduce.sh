#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame reduce: a profile without the launches of most of its steps, of which views tell what the whole would have told.
. "$(dirname "$0")/tap.sh"
split=$build/tests/mock/split_profile
job() { # NAME [OPTION...]: four ranks of one host in one profile
	name=$1
	shift
	python3 "$root/tests/e2e/ranks_traces.py" "$name" "$@" >/dev/null || exit 1
	"$aiflame" import -q -o "$name.data" "$name"/rank*.json || exit 1
}
reduce() { "$aiflame" reduce "$@"; }
table() { "$aiflame" report --ranks --format json "$1"; }
# same A B: B's rows of report --ranks are those of A but for 2 % of what each rank does, and have the same steps
same() {
	table "$1" >a.json && table "$2" >b.json && python3 - <<'EOP'
import json
a, b = (json.load(open(f"{x}.json"))["rows"] for x in "ab")
assert [x["rank"] for x in a] == [x["rank"] for x in b], "ranks"
for x, y in zip(a, b):
    print(x, y, sep="\n")
    assert abs(x["step"] - y["step"]) <= 1e-3 * x["step"], "steps"
    assert abs(x["operations"] - y["operations"]) <= 0.01 * x["operations"], "operations"
    assert abs(x["busy_share"] - y["busy_share"]) <= 0.01, "busy_share"
    for key in ("busy", "compute", "idle", "transfer"):
        assert abs(x[key] - y[key]) <= 0.02 * x[key], key
    for key in ("wait_given", "wait_suffered", "delay"):
        assert abs(x[key] - y[key]) <= 0.02 * max(z[key] for z in a), key
EOP
}
why() { # FILE WHOLE EXPRESSION: j, whole: the answers about ranks
	"$aiflame" why --format json "$1" >w.json && "$aiflame" why --format json "$2" >whole.json && python3 -c 'import json, sys
j, whole = (json.load(open(f))["ranks"] for f in ("w.json", "whole.json")); print(j); sys.exit(not eval(sys.argv[1]))' "$3"
}
ask() { "$aiflame" query --format csv "$1" "$2" | tail -n 1; }
# launches FILE: how many each step of each rank has
launches() {
	"$aiflame" query --format csv "$1" "SELECT o.name || ' ' || o.tid AS step, o.start_ns, o.dur_ns, 0 FROM ops o WHERE o.kind = 'step'" >steps.csv &&
		"$aiflame" query --format csv "$1" "SELECT tid, time_ns FROM launches ORDER BY tid, time_ns" >launches.csv && python3 - <<'EOP'
import bisect, csv
at = {}
for r in csv.DictReader(open("launches.csv")):
    at.setdefault(r["tid"], []).append(int(r["time_ns"]))
for r in csv.DictReader(open("steps.csv")):
    t = at.get(r["step"].split()[1], [])
    print(r["step"], bisect.bisect_left(t, int(r["start_ns"]) + int(r["dur_ns"])) - bisect.bisect_left(t, int(r["start_ns"])))
EOP
}
# whole_or_none WHOLE REDUCED [STEP]: each step has the launches that it had, or none, alike on all ranks; from STEP on it has all
whole_or_none() {
	launches "$1" | sort >whole.txt && launches "$2" | sort >reduced.txt && python3 - "${3:-100000}" <<'EOP'
import sys
whole, reduced = (dict(l.rsplit(" ", 1) for l in open(f"{x}.txt").read().splitlines()) for x in ("whole", "reduced"))
assert whole.keys() == reduced.keys() and len(whole) == 1600, (len(whole), len(reduced))
kept = {}
for step, n in reduced.items():
    name = step.split()[0]
    assert n in ("0", whole[step]), (step, n, whole[step])
    kept.setdefault(name, set()).add(n != "0")
    assert n != "0" or int(name.split("#")[1]) < int(sys.argv[1]), step
assert all(len(k) == 1 for k in kept.values()), [n for n, k in kept.items() if len(k) > 1]
EOP
}
is_less() { [ "$(stat -c %s "$1")" -lt "$(stat -c %s "$2")" ] || { ls -l "$1" "$2"; return 1; }; }

# ---- a job with a late rank ----
job late --late 2 --steps 400 --buckets 2
check "a profile is reduced to one step of eight" says " slow ones of 1,600 of 4 processes, " reduce --every 8 -o small.data late.data
check "a reduced profile is smaller" is_less small.data late.data
check "report --ranks of a reduced profile has the numbers of the whole" same late.data small.data
check "a reduced profile adds up" says "everything adds up" "$aiflame" info small.data
check "info says what a profile was reduced to" sh -c '"$1" info small.data | grep -Eq "reduced +1 step of 8, the first and slow ones: [0-9]+, 32 and [0-9]+ of 1600"' - "$aiflame"
check "info says how many launches were left out of a reduced profile" says "+ left out (reduce)           19" "$aiflame" info small.data
check "report of a reduced profile says that it is an estimate" says "estimated from" "$aiflame" report --ranks small.data
check "why of a reduced profile names the late rank and its line" why small.data late.data "j['verdict'] == 'one_late' and j['late'] == 2 and j['cause'] == whole['cause'] and j['place'] == whole['place']"
total() { "$aiflame" report --kernels --format json "$1" | python3 -c 'import json, sys; print(sum(r["launches"] for r in json.load(sys.stdin)["rows"]))'; }
as_many() { a=$(total late.data) b=$(total small.data); echo "$a $b"; [ $((b - a)) -le $((a / 100)) ] && [ $((a - b)) -le $((a / 100)) ]; }
check "report --kernels of a reduced profile stands for all launches" as_many
check "a reduced profile has counted the durations of all executions" test "$(ask small.data "SELECT sum(count) FROM durations")" = "$(ask late.data "SELECT count(*) FROM executions")"
# spread A B: p50 and p99 of each kernel of each rank in B are those of A, to 1.6 %
spread() {
	"$aiflame" report --kernels --format json "$1" >a.json && "$aiflame" report --kernels --format json "$2" >b.json && python3 - <<'EOP'
import json
a, b = ({(r["process"], r["kernel"]): r for r in json.load(open(f"{x}.json"))["rows"]} for x in "ab")
assert len(a) == len(b) > 8, (len(a), len(b))
for k in a:
    for p in ("p50", "p99"):
        assert abs(a[k][p] - b[k][p]) <= a[k][p] / 60, (k, p, a[k][p], b[k][p])
EOP
}
check "report --kernels of a reduced profile has p50 and p99 of all executions" spread late.data small.data
check "report --kernels says of what p50 and p99 are" says "min, p50, p99 and max are of all executions, also of those that were left out, to 1.6 %" "$aiflame" report --kernels small.data
check "p99 of a part of the time is of what was kept in it" sh -c '"$1" report --kernels --time 1s-2s small.data >part.txt; ! grep "^p50 and" part.txt' - "$aiflame"
check "a reduced profile has all steps" test "$(ask small.data "SELECT count(*) FROM ops WHERE kind = 'step'")" = 1600
check "a reduced profile has each step whole or without launches, alike on all ranks" whole_or_none late.data small.data

# ---- each rank's profile, then the job's ----
"$split" late.data ra.data node 0,1 && "$split" late.data rb.data node 2,3 && reduce -q --every 8 -o sa.data ra.data && reduce -q --every 8 -o sb.data rb.data
check "profiles of ranks that were reduced are merged" "$aiflame" merge -q -o job.data sa.data sb.data
check "profiles of ranks that were reduced, then merged, have the numbers of the whole" same late.data job.data
"$split" late.data rc.data other 2,3 3.7 50 && reduce -q --every 8 -o sc.data rc.data
check "profiles that were reduced, then merged, have p50 and p99 of all executions" spread late.data job.data
check "profiles of two hosts that were reduced are merged, their clocks related" sh -c '"$1" merge -o hosts.data sa.data sc.data 2>&1 | grep -q "clock: other .*related to node "' - "$aiflame"
check "two hosts that were reduced, then merged, have the numbers of the whole" same late.data hosts.data

# ---- slow steps ----
job slow --late 1 --late-us 20000 --from-step 396 --steps 400
reduce -q --every 16 -o slow-small.data slow.data
check "a reduced profile has slow steps whole" whole_or_none slow.data slow-small.data 396

# ---- what changed in steps that were left out ----
# change FILE EXPRESSION: c: the first row of report --changes of work; w: what why says of changes; text: its lines
change() {
	"$aiflame" report --changes --format json "$1" >c.json && "$aiflame" why --format json "$1" >w.json && "$aiflame" why "$1" >w.txt && python3 - "$2" <<'EOP'
import json, sys
c, w, text = next((r for r in json.load(open("c.json"))["rows"] if r["what"] == "work"), {}), json.load(open("w.json"))["change"], open("w.txt").read()
print(c, w, text)
sys.exit(not eval(sys.argv[1]))
EOP
}
none_of() { # FILE FROM TO: none of these steps has a launch
	launches "$1" | awk -v from="$2" -v to="$3" '{ split($1, s, "#"); if (s[2] >= from && s[2] < to && $NF > 0) bad = 1 } END { exit bad }'
}
for where in kernel host; do
	job "odd-$where" --late 3 --late-us 1500 --in $where --from-step 108 --to-step 120 --steps 400
	reduce -q --every 16 -o "odd-$where-small.data" "odd-$where.data"
	check "steps in which the $where is late for a while are left out" none_of "odd-$where-small.data" 108 120
done
check "report --changes names rank, kernel and steps that took longer, and by how much, though none was kept" change odd-kernel-small.data "c['rank'] == 3 and c['since'] == 109 and c['until'] == 120 and c['steps'] == 12 and abs(c['time'] - c['usual'] - 1.5e6) < 2e5 and c['kernel'] == 'gemm' and 'forward_backward (train.py:20)' in c['place'] and c['what'] == 'work'"
check "why names the rank, the kernel, its line and the steps that took longer" change odd-kernel-small.data "w['rank'] == 3 and w['since'] == 109 and w['until'] == 120 and w['what'] == 'work' and 'rank 3, steps 109 to 120: 1.5 ms a step longer in' in text and 'in gemm of forward_backward (train.py:20)' in text"
check "why names the rank that is late before a launch, and not those that wait for it" change odd-host-small.data "w['rank'] == 3 and w['since'] == 109 and w['until'] == 120 and w['what'] == 'idle' and abs(w['time_ns'] - w['usual_ns'] - 1.5e6) < 2e5 and 'forward_backward' in w['place']"
check "report --ranks names what took longer" says 'rank 3, steps 109 to 120: 1.5 ms a step longer in gemm of forward_backward (train.py:20) (4.7 ms, else 3.2 ms); report --changes has all' "$aiflame" report --ranks odd-kernel-small.data
"$split" odd-kernel.data oa.data node 0,1 && "$split" odd-kernel.data ob.data other 2,3 3.7 50 && reduce -q --every 16 -o osa.data oa.data && reduce -q --every 16 -o osb.data ob.data
"$aiflame" merge -q -o odd-job.data osa.data osb.data
check "why names what took longer where reduced profiles of two hosts are merged" change odd-job.data "w['rank'] == 3 and w['since'] == 109 and w['until'] == 120 and abs(w['time_ns'] - w['usual_ns'] - 1.5e6) < 2e5"
check "sums of places add up to all executions of the whole" test "$(ask odd-job.data "SELECT sum(executions) FROM step_sums WHERE sum = 'work'")" = "$(ask odd-kernel.data "SELECT count(*) FROM executions")"
check "durations of places add up to those of the whole" test "$(ask odd-kernel-small.data "SELECT sum(time_ns) FROM step_sums WHERE sum = 'work'")" = "$(ask odd-kernel.data "SELECT sum(dur_ns) FROM executions")"
check "a job without changes has none" says "no changes in" "$aiflame" report --changes small.data

# ---- what cannot be reduced ----
check "a reduced profile is not reduced again" says "launches were left out of it already" reduce -o x.data small.data
"$aiflame" import -q -o none.data "$root/tests/fuzz/found/fuzz_import-chrome"
check "a profile without steps is not reduced" says "no step is marked" reduce -o x.data none.data
check "too few steps are not reduced" says "give a smaller --every" reduce --every 300 -o x.data late.data
check "a profile is not reduced onto itself" status_is 2 reduce -o late.data late.data
check "reduce without -o is refused" status_is 2 reduce late.data
check "reduce --every 1 is refused" status_is 2 reduce --every 1 -o x.data late.data
check "aiflame reduce that is refused leaves no file" sh -c '! ls x.data* >/dev/null 2>&1'
# ---- while a recording goes on ----
record() { "$aiflame" record --cpu-rate 0 --device-rate 0 "$@"; }
check "record --reduce 1 is refused" status_is 2 record --reduce 1 true
check "record --reduce is refused together with --keep" status_is 2 record --reduce 8 --keep 10s true
check "record --reduce is refused together with --overhead" status_is 2 record --reduce 8 --overhead 2 true
app=$build/tests/e2e/program_app
if [ -x "$app" ]; then
	check "record --reduce records a program" record -q --reduce 8 -o live.data -- "$app" slow 1500 1400 </dev/null
	check "a profile that record --reduce wrote adds up" says "everything adds up" "$aiflame" info live.data
	check "info says what record --reduce left out" sh -c '"$1" info live.data | grep -Eq "reduced +1 step of 8, the first and slow ones: [0-9]+, 8 and [0-9]+ of 1500"' - "$aiflame"
	check "record --reduce leaves out most launches of most steps" test "$(ask live.data "SELECT count(*) < 1000 FROM launches")" = 1
	check "record --reduce has counted the durations of all executions" test "$(ask live.data "SELECT sum(count) FROM durations")" -ge 1500
	check "record --reduce has sums of places of all steps" test "$(ask live.data "SELECT sum(executions) FROM step_sums WHERE sum = 'work'")" = 1500
	check "record --reduce keeps all steps" test "$(ask live.data "SELECT count(*) FROM ops WHERE kind = 'step'")" = 1500
	check "record --reduce keeps the launches of a slow step" test "$(ask live.data "SELECT count(*) FROM launches l JOIN ops o ON o.name = 'step#1400' AND l.time_ns >= o.start_ns AND l.time_ns < o.start_ns + o.dur_ns")" = 1
	live_total() { a=$("$aiflame" report --kernels --format json live.data | python3 -c 'import json, sys; print(round(sum(r["launches"] for r in json.load(sys.stdin)["rows"])))'); echo "$a"; [ "$a" -ge 1499 ] && [ "$a" -le 1503 ]; }
	check "report --kernels of what record --reduce wrote stands for all launches" live_total
	check "a profile that record --reduce wrote is not reduced again" says "launches were left out of it already" reduce -o x.data live.data
	"$aiflame" record -q -o turns.data -- "$build/tests/e2e/loop_app" chatty >/dev/null && reduce -q --every 2 -o turns-small.data turns.data
	check "why does not say of turns of a reduced profile that the program marks them" says " turns, found before launches of most were left out" "$aiflame" why turns-small.data
else
	skip "record --reduce records a program" "no OpenCL to build with"
fi
done_testing
