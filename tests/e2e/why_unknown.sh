#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiles that lack something: each says what it cannot know, and none guesses. Traces made by hand, and recordings if there is OpenCL.
. "$(dirname "$0")/tap.sh"
cat >traces.py <<'EOF'
import json
def event(cat, name, ts, dur, tid=1, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
def kernel(i, ts, **args): return event("kernel", "k%d" % (i % 2), ts, 30, 7, 0, device=0, stream=7, **args)
def launch(i, ts): return event("cuda_runtime", "cudaLaunchKernel", ts, 5, correlation=i)
def pairs(late): return [x for i in range(40) for x in (launch(i, 1000 + 100 * i), kernel(i, 1000 + 100 * i + late, correlation=i))]
def write(name, events): json.dump({"traceEvents": events}, open(name + ".json", "w"))
step = [event("user_annotation", "ProfilerStep#%d" % i, 990 + 1000 * i, 1000) for i in range(4)]
relu = [event("cpu_op", "aten::relu", 995, 3990)]
write("stacks", pairs(20))
write("host", [kernel(i, 1020 + 100 * i) for i in range(40)])
write("launches", [kernel(i, 1020 + 100 * i, correlation=i) for i in range(40)])
write("clocks", pairs(-40))
write("step", [event("user_annotation", "ProfilerStep#1", 990, 4100)] + relu + pairs(20))
write("all", step + relu + pairs(20))
EOF
python3 traces.py
ask() { python3 -c "import json, sys; w = json.load(open('why.json')); print(w['unknown'], w['bound_by'], w['idle'], w['loop']); sys.exit(not ($1))"; }
# lacks TRACE KEYS: what why says that it does not know
lacks() {
	"$aiflame" import -q -o "$1.data" "$1.json" && "$aiflame" why --format json "$1.data" >why.json && ask "w['unknown'] == $2"
}
check "nothing is unknown with stacks, launches, steps and clocks that agree" lacks all '[]'
check "a profile without stacks: the launching line is unknown" lacks stacks "['stacks']"
check "a profile without stacks: why names no place of the program" ask "all(i['place'] in ('', 'cudaLaunchKernel') for i in w['idle'])"
check "a profile without stacks: why says what is unknown" says 'unknown  which line launched' "$aiflame" why stacks.data
for what in launches host; do
	check "no $what: who launched what" lacks $what "['launches']"
	check "no $what: nobody is blamed" ask "w['bound_by'] == ['unknown'] and not any(i['place'] for i in w['idle'])"
	check "no $what: no loop is made up" ask "w['loop'] == {'found_by': 'none'}"
done
check "clocks that disagree: the wait for a start is unknown" lacks clocks "['stacks', 'clocks']"
check "clocks that disagree: why says what is unknown" says 'clocks disagreed, and times were moved' "$aiflame" why clocks.data
check "clocks that disagree: info says by how much" says 'moved by 40.0 us' "$aiflame" info clocks.data
check "one step: whether steps are alike is unknown" lacks step "['steps']"
check "one step: no trend is told" ask "w['loop']['steps'] == 1 and w['loop']['trend_ppm'] == 1000000"
app=$build/tests/e2e/idle_app
if [ -x "$app" ]; then
	cut_short() {
		"$aiflame" record -q --all-launches -o cut.data "$app" 100000 >/dev/null &
		recorder=$!
		wait_until in_file cut "SELECT count(*) > 200 FROM executions"
		target=$(cat "/proc/$recorder/task/$recorder/children")
		kill -9 $recorder
		wait $recorder 2>/dev/null
		kill ${target:+"${target% }"}
		"$aiflame" why --format json cut.data >why.json 2>/dev/null && ask "w['unknown'] == ['cut']"
	}
	check "a recording that was cut short: what came later is unknown" cut_short
	check "a recording that was cut short: why says what is unknown" says 'what came later: the recording was cut short' "$aiflame" why cut.data
	check "a program is recorded whole" "$aiflame" record -q --all-launches -o whole.data "$app" 50
	check "a whole recording lacks nothing" sh -c "'$aiflame' why --format json whole.data | grep -q '\"unknown\":\[\]'"
fi
done_testing
