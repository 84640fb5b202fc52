#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Golden stacks of one workload, compiled by each C++ compiler found at each level, and once with
# lazy binding (samples then fall into the PLT and the loader).
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
flags="-O2 -g -std=gnu17 -D_GNU_SOURCE -I$root/src"
for f in "$root"/src/unwind/*.c "$root/src/base/auxv.c" "$here/unwind_stacks.c"; do
	${CC:-cc} $flags -c "$f" || exit 1
done
try() {
	how=$1
	shift
	check "the program is compiled: $how" "$@" -I"$root/src" -o stacks "$here/unwind_workload.cpp" ./*.o -ldl -lrt -pthread
	check "stacks are unwound as the program knows them: $how" ./stacks 0.5
}
for compiler in g++ clang++; do
	command -v $compiler >/dev/null 2>&1 || continue
	for level in -O0 -O1 -O2 -O3; do
		try "$compiler $level" $compiler $level
	done
	try "$compiler -O2, frame pointers" $compiler -O2 -fno-omit-frame-pointer
	try "$compiler -O2, lazy binding, not PIE" $compiler -O2 -Wl,-z,lazy -no-pie
done
done_testing
