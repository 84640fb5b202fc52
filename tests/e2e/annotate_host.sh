#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# annotate --of host: lines of the program, by the device time that they launched, and the text of the program's own source.
. "$(dirname "$0")/tap.sh"

"$aiflame" record -q --all-launches -o m.data "$matmul" 128 5 >/dev/null 2>&1
"$aiflame" annotate --of host '^main$' m.data >main.txt
check "lines of main() are listed with their text" \
	grep -Eq '^ *[0-9.]+ %  #+ +matmul\.cpp:[0-9]+  +run_benchmark\(device, matrices, \*v, repetitions\);$' main.txt
check "the program's source file is named by its whole path" grep -qx "/.*/examples/matmul/matmul.cpp" main.txt # of where a compiler cache has it from
# The truth: device time under each line of main(), by SQL over the stacks.
lines() {
	"$aiflame" query --format csv m.data "WITH RECURSIVE up(top, stack, ns) AS (
			SELECT stack, stack, sum(dur_ns) FROM (SELECT stack, dur_ns FROM executions UNION ALL SELECT stack, dur_ns FROM copies) GROUP BY 1
			UNION ALL SELECT top, s.parent, ns FROM up JOIN stacks s ON s.id = up.stack WHERE s.parent IS NOT NULL)
		SELECT n.line, sum(ns) FROM up JOIN stacks s ON s.id = up.stack JOIN frame_names n ON n.frame = s.frame
		WHERE n.name = 'main' GROUP BY 1 ORDER BY 1" | tail -n +2
}
lines >truth.csv
as_sql_says() {
	awk -F, 'NR == FNR { ns[$1] = $2; all += $2; next }
		match($0, /matmul\.cpp:[0-9]+/) {
			n++
			share = 100 * ns[substr($0, RSTART + 11, RLENGTH - 11)] / all
			split($0, word, " ")
			if (word[1] - share > 0.051 || share - word[1] > 0.051) { print $0, share; bad = 1 }
		}
		END { exit bad || !n }' truth.csv main.txt
}
check "shares of main()'s lines are what SQL says" as_sql_says
check "annotate of a name that no kernel has lists the host function" sh -c "'$aiflame' annotate '^main$' m.data | cmp - main.txt"
check "a name that no function has is one clear line, which names one that is there" \
	says "no function that launched device work matches 'nothing'; one is '" "$aiflame" annotate --of host nothing m.data
check "a name that no function has is a failure" status_is 1 "$aiflame" annotate --of host nothing m.data
"$aiflame" record -q --no-source -o none.data "$matmul" 64 1 >/dev/null 2>&1
check "--no-source keeps no text of source files" test "$("$aiflame" query --format csv none.data "SELECT count(*) FROM programs WHERE source != ''" | tail -n 1)" = 0
check "--no-source keeps the numbers of source lines" sh -c "'$aiflame' annotate --of host '^main$' none.data | grep -Eq 'matmul\.cpp:[0-9]+$'"

"$aiflame" import -q -o trace.data "$root/tests/golden/views/input/trace.json"
check "lines of an imported trace are said to be where functions begin" sh -c \
	"'$aiflame' annotate --of host . trace.data | grep -qx 'lines are where functions begin: the trace has no others'"

# ---- Python
opencl=
for python in /usr/bin/python3 python3; do
	"$python" -c 'import pyopencl; pyopencl.create_some_context(interactive=False)' >/dev/null 2>&1 || continue
	opencl=$python
	break
done
if [ -z "$opencl" ]; then
	skip "Python's lines are listed with their text" "no pyopencl"
	done_testing
fi
cat >train.py <<'END'
import numpy, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, """
__kernel void turn(__global float *a, int n) {
	float x = a[get_global_id(0)];
	for (int i = 0; i < n; i++) x = x * 1.0001f + 0.5f;
	a[get_global_id(0)] = x;
}""").build()
a = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096 * 4)


def run(n):
    program.turn(queue, (4096,), None, a, numpy.int32(n))


def walk(n):
    if n: walk(n - 1); walk(n - 1)
    else: run(100)


def step():
    run(1000)
    # a comment that nobody stands on
    run(9000)


walk(3)
import one.work, two.work
one.work.go(run)
two.work.go(run)
for _ in range(20):
    step()
queue.finish()
END
mkdir one two
printf 'def go(run):\n    run(500)\n' >one/work.py
printf 'def go(run):\n    # longer\n    run(1500)\n' >two/work.py
"$aiflame" record -q --all-launches -o p.data "$opencl" train.py >/dev/null 2>&1
"$aiflame" annotate --of host '^step' p.data >step.txt
check "Python's lines are listed with their text" sh -c "grep -Eq '%  #* +train\.py:23  +run\(1000\)$' step.txt && grep -Eq '%  #* +train\.py:25  +run\(9000\)$' step.txt"
check "the Python line whose kernel runs longer has the larger share" test "$(awk '/:23/ { a = $1 } /:25/ { print ($1 > 4 * a) }' step.txt)" = 1
"$aiflame" annotate --of host '^walk$' p.data >walk.txt
check "a Python line that recurs has its time once" sh -c "grep -Eq '^ *100.0 %  #+ +train\.py:18' walk.txt && awk '\$1 > 100 && \$2 == \"%\" { exit 1 }' walk.txt"
"$aiflame" annotate --of host '^go$' p.data >go.txt
check "functions of one name in two files are listed apart" sh -c "grep -q '/one/work.py\$' go.txt && grep -q '/two/work.py\$' go.txt &&
	[ \$(grep -c '^100.0 %  ######  work.py:[23]  ' go.txt) = 2 ]"
check "a kernel that Python launched is listed by its own lines" sh -c "'$aiflame' annotate turn p.data | grep -q '^100.0 % of busy time'"
# What a later text would say is not what ran.
"$aiflame" record -q -o changed.data "$opencl" -c "
open('train.py', 'a').write('# changed\n')
exec(compile(open('train.py').read(), '$work/train.py', 'exec'))" >/dev/null 2>&1
"$aiflame" query --format csv changed.data "SELECT detail FROM losses WHERE name = 'SOURCE_SKIPPED'" >changed.txt
check "a source file that has changed since the program began is counted" grep -q "changed since the program began: $work/train.py" changed.txt
check "a source file that has changed since the program began has no text" sh -c "'$aiflame' annotate --of host '^step' changed.data | grep -Eq 'train\.py:23$'"
done_testing
