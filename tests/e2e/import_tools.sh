#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Other profilers' files become profiles with the same stacks and weights: perf's own text where perf can be run here, files
# that `aiflame export` wrote (there and back), and files made by a format's rules.
. "$(dirname "$0")/tap.sh"

same() { # TWO FILES, in any order of their lines
	LC_ALL=C sort "$1" >"$work/a.sorted" && LC_ALL=C sort "$2" >"$work/b.sorted" && diff "$work/a.sorted" "$work/b.sorted"
}
folded() { # FILE OUT ARGS...: of a profile
	file=$1 out=$2
	shift 2
	"$aiflame" flame --detail full "$@" -o "$out" "$file" 2>"$work/flame.err" || cat "$work/flame.err"
}
adds_up() { # NAME: of a profile
	check "$1: everything adds up" says "everything adds up" "$aiflame" info "$1.data"
}

# ---- perf script ---------------------------------------------------------------------------------

cat >perf.txt <<'END'
# captured on: Sun Nov 22 02:00:00 2026
swapper     0/0     [001]    10.000000:   10000000 cpu-clock: 
	ffffffff81000010 pv_native_safe_halt+0x10 ([kernel.kallsyms])
	ffffffff81000020 do_idle+0x20 ([kernel.kallsyms])

my app 2.0  4711/4712  [000]    10.010000:   10000000 cpu-clock: 
	            1141 inner(int, std::vector<int> (*)(long))+0x18 (/usr/bin/app)
	            118a main+0x15 (/usr/bin/app (deleted))
	           2724a __libc_start_main+0x7a (/usr/lib/libc.so.6)

my app 2.0  4711/4712  [000]    10.020000:   20000000 cpu-clock: 
	ffffffff81000030 vfs_read+0x30 ([kernel.kallsyms])
	            118a main+0x15 (/usr/bin/app)

python3 4800/4800 [000] 10.030000: 10000000 cpu-clock: 
	            1141 _PyEval_EvalFrameDefault+0x18 (/usr/bin/python3)
	    7f0000001000 py::work:/home/x/a.py (/tmp/perf-4800.map)
	            4242 [unknown] (/opt/lib.so)
	    7f0000002000 [unknown] ([unknown])

python3 4800/4800 [000] 10.030500: page-faults: 
	            1141 main+0x18 (/usr/bin/python3)

END
cat >perf.folded <<'END'
[unknown+0x7f0000002000];[lib.so+0x4242];work (a.py)_[p];_PyEval_EvalFrameDefault 10000000
__libc_start_main;main;inner(int, std::vector<int> (*)(long)) 10000000
main;vfs_read_[k] 20000000
END
check "perf script: import" "$aiflame" import -q perf.txt -o perf.data
folded perf.data out.folded --of cpu
check "perf script: stacks and periods" same perf.folded out.folded
check "perf script: processes and threads by their numbers" says "4711,4712" "$aiflame" query --format csv perf.data \
	"SELECT p.pid, t.tid FROM threads t JOIN processes p ON p.id = t.process"
check "perf script: what does not count is told" says "1 samples of other events (page-faults), 1 of idle CPUs" "$aiflame" info perf.data
adds_up perf
# Without periods: the usual time between two samples of the busiest thread, 4 ms here.
awk 'BEGIN { for (i = 0; i < 9; i++) printf "a %d 5.%06d: cycles:P: \n\t1000 f%d+0x1 (/bin/a)\n\n", 7 + (i == 4), 4000 * i, i % 2 }' >cycles.txt
check "perf script: cycles" sh -c "'$aiflame' import -q cycles.txt -o cycles.data && '$aiflame' info cycles.data | grep '1713 IMPORT_WEIGHT' | grep -F 'cycles: 4000000 ns each'"
folded cycles.data out.folded --of cpu
check "perf script: each stands for that" says "f0 20000000" cat out.folded
adds_up cycles
check "perf script: --count" sh -c "'$aiflame' import -q --count 1ms cycles.txt -o count.data && '$aiflame' flame --of cpu -o count.folded count.data && grep 'f0 5000000' count.folded"
check "perf script: a line that is none is told" sh -c "{ cat perf.txt; echo; echo what is this; } >bad.txt && '$aiflame' import -q bad.txt -o bad.data && '$aiflame' info bad.data | grep '1712 IMPORT_LINE'"
check "perf script: from a pipe, packed" sh -c "gzip -c perf.txt | '$aiflame' import -q - -o pipe.data && '$aiflame' flame --detail full --of cpu -o pipe.folded pipe.data && sort pipe.folded | diff - perf.folded"

# The real one, if it is here and may be used.
cat >spin.sh <<'END'
i=0
while [ $i -lt 300000 ]; do i=$((i + 1)); done
END
if perf record -q -e cpu-clock -F 499 -g -o real.perf sh spin.sh >perf.log 2>&1 && perf script -i real.perf >real.txt 2>>perf.log && grep -q cpu-clock real.txt; then
	check "perf itself: import" "$aiflame" import -q real.txt -o real.data
	# Python sums what is in the text in its own way.
	check "perf itself: number of samples, and their time" python3 - "$aiflame" <<'END'
import re, subprocess, sys
periods = [int(m[1]) for m in re.finditer(r"^\S.*? (\d+) cpu-clock\S*:\s*$", open("real.txt").read(), re.M)]
out = subprocess.run([sys.argv[1], "query", "--format", "csv", "real.data", "SELECT count(*), sum(weight_ns) FROM cpu_samples"], capture_output=True, text=True).stdout
got = [int(v) for v in out.splitlines()[1].split(",")]
print(len(periods), sum(periods), got)
sys.exit([len(periods), sum(periods)] != got or not periods)
END
	adds_up real
else
	skip "perf itself" "perf cannot record here"
fi

# ---- speedscope and pprof: there and back ---------------------------------------------------------

cat >in.folded <<'END'
main;copy;[read]_[g] 25
main;other;cuLaunchKernel;gemm_[g];LDG +0x20_[g] 125
main;run (a.py)_[p];cuLaunchKernel;gemm_[g] 1000
main;run (a.py)_[p];cuLaunchKernel;gemm_[g];FMA +0x10_[g] 500
main;run (a.py)_[p];cuLaunchKernel;gemm_[g];LDG +0x20_[g] 250
main;write;vfs_write_[k] 77
main;std::vector<int>::push_back 3
END
grep '_\[g\]' in.folded >in.device && grep -v '_\[g\]' in.folded >in.cpu
"$aiflame" import -q in.folded -o in.data
for format in speedscope pprof; do
	check "$format: what aiflame exported comes in again" sh -c "'$aiflame' export --format $format -o there in.data && '$aiflame' import -q there -o $format.data"
	folded $format.data out.folded
	check "$format: device time, stack by stack" same in.device out.folded
	folded $format.data out.folded --of cpu
	check "$format: CPU time, stack by stack" same in.cpu out.folded
	adds_up $format
done
# A recording: totals of both kinds, to the ns.
if "$aiflame" record -q --all-launches -F 200 -o recorded.data "$matmul" 96 2 >record.log 2>&1; then
	for format in speedscope pprof; do
		"$aiflame" export --format $format -o there recorded.data && "$aiflame" import -q there -o back.data
		for of in device cpu; do
			folded recorded.data first.folded --of $of
			folded back.data second.folded --of $of
			check "$format: a recording's $of time" python3 - <<'END'
import sys
total = lambda f: sum(int(line.rsplit(" ", 1)[1]) for line in open(f))
a, b = total("first.folded"), total("second.folded")
print(a, b)
sys.exit(a != b or not a)
END
		done
	done
else
	skip "a recording there and back" "there is no OpenCL here"
fi

# ---- speedscope by its schema --------------------------------------------------------------------

cat >evented.json <<'END'
{"$schema": "https://www.speedscope.app/file-format-schema.json", "name": "two threads", "profiles": [
 {"type": "evented", "name": "first", "unit": "milliseconds", "startValue": 0, "endValue": 10, "events": [
  {"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 1.5}, {"type": "C", "frame": 1, "at": 4},
  {"at": 6.000001, "frame": 2, "type": "O"}, {"type": "C", "frame": 2, "at": 9}, {"type": "C", "frame": 0, "at": 10}]},
 {"type": "sampled", "name": "second", "unit": "none", "startValue": 0, "endValue": 3,
  "samples": [[0, 1], [0], [0, 1]], "weights": [1, 1, 2.5]}],
 "shared": {"frames": [{"name": "main", "file": "/src/main.c", "line": 7}, {"name": "a;b"}, {"name": "run", "file": "x/a.py"}]}}
END
check "speedscope by its schema: import" "$aiflame" import -q evented.json -o evented.data
folded evented.data out.folded --of cpu
check "speedscope by its schema: events have times and weights" says "first,5,10000000,9000000" "$aiflame" query --format csv evented.data \
	"SELECT t.name, count(*), sum(c.weight_ns), max(c.time_ns) FROM cpu_samples c JOIN threads t USING (tid) WHERE t.name = 'first'"
check "speedscope by its schema: samples have weights" says "second,3,5" "$aiflame" query --format csv evented.data \
	"SELECT t.name, count(*), sum(c.weight_ns) FROM cpu_samples c JOIN threads t USING (tid) WHERE t.name = 'second'"
check "speedscope by its schema: Python by its file" says "run (a.py)_[p] 2999999" cat out.folded
adds_up evented
check "speedscope: half of a file says what was lost" sh -c "head -c 700 evented.json >torn.json; '$aiflame' import -q torn.json -o torn.data; '$aiflame' info torn.data | grep '1701 IMPORT_TORN'"
done_testing
