#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces in Trace Event JSON that other readers are known to get wrong: open and equal spans, ranks in one file, numbers
# of streams and calls, device work that cannot be.
. "$(dirname "$0")/tap.sh"

# stacks TRACE WANTED ARGS...: the folded stacks of an imported trace, whole
stacks() {
	trace=$1 wanted=$2
	shift 2
	"$aiflame" import -q -o s.data "$trace" && "$aiflame" flame --detail full "$@" -o s.folded s.data || return 1
	[ "$(tr '\n' ',' <s.folded)" = "$wanted" ] || { cat s.folded; return 1; }
}
info_says() { # REASON COUNT DETAIL: a loss of the profile that was imported last
	"$aiflame" info s.data >info.out
	grep -E "^ +[0-9]+ $1 +$2 " info.out | grep -qF -- "$3" || { sed -n '/^losses/,$p' info.out; return 1; }
}

why_says() { "$aiflame" why s.data >why.out 2>&1; tr '\n' ' ' <why.out | tr -s ' ' | grep -qF -- "$1" || { cat why.out; return 1; }; }

# ---- begin and end ------------------------------------------------------------------------------------
b() { printf '{"ph":"B","pid":1,"tid":1,"ts":%s,"name":"%s"}' "$1" "$2"; }
e() { printf '{"ph":"E","pid":1,"tid":1,"ts":%s%s}' "$1" "${2:+,\"name\":\"$2\"}"; }
echo "[$(b 0 main),$(b 10 outer),$(b 10 inner),$(e 16 inner),$(e 16 outer),$(e 20 main)]" >equal.json
check "spans that begin and end together are nested as they began" stacks equal.json "main 14000,main;outer;inner 6000," --of cpu
check "nothing is lost of spans that begin and end together" says "  none" "$aiflame" info s.data
echo "[$(b 0 main),$(b 10 f),$(e 30),{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":40,\"dur\":10,\"name\":\"g\"}]" >open.json
check "a span that never ends lasts until the trace ends" stacks open.json "main 20000,main;f 20000,main;g 10000," --of cpu
check "info counts spans that never end" info_says IMPORT_UNENDED 1 "open.json"
echo "[$(b 0 main),$(b 10 f),$(e 30 main),$(b 40 g),$(e 50)]" >inner.json
check "a span that never ends lasts until the one that it is in ends" stacks inner.json "g 10000,main 10000,main;f 20000," --of cpu
echo "[$(b 0 main),$(b 10 f),{\"ph\":\"C\",\"pid\":1,\"tid\":1,\"ts\":70,\"name\":\"c\"}]" >counter.json
check "a trace ends with its last event, of any kind" stacks counter.json "main 10000,main;f 60000," --of cpu
echo "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":9,\"tdur\":5,\"name\":\"f\"},{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":2,\"tdur\":4,\"name\":\"g\"}]" >tdur.json
check "a span with nothing but its CPU time lasts so long" stacks tdur.json "f 5000,f;g 4000," --of cpu
echo "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":9,\"name\":\"f\",\"args\":{\"name\":\"f\"}},{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":4,\"name\":\"g\",\"args\":{\"detail\":\"a.h\",\"name\":\"x\"}}]" >detail.json
check "a span's detail is part of its name, another name among its arguments is not" stacks detail.json "f 5000,f;g (a.h) 4000," --of cpu

# ---- a list without categories ------------------------------------------------------------------------
# function NAME START DURATION: as torch 1.13's export_chrome_trace() of the autograd profiler writes it
function() { printf '{"name": "%s", "ph": "X", "ts": %s, "dur": %s, "tid": 1, "pid": "CPU functions", "args": {}}' "$1" "$2" "$3"; }
echo "[$(function train 80 200), $(function aten::addmm 90 80), $(function aten::mm 100 50), $(function 'autograd::engine::evaluate_function: MmBackward0' 200 30), $(function MmBackward0 205 20), $(function 'forward pass' 85 10)]" >list.json
kinds() { "$aiflame" import -q -o s.data list.json && [ "$("$aiflame" query --format csv s.data "SELECT kind, name FROM ops ORDER BY start_ns" | tr '\n' ';')" = \
	"kind,name;range,train;range,forward pass;operator,aten::addmm;operator,aten::mm;operator,autograd::engine::evaluate_function: MmBackward0;operator,MmBackward0;" ]; }
check "operators of a list of CPU functions are operators, other names ranges" kinds
check "a list of CPU functions is PyTorch's" sh -c "'$aiflame' info s.data | grep -E '^ +imported +kineto$'"
check "report --ops has the operators of a list of CPU functions" sh -c "'$aiflame' report --ops s.data | grep -E '^aten::mm .* 50.000us  *50.000us  *1$'"
# ---- calls of IBM's AIU -----------------------------------------------------------------------------------
aiu() { printf '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":1,"ts":%s,"dur":%s,"args":{"correlation":%s}}' "$1" "$2" "$3" "$4" "$5" "$6"; }
echo "[$(aiu privateuse1_runtime aiuCompileGraph 1 100 300 1),$(aiu privateuse1_runtime aiuLaunchControlBlocks 1 460 10 2),$(aiu kernel mm 0 480 200 2),$(aiu privateuse1_runtime aiuScheduleWait 1 500 190 3),$(aiu privateuse1_runtime aiuRdmaBarrier1 1 700 50 4),$(aiu privateuse1_runtime aiuRDMABarrier2 1 760 40 5)]" >aiu.json
aiu_calls() { "$aiflame" import -q -o s.data aiu.json && [ "$("$aiflame" report --sync --format csv s.data | cut -d, -f1,6,8 | tr '\n' ' ')" = \
	"time,kind,call 300000,compile,aiuCompileGraph 190000,synchronise,aiuScheduleWait 50000,synchronise,aiuRdmaBarrier1 40000,synchronise,aiuRDMABarrier2 " ] || { "$aiflame" report --sync --format csv s.data; return 1; }; }
check "report --sync has the waits, barriers and compilations of an AIU" aiu_calls

cat >aiu.py <<'PY'
import json
events, number = [], 0
def event(cat, name, pid, tid, ts, dur, **args):
    events.append(dict(ph="X", cat=cat, name=name, pid=pid, tid=tid, ts=ts, dur=dur, args=args))
def call(name, ts, dur):
    global number
    number += 1
    event("privateuse1_runtime", name, 1, 1, ts, dur, correlation=number)
    return number
event("cpu_op", "sendnn::run_graph", 1, 1, 0, 11000)
for t in range(0, 10000, 1000): # each turn: 100 us compiled, 400 us prepared, 200 us computed
    call("aiuCompileGraph", t + 100, 100)
    call("aiuDataConvert", t + 200, 250)
    call("aiuPrepareDMAs", t + 450, 150)
    event("gpu_memset", "Memset (Device)", 0, 400, t + 612, 5, device=0, stream=400, bytes=1 << 20, correlation=call("aiuMalloc", t + 610, 10))
    event("kernel", "bmm_2", 0, 1, t + 650, 200, device=0, stream=1, correlation=call("aiuLaunchControlBlocks", t + 630, 10))
    call("aiuScheduleWait", t + 660, 200)
    call("aiuRDMABarrier1", t + 870, 50)
    if t < 8000:
        event("privateuse1_driver", "Memory (Release)", 0, 400, t + 618, 3, device=0, bytes=1 << 20, correlation=50000 + t)
    event("privateuse1_runtime", "aiuLaunchSuperNode", 1, 1, t + 605, 40, correlation=8000 + t) # with the two calls in it
json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "AIU"}], "traceEvents": events}, open("turns.json", "w"))
PY
python3 aiu.py
column() { "$aiflame" report "$1" --format csv ${3:+$3} s.data | cut -d, -f"$2" | tr '\n' ' '; }
equal() { # WANTED TEXT
	[ "$1" = "$2" ] || { echo "$2"; return 1; }
}
check "a trace of an AIU that compiles and prepares is imported" sh -c "'$aiflame' import -o s.data turns.json 2>&1 | grep -q '10 kernels of 2.0 ms, 0 copies and fills, 18 allocations and releases'"
idle_causes() { "$aiflame" report --idle s.data | grep -E "^ *[0-9.]+ % +$1 .* $2 < sendnn::run_graph$" || { "$aiflame" report --idle s.data; return 1; }; }
# The loop begins with the first kernel: nine of ten turns are in it.
check "idle time in aiuDataConvert is preparation, by that call" idle_causes "2.2 ms .* prepare" aiuDataConvert
check "idle time in aiuPrepareDMAs is preparation, by that call" idle_causes "1.4 ms .* prepare" aiuPrepareDMAs
check "idle time in aiuCompileGraph is compilation, by that call" idle_causes "900 us .* compile" aiuCompileGraph
check "idle time in an RDMA barrier is a wait, by that call" idle_causes "450 us .* wait" aiuRDMABarrier1
check "an AIU's allocations and releases are no copies" sh -c "'$aiflame' report --copies s.data | grep -q '^no copies in this profile'"
memory_bytes() { equal "at_peak,allocated,released,allocations 2097152,10485760,8388608,10 " "$(column --memory 1,4,5,6)"; }
check "report --memory has the bytes that an AIU allocates and releases" memory_bytes
classes() { equal "own,time,calls,class,call 2500000,2500000,10,memory,aiuDataConvert 2000000,2000000,10,wait,aiuScheduleWait 1500000,1500000,10,DMA,aiuPrepareDMAs 1000000,1000000,10,compile,aiuCompileGraph 500000,500000,10,RDMA wait,aiuRDMABarrier1 200000,400000,10,launch,aiuLaunchSuperNode 100000,100000,10,memory,aiuMalloc 100000,100000,10,launch,aiuLaunchControlBlocks " "$(column --calls 1,2,3,6,8)"; }
check "report --calls has an AIU's calls by class, without the calls in them" classes
check "report --calls says what the classes have" sh -c "'$aiflame' report --calls s.data | grep -q '^7.9 ms in 80 calls: 32.9 % memory, 25.3 % wait, 19.0 % DMA, 12.7 % compile, 6.3 % RDMA wait, 3.8 % launch$'"
check "why of an AIU's trace is bound by preparation" why_says "bound by preparation: for 40.0 % of the time it is idle while the launching thread prepares data, addresses or DMA for it"
check "why of an AIU's trace says in which calls its time passes, and what these do" why_says "in calls 25.0 % aiuDataConvert, which converts formats, as float16 to sen_fp16; 15.0 % aiuPrepareDMAs, which prepares DMA; 10.0 % aiuCompileGraph, which compiles the computation graph; 5.00 % aiuRDMABarrier1, which waits for other AIUs"
why_calls() { "$aiflame" why --format json s.data | python3 -c 'import json, sys; calls = json.load(sys.stdin)["calls"]; assert calls[0] == {"call": "aiuDataConvert", "ns": 2250000}, calls'; }
check "why --format json has an AIU's calls" why_calls
echo '[{"name":"mm Cmpt Exec","ph":"B","pid":0,"tid":1,"ts":100,"attr":{"TS1":"0x10","TS2":"0x20"}},{"name":"mm Cmpt Exec","ph":"E","pid":0,"tid":1,"ts":150,"attr":{"TS2":"0x21","TS3":"0x30","TS4":"0x40","TS5":"0xffffffff","Power":"0x438d671c"}},{"name":"x DmaI","ph":"X","pid":0,"tid":1,"ts":200,"dur":5}]' >flex.json
readings() { "$aiflame" import -q -o f.data flex.json && equal "name,value TS1,16.0 TS2,33.0 TS3,48.0 TS4,64.0 TS5,4294967295.0 Power,1133340444.0 " \
	"$("$aiflame" query --format csv f.data 'SELECT c.name, c.value FROM counters c JOIN executions e ON c.launch = e.launch AND e.start_ns + e.dur_ns = c.time_ns' | tr '\n' ' ')"; }
check "TS1 to TS5 and Power of Flex are kept, by execution" readings

# ---- JAX ----------------------------------------------------------------------------------------------
named() { printf '{"ph":"M","name":"%s","pid":%s,"tid":%s,"args":{"name":"%s"}}' "$1" "$2" "$3" "$4"; }
x() { printf '{"ph":"X","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s%s}' "$1" "$2" "$3" "$4" "$5" "${6:+,\"args\":{\"correlation_id\":\"$6\"\}}"; }
echo "{\"traceEvents\":[$(named process_name 1 0 /device:GPU:3),$(named process_name 701 0 /host:CPU),$(named thread_name 1 14 'Stream #14(Compute,MemcpyD2D)'),$(named thread_name 1 2 'XLA Modules'),\
$(x 'PjitFunction(train_step)' 701 9 1000 90),$(x cuLaunchKernelEx 701 9 1010 5 0),$(x jit_train_step 1 2 1030 60),$(x loop_add_fusion 1 14 1030 40 0),$(x cuMemcpyAsync 701 9 1020 5 1),$(x MemcpyH2D 1 14 1080 10 1),{}]}" >jax.json
jax() { stacks jax.json "PjitFunction(train_step);cuLaunchKernelEx;loop_add_fusion_[g] 40000,PjitFunction(train_step);cuMemcpyAsync;MemcpyH2D_[g] 10000,"; }
check "work on the devices of a JAX trace is that of its calls and functions" jax
check "a device of a JAX trace has the number that its name has" sh -c "'$aiflame' report s.data | grep -q '^device   cuda 3 '"
check "info counts what sums up the queues of a JAX trace" info_says IMPORT_OTHER_KIND 1 "1 sums of a device's queues"

# ---- Ascend ---------------------------------------------------------------------------------------------
# npu NAME PID TID START DURATION CATEGORY ARGS
npu() { printf '{"ph":"X","name":"%s","pid":%s,"tid":%s,"ts":"%s","dur":%s%s,"args":{%s}}' "$1" "$2" "$3" "$4" "$5" "${6:+,\"cat\":\"$6\"}" "$7"; }
echo "[$(npu aten::add 11 11 100.120 50.5 cpu_op '"connection_id":1'),$(npu AscendCL@aclnnAdd 11 11 100.320 20 async_npu '"connection_id":1'),$(npu Node@launch 11 11 130 2 '' '"connection_id":2'),\
$(npu AddKernel 22 3 130.5 12.345 '' '"Task Type":"AI_VECTOR_CORE","Stream Id":3,"connection_id":1'),$(npu MEMCPY_ASYNC 22 3 150 5 '' '"Task Type":"MEMCPY_ASYNC","connection_id":2'),$(npu EVENT_WAIT 22 4 120 90 '' '"Task Type":"EVENT_WAIT"')]" >npu.json
npus() { stacks npu.json "aten::add;AscendCL@aclnnAdd;AddKernel_[g] 12345,aten::add;Node@launch;Memcpy DtoD_[g] 5000,"; }
check "work of an Ascend NPU is that of CANN's calls and of their operators" npus
check "an Ascend NPU's stream is a thread of its trace" sh -c "'$aiflame' report --streams s.data | grep -qE ' 3 +npu 22$'"
check "info counts the waits of an Ascend NPU" info_says IMPORT_OTHER_KIND 1 "1 waits of a device"

# ---- device work --------------------------------------------------------------------------------------
# call NAME ID START [PID]; kernel NAME ID START DURATION [STREAM [PID]]
call() { printf '{"ph":"X","cat":"cuda_runtime","name":"%s","pid":%s,"tid":1,"ts":%s,"dur":0.5,"args":{"correlation":%s}}' "$1" "${4:-1}" "$3" "$2"; }
kernel() { printf '{"ph":"X","cat":"kernel","name":"%s","pid":%s,"tid":7,"ts":%s,"dur":%s,"args":{"correlation":%s,"device":0,"stream":%s}}' "$1" "${6:-0}" "$3" "$4" "$2" "${5:-7}"; }
op() { printf '{"ph":"X","cat":"cpu_op","name":"%s","pid":%s,"tid":1,"ts":%s,"dur":%s,"args":{"External id":1}}' "$1" "$4" "$2" "$3"; }

for i in 0 1 2 3; do
	d=10
	[ $i != 2 ] || d=3400000
	echo "$(call hipLaunchKernel $i $((500 + i))),$(kernel k$i $i $((1000 + 12 * i)) $d),"
done | sed '$s/,$//; 1s/^/[/; $s/$/]/' >long.json
check "an execution that ends behind everything else is cut where the next one of its stream begins" \
	stacks long.json "hipLaunchKernel;k0_[g] 10000,hipLaunchKernel;k1_[g] 10000,hipLaunchKernel;k2_[g] 12000,hipLaunchKernel;k3_[g] 10000," --by time
check "info names the stream and the kernel that was cut" info_says IMPORT_CUT_WORK 1 "stream 7: k2"
check "import says that something was ambiguous where work was cut" says "not as in the file: 1 execution that ends behind everything else" "$aiflame" import -o s.data long.json
check "why does not judge idle time where work was cut" why_says "whether a device was idle"
echo "[$(call hipLaunchKernel 1 10),$(kernel a 1 20 10),$(call hipLaunchKernel 2 11),$(kernel b 2 25 10)]" >overlap.json
check "executions that overlap on a stream are kept" stacks overlap.json "hipLaunchKernel;a_[g] 10000,hipLaunchKernel;b_[g] 10000," --by time
check "info counts executions that overlap on a stream, with stream and kernel" info_says IMPORT_STREAM_OVERLAP 1 "stream 7: b"
echo "[$(call hipLaunchKernel 1 10),$(kernel a 1 20 10),$(call hipLaunchKernel 2 11),$(kernel b 2 30 0)]" >none.json
check "an execution that took no time is imported" "$aiflame" import -q -o s.data none.json
check "info counts executions that took no time, with stream and kernel" info_says IMPORT_NO_TIME 1 "stream 7: b"
sed 's/"dur":0.5/"dur":1/g' none.json >rounded.json
"$aiflame" import -q -o s.data rounded.json
check "an execution that took less than the microseconds of a trace without fractions is no fault" sh -c "! '$aiflame' info s.data | grep -q IMPORT_NO_TIME"
echo "[$(call cudaGraphLaunch 1 10),$(call cudaLaunchKernel 2 11),$(kernel b 2 30 5),$(call cudaGraphLaunch 3 40)]" >graph.json
check "launches of graphs without kernels are imported" "$aiflame" import -q -o s.data graph.json
check "info counts launches of graphs without what they ran" info_says IMPORT_GRAPH_UNKNOWN 2 graph.json
check "why does not judge idle time where graphs' work is missing" why_says "whether a device was idle"
echo "[$(call cudaLaunchKernel 1 10),$(call cudaLaunchKernel 2 11),$(kernel b 2 30 5)]" >lacks.json
"$aiflame" import -q -o s.data lacks.json
check "info counts launches without executions" info_says IMPORT_NO_WORK 1 lacks.json

# ---- numbers ------------------------------------------------------------------------------------------
echo "[$(call cudaDeviceSynchronize 0 10),$(kernel k0 0 20 10),$(kernel k1 0 40 10)]" >zero.json
check "work without a call, which has the number 0, is not put under another call with it" stacks zero.json "[no stack];k0_[g] 10000,[no stack];k1_[g] 10000," --by time
check "info counts work without a call" info_says IMPORT_NO_CALL 2 zero.json
echo "[$(call hipLaunchKernel 0 10),$(kernel k0 0 20 10),$(call hipLaunchKernel 1 11),$(kernel k1 1 40 10)]" >first.json
check "the number 0 is a launch's where one launch has it" stacks first.json "hipLaunchKernel;k0_[g] 10000,hipLaunchKernel;k1_[g] 10000," --by time
echo "[$(call hipLaunchKernel 1 10),$(kernel k 1 20 10 140234567890432),$(call hipLaunchKernel 2 11),$(kernel k 2 40 10 140234567890944),
$(call hipLaunchKernel 3 12),$(kernel k 3 60 10 '"stream 7"'),$(call hipLaunchKernel 4 13),$(kernel k 4 80 10 '"7"')]" >streams.json
"$aiflame" import -q -o s.data streams.json
check "streams have numbers of 64 bits, and may be words" sh -c "[ \"\$('$aiflame' report --streams --format csv s.data | tr -d '\r' | sed 1d | awk -F, '{ print \$(NF - 1) }' | sort -n | tr '\n' ' ')\" = '7 140234567890432 140234567890944 ' ]"
"$aiflame" export --format chrome -o again.json s.data && "$aiflame" import -q -o s.data again.json
check "numbers of 64 bits of streams go through an export" says 140234567890944 "$aiflame" report --streams s.data

# ---- ranks in one file --------------------------------------------------------------------------------
for r in 0 1; do
	echo "$(op "aten::op_r$r" 10 50 "\"[TP0$r] 100\""),$(call cudaLaunchKernel 1 20 "\"[TP0$r] 100\""),$(kernel k_r$r 1 30 $((10 + 10 * r)) 7 "\"[TP0$r] 0\""),"
done | sed '$s/,$//; 1s/^/[/; $s/$/]/' >ranks.json
check "merged ranks: work is under the calls of its own rank" stacks ranks.json "aten::op_r0;cudaLaunchKernel;k_r0_[g] 10000,aten::op_r1;cudaLaunchKernel;k_r1_[g] 20000," --by time
row() { "$aiflame" query --format csv s.data "$1" | tr -d '\r' | tail -n +2 | tr '\n' ' '; }
check "merged ranks: processes have their pids and ranks" test "$(row "SELECT pid, cmdline FROM processes ORDER BY 2")" = "100,TP00 100,TP01 "
check "merged ranks: devices have their ranks' names" test "$(row "SELECT name FROM devices ORDER BY 1")" = "cuda 0 (TP00) cuda 0 (TP01) "
check "merged ranks: nothing was guessed" says "  none" "$aiflame" info s.data
# Without a rank in pids: numbers that one process has alone say whose a device is.
d() { kernel "$1" "$2" "$3" 10 7 | sed "s/\"device\":0/\"device\":$4/"; }
echo "[$(call launch_a 1 10 100),$(call launch_a 2 20 100),$(call launch_b 1 10 200),$(call launch_b 3 20 200),
$(d ka 1 30 4),$(d ka 2 50 4),$(d kb 1 30 5),$(d kb 3 50 5)]" >pids.json
check "processes in one file: work is under the process that its device belongs to" stacks pids.json "launch_a;ka_[g] 20000,launch_b;kb_[g] 20000," --by time
echo "[$(call launch_a 1 10 100),$(call launch_b 1 10 200),$(d ka 1 30 4)]" >guess.json
"$aiflame" import -q -o s.data guess.json
check "processes in one file: info counts work that may be another's" info_says IMPORT_OWNER 1 guess.json

# ---- names --------------------------------------------------------------------------------------------
x() { printf '{"ph":"X","pid":1,"tid":1,"ts":%s,"dur":%s,"name":"%s"}' "$1" "$2" "$3"; }
echo "[$(x 0 30 'PjitFunction(train_step)'),$(x 50 20 'PjitFunction(eval_step)'),{}]" >names.json
"$aiflame" import -q -o s.data names.json && "$aiflame" flame --of cpu -o s.folded s.data
check "spans are told apart by what is in parentheses" test "$(tr '\n' , <s.folded)" = "PjitFunction(eval_step) 20000,PjitFunction(train_step) 30000,"
check "report --cpu tells spans apart by what is in parentheses" says "PjitFunction(eval_step)" "$aiflame" report --cpu s.data
check "--focus takes a whole name, whatever its characters mean" test "$("$aiflame" flame --of cpu --focus 'PjitFunction(train_step)' --format folded -o - s.data)" = "PjitFunction(train_step) 30000"
check "--ignore takes a whole name, whatever its characters mean" test "$("$aiflame" flame --of cpu --ignore 'PjitFunction(train_step)' --format folded -o - s.data)" = "PjitFunction(eval_step) 20000"
check "an empty object among events is no loss" says "  none" "$aiflame" info s.data
done_testing
