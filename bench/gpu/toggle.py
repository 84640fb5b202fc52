# SPDX-License-Identifier: Apache-2.0
"""Runs programs with toggle.c's library, several at a time, and counts which of its variants end them.

    toggle.py TOGGLE_SO [-j JOBS] [-n RUNS] [-t SECONDS] [--verbose] -p "PROGRAM" ... -v VARIANT...

Interleaves the variants. Prints for each the runs, how many of them ended by a signal or another status than 0, and the switches.
"""
import argparse
import collections
import os
import re
import signal
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("library")
parser.add_argument("-j", type=int, default=1)
parser.add_argument("-n", type=int, default=4)
parser.add_argument("-t", type=float, default=60)
parser.add_argument("--budget", type=float, default=540)
parser.add_argument("-p", action="append")
parser.add_argument("--verbose", action="store_true")
parser.add_argument("-v", dest="variants", nargs="+")
args = parser.parse_args()
queue = [(v, p) for _ in range(args.n) for p in args.p for v in args.variants]
running = []
count = collections.defaultdict(collections.Counter)
shown = collections.Counter()
begin = time.time()


def over(one):
    process, variant, program, since = one
    text = process.stderr.read().decode(errors="replace")
    process.stderr.close()
    status = process.returncode
    c = count[variant, program]
    c["runs"] += 1
    if status:
        name = signal.Signals(-status).name if status < 0 else f"exit {status}"
        c[name] += 1
        c["died"] += 1
        m = re.search(r"toggle: signal.*?(\d+) switches", text)
        c["switches"] += int(m.group(1)) if m else 0
        at = re.search(r"rip .*? (/lib\S+)", text)
        c[at.group(1) if at else "?"] += 1
        print(f"-- {variant} [{program}]: {name} after {time.time() - since:.1f} s", flush=True)
        place = at.group(1) if at else "?"
        if not shown[place] and args.verbose:
            shown[place] += 1
            print("\n".join(x[:130] for x in text.split("\n") if "frame" in x or "signal" in x)[:1500], flush=True)
        elif status > 0:
            print(text[-500:], flush=True)
    else:
        m = re.search(r"toggle: (\d+) switches", text)
        c["switches"] += int(m.group(1)) if m else 0
        if not shown[variant, program] or "toggle: disable" in text:
            shown[variant, program] += 1
            print(f"   {variant} [{program}]: {' '.join(text.split())[-300:]}", flush=True)


while queue or running:
    for one in list(running):
        if one[0].poll() is None and time.time() - one[3] > args.t:
            print(f"-- {one[1]} [{one[2]}]: hangs", flush=True)
            count[one[1], one[2]]["hangs"] += 1
            one[0].kill()
            one[0].wait()
        if one[0].poll() is not None:
            running.remove(one)
            over(one)
    if time.time() - begin > args.budget:
        queue = []
    while queue and len(running) < args.j:
        variant, program = queue.pop(0)
        env = dict(os.environ)
        if variant != "alone":
            env.update(TOGGLE=variant, CUDA_INJECTION64_PATH=os.path.abspath(args.library))
        process = subprocess.Popen(program.split(), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        running.append((process, variant, program, time.time()))
    time.sleep(0.02)
print(f"== {time.time() - begin:.0f} s")
for (variant, program), c in count.items():
    print(f"{c['died']:3} of {c['runs']:3} died, {c['switches']:6} switches  {variant} [{program.split('/')[-1]}] "
          + " ".join(f"{k} {v}" for k, v in c.items() if k not in ("died", "runs", "switches")))
