#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame stacks --ranks: of a job that hangs, which rank is not where the others wait, in which operation, called by which line.
# Ranks of other tests are seen beside those of this one, but for a namespace of its own.
if [ -z "${OWN_PROCESSES:-}" ] && unshare -p -f --kill-child --mount-proc true 2>/dev/null; then
	OWN_PROCESSES=1 exec unshare -p -f --kill-child --mount-proc "$0"
fi
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
unset LD_PRELOAD NVTX_INJECTION64_PATH RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK SLURM_PROCID
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$work"' EXIT

# start N COMMAND...: N ranks of it. Their numbers are in $pids, their port is their own.
start() {
	ranks=$1
	shift
	pids=
	port=$((port + 1))
	for rank in $(seq 0 $((ranks - 1))); do
		RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$ranks LOCAL_WORLD_SIZE=$ranks MASTER_ADDR=$$ MASTER_PORT=$port "$@" >rank-$rank.out 2>&1 &
		pids="$pids $!"
	done
	first=${pids# } first=${first%% *}
}
port=1
quit() {
	kill -9 $pids 2>/dev/null
	wait
	pids=
}
# sees TEXT...: a look at the job that says all of these
sees() {
	"$aiflame" stacks --ranks "$first" >look.txt 2>&1 || { cat look.txt; return 1; }
	for text in "$@"; do
		grep -qF -- "$text" look.txt || { echo "nowhere: $text"; tail -n 20 look.txt; return 1; }
	done
}
never() { ! grep -qF -- "$1" look.txt || { cat look.txt; return 1; }; }

# ---- a simulated job: NVTX's marks as NCCL makes them, no NCCL ----

app=$build/tests/e2e/collective_app
cp "$app" app

rm -f shared
start 4 ./app shared 6 0
for pid in $pids; do wait "$pid" || failed=$((failed + 1)); done
check "a simulated job in which no rank leaves an operation out ends" grep -q "rank 3 ends" rank-3.out

# The rank $1 of four leaves the operation $2 of $3 out: all others wait in the last one.
cat >skips.sh <<'END'
[ "$RANK" = "$1" ] && exec ./app "$4" "$3" "$2"
exec ./app "$4" "$3" 0
END
rm -f shared
start 4 sh skips.sh 2 4 9 shared
check "a rank that left an operation out is named with its line and its operation" wait_until sees \
	"missing: rank 2, while ranks 0, 1, 3 wait in ncclAllReduce, called by train (collective_app.c:" "; rank 2 waits in MPI_Barrier, called by finish (collective_app.c:"
check "stacks --ranks names all ranks of the host" sees "job of 4 ranks: ranks 0 to 3 on this host"
check "ranks that hang have not moved between two looks" sees "apart: none has moved"
# A rank that looks whether it may go on is elsewhere for a moment.
shares() { sees && grep '\[the same: rank 1, process [0-9]*, thread .*; rank 3, process' look.txt; }
check "stacks that ranks share are written once, with all ranks" wait_until shares
check "a job is found without a number, too" sh -c "'$aiflame' stacks --ranks >all.txt; grep -q 'missing: rank 2, while ranks 0, 1, 3 wait in ncclAllReduce' all.txt"
check "nothing is said of counts where nobody counts" never communicator
check "--json has ranks, places and what is said" sh -c "'$aiflame' stacks --ranks --json $first | python3 -c '
import json, sys
j, = json.load(sys.stdin)[\"jobs\"]
assert [r[\"rank\"] for r in j[\"ranks\"]] == [0, 1, 2, 3], j
assert [r[\"operation\"] for r in j[\"ranks\"]] == [\"ncclAllReduce\"] * 2 + [\"MPI_Barrier\", \"ncclAllReduce\"], j
assert all(r[\"function\"] == (\"finish\" if r[\"rank\"] == 2 else \"train\") and r[\"line\"] > 0 for r in j[\"ranks\"]), j
assert not any(r[\"moved\"] for r in j[\"ranks\"]) and any(\"missing: rank 2\" in s for s in j[\"says\"]), j
assert all(r[\"process\"][\"threads\"] for r in j[\"ranks\"]), j
'"
# A rank that has ended.
one=${pids##* }
kill -9 "$one"
wait_until ended "$one"
check "a rank that has ended is missed" sees "ranks 0 to 2 on this host, where 1 more has ended"
check "a job of which a rank has ended is not said to be complete" never "nobody is missing"
quit

# The same under the agent, which counts what NCCL marks.
rm -f shared
start 4 "$aiflame" record -q --nvtx -o "$work/r%r.data" sh skips.sh 2 4 9 shared
counted() { sees "communicator 0xc0ffee of 4 ranks: rank 2 has begun 8 operations, ranks 0, 1, 3 up to 9; number 9, ncclAllReduce of 4.0 KiB, is what it is missing in"; }
check "a rank that is behind is named with the communicator, the number and the operation" wait_until counted
quit
rm -f shared
start 4 "$aiflame" record -q --nvtx -o "$work/s%r.data" sh skips.sh 1 10 30 shared
differs() { sees "communicator 0xc0ffee of 4 ranks: number 10 is ncclBroadcast of 64 B on ranks 0, 2, 3, and ncclAllReduce of 4.0 KiB on rank 1: one has left an operation out, or has one more"; }
check "the first number at which ranks differ is said" wait_until differs
quit

# The same on standby, with nobody who records.
rm -f shared
export XDG_RUNTIME_DIR="$work"
"$aiflame" env --nvtx >env.sh
start 4 sh -c '. ./env.sh; exec sh skips.sh 2 4 9 shared'
check "operations of a rank on standby that nobody records are counted" wait_until counted
quit

# ---- a job that goes on ----
cat >go.py <<'END'
import time
def forward():
    t = time.time()
    while time.time() < t + 0.05:
        pass
def backward():
    t = time.time()
    while time.time() < t + 0.03:
        pass
while True:
    forward()
    backward()
END
start 2 python3 go.py
check "a job that goes on is not taken for one that hangs" wait_until sees "each has moved, the job goes on" "no rank waits in a collective operation"
quit

check "processes that are no ranks by their environment are compared as they are named" sh -c "
	sleep 1000 & a=\$!; sleep 1000 & b=\$!
	'$aiflame' stacks --ranks \$a \$b >look.txt; r=\$?
	kill \$a \$b; [ \$r = 0 ] && grep -q '^2 processes, no ranks by their environment' look.txt"
if [ -n "${OWN_PROCESSES:-}" ]; then
	check "without any rank it says what is missing" says "is a rank of a job (RANK and WORLD_SIZE" "$aiflame" stacks --ranks
	check "without any rank it is status 1" status_is 1 "$aiflame" stacks --ranks
else
	skip "without any rank it says what is missing" "no namespace of processes can be made: other tests may have ranks"
fi
check "neither a process nor --ranks is misuse" status_is 2 "$aiflame" stacks

# ---- PyTorch with gloo, on CPUs ----
torch=
for python in /usr/bin/python3 python3 ${AIFLAME_PYTHONS:-}; do
	"$python" -c 'import torch.distributed as d; assert d.is_available()' 2>/dev/null && torch=$python && break
done
if [ "$torch" ]; then
	export MEET="$work/meet" OMP_NUM_THREADS=1
	line() { grep -nF -- "$1" "$here/hang_gloo.py" | head -n 1 | cut -d: -f1; }
	start 4 "$torch" "$here/hang_gloo.py" skip
	check "a rank of PyTorch that left an all_reduce out is named with its line" wait_until sees \
		"missing: rank 2, while ranks 0, 1, 3 wait in all_reduce, called by train (hang_gloo.py:$(line 'dist.all_reduce'))" "; rank 2 waits in barrier, called by finish (hang_gloo.py:$(line 'dist.barrier'))" "none has moved"
	quit
	rm -f meet
	start 4 "$torch" "$here/hang_gloo.py" load
	check "a rank of PyTorch that is in no operation is named with its line" wait_until sees \
		"missing: rank 2, while ranks 0, 1, 3 wait in all_reduce, called by train (hang_gloo.py:$(line 'dist.all_reduce'))" "; rank 2 is in load (hang_gloo.py:$(line 'time.sleep(0.05)'))"
	quit
	unset MEET
else
	skip "a rank of PyTorch that left an all_reduce out is named with its line" "no PyTorch with torch.distributed"
fi

# ---- Open MPI ----
if command -v mpicc >/dev/null && command -v mpirun >/dev/null && mpicc -g -O1 -o hang_mpi "$here/hang_mpi.c" 2>mpicc.out; then
	mpirun --allow-run-as-root --oversubscribe -np 4 ./hang_mpi >mpi.out 2>&1 &
	first=$!
	pids=$first
	check "a rank of Open MPI that left an MPI_Allreduce out is named with its line, found by the launcher" wait_until sees \
		"missing: rank 2, while ranks 0, 1, 3 wait in MPI_Allreduce, called by train (hang_mpi.c:$(grep -n MPI_Allreduce "$here/hang_mpi.c" | cut -d: -f1))" "; rank 2 waits in MPI_B" "called by finish (hang_mpi.c:"
	kill "$first"
	wait "$first" 2>/dev/null
	pids=
else
	skip "a rank of Open MPI that left an MPI_Allreduce out is named with its line, found by the launcher" "no mpicc and mpirun"
fi
done_testing
