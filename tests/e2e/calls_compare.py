#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Idle time as a program has written it down itself (calls_app.c) beside aiflame's, by class and function:
calls_compare.py TRUTH IDLE.csv. Prints both, and "agrees 0.987": the share of the idle time that has the same class and function in
both. The program knows for how long it had no CPU while it computed, and not when: if that is more than a hundredth of the idle time,
computing and having no CPU for it are one class."""
import bisect
import csv
import sys
from collections import defaultdict

commands, activities = [], defaultdict(list)
for line in open(sys.argv[1]):
    kind, thread, *rest = line.split()
    if kind == "E":
        commands.append((int(rest[1]), int(rest[2]), int(rest[0]), thread))
    elif kind == "A":
        activities[thread].append((int(rest[2]), int(rest[3]), rest[0], rest[1], int(rest[4])))
for all_of in activities.values():
    all_of.sort()
commands.sort()

# The part of a gap behind the launch call is the launch's; before it, what the thread that launched next was doing.
truth, end = defaultdict(int), commands[0][1]
for start, stop, launch, thread in commands[1:]:
    if start > end:
        call = max(end, min(launch, start))
        truth["launch", "launch"] += start - call
        rest = call - end
        mine = activities[thread]
        for i in range(max(0, bisect.bisect_left(mine, (end,)) - 1), len(mine)):
            begin, over, kind, label, on_cpu = mine[i]
            if begin >= call:
                break
            part = min(over, call) - max(begin, end)
            if part <= 0:
                continue
            rest -= part
            # Of computing the program knows for how long it had no CPU, and not when.
            if kind == "compute":
                lost = part - part * min(on_cpu, over - begin) // (over - begin)
                truth["no CPU", label] += lost
                part -= lost
            truth[kind, label] += part
        truth["rest", "rest"] += rest
    end = max(end, stop)

CLASSES = {"wait": "wait", "allocate": "allocate", "compile": "compile", "on CPU": "compute", "launch": "launch",
           "late start": "launch", "no CPU": "no CPU"}
FUNCTIONS = ["wait_for_queue", "wait_for_event", "compute_on_host", "allocate_buffer", "compile_program", "copy_to_device",
             "copy_to_host"]
seen = defaultdict(int)
for row in csv.DictReader(open(sys.argv[2])):
    frames = row["stack"].split(" < ")
    kind = CLASSES.get(row["cause"], "rest")
    label = "launch" if kind == "launch" else next((f for f in FUNCTIONS if f in frames), "rest")
    # What no sample has seen is of the right function at most, and of no class.
    seen[kind if label != "rest" else "rest", label] += int(row["idle"])

whole, same = sum(truth.values()), 0
no_cpu = sum(ns for (kind, label), ns in truth.items() if kind == "no CPU")
print(f"{'class':10} {'function':18} {'truth':>12} {'aiflame':>12} {'share':>7}")
for key in sorted(set(truth) | set(seen), key=lambda k: -truth[k]):
    print(f"{key[0]:10} {key[1]:18} {truth[key]:12} {seen[key]:12} {truth[key] / whole:7.1%}")
if no_cpu > 0.01 * whole:
    for of in truth, seen:
        for kind, label in [key for key in of if key[0] == "no CPU"]:
            of["compute", label] += of.pop((kind, label))
for key in set(truth) | set(seen):
    same += min(truth[key], seen[key])
print(f"idle {whole} {sum(seen.values())}")
print(f"agrees {same / whole:.4f}")
