#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What CPU sampling costs: the handler's body at about 50 native and 10 Python frames, and the slowdown of a
# program that computes, at 99 and 999 Hz against no sampling, in turns.
#   bench/cpu.sh [ROUNDS]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
aiflame=$build/src/aiflame
app=$build/tests/e2e/cpu_app
rounds=${1:-7}
ninja --quiet -C "$build" bench/libbench_cpu.so
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# No signals but the bench's own: 1 Hz is next to none.
"$aiflame" record -q -F 1 -o b.data python3 "$root/bench/cpu.py" "$build/bench/libbench_cpu.so"
"$aiflame" query --format csv b.data "SELECT f.kind, count(*) FROM
	(WITH RECURSIVE up(id) AS (SELECT stack FROM (SELECT stack, count(*) AS n FROM cpu_samples GROUP BY 1 ORDER BY n DESC LIMIT 1)
		UNION ALL SELECT s.parent FROM stacks s JOIN up ON s.id = up.id WHERE s.parent IS NOT NULL)
	SELECT s.frame FROM up JOIN stacks s ON s.id = up.id) x JOIN frames f ON f.id = x.frame GROUP BY 1" |
	tail -n +2 | tr '\n' ' '
echo "(frames of that stack)"

# CPU time of the same work.
run() {
	"$aiflame" record -q -F "$1" -o r.data "$app" work 3
}
for rate in 99 999; do
	: >ratios
	for i in $(seq "$rounds"); do
		a=$(run 0)
		b=$(run $rate)
		c=$(run $rate)
		d=$(run 0)
		awk "BEGIN { print 100 * (($b + $c) / ($a + $d) - 1) }" >>ratios
	done
	sort -n ratios | awk -v rate=$rate '{ r[NR] = $1 }
		END { printf "%d Hz: CPU time %+.2f %% [%.2f .. %.2f] in %d rounds, with what the kernel takes\n",
			rate, r[int((NR + 1) / 2)], r[1], r[NR], NR }'
done
