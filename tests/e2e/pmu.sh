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
	skip "stat: counters of three runs of a simulated PMU are counted" "seccomp cannot supervise a process here"
	done_testing
	exit
fi

check "stat: counters of three runs of a simulated PMU are counted" sh -c "'$fakepmu' all.pmu '$aiflame' stat -r 3 --format json -o s.json true 2>s.err"
check "stat: a ratio is taken within each run" python3 -c "
import json
d = json.load(open('s.json'))
a = d['aiflame']
assert a['derived_runs']['ipc'] == {'n': 3, 'median': 1.5, 'min': 0.75, 'max': 3}, a['derived_runs']['ipc']
assert d['derived']['cache_miss_rate'] == 0.25 and d['derived']['branch_miss_rate'] == 0.07, d['derived']"
check "stat: a count of events that took turns is scaled, and says so" python3 -c "
import json
d = json.load(open('s.json'))
assert d['counters']['branches'] == 250000 and d['aiflame']['percent_running']['branches'] == 40, d['counters']
assert d['aiflame']['percent_running']['cycles'] == 100"
check "stat: an event that cannot be counted has its cause" python3 -c "
import json
a = json.load(open('s.json'))['aiflame']
u = {x['event']: x for x in a['unavailable']}
assert u['LLC-loads']['errno'] == 2 and 'does not have' in u['LLC-loads']['reason']
assert u['stalled-cycles-backend']['errno'] == 16 and 'NMI watchdog' in u['stalled-cycles-backend']['fix']
assert u['L1-dcache-loads']['errno'] == 13 and 'perf_event_paranoid' in u['L1-dcache-loads']['fix']
assert 'cycles' not in u and 'slots' not in u"
check "stat: topdown is counted only where asked for" sh -c "! grep -q topdown s.json"
check "stat: text has counts with their ratios" sh -c "'$fakepmu' all.pmu '$aiflame' stat true 2>t.txt; grep -qE '3,000,000 +instructions +# +1.500 insn per cycle' t.txt && grep -qE '7.000% of all branches +\\(40.00%\\)' t.txt"
check "stat -e topdown: two levels are counted" sh -c "'$fakepmu' all.pmu '$aiflame' stat -e topdown --format json -o td.json true 2>/dev/null"
check "stat -e topdown: level 2 is of the slots of level 1" python3 -c "
import json
d = json.load(open('td.json'))['derived']
assert d == {'retiring': 0.25, 'bad_speculation': 0.125, 'frontend_bound': 0.125, 'backend_bound': 0.5,
             'heavy_operations': 0.05, 'light_operations': 0.2, 'branch_mispredicts': 0.075, 'machine_clears': 0.05,
             'fetch_latency': 0.0875, 'fetch_bandwidth': 0.0375, 'memory_bound': 0.375, 'core_bound': 0.125}, d"
check "stat -e topdown: text has the shares of slots" sh -c "'$fakepmu' all.pmu '$aiflame' stat -e topdown true 2>td.txt; grep -qE '3,000 +topdown-mem-bound +# +37.500% of all slots: memory bound' td.txt"
grep -vE 'heavy|mispred|fetch|mem-bound' all.pmu >one.pmu
check "stat -e topdown: level 1 alone is counted where there is no other" sh -c "'$fakepmu' one.pmu '$aiflame' stat -e topdown --format json -o td1.json true 2>/dev/null && python3 -c \"
import json
d = json.load(open('td1.json'))
assert sorted(d['derived']) == ['backend_bound', 'bad_speculation', 'frontend_bound', 'retiring'], d['derived']
assert len(d['aiflame']['unavailable']) == 4\""
# Same numbers of raw events mean something else on CPUs whose driver does not name them.
grep -v '^topdown$' all.pmu >raw.pmu
check "stat -e topdown: nothing is counted where sysfs names no events" sh -c "'$fakepmu' raw.pmu '$aiflame' stat -e topdown --format json -o raw.json true 2>raw.err && python3 -c \"
import json
d = json.load(open('raw.json'))
assert d['counters'] == {} and d['derived'] == {} and all(u['errno'] == 2 for u in d['aiflame']['unavailable'])\" && grep -q 'simulated: 0 counters' raw.err"
check "runbook run: the gate reads the counters" sh -c "'$fakepmu' all.pmu '$aiflame' runbook run --dir rb --runs 1 -- '$app' 0.2 >rb.txt 2>&1; python3 -c \"
import json, glob
d = json.load(open(glob.glob('rb/**/perf_stat_summary.json', recursive=True)[0]))
assert d['derived']['cache_miss_rate'] == 0.25, d['derived']\""

# Events as what starts CPU samples. A thread's overflow is one each millisecond of CPU time: the shares are those of time.
cat >sample.pmu <<END
cache-misses every=1000000
cycles errno=13
END
export AIFLAME_STANDBY="$work/standby"
number() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }
check "record -e: a program is sampled by its cache misses" sh -c "'$fakepmu' sample.pmu '$aiflame' record --cpu -e cache-misses --period 1000 -o e.data '$app' 2 >shares 2>screen"
check "record -e: each sample weighs the period" sh -c "[ \$('$aiflame' query --format csv e.data 'SELECT min(weight_ns) = 1000 AND max(weight_ns) = 1000 AND count(*) > 800 FROM cpu_samples' | tail -1 | tr -d '\r') = 1 ]"
check "record -e: functions have their shares" sh -c "'$aiflame' report --cpu --limit 0 --format csv e.data | python3 -c \"
import csv, re, sys
have = {re.sub(r' \(.*', '', r['function']): 100 * float(r['total_share']) for r in csv.DictReader(sys.stdin)}
for line in open('shares'):
    name, share = line.split()
    assert name == 'sum' or abs(have[name] - float(share)) <= 5, (name, share, have)\""
check "record -e: the summary names the event" sh -c "grep -qE '^function +[56][0-9.]+ % +gemm +[0-9,]+ cache-misses' screen && grep -qE '^cpu +[0-9,]+ cache-misses in 1 thread, [0-9,]+ samples, one for each 1,000' screen"
check "record -e: info names event and period" sh -c "'$aiflame' info e.data | grep -qE 'cpu_counts +cache-misses' && '$aiflame' info e.data | grep -qE 'cpu_period +1000'"
check "record -e: annotate names the event, and skid" sh -c "'$aiflame' annotate '^gemm\$' e.data >gemm.txt && grep -q 'cache-misses itself' gemm.txt && grep -q skid gemm.txt"
check "record -e: the picture names the event" sh -c "'$aiflame' flame -o e.svg e.data && grep -q 'cache-misses' e.svg"
check "record -e: pprof, OTLP and speedscope name the event" sh -c "for f in pprof otlp speedscope; do '$aiflame' export --format \$f -o e.\$f e.data || exit 1; done
	gzip -dcf e.pprof | grep -aq cache-misses && gzip -dcf e.otlp | grep -aq cache-misses && gzip -dcf e.speedscope | grep -q '\"name\":\"cache-misses: [^\"]*\",\"unit\":\"none\"'"
check "record -e: why says that samples count no time" says "samples count cache-misses here" "$aiflame" why e.data
check "record -e: an event that the OS does not allow is refused before the program starts" sh -c "'$fakepmu' sample.pmu '$aiflame' record --cpu -e cycles -o no.data touch started 2>no.err; [ \$? = 125 ] && grep -q perf_event_paranoid no.err && [ ! -e started ]"
check "record -e: an event that is not there is refused before the program starts" sh -c "'$fakepmu' sample.pmu '$aiflame' record --cpu -e instructions -o no.data touch started 2>no.err; [ \$? = 125 ] && grep -q 'has no such counter' no.err && [ ! -e started ] && [ ! -e no.data ]"
check "record -e: an unknown event is refused, with those there are" says "give one of cycles, instructions" "$aiflame" record --cpu -e cycels true
check "record -e: is misuse without --cpu" status_is 2 "$aiflame" record -e page-faults true
check "record -e: is misuse with -F" status_is 2 "$aiflame" record --cpu -F 99 -e page-faults true
check "record --period: is misuse without -e" status_is 2 "$aiflame" record --cpu --period 7 true
# Page faults are the OS kernel's, and real: 300 MB are touched a page at a time, at the latest after sampling has begun.
cat >touch.c <<END
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline, noipa)) static void touch_pages(volatile char *p, size_t n) { for (size_t i = 0; i < n; i += 4096) p[i] = 1; }
int main(void) { char *p = aligned_alloc(4096, 300 << 20); if (!p || madvise(p, 300 << 20, MADV_NOHUGEPAGE)) return 1; usleep(300000); touch_pages(p, 300 << 20); return 0; }
END
if perf_pages=$("$aiflame" record -q --cpu -e page-faults -o probe.data true 2>&1) && cc -O1 -g -o touch touch.c; then
	check "record -e page-faults: a program is sampled, on any machine" sh -c "'$aiflame' record -q --cpu -e page-faults --period 7 -o pf.data ./touch && '$aiflame' report --cpu --limit 0 --format csv pf.data | grep -q ',touch_pages'"
	check "record -e page-faults: all 76,800 are counted, within a twentieth" sh -c "'$aiflame' report --cpu --limit 0 --format csv pf.data | python3 -c \"
import csv, sys
n = sum(7 * int(r['self_samples']) for r in csv.DictReader(sys.stdin) if r['function'].startswith('touch_pages'))
assert 0.95 * 76800 <= n <= 1.05 * 76800, n\""
else
	skip "record -e page-faults: a program is sampled, on any machine" "perf_event is refused here: $perf_pages"
fi
done_testing
