#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUDA programs that run, and that nobody prepared, on a real GPU: the agent is put into them three times for some seconds
# and subscribes to CUPTI late. They compute what they would have, and what they launch meanwhile is recorded.
#   AIFLAME=PATH [KEEP=DIRECTORY] [ATTACHES=N] tests/gpu/inject.sh
. "$(dirname "$0")/../e2e/tap.sh"
here=$root/tests/gpu
aiflame=${AIFLAME:-$aiflame}
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD CUDA_INJECTION64_PATH
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run" PYTHONFAULTHANDLER=1 CUBLAS_WORKSPACE_CONFIG=:4096:8
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
nvcc -O2 -o inject "$here/inject.cu" || { echo "not ok 1 - the program compiles"; exit 1; }
ask() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
programs=plain
for p in torch_train:torch torch_loader:torch torch_graph:torch cupy:cupy jax:jax; do
	python3 -c "import ${p#*:}" 2>/dev/null && programs="$programs ${p%:*}"
done
# They all start at once: most of the time that takes is theirs.
for p in $programs; do
	if [ $p = plain ]; then
		./inject "$work/$p.over" >$p.out 2>$p.err &
	else
		python3 "$here/inject_work.py" $p "$work/$p.over" >$p.out 2>$p.err &
	fi
	echo $! >$p.pid
done
is_ready() { grep -q ': ready' $1.err || ! kill -0 "$(cat $1.pid)"; }
# attach PROGRAM N OPTIONS...: for 3 s; prints what the profile holds
attach() {
	data=$1.$2.data
	pid=$(cat $1.pid)
	shift 2
	timeout -k 5 60 "$aiflame" record -p "$pid" --duration 3 -o $data "$@" >$data.log 2>&1 || { cat $data.log; return 1; }
	echo "$data: launches, first of them, executions, rows of samples: $(ask $data "SELECT (SELECT count(*) FROM launches), (SELECT round(min(time_ns) / 1e9, 2) FROM launches),
		(SELECT count(*) FROM executions), (SELECT count(*) FROM samples)" | tail -n 1); losses $(ask $data "SELECT reason, sum(count) FROM losses GROUP BY 1" | tr '\n' ' '); $(grep -o 'stood still for [0-9.]* ms' $data.log)" >>notes
	[ "$(ask $data 'SELECT (SELECT count(*) FROM launches) > 20 AND (SELECT count(*) FROM executions) > 20')" = 1 ] ||
		{ "$aiflame" info $data; return 1; }
}
attaches() {
	for k in $(seq "${ATTACHES:-3}"); do
		attach $1 $k || return
		kill -0 "$(cat $1.pid)" || { echo "it has ended"; cat $1.err; return 1; }
	done
}
for p in $programs; do
	wait_until is_ready $p
	check "$p: what it launches is recorded, each time" attaches $p
done
# Python frames of a process that was there before
python() { "$aiflame" flame --leaf kernel torch_train.1.data -o python.folded && grep -q 'train_step (inject_work.py)_\[p\].*_\[g\]' python.folded; }
case $programs in *torch_train*) check "torch_train: stacks go from Python to kernels" python ;; esac
all() {
	timeout -k 5 60 "$aiflame" record -a --duration 3 -o all.data >all.log 2>&1 || { cat all.log; return 1; }
	got=$(ask all.data "SELECT count(DISTINCT process) FROM launches")
	echo "record -a: launches of $got processes" >>notes
	[ "$got" -ge "$(echo $programs | wc -w)" ] || { cat all.log; "$aiflame" info all.data; return 1; }
}
check "record -a records all of them" all
for p in $programs; do
	: >$p.over
done
ends() {
	wait "$(cat $1.pid)"
	status=$?
	cat $1.out
	[ $status = 0 ] && grep -q "^$1: all equal" $1.out && ! grep -q ', no events' $1.out || { echo "status $status"; tail -n 40 $1.err; return 1; }
}
for p in $programs; do
	check "$p: it ends as it would have, with what it would have computed" ends $p
done
sed 's/^/# /' notes
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp -- *.data *.log *.out *.err "$KEEP"; }
done_testing
