#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a thread stands still when the agent is put into a program: stops.py [TIMES [NAME...]].

Each program of the matrix (run.py) that is named is started TIMES times (20), and attached to once. Prints, in Markdown, the least,
the median, the tenth longest of a hundred and the longest of the times that `record` says, how many are above 1, 5 and 20 ms, and the
load. BUILD_DIR: the build."""
import os
import sys
import tempfile

from programs import PROGRAMS, Skip
from run import PREPARED, Run, attach, build, here

NAMES = ["malloc", "sleeps", "jumps", "threads", "Python of 50 threads"]


def stops_of(program, work, times):
    stops, said = [], []
    for k in range(times):
        run = Run(program, os.path.join(work, "%s-%d" % (program.name, k)))
        targets = run.targets()
        if targets:
            refused, stop, _ = attach(targets[0], work)
            if stop is not None:
                stops.append(stop)
            elif refused:
                said.append(refused)
        run.finish()
    return sorted(stops), said


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for name in PREPARED:
        os.environ.pop(name, None)
    print("| program | attached | least | median | 90 % | longest | > 1 ms | > 5 ms | > 20 ms | load |\n|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(work, "run")
        os.environ["XDG_STATE_HOME"] = os.path.join(work, "state")
        os.mkdir(os.environ["XDG_RUNTIME_DIR"], 0o700)
        for program in PROGRAMS:
            if program.name not in (sys.argv[2:] or NAMES):
                continue
            try:
                program.prepare(work, here, build)
            except Skip as e:
                print("skipped: %s: %s" % (program.name, e))
                continue
            stops, said = stops_of(program, work, times)
            if stops:
                print("| %s | %d of %d | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %d | %d | %d | %.1f |" % (
                    program.name, len(stops), times, stops[0], stops[len(stops) // 2], stops[len(stops) * 9 // 10], stops[-1],
                    sum(s > 1 for s in stops), sum(s > 5 for s in stops), sum(s > 20 for s in stops), os.getloadavg()[0]), flush=True)
            for text in said:
                print("%s: %s" % (program.name, text), flush=True)


if __name__ == "__main__":
    main()
