# SPDX-License-Identifier: Apache-2.0
# The operators' table beside torch's own: profiler_util.EventList, fed with the events of a trace, makes the tree
# and key_averages(); each row of it must be ours to the nanosecond. The other tables beside sums made here.
#
#   ops_torch.py make SEED FILE [distinct]   a trace with random nesting; no range is called like an operator
#   ops_torch.py run FILE                a trace of what PyTorch does here; torch's own table beside it
#   ops_torch.py compare AIFLAME FILE PROFILE [name|shape]
#   ops_torch.py table AIFLAME FILE PROFILE       what torch prints, to the blank
#   ops_torch.py breakdown AIFLAME FILE PROFILE
import decimal
import gzip
import json
import random
import subprocess
import sys

HOST = {"cpu_op", "Operator", "user_annotation", "cuda_runtime", "cuda_driver", "Runtime", "privateuse1_runtime"}
DEVICE = {"kernel", "Kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset"}


def ns(us):
    return int((decimal.Decimal(us) * 1000).to_integral_value(decimal.ROUND_HALF_EVEN))


def load(path):
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as f:
        doc = json.loads(f.read().decode("utf-8", "replace"), parse_float=decimal.Decimal, strict=False)
    return [e for e in (doc["traceEvents"] if isinstance(doc, dict) else doc) if e.get("ph") == "X" or e.get("name") == "[memory]"]


def of_device(e):
    return e["name"] if e["cat"] in ("kernel", "Kernel") else "[copies]"


def external(e):
    args = e.get("args", {})
    return args.get("External id", args.get("external id"))


# ---- torch's own calculation ----------------------------------------------------------------------


def torch_averages(events, by, exact=True):
    from torch.autograd import DeviceType
    from torch.autograd.profiler_util import EventList, FunctionEvent, _filter_name

    made, ops, memory = [], {}, [e for e in events if e["ph"] == "i"]
    events = [e for e in events if e["ph"] == "X"]

    def event(e, **kw):
        start = ns(e["ts"])
        span = start, start + ns(e.get("dur", 0))
        if "input_shapes" in kw:  # as torch sums them up, of one thread
            for what, number in ("cpu", 0), ("cuda", 1):
                kw[what + "_memory_usage"] = sum(m["args"]["Bytes"] for m in memory if m["tid"] == e["tid"] and
                                                 m["args"]["Device Type"] == number and span[0] <= ns(m["ts"]) <= span[1])
        if not exact:  # torch's are us
            span = span[0] / 1000, span[1] / 1000
        made.append(FunctionEvent(id=len(made), start_us=span[0], end_us=span[1], stack=[], **kw))
        return made[-1]

    for e in events:
        if e.get("cat") not in HOST or _filter_name(e["name"]):
            continue
        name = "ProfilerStep*" if e["name"].startswith("ProfilerStep#") else e["name"]
        f = event(e, name=name, thread=(str(e["pid"]), str(e["tid"])), input_shapes=e.get("args", {}).get("Input Dims"))
        if e["cat"] in ("cpu_op", "Operator"):
            ops[external(e)] = f
    for e in events:
        if e.get("cat") not in DEVICE:
            continue
        f = event(e, name=of_device(e) if exact else e["name"], thread=0, device_type=DeviceType.CUDA)
        if external(e) in ops:
            ops[external(e)].append_kernel(e["name"], 0, f.time_range.elapsed_us())
    made.sort(key=lambda f: [f.time_range.start, -f.time_range.end])
    table = EventList(made)
    table._build_tree()
    table._profile_memory = bool(memory)
    return table.key_averages(group_by_input_shapes=by == "shape")


def torch_rows(events, by):
    return rows_of(torch_averages(events, by), by)


def printed(aiflame, events, profile):
    """Torch's table as it prints it beside ours; rows that are equal in what they are sorted by may be in another order."""
    want = torch_averages(events, "name", exact=False).table(sort_by="self_cuda_time_total", row_limit=-1).splitlines()
    got = subprocess.check_output([aiflame, "report", "--ops", "--style", "torch", "--sort-by", "self_cuda_time_total",
                                   "--row-limit", "0", profile], text=True).splitlines()
    bad = [(w, g) for w, g in zip(sorted(want), sorted(got)) if w != g]
    for w, g in bad[:5]:
        print("torch:  ", w, "\naiflame:", g)
    device = [g for g in got if " 0.00%       0.000us" not in g[90:]]
    return bool(bad) or len(want) != len(got) or want[:3] != got[:3] or want[-3:] != got[-3:] or len(device) < 8


def rows_of(averages, by):
    rows = {}
    for a in averages:
        # No inputs and inputs that are not known are one to us.
        shapes = json.dumps(a.input_shapes).replace(" ", "") if by == "shape" and a.input_shapes else ""
        key = a.key, a.device_type.name != "CPU", shapes
        values = a.count, a.cpu_time_total, a.self_cpu_time_total, a.cuda_time_total, a.self_cuda_time_total
        rows[key] = tuple(map(sum, zip(rows.get(key, (0,) * 5), values)))
    return rows


def our_table(aiflame, profile, *what):
    return json.loads(subprocess.check_output([aiflame, "report", "--limit", "0", "--format", "json", *what, profile]))["rows"]


def our_rows(aiflame, profile, by):
    rows = {}
    for r in our_table(aiflame, profile, "--ops", "--by", by):
        device = r["type"] not in ("operator", "range", "step", "runtime")
        key = "[copies]" if device and r["type"] != "kernel" else r["name"], device, r.get("shapes", "").replace(" ", "")
        values = r["calls"], r["cpu_total"], r["self_cpu"], r["device_total"], r["self_device"]
        rows[key] = tuple(map(sum, zip(rows.get(key, (0,) * 5), values)))
    return rows


def compare(want, got):
    # Children that overlap in part, as rounding makes them, leave less than nothing; we say nothing.
    want = {k: (v[0], v[1], max(v[2], 0), *v[3:]) for k, v in want.items()}
    bad = [k for k in sorted(set(want) | set(got)) if want.get(k) != got.get(k)]
    for k in bad[:10]:
        print(k, "torch:", want.get(k), "aiflame:", got.get(k))
    print(len(want), "rows,", len(bad), "differ")
    return bool(bad) or not want


# ---- traces ---------------------------------------------------------------------------------------


def make(seed, path, distinct=False):
    r = random.Random(seed)
    events, number = [], [0]

    def call(tid, start, end, depth):
        number[0] += 1
        me = number[0]
        kind = r.random()
        cat = "user_annotation" if kind < 0.1 or not depth else "cpu_op"
        name = r.choice(["aten::mm", "aten::add", "aten::copy_", "aten::is_leaf", "model"]) if depth else "ProfilerStep#%d" % me
        if distinct and cat == "user_annotation":
            name = name if name.startswith("ProfilerStep") else "range of " + name
        dims = r.choice([[], [[2, 2], []], [[4, 4]]])
        events.append(dict(ph="X", cat=cat, name=name, pid=7, tid=tid, ts=start, dur=end - start,
                           args={"External id": me, "Input Dims": dims}))
        if distinct and cat == "cpu_op" and end - start > 4:
            for n in range(r.randint(0, 2)):
                events.append(dict(ph="i", s="t", name="[memory]", pid=7, tid=tid, ts=start + 1 + n, args={
                    "Device Type": n, "Device Id": n - 1, "Bytes": r.choice([4, -512, 3 << 20, 5 << 30]), "Addr": 512}))
        at = start
        while depth < 6 and name != "aten::is_leaf" and end - at > 20 and r.random() < 0.8:
            a = r.randint(at, end - 10)
            b = r.randint(a + 1, end)
            if r.random() < 0.15:  # a twin, if it stays alone
                events.append(dict(ph="X", cat=cat, name=name, pid=7, tid=tid, ts=a, dur=b - a, args={"External id": -me}))
            elif cat == "cpu_op" and r.random() < 0.5:
                corr = len(events) + 1000
                took = r.randint(1, 80)
                begun = b + r.randint(1, 300)
                events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=7, tid=tid, ts=a, dur=b - a,
                                   args={"correlation": corr, "External id": me}))
                events.append(dict(ph="X", cat="kernel", name=r.choice(["gemm", "ncclDevKernel_X", "relu"]), pid=0,
                                   tid=r.choice([7, 20]), ts=begun, dur=took,
                                   args={"correlation": corr, "External id": me, "device": 0, "stream": 7}))
                events[-1]["args"]["stream"] = events[-1]["tid"]
            else:
                call(tid, a, b, depth + 1)
            at = b
    for tid in (1, 2):
        at = 1000000
        for _ in range(40):
            end = at + r.randint(50, 3000)
            call(tid, at, end, 0)
            at = end + r.randint(0, 50)
    with open(path, "w") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": events}, f)


def run(path):
    import torch
    from torch.autograd.profiler import profile, record_function

    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    with profile(record_shapes=True) as p:
        for _ in range(5):
            with record_function("forward"):
                loss = model(torch.randn(16, 32)).square().mean()
            loss.backward()
    events = [dict(ph="X", cat="cpu_op", name=e.name, pid=1, tid=e.thread, ts=e.time_range.start,
                   dur=e.time_range.end - e.time_range.start, args={"External id": i + 1, "Input Dims": e.input_shapes})
              for i, e in enumerate(p.function_events) if not e.is_async]
    with open(path, "w") as f:
        json.dump({"schemaVersion": 1, "traceEvents": events}, f)
    for by in "name", "shape":
        rows = rows_of(p.key_averages(group_by_input_shape=by == "shape"), by)
        with open(path + "." + by, "w") as f:
            json.dump([[list(k), [1000 * x if i else x for i, x in enumerate(v)]] for k, v in rows.items()], f)


# ---- time, by what it was for ---------------------------------------------------------------------


def union(spans):
    total, end = 0, None
    for a, b in sorted(spans):
        if end is None or a > end:
            total, end = total + b - a, b
        elif b > end:
            total, end = total + b - end, b
    return total


def breakdown(aiflame, events, profile):
    spans = {"compute": [], "communication": [], "memory": []}
    for e in events:
        if e.get("cat") not in DEVICE:
            continue
        a = ns(e["ts"])
        name = of_device(e)
        spans["memory" if name == "[copies]" else "communication" if "nccl" in name else "compute"].append(
            (a, a + ns(e.get("dur", 0))))
    everything = sum(spans.values(), [])
    span = max(b for _, b in everything) - min(a for a, _ in everything)
    compute, either = union(spans["compute"]), union(spans["compute"] + spans["communication"])
    busy, communication = union(everything), union(spans["communication"])
    want = dict(span=span, compute=compute, communication_alone=either - compute, memory_alone=busy - either,
                idle=span - busy, communication=communication,
                overlap_share=round((compute + communication - either) / communication, 5) if communication else 0)
    rows = our_table(aiflame, profile, "--breakdown")
    got = {k: round(rows[0][k], 5) for k in want}
    waits = sum(rows[0][k] for k in ("host_wait", "kernel_wait", "other_wait", "unknown_wait"))
    idle = sum(r["idle"] for r in our_table(aiflame, profile, "--idle"))
    print("here", want, "aiflame", got, "waits", waits, "intervals", idle)
    return len(rows) != 1 or any(abs(want[k] - got[k]) > (1e-5 if "share" in k else 0) for k in want) or \
        waits != want["idle"] or idle != want["idle"]


def main(what, *args):
    if what == "make":
        return make(*args)
    if what == "run":
        return run(*args)
    aiflame, path, profile = args[:3]
    if what == "table":
        return printed(aiflame, load(path), profile)
    if what == "breakdown":
        return breakdown(aiflame, load(path), profile)
    if what == "ran":
        want = {tuple(k): tuple(v) for k, v in json.load(open(path + "." + args[3]))}
        return compare(want, our_rows(aiflame, profile, args[3]))
    return compare(torch_rows(load(path), args[3]), our_rows(aiflame, profile, args[3]))


sys.exit(main(*sys.argv[1:]))
