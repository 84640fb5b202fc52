#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `aiflame why` says of traces of PyTorch, beside sums of their JSON: bench/why_traces.py TRACE.json[.gz]..., with BUILD_DIR.

The sums are made here, without aiflame: from the launch of the first to the end of the last work of the devices, the time in which something computes,
nothing computes and something communicates, only copies run, nothing runs; the number of kernels and of marked steps; and, for the
first owner of idle time, how much of it ends with a launch below that owner, or passes while a thread is in it. Prints a row for each
trace; what differs has a ! before it: times by more than 0.1 % and 2 us, numbers at all, the owner's share of the idle time by more
than 5 points. Exit status: how many traces differ. The traces are not part of this project."""
import bisect
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
aiflame = os.path.join(os.environ.get("BUILD_DIR", os.path.join(root, "build")), "src/aiflame")
WORK = {"kernel": "compute", "gpu_memcpy": "copies", "gpu_memset": "copies", "memcpy": "copies", "memset": "copies"}
POINTS = 0.05


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as f:
        trace = json.load(f)
    return [e for e in (trace["traceEvents"] if isinstance(trace, dict) else trace) if e.get("ph") == "X"]


def ns(us):
    return round(float(us) * 1e3)


def cat(event):
    return event.get("cat", "").lower()


def span(event):
    """Returns its start, its end and its thread."""
    return ns(event["ts"]), ns(event["ts"]) + ns(event.get("dur", 0)), (event["pid"], str(event["tid"]))


def is_step(event):
    return event["name"].startswith("ProfilerStep") and cat(event) in ("user_annotation", "cpu_op", "operator")


class Trace:
    def __init__(self, path):
        self.events = read(path)
        self.work = []  # start, end, class, correlation; of all devices
        self.calls = {}  # by correlation
        self.kernels = 0
        devices = collections.defaultdict(list)
        for e in self.events:
            args = e.get("args", {})
            if cat(e) in WORK:
                what = "communication" if re.search(r"nccl|rccl|all_reduce_kernel|allreduce", e["name"], re.I) and cat(e) == "kernel" else WORK[cat(e)]
                devices[args.get("device", e["pid"])].append((ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", 0)), what, args.get("correlation")))
                self.kernels += cat(e) == "kernel"
            elif cat(e) in ("cuda_runtime", "cuda_driver", "runtime") and "correlation" in args:
                self.calls[args["correlation"]] = e
        self.devices = [sorted(w) for w in devices.values()]
        self.steps = len({(e["name"], e["ts"]) for e in self.events if is_step(e)})

    def times(self):
        """Returns ns by class, and the gaps: start, end, correlation of the work that ends one."""
        of, gaps, whole = collections.Counter(), [], 0
        for work in self.devices:
            edges = sorted([(s, 1, what) for s, e, what, _ in work] + [(e, -1, what) for s, e, what, _ in work], key=lambda x: x[:2])
            running, last = collections.Counter(), edges[0][0]
            for at, change, what in edges:
                top = next((c for c in ("compute", "communication", "copies") if running[c]), "idle")
                of[top] += at - last
                running[what] += change
                last = at
            call = self.calls.get(work[0][3])
            lead = max(0, edges[0][0] - ns(call["ts"])) if call else 0
            of["idle"] += lead
            whole += last - edges[0][0] + lead
            gaps.append((work[0][0] - lead, work[0][0], work[0][3]))
            end = work[0][1]
            for start, stop, _, correlation in work:
                if start > end:
                    gaps.append((end, start, correlation))
                end = max(end, stop)
        return of, gaps, whole

    def spans_of(self, place):
        """Returns the times of events that a place names: "fn (file.py:12)", an operator, "operator in range"."""
        inner, _, around = place.partition(" in ")
        found = re.fullmatch(r"(.+) \(([^:()]+):(\d+)\)", inner)
        wanted = [inner]
        if found:
            wanted = re.compile(r"(?:.*/)?%s\(%s\): %s" % (re.escape(found[2]), found[3], re.escape(found[1].split(".")[-1])))
            named = [e for e in self.events if wanted.fullmatch(e["name"])]
        else:
            named = [e for e in self.events if e["name"] == inner and cat(e) not in WORK]
        spans = [span(e) for e in named]
        ranges = [span(e) for e in self.events if around and e["name"] == around]
        return [s for s in spans if not around or any(r[0] <= s[0] <= r[1] and r[2] == s[2] for r in ranges)]

    def idle_of(self, place, gaps):
        """Returns the idle time that ends with a launch in the place; of a wait or loader, that passes while a thread is in it."""
        if place.endswith(" [backward]"):
            spans = self.backward_of(place[:-len(" [backward]")])
        else:
            spans = self.spans_of(place)
        by_thread = collections.defaultdict(list)
        for start, end, thread in spans:
            by_thread[thread].append((start, end))
        launched = inside = 0
        busiest = sorted((s, e) for s, e, _ in spans)
        starts = [s for s, _ in busiest]
        for start, end, correlation in gaps:
            call = self.calls.get(correlation)
            at = call and (ns(call["ts"]), (call["pid"], str(call["tid"])))
            is_in = at and any(s <= at[0] <= e for s, e in by_thread[at[1]])
            launched += end - start if is_in else 0
            if not is_in:
                first = max(0, bisect.bisect(starts, start) - 40)
                inside += max([0] + [min(end, e) - max(start, s) for s, e in busiest[first:bisect.bisect(starts, end)]])
        return launched, inside

    def backward_of(self, place):
        """Returns the times of events of the backward pass whose sequence number operators in that place have, and of those without a
        number that come behind them on their thread: AccumulateGrad."""
        forward = self.spans_of(place)
        numbers = {e["args"]["Sequence number"] for e in self.events if e.get("args", {}).get("Sequence number", -1) >= 0 and "Backward" not in e["name"]
                   and any(s <= ns(e["ts"]) <= t and thread == span(e)[2] for s, t, thread in forward)}
        found, of_thread = [], {}
        for e in sorted((e for e in self.events if re.search("Backward|AccumulateGrad", e["name"])), key=lambda e: ns(e["ts"])):
            number, at = e.get("args", {}).get("Sequence number", -1), span(e)
            if "Backward" in e["name"] and number >= 0:
                of_thread[at[2]] = number in numbers
            if of_thread.get(at[2]):
                found.append(at)
        return found


def check(path, data):
    trace = Trace(path)
    subprocess.run([aiflame, "import", "-q", "-o", data, path], check=True, stderr=subprocess.DEVNULL)
    ask = lambda *o: json.loads(subprocess.run([aiflame, "why", "--format", "json", *o, data], check=True, capture_output=True, text=True).stdout)
    why, loop = ask("--time", "0,1000000"), ask()["loop"]
    of, gaps, whole = trace.times()
    groups = {g["group"]: g["ns"] for g in why["groups"]}
    rows, wrong = [], False

    def compare(name, said, truly, is_right):
        nonlocal wrong
        wrong |= not is_right
        rows.append("%s %s%s (%s)" % (name, "" if is_right else "!", said, truly))

    near = lambda a, b: abs(a - b) <= max(2000, b / 1000)
    compare("time", "%.3f ms" % (why["time_ns"] / 1e6), "%.3f" % (whole / 1e6), near(why["time_ns"], whole))
    for name in ("compute", "communication", "copies"):
        compare(name, "%.3f" % (groups.get(name, 0) / 1e6), "%.3f" % (of[name] / 1e6), near(groups.get(name, 0), of[name]))
    compare("idle", "%.3f" % (why["idle_ns"] / 1e6), "%.3f" % (of["idle"] / 1e6), near(why["idle_ns"], of["idle"]))
    kernels = sum(k["runs"] for k in why["kernels"] if not k["kernel"].startswith(("Memcpy", "Memset")))
    compare("kernels", kernels, trace.kernels, kernels == trace.kernels)
    steps = loop["steps"] if loop["found_by"] == "marks" else 0
    compare("steps", steps, trace.steps, steps == trace.steps)
    if why["owners"] and why["idle_ns"] > why["time_ns"] / 100:
        owner = why["owners"][0]
        same = [o for o in why["owners"] if o["place"] == owner["place"]]
        said = sum(o["ns"] for o in same) / why["idle_ns"]
        launched, inside = trace.idle_of(owner["place"], gaps)
        low, high = launched / max(of["idle"], 1), (launched + inside) / max(of["idle"], 1)
        compare("owner " + owner["place"], "%.1f %%" % (100 * said), "%.1f to %.1f %%" % (100 * low, 100 * high),
                low - POINTS <= said <= high + POINTS)
    print("%s: %s" % (os.path.basename(path)[:48], ", ".join(rows)), flush=True)
    return wrong


def main():
    with tempfile.TemporaryDirectory() as folder:
        bad = sum(check(path, os.path.join(folder, "t.data")) for path in sys.argv[1:])
    print("%d of %d traces as their JSON says" % (len(sys.argv) - 1 - bad, len(sys.argv) - 1))
    return bad


if __name__ == "__main__":
    sys.exit(main())
