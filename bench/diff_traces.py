#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`aiflame diff` of two traces of PyTorch, checked against sums of their JSON: bench/diff_traces.py A.json[.gz] B.json[.gz], BUILD_DIR.

The sums are made here, without aiflame: time, launches and busy time of the device's work, kernels by name, operators by the
launches that began in them. Prints each value of diff, and of gate's op: budgets, beside its sum. Exit status 1: one differs by more
than a nanosecond a kernel."""
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
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        trace = json.load(f)
    return [e for e in (trace["traceEvents"] if isinstance(trace, dict) else trace) if e.get("ph") == "X"]


def union(spans):
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def sums_of(events):
    steps = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"].startswith("ProfilerStep") and e["cat"] in ("user_annotation", "cpu_op")]
    calls = {e["args"]["correlation"]: e for e in events if e["cat"] in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    work = []
    for e in events:
        if e["cat"] not in WORK:
            continue
        call = calls.get(e["args"].get("correlation"))
        at = call["ts"] if call else e["ts"]
        if not steps or any(a <= at < b for a, b in steps):
            work.append((e, call))
    kernels, launches = collections.Counter(), collections.Counter()
    for e, _ in work:
        if e["cat"] == "kernel":
            kernels[e["name"]] += e["dur"]
            launches[e["name"]] += 1
    ops = collections.defaultdict(list)  # by thread
    for e in events:
        if e["cat"] == "cpu_op":
            ops[e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["name"]))
    for rows in ops.values():
        rows.sort()
    by_op = collections.Counter()
    for e, call in work:
        rows = ops.get(call["tid"], []) if call else []
        inside = {n for s, t, n in rows[:bisect.bisect_right(rows, (call["ts"], float("inf"), ""))] if t >= call["ts"]} if call else ()
        for name in inside:
            by_op[name] += e["dur"]
    return {"steps": len(steps) or 1, "time": max(t for _, t in steps) - min(s for s, _ in steps) if steps else None, "launches": sum(launches.values()), "device": union((e["ts"], e["ts"] + e["dur"]) for e, _ in work),
            "kernels": kernels, "counts": launches, "ops": by_op}


def escaped(name):
    return re.sub(r"([][\\.*^$+?(){}|])", r"\\\1", name)


def ask(*command):
    return json.loads(subprocess.run([aiflame, *command], stdout=subprocess.PIPE).stdout)


def main(paths, work):
    sums, data = [], []
    for i, path in enumerate(paths):
        sums.append(sums_of(read(path)))
        data.append(f"{work}/{'ab'[i]}.data")
        subprocess.run([aiflame, "import", "-q", "-o", data[i], path], check=True)
    d = ask("diff", "--format", "json", "--limit", "0", *data)
    print(d["verdict"], *[f"no verdict: {line}" for line in d["no_verdict"]], sep="\n")
    steps, bad, rows = [s["steps"] for s in sums], 0, 0

    def compare(what, shown, wanted, slack):
        nonlocal bad, rows
        wrong = abs((shown or 0) - wanted) > slack
        bad += wrong
        rows += 1
        print(f"{'NOT ' if wrong else '    '}{shown or 0:14.1f} {wanted:14.1f}  {what}")

    def limited(metric, side):
        """A side's value of a metric, whether the other has one or not."""
        return ask("gate", "--format", "json", "--budget", f"{metric} <= 1s", data[1 - side], data[side])["budgets"][0].get("b")

    print(f"by {d['unit']}:  aiflame     by hand")
    per = steps if d["unit"] == "step" else [1, 1]
    metric = {m["metric"]: m for m in d["metrics"]}
    for side in (0, 1):
        key = "ab"[side]
        compare(f"{key}: kernels launched", metric["launches"][key], sums[side]["launches"] / per[side], 1e-6)
        compare(f"{key}: device time, ns", metric["device"][key], 1000 * sums[side]["device"] / per[side], sums[side]["launches"])
        if sums[side]["time"]:
            compare(f"{key}: time, ns", metric["time"][key], 1000 * sums[side]["time"] / per[side], 2)
        shown = sum(k[key] for k in d["kernels"] if k[f"{key}_kernel"] and not re.match(r"\[|Mem", k[f"{key}_kernel"]))
        compare(f"{key}: kernels, ns", shown, 1000 * sum(sums[side]["kernels"].values()) / per[side], sums[side]["launches"])
        for name, us in sums[side]["kernels"].most_common(8):
            compare(f"{key}: {name[:60]}", limited(f"kernel:/^{escaped(name)}$/", side), 1000 * us / per[side], sums[side]["counts"][name] + 1)
    for side in (0, 1):
        for name, us in sums[side]["ops"].most_common(8):
            compare(f"{'ab'[side]}: {name}", limited(f"op:/^{escaped(name)}$/", side), 1000 * us / per[side], 100)
    back = ask("diff", "--format", "json", *reversed(data))
    for m in back["metrics"]:
        compare(f"swapped: {m['metric']}", m["a"], metric[m["metric"]]["b"], 1e-3)
    print(f"{rows} values, {bad} differ")
    return bad > 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as directory:
        sys.exit(main(sys.argv[1:], directory))
