# SPDX-License-Identifier: Apache-2.0
"""Judges a profile of causes.py by its truth: check.py AIFLAME MODE PROFILE TRUTH.json

Idle time is compared by nanoseconds: what the profile blames on a class and a line counts as right up to the time that the truth has
for both. What the device waited besides the intervals of the truth (the way of a launch to it, the rest of a wait, the program's own
few lines between) is right where it is blamed on lines of the program. So is time that the thread waited for a CPU: an interval of the
truth goes on until the thread runs again, and the recorder sees it ready to. MODE is `full` (everything was recorded: --wall), or `default`
(off CPU, and the host without samples, are right classes, too: what was not recorded is not known). Prints a line of numbers; exits
with 1 if they are below what is asked, with a row for each mistake.
"""
import csv
import io
import json
import re
import statistics
import subprocess
import sys

aiflame, mode, profile, path = sys.argv[1:5]
ASKED = {"full": (0.95, 0.95), "ebpf": (0.95, 0.95), "default": (0.85, 0.85)}[mode]
UNKNOWN = 0.05
NOT_RECORDED = {"off CPU", "host"}
READY = {"on CPU", "host", "late start"}
REST = {"launch", "wait", "host", "on CPU", "late start", "off CPU", "GIL"}
FRAME = re.compile(r"^(?:.*[.>])?([^.>]+) \((?:.*/)?(\w+\.py):(\d+)\)(?:_\[\w\])*$")


def run(*args):
    return subprocess.run([aiflame, *args], check=True, capture_output=True, text=True).stdout


def rows_of(*args):
    return list(csv.DictReader(io.StringIO(run(*args))))


def origin(truth):
    """CLOCK_MONOTONIC at the profile's beginning: by CLOCK_REALTIME, which the profile and the truth have."""
    rows = rows_of("query", profile, "--format", "csv", "SELECT before_ns, after_ns, value FROM clocks WHERE clock = 2")
    at, real = min(((int(r["before_ns"]) + int(r["after_ns"])) // 2, int(r["value"])) for r in rows)
    return real - at - truth["realtime"] + truth["monotonic"]


def idle_rows(begin, end):
    """(class, frames as (function, line), ns)"""
    text = run("flame", "--of", "idle", "--lines", "--format", "folded", "--time", "%.9f,%.9f" % (begin / 1e9, end / 1e9),
               "-o", "-", profile)
    for line in text.splitlines():
        stack, ns = line.rsplit(" ", 1)
        frames = stack.split(";")
        # Behind the class may stand who the thread waited for.
        at, found = next((i, m) for i, m in enumerate(re.match(r"\[idle(?: before it)?: (.*)\]$", f) for f in frames) if m)
        frames, kind = frames[:at], found[1].replace("no CPU", "off CPU") # the truth has one for both
        found = [FRAME.match(f) for f in frames]
        own = [(m[1], int(m[3])) for m in found if m and m[2] in ("causes.py", "device.py")]
        yield kind, own, int(ns), stack


def is_machine(stack):
    """Late starts on a device made of a busy machine's CPUs are nobody's line."""
    return stack.startswith("[the machine, ") or ";[the machine, " in stack


def is_in(frames, lines):
    name = lines[0].rsplit(".", 1)[-1]
    return any(f == name and lines[1] <= at <= lines[2] for f, at in frames)


def main():
    with open(path) as f:
        truth = json.load(f)
    expect, wrong, notes = truth.get("expect", {}), [], []
    if "skip" in truth:
        print("skip: " + truth["skip"])
        return 0
    zero = origin(truth)
    labels = {}
    for i in truth["intervals"]:
        key = (i["class"], json.dumps(i["lines"]), json.dumps(i["step"]))
        labels[key] = labels.get(key, 0) + i["ns"]
    labels = [{"class": k[0], "lines": json.loads(k[1]), "step": json.loads(k[2]), "ns": ns, "got": 0} for k, ns in labels.items()]
    steps = {}
    for label in labels:
        s = steps.setdefault(json.dumps(label["step"]), {"ns": 0, "got": 0, "lines": label["lines"] + [label["step"]]})
        s["ns"] += label["ns"]
        s["lines"] += label["lines"]
    idle = unknown = rest = rest_line = ready = 0
    bad = []
    for kind, frames, ns, stack in idle_rows(truth["from"] - zero, truth["to"] - zero):
        idle += ns
        unknown += ns if kind == "unknown" else 0
        ready += ns if kind in READY and not any(l["class"] == kind for l in labels) else 0
        step = next((s for s in steps.values() if any(is_in(frames, l) for l in s["lines"])), None)
        if step:
            step["got"] += ns
        elif frames or is_machine(stack):
            rest_line += ns
        allowed = {kind} if mode != "default" else {kind} | (NOT_RECORDED if kind in NOT_RECORDED else set())
        fits = [l for l in labels if (l["class"] in allowed or (mode == "default" and kind in NOT_RECORDED)) and
                (any(is_in(frames, x) for x in l["lines"]) or (is_in(frames, l["step"]) and
                 (mode == "default" or not any(is_in(frames, x) for o in labels for x in o["lines"]))))]
        # Of labels that share a function, one of the same class if it lacks time, else the one that lacks most.
        best = max(fits, key=lambda l: (is_in(frames, l["step"]), l["class"] == kind and l["got"] < l["ns"], l["ns"] - l["got"]), default=None)
        if best:
            best["got"] += ns
        elif (frames or is_machine(stack)) and kind in REST:
            rest += ns
        else:
            bad.append((ns, stack))
    known = sum(l["ns"] for l in labels)
    spare = max(0, idle - known)
    over = sum(max(0, l["got"] - l["ns"]) for l in labels) + rest
    right = sum(min(l["ns"], l["got"]) for l in labels)
    lacking = max(0, known - right)
    right += min(spare, over) + min(lacking, truth["waited"], ready)
    line = sum(min(s["ns"], s["got"]) for s in steps.values()) + \
        min(spare, sum(max(0, s["got"] - s["ns"]) for s in steps.values()) + rest_line)
    whole = max(idle, known, 1)
    if truth["intervals"] and known:
        notes.append("class and line %.1f %%, line %.1f %%, unknown %.1f %% of %.3f s idle (truth %.3f s, %.3f s without a CPU)" %
                     (100 * right / whole, 100 * line / whole, 100 * unknown / whole, idle / 1e9, known / 1e9, truth["waited"] / 1e9))
        if right / whole < ASKED[0] or line / whole < ASKED[1] or unknown / whole > UNKNOWN:
            wrong.append("asked: class and line %d %%, line %d %%, unknown %d %% at most" % (100 * ASKED[0], 100 * ASKED[1], 100 * UNKNOWN))
            for l in labels:
                wrong.append("  %-18s %-44s truth %9.3f ms, got %9.3f ms" % (l["class"], l["lines"][0][0], l["ns"] / 1e6, l["got"] / 1e6))
            wrong += ["  %9.3f ms %s" % (ns / 1e6, stack[-150:]) for ns, stack in sorted(bad, reverse=True)[:6]]
    why = json.loads(run("why", "--format", "json", profile))
    loop = why["loop"]
    if expect.get("no_loop"):
        notes.append("loop: " + loop["found_by"])
        if loop["found_by"] not in ("none", "requests"):
            wrong.append("a loop where there is none: %s" % loop)
    elif not expect.get("no_loop") and len(truth["steps"]) > 20:
        begins = truth["steps"]
        # With what the device did after the last: of a program that queues its turns, these have the time of that.
        mean = (truth["to"] - begins[0]) / len(begins)
        spread = max(b - a for a, b in zip(begins, begins[1:])) / len(begins)
        phase = next((p for p in why["phases"] if p["phase"] == "loop"), {"from_ns": 0, "to_ns": 0})
        count, got = len(begins) - 1, loop.get("steps", 0)
        length = (phase["to_ns"] - phase["from_ns"]) / max(got, 1)
        notes.append("steps %d of %d, mean %.3f of %.3f ms, median %.3f of %.3f ms" %
                     (got, count, length / 1e6, mean / 1e6, loop.get("median_ns", 0) / 1e6,
                      statistics.median(b - a for a, b in zip(begins, begins[1:])) / 1e6))
        # Where launches were left out, only turns that were captured whole are steps: their number is none.
        # A loop that is a small part of the run, as where the machine was so busy that the start took longest, may be named none.
        is_small = loop["found_by"] == "none" and truth["to"] - truth["from"] < 0.25 * (truth["to"] - zero)
        if not loop.get("is_sparse") and not is_small and (abs(got - count) > max(1, 0.01 * count) or abs(length - mean) > 0.02 * mean + spread):
            wrong.append("steps are wrong: %s" % loop)
    for name, turns in expect.get("periods", {}).items():
        # The end of the last turn is not known, and a period that begins with the first launch has it whole.
        got = [p["turns"] for p in loop.get("periods", []) if p.get("place", "").split(" ")[0].endswith(name)]
        notes.append("%s %s of %d" % (name, got, turns))
        if not any(abs(g - turns) <= max(1, 0.01 * turns) + (name != "epochs") * expect["periods"]["epochs"] for g in got):
            wrong.append("%d %s are %s" % (turns, name, loop))
    window = json.loads(run("why", "--format", "json", "--time", "%.9f,%.9f" % ((truth["from"] - zero) / 1e9, (truth["to"] - zero) / 1e9), profile))
    groups = {g["group"]: g["share_ppm"] / 1e6 for g in window["groups"]}
    if "bound" in expect:
        notes.append("bound by %s, %s" % (window["bound_by"], window["bound_word"]))
        if window["bound_by"] != [expect["bound"]]:
            wrong.append("bound by %s instead of %s: %s" % (window["bound_by"], expect["bound"], groups))
    if "idle_at_most" in expect and window["idle_ns"] > expect["idle_at_most"] * window["time_ns"]:
        wrong.append("idle %.1f %%" % (100 * window["idle_ns"] / window["time_ns"]))
    if "within" in expect:
        inside = sum(ns for _, frames, ns, _ in idle_rows(truth["from"] - zero, truth["to"] - zero)
                     if any(is_in(frames, l) for l in expect["within"]))
        notes.append("%.1f %% of idle time in %s" % (100 * inside / max(idle, 1), expect["within"][0][0]))
        if inside < ASKED[1] * idle:
            wrong.append("too little")
    if "copies" in expect and truth["device"] == "cuda":
        text = run("report", "--copies", "--format", "csv", "--limit", "0", profile)
        notes.append("pageable" if "pageable" in text else "not said to be pageable")
        if expect["copies"] not in text:
            wrong.append("copies are not said to be " + expect["copies"])
    if "waits_for" in expect and mode == "ebpf":
        rows = rows_of("report", "--idle", "--format", "csv", "--limit", "0", "--time",
                       "%.9f,%.9f" % ((truth["from"] - zero) / 1e9, (truth["to"] - zero) / 1e9), profile)
        for_it = sum(int(r["idle"]) for r in rows if re.search(r": (produce|compute) \(", r["waits_for"]))
        notes.append("%.1f %% of %.3f s wait for %s" % (100 * for_it / max(known, 1), known / 1e9, expect["waits_for"][0]))
        if for_it < ASKED[1] * known:
            wrong.append("who is waited for: %s" % sorted({r["waits_for"] for r in rows}))
    if truth["case"] == "item":
        text = run("report", "--sync", "--format", "csv", "--limit", "0", profile)
        if "read_one" not in text:
            wrong.append("report --sync has no read_one")
    print("; ".join(notes))
    for w in wrong:
        print("  " + w)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
