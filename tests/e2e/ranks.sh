#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs of several ranks whose truth is known: is waiting told from transfer, and who is late?
. "$(dirname "$0")/tap.sh"
job() { # NAME [OPTION...]: makes the traces, and imports them
	name=$1
	shift
	python3 "$root/tests/e2e/ranks_traces.py" "$name" "$@" >"$name.truth" || exit 1
	"$aiflame" import -q -o "$name.data" "$name"/rank*.json
	for table in ranks comm; do
		"$aiflame" report --$table --format json "$name.data" >"$name.$table"
	done
}
# ask NAME EXPRESSION: r, c: rows of --ranks, --comm; t: the truth; near(a, b): within 5 %
ask() {
	python3 - "$1" "$2" <<'EOP'
import json, sys
name, what = sys.argv[1:]
r, c = (json.load(open(f"{name}.{x}"))["rows"] for x in ("ranks", "comm"))
t = json.load(open(f"{name}.truth"))
near = lambda a, b: abs(a - b) <= 0.05 * abs(b) + 30
us = lambda row, column: (row[column] or 0) / 1e3
print(t, [(x['rank'], x['wait_given'], x['wait_suffered'], x['transfer']) for x in r])
sys.exit(not eval(what))
EOP
}
folded() { # NAME RE SHARE: stacks that match have at least that share of the waits
	"$aiflame" flame --of waits -o - --format folded "$1.data" >"$1.folded" || return
	awk -v re="$2" -v share="$3" '{ all += $NF } $0 ~ re { some += $NF } END { print some, all; exit !(some >= share * all) }' "$1.folded"
}
drawn() { # NAME [OPTION...]: the sum of widths
	name=$1
	shift
	"$aiflame" flame --of waits "$@" -o - --format folded "$name.data" | awk '{ n += $NF } END { printf "%d", n }'
}
sums() { # NAME: the folded waits add up to those of the table, to the ns
	ask "$1" "sum(x['wait_given'] for x in r) == sum(x['wait_suffered'] for x in r) == $(drawn "$1")"
}

# Four ranks, of which one computes 4.5 ms longer each step: all-reduce 124, 124, 16 and 124 ms.
job late --late 2
check "the profile knows rank and number of ranks of each process" says '3,4' "$aiflame" query --format csv late.data 'SELECT rank, world FROM processes ORDER BY rank'
check "each rank's wait is the time until the last one came" ask late "all(near(us(x, 'wait_suffered'), t['waits_us'][x['rank']]) for x in r)"
check "the wait is given by the late rank" ask late "all(near(us(x, 'wait_given'), t['given_us'][x['rank']]) for x in r)"
check "what is no wait is transfer: 16 ms on each rank" ask late "all(near(us(x, 'transfer'), 24 * 660) for x in r)"
check "report --comm has both beside the time" ask late "all(near(us(x, 'wait') + us(x, 'transfer'), us(x, 'time')) for x in c) and sorted(round(us(x, 'time') / 1e3) for x in c) == [16, 124, 124, 124]"
check "report --comm has the bytes that ranks give, and what a link carries of them while no rank waits" ask late "all(x['bytes'] == 48 * 4000000 for x in c) and all(abs(x['bus_bytes_per_second'] / (1.5 * x['bytes'] / (x['transfer'] / 1e9)) - 1) < 0.01 for x in c)"
check "flame --of waits has the host of rank 2, before its launches" folded late '^.for rank 2.*forward_backward.*before it, host' 0.9
check "widths of waits add up to those of the table" sums late
check "--rank shows one rank" says 'rank 2' "$aiflame" report --comm --rank 2 late.data
check "--rank shows no other rank" sh -c '! "$1" report --comm --rank 2 late.data | grep -q "rank 1"' sh "$aiflame"
check "--rank takes several" sh -c '"$1" report --comm --format csv --rank 0,3 late.data | grep -c "rank [03]" | grep -qx 2' sh "$aiflame"
check "a rank that is not there is an error" says 'no rank 7' "$aiflame" report --comm --rank 7 late.data
check "waits of one rank are what it suffered" ask late "near($(drawn late --rank 1) / 1e3, t['waits_us'][1])"
# page FILE.html TEXT: its data have the text
page() {
	python3 -c 'import base64, gzip, re, sys
text = re.search(r"id=\"data\">([^<]*)<", open(sys.argv[1]).read()).group(1)
sys.exit(sys.argv[2].encode() not in gzip.decompress(base64.b64decode(text)))' "$@"
}
"$aiflame" view -o late.html late.data
check "the page of a job says which rank is late" page late.html '"why_job":"rank 2 is late in 24 of 24 steps, by 4.'
check "the page of a job has the table of its ranks" page late.html '"ranks":{"title":"Ranks"'
check "strips of a page go by ranks" page late.html '"rank":2'

# One of its kernels takes longer; or all of them do.
job kernel --late 3 --in kernel
check "a kernel that is slower on one rank has the waits, with its stack" folded kernel '^.for rank 3.*forward_backward.*ranks wait: gemm' 0.95
check "widths of waits for a kernel add up to those of the table" sums kernel
job slow --late 1 --in all
check "all kernels of a slow device have the waits" folded slow '^.for rank 1.*forward_backward.*ranks wait: (gemm|softmax)' 0.9

# Nobody; everybody in turn.
job even
check "without a late rank there is little to wait for" ask even "all(us(x, 'wait_suffered') < 0.02 * us(x, 'busy') for x in r)"
job wander --wander
check "where the late rank changes each one has its part" ask wander "all(near(us(x, 'wait_given'), t['given_us'][x['rank']]) and us(x, 'wait_given') > 30000 for x in r)"

# What tells which operations are the same.
job seq --late 2 --seq --cut
check "operations are matched by their number, though one rank lacks the first" ask seq "all(near(us(x, 'wait_suffered'), t['waits_us'][x['rank']]) for x in r)"
job cut --late 2 --cut
check "without numbers those operations are the same that overlap" ask cut "all(near(us(x, 'wait_suffered'), t['waits_us'][x['rank']]) for x in r)"
job bare --late 2 --no-args
check "without communicators operations are matched by kernel and order, which is said" says 'matched by kernel and order' "$aiflame" report --ranks bare.data
check "waits by kernel and order are those by communicator" ask bare "all(near(us(x, 'wait_suffered'), t['waits_us'][x['rank']]) for x in r)"
"$aiflame" import -q -o one.data late/rank0.json
check "one rank alone has no waits, and the table says why" says 'there is one rank only' "$aiflame" report --ranks one.data
check "one rank alone has no waits to draw" says 'there is one rank only' "$aiflame" flame --of waits one.data

# Verdicts.
why() { # NAME EXPRESSION: j: the answer's part about ranks; a: its text
	"$aiflame" why --format json "$1.data" >"$1.why" && "$aiflame" why "$1.data" >"$1.said"
	python3 - "$1" "$2" <<'EOP'
import json, sys
name, what = sys.argv[1:]
w, a = json.load(open(f"{name}.why")), open(f"{name}.said").read()
j = w.get("ranks", {})
near = lambda x, y: abs(x - y) <= 0.05 * y
print(j, a)
sys.exit(not eval(what))
EOP
}
job begin --late 1 --from-step 12 --in kernel
check "why names the late rank, its delay, its line, and the step without it" why late "j['verdict'] == 'one_late' and j['late'] == 2 and near(j['delay_ns'], 4.5e6) and j['since'] == 1 and 'forward_backward' in j['place'] and j['cause_ppm'] > 900000 and near(j['step_ns'] - j['step_without_ns'], 4.5e6)"
check "why says who is late in a line" why late "'rank 2 is late in 24 of 24 steps, by 4.' in a"
check "why does not advise to communicate beside kernels where it is waiting" why late "'it is waiting, not transfer' in a and 'larger buckets' not in a"
check "why advises first to make the late rank as fast as the others, by what a step takes without it" why late "'make rank 2 as fast as the others' in a.split('\\ntry  ')[1].split('\\n')[0] and ('at most %.2fx' % (j['step_ns'] / j['step_without_ns'])) in a"
job far --late 1 --late-us 25000
check "why says first that a job is bound by a late rank, and where that is late" why far "'bound by rank 1, which is late, before forward_backward (train.py:20): others wait for it for 25.' in a"
check "why --json says that a late rank bounds the job" why far "w['bound_word'] == 'late-rank' and w['bound_by'] == ['waiting']"
check "why of a late rank gives the ranks first, and where to look on" why late "w['evidence'][0]['text'].startswith('rank 2 is late in 24 of 24 steps') and [x.split(' late.data')[0] for x in w['next']] == ['aiflame report --ranks --time loop', 'aiflame flame --of waits --time loop'] and '\\nnext     aiflame report --ranks --time loop late.data, aiflame flame --of waits' in a"
check "waiting for other ranks is no communication" why far "dict((g['group'], g['ns']) for g in w['groups'])['communication'] * 10 < dict((g['group'], g['ns']) for g in w['groups'])['waiting']"
check "why of one rank says that waiting is not told from transfer, and wants no operation between ranks faster" why one "'one rank does not tell transfer from waiting' in a and 'larger buckets' not in a and 'make nccl' not in a"
check "why says since which step a rank is late" why begin "j['verdict'] == 'one_late' and j['late'] == 1 and j['since'] == 13 and j['delayed'] == 12"
job now_and_then --late 1 --from-step 24 --steps 60 --also-steps 2,5,7,11,16,19
check "steps in which a rank was late now and then before are not those since which it is" why now_and_then "j['late'] == 1 and j['since'] == 25 and j['delayed'] == 42"
check "why tells a slow device from a slow line" why slow "j['late'] == 1 and 1.8 < j['slow'] < 2.1 and 'its device is slow' in a"
check "a slow kernel is no slow device" why kernel "j['late'] == 3 and 'slow' not in j and j['cause'] == 'kernel'"
check "an imbalance that wanders names no rank" why wander "j['verdict'] == 'wander' and 'late' not in j and 'another one is late each time' in a"
job turns --late 1 --then 3
check "why names the ranks that are late one after the other, and since when" why turns "j['verdict'] == 'wander' and 'rank 1 is late at first, rank 3 since step 13, one of them or another in 24 of 24 steps, by 4.' in a"
check "without imbalance no rank is named" why even "j['verdict'] == 'even' and 'none is late' in a"
# Two ranks that wait for each other in turn, as stages of a pipeline do: rank 0 computes 10 ms a step, rank 1 2 ms and is elsewhere for 8.
mkdir uneven
python3 - <<'EOP'
import json
for rank in range(2):
    events = []
    def work(name, at, length, nth, **args):
        n = len(events)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": rank + 9, "tid": 1, "ts": at - 6, "dur": 3, "args": {"correlation": n}})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7 + bool(args), "ts": at, "dur": length, "args": {"correlation": n, "stream": 7 + bool(args), **args}})
    for step in range(12):
        at = 1000 + step * 21000
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": rank + 9, "tid": 1, "ts": at - 10, "dur": 20990, "args": {}})
        computes = 2000 if rank else 10000
        work("gemm", at, computes, step)
        for nth, (begin, end) in enumerate([(at + computes + 5, at + 10200), (at + (18500 if rank else 10300), at + 18700)]):
            work("ncclDevKernel_AllReduce", begin, end - begin, step, **{"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Group size": 2, "Seq": 2 * step + nth})
    json.dump({"baseTimeNanoseconds": 1700000000 * 10**9, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": events}, open(f"uneven/rank{rank}.json", "w"))
EOP
"$aiflame" import -q -o uneven.data uneven/rank*.json
check "work that is shared unevenly is said where ranks wait for each other in turn" why uneven "j['verdict'] == 'uneven' and j['longest'] == 0 and near(j['longest_compute_ns'], 10e6) and near(j['mean_compute_ns'], 6e6) and near(j['step_ns'] - j['step_without_ns'], 4e6)"
check "why says who computes longest, and what a step would take were work shared evenly" why uneven "'work is shared unevenly: rank 0 computes longest, 10.0 ms a step where the mean is 6.0 ms' in a"
check "why says nothing of the ranks of one trace" why one "j == {} and 'ranks  ' not in a"

# Clocks of hosts: seconds apart, and drifting.
job skew --late 2 --skew-s 3 --ppm 50 --steps 800 --buckets 1
"$aiflame" info skew.data >skew.info
check "clocks that are seconds apart and drift by 50 ppm are put on one" grep -q 'drifted by -50.0 ppm' skew.info
check "waits of skewed ranks are those of the truth" ask skew "all(near(us(x, 'wait_suffered'), t['waits_us'][x['rank']]) for x in r)"
check "who is late is known of skewed ranks" ask skew "near(us(r[2], 'wait_given'), t['given_us'][2])"
check "the error of the clocks is stated, and is below 20 us" ask skew "all(x['clock_error'] is not None and x['clock_error'] < 20000 for x in r) and r[3]['clock_error'] > 0"
job numbered --late 2 --skew-s 3 --ppm 50 --seq --cut
check "numbers of operations relate clocks, though one rank lacks the first" ask numbered "all(near(us(x, 'wait_suffered'), t['waits_us'][x['rank']]) for x in r)"
python3 "$root/tests/e2e/ranks_traces.py" other --wander --late-us 20000 >/dev/null
"$aiflame" import -q -o apart.data late/rank0.json late/rank1.json late/rank2.json other/rank3.json
"$aiflame" report --ranks --format json apart.data >apart.ranks
cp late.truth apart.truth && cp late.comm apart.comm
check "a rank whose clock cannot be related is not compared" ask apart "[x['wait_given'] is None for x in r] == [False, False, False, True]"
check "the table says that it is not" says '1 of which have another clock and are not compared' "$aiflame" report --ranks apart.data
check "info says why it is not" says 'do not agree' "$aiflame" info apart.data

# Recorded: ranks are what the launcher set.
if [ -e /etc/OpenCL/vendors/pocl.icd ]; then
	check "two ranks are recorded" "$aiflame" record -o two.data -- sh -c "RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 '$matmul' & OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=2 '$matmul' & wait"
	check "a recording has the ranks of its processes" sh -c '"$1" query --format csv two.data "SELECT rank, local_rank, world FROM processes WHERE rank IS NOT NULL AND runtime ORDER BY rank" | tr "\n" " " | grep -q "0,0,2 1,1,2"' sh "$aiflame"
else
	skip "two ranks are recorded" "no PoCL"
fi
done_testing
