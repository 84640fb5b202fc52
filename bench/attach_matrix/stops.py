#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a thread stands still when the agent is put into a program: stops.py [TIMES [NAME...]].

Each program of the matrix (run.py) that is named is started TIMES times (20), and attached to once, so that each attach puts the agent
into it. Prints, in Markdown, the median, the tenth longest of a hundred and the longest of the times that `record` says, what of the
longest the thread waited for a processor, how many are above 20 ms with such waits and without, the controls (gaps.c: in two
seconds before, the longest time that a thread of the program was ready to run and off its processor, and how late at most a thread
that sleeps went on), and the load. BUILD_DIR: the build."""
import os
import sys
import tempfile

from programs import PROGRAMS, Skip
from run import PREPARED, Run, attach, build, gap, here

NAMES = ["malloc", "sleeps", "jumps", "threads", "Python of 50 threads"]


def stops_of(program, work, times):
    stops, said, control = [], [], (0, 0)
    for k in range(times):
        run = Run(program, os.path.join(work, "%s-%d" % (program.name, k)))
        targets = run.targets()
        if targets:
            if k % 5 == 0:
                control = tuple(map(max, control, gap(targets[0], work) or (0, 0)))
            refused, stop, _ = attach(targets[0], work)
            if stop is not None:
                stops.append(stop)
            elif refused:
                said.append(refused)
        run.finish()
    return sorted(stops), said, control


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for name in PREPARED:
        os.environ.pop(name, None)
    print("| program | attached | median | 90 % | longest | of which it waited | > 20 ms | > 20 ms without waits | control | load |\n"
          "|---|---|---|---|---|---|---|---|---|---|")
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
            stops, said, control = stops_of(program, work, times)
            if stops:
                print("| %s | %d of %d | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %d | %d | %.1f, %.1f ms | %.1f |" % (
                    program.name, len(stops), times, stops[len(stops) // 2][0], stops[len(stops) * 9 // 10][0], *stops[-1],
                    sum(s > 20 for s, w in stops), sum(s - w > 20 for s, w in stops), *control, os.getloadavg()[0]), flush=True)
            for text in said:
                print("%s: %s" % (program.name, text), flush=True)


if __name__ == "__main__":
    main()
