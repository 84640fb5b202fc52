#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame runbook run --with and --deep: what our own samples say of instructions, what the machine can do, and VTune and
# Advisor, which are not here: scripts under their names write reports in the layout of theirs.
. "$(dirname "$0")/tap.sh"
program=$build/tests/e2e/runbook_fp
fields() { python3 "$root/tests/e2e/runbook_fields.py" "$1"; }
judged() { "$aiflame" runbook check "$1" --cannot-tell pass >judged.out && "$aiflame" runbook ledger "$1"; }

# Our own.
check "a program of packed and scalar arithmetic is run with --deep" "$aiflame" runbook run -d own -r 1 --deep -- "$program" 2
judged own
check "run files of --deep have the fields of their definition" fields own
check "the analysis has shares of kinds of instructions, and which functions are vectorized" python3 -c "
import json
a = json.load(open('own/advisor_summary.json'))
v = {h['routine']: h for h in a['vectorization_hotspots']}
print(v)
assert v['packed']['is_vectorized'] and not v['scalar']['is_vectorized']
assert 0.3 < v['packed']['self_time_s'] / a['summary_metrics']['total_cpu_time_s'] < 0.7
m = json.load(open('own/vtune_summary.json'))['aiflame']['instruction_mix']
print(m)
assert m['packed_fp'] > 0.3 and m['scalar_fp'] > 0.3 and m['packed_fp'] + m['scalar_fp'] <= 1"
check "--deep measures the machine's roofs" python3 -c "
import json
a = json.load(open('own/advisor_summary.json'))
roofs = {(r['name'], r['threading']): r for r in a['advisum_metrics']['roof_items']}
s = a['summary_metrics']
assert roofs['SP Vector FMA Peak', 'multi']['bandwidth_gops'] == s['sp_fma_peak_gflops'] > 1
assert roofs['SP Vector FMA Peak', 'multi']['kind'] == 'compute' and roofs['L1 Bandwidth', 'single']['kind'] == 'memory'
assert a['aiflame']['unavailable'] == ['operations', 'bytes'] and s['isa_used']
best = json.load(open('own/perf_stat_summary.json'))['aiflame']['roofs']['all']['fma_sp']['best']
assert abs(best / 1e9 - s['sp_fma_peak_gflops']) < 0.001"
check "--with an unknown tool is misuse" status_is 2 "$aiflame" runbook run -d none --with vtune,perf -- true

# Without the tools.
check "--with a tool that is not installed says so, and runs without" says "without VTune: vtune is not in PATH" \
	env PATH=/usr/bin:/bin "$aiflame" runbook run -d absent -r 1 --with vtune,advisor -- "$program" 1
judged absent
check "run files without the tools say so, and have aiflame's own analysis" python3 -c "
import json
v, a = (json.load(open('absent/%s_summary.json' % n)) for n in ('vtune', 'advisor'))
assert v['aiflame']['skipped'] == {'vtune': 'vtune is not in PATH'} and v['aiflame']['tool'] == 'aiflame record', v['aiflame']
assert a['aiflame']['skipped'] == {'advisor': 'advisor is not in PATH'} and a['aiflame']['unavailable'][0] == 'roofs'
assert {h['symbol'] for h in v['hotspots']} >= {'packed', 'scalar'} and 'advisum_metrics' not in a"
check "run files without the tools have the fields of their definition" fields absent
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" != 0 ]; then
	skip "VTune and Advisor analyse the command" "kernel.yama.ptrace_scope lets them not look into programs"
	done_testing
	exit
fi

# With tools of these names.
mkdir tools
cat >tools/vtune <<'END'
#!/bin/sh
# vtune -collect WHAT -result-dir DIR -quiet -- COMMAND; vtune -report KIND -result-dir DIR -format F -report-output FILE
action=$1 what=$2
shift 2
while [ $# -gt 0 ]; do
	case $1 in
	-result-dir) dir=$2; shift ;;
	-format) format=$2; shift ;;
	-report-output) to=$2; shift ;;
	-csv-delimiter) shift ;;
	--) shift; break ;;
	esac
	shift
done
if [ "$action" = -collect ]; then
	[ ! -e "$dir" ] || { echo "vtune: Error: Cannot create data directory '$dir'" >&2; exit 4; }
	mkdir "$dir" && echo "$what" >"$dir/what" && echo "$what: $*" >>"$LOG" && "$@" >/dev/null
	exit
fi
case "$what $format $(cat "$dir/what")" in
"hotspots csv hotspots")
	echo 'Function,CPU Time,CPU Time:Effective Time,CPU Time:Spin Time,CPU Time:Overhead Time,Module,Function (Full),Source File,Start Address'
	echo 'ck_gemm,1.970s,1.970s,0s,0s,libck.so,ck_gemm,gemm.c,0x1130'
	echo '"ck_attention(int, int)",0.030s,0.030s,0s,0s,libck.so,"ck_attention(int, int)",attention.c,0x2240'
	;;
"hotspots text hotspots") printf 'Function  CPU Time  Module\n-------- --------\nck_gemm  1.970s  libck.so\n' ;;
"summary text uarch-exploration")
	printf 'Elapsed Time: 1.0s\n    Retiring: 31.5%% of Pipeline Slots\n    Front-End Bound: 12.0%% of Pipeline Slots\n    Bad Speculation: 4.5%% of Pipeline Slots\n'
	printf '    Back-End Bound: 52.0%% of Pipeline Slots\n        Memory Bound: 40.5%% of Pipeline Slots\n        Core Bound: 11.5%% of Pipeline Slots\n'
	;;
"summary text memory-access") printf 'Memory Bound: 41.0%% of Pipeline Slots\n  L1 Bound: 5.0%% of Clockticks\n  DRAM Bound: 30.25%% of Clockticks\n  DRAM Bandwidth, GB/s: x\n  Observed Bandwidth: 11.5 GB/s\n' ;;
"summary csv "*) echo 'Hierarchy Level,Metric Name,Metric Value' ;;
*) echo "no such report: $what $format" >&2; exit 3 ;;
esac >"$to"
END
cat >tools/advisor <<'END'
#!/bin/sh
# advisor --collect=roofline --project-dir DIR -- COMMAND; advisor --report=roofline --project-dir DIR --format=F --report-output FILE
action=$1 dir=$3
shift 3
case $action in
--collect=roofline) shift; mkdir "$dir" && echo "roofline: $*" >>"$LOG" && "$@" >/dev/null ;;
--report=roofline)
	case $1 in
	--format=csv) printf 'ID,Function Call Sites and Loops,Total Time,Self GFLOPS\n1,"[loop in gemm at a.c:7, and 8]",1.5s,12.5\n2,main,0.1s,\n' >"$3" ;;
	*) echo 'a report of Advisor' >"$3" ;;
	esac ;;
esac
END
chmod +x tools/vtune tools/advisor
export LOG="$work/tools.log"
with() { PATH="$work/tools:$PATH" "$aiflame" runbook run -r 1 "$@" -- "$program" 1; }
check "VTune and Advisor analyse the command" with -d both --with vtune,advisor --deep
judged both
check "each analysis of VTune and Advisor runs the command once" sh -c "[ \"\$(cat tools.log)\" = \"\$(printf '%s: $program 1\n' hotspots uarch-exploration memory-access roofline)\" ] || { cat tools.log; exit 1; }"
check "run files of VTune and Advisor have the fields of their definition" fields both
check "functions, metrics and reports of VTune and Advisor are in the run files" python3 -c "
import json, os
v = json.load(open('both/vtune_summary.json'))
assert [(h['symbol'], h['value'], h['percent']) for h in v['hotspots']] == [('ck_gemm', 1.97, 98.5), ('ck_attention', 0.03, 1.5)], v['hotspots']
assert [a['name'] for a in v['analyses']] == ['hotspots', 'uarch-exploration', 'memory-access'] and v['aiflame']['tool'] == 'vtune'
assert v['raw_text'].startswith('Function  CPU Time') and v['analyses'][0]['hotspots'] == v['hotspots']
assert v['analysis_metrics'] == {'hotspots': {}, 'uarch-exploration': {'Memory Bound': 40.5, 'Core Bound': 11.5, 'Retiring': 31.5,
    'Frontend Bound': 12, 'Backend Bound': 52, 'Bad Speculation': 4.5},
    'memory-access': {'Memory Bound': 41, 'DRAM Bound': 30.25, 'L1 Bound': 5, 'Bandwidth GB/s': 11.5}}, v['analysis_metrics']
for a in v['analyses']: assert os.path.isdir(a['result_dir']) and os.path.getsize(a['report_text']) and os.path.getsize(a['report_csv'])
assert {x['label']: x['path'] for x in v['artifacts']}['report'] == v['report_path'] and v['aiflame']['instruction_mix']['samples'] > 0
a = json.load(open('both/advisor_summary.json'))
assert a['preview_rows'] == [{'ID': '1', 'Function Call Sites and Loops': '[loop in gemm at a.c:7, and 8]', 'Total Time': '1.5s', 'Self GFLOPS': '12.5'},
    {'ID': '2', 'Function Call Sites and Loops': 'main', 'Total Time': '0.1s', 'Self GFLOPS': ''}], a['preview_rows']
assert a['raw_text'] == 'a report of Advisor' + chr(10) and a['aiflame']['tool'] == 'advisor' and os.path.isdir(a['project_dir']) and a['csv_path']"
check "memory bound is judged by VTune's slots" grep -q '^signal  *memory bound: memory_bound_percent is 40.5' judged.out
check "a run with tools may follow another in the same directory" with -d both --with vtune,advisor
check "a run without tools leaves nothing of the tools' run before" sh -c "'$aiflame' runbook run -d both -r 1 -- '$program' 1 && ! ls both | grep -E '^(vtune-|advisor([.]|\$))'"
printf '#!/bin/sh\nexit 7\n' >tools/vtune
check "a tool that fails is named, and aiflame's own analysis takes its place" with -d fails --with vtune
check "the file of a tool that fails says so" python3 -c "
import json
v = json.load(open('fails/vtune_summary.json'))
assert v['aiflame']['skipped'] == {'vtune': 'vtune ended with status 7 as it collected'} and v['hotspots'][0]['symbol'] in ('packed', 'scalar')"
cat >runbook.json <<END
{"schema": "aiflame.runbook.v1", "runs": 1, "tools": ["advisor"], "modes": {"train": {"cli": ["$program", "1"]}}}
END
check "runbook.json names tools" sh -c "PATH='$work/tools':\$PATH '$aiflame' runbook run -d planned && grep -q '\"tool\": \"advisor\"' planned/advisor_summary.json"
check "runbook.json with an unknown tool is refused" sh -c "printf '{\"schema\": \"aiflame.runbook.v1\", \"tools\": [\"perf\"]}' >bad.json && ! '$aiflame' runbook check planned --plan bad.json 2>said.err && grep -q 'a tool is vtune or advisor' said.err"
rm runbook.json
rule() { # TARGET VARIABLE=VALUE...: the options that its rule gives to run
	target=$1
	shift
	make -n -f rules.mk "$target" "$@" | sed -n 's/.* run --dir runbook *//p' | sed 's/ *-- .*//; s/  */ /g'
}
is() { [ "$(rule "$@")" = "$want" ] || { rule "$@"; return 1; }; }
"$aiflame" runbook make >rules.mk
want="--with vtune --deep" check "make profile-v7-vtune runs VTune, deep" is profile-v7-vtune
want="--with advisor" check "make profile-v7-advisor with V7_VTUNE_DEEP=0 runs Advisor, not deep" is profile-v7-advisor V7_VTUNE_DEEP=0
want="--mode decode --mode prefill --with vtune,advisor --deep" check "make profile-v7-full runs both modes with both tools" is profile-v7-full
want="--mode decode --mode prefill --with advisor" check "make profile-v7-full follows V7_WITH_VTUNE and V7_VTUNE_DEEP" is profile-v7-full V7_WITH_VTUNE=0 V7_VTUNE_DEEP=0
want="--mode decode --mode prefill" check "make profile-v7-full without tools runs both modes alone" is profile-v7-full V7_WITH_VTUNE=0 V7_WITH_ADVISOR=0 V7_VTUNE_DEEP=0
done_testing
