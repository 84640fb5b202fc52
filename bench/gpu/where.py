# SPDX-License-Identifier: Apache-2.0
"""Where an eager decode's launching thread spends its time with the recording on and off, by file: what recording costs, and in
whose code. In one process, segments of 0.4 s: off, on, on, off.

    aiflame record --name x --delay 1000000 --all-launches -o x.data python3 bench/gpu/where.py IPS [SECONDS [FILE]]

IPS is ips.c, compiled. FILE gets counts by file and offset (`0|1 NAME OFFSET COUNT`; 1: on), for addr2line. What a file has
more with the recording on is not only what was called more: it is also what had to be fetched into caches again."""
import bisect
import collections
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "..", "tests", "gpu"), os.path.join(here, "..", "..", "python")]
from abba import decoding, switch  # noqa: E402

HZ = 5000
LENGTH_NS = 400_000_000


def code():
    """(begin, end, offset, name) of each mapping that is executable, in order."""
    maps = []
    with open("/proc/self/maps") as f:
        for line in f:
            fields = line.split()
            if "x" in fields[1]:
                begin, end = (int(x, 16) for x in fields[0].split("-"))
                maps.append((begin, end, int(fields[2], 16), os.path.basename(fields[5]) if len(fields) > 5 else "[anonymous]"))
    return sorted(maps)


def segments(step, seconds):
    """(begin, end, on, steps, CPU ns) of each."""
    done, end, i = [], time.monotonic() + seconds, 0
    while time.monotonic() < end:
        on = (False, True, True, False)[i % 4]
        i += 1
        switch(on)
        for _ in range(3):
            step()
        begin, cpu, steps = time.monotonic_ns(), time.thread_time_ns(), 0
        while time.monotonic_ns() - begin < LENGTH_NS:
            step()
            steps += 1
        done.append((begin, time.monotonic_ns(), on, steps, time.thread_time_ns() - cpu))
    return done


def main():
    ips, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 50
    step = decoding()
    for _ in range(30):
        step()
    with tempfile.NamedTemporaryFile() as samples:
        sampler = subprocess.Popen([ips, str(threading.get_native_id()), str(int(seconds) + 2), str(HZ), samples.name])
        time.sleep(0.3)
        marks = segments(step, seconds)
        if sampler.wait():
            sys.exit("where.py: no samples")
        pairs = samples.read()
    maps = code()
    starts, begins = [m[0] for m in maps], [m[0] for m in marks]
    counts = {False: collections.Counter(), True: collections.Counter()}
    for at, pc in struct.iter_unpack("QQ", pairs):
        i = bisect.bisect(begins, at) - 1
        if i < 0 or at > marks[i][1]:
            continue
        j = bisect.bisect(starts, pc) - 1
        if pc >> 63:
            place = "[kernel]", 0
        elif j >= 0 and pc < maps[j][1]:
            place = maps[j][3], pc - maps[j][0] + maps[j][2]
        else:
            place = "[unknown]", 0
        counts[marks[i][2]][place] += 1
    steps = {on: sum(m[3] for m in marks if m[2] == on) for on in counts}
    for what, of in (("wall", lambda m: m[1] - m[0]), ("CPU", lambda m: m[4])):
        us = {on: sum(of(m) for m in marks if m[2] == on) / steps[on] / 1000 for on in counts}
        print("where: %s time of a step, %d and %d steps: %.0f us off, %.0f us on (%+.2f %%)" %
              (what, steps[False], steps[True], us[False], us[True], (us[True] / us[False] - 1) * 100))
    files = collections.defaultdict(lambda: {False: 0.0, True: 0.0})
    for on, places in counts.items():
        for (name, _), n in places.items():
            files[name][on] += n * 1e6 / HZ / steps[on]
    print("%-40s %10s %10s %8s" % ("us a step in", "off", "on", "more"))
    for name, us in sorted(files.items(), key=lambda f: f[1][False] - f[1][True]):
        if max(us.values()) > 10:
            print("%-40s %10.1f %10.1f %+8.1f" % (name, us[False], us[True], us[True] - us[False]))
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as out:
            for on, places in counts.items():
                for (name, offset), n in places.items():
                    print(int(on), name, "%x" % offset, n, file=out)


if __name__ == "__main__":
    main()
