# SPDX-License-Identifier: Apache-2.0
"""Reads an export of format chrome by the rules of PyTorch's TensorBoard plug-in (torch-tb-profiler 0.4.3: trace.py, event_parser.py,
op_agg.py), and compares what its views compute with `aiflame query`.  torch_viewer.py AIFLAME PROFILE TRACE

The plug-in needs a name of every event and a category of every slice. It gives a call of the runtime to the operator that has its
External id, 0 being none, and work of a device to the call that has its correlation: two operators with one number, or a call with none,
and all kernels stand under whichever comes first. A range is no operator; those called ProfilerStep#N are its steps."""
import collections
import csv
import gzip
import json
import subprocess
import sys

aiflame, profile, trace = sys.argv[1:]
OPERATORS, RANGES = {"cpu_op", "operator"}, {"user_annotation", "gpu_user_annotation"}
CALLS = {"runtime", "cuda_runtime", "mtia_runtime", "glow_runtime", "xpu_runtime", "privateuse1_runtime", "cuda_driver"}
WORK = {"kernel", "memcpy", "gpu_memcpy", "memset", "gpu_memset"}


def query(sql):
    text = subprocess.run([aiflame, "query", "--format", "csv", profile, sql], capture_output=True, text=True, check=True).stdout
    return list(csv.reader(text.splitlines()))[1:]


def must(good, *what):
    if not good:
        sys.exit("not so: " + " ".join(str(x) for x in what))


with (gzip.open if trace.endswith(".gz") else open)(trace, "rt") as f:
    events = json.load(f)["traceEvents"]
for e in events:
    must(isinstance(e.get("name"), str), "an event has a name", e)
    must(e["ph"] != "X" or isinstance(e.get("cat"), str), "a slice has a category", e)
slices = [e for e in events if e["ph"] == "X"]
operators, ranges, calls, work = ([e for e in slices if e["cat"] in of] for of in (OPERATORS, RANGES, CALLS, WORK))
by_number, by_thread = collections.defaultdict(list), collections.defaultdict(list)
for e in operators:
    int(e["tid"])
    must(e["args"].get("External id", 0) > 0, "an operator has a number", e)
    by_number[e["args"]["External id"]].append(e)
    by_thread[e["pid"], e["tid"]].append(e)
own = not query("SELECT 1 FROM meta WHERE key = 'imported'")
must(not own or all(len(of) == 1 for of in by_number.values()), "numbers of operators are their own")
joined = 0
for call in calls:
    number = call["args"].get("External id")
    must(number is not None, "a call has an operator, or 0", call)
    around = [o for o in by_thread[call["pid"], call["tid"]] if o["ts"] <= call["ts"] < o["ts"] + o["dur"]]
    inner = max(around, key=lambda o: (o["ts"], -o["dur"]), default=None)
    must(number == (inner["args"]["External id"] if inner else 0), "a call has the number of the operator around it", call, inner)
    joined += number > 0
call_of = {e["args"]["correlation"]: e for e in calls if "correlation" in e["args"]}
by_name, with_call = collections.defaultdict(lambda: [0, 0]), 0
for e in work:
    call = call_of.get(e["args"].get("correlation"))
    if call:
        with_call += 1
        must(call["args"]["External id"] == e["args"]["External id"], "work has the number of its call", e, call)
    if e["cat"] == "kernel":
        must("device" in e["args"], "a kernel has a device", e)
        by_name[e["name"]][0] += 1
        by_name[e["name"]][1] += round(1000 * e["dur"])
ours = {name: [int(n), int(ns)] for name, n, ns in query(
    "SELECT k.name, count(*), sum(dur_ns) FROM executions e JOIN kernels k ON k.id = e.kernel GROUP BY 1")}
must(dict(by_name) == ours, "kernels with their calls and times", dict(by_name), ours)
steps = sum(e["name"].startswith("ProfilerStep#") for e in operators + ranges)
ours = int(query("SELECT count(*) FROM ops WHERE name LIKE 'ProfilerStep#%'")[0][0])
must(steps == ours, "steps", steps, ours)
print(f"{len(operators)} operators, {len(calls)} calls, {joined} of them in operators, {len(work)} executions, {with_call} of them of calls, {steps} steps")
