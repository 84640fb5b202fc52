#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does the overhead budget keep what was asked? A launch-bound loop (10 us of work a launch) whose capture costs
# a known time (5 us of simulated vendor tracing): its slowdown against the same loop without any capture,
# in turns. The bar: within a third of what was asked.
#   bench/budget.sh [ROUNDS [LAUNCHES]]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
aiflame=$build/src/aiflame
fake=$build/tests/mock/fake_app
rounds=${1:-5}
launches=${2:-800000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# run OVERHEAD VENDOR: the loop's time in ns
run() {
	"$aiflame" record -q --overhead "$1" -o p.data -- sh -c \
		"a=\$(date +%s%N); '$fake' 'generate launches=$launches work=10000 vendor=$2 stacks=20'; b=\$(date +%s%N); echo \$((b - a)) >ns"
	cat ns
}
for asked in 1 2 5; do
	: >pairs
	for i in $(seq "$rounds"); do
		# The smallest budget captures next to nothing.
		a=$(run 0.0001 0)
		b=$(run $asked 5000)
		told=$("$aiflame" query --format csv p.data "SELECT 1e-4 * c.value * (SELECT sum(held * launches) * 1.0 / sum(launches) FROM windows) AS x
			FROM meta c WHERE c.key = 'overhead.cost_ppm'" | tail -1)
		echo "$a $b ${told:-0}" >>pairs
	done
	awk -v asked=$asked '{ print 100 * ($2 / $1 - 1), $3 }' pairs | sort -n | awk -v asked=$asked '
		{ s[NR] = $1; t[NR] = $2 }
		END { printf "asked %g %%: slowdown %.2f %% [%.2f .. %.2f], as told by the profile %.2f %% (bar %.2f to %.2f)\n",
			asked, s[int((NR + 1) / 2)], s[1], s[NR], t[int((NR + 1) / 2)], asked * 2 / 3, asked * 4 / 3 }'
done
