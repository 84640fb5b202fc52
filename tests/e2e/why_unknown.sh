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
check "with stacks, launches, steps and clocks that agree nothing is unknown" lacks all '[]'
check "without stacks: which line launched" lacks stacks "['stacks']"
check "  and no place of the program is named" ask "all(i['place'] in ('', 'cudaLaunchKernel') for i in w['idle'])"
check "  which is said" says 'unknown  which line launched' "$aiflame" why stacks.data
for what in launches host; do
	check "no $what: who launched what" lacks $what "['launches']"
	check "  nobody is blamed" ask "w['bound_by'] == ['unknown'] and not any(i['place'] for i in w['idle'])"
	check "  no loop is made up" ask "w['loop'] == {'found_by': 'none'}"
done
check "clocks that disagree: how long work waited for its start" lacks clocks "['stacks', 'clocks']"
check "  which is said" says 'clocks disagreed, and times were moved' "$aiflame" why clocks.data
check "  and info says by how much" says 'moved by 40.0 us' "$aiflame" info clocks.data
check "one step: whether steps are alike" lacks step "['steps']"
check "  no trend is told of it" ask "w['loop']['steps'] == 1 and w['loop']['trend_ppm'] == 1000000"
app=$build/tests/e2e/idle_app
if [ -x "$app" ]; then
	cut_short() {
		"$aiflame" record -q --all-launches -o cut.data "$app" 400 >/dev/null &
		sleep 3
		kill -9 $!
		wait $! 2>/dev/null
		"$aiflame" why --format json cut.data >why.json 2>/dev/null && ask "w['unknown'] == ['cut']"
	}
	check "cut short: what came later" cut_short
	check "  which is said" says 'what came later: the recording was cut short' "$aiflame" why cut.data
	check "a whole recording" "$aiflame" record -q --all-launches -o whole.data "$app" 50
	check "  lacks nothing" sh -c "'$aiflame' why --format json whole.data | grep -q '\"unknown\":\[\]'"
fi
done_testing
