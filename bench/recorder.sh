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

# record RATE: one run into p.data, of which nothing may be missing: else the numbers would be of less work.
record() {
	launched=$(($1 * seconds))
	taskset -c "$mine" "$aiflame" record -q --all-launches -o p.data -- \
		sh -c "exec taskset -c $theirs '$fake' 'generate launches=$launched rate=$1 stacks=1000 depth=40 kernels=20 streams=4'"
	launches=$(ask "SELECT count(*) FROM launches")
	execs=$(ask "SELECT count(*) FROM executions")
	lost=$(ask "SELECT coalesce(sum(count), 0) FROM losses")
	if [ "$launches" != "$launched" ] || [ "$execs" != "$launched" ] || [ "$lost" != 0 ]; then
		echo "FAILED: at $1/s $launched were launched, $launches launches and $execs executions recorded, $lost lost" >&2
		exit 1
	fi
	span=$(ask "SELECT max(time_ns) - min(time_ns) FROM launches")
	rss=$(ask "SELECT value FROM meta WHERE key = 'cost.recorder_rss_kb'")
	cpu=$(ask "SELECT (SELECT value FROM meta WHERE key = 'cost.recorder_cpu_ns') + (SELECT value FROM meta WHERE key = 'cost.helper_cpu_ns')")
	bytes=$(stat -c %s p.data)
	awk -v asked="$1" -v n="$launches" -v ns="$span" -v kb="$rss" -v c="$cpu" -v b="$bytes" 'BEGIN {
		printf "asked %d/s: %.0f launches/s, %d launches and executions, nothing lost, RSS %.0f MB, recorder and helper thread %.2f %% of a core, %.1f MB a minute\n",
			asked, n / (ns / 1e9), n, kb / 1024, 100 * c / ns, b / (ns / 1e9) * 60 / 1e6 }'
}

echo "bars: 1,000,000/s with nothing lost and RSS < 200 MB; 50,000/s with <= 5 % of a core and <= 20 MB a minute"
record 1000000
for i in 1 2 3; do
	record 50000
done

# From the end of the target to the profile on disk and the first screen printed.
matmul=$build/examples/matmul
[ -x "$matmul" ] || exit 0
for i in 1 2 3 4 5; do
	"$aiflame" record --all-launches -o d.data -- sh -c "'$matmul' 256 8 >/dev/null; date +%s%N >end" 2>/dev/null
	echo $(($(date +%s%N) - $(cat end)))
done | sort -n | awk '{ v[NR] = $1 / 1e6 } END { printf "stop to ready: %.0f ms [%.0f .. %.0f] (bar 500)\n", v[3], v[1], v[NR] }'
