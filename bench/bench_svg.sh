#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Folded text -> SVG, reading included: time and memory on 200,000 unique stacks, 74 deep (586 MB).
#   bench/bench_svg.sh [FLAMEGRAPH_PL]
# With the path of FlameGraph's flamegraph.pl both run in turns (ABBA) and the ratio is printed.
# ROUNDS (5), STACKS (200000), BUILD_DIR, WORK_DIR (for the 586 MB; else a temporary folder).
# SHAPE=diverging STACKS=60000: stacks that hardly agree below 30 frames (213 MB).
# Bars: at least 40 times as fast as flamegraph.pl, at most 300 MB of memory.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
aiflame=${BUILD_DIR:-$root/build}/src/aiflame
peer=${1:-${FLAMEGRAPH_PL:-}}
work=${WORK_DIR:-$(mktemp -d)}
[ -n "${WORK_DIR:-}" ] || trap 'rm -rf "$work"' EXIT
stacks=${STACKS:-200000}
shape=${SHAPE:-}
folded=$work/r$stacks$shape.folded
[ -e "$folded" ] || python3 "$root/bench/gen_folded.py" "$stacks" "$folded" $shape
cat "$folded" >/dev/null # into the page cache

exec python3 - "$aiflame" "$folded" "$work" "${ROUNDS:-5}" "$peer" <<'END'
import os
import random
import sys
import time

aiflame, folded, work, rounds, peer = sys.argv[1:6]
ours = [aiflame, "flame", folded, "-o", os.path.join(work, "ours.svg")]
theirs = ["perl", peer, folded]


def run(argv, output=None):
    """Seconds by the clock, by the CPU, and peak memory in MB."""
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        if output:
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 1)
        os.execvp(argv[0], argv)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"bench_svg: {argv[0]} failed")
    seconds = time.monotonic() - start
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def interval(values):
    """95 % of the medians of resamples."""
    rng = random.Random(1)
    medians = sorted(median(rng.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


a, b, memory = [], [], 0
for turn in range(int(rounds)):
    for who in "ABBA" if turn % 2 == 0 else "BAAB":
        if who == "A":
            a.append(run(ours))
        elif peer and len(b) < int(rounds):
            b.append(run(theirs, os.path.join(work, "theirs.svg")))

size = os.path.getsize(folded)
clock = [r[0] for r in a]
low, high = interval(clock)
print(f"folded -> SVG   {size / 1e6:.0f} MB in {median(clock):.2f} s ({low:.2f} to {high:.2f}), "
      f"{size / 1e6 / median(clock):.0f} MB/s; CPU {median([r[1] for r in a]):.2f} s")
print(f"memory          {max(r[2] for r in a):.0f} MB (bar 300)")
if peer:
    for what, i in (("by the clock", 0), ("by the CPU", 1)):
        # Neighbours in time: the machine's noise hits both alike.
        ratios = [t[i] / median([r[i] for r in a[2 * k:2 * k + 2]]) for k, t in enumerate(b)]
        low, high = interval(ratios)
        print(f"flamegraph.pl   {what} {median([r[i] for r in b]):.1f} s: {median(ratios):.1f} "
              f"times as long ({low:.1f} to {high:.1f}; bar 40)")
END
