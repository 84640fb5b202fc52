# SPDX-License-Identifier: Apache-2.0
"""Small inputs for each importer: texts, bytes, or functions that write a file."""
import json
import os
import sqlite3
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))


def sample(name="app", tid=7, time=5.0, event="cpu-clock", period="250000 ", frames=("main", )):
    return f"{name} {tid} [000] {time:.6f}: {period}{event}: \n" + "".join(f"\t1000 {f}+0x1 (/bin/a)\n" for f in frames) + "\n"


def perf_data(*options, program="/nowhere/app"):
    return lambda path: subprocess.run([sys.executable, here + "/perf_data.py", path, program, "0x1180:0x1180", *options], check=True)


def speedscope(*profiles, frames=2):
    return json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json",
                       "shared": {"frames": [{"name": f"f{i}"} for i in range(frames)]}, "profiles": profiles})


def sampled(samples, weights, unit="milliseconds"):
    return {"type": "sampled", "name": "p", "unit": unit, "startValue": 0, "endValue": sum(weights), "samples": samples, "weights": weights}


def evented(*events, unit="milliseconds"):
    return {"type": "evented", "name": "p", "unit": unit, "startValue": 0, "endValue": 100,
            "events": [{"type": t, "frame": f, "at": at} for t, f, at in events]}


def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def pprof(samples, types=(("cpu", "nanoseconds"), ), locations=2, labels=0):
    texts = [b""]

    def number(text):
        if text.encode() not in texts:
            texts.append(text.encode())
        return texts.index(text.encode())

    out = b"".join(field(1, field(1, number(t)) + field(2, number(u))) for t, u in types)
    for ids, values in samples:
        out += field(2, b"".join(field(1, i) for i in ids) + b"".join(field(2, v) for v in values))
    key = number("thread")
    for i in range(labels):
        texts.append(b"t%d" % i)
        out += field(2, field(1, 1) + field(2, 1) + field(3, field(1, key) + field(2, len(texts) - 1)))
    for i in range(1, locations + 1):
        out += field(4, field(1, i) + field(4, field(1, i)))
        out += field(5, field(1, i) + field(2, number(f"f{i}")))
    return out + b"".join(field(6, t) for t in texts)


def event(name, cat, ts, dur, tid=2, pid=1, ph="X", **args):
    e = {"ph": ph, "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "args": args}
    if dur is not None:
        e["dur"] = dur
    return e


def call(number, ts=10, name="cudaLaunchKernel", dur=5, **more):
    return event(name, "cuda_runtime", ts, dur, correlation=number, **more)


def kernel(number, ts=20, dur=2, name="k", stream=7, pid=0, device=0):
    return event(name, "kernel", ts, dur, tid=stream, pid=pid, correlation=number, device=device, stream=stream)


def trace(*events, **top):
    return json.dumps({"schemaVersion": 1, **top, "traceEvents": events})


T0 = 1_000_000
TID = 1 << 56 | 4711 << 24 | 4711


def nsys(kernels=((10, 20, 1), ), calls=((1, 5, 1), ), more=""):
    def write(path):
        db = sqlite3.connect(path)
        db.executescript("""
            CREATE TABLE StringIds (id INTEGER, value TEXT);
            INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'k'), (3, 'main'), (4, '/bin/a');
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
                correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER,
                callchainId INTEGER);
            CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER);
            CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, originalIP INTEGER,
                stackDepth INTEGER, kernelMode INTEGER);
            CREATE TABLE COMPOSITE_EVENTS (id INTEGER, start INTEGER, globalTid INTEGER);
            CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER,
                textId INTEGER);""")
        for start, end, number in kernels:
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,?,2,2)", (start, end, number, TID))
        for start, end, number in calls:
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,1,1)", (start, end, TID, number))
        db.executescript(more)
        db.commit()
        db.close()

    return write


def rocpd(parts):
    def write(path):
        db = sqlite3.connect(path)
        for i in range(parts):
            db.execute(f'CREATE TABLE "rocpd_string_{i}" (id INTEGER, string TEXT)')
        db.executescript("""CREATE TABLE rocpd_region_0 (id INTEGER, start INTEGER, end INTEGER, pid INTEGER, tid INTEGER, name_id INTEGER);
            INSERT INTO rocpd_region_0 VALUES (1, 10, 20, 1, 1, 1);""")
        db.commit()
        db.close()

    return write
