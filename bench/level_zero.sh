#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a launch on an immediate list of Level Zero takes, on a simulated driver that does nothing: without the tracing
# layer (A), with a tracer whose callbacks are empty (B), with the agent asleep under `env` (C) and with the agent that
# records every launch (D). Interleaved ABCDDCBA. Of each run the median burst; of these the median, the lowest, the highest.
# Bar: D is at most 500 ns above B.
#   bench/level_zero.sh [ROUNDS]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
mock=$build/tests/mock/level_zero
[ -x "$mock/ze_app" ] || { echo "level_zero: built without Level Zero's headers"; exit 0; }
ninja --quiet -C "$build" bench/libbench_empty_tracer.so >/dev/null
rounds=${1:-8}
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
printf 'no code' >"$log/mm.bin"
export ZE_ENABLE_ALT_DRIVERS="$mock/libze_mock.so" ZE_MOCK=instant AIFLAME_STANDBY="$log/standby"
app="$mock/ze_app $log/mm.bin mm immediate rate"
one() { sed -n 's/^median \([0-9.]*\) ns$/\1/p'; }
a() { $app | one >>"$log/a"; }
b() { ZE_ENABLE_TRACING_LAYER=1 LD_PRELOAD="$build/bench/libbench_empty_tracer.so" $app | one >>"$log/b"; }
c() { (eval "$("$build/src/aiflame" env)" && $app) | one >>"$log/c"; }
d() { "$build/src/aiflame" record -q -F 0 --all-launches -o "$log/d.data" $app | one >>"$log/d"; }
for i in $(seq "$rounds"); do
	a && b && c && d && d && c && b && a
done
spread() {
	sort -n "$2" | awk -v name="$1" '{ v[NR] = $1 }
		END { printf "%-44s %7.1f ns  [%.1f .. %.1f]\n", name, v[int((NR + 1) / 2)], v[1], v[NR] }'
}
spread "A without tracing" "$log/a"
spread "B an empty tracer" "$log/b"
spread "C the agent, asleep" "$log/c"
spread "D the agent, every launch recorded" "$log/d"
# Differences of neighbours, which had the same machine.
paste "$log/b" "$log/d" | awk '{ print $2 - $1 }' >"$log/difference"
spread "D - B, bar 500 ns" "$log/difference"
