# SPDX-License-Identifier: Apache-2.0
"""Python frames in a profile against what the program wrote of itself (python.py).

    python_compare.py AIFLAME DATA LOG [MINIMUM]

Of each thread the launches, in the order of their times, must have the Python frames of the log: names,
files and current lines, innermost first; and native frames where a C function called back."""

import collections
import csv
import os
import subprocess
import sys

aiflame, data, log = sys.argv[1:4]
minimum = int(sys.argv[4]) if len(sys.argv) > 4 else 1


def query(sql):
    out = subprocess.run([aiflame, "query", "--format", "csv", data, sql], stdout=subprocess.PIPE, check=True).stdout
    return list(csv.reader(out.decode().splitlines()))[1:]


def wanted():
    """(process, thread) -> [(how, [(name, file, line), ...]), ...]"""
    threads = collections.defaultdict(list)
    with open(log) as f:
        for entry in f.read().split("\n\n")[:-1]:
            head, *frames = entry.split("\n")
            pid, tid, how = head.split("\t")
            threads[pid, tid].append((how, [tuple(frame.split("\t")) for frame in frames]))
    return threads


def recorded():
    """The same, and for each frame whether native frames stand between it and its Python callee; and stacks
    that are marked."""
    names = {}
    for frame, kind, name, path, line in query(
        "SELECT f.id, f.kind, n.name, n.file, n.line FROM frames f LEFT JOIN frame_names n ON n.frame = f.id AND n.inline_depth = 0"
    ):
        names[frame] = (kind, name, path, line)
    stacks = collections.defaultdict(list)
    for top, frame in query(
        """WITH RECURSIVE up(top, depth, frame, parent) AS (
            SELECT id, 0, frame, parent FROM stacks WHERE id IN (SELECT stack FROM launches)
            UNION ALL SELECT top, up.depth + 1, s.frame, s.parent FROM up JOIN stacks s ON s.id = up.parent)
        SELECT top, frame FROM up ORDER BY top, depth"""
    ):
        stacks[top].append(names[frame])
    threads = collections.defaultdict(list)
    for pid, tid, stack in query(
        """SELECT p.pid, l.tid, l.stack FROM launches l JOIN processes p ON p.id = l.process
        WHERE l.kind = 'kernel' OR l.kernel IS NOT NULL ORDER BY l.time_ns, l.launch"""
    ):
        threads[pid, tid].append(stacks[stack])
    return threads


def python_of(stack):
    frames, native = [], []
    between = False
    for kind, name, path, line in stack:
        if kind != "python":
            between = True
            continue
        frames.append((name, path, line))
        native.append(between)
        between = False
    return frames, native


# Callee and caller: C code stands between them, or not (from 3.11 on).
through_c = {("key", "callbacks"), ("Thing.__lt__", "callbacks"), ("generator", "generators"), ("cached", "decorators")}
direct = {("recursive", "recursive"), ("nested", "every"), ("nested.<locals>.inner", "nested.<locals>.inner"), ("wrapper", "decorators")}


def order_is_wrong(frames, native):
    for i in range(1, len(frames)):
        pair = (frames[i - 1][0], frames[i][0])
        if pair in through_c and not native[i]:
            return True
        if sys.version_info >= (3, 11) and pair in direct and native[i]:
            return True
    return not native or not native[0]


def main():
    want, got = wanted(), recorded()
    compared = wrong = frames_compared = 0
    for thread in sorted(set(want) | set(got)):
        a, b = want.get(thread, []), got.get(thread, [])
        if len(a) != len(b):
            print("thread %s: %d launches by its own count, %d recorded" % (thread, len(a), len(b)))
            wrong += abs(len(a) - len(b))
        for (how, expected), stack in zip(a, b):
            frames, native = python_of(stack)
            inner = []
            if how == "outer":
                cut = max(len(frames) - len(expected), 0)
                inner, frames, native = frames[:cut], frames[cut:], native[:1] + native[cut + 1 :]
            compared += 1
            frames_compared += len(expected)
            if how == "outer" and (not inner or any("pyopencl" not in f[1] and "pytools" not in f[1] and "<" not in f[1] for f in inner)):
                print("not pyopencl's own: %s" % inner)
                wrong += 1
            elif frames != expected or order_is_wrong(frames, native):
                wrong += 1
                if wrong <= 3:
                    print("thread %s, launch %d:" % (thread, compared))
                    for i in range(max(len(frames), len(expected))):
                        e = expected[i] if i < len(expected) else None
                        g = frames[i] if i < len(frames) else None
                        print("   %s %s | %s %s" % ("  " if e == g else "!=", e, g, native[i] if i < len(native) else ""))
    print("%d launches, %d frames compared, %d wrong" % (compared, frames_compared, wrong))
    return wrong != 0 or compared < minimum


sys.exit(main())
