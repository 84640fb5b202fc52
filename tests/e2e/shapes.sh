#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Loops of many shapes, each of which says where it is and how often it turns (shapes_app.c): does why find that loop, by its line, and
# each of its steps?
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/shapes_app
[ -x "$app" ] || { echo "1..0 # SKIP no OpenCL"; exit 0; }
cat >judge.py <<'EOP'
import json, re, sys
truth = dict(part.split("=") for part in open("out").read().split())
loop = json.load(open("why.json"))["loop"]
said = re.fullmatch(r"(.*) \(shapes_app\.c:(\d+)\)", loop.get("place", ""))
steps = int(truth["steps"])
print(truth, loop.get("place"), loop.get("steps"))
# Where the last step ends is known only if something is launched behind the loop.
sys.exit(not (said and said.groups() == (truth["loop"], truth["line"]) and steps - 1 <= loop["steps"] <= steps))
EOP
finds() {
	"$aiflame" record -q --all-launches -o shape.data "$app" "$1" >out && "$aiflame" why --format json shape.data >why.json && python3 judge.py
}
for shape in checkpoint both accumulate pingpong products epochs last sparse_log tokens one_line do_while layers; do
	check "why finds the loop, its line and all its steps: $shape" finds $shape
done
other_line() {
	sed -i 's/line=/line=1/' out
	! python3 judge.py
}
check "the judge of these programs refuses another line" other_line
one() { [ "$("$aiflame" why --loop 2 --format json "$1.data" | python3 -c 'import json, sys; print(json.load(sys.stdin)["loop"]["steps"])')" -ge 45 ]; }
check "why finds both loops of a program that runs them in turns" finds both
check "why --loop 2 takes the other one of them" one shape
check "text says where a loop was found" says 'found in the source' "$aiflame" why shape.data
# Without the source launches that recur are all that is known.
check "a program without source" "$aiflame" record -q --all-launches --no-source -o without.data "$app" one_line
recurs() { "$aiflame" why without.data >recurs.out && grep 'found by launches that recur' recurs.out || { head -n 6 recurs.out; return 1; }; }
check "without the source the loop is found by launches that recur" recurs
done_testing
