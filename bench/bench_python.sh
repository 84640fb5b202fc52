#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ns for a Python stack of 12 and of 29 frames, on python3 in PATH and those that AIFLAME_PYTHONS names.
# Bar: 100 ns for 12 frames (hash, hot); without Python a few ns.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -std=gnu17 -O2 -g -fPIC -shared -D_GNU_SOURCE= -I"$root/src" -o "$work/bench.so" \
	"$root/bench/bench_python.c" "$root"/src/unwind/*.c "$root/src/base/auxv.c" -ldl -pthread
cat >"$work/bench.py" <<'END'
import ctypes, platform, sys
lib = ctypes.PyDLL(sys.argv[1])
lib.bench_start()
def deeper(k):
    if k:
        deeper(k - 1)
    else:
        lib.bench_python(platform.python_version().encode())
for depth in 12, 29:
    deeper(depth - 2)  # and the module's frame
END
for python in python3 ${AIFLAME_PYTHONS:-}; do
	"$python" "$work/bench.py" "$work/bench.so"
done
