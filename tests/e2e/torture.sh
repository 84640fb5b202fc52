#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Views and imports whose n-th allocation or system call fails (tests/torture): they end with a message and leave no file,
# or do as if nothing had been. TORTURE_MOST: so many n of a program and way of failing, the same distance apart; 0: all.
. "$(dirname "$0")/tap.sh"
mkdir in runs
"$build/tests/e2e/golden_profiles" full in/full.data "$root/tests/golden/cubin" || exit 1
# The one kind of export that wants a device's binary, which a recording has: PoCL's.
"$aiflame" record -q -F 200 -o in/binary.data "$matmul" 96 2 >matmul.out 2>&1
[ "$("$aiflame" query --format csv in/binary.data "SELECT count(*) FROM codes WHERE arch = 'elf'" 2>query.out | tail -1)" -gt 0 ] || rm -f in/binary.data
cp "$root/tests/golden/views/input/trace.json" in/import-kineto
for kind in chrome folded iaprof nsys perf_script pprof rocpd3 rpd speedscope; do
	cp "$root/tests/fuzz/found/fuzz_import-$kind" in/import-$kind
done
python3 "$root/tests/torture/torture.py" --aiflame "$aiflame" --shim "$build/tests/torture.so" --writer "$build/tests/torture_writer" --inputs "$work/in" --work "$work/runs" \
	--most "${TORTURE_MOST:-16}" "$@"
