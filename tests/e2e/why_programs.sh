#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Python programs that know their loop and who keeps their device waiting (why_programs.py), by pyopencl on PoCL.
. "$(dirname "$0")/tap.sh"
for p in python3 /usr/bin/python3; do
	"$p" -c 'import pyopencl; pyopencl.create_some_context(interactive=False)' >/dev/null 2>&1 && python=$p && break
done
[ -n "${python:-}" ] || { echo "1..0 # SKIP no pyopencl"; exit 0; }
cat >judge.py <<'EOP'
import json, sys
truth = dict(part.split("=") for part in open("out").read().split())
why = json.load(open("why.json"))
loop, owner, steps = why["loop"], next(o["place"] for o in why["owners"] if not o["is_machine"]), int(truth["steps"])
print(truth, loop.get("place"), loop.get("steps"), why["owners"][:3])
is_loop = ".loop (" in loop.get("place", "") and loop["place"].endswith(":%s)" % truth["line"]) and steps - 1 <= loop["steps"] <= steps
is_owner = owner.split(" (")[0].split(".")[-1] == truth["owner"]
sys.exit(not {"loop": is_loop, "owner": is_owner}[sys.argv[1]])
EOP
program() {
	metered "$aiflame" record -q --all-launches -o program.data "$python" "$root/tests/e2e/why_programs.py" "$1" >out
	"$aiflame" why --format json program.data >why.json && python3 judge.py loop
}
for p in feeder gil loader trainer epochs sleeps logged rounds download pool save files; do
	busy=0
	check "why finds the loop of a Python program, its line and its steps: $p" program $p
	on_calm "the first owner of idle time is the function that keeps the device waiting: $p" python3 judge.py owner
done
check "the owner of a wait for the interpreter lock is the line of the thread that has it" sh -c "'$aiflame' record -q -o gil.data '$python' '$root/tests/e2e/why_programs.py' gil && '$aiflame' why --format json gil.data | python3 -c '
import json, sys
owners = json.load(sys.stdin)[\"owners\"]
print(owners)
sys.exit(not any(\"hog\" in o[\"place\"] and \"gil\" in o[\"groups_ns\"] for o in owners[:2]))'"
requests() {
	"$aiflame" record -q -o requests.data "$python" "$root/tests/e2e/why_requests.py" >requests.out && "$aiflame" why --format json requests.data >requests.json
}
check "a server with a thread for each request is recorded" requests
check "why says what other threads compute while a thread of a request does not run" python3 -c '
import json
others, truth = json.load(open("requests.json"))["others"], int(open("requests.out").read().split("=")[1])
print(others, truth)
assert others["place"] == "quote (why_requests.py)" and truth / 2 < others["in_place_ns"] <= others["ns"] < 2 * truth'
check "why says in words what other threads compute" says "of it in quote (why_requests.py)" "$aiflame" why requests.data
done_testing
