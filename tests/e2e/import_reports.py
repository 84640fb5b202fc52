#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes inputs after public bug reports of other tools (bench/results/reports.md has their addresses), in the folder FOLDER, and
prints a table:

    report FILE cpu|device|refused LOSS=COUNT,...|none

Beside each FILE, FILE.want has the stacks that are right, or what the refusal has to say. Nothing here is a file of a report: each
has the same fault, in names and numbers of its own."""
import json
import os
import sqlite3
import sys

folder = sys.argv[1]


def report(name, suffix, content, of, wanted, losses="none"):
    path = f"{folder}/{name.replace(' ', '')}{suffix}"
    if callable(content):
        content(path)
    else:
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
    with open(path + ".want", "w") as f:
        f.write("".join(f"{line}\n" for line in ([wanted] if of == "refused" else sorted(wanted))))
    print(name.replace(" ", "#"), path, of, losses)


# ---- traces -----------------------------------------------------------------------------------------


def span(name, at, duration, pid=1, tid=1, cat=None, **args):
    event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": at, "dur": duration}
    if cat:
        event["cat"] = cat
    if args:
        event["args"] = args
    return event


def call(number, at, name="cudaLaunchKernel"):
    return span(name, at, 5, cat="cuda_runtime", correlation=number)


def kernel(name, number, at, duration, stream=7):
    return span(name, at, duration, pid=0, tid=stream, cat="kernel", correlation=number, device=0, stream=stream)


def trace(*events):
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


start = 1600000000000000
report("kineto 109", ".json", trace(*[call(i, start + 10 * i) for i in range(1, 5)], kernel("conv", 1, start + 100, 40), kernel("conv", 2, 0, 0),
                                    kernel("conv", 3, 0, 0), kernel("conv", 4, start + 200, 40)),
       "device", ["cudaLaunchKernel;conv_[g] 80000"], "IMPORT_EVENT=2,IMPORT_NO_WORK=2")
report("pytorch 192021", ".json", trace(*[e for i in range(10) for e in (span(f"step {i}", 100 * i, 50, cat="user_annotation"), call(i + 1, 100 * i + 10))],
                                        *[kernel("k", i + 1, 100 * i + 30, 20) for i in range(7, 10)]),
       "device", [f"step {i};cudaLaunchKernel;k_[g] 20000" for i in range(7, 10)], "IMPORT_NO_WORK=7")
report("perfetto 4280", ".json", trace(call(1, 0), call(2, 6), kernel("first", 1, 20, 3.776), kernel("second", 2, 22, 2)),
       "device", ["cudaLaunchKernel;first_[g] 3776", "cudaLaunchKernel;second_[g] 2000"], "IMPORT_STREAM_OVERLAP=1")
report("perfetto 5012", ".json", trace(span("receive", 1.35, 100.25), span("answer", 101.5, 50)),
       "cpu", ["receive 100150", "receive;answer 100", "answer 49900"], "IMPORT_OVERLAP=1")
report("perfetto 254", ".json", trace(span("main", 0, 10), *[{"ph": ph, "name": name, "cat": "promises", "pid": 1, "tid": 1, "ts": at, "id": "1"}
                                                             for ph, name, at in (("b", "p0", 0), ("b", "p1", 1), ("e", "p0", 3), ("e", "p1", 4))]),
       "cpu", ["main 10000"], "IMPORT_OTHER_KIND=4")
report("perfetto 432", ".json", trace(*[{"ph": ph, "pid": 2, "tid": 4, "ts": at, **({"name": name} if name else {})}
                                        for ph, at, name in (("B", 0, "e1"), ("E", 100, ""), ("B", 100, "e2"), ("B", 180, "e3"), ("E", 200, ""), ("E", 250, ""))]),
       "cpu", ["e1 100000", "e2 130000", "e2;e3 20000"])
report("HolisticTraceAnalysis 149", ".json", trace(call(1, 10), kernel("gemm", 1, 20, 30), span("Stream Sync", 60, 140, 0, 7, "cuda_sync", correlation=2, device=0, stream=7),
                                                   call(2, 60, "cudaStreamSynchronize"), call(3, 210), kernel("gemm", 3, 220, 30)),
       "device", ["cudaLaunchKernel;gemm_[g] 60000"], "IMPORT_OTHER_KIND=1")
report("pytorch 130730", ".json", trace(span("nccl:sum", 0, 100, cat="user_annotation"), call(1, 10), kernel("ncclDevKernel_Sum", 1, 20, 30),
                                        span("nccl:sum", 20, 30, 0, 7, "gpu_user_annotation")),
       "device", ["nccl:sum;cudaLaunchKernel;ncclDevKernel_Sum_[g] 30000"], "IMPORT_OTHER_KIND=1")
report("speedscope 345", ".json", trace(span("outer", 0, 100), span("back", 10, -5), span("inner", 20, 30), {"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 7}),
       "cpu", ["outer 70000", "outer;inner 30000"], "IMPORT_EVENT=1,IMPORT_OTHER_KIND=1")
report("speedscope 402", ".json", trace({"ph": "i", "name": "here", "pid": 1, "tid": 1, "ts": 829, "stack": ["a", "b"]}),
       "refused", "no event with a beginning and an end in it")

base = 1715567890123456
report("Ascend 133", ".json", trace(span("outer", f"{base}.789", 12.5), span("inner", f"{base + 1}.901", 2.002), span("later", f"{base + 3}.903", 1.25)),
       "cpu", ["outer 9248", "outer;inner 2002", "outer;later 1250"])
report("pytorch 124080", ".json", trace(span("open", 10, 9223372036854775.807, cat="cpu_op"), span("back", 20, -9223372036854775, cat="cpu_op"), call(1, 30), kernel("k", 1, 40, 20)),
       "device", ["cudaLaunchKernel;k_[g] 20000"], "IMPORT_EVENT=2")
report("speedscope 470", ".json", trace(*[span(name, at, length, pid, tid) for name, at, length, pid, tid in (
    ("a", 0, 10, "host", "core 0"), ("b", 2, 3, "host", "core 0"), ("c", 2, 3, "host", "core 1"), ("d", 2, 3, "device", "core 1"))]),
       "cpu", ["a 7000", "a;b 3000", "c 3000", "d 3000"])
report("speedscope 223", ".json", trace(span("C", 5, 5), span("A", 0, 12), span("B", 2, 8)), "cpu", ["A 4000", "A;B 3000", "A;B;C 5000"])
report("speedscope 320", ".json", trace(span("DebugType", 10, 5, detail="std::x"), span("DebugType", 10, 5, detail="const std::x"), span("Source", 0, 20)),
       "cpu", ["Source 15000", "Source;DebugType (std::x);DebugType (const std::x) 5000"])
report("tracy 1184", ".json", trace({"ph": "B", "name": "task", "pid": 1, "tid": 1, "ts": 0}, {"ph": "E", "name": "task", "pid": 1, "tid": 2, "ts": 10}, span("rest", 0, 30), span("other", 0, 30, tid=2)),
       "cpu", ["other 30000", "task;rest 30000"], "IMPORT_EVENT=1,IMPORT_UNENDED=1")
report("tracy 1318", ".json", trace(call(1, 0, "cudaGraphLaunch"), *[kernel(f"k{i}", 100 + i, 10 + 10 * i, 5) for i in range(3)]),
       "device", [f"[no stack];k{i}_[g] 5000" for i in range(3)], "IMPORT_GRAPH_UNKNOWN=1,IMPORT_NO_CALL=3")
report("simpler 1052", ".json", trace(span("a", 0, 10), {"ph": "C", "name": "q", "pid": 1, "tid": 1, "ts": 1, "args": {"AIC": 1, "AIV": 2}}),
       "cpu", ["a 10000"], "IMPORT_OTHER_KIND=1")
report("tensorpack 819", ".json", trace(*[call(i + 1, 1531302016000000 + 1000 * i) for i in range(4)], *[kernel("k", i + 1, 1531302016000100 + 1000 * i, 500) for i in range(3)],
                                        kernel("far", 4, 19978045970716470, 359)),
       "device", ["cudaLaunchKernel;k_[g] 1500000"], "IMPORT_EVENT=1,IMPORT_NO_WORK=1")
report("TraceLens 669", ".json", trace(*[call(i + 1, 10 * i) for i in range(5)], kernel("fmha", 1, 100, 1600000), *[kernel("k", i, 100 + 30 * i, 20) for i in range(2, 6)], call(9, 2000000),
                                       kernel("later", 9, 2000100, 20)),
       "device", ["cudaLaunchKernel;fmha_[g] 1600000000", "cudaLaunchKernel;k_[g] 80000", "cudaLaunchKernel;later_[g] 20000"], "IMPORT_STREAM_OVERLAP=1")

# ---- perf script ------------------------------------------------------------------------------------


def sample(header, *frames):
    return header + "\n" + "".join(f"\t    {frame}\n" for frame in frames) + "\n"


report("inferno 308", ".txt", sample("app 12/12 [004] 60.086800:          1 syscalls:sys_enter_openat: dfd: 0xffffff9c, filename: 0x7ffd, flags: 0x0", "7f00 open64+0x10 (/lib/libc.so.6)", "5500 main+0x20 (/bin/app)") * 2,
       "cpu", ["main;open64 2"])
report("FlameGraph 192", ".txt", sample("fill 10 [000] 5.000000:     250000 cpu-clock: ", "557e foo<(colour)0>::bar+0x30 (/home/me/build/fill)", "5570 main+0x8 (/home/me/build/fill)") +
       sample("fill 10 [000] 5.000250:     250000 cpu-clock: ", "558e void run<(kind)1, (kind)2>(std::function<void (int)> const&)+0x30 (/home/me/my build (2)/fill)", "5570 main+0x8 (/home/me/my build (2)/fill)") +
       sample("fill 10 [000] 5.000500:     250000 cpu-clock: ", "559e [unknown] (/home/me/my build (2)/plug in.so)", "5570 main (/home/me/my build (2)/fill)"),
       "cpu", ["main;foo<(colour)0>::bar 250000", "main;void run<(kind)1, (kind)2>(std::function<void (int)> const&) 250000", "main;[plug in.so] 250000"])
report("FlameGraph 220", ".txt", sample("a 90389 967.693997:          1 cycles:u: ", "ffffffff81a00000 [unknown] ([unknown])", "7f10 _start+0x0 (/usr/lib/ld-2.30.so)") +
       sample("a 90389 967.696562:       1000 cycles:u: ", "5510 main+0x10 (/tmp/a)", "5500 _start+0x2e (/tmp/a)"),
       "cpu", ["_start;[kernel]_[k] 1", "_start;main 1000"])
report("FlameGraph 57", ".txt", sample(" CUPSManager cup 11320 86448.846888:    1000 cycles: ", "5510 loop+0x10 (/usr/bin/cups)") +
       sample("Hashed wheel timer #1   333 [001] 86448.846999:    2000 cycles: ", "b61d tick (/usr/bin/java)", "b2a6 [unknown] ([unknown])"),
       "cpu", ["CUPSManager cup;loop 1000", "Hashed wheel timer #1;[unknown];tick 2000"])
report("FlameGraph 162", ".txt", sample("[ET_NET 0] 4711 [003] 100.000000:     250000 cpu-clock: ", "5510 loop+0x10 (/usr/bin/server)") +
       sample("[ET_NET 1] 4712 [003] 100.000250:     250000 cpu-clock: ", "5510 loop+0x10 (/usr/bin/server)"),
       "cpu", ["[ET_NET 0];loop 250000", "[ET_NET 1];loop 250000"])
report("bcc 2543", ".txt", sample("java 25607 [001] 100.000000:     250000 cpu-clock: ", "7fa1 Lcom/demo/List;::get+0x4 (/tmp/perf-25607.map)", "7fa0 Lcom/demo/Main;::run+0x8 (/tmp/perf-25607.map)") * 2,
       "cpu", ["Lcom/demo/Main:::run;Lcom/demo/List:::get 500000"])
report("profiler 4918", ".txt", sample("python 1810767/1810767 91.719579:     363492 cycles:P: ", "560e PyMem_RawRealloc+0x4 (/opt/python)", "7f91 py::Process.name:/opt/my lib/ps.py+0x6 (/tmp/perf-1810767.map)", "7f90 py::<module>:/opt/top.py+0x6 (/tmp/perf-1810767.map)"),
       "cpu", ["<module> (top.py)_[p];Process.name (ps.py)_[p];PyMem_RawRealloc 363492"])

access = "     7ffe12345678         5080021 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A   45  "
report("flamescope 48", ".txt", sample("app     7 [001]     5.000000:          5 cpu/mem-loads,ldlat=30/P:" + access, "7f001000 read_it+0x1 (/bin/a)", "7f002000 main+0x1 (/bin/a)") +
       "app     7 [001]     5.100000:          7 cpu/mem-loads,ldlat=30/P:" + access + "   7f001000 feed+0x1 (/bin/a)\n\n" +
       "app     7 [001]     5.200000:          9 cpu/mem-loads,ldlat=30/P:     7ffe12345678     7f001000 bad (/bin/a)\n\n",
       "cpu", ["bad 9", "feed 7", "main;read_it 5"])
report("perf_data_converter 179", ".txt", sample("app 7 [001] 5.000000:     250000 cpu_core/cycles/P: ", "1000 f+0x1 (/bin/a)") +
       sample("app 7 [009] 5.100000:       1000 cpu_atom/cycles/P: ", "1000 f+0x1 (/bin/a)"),
       "cpu", ["f 251000"])
report("flamescope 143", ".txt", "".join(sample(f"swapper     0 [001] {5 + i}.000000:     250000 cpu-clock: ", *(f"ffffffff81000000 {name}+0x1 ([kernel.kallsyms])" for name in names))
                                         for i, names in enumerate([("dma_tasklet", "__do_softirq", "irq_exit", "do_idle")] * 3 + [("arch_cpu_idle", "do_idle")] * 5)),
       "cpu", ["do_idle_[k];irq_exit_[k];__do_softirq_[k];dma_tasklet_[k] 750000"], "IMPORT_IDLE=5")
report("FlameGraph 164", ".txt", "f  9566 [001] 190161.191157: mm_pagevec_free: page=0xffffea00269631d0 pfn=647377360 order=0 cold=0\n"
       "f  9566 [001] 190161.191159: kfree: call_site=ffffffff81092295 ptr=(nil)\n"
       "f  9566 [001] 190161.191159: mm_pagevec_free: page=0xffffea00210a3508 pfn=554317064 order=0 cold=0\n",
       "cpu", ["[no stack] 4000"], "IMPORT_NO_STACK=2,IMPORT_OTHER_EVENT=1,IMPORT_WEIGHT=1")

# ---- speedscope, pprof, nsys ------------------------------------------------------------------------

schema = "https://www.speedscope.app/file-format-schema.json"
report("speedscope 287", ".json", json.dumps({"$schema": schema, "profiles": [{"type": "evented", "unit": "seconds", "events": [
    {"type": "O", "frame": 0, "at": 1592385255}, {"type": "C", "frame": 0, "at": 1592385258}]}], "shared": {"frames": [{"name": "foo"}]}}),
       "cpu", ["foo 3000000000"])


def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(number, value):
    return varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + varint(len(value)) + value


def pprof(samples, default=None):
    texts = ["", "objects", "count", "space", "bytes", "f1", "f2"]
    out = b"".join(field(1, field(1, t) + field(2, u)) for t, u in ((1, 2), (3, 4)))
    for location, *values in samples:
        out += field(2, field(1, location) + b"".join(field(2, v % (1 << 64)) for v in values))
    for i in 1, 2:
        out += field(4, field(1, i) + field(4, field(1, i))) + field(5, field(1, i) + field(2, 4 + i))
    out += b"".join(field(6, t.encode()) for t in texts)
    return out + (b"" if default is None else field(14, default))


report("speedscope 370", ".pb", pprof([(1, 100, 1000), (2, -30, -300)]), "cpu", ["f1 1000"], "IMPORT_EVENT=1,IMPORT_OTHER_VALUE=1,IMPORT_UNTIMED=1")
report("speedscope 424", ".pb", pprof([(1, 100, 1000), (2, 30, 300)], default=1), "cpu", ["f1 100", "f2 30"], "IMPORT_OTHER_VALUE=1,IMPORT_UNTIMED=1")


def nsys(path):
    thread = 7 << 24 | 7
    if os.path.exists(path):
        os.unlink(path)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE StringIds (id INT, value TEXT)")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", ((1, "cudaLaunchKernel"), (2, "gemm")))
    db.execute("CREATE TABLE NVTX_EVENTS_V2 (start INT, end INT, globalTid INT, text TEXT, textId INT, eventType INT, endGlobalTid INT)")
    db.execute("INSERT INTO NVTX_EVENTS_V2 VALUES (0, 5000, ?, 'step', NULL, 59, NULL)", (thread, ))
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, nameId INT, correlationId INT, callchainId INT)")
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, ?, 1, 1, NULL)", (thread, ))
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT)")
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 4000, 0, 1, 7, 1, ?, 2, 2)", (thread & ~0xffffff, ))
    db.commit()
    db.close()


report("nsys-ai 291", ".sqlite", nsys, "device", ["step;cudaLaunchKernel;gemm_[g] 2000"])
