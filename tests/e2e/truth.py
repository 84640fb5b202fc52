# SPDX-License-Identifier: Apache-2.0
"""How far a share of samples may be from the share of time, on this machine at this time: truth.py AIFLAME PROFILE SHARE

Samples count time on a CPU, durations time on the clock: where other programs take CPUs away, the two differ by right.
How much of the executions' time had a CPU, in each tenth of a second, says how much: the standard error of SHARE (in
percent) when that varies as it did, and goes on for as long as it did (its correlation from one tenth to the next). Prints
2 points and four standard errors."""
import csv
import io
import math
import subprocess
import sys

WINDOW = 10**8
aiflame, profile, share = sys.argv[1], sys.argv[2], float(sys.argv[3]) / 100


def ask(sql):
    out = subprocess.run([aiflame, "query", "--format", "csv", profile, sql], check=True, capture_output=True, text=True).stdout
    return [tuple(int(v) for v in row) for row in list(csv.reader(io.StringIO(out)))[1:]]


busy, samples = {}, {}
for start, end in ask("SELECT start_ns, start_ns + dur_ns FROM executions"):
    for w in range(start // WINDOW, end // WINDOW + 1):
        busy[w] = busy.get(w, 0) + min(end, (w + 1) * WINDOW) - max(start, w * WINDOW)
for time, count in ask("SELECT time_ns, count FROM samples WHERE kernel IS NOT NULL"):
    samples[time // WINDOW] = samples.get(time // WINDOW, 0) + count
had = [samples.get(w, 0) / ns for w, ns in sorted(busy.items()) if ns > WINDOW / 5]
mean = sum(had) / len(had)
off = [h / mean - 1 for h in had]
variance = sum(o * o for o in off) / (len(off) - 1)
correlation = sum(a * b for a, b in zip(off, off[1:])) / (len(off) - 1) / variance if variance else 0
correlation = min(max(correlation, 0), 0.95)
lasts = (1 + correlation) / (1 - correlation)
windows = max(1 / share + 1 / (1 - share), 1) / len(off)
error = 100 * share * (1 - share) * math.sqrt(variance * lasts * windows)
print("%.2f" % (2 + 4 * error))
