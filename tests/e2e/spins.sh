#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Threads of an OpenMP program that spin until the others are done: they wait, and for whom.
. "$(dirname "$0")/tap.sh"

number() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }

cat >uneven.c <<'END'
#include <omp.h>
#include <stdio.h>
#include <time.h>
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static void compute(double s)
{
	double until = cpu_s() + s;
	volatile unsigned long x = 1;
	while (cpu_s() < until)
		for (int i = 0; i < 100000; i++)
			x = x * 3 + 1;
}
int main(void)
{
	for (int i = 0; i < 20; i++) {
#pragma omp parallel
		compute(omp_get_thread_num() ? 0.005 : 0.06);
	}
	puts("done");
	return 0;
}
END
if ! "${CC:-cc}" -O1 -g -fopenmp -o uneven uneven.c 2>compiled || ! ldd uneven | grep -qE 'lib(gomp|omp|iomp5)' || [ "$(nproc)" -lt 2 ]; then
	skip "threads that spin at a barrier of OpenMP are waiting" "no OpenMP here, or one CPU, where nothing spins"
	done_testing
	exit 0
fi
check "an OpenMP program with uneven work is recorded" env OMP_NUM_THREADS=2 OMP_WAIT_POLICY=active GOMP_SPINCOUNT=infinite KMP_BLOCKTIME=infinite \
	"$aiflame" record -q --cpu -o uneven.data ./uneven
"$aiflame" flame --of cpu -o uneven.folded uneven.data
check "threads that spin stand as spinning, by the runtime's name" grep -qE ';\[spinning: lib(gomp|omp|iomp5)[^]]*\] [0-9]+$' uneven.folded
check "no address in the runtime stands for the wait" sh -c "! grep -E ';\\[lib(gomp|omp|iomp5)[^];]*\\+0x[0-9a-f]+\\] [0-9]+\$' uneven.folded"
check "the table of functions has one row for all that spins" sh -c "[ \$('$aiflame' report --cpu --limit 0 uneven.data | grep -c '\\[spinning: ') = 1 ]"
check "why says how much spins" says 'of the CPU time: threads wait for others at the end of parallel work' "$aiflame" why uneven.data
main=$(number uneven.data 'SELECT min(pid) FROM processes')
check "why says for which thread the others wait" says "for $main (uneven) most, which computes meanwhile" "$aiflame" why uneven.data
# Both runs of the command spin as the recorded one does.
check "a run directory of a program that spins is made" env OMP_NUM_THREADS=2 OMP_WAIT_POLICY=active GOMP_SPINCOUNT=infinite KMP_BLOCKTIME=infinite \
	"$aiflame" runbook run -d spins -r 1 -- ./uneven
check "run files class time in which threads spin as none" python3 -c "
import json, re
paths = [p for of in json.load(open('spins/profile_summary.json'))['aiflame']['paths'].values() for p in of]
spins = [p for p in paths if p['kernel'].startswith('[spinning: ')]
assert len(spins) == 1 and spins[0]['op'] == 'none' and spins[0]['time_us'] > 0, paths
assert not [p for p in paths if re.match(r'\[lib(gomp|omp|iomp5).*\+0x', p['kernel'])], paths"
check "why does not want waiting to be made faster" sh -c "! '$aiflame' why uneven.data | grep 'make \\[spinning'"
done_testing
