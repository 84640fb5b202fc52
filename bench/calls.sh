#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What recording begin and end of calls costs: loops on PoCL with record --calls auto and with off, in turns, everything else the
# same. Each line is a ratio within one run, the median of pairs with the range of the middle half; calls a second times ns a
# call is beside it.
#   bench/calls.sh [PAIRS]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
aiflame=$build/src/aiflame
pairs=${1:-15}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ninja -C "$build" bench/calls_loop >/dev/null
cd "$dir"

run() { "$aiflame" record -q --all-launches --device-rate 0 --calls "$1" -o p.data "$build/bench/calls_loop" "$2" "$3"; }
measure() {
	: >pairs
	for i in $(seq "$pairs"); do
		# Each first in every other pair.
		if [ $((i % 2)) -eq 0 ]; then
			off=$(run off "$1" "$2") on=$(run auto "$1" "$2")
		else
			on=$(run auto "$1" "$2") off=$(run off "$1" "$2")
		fi
		echo "$on $off" >>pairs
	done
	awk '{ print $1 / $3, ($1 - $3) / $2, $2 / $3 * 1e9 }' pairs | sort -n | awk -v mode="$1" '
		{ ratio[NR] = $1; ns[NR] = $2; rate[NR] = $3 }
		END {
			m = int((NR + 1) / 2); lo = int((NR + 3) / 4); hi = NR + 1 - lo
			printf "%-6s x%.4f [%.4f .. %.4f]; %.0f calls a second x %.0f ns a call [%.0f .. %.0f] = %.2f %%\n", mode, ratio[m],
				ratio[lo], ratio[hi], rate[m], ns[m], ns[lo], ns[hi], rate[m] * ns[m] / 1e7
		}'
}
measure step 20000
measure steps 3000
measure short 1000000
measure long 20000
