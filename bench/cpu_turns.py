#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What record --cpu and stat cost a program, by turns of live processes.

One process for each way of recording stays alive, and one after the other, in an order drawn anew each round, does a fixed
piece of work and says what CPU time it took, all threads of the process. Ratios are of one round, so that neighbours and
clocks meet all ways alike; a second process without aiflame is the control. Prints medians and their 95 % intervals by
bootstrap, in percent. The bars: Python 2, C 1, stat 0.5; an interval that is wider than the control's is no answer.

  bench/cpu_turns.py AIFLAME [ROUNDS [MILLISECONDS]]      needs cc
"""
import random
import statistics
import subprocess
import sys
import tempfile

PYTHON = """
import sys, time
def inner(n):
    s = 0
    for i in range(n): s += i * i % 7
    return s
def outer(n, depth): return inner(n) if depth == 0 else outer(n, depth - 1)
for line in sys.stdin:
    t = time.process_time()
    for _ in range(int(line)): outer(300, 20)
    print(int((time.process_time() - t) * 1e9), flush=True)
"""
C = r"""
#include <stdio.h>
#include <time.h>
__attribute__((noinline, noipa)) static unsigned inner(unsigned n) { unsigned s = n; while (n--) s = s * 31 + (s ^ n); return s; }
__attribute__((noinline, noipa)) static unsigned outer(unsigned n, int depth) { return depth ? outer(n, depth - 1) + 1 : inner(n); }
static long now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
int main(void) {
	volatile unsigned sum = 0;
	for (long n; scanf("%ld", &n) == 1; fflush(stdout)) {
		long t = now();
		while (n--) sum += outer(10000, 20);
		printf("%ld\n", now() - t);
	}
}
"""


def ways(aiflame, directory):
    record = [aiflame, "record", "-q", "--cpu", "-o"]
    return {"alone": [], "control": [],
            "record --cpu": record + [directory + "/a.data"],
            "record --cpu --children": record + [directory + "/b.data", "--children"],
            "record --cpu --wall": record + [directory + "/c.data", "--wall"],
            "stat": [aiflame, "stat", "-o", directory + "/stat.txt"]}


def turn(process, work):
    process.stdin.write("%d\n" % work)
    process.stdin.flush()
    return int(process.stdout.readline())


def interval(values):
    draws = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(2000))
    return draws[50], draws[1949]


def measure(name, program, aiflame, rounds, nanoseconds):
    with tempfile.TemporaryDirectory() as directory:
        live = {way: subprocess.Popen(command + program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                for way, command in ways(aiflame, directory).items()}
        work = 10
        while turn(live["alone"], work) < nanoseconds:
            work *= 2
        ratios = {way: [] for way in live if way != "alone"}
        for i in range(rounds + 3):
            order = list(live)
            random.shuffle(order)
            took = {way: turn(live[way], work) for way in order}
            for way in ratios if i >= 3 else []:
                ratios[way].append(100 * (took[way] / took["alone"] - 1))
        for process in live.values():
            process.stdin.close()
            process.wait()
    for way, values in ratios.items():
        print("%-8s %-24s %+6.1f  [%+.1f %+.1f]" % ((name, way, statistics.median(values)) + interval(values)), flush=True)


def main():
    aiflame = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    nanoseconds = 1e6 * (int(sys.argv[3]) if len(sys.argv) > 3 else 250)
    with tempfile.TemporaryDirectory() as directory:
        with open(directory + "/work.c", "w") as source:
            source.write(C)
        subprocess.run(["cc", "-O2", "-g", "-o", directory + "/work", directory + "/work.c"], check=True)
        with open(directory + "/work.py", "w") as source:
            source.write(PYTHON)
        measure("Python", [sys.executable, directory + "/work.py"], aiflame, rounds, nanoseconds)
        measure("C", [directory + "/work"], aiflame, rounds, nanoseconds)


main()
