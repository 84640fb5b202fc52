# SPDX-License-Identifier: Apache-2.0
"""Judges why by programs that print their own truth: why_table.py AIFLAME [OPTION...] -- PROGRAM...

Each PROGRAM is a command line. It is recorded with the options, run again repaired, and becomes a row: the loop, its steps, the first
owner of idle time, its share of that, and the most that repairing it brings, each beside the truth; what is wrong has a ! before it.
Exits with the number of rows with anything wrong but the bound, which a busy machine changes.
"""
import json
import os
import re
import shlex
import subprocess
import sys

aiflame, rest = sys.argv[1], sys.argv[2:]
options, programs = rest[:rest.index("--")], rest[rest.index("--") + 1:]
STEPS, SHARE, BOUND = 0.02, 0.05, 1.25


def truth_of(text):
    return dict(part.split("=") for part in text.split() if "=" in part)


def said(place):
    found = re.match(r"(?:.*\.)?([^. ]+) \((?:.*/)?[^:]*:?(\d*)\)", place)
    return found.groups() if found else (place, "")


def judge(program, keep):
    command = shlex.split(program)
    out = subprocess.run([aiflame, "record", "-q", *options, "-o", keep, *command], check=True, capture_output=True, text=True).stdout
    repaired = truth_of(subprocess.run(command + ["repaired"], check=True, capture_output=True, text=True).stdout)
    truth = truth_of(out)
    why = json.loads(subprocess.run([aiflame, "why", "--format", "json", keep], check=True, capture_output=True, text=True).stdout)
    loop, steps = why["loop"], int(truth["steps"])
    # That a busy machine kept the device waiting is true, and no answer to what the program does.
    owner = next(o for o in why["owners"] if not o["is_machine"])
    function, line = said(loop.get("place", ""))
    is_loop = (function, line) == (truth["loop"], truth["line"])
    is_steps = abs(loop.get("steps", 0) - (steps - 1)) <= max(1, STEPS * steps)
    is_owner = said(owner["place"])[0] in truth["owner"].split("|")
    share = owner["ns"] / why["idle_ns"]
    compute = sum(g["ns"] for g in why["groups"] if g["group"] == "compute")
    truly = int(truth["owner_ns"]) * loop.get("steps", 0) / steps / max(why["time_ns"] - compute, 1)
    is_share = not int(truth["owner_ns"]) or abs(share - truly) <= SHARE
    gain, most = int(truth["ns"]) / int(repaired["ns"]), owner.get("at_most_ppm", 0) / 1e6
    most = 1 / most if 0 < most < 1 else most
    is_bound = not most or gain <= most * 1.03 <= 1.03 * BOUND * gain
    mark = lambda right: "" if right else "!"
    name = os.path.basename(command[0] if len(command) < 3 else command[1]) + " " + command[-1]
    print("%-26s %s%s:%s (%s)  %s%d of %d  %s%s (%s)  %s%.1f %% (%s)  %s%s (%.2fx)" % (
        name, mark(is_loop), function, line, truth["line"], mark(is_steps), loop.get("steps", 0), steps, mark(is_owner),
        ("before " if owner["is_before"] else "") + said(owner["place"])[0], truth["owner"], mark(is_share), 100 * share,
        "%.1f %%" % (100 * truly) if int(truth["owner_ns"]) else "?", mark(is_bound), "%.2fx" % most if most else "none", gain), flush=True)
    return is_loop and is_steps and is_owner and is_share, is_bound


rows = [judge(p, "row.data") for p in programs]
print("%d of %d right but for bounds, %d bounds right" % (sum(r for r, _ in rows), len(rows), sum(b for _, b in rows)))
sys.exit(sum(not r for r, _ in rows))
