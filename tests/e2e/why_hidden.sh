#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Python programs whose owner of idle time is not where they launch (why_hidden.py): on the mock of CUDA, and by pyopencl on PoCL.
. "$(dirname "$0")/tap.sh"
LD_LIBRARY_PATH=$build/tests/mock/cuda
AIFLAME_STANDBY=$work/standby
export LD_LIBRARY_PATH AIFLAME_STANDBY
unset CUDA_INJECTION64_PATH
program() {
	metered "$aiflame" record -q --all-launches -o program.data "$1" "$root/tests/e2e/why_hidden.py" "$2" >out
	"$aiflame" why --format json program.data >why.json && python3 "$root/tests/e2e/why_judge.py" loop
}
judge() {
	busy=0
	on_calm "why finds the loop of a program, its line and its steps: $2" program "$1" "$2"
	on_calm "the first owner of idle time is the function that keeps the device waiting: $2" python3 "$root/tests/e2e/why_judge.py" owner
}
for p in stages locked async child pause; do
	judge python3 $p
done
for python in python3 /usr/bin/python3; do
	"$python" -c 'import pyopencl; pyopencl.create_some_context(interactive=False)' >/dev/null 2>&1 || continue
	for p in tree unpack tidy; do
		judge "$python" $p
	done
	break
done
done_testing
