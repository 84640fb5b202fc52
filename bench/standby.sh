#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a dormant agent costs: launch-bound loops on PoCL without anything, with an OpenCL layer that does
# nothing (the floor of every tool that is a layer), with the agent on standby at level graphs and at level
# off, interleaved, each round in a random order. Ratio of medians per round, its median over the rounds, and
# the 95 % interval of that median by order statistics. Bar: no measurable cost, that is the interval holds 0
# or its upper end is at most 1 %.
#   bench/standby.sh [ROUNDS] [LAUNCHES]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
app=$build/tests/e2e/attach_cl
rounds=${1:-24} launches=${2:-4000}
layer=$build/bench/libbench_empty_layer.so
[ -e "$layer" ] || ninja --quiet -C "$build" bench/libbench_empty_layer.so
[ -x "$app" ] || { echo "no OpenCL: nothing measured"; exit 0; }
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
export XDG_RUNTIME_DIR="$log"
chmod 700 "$log"
unset LD_PRELOAD OPENCL_LAYERS AIFLAME_STANDBY AIFLAME_LEVEL
"$build/src/aiflame" env >"$log/graphs"
"$build/src/aiflame" env --level off >"$log/off"
: >"$log/none"
echo "export OPENCL_LAYERS='$layer'" >"$log/empty"
# The device that works in the calling thread: no thread to wait for, less noise.
export POCL_DEVICES=basic
pace() {
	(. "$log/$1" && printf 'pace 500\npace %s\nquit\n' "$launches" | "$app" 1 | sed -n '2s/pace //p')
}
pace none >/dev/null
for i in $(seq "$rounds"); do
	for level in $(printf 'none\nempty\ngraphs\noff\n' | shuf); do
		echo "$level $(pace "$level")" >>"$log/ns"
	done
done
compare() {
	awk -v base="$1" -v level="$2" '{ if ($1 == base) a[++n] = $2; if ($1 == level) b[++m] = $2 }
		END { for (i = 1; i <= n; i++) print (b[i] / a[i] - 1) * 100, a[i], b[i] }' "$log/ns" | sort -n >"$log/r"
	awk -v base="$1" -v level="$2" '{ r[NR] = $1; a += $2; b += $3 }
		END { k = int(NR / 2 - 0.98 * sqrt(NR)); if (k < 1) k = 1
			printf "%-6s against %-5s %+6.2f %%  [%+.2f .. %+.2f]   launch + wait %.0f ns, %.0f ns\n",
				level, base, r[int((NR + 1) / 2)], r[k], r[NR + 1 - k], b / NR, a / NR }' "$log/r"
}
compare none empty
for level in graphs off; do
	compare none $level
	compare empty $level
done
# The helper of a process that sleeps: CPU time over 10 s.
(. "$log/graphs" && { echo begin; sleep 12; echo quit; } | "$app" 1 >/dev/null) &
sleep 1.5
pid=$(ls "$log"/aiflame/*.agent | sed 's/.*\///; s/-.*//')
ticks() { for t in /proc/"$pid"/task/*; do grep -qx aiflame "$t/comm" && cat "$t/schedstat"; done | cut -d' ' -f1; }
a=$(ticks)
sleep 10
b=$(ticks)
echo "$a $b" | awk '{ printf "its helper thread: %.4f %% of a core\n", ($2 - $1) / 10e9 * 100 }'
wait
