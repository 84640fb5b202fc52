#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranges that stock programs mark with PyTorch's record_function (Debian's python3-torch, on the CPU), recorded live, and operators
# whose shapes they have PyTorch record.
. "$(dirname "$0")/tap.sh"
app=$root/tests/e2e/torch_ranges.py
python=
for p in /usr/bin/python3 python3; do
	"$p" -c 'import torch' >/dev/null 2>&1 && python=$p && break
done
if [ -z "$python" ]; then
	n=$((n + 1))
	echo "ok $n - ranges of PyTorch # SKIP no python3 with torch: install python3-torch (300 MB)"
	done_testing
	exit
fi
sql() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
# is WANTED FILE SQL
is() { got=$(sql "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }
by_name="SELECT CASE WHEN name LIKE 'step %' THEN 'step' ELSE name END AS what, count(*) FROM ops WHERE kind = 'range' GROUP BY what ORDER BY what"

alone=$("$python" "$app" train)
check "a training in PyTorch computes the same loss while its ranges are recorded" test "$alone" = "$("$aiflame" record -q --cpu -o t.data "$python" "$app" train)"
check "each record_function of a training is a range, and so is the optimizer's own" is "Optimizer.step#SGD.step,20
Optimizer.zero_grad#SGD.zero_grad,20
backward,20
forward,20
step,20
update,20" t.data "$by_name"
check "ranges of record_function lie in the one around them" is 60 t.data "SELECT count(*) FROM ops a JOIN ops b USING (tid)
	WHERE a.name LIKE 'step %' AND b.name IN ('forward', 'backward', 'update') AND b.start_ns >= a.start_ns AND b.start_ns + b.dur_ns <= a.start_ns + a.dur_ns"
check "ranges of record_function that are called as steps are the program's steps" test "$("$aiflame" report --steps --format csv t.data | grep -c ',step ')" = 20
check "a training in PyTorch with ranges: the numbers add up" says "everything adds up" "$aiflame" info t.data

check "torch.profiler sees its ranges while they are recorded" says "saw 20 20 20 1" "$aiflame" record -q --cpu -o p.data "$python" "$app" profiler
check "ranges are recorded while torch.profiler sees them" is "20" p.data "SELECT count(*) FROM ops WHERE kind = 'range' AND name = 'backward'"

check "a program whose ranges end in other threads is recorded" says done "$aiflame" record -q --cpu -o e.data "$python" "$app" elsewhere
check "ranges that another thread ends are there, and those behind them" is "after,40
asynchronous,40
inside,40" e.data "$by_name"
check "a range that another thread ended ends before the next one" is 0 e.data "SELECT count(*) FROM ops a JOIN ops b
	ON a.name = 'asynchronous' AND b.name = 'after' AND b.start_ns > a.start_ns AND b.start_ns < a.start_ns + a.dur_ns"

# What torch.profiler had of these operators, in its order, beside what the recording has.
check "a program that has PyTorch record shapes for some steps is recorded" sh -c "
	'$aiflame' record -q --cpu -o s.data '$python' '$app' shapes | LC_ALL=C sort >theirs.txt && grep -q '^aten::addmm;' theirs.txt"
sql s.data "SELECT name || ';' || shapes || ';' || count(*) FROM ops WHERE kind = 'operator' AND name = 'aten::addmm' GROUP BY name, shapes" |
	tr -d '"' | LC_ALL=C sort >ours.txt
check "operators whose shapes the program has recorded have the same in the recording" cmp ours.txt theirs.txt
check "operators lie in the ranges around them" is 10 s.data "SELECT count(*) FROM ops a JOIN ops b USING (tid)
	WHERE a.name = 'aten::addmm' AND b.name = 'forward' AND a.start_ns >= b.start_ns AND a.start_ns + a.dur_ns <= b.start_ns + b.dur_ns"
check "operators are recorded only while the program records shapes" is 5 s.data "SELECT count(DISTINCT s.start_ns) FROM ops a JOIN ops s USING (tid)
	WHERE a.kind = 'operator' AND s.name LIKE 'step %' AND a.start_ns >= s.start_ns AND a.start_ns + a.dur_ns <= s.start_ns + s.dur_ns"
check "report --ops --by shape has the shapes of a recording" says "[128, 64], [64, 96]" "$aiflame" report --ops --by shape s.data
check "a recording with shapes: the numbers add up" says "everything adds up" "$aiflame" info s.data

check "a program whose threads have profilers of their own is recorded" sh -c "
	'$aiflame' record -q --cpu -o own.data '$python' '$app' own | LC_ALL=C sort >theirs.txt && grep -q '^aten::addmm;.*;10$' theirs.txt"
sql own.data "SELECT name || ';' || shapes || ';' || count(*) FROM ops WHERE kind = 'operator' AND name = 'aten::addmm' GROUP BY name, shapes" |
	tr -d '"' | LC_ALL=C sort >ours.txt
check "a thread whose profiler ends does not end the recording of another thread's operators" cmp ours.txt theirs.txt

# PyTorch has no shapes of these, and says so by an exception, which it makes a warning of.
if "$python" -c 'import torch; torch.nested.nested_tensor([torch.ones(2)])' >/dev/null 2>&1; then
	check "a program with nested tensors computes the same while it has PyTorch record shapes" \
		test "$("$python" "$app" nested 2>/dev/null)" = "$("$aiflame" record -q --cpu -o nested.data "$python" "$app" nested 2>nested.err)"
	check "PyTorch warns of shapes that it does not have once" test "$(grep -c 'Exception in RecordFunction' nested.err)" -le 1
	check "operators that are not recorded because PyTorch has no shapes are counted" says OPERATOR_SHAPES "$aiflame" info nested.data
fi
check "record --no-python runs a training in PyTorch" says loss "$aiflame" record -q --cpu --no-python -o n.data "$python" "$app" train
check "record --no-python leaves ranges of record_function out" is 0 n.data "SELECT count(*) FROM ops WHERE kind = 'range'"
check "record --no-python runs a program that has PyTorch record shapes" says aten::addmm "$aiflame" record -q --cpu --no-python -o n.data "$python" "$app" shapes
check "record --no-python leaves operators with shapes out" is 0 n.data "SELECT count(*) FROM ops"
done_testing
