#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a push and a pop of an NVTX range cost: with no tool, with a tool whose functions only count (the floor of every
# tool), with the agent where nobody records, with the agent while it records. Interleaved; the least of each, and as a
# ratio to the floor. A thunk is a range as XLA marks its 200 instructions by, with a text and a payload of strings. With
# NVTX's own headers where they are installed.
#   bench/nvtx.sh [ROUNDS] [RANGES]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
app=$build/tests/e2e/nvtx_app_real
[ -x "$app" ] || app=$build/tests/e2e/nvtx_app
[ -x "$app" ] || { echo "no OpenCL: nothing measured"; exit 0; }
rounds=${1:-5} ranges=${2:-1000000}
trivial=$build/bench/libbench_nvtx_trivial.so
[ -e "$trivial" ] || ninja --quiet -C "$build" bench/libbench_nvtx_trivial.so
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
cd "$log"
unset NVTX_INJECTION64_PATH
# Few enough for the ring (4 MiB) to hold all of them, ten times.
some=$((ranges / 500))
measure() {
	case $1 in
	none) "$app" cost "$ranges" ;;
	trivial) NVTX_INJECTION64_PATH=$trivial "$app" cost "$ranges" ;;
	off) "$build/src/aiflame" record -q --nvtx --delay 100000 "$app" cost "$ranges" ;;
	on) "$build/src/aiflame" record -q --nvtx --all-launches "$app" cost "$some" ;;
	esac | awk -v what="$1" '{ print what, $2, $4, $6 }' >>ns
}
for i in $(seq "$rounds"); do
	for what in $(printf 'none\ntrivial\noff\non\n' | shuf); do
		measure "$what"
	done
done
awk '{ for (k = 2; k <= 4; k++) if (!(($1, k) in least) || $k < least[$1, k]) least[$1, k] = $k }
	END {
		print "push and pop, ns        text  registered   thunk  ratio to a counting tool"
		n = split("none trivial off on", order, " ")
		name["none"] = "no tool"; name["trivial"] = "a tool that counts"; name["off"] = "agent, not recording"; name["on"] = "agent, recording"
		for (i = 1; i <= n; i++) { w = order[i]
			printf "%-20s %7.1f %11.1f %7.1f  %6.1f %6.1f %6.1f\n", name[w], least[w, 2], least[w, 3], least[w, 4],
				least[w, 2] / least["trivial", 2], least[w, 3] / least["trivial", 3], least[w, 4] / least["trivial", 4] }
	}' ns
