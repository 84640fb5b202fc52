# SPDX-License-Identifier: Apache-2.0
"""Writes a trace of torch.profiler on IBM's AIU whose sums are those of the table that the AIU guide prints
(aiu_guide.txt): aiu_guide.py FILE"""

import json
import sys

S, MS, US = 10**9, 10**6, 10**3  # ns
events = []


def event(cat, name, at, ns, tid=1, pid=100, **args):
    events.append(dict(ph="X", cat=cat, name=name, pid=pid, tid=tid, ts=at / 1000, dur=ns / 1000, args=args))
    return at + ns


def split(total, n):
    """n whole numbers that sum to total"""
    return [total * (i + 1) // n - total * i // n for i in range(n)]


at = 1000 * S
for ns in split(4 * US, 12):
    at = event("cpu_op", "TorchDynamo Cache Lookup", at, ns)

# compile_inner: clones, each with an empty_strided and some with a copy; empty_strided alone; what was compiled.
end = event("user_annotation", "compile_inner (dynamo_timed)", at, 39700 * MS)
clones, clones_self, strided, strided_self, copies = 69754 * US, 57415 * US, 36936 * US, 36838 * US, 1894 * US
in_clones = split(clones - clones_self - copies, 696)
copy = split(copies, 328) + [0] * (696 - 328)
for own, inside, copied in zip(split(clones_self, 696), in_clones, copy):
    after = event("cpu_op", "aten::clone", at, own + inside + copied)
    at = event("cpu_op", "aten::empty_strided", at, inside)
    if copied:
        event("cpu_op", "aten::copy_", at, copied)
    at = after
inner = split(strided - strided_self, 100) + [0] * (5693 - 696 - 100)
for ns, inside in zip(split(strided - sum(in_clones), 5693 - 696), inner):
    if inside:
        event("cpu_op", "aten::empty", at + 10, inside)
    at = event("cpu_op", "aten::empty_strided", at, ns)
event("user_annotation", "compile_fx (dynamo_timed)", at, 39700 * MS - 1416 * MS - clones - (strided - sum(in_clones)))

# What runs it, and the device.
at = event("cpu_op", "model", end, 3116 * MS)
call = event("privateuse1_runtime", "aiuLaunchControlBlocks", at, 500 * US, correlation=1)
at = call
for cat, name, ns, n in (("gpu_memcpy", "Memcpy (HtoD)", 102424 * MS, 66), ("gpu_memcpy", "Memcpy (DtoH)", 7169 * MS + 100 * US, 2),
                         ("kernel", "embedding", 3583 * MS, 1), ("gpu_memset", "Memset (Device)", 2843840 * US, 20),
                         ("kernel", "add_1_transfer", 236821 * US, 1)):
    for part in split(ns, n):
        at = event(cat, name, at, part, tid=7, pid=0, device=0, stream=7, correlation=1)

with open(sys.argv[1], "w") as f:
    json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "AIU"}], "traceEvents": events}, f)
