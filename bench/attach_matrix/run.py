#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches to and detaches from running programs that nobody prepared, again and again: run.py [ATTACHES [NAME...]].

Each program runs bare first, then while `aiflame record -p` comes and goes ATTACHES times (20). Its output, its errors and
its exit status must be those of the bare run. Prints a table in Markdown, beneath it what went wrong and what was skipped;
ends with the number of programs that differ. BUILD_DIR: the build. As root, some programs more. STALLS=1: meanwhile one process or
thread after the other of the program and of the recorder is stalled for a while (stalls.py).

Beside the longest stop of a thread stands how much of it that thread waited for a processor, and as controls of
two seconds before the first attach (gaps.c): the longest time that a thread of the same program was ready to run and off its
processor, and how late at most a thread that sleeps went on."""
import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from programs import CC, PROGRAMS, Skip, below, compile_once
from stalls import Stalls, is_possible

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
build = os.environ.get("BUILD_DIR", os.path.join(root, "build"))
aiflame = os.path.join(build, "src/aiflame")
RECORD_S, LIMIT_S, CONTROL_MS = "0.2", 90, "2000"
stalls = bool(os.environ.get("STALLS"))
stalled = 0
PREPARED = ("AIFLAME_STANDBY", "AIFLAME_LEVEL", "LD_PRELOAD", "OPENCL_LAYERS", "CUDA_INJECTION64_PATH")


class Run:
    """One run of a program: it goes on while its standard input, or what else it waits for, is there."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        os.makedirs(folder)
        self.out, self.err = (open(os.path.join(folder, name), "w+b") for name in ("out", "err"))
        self.process = subprocess.Popen(program.command(folder), stdin=subprocess.PIPE, stdout=self.out,
                                        stderr=self.err, cwd=folder, start_new_session=True)
        end = time.monotonic() + 30
        while not program.targets(self.process.pid) and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(program.starts_s)

    def targets(self):
        return self.program.targets(self.process.pid) if self.process.poll() is None else []

    def finish(self):
        """(status, output, errors); a program that does not end in time has the status "hangs"."""
        self.program.end(self.folder)
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            status = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            status = "hangs"
        said = []
        for f in (self.out, self.err):
            f.seek(0)
            said.append(f.read().decode(errors="replace"))
            f.close()
        return status, said[0], said[1]


def first_sample(file, asked):
    """Seconds from the command to the first sample of its profile, or None."""
    sql = ("SELECT (SELECT value FROM meta WHERE key = 'start_realtime_ns'), min(t) FROM "
           "(SELECT min(time_ns) AS t FROM cpu_samples UNION ALL SELECT min(time_ns) FROM launches)")
    r = subprocess.run([aiflame, "query", "--format", "csv", file, sql], capture_output=True, text=True)
    cells = r.stdout.strip().split("\n")[-1].strip('"\r').split(",")
    try:
        return (int(cells[0].strip('"')) + int(cells[1])) / 1e9 - asked
    except (ValueError, IndexError):
        return None


def gap(pid, work):
    """The longest time that a thread was ready to run and off its processor, and how late at most one that slept went on, in ms; or
    None."""
    gaps = os.path.join(work, "gaps")
    if not os.path.exists(gaps):
        compile_once(gaps, CC, "-O2", here + "/gaps.c")
    r = subprocess.run([gaps, str(pid), CONTROL_MS], capture_output=True, text=True)
    return tuple(map(float, r.stdout.split())) if r.returncode == 0 else None


@contextlib.contextmanager
def stalling(of, recorder):
    """Stalls the program and the recorder while it is entered, if that was asked for."""
    global stalled
    if not stalls:
        yield
        return
    with Stalls(lambda: below(of), lambda: below(recorder)) as s:
        yield
    stalled += s.n


def attach(pid, folder):
    """(what it said when it failed or None, the longest stop in ms and what of it was a wait for a processor or None, seconds to the
    first sample or None)"""
    file = os.path.join(folder, "attach.data")
    asked = time.time()
    try:
        r = subprocess.Popen([aiflame, "record", "-p", str(pid), "--inject", "always", "--cpu", "--duration", RECORD_S,
                              "-o", file], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with stalling(pid, r.pid):
            errors = r.communicate(timeout=LIMIT_S)[1]
    except subprocess.TimeoutExpired:
        r.kill()
        return "record hangs", None, None
    stop = re.search(r"stood still for ([0-9.]+) ms at most(?:, ([0-9.]+) ms of which)?", errors)
    said = None
    if r.returncode:
        said = " ".join(errors.split("aiflame: ")[-1].split()) or "status %d" % r.returncode
    return said, (float(stop.group(1)), float(stop.group(2) or 0)) if stop else None, None if r.returncode else first_sample(file, asked)


class Row:
    def __init__(self, program):
        self.program = program
        self.done = self.tried = 0
        self.stops, self.firsts, self.refused, self.wrong = [], [], {}, []
        self.gap = None

    def measure(self, folder, attaches):
        bare = Run(self.program, os.path.join(folder, "bare"))
        if not bare.targets():
            time.sleep(0.5)
        expected = bare.finish()
        run = Run(self.program, os.path.join(folder, "attached"))
        if run.targets() and not self.program.refusal:
            self.gap = gap(run.targets()[0], os.path.dirname(folder))
        for k in range(attaches):
            targets = run.targets()
            if not targets:
                self.wrong.append("it had ended after %d attaches" % k)
                break
            with self.program.beside(targets):
                said, stop, first = attach(targets[k % len(targets)], folder)
            self.tried += 1
            if said is None:
                self.done += 1
                self.firsts.append(first)
            else:
                said = re.sub(r"process \d+", "process N", said)
                self.refused[said] = self.refused.get(said, 0) + 1
            if stop is not None:
                self.stops.append(stop)
        got = run.finish()
        for what, a, b in zip(("status", "output", "errors"), expected, got):
            if a != b:
                self.wrong.append("%s: %r instead of %r" % (what, b, a))
        if "hangs" in self.refused or expected[0] == "hangs":
            self.wrong.append("hangs")
        for said in self.refused:
            if not re.search(self.program.refusal or "$^", said) and not re.search(self.program.may_refuse or "$^", said):
                self.wrong.append("refused: " + said)
        if self.program.refusal and self.done:
            self.wrong.append("attached, and was to be refused")
        self.status = got[0]

    def line(self):
        firsts = [f for f in self.firsts if f is not None]
        return "| %s | %d of %d | %s | %s | %s | %s | %s | %s |" % (
            self.program.name, self.done, self.tried,
            "refused" if self.program.refusal else "%.2f s" % statistics.median(firsts) if firsts else "none",
            "%.1f ms" % max(self.stops)[0] if self.stops else "-", "%.1f ms" % max(self.stops)[1] if self.stops else "-",
            "-" if self.gap is None else "%.1f, %.1f ms" % self.gap, self.status,
            "as bare" if not self.wrong else "**differs**")


def main():
    attaches = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    if stalls and not is_possible():
        sys.exit("STALLS: needs cgroups of version 1, cpu and freezer, that may be written")
    rows, skipped = [], []
    for name in PREPARED:
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(work, "run")
        os.environ["XDG_STATE_HOME"] = os.path.join(work, "state")
        os.mkdir(os.environ["XDG_RUNTIME_DIR"], 0o700)
        print("| program | attached | first sample, median | longest stop | of which it waited | control | status | result |\n|---|---|---|---|---|---|---|---|", flush=True)
        for k, program in enumerate(PROGRAMS):
            if len(sys.argv) > 2 and program.name not in sys.argv[2:]:
                continue
            folder = os.path.join(work, str(k))
            os.mkdir(folder)
            try:
                program.prepare(work, here, build)
                row = Row(program)
                row.measure(folder, attaches)
            except Skip as e:
                skipped.append("%s: %s" % (program.name, e))
                continue
            rows.append(row)
            print(row.line(), flush=True)
            shutil.rmtree(folder)
    for row in rows:
        for said, times in sorted(row.refused.items()):
            print("\n%s, %d times: %s" % (row.program.name, times, said))
        for text in row.wrong:
            print("\n%s WRONG: %s" % (row.program.name, text))
    wrong = sum(1 for row in rows if row.wrong)
    stops = [s for row in rows for s in row.stops]
    print("\n%d programs, %d attaches, %d as bare, %d differ, %d skipped; longest stop %.1f ms, without waits for a processor "
          "%.1f ms; load %.1f" % (len(rows), sum(row.done for row in rows), len(rows) - wrong, wrong, len(skipped),
                                  max(stops or [(0, 0)])[0], max([s - w for s, w in stops] or [0]), os.getloadavg()[0]))
    if stalls:
        print("%d stalls of 50 to 250 ms" % stalled)
    for text in skipped:
        print("skipped: " + text)
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
