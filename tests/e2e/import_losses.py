#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes one input for each way in which an importer loses something, in the folder FOLDER, and prints a table:

    importer REASON COUNT FILE...

REASON "none" is a file of which nothing is lost."""
import sys

from import_inputs import TID, call, event, evented, kernel, nsys, perf_data, pprof, rocpd, sample, sampled, speedscope, trace

folder = sys.argv[1]
names = 0


def case(importer, reason, count, *contents):
    global names
    files = []
    for c in contents:
        names += 1
        files.append(f"{folder}/loss{names}.{importer}")
        if callable(c):
            c(files[-1])
        else:
            with open(files[-1], "wb") as f:
                f.write(c if isinstance(c, bytes) else c.encode())
    print(importer, reason, count, *files)


# ---- folded text ------------------------------------------------------------------------------------

case("folded", "IMPORT_UNTIMED", 1, "a;b 5\na;c 3\n")
case("folded", "IMPORT_LINE", 2, "a;b 5\na;c x\na;d\na;e 3\na;f 2\n")
case("folded", "IMPORT_ROUNDED", 2, "a;b 0.4\na;c 1.25\na;d 7\n")
case("folded", "IMPORT_PAIRS", 1, "a;b 5 7\na;c 3 2\n")
case("folded", "IMPORT_LINE", 1, "a;b 5\n" + "x" * (17 << 20) + " 3\n")

# ---- iaprof -----------------------------------------------------------------------------------------

text = ("string\t1\tapp\nstring\t2\tmain;run\nstring\t3\tmm.cl\nstring\t4\tmm\nstring\t5\tsend\n"
        "interval\t0\t1000.25\nkernel\t0xfffd0000\t1\t4711\t2\t3\t4\neustall\t0x228\t5\t7" + "\t0" * 9 + "\n")
case("iaprof", "IMPORT_UNTIMED", 1, text)
case("iaprof", "IMPORT_NAME", 5, text + "eustall\t0x300\t99\t5" + "\t0" * 9 + "\n")
case("iaprof", "IMPORT_LINE", 1, text + "no such line\tat all\n")

# ---- tables of VTune and Advisor --------------------------------------------------------------------

case("intel_csv", "IMPORT_UNTIMED", 1, "Function,CPU Time,Module\nf,1.5s,a\n")
case("intel_csv", "IMPORT_LINE", 1, "Function,CPU Time,Module\nf,1.5s,a\ng,soon,a\n")
case("intel_csv", "IMPORT_CALLERS", 2, "Function / Call Stack,CPU Time,Module\nf,1.5s,a\n g,1s,a\n  h,1s,a\n")

# ---- perf script ------------------------------------------------------------------------------------


case("perf_script", "none", 0, sample() + sample(time=5.1))
case("perf_script", "IMPORT_LINE", 2, sample() + "lost words\n" + sample(time=6.0).rstrip("\n") + "\n\tno frame at all\n\n")
case("perf_script", "IMPORT_OTHER_EVENT", 2, sample() + sample(event="page-faults", period="1 ") * 2)
case("perf_script", "IMPORT_IDLE", 1, sample() + sample("swapper", 0, 5.2, frames=("do_idle", )))
case("perf_script", "IMPORT_WEIGHT", 1, sample(period="") + sample(time=5.1, period=""))
case("perf_script", "IMPORT_LOST", 12, sample() + "app 7 [000] 5.500000: PERF_RECORD_LOST lost 12\n\n")
case("perf_script", "IMPORT_NO_STACK", 1, sample() + sample(time=5.1, frames=()))
case("perf_script", "IMPORT_STACK_DEEP", 1, sample() + sample(time=5.1, frames=[f"f{i}" for i in range(5000)]))
case("perf_script", "IMPORT_UNTIMED", 1, "app 7 cpu-clock: \n\t1000 main+0x1 (/bin/a)\n\n")
case("perf_script", "IMPORT_EVENT", 1, sample(event="cycles", period=f"{1 << 60} ") * 2)

# ---- perf.data --------------------------------------------------------------------------------------


case("perf_data", "IMPORT_LOST", 5, perf_data("lost"))
case("perf_data", "IMPORT_TEXT", 1, perf_data("other"))
case("perf_data", "IMPORT_TORN", 1, perf_data("torn"))
case("perf_data", "IMPORT_STACK_DEEP", 1, perf_data("deep"))
case("perf_data", "IMPORT_OTHER_EVENT", 1, perf_data())
case("perf_data", "IMPORT_FILES", 2, perf_data())
case("perf_data", "IMPORT_KERNEL", 1, perf_data("kernel"))
case("perf_data", "IMPORT_STACKS", 1, perf_data("stacks"))

# ---- perf stat --------------------------------------------------------------------------------------

stat = "\n Performance counter stats for 'a':\n\n             1,000      cycles   \n"
case("perf_stat", "none", 0, stat + "\n       0.5 seconds time elapsed\n")
case("perf_stat", "IMPORT_SCALED", 1, stat + "             2,000      instructions     (45.00%)\n\n       0.5 seconds time elapsed\n")
case("perf_stat", "IMPORT_UNCOUNTED", 2, stat + "   <not counted>      faults\n   <not supported>      misses\n\n       0.5 seconds time elapsed\n")
case("perf_stat", "IMPORT_LINE", 1, "1000,,cycles,500,100.00,,\nwhat is this\n")

# ---- speedscope -------------------------------------------------------------------------------------


case("speedscope", "none", 0, speedscope(evented(("O", 0, 0), ("C", 0, 10))))
case("speedscope", "IMPORT_UNTIMED", 1, speedscope(sampled([[0], [0, 1]], [1, 2])))
case("speedscope", "IMPORT_EVENT", 1, speedscope(evented(("O", 0, 0), ("C", 1, 5), ("C", 0, 10))))
case("speedscope", "IMPORT_UNENDED", 1, speedscope(evented(("O", 0, 0), ("O", 1, 10), ("C", 1, 20))))
case("speedscope", "IMPORT_OVERLAP", 1, speedscope(evented(("O", 0, 0), ("O", 1, 5), ("C", 0, 10), ("C", 1, 20))))
case("speedscope", "IMPORT_OTHER_UNIT", 1, speedscope(sampled([[0]], [1]), sampled([[1]], [5], "bytes")))
case("speedscope", "IMPORT_NO_STACK", 1, speedscope(sampled([[0], []], [1, 2])))
case("speedscope", "IMPORT_ROUNDED", 2, speedscope(sampled([[0], [1]], [0.5, 2.25], "none")))
case("speedscope", "IMPORT_DEPTH", 1, speedscope(sampled([[0] * 5000], [1])))
case("speedscope", "IMPORT_TORN", 1, speedscope(evented(("O", 0, 0), ("C", 0, 10)))[:-2])

# ---- pprof ------------------------------------------------------------------------------------------


case("pprof", "IMPORT_UNTIMED", 1, pprof([([1], [10])]))
case("pprof", "IMPORT_EVENT", 1, pprof([([1], [10]), ([9, 1], [5])]))
case("pprof", "IMPORT_NO_STACK", 1, pprof([([1], [10]), ([], [5])]))
case("pprof", "IMPORT_STACK_DEEP", 1, pprof([([1] * 9000, [10])]))
case("pprof", "IMPORT_OTHER_VALUE", 1, pprof([([1], [10, 20])], (("alloc_space", "bytes"), ("inuse_space", "bytes"))))
case("pprof", "IMPORT_CROWDED", 37, pprof([([1], [10])], labels=65571))
case("pprof", "IMPORT_TORN", 1, pprof([([1], [10])]) + b"\x32\x7f")

# ---- traces -----------------------------------------------------------------------------------------


good = (call(5), kernel(5))
case("kineto", "none", 0, trace(*good))
case("kineto", "IMPORT_EVENT", 1, trace(*good, kernel(6, "soon")))
case("kineto", "IMPORT_TEXT", 1, trace(*good, event("here", "cpu_op", 30, 1), *good[:0], event("z", "cpu_op", 40, 1)).replace('"here"', '"he"re"'))
case("kineto", "IMPORT_TORN", 1, trace(*good, event("z", "cpu_op", 40, 1))[:-20])
case("kineto", "IMPORT_WARNED", 1, trace(*good, {"ph": "M", "name": "trace_buffer_overflowed", "pid": 1, "tid": 1, "args": {"overflowed_at_ts": 7}}))
case("kineto", "IMPORT_UNENDED", 1, trace(*good, event("z", "cpu_op", 5, None, ph="B")))
case("kineto", "IMPORT_OVERLAP", 1, trace(*good, event("a", "cpu_op", 1, 12), event("b", "cpu_op", 9, 20)))
case("kineto", "IMPORT_DEPTH", "2,998", trace(*good, *(event("a", "cpu_op", i / 1000, 100 - i / 500) for i in range(4097))))
case("kineto", "IMPORT_CLOCK", 1, trace(call(5), kernel(5, 9)))
case("kineto", "IMPORT_EARLY", 1, trace(call(5, 5000000), kernel(5, 9)))
case("kineto", "IMPORT_NUMBER", 1, trace(call(5, 8, dur=1), *good))
case("kineto", "IMPORT_REPEATED", 1, trace(*good, kernel(5)))
case("kineto", "IMPORT_NO_CALL", 1, trace(*good, kernel(7, 40)))
case("kineto", "IMPORT_NO_WORK", 1, trace(*good, call(7, 40)))
case("kineto", "IMPORT_NO_TIME", 1, trace(*good, call(7, 35), kernel(7, 40.5, 0)))
case("kineto", "IMPORT_NO_TIME", 2, trace(call(1, 1), kernel(1, 10, 0), call(2, 3), kernel(2, 20, 0), call(3, 5), kernel(3, 30, 7)))
case("kineto", "IMPORT_LATE_WORK", 1, trace(*good, call(7, 40), kernel(7, 50, 9e9)))
case("kineto", "IMPORT_LATE_WORK", 1, trace(*good, call(7, 40), kernel(7, 50, 9e9, stream=8), call(8, 60), kernel(8, 70, 5)))
case("kineto", "none", 0, trace(*good, call(7, 40), kernel(7, 50, 9e6)))
case("kineto", "none", 0, trace(*good, call(7, 40), kernel(7, 50, 9e9), call(8, 60, "cudaDeviceSynchronize", 9e9)))
case("kineto", "IMPORT_GRAPH_UNKNOWN", 1, trace(*good, call(9, 30, "cudaGraphLaunch")))
case("kineto", "IMPORT_CUT_WORK", 1, trace(call(1, 1, dur=1), kernel(1, 10, 900000), call(2, 3, dur=1), kernel(2, 20, 5)))
case("kineto", "IMPORT_STREAM_OVERLAP", 1, trace(call(1, 1, dur=1), kernel(1, 10, 15), call(2, 3, dur=1), kernel(2, 20, 10)))
case("kineto", "none", 0, trace(call(1, 1, "cudaLaunchKernelExC", 1), kernel(1, 10, 15), call(2, 3, "cudaLaunchKernelExC", 1), kernel(2, 20, 10)))
case("kineto", "none", 0, trace(call(1, 1, "cudaGraphLaunch", 1), kernel(1, 10, 15), kernel(1, 20, 10)))
case("kineto", "IMPORT_STREAM_OVERLAP", 1, trace(call(1, 1, "cudaLaunchKernelExC", 1), kernel(1, 10, 15), call(2, 3, dur=1), kernel(2, 20, 10)))
case("kineto", "IMPORT_OWNER", 1, trace(call(1, pid=100), call(1, pid=200), kernel(1, 30, pid=4, device=4)))
case("kineto", "IMPORT_OTHER_KIND", 3, trace(*good, event("c", "", 12, None, ph="C", a=1), event("i", "x", 12, None, ph="i"), event("s", "what is this", 12, 1)))
case("kineto", "IMPORT_OTHER_KIND", 2, trace(*good).replace("{", '{"samples": [{"cpu": 0, "tid": 1, "ts": 5, "sf": 1}, {"cpu": 0, "a": {"b": [{}]}}], ', 1))
case("kineto", "IMPORT_THREAD", 1, trace(event("op", "cpu_op", 5, 20, tid=3), call(5, name="aiuLaunchControlBlocks"), kernel(5)))
ranks = lambda rank, world=2: {"distributedInfo": {"rank": rank, "world_size": world}}
dated = lambda s: {"baseTimeNanoseconds": 1_700_000_000_000_000_000 + s * 10**9}
case("kineto", "IMPORT_APART", 1, trace(*good, **dated(0)), trace(*good, **dated(50)))
case("kineto", "IMPORT_UNDATED", 1, trace(*good, **dated(0)), trace(*good))
case("kineto", "IMPORT_RANK_TWICE", 1, trace(*good, **ranks(0)), trace(*good, **ranks(0)))
case("kineto", "IMPORT_WORLD", 1, trace(*good, **ranks(0)), trace(*good, **ranks(1, 4)))
steps = lambda late: [e for i in range(20) for e in (call(i + 1, 1000 * i, dur=1), kernel(i + 1, 1000 * i + 100 + 7 * i % 40 + late, 50, "ncclDevKernel_AllReduce"))]
case("kineto", "IMPORT_RANK_CLOCK", 1, trace(*steps(0), **ranks(0)), trace(*steps(5000), **ranks(1)))
others = [e for i in range(20) for e in (call(i + 1, 4000 * i, dur=1), kernel(i + 1, 4000 * i + 100, 50, "ncclDevKernel_AllReduce"))]
case("kineto", "IMPORT_CLOCK_APART", 1, trace(*steps(0), **ranks(0)), trace(*others, **ranks(1)))

# ---- SQLite -----------------------------------------------------------------------------------------


case("tool_db", "none", 0, nsys())
case("tool_db", "IMPORT_NO_TIME", 1, nsys(((10, 10, 1), )))
case("tool_db", "IMPORT_NO_WORK", 1, nsys(calls=((1, 5, 1), (30, 35, 9))))
case("tool_db", "IMPORT_NO_CALL", 2, nsys(((10, 20, 0), (30, 40, 0)), ((1, 90, 0), )))
case("tool_db", "IMPORT_STREAM_OVERLAP", 1, nsys(((1000, 9000, 1), (5000, 12000, 2)), ((1, 5, 1), (40, 45, 2))))
case("tool_db", "IMPORT_GRAPH_UNKNOWN", 1, nsys(more="UPDATE StringIds SET value = 'cudaGraphLaunch_v10000' WHERE id = 1; UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 0;"))
case("tool_db", "IMPORT_CUT_WORK", 1, nsys(((10, 10**12, 1), (50, 60, 2)), ((1, 5, 1), (40, 45, 2))))
case("tool_db", "IMPORT_LATE_WORK", 1, nsys(((10, 20, 1), (50, 10**13, 2)), ((1, 5, 1), (40, 45, 2))))
case("tool_db", "IMPORT_OVERLAP", 1, nsys(more=f"INSERT INTO NVTX_EVENTS VALUES (1, 50, 59, 'r', {TID}, NULL, NULL), (30, 90, 59, 's', {TID}, NULL, NULL);"))
case("tool_db", "IMPORT_EVENT", 1, nsys(((0, 5, 7), (10**18, 10**18 + 20, 1), (10**18 + 40, 10**18 + 50, 2)), ((10**18 - 5, 10**18 - 1, 1), (10**18 + 30, 10**18 + 35, 2))))
case("tool_db", "IMPORT_EVENT", 1, nsys(((10, 20, 1), (None, 30, 1))))
case("tool_db", "IMPORT_EVENT", 1, nsys(more=f"INSERT INTO COMPOSITE_EVENTS VALUES (NULL, 5, {TID});"))
case("tool_db", "IMPORT_NO_STACK", 1, nsys(more=f"INSERT INTO COMPOSITE_EVENTS VALUES (1, 5, {TID});"))
case("tool_db", "IMPORT_WEIGHT", 1, nsys(more=f"INSERT INTO COMPOSITE_EVENTS VALUES (1, 5, {TID});"))
case("tool_db", "IMPORT_STACK_DEEP", 1, nsys(more="".join(f"INSERT INTO CUDA_CALLCHAINS VALUES (1, 3, 4, 0, 0, {i});" for i in range(1100))))
case("tool_db", "IMPORT_OTHER_KIND", 2, nsys(more=f"INSERT INTO NVTX_EVENTS VALUES (1, NULL, 34, 'mark', {TID}, NULL, NULL);"
                                             f"INSERT INTO NVTX_EVENTS VALUES (1, 5, 60, 'r', {TID}, {TID + 1}, NULL);"
                                             f"INSERT INTO NVTX_EVENTS VALUES (1, NULL, 75, 'domain', {TID}, NULL, NULL);"))
case("tool_db", "IMPORT_UNENDED", 1, nsys(more=f"INSERT INTO NVTX_EVENTS VALUES (1, NULL, 59, 'r', {TID}, NULL, NULL);"))
case("tool_db", "IMPORT_TABLES", 2, nsys(more="CREATE TABLE OSRT_API (start INTEGER); INSERT INTO OSRT_API VALUES (1);"
                                         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V9 (start INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V9 VALUES (1);"
                                         "CREATE TABLE SCHED_EVENTS (start INTEGER); CREATE TABLE ENUM_X (id INTEGER); INSERT INTO ENUM_X VALUES (1);"))


case("tool_db", "IMPORT_PROCESSES", 4, rocpd(4100))
