#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# diff and gate on recordings of PoCL. Nothing here depends on how long something takes: the machine may be busy.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/diff_app
fake=$build/tests/mock/fake_app
if [ ! -x "$app" ] || [ ! -e /etc/OpenCL/vendors/pocl.icd ]; then
	echo "1..0 # SKIP no OpenCL here"
	exit 0
fi
record() { # FILE VARIANT
	"$aiflame" record -o "$1" -- "$app" "$2" 12 2000 >"$work/record.out" 2>&1
}
mkdir before after again
for i in 1 2 3; do
	record before/$i.data base || cat "$work/record.out"
	record after/$i.data fusion
	record again/$i.data fusion
done

"$aiflame" diff before/1.data after/1.data >one.txt
check "one run a side has no verdict, and says why" grep -q '^no verdict: 1 run on a side' one.txt
check "its first line sums that up" sh -c "head -1 one.txt | grep -qx 'cannot tell: 1 run a side; 3 are needed'"
check "it has differences all the same" grep -q '^kernels launched *5 *6 *+20' one.txt
check "steps are the unit" grep -q '^per step: 12 in A, 12 in B, marked by the program' one.txt
check "kernels of one side only are not merged" grep -Eq 'new .* shift$' one.txt
check "three runs a side have verdicts" sh -c "'$aiflame' diff before after >three.txt && ! grep -q '^no verdict' three.txt"
check "launches that never vary are exact" grep -Eq '^kernels launched +5 +6 +\+20.0 % +more' three.txt
check "the first line names them, too" sh -c "head -1 three.txt | grep -q '; launches a step: 5 -> 6, of [a-z]* 0 -> 1$'"
check "kernels that each run of one side has, and none of the other, are told" sh -c "grep -Eq 'new +slower +0 -> 1 +shift$' three.txt && grep -Eq 'gone +faster +1 -> 0 +scale_and_shift$' three.txt"
check "both sides are named" sh -c "grep -q '^A  before, 3 runs of ' three.txt && grep -q '^B  after, 3 runs of ' three.txt"
check "JSON is JSON" sh -c "'$aiflame' diff --format json before after | python3 -c '
import json, sys
d = json.load(sys.stdin)
m = {x[\"metric\"]: x for x in d[\"metrics\"]}
assert d[\"summary\"], d
assert d[\"unit\"] == \"step\" and m[\"launches\"][\"answer\"] == \"up\" and m[\"bytes\"][\"answer\"] == \"same\", m
k = {x[\"b_kernel\"]: x for x in d[\"kernels\"]}
assert k[\"shift\"][\"launches_answer\"] == k[\"shift\"][\"answer\"] == \"up\" and k[\"attention\"][\"launches_answer\"] == \"cannot tell\", k
assert all(x.get(\"runs_needed\") is None or x[\"runs_needed\"] > 3 for x in d[\"kernels\"]), k
assert k[\"shift\"][\"a_kernel\"] is None and k[\"attention\"][\"a_kernel\"] == \"attention\", k
assert all(s[\"stack\"].endswith(\"main\") or s[\"stack\"] == \"all\" for s in d[\"stacks\"]), d[\"stacks\"]'"
# documented COMMAND...: all keys of its JSON stand in docs/diff.md
documented() { "$@" | python3 -c '
import json, sys
text = open(sys.argv[1]).read().split("## JSON")[1]
def keys(x):
    for k, v in x.items() if isinstance(x, dict) else ():
        yield k
        yield from keys(v)
    for v in x if isinstance(x, list) else ():
        yield from keys(v)
lack = sorted({k for k in keys(json.load(sys.stdin)) if "`%s`" % k not in text})
assert not lack, lack' "$root/docs/diff.md"; }
check "keys of JSON are documented" documented "$aiflame" diff --format json before after
check "those of a gate, too" documented "$aiflame" gate --format json --budget 'launches 0' --budget 'busy >= 1%' --budget 'kernel:/none/ +3%' before after
check "Markdown has tables" sh -c "'$aiflame' diff --format md before after | grep -q '^|  | A | B | change |'"
a=before/1.data
cp $a copy.data
check "a run that is named three times counts once" status_is 4 "$aiflame" gate $a,$a,copy.data after
check "which is noted" says 'note: A: a run was named twice, 2 times: it counts once' "$aiflame" diff $a,$a,copy.data after
check "nor have runs of different commands on one side" says "no verdict: runs of B are of different commands: $app fusion 12 2000; $app base 12 2000" "$aiflame" diff before/1.data,before/2.data,after/3.data after/1.data,after/2.data,before/3.data
check "which the gate says, too" status_is 4 "$aiflame" gate --budget 'launches +300%' before/1.data,before/2.data,after/3.data after/1.data,after/2.data,before/3.data
check "runs on both sides have no verdict" says 'no verdict: 2 runs are on both sides (before/1.data)' "$aiflame" diff before before/1.data,before/2.data,after/3.data
check "nor has a copy by another name" says 'cannot tell: A and B are the same runs' "$aiflame" diff $a copy.data
check "a part of a run is a side" says 'per step: 4 in A, 4 in B' "$aiflame" diff before/1.data@steps:2-5 before/1.data@steps:6-9
check "a part of each run of a directory is a side" says 'A  before@steps:2-5, 3 runs' "$aiflame" diff before@steps:2-5 before@steps:6-9
check "parts of one recording are one run" says 'note: A: parts of one recording count as one run: 3 parts of 1 recording' "$aiflame" diff $a@steps:2-4,$a@steps:5-7,$a@steps:8-10 after
check "which is too few" status_is 4 "$aiflame" gate --budget 'launches +30%' $a@steps:2-4,$a@steps:5-7,$a@steps:8-10 after
check "parts of one recording on both sides are noted" says 'note: parts of one recording are on both sides' "$aiflame" diff before@steps:2-5 before@steps:6-9
check "a set against itself is no win" status_is 4 "$aiflame" gate --budget 'launches 0' before before
check "nor may it pass" status_is 4 "$aiflame" gate --cannot-tell pass --budget 'launches 0' before before
check "and says so" says 'no verdict: A and B are the same runs' "$aiflame" gate before before
check "other runs of the same are the same" status_is 0 "$aiflame" gate --budget 'launches 0' --budget 'bytes 0' after again
check "no clock is known: no cycles" says 'no clock of a device in it' "$aiflame" diff --unit cycles before after
check "a comma belongs to a time" says '2 runs' "$aiflame" diff before/1.data@0,9,before/2.data after
check "folded text has no verdict" sh -c "'$aiflame' flame before/1.data -o a.folded && '$aiflame' flame after/1.data -o b.folded &&
	'$aiflame' diff a.folded b.folded | grep -q 'has counts and no times'"
check "against a profile, shares of the whole are compared" sh -c "'$aiflame' diff --format json a.folded before/1.data | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert (d[\"times_in\"], d[\"metrics\"], d[\"kernels\"]) == (\"ppm\", [], []), d
# The same recording: what stacks have is the same, but ranges of the program are frames of folded text alone.
assert not any(s[\"changed\"] for s in d[\"stacks\"]), d[\"stacks\"]'"
"$aiflame" diff b.folded before/1.data >mixed.txt
check "the verdict is that there is none" says 'cannot tell: b.folded has counts and no times' head -1 mixed.txt
check "which says nothing of names that folded text has not, nor of a loop" sh -c "! grep -Eq 'ran on|commands differ|loop of a run|  new' mixed.txt"
printf 'import os;x 1\nimport sys\n' >app.py
echo ' {"traceEvents": []}' >trace.json
gzip -k trace.json
printf 'main;f 3\nno stack\n' >some.folded
kind() { # FILE WHAT
	check "a side that is $2 is refused as that" says "$1: neither a profile nor folded text: ${3-}$2" "$aiflame" diff a.folded "$1"
}
kind "$app" 'a program or library (ELF)' 'it looks like '
kind app.py 'a Python program' 'it looks like '
kind trace.json 'JSON (of a trace aiflame import makes a profile)' 'it looks like '
kind trace.json.gz 'a compressed file (of a trace aiflame import makes a profile)' 'it looks like '
kind some.folded 'line 2 is not "frame;frame COUNT"'

"$aiflame" diff before after -o diff.svg
check "the picture is XML, with what is gone and what is new" sh -c "python3 -c '
import xml.etree.ElementTree as e
t = \"\".join(e.parse(\"diff.svg\").getroot().itertext())
assert \"A: before (3), B: after (3)\" in t, t[:2000]
assert \"only in A\" in t and \"only in B\" in t
for frame in (\"scale_and_shift\", \"shift\", \"attention\"):
    assert frame in t, frame'"
cat >samples.py <<'EOF'
# samples.py NAME=N...: text of perf script with as many samples of functions that main calls
import sys
t = 1.0
for name, n in (word.split("=") for word in sys.argv[1:]):
    for _ in range(int(n)):
        t += 0.01
        print(f"app 100 [000] {t:.6f}:   10000000 cpu-clock:u:\n\t    401000 {name}+0x10 (/bin/app)\n\t    402000 main+0x10 (/bin/app)\n")
EOF
python3 samples.py f=400 rare_a=1 >cpu_a.perf
python3 samples.py f=400 rare_b=4 fresh=20 >cpu_b.perf
for side in cpu_a cpu_b; do "$aiflame" import $side.perf -o $side.data >import.out 2>&1 || cat import.out; done
"$aiflame" diff cpu_a.data cpu_b.data -o cpu.svg
check "frames of a few samples are grey, those of more are not" python3 -c '
import xml.etree.ElementTree as e
looks = {t.text.split("\n")[0]: t.text.split("\n")[-1] for t in e.parse("cpu.svg").getroot().iter("{http://www.w3.org/2000/svg}title") if "\n" in t.text}
assert looks["rare_a"] == looks["rare_b"] == "little time" and looks["fresh"] == "only in B", looks'
"$aiflame" baseline --baselines sampled set x cpu_b.data >/dev/null
"$aiflame" diff --baselines sampled cpu_a.data baseline:x -o cpu.svg
check "a baseline knows how many there are" sh -c "grep -A2 '<title>rare_b' cpu.svg | grep -q '^little time'"
check "a suffix that names no format is misuse" says 'the suffix names no format; use .html, .svg, .json, .md or .txt, or give --format' "$aiflame" diff before after -o diff.png
check "and no file is made" [ ! -e diff.png ]
check "text is written to .txt" sh -c "'$aiflame' diff before after -o diff.txt && grep -q '^B  after' diff.txt"
check "a side that is missing is named" says 'diff: B is missing' "$aiflame" diff before
check "it is written over, other files are not" sh -c "'$aiflame' diff before after -o diff.svg && echo precious >mine.txt && ! '$aiflame' diff before after -o mine.txt"

check "a gate passes what is kept" status_is 0 "$aiflame" gate --budget 'launches +30%' --budget 'bytes 0' before after
check "a change within a loose budget is no sameness" says 'more, +20.0 %, within the budget: 5 -> 6' "$aiflame" gate --budget 'launches +30%' before after
check "a gate fails what is exceeded" status_is 3 "$aiflame" gate --budget 'launches 0' before after
check "swapped sides are an improvement" status_is 0 "$aiflame" gate --budget 'launches 0' after before
check "one run a side: cannot tell" status_is 4 "$aiflame" gate before/1.data after/1.data
check "cannot tell may pass" status_is 0 "$aiflame" gate --cannot-tell pass before/1.data after/1.data
check "or fail" status_is 3 "$aiflame" gate --cannot-tell fail before/1.data after/1.data
# A range's device time is that of its kernels, to the nanosecond: blocks launches two, head two.
sum_of() { "$aiflame" gate --format json "$@" before after | python3 -c 'import json, sys; print(sum(r["a"] for r in json.load(sys.stdin)["budgets"]))'; }
check "a range has a budget, over what was launched in it" sh -c "[ \"\$1\" = \"\$2\" ] && [ \"\$1\" != 0 ]" sh \
	"$(sum_of --budget 'range:/^head$/ +300%')" "$(sum_of --budget 'stack:/^head$/ +300%')"
check "a range is a unit" says 'per head: 12 in A, 12 in B, a range that the program marked' "$aiflame" diff --unit range:head before after
check "and a step's by its mark" sh -c "'$aiflame' gate --unit range:head --budget 'launches +30%' before after | grep -q '5 -> 6 a head'"
check "a range that is not there is none" says "no range called 'token' in it to give values by; it has " "$aiflame" diff --unit token before after
check "nor for a gate, which cannot tell" status_is 4 "$aiflame" gate --unit token before after
check "a range's number is no part of its name" says "ranges are counted without the number at their end: range:head" "$aiflame" diff --unit range:head_3 before after
check "a unit that is none is misuse" status_is 2 "$aiflame" gate --unit parsec before after
check "a range that no run has is no win" status_is 4 "$aiflame" gate --budget 'range:/^nowhere$/ +3%' before after
check "nor is an operator" says 'missing in 3 of 3 runs of A: nothing matches in either side' "$aiflame" gate --budget 'op:/^aten::mm$/ +3%' before after
check "a kernel that is gone is no win" status_is 4 "$aiflame" gate --budget 'kernel:/scale_and_shift/ +3%' before after
check "a missing file is no win" status_is 4 "$aiflame" gate before nowhere.data
"$aiflame" record -o empty.data -- true >empty.out 2>&1
for side in nowhere.data "$work/empty.data" "$0" before,nowhere.data; do
	check "what cannot be compared never passes: ${side##*/}" status_is 4 "$aiflame" gate --cannot-tell pass before "$side"
done
check "CPU time of programs with a device is missing, not the same" status_is 4 "$aiflame" gate --budget 'cpu +3%' before before
check "which is said" says 'CPU time is compared of programs without a device' "$aiflame" gate --budget 'cpu +3%' before before
check "nor is communication of programs that have none" says 'no communication in either side' "$aiflame" gate --budget 'communication +3%' before again
check "an empty run is no win" status_is 4 "$aiflame" gate before empty.data,empty.data,empty.data
check "and says so" says 'not compared: ' "$aiflame" gate before empty.data,empty.data,empty.data
check "a budget that is none is misuse" status_is 2 "$aiflame" gate --budget 'launches' before after
check "a sign that passes any regression is misuse" status_is 2 "$aiflame" gate --budget 'time -3%' before after
check "for numbers as well" says "less of it is better, a minus would pass any regression; give a plus" "$aiflame" gate --budget 'launches -3%' before after
check "a time without a unit is misuse" says 'give +3%, +3us' "$aiflame" gate --budget 'time +3' before after
check "numbers have none" status_is 0 "$aiflame" gate --budget 'launches +3' before after
check "a mistyped metric is misuse" status_is 2 "$aiflame" gate --budget 'tiem +3%' before after
check "how to define one is said" says 'or define it by --metric tok_s={}.json:.WAY' "$aiflame" gate --budget 'tok_s -3%' before after
check "what --metric has is named, too" says 'or define it by --metric, which has tok_s' "$aiflame" gate --metric 'tok_s={}.json:.x' --budget 'tokens +3%' before after
check "and the nearest is named" says "no metric is called 'tiem'; give time" "$aiflame" gate --budget 'tiem +3%' before after
printf 'launches +30%%\0\nlaunches 0\n' >nul.budgets
check "budgets behind a byte 0 are not lost" status_is 2 "$aiflame" gate --budgets nul.budgets before after
mkfifo fifo.budgets
check "a FIFO of budgets is refused, not waited for" says "fifo.budgets: a FIFO is no file" timeout 10 "$aiflame" gate --budgets fifo.budgets before after
printf '\357\273\277launches +30%%\r\n# all\r\n' >mark.budgets
check "budgets of other systems' editors are read" status_is 0 "$aiflame" gate --budgets mark.budgets before after
mkfifo pipe
for side in pipe /dev/zero; do check "a side that is no file is refused: $side" says 'not a file' timeout 20 "$aiflame" diff before $side; done
mkfifo before/1.pipe
check "nor is a pipe waited for as a value" status_is 4 timeout 20 "$aiflame" gate --metric 'x={}.pipe:.x' --budget 'x lower +3%' before after
check "a metric of a name that is taken is misuse" status_is 2 "$aiflame" gate --metric 'time={}.json:.x' --budget 'time +3%' before after
check "v7's status of what is exceeded" status_is 1 "$aiflame" gate --v7-exit --budget 'launches 0' before after
check "of what is kept" status_is 0 "$aiflame" gate --v7-exit --budget 'launches +30%' before after
check "of what nobody can tell" status_is 1 "$aiflame" gate --v7-exit before/1.data after/1.data
check "which may pass" status_is 0 "$aiflame" gate --v7-exit --cannot-tell pass before/1.data after/1.data
check "of a side that is missing" status_is 2 "$aiflame" gate --v7-exit --cannot-tell pass before nowhere.data
check "of wrong usage" status_is 2 "$aiflame" gate --v7-exit --budget 'tiem +3%' before after
check "a gate of one side is misuse" status_is 2 "$aiflame" gate before
check "what is required and fails: nothing is judged" status_is 5 "$aiflame" gate --require false --budget 'launches +30%' before after
# required OPTION...: standard output of a gate whose --require fails
required() { "$aiflame" gate --require 'exit 7' "$@" before after; }
check "JUnit has it as an error" says "name=\"require\"><error message=\"--require &#39;exit 7&#39; failed: nothing is judged\"" required --format junit
check "JSON, too" says "\"result\":\"not judged\",\"not_compared\":[\"--require 'exit 7' failed: nothing is judged\"]" required --format json
check "and Markdown" says "## aiflame gate: not judged" required --format md
check "and annotations" says "::error title=aiflame gate::not judged: --require 'exit 7' failed" required --annotations
check "an empty requirement is misuse" says "--require '' is empty; give a shell command" "$aiflame" gate --require '' before after
check "as is one of blanks" status_is 2 "$aiflame" gate --require ' ' before after
check "a mistyped metric that is required is said to be none" says "no --metric is called 'tok_z', so it was run as a command" "$aiflame" gate --metric 'tok_s={}.json:.x' --require tok_z before after
check "what is required and is interrupted, too" says "--require 'kill -INT \$\$' was interrupted: nothing is judged" "$aiflame" gate --require 'kill -INT $$' before after
for side in before after; do
	for i in 1 2 3; do echo "{\"r\": {\"tok_s\": [0, 10$i]}}" >$side/$i.json; done
done
metric="tok_s={}.json:.r.tok_s[1]"
check "a value of a file" says 'kept         tok_s -5%  the same, 0 % (' "$aiflame" gate --metric "$metric" --require tok_s --budget 'tok_s -5%' before after
check "a value of which more may be better is judged by no plus" status_is 2 "$aiflame" gate --metric "$metric" --budget 'tok_s +5%' before after
check "and what to write is said" says "is more of it better, or less? give 'tok_s -3%' or 'tok_s higher 0' if more is, 'tok_s lower +3%' if less" "$aiflame" gate --metric "$metric" --budget 'tok_s +5%' before after
for i in 1 2 3; do echo "{\"r\": {\"tok_s\": [0, 5$i]}}" >after/$i.json; done
check "half the tokens a second are a regression" status_is 3 "$aiflame" gate --metric "$metric" --budget 'tok_s -5%' before after
check "of the word alone, too" status_is 3 "$aiflame" gate --metric "$metric" --budget 'tok_s higher 0' before after
check "and none where less is better" status_is 0 "$aiflame" gate --metric "$metric" --budget 'tok_s lower +5%' before after
rm after/2.json
check "which is required" status_is 5 "$aiflame" gate --metric "$metric" --require tok_s --budget 'tok_s -5%' before after
check "which is missing" status_is 4 "$aiflame" gate --metric "$metric" --budget 'tok_s -5%' before after
check "with its reason" says 'missing in 1 of 3 runs of B: after/2.json' "$aiflame" gate --metric "$metric" --budget 'tok_s -5%' before after
for run in before/*.data after/*.data; do echo '{"parity": true}' >"${run%.data}.ok.json"; done
check "a value that each run has as required" status_is 0 "$aiflame" gate --require '{}.ok.json:.parity=true' --budget 'launches +30%' before after
echo '{"parity": false}' >after/2.ok.json
check "that one run has not" says "it is false in after/2.ok.json: nothing is judged" "$aiflame" gate --require '{}.ok.json:.parity=true' --budget 'launches +30%' before after
rm before/*.ok.json after/*.ok.json
"$root/scripts/md-to-man" "$root/docs/man/aiflame-gate.md" 1 "$root/src/cmd/commands.def" >gate.1
check "the manual page has the statuses of a gate" sh -c "grep -q '3 a budget is exceeded, 4 cannot tell, 5 what' gate.1 && ! grep -q 'aiflame.data$' gate.1"
check "JUnit is XML" sh -c "'$aiflame' gate --format junit --budget 'launches 0' --budget 'kernel:/\"<x>\"/ +3%' before after >gate.xml;
	python3 -c '
import xml.etree.ElementTree as e
s = e.parse(\"gate.xml\").getroot()[0]
assert (s.get(\"tests\"), s.get(\"failures\"), s.get(\"skipped\")) == (\"2\", \"1\", \"1\"), s.attrib
assert s[1].get(\"name\").startswith(\"kernel:/\\\"<x>\\\"/\"), s[1].attrib'"
check "annotations" says '::error title=aiflame gate::launches 0: more, +20.0 %25' "$aiflame" gate --annotations --budget 'launches 0' before after
# one_a_side OPTION...: a gate of one run a side
one_a_side() { "$aiflame" gate --budget 'launches +30%' "$@" before/1.data after/1.data; }
why='cannot tell: +20.0 %: 5 -&gt; 6 a step; 1 run on a side: how much runs differ'
check "JUnit says that nobody can tell, and why" says "<skipped message=\"$why" one_a_side --format junit
check "where that fails, it is a failure" says "<failure message=\"$why" one_a_side --format junit --cannot-tell fail
check "and counted as one" says 'failures="1" skipped="0"' one_a_side --format junit --cannot-tell fail
why='title=aiflame gate::launches +30%25: cannot tell: +20.0 %25: 5 -> 6 a step; 1 run on a side: '
check "annotations say so" says "::warning $why" one_a_side --annotations
check "as errors, where it fails" says "::error $why" one_a_side --annotations --cannot-tell fail
head -c 60000 before/1.data >half.data
check "half a file is no win" status_is 4 "$aiflame" gate before half.data,half.data,half.data

# Sides that are not what they seem: each would be "fewer launches", a win.
mkdir other
for i in 1 2 3; do POCL_DEVICES=basic "$aiflame" record -o other/$i.data -- "$app" base 12 2000 >"$work/record.out" 2>&1; done
check "another device is no win" status_is 4 "$aiflame" gate --budget 'launches +30%' before other
check "and both are named" says 'no verdict: machines differ: before/1.data ran on pthread' "$aiflame" gate before other
check "unless that is what is asked" status_is 0 "$aiflame" gate --any-machine --budget 'launches +30%' before other
mkdir killed dead failed failed_too
# until_written FILE: some seconds of a recording are committed, and the program has told its number
until_written() {
	for t in $(seq 150); do
		[ -s app.pid ] && [ -e "$1" ] && [ "$(stat -c %s "$1")" -gt 160000 ] && return
		sleep 0.1
	done
}
# The program is killed in the middle of its steps: its profile is whole, and has half of them.
for i in 1 2 3; do
	"$aiflame" record -o killed/$i.data -- sh -c 'echo $$ >app.pid; exec "$0" base 20000 2000' "$app" >"$work/record.out" 2>&1 &
	recorder=$!
	until_written killed/$i.data
	kill -9 "$(cat app.pid)"
	wait $recorder
	rm app.pid
done
check "runs of a program that was killed are no win" status_is 4 "$aiflame" gate --budget 'launches +30%' before killed
check "and are said to be" says 'no verdict: killed/1.data: its command was ended by SIGKILL' "$aiflame" diff before killed
# The recorder is killed: what it wrote is a shorter profile.
for i in 1 2 3; do
	"$aiflame" record -o dead/$i.data -- sh -c 'echo $$ >app.pid; exec "$0" base 20000 2000' "$app" >"$work/record.out" 2>&1 &
	recorder=$!
	until_written dead/$i.data
	kill -9 $recorder
	wait $recorder 2>/dev/null
	kill -9 "$(cat app.pid)" 2>/dev/null
	rm app.pid
done
check "runs whose recorder was killed are no win" status_is 4 "$aiflame" gate --budget 'launches +30%' before dead
check "and are said to be cut short" says 'no verdict: dead/1.data: the recording was cut short' "$aiflame" diff before dead
for i in failed/1 failed/2 failed/3 failed_too/1 failed_too/2 failed_too/3; do
	"$aiflame" record -o $i.data -- sh -c '"$0" base 12 2000; exit 7' "$app" >"$work/record.out" 2>&1
done
check "runs that failed are no win" says 'no verdict: exit statuses differ: before/1.data ended with 0, failed/1.data with 7' "$aiflame" gate before failed
check "but where all did, they are compared" status_is 0 "$aiflame" gate --budget 'launches +30%' failed failed_too
for side in before,nowhere.data "before,$work/empty.data" before,half.data; do
	check "one bad run among good ones is no win: ${side#before,}" status_is 4 "$aiflame" gate --budget 'launches +30%' before "$side"
done
# A recording that ends before its program has fewer launches, and is shorter by itself.
mkdir whole early share
until_many() { # FILE
	for t in $(seq 150); do
		[ -e "$1" ] && [ "$("$aiflame" query --format csv "$1" 'SELECT count(*) FROM launches' 2>/dev/null | tail -1)" -gt 100 ] 2>/dev/null && return
		sleep 0.1
	done
}
for i in 1 2 3; do
	"$aiflame" record -o whole/$i.data -- "$app" base 200 2000 >"$work/record.out" 2>&1
	"$aiflame" record --overhead 0.05% -o share/$i.data -- "$app" base 200 2000 >"$work/record.out" 2>&1
	"$aiflame" record --duration 1 -o early/$i.data -- sh -c 'echo $$ >app.pid; exec "$0" base 20000 2000' "$app" >"$work/record.out" 2>&1
	kill -9 "$(cat app.pid)"
	rm app.pid
done
for unit in step run second launch; do
	check "recordings that ended early are no win: by $unit" status_is 4 "$aiflame" gate --unit $unit --budget 'launches +30%' whole early
done
check "and are said to have" says 'is no whole run: its recording ended before its command did' "$aiflame" gate whole early
check "nor do they make whole runs of each other" says 'is no whole run' "$aiflame" gate --unit run early early
check "the same steps of both compare" sh -c "'$aiflame' gate --budget 'launches +30%' whole@steps:2-20 early@steps:2-20 >steps.txt; grep -q '^per step: 19 in A, 19 in B' steps.txt && ! grep -q 'whole run' steps.txt"
check "by second, time says nothing" status_is 4 "$aiflame" gate --unit second --budget 'time +3%' whole whole
check "launches that were left out are no win" sh -c "'$aiflame' gate --format json --budget 'launches 0' whole share | python3 -c '
import json, sys
d = json.load(sys.stdin)
row = d[\"budgets\"][0]
# Fewer by an estimate: whatever the answer, never an improvement of a part of them.
assert row[\"result\"] == \"cannot tell\" or abs(row[\"change\"]) < 0.3, row'"

mkdir none
check "nor is an empty directory" status_is 4 "$aiflame" gate before none
check "swapped sides have the opposite signs" sh -c "
	'$aiflame' diff --format json before after >ab.json; '$aiflame' diff --format json after before >ba.json
	python3 -c '
import json
ab, ba = (json.load(open(f)) for f in (\"ab.json\", \"ba.json\"))
m = [{x[\"metric\"]: x for x in d[\"metrics\"]} for d in (ab, ba)]
assert (m[0][\"launches\"][\"answer\"], m[1][\"launches\"][\"answer\"]) == (\"up\", \"down\")
for k, x in m[0].items():
    y = m[1][k]
    assert (x[\"a\"], x[\"b\"]) == (y[\"b\"], y[\"a\"]), (x, y)
    assert x[\"change\"] is None or abs((1 + x[\"change\"]) * (1 + y[\"change\"]) - 1) < 1e-6, (x, y)'"

check "a baseline is set" says 'main: 3 runs in aiflame.baselines/main' "$aiflame" baseline set main before --label v1
check "and listed with its label" sh -c "'$aiflame' baseline list | grep -Eq '^main .* v1 '"
check "of loops" sh -c "[ \$('$aiflame' baseline list main | grep -Ec '^main .* loop ') = 3 ]"
check "  fewer in its place are said to be that" says 'few: 1 run in aiflame.baselines/few, in place of 3' sh -c "'$aiflame' baseline set few before && '$aiflame' baseline set few before/1.data 2>few.err"
check "  and that they decide nothing" grep -qx 'aiflame: baseline: few has fewer than 3 runs now: no gate decides by it' few.err
check "  a whole run and a part are listed as such" sh -c "'$aiflame' baseline set --whole few before/1.data && '$aiflame' baseline list few | grep -Eq '^few .* whole run ' && '$aiflame' baseline set few before/1.data@steps:2-5 && '$aiflame' baseline list few | grep -Eq '^few .* part ' && '$aiflame' baseline rm few"
check "each run is one small file" sh -c 'ls aiflame.baselines/main/*.run | wc -l | grep -qx 3 && [ -z "$(find aiflame.baselines -size +100k)" ]'
check "the same runs are the same files" sh -c "ls aiflame.baselines/main >1.txt && '$aiflame' baseline set main before --label v1 && ls aiflame.baselines/main | cmp - 1.txt"
"$aiflame" diff before/1.data copy.data -o same.html
check "where no stack changed, text says by how much, and the page has no words of its own" sh -c "'$aiflame' diff before/1.data copy.data | grep -qx 'None beyond the margin.' && ! grep -q 'None beyond the margin' same.html"
check "it is what it was made of" sh -c "'$aiflame' diff baseline:main before >same.txt && ! grep -Eq 'slower|faster|more|less|new|gone' same.txt && grep -q '^None' same.txt"
check "and how often they were" says 'per head: 12 in A, 12 in B' "$aiflame" diff --unit range:head baseline:main after
check "ranges are kept in it" sh -c "grep -qx 'range 0 [1-9][0-9]* head' aiflame.baselines/main/*.run && [ \"\$1\" = \"\$2\" ]" sh \
	"$(sum_of --budget 'range:/^head$/ +300%')" "$("$aiflame" gate --format json --budget 'range:/^head$/ +300%' baseline:main after | python3 -c 'import json, sys; print(json.load(sys.stdin)["budgets"][0]["a"])')"
check "it is a side of a gate" status_is 3 "$aiflame" gate --budget 'launches 0' baseline:main after
cp -r aiflame.baselines edited
file=$(ls edited/main/*.run | head -1)
sed -i 's/^label .*/label v2/' "$file"
check "a run that was edited is no win" status_is 4 "$aiflame" gate --baselines edited --budget 'launches +30%' baseline:main after
check "and is said to be" says 'edited or damaged' "$aiflame" gate --baselines edited --budget 'launches +30%' baseline:main after
mkdir edited/main/dir.run
echo stray >edited/stray
check "a bad file does not end the list" status_is 1 "$aiflame" baseline --baselines edited list
check "which says what is wrong with it" sh -c "'$aiflame' baseline --baselines edited list >list.txt 2>&1; grep -q 'edited or damaged' list.txt && [ \$(grep -c ' v1 ' list.txt) = 2 ] && grep -q 'edited/stray  *Not a directory' list.txt"
check "what can be removed is" sh -c "! '$aiflame' baseline --baselines edited rm main 2>rm.txt && grep -q 'dir.run: ' rm.txt && [ \"\$(ls edited/main)\" = dir.run ]"
check "what is not there is not accepted" says 'make it by aiflame baseline set other' "$aiflame" baseline accept other after --reason x
check "and is not made" [ ! -e aiflame.baselines/other ]
check "a reason that is missing is named" says '--reason is missing' "$aiflame" baseline accept main after
check "a change is accepted with a reason only" status_is 2 "$aiflame" baseline accept main after
check "an empty reason is none" status_is 2 "$aiflame" baseline accept main after --reason ' '
check "which is kept" sh -c "'$aiflame' baseline accept main after --reason 'two kernels are wanted' && grep -q '3 runs  two kernels are wanted' aiflame.baselines/main/accepted.txt"
check "and judged by from then on" status_is 0 "$aiflame" gate --budget 'launches 0' baseline:main again
check "but not the runs that it is of" says 'A and B are the same runs' "$aiflame" gate --budget 'launches 0' baseline:main after
check "a baseline's name is no path" says "a name has letters" "$aiflame" diff baseline:../x after
check "one that is not there is no win" status_is 4 "$aiflame" gate baseline:nothing after
check "those that are there are named" says 'baseline:nothing: no such baseline in aiflame.baselines, which has main' "$aiflame" gate baseline:nothing after
check "or how to make one" says 'no baseline in nowhere; make it by aiflame baseline set nothing RUNS' "$aiflame" gate --baselines nowhere baseline:nothing after
check "a baseline is removed" sh -c "'$aiflame' baseline rm main && [ ! -e aiflame.baselines/main ]"
golden=$root/tests/golden/reduced-run-1.run
check "version 1 of a reduced run opens" sh -c "'$aiflame' diff --format json '$golden' before/1.data | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d[\"a\"][\"runs\"][0][\"steps\"] == 11, d[\"a\"]
assert {x[\"metric\"]: x[\"a\"] for x in d[\"metrics\"]}[\"launches\"] == 5
same = {k[\"a_kernel\"] for k in d[\"kernels\"] if k[\"matched_by\"] == \"same\"}
assert {\"attention\", \"Memcpy HtoD\"} <= same, same
assert not any(\"[write]\" in str(s) for s in d[\"stacks\"]), d[\"stacks\"]'"
sed 's/^aiflame-run 1$/aiflame-run 2/' "$golden" >two.run
check "another version is refused by name" says 'another version than 1' "$aiflame" diff two.run before

ranges=$root/tests/golden/reduced-run-1-ranges.run
check "with marked steps, ranges and how often they were" sh -c "'$aiflame' diff --format json --unit range:blocks '$ranges' before/1.data | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert (d[\"unit\"], d[\"a\"][\"runs\"][0][\"steps\"]) == (\"blocks\", 12), d[\"a\"]
m = {x[\"metric\"]: x[\"a\"] for x in d[\"metrics\"]}
assert (m[\"launches\"], m[\"device\"], m[\"bytes\"]) == (5, round(8863624 / 12, 3), 4194304), m'"
check "and their device time" sh -c "'$aiflame' gate --any-machine --format json --budget 'range:/^blocks\$/ <= 1s' before/1.data '$ranges' | grep -q '\"b\":65068.5833'"

# Steps that are found in a program of 5 launches a step, most of which an overhead budget leaves out.
"$aiflame" record --overhead 0.05% -o unmarked.data -- "$app" unmarked 3000 200 >"$work/record.out" 2>&1
"$aiflame" baseline --baselines found set u unmarked.data >/dev/null 2>&1
if grep -Eq '^steps [1-9][0-9]* turns' found/u/*.run && ! grep -qx 'amount error 0' found/u/*.run; then
	check "found steps have as many launches as there are, where most were left out" python3 -c '
import sys
v = {w[-2] if w[0] == "amount" else w[0]: int(w[-1] if w[0] == "amount" else w[1]) for w in (l.split() for l in sys.stdin) if w[0] in ("amount", "steps")}
assert 4.9 < v["launches"] / v["steps"] < 5.1, v' <"$(echo found/u/*.run)"
else
	skip "found steps have as many launches as there are, where most were left out" "no steps were found, or no launch was left out"
fi

# Graphs are numbered as they are made. Of the same places of the program they are the same, node by node.
cat >graph.py <<'EOF'
# graph.py NUMBER VARIANT: 12 replays of a graph of four nodes, which main makes in two functions
import sys
number, changed = int(sys.argv[1]), sys.argv[2] == "after"
print("device 0 name=\"Fake GPU\" kind=gpu units=4 clock=monotonic\nstream 0 device=0\nprogram 0")
for i, name in enumerate(["attention", "gemm", "norm", "gelu"]):
    print(f"kernel {i} program=0 name={name}")
print("now")
# By place: attention and gemm in one function, norm or gelu in another.
made = [(0, "0x401200,0x401100"), (1, "0x401210,0x401100")] + ([(3, "0x401320,0x401110")] if changed else [(2, "0x401310,0x401110")])
for node, (_, stack) in enumerate(made):
    print(f"node 1 graph=100 node={node} time={100 + node} stack={stack},0x402000")
for node in range(len(made)):
    print(f"node 2 graph={number} node={node} time={200 + node} from={hex(100 << 32 | node)}")
print("node 4 graph=100 time=280\nnode 5 graph=100 time=300")
t = 1000
for step in range(12):
    print(f"launch graph={number} time={t} stack=0x401020,0x402000")
    at = t + 1000
    for node, (kernel, _) in enumerate(made):
        ns = 20000 if (kernel, changed) == (1, True) else 10000
        print(f"exec stream=0 kernel={kernel} start={at} end={at + ns} graph={number} node={node}")
        at += ns
    t = at + 5000
print("sleep time=100000000")
EOF
mkdir graph_a graph_b
for i in 1 2 3; do
	python3 graph.py $((6 + i)) before >graph.script
	"$aiflame" record -q --all-launches -o graph_a/$i.data "$fake" graph.script
	python3 graph.py $((20 + i)) after >graph.script
	"$aiflame" record -q --all-launches -o graph_b/$i.data "$fake" graph.script
done
check "nodes of graphs are matched by what made them, whatever the graph's number" sh -c "'$aiflame' diff --format json graph_a graph_b | python3 -c '
import json, sys
d = json.load(sys.stdin)
s = d[\"stacks\"]
assert (s[0][\"kind\"], s[0][\"answer\"]) == (\"changed\", \"up\") and s[0][\"stack\"].startswith(\"gemm < [0x40120f] < [0x4010ff] < [fake graph] < [0x40101f]\"), s
assert (s[1][\"kind\"], s[1][\"stack\"][:24]) == (\"moved\", \"[0x40110f] < [fake graph\"), s
m = [x[\"stack\"].split(\" \")[0] for x in s[1][\"moves\"]]
assert sorted(m) == [\"gelu\", \"norm\"] and len(s) == 2, s
k = {x[\"b_kernel\"] or x[\"a_kernel\"]: x[\"matched_by\"] for x in d[\"kernels\"]}
assert k == {\"attention\": \"same\", \"gemm\": \"same\", \"norm\": \"none\", \"gelu\": \"none\"}, k'"

stack='gemm < [0x40120f] < [0x4010ff] < [fake graph] < [0x40101f] < [0x401fff]'
check "the stack to look at is named whole" says "look at $stack: " "$aiflame" gate --budget 'device +3%' graph_a graph_b
check "in Markdown, too" says "look at $stack: " "$aiflame" gate --format md --budget 'device +3%' graph_a graph_b
check "a diff has whole stacks" says "$stack" "$aiflame" diff graph_a graph_b
# on_terminal COLUMNS COMMAND...: prints what it prints to a terminal that wide
on_terminal() { python3 -c '
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.environ.pop("COLUMNS", None)
    os.execv(sys.argv[2], sys.argv[2:])
text = b""
try:
    while part := os.read(fd, 4096):
        text += part
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.write(text.decode().replace("\r", ""))' "$@"; }
on_terminal 100 "$aiflame" gate --budget 'device +3%' graph_a graph_b >narrow.txt
check "a terminal has it cut in the middle" grep -qF 'look at gemm < [0x40120f] < [0x4010f…] < [0x401fff]: ' narrow.txt
on_terminal 100 "$aiflame" diff graph_a graph_b >narrow.txt
check "as it has the stacks of a diff" grep -qF 'gemm < [0x40120f] < [0x401… < [0x401fff]' narrow.txt

# In one of three runs no loop is found: its steps are launches of any two kernels. It has the loop of the others.
cat >steps.py <<'EOF'
# steps.py SEED: 15 steps of three launches; with a seed, the last two of them are of any two of four kernels
import random, sys
seed = int(sys.argv[1])
r = random.Random(seed)
print("device 0 name=\"Fake GPU\" kind=gpu units=4 clock=monotonic\nstream 0 device=0\nprogram 0")
for i, name in enumerate(["attention", "scale", "shift", "head", "norm"]):
    print(f"kernel {i} program=0 name={name}")
print("now")
t = 1000
for step in range(16):
    for k in [0] + ([r.randrange(1, 5), r.randrange(1, 5)] if seed else [1, 2]):
        print(f"launch stream=0 kernel={k} time={t} stack={hex(0x401000 + 16 * k)},0x402000 start={t + 1000} end={t + 9000}")
        t += 10000
print("sleep time=100000000")
EOF
mkdir loop_a loop_b
for i in 1 2 3; do
	python3 steps.py $((i == 2)) >steps.script
	"$aiflame" record -q --all-launches -o loop_a/$i.data "$fake" steps.script
	python3 steps.py 0 >steps.script
	"$aiflame" record -q --all-launches -o loop_b/$i.data "$fake" steps.script
done
check "one run has no loop by itself" sh -c "'$aiflame' why loop_a/2.data | grep -q '^loop  *none found' && '$aiflame' why loop_a/1.data | grep -q '^loop  *15 turns'"
check "in a set it has that of the others" says 'per step: 15 in A, 15 in B, turns of the loop that was found' "$aiflame" diff loop_a loop_b
check "which is noted" says 'note: A: 1 run had other steps by themselves, or none' "$aiflame" diff loop_a loop_b
check "and kept in a baseline" sh -c "'$aiflame' baseline --baselines loops set x loop_a && [ \$(grep -lx 'steps 15 turns' loops/x/*.run | wc -l) = 3 ]"
# The same loop, two seconds later and earlier: no other step, and a longer run. Half the steps: less work.
mkdir late half
for i in 1 2 3; do
	{ python3 steps.py 0; echo "sleep time=2000000000"; } >steps.script
	"$aiflame" record -q --all-launches -o late/$i.data "$fake" steps.script
	python3 steps.py 0 | sed '/^launch/{29,$d}' >steps.script
	"$aiflame" record -q --all-launches -o half/$i.data "$fake" steps.script
done
check "a start and an end that take longer are no other step" status_is 0 "$aiflame" gate --budget 'time +30%' loop_b late
check "but a longer run, by start and end" sh -c "'$aiflame' gate --format json --unit run --budget 'time +30%' --budget 'after_work +30%' loop_b late | python3 -c '
import json, sys
d = json.load(sys.stdin)
time, after = d[\"budgets\"]
assert d[\"unit\"] == \"run\" and not d[\"no_verdict\"], d
assert all(x[\"result\"] != \"kept\" and x[\"b\"] - x[\"a\"] > 1e9 for x in (time, after)), d'"
check "of which the device has none" status_is 0 "$aiflame" gate --unit run --budget 'device +3%' loop_b late
check "without --unit run the time before device work is missing, not kept" status_is 4 "$aiflame" gate --budget 'before_work +3%' loop_b late
check "half the steps are noted" says 'note: a run of A has 15 steps, of B 6: one step is compared, not the work of a run (--unit run)' "$aiflame" gate --budget 'device +3%' loop_b half
check "in JSON, too" sh -c "'$aiflame' gate --format json loop_b half | grep -q 'a run of A has 15 steps'"
check "and in Markdown" says 'note: a run of A has 15 steps' "$aiflame" diff --format md loop_b half
check "of whole runs it is less work" says 'whole runs are not the same work' "$aiflame" diff --unit run loop_b half
"$aiflame" baseline --baselines loops set late late >/dev/null
check "a baseline has the loop" says 'is the loop of a run, without its start-up and end' "$aiflame" diff --baselines loops --unit run baseline:late late
"$aiflame" baseline --baselines loops set --whole late late >/dev/null
check "or whole runs" sh -c "'$aiflame' diff --baselines loops baseline:late late >whole.txt && grep -q '^a whole run;' whole.txt && grep -Eq '^after device work +2' whole.txt && ! grep -q '^no verdict' whole.txt"
check "alone it has none" says 'not compared: loop_a/2.data: no step in it' "$aiflame" gate --unit step loop_a/2.data loop_a/2.data

# The same program with its functions inlined, and all lines moved: the same stacks.
src=$root/tests/e2e/diff_app.c
{ yes '' | head -40; sed 's/__attribute__((noinline)) //' "$src"; } >inlined.c
inline_cc() { ${CC:-cc} -std=gnu17 -O2 -g "-I$root/include" "$@" -lOpenCL 2>/dev/null; }
if inline_cc -o apart "$src" && inline_cc -finline-functions -finline-limit=10000 -o inlined inlined.c; then
	check "functions are inlined in one of two builds" sh -c "nm apart | grep -q ' t block$' && ! nm inlined | grep -q ' t block$'"
	"$aiflame" record -o apart.data -- ./apart base 12 2000 >"$work/record.out" 2>&1
	"$aiflame" record -o inlined.data -- ./inlined base 12 2000 >>"$work/record.out" 2>&1
	check "inlining and moved lines make no stack new or gone" sh -c "'$aiflame' diff --format json --limit 0 apart.data inlined.data | python3 -c '
import json, sys
d = json.load(sys.stdin)
others = [s for s in d[\"stacks\"] if s[\"of\"] == \"device\" and s[\"kind\"] in (\"new\", \"gone\")]
assert not others, others
assert d[\"kernels\"] and all(k[\"matched_by\"] == \"same\" for k in d[\"kernels\"]), d[\"kernels\"]'"
	for side in apart inlined; do
		"$aiflame" flame $side.data -o $side.folded
		sed 's/_\[i\]//g; s/_\[g\].*//' $side.folded | grep '^main;train' | sort -u >$side.stacks
	done
	check "the stacks of both builds are the same" sh -c "grep -q 'train;step;model;block;' apart.stacks && cmp apart.stacks inlined.stacks"
else
	skip "inlining and moved lines make no stack new or gone" "no compiler here"
fi

"$aiflame" bench -n 3 -o sets --against "$app fusion 12 2000" -- "$app" base 12 2000 >bench.txt 2>bench.err
check "bench records both sides in turns" sh -c 'grep -o "^[ab] [0-9]" sets/conditions.txt | tr "\n" " " | grep -qx "a 1 b 1 b 2 a 2 a 3 b 3 "'
check "and compares them" grep -Eq '^kernels launched +5 +6 +\+20.0 % +more' bench.txt
check "the shell that bench runs a side by is no other command" sh -c "! grep -q '/bin/sh.*;\|; */bin/sh' bench.txt"
check "nor is it named" sh -c "grep -q '^B .*, 3 runs of $app fusion 12 2000$' bench.txt"
check "nor are equal commands called different" sh -c "'$aiflame' bench -n 1 --warm-up 0 -o equal --against '$app base 12 2000' -- '$app' base 12 2000 >equal.txt 2>&1 && ! grep -q 'commands differ' equal.txt"
check "where its sets are is said" says 'in this directory; give sets/a' "$aiflame" diff sets before
check "its sets are sides" status_is 3 "$aiflame" gate --budget 'launches 0' sets/a sets/b
check "what is there is not overwritten" says 'remove it, or give another -o' "$aiflame" bench -o sets -- true
check "a run that fails is no run" says 'side A ended with status 3' "$aiflame" bench -n 1 --warm-up 0 -o failing -- sh -c 'exit 3'
"$aiflame" bench -n 2 --warm-up 0 -o stopped -- sh -c 'echo $$ >app.pid; exec "$0" base 20000 2000' "$app" >stopped.txt 2>&1 &
bench=$!
until_written stopped/a/1.data
kill -TERM $bench
wait $bench
status=$?
kill -9 "$(cat app.pid)" 2>/dev/null
rm app.pid
check "a bench that is interrupted ends with the signal's status" [ $status = 143 ]
check "says so" grep -q 'bench: interrupted in run 1 of side A, which is removed' stopped.txt
check "and leaves no part of a run" sh -c '[ -z "$(ls -A stopped/a)" ]'
echo "1..$n"
[ $failed -eq 0 ]
