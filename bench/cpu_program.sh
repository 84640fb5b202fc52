#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs without an accelerator under record --cpu and under stat, beside perf:
#   control  the program beside itself, nothing recorded: what the machine's own noise makes of these ratios
#   cost     CPU time with recording / without it, interleaved: C and Python, which run a fixed amount of work, and the
#            recorder's own. The bars: 1.01 and 1.02, of the medians
#   stat     the same with counters, of the CPU time and by the wall clock. The bar: 1.005
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
cat >own.c <<'E2'
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
/* own FILE COMMAND...: writes the CPU time of the command alone, s, without its recorder's. */
int main(int argc, char **argv)
{
	struct rusage u;
	FILE *f;
	int status;
	pid_t pid = argc > 2 ? fork() : -1;

	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) < 0 || !(f = fopen(argv[1], "w")))
		return 125;
	fprintf(f, "%.6f\n", (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6);
	return fclose(f) || status;
}
E2
cc -O2 -o own own.c
cat >pairs.py <<'E2'
import os, random, statistics, sys, time
aiflame, how, bar, n, command = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
around = {"record": ["-q", "--cpu", "-F", "999", "-o", "b.data", "--"], "stat": ["-o", "b.txt", "--"]}
def one(recorded):
    """CPU time (s) of the command, and of what is around it, and the time of both by the wall clock."""
    words = ["./own", "t.txt"] + command
    if recorded and how != "nothing":
        words = [aiflame, how] + around[how] + words
    begin = time.monotonic()
    pid = os.spawnvp(os.P_NOWAIT, words[0], words)
    _, status, usage = os.wait4(pid, 0)
    assert not status, status
    wall = time.monotonic() - begin
    own = float(open("t.txt").read())
    return own, usage.ru_utime + usage.ru_stime - own, wall
def median(x, digits):
    random.seed(1)
    boots = sorted(statistics.median(random.choices(x, k=len(x))) for _ in range(2000))
    return f"{statistics.median(x):.{digits}f} (95 %: {boots[50]:.{digits}f} to {boots[1949]:.{digits}f})"
ratios, more, recorder, walls = [], [], [], []
for i in range(n):
    order = (False, True) if i % 2 else (True, False)
    got = {recorded: one(recorded) for recorded in order}
    ratios.append(got[True][0] / got[False][0])
    more.append(1e3 * (got[True][0] - got[False][0]))
    recorder.append(1e3 * got[True][1])
    walls.append(got[True][2] / got[False][2])
name = " ".join([command[0].rsplit("/", 1)[-1]] + command[1:])
print(f"{how:7} {name:22} CPU time with / without: median {median(ratios, 4)}, bar {bar}; {median(more, 1)} ms more, aiflame {median(recorder, 0)} ms; by the wall clock {median(walls, 4)}; {n} pairs")
E2
python3 pairs.py "$aiflame" nothing 1 "$pairs" ./work 8000
python3 pairs.py "$aiflame" nothing 1 "$pairs" "$python" work.py 4000
# The short ones show what each process costs, however long it runs.
python3 pairs.py "$aiflame" record 1.01 "$pairs" ./work 50
python3 pairs.py "$aiflame" record 1.01 "$pairs" ./work 8000
python3 pairs.py "$aiflame" record 1.02 "$pairs" "$python" work.py 50
python3 pairs.py "$aiflame" record 1.02 "$pairs" "$python" work.py 4000
python3 pairs.py "$aiflame" record 1.02 "$pairs" "$python" work.py 16000
python3 pairs.py "$aiflame" stat 1.005 "$pairs" ./work 8000
python3 pairs.py "$aiflame" stat 1.005 "$pairs" "$python" work.py 4000
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
