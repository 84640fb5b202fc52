# SPDX-License-Identifier: Apache-2.0
"""Launches by chain of functions: recorded against counted by storm.cpp.

    storm_compare.py AIFLAME DATA COUNTS SYMBOLS

A child that the recorder had no time for within 0.5 s is not recorded, which is counted (HANDSHAKE_FAILED): so many may be
missing, each with all of its launches. Any other has all of them.

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
want, children = collections.Counter(), collections.Counter()
with open(counts) as f:
    for line in f:
        *name, n = line.split()
        if name[0] == "child":
            children[name[1]] += int(n)
        else:
            want[name[0]] = int(n)
recorded = dict(query("SELECT pid, count(*) FROM launches l JOIN processes p ON p.id = l.process GROUP BY pid"))
unmet = [pid for pid in children if pid not in recorded]
most_unmet = int(query("SELECT coalesce(sum(count), 0) FROM losses WHERE name = 'HANDSHAKE_FAILED'")[0][0])
wrong = ["%d launches, %s recorded: child %s" % (n, recorded[pid], pid) for pid, n in children.items() if pid in recorded and n != int(recorded[pid])]
missing = 0
for name in sorted(set(want) | set(got)):
    if got[name] < want[name] and unmet and name.startswith("site_child"):
        missing += want[name] - got[name]
    elif want[name] != got[name]:
        wrong.append("%d launches, %d recorded: %s" % (want[name], got[name], name))
if missing != sum(children[pid] for pid in unmet) or len(unmet) > most_unmet:
    wrong.append("%d launches of children are missing; %d of %d children were not met, %d counted" % (missing, len(unmet), len(children), most_unmet))
for w in wrong[:5]:
    print(w)
print("%d launches of %d chains and %d children, %d wrong" % (sum(want.values()), len(want), len(children), len(wrong)))
sys.exit(1 if wrong or not want else 0)
