#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs as people write them, with one function that the device waits for: in Python (why_everyday.py) on the mock of CUDA and by
# pyopencl, in C++ (why_native.cpp) on the mock.
. "$(dirname "$0")/tap.sh"
LD_LIBRARY_PATH=$build/tests/mock/cuda
AIFLAME_STANDBY=$work/standby
export LD_LIBRARY_PATH AIFLAME_STANDBY
unset CUDA_INJECTION64_PATH
program() {
	metered "$aiflame" record -q --all-launches -o program.data "$@" >out
	"$aiflame" why --format json program.data >why.json && python3 "$root/tests/e2e/why_judge.py" loop
}
judge() {
	busy=0
	on_calm "why finds the loop of a program, its line and its steps: $3" program "$@"
	on_calm "the first owner of idle time is the function that keeps the device waiting: $3" python3 "$root/tests/e2e/why_judge.py" owner
}
for p in process client condition callbacks pool retry frames; do
	judge python3 "$root/tests/e2e/why_everyday.py" $p
done
for python in python3 /usr/bin/python3; do
	"$python" -c 'import pyopencl; pyopencl.create_some_context(interactive=False)' >/dev/null 2>&1 || continue
	for p in queues records; do
		judge "$python" "$root/tests/e2e/why_everyday.py" $p
	done
	break
done
if command -v g++ >/dev/null; then
	g++ -g -O2 -o why_native "$root/tests/e2e/why_native.cpp" -ldl -lpthread
	for p in tree futures events words log jobs; do
		judge ./why_native "$root/tests/golden/cubin/kernels_sm90a.cubin" $p
	done
fi
done_testing
