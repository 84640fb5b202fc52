#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that know their loop, their steps and who keeps the device waiting: does why say the same? What repairing it really
# brings, why_table.sh measures.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/loop_app
cat >judge.py <<'EOP'
import json, sys
w = json.load(open("why.json"))
truth = dict(part.split("=") for part in open("out").read().split())
loop, steps = w["loop"], int(truth["steps"])
# Owners by what their host does. The device is made of CPUs: where other programs have them, what waits for it can be the first.
by_host = sorted(w["owners"], key=lambda o: -sum(o["groups_ns"].get(g, 0) for g in ("host", "no_cpu")))
owner = by_host[0]
# The loop that is seen lacks the end of the last step.
owner_ns = int(truth["owner_ns"]) * loop["steps"] / steps
left = 1 - int(truth["owner_ns"]) / int(truth["ns"])
delays = sum(g["ns"] for g in w["groups"] if g["group"] in ("late", "sync", "no_cpu")) / w["time_ns"]
# Time without a CPU has no samples: it is with the function that had the next or the last, which may be a neighbour.
unseen = 0.25 * next((g["ns"] for g in w["groups"] if g["group"] == "no_cpu"), 0)
most = owner.get("at_most_ppm", 0) / 1e6
is_busy = "\nmachine  busy: " in open("why.txt").read()
function = lambda place: place.split(" (")[0]
answers = {
    "loop": function(loop.get("place", "")) == truth["loop"],
    "steps": abs(loop["steps"] - (steps - 1)) <= steps / 50,
    "owner": function(owner["place"]) == truth["owner"] and not owner["is_before"],
    "time": abs(owner["ns"] - owner_ns) <= 0.05 * owner_ns + unseen,
    # What is left of the time is known as the owner's time is. Without the owner work may begin sooner after its launch. A busy
    # machine has no bounds, and where less than a third is left, samples of a device made of CPUs do not tell how much.
    "bound": is_busy or left - delays - 0.05 <= 1 / 3 if not most else left - delays - 0.05 <= 1 / most <= left + 0.05 + unseen / w["time_ns"],
}
print(truth, loop.get("place"), loop["steps"], owner, "truly %.0f ns; at most %.2fx, without the owner %.2fx" % (owner_ns, most, 1 / left))
print(answers)
sys.exit(not all(answers[a] for a in sys.argv[1:]))
EOP
record() {
	"$aiflame" record -q --all-launches --cpu-clock perf -F 999 --device-rate 0 -o "$1.data" "$app" "$1" >out && "$aiflame" why --format json "$1.data" >why.json && "$aiflame" why "$1.data" >why.txt
}
for mode in loader chatty validate warm_up; do
	check "a program is recorded that knows its loop: $mode" record $mode
	check "why finds the loop and its steps: $mode" python3 judge.py loop steps
	check "why's owner of idle time, its time and the most that repairing it brings are true: $mode" python3 judge.py owner time bound
	cp why.json "$mode.json"
done
# A judge that cannot fail proves nothing.
wrong() {
	sed -i 's/owner=[a-z_]*/owner=forward/' out
	! python3 judge.py owner
}
check "the judge of these programs refuses a wrong owner" wrong
others() { python3 -c 'import json; l = json.load(open("warm_up.json"))["loop"]["loops"]; print(l); exit(not any("tune" in x.get("place", "") for x in l[1:]))'; }
check "why lists the loop of the warm-up beside that of the program" others
done_testing
