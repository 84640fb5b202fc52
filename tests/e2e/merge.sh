#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame merge: the profiles of a job's hosts in one, with their clocks related by what all ranks end at once.
. "$(dirname "$0")/tap.sh"
split=$build/tests/mock/split_profile
job() { # NAME [OPTION...]: four ranks of one host in one profile, and the truth
	name=$1
	shift
	python3 "$root/tests/e2e/ranks_traces.py" "$name" "$@" >"$name.truth" || exit 1
	"$aiflame" import -q -o "$name.data" "$name"/rank*.json || exit 1
}
hosts() { # NAME SECONDS PPM: the job's ranks as two hosts would have recorded them, merged
	"$split" "$1.data" "$1-a.data" node-a 0,1 && "$split" "$1.data" "$1-b.data" node-b 2,3 "$2" "$3" || exit 1
	"$aiflame" merge -o "$1-merged.data" "$1-a.data" "$1-b.data" 2>"$1.said"
}
table() { "$aiflame" report --ranks --format json "$1"; }
# same A B [US]: both have the same rows of report --ranks, but for US microseconds an operation (30) and names of hosts
same() {
	table "$1" >a.json && table "$2" >b.json && python3 - "${3:-30}" <<'EOP'
import json, sys
a, b = (json.load(open(f"{x}.json"))["rows"] for x in "ab")
off = float(sys.argv[1]) * 1e3
assert [x["rank"] for x in a] == [x["rank"] for x in b], "ranks"
for x, y in zip(a, b):
    assert x["operations"] == y["operations"], (x, y)
    for key in ("wait_given", "wait_suffered", "transfer", "delay"):
        assert abs((x[key] or 0) - (y[key] or 0)) <= off * x["operations"] * 3, (key, x, y)
    for key in ("busy", "compute", "idle", "step"):
        assert abs((x[key] or 0) - (y[key] or 0)) <= 1e-3 * (x[key] or 0) + 2e5, (key, x, y)
EOP
}
json() { # FILE EXPRESSION: r: rows of report --ranks
	table "$1" >r.json && python3 -c 'import json, sys; r = json.load(open("r.json"))["rows"]; print(r); sys.exit(not eval(sys.argv[1]))' "$2"
}
why() { # FILE EXPRESSION: j: the answer about ranks
	"$aiflame" why --format json "$1" >w.json && python3 -c 'import json, sys; j = json.load(open("w.json"))["ranks"]; print(j); sys.exit(not eval(sys.argv[1]))' "$2"
}

# One clock.
job late --late 2
"$split" late.data one-a.data node 0,1 && "$split" late.data one-b.data node 2,3
check "profiles of one host are merged" "$aiflame" merge -q -o one.data one-a.data one-b.data
check "profiles of one host that are merged have the ranks and waits of the whole" same late.data one.data 0
check "clocks of one host get no error beside their own" json one.data "[x['clock_error'] for x in r] == [x['clock_error'] for x in json.load(open('a.json'))['rows']]"

# Two hosts, seconds apart and drifting.
job long --late 2 --steps 400 --buckets 1
hosts long 3.7 50
check "two hosts with clocks that are seconds apart and drift by 50 ppm are merged" test -s long-merged.data
check "a merge says what relates the clocks, the drift and the error" grep -Eq 'clock: node-b .*related to node-a .*by the ends of 8[0-9]{2} operations, within [0-9.]+ us; it drifted by (49|50)\.[0-9] ppm' long.said
check "info of a merged profile says how clocks were related" says 'drifted by' "$aiflame" info long-merged.data
check "two hosts have the waits of the job as it was recorded by one" same long.data long-merged.data
check "the error of another host's clock is stated" json long-merged.data "max(x['clock_error'] for x in r) > 0 and max(x['clock_error'] for x in r) < 30000"
check "report --ranks has each rank's host" json long-merged.data "[x['host'] for x in r] == ['node-a', 'node-a', 'node-b', 'node-b']"
check "why names the late rank of another host" why long-merged.data "j['verdict'] == 'one_late' and j['late'] == 2 and 'forward_backward' in j['place']"
hosts late -86400 -20
check "hosts whose dates are a day apart are related" grep -q 'clock: node-b' late.said
check "hosts whose dates are a day apart have the waits of the whole" same late.data late-merged.data
job wander --wander
hosts wander 12 0
check "ranks of two hosts of which another one is late each time have the waits of the whole" same wander.data wander-merged.data

# Clocks that cannot be related.
python3 "$root/tests/e2e/ranks_traces.py" other --wander --late-us 20000 >/dev/null
"$aiflame" import -q -o other.data other/rank*.json
"$split" other.data other-b.data node-b 2,3 5 0
check "a host of another job is merged with a warning" sh -c '"$1" merge -o apart.data late-a.data other-b.data 2>&1 | grep -q "Warning: not compared with other ranks: node-b"' sh "$aiflame"
check "ranks whose clock cannot be related are not compared" json apart.data "[x['wait_given'] is None for x in r] == [False, False, True, True]"
check "report --ranks says that ranks are not compared" says '2 of which have another clock and are not compared' "$aiflame" report --ranks apart.data
check "info says that a host's clock could not be related" says 'agree with no other' "$aiflame" info apart.data

# What is the same, and what is not.
check "processes of two hosts that have one number stay apart" sh -c '"$1" query --format csv long-merged.data "SELECT count(*) FROM processes WHERE rank IS NOT NULL" | tail -n 1 | grep -qx 4' sh "$aiflame"
check "stacks of two hosts that are the same are one" sh -c 'n() { "$1" query --format csv "$2" "SELECT count(*) FROM stacks" | tail -n 1; }; [ "$(n "$1" long-merged.data)" -le "$(n "$1" long.data)" ]' sh "$aiflame"
folded() { "$aiflame" flame -o - --format folded "$1" | sort; }
folded long.data >long.folded
folded long-merged.data >merged.folded
check "the flame graph of merged hosts is that of the whole" python3 -c '
a, b = ({l.rsplit(" ", 1)[0]: int(l.rsplit(" ", 1)[1]) for l in open(f)} for f in ("long.folded", "merged.folded"))
assert a.keys() == b.keys(), a.keys() ^ b.keys()
assert all(abs(a[k] - b[k]) <= a[k] * 1e-3 + 1e5 for k in a)'

cp wander-b.data child.data
python3 -c 'import sqlite3; d = sqlite3.connect("child.data"); d.execute("UPDATE process SET ppid=4000"); d.commit()'
"$aiflame" merge -q -o parents.data wander-a.data child.data
check "a process is no child of one of another host that has its parent's number" sh -c '"$1" report --processes --format json parents.data >p.json && python3 -c "import json; r = json.load(open(\"p.json\"))[\"rows\"]; assert [x[\"children\"] for x in r if x[\"process\"] == 4000] == [0], r"' sh "$aiflame"

# Refusals; damage.
fails() { # WHAT TEXT COMMAND...: ends with an error that has the text, and leaves no file
	what=$1 text=$2
	shift 2
	rm -f out.data
	"$@" >check.out 2>&1
	code=$?
	[ $code != 0 ] && [ $code -lt 128 ] && grep -q "$text" check.out && ! ls out.data* >/dev/null 2>&1
	say_case $? "$what" "$@"
}
fails "one file is not merged" 'usage\|FILE' "$aiflame" merge -o out.data late-a.data
fails "a file that is given twice is refused" 'is the same recording as' "$aiflame" merge -o out.data late-a.data late-b.data late-a.data
cp late-a.data copy.data
fails "a copy of a file that is given, too, is refused" 'is the same recording as' "$aiflame" merge -o out.data late-a.data copy.data
fails "a file that is not there is named" 'nothing.data' "$aiflame" merge -o out.data late-a.data nothing.data
head -c 3000 late-b.data >short.data
fails "a truncated file is named, and nothing is written" 'short.data' "$aiflame" merge -o out.data late-a.data short.data
echo no profile >text.data
fails "a file that is no profile is named" 'text.data' "$aiflame" merge -o out.data late-a.data text.data
printf 'main;f 10\n' >stacks.folded
"$aiflame" import -q -o counts.data stacks.folded
fails "stacks with counts are no part of a job" 'no times' "$aiflame" merge -o out.data late-a.data counts.data
check "an output that is an input is refused" sh -c '! "$1" merge -o late-a.data late-a.data late-b.data && "$1" info late-a.data >/dev/null' sh "$aiflame"
python3 - <<'EOP'
import sqlite3
d = sqlite3.connect("late-b.data")
d.execute("PRAGMA journal_mode=DELETE")
id, data = d.execute("SELECT id, data FROM chunk WHERE kind=5 OR kind=6 LIMIT 1").fetchone()
d.execute("UPDATE chunk SET data=? WHERE id=?", (data[:40] + bytes(b ^ 0x5a for b in data[40:60]) + data[60:], id))
d.commit()
EOP
check "a damaged chunk costs its rows, with a warning" sh -c '"$1" merge -o damaged.data late-a.data late-b.data 2>&1 | grep -q "Warning: late-b.data is damaged: what 1 of its chunks"' sh "$aiflame"
check "info counts damaged chunks of merged files" says 'could not be read' "$aiflame" info damaged.data
# Many; hostile.
for i in $(seq 60); do
	"$split" wander.data "many-$i.data" "node-$i" $((i % 4)) "$i" $((i % 61 - 30)) || exit 1
done
check "sixty hosts are merged, and all clocks are related" sh -c '"$1" merge -o many.data many-*.data 2>&1 | grep -q "60 profiles of 60 hosts, 60 ranks; clocks agree within" && ! "$1" report --ranks many.data | grep -q "another clock"' sh "$aiflame"
check "a merge of any damaged file ends with a profile that opens, or with a message and no file" python3 - "$aiflame" <<'EOP'
import os, random, subprocess, sys
whole = open("wander-b.data", "rb").read()
for seed in range(60):
    random.seed(seed)
    data = bytearray(whole)
    for _ in range(random.choice([1, 4, 30])):
        data[random.randrange(100, len(data))] = random.randrange(256)
    open("hostile.data", "wb").write(data)
    merged = subprocess.run([sys.argv[1], "merge", "-o", "hostile-out.data", "wander-a.data", "hostile.data"], capture_output=True)
    is_there = os.path.exists("hostile-out.data")
    assert merged.returncode in (0, 1) and merged.stderr and is_there == (merged.returncode == 0), (seed, merged)
    if is_there:
        for view in (["info"], ["report", "--ranks"]):
            shown = subprocess.run([sys.argv[1], *view, "hostile-out.data"], capture_output=True)
            assert shown.returncode == 0, (seed, shown)
        os.remove("hostile-out.data")
EOP
# The output that is there becomes OUTPUT.old, which is one of the files.
keeps_old() {
	cp late-a.data kept.data && cp late-b.data kept.data.old && cp kept.data.old before &&
		says "would be replaced by kept.data" "$aiflame" merge -o kept.data late-a.data kept.data.old && cmp before kept.data.old
}
check "a file that the output's own backup would replace is refused, and stays" keeps_old
done_testing
