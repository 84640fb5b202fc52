#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks of an MPI job whose late rank is known: is it named, by the calls of MPI in which the others wait for it?
. "$(dirname "$0")/tap.sh"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK SLURM_PROCID
agent=$build/src/agent/libaiflame-agent.so
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# A library that calls MPI where the program has it, which this one has not.
cat >weak.c <<'END'
extern int MPI_Barrier(long) __attribute__((weak));
int main(void)
{
	return MPI_Barrier ? MPI_Barrier(0) : 0;
}
END
cc -fPIE -pie -o weak weak.c || exit 1
check "a program that calls MPI where it is there goes on without it" "$aiflame" record -q -o weak.data ./weak

# Plugins that each have a library of MPI of their own, closed and opened anew; `own` is linked with one of them itself.
cat >mpi.c <<'END'
int MPI_Barrier(long comm);
int MPI_Barrier(long comm)
{
	return comm ? 0 : WHICH;
}
END
cat >plugin.c <<'END'
int MPI_Barrier(long comm);
int plugin(void);
int plugin(void)
{
	int r = MPI_Barrier(0);

	return r;
}
END
cat >plugins.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#ifdef OWN
int MPI_Barrier(long comm);
#else
#define MPI_Barrier(comm) 0
#endif
static int call(void *library)
{
	return ((int (*)(void))dlsym(library, "plugin"))();
}
int main(void)
{
	void *one = dlopen("./plugin1.so", RTLD_NOW | RTLD_LOCAL), *two = dlopen("./plugin2.so", RTLD_NOW | RTLD_LOCAL);

	for (int i = 0; i < 3; i++)
		printf("%d%d%d ", MPI_Barrier(0), call(one), call(two));
	dlclose(one);
	dlclose(two);
	for (int i = 0; i < 400; i++) /* so that nothing is mapped again where it was */
		mmap(NULL, 4096 * (1 + i % 8), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	two = dlopen("./plugin2.so", RTLD_NOW | RTLD_LOCAL);
	printf("%d", call(two));
	dlclose(two);
	one = dlopen("./plugin1.so", RTLD_NOW | RTLD_LOCAL);
	printf("%d\n", call(one));
	return 0;
}
END
for i in 1 2 3; do
	cc -shared -fPIC -DWHICH=$i -Wl,-soname,libmpi$i.so -o libmpi$i.so mpi.c &&
		cc -shared -fPIC -O1 -o plugin$i.so plugin.c -Wl,--no-as-needed "./libmpi$i.so" -Wl,-rpath,"$work" || exit 1
done
cc -o plugins plugins.c -ldl && cc -DOWN -o own plugins.c ./libmpi3.so -Wl,-rpath,"$work" -ldl || exit 1
same_under() {
	program=$1
	shift
	./"$program" >plain.out && "$@" ./"$program" >with.out && cat with.out && cmp plain.out with.out
}
check "plugins with an MPI of their own each call it, also when opened anew" same_under plugins "$aiflame" record -q -o plugins.data
check "plugins with an MPI of their own each call it where nobody records" same_under plugins env LD_PRELOAD="$agent"
check "the program's own MPI comes before that of a plugin" same_under own "$aiflame" record -q -o own.data

if [ ! -e /etc/OpenCL/vendors/pocl.icd ] || ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null ||
	! mpicc -g -O1 -I"$root/tests/e2e" -o app "$root/tests/e2e/ranks_mpi.c" "$root/tests/e2e/agent_cl.c" -lOpenCL 2>mpicc.out; then
	skip "a late rank of MPI is named with the line that it is late in" "no PoCL, no mpicc or no mpirun"
	done_testing
	exit
fi

. "$root/tests/e2e/ranks_job.sh" # job NAME RANKS STEPS LATE_US LATE [halves|burst|master]
check "a job of three ranks of MPI is recorded" job late 3 60 30000 1
check "all operations of three ranks are matched" ask late "[x['operations'] for x in r] == [61] * 3"
check "all calls of a communicator are numbered, on each rank alike" says '61,183' "$aiflame" query --format csv late.data "SELECT count(DISTINCT sequence), count(*) FROM ops WHERE name LIKE 'MPI_%' AND sequence > 0"
on_calm "most waiting of an MPI job is for its late rank" ask late "max(r, key=lambda x: x['wait_given'])['rank'] == 1"
on_calm "the late rank of an MPI job is named" ask late "w['verdict'] == 'one_late' and w['late'] == 1"
on_calm "a late rank of MPI is named with the line that it is late in" ask late "w['place'].startswith('straggle (ranks_mpi.c:')"
on_calm "a device that is idle while its host waits in MPI is idle for other ranks" ask late "all(x['idle_other_ranks'] > x['idle'] / 2 for x in r if x['rank'] != 1)"
on_calm "why says in words that an MPI job is bound by its late rank" says 'bound by rank 1, which is late, in straggle (ranks_mpi.c:' "$aiflame" why late.data
page() {
	"$aiflame" view -o late.html late.data && python3 -c 'import base64, gzip, re
text = re.search(r"id=\"data\">([^<]*)<", open("late.html").read()).group(1)
assert b"\"s0_waiting\"" in gzip.decompress(base64.b64decode(text))'
}
check "the page draws idle time for other ranks" page
check "report --sync has calls of MPI as communication" says 'communicate' "$aiflame" report --sync late.data

# Other ranks spin in it.
into() { "$aiflame" flame --of cpu --detail full -o late.folded late.data && grep -q 'PMPI_[A-Z][a-z]*;' late.folded; }
check "CPU samples in a call of MPI go on into its library" into

# Three times: by chance one of two ranks is the later one in most steps now and then.
nobody() {
	for _ in 1 2 3; do
		job none 2 60 0 1 && ask none "w['verdict'] != 'one_late'" || return 1
	done
}
on_calm "no rank of MPI is named where none straggles" nobody

check "ranks on communicators that are split and freed are recorded" job halves 4 60 30000 2 halves
check "operations of communicators that are made anew are matched" ask halves "[x['operations'] for x in r] == [61] * 4"
on_calm "a rank waits for those of its own communicator" ask halves "max(r, key=lambda x: x['wait_given'])['rank'] == 2 and max(r, key=lambda x: x['wait_suffered'])['rank'] == 0"

budget() {
	"$aiflame" record -q --overhead 0.1 -o budget.data mpirun --oversubscribe -np 2 ./app 200 1000 1 burst && "$aiflame" report --ranks budget.data
}
check "calls of MPI are matched by number also where launches were left out, which is said" says 'which all ranks captured; matched by number' budget

two_jobs() {
	"$aiflame" record -q -o jobs.data sh -c 'mpirun --oversubscribe -np 2 ./app 40 1000 0 & mpirun --oversubscribe -np 2 ./app 60 1000 1; wait' && answer jobs
}
check "two jobs of MPI are recorded together" two_jobs
check "operations of two jobs are not taken for the same" ask jobs "sorted(x['operations'] for x in r) == [41, 41, 61, 61]"

# A tool that stands in front of MPI as PMPI lets it.
cat >tool.c <<'END'
#include <mpi.h>
#include <stdio.h>
static int calls;
int MPI_Barrier(MPI_Comm comm)
{
	calls++;
	return PMPI_Barrier(comm);
}
__attribute__((destructor)) static void say(void)
{
	if (calls)
		printf("barriers=%d\n", calls);
}
END
mpicc -shared -fPIC -o tool.so tool.c || exit 1
tool() { LD_PRELOAD=$work/tool.so job tool 2 40 0 1; }
check "a job with a tool of PMPI is recorded" tool
check "a tool of PMPI sees each call beside the agent" sh -c 'test "$(grep -c "^barriers=11$" tool.out)" = 2'
check "calls that a tool of PMPI passes on are recorded" ask tool "[x['operations'] for x in r] == [41] * 2"

# Communicators whose numbers ranks cannot agree on have none.
cat >numbers.c <<'END'
#include <mpi.h>
#include <string.h>
int main(int argc, char **argv)
{
	MPI_Comm parent, many[600];
	char mode = argv[1][0];
	int provided, in = 0, out[8], n = mode == 'f' ? 600 : 1;

	MPI_Init_thread(&argc, &argv, mode == 't' ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
	MPI_Comm_get_parent(&parent);
	if (mode == 's' && parent == MPI_COMM_NULL)
		MPI_Comm_spawn(argv[0], &argv[1], 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent, MPI_ERRCODES_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < n; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &many[i]);
		MPI_Allgather(&in, 1, MPI_INT, out, 1, MPI_INT, many[i]);
	}
	for (int i = 0; i < n; i++)
		MPI_Comm_free(&many[i]);
	MPI_Comm_dup(MPI_COMM_WORLD, &many[0]);
	MPI_Allreduce(&in, out, 1, MPI_INT, MPI_SUM, many[0]);
	MPI_Comm_free(&many[0]);
	MPI_Finalize();
	return provided < MPI_THREAD_MULTIPLE && mode == 't';
}
END
mpicc -o numbers numbers.c || exit 1
one_line() { "$@" | tr '\n' ' '; }
# numbers MODE: calls of each function, those that are numbered, and communicators, of two ranks
numbers() {
	"$aiflame" record -q --cpu -o numbers.data mpirun --oversubscribe -np 2 ./numbers "$1" &&
		"$aiflame" query --format csv numbers.data "SELECT name, count(*), count(sequence), count(DISTINCT id) FROM ops WHERE name LIKE 'MPI_All%' OR name = 'MPI_Barrier' GROUP BY name ORDER BY name"
}
check "communicators of one thread's calls are numbered" says 'MPI_Allgather,2,2,1 MPI_Allreduce,2,2,1 MPI_Barrier,2,2,1' one_line numbers one
check "where threads call at once only calls on MPI_COMM_WORLD are numbered" says 'MPI_Allgather,2,0,0 MPI_Allreduce,2,0,0 MPI_Barrier,2,2,1' one_line numbers threads
check "communicators that come after one without a place have no numbers" says 'MPI_Allreduce,2,0,0 MPI_Barrier,2,2,1' one_line numbers full
check "a job that another one spawns has communicators of its own" says 'MPI_Allgather,4,4,2 MPI_Allreduce,4,4,2 MPI_Barrier,4,4,2' one_line numbers spawn

# A recording of each rank, merged.
each() {
	rm -f each-*.data
	metered mpirun --oversubscribe -np 2 "$aiflame" record -q -o "$work/each-%r.data" ./app 60 30000 0 >each.out 2>&1 &&
		"$aiflame" merge -q -o merged.data each-0.data each-1.data && answer merged
}
check "a recording of each rank of MPI is merged with the others" each
# A rank goes on after a second in which its recorder has not answered: without a CPU for so long that one misses the first calls.
matched() {
	ask merged "[x['operations'] for x in r] == [61] * 2" && return
	for k in 0 1; do
		"$aiflame" query --format csv each-$k.data "SELECT name, count(*), min(sequence), max(sequence), min(start_ns) FROM ops WHERE sequence IS NOT NULL GROUP BY name"
	done
	return 1
}
on_calm "operations of merged recordings are matched" matched
on_calm "the late rank is named of merged recordings" ask merged "w['verdict'] == 'one_late' and w['late'] == 0"

off() { "$aiflame" record -q --calls off -o off.data mpirun --oversubscribe -np 2 ./app 10 0 1 && "$aiflame" report --ranks off.data; }
check "--calls off leaves calls of MPI out" says 'ranks are not compared' off
# Waits in messages before an operation are known of ranks without a device alone.
check "a job is recorded whose master uses no device" job master 2 40 30000 0 master
on_calm "a rank with a device is not late for having waited for one without" ask master "w['verdict'] != 'one_late' or w['late'] == 0"
done_testing
