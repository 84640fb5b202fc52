#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces made by hand whose answer is known: does why say it of imports, and say no more than they tell?
. "$(dirname "$0")/tap.sh"
cat >traces.py <<'EOP'
import json
def event(cat, name, ts, dur, tid=1, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
def kernel(i, name, ts, dur): return event("kernel", name, ts, dur, 7, 0, device=0, stream=7, correlation=i)
def launch(i, ts): return event("cuda_runtime", "cudaLaunchKernel", ts, 5, correlation=i)
def step(i, ts, dur): return event("user_annotation", "ProfilerStep#%d" % i, ts, dur)
def write(name, events): json.dump({"traceEvents": events}, open(name + ".json", "w"))
# The host is two and a half steps ahead: 8 steps of 10 ms, 10 kernels each, the last of each step a collective.
ahead, i, at = [], 0, 0
for s in range(8):
    ahead.append(step(s, 1000 + 10000 * s, 10000))
    for k in range(10):
        i, call = i + 1, 1100 + 10000 * s + 900 * k
        at = max(at + 890, call + 25000)
        ahead += [launch(i, call), kernel(i, "ncclDevKernel" if k == 9 else "gemm_%d" % (k % 3), at, 880)]
write("ahead", ahead)
# A loader within each step, whose own work is an operator.
loader, i = [], 0
for s in range(6):
    t = 1000 + 10000 * s
    loader += [step(s, t, 9990), event("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", t + 10, 6000),
               event("cpu_op", "aten::stack", t + 100, 5000), event("cpu_op", "aten::mm", t + 6100, 2000)]
    for k in range(2):
        i += 1
        loader += [launch(i, t + 6200 + 900 * k), kernel(i, "gemm", t + 6210 + 900 * k, 880)]
write("loader", loader)
# A device that waits for an event most of the time.
waits = []
for i in range(1, 41):
    waits += [launch(i, 1000 * i), kernel(i, "gemm", 1000 * i + 20, 100), kernel(i, "event_wait", 1000 * i + 130, 800)]
write("waits", waits)
write("one", [launch(1, 1000), event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1020, 400, 7, 0, device=0, stream=7, correlation=1, bytes=4096)])
# Each call of Python was followed.
python = [x for i in range(1, 201) for x in (launch(i, 1000 * i + 50), kernel(i, "gemm", 1000 * i + 70, 100),
          event("python_function", "train.py(12): step", 1000 * i, 900))]
write("python", python)
# Every third kernel takes less than the trace's clock ticks.
write("ticks", [x for i in range(1, 31) for x in (launch(i, 1000 * i), kernel(i, "fill", 1000 * i + 20, 0 if i % 3 == 0 else 30))])
# Most of what ran is graphs whose work the trace does not have.
graphs = []
for i in range(1, 41):
    graphs += [launch(i, 10000 * i), kernel(i, "embed", 10000 * i + 20, 50), event("cuda_runtime", "cudaGraphLaunch", 10000 * i + 300, 50, correlation=1000 + i),
               event("cuda_runtime", "cudaStreamSynchronize", 10000 * i + 400, 8000, correlation=2000 + i)]
write("graphs", graphs)
write("overlap", python + [event("cpu_op", "aten::mm", 5500, 1000), event("cpu_op", "aten::add", 6200, 1000)])
EOP
python3 traces.py
for t in ahead loader waits one python overlap graphs ticks; do
	"$aiflame" import -o $t.data $t.json 2>$t.said
	"$aiflame" why --format json $t.data >$t.why
done
ask() { python3 -c "import json, sys; w = json.load(open('$1.why')); g = {x['group']: x['share_ppm'] / 1e6 for x in w['groups']}; print(w['phases'], w['loop'], w['bound_by'], g, w['owners'], w['kernels'], w['unknown']); sys.exit(not ($2))"; }
check "steps of a host that runs ahead are where their work runs" ask ahead "w['loop']['steps'] == 8 and not any(p['phase'] == 'tail' for p in w['phases'])"
check "such steps have all of their work: the collectives, too" ask ahead "0.08 < g['communication'] < 0.11"
check "why says that they are" says 'by when their work ran' "$aiflame" why ahead.data
check "the owner of time in a loader is the loader, not the step" ask loader "w['owners'][0]['place'].startswith('enumerate(DataLoader)') and w['owners'][0]['groups_ns'].get('input', 0) > 0"
check "a device that waits for an event does nothing" ask waits "g['compute'] < 0.2 and [k['kernel'] for k in w['kernels']] == ['gemm']"
check "import says what it did not keep" grep -q '40 waits of a device' waits.said
check "one copy bounds no program" ask one "w['bound_by'] == []"
check "why says that too little ran" says 'what is not known: all that ran on a device is 1 run of' "$aiflame" why one.data
check "a trace with each call of Python: what the host takes by itself is unknown" ask python "'slowed' in w['unknown']"
check "a trace without them: it is known" ask ahead "'slowed' not in w['unknown']"
check "graphs without their work: what bounds the program is unknown, and how deep the queue is" ask graphs "w['bound_by'] == ['unknown'] and w['bound_word'] == '' and 'device_work' in w['unknown'] and w['queue']['state'] == 'unknown'"
check "graphs without their work: why says that the device may not have been idle" says 'bound by what is not known: work of the device is missing' "$aiflame" why graphs.data
check "a trace that has all of its work: the queue is known" ask python "w['queue']['state'] == 'behind' and w['bound_by'] == ['host']"
check "kernels that took no time by the trace are counted" ask ticks "w['kernels'][0]['runs'] == w['loop']['steps'] == 29"
check "import says what is not as in the file" grep -q 'not as in the file: [1-9].* overlap' overlap.said
check "an intact trace raises no alarm" sh -c '! grep -q "not as in the file" python.said'
narrow() { script -qec "stty cols 80; '$aiflame' why $1.data" /dev/null | tr -d '\r' >narrow.out && [ "$(wc -L <narrow.out)" -le 80 ] && grep -q '^try ' narrow.out && grep -q '^bound by' narrow.out; }
if command -v script >/dev/null; then
	check "a terminal of 80 columns has the advice, and no line is cut" narrow python
else
	skip "a terminal of 80 columns has the advice, and no line is cut" "no script"
fi
done_testing
