#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks of MPI jobs without a device that wait for each other in messages: is the late one named, at whatever end of a chain of waits it is?
. "$(dirname "$0")/tap.sh"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK SLURM_PROCID
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
. "$root/tests/e2e/ranks_job.sh" # job NAME RANKS KIND STEPS LATE_US LATE

# build MPICC: the programs
build() {
	"$1" -g -O1 -I "$root/include" -o app "$root/tests/e2e/ranks_cpu.c" &&
		for p in ranks_messages mpi_pipeline mpi_halo; do "$1" -g -O1 -o $p "$root/tests/e2e/$p.c" || return 1; done
}
# numbered: messages have the same numbers on both sides, and the program goes as it does alone
numbered() {
	"$aiflame" record -q -o numbered.data $mpirun -n 2 ./ranks_messages &&
		"$aiflame" query --format json numbered.data "SELECT id, sequence, process FROM ops WHERE name LIKE 'MPI_%' AND sequence > 0" >numbered.json &&
		python3 "$root/tests/e2e/ranks_messages.py" numbered.json
}
# once: calls with two messages are one call in tables and time lines
once() {
	"$aiflame" report --calls --format json shift.data >calls.json && "$aiflame" export --format chrome -o chrome.json shift.data &&
		python3 -c '
import json
calls = [x["calls"] for x in json.load(open("calls.json"))["rows"] if x["call"] == "MPI_Sendrecv"]
events = [e for e in json.load(open("chrome.json"))["traceEvents"] if e.get("name") == "MPI_Sendrecv"]
print(calls, len(events))
assert calls == [40] * 3 and len(events) == 120'
}
named() { echo "w['verdict'] == 'one_late' and w['late'] == $1 and w['place'].startswith('$2 (')"; }
most() { echo "max(r, key=lambda x: x['wait_given'])['rank'] == $1"; }
# truth NAME RANKS PROGRAM ARGUMENT...: records a program that says itself how long it computes and waits
truth() {
	name=$1 ranks=$2
	shift 2
	metered "$aiflame" record -q -o "$name.data" $mpirun -n "$ranks" "$@" >"$name.out" 2>&1 || { cat "$name.out"; return 1; }
	cat "$name.out"
	test "$(grep -c '^truth: ' "$name.out")" = "$ranks" && answer "$name"
}
# of_messages MPI: what is tried with each library
of_messages() {
	check "messages have the same numbers on both sides with $1" numbered
	for kind in chain rendezvous halo shift any; do
		check "a job of messages alone is recorded with $1: $kind" job $kind 3 $kind 40 40000 1
		on_calm "most waiting in messages is for the late rank with $1: $kind" ask $kind "$(most 1)"
		on_calm "the late rank of messages alone is named with its line with $1: $kind" ask $kind "$(named 1 straggle)"
	done
	check "calls with two messages stand once in tables and time lines with $1" once
	check "a job of messages alone is recorded with $1 whose last rank waits for the first through others" job passed 3 chain 40 40000 0
	on_calm "the time of a wait is passed on to the rank at the end of the chain with $1" ask passed "$(named 0 straggle) and $(most 0)"
	check "a pipeline with a slow stage is recorded with $1" truth pipeline 3 ./mpi_pipeline 80 1
	on_calm "the slow stage of a pipeline is named with $1" ask pipeline "$(named 1 slowly) and $(most 1)"
	check "an exchange of halos with a slow rank is recorded with $1" truth halos 3 ./mpi_halo 150 2
	on_calm "the slow rank of an exchange of halos is named with $1" ask halos "$(named 2 add_source) and $(most 2)"
}

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null || ! build mpicc 2>mpicc.out; then
	skip "a late rank is named for which others wait in messages" "no mpicc or no mpirun"
else
	mpirun="mpirun --oversubscribe"
	of_messages "the default MPI"
	check "a job is recorded whose ranks wait in a barrier for one that itself waits for a message" job sweep 3 sweep 40 40000 1
	on_calm "a wait in an operation is passed on to the rank that sends late" ask sweep "$(named 1 straggle) and $(most 1)"
	nobody() {
		for kind in chain halo; do
			job none 2 $kind 60 0 -1 && ask none "w['verdict'] != 'one_late'" || return 1
		done
	}
	on_calm "no rank is named where messages wait for none" nobody
	on_calm "waits for messages stand on the function of the rank at the end of the chain" sh -c '"$1" flame --of waits --detail full -o waits.folded passed.data && grep -q "for rank 0.*;straggle" waits.folded' sh "$aiflame"
	options=--wall
	check "a job of messages is recorded by the wall clock" job wall 3 chain 40 40000 1
	options=
	on_calm "why names the same rank of a recording by the wall clock" ask wall "$(named 1 straggle)"
	on_calm "why says first that a job by the wall clock is bound by its late rank" says 'bound by rank 1, which is late, in straggle (ranks_cpu.c:' "$aiflame" why wall.data
	each() {
		rm -f each-*.data
		metered mpirun --oversubscribe -n 3 "$aiflame" record -q -o "$work/each-%r.data" ./app chain 40 40000 1 >each.out 2>&1 &&
			"$aiflame" merge -q -o merged.data each-0.data each-1.data each-2.data && answer merged
	}
	check "a recording of each rank of a chain of messages is merged with the others" each
	on_calm "the late rank of messages is named of merged recordings" ask merged "$(named 1 straggle)"
fi

python=
for p in python3 /usr/bin/python3; do
	"$p" -c 'import mpi4py.MPI' 2>/dev/null && python=$p && break
done
if [ -z "$python" ] || ! command -v mpirun >/dev/null; then
	skip "a late rank of mpi4py is named for which others wait in messages" "no mpi4py (python3-mpi4py) or no mpirun"
else
	mpirun="mpirun --oversubscribe"
	# of_python RANKS KIND SLOW: records a job of ranks_mpi4py.py
	of_python() {
		metered "$aiflame" record -q -o "$2.data" $mpirun -n "$1" "$python" "$root/tests/e2e/ranks_mpi4py.py" "$2" 40 "$3" >"$2.out" 2>&1 || { cat "$2.out"; return 1; }
		answer "$2"
	}
	check "a pipeline of mpi4py is recorded, which sends objects" of_python 3 objects 1
	on_calm "the slow stage of a pipeline of mpi4py is named with its line" ask objects "$(named 1 work | sed 's/work (/work (ranks_mpi4py.py:/') and $(most 1)"
	check "an exchange of halos of mpi4py is recorded, which sends arrays" of_python 3 arrays 2
	on_calm "the slow rank of an exchange of halos of mpi4py is named" ask arrays "$(named 2 work) and $(most 2)"
fi

if ! command -v mpicc.mpich >/dev/null || ! command -v mpiexec.mpich >/dev/null || ! build mpicc.mpich 2>mpicc.out; then
	skip "a late rank of MPICH is named for which others wait in messages" "no MPICH (mpich, libmpich-dev)"
else
	mpirun=mpiexec.mpich
	of_messages MPICH
fi
done_testing
