#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a launch costs in the agent: the fake runtime's hook alone, and clEnqueueNDRangeKernel on PoCL
# without (A) and with (B) the agent, interleaved ABBA. Medians over the rounds; lowest and highest behind.
#   bench/agent.sh [ROUNDS]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
agent=$build/src/agent/libaiflame-agent.so
mini="$build/tests/mock/mini_recorder -q -a $agent"
fake=$build/tests/mock/fake_app
hard=$build/tests/e2e/agent_hard
rounds=${1:-8}
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

# spread NAME FILE: median, lowest, highest of a column of numbers
spread() {
	sort -n "$2" | awk -v name="$1" '{ v[NR] = $1 }
		END { printf "%-44s %6d ns  [%d .. %d]\n", name, v[int((NR + 1) / 2)], v[1], v[NR] }'
}
for depth in 20 75; do
	for i in $(seq "$rounds"); do
		$mini "$fake" -b 20000 -d $depth | sed -n 's/.*median \([0-9]*\),.*/\1/p' >>"$log/fake$depth"
	done
	spread "fake launch + execution, $((depth + 5)) frames, median" "$log/fake$depth"
done
[ -x "$hard" ] || exit 0
one() { sed -n 's/.*median \([0-9]*\) .*/\1/p'; }
for i in $(seq $(((rounds + 1) / 2))); do
	"$hard" rate 20000 | one >>"$log/a"
	$mini "$hard" rate 20000 | one >>"$log/b"
	$mini "$hard" rate 20000 | one >>"$log/b"
	"$hard" rate 20000 | one >>"$log/a"
done
spread "clEnqueueNDRangeKernel without the agent" "$log/a"
spread "clEnqueueNDRangeKernel with the agent" "$log/b"
$mini "$hard" rate 20000 | sed -n 's/.*\(helper_ms=.*\)/our own part, all of it: \1/p'
