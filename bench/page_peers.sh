#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `aiflame view` beside speedscope, d3-flame-graph and flamegraph.pl's SVG: one input, one run, in turns.
#   bench/page_peers.sh FLAMEGRAPH_PL
# The input: STACKS (20000) unique stacks, 74 deep (bench/gen_folded.py); SHAPE=diverging STACKS=33000 makes a million
# nodes, SHAPE=diverging STACKS=100000 NODES=468000 exactly so many. npm brings speedscope (tests/e2e/package.json) and
# d3-flame-graph, the latter into WORK_DIR (a temporary folder).
# ROUNDS (3), BUILD_DIR, CHROMIUM. GL=1: GL in software for all, not for speedscope alone.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
aiflame=${BUILD_DIR:-$root/build}/src/aiflame
work=${WORK_DIR:-$(mktemp -d)}
[ -n "${WORK_DIR:-}" ] || trap 'rm -rf "$work"' EXIT
stacks=${STACKS:-20000}
shape=${SHAPE:-}
. "$root/tests/e2e/npm.sh"
npm_dir=$root/tests/e2e
npm_packages
(cd "$work" && npm install --no-audit --no-fund --silent d3@7 d3-flame-graph@5.0.0)
nodes=${NODES:-}
folded=$work/r$stacks$shape$nodes.folded
[ -e "$folded" ] || python3 "$root/bench/gen_folded.py" "$stacks" "$folded" $shape $nodes
"$aiflame" import -q --as device --count 300us -o "$work/r.data" "$folded"
seconds() { # WHAT COMMAND...
	what=$1
	shift
	echo "| making: $what | $(/usr/bin/time -f '%e s, %M kB' "$@" 2>&1 >/dev/null | tail -1) |"
}
seconds "aiflame import and view" sh -c '"$1" import -q --as device --count 300us -o "$2/r.data" "$3" && "$1" view "$2/r.data" -o "$2/r.html"' sh "$aiflame" "$work" "$folded"
seconds "flamegraph.pl" sh -c 'perl "$1" "$2" >"$3/r.svg"' sh "$1" "$folded" "$work"
node "$root/bench/page_peers.mjs" "$work" "$folded" "${ROUNDS:-3}"
