#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs with their n-th allocation or system call failing (shim.c), for n = 1, 2, ... until a run passes in which
nothing failed. Prints TAP, a case for each program and way of failing.

A run is wrong that dies by a signal; that does not end; that leaves a file that is not whole, or one that nobody asked for;
that succeeds with other output than the run in which nothing fails; that fails without a message; that leaks (with ASan).
"""
import argparse
import hashlib
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PATIENCE_S = 30
LEAK_STATUS = 99
# What a profile has.
CONTENT = """SELECT (SELECT count(*) FROM launches), (SELECT count(*) FROM executions), (SELECT count(*) FROM samples),
    (SELECT count(*) FROM frames), (SELECT count(*) FROM stacks), (SELECT count(*) FROM processes), (SELECT count(*) FROM meta)"""


class Program:
    """A command, what it reads and what it makes: names in the directory in which it runs."""

    def __init__(self, name, argv, reads=(), makes=(), keeps=(), reader=None, later=False, notes=("damaged", "missing", "undone", "names of instructions only", "without operands", "size unknown")):
        self.name, self.argv, self.reads, self.makes = name, argv, reads, makes
        self.keeps = keeps  # what it makes and may leave although it fails; a name and a command that says if it is in order
        self.reader = reader  # a command that says what is in the file that is made, where its bytes may differ
        self.later = later  # it says itself where the torture begins
        self.notes = notes  # where it says one of these, its output may be less


class Outcome:
    def __init__(self, status, out, err, files, count, failed, call):
        self.status, self.out, self.err, self.files = status, out, err, files
        self.count, self.failed, self.call = count, failed, call


def digest_of(path):
    h = hashlib.sha1()
    if os.path.isdir(path):
        for at, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                h.update(os.path.relpath(os.path.join(at, name), path).encode())
                h.update(open(os.path.join(at, name), "rb").read())
    else:
        h.update(open(path, "rb").read())
    return h.hexdigest()


class Torture:
    def __init__(self, args):
        self.args = args
        self.inputs = args.inputs
        self.offset = 0
        self.known = {}  # digests of profiles that were read and are in order

    def run(self, program, what, first, last, trace=False, keep=None):
        work = keep or tempfile.mkdtemp(dir=self.args.work)
        try:
            for name in program.reads:
                shutil.copy(os.path.join(self.inputs, name), os.path.join(work, name))
            result = os.path.join(self.args.work, os.path.basename(work) + ".result")
            env = dict(os.environ, LD_PRELOAD=self.args.shim, TORTURE_WHAT=what, TORTURE_FROM=str(first),
                       TORTURE_TO=str(last), TORTURE_RESULT=result, TMPDIR=work, HOME=work, XDG_STATE_HOME=work, TZ="UTC",
                       ASAN_OPTIONS="verify_asan_link_order=0:allocator_may_return_null=1:detect_leaks=%d:exitcode=%d"
                                    % (self.args.leaks, LEAK_STATUS))
            if trace:
                env["TORTURE_TRACE"] = "1"
            if program.later:
                env["TORTURE_LATER"] = "1"
            out, err = os.path.join(self.args.work, os.path.basename(work) + ".out"), result + ".err"
            with open(out, "wb") as o, open(err, "wb") as e:
                p = subprocess.Popen(program.argv, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=o, stderr=e)
                try:
                    status = p.wait(PATIENCE_S)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()
                    status = None
            count, failed, call = struct.unpack("QQ16s", open(result, "rb").read())
            files = {}
            for name in os.listdir(work):
                if name not in program.reads:
                    files[name] = self.content(program, os.path.join(work, name))
            damaged = status is not None and self.damaged(program, work)
            said = open(err, "rb").read().decode(errors="replace")
            o = Outcome(status, open(out, "rb").read(), said, files, count, failed, call.split(b"\0")[0].decode())
            o.damaged = damaged
            o.kept = status is not None and status >= 0 and self.kept(program, work, files, status)
            for path in (result, out, err):
                os.unlink(path)
            return o
        finally:
            if not keep:
                shutil.rmtree(work, ignore_errors=True)

    def content(self, program, path):
        if not program.reader or path.endswith("-journal"):
            return digest_of(path)
        got = subprocess.run([a.replace("NAME", path) for a in program.reader], capture_output=True)
        return "%d %s" % (got.returncode, got.stdout + got.stderr)

    def damaged(self, program, work):
        """The first input that is not what it was: a profile's cache may be filled, its rows may not change."""
        for name in program.reads:
            path = os.path.join(work, name)
            if not os.path.exists(path):
                return name + " is gone"
            if os.path.exists(path + "-journal"):
                continue
            digest = digest_of(path)
            if self.known.get(name) is None:
                self.known[name] = {digest_of(os.path.join(self.inputs, name))}
            if digest in self.known[name]:
                continue
            if not name.endswith(".data") or not self.reads_the_same(name, path):
                return name + " is not what it was"
            self.known[name].add(digest)
        return None

    def reads_the_same(self, name, path):
        text = []
        for profile in (os.path.join(self.inputs, name), path):
            copy = path + ".copy"
            shutil.copy(profile, copy)
            got = subprocess.run([self.args.aiflame, "info", copy], capture_output=True)
            text.append((got.returncode, re.sub(rb"^(file .*), [0-9.]* [KM]iB", rb"\1", got.stdout, flags=re.M)))
            os.unlink(copy)
        return text[0] == text[1]

    def kept(self, program, work, files, status):
        """What a command left and may leave: what is wrong with it. A journal, too, which SQLite could not remove: whoever
        reads the file takes back what it has of use."""
        for name, reader in program.keeps:
            if name not in files:
                continue
            got = subprocess.run([a.replace("NAME", os.path.join(work, name)) for a in reader], capture_output=True)
            if got.returncode != 0:
                return "%s is not in order: %s" % (name, got.stderr.decode(errors="replace").strip())
            files.pop(name + "-journal", None)
            if status:
                files.pop(name)
        return None

    def wrong(self, program, good, o):
        if o.status is None:
            return "it did not end within %d s" % PATIENCE_S
        if o.status < 0:
            return "it died by %s" % signal.Signals(-o.status).name
        if o.status == LEAK_STATUS and "Sanitizer" in o.err:
            return "a sanitizer's report"
        if o.damaged:
            return o.damaged
        if o.kept:
            return o.kept
        # A profile's journal that SQLite could not remove: whoever opens the profile next takes back what it has of use.
        for name in program.reads:
            o.files.pop(name + "-journal", None)
        if o.status == 0:
            if o.out == good.out and o.files == good.files:
                return None
            if any(n.encode() in o.out + o.err.encode() and n.encode() not in good.out + good.err.encode() for n in program.notes):
                return None
            if o.files.keys() != good.files.keys():
                return "it succeeded with other files: %s" % (set(o.files) ^ set(good.files))
            return "it succeeded with other output, %d bytes instead of %d" % (len(o.out), len(good.out)) \
                if o.out != good.out else "it succeeded with another file"
        if not o.err.strip():
            return "it failed (%d) without a message" % o.status
        # What could not be removed is there.
        if o.files and o.call not in ("unlink", "rmdir"):
            return "it failed and left %s" % ", ".join(sorted(o.files))
        return None

    def numbers(self, count):
        """Which are to fail: all, or as many as --most says, the same distance apart."""
        step = 1 if not self.args.most else max(1, -(-count // self.args.most))
        self.offset += 7  # programs begin alike: each is hit elsewhere
        return step, list(range(1 + self.offset % step, count + 1, step))

    def case(self, pool, program, what):
        """Ways of one program: (runs with a failure, [(n, what was wrong)], the step between them)."""
        good = self.run(program, what, 0, 0)
        again = self.run(program, what, 0, 0)
        if good.status != 0 or set(good.files) != set(program.makes) or (good.out, good.files) != (again.out, again.files):
            return 0, [(0, "nothing failed: status %s, files %s, the same twice: %s %s\n%s" % (
                good.status, sorted(good.files), good.out == again.out, good.files == again.files, good.err))], 1
        step, numbers = self.numbers(max(good.count, again.count))
        done, bad = 0, []

        def one(n):
            last = n if self.args.once else 1 << 62
            return n, self.run(program, what, n, last)

        batch = 64
        tail = numbers[-1] + step if numbers else 1
        while numbers:
            for n, o in pool.map(one, numbers[:batch]):
                done += 1 if o.failed else 0
                why = self.wrong(program, good, o)
                if why:
                    bad.append((n, why))
            numbers = numbers[batch:]
            # Threads may come to more: on until nothing fails.
            if not numbers and one(tail)[1].failed:
                numbers, tail = [tail], tail + step
        return done, bad, step

    def stack_of(self, program, what, n):
        """Where the n-th failed: names of our own functions, the innermost first."""
        o = self.run(program, what, n, n, trace=True)
        names, seen = [], re.findall(r"^(\S+)\(\S*?\+?(0x[0-9a-f]+)?\) ?\[0x", o.err, re.M)
        for module, offset in seen:
            if os.path.realpath(module) == os.path.realpath(program.argv[0]) and offset:
                got = subprocess.run(["addr2line", "-f", "-i", "-s", "-e", module, hex(int(offset, 16) - 1)],
                                     capture_output=True, text=True).stdout.split("\n")
                names += ["%s (%s)" % (f, at) for f, at in zip(got[::2], got[1::2])]
            elif "shim" not in module:
                names.append(os.path.basename(module))
        return o.call + " < " + " < ".join(names[:self.args.depth])


def programs(args):
    a = args.aiflame
    formats = re.search(r"--format ([a-z|]+)$", subprocess.run([a, "export", "-h"], capture_output=True, text=True).stdout,
                        re.M).group(1).split("|")
    reports = re.findall(r"^ *--([a-z]*)  ", subprocess.run([a, "report", "-h"], capture_output=True, text=True).stdout, re.M)
    view = ["full.data"]
    made = []

    def add(name, words, reads=view, makes=(), **more):
        made.append(Program(name, [a] + words, reads, makes, **more))

    add("report", ["report", "full.data"])
    add("report of a part", ["report", "--time", "0.1,0.6", "full.data"])
    add("why", ["why", "full.data"])
    add("why as JSON", ["why", "--format", "json", "--time", "steps:2-3", "full.data"])
    add("diff", ["diff", "full.data", "full.data@steps:2-3"])
    add("diff as JSON", ["diff", "--format", "json", "--unit", "run", "full.data,full.data", "full.data"])
    add("diff of folded text", ["diff", "import-folded", "import-folded"], reads=["import-folded"])
    add("diff as a picture", ["diff", "-o", "out.svg", "full.data", "full.data"], makes=["out.svg"])
    add("diff as a page", ["diff", "-o", "out.html", "full.data", "full.data@steps:2-3"], makes=["out.html"])
    add("info", ["info", "full.data"])
    for t in reports:
        add("report --" + t, ["report", "--" + t, "full.data"])
    add("report --kernels as JSON", ["report", "--kernels", "--format", "json", "full.data"])
    add("report --ops as CSV", ["report", "--ops", "--format", "csv", "full.data"])
    add("view", ["view", "-o", "out.html", "full.data"], makes=["out.html"])
    add("scope with few frames", ["scope", "--frames", "20", "-o", "out.html", "full.data"], makes=["out.html"])
    add("flame", ["flame", "-o", "out.svg", "full.data"], makes=["out.svg"])
    add("flame --of cpu", ["flame", "--of", "cpu", "-o", "out.svg", "full.data"], makes=["out.svg"])
    add("flame --of loop", ["flame", "--of", "loop", "-o", "out.svg", "full.data"], makes=["out.svg"])
    add("flame --format folded", ["flame", "--leaf", "stall", "--format", "folded", "-o", "-", "full.data"])
    add("annotate", ["annotate", ".", "full.data"])
    add("query", ["query", "--format", "csv", "full.data", "SELECT * FROM kernel_times"])
    add("query of every launch", ["query", "full.data", "SELECT * FROM launches JOIN executions USING (launch) ORDER BY 3"])
    for f in formats:
        if f == "elf":
            if os.path.exists(os.path.join(args.inputs, "binary.data")):
                add("export --format elf", ["export", "--format", "elf", "-o", "out.elf", "--kernel", "multiply_basic", "binary.data"],
                    reads=["binary.data"], makes=["out.elf"])
            continue
        add("export --format " + f, ["export", "--format", f, "-o", "out." + f, "full.data"], makes=["out." + f])
    for name in sorted(os.listdir(args.inputs)):
        if name.startswith("import-"):
            kind = name[len("import-"):]
            add("import of " + kind, ["import", "-o", "out.data", name], reads=[name], makes=["out.data"])
    if args.writer:
        made.append(Program("the recorder's writer", [args.writer, "out.data"], (), ["out.data"], later=True,
                            keeps=[("out.data", [a, "info", "NAME"])], reader=[a, "query", "--format", "csv", "NAME", CONTENT]))
    return made


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--aiflame", required=True)
    ap.add_argument("--shim", required=True)
    ap.add_argument("--writer", help="the program that writes a profile as the recorder does")
    ap.add_argument("--inputs", required=True, help="a folder: full.data, import-KIND of each kind, binary.data if there is one")
    ap.add_argument("--work", required=True, help="a folder for runs")
    ap.add_argument("--only", default="", help="programs whose names match this regular expression")
    ap.add_argument("--slice", default=os.environ.get("SLICE", "1/1"), metavar="K/N", help="each N-th program, from the K-th on")
    ap.add_argument("--what", default="alloc,call,soft")
    ap.add_argument("--most", type=int, default=0, help="no more runs of a program and way than this; 0: all")
    ap.add_argument("--from-on", dest="once", action="store_false", help="all from the n-th on fail, too")
    ap.add_argument("--leaks", action="store_true", help="the programs are built with ASan: look for leaks")
    ap.add_argument("--depth", type=int, default=8, help="functions of a stack that are shown")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    args = ap.parse_args()
    args.leaks = int(args.leaks)
    torture, n, failed, all_done = Torture(args), 0, 0, 0
    k, shares = map(int, args.slice.split("/"))
    chosen = [p for p in programs(args) if re.search(args.only, p.name)][k - 1::shares]
    with ThreadPoolExecutor(args.jobs) as pool:
        for program in chosen:
            for what in args.what.split(","):
                done, bad, step = torture.case(pool, program, what)
                n, all_done = n + 1, all_done + done
                title = "%s: %d runs with a failure of %s%s" % (
                    program.name, done, {"alloc": "memory", "call": "a system call", "soft": "a call cut short"}[what],
                    ", each %d." % step if step > 1 else "")
                print("%s %d - %s" % ("not ok" if bad else "ok", n, title), flush=True)
                failed += bool(bad)
                shown = {}
                for at, why in bad:
                    stack = torture.stack_of(program, what, at) if at and len(shown) < 40 else ""
                    if shown.setdefault((why.split(",")[0], stack), at) == at:
                        print("#   %d of %d: the %d. of %s: %s\n#      %s" % (at, len(bad), at, what, why, stack), flush=True)
    print("# %d runs with a failure" % all_done)
    print("1..%d" % n)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
