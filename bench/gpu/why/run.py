#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `why` says of programs that print their own truth, beside it: run.py [PROGRAM...], on an NVIDIA GPU with PyTorch and JAX.

AIFLAME is the command (build/src/aiflame), PYTHON the interpreter of the programs, SECONDS_EACH how long their loops run (5), JOBS
how many run at a time (3), KEEP a folder for the recordings. Programs are files beside this one. Each is recorded by default
options; printed are its truth, the first six lines of `why`, the first owner of idle time and the first advice, and what a
comparison says: line of the loop, steps within 2 %, first owner, its share of the loop's time within 5 points. Exit status:
how many programs are not right in all of these. Some two minutes."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
aiflame = os.environ.get("AIFLAME", os.path.join(here, "../../../build/src/aiflame"))
python = os.environ.get("PYTHON", sys.executable)
seconds = os.environ.get("SECONDS_EACH", "5")
LIMIT_S, STEPS, POINTS = 100, 0.02, 0.05
WIDTH = 200


def said(place):
    """Returns function and line of "Class.function (file.py:12)"."""
    found = re.match(r"(?:.*\.)?([^. ]+) \((?:.*/)?[^:]*:?(\d*)\)", place)
    return found.groups() if found else (place, "")


def judge(truth, why):
    loop = why["loop"]
    turns, steps = int(truth["steps"]), loop.get("steps", 0)
    # A program times functions: lines of one are one owner.
    functions = {}
    for o in why["owners"]:
        if not o["is_machine"] and not o["is_before"]:
            f = functions.setdefault(said(o["place"])[0], {"place": o["place"], "ns": 0, "groups": {}})
            f["ns"] += o["ns"]
            for group, ns in o["groups_ns"].items():
                f["groups"][group] = f["groups"].get(group, 0) + ns
    owner = max(functions.values(), key=lambda f: f["ns"], default={"place": "nobody", "ns": 0, "groups": {}})
    # A program that times one thing that its loop's own function does knows nothing of what else that one does.
    ns = max(owner["groups"].values(), default=0) if said(owner["place"])[0] == truth["loop"] else owner["ns"]
    share = ns / max(why["time_ns"], 1)
    # Where launches were left out, steps are those that were captured whole.
    yield "loop", said(loop.get("place", "none"))[1] == truth["line"], "line %s of %s" % (said(loop.get("place", "none"))[1], truth["line"])
    yield "steps", loop.get("is_sparse") or abs(steps - turns) <= max(2, STEPS * turns), "%d%s of %d" % (
        steps, " seen whole" if loop.get("is_sparse") else "", turns)
    yield "owner", said(owner["place"])[0] == truth["owner"], "%s, truly %s" % (owner["place"], truth["owner"])
    yield "share", abs(share - float(truth["share"].rstrip("%")) / 100) <= POINTS, "%.1f %%, truly %s" % (100 * share, truth["share"])


def run(program, folder):
    """Returns whether all is right, and what to print."""
    data, out = os.path.join(folder, program + ".data"), ["==== %s" % program]
    env = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
    try:
        done = subprocess.run([aiflame, "record", "-q", "-o", data, python, os.path.join(here, program + ".py"), seconds],
                              capture_output=True, text=True, timeout=LIMIT_S, env=env)
    except subprocess.TimeoutExpired:
        return False, "\n".join(out + ["did not end in %d s" % LIMIT_S])
    truths = [line for line in done.stdout.splitlines() if line.startswith("truth ")]
    if not truths:
        return False, "\n".join(out + ["no truth: exit status %d" % done.returncode] + (done.stdout + done.stderr).splitlines()[-6:])
    truth = dict(word.split("=", 1) for word in truths[0].split()[1:])
    text = subprocess.run([aiflame, "why", data], capture_output=True, text=True)
    answer = subprocess.run([aiflame, "why", "--format", "json", data], capture_output=True, text=True)
    if answer.returncode or not answer.stdout.startswith("{"):
        return False, "\n".join(out + truths + ["why: " + (text.stdout + text.stderr)[-500:]])
    lines = text.stdout.splitlines()
    more = [lines[i] for begin in ("idle ", "try ") for i, line in enumerate(lines) if line.startswith(begin) and i >= 6]
    more += [lines[i + 1] for i, line in enumerate(lines[:-1]) if line.startswith("idle ")]
    marks = [(what, right, detail) for what, right, detail in judge(truth, json.loads(answer.stdout))]
    out += ["  " + truths[0]] + ["  why    " + line[:WIDTH] for line in lines[:6] + more]
    out += ["  %-6s %s  %s" % (what, "right" if right else "WRONG", detail) for what, right, detail in marks]
    return all(right for _, right, _ in marks), "\n".join(out)


def main():
    names = sys.argv[1:] or ["augments", "serves", "loads", "recompiles", "saves", "accumulates"]
    with tempfile.TemporaryDirectory() as made:
        folder = os.environ.get("KEEP") or made
        os.makedirs(folder, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "3"))) as pool:
            results = []
            for result in [pool.submit(run, name, folder) for name in names]:
                results.append(result.result())
                print(results[-1][1] + "\n", flush=True)
    print("%d of %d right" % (sum(right for right, _ in results), len(results)))
    return sum(not right for right, _ in results)


if __name__ == "__main__":
    sys.exit(main())
