#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The decision table: each rule fires on a program that was made for it, and stays silent on one that was not. Where this
# machine does not count, programs run on a simulated CPU, which counts what they do; the limits of these rules are tried
# with counts as perf prints them (made up, and said to be), through the same files.
. "$(dirname "$0")/tap.sh"
program=$build/tests/e2e/runbook_signals
# What is read must lie on storage, not in memory as /tmp may.
file=$build/tests/e2e/runbook_signals.pages
trap 'rm -rf "$work" "$file"' EXIT
head -c 16M /dev/zero | tr '\0' x >"$file" && sync "$file"
printf '#!/bin/sh\nexec "%s" $(cat what)\n' "$program" >generate
chmod +x generate
run() { # WHAT [FILE]: its run directory
	echo "$@" >what && "$aiflame" runbook run -d "$1" -r 1 --mode decode -- ./generate
}
fires() { # SIGNAL DIR [BEFORE]
	if [ $# -gt 2 ]; then "$aiflame" runbook compare "$3" "$2"; else "$aiflame" runbook check "$2" --cannot-tell pass; fi >said.out 2>&1
	grep "^signal  *$1:" said.out || { cat said.out; return 1; }
}
silent() { ! fires "$@" >/dev/null && grep -qE "decode_tok_s" said.out; }
for what in calm slow chase copy; do check "a program is run that is made to be $what" run $what; done
check "a program is run that is made to read" run read "$file"

# rule SIGNAL KEY DIR: by the program, where its counter is there
rule() {
	if grep -q "\"$2\":" "$3/perf_stat_summary.json" && [ "$(grep -c "\"$2\":" calm/perf_stat_summary.json)" != 0 ]; then
		check "$1: fires on $3" fires "$1" "$3"
		check "$1: silent on calm" silent "$1" calm
	else
		skip "$1: fires by programs" "this machine counts nothing of which $2 is made"
	fi
}
check "throughput drop: fires on slow after calm" fires "throughput drop" slow calm
check "throughput drop: silent on slow after itself" silent "throughput drop" slow slow
check "throughput drop: silent where it got faster" silent "throughput drop" calm slow
check "outside the expected: fires on copy" fires "outside the expected" copy
check "outside the expected: names its function" grep -q shuffle_weights said.out
check "outside the expected: silent on calm" silent "outside the expected" calm
rule "low IPC" ipc chase
rule "cache misses" cache_miss_rate chase
rule "data TLB misses" dtlb_miss_rate chase
rule "page walks" page_walks_per_kinst chase
# An overlay or a file system in memory has no storage to read from: what the kernel counted of the program decides, and how long
# it took.
if [ "$(python3 -c 'import json; s = json.load(open("read/perf_stat_summary.json")); print(s["counters"].get("major-faults", 0) > 20 * max(s["elapsed_seconds"], 1))')" = True ]; then
	check "major faults: fires on read" fires "major faults" read
else
	skip "major faults: fires on read" "the build directory's file system has its pages in memory, or this machine is slow"
fi
calm_again() { for _ in 1 2 3; do run calm && silent "major faults" calm && return; done; }
check "major faults: silent on calm, once its pages are read" calm_again

# The same programs on a simulated CPU: the compiler calls tests/mock/pmu/memory_model.c at each of their loads, stores and
# blocks, which counts what a CPU would, and fakepmu gives these counts to the unmodified `aiflame runbook run`.
fakepmu=$build/tests/mock/pmu/fakepmu
mkdir counts
printf 'topdown\nmodel 143\n' >model.pmu
for event in cycles instructions cache-references cache-misses dTLB-loads dTLB-load-misses dTLB-stores dTLB-store-misses \
	dtlb_load_misses.walk_completed dtlb_store_misses.walk_completed itlb_misses.walk_completed dtlb_load_misses.stlb_hit \
	itlb_misses.stlb_hit slots topdown-retiring topdown-bad-spec topdown-fe-bound topdown-be-bound topdown-mem-bound; do
	echo "$event model=$work/counts/$event"
done >>model.pmu
modelled() {
	cc -O2 -g -I"$root/include" -fsanitize=thread -fsanitize-coverage=trace-pc -c -o program.o "$root/tests/e2e/runbook_signals.c" &&
		cc -O2 -c -o model.o "$root/tests/mock/pmu/memory_model.c" && cc -o modelled program.o model.o
}
simulate() { # WHAT: its run directory, simulated-WHAT
	SIMULATED_PMU=$work/counts "$fakepmu" model.pmu "$aiflame" runbook run -d "simulated-$1" -r 1 --mode decode -- ./modelled "$1"
}
if "$fakepmu" model.pmu true 2>/dev/null && modelled; then
	for what in reuse chase; do check "on a simulated CPU, a program is run that is made to be $what" simulate $what; done
	for signal in "low IPC" "cache misses" "memory bound" "data TLB misses" "page walks"; do
		check "$signal: fires on chase (simulated CPU)" fires "$signal" simulated-chase
		check "$signal: silent on reuse (simulated CPU)" silent "$signal" simulated-reuse
	done
	check "run files of a simulated CPU have the fields of their definition" sh -c "'$aiflame' runbook ledger simulated-chase && python3 '$root/tests/e2e/runbook_fields.py' simulated-chase"
	check "vtune_summary.json has the slots of a simulated CPU" python3 -c "
import json
v = json.load(open('simulated-chase/vtune_summary.json'))
d = json.load(open('simulated-chase/perf_stat_summary.json'))['derived']
m = v['analysis_metrics']['uarch-exploration']
assert m == v['analyses'][1]['summary_metrics'] and v['analyses'][1]['name'] == 'uarch-exploration'
assert abs(m['Memory Bound'] - 100 * d['memory_bound']) < 1e-3 and d['page_walks'] > 1e6, (m, d)"
else
	skip "rules of counters fire by programs on a simulated CPU" "seccomp cannot supervise a process here, or no compiler with -fsanitize=thread"
fi

# A device of Intel's, simulated: fakexe gives the recorder the records of EU stalls that its driver would, the fake runtime says
# where code lies and what was launched (tests/e2e/xe.sh); all from there on is the unmodified `aiflame runbook run`.
fakexe=$build/tests/mock/xe/fakexe
cat >device.script <<'END'
device 0 name="Fake Xe" kind=gpu units=8 clock=monotonic
stream 0 device=0
program 0
kernel 0 program=0 name=gemm
code 0 name=gemm symbol=4294967295
now
place code=0 device=0 address=0x8000fffd0000 size=0x400
sleep time=600000000
launch stream=0 kernel=0 time=1000 stack=0x401000,0x402000 start=500000000 end=600000000
sleep time=100000000
END
# Without the agent the fake runtime has no device: so it is when it is counted.
printf '#!/bin/sh\n"%s" device.script || [ $? = 3 ]\n' "$build/tests/mock/fake_app" >on_device
chmod +x on_device
on_device() { # DIR STALLS: what 100 samples waited for, a record of each
	printf 'gt 0 20.1\nrecords 0 100 0xfffd0228 %s\n' "$2" >"$1.card"
	"$fakexe" "$1.card" "$aiflame" runbook run -d "$1" -r 1 -- ./on_device
}
stalls() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1] + "/perf_stat_summary.json"))["aiflame"]["device"]; print(d); assert d["stalls"]["memory"] == float(sys.argv[2])' "$@"; }
echo >none.card
if "$fakexe" none.card true 2>/dev/null; then
	check "on a simulated device, a kernel runs that waits for memory" on_device loads sbid=2,send=1,active=2
	check "on a simulated device, three of five samples wait for memory" stalls loads 0.6
	check "device memory bound: fires on a kernel that waits for memory" fires "device memory bound" loads
	check "on a simulated device, a kernel runs that issues" on_device issues sbid=1,pipestall=2,active=2
	check "on a simulated device, one of five samples of a kernel that issues waits for memory" stalls issues 0.2
	check "device memory bound: silent on a kernel that issues" silent "device memory bound" issues
else
	skip "device memory bound: fires by programs on a simulated device" "seccomp cannot supervise a process here"
fi

# Made up counts, at each rule's own limit: cycles instructions cache-misses dTLB-load-misses major-faults
counts() {
	printf '\n Performance counter stats for "made up":\n\n'
	printf '%18s      %s\n' "$1" cycles "$2" instructions 1000000 cache-references "$3" cache-misses 1000000 dTLB-loads "$4" dTLB-load-misses \
		1000000 dTLB-stores 5000 dTLB-store-misses "$5" major-faults
	printf '\n       1.010000000 seconds time elapsed\n'
}
made() { # SIGNAL COUNTS THAT FIRE: that rule alone
	signal=$1
	shift
	rm -rf made && cp -r calm made && counts "$1" "$2" "$3" "$4" "$5" >made.txt &&
		"$aiflame" stat --from made.txt --format json -o made/perf_stat_summary.json && fires "$signal" made &&
		[ "$(grep -c ^signal said.out)" = 1 ] || { cat said.out; return 1; }
}
# At the limits of all rules none fires. How fast the program was that the counts are put beside is the machine's.
rm -rf made
cp -r calm made
counts 1000000 600000 250000 5000 10 >made.txt
"$aiflame" stat --from made.txt --format json -o made/perf_stat_summary.json
none() { CK_V7_PERF_MIN_DECODE_TOK_S=0.001 "$aiflame" runbook check made --cannot-tell pass >said.out && ! grep ^signal said.out || { cat said.out; return 1; }; }
check "made up counts at all limits: no rule fires" none
check "made up counts: low IPC fires alone" made "low IPC" 1000000 599000 250000 5000 10
check "made up counts: cache misses fires alone" made "cache misses" 1000000 600000 250100 5000 10
check "made up counts: data TLB misses fires alone" made "data TLB misses" 1000000 600000 250000 5001 10
check "made up counts: major faults fires alone beyond ten a second" made "major faults" 1000000 600000 250000 5000 11
# faults DIR COUNT...: its run directory, of runs with so many major faults
faults() {
	dir=$1
	shift
	rm -rf "$dir" && cp -r calm "$dir" && python3 - "$dir/perf_stat_summary.json" "$@" <<'PY'
import json, statistics, sys
d, counts = json.load(open(sys.argv[1])), [float(n) for n in sys.argv[2:]]
d["counters"]["major-faults"] = statistics.median(counts)
d["elapsed_seconds"] = 1
d["aiflame"].setdefault("runs", {})["major-faults"] = {"n": len(counts), "median": statistics.median(counts), "min": min(counts), "max": max(counts)}
json.dump(d, open(sys.argv[1], "w"))
PY
}
# faults_after BEFORE AFTER: runbook compare has both
faults_after() { faults faults.before $1 && faults faults.after $2 && fires "major faults" faults.after faults.before; }
no_faults_after() { ! faults_after "$@" >/dev/null && grep -q '^decode_tok_s' said.out; }
check "major faults: silent on one after none (made up)" no_faults_after 0 1
check "major faults: fires on eleven in a second after none (made up)" faults_after 0 11
check "major faults: silent on as many as one of the runs before had (made up)" no_faults_after "20 100 90" 100
check "major faults: fires on more than each of the runs before had (made up)" faults_after "20 100 90" 101
# has FILE EXPRESSION: a member that our stat does not write, as v7's writers do with Intel's events and VTune
has() {
	rm -rf made && cp -r calm made && python3 - "made/$1" "$2" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
exec("d" + sys.argv[2])
json.dump(d, open(sys.argv[1], "w"))
PY
}
has perf_stat_summary.json '["derived"]["page_walks_per_kinst"] = 0.051'
check "page walks: fires at 0.051 in 1000 instructions (a made up summary)" fires "page walks" made
has perf_stat_summary.json '["derived"]["page_walks_per_kinst"] = 0.05'
check "page walks: silent at 0.05 in 1000 instructions" silent "page walks" made
has vtune_summary.json '["analysis_metrics"]["uarch-exploration"] = {"Memory Bound": 20.1}'
check "memory bound: fires at 20.1 % of slots (a made up summary of VTune)" fires "memory bound" made
has vtune_summary.json '["analysis_metrics"]["uarch-exploration"] = {"Memory Bound": 20.0}'
check "memory bound: silent at 20 % of slots" silent "memory bound" made
has perf_stat_summary.json '["aiflame"]["device"] = {"busy": 0.9, "stalls": {"memory": 0.501, "issue": 0.499}}'
check "device memory bound: fires at 50.1 % of samples (a made up summary)" fires "device memory bound" made
has perf_stat_summary.json '["aiflame"]["device"] = {"busy": 0.9, "stalls": {"memory": 0.5, "issue": 0.5}}'
check "device memory bound: silent at 50 % of samples" silent "device memory bound" made
done_testing
