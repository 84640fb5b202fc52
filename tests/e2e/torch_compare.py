# SPDX-License-Identifier: Apache-2.0
"""Launches inside PyTorch: what was recorded against what torch_hook.c kept, of each the native frames by
glibc's backtrace() and the Python frames by the interpreter's interface.

    torch_compare.py AIFLAME DATA LOG MINIMUM"""

import collections
import csv
import os
import subprocess
import sys

aiflame, data, log, minimum = sys.argv[1:]


def query(sql):
    out = subprocess.Popen([aiflame, "query", "--format", "csv", data, sql], stdout=subprocess.PIPE, text=True)
    rows = csv.reader(out.stdout)
    next(rows)
    yield from rows
    assert out.wait() == 0


real = {"/proc/self/exe": os.path.realpath(sys.executable)}


def path_of(name):
    if name not in real:
        real[name] = os.path.realpath(name)
    return real[name]


def kept():
    native, python, threads = {}, {}, collections.defaultdict(list)
    with open(log) as f:
        for line in f:
            if line[0] == "N":
                id, *frames = line[2:].split()
                native[id] = tuple((path_of(path), int(address, 16)) for path, address in (f.rsplit("+", 1) for f in frames))
            elif line[0] == "P":
                id, *words = line[2:].rstrip("\n").split("\t")
                python[id] = tuple(zip(words[0::3], words[1::3], words[2::3]))
            else:
                tid, n, p = line[2:].split()
                threads[tid].append((native[n], python[p]))
    return threads


def recorded():
    frames = {}
    for id, kind, path, address, name, file, line, first in query(
        """SELECT f.id, f.kind, m.path, f.address, n.name, n.file, n.line, f.line FROM frames f LEFT JOIN modules m ON m.id = f.module
        LEFT JOIN frame_names n ON n.frame = f.id AND n.inline_depth = 0"""
    ):
        # "<listcomp>:12" is aiflame's: the interpreter's name has no line.
        base, colon, number = name.rpartition(":")
        name = base if colon and base.endswith(">") and number.isdigit() else name
        frames[id] = ("P", (name, file, line)) if kind == "python" else ("N", (path_of(path), int(address)))
    stacks = collections.defaultdict(lambda: ([], []))
    for top, frame in query(
        """WITH RECURSIVE up(top, depth, frame, parent) AS (
            SELECT id, 0, frame, parent FROM stacks WHERE id IN (SELECT stack FROM launches)
            UNION ALL SELECT top, up.depth + 1, s.frame, s.parent FROM up JOIN stacks s ON s.id = up.parent)
        SELECT top, frame FROM up ORDER BY top, depth"""
    ):
        kind, frame = frames[frame]
        stacks[top][kind == "P"].append(frame)
    # The two innermost: the launch function and the hook's posix_memalign().
    stacks = {id: (tuple(n[2:]), tuple(p)) for id, (n, p) in stacks.items()}
    threads = collections.defaultdict(list)
    for tid, stack in query("SELECT tid, stack FROM launches ORDER BY time_ns, launch"):
        threads[tid].append(stacks[stack])
    return threads


want, got = kept(), recorded()
compared = wrong = native = python = 0
different = set()
for tid in sorted(set(want) | set(got)):
    if len(want[tid]) != len(got[tid]):
        print("thread %s: %d launches, %d recorded" % (tid, len(want[tid]), len(got[tid])))
        wrong += abs(len(want[tid]) - len(got[tid]))
    for expected, found in zip(want[tid], got[tid]):
        compared += 1
        native += len(expected[0])
        python += len(expected[1])
        different.add(expected)
        if expected != found:
            wrong += 1
            if wrong <= 2:
                print("launch %d of thread %s" % (compared, tid))
                for e, f in zip(expected, found):
                    for i in range(max(len(e), len(f))):
                        a, b = e[i] if i < len(e) else None, f[i] if i < len(f) else None
                        print("   %s %s | %s" % ("  " if a == b else "!=", a, b))
print("%d launches compared, %d different stacks, of %.1f native and %.1f Python frames: %d wrong" % (
    compared, len(different), native / max(compared, 1), python / max(compared, 1), wrong))
sys.exit(wrong != 0 or compared < int(minimum))
