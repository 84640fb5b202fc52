#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVIDIA, on a real GPU: `make gpu-test`. Needs nvcc; with PyTorch and transformers more is tested.
#   AIFLAME=PATH [KEEP=DIRECTORY] tests/gpu/cuda.sh      another aiflame than that of the build directory; its profiles are kept
. "$(dirname "$0")/../e2e/tap.sh"
here=$root/tests/gpu
aiflame=${AIFLAME:-$aiflame}
export PYTHONFAULTHANDLER=1 # a program that is killed by a fault says where it was
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
rec() { timeout -k 5 120 "$aiflame" record -q --all-launches "$@"; }
ask() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
# is N DATA SQL: that is what it answers
is() { got=$(ask "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; ask "$2" "SELECT * FROM losses"; "$aiflame" report "$2"; return 1; }; }
# matches PATTERN COMMAND...: its output, a regular expression
matches() {
	pattern=$1
	shift
	"$@" >matches.out 2>&1
	grep -q -- "$pattern" matches.out || { cat matches.out; return 1; }
}
adds_up() { "$aiflame" info "$1" >info.out; grep -q 'everything adds up' info.out || { cat info.out; return 1; }; }
early() { ! grep -E 'started before their launch +[1-9]' info.out; }

nvcc -O2 -lineinfo -o matmul "$root/examples/cuda/matmul.cu" &&
	nvcc -O2 -o work "$here/work.cu" || { echo "not ok 1 - the programs compile"; exit 1; }
toolkit=$(dirname "$(dirname "$(command -v nvcc)")")
check "CUPTI's interface is as declared" cc -fsyntax-only -std=gnu17 -I "$root/src" -I "$toolkit/include" "$here/cupti_abi.c"

# ---- every launch, with its time ----
check "launches of 8 threads are recorded" rec -o l.data ./work launches 8 5000
check "launches of 8 threads are all there" is 40000 l.data "SELECT count(*) FROM launches WHERE kind = 'kernel'"
check "launches of 8 threads have their times" is 40000 l.data "SELECT count(*) FROM executions e JOIN launches USING (launch) WHERE e.dur_ns > 0"
check "launches of 8 threads are of two kernels" is 2 l.data 'SELECT count(DISTINCT kernel) FROM executions'
check "launches of 8 threads are in eight streams of one device" is '8,1' l.data 'SELECT count(DISTINCT stream), count(DISTINCT device) FROM executions'
check "kernels' names are demangled" says 'void add<1>(float*)' "$aiflame" query l.data 'SELECT name FROM kernels'
check "launches of 8 threads: the numbers add up" adds_up l.data
check "launches of 8 threads: no execution started before its launch" early
check "copies and fills are recorded" rec -o c.data ./work copies 50
for kind in read write fill; do
	check "$kind: 50 of 1 MiB" is "50,52428800" c.data "SELECT count(*), sum(bytes) FROM copies WHERE kind = '$kind'"
done
check "a graph is recorded" rec -o g.data ./work graph 21 300
check "a graph has one launch for each replay" is 300 g.data "SELECT count(*) FROM launches WHERE kind = 'kernel'"
check "a graph: no node is lost" is 6300 g.data "SELECT count(*) FROM executions WHERE kernel IS NOT NULL"
folded() { "$aiflame" flame "$1" -o "$1.folded" && grep -q -- "$2" "$1.folded"; }
check "nodes of a graph stand under its replay" folded g.data 'replay;cudaGraphLaunch;'
check "kernels of a graph stand under [cuda graph N]" folded g.data 'replay;cudaGraphLaunch;.*\[cuda graph [0-9]*\];'
check "the profile has one graph, whose 21 nodes have numbers" is '1,21' g.data 'SELECT count(DISTINCT graph), count(DISTINCT node) FROM executions'
check "every node of the graph is in every replay" is 300 g.data 'SELECT min(n) FROM (SELECT count(*) AS n FROM executions GROUP BY node)'
check "registers are known of all kernels of the graph" is 0 g.data 'SELECT count(*) FROM executions WHERE registers IS NULL OR shared_bytes IS NULL'
check "kernels of a graph stand under the call that captured them" folded g.data '\[cuda graph [0-9]*\];capture;cudaLaunchKernel;'
check "no kernel of a graph stands under the capture alone" sh -c '! grep capture g.data.folded | grep -v "cuda graph"'
check "cooperative launches are recorded" rec -o k.data ./work cooperative 20
check "cooperative launches are all there" is 20 k.data 'SELECT count(*) FROM executions'
occupancy() {
	"$aiflame" record -q --all-launches -o n.data ./work occupancy >asked.txt &&
		"$aiflame" query --format csv n.data "SELECT printf('%.4f', occupancy) FROM executions ORDER BY launch" | tail -n +2 >told.txt &&
		[ "$(wc -l <told.txt)" -ge 100 ] && diff asked.txt told.txt
}
check "occupancy is what the runtime computes" occupancy
check "a program with a context and nothing else is recorded" rec -o i.data ./work idle 1

# ---- what it is for ----
rec -o m.data ./matmul 2048 20 >matmul.out
cat matmul.out
shares() { # within a point of CUDA's events
	ask m.data "SELECT k.name, sum(e.dur_ns) / 1e6 FROM executions e JOIN kernels k ON k.id = e.kernel GROUP BY 1" |
		sed 's/^"*\([a-z_]*\)[^"]*"*,/\1 /' >ours.out
	awk 'NR == FNR { ms[$1] = $2; sum += $2; next } { mine[$1] = $2; all += $2 }
		END { for (k in ms) { d = 100 * (ms[k] / sum - mine[k] / all); printf "%s %.2f %.2f\n", k, 100 * ms[k] / sum, 100 * mine[k] / all
			if (d > 1 || d < -1) bad = 1 } exit bad || length(ms) != 3 }' matmul.out ours.out
}
check "three towers: shares within a point of cudaEvent" shares
check "the profile has registers and shared memory of each kernel" is 1 m.data \
	"SELECT min(registers) >= 8 AND max(registers) < 256 AND max(shared_bytes) >= 1024 AND count(graph) = 0 FROM executions"
check "the three towers have C++ frames below each" folded m.data 'multiply_tile_by_tile;launch_tiled;'

waits() { "$aiflame" flame --of cpu m.data -o cpu.folded && grep -q 'waiting: cu[A-Za-z]*Synchronize' cpu.folded; }
check "the thread waits in a call that synchronizes" waits

# ---- insides: instructions and what they wait for ----
check "99 % of the samples are in a kernel's tower" is 1 m.data \
	'SELECT sum(count) >= 0.99 * (SELECT sum(count) FROM samples) AND sum(count) > 10000 FROM attributed'
check "the naive kernel waits for memory" matches '^multiply_basic.*long_scoreboard' sh -c \
	'"$1" report --stalls m.data --kernel basic | tr "\n" " "' - "$aiflame"
check "annotated: SASS, its source line, what is waited for" matches 'STS .*waits for .*LDG' \
	"$aiflame" annotate multiply_local_access_and m.data
lines() { "$aiflame" flame m.data --leaf line -o lines.folded && grep -q 'matmul.cu:[0-9]*_\[g\] ' lines.folded; }
check "towers end in source lines" lines
export AIFLAME_NO_COUNTERS=1
rec -o n.data ./matmul 2048 20 >matmul.out
unset AIFLAME_NO_COUNTERS
check "no counters: the towers are there" folded n.data 'multiply_tile_by_tile;launch_tiled;'
none() { is 0 n.data 'SELECT count(*) FROM samples'; }
check "no counters: no instruction is sampled" none
check "no counters: the profile says why no instruction is sampled, and what to do" says 'NVreg_RestrictProfilingToAdminUsers=0' "$aiflame" info n.data
pauses() {
	"$aiflame" record -q --name pauses -o z.data ./work endless &
	recorder=$!
	sleep 3
	for _ in $(seq 20); do
		"$aiflame" ctl pause pauses && sleep 0.3 && "$aiflame" ctl start pauses && sleep 0.5 || return 1
	done
	pkill -P $recorder work
	wait $recorder
	adds_up z.data && early
}
check "a program is paused and goes on twenty times" pauses
check "CUPTI keeps count of launches across twenty pauses" is 0 z.data 'SELECT count(*) FROM losses WHERE reason = 1213'
check "blocks, and sampling that is switched, beside eight threads that launch" \
	timeout -k 5 120 "$aiflame" record -q -o h.data ./work launches 8 400000
left_out() { # what the blocks say: each launch once
	ask h.data "SELECT sum(launches) BETWEEN 3104000 AND 3296000 FROM attributed" >left.out
	cat left.out
	grep -q '^1$' left.out
}
check "launches of on-blocks stand for all launches" left_out
check "blocks, and sampling that is switched: the numbers add up" adds_up h.data

# ---- ends ----
killed() { rec -o x.data sh -c './work endless & sleep 3; kill -9 $!; wait $!' 2>/dev/null; adds_up x.data; }
check "killed with -9: what is older than a second is there" killed
died() {
	"$aiflame" record -q -o y.data ./work endless &
	recorder=$!
	sleep 4
	pid=$(pgrep -P $recorder work)
	kill -9 $recorder
	sleep 3
	kill -0 "$pid" && kill "$pid" && adds_up y.data
}
check "the recorder killed with -9: the program runs on" died

# runs_on SECONDS COMMAND...: what is recorded for a time goes on without CUPTI, or with, where it has graphs. A program of
# Python's says when it has begun.
runs_on() {
	seconds=$1
	shift
	"$aiflame" record -q --all-launches --name on -o s.data sh -c '"$@" && echo well' - "$@" >on.out 2>on.err &
	recorder=$!
	sleep 2
	program=$(pgrep -P $recorder)
	[ "$1" != python3 ] || until grep -q '^ready' on.err || ! kill -0 $recorder; do sleep 0.1; done
	sleep "$seconds"
	"$aiflame" ctl stop on
	wait $recorder && kill -0 "$program" || { echo "it ended before the recording did"; cat on.err; return 1; }
	while kill -0 "$program" 2>/dev/null; do sleep 0.2; done
	cat on.out
	grep -q well on.out && [ "$(ask s.data 'SELECT count(*) > 10 FROM launches')" = 1 ] || { cat on.err; "$aiflame" report s.data; return 1; }
}
check "graphs of which the first seconds are recorded go on to their end" runs_on 3 ./work graph 21 400000

attached() {
	(eval "$("$aiflame" env)" && exec ./work endless) &
	pid=$!
	sleep 3
	# Sampling is switched on in a moment in which nobody launches: the tries are 3, 4, 6 and 10 s after the beginning.
	"$aiflame" record -q --duration 15 -o b.data -p $pid
	r=$?
	kill $pid
	wait $pid
	return $r
}
check "record -p of a program that launches" attached
check "record -p of a program that launches: the numbers add up" adds_up b.data
check "record -p: a kernel that was loaded before has instructions" is 1 b.data \
	"SELECT count(DISTINCT kernel) FROM attributed WHERE pc IS NOT NULL"

# ---- PyTorch ----
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	same() { [ "$(python3 "$here/profiler.py" 2>/dev/null)" = "$(rec -o p.data python3 "$here/profiler.py" 2>/dev/null)" ]; }
	check "torch.profiler in a recorded program sees as many events" same
	check "torch.profiler in a recorded program: the profile says so" says 'profiles itself' "$aiflame" info p.data
	if python3 -c 'import transformers' 2>/dev/null; then
		check "an eager decode is recorded" rec -o d.data python3 "$here/decode.py" 200
		check "an eager decode: the numbers add up" adds_up d.data
		check "an eager decode: no execution started before its launch" early
		check "an eager decode: 99 % of stacks are complete" sh -c '"$1" report d.data | grep -Eq "(100.0|99\.[0-9]) % of stacks complete"' - "$aiflame"
		check "a prefill is recorded" rec -o f.data python3 "$here/decode.py" 40 prefill
		check "a prefill: stacks go from Python to the kernel" folded f.data 'step (decode.py)_\[p\];.*Linear.forward (linear.py)_\[p\];aten::linear;.*cublas.*;nvjet'
		check "a prefill: kernels have instructions" is 1 f.data 'SELECT count(DISTINCT pc) > 100 FROM attributed'
		check "a decode is recorded with --overhead 2" timeout -k 5 120 "$aiflame" record -q -o e.data python3 "$here/decode.py" 400
		check "a decode is recorded with all launches" rec -o a.data python3 "$here/decode.py" 400
		estimated() {
			all=$(ask a.data 'SELECT count(*) FROM launches')
			# How many that leaves out differs: 72 % in one recording of an H100, 7 % in another. Why is not shown.
			ask e.data "SELECT sum(launches), abs(sum(launches) / $all.0 - 1) < 0.03, (SELECT count(*) FROM launches) < $all * 0.99 FROM attributed" >e.out
			echo "$all launches; estimated, within 3 %, from less than 99 % of them: $(cat e.out)"
			grep -q ',1,1$' e.out || { "$aiflame" info e.data | grep -i overhead; return 1; }
		}
		check "--overhead 2: the captured launches stand for all" estimated
		check "--overhead 2: no execution started before its launch" sh -c '"$1" info e.data | grep "started before" | grep -q " 0$"' - "$aiflame"
		check "a decode of which the first seconds are recorded goes on to its end" runs_on 5 python3 "$here/decode.py" 800
		check "stacks have Python, operator, library and kernel" folded d.data \
			'decode (decode.py)_\[p\];step (decode.py)_\[p\];.*Linear.forward (linear.py)_\[p\];aten::linear;.*cublas.*;nvjet'
	fi
	check "a training step is recorded" rec -o t.data python3 "$here/train.py" 10
	check "a training step: the numbers add up" adds_up t.data
	check "a training step: the backward stands on the model's lines" folded t.data \
		'multi_head_attention_forward (functional.py)_\[p\];\[backward\] ScaledDot'
	check "a training step: the head's backward stands on the head's lines" folded t.data \
		'Model.forward (train.py)_\[p\];Linear.forward (linear.py)_\[p\];\[backward\] AddmmBackward0;aten::mm;'
	joined() {
		"$aiflame" flame t.data --leaf kernel -o t.folded &&
			awk '/^\[backward\]/ { all += $NF; next }
				/;\[backward\]/ { all += $NF; joined += $NF }
				END { printf "%.1f %% of the backward joined\n", 100 * joined / all; exit joined < 0.95 * all }' t.folded
	}
	check "a training step: 95 % of the backward stands on lines" joined
	check "a kernel in Triton and a graph are recorded" rec -o k.data python3 "$here/kernels.py" 200
	triton() { "$aiflame" flame k.data --leaf line --kernel scale -o k.folded && grep -q 'kernels.py:[0-9]*_\[g\]' k.folded; }
	check "Triton's kernel has its Python lines" triton
fi
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp -- *.data "$KEEP"; }
done_testing
