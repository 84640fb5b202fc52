#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that know their loop, their steps and who keeps the device waiting: does why say the same, and does repairing it bring no
# more than the most that why says?
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/loop_app
cat >judge.py <<'EOP'
import json, sys
w = json.load(open("why.json"))
truth, repaired = (dict(part.split("=") for part in open(f).read().split()) for f in ("out", "repaired"))
owner, loop, idle = w["owners"][0], w["loop"], w["idle_ns"]
# The loop that is seen lacks the end of the last step.
owner_ns = int(truth["owner_ns"]) * loop["steps"] / int(truth["steps"])
share, truly = owner["ns"] / idle, owner_ns / (w["time_ns"] - sum(g["ns"] for g in w["groups"] if g["group"] == "compute"))
left, gain = 1 - int(truth["owner_ns"]) / int(truth["ns"]), int(truth["ns"]) / int(repaired["ns"])
most = owner.get("at_most_ppm", 0) / 1e6
function = lambda place: place.split(" (")[0]
answers = {
    "loop": function(loop.get("place", "")) == truth["loop"],
    # The end of the last step is not known.
    "steps": abs(loop["steps"] - (int(truth["steps"]) - 1)) <= int(truth["steps"]) / 50,
    "owner": function(owner["place"]) == truth["owner"] and not owner["is_before"],
    "share": abs(share - truly) <= 0.05,
    # What is left of the time is known as the owner's share is. A repaired run takes less than that: PoCL's threads, which do not
    # fall asleep between launches any more, begin sooner.
    "gain": most and abs(1 / most - left) <= 0.05 and most <= 1.25 * gain,
}
print(truth, loop.get("place"), loop["steps"], owner["place"], "share %.3f, truly %.3f; at most %.2fx, without the owner %.2fx, repaired %.2fx" % (share, truly, most, 1 / left, gain))
sys.exit(not all(answers[a] for a in sys.argv[1:]))
EOP
record() {
	"$aiflame" record -q --all-launches --cpu-clock perf -F 999 --device-rate 0 -o "$1.data" "$app" "$1" >out && "$app" "$1" repaired >repaired &&
		"$aiflame" why --format json "$1.data" >why.json
}
answers() { # MODE ANSWERS...
	mode=$1
	shift
	metered record "$mode" && python3 judge.py "$@"
}
for mode in loader chatty validate warm_up; do
	busy=0
	check "why finds the loop and its steps: $mode" in_three answers $mode loop steps
	cp why.json "$mode.json"
	on_calm "why's owner of idle time, its share and the most that repairing brings are true: $mode" in_three answers $mode owner share gain
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
