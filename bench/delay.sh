#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How soon after --delay a process begins to collect, and how much of --duration it collects: RECORDINGS of a program
# that launches 40,000 times a second, median and worst. Bar: a median below 90 ms, as the agent's helper is woken; one
# that only looked four times a second would have 125 ms, and as much at --duration's beginning.
#   bench/delay.sh [RECORDINGS]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
aiflame=$build/src/aiflame
recordings=${1:-20}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_RUNTIME_DIR="$dir"
chmod 700 "$dir"
cd "$dir"
mkfifo in
exec 3<>in
for i in $(seq "$recordings"); do
	# Not in step with anything that looks four times a second.
	delay=0.$((400 + i * 37 % 250))
	echo storm >&3
	"$aiflame" record -q -o a.data --delay $delay --duration 500ms --kill "$build/tests/e2e/attach_app" 1 <&3 >/dev/null || :
	"$aiflame" query --format csv a.data "SELECT min(time_ns) / 1e6 - 1e3 * $delay, (max(time_ns) - min(time_ns)) / 1e6 FROM launches" |
		tail -n 1 | tr , ' ' >>times
done
sort -n times | awk '{ late[NR] = $1 } END { printf "the first launch is recorded %.1f ms after --delay (median), %.1f (worst)\n", late[int((NR + 1) / 2)], late[NR] }'
sort -n -k 2 times | awk '{ part[NR] = $2 } END { printf "%.0f ms of --duration 500ms are collected (median), %.0f (worst)\n", part[int((NR + 1) / 2)], part[1] }'
