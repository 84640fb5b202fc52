#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a push and a pop of an NVTX range cost: with no tool, with a tool whose functions only count, with the agent where
# nobody records, with the agent while it records. Interleaved; of rounds of 400 pairs the least, and the lower quartile.
# A thunk is a range as XLA marks its 200 instructions by, with a text and a payload of strings. With NVTX's own headers
# where they are installed.
#   [AGENTS="LIBRARY LIBRARY"] bench/nvtx.sh [ROUNDS] [RANGES]      AGENTS: others of the agent, compared in turns
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
# measure STATE AGENT
measure() {
	export AIFLAME_AGENT="$2"
	case $1 in
	none) "$app" cost "$ranges" ;;
	trivial) NVTX_INJECTION64_PATH=$trivial "$app" cost "$ranges" ;;
	off) "$build/src/aiflame" record -q --nvtx --delay 100000 "$app" cost "$ranges" ;;
	# Rounds with pauses, so that the ring (4 MiB) has room.
	on) NVTX_APP_PAUSES=1 "$build/src/aiflame" record -q --nvtx --all-launches "$app" cost $((ranges / 5)) ;;
	esac | awk -v what="$1 $2" '{ print what, $2, $4, $6 }' >>ns
}
agents=${AGENTS:-$build/src/agent/libaiflame-agent.so}
for i in $(seq "$rounds"); do
	for what in none trivial; do echo "$what -"; done >turns
	for agent in $agents; do printf 'off %s\non %s\n' "$agent" "$agent"; done >>turns
	shuf turns >turn
	while read -r what agent; do measure "$what" "$agent" </dev/null; done <turn
done
# row NAME STATE AGENT
row() {
	printf '%-34s' "$1"
	for column in 3 4 5; do
		awk -v what="$2 $3" -v column=$column '$1 " " $2 == what { print $column }' ns | sort -n >sorted
		printf ' %7.1f (%.1f)' "$(head -n 1 sorted)" "$(sed -n "$(($(wc -l <sorted) / 4 + 1))p" sorted)"
	done
	echo
}
echo "push and pop, ns: the least round (lower quartile): by text, by a registered string, a thunk"
row "no tool" none -
row "a tool that counts" trivial -
for agent in $agents; do
	row "agent, not recording ${AGENTS:+$(basename "$(dirname "$agent")")}" off "$agent"
	row "agent, recording ${AGENTS:+$(basename "$(dirname "$agent")")}" on "$agent"
done
