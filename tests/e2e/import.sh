#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces of torch.profiler become profiles: what import_compare.py sums up from the same file is what the profile has.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e

python3 "$here/import_traces.py" "$work" || exit 1
same() { # WHAT FILE...: imports, adds up, is equal, and so it is when it has gone out and in again
	trace=$1
	shift
	check "$trace: the trace is imported" "$aiflame" import -q -o "$work/t.data" "$@"
	check "$trace: every number is that of the file" python3 "$here/import_compare.py" "$aiflame" "$work/t.data" "$@"
	check "$trace: counts of the import add up" says "everything adds up" "$aiflame" info "$work/t.data"
	[ $# -eq 1 ] || return 0
	check "$trace: exported for Chrome" "$aiflame" export --detail full --format chrome -o "$work/again.json" "$work/t.data"
	check "$trace: the export is JSON" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/again.json"
	check "$trace: the export is imported" "$aiflame" import -q -o "$work/again.data" "$work/again.json"
	check "$trace: the import of the export has every number still" python3 "$here/import_compare.py" "$aiflame" "$work/again.data" "$@"
}
for t in cuda old aiu aiu_renamed flex; do
	same "$t" "$work/$t.json"
done
gzip -k "$work/cuda.json"
same "gzip" "$work/cuda.json.gz"
check "a compressed trace on standard input is imported" sh -c "'$aiflame' import -q - -o '$work/stdin.data' <'$work/cuda.json.gz'"
for t in rank0 rank1; do
	check "the clock of $t is as the test wants it" test -s "$work/$t.json"
done
same "two ranks" "$work/rank0.json" "$work/rank1.json"
check "ranks: a clock that is ahead is moved by what collectives say" says "rank 1 ($work/rank1.json): its clock was 5.0 ms ahead of that of rank 0 ($work/rank0.json), say the ends of 4 collectives" "$aiflame" info "$work/t.data"

"$aiflame" import -q -o "$work/cuda.data" "$work/cuda.json"
number() { got=$("$aiflame" query --format csv "$2" "$3" | tail -n +2); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }
check "a device has the trace's name and number of units" number 'NVIDIA Test 80GB,132' "$work/cuda.data" "SELECT name, units FROM devices"
check "baseTimeNanoseconds dates the profile" number 1 "$work/cuda.data" \
	"SELECT CAST(value AS INTEGER) - 1750000000000000000 BETWEEN 0 AND 3600000000000 FROM meta WHERE key = 'start_realtime_ns'"
check "two ranks are two devices by their names" number 2 "$work/t.data" "SELECT count(DISTINCT name) FROM devices WHERE name LIKE '%(rank _)'"
"$aiflame" import -q -o "$work/old.data" "$work/old.json"
"$aiflame" import -q -o "$work/flex.data" "$work/flex.json"
"$aiflame" import -o "$work/a host.data" "$work/host.json" 2>"$work/host.out"
"$aiflame" import -o "$work/left.data" "$work/left.json" 2>"$work/left.out"
x='{"ph":"X","pid":1,"tid":1,"cat":"cpu_op"'
cat >"$work/overlap.json" <<END
[$x,"name":"a","ts":0,"dur":5},
$x,"name":"b","ts":2,"dur":5},
$x,"name":"c","ts":20,"dur":9},
$x,"name":"never","ts":9e99,"dur":5}]
END
# The third has the same times on another stream.
k='{"ph":"X","pid":0,"cat":"kernel","name":"gemm","ts":1,"dur":0.1,"args":{"device":0,"correlation":7,'
cat >"$work/twice.json" <<END
[$k"stream":7},"tid":7}, $k"stream":7},"tid":7}, $k"stream":8},"tid":8},
$x,"name":"a","ts":0,"dur":5}, $x,"name":"b","ts":0,"dur":5}, $x,"name":"a","ts":0,"dur":5}]
END
cat >"$work/one.json" <<END
[{"ph":"X","pid":0,"tid":7,"cat":"gpu_memcpy","name":"Memcpy HtoD","ts":1,"dur":1,"args":{"device":0,"stream":7}},
{"ph":"i","pid":1,"tid":1,"name":"m","ts":1}, {"ph":"C","pid":1,"tid":1,"name":"m","ts":1}, {"ph":"i","pid":1,"tid":1,"name":"m","ts":2}]
END
# 60 operators in each other, the innermost of which launches.
python3 - >"$work/nested.json" <<'END'
import json
events = [dict(ph="X", cat="cpu_op", name=f"aten::operator_number_{i}", pid=1, tid=1, ts=i, dur=1000 - 2 * i) for i in range(60)]
events += [dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=100, dur=1, args=dict(correlation=1)),
           dict(ph="X", cat="kernel", name="ncclKernel", pid=0, tid=7, ts=200, dur=5, args=dict(device=0, stream=7, correlation=1))]
print(json.dumps(events))
END
"$aiflame" import -q -o "$work/nested.data" "$work/nested.json"
"$aiflame" import -q -o "$work/overlap.data" "$work/overlap.json"
"$aiflame" import -q -o "$work/twice.data" "$work/twice.json"
"$aiflame" import -o "$work/one.data" "$work/one.json" 2>"$work/one.out"
sed 's/"ncclKernel"/"_Z10ncclKernelPfS_i"/' "$work/nested.json" >"$work/mangled.json"
"$aiflame" import -q -o "$work/mangled.data" "$work/mangled.json"
check "report shows a mangled kernel name as it was written" sh -c "'$aiflame' report --kernels '$work/mangled.data' | grep -q ' ncclKernel  '"
check "report --ops shows a mangled kernel name as the file has it" says '_Z10ncclKernelPfS_i' "$aiflame" report --ops --format csv "$work/mangled.data"
check "query shows a mangled kernel name as the file has it" number _Z10ncclKernelPfS_i "$work/mangled.data" "SELECT name FROM kernels"
check "2021: steps among the operators are steps" number "step,200000" "$work/old.data" "SELECT kind, dur_ns FROM ops WHERE name LIKE 'Prof%'"
check "2021: report --steps has what ran in a step" says "0,200000,0.210000,40000,0,2000," "$aiflame" report --steps --format csv "$work/old.data"
"$aiflame" flame --detail full -o "$work/cuda.folded" "$work/cuda.data"
check "a stack has Python, operator, call and kernel" grep -q 'main (train.py)_\[p\];.*aten::mm;cudaLaunchKernel;.*gemm' "$work/cuda.folded"
check "a built-in function of Python has no address" sh -c "! grep -q 0x7f '$work/cuda.folded'"
check "report --kernels names the operator of a kernel" says "aten::mm" "$aiflame" report --kernels "$work/cuda.data"
check "query has grid and block of a launch" says "4096x1x1 128x1x1" "$aiflame" query "$work/cuda.data" \
	"SELECT grid || ' ' || block FROM launches WHERE kernel IS NOT NULL"
check "a kernel whose call is before the trace has its operator's stack" says "aten::orphan" "$aiflame" flame --detail full -o - "$work/cuda.data"

"$aiflame" import -q -o "$work/aiu.data" "$work/aiu.json"
check "AIU: a clock that is behind is told" says "moved by 1.5 us; 1 execution began before its launch" "$aiflame" info "$work/aiu.data"
check "AIU: calls that wait for other AIUs are a class" says "RDMA wait" "$aiflame" info "$work/aiu.data"
check "AIU: waits for other AIUs stand in the picture of CPUs" says "[waiting: aiuRDMABarrier1]" "$aiflame" flame --of cpu -o - "$work/aiu.data"
check "AIU: a stack has Python, operator, call and kernel" sh -c "'$aiflame' flame -o '$work/aiu.folded' '$work/aiu.data' && grep -q 'py)_\[p\];.*;aiuLaunchControlBlocks;add_1' '$work/aiu.folded'"
check "AIU: the operator table says AIU" sh -c "'$aiflame' report --ops '$work/aiu.data' | grep -q 'Self AIU'"
"$aiflame" import -q -o "$work/renamed.data" "$work/aiu_renamed.json"
check "AIU: calls of the thread that read the buffer go to who made them" says "IMPORT_THREAD" "$aiflame" info "$work/renamed.data"
check "AIU: calls of the thread that read the buffer have stacks" sh -c "'$aiflame' flame -o '$work/renamed.folded' '$work/renamed.data' && grep -q 'roberta.py.*;aiuLaunchControlBlocks;add_1' '$work/renamed.folded'"
check "info counts flows that are not kept" says "not kept: 2 flows" "$aiflame" info "$work/cuda.data"
check "info has the profiler's own time" says "imported.profiler_ns" "$aiflame" info "$work/cuda.data"
check "info counts events that are not kept by their category" says "(1 Trace, 1 gpu_user_annotation, 1 instant)" "$aiflame" info "$work/left.data"
check "allocations are kept" number "allocate,512,cudaLaunchKernel" "$work/left.data" "SELECT kind, bytes, (SELECT f.function FROM stacks s JOIN frames f ON f.id = s.frame WHERE s.id = m.stack) FROM memory m"
check "import counts events that are not kept by their category" says "(1 Trace, 1 gpu_user_annotation, 1 instant)" cat "$work/left.out"
check "info counts what was left out apart from what is not kept" says "; left out: 1; not kept: 0 flows, 0 of other kinds" "$aiflame" info "$work/overlap.data"
check "an event that was left out is among the losses" says "1702 IMPORT_EVENT         1  event left out" "$aiflame" info "$work/overlap.data"
check "spans that overlap in part: what the table counts twice is told" \
	says "Self CPU time total: 19.000us, of which 3.000us counted twice" "$aiflame" report --ops "$work/overlap.data"
check "report --ops of spans that nest says nothing of time counted twice" sh -c "! '$aiflame' report --ops '$work/cuda.data' | grep twice"
check "an event that a file has twice is kept both times" number 3,300 "$work/twice.data" "SELECT count(*), sum(dur_ns) FROM executions"
check "info counts events that a file has twice" says "1720 IMPORT_REPEATED      2  events that the file has a second time" "$aiflame" info "$work/twice.data"
check "import's summary says 1 copy, not copies" grep -q "0 kernels of 0 ns, 1 copy or fill" "$work/one.out"
check "import's summary says 1 counter, not counters" grep -q "(2 instants, 1 counter)" "$work/one.out"
check "report --kernels has no caller column where the caller is the operator" sh -c "'$aiflame' report --kernels '$work/nested.data' | head -n 1 | grep -q 'kernel *operator$'"
check "report --kernels --format csv has both operator and caller" says ",aten::operator_number_59,aten::operator_number_59" "$aiflame" report --kernels --format csv "$work/nested.data"
check "report --kernels has a caller column where the caller is no operator" sh -c "'$aiflame' report --kernels '$work/cuda.data' | head -n 1 | grep -q ' caller$'"
check "report --kernels of an import without samples has no column of them" sh -c "! '$aiflame' report --kernels '$work/cuda.data' | grep -q samples"
check "report --stacks leaves out the middle of a long stack" sh -c "'$aiflame' report --stacks '$work/nested.data' | grep -q 'aten::operator_number_59 < .* < (4[0-9] more) < aten::operator_number_0$'"
for o in "--detail full" "--format csv" "--format json"; do
	check "report --stacks $o has the middle of a long stack" says "aten::operator_number_31 < aten::operator_number_30 < " "$aiflame" report --stacks $o "$work/nested.data"
done
check "report --comm ends with the time of the process on its device" says "process 1 on cuda 0: 5.0 us with communication" "$aiflame" report --comm "$work/nested.data"
check "info of an import has no lines of what only recordings can have" sh -c "! '$aiflame' info '$work/cuda.data' | grep -E 'overhead|device samples|clock pairs'"
check "shapes are as torch prints them, however the file is indented" number '"[[32, 64], [64, 8]]"' "$work/cuda.data" "SELECT shapes FROM ops WHERE name = 'aten::mm'"
check "a shape of another form is left as it is" number '"[[""a\""b""], {""x"":[1]}, []]"' "$work/cuda.data" "SELECT shapes FROM ops WHERE name = 'aten::odd'"
check "report --launches tells the unit of the grid" says "grid: work items in all" "$aiflame" report --launches "$work/cuda.data"
check "the legend says operators" sh -c "'$aiflame' flame -o - '$work/cuda.data' | grep -q '>operator</text></g>'"
check "the legend of a trace without C++ has none" sh -c "! '$aiflame' flame -o - '$work/cuda.data' | grep -F '>C++<'"

# What to look at next is what shows something.
check "a trace without device activity says so" says "Nothing in it ran on a device." cat "$work/host.out"
check "a trace without device activity names the table of operators as next" grep -qx "Next: aiflame report --ops '$work/a host.data'; aiflame flame --of cpu '$work/a host.data'" "$work/host.out"
check "report --ops of a trace without device activity has its operators" says "aten::add" "$aiflame" report --ops "$work/a host.data"
check "flame of a trace without device activity draws CPU time" says "aten::add" "$aiflame" flame -o - "$work/a host.data"
check "flame --by time and wall of a trace without device activity draw CPU time" sh -c "for by in time wall; do '$aiflame' flame --by \$by --format folded -o - '$work/a host.data' | grep -q 'aten::add' || exit 1; done"
check "flame --by launches of a trace without launches is a failure" status_is 1 "$aiflame" flame --by launches --format folded -o - "$work/a host.data"
check "the summary of a trace without device activity says so" says "nothing in it ran on a device" "$aiflame" report "$work/a host.data"
check "the summary of a trace without device activity names what draws it" says "; next: aiflame flame --of cpu '$work/a host.data'" "$aiflame" report "$work/a host.data"
check "the summary of an import says nothing of agents" sh -c "! '$aiflame' report '$work/a host.data' | grep -E 'agent|recorded|capture|report --kernels'"
check "the summary of a trace of a device alone says that no launches are known" says "no launches known" "$aiflame" report "$work/flex.data"
check "report --gaps of a trace of a device alone says that causes are not known" says "not known" "$aiflame" report --gaps "$work/flex.data"
check "the summary of a trace of a device alone has no number of units" sh -c "! '$aiflame' report '$work/flex.data' | grep -w units"

# PyTorch's backward stands on its forward, as arrows say.
same training "$work/training.json"
"$aiflame" import -q -o "$work/training.data" "$work/training.json"
"$aiflame" flame -o "$work/training.folded" "$work/training.data"
forward='step (train.py)_[p];nn.Module: Decoder_[p]'
for line in 'aten::linear;aten::addmm;cudaLaunchKernel;forward_1_[g] 2000' '[backward] AddmmBackward0;aten::mm;cudaLaunchKernel;backward_1_[g] 4000' \
	'[backward] AddmmBackward0;aten::add_;cudaLaunchKernel;added_1_[g] 8000' \
	'[backward] AddmmBackward0;torch::autograd::AccumulateGrad;aten::add_;cudaLaunchKernel;accumulated_1_[g] 16000'; do
	check "backward: flame has the stack of a node that was joined: $line" grep -qxF "$forward;$line" "$work/training.folded"
done
check "backward: a node stands on the layer of its own forward" grep -q 'Encoder_.p.;.backward. AddmmBackward0;aten::mm;cudaLaunchKernel;backward_0_.g. 32000$' "$work/training.folded"
check "backward: a node that no arrow leads to stays where it was" grep -qx 'autograd::engine::evaluate_function: MulBackward0;MulBackward0;cudaLaunchKernel;alone_.g. 256000' "$work/training.folded"
check "backward: info counts nodes that were joined" says "2 nodes joined to their forward, 2 that add to gradients behind them, 1 not joined" "$aiflame" info "$work/training.data"
check "backward: arrows that join nothing are counted as not kept" says "not kept: 8 flows" "$aiflame" info "$work/training.data"
check "backward: report --kernels names the operator of a node" says "aten::mm,step (train.py) [backward]" "$aiflame" report --kernels --format csv "$work/training.data"
check "backward: a wait stands below the node that waits" says "AddmmBackward0;cudaDeviceSynchronize;[waiting" sh -c "'$aiflame' flame --of cpu -o '$work/waits.folded' '$work/training.data' && cat '$work/waits.folded'"
check "flame --of cpu --time cuts a wait" says " 1000" sh -c "'$aiflame' flame --of cpu --time 405us,406us -o '$work/waits.folded' '$work/training.data' && cat '$work/waits.folded'"
"$aiflame" import -q -o "$work/training_ops.data" "$work/training_ops.json"
"$aiflame" flame -o "$work/training_ops.folded" "$work/training_ops.data"
check "backward: nodes stand on the operator in a trace without Python" grep -qx 'aten::linear;aten::addmm;.backward. AddmmBackward0;aten::mm;cudaLaunchKernel;backward_[01]_.g. [0-9]*' "$work/training_ops.folded"
"$aiflame" import -q -o "$work/training_apart.data" "$work/training_apart.json"
"$aiflame" flame -o "$work/training_apart.folded" "$work/training_apart.data"
"$aiflame" import -q -o "$work/training_numbers.data" "$work/training_numbers.json"
"$aiflame" flame -o "$work/training_numbers.folded" "$work/training_numbers.data"
check "backward: sequence numbers join the same nodes as arrows" cmp "$work/training.folded" "$work/training_numbers.folded"
check "backward: sequence numbers are no flows" says "not kept: 0 flows" "$aiflame" info "$work/training_numbers.data"
"$aiflame" import -q -o "$work/training_bare.data" "$work/training_bare.json"
check "backward: nodes that add to gradients go with their node, also without the engine around it" says \
	"Decoder_[p];[backward] AddmmBackward0;torch::autograd::AccumulateGrad;aten::add_;cudaLaunchKernel;accumulated_1_[g] 16000" \
	"$aiflame" flame --format folded -o - "$work/training_bare.data"
check "backward: info counts nodes that add to gradients" says "2 nodes joined to their forward, 2 that add to gradients behind them, 0 not joined" "$aiflame" info "$work/training_bare.data"
check "backward: without arrows and numbers no node is joined" sh -c "! grep -F '[backward]' '$work/training_apart.folded'"
for data in training training_apart; do
	"$aiflame" report --ops --format csv "$work/$data.data" >"$work/$data.csv"
	"$aiflame" report --ops --by stack --format csv "$work/$data.data" >>"$work/$data.csv"
done
check "backward: the table of operators is the same with and without joined nodes" cmp "$work/training.csv" "$work/training_apart.csv"

# Ranks of containers have the same number, and are told apart by their names, which options take as they are shown.
check "ranks of one pid: traces are imported" "$aiflame" import -q -o "$work/same.data" "$work/same0.json" "$work/same1.json" "$work/same2.json" "$work/same3.json"
check "ranks of one pid: the summary names them" says "python3 (rank 1) 2" "$aiflame" report "$work/same.data"
check "ranks of one pid: the summary says how to ask for one" says "--process 'NAME'" "$aiflame" report "$work/same.data"
check "ranks of one pid: the summary says how many more devices there are" says "device   cuda 1 (rank 1) (cuda), and 2 more" "$aiflame" report "$work/same.data"
check "ranks of one pid: --process takes a name" sh -c "[ \"\$('$aiflame' report --kernels --process 'python3 (rank 1)' --format csv '$work/same.data' | grep -c 'python3 (rank 1)')\" = 3 ]"
check "ranks of one pid: --process of a name gives that rank's time" sh -c "'$aiflame' report --kernels --process 'python3 (rank 1)' --format csv '$work/same.data' | grep -q ',2000004,2000004,0,4,.*gemm'"
check "ranks of one pid: --device takes a name" sh -c "'$aiflame' report --kernels --device 'cuda 3 (rank 3)' --format csv '$work/same.data' | grep -q ',2000012,2000012,0,4,.*gemm'"
check "ranks of one pid: --process takes an expression" sh -c "[ \"\$('$aiflame' report --kernels --process 'rank [13]' --format csv '$work/same.data' | grep -c gemm)\" = 2 ]"
check "ranks of one pid: --process takes a number" sh -c "[ \"\$('$aiflame' report --kernels --process 1 --format csv '$work/same.data' | grep -c gemm)\" = 4 ]"
for table in kernels launches breakdown comm idle streams ops; do
	check "ranks of one pid: --$table names them" says '"process": "python3 (rank 2)"' "$aiflame" report --$table --format json "$work/same.data"
done
"$aiflame" import -q -o "$work/two.data" "$work/rank0.json" "$work/rank1.json"
check "ranks of two pids: JSON has the numbers" says '"process": 501' "$aiflame" report --kernels --format json "$work/two.data"
check "ranks of one pid: a flame graph of one rank has that one's time" says "gemm_[g] 2000008" sh -c "'$aiflame' flame --process 'python3 (rank 2)' -o '$work/same.folded' '$work/same.data' && cat '$work/same.folded'"
check "ranks of one pid: the export for Chrome names them" says "python3 (rank 2) (1)" "$aiflame" export --format chrome -o - "$work/same.data"
numbers() { "$aiflame" query --format csv "$1" "SELECT p.pid, p.cmdline, t.tid, t.name FROM processes p JOIN threads t ON t.process = p.id ORDER BY 2, 3"; }
# There each has a track of its own, whatever its number is.
numbers_come_back() {
	"$aiflame" export --format chrome -o "$work/same.back.json" "$work/same.data" && "$aiflame" import -q -o "$work/back.data" "$work/same.back.json" &&
		numbers "$work/same.data" >"$work/numbers" && numbers "$work/back.data" | diff "$work/numbers" - && grep -q '^1,python3 (rank 3),' "$work/numbers"
}
check "ranks of one pid: numbers come back from Chrome's format" numbers_come_back
check "ranks of one pid: --process takes names after coming back from Chrome's format" says ',2000004,2000004,0,4,' "$aiflame" report --kernels --process 'python3 (rank 1)' --format csv "$work/back.data"
check "ranks of one pid: a clock that is ahead is told" says "rank 1 ($work/same1.json): its clock was 5.0 ms ahead of that of rank 0" "$aiflame" info "$work/same.data"
check "ranks of one pid: a clock that is behind is told" says "rank 3 ($work/same3.json): its clock was 7.0 ms behind that of rank 0" "$aiflame" info "$work/same.data"
check "ranks of one pid: a small difference of clocks is told, and not moved" sh -c "'$aiflame' info '$work/same.data' | grep 'imported.clocks.*100 us ahead.*not moved' && ! '$aiflame' info '$work/same.data' | grep 'RANK_CLOCK.*same2'"
check "ranks that do not say which: traces are imported" "$aiflame" import -q -o "$work/pair.data" "$work/cuda.json" "$work/unranked.json"
check "ranks that do not say which: processes are named by their files" says "python3 (unranked.json) 50.0 %" "$aiflame" report "$work/pair.data"
check "ranks that do not say which: devices are named by their files" number 'NVIDIA Test 80GB (cuda.json)' "$work/pair.data" "SELECT name FROM devices LIMIT 1"

"$aiflame" import -q -o "$work/pids.data" "$work/cuda.json" "$work/unranked_pid.json"
check "ranks that do not say which, of different pids: processes are named by their files" says "python3 (unranked_pid.json) 50.0 %" "$aiflame" report "$work/pids.data"
check "ranks that do not say which, of different pids: tables name them by their files" says "python3 (cuda.json)" "$aiflame" report --kernels "$work/pids.data"
check "ranks that do not say which, of different pids: JSON has the numbers" says '"process": 200' "$aiflame" report --kernels --format json "$work/pids.data"
for table in kernels launches breakdown comm idle; do
	check "ranks of several pids: --$table shows people their names" says "python3 (rank 1)" "$aiflame" report --$table "$work/two.data"
	check "ranks of several pids: --$table has numbers for programs" sh -c "! '$aiflame' report --$table --format csv '$work/two.data' | grep -F 'python3 (rank'"
done
check "ranks of several pids: the summary shows their names" says "python3 (rank 1) 5" "$aiflame" report "$work/two.data"
check "ranks of several pids: the summary says how to ask for one" says "--process 'NAME'" "$aiflame" report "$work/two.data"
check "report --launches of one process has no name of it" sh -c "! '$aiflame' report --launches '$work/cuda.data' | grep python3"
# A name that others begin with is that one's alone.
"$aiflame" import -q -o "$work/begins.data" "$work/cuda.json" "$work/ranked.json"
rows() { "$aiflame" report --launches --format csv "$1" "$2" "$work/begins.data" | tail -n +2 | wc -l; }
check "--device with a device's whole name selects that one only" test "$(rows --device 'NVIDIA Test 80GB')" -gt 0 -a "$(rows --device 'NVIDIA Test 80GB')" -lt "$(rows --device 'NVIDIA Test')"
check "--process with a process's whole name selects that one only" test "$(rows --process python3)" -gt 0 -a "$(rows --process python3)" -lt "$(rows --process python)"

# Files that are of no one job: told, and the time between them is not idle.
"$aiflame" import -o "$work/apart.data" "$work/same0.json" "$work/later.json" 2>"$work/apart.out"
check "days apart: the import warns, and names the files" grep -q "Warning: files that were not traced at the same time.*rank 1 ($work/later.json) begins 3.0 days after rank 0 ($work/same0.json) has ended.*import the files of each job by themselves" "$work/apart.out"
check "days apart: the summary says how far apart the files are" says "begins 3.0 days after" "$aiflame" report "$work/apart.data"
check "days apart: the time between is no idle time" sh -c "'$aiflame' report '$work/apart.data' | grep -q 'of the time that was collected.*idle 1[0-9][.]. ms; not collected 6.0 days'"
check "days apart: report --gaps has no gap between" sh -c "! '$aiflame' report --gaps --format csv '$work/apart.data' | awk -F, 'NR > 1 && \$2 > 10000000' | grep ."
check "days apart: counts add up" says "everything adds up" "$aiflame" info "$work/apart.data"
check "days apart: clocks are not aligned" sh -c "! '$aiflame' info '$work/apart.data' | grep RANK_CLOCK"
"$aiflame" import -o "$work/again.data" "$work/same0.json" "$work/same1.json" "$work/same0_again.json" 2>"$work/again.out"
check "a rank twice at one time: the import warns, and names both files" grep -q "Warning: two files of one rank at the same time.*rank 0 ($work/same0_again.json) is of the same time as rank 0 ($work/same0.json)" "$work/again.out"
check "a rank twice at one time: the summary warns" says "is of the same time as" "$aiflame" report "$work/again.data"
"$aiflame" import -o "$work/eight.data" "$work/same0.json" "$work/of_eight.json" 2>"$work/eight.out"
check "files of 2 ranks and of 8: the import warns, and names both" grep -q "Warning: files that say different numbers of ranks.*rank 5 ($work/of_eight.json) is of 8 ranks, not of 2 as rank 0 ($work/same0.json)" "$work/eight.out"
"$aiflame" import -q -o "$work/windows.data" "$work/same0.json" "$work/same1.json" "$work/window.json"
check "windows of one rank one after another get no warning" sh -c "'$aiflame' info '$work/windows.data' | grep IMPORT_APART && ! '$aiflame' info '$work/windows.data' | grep -E 'RANK_TWICE|IMPORT_WORLD'"
"$aiflame" import -o "$work/undated.data" "$work/same0.json" "$work/lonely.json" 2>"$work/undated.out"
check "a file without baseTimeNanoseconds among others: the import warns, and names it" grep -q "Warning: a file that does not say when it was traced (no baseTimeNanoseconds).*$work/lonely.json now begins with rank 0 ($work/same0.json)" "$work/undated.out"
check "without baseTimeNanoseconds: it lies beside the others" number 1 "$work/undated.data" "SELECT max(start_ns) < 1000000000 FROM executions"
"$aiflame" import -o "$work/told.data" "$work/undated.json" "$work/same0.json" 2>"$work/told.out"
check "without baseTimeNanoseconds, with collectives: there is no warning" sh -c "! grep Warning '$work/told.out'"
check "without baseTimeNanoseconds, with collectives: a rank is placed by them" says "rank 1 ($work/undated.json): has no date; it was placed beside rank 0 ($work/same0.json) by the ends of" "$aiflame" info "$work/told.data"
# Neither has a date, and what the second one has first would be before all time.
python3 - "$work" <<'END'
import json, sys
for rank, ahead in (0, 0), (1, 5000):
    events = [dict(ph="X", cat="cpu_op", name="early", pid=1, tid=1, ts=1, dur=5)]
    for i in range(6):
        events.append(dict(ph="X", cat="kernel", name="ncclDevKernel", pid=0, tid=7, ts=1000 * (i + 1) + ahead, dur=100, args={"device": 0, "stream": 7}))
    json.dump(dict(traceEvents=events, distributedInfo=dict(rank=rank, world_size=2)), open(f"{sys.argv[1]}/early{rank}.json", "w"))
END
"$aiflame" import -q -o "$work/early.data" "$work/early0.json" "$work/early1.json"
check "without a date, and moved to before the beginning: all events are moved on" number 5000000 "$work/early.data" "SELECT max(start_ns) - min(start_ns) FROM ops"
check "without a date, and moved to before the beginning: ranks are side by side" number 6 "$work/early.data" "SELECT count(DISTINCT start_ns) FROM executions"
check "ranks that ran at the same time get no warning" sh -c "! '$aiflame' info '$work/two.data' | grep -E 'APART|UNDATED|RANK_TWICE|IMPORT_WORLD'"

# Damage: what is whole is there, and what is not is told.
check "torn file: the first events are imported" "$aiflame" import -q -o "$work/torn.data" "$work/torn.json"
check "torn file: info tells the loss" says "IMPORT_TORN" "$aiflame" info "$work/torn.data"
check "a quote that should be escaped: the rest is imported" "$aiflame" import -q -o "$work/quote.data" "$work/quote.json"
check "a quote that should be escaped: info tells its place" says "at byte " "$aiflame" info "$work/quote.data"
check "a quote that should be escaped: its neighbours are there" python3 "$here/import_compare.py" "$aiflame" "$work/quote.data" "$work/quote_without.json"
head -c 400 "$work/cuda.json.gz" >"$work/cut.json.gz"
check "a torn gzip file is imported, or refused with a reason" sh -c "'$aiflame' import -q -o '$work/cut.data' '$work/cut.json.gz' || '$aiflame' import -q -o '$work/cut.data' '$work/cut.json.gz' 2>&1 | grep -q 'no operator'"

# A million beginnings without an end on one thread are not looked through for each end on another.
python3 - >"$work/ends.json" <<'END'
print("[")
for i in range(1000000):
    print('{"ph":"B","pid":1,"tid":1,"name":"a","ts":%d},' % i)
for i in range(500000):
    print('{"ph":"%s","pid":1,"tid":2,"name":"b","ts":%d},' % ("BEE"[i % 3], i))
print('{"ph":"E","pid":1,"tid":1,"name":"a","ts":2000000}]')
END
check "ends of spans are found by their thread" "$aiflame" import -q "$work/ends.json" -o "$work/ends.data"
check "ends of spans without a beginning are counted" says "1702 IMPORT_EVENT         166,666  events" "$aiflame" info "$work/ends.data"
check "beginnings of spans without an end are counted" says "1703 IMPORT_UNENDED       999,999  events" "$aiflame" info "$work/ends.data"
check "spans with both ends are there beside those without" number "a,1000000,1500000500000000
b,166667,166667000" "$work/ends.data" "SELECT name, count(*), sum(dur_ns) FROM ops GROUP BY 1"
rm "$work/ends.json"

# Refusals leave what was there.
cp "$work/cuda.data" "$work/kept"
check "a file that is no trace is refused" says "its format is not known" "$aiflame" import "$root/README.md" -o "$work/kept"
check "a file that is no trace ends with status 1" status_is 1 "$aiflame" import "$root/README.md" -o "$work/kept"
check "a profile is refused: it needs no import" says "need no import" "$aiflame" import "$work/cuda.data" -o "$work/kept"
printf '[{"ph":"X","cat":"cpu_op","name":"a","ts":9e99,"dur":1,"pid":1,"tid":1}]' >"$work/never.json"
check "a trace with impossible times alone is refused" says "whose name and times are right" "$aiflame" import "$work/never.json" -o "$work/kept"
check "a full disk says to write elsewhere" says "write elsewhere" sh -c "ulimit -f 16; '$aiflame' import '$work/cuda.json' -o '$work/kept'"
check "a full disk of an import says nothing of a recording" sh -c "! grep -q 'what was written before\|max-size\|[.]part' '$work/says.out'"
: >"$work/nothing"
check "an empty file is refused" says "is empty" "$aiflame" import "$work/nothing" -o "$work/kept"
check "a compression bomb is refused" says "more than 250 times" "$aiflame" import "$work/bomb.json.gz" -o "$work/kept"
check "a trace beyond --limit is refused, naming --limit" says "raise --limit" "$aiflame" import --limit 1000 "$work/cuda.json.gz" -o "$work/kept"
check "the same trace given twice is misuse" status_is 2 "$aiflame" import "$work/cuda.json" "$work/cuda.json" -o "$work/kept"
mkdir "$work/folder"
check "a directory as -o is refused" says "it is not a file" "$aiflame" import "$work/cuda.json" -o "$work/folder"
check "a directory as -o is still there, and not put aside" test -d "$work/folder" -a ! -e "$work/folder.old"
check "a device as -o is refused" says "it is not a file" "$aiflame" import "$work/cuda.json" -o /dev/null
check "a device as -o is still one" test -c /dev/null
check "standard output as -o is refused" says "cannot go to standard output" sh -c "cd '$work' && '$aiflame' import cuda.json -o -"
check "standard output as -o makes no file called -" test ! -e "$work/-"
echo precious >"$work/notes.txt"
for again in "" " again"; do
	check "somebody's file as -o is refused$again" says "it exists and is no aiflame profile" "$aiflame" import "$work/cuda.json" -o "$work/notes.txt"
	check "somebody's file as -o ends with status 2$again" status_is 2 "$aiflame" import "$work/cuda.json" -o "$work/notes.txt"
	check "a trace as -o is refused$again" status_is 2 "$aiflame" import -o "$work/rank0.json" "$work/rank1.json"
done
check "files that were refused as -o are as they were" sh -c "grep -q precious '$work/notes.txt' && [ ! -e '$work/notes.txt.old' ] && grep -q traceEvents '$work/rank0.json'"
check "an empty -o of import is misuse" status_is 2 "$aiflame" import "$work/cuda.json" -o ""
check "an empty -o of export is misuse" status_is 2 "$aiflame" export "$work/cuda.data" --format chrome -o ""
check "a trace as its own -o is misuse" status_is 2 "$aiflame" import "$work/cuda.json" -o "$work/cuda.json"
check "deep nesting is imported, with a loss" says "IMPORT_" sh -c "'$aiflame' import -q '$work/deep.json' -o '$work/deep.data' && '$aiflame' info '$work/deep.data'"
check "refused imports leave the profile that was there" cmp "$work/cuda.data" "$work/kept"
# In the middle of a file when it is told to stop.
mkfifo "$work/slow"
"$aiflame" import "$work/slow" -o "$work/never.data" 2>/dev/null &
import=$!
exec 9>"$work/slow"
head -c 100000 "$work/cuda.json" >&9
cat "$work/aiu.json" "$work/aiu.json" "$work/aiu.json" >&9
kill -TERM $import
exec 9>&-
wait $import
check "an import that is told to stop has the status of a program ended by a signal" test $? -eq 143
check "an import that is told to stop leaves no file" sh -c "! ls '$work'/never.data* 2>/dev/null"

if [ -n "${AIFLAME_TRACES:-}" ]; then
	for t in "$AIFLAME_TRACES"/kineto/*/*.json* "$AIFLAME_TRACES"/*/*.json*; do
		case $t in *meta_events_only* | *basic_event_test* | *'*'*) continue ;; esac
		[ -e "$t" ] && same "$(basename "$t")" "$t"
	done
	for t in "$AIFLAME_TRACES"/kineto/hta/nccl_parser_config*.json.gz; do
		[ -e "$t" ] || continue
		"$aiflame" import -q -o "$work/nccl.data" "$t"
		check "real backward: every node finds its forward" says "543 nodes joined to their forward, 483 that add to gradients behind them, 0 not joined" \
			"$aiflame" info "$work/nccl.data"
		gzip -dc "$t" | sed 's/"cat": "fwdbwd"/"cat": "not_read"/' >"$work/unarrowed.json"
		"$aiflame" import -q -o "$work/unarrowed.data" "$work/unarrowed.json"
		check "real backward: numbers join the same nodes as arrows" sh -c "'$aiflame' flame -o '$work/arrows.folded' '$work/nccl.data' && '$aiflame' flame -o '$work/numbers.folded' '$work/unarrowed.data' && cmp '$work/arrows.folded' '$work/numbers.folded'"
		check "real backward: the engine that ran it launches nothing" sh -c "'$aiflame' flame -o - --format folded '$work/nccl.data' | grep -F '[backward] CudnnBatchNormBackward0' && ! '$aiflame' flame -o - --format folded '$work/nccl.data' | grep 'autograd::engine'"
	done
	for t in "$AIFLAME_TRACES"/kineto/kineto_tb_samples/resnet50_num_workers_0.*.json.gz; do
		[ -e "$t" ] || continue
		"$aiflame" import -q -o "$work/bare.data" "$t"
		check "real backward, of 2021: nodes that add to gradients are joined" says "1068 nodes joined to their forward, 966 that add to gradients behind them, 0 not joined" \
			"$aiflame" info "$work/bare.data"
	done
else
	skip "real traces are imported" "AIFLAME_TRACES names no folder"
fi
done_testing
