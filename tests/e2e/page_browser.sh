#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `aiflame view` in a browser: page_browser.mjs drives Debian's Chromium through playwright-core, as
# svg_browser.sh does.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/npm.sh"
build=${BUILD_DIR:-$root/build}
chromium=${CHROMIUM:-/usr/bin/chromium}
# failed WHAT OUTPUT: nothing else can be tested
failed() {
	printf 'not ok 1 - %s\n1..1\n' "$1"
	printf '%s\n' "$2" | tail -n 25 | sed 's/^/#   /'
	exit 1
}
npm_or_skip playwright-core
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
aiflame=$build/src/aiflame

# ---- profiles and their pages
page() { # NAME [OPTIONS]: NAME.html of NAME.data
	name=$1
	shift
	said=$("$aiflame" view -i "$name.data" -o "$name.html" "$@" 2>&1) || failed "a page of $name.data is written" "$said"
}
import() { # NAME FILE [OPTIONS]
	name=$1
	shift
	said=$("$aiflame" import -q -o "$name.data" "$@" 2>&1) || failed "$name.data is imported" "$said"
	page "$name"
}
for kind in full sampled; do
	"$build/tests/e2e/golden_profiles" $kind $kind.data "$root/tests/golden/cubin" || exit 1
	page $kind
done
cp full.data hostile.data
python3 "$here/page_inputs.py" hostile hostile.data || exit 1
page hostile
python3 "$here/page_inputs.py" stacks stacks.folded 20000 || exit 1
import stacks stacks.folded
while read -r name; do echo "main;launch;${name}_[g] 10"; done <"$here/names.txt" >names.folded
import names names.folded
(echo 'main;before all others;kernel_[g] 7' && tac stacks.folded) >again.folded
import again again.folded
cp stacks.data joined.data
page joined --frames 500
import cpu --as cpu --count 10ms "$root/tests/golden/views/input/stacks.folded"
said=$("$aiflame" record -q --cpu -F 999 -o host.data "$build/tests/e2e/cpu_program" 1 2>&1) || failed "a program on CPUs is recorded" "$said"
page host
said=$("$aiflame" record -q --cpu -F 999 -o python.data python3 "$here/cpu_program.py" 1 2>&1) || failed "a Python program on CPUs is recorded" "$said"
page python
# Energy, of a simulated NVML.
said=$(AIFLAME_STANDBY=$work/standby LD_LIBRARY_PATH=$build/tests/mock/cuda:$build/tests/mock/nvml "$aiflame" record -q --all-launches -o energy.data \
	"$build/tests/mock/cuda/app" -s 100 -n 15000 "$root/tests/golden/cubin/kernels_sm90a.cubin" 2>&1) || failed "energy is recorded" "$said"
page energy
import trace "$root/tests/golden/views/input/trace.json"
import ranks "$root/tests/golden/views/input/trace.json" "$root/tests/golden/views/input/trace_rank1.json"
python3 "$here/ranks_traces.py" late --late 2 >late.truth || exit 1
import late late/rank*.json
"$aiflame" why --format json late.data >late.why || exit 1
cp ranks.data hostile_ranks.data
python3 "$here/page_inputs.py" hostile hostile_ranks.data || exit 1
page hostile_ranks
python3 "$here/page_inputs.py" trace phases.json || exit 1
import phases phases.json
cp phases.data damaged.data
python3 "$here/page_inputs.py" damaged damaged.data || exit 1
page damaged
cp phases.data empty.data
python3 "$here/page_inputs.py" empty empty.data || exit 1
page empty
"$aiflame" scope -i phases.data -o scope.html || exit 1
mkdir a b
python3 "$here/page_inputs.py" sides . || exit 1
for i in 0 1 2; do
	for side in a b; do "$aiflame" import -q -o $side/$i.data $side$i.json || exit 1; done
done
"$aiflame" diff a b -o sides.html || exit 1
# Sides whose names and texts would run scripts.
side_a='</script><img src=x onerror=window.owned=1>' side_b='"><img src=x onerror=window.owned=2>'
mkdir -p "$side_a" "$side_b" || exit 1
cp a/*.data "$side_a" && cp b/*.data "$side_b" || exit 1
for file in "$side_a"/*.data "$side_b"/*.data; do python3 "$here/page_inputs.py" hostile "$file" || exit 1; done
"$aiflame" diff "$side_a" "$side_b" -o hostile_sides.html || exit 1
"$aiflame" diff stacks.folded stacks.data --format html -o counts.html || exit 1
AIFLAME=$aiflame WORK=$work CHROMIUM=$chromium node "$here/page_browser.mjs"
