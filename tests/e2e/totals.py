# SPDX-License-Identifier: Apache-2.0
"""Asks every table, export and SQL of a profile of tests/mock/cuda/app for the same totals, and the program for the truth:

    totals.py AIFLAME PROFILE OUTPUT_OF_THE_PROGRAM DIRECTORY

Prints one table, a line for each that was asked, also to DIRECTORY/table.txt. Fails where one is off by more than
its standard error lets it."""
import csv
import gzip
import io
import json
import os
import re
import sqlite3
import subprocess
import sys

aiflame, profile, output, where = sys.argv[1:5]
os.makedirs(where, exist_ok=True)
# Times in ns. `launches` are of kernels; `chain` and `other` are the time of two kernels, `copy` of copies.
COLUMNS = "busy", "idle", "chain", "other", "copy", "launches", "copies"


def run(*words):
    return subprocess.run([aiflame, *words], check=True, capture_output=True).stdout.decode()


def report(*words):
    return list(csv.DictReader(io.StringIO(run("report", *words, "--format", "csv", "--limit", "0", profile))))


def kernel_of(name):
    return "copy" if name.startswith("Mem") else "chain" if "chain" in name else "other"


def by_kernel(rows, name, time):
    got = {}
    for row in rows:
        kernel = kernel_of(row[name])
        got[kernel] = got.get(kernel, 0) + int(row[time])
    return got


def total(rows, column):
    return sum(int(row[column]) for row in rows)


# ---- what the program says ----------------------------------------------------------------------

text = open(output).read()
said = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", text)}
truth = {"chain": said["chain_ns"], "other": said["kernel_ns"] - said["chain_ns"], "copy": said["copy_ns"],
         "launches": said["launches"], "copies": said["copies"]}
truth["busy"] = said["kernel_ns"] + said["copy_ns"]
devices = int(run("query", "--format", "csv", profile, "SELECT count(*) FROM device_times").split()[1])
truth["idle"] = said["spans_ns"] - truth["busy"]
# Where launches are left out of the process as a whole, a device may have worked until the process last launched.
most_idle = devices * said["span_ns"] - truth["busy"]

# ---- what aiflame says --------------------------------------------------------------------------

table, errors = {}, {}


def tables():
    rows = report("--kernels")
    table["report --kernels"] = by_kernel(rows, "kernel", "time") | {
        "busy": total(rows, "wall"), "launches": sum(int(r["launches"]) for r in rows if not r["kernel"].startswith("Mem")),
        "copies": sum(int(r["launches"]) for r in rows if r["kernel"].startswith("Mem"))}
    for row in rows:
        kernel = kernel_of(row["kernel"])
        errors[kernel] = errors.get(kernel, 0) + int(row["error"])
    rows = report("--stacks")
    table["report --stacks"] = by_kernel(rows, "kernel", "time") | {"busy": total(rows, "wall")}
    rows = report("--copies")
    table["report --copies"] = {"copy": total(rows, "time"), "copies": total(rows, "copies")}
    rows = report("--breakdown")
    errors["busy"] = sum(int(r["error"]) ** 2 for r in rows) ** 0.5
    errors["idle"] = sum(int(r["idle_error"]) ** 2 for r in rows) ** 0.5
    table["report --breakdown"] = {"busy": total(rows, "compute") + total(rows, "communication_alone") + total(rows, "memory_alone"),
                                   "idle": total(rows, "idle"), "copy": total(rows, "memory_alone")}
    waits = "host_wait", "kernel_wait", "other_wait", "unknown_wait"
    table["  its waits"] = {"idle": sum(total(rows, w) for w in waits)}
    rows = report("--streams")
    table["report --streams"] = {"busy": total(rows, "busy"), "idle": sum(total(rows, w) for w in waits)}
    table["  its launches"] = {"launches": total(rows, "launches") - truth["copies"]}
    table["  its executions"] = {"launches": total(rows, "executions") - truth["copies"]}


def ns(value):
    number, unit = value.split()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def texts():
    """To three digits."""
    busy = re.search(r"^busy .*\(kernels (.*), copies alone (.*)\), idle ([^;±\n]*)", run("report", profile), re.M)
    kernels, copies, idle = (ns(v.strip()) for v in busy.groups())
    table["report"] = {"busy": kernels + copies, "idle": idle, "copy": copies}
    found = dict(re.findall(r"^ +\+ (busy|idle) +(.*)$", run("info", profile).split("sum of durations")[0], re.M))
    table["info"] = {what: ns(value) for what, value in found.items()}


SQL = {
    "SQL attributed": ("SELECT CASE WHEN kind <> 'kernel' THEN 'Mem' ELSE name END, sum(time_ns), sum(launches), sum(weight_ns) "
                       "FROM attributed a LEFT JOIN kernels k ON k.id = a.kernel GROUP BY 1"),
    "SQL executions, copies": ("SELECT name, sum(dur_ns * weight), sum(weight), 0 FROM executions e JOIN kernels k ON k.id = e.kernel GROUP BY 1 "
                               "UNION ALL SELECT 'Mem', sum(dur_ns * weight), sum(weight), 0 FROM copies"),
    "SQL kernel_times": "SELECT name, time_ns, launches, 0 FROM kernel_times",
}
DEVICES = "SELECT sum(busy_ns), sum(idle_ns), sum(copy_ns) FROM device_times"


def ask(sql):
    return list(csv.reader(io.StringIO(run("query", "--format", "csv", profile, sql))))[1:]


def numbers(rows):
    got = {}
    for name, time, count, wall in rows:
        what = kernel_of(name)
        got[what] = got.get(what, 0) + float(time)
        counts = "copies" if what == "copy" else "launches"
        got[counts] = got.get(counts, 0) + float(count)
        if int(wall):
            got["busy"] = got.get("busy", 0) + int(wall)
    return got


def queries():
    run("export", "--format", "sqlite", "-o", where + "/x.sqlite", profile)
    db = sqlite3.connect(where + "/x.sqlite")
    for name, sql in SQL.items():
        table[name] = numbers(ask(sql))
        table[name.replace("SQL", "sqlite")] = numbers(db.execute(sql))
    for name, row in ("SQL device_times", ask(DEVICES)[0]), ("sqlite device_times", db.execute(DEVICES).fetchone()):
        table[name] = dict(zip(("busy", "idle", "copy"), map(int, row)))
    run("export", "--format", "csv", "-o", where + "/csv", profile)
    rows = list(csv.DictReader(open(where + "/csv/device_times.csv")))
    table["csv device_times"] = {"busy": total(rows, "busy_ns"), "idle": total(rows, "idle_ns")}


def stacks(lines):
    """The device's frames end in _[g]; the first of them is the kernel's."""
    got = {}
    for line in lines:
        stack, value = line.rsplit(" ", 1)
        kernel = next((f for f in stack.split(";") if f.endswith("_[g]")), "Memcpy")
        what = kernel_of(kernel)
        got[what] = got.get(what, 0) + int(value)
    return got


def message(data):
    fields, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            value = varint()
        elif tag & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            n = varint()
            value, at = data[at:at + n], at + n
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def packed(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def exports():
    for kind in "folded", "pprof", "otlp", "speedscope":
        run("export", "--format", kind, "-o", where + "/x." + kind, profile)
    sums = stacks(open(where + "/x.folded").read().splitlines())
    table["folded"] = sums | {"busy": sum(sums.values())}
    sums = stacks(run("flame", "--by", "launches", "--format", "folded", "-o", "-", profile).splitlines())
    table["flame --by launches"] = {"launches": sums["chain"] + sums.get("other", 0), "copies": sums["copy"]}
    sums = stacks(run("flame", "--by", "time", "--format", "folded", "-o", "-", profile).splitlines())
    table["flame --by time"] = sums

    p = message(gzip.open(where + "/x.pprof").read())
    strings = [s.decode() for s in p[6]]
    types = [strings[message(t)[1][0]] for t in p[1]]
    got = {}
    for s in map(message, p[2]):
        labels = {strings[x[1][0]]: strings[x[2][0]] for x in map(message, s[3])}
        values = dict(zip(types, packed(s[2][0])))
        what = kernel_of(labels["kernel"])
        got[what] = got.get(what, 0) + values["device_duration"]
        got["busy"] = got.get("busy", 0) + values["device_time"]
        counts = "copies" if what == "copy" else "launches"
        got[counts] = got.get(counts, 0) + values["launches"]
    table["pprof"] = got

    p = message(open(where + "/x.otlp", "rb").read())
    strings = [s.decode() for s in message(p[2][0])[5]]
    got = {}
    for q in map(message, message(message(p[1][0])[2][0])[2]):
        name = strings[message(q[1][0])[1][0]]
        got[name] = sum(packed(message(s)[4][0])[0] for s in q[2])
    table["otlp"] = {"busy": got["device_time"]}
    table["  its durations"] = {"busy": got["device_duration"]}

    p = json.load(open(where + "/x.speedscope"))
    frames = [f["name"] for f in p["shared"]["frames"]]
    got = {"busy": sum(sum(q["weights"]) for q in p["profiles"])}
    for q in p["profiles"]:
        for stack, weight in zip(q["samples"], q["weights"]):
            kernel = next((frames[f] for f in stack if frames[f] in ("chain", "calls")), "Mem")
            got[kernel_of(kernel)] = got.get(kernel_of(kernel), 0) + weight
    table["speedscope"] = got

    # CPU samples there are none of. Milliseconds with six digits.
    run("export", "--format", "firefox", "-o", where + "/x.firefox", profile)
    p = json.load(open(where + "/x.firefox"))
    table["firefox, its durations"] = {"busy": round(1e6 * sum(sum(t["samples"]["weight"]) for t in p["threads"] if t["samples"].get("weight")))}


tables()
texts()
queries()
exports()

# ---- side by side -------------------------------------------------------------------------------

rough = {"report": 0.005, "info": 0.005}  # three digits
is_estimate = errors["busy"] > 0
lines, wrong = ["%-24s" % "" + "".join("%16s" % c for c in COLUMNS)], []


def line(name, values, mark=lambda c: ""):
    lines.append("%-24s" % name + "".join("%16s" % (("%.0f" % values[c] if c in values else "") + mark(c)) for c in COLUMNS))


def count_error(what):
    """Numbers are as sure as the times of what they are of."""
    of = ["copy"] if what == "copies" else ["chain", "other"]
    return truth[what] * max(errors[k] / truth[k] for k in of if truth.get(k))


def allowed(name, what):
    """Five standard errors; where all is exact, a millionth, as a device's clock is tied to the host's piece by piece, and an execution may
    be a nanosecond longer for that. Where the device was sampled when it last worked, this is known to a window of 250 ms; and the
    program's own clock is read beside its work."""
    error = errors[what] if what in errors else count_error(what)
    clock = (3e8 if is_estimate else 5e7) * devices if what == "idle" else 0
    return 5 * error + truth[what] * rough.get(name, 0.002 if is_estimate else 1e-6) + clock


def is_off(name, what, value):
    most = most_idle if what == "idle" and is_estimate else truth[what]
    return value < truth[what] - allowed(name, what) or value > most + allowed(name, what)


line("the program", truth)
for name, values in table.items():
    line(name, values, lambda c: "!" if c in values and is_off(name, c, values[c]) else "")
    for what, value in values.items():
        if is_off(name, what, value):
            wrong.append("%s: %s is %.0f, truly %d, +-%.0f" % (name, what, value, truth[what], allowed(name, what)))
line("standard error ±" if is_estimate else "all is exact", {k: v for k, v in errors.items() if v})
# Of one estimate all say the same: not more apart than it is sure of itself. Single executions times their weights are
# not scaled down to what there was time for, as all others are where a device had no time left (docs/FORMAT.md).
UNSCALED = "SQL executions, copies", "sqlite executions, copies", "firefox, its durations"
is_full = any(1000 * int(idle) < int(busy) for idle, busy in ask("SELECT idle_ns, busy_ns FROM device_times"))
for what in COLUMNS:
    values = [(v[what], name) for name, v in table.items() if what in v and name not in rough]
    error = errors[what] if what in errors else count_error(what)
    sets = [values]
    if is_full and what in ("busy", "chain", "other", "copy"):
        sets = [[v for v in values if v[1] in UNSCALED], [v for v in values if v[1] not in UNSCALED]]
        if sets[0] and sets[1] and min(sets[0])[0] < max(sets[1])[0] - error:
            wrong.append("%s: %s, which is not scaled down, says %.0f, %s %.0f" % (what, min(sets[0])[1], min(sets[0])[0], max(sets[1])[1], max(sets[1])[0]))
    for values in filter(None, sets):
        if max(values)[0] - min(values)[0] > error + 1 + 2 * devices:
            wrong.append("%s: %s says %.0f, %s %.0f, +-%.0f" % (what, max(values)[1], max(values)[0], min(values)[1], min(values)[0], error))
open(where + "/table.txt", "w").write("\n".join(lines) + "\n")
print("\n".join(lines + wrong))
sys.exit(bool(wrong))
