#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ebpf_compare.py FOLDED PERF_SCRIPT COMM: shares of OS kernel functions, ours against perf's of the same run.

Two samplings of one run differ by chance: a share p of n samples has the standard deviation sqrt(p (1 - p) / n). Samples of
one burst are alike, so five of them are allowed, and a point for what the two tools call differently. What lies in the
scheduler is left out: it is as much as other programs take the CPU away, and perf's clock, which starts with the thread's
turn, fires there. Exit status: 0, 1: they differ, 3: there are too few samples to say."""
import collections, math, re, sys

SCHEDULER = {"__schedule", "schedule", "preempt_schedule_common"}
folded, script, comm = sys.argv[1:4]
ours_leaf, ours_any, n_ours = collections.Counter(), collections.Counter(), 0
for line in open(folded):
    stack, count = line.rsplit(" ", 1)
    frames = stack.split(";")
    if "calls" not in frames:
        continue
    kernel = [f[:-4] for f in frames if f.endswith("_[k]")]
    if SCHEDULER & set(kernel):
        continue
    n_ours += int(count)
    if kernel:
        ours_leaf[kernel[-1]] += int(count)
    for f in set(kernel):
        ours_any[f] += int(count)

perf_leaf, perf_any, n_perf = collections.Counter(), collections.Counter(), 0
for block in open(script).read().split("\n\n"):
    lines = block.strip("\n").split("\n")
    if not lines[0].strip().startswith(comm):
        continue
    frames = [m.groups() for m in (re.match(r"\s+[0-9a-f]+ (\S+) \((.*)\)$", l) for l in lines[1:]) if m]
    if not any(name == "calls" for name, _ in frames):
        continue
    kernel = [name for name, dso in frames if dso.startswith("[") and "kernel" in dso or dso.endswith(".ko")]
    if SCHEDULER & set(kernel):
        continue
    n_perf += 1
    if kernel:
        perf_leaf[kernel[0]] += 1
    for f in set(kernel):
        perf_any[f] += 1

print(f"{n_ours} samples of ours, {n_perf} of perf's")
if n_ours < 500 or n_perf < 500:
    sys.exit(3)
bad = False
compared = 0
for what, ours, perf in (("itself", ours_leaf, perf_leaf), ("with callees", ours_any, perf_any)):
    for f in sorted(set(ours) | set(perf), key=lambda f: -perf[f]):
        a, b = ours[f] / max(n_ours, 1), perf[f] / max(n_perf, 1)
        if max(a, b) < 0.03:
            continue
        p = (ours[f] + perf[f]) / max(n_ours + n_perf, 1)
        allowed = 5 * math.sqrt(p * (1 - p) * (1 / max(n_ours, 1) + 1 / max(n_perf, 1))) + 0.01
        off = abs(a - b) > allowed
        bad |= off
        compared += 1
        print(f"{'OFF ' if off else ''}{f} {what}: {100 * a:.1f} %, perf {100 * b:.1f} %, allowed {100 * allowed:.1f}")
if compared < 5:
    print("too few functions to compare")
sys.exit(bad or compared < 5)
