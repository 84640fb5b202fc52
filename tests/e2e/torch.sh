#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PyTorch (Debian's python3-torch, on the CPU) decoding and training: the stacks of 100,000 launches deep in
# its operators against glibc's backtrace() and the interpreter's own interface. Not one may differ.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import torch' >/dev/null 2>&1 && python=$p && break
done
if [ -z "$python" ]; then
	n=$((n + 1))
	echo "ok $n - PyTorch # SKIP no python3 with torch: install python3-torch (300 MB)"
	done_testing
	exit
fi
check "the hook for PyTorch is compiled" "${CC:-cc}" -std=gnu17 -O2 -g -fPIC -shared -fvisibility=hidden -D_GNU_SOURCE= -I"$root/src" -o hook.so \
	"$here/torch_hook.c" "$root"/src/unwind/*.c "$root/src/base/auxv.c" -ldl -pthread
recorded() {
	LD_PRELOAD="$work/hook.so" timeout -k 5 200 "$aiflame" record -q --all-launches -o t.data \
		"$python" "$here/torch_decode.py" "$work/hook.so" check t.log 100000
}
check "a transformer decodes and trains in PyTorch as it does without the recorder" recorded
check "every launch has the native and Python frames that it had" \
	"$python" "$here/torch_compare.py" "$aiflame" t.data t.log 100000
sed 's/^/# /' check.out
sql() { "$aiflame" query --format csv t.data "$1" | tail -n +2; }
check "no stack of PyTorch is cut" test "$(sql 'SELECT count(*) FROM launches l JOIN stacks s ON s.id = l.stack WHERE s.flags != 0')" = 0
check "counts of a recording of PyTorch add up" says "everything adds up" "$aiflame" info t.data
check "launches of several threads of PyTorch are recorded" test "$(sql 'SELECT count(DISTINCT tid) > 1 FROM launches')" = 1
"$aiflame" flame -i t.data -o t.folded
check "a flame graph has Python, PyTorch's C++ and the launch" grep -qE \
	'^<module> \(torch_decode.py\)_\[p\];.*;Attention.forward \(torch_decode.py\)_\[p\];.*at::[^;]*;.*posix_memalign;' t.folded
done_testing
