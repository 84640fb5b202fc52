#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import_compare.py AIFLAME PROFILE TRACE...: device time by kernel, by kind of copy, and in all, to the nanosecond;
operators, calls and ranges by name: as Python's json and decimal have them of the traces, and as the profile has them."""
import collections, gzip, json, re, subprocess, sys
from decimal import Decimal

KERNEL = {"kernel", "Kernel", "mtia_ccp_events"}
COPY = {"gpu_memcpy", "Memcpy"}
FILL = {"gpu_memset", "Memset"}
HOST = {"cpu_op", "Operator", "user_annotation"}
CALL = {"cuda_runtime", "Runtime", "cuda_driver", "privateuse1_runtime", "privateuse1_driver", "xpu_runtime", "xpu_driver",
        "mtia_runtime", "hpu_op"}


def ns(v):
    return int(Decimal(str(v)) * 1000)


def events(path):
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    trace = json.loads(data, parse_float=Decimal)
    open_, out = collections.defaultdict(list), []
    for e in trace if isinstance(trace, list) else trace["traceEvents"]:
        if e.get("ph") == "X":
            out.append((e, ns(e.get("dur", 0))))
        elif e.get("ph") == "B":
            open_[e.get("pid"), e.get("tid"), e["name"]].append(e)
        elif e.get("ph") == "E" and open_[e.get("pid"), e.get("tid"), e["name"]]:
            b = open_[e.get("pid"), e.get("tid"), e["name"]].pop()
            out.append((b, ns(e["ts"]) - ns(b["ts"])))
    return out


def copy_kind(name):
    if "Release" in name:
        return "release"
    if "Allocation" in name:
        return "allocate"
    if re.search("HtoD|HostToDevice|H2D|DmaI$", name):
        return "write"
    if re.search("DtoH|DeviceToHost|D2H|DmaO$", name):
        return "read"
    return "peer" if "PtoP" in name else "copy"


def of_traces(paths):
    kernels, copies, ops = (collections.defaultdict(lambda: [0, 0]) for _ in range(3))
    # An AIU's fill allocates.
    fill = "allocate" if any(e["name"].startswith("aiu") for path in paths for e, _ in events(path)) else "fill"
    for path in paths:
        for e, dur in events(path):
            cat, name, to = e.get("cat"), e["name"], None
            if cat in KERNEL or (cat is None and name.endswith(" Cmpt Exec")):
                to = kernels[name.removesuffix(" Cmpt Exec") if cat is None else name]
            elif cat in COPY or (cat is None and re.search(" Dma[IO]$", name)):
                to = copies[copy_kind(name)]
            elif cat in FILL or (cat in CALL and name.startswith("Memory (") and "device" in e.get("args", {})):
                kind = copy_kind(name)
                to = copies[kind if kind in ("release", "allocate") else fill]
            elif cat in HOST or cat in CALL:
                to = ops[name]
            if to is not None:
                to[0] += 1
                to[1] += dur
    return kernels, copies, ops


def query(aiflame, profile, sql):
    return json.loads(subprocess.run([aiflame, "query", "--format", "json", profile, sql], check=True,
                                     capture_output=True, text=True).stdout)


def rows(answer):
    return {r["name"]: [int(r["n"]), int(r["ns"])] for r in answer}


def main():
    aiflame, profile, *traces = sys.argv[1:]
    kernels, copies, ops = of_traces(traces)
    seen = rows(query(aiflame, profile,
                      "SELECT k.name AS name, count(*) AS n, sum(dur_ns) AS ns FROM executions e JOIN kernels k ON k.id = e.kernel GROUP BY 1"))
    seen_copies = rows(query(aiflame, profile, "SELECT kind AS name, count(*) AS n, sum(dur_ns) AS ns FROM copies GROUP BY 1"))
    seen_ops = rows(query(aiflame, profile, "SELECT name, count(*) AS n, sum(dur_ns) AS ns FROM ops GROUP BY 1"))
    bad = 0
    for what, wanted, got in (("kernel", kernels, seen), ("copy", copies, seen_copies), ("op", ops, seen_ops)):
        for name in sorted(set(wanted) | set(got)):
            if wanted.get(name, [0, 0]) != got.get(name, [0, 0]):
                bad += 1
                print(f"{what} {name[:80]}: {wanted.get(name)} in the trace, {got.get(name)} in the profile")
    total = sum(v[1] for v in kernels.values()) + sum(v[1] for v in copies.values())
    shown = query(aiflame, profile, "SELECT sum(time_ns) AS ns FROM attributed")[0]["ns"] or 0
    if int(shown) != total:
        bad += 1
        print(f"device time: {total} in the trace, {shown} attributed")
    print(f"{len(kernels)} kernels, {sum(v[0] for v in ops.values())} ops, {total} ns of device time")
    sys.exit(bad > 0)


main()
