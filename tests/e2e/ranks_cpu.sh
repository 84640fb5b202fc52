#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks of MPI jobs without a device, whose late rank is known: is it named, with what it is late in?
. "$(dirname "$0")/tap.sh"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK SLURM_PROCID
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null ||
	! mpicc -g -O1 -I "$root/include" -o app "$root/tests/e2e/ranks_cpu.c" 2>mpicc.out; then
	skip "a late rank without a device is named with the line that it is late in" "no mpicc or no mpirun"
	done_testing
	exit
fi

. "$root/tests/e2e/ranks_job.sh" # job NAME RANKS KIND STEPS LATE_US LATE
named="w['verdict'] == 'one_late' and w['late'] == 1 and w['place'].startswith"
most="max(r, key=lambda x: x['wait_given'])['rank'] == 1"

check "a job of MPI is recorded whose ranks use no device" job allreduce 3 allreduce 60 30000 1
check "all calls of ranks without a device are matched" ask allreduce "[x['operations'] for x in r] == [60] * 3"
on_calm "most waiting of ranks without a device is for the late one" ask allreduce "$most"
on_calm "a late rank without a device is named with the line that it is late in" ask allreduce "$named('straggle (ranks_cpu.c:')"
check "steps of ranks without a device are turns of the loop around their calls" ask allreduce "w['steps'] == 59 and not w['are_operations'] and all(x['step'] for x in r)"
turns() { [ "$("$aiflame" report --steps --format csv --limit 0 allreduce.data | grep -c ',turn$')" = 59 ]; }
check "report --steps lists the turns around the calls of ranks without a device" turns
on_calm "why says first that a job without devices is bound by its late rank" says 'bound by rank 1, which is late, in straggle (ranks_cpu.c:' "$aiflame" why allreduce.data
on_calm "waits for a late rank without a device stand on its function" sh -c '"$1" flame --of waits --detail full -o waits.folded allreduce.data && grep -q "for rank 1.*;straggle" waits.folded' sh "$aiflame"
check "the summary of a job without devices has its functions, and why" sh -c '"$1" record -o short.data mpirun --oversubscribe -np 2 ./app allreduce 20 0 -1 2>summary.out; grep -q "^function .*%" summary.out && grep -q "next: aiflame why" summary.out' sh "$aiflame"
check "the page of a job without devices is written" "$aiflame" view -o allreduce.html allreduce.data

check "a job is recorded whose first rank marks each two of its steps as one" job marked 2 marked 40 0 -1
check "steps that one rank marks are not those of others without a device" ask marked "r[0]['step'] and r[1]['step'] and 4 * r[1]['step'] < 3 * r[0]['step']"

# orphans: threads of no process, as a damaged file has them
orphans() {
	cp allreduce.data orphans.data && python3 -c "
import sqlite3
d = sqlite3.connect('orphans.data')
d.execute('UPDATE thread SET process = NULL')
d.commit()" && "$aiflame" report --ranks --format json orphans.data
}
check "calls of MPI whose thread has no process are of no rank" orphans

check "a job whose late rank sleeps is recorded" job sleep 2 sleep 40 50000 1
on_calm "a rank that sleeps is named with the function that sleeps" ask sleep "$named('read_input (ranks_cpu.c:')"

# told OPTION...: what waits for the rank that sleeps stand on, recorded with these options
told() {
	"$aiflame" record -q --cpu "$@" -o told.data mpirun --oversubscribe -np 2 ./app sleep 40 50000 1 >told.out 2>&1 || { cat told.out; return 1; }
	"$aiflame" flame --of waits --detail full -o told.folded told.data && cat told.folded
}
asleep() { told --wall && grep -q 'read_input;.*ranks wait: off CPU' told.folded && ! grep -q 'read_input;.*ranks wait: on CPU' told.folded; }
check "a rank that sleeps is off CPU by samples of the wall clock" asleep
uncounted() { told -e page-faults && ! grep -q 'ranks wait: on CPU' told.folded; }
check "samples that count events say nothing of a late rank's time" uncounted

check "a job that is late in one phase is recorded" job phases 3 phases 40 30000 1
on_calm "a rank is named that is late in one phase of three" ask phases "$named('straggle (ranks_cpu.c:') and w['steps'] == 39"

# What a rank is waited for in messages hides it from the operation behind them.
check "a stencil is recorded" job stencil 3 stencil 40 30000 1
on_calm "a rank is named for which its neighbours wait in messages" ask stencil "$named('straggle (ranks_cpu.c:') and $most"
check "a job of a master and workers is recorded" job workers 3 workers 40 30000 1
on_calm "a slow worker is named, and not the master that waits for it" ask workers "$named('straggle (ranks_cpu.c:') and $most"

# Operations that are begun and waited for later: those of which all is known are compared.
for kind in ahead ahead-all ahead-any ahead-some ahead-both; do
	check "a job is recorded that waits by $kind for what it has begun" job $kind 2 $kind 40 30000 1
	on_calm "a rank is named that begins late what others wait for by $kind" ask $kind "$named('straggle (ranks_cpu.c:') and $most"
done
check "waits for one request are matched with its operation" ask ahead "[x['operations'] for x in r] == [40] * 2"
check "waits for all of several requests are matched with their operation" ask ahead-all "[x['operations'] for x in r] == [40] * 2"
check "waits for any of several requests are matched with the operation of each" ask ahead-any "[x['operations'] for x in r] == [80] * 2"
check "waits for some of several requests are matched with the operations of all that are done" ask ahead-some "[x['operations'] for x in r] == [80] * 2"
check "a job is recorded that tests a request until it is done" job tested 2 ahead-test 10 0 -1
check "an operation that is tested until it is done is not compared, which is said" says 'tested until they were done (MPI_Test), which is not followed' "$aiflame" report --ranks tested.data

nobody() {
	for kind in allreduce phases stencil; do
		job none 2 "$kind" 60 0 -1 && ask none "w['verdict'] != 'one_late'" || return 1
	done
}
on_calm "no rank without a device is named where none straggles" nobody

# A recording of each rank, merged.
each() {
	rm -f each-*.data
	metered mpirun --oversubscribe -np 2 "$aiflame" record -q -o "$work/each-%r.data" ./app allreduce 40 30000 1 >each.out 2>&1 &&
		"$aiflame" merge -q -o merged.data each-0.data each-1.data && answer merged
}
check "a recording of each rank without a device is merged with the others" each
check "calls of merged ranks without a device are matched" ask merged "[x['operations'] for x in r] == [40] * 2"
on_calm "the late rank without a device is named of merged recordings" ask merged "$named('straggle (ranks_cpu.c:')"

lone() { "$aiflame" record -q -o lone.data --runtime cuda mpirun --oversubscribe -np 2 ./app allreduce 10 0 -1 && "$aiflame" query --format csv lone.data "SELECT count(*) FROM ops"; }
check "--runtime records no process for its calls of MPI" says 0 lone
done_testing
