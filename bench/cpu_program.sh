#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs without an accelerator under record --cpu, beside perf:
#   cost     time to solution with recording / without it, interleaved: C and Python, which run a fixed amount of work.
#            The bars: 1.01 and 1.02, of the medians
#   shares   of the functions, against `perf record -e cpu-clock --call-graph dwarf` of another run of the same program:
#            the greatest difference in points (bar: 3), and the ratio of the bytes stored (bar: 1/20)
# bench/cpu_program.sh [PAIRS]; BUILD_DIR is the build. Needs perf for the second part, and a quiet machine.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
aiflame=$build/src/aiflame
pairs=${1:-9}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python=$(python3 -c 'import sys; print(sys.executable)')
cat >work.c <<'E2'
#include <stdlib.h>
__attribute__((noinline, noipa)) static double gemm(long n) { double x = 1; for (long i = 0; i < n; i++) x = x * 0.999 + i; return x; }
__attribute__((noinline, noipa)) static double norm(long n) { double x = 1; for (long i = 1; i < n; i++) x = x / i + 1; return x; }
int main(int argc, char **argv) { double x = 0; for (long i = 0; i < atol(argv[1]); i++) x += gemm(100000) + norm(20000); return x == 0.5; }
E2
cc -O2 -g -o work work.c
cat >work.py <<'E2'
import sys
def gemm(n):
    x = 0.0
    for i in range(n): x = x * 0.5 + i
    return x
def norm(n):
    x = 1.0
    for i in range(1, n): x = x / i + 1
    return x
for i in range(int(sys.argv[1])): gemm(3000); norm(1000)
E2
cat >pairs.py <<'E2'
import statistics, subprocess, sys, time
aiflame, bar, n, command = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
def own(words):
    """CPU time of the command alone: what it says of its process when it ends."""
    begin = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin
timer = [sys.executable, "-c", "import resource,subprocess,sys,time\nb=time.monotonic(); subprocess.run(sys.argv[2:],check=True)\nu=resource.getrusage(resource.RUSAGE_CHILDREN)\nopen(sys.argv[1],'w').write(f'{time.monotonic()-b} {u.ru_utime+u.ru_stime}')"]
def one(recorded):
    """Wall and CPU time of the command, measured inside of what is recorded."""
    words = timer + ["t.txt"] + command
    own([aiflame, "record", "-q", "--cpu", "-F", "999", "-o", "b.data", "--"] + words if recorded else words)
    return [float(x) for x in open("t.txt").read().split()]
ratios = {0: [], 1: []}
for i in range(n):
    a, b = (one(False), one(True)) if i % 2 else tuple(reversed((one(True), one(False))))
    for k in 0, 1:
        ratios[k].append(b[k] / a[k])
for k, what in (0, "wall"), (1, "cpu"):
    q = statistics.quantiles(ratios[k], n=4)
    print(f"{command[0].rsplit('/', 1)[-1]:10} {what:4} recorded / not: median {statistics.median(ratios[k]):.4f} (quartiles {q[0]:.4f} to {q[2]:.4f}, {n} pairs), bar {bar}")
E2
python3 pairs.py "$aiflame" 1.01 "$pairs" ./work 4000
python3 pairs.py "$aiflame" 1.02 "$pairs" "$python" work.py 4000
if ! command -v perf >/dev/null || ! perf record -q -e cpu-clock -o x.perf true 2>/dev/null; then
	echo "shares: no perf here that works"
	exit 0
fi
app=$build/tests/e2e/cpu_program
perf record -q -e cpu-clock -F 999 --call-graph dwarf -o perf.data "$app" 5 >/dev/null 2>&1
"$aiflame" record -q --cpu -F 999 -o c.data "$app" 5 >shares.txt
perf report -i perf.data --stdio --no-children -g none -s symbol 2>/dev/null | sed -nE 's/^ *([0-9.]+)% +\[.\] ([^ ]+).*/\2 \1/p' >by_perf
"$aiflame" report --cpu --limit 0 --format csv c.data >c.csv
python3 - "$(stat -c %s perf.data)" "$(stat -c %s c.data)" <<'E2'
import csv, sys
perf = {l.split()[0]: float(l.split()[1]) for l in open("by_perf")}
ours = {r["function"]: 100 * float(r["self_share"]) for r in csv.DictReader(open("c.csv"))}
top = sorted(perf, key=perf.get, reverse=True)[:10]
for f in top:
    print(f"  {f:32} perf {perf[f]:6.2f} %  aiflame {ours.get(f, 0):6.2f} %")
print(f"shares of perf's top {len(top)}: at most {max(abs(perf[f] - ours.get(f, 0)) for f in top):.2f} points apart, bar 3")
print(f"bytes: perf {int(sys.argv[1]):,}, aiflame {int(sys.argv[2]):,}: 1/{int(sys.argv[1]) / int(sys.argv[2]):.0f}, bar 1/20")
E2
