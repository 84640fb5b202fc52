# SPDX-License-Identifier: Apache-2.0
"""Compares a recording with what memory.py has written down.  memory_compare.py AIFLAME train|raw DATA TRUTH"""
import csv
import io
import json
import subprocess
import sys

aiflame, mode, data, path = sys.argv[1:5]
with open(path) as f:
    truth = json.load(f)
bad = []


def run(*args):
    return subprocess.run([aiflame, *args], check=True, capture_output=True, text=True).stdout


def query(sql):
    return next(csv.reader(io.StringIO(run("query", "--format", "csv", data, sql).split("\n", 1)[1])))


def compare(what, ours, theirs, within):
    agrees = abs(ours - theirs) <= within * abs(theirs)
    print("%s: %d, truth %d%s" % (what, ours, theirs, "" if agrees else "   DIFFERS"))
    if not agrees:
        bad.append(what)


rows = list(csv.DictReader(io.StringIO(run("report", "--memory", "--format", "csv", "--limit", "0", data))))
print(run("report", "--memory", "--limit", "12", data))
on_device = [r for r in rows if r["device"] != "host"]
run("flame", "--of", "memory", data, "-o", data + ".memory.folded")
with open(data + ".memory.folded") as f:
    folded = [line.rsplit(" ", 1) for line in f]


def of_line(name):
    return sum(int(weight) for stack, weight in folded if name + " (memory.py)" in stack.replace("Raw.", ""))


beside = sum(int(weight) for stack, weight in folded if stack.startswith("[not by the allocator]")) if mode == "train" else 0
print("of libraries that ask CUDA themselves: %d" % beside)
compare("peak of report, without these", sum(int(r["at_peak"]) for r in on_device) - beside, truth["peak"], 0.01)
compare("width of the flame graph, without these", sum(int(weight) for _, weight in folded) - beside, truth["peak"], 0.01)
for name, size in truth["lines"].items():
    compare("held by " + name, of_line(name), size, 0)
if mode == "train":
    sums = "FROM memory WHERE allocated IS NOT NULL AND device IS NOT NULL"
    compare("peak of the allocator", int(query("SELECT max(allocated) " + sums)[0]), truth["peak"], 0)
    compare("reserved", int(query("SELECT max(reserved) " + sums)[0]), truth["reserved"], 0)
    compare("allocations", int(query("SELECT count(*) %s AND kind = 'allocate'" % sums)[0]), truth["allocations"], 0)
    released = int(query("SELECT count(*) %s AND kind = 'release'" % sums)[0])
    print("releases: %d, truth at least %d" % (released, truth["releases"]))
    if released < truth["releases"]:
        bad.append("releases")
    compare("bytes allocated", int(query("SELECT sum(bytes) %s AND kind = 'allocate'" % sums)[0]), truth["bytes"], 0)
    segments = int(query("SELECT sum(bytes) FROM memory WHERE allocated IS NULL AND device IS NOT NULL AND kind = 'allocate'")[0])
    print("handed out by the driver: %d" % segments)
    if segments < truth["reserved"]:
        bad.append("segments")
else:
    for name, size in truth["host"].items():
        compare("host memory of " + name, sum(int(r["peak"]) for r in rows if r["device"] == "host" and name in r["caller"]), size, 0)
    for name in truth["lines"]:
        left = [r for r in on_device if name in r["caller"] and r["released"] != r["allocated"]]
        if left:
            bad.append(name + " is not released")
print("DIFFERS: " + ", ".join(bad) if bad else "all agrees")
sys.exit(bool(bad))
