#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The memo of stacks, each answer checked, in one workload compiled by each C++ compiler found, at each
# level, with and without frame pointers: 20,000 captures each.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
for f in "$root"/src/unwind/*.c "$root/src/base/auxv.c"; do
	case $f in */python*.c | */interleave.c) continue ;; esac # stacks of Python
	${CC:-cc} -O2 -g -std=gnu17 -D_GNU_SOURCE -I"$root/src" -c "$f" || exit 1
done
${CC:-cc} -O2 -g -std=gnu17 -D_GNU_SOURCE -I"$root/src" -I"$root/tests" -c "$here/memo_stacks.c" || exit 1
try() {
	how=$1
	shift
	check "the program is compiled: $how" "$@" -I"$root/src" -o stacks "$here/unwind_workload.cpp" ./*.o -ldl -pthread
	check "stacks from the memo are those of the program: $how" ./stacks 20000
}
for compiler in g++ clang++; do
	command -v $compiler >/dev/null 2>&1 || continue
	for level in -O0 -O1 -O2 -O3; do
		try "$compiler $level" $compiler $level
	done
	try "$compiler -O2, frame pointers" $compiler -O2 -fno-omit-frame-pointer
	try "$compiler -O0, no frame pointers" $compiler -O0 -fomit-frame-pointer
done
try "lazy binding, not PIE" ${CXX:-c++} -O2 -Wl,-z,lazy -no-pie
done_testing
