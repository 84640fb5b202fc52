#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Called by top.sh: top_cpu.py TESTS AIFLAME PROGRAM SECONDS. Prints what top and the recorder took of a core."""
import os
import signal
import subprocess
import sys
import time

BAR = 0.01  # of a core


def cpu_seconds(pid):
    """User and system time of all threads of a process."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(seconds, pids, step):
    """Shares of a core that processes took, while step() is called."""
    before, start = [cpu_seconds(p) for p in pids], time.monotonic()
    while time.monotonic() - start < seconds:
        step()
    length = time.monotonic() - start
    return [(cpu_seconds(p) - b) / length for p, b in zip(pids, before)]


def main():
    tests, aiflame, program, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
    sys.path.insert(0, tests)
    from top import Terminal  # a terminal that reads what top draws

    recorder = subprocess.Popen([aiflame, "record", "-q", "-o", "rec.data", program, "100000000"],
                                stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        time.sleep(5)  # the first kernel is compiled
        alone, = measure(seconds, [recorder.pid], lambda: time.sleep(0.2))
        t = Terminal(100, 30, [aiflame, "top", "-r", "rec.data"])
        t.wait("spin")
        bytes_before = len(t.raw)
        top, watched = measure(seconds, [t.pid, recorder.pid], lambda: t.read(0.2))
        drawn = (len(t.raw) - bytes_before) / seconds
        assert "spin" in t.text() and "joined" in t.text(), t.text()
        t.key("q")
        assert t.end() == 0
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait()
    added = max(0.0, watched - alone)
    print("| top | %.2f %% of a core, %.0f bytes a second |" % (100 * top, drawn))
    print("| the recorder, alone and watched | %.2f and %.2f %% |" % (100 * alone, 100 * watched))
    print("| top with what it adds | %.2f %%, bar %.0f %% |" % (100 * (top + added), 100 * BAR))
    return 1 if top + added > BAR else 0


if __name__ == "__main__":
    sys.exit(main())
