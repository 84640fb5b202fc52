# SPDX-License-Identifier: Apache-2.0
"""In whose code a program's launching threads spend a step, alone and recorded: what recording costs by itself, without
the noise of the machine, which ratios of whole steps drown in.

    python3 bench/gpu/parts.py AIFLAME IPS FILE SECONDS PROGRAM WAY...

A program of price_work.py works SECONDS without rest in each WAY: alone, default, or options of record with + between. IPS is
ips.c, compiled. Printed are the CPU time of the two busiest threads a step, in us, by file, for each way. FILE gets counts by
way, file and offset, for addr2line. What of it costs more in other files is what had to be fetched into caches again, and
noise."""
import bisect
import collections
import os
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HZ = 5000


def code(pid):
    """(begin, end, offset, name) of each mapping of the process that is executable, in order."""
    maps = []
    with open(f"/proc/{pid}/maps") as f:
        for line in f:
            fields = line.split()
            if "x" in fields[1]:
                begin, end = (int(x, 16) for x in fields[0].split("-"))
                maps.append((begin, end, int(fields[2], 16), os.path.basename(fields[5]) if len(fields) > 5 else "[anonymous]"))
    return sorted(maps)


def python_of(pid):
    """The process below that runs the program."""
    for p in [pid] + [int(c) for c in open(f"/proc/{pid}/task/{pid}/children").read().split()]:
        if os.path.basename(os.readlink(f"/proc/{p}/exe")).startswith("python"):
            return p
    raise SystemExit("parts.py: the program does not run")


def ticks(pid):
    """CPU time of each thread, in clock ticks."""
    of = {}
    for t in os.listdir(f"/proc/{pid}/task"):
        words = open(f"/proc/{pid}/task/{t}/stat").read().rsplit(")", 1)[1].split()
        of[t] = int(words[11]) + int(words[12])
    return of


def work(aiflame, ips, program, way, seconds, directory):
    """Steps, and the samples by file and offset."""
    names = [os.path.join(directory, way.replace("/", "_") + end) for end in (".in", ".out")]
    for n in names:
        os.mkfifo(n)
    command = ["python3", os.path.join(HERE, "price_work.py"), program, *names]
    if way != "alone":
        options = [] if way == "default" else way.split("+")
        command = [aiflame, "record", "-q", "-o", os.path.join(directory, "x.data"), *options] + command
    env = dict(os.environ, XDG_RUNTIME_DIR=directory, XDG_STATE_HOME=directory)
    with subprocess.Popen(command, env=env) as process:
        requests, answers = open(names[0], "w", buffering=1), open(names[1])
        requests.write("4\n")
        answers.readline()
        pid = python_of(process.pid)
        before = ticks(pid)
        requests.write("1\n")
        answers.readline()
        after = ticks(pid)
        busiest = sorted(after, key=lambda t: before.get(t, 0) - after[t])[:2]
        files = [os.path.join(directory, f"{t}.ips") for t in busiest]
        samplers = [subprocess.Popen([ips, t, str(seconds + 4), str(HZ), f]) for t, f in zip(busiest, files)]
        time.sleep(0.5)
        begin = time.monotonic_ns()
        requests.write(f"{seconds}\n")
        steps = float(answers.readline().split()[0])
        end = time.monotonic_ns()
        maps = code(pid)
        for s in samplers:
            s.wait()
        requests.write("0\n")
        requests.close()
    starts, counts = [m[0] for m in maps], collections.Counter()
    for f in files:
        for at, pc in struct.iter_unpack("QQ", open(f, "rb").read()):
            if not begin <= at <= end:
                continue
            j = bisect.bisect(starts, pc) - 1
            if pc >> 63:
                counts["[kernel]", pc & 0xffffffff] += 1
            elif j >= 0 and pc < maps[j][1]:
                counts[maps[j][3], pc - maps[j][0] + maps[j][2]] += 1
            else:
                counts["[elsewhere]", 0] += 1
    return steps, counts


def main():
    aiflame, ips, out, seconds, program, *ways = sys.argv[1:]
    table, places = {}, open(out, "a")
    for way in ways:
        with tempfile.TemporaryDirectory() as directory:
            steps, counts = work(aiflame, ips, program, way, int(seconds), directory)
        files = collections.Counter()
        for (name, offset), n in counts.items():
            files[name] += n / HZ / steps * 1e6
            print(program, way, name, hex(offset), n, file=places)
        table[way] = files
        print(f"{program} {way}: {steps:.0f} steps, {sum(files.values()):.0f} us of CPU a step", flush=True)
    names = sorted({n for f in table.values() for n in f}, key=lambda n: -max(f[n] for f in table.values()))[:14]
    print("us a step".ljust(34), *(w[-22:].rjust(24) for w in ways))
    for n in names:
        print(n.ljust(34), *(f"{table[w][n]:24.1f}" for w in ways))


main()
