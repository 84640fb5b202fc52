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
check "diff of one run a side has no verdict, and says why" grep -q '^no verdict: 1 run on a side' one.txt
check "the first line of a diff of one run a side says how many are needed" sh -c "head -1 one.txt | grep -qx 'cannot tell: 1 run a side; 3 are needed'"
check "a diff without a verdict has differences all the same" grep -q '^kernels launched *5 *6 *+20' one.txt
check "steps that the program marked are the unit of a diff" grep -q '^per step: 12 in A, 12 in B, marked by the program' one.txt
check "kernels of one side only are not merged" grep -Eq 'new .* shift$' one.txt
check "a diff of three runs a side has a verdict" sh -c "'$aiflame' diff before after >three.txt && ! grep -q '^no verdict' three.txt"
check "launches that never vary are compared without a margin" grep -Eq '^kernels launched +5 +6 +\+20.0 % +more' three.txt
check "the first line of a diff names a change of launches" sh -c "head -1 three.txt | grep -q '; launches a step: 5 -> 6, of [a-z]* 0 -> 1$'"
check "kernels that each run of one side has, and none of the other, are new or gone" sh -c "grep -Eq 'new +more time +0 -> 1 +shift$' three.txt && grep -Eq 'gone +less time +1 -> 0 +scale_and_shift$' three.txt"
check "a diff names both sides with their numbers of runs" sh -c "grep -q '^A  before, 3 runs of ' three.txt && grep -q '^B  after, 3 runs of ' three.txt"
check "diff --format json has metrics, kernels and stacks with their answers" sh -c "'$aiflame' diff --format json before after | python3 -c '
import json, sys
d = json.load(sys.stdin)
m = {x[\"metric\"]: x for x in d[\"metrics\"]}
assert d[\"verdict\"], d
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
check "docs/diff.md names all keys of diff's JSON" documented "$aiflame" diff --format json before after
check "docs/diff.md names all keys of gate's JSON" documented "$aiflame" gate --format json --budget 'launches 0' --budget 'busy >= 1%' --budget 'kernel:/none/ +3%' before after
check "diff --format md writes tables" sh -c "'$aiflame' diff --format md before after | grep -q '^|  | A | B | change |'"
cp -r before 'x<b>@y'
check "diff --format md shows the name of a side as it is" says 'A  x\<b\>&#64;y, ' "$aiflame" diff --format md 'x<b>@y' after
a=before/1.data
cp $a copy.data
check "a run that is named three times counts once" status_is 4 "$aiflame" gate $a,$a,copy.data after
check "a run that is named twice is noted" says 'note: A: a run was named twice, 2 times: it counts once' "$aiflame" diff $a,$a,copy.data after
check "runs of different commands on one side have no verdict" says "runs of B are of different commands: $app fusion 12 2000; $app base 12 2000" "$aiflame" diff before/1.data,before/2.data,after/3.data after/1.data,after/2.data,before/3.data
check "a gate cannot tell of a side with different commands" status_is 4 "$aiflame" gate --budget 'launches +300%' before/1.data,before/2.data,after/3.data after/1.data,after/2.data,before/3.data
check "runs on both sides have no verdict" says '2 runs are on both sides (before/1.data)' "$aiflame" diff before before/1.data,before/2.data,after/3.data
check "a run against its copy has no verdict" says 'cannot tell: A and B are the same runs' "$aiflame" diff $a copy.data
check "diff says once why a run against itself has no verdict" sh -c "'$aiflame' diff $a $a >itself.txt && [ \$(grep -c 'A and B are the same runs' itself.txt) = 1 ] &&
	grep -q '^no verdict: 1 run on a side' itself.txt"
check "diff says all other reasons below the first one" sh -c "'$aiflame' diff before/1.data,before/2.data,after/3.data after/1.data,after/2.data,before/3.data >both.txt &&
	[ \$(grep -c 'runs of A are of different commands' both.txt) = 1 ] && [ \$(grep -c 'runs of B are of different commands' both.txt) = 1 ]"
check "a part of a run is a side" says 'per step: 4 in A, 4 in B' "$aiflame" diff before/1.data@steps:2-5 before/1.data@steps:6-9
check "a part of each run of a directory is a side" says 'A  before@steps:2-5, 3 runs' "$aiflame" diff before@steps:2-5 before@steps:6-9
check "parts of one recording are one run" says 'note: A: parts of one recording count as one run: 3 parts of 1 recording' "$aiflame" diff $a@steps:2-4,$a@steps:5-7,$a@steps:8-10 after
check "a gate cannot tell by parts of one recording, which are one run" status_is 4 "$aiflame" gate --budget 'launches +30%' $a@steps:2-4,$a@steps:5-7,$a@steps:8-10 after
check "parts of one recording on both sides are noted" says 'note: parts of one recording are on both sides' "$aiflame" diff before@steps:2-5 before@steps:6-9
check "a gate cannot tell of a set against itself" status_is 4 "$aiflame" gate --budget 'launches 0' before before
check "--cannot-tell pass does not pass a set against itself" status_is 4 "$aiflame" gate --cannot-tell pass --budget 'launches 0' before before
check "a gate says that both sides are the same runs" says 'no verdict: A and B are the same runs' "$aiflame" gate before before
check "other runs of the same program keep a budget of 0" status_is 0 "$aiflame" gate --budget 'launches 0' --budget 'bytes 0' after again
check "--unit cycles says that no clock of the device is known" says 'no clock of a device in it' "$aiflame" diff --unit cycles before after
check "a comma in the time of a part separates no runs" says '2 runs' "$aiflame" diff before/1.data@0,9,before/2.data after
check "folded text has no verdict" sh -c "'$aiflame' flame before/1.data -o a.folded && '$aiflame' flame after/1.data -o b.folded &&
	'$aiflame' diff a.folded b.folded | grep -q 'has counts and no times'"
check "folded text against a profile is compared by shares of the whole" sh -c "'$aiflame' diff --format json a.folded before/1.data | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert (d[\"times_in\"], d[\"metrics\"], d[\"kernels\"]) == (\"ppm\", [], []), d
# The same recording: what stacks have is the same, but ranges of the program are frames of folded text alone.
assert not any(s[\"changed\"] for s in d[\"stacks\"]), d[\"stacks\"]'"
"$aiflame" diff b.folded before/1.data >mixed.txt
check "the first line of a diff of folded text and a profile says that it cannot tell" says 'cannot tell: b.folded has counts and no times' head -1 mixed.txt
check "a diff of folded text and a profile says nothing of commands, loops or new names" sh -c "! grep -Eq 'ran on|commands differ|loop of a run|  new' mixed.txt"
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
check "the picture of a diff is XML that names kernels that are gone and new" sh -c "python3 -c '
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
check "a baseline knows how many samples a frame had" sh -c "grep -A2 '<title>rare_b' cpu.svg | grep -q '^little time'"
check "a suffix that names no format is misuse" says 'the suffix names no format; use .html, .svg, .json, .md or .txt, or give --format' "$aiflame" diff before after -o diff.png
check "a suffix that names no format makes no file" [ ! -e diff.png ]
check "diff writes text to a file called .txt" sh -c "'$aiflame' diff before after -o diff.txt && grep -q '^B  after' diff.txt"
check "diff names the side that is missing" says 'diff: B is missing' "$aiflame" diff before
check "diff writes over its own picture, and over no other file" sh -c "'$aiflame' diff before after -o diff.svg && echo precious >mine.txt && ! '$aiflame' diff before after -o mine.txt"

check "a gate passes what is kept" status_is 0 "$aiflame" gate --budget 'launches +30%' --budget 'bytes 0' before after
check "a change within a loose budget is called more, not the same" says 'more, +20.0 %, within the budget: 5 -> 6' "$aiflame" gate --budget 'launches +30%' before after
check "a gate fails what is exceeded" status_is 3 "$aiflame" gate --budget 'launches 0' before after
check "swapped sides are an improvement" status_is 0 "$aiflame" gate --budget 'launches 0' after before
check "a gate of one run a side cannot tell" status_is 4 "$aiflame" gate before/1.data after/1.data
check "--cannot-tell pass passes one run a side" status_is 0 "$aiflame" gate --cannot-tell pass before/1.data after/1.data
check "--cannot-tell fail fails one run a side" status_is 3 "$aiflame" gate --cannot-tell fail before/1.data after/1.data
# A range's device time is that of its kernels, to the nanosecond: blocks launches two, head two.
sum_of() { "$aiflame" gate --format json "$@" before after | python3 -c 'import json, sys; print(sum(r["a"] for r in json.load(sys.stdin)["budgets"]))'; }
check "a range's budget is over the device time of what was launched in it" sh -c "[ \"\$1\" = \"\$2\" ] && [ \"\$1\" != 0 ]" sh \
	"$(sum_of --budget 'range:/^head$/ +300%')" "$(sum_of --budget 'stack:/^head$/ +300%')"
check "a range is a unit of a diff" says 'per head: 12 in A, 12 in B, a range that the program marked' "$aiflame" diff --unit range:head before after
check "a gate's numbers are those of one range" sh -c "'$aiflame' gate --unit range:head --budget 'launches +30%' before after | grep -q '5 -> 6 a head'"
check "diff names the ranges there are, where --unit names none of them" says "no range called 'token' in it to give values by; it has " "$aiflame" diff --unit token before after
check "a gate cannot tell by a range that is not there" status_is 4 "$aiflame" gate --unit token before after
check "diff says that ranges are counted without the number at their end" says "ranges are counted without the number at their end: range:head" "$aiflame" diff --unit range:head_3 before after
check "an unknown unit of a gate is misuse" status_is 2 "$aiflame" gate --unit parsec before after
check "a gate cannot tell of a range that no run has" status_is 4 "$aiflame" gate --budget 'range:/^nowhere$/ +3%' before after
check "a gate says that an operator which no run has is missing" says 'missing in 3 of 3 runs of A: nothing matches in either side' "$aiflame" gate --budget 'op:/^aten::mm$/ +3%' before after
check "a gate cannot tell of a kernel that is gone" status_is 4 "$aiflame" gate --budget 'kernel:/scale_and_shift/ +3%' before after
check "a gate cannot tell of a missing file" status_is 4 "$aiflame" gate before nowhere.data
"$aiflame" record -o empty.data -- true >empty.out 2>&1
for side in nowhere.data "$work/empty.data" "$0" before,nowhere.data; do
	check "--cannot-tell pass does not pass a side without comparable runs: ${side##*/}" status_is 4 "$aiflame" gate --cannot-tell pass before "$side"
done
check "a gate cannot tell of CPU time of programs with a device" status_is 4 "$aiflame" gate --budget 'cpu +3%' before before
check "a gate says of which programs CPU time is compared" says 'CPU time is compared of programs without a device' "$aiflame" gate --budget 'cpu +3%' before before
check "communication is missing, not kept, of programs that have none" says 'no communication in either side' "$aiflame" gate --budget 'communication +3%' before again
check "a gate cannot tell of a recording without launches" status_is 4 "$aiflame" gate before empty.data,empty.data,empty.data
check "a gate says that a recording without launches is not compared" says 'not compared: ' "$aiflame" gate before empty.data,empty.data,empty.data
check "a budget without a limit is misuse" status_is 2 "$aiflame" gate --budget 'launches' before after
check "a budget of time with a minus is misuse" status_is 2 "$aiflame" gate --budget 'time -3%' before after
check "a budget of launches with a minus is refused, saying what to give" says "less of it is better, a minus would pass any regression; give a plus" "$aiflame" gate --budget 'launches -3%' before after
check "a budget of time without a unit is refused, saying what to give" says 'give +3%, +3us' "$aiflame" gate --budget 'time +3' before after
check "a budget of launches takes a number without a unit" status_is 0 "$aiflame" gate --budget 'launches +3' before after
check "a budget of an unknown metric is misuse" status_is 2 "$aiflame" gate --budget 'tiem +3%' before after
check "a budget of an unknown metric says how to define one" says 'or define it by --metric tok_s={}.json:.WAY' "$aiflame" gate --budget 'tok_s -3%' before after
check "a budget of an unknown metric names those that --metric defines" says 'or define it by --metric, which has tok_s' "$aiflame" gate --metric 'tok_s={}.json:.x' --budget 'tokens +3%' before after
check "a budget of a mistyped metric names the nearest" says "no metric is called 'tiem'; give time" "$aiflame" gate --budget 'tiem +3%' before after
printf 'launches +30%%\0\nlaunches 0\n' >nul.budgets
check "a file of budgets with a byte 0 is refused" status_is 2 "$aiflame" gate --budgets nul.budgets before after
mkfifo fifo.budgets
check "a FIFO of budgets is refused, not waited for" says "fifo.budgets: a FIFO is no file" timeout 120 "$aiflame" gate --budgets fifo.budgets before after
printf '\357\273\277launches +30%%\r\n# all\r\n' >mark.budgets
check "a file of budgets with a byte order mark and CR LF is read" status_is 0 "$aiflame" gate --budgets mark.budgets before after
mkfifo pipe
for side in pipe /dev/zero; do check "a side that is no regular file is refused: $side" says 'is no file that can be read again' timeout 120 "$aiflame" diff before $side; done
mkfifo before/1.pipe
check "a pipe in the place of a metric's file is not waited for" status_is 4 timeout 120 "$aiflame" gate --metric 'x={}.pipe:.x' --budget 'x lower +3%' before after
check "--metric with the name of a built-in metric is misuse" status_is 2 "$aiflame" gate --metric 'time={}.json:.x' --budget 'time +3%' before after
check "gate --v7-exit ends with 1 where a budget is exceeded" status_is 1 "$aiflame" gate --v7-exit --budget 'launches 0' before after
check "gate --v7-exit ends with 0 where budgets are kept" status_is 0 "$aiflame" gate --v7-exit --budget 'launches +30%' before after
check "gate --v7-exit ends with 1 where it cannot tell" status_is 1 "$aiflame" gate --v7-exit before/1.data after/1.data
check "gate --v7-exit --cannot-tell pass ends with 0 where it cannot tell" status_is 0 "$aiflame" gate --v7-exit --cannot-tell pass before/1.data after/1.data
check "gate --v7-exit ends with 2 where a side is missing" status_is 2 "$aiflame" gate --v7-exit --cannot-tell pass before nowhere.data
check "gate --v7-exit ends with 2 for wrong usage" status_is 2 "$aiflame" gate --v7-exit --budget 'tiem +3%' before after
check "a gate of one side is misuse" status_is 2 "$aiflame" gate before
check "a gate whose --require command fails judges nothing" status_is 5 "$aiflame" gate --require false --budget 'launches +30%' before after
# required OPTION...: standard output of a gate whose --require fails
required() { "$aiflame" gate --require 'exit 7' "$@" before after; }
check "JUnit has a failed --require as an error" says "name=\"require\"><error message=\"--require &#39;exit 7&#39; failed: nothing is judged\"" required --format junit
check "JSON has a failed --require as the reason why nothing was compared" says "\"result\":\"not judged\",\"not_compared\":[\"--require 'exit 7' failed: nothing is judged\"]" required --format json
check "Markdown says that nothing was judged where --require fails" says "## aiflame gate: not judged" required --format md
check "annotations have a failed --require as an error" says "::error title=aiflame gate::not judged: --require 'exit 7' failed" required --annotations
check "an empty --require is refused" says "--require '' is empty; give a shell command" "$aiflame" gate --require '' before after
check "a --require of blanks is misuse" status_is 2 "$aiflame" gate --require ' ' before after
check "a --require that names no metric says that it was run as a command" says "no --metric is called 'tok_z', so it was run as a command" "$aiflame" gate --metric 'tok_s={}.json:.x' --require tok_z before after
check "a --require that is interrupted judges nothing, and says so" says "--require 'kill -INT \$\$' was interrupted: nothing is judged" "$aiflame" gate --require 'kill -INT $$' before after
for side in before after; do
	for i in 1 2 3; do echo "{\"r\": {\"tok_s\": [0, 10$i]}}" >$side/$i.json; done
done
metric="tok_s={}.json:.r.tok_s[1]"
check "a metric is read from a JSON file beside each run" says 'kept         tok_s -5%  the same, 0 % (' "$aiflame" gate --metric "$metric" --require tok_s --budget 'tok_s -5%' before after
check "a metric that may be better either way is not judged by a plus" status_is 2 "$aiflame" gate --metric "$metric" --budget 'tok_s +5%' before after
check "a budget that leaves open what is better says what to write" says "is more of it better, or less? give 'tok_s -3%' or 'tok_s higher 0' if more is, 'tok_s lower +3%' if less" "$aiflame" gate --metric "$metric" --budget 'tok_s +5%' before after
for i in 1 2 3; do echo "{\"r\": {\"tok_s\": [0, 5$i]}}" >after/$i.json; done
check "half the tokens a second exceed a budget of -5 %" status_is 3 "$aiflame" gate --metric "$metric" --budget 'tok_s -5%' before after
check "half the tokens a second exceed a budget of higher 0" status_is 3 "$aiflame" gate --metric "$metric" --budget 'tok_s higher 0' before after
check "half of a metric of which less is better keeps its budget" status_is 0 "$aiflame" gate --metric "$metric" --budget 'tok_s lower +5%' before after
rm after/2.json
check "a required metric that a run lacks: nothing is judged" status_is 5 "$aiflame" gate --metric "$metric" --require tok_s --budget 'tok_s -5%' before after
check "a gate cannot tell by a metric that a run lacks" status_is 4 "$aiflame" gate --metric "$metric" --budget 'tok_s -5%' before after
check "a gate names the file of a metric that a run lacks" says 'missing in 1 of 3 runs of B: after/2.json' "$aiflame" gate --metric "$metric" --budget 'tok_s -5%' before after
for run in before/*.data after/*.data; do echo '{"parity": true}' >"${run%.data}.ok.json"; done
check "a --require that each run's file meets lets the gate judge" status_is 0 "$aiflame" gate --require '{}.ok.json:.parity=true' --budget 'launches +30%' before after
echo '{"parity": false}' >after/2.ok.json
check "a --require that one run's file does not meet names that file" says "it is false in after/2.ok.json: nothing is judged" "$aiflame" gate --require '{}.ok.json:.parity=true' --budget 'launches +30%' before after
rm before/*.ok.json after/*.ok.json
"$root/scripts/md-to-man" "$root/docs/man/aiflame-gate.md" 1 "$root/src/cmd/commands.def" >gate.1
check "the manual page has the statuses of a gate" sh -c "grep -q '3 a budget is exceeded, 4 cannot tell, 5 what' gate.1 && ! grep -q 'aiflame.data$' gate.1"
check "JUnit is XML" sh -c "'$aiflame' gate --format junit --budget 'launches 0' --budget 'kernel:/\"<x>\"/ +3%' before after >gate.xml;
	python3 -c '
import xml.etree.ElementTree as e
s = e.parse(\"gate.xml\").getroot()[0]
assert (s.get(\"tests\"), s.get(\"failures\"), s.get(\"skipped\")) == (\"2\", \"1\", \"1\"), s.attrib
assert s[1].get(\"name\").startswith(\"kernel:/\\\"<x>\\\"/\"), s[1].attrib'"
check "annotations name the exceeded budget and its change" says '::error title=aiflame gate::launches 0: more, +20.0 %25' "$aiflame" gate --annotations --budget 'launches 0' before after
# one_a_side OPTION...: a gate of one run a side
one_a_side() { "$aiflame" gate --budget 'launches +30%' "$@" before/1.data after/1.data; }
why='cannot tell: +20.0 %: 5 -&gt; 6 a step; 1 run on a side: how much runs differ'
check "JUnit says that the gate cannot tell, and why" says "<skipped message=\"$why" one_a_side --format junit
check "JUnit of --cannot-tell fail has what it cannot tell as a failure" says "<failure message=\"$why" one_a_side --format junit --cannot-tell fail
check "JUnit of --cannot-tell fail counts what it cannot tell as a failure" says 'failures="1" skipped="0"' one_a_side --format junit --cannot-tell fail
why='title=aiflame gate::launches +30%25: cannot tell: +20.0 %25: 5 -> 6 a step; 1 run on a side: '
check "annotations have what the gate cannot tell as warnings" says "::warning $why" one_a_side --annotations
check "annotations of --cannot-tell fail have what the gate cannot tell as errors" says "::error $why" one_a_side --annotations --cannot-tell fail
head -c 60000 before/1.data >half.data
check "a gate cannot tell of a file that ends in its middle" status_is 4 "$aiflame" gate before half.data,half.data,half.data

# Sides that are not what they seem: each would be "fewer launches", a win.
mkdir other
for i in 1 2 3; do POCL_DEVICES=basic "$aiflame" record -o other/$i.data -- "$app" base 12 2000 >"$work/record.out" 2>&1; done
check "a gate cannot tell of runs on another device" status_is 4 "$aiflame" gate --budget 'launches +30%' before other
check "a gate names both devices where they differ" says 'no verdict: machines differ: before/1.data ran on pthread' "$aiflame" gate before other
check "--any-machine compares runs on different devices" status_is 0 "$aiflame" gate --any-machine --budget 'launches +30%' before other
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
check "a gate cannot tell of runs whose program was killed" status_is 4 "$aiflame" gate --budget 'launches +30%' before killed
check "diff says that a run's command was killed" says 'killed/1.data: its command was ended by SIGKILL' "$aiflame" diff before killed
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
check "a gate cannot tell of runs whose recorder was killed" status_is 4 "$aiflame" gate --budget 'launches +30%' before dead
check "diff says that a recording was cut short" says 'dead/1.data: the recording was cut short' "$aiflame" diff before dead
for i in failed/1 failed/2 failed/3 failed_too/1 failed_too/2 failed_too/3; do
	"$aiflame" record -o $i.data -- sh -c '"$0" base 12 2000; exit 7' "$app" >"$work/record.out" 2>&1
done
check "a gate says that exit statuses differ between its sides" says 'no verdict: exit statuses differ: before/1.data ended with 0, failed/1.data with 7' "$aiflame" gate before failed
check "runs that ended with the same status on both sides are compared" status_is 0 "$aiflame" gate --budget 'launches +30%' failed failed_too
for side in before,nowhere.data "before,$work/empty.data" before,half.data; do
	check "a gate cannot tell with one bad run among good ones: ${side#before,}" status_is 4 "$aiflame" gate --budget 'launches +30%' before "$side"
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
	# Where CPUs are short, a second has too few steps.
	for seconds in 1 4 16; do
		"$aiflame" record --duration $seconds -o early/$i.data -- sh -c 'echo $$ >app.pid; exec "$0" base 20000 2000' "$app" >"$work/record.out" 2>&1
		kill -9 "$(cat app.pid)"
		rm app.pid
		[ "$("$aiflame" report --steps --limit 0 --format csv early/$i.data | wc -l)" -le 22 ] || break
	done
done
for unit in step run second launch; do
	check "a gate cannot tell of recordings that ended early, by $unit" status_is 4 "$aiflame" gate --unit $unit --budget 'launches +30%' whole early
done
check "a gate says that a recording ended before its command" says 'is no whole run: its recording ended before its command did' "$aiflame" gate whole early
check "recordings that ended early are no whole runs of each other" says 'is no whole run' "$aiflame" gate --unit run early early
check "the same steps of whole recordings and of those that ended early are compared" sh -c "'$aiflame' gate --budget 'launches +30%' whole@steps:2-20 early@steps:2-20 >steps.txt; grep -q '^per step: 19 in A, 19 in B' steps.txt && ! grep -q 'whole run' steps.txt"
check "a gate by second cannot tell of time" status_is 4 "$aiflame" gate --unit second --budget 'time +3%' whole whole
check "an estimate of launches that were left out is never an improvement" sh -c "'$aiflame' gate --format json --budget 'launches 0' whole share | python3 -c '
import json, sys
d = json.load(sys.stdin)
row = d[\"budgets\"][0]
# Fewer by an estimate: whatever the answer, never an improvement of a part of them.
assert row[\"result\"] == \"cannot tell\" or abs(row[\"change\"]) < 0.3, row'"

mkdir none
check "a gate cannot tell of an empty directory" status_is 4 "$aiflame" gate before none
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
check "baseline list has the label" sh -c "'$aiflame' baseline list | grep -Eq '^main .* v1 '"
check "baseline list has a line for each run of a loop" sh -c "[ \$('$aiflame' baseline list main | grep -Ec '^main .* loop ') = 3 ]"
check "baseline set says that fewer runs take the place of more" says 'few: 1 run in aiflame.baselines/few, in place of 3' sh -c "'$aiflame' baseline set few before && '$aiflame' baseline set few before/1.data 2>few.err"
check "baseline set says that fewer than three runs decide nothing" grep -qx 'aiflame: baseline: few has fewer than 3 runs now: no gate decides by it' few.err
check "baseline list tells whole runs and parts" sh -c "'$aiflame' baseline set --whole few before/1.data && '$aiflame' baseline list few | grep -Eq '^few .* whole run ' && '$aiflame' baseline set few before/1.data@steps:2-5 && '$aiflame' baseline list few | grep -Eq '^few .* part ' && '$aiflame' baseline rm few"
check "each run of a baseline is one small file" sh -c 'ls aiflame.baselines/main/*.run | wc -l | grep -qx 3 && [ -z "$(find aiflame.baselines -size +100k)" ]'
check "the same runs make files of the same names in a baseline" sh -c "ls aiflame.baselines/main >1.txt && '$aiflame' baseline set main before --label v1 && ls aiflame.baselines/main | cmp - 1.txt"
"$aiflame" diff before/1.data copy.data -o same.html
check "a diff without changed stacks says so in text, and the page leaves it out" sh -c "'$aiflame' diff before/1.data copy.data | grep -qx 'None beyond the margin.' && ! grep -q 'None beyond the margin' same.html"
check "a baseline is the same as the runs that it was made of" sh -c "'$aiflame' diff baseline:main before >same.txt && ! grep -Eq 'slower|faster|more|less|new|gone' same.txt && grep -q '^None' same.txt"
check "a baseline keeps how often a range was there" says 'per head: 12 in A, 12 in B' "$aiflame" diff --unit range:head baseline:main after
check "a baseline keeps device time of ranges" sh -c "grep -qx 'range 0 [1-9][0-9]* head' aiflame.baselines/main/*.run && [ \"\$1\" = \"\$2\" ]" sh \
	"$(sum_of --budget 'range:/^head$/ +300%')" "$("$aiflame" gate --format json --budget 'range:/^head$/ +300%' baseline:main after | python3 -c 'import json, sys; print(json.load(sys.stdin)["budgets"][0]["a"])')"
check "a baseline is a side of a gate" status_is 3 "$aiflame" gate --budget 'launches 0' baseline:main after
cp -r aiflame.baselines edited
file=$(ls edited/main/*.run | head -1)
sed -i 's/^label .*/label v2/' "$file"
check "a gate cannot tell by a baseline that was edited" status_is 4 "$aiflame" gate --baselines edited --budget 'launches +30%' baseline:main after
check "a gate says that a run of a baseline was edited" says 'edited or damaged' "$aiflame" gate --baselines edited --budget 'launches +30%' baseline:main after
mkdir edited/main/dir.run
echo stray >edited/stray
check "baseline list ends with 1 where it has a bad file" status_is 1 "$aiflame" baseline --baselines edited list
check "baseline list names bad files and lists the others" sh -c "'$aiflame' baseline --baselines edited list >list.txt 2>&1; grep -q 'edited or damaged' list.txt && [ \$(grep -c ' v1 ' list.txt) = 2 ] && grep -q 'edited/stray  *Not a directory' list.txt"
check "baseline rm removes what it can, and names the rest" sh -c "! '$aiflame' baseline --baselines edited rm main 2>rm.txt && grep -q 'dir.run: ' rm.txt && [ \"\$(ls edited/main)\" = dir.run ]"
check "baseline accept of a baseline that is not there says how to make one" says 'make it by aiflame baseline set other' "$aiflame" baseline accept other after --reason x
check "baseline accept makes no baseline that was not there" [ ! -e aiflame.baselines/other ]
check "baseline accept names the missing --reason" says '--reason is missing' "$aiflame" baseline accept main after
check "baseline accept without --reason is misuse" status_is 2 "$aiflame" baseline accept main after
check "baseline accept with a blank --reason is misuse" status_is 2 "$aiflame" baseline accept main after --reason ' '
check "baseline accept keeps the reason" sh -c "'$aiflame' baseline accept main after --reason 'two kernels are wanted' && grep -q '3 runs  two kernels are wanted' aiflame.baselines/main/accepted.txt"
check "runs are judged by the accepted baseline from then on" status_is 0 "$aiflame" gate --budget 'launches 0' baseline:main again
check "a gate cannot tell of a baseline against the runs that it is of" says 'A and B are the same runs' "$aiflame" gate --budget 'launches 0' baseline:main after
check "a baseline's name is no path" says "a name has letters" "$aiflame" diff baseline:../x after
check "a gate cannot tell by a baseline that is not there" status_is 4 "$aiflame" gate baseline:nothing after
check "a gate names the baselines there are, where one is not" says 'baseline:nothing: no such baseline in aiflame.baselines, which has main' "$aiflame" gate baseline:nothing after
check "a gate says how to make a baseline where there is none" says 'no baseline in nowhere; make it by aiflame baseline set nothing RUNS' "$aiflame" gate --baselines nowhere baseline:nothing after
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
check "another version of a reduced run is refused" says 'another version than 1' "$aiflame" diff two.run before

ranges=$root/tests/golden/reduced-run-1-ranges.run
check "a reduced run of version 1 has marked steps and how often ranges were there" sh -c "'$aiflame' diff --format json --unit range:blocks '$ranges' before/1.data | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert (d[\"unit\"], d[\"a\"][\"runs\"][0][\"steps\"]) == (\"blocks\", 12), d[\"a\"]
m = {x[\"metric\"]: x[\"a\"] for x in d[\"metrics\"]}
assert (m[\"launches\"], m[\"device\"], m[\"bytes\"]) == (5, round(8863624 / 12, 3), 4194304), m'"
check "a reduced run of version 1 has device time of ranges" sh -c "'$aiflame' gate --any-machine --format json --budget 'range:/^blocks\$/ <= 1s' before/1.data '$ranges' | grep -q '\"b\":65068.5833'"

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
check "Markdown of a gate names the stack to look at whole" says "look at $(echo "$stack" | sed 's/[][<]/\\&/g'): " "$aiflame" gate --format md --budget 'device +3%' graph_a graph_b
check "diff names a changed stack whole" says "$stack" "$aiflame" diff graph_a graph_b
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
check "a gate cuts a stack in its middle to fit a terminal" grep -qF 'look at gemm < [0x40120f] < [0x4010f…] < [0x401fff]: ' narrow.txt
on_terminal 100 "$aiflame" diff graph_a graph_b >narrow.txt
check "a diff cuts its stacks in their middle to fit a terminal" grep -qF 'gemm < [0x40120f] < [0x401… < [0x401fff]' narrow.txt

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
check "why finds no loop in one of three runs" sh -c "'$aiflame' why loop_a/2.data | grep -q '^loop  *none found' && '$aiflame' why loop_a/1.data | grep -q '^loop  *15 turns'"
check "a set of runs has the loop of the others in a run without one" says 'per step: 15 in A, 15 in B, turns of the loop that was found' "$aiflame" diff loop_a loop_b
check "a run that took the loop of the others is noted" says 'note: A: 1 run had other steps by themselves, or none' "$aiflame" diff loop_a loop_b
check "a baseline keeps the steps of the others for a run without a loop" sh -c "'$aiflame' baseline --baselines loops set x loop_a && [ \$(grep -lx 'steps 15 turns' loops/x/*.run | wc -l) = 3 ]"
# The same loop, two seconds later and earlier: no other step, and a longer run. Half the steps: less work.
mkdir late half
for i in 1 2 3; do
	{ python3 steps.py 0; echo "sleep time=2000000000"; } >steps.script
	"$aiflame" record -q --all-launches -o late/$i.data "$fake" steps.script
	python3 steps.py 0 | sed '/^launch/{29,$d}' >steps.script
	"$aiflame" record -q --all-launches -o half/$i.data "$fake" steps.script
done
check "a start and an end that take longer leave time by step as it was" status_is 0 "$aiflame" gate --budget 'time +30%' loop_b late
check "a start and an end that take longer are a longer run by --unit run" sh -c "'$aiflame' gate --format json --unit run --budget 'time +30%' --budget 'after_work +30%' loop_b late | python3 -c '
import json, sys
d = json.load(sys.stdin)
time, after = d[\"budgets\"]
assert d[\"unit\"] == \"run\" and not d[\"no_verdict\"], d
assert all(x[\"result\"] != \"kept\" and x[\"b\"] - x[\"a\"] > 1e9 for x in (time, after)), d'"
check "a start and an end that take longer are no device time of a run" status_is 0 "$aiflame" gate --unit run --budget 'device +3%' loop_b late
check "without --unit run the time before device work is missing, not kept" status_is 4 "$aiflame" gate --budget 'before_work +3%' loop_b late
check "half the steps are noted by a gate" says 'note: a run of A has 15 steps, of B 6: one step is compared, not the work of a run (--unit run)' "$aiflame" gate --budget 'device +3%' loop_b half
check "half the steps are noted in JSON" sh -c "'$aiflame' gate --format json loop_b half | grep -q 'a run of A has 15 steps'"
check "half the steps are noted in Markdown" says 'note: a run of A has 15 steps' "$aiflame" diff --format md loop_b half
check "half the steps have no verdict by --unit run" says 'whole runs are not the same work' "$aiflame" diff --unit run loop_b half
"$aiflame" baseline --baselines loops set late late >/dev/null
check "a baseline of loops says that it has no start-up and end" says 'is the loop of a run, without its start-up and end' "$aiflame" diff --baselines loops --unit run baseline:late late
"$aiflame" baseline --baselines loops set --whole late late >/dev/null
check "a baseline of whole runs has time after device work" sh -c "'$aiflame' diff --baselines loops baseline:late late >whole.txt && grep -q '^a whole run;' whole.txt && grep -Eq '^after device work +2' whole.txt && ! grep -q '^no verdict' whole.txt"
check "a gate by step cannot compare a single run without steps" says 'not compared: loop_a/2.data: no step in it' "$aiflame" gate --unit step loop_a/2.data loop_a/2.data

# The same program with its functions inlined, and all lines moved: the same stacks.
src=$root/tests/e2e/diff_app.c
{ yes '' | head -40; sed 's/__attribute__((noinline)) //' "$src"; } >inlined.c
inline_cc() { ${CC:-cc} -std=gnu17 -O2 -g "-I$root/include" "$@" -lOpenCL 2>/dev/null; }
if inline_cc -o apart "$src" && inline_cc -finline-functions -finline-limit=10000 -o inlined inlined.c; then
	check "a compiler inlines the functions in one of two builds" sh -c "nm apart | grep -q ' t block$' && ! nm inlined | grep -q ' t block$'"
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
check "bench compares its two sides" grep -Eq '^kernels launched +5 +6 +\+20.0 % +more' bench.txt
check "the shell that bench runs a side by is no other command" sh -c "! grep -q '/bin/sh.*;\|; */bin/sh' bench.txt"
check "bench names a side by the command, not by its shell" sh -c "grep -q '^B .*, 3 runs of $app fusion 12 2000$' bench.txt"
check "bench does not say of two equal commands that they differ" sh -c "'$aiflame' bench -n 1 --warm-up 0 -o equal --against '$app base 12 2000' -- '$app' base 12 2000 >equal.txt 2>&1 && ! grep -q 'commands differ' equal.txt"
check "bench takes both sides as one word each" sh -c "'$aiflame' bench -n 1 --warm-up 0 -o words --against '$app fusion 12 2000' '$app base 12 2000' >words.txt 2>&1; cat words.txt; grep -q '^A .*, 1 run of $app base 12 2000$' words.txt && grep -q '^B .*, 1 run of $app fusion 12 2000$' words.txt"
check "bench says that options stand before a command" says 'options stand before it' "$aiflame" bench '$app base' --against '$app fusion'
check "diff says which sets are in a directory that bench made" says 'in this directory; give sets/a' "$aiflame" diff sets before
check "the sets that bench made are sides of a gate" status_is 3 "$aiflame" gate --budget 'launches 0' sets/a sets/b
check "bench does not write over a directory that is there" says 'remove it, or give another -o' "$aiflame" bench -o sets -- true
check "bench says that a run failed" says 'side A ended with status 3' "$aiflame" bench -n 1 --warm-up 0 -o failing -- sh -c 'exit 3'
"$aiflame" bench -n 2 --warm-up 0 -o stopped -- sh -c 'echo $$ >app.pid; exec "$0" base 20000 2000' "$app" >stopped.txt 2>&1 &
bench=$!
until_written stopped/a/1.data
kill -TERM $bench
wait $bench
status=$?
kill -9 "$(cat app.pid)" 2>/dev/null
rm app.pid
check "a bench that is interrupted ends with the signal's status" [ $status = 143 ]
check "a bench that is interrupted says which run it removed" grep -q 'bench: interrupted in run 1 of side A, which is removed' stopped.txt
check "a bench that is interrupted leaves no part of a run" sh -c '[ -z "$(ls -A stopped/a)" ]'
echo "1..$n"
[ $failed -eq 0 ]
