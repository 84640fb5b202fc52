#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Hardware counters on any machine: fakepmu answers perf_event_open as a script says. No value is of hardware.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_program
fakepmu=$build/tests/mock/pmu/fakepmu

cat >all.pmu <<END
# counts of the first, second and third run
cycles value=2000000,1000000,4000000
instructions value=3000000,3000000,3000000
branches value=100000 running=40
branch-misses value=7000 running=40
cache-references value=8000
cache-misses value=2000
stalled-cycles-backend errno=16
L1-dcache-loads errno=13
topdown
slots value=10000
topdown-retiring value=2000
topdown-bad-spec value=1000
topdown-fe-bound value=1000
topdown-be-bound value=4000
topdown-heavy-ops value=400
topdown-br-mispredict value=600
topdown-fetch-lat value=700
topdown-mem-bound value=3000
END
if ! "$fakepmu" all.pmu true 2>/dev/null; then
	skip "a simulated PMU" "seccomp cannot supervise a process here"
	done_testing
	exit
fi

check "stat: counters of three runs" sh -c "'$fakepmu' all.pmu '$aiflame' stat -r 3 --format json -o s.json true 2>s.err"
check "  a ratio is taken within each run" python3 -c "
import json
d = json.load(open('s.json'))
a = d['aiflame']
assert a['derived_runs']['ipc'] == {'n': 3, 'median': 1.5, 'min': 0.75, 'max': 3}, a['derived_runs']['ipc']
assert d['derived']['cache_miss_rate'] == 0.25 and d['derived']['branch_miss_rate'] == 0.07, d['derived']"
check "  what took turns is scaled, and says so" python3 -c "
import json
d = json.load(open('s.json'))
assert d['counters']['branches'] == 250000 and d['aiflame']['percent_running']['branches'] == 40, d['counters']
assert d['aiflame']['percent_running']['cycles'] == 100"
check "  what cannot be counted has its cause" python3 -c "
import json
a = json.load(open('s.json'))['aiflame']
u = {x['event']: x for x in a['unavailable']}
assert u['LLC-loads']['errno'] == 2 and 'does not have' in u['LLC-loads']['reason']
assert u['stalled-cycles-backend']['errno'] == 16 and 'NMI watchdog' in u['stalled-cycles-backend']['fix']
assert u['L1-dcache-loads']['errno'] == 13 and 'perf_event_paranoid' in u['L1-dcache-loads']['fix']
assert 'cycles' not in u and 'slots' not in u"
check "  topdown is not asked for by itself" sh -c "! grep -q topdown s.json"
check "stat: text" sh -c "'$fakepmu' all.pmu '$aiflame' stat true 2>t.txt; grep -qE '3,000,000 +instructions +# +1.500 insn per cycle' t.txt && grep -qE '7.000% of all branches +\\(40.00%\\)' t.txt"
check "stat -e topdown: two levels" sh -c "'$fakepmu' all.pmu '$aiflame' stat -e topdown --format json -o td.json true 2>/dev/null"
check "  of the slots of level 1" python3 -c "
import json
d = json.load(open('td.json'))['derived']
assert d == {'retiring': 0.25, 'bad_speculation': 0.125, 'frontend_bound': 0.125, 'backend_bound': 0.5,
             'heavy_operations': 0.05, 'light_operations': 0.2, 'branch_mispredicts': 0.075, 'machine_clears': 0.05,
             'fetch_latency': 0.0875, 'fetch_bandwidth': 0.0375, 'memory_bound': 0.375, 'core_bound': 0.125}, d"
check "  in text" sh -c "'$fakepmu' all.pmu '$aiflame' stat -e topdown true 2>td.txt; grep -qE '3,000 +topdown-mem-bound +# +37.500% of all slots: memory bound' td.txt"
grep -vE 'heavy|mispred|fetch|mem-bound' all.pmu >one.pmu
check "  level 1 alone, where there is no other" sh -c "'$fakepmu' one.pmu '$aiflame' stat -e topdown --format json -o td1.json true 2>/dev/null && python3 -c \"
import json
d = json.load(open('td1.json'))
assert sorted(d['derived']) == ['backend_bound', 'bad_speculation', 'frontend_bound', 'retiring'], d['derived']
assert len(d['aiflame']['unavailable']) == 4\""
# Same numbers of raw events mean something else on CPUs whose driver does not name them.
grep -v '^topdown$' all.pmu >raw.pmu
check "  none where sysfs does not name them" sh -c "'$fakepmu' raw.pmu '$aiflame' stat -e topdown --format json -o raw.json true 2>raw.err && python3 -c \"
import json
d = json.load(open('raw.json'))
assert d['counters'] == {} and d['derived'] == {} and all(u['errno'] == 2 for u in d['aiflame']['unavailable'])\" && grep -q 'simulated: 0 counters' raw.err"
check "runbook run: its gate reads them" sh -c "'$fakepmu' all.pmu '$aiflame' runbook run --dir rb --runs 1 -- '$app' 0.2 >rb.txt 2>&1; python3 -c \"
import json, glob
d = json.load(open(glob.glob('rb/**/perf_stat_summary.json', recursive=True)[0]))
assert d['derived']['cache_miss_rate'] == 0.25, d['derived']\""
done_testing
