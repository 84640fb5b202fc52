#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the whole recorder can take, and what it costs, with the scripted runtime as the target:
# 1,000,000 launches (and executions) a second, the recorder on one core; 50,000 a second.
#   bench/recorder.sh [SECONDS]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
aiflame=$build/src/aiflame
fake=$build/tests/mock/fake_app
seconds=${1:-10}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# The recorder on the last core, its target on the others.
cores=$(nproc)
mine=$((cores - 1))
theirs=0-$((cores > 1 ? cores - 2 : 0))

ask() { "$aiflame" query --format csv p.data "$1" | tail -1; }

# record RATE: one run into p.data
record() {
	taskset -c "$mine" "$aiflame" record -q -o p.data -- \
		sh -c "exec taskset -c $theirs '$fake' 'generate launches=$(($1 * seconds)) rate=$1 stacks=1000 depth=40 kernels=20 streams=4'"
}

record 1000000
launches=$(ask "SELECT count(*) FROM launches")
execs=$(ask "SELECT count(*) FROM executions")
lost=$(ask "SELECT coalesce(sum(count), 0) FROM losses")
span=$(ask "SELECT max(time_ns) - min(time_ns) FROM launches")
rss=$(ask "SELECT value FROM meta WHERE key = 'cost.recorder_rss_kb'")
awk -v n="$launches" -v e="$execs" -v l="$lost" -v ns="$span" -v kb="$rss" 'BEGIN {
	printf "asked 1,000,000/s: %.0f launches/s, %d launches and %d executions recorded, %d lost, RSS %.0f MB (bar: nothing lost, < 200 MB)\n",
		n / (ns / 1e9), n, e, l, kb / 1024 }'

for i in 1 2 3; do
	record 50000
	cpu=$(ask "SELECT (SELECT value FROM meta WHERE key = 'cost.recorder_cpu_ns') + (SELECT value FROM meta WHERE key = 'cost.helper_cpu_ns')")
	span=$(ask "SELECT max(time_ns) - min(time_ns) FROM launches")
	lost=$(ask "SELECT coalesce(sum(count), 0) FROM losses")
	bytes=$(stat -c %s p.data)
	awk -v c="$cpu" -v ns="$span" -v b="$bytes" -v l="$lost" 'BEGIN {
		printf "50,000/s: recorder and helper thread %.2f %% of a core (bar 5), %.1f MB a minute (bar 20), %d lost\n",
			100 * c / ns, b / (ns / 1e9) * 60 / 1e6, l }'
done

# From the end of the target to the profile on disk and the first screen printed.
matmul=$build/examples/matmul
[ -x "$matmul" ] || exit 0
for i in 1 2 3 4 5; do
	"$aiflame" record -o d.data -- sh -c "'$matmul' 256 8 >/dev/null; date +%s%N >end" 2>/dev/null
	echo $(($(date +%s%N) - $(cat end)))
done | sort -n | awk '{ v[NR] = $1 / 1e6 } END { printf "stop to ready: %.0f ms [%.0f .. %.0f] (bar 500)\n", v[3], v[1], v[NR] }'
