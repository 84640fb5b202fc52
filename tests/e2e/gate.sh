#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a gate must not take for a win: runs that failed, values of damaged files, budgets that were mistyped.
. "$(dirname "$0")/tap.sh"

# Runs without a device: CPU time is sampled.
mkdir fine status status_too killed
for i in 1 2 3; do
	work_and() { "$aiflame" record -q --cpu -o "$1/$i.data" -- sh -c "i=0; while [ \$i -lt 400000 ]; do i=\$((i+1)); done; $2" >"$work/record.out" 2>&1; }
	work_and fine true
	work_and status 'exit 3'
	work_and status_too 'exit 3'
	work_and killed 'kill -9 $$'
done
if says 'cpu' "$aiflame" gate --budget 'cpu <= 1000s' fine status_too && ! grep -q 'not compared' says.out; then
	check "a gate names exit statuses that differ, where CPU time is judged" says 'no verdict: exit statuses differ: fine/1.data ended with 0, status/1.data with 3' "$aiflame" gate --budget 'cpu <= 1000s' fine status
	check "--cannot-tell pass does not pass CPU time of runs that failed" status_is 4 "$aiflame" gate --cannot-tell pass --budget 'cpu <= 1000s' fine status
	check "a gate cannot tell of CPU time of runs that failed" status_is 4 "$aiflame" gate --budget 'cpu <= 1000s' fine status
	check "CPU time of runs that all failed the same way is judged" status_is 0 "$aiflame" gate --budget 'cpu <= 1000s' status status_too
	check "a gate cannot tell of CPU time of runs that were killed" says "no verdict: killed/1.data: its command was ended by SIGKILL" "$aiflame" gate --budget 'cpu <= 1000s' fine killed
	check "a gate cannot tell by a baseline of runs that were killed" sh -c "'$aiflame' baseline set k killed >k.txt && '$aiflame' gate --budget 'cpu <= 1000s' fine baseline:k >k.txt; [ \$? = 4 ] && grep -q 'its command was ended by SIGKILL' k.txt"
else
	skip "a gate names exit statuses that differ, where CPU time is judged" "the CPU cannot be sampled here"
fi

# Values of files, one beside each run.
golden=$root/tests/golden/reduced-run-1.run
mkdir a b
for i in 1 2 3; do
	sed "s/^start .*/start 10$i/; s/^recording .*/recording $i/" "$golden" >a/$i.run
	sed "s/^start .*/start 20$i/; s/^recording .*/recording 2$i/" "$golden" >b/$i.run
	echo "{\"x\": [1], \"r\": {\"tok_s\": 10$i}}" | tee a/$i.json >b/$i.json
done
tok_s() { "$aiflame" gate --metric 'tok_s={}.json:.r.tok_s' --budget 'tok_s -5%' "$@" a b; }
check "a metric is read from the file of each run" status_is 0 tok_s
damaged() { # WHAT TEXT WHY
	printf '%s' "$2" >b/2.json
	check "$1: a gate cannot tell" status_is 4 tok_s
	check "$1: the gate says what is damaged" says "b/2.json: $3" tok_s
	check "$1: --require of the metric judges nothing" status_is 5 tok_s --require tok_s
	check "$1: --require of the value in the file judges nothing" status_is 5 tok_s --require '{}.json:.r.tok_s=102'
}
damaged "a brace that is missing" '{"x": [1], "r": {"tok_s": 102}' 'damaged, no JSON: the text ends in an object'
damaged "a number that ends in a letter" '{"r": {"tok_s": 102N}}' 'damaged, no JSON: no comma between two values'
damaged "a number that is cut off" '{"r": {"tok_s": 102' 'damaged, no JSON: the text ends in an object'
damaged "what follows is no JSON" '{"r": {"tok_s": 102}} x' 'damaged, no JSON: data behind the end'
damaged "a list that is cut off" '{"r": {"tok_s": 102}, "x": [1,' 'damaged, no JSON: the text ends where a value should be'
damaged "a value that stands twice" '{"r": {"tok_s": 102, "tok_s": 102}}' 'damaged: a key of .r.tok_s stands twice'
damaged "an object that stands twice" '{"r": {"tok_s": 102}, "\u0072": {}}' 'damaged: a key of .r.tok_s stands twice'
damaged "an empty file" '' 'damaged, no JSON: the text ends where a value should be'
cp a/2.json b
check "--metric with one file for all runs is misuse" status_is 2 "$aiflame" gate --metric 'tok_s=a/1.json:.r.tok_s' --budget 'tok_s -5%' a b
check "--metric with one file for all runs says to write {} where the run's name goes" says 'one file for all runs: write {} where the run' "$aiflame" gate --metric 'tok_s=a/1.json:.r.tok_s' --budget 'tok_s -5%' a b

# Thirty steps of 10 ms, of three launches each.
cat >steps.py <<'EOF'
print("device 0 name=\"Fake GPU\" kind=gpu units=4 clock=monotonic\nstream 0 device=0\nprogram 0")
for i, name in enumerate(["attention", "scale", "shift"]):
    print(f"kernel {i} program=0 name={name}")
print("now")
t = 1000
for step in range(30):
    for k in range(3):
        print(f"launch stream=0 kernel={k} time={t} stack={hex(0x401000 + 16 * k)},0x402000 start={t + 1000} end={t + 3000000}")
        t += 3333000
print("sleep time=400000000")
EOF
python3 steps.py >steps.script
mkdir steps_a steps_b
for i in 1 2 3; do
	"$aiflame" record -q --all-launches -o steps_a/$i.data "$build/tests/mock/fake_app" steps.script
	"$aiflame" record -q --all-launches -o steps_b/$i.data "$build/tests/mock/fake_app" steps.script
done
# parts DIRECTORY FROM TO: of each run that part, in ms since its first launch
parts() {
	for i in 1 2 3; do
		"$aiflame" query --format csv "$1/$i.data" 'SELECT min(time_ns) FROM launches' | awk -v run="$1/$i.data" -v from="$2" -v to="$3" \
			'END { printf "%s@%.6fms,%.6fms\n", run, $1 / 1e6 + from, $1 / 1e6 + to }'
	done | paste -sd,
}
part_a=$(parts steps_a 25 125) part_b=$(parts steps_b 52 136)
launches() { "$aiflame" gate --format json --unit "$1" --budget 'launches 0' "$2" "$3" | python3 -c '
import json, sys
d = json.load(sys.stdin)
b = d["budgets"][0]
print(d["unit"], b["a"], b["b"], b["result"])'; }
check "a part that begins and ends within steps has the launches of whole steps" [ "$(launches auto "$part_a" "$part_b")" = "step 3 3 kept" ]
check "--unit run counts all launches of a part" sh -c "echo \"\$1\" | grep -q '^run 3[0-9]'" sh "$(launches run "$part_a" "$part_b")"
"$aiflame" baseline set part "$part_a" >/dev/null
check "a gate says that a baseline of a part has more than steps" says 'begins or ends within a step, or has more than steps' "$aiflame" gate --unit step --budget 'launches +50%' baseline:part "$part_b"
"$aiflame" baseline set --whole whole steps_a >/dev/null
check "a gate by step says that a baseline of whole runs has no steps" says 'is a whole run, whose start-up and end are no steps' "$aiflame" gate --unit step --budget 'launches 0' baseline:whole steps_b
check "a gate by step cannot tell by a baseline of whole runs" status_is 4 "$aiflame" gate --unit step --budget 'device +50%' baseline:whole steps_b
check "a gate by step cannot tell of whole runs as the second side" status_is 4 "$aiflame" gate --unit step --budget 'device +50%' steps_a baseline:whole
for unit in second launch; do
	check "a gate by $unit says that whole runs and loops are compared by --unit run" says 'is a whole run, steps_b/1.data the loop of one: compare by --unit run' "$aiflame" gate --unit $unit --budget 'device +50%' baseline:whole steps_b
done
check "a gate by run compares a baseline of whole runs" status_is 0 "$aiflame" gate --unit run --budget 'launches 0' baseline:whole steps_b

# Marked steps, imported: five runs a side.
cat >trace.py <<'EOF'
import json, os, random, sys
side, steps, ms, before, name, part = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), sys.argv[5], float(sys.argv[6])
os.makedirs(side)
for run in range(5):
    rng, events, at = random.Random(side + str(run)), [], 0.0
    def kernel(ts, us, name):
        n = len(events)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts, "dur": 5, "args": {"correlation": n}})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts + 8, "dur": us, "args": {"correlation": n, "device": 0, "stream": 7, "grid": [1, 1, 1], "block": [32, 1, 1]}})
    if before:
        kernel(at, before * 900, "init")
        at += before * 1000
    for step in range(steps):
        us = ms * 1000 * (1 + rng.uniform(-.004, .004))
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": at, "dur": us})
        events.append({"ph": "X", "cat": "user_annotation", "name": "prefill", "pid": 1, "tid": 1, "ts": at + 1, "dur": us * part})
        for k in range(4):
            kernel(at + 10 + k * us / 4, us / 4 * .9, ("gemm" if not step and not k else name) + str(k))
        at += us
    json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100", "numSms": 100}], "traceEvents": events}, open("t.json", "w"))
    os.system(f"'{os.environ['aiflame']}' import -o {side}/{run}.data t.json >/dev/null 2>&1")
EOF
export aiflame
marked() { python3 trace.py "$@"; }
marked m_a 60 1 0 gemm .9
marked m_more 62 1.025 0 gemm .9
marked m_before 60 1 20 gemm .9
marked m_renamed 60 1.2 0 matmul .9
marked m_drawn 60 1.3 0 gemm .4
gated() { # STATUS SIDE OPTION...
	want=$1 side=$2
	shift 2
	status_is "$want" "$aiflame" gate "$@" m_a "$side"
}
doubted() { # TITLE SIDE WHY OPTION...
	title=$1 side=$2 why=$3
	shift 3
	check "a gate cannot tell: $title" gated 4 "$side" "$@"
	check "--cannot-tell pass does not pass: $title" gated 4 "$side" --cannot-tell pass "$@"
	for format in text json md junit; do
		check "a gate says why in $format: $title" says "$why" "$aiflame" gate --format $format "$@" m_a "$side"
	done
}
doubted "a few more steps, each a little longer, make a run longer" m_more 'of 62 steps and not 60: judge it by --unit run, or steps alone by --unit step' --budget 'time +3%'
doubted "work before the first step makes a run longer" m_before 'from its first work to its last, takes +33.' --budget 'time +3%'
doubted "device work before the first step makes a run longer" m_before 'judge it by --unit run' --budget 'device +3%'
doubted "all but one kernel that matched are called otherwise" m_renamed 'match in A, 0.01667 in B' --budget 'kernel:/gemm/ +5%'
doubted "a range covers less of a step" m_drawn 'and the rest has grown for it' --budget 'range:/prefill/ +3%'
check "a gate by --unit run finds the longer run" gated 3 m_before --unit run
check "a gate by --unit step judges steps alone" gated 0 m_before --unit step
check "a gate by --unit step notes that runs take longer" says 'in B, a step does not: --unit run judges whole runs' "$aiflame" gate --unit step m_a m_before
mkdir m_values
cp m_more/*.data m_values
for i in 0 1 2 3 4; do echo '{"r": 1.0}' >m_a/$i.json && echo '{"r": -7}' >m_values/$i.json; done
check "a gate cannot tell: each value under a limit above 0 is below 0" gated 4 m_values --metric 'r={}.json:.r' --budget 'r <= 1.5'
check "a value below 0 is named in JSON as missing" says '"missing":"0 or less in 5 of 5 runs of B' "$aiflame" gate --format json --metric 'r={}.json:.r' --budget 'r <= 1.5' m_a m_values
check "a limit from below allows values below 0" gated 0 m_values --metric 'r={}.json:.r' --budget 'r <= 1.5' --budget 'r >= -10'

check "all files of budgets count" sh -c "echo 'launches +30%' >loose.budgets && echo 'busy >= 100%' >strict.budgets && '$aiflame' gate --format json --budgets strict.budgets --budgets loose.budgets a b | grep -q '\"budget\":\"busy >= 100%\".*\"budget\":\"launches +30%\"'"
check "two percentages in a budget are refused" says 'two percentages in one budget' "$aiflame" gate --budget 'time +3% +300%' a b
check "two amounts in a budget are refused" says 'two amounts in one budget' "$aiflame" gate --budget 'time +3us +3s' a b
check "a lower limit of a metric of which less is better is refused" says 'less of it is better, a >= would pass any regression; give a <=' "$aiflame" gate --budget 'time >= 1ms' a b
check "an upper limit of a metric of which more is better is refused" says 'more of it is better, a <= would pass any loss; give a >=' "$aiflame" gate --budget 'busy <= 60%' a b
check "a budget of busy without a share is refused" says 'give a share: busy >= 60%' "$aiflame" gate --budget 'busy -3%' a b
printf '# mine\n\nlaunches +3%%\ntime +3\n' >wrong.budgets
check "a wrong line of a budget file is named" says "wrong.budgets:4: budget 'time +3': a number of times has a unit" "$aiflame" gate --budgets wrong.budgets a b
check "copies that no side has are missing, not the same" says 'no copies in either side' "$aiflame" gate --budget 'copies +3%' steps_a steps_b
check "bytes that no side has are missing, not the same" status_is 4 "$aiflame" gate --budget 'bytes 0' steps_a steps_b
for part in steps:10-2 2,1; do
	check "a part that ends before it begins is refused: $part" says "'$part' ends before it begins" "$aiflame" gate steps_a@$part steps_b
done
echo "1..$n"
[ $failed -eq 0 ]
