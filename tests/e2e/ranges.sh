#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranges of a training loop whose backward is launched by another thread: tables, --range and why have the same device time.
. "$(dirname "$0")/tap.sh"
# Three steps of 1 ms: "forward" launches two kernels of 10 us, "backward" one of 10 us itself and three of 20 us by thread 2,
# which launches one more of 40 us in a range of its own.
python3 - <<'EOF'
import json
events, n = [], 0
def span(cat, name, tid, ts, dur, **args):
    events.append(dict(ph="X", cat=cat, name=name, pid=1, tid=tid, ts=ts, dur=dur, args=args))
def launch(tid, ts, dur, kernel):
    global n
    n += 1
    span("cuda_runtime", "cudaLaunchKernel", tid, ts, 2, correlation=n)
    span("kernel", kernel, 7, ts + 5, dur, correlation=n, device=0, stream=7)
for step in range(3):
    t = 1000 + 1000 * step
    span("user_annotation", f"ProfilerStep#{step}", 1, t, 990)
    span("user_annotation", "forward", 1, t + 100, 200)
    for k in range(2):
        launch(1, t + 120 + 50 * k, 10, "gemm")
    span("user_annotation", "backward", 1, t + 400, 500)
    launch(1, t + 405, 10, "loss")
    for k in range(3):
        launch(2, t + 450 + 50 * k, 20, "gemm_backward")
    span("user_annotation", "all_reduce", 2, t + 700, 100)
    launch(2, t + 720, 40, "nccl_kernel")
json.dump(dict(schemaVersion=1, deviceProperties=[dict(id=0, name="GPU")], traceEvents=events), open("t.json", "w"))
EOF
"$aiflame" import -q t.json -o t.data 2>/dev/null || "$aiflame" import t.json -o t.data >/dev/null 2>&1
check "an import that cannot be written names the profile" says 'cannot write t.json/t.data: Not a directory' "$aiflame" import t.json -o t.json/t.data
table() { "$aiflame" report --format csv --limit 0 "$@" t.data; }
# sum_of COLUMN OPTION...: of all rows
sum_of() { column=$1 && shift && table "$@" | python3 -c 'import csv, sys; print(sum(int(r[sys.argv[1]]) for r in csv.DictReader(sys.stdin)))' "$column"; }
check "a range has what it launched, and what another thread did meanwhile" \
	test "$(table --ranges | grep ',backward$' | cut -d, -f6)" = 210000
check "--kernels --range has the time of the range" test "$(sum_of time --kernels --range '^backward$')" = 210000
check "--ranges --range has the time of the range" test "$(table --ranges --range '^backward$' | tail -n 1 | cut -d, -f6)" = 210000
check "flame --range has the time of the range" test "$("$aiflame" flame --by time --leaf kernel --range '^backward$' --format folded -o - t.data | awk '{ n += $NF } END { print n }')" = 210000
check "--launches --range has the launches of the range" test "$(table --launches --range '^backward$' | sed 1d | wc -l)" = 12
"$aiflame" export --format chrome -o t.chrome --range '^backward$' t.data >/dev/null 2>&1
check "a time line of a range has its launches" sh -c "grep -o '\"name\":\"gemm_backward\"' t.chrome | wc -l | grep -qx 9"
check "the other thread's own range has its own time" test "$(sum_of time --kernels --range all_reduce)" = 120000
check "report --kernels --range says what threads in no range launched" says '--range: 180 us by threads in no range that launched for these' "$aiflame" report --kernels --range '^backward$' t.data
check "the summary with --range says what threads in no range launched" says 'ranges   180 us by threads' "$aiflame" report --range '^backward$' t.data
check "a picture with --range says what threads in no range launched" sh -c "'$aiflame' flame --range '^backward\$' -o b.svg t.data >/dev/null && grep -q '180 us by threads' b.svg"
check "why --range says what threads in no range launched" says 'busy 180 us by threads in no range' "$aiflame" why --range '^backward$' t.data
check "why --range keeps the steps of the program" says 'loop     3 steps, as the program marks them' "$aiflame" why --range '^backward$' t.data
check "why --range suggests commands with the same selection" says "aiflame flame --of idle --range '^backward$' --process 1 --time loop t.data" \
	"$aiflame" why --range '^backward$' --process 1 t.data
check "report --steps --range has whole steps, with the range's work" test "$(table --steps --range '^backward$' | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
print(len(rows), {r["time"] for r in rows}, {r["device_total"] for r in rows}, {r["launches"] for r in rows})')" = "3 {'990000'} {'70000'} {'4'}"
check "--time step:2 may be given with --range" test "$(sum_of time --kernels --range '^backward$' --time step:2)" = 70000
check "report --steps numbers a step as --time does" test "$(table --steps --time step:2 | tail -n 1 | cut -d, -f14,15)" = "2,ProfilerStep#1"
check "report --queue names the step that --time selects" sh -c "'$aiflame' report --queue --time step:2 t.data | grep -q 'step 2\$'"
check "report --threads --range has the launches of the range" test "$(table --threads --range all_reduce | cut -d, -f5,7 | tail -n 1)" = 3,2
"$aiflame" report --launches --limit 2 t.data >cut.txt
check "a table that is cut says how many rows are left out" grep -qx '… 19 more rows (--limit 0 shows all)' cut.txt
check "a table that is whole says nothing of rows left out" sh -c "! '$aiflame' report --launches --limit 21 t.data | grep -q 'more row'"
check "a CSV that is cut says nothing of rows left out" sh -c "[ \$('$aiflame' report --launches --limit 2 --format csv t.data | wc -l) = 3 ]"
# A kernel that two operators launch: why says of whom most are, and how many.
python3 - <<'EOF'
import json
events = []
for i in range(10):
    op = "aten::linear" if i < 7 else "aten::mm"
    events.append(dict(ph="X", cat="cpu_op", name=op, pid=1, tid=1, ts=100 * i, dur=50))
    events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=100 * i + 5, dur=5, args=dict(correlation=i + 1)))
    events.append(dict(ph="X", cat="kernel", name="gemm", pid=0, tid=7, ts=100 * i + 20, dur=60, args=dict(correlation=i + 1, device=0, stream=7)))
json.dump(dict(schemaVersion=1, deviceProperties=[dict(id=0, name="GPU")], traceEvents=events), open("two.json", "w"))
EOF
"$aiflame" import two.json -o two.data >/dev/null 2>&1
check "why counts the runs of the place that it names" says 'gemm, 10 runs, 7 of them of aten::linear' "$aiflame" why two.data
# Names that differ in numbers only.
python3 - <<'EOF'
import json
events = [dict(ph="X", cat="user_annotation", name=f"batch {i} of 70", pid=1, tid=1, ts=100 * i, dur=50) for i in range(70)]
events += [dict(ph="X", cat="user_annotation", name=f"layer {i}", pid=1, tid=1, ts=100 * i + 10, dur=20) for i in range(64)]
json.dump(dict(schemaVersion=1, traceEvents=events), open("many.json", "w"))
EOF
"$aiflame" import many.json -o many.data >/dev/null 2>&1
check "seventy names with different numbers are one row of report --ranges" test "$("$aiflame" report --ranges --format csv --limit 0 many.data | grep -c 'batch')" = 1
check "a row of report --ranges that stands for many names has all of their time" sh -c "'$aiflame' report --ranges --format csv --limit 0 many.data | grep -q '^3500000,70,50000,.*,batch \\* of \\*\$'"
check "sixty-four names with different numbers are rows of their own" test "$("$aiflame" report --ranges --format csv --limit 0 many.data | grep -c 'layer')" = 64
check "report --ranges --detail full has each name" test "$("$aiflame" report --ranges --detail full --format csv --limit 0 many.data | grep -c 'batch')" = 70
done_testing
