#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame stat: counters of programs that know theirs.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_program
# value FILE PATH: a value of JSON
value() { python3 -c "import json; d = json.load(open('$1')); print(d$2)"; }
# holds LOW VALUE HIGH
holds() { awk -v a="$1" -v x="$2" -v b="$3" 'BEGIN { print a, "<=", x, "<=", b; exit !(a <= x && x <= b) }'; }

check "a program is counted" sh -c "'$aiflame' stat --format json -o s.json '$app' 1 threads 2 >shares"
used=$(sed -n 's/^sum //p' shares)
check "the task clock is what the program used by its own word" holds "$(awk "BEGIN { print 1000 * $used - 20 }")" "$(value s.json "['counters']['task-clock']")" "$(awk "BEGIN { print 1050 * $used + 100 }")"
check "CPUs utilized are the task clock over the elapsed time" python3 -c "
import json
d = json.load(open('s.json'))
assert abs(d['aiflame']['cpus_utilized']['median'] - d['counters']['task-clock'] / 1e3 / d['elapsed_seconds']) < 1e-6"
check "user and system time sum to the task clock" python3 -c "
import json
d = json.load(open('s.json'))
u = d['aiflame']['usage']
assert abs(u['user_seconds']['median'] + u['sys_seconds']['median'] - d['counters']['task-clock'] / 1e3) < 0.05, u"
check "memory that a program touches is faults and resident memory" sh -c "'$aiflame' stat --format json -o m.json python3 -c 'x = bytearray(200 << 20)' &&
	python3 -c \"
import json
d = json.load(open('m.json'))
assert d['aiflame']['usage']['max_rss_bytes']['median'] >= 200 << 20
assert d['counters']['page-faults'] == d['counters']['minor-faults'] + d['counters']['major-faults'] or 'page-faults' in d['aiflame']['percent_running']
assert d['counters']['page-faults'] >= 100\""
check "each key of the JSON is there, or why it is not" python3 -c "
import json
d = json.load(open('s.json'))
for key in 'generated_at source counters derived elapsed_seconds notes rows cpu_topology'.split():
    assert key in d, key
named = [r['metric'] for r in d['rows']]
assert named == list(d['counters'])
missing = {u['event']: u for u in d['aiflame']['unavailable']}
for e in 'cycles instructions cache-references cache-misses branches branch-misses dTLB-loads dTLB-load-misses iTLB-load-misses'.split():
    assert (e in d['counters']) != (e in missing), e
for u in missing.values():
    assert u['errno'] > 0 and u['reason'] and u['fix'], u
assert ('ipc' in d['derived']) == ('cycles' in d['counters'] and 'instructions' in d['counters'])
assert d['cpu_topology']['logical_cpus'] >= 1"
check "-o NAME.json writes JSON" sh -c "'$aiflame' stat -e page-faults -o name.json true && python3 -c 'import json; json.load(open(\"name.json\"))'"
check "-o NAME.csv writes CSV" sh -c "'$aiflame' stat -e page-faults -o name.csv true && grep -qE '^[0-9]+,,page-faults,' name.csv"
check "--format says more than the name" sh -c "'$aiflame' stat -e page-faults --format text -o text.json true && grep -q 'Performance counter stats' text.json"
check "-r 3 has a median of three runs" sh -c "'$aiflame' stat -r 3 --format json -o r.json true && python3 -c \"
import json
c = json.load(open('r.json'))['aiflame']['runs']['task-clock']
assert c['n'] == 3 and c['min'] <= c['median'] <= c['max'], c\""
check "the text is perf's layout" sh -c "'$aiflame' stat true 2>t.txt; grep -qE '^ +[0-9.]+ msec task-clock +# +[0-9.]+ CPUs utilized' t.txt && grep -qE '^ +[0-9.]+ seconds time elapsed' t.txt && grep -qE '^ +[0-9.]+ seconds user' t.txt"
check "-x, has perf's fields" sh -c "'$aiflame' stat -x, true 2>x.csv; awk -F, 'NF != 7 { exit 1 } END { exit NR < 20 }' x.csv && grep -qE '^[0-9.]+,msec,task-clock,[0-9]+,100.00,[0-9.]+,CPUs utilized' x.csv"
check "-x with runs has one field more" sh -c "'$aiflame' stat -r 2 -x';' true 2>x.csv; awk -F';' 'NF != 8 { exit 1 }' x.csv"
check "-e chooses events" sh -c "'$aiflame' stat -x, -e page-faults,task-clock true 2>e.csv; [ \$(wc -l <e.csv) = 2 ]"
check "-e refuses unknown events" status_is 2 "$aiflame" stat -e cycels true
check "output of the command is its own" sh -c "[ \"\$('$aiflame' stat echo hello 2>/dev/null)\" = hello ]"
check "the command's exit status is stat's" status_is 7 "$aiflame" stat sh -c 'exit 7'
check "a command that a signal ends gives 128 + its number" status_is 143 "$aiflame" stat sh -c 'kill $$'
check "a command that does not exist ends with 127" status_is 127 "$aiflame" stat ./nothing
check "a command that cannot be started ends with 126" sh -c ": >plain; '$aiflame' stat ./plain; [ \$? = 126 ]"
check "a failing command is not repeated" says "0 of 5 runs" "$aiflame" stat -r 5 --warm-up 1 false
check "--threads sets the libraries' thread counts" sh -c "[ \"\$('$aiflame' stat --threads 3 sh -c 'echo \$CK_NUM_THREADS \$OMP_NUM_THREADS \$MKL_NUM_THREADS' 2>/dev/null)\" = '3 3 3' ]"
check "--cpus pins the command" sh -c "'$aiflame' stat --cpus 0 grep -qE '^Cpus_allowed_list:[[:space:]]0\$' /proc/self/status"
check "a wrong list of CPUs is refused" status_is 2 "$aiflame" stat --cpus 3-1 true
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$aiflame"; then
	chmod 755 .
	check "an ordinary user's program is counted" sh -c "setpriv --reuid 65534 --regid 65534 --clear-groups '$aiflame' stat --format json -o - '$app' 0.3 >u.all && sed -n '/^{/,\$p' u.all >u.json"
	check "an ordinary user's program has its task clock" holds 280 "$(value u.json "['counters']['task-clock']")" 400
	check "an ordinary user's program has context switches and faults" holds 1 "$(value u.json "['counters']['context-switches'] + d['counters']['page-faults']")" 100000
fi
# Counters of files, which perf stat or we wrote.
seeds=$root/tests/fuzz/found
check "stat --from reads the text of perf stat" sh -c "'$aiflame' stat --from '$seeds/fuzz_import-perf_stat' --format json -o from.json && python3 -c \"
import json
d = json.load(open('from.json'))
assert d['derived'] == {'ipc': 2}, d['derived']
assert d['counters']['task-clock'] == 1002.49 and d['elapsed_seconds'] == 1.00449 and d['cpu_topology'] == {}
a = d['aiflame']
assert a['command'] == ['./train 5'] and a['percent_running']['cycles'] == 74.95, a
assert sorted(u['event'] for u in a['unavailable']) == ['LLC-loads', 'stalled-cycles-frontend']\""
check "--from: intervals are summed up" sh -c "'$aiflame' stat --from '$seeds/fuzz_import-perf_stat_csv' -x, 2>from.csv; grep -q '^18.79,msec,task-clock,' from.csv && grep -q '^210,,page-faults,18786864,76' from.csv && grep -q '^<not supported>,,cycles,' from.csv"
check "--from: what is not known is named" says "1 values of events that aiflame stat does not know were left out: power/energy-pkg/" "$aiflame" stat --from "$seeds/fuzz_import-perf_stat"
for form in text csv; do
	check "stat --from reads what stat --format $form wrote" sh -c "'$aiflame' stat --format $form true 2>own.$form; '$aiflame' stat --from own.$form --format $form 2>again.$form; grep -E '[0-9].*page-faults' own.$form | cut -c 1-20 >a.txt; grep -E '[0-9].*page-faults' again.$form | cut -c 1-20 | diff a.txt -"
done
if perf stat -o real.txt -e task-clock,page-faults true 2>/dev/null && grep -q page-faults real.txt; then
	for form in -x, -j; do
		check "--from: perf stat $form, run here" sh -c "perf stat -o real.$form $form -e task-clock,page-faults true; '$aiflame' stat --from real.$form --format json -o - | python3 -c \"
import json, re, sys
n = json.load(sys.stdin)['counters']['page-faults']
assert re.search(r'\b%d[.,]' % n, [l for l in open('real.$form') if 'page-faults' in l][0]), n\""
	done
else
	skip "--from: perf stat, run here" "perf cannot count here"
fi
check "--from refuses a file without a counter" status_is 1 "$aiflame" stat --from "$root/README.md"
for line in 87,,page-faults,0,10.00 87,,page-faults,250000,10.00 87,,page-faults,0,100.00; do
	echo "$line,," >share.csv
	check "--from: $line comes back as it is" sh -c "'$aiflame' stat --from share.csv --format csv 2>&1 | tr -d '\r' | grep -qx '$line,,'"
done
check "--from with a command is refused" status_is 2 "$aiflame" stat --from own.csv true
check "stat without a command is refused" status_is 2 "$aiflame" stat
# Rates are the machine's; what must hold between them is the same everywhere.
check "--roofs: each has its rounds, the best is not below the median" sh -c "'$aiflame' stat --roofs --format json -o roofs.json && python3 -c \"
import json
d = json.load(open('roofs.json'))
assert d['isa'] in ('avx512f', 'avx2', 'generic') and d['threads'] >= 1, d
for side in d['one'], d['all']:
    for key in 'fma_sp', 'fma_dp', 'dram_read', 'dram_triad':
        assert key in side, key
    for key, v in side.items():
        assert v['n'] == 7 and 0 < v['min'] <= v['median'] <= v['best'], (key, v)\""
check "--roofs: the widest vectors that the CPU has" sh -c "python3 -c \"
import json, re
isa = json.load(open('roofs.json'))['isa']
flags = re.findall(r'^flags.*', open('/proc/cpuinfo').read(), re.M)
flags = flags[0].split() if flags else []
assert isa == ('avx512f' if 'avx512f' in flags else 'avx2' if 'avx2' in flags and 'fma' in flags else 'generic'), isa\""
check "--roofs: beside a command's counters" sh -c "'$aiflame' stat --roofs --cpus 0 --format json -o both.json true && python3 -c \"
import json
d = json.load(open('both.json'))
assert d['aiflame']['roofs']['one']['fma_dp']['best'] > 0 and d['counters']['page-faults'] > 0\""
check "--roofs has no CSV" status_is 2 "$aiflame" stat --roofs -x, true
# Where perf_event_open is refused altogether.
check "a program is counted without perf_event_open" sh -c "'$build/tests/e2e/no_perf' '$aiflame' stat --format json -o n.json '$app' 0.3 >/dev/null"
check "without perf_event_open the task clock is rusage's" holds 280 "$(value n.json "['counters']['task-clock']")" 400
check "without perf_event_open the JSON names what only perf has" sh -c "python3 -c \"
import json
d = json.load(open('n.json'))
assert 'cpu-migrations' in [u['event'] for u in d['aiflame']['unavailable']] and 'page-faults' in d['counters'] and not d['aiflame']['percent_running'], d['aiflame']\""
for format in text json csv; do
	check "-o a second time into the same file: $format" sh -c "'$aiflame' stat --format $format -o again.$format true && '$aiflame' stat --format $format -o again.$format true"
done
check "-o does not write over a file that is another's" sh -c "echo 'dear diary' >diary && ! '$aiflame' stat -o diary true 2>said.err && grep -q 'cannot write diary' said.err && grep -q diary diary"
done_testing
