# SPDX-License-Identifier: Apache-2.0
"""Launches by chain of functions: recorded against counted by storm.cpp.

    storm_compare.py AIFLAME DATA COUNTS SYMBOLS

SYMBOLS is what nm said of the program before it was stripped: parts that the compiler put aside (site_try.cold)
have no symbol then, and are named by where they begin."""

import collections
import csv
import re
import subprocess
import sys

aiflame, data, counts, symbols = sys.argv[1:]


def query(sql):
    out = subprocess.run([aiflame, "query", "--format", "csv", data, sql], stdout=subprocess.PIPE, check=True).stdout
    return list(csv.reader(out.decode().splitlines()))[1:]


starts = {}
with open(symbols) as f:
    for line in f:
        words = line.split()
        if len(words) == 3:
            starts[int(words[0], 16)] = words[2].split(".")[0]


def known(name):
    start = re.fullmatch(r"\[storm\+0x([0-9a-f]+)\]", name)
    return starts.get(int(start[1], 16), name) if start else name


names = dict(query("SELECT frame, name FROM frame_names WHERE inline_depth = 0"))
parents = {id: (parent, known(names.get(frame, "?"))) for id, parent, frame in query("SELECT id, parent, frame FROM stacks")}


def chain(stack):
    found = []
    while stack in parents:
        stack, name = parents[stack]
        if name.startswith(("site_", "plugin_")):
            found.append(name)
    return ";".join(reversed(found))


got = collections.Counter()
for stack, n in query("SELECT stack, count(*) FROM launches GROUP BY stack"):
    got[chain(stack)] += int(n)
want = collections.Counter()
with open(counts) as f:
    for line in f:
        name, n = line.split()
        want[name] = int(n)
wrong = [(name, want[name], got[name]) for name in sorted(set(want) | set(got)) if want[name] != got[name]]
for name, w, g in wrong[:5]:
    print("%d launches, %d recorded: %s" % (w, g, name))
print("%d launches of %d chains, %d chains wrong" % (sum(want.values()), len(want), len(wrong)))
sys.exit(1 if wrong or not want else 0)
