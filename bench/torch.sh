#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a stack costs inside PyTorch: a small transformer decodes on the CPU, each operator's output is a launch
# (tests/e2e/torch_hook.c). All ways of taking a stack in one process, in turns of 32 tokens, ABBA: medians
# over the rounds, lowest and highest behind.
#   bench/torch.sh [ROUNDS]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
aiflame=${BUILD_DIR:-$root/build}/src/aiflame
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import torch' 2>/dev/null && python=$p && break
done
if [ -z "$python" ]; then
	echo "skipped: no python3 with torch; install python3-torch"
	exit 0
fi
cc=${CC:-cc}
# shellcheck disable=SC2086 # lists of words
{
	flags="-std=gnu17 -O2 -g -fPIC -shared -fvisibility=hidden -D_GNU_SOURCE= -I$root/src"
	$cc $flags -o "$work/hook.so" "$root/tests/e2e/torch_hook.c" "$root"/src/unwind/*.c "$root/src/base/auxv.c" -ldl -pthread
	# The agent as it is, and a way into its capture.
	sources=$(cd "$root/src/agent" && grep -o "'[a-z0-9_/.]*\.c'" meson.build */meson.build | sed "s|^meson.build:|$root/src/agent/|; s|^\([a-z_]*\)/meson.build:|$root/src/agent/\1/|; s|'||g")
	$cc $flags -include unwind/oldglibc.h -fno-math-errno -Wl,-z,nodelete -Wl,--no-undefined -o "$work/agent.so" \
		"$root/bench/bench_capture.c" $sources -ldl -pthread
}
LD_PRELOAD="$work/hook.so" AIFLAME_AGENT="$work/agent.so" "$aiflame" record -q --all-launches -o "$work/t.data" \
	"$python" "$root/tests/e2e/torch_decode.py" "$work/hook.so" bench "${1:-10}"
"$aiflame" query --format csv "$work/t.data" "WITH RECURSIVE up(stack, frame, parent, top) AS (
	SELECT id, frame, parent, id FROM stacks WHERE id IN (SELECT stack FROM launches) UNION ALL
	SELECT s.id, s.frame, s.parent, up.top FROM stacks s JOIN up ON s.id = up.parent),
	depths(stack, native, python) AS (SELECT top, sum(f.kind = 'native'), sum(f.kind = 'python') FROM up
	JOIN frames f ON f.id = up.frame GROUP BY top)
	SELECT avg(native), avg(python), count(DISTINCT stack) FROM launches JOIN depths USING (stack)" |
	awk -F, 'NR == 2 { printf "frames of a launch: %.1f native, %.1f Python; %d different stacks\n", $1, $2, $3 }'
