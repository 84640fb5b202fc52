#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each importer makes of each kind of fault of a file. Without an argument: the table, as Markdown. With a folder: writes the
inputs there, and a line for each:

    IMPORTER said FILE REASON COUNT FAULT     info counts it
    IMPORTER kept FILE VIEW TEXT FAULT        nothing is lost, and what the view prints has the text
    IMPORTER refused FILE TEXT FAULT          the import fails with the text"""
import gzip
import os
import sys

from import_inputs import TID, call, evented, event, field, kernel, nsys, perf_data, pprof, rocpd, sample, sampled, speedscope, trace

FAULTS = {
    "cut": "a truncated file",
    "work": "device work that is missing",
    "long": "a duration beyond the trace",
    "overlap": "executions that overlap on one stream",
    "zero": "times or weights of zero",
    "unmatched": "a begin without end, an end without begin",
    "unit": "a unit that nobody knows",
    "ids": "equal ids in two processes",
    "64": "ids of 64 bits",
    "dropped": "records that the tool says it lost",
    "names": "names that look like numbers or marks",
    "equal": "spans that begin and end together",
    "cross": "spans of one thread that cross",
    "none": "the number 0, which means none",
    "counts": "weights that are no times",
    "encoding": "UTF-16, marks of the encoding, tabs, Windows' ends of lines",
}
IMPORTERS = "kineto", "tool_db", "perf_script", "perf_data", "perf_stat", "speedscope", "pprof", "folded", "iaprof", "intel_csv"
NO_DEVICE = "it has no device work"
NO_SPANS = "it has stacks with weights, no spans"
NO_IDS = "it has no ids"
SILENT = "the format has no place for it"
BINARY = "it is no text"
FOLDED = "flame --of cpu --format folded -o -"
KERNELS = "flame --leaf kernel --format folded -o -"
rows = {}


def said(importer, fault, reason, count, contents):
    rows[importer, fault] = ("said", reason, count, contents)


def kept(importer, fault, how, view, text, contents):
    rows[importer, fault] = ("kept", how, view, text, contents)


def refused(importer, fault, text, contents):
    rows[importer, fault] = ("refused", text, contents)


def never(why, faults, *importers):
    for importer in importers:
        for fault in faults.split():
            rows.setdefault((importer, fault), ("never", why))


def cut(contents, by=None):
    """The first half of a file, or all but its last `by` bytes."""

    def write(path):
        put(path, contents)
        size = os.path.getsize(path)
        os.truncate(path, size - by if by else size // 2)

    return write


def put(path, contents):
    if callable(contents):
        contents(path)
    else:
        with open(path, "wb") as f:
            f.write(contents if isinstance(contents, bytes) else contents.encode())


# ---- traces -----------------------------------------------------------------------------------------

good = (call(5), kernel(5))
BIG = 140234567890432
said("kineto", "cut", "IMPORT_TORN", 1, cut(trace(*good, event("z", "cpu_op", 40, 1)), 20))
said("kineto", "work", "IMPORT_NO_WORK", 1, trace(*good, call(7, 40)))
said("kineto", "long", "IMPORT_CUT_WORK", 1, trace(call(1, 1, dur=1), kernel(1, 10, 900000), call(2, 3, dur=1), kernel(2, 20, 5)))
said("kineto", "overlap", "IMPORT_STREAM_OVERLAP", 1, trace(call(1, 1, dur=1), kernel(1, 10, 15), call(2, 3, dur=1), kernel(2, 20, 10)))
said("kineto", "zero", "IMPORT_NO_TIME", 1, trace(*good, call(7, 35), kernel(7, 40.5, 0)))
said("kineto", "unmatched", "IMPORT_EVENT", 1, trace(*good, event("z", "cpu_op", 45, None, ph="E")))
never("times are microseconds, displayTimeUnit is for viewers only", "unit", "kineto")
said("kineto", "ids", "IMPORT_OWNER", 1, trace(call(1, pid=100), call(1, pid=200), kernel(1, 30, pid=4, device=4)))
kept("kineto", "64", "as they are", "report --streams", str(BIG), trace(call(BIG), kernel(BIG, stream=BIG)))
said("kineto", "dropped", "IMPORT_WARNED", 1, trace(*good, {"ph": "M", "name": "trace_buffer_overflowed", "pid": 1, "tid": 1, "args": {"overflowed_at_ts": 7}}))

kept("kineto", "names", "as they are", FOLDED, "deadbeef;f(0x2) 5000", trace(event("deadbeef", "cpu_op", 0, 20), event("f(0x2)", "cpu_op", 5, 5)))
kept("kineto", "equal", "nested as in the file", FOLDED, "outer;inner 20000", trace(event("outer", "cpu_op", 0, 20), event("inner", "cpu_op", 0, 20)))
said("kineto", "cross", "IMPORT_OVERLAP", 1, trace(*good, event("a", "cpu_op", 1, 12), event("b", "cpu_op", 9, 20)))
said("kineto", "none", "IMPORT_NO_CALL", 1, trace(call(0, 1, "cudaDeviceSynchronize", 50), kernel(0)))
never("times are microseconds", "counts", "kineto")
kept("kineto", "encoding", "as they are", KERNELS, "cudaLaunchKernel;k", trace(*good).encode("utf-16"))

# ---- SQLite -----------------------------------------------------------------------------------------

refused("tool_db", "cut", "malformed", cut(nsys()))
said("tool_db", "work", "IMPORT_NO_WORK", 1, nsys(calls=((1, 5, 1), (30, 35, 9))))
said("tool_db", "long", "IMPORT_CUT_WORK", 1, nsys(((10, 10**12, 1), (50, 60, 2)), ((1, 5, 1), (40, 45, 2))))
said("tool_db", "overlap", "IMPORT_STREAM_OVERLAP", 1, nsys(((1000, 9000, 1), (5000, 12000, 2)), ((1, 5, 1), (40, 45, 2))))
said("tool_db", "zero", "IMPORT_NO_TIME", 1, nsys(((10, 10, 1), )))
said("tool_db", "unmatched", "IMPORT_UNENDED", 1, nsys(more=f"INSERT INTO NVTX_EVENTS VALUES (1, NULL, 59, 'r', {TID}, NULL, NULL);"))
never("times are nanoseconds", "unit", "tool_db")
other = TID ^ 3 << 24
kept("tool_db", "ids", "apart, by globalPid", "report --processes", "4708", nsys(
    ((10, 20, 1), ), ((1, 5, 1), ), f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (30, 35, {other}, 1, 1, 1);"
    f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (40, 50, 0, 1, 7, 1, {other}, 2, 2);"))
kept("tool_db", "64", "as they are; CUPTI numbers streams by 32", "flame --leaf kernel -o - --format folded", "cudaLaunchKernel;k",
     nsys(more=f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = {BIG};"
          f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = {BIG};"))
said("tool_db", "dropped", "IMPORT_WARNED", 1, nsys(more="CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT);"
                                                 "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 'Profiling has started.'), (2, 2, 'Not all CUDA events might have been collected.'),"
                                                 "(3, 2, 'No NVTX events collected. Does the process use NVTX?');"))

ranges = lambda *rows: nsys(more="".join(f"INSERT INTO NVTX_EVENTS VALUES ({start}, {end}, 59, '{text}', {TID}, NULL, NULL);" for start, end, text in rows))
kept("tool_db", "names", "as they are", KERNELS, "deadbeef;f(0x2) [k];cudaLaunchKernel;k", ranges((0, 90, "deadbeef"), (1, 80, "f(0x2) [k]")))
kept("tool_db", "equal", "nested as in the file", KERNELS, "outer;inner;cudaLaunchKernel;k", ranges((0, 90, "outer"), (0, 90, "inner")))
said("tool_db", "cross", "IMPORT_OVERLAP", 1, ranges((1, 50, "r"), (30, 90, "s")))
said("tool_db", "none", "IMPORT_NO_CALL", 2, nsys(((10, 20, 0), (30, 40, 0)), ((1, 90, 0), )))
never("times are nanoseconds", "counts", "tool_db")
never(BINARY, "encoding", "tool_db", "perf_data", "pprof")

# ---- perf -------------------------------------------------------------------------------------------

said("perf_script", "cut", "IMPORT_TORN", 1, cut(sample() + sample(time=6.0, frames=("leaf", "main")), 20))
kept("perf_script", "zero", "they add nothing", "report --cpu", "main", sample() + sample(time=5.1, period="0 "))
kept("perf_script", "unit", "as the event's own unit", "info", "flux_capacitor", sample(event="flux_capacitor", period="7 "))
never("samples have thread ids, which a machine has once", "ids", "perf_script", "perf_data")
kept("perf_script", "64", "addresses and periods as they are", "report --cpu", "main", sample(period=f"{BIG} ", event="cycles"))
said("perf_script", "dropped", "IMPORT_LOST", 12, sample() + "app 7 [000] 5.500000: PERF_RECORD_LOST lost 12\n\n")

kept("perf_script", "names", "as they are", FOLDED, "main;f(int) [k]", sample("deadbeef", frames=("f(int) [k]", "main")))
said("perf_script", "none", "IMPORT_IDLE", 1, sample() + sample("swapper", 0, 5.2, frames=("do_idle", )))
kept("perf_script", "counts", "in the event's unit", "report --cpu", "total (cycles)", sample(event="cycles"))
kept("perf_script", "encoding", "as they are", "report --cpu", "main", sample().replace("\n", "\r\n").encode("utf-16"))

said("perf_data", "cut", "IMPORT_TORN", 1, perf_data("torn"))
kept("perf_data", "zero", "as they are", "report --cpu", "app", perf_data("threads"))
said("perf_data", "dropped", "IMPORT_WARNED", 2, perf_data("throttled"))

kept("perf_data", "names", "as they are", FOLDED, "[deadbeef+0x1180]", perf_data("threads", program="/nowhere/deadbeef"))
never("the number 0 is the idle task's", "none", "perf_data")
kept("perf_data", "counts", "in the event's unit", "report --cpu", "total (cycles)", perf_data("threads", "cycles"))

stat = "\n Performance counter stats for 'a':\n\n             1,000      cycles   \n"
end = "\n       0.5 seconds time elapsed\n"
said("perf_stat", "cut", "IMPORT_TORN", 1, cut(stat + "             2,000      instructions\n", 5))
kept("perf_stat", "zero", "as they are", "report --counters", "faults", stat + "                 0      faults\n" + end)
kept("perf_stat", "unit", "as its own unit", "report --counters", "parsecs", stat + "             2,000 parsecs      way\n" + end)
kept("perf_stat", "64", "counts as they are", "report --counters", "1.40235e+14", stat + f"             {BIG:,}      instructions\n" + end)
said("perf_stat", "dropped", "IMPORT_UNCOUNTED", 1, stat + "   <not counted>      faults\n" + end)

kept("perf_stat", "names", "as they are", "report --counters", "r01c4", stat + "             2,000      r01c4\n" + end)
kept("perf_stat", "counts", "as they are", "report --counters", "cycles", stat + end)
kept("perf_stat", "encoding", "as they are", "report --counters", "cycles", (stat + end).replace("\n", "\r\n").encode("utf-16"))

# ---- stacks with weights ----------------------------------------------------------------------------

said("speedscope", "cut", "IMPORT_TORN", 1, cut(speedscope(evented(("O", 0, 0), ("C", 0, 10))), 2))
kept("speedscope", "long", "as they are", "report --cpu", "900 ms", speedscope(evented(("O", 0, 0), ("C", 0, 900))))
kept("speedscope", "zero", "they add nothing", "report --cpu", "f0", speedscope(sampled([[0], [1]], [1, 0])))
said("speedscope", "unmatched", "IMPORT_UNENDED", 1, speedscope(evented(("O", 0, 0), ("O", 1, 10), ("C", 1, 20))))
kept("speedscope", "unit", "as its own unit", "info", "parsecs", speedscope(sampled([[0]], [1], "parsecs")))
said("speedscope", "64", "IMPORT_EVENT", 1, speedscope(sampled([[0], [BIG]], [1, 2])))
never("frames are numbered in each file", "ids", "speedscope")

kept("speedscope", "names", "as they are", "report --cpu", "f(0x2) [k]", speedscope(sampled([[0]], [1])).replace('"f0"', '"f(0x2) [k]"'))
kept("speedscope", "equal", "nested as in the file", FOLDED, "f0;f1 10000000", speedscope(evented(("O", 0, 0), ("O", 1, 0), ("C", 1, 10), ("C", 0, 10))))
said("speedscope", "cross", "IMPORT_OVERLAP", 1, speedscope(evented(("O", 0, 0), ("O", 1, 5), ("C", 0, 10), ("C", 1, 20))))
kept("speedscope", "none", "0 is the first frame", "report --cpu", "f0", speedscope(sampled([[0]], [1])))
kept("speedscope", "counts", "as counts", "report --cpu", "total (counts)", speedscope(sampled([[0]], [1], "none")))
kept("speedscope", "encoding", "as they are", "report --cpu", "f0", speedscope(sampled([[0]], [1])).encode("utf-16"))

said("pprof", "cut", "IMPORT_TORN", 1, cut(gzip.compress(pprof([([1], [10])])), 9))
kept("pprof", "zero", "they add nothing", "report --cpu", "f1", pprof([([1], [10]), ([2], [0])]))
kept("pprof", "unit", "as its own unit", "info", "parsecs", pprof([([1], [10])], (("way", "parsecs"), )))
kept("pprof", "64", "as they are", "report --cpu", "far", pprof([([BIG], [10])]) + field(6, b"far") + field(4, field(1, BIG) + field(4, field(1, BIG))) +
     field(5, field(1, BIG) + field(2, 6)))
far = lambda name, at: pprof([([at], [10])]) + field(6, name) + field(4, field(1, at) + field(4, field(1, at))) + field(5, field(1, at) + field(2, 6))
kept("pprof", "names", "as they are", "report --cpu", "f(0x2) [k]", far(b"f(0x2) [k]", 3))
said("pprof", "none", "IMPORT_EVENT", 1, pprof([([1], [10]), ([0], [5])]))
kept("pprof", "counts", "in their unit", "report --cpu", "total (bytes)", pprof([([1], [10])], (("space", "bytes"), )))
never("functions and locations are numbered in each file", "ids", "pprof")

said("folded", "cut", "IMPORT_LINE", 1, cut("a;b 5\na;c 3\n", 2))
kept("folded", "zero", "they add nothing", "report --cpu", "b", "a;b 5\na;c 0\n")
kept("folded", "unit", "counts have none", "report --cpu", "c", "a;b 5\na;c 3\n")
kept("folded", "64", "counts as they are", "report --cpu", "b", f"a;b {BIG}\n")

kept("folded", "names", "as they are", FOLDED, "0x7f00;deadbeef;f(2) [k] 5", "0x7f00;deadbeef;f(2) [k] 5\na;c 3\n")
kept("folded", "counts", "as counts", "report --cpu", "total (counts)", "a;b 5\na;c 3\n")
kept("folded", "encoding", "as they are", FOLDED, "a;b 5", "a;b\t5\r\na;c\t3\r\n".encode("utf-16"))

text = ("string\t1\tapp\nstring\t2\tmain;run\nstring\t3\tmm.cl\nstring\t4\tmm\nstring\t5\tsend\n"
        "interval\t0\t1000.25\nkernel\t0xfffd0000\t1\t4711\t2\t3\t4\neustall\t0x228\t5\t7" + "\t0" * 9 + "\n")
said("iaprof", "cut", "IMPORT_LINE", 1, cut(text + "eustall\t0x230\t5\t7" + "\t0" * 9 + "\n", 12))
kept("iaprof", "zero", "as they are", "report --stalls", "active", text)

kept("iaprof", "names", "as they are", "flame --leaf kernel --by samples --detail full --format folded -o -", "deadbeef;f(0x2);mm", text.replace("main;run", "deadbeef;f(0x2)"))
kept("iaprof", "none", "0 is no text", "report --stalls", "active", text.replace("\t2\t3\t4\n", "\t0\t0\t4\n"))
never("samples are samples", "counts", "iaprof")
kept("iaprof", "encoding", "as they are", "report --stalls", "active", text.encode("utf-16"))

said("intel_csv", "cut", "IMPORT_TORN", 1, cut("Function,CPU Time,Module\nf,1.5s,a\ng,1.25s,b\n", 4))
kept("intel_csv", "zero", "they add nothing", "report --cpu", "f", "Function,CPU Time,Module\nf,1.5s,a\ng,0s,a\n")
said("intel_csv", "unit", "IMPORT_LINE", 1, "Function,CPU Time,Module\nf,1.5s,a\ng,3 parsecs,a\n")

kept("intel_csv", "names", "as they are", FOLDED, "f(0x2) [k]", 'Function,CPU Time,Module\n"f(0x2) [k]",1.5s,a\n')
never("its columns are times", "counts", "intel_csv")
kept("intel_csv", "encoding", "as they are", FOLDED, "f 1500000000", "Function\tCPU Time\tModule\r\nf\t1.5s\ta\r\n".encode("utf-16"))

never(NO_DEVICE, "work long overlap", "perf_script", "perf_data", "perf_stat", "speedscope", "pprof", "folded", "intel_csv")
never(NO_SPANS, "unmatched work long overlap equal cross", "perf_script", "perf_data", "perf_stat", "pprof", "folded", "iaprof", "intel_csv")
never(NO_IDS, "ids 64 none", "folded", "perf_stat", "intel_csv", "iaprof")
never("the kernel's names of units are the file's", "unit", "perf_data")
never("samples have no unit", "unit", "iaprof")
never("ids are of 32 bits in it", "64", "perf_data")
never(SILENT, "dropped", *IMPORTERS)

TITLES = {"kineto": "Chrome trace, Kineto", "tool_db": "nsys, rocpd", "perf_script": "perf script", "perf_data": "perf.data", "perf_stat": "perf stat",
          "intel_csv": "VTune, Advisor"}


def cell(what, *more):
    return {"said": lambda: f"said: `{more[0]}`", "kept": lambda: f"kept, {more[0]}", "refused": lambda: f"refused: \"{more[0]}\"",
            "never": lambda: f"cannot be: {more[0]}"}[what]()


def table():
    print("# What imports make of faults\n\nWritten by `tests/e2e/import_table.py`, tested by `tests/e2e/import_table.sh`: of each kind of fault, what each\n"
          "importer makes of a file with it. *Said* is what `aiflame info`, the report and the page have; *kept* is read as it is\n"
          "meant, and nothing is lost; *cannot be* is what the format has no place for.")
    for fault, title in FAULTS.items():
        print(f"\n## {title[0].upper() + title[1:]}\n\n| importer | what becomes of it |\n|---|---|")
        for importer in IMPORTERS:
            print(f"| {TITLES.get(importer, importer)} | {cell(*rows[importer, fault])} |")


def inputs(folder):
    for number, ((importer, fault), (what, *more)) in enumerate(rows.items()):
        if what == "never":
            continue
        path = f"{folder}/table{number}.{importer}"
        put(path, more.pop())
        if what == "kept":
            more = more[1:]
        print(importer, what, path, *more, sep="\t", end=f"\t{FAULTS[fault]}\n")


if len(sys.argv) > 1:
    inputs(sys.argv[1])
else:
    table()
