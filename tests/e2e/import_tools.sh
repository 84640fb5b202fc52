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
	check "$1: counts of the import add up" says "everything adds up" "$aiflame" info "$1.data"
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
my app 2.0;__libc_start_main;main;inner(int, std::vector<int> (*)(long)) 10000000
my app 2.0;main;vfs_read_[k] 20000000
python3;[unknown];[lib.so];work (a.py)_[p];_PyEval_EvalFrameDefault 10000000
END
check "perf script: a recording's text is imported" "$aiflame" import -q perf.txt -o perf.data
folded perf.data out.folded --of cpu
check "perf script: stacks have their periods" same perf.folded out.folded
check "perf script: processes and threads have their numbers" says "4711,4712" "$aiflame" query --format csv perf.data \
	"SELECT p.pid, t.tid FROM threads t JOIN processes p ON p.id = t.process"
check "perf script: info counts samples of other events and of idle CPUs" says "1 samples of other events (page-faults (1)), 1 of idle CPUs" "$aiflame" info perf.data
adds_up perf
# Without periods: the usual time between two samples of the busiest thread, 4 ms here.
awk 'BEGIN { for (i = 0; i < 9; i++) printf "a %d 5.%06d: cycles:P: \n\t1000 f%d+0x1 (/bin/a)\n\n", 7 + (i == 4), 4000 * i, i % 2 }' >cycles.txt
check "perf script: info says what a sample of cycles stands for" sh -c "'$aiflame' import -q cycles.txt -o cycles.data && '$aiflame' info cycles.data | grep '1713 IMPORT_WEIGHT' | grep -F 'cycles: 4000000 ns each'"
folded cycles.data out.folded --of cpu
check "perf script: a sample of cycles has the time that it stands for" says "f0 20000000" cat out.folded
adds_up cycles
check "perf script: a process whose number perf did not print has none" says "0,7" "$aiflame" query --format csv cycles.data \
	"SELECT p.pid, t.tid FROM threads t JOIN processes p ON p.id = t.process"
check "perf script: --count gives a sample its time" sh -c "'$aiflame' import -q --count 1ms cycles.txt -o count.data && '$aiflame' flame --of cpu -o count.folded count.data && grep 'f0 5000000' count.folded"
check "perf script: a line that is not understood is counted" sh -c "{ cat perf.txt; echo; echo what is this; } >bad.txt && '$aiflame' import -q bad.txt -o bad.data && '$aiflame' info bad.data | grep '1712 IMPORT_LINE'"
check "perf script: compressed text is imported from a pipe" sh -c "gzip -c perf.txt | '$aiflame' import -q - -o pipe.data && '$aiflame' flame --detail full --of cpu -o pipe.folded pipe.data && sort pipe.folded | diff - perf.folded"

# Several events: a clock counts, whatever stands first; a program after its exec; what is no sample.
cat >events.txt <<'END'
Warning:
Processed 5 events and lost 1 chunks!

swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1276508) @ 0xffffffff81000000]: x [kernel.kallsyms]_text
	[0/net: 4/0xf0000098, 1/uts: 4/0xeffffffe]
	            118a half+0x15 (/usr/bin/app)

bash  4711/4711  10.005000:          1 page-faults: 
	            2000 fault+0x0 (/usr/bin/bash)

bash  4711/4711  10.010000:    1000000 task-clock:u: 
	            118a main+0x15 (/usr/bin/bash)

app  4711/4711  10.020000:    1000000 task-clock:u: 
	            118a main+0x15 (/usr/bin/app)

worker  4711/4712  10.030000:    1000000 task-clock:u: 
	            118a main+0x15 (/usr/bin/app)

app  4711/4711  10.040000:         41 page-faults: 
	            2000 fault+0x0 (/usr/bin/app)

other  4800/4800  10.050000:    1000000 task-clock:u: 
	            118a main+0x15 (/usr/bin/other)

other  4800/4800  10.060000:          1 context-switches: 
END
check "perf script, several events: import says which samples are left out" says "3 samples of other events than task-clock: events.txt: page-faults (2), context-switches (1); --event" \
	"$aiflame" import events.txt -o events.data
check "perf script, several events: info counts samples that are left out" says "1730 IMPORT_OTHER_EVENT   3" "$aiflame" info events.data
check "perf script, several events: records that are no samples and halves of stacks are counted" says "1 records that are no samples" "$aiflame" info events.data
check "perf script, several events: lines before the first sample are counted" sh -c "'$aiflame' info events.data | grep -E '1712 IMPORT_LINE +2 '"
check "perf script, several events: a process has its last name" says "4711,app" "$aiflame" query --format csv events.data "SELECT pid, exe FROM processes"
check "perf script, several events: a thread has its name" says "4712,worker" "$aiflame" query --format csv events.data "SELECT tid, name FROM threads"
"$aiflame" flame --detail full --of cpu -o out.folded events.data
check "perf script, several events: programs of several names stand on their names" sh -c "awk '{ n[\$1] += \$2 } END { exit n[\"app;main\"] != 3000000 || n[\"other;main\"] != 1000000 }' out.folded"
adds_up events
check "perf script, several events: --event chooses one" sh -c "'$aiflame' import -q --event page-faults:u events.txt -o faults.data && '$aiflame' query --format csv faults.data 'SELECT sum(weight_ns), count(*) FROM cpu_samples' | grep -x 42,2"
check "perf script, several events: --count makes time of an event that counts" sh -c "'$aiflame' import --event page-faults:u --count 1us -o timed.data events.txt 2>&1 | grep -q ': 2.0 us of CPU time' &&
	'$aiflame' query --format csv timed.data \"SELECT count(*) FROM meta WHERE key LIKE 'cpu_%' AND value LIKE '%fault%'\" | grep -x 0"
check "perf script, several events: an event that counts no time is not called so" sh -c "'$aiflame' import --event page-faults events.txt -o faults.data 2>&1 | grep -q ': 42 page-faults\$' &&
	'$aiflame' flame --of cpu -o faults.svg faults.data && grep -q '<title>Flame graph of counts</title>' faults.svg && grep -q '42 page-faults in 1 thread, 2 samples' faults.svg && ! grep -q ' ns' faults.svg"
check "perf script, several events: an --event that is not there is refused, with those there are" says "no sample of event cycles; it has page-faults (2), task-clock (4), context-switches (1)" \
	sh -c "'$aiflame' import -q --event cycles events.txt -o no.data; true"
check "perf script: text without names of events is imported" sh -c "sed 's/ *[0-9]* [a-z-]*clock: \$//' perf.txt | grep -v page-faults >bare.txt && '$aiflame' import -q bare.txt -o bare.data && '$aiflame' info bare.data | grep '1713 IMPORT_WEIGHT'"
# Names of Rust that perf left as they were; addresses of data, what was interrupted, and what an unwinder made up.
cat >fields.txt <<'END'
app  4711/4711 [001] 10.010000:    1000000 cpu-clock:     7ffc00001000 
	            118a _RNvCs32gj3y4fnmh_4main4main+0x15 (/usr/bin/app)
	fffd8118e8240489 [unknown] ([unknown])
	ffffffff81000010 [unknown] ([unknown])

app  4711/4711 [001] K   10.020000:    2000000 cpu-clock: 
	ffffffff81000010 vfs_read+0x10 ([kernel.kallsyms])
	ffffffff81000030 [unknown] ([unknown])
	            118a main::Pool$LT$T$GT$::get::h0123456789abcdef+0x15 (/usr/bin/app)

app  4711/4711 [001] d..2. 10.030000:    4000000 cpu-clock:     118a

END
cat >fields.folded <<'END'
[unknown] 4000000
[unknown];[unknown];main::main 1000000
main::Pool<T>::get;[kernel]_[k];vfs_read_[k] 2000000
END
check "perf script: fields that perf prints if asked to, and Rust's names" sh -c "'$aiflame' import -q fields.txt -o fields.data && '$aiflame' flame --detail full --of cpu -o out.folded fields.data && cat out.folded && LC_ALL=C sort out.folded | diff - fields.folded"
check "perf script: a name of Rust as it is printed is a filter" says "main::main" sh -c "'$aiflame' flame --of cpu --focus main::main --format folded -o - fields.data"
printf 'a;b 1\n' >ab.folded
check "options that mean nothing to a format are refused" sh -c "
	! '$aiflame' import -q --as cpu perf.txt -o no.data 2>as.err && grep -q -e '--as does not apply' as.err &&
	! '$aiflame' import -q --event x ab.folded -o no.data 2>event.err && grep -q -e '--event does not apply' event.err"

# The real one, if it is here and may be used.
cat >spin.sh <<'END'
i=0
while [ $i -lt 300000 ]; do i=$((i + 1)); done
END
if perf record -q -e cpu-clock -F 499 -g -o real.perf sh spin.sh >perf.log 2>&1 && perf script -i real.perf >real.txt 2>>perf.log && grep -q cpu-clock real.txt; then
	check "perf itself: the text of a recording is imported" "$aiflame" import -q real.txt -o real.data
	# Python sums what is in the text in its own way.
	check "perf itself: samples have perf's number and time" python3 - "$aiflame" <<'END'
import re, subprocess, sys
periods = [int(m[1]) for m in re.finditer(r"^\S.*? (\d+) cpu-clock\S*:\s*$", open("real.txt").read(), re.M)]
out = subprocess.run([sys.argv[1], "query", "--format", "csv", "real.data", "SELECT count(*), sum(weight_ns) FROM cpu_samples"], capture_output=True, text=True).stdout
got = [int(v) for v in out.splitlines()[1].split(",")]
print(len(periods), sum(periods), got)
sys.exit([len(periods), sum(periods)] != got or not periods)
END
	adds_up real
	check "perf's own file: a recording is imported" "$aiflame" import -q real.perf -o own.data
	adds_up own
	# perf's text has each function once, whatever the place in it.
	rows="SELECT weight_ns, process, tid FROM cpu_samples ORDER BY time_ns, 3" # times of the text are in us
	check "perf's own file: samples are those of perf's text" sh -c "'$aiflame' query --format csv real.data '$rows' >a.csv && '$aiflame' query --format csv own.data '$rows' | diff a.csv - && [ \$(wc -l <a.csv) -gt 10 ]"
	check "perf's own file: info names the file" sh -c "'$aiflame' info own.data | grep -q 'imported from real.perf'"
	check "perf's own file: a recording is imported without perf, and from a pipe" sh -c "PATH=/nowhere '$aiflame' import -q - -o pipe.data <real.perf && '$aiflame' query --format csv pipe.data '$rows' | diff a.csv -"
	check "perf's own file: what perf record writes to a pipe is imported" sh -c "perf record -q -e cpu-clock -F 499 -g -o - sh spin.sh 2>perf.log | '$aiflame' import -q - -o piped.data && '$aiflame' flame --of cpu -o piped.folded piped.data && [ -s piped.folded ]"
	check "perf's own file: --from perf has perf read it" sh -c "'$aiflame' import -q --from perf real.perf -o text.data && '$aiflame' info text.data | grep -q 'imported  *perf script'"
	if command -v cc >/dev/null; then
		cat >work.c <<'END'
#include <string.h>
#include <time.h>
static volatile double sum;
static char a[1 << 20], b[1 << 20];
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sum += i * 1.0001; }
__attribute__((noinline)) void copies(void) { memcpy(a, b, sizeof(a)); }
__attribute__((noinline)) void reads(void) { struct timespec t; for (int i = 0; i < 2000; i++) clock_gettime(CLOCK_MONOTONIC, &t); }
int main(void) { for (int i = 0; i < 2000; i++) { leaf(50000); copies(); reads(); } return sum == 0; }
END
		check "perf's own file: shares of functions are those of perf report" sh -c "cc -O1 -g -fno-omit-frame-pointer work.c -o work && perf record -q -e cpu-clock -F 999 -g -o work.perf ./work >perf.log 2>&1 && '$aiflame' import -q work.perf -o work.data && perf report -i work.perf --stdio -g none --no-children -F overhead,sym -t , 2>/dev/null >report.csv && python3 '$root/tests/e2e/perf_shares.py' '$aiflame' work.data report.csv"
	fi
	check "perf's own file, with call chains of dwarf: perf reads it" sh -c "perf record -q -e cpu-clock -F 499 --call-graph dwarf -o dwarf.perf sh spin.sh >perf.log 2>&1 && '$aiflame' import -q dwarf.perf -o dwarf.data && '$aiflame' flame --of cpu -o dwarf.folded dwarf.data && [ -s dwarf.folded ] && '$aiflame' info dwarf.data | grep -q 'imported  *perf script'"
	check "perf's own file, with call chains of dwarf, without perf: info says what is missing" sh -c "PATH=/nowhere '$aiflame' import -q dwarf.perf -o bare.data && '$aiflame' info bare.data | grep -q '1733 IMPORT_STACKS'"
	check "perf's own file, compressed: perf reads it" sh -c "perf record -q -z -e cpu-clock -F 499 -g -o packed.perf sh spin.sh >perf.log 2>&1 && '$aiflame' import -q packed.perf -o packed.data && '$aiflame' info packed.data | grep -q 'imported  *perf script'"
	check "perf's own file, compressed, without perf: the refusal says that only perf unpacks it" says "only perf unpacks" sh -c "PATH=/nowhere '$aiflame' import -q packed.perf -o no.data; true"
	head -c 200 real.perf >torn.perf
	check "perf's own file, torn in its header: the refusal leaves no file" sh -c "'$aiflame' import -q torn.perf -o no.data 2>torn.err; [ \$? = 1 ] && [ ! -e no.data ] && grep -q 'torn.perf: ends within its header' torn.err"
	check "perf's own file: an --event that is not there is refused, with those there are" says "no sample of event cycles; it has cpu-clock" sh -c "'$aiflame' import -q --event cycles real.perf -o no.data; true"
else
	skip "perf itself: the text of a recording is imported" "perf cannot record here"
fi

# ---- perf.data, by its format's rules --------------------------------------------------------------

# Offsets and addresses of this machine's shell differ: what counts is which place of a file they are.
made() { # NAME OPTIONS...
	name=$1
	shift
	python3 "$root/tests/e2e/perf_data.py" "$name.perf" /nowhere/app 0x1180:0x1180 "$@" && "$aiflame" import -q "$name.perf" -o "$name.data"
}
cat >made.folded <<'END'
[anon+0x900000];[unknown+0x700000];[app+0x1180] 3000000
[anon+0x900000];[unknown+0x700000];[else.so+0x1180] 4000000
END
for kind in plain big pipe lost torn killed; do
	check "perf.data, $kind: a file is imported" made "$kind" "$kind"
	folded "$kind.data" out.folded --of cpu
	check "perf.data, $kind: mappings and forks count in the order of time" same made.folded out.folded
	adds_up "$kind"
done
check "perf.data: samples have times, and threads their numbers" says "400,8,2000000" "$aiflame" query --format csv plain.data "SELECT time_ns, tid, weight_ns FROM cpu_samples"
check "perf.data: threads have names by exec and by fork" says "7,app 8,app 9,worker" sh -c "'$aiflame' query --format csv plain.data 'SELECT tid, name FROM threads ORDER BY 1' | paste -sd ' '"
check "perf.data: samples of other events are counted" says "1730 IMPORT_OTHER_EVENT   1" "$aiflame" info plain.data
check "perf.data: --event chooses one" sh -c "'$aiflame' import -q --event page-faults plain.perf -o faults.data && '$aiflame' query --format csv faults.data 'SELECT sum(weight_ns), count(*) FROM cpu_samples' | grep -x 1,1"
check "perf.data: modules are there once, with their build ids" says "1,abababababababababababababababababababab" "$aiflame" query --format csv plain.data "SELECT count(*), max(build_id) FROM modules WHERE path LIKE '%else.so'"
check "perf.data: files that are not here are counted" sh -c "'$aiflame' info plain.data | grep -E '1734 IMPORT_FILES +2 '"
check "perf.data: samples that perf lost are counted" sh -c "'$aiflame' info lost.data | grep -E '1732 IMPORT_LOST +5 '"
# A perf that tries to read one place of a damaged file for ever, once it has its limit.
mkdir perf_that_hangs
cat >perf_that_hangs/perf <<'END'
#!/bin/sh
i=0
until [ "$(ulimit -t)" = 30 ] || [ $i -ge 20000 ]; do i=$((i + 1)); done
ulimit -t >limit
kill -XCPU $$
END
chmod +x perf_that_hangs/perf
check "perf.data: perf that reads it for ever is ended" says "more CPU time than a file of its size takes" env PATH="$work/perf_that_hangs:$PATH" "$aiflame" import --from perf -o hangs.data plain.perf
check "perf.data: perf may use CPU time by the size of the file" grep -qx 30 limit
check "perf.data: info tells a torn file" says "1701 IMPORT_TORN" "$aiflame" info torn.data
check "perf.data: info tells that perf record was killed" says "1701 IMPORT_TORN" "$aiflame" info killed.data
made other other
check "perf.data: a damaged record is counted" sh -c "'$aiflame' info other.data | grep -E '1700 IMPORT_TEXT +1 '"
made epochs epochs
awk 'BEGIN { for (i = 0; i < 40; i++) printf "[app+0x%x] %d\n", 4480 + 16 * i, i < 9 ? 2000 : 1000 }' >epochs.folded
folded epochs.data out.folded --of cpu
check "perf.data: addresses before and behind a mapping are named by themselves" same epochs.folded out.folded
made threads threads
check "perf.data: a thread has the name of the thread that started it" says "9,worker" "$aiflame" query --format csv threads.data "SELECT tid, name FROM threads"
made deep deep
check "perf.data: a stack that is cut is marked" says "4096,1" "$aiflame" query --format csv deep.data "SELECT max(depth), max(flags) FROM stacks"
echo "900000 100 one" >/tmp/perf-4194401.map
echo "900000 100 two" >/tmp/perf-4194402.map
made jit jit
rm -f /tmp/perf-4194401.map /tmp/perf-4194402.map
printf 'one 1000\ntwo 1000\n' >jit.folded
folded jit.data out.folded --of cpu
check "perf.data: code of JIT compilers has the names of its own process" same jit.folded out.folded

# ---- speedscope and pprof: there and back ---------------------------------------------------------

cat >in.folded <<'END'
main;copy;Memcpy DtoH_[g] 25
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
	check "$format: an export is imported" sh -c "'$aiflame' export --format $format -o there in.data && '$aiflame' import -q there -o $format.data"
	folded $format.data out.folded
	check "$format: device time comes back stack by stack" same in.device out.folded
	folded $format.data out.folded --of cpu
	check "$format: CPU time comes back stack by stack" same in.cpu out.folded
	adds_up $format
done
check "pprof: a device is called imported" says "device,imported" "$aiflame" query --format csv pprof.data "SELECT name, runtime FROM devices"
check "pprof: a picture names no rate where none is known" sh -c "'$aiflame' flame --of cpu -o cpu.svg pprof.data && grep -q 'on CPU in' cpu.svg && ! grep ' Hz' cpu.svg"
# Waits for a device, and wall-clock time, as aiflame's exports have them.
profile_of() { # NAME: 30 ns of main, 70 ns in which it waits
	printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"main"},{"name":"clFinish"},{"name":"[waiting: clFinish]"}]},
"profiles":[{"type":"sampled","name":"%s: app","unit":"nanoseconds","startValue":0,"endValue":100,"samples":[[0],[0,1,2]],"weights":[30,70]}]}' "$1"
}
sums() { "$aiflame" query --format csv "$1" 'SELECT sum(weight_ns), sum(waiting_ns) FROM cpu_samples' | tail -n 1 | tr -d '\r'; }
profile_of CPU >waits.json && "$aiflame" import -q waits.json -o waits.data
check "speedscope: time of waiting for a device is no CPU time" test "$(sums waits.data)" = "30,70"
profile_of "wall clock" >wall.json
check "speedscope: wall-clock time is not called CPU time" says "30 ns of wall-clock time" "$aiflame" import wall.json -o wall.data
for format in speedscope pprof; do
	"$aiflame" export --format $format -o there waits.data && "$aiflame" import -q there -o back.data
	check "$format: time of waiting for a device comes back from an export" test "$(sums back.data)" = "30,70"
	folded waits.data first.folded --of cpu && folded back.data second.folded --of cpu
	check "$format: stacks that wait for a device come back from an export" sh -c "cat second.folded; cmp first.folded second.folded && grep -qx 'main;clFinish;\[waiting: clFinish\] 70' second.folded"
	"$aiflame" export --format $format -o there wall.data
	check "$format: wall-clock time comes back as such from an export" says "30 ns of wall-clock time" "$aiflame" import there -o back.data
done
# With Python, modules, operators, ranges, graphs: a trace of torch.profiler.
python3 "$root/tests/e2e/import_traces.py" "$work" >traces.log 2>&1 || exit 1
"$aiflame" import -q cuda.json -o cuda.data
folded cuda.data torch.folded
for format in speedscope pprof; do
	"$aiflame" export --detail full --format $format -o there cuda.data && "$aiflame" import -q there -o back.data
	folded back.data out.folded
	check "$format: a trace of torch.profiler comes back from an export" same torch.folded out.folded
done
# A recording, to the ns.
if "$aiflame" record -q --all-launches -F 200 -o recorded.data "$matmul" 96 2 >record.log 2>&1; then
	for format in speedscope pprof; do
		"$aiflame" export --format $format -o there recorded.data && "$aiflame" import -q there -o back.data
		folded recorded.data first.folded --leaf kernel
		folded back.data second.folded --leaf kernel
		check "$format: kernels and copies of a recording come back from an export" python3 - <<'END'
import collections, sys
def totals(f):
    t = collections.Counter()
    for line in open(f):
        stack, _, ns = line.rpartition(" ")
        t[stack.split(";")[-1]] += int(ns)
    return t
a, b = totals("first.folded"), totals("second.folded")
print(a, b)
sys.exit(a != b or not a)
END
		rm -f first.folded second.folded back.data
	done
else
	skip "speedscope and pprof: kernels and copies of a recording come back from an export" "there is no OpenCL here"
fi

# What Node's profiler (@datadog/pprof) and Go's runtime have written, summed up from the bytes in another way.
cat >last.py <<'END'
import subprocess, sys
from protobuf import fields, varint
def numbers(b):
    i, out = 0, []
    while i < len(b):
        v, i = varint(b, i); out.append(v)
    return out
wanted = 0
for field, sample in fields(open(sys.argv[2], "rb").read()):
    if field == 2:  # Go does not pack its numbers
        wanted += [n for f, v in fields(sample) if f == 2 for n in (numbers(v) if isinstance(v, bytes) else [v])][-1]
out = subprocess.run([sys.argv[1], "query", "--format", "csv", sys.argv[3], "SELECT sum(weight_ns) FROM cpu_samples"], capture_output=True, text=True).stdout
print(wanted, out)
sys.exit(not wanted or int(out.splitlines()[1]) != wanted)
END
for of in node go; do
	cp "$root/tests/fuzz/found/fuzz_import-pprof_$of" $of.pb
	check "pprof of $of: a profile is imported" "$aiflame" import -q $of.pb -o $of.data
	check "pprof of $of: the last value is taken, and summed" env PYTHONPATH="$root/tests/e2e" PYTHONDONTWRITEBYTECODE=1 python3 last.py "$aiflame" $of.pb $of.data
	adds_up $of
done

# ---- speedscope by its schema --------------------------------------------------------------------

cat >evented.json <<'END'
{"$schema": "https://www.speedscope.app/file-format-schema.json", "name": "two threads", "profiles": [
 {"type": "evented", "name": "first", "unit": "milliseconds", "startValue": 0, "endValue": 10, "events": [
  {"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 1.5}, {"type": "C", "frame": 1, "at": 4},
  {"at": 6.000001, "frame": 2, "type": "O"}, {"type": "C", "frame": 2, "at": 9}, {"type": "C", "frame": 0, "at": 10}]},
 {"type": "sampled", "name": "second", "unit": "nanoseconds", "startValue": 0, "endValue": 3,
  "samples": [[0, 1], [0], [0, 1]], "weights": [1, 1, 2.5]}],
 "shared": {"frames": [{"name": "main", "file": "/src/main.c", "line": 7}, {"name": "a;b"}, {"name": "run", "file": "x/a.py"}]}}
END
check "speedscope by its schema: a file is imported" "$aiflame" import -q evented.json -o evented.data
folded evented.data out.folded --of cpu
check "speedscope by its schema: events have times and weights" says "first,5,10000000,9000000" "$aiflame" query --format csv evented.data \
	"SELECT t.name, count(*), sum(c.weight_ns), max(c.time_ns) FROM cpu_samples c JOIN threads t USING (tid) WHERE t.name = 'first'"
check "speedscope by its schema: samples have weights" says "second,3,5" "$aiflame" query --format csv evented.data \
	"SELECT t.name, count(*), sum(c.weight_ns) FROM cpu_samples c JOIN threads t USING (tid) WHERE t.name = 'second'"
check "speedscope by its schema: frames of Python are named by their files" says "run (a.py)_[p] 2999999" cat out.folded
adds_up evented
folded evented.data out.folded --of cpu --time 2ms,7ms
check "speedscope by its schema: --time cuts a span to what lies in it" sh -c "printf '%s\n' 'main 2000001' 'main;a:b 2000000' 'main;run (a.py)_[p] 999999' | diff - out.folded"
check "speedscope: info says what half of a file lost" sh -c "head -c 700 evented.json >torn.json; '$aiflame' import -q torn.json -o torn.data; '$aiflame' info torn.data | grep '1701 IMPORT_TORN'"

# ---- Chrome traces in general, and unitrace's -----------------------------------------------------

cat >wall.py <<'END'
# What threads were in something, as the file says: the union of each thread's spans; as the profile has it: weights.
import collections, json, subprocess, sys
events = json.load(open(sys.argv[2]), parse_float=str, parse_int=str)
events = events if isinstance(events, list) else events["traceEvents"]
ns = lambda v: int(v.partition(".")[0]) * 1000 + int((v.partition(".")[2] + "000")[:3])
threads, open_ones = collections.defaultdict(list), collections.defaultdict(list)
for e in events:
    if e.get("ph") == "X" and "avg ms" not in e.get("args", {}):
        threads[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", "0"))))
    begun = open_ones[e.get("pid"), e.get("tid")]
    if e.get("ph") == "B":
        begun.append(ns(e["ts"]))
    if e.get("ph") == "E" and begun:
        threads[e["pid"], e["tid"]].append((begun.pop(), ns(e["ts"])))
wanted = 0
wanted -= int(sys.argv[4]) if len(sys.argv) > 4 else 0  # of categories that are not kept
for spans in threads.values():
    at = 0
    for start, end in sorted(spans):
        wanted += max(0, end - max(start, at))
        at = max(at, end)
out = subprocess.run([sys.argv[1], "query", "--format", "csv", sys.argv[3], "SELECT sum(weight_ns) FROM cpu_samples"], capture_output=True, text=True).stdout
print(wanted, out)
sys.exit(not wanted or int(out.splitlines()[1]) != wanted)
END
cat >other.json <<'END'
[{"name": "main", "ph": "B", "pid": 7, "tid": 8, "ts": 10}, {"name": "inner", "cat": "x", "ph": "X", "pid": 7, "tid": 8, "ts": 12, "dur": 3.5},
 {"name": "f (/src/a.py:12)", "ph": "X", "pid": 7, "tid": 8, "ts": 16, "dur": 2}, {"ph": "E", "pid": 7, "tid": 8, "ts": 30},
 {"name": "crosses", "ph": "X", "pid": 7, "tid": 9, "ts": 10, "dur": 10}, {"name": "over", "ph": "X", "pid": 7, "tid": 9, "ts": 15, "dur": 10},
 {"name": "thread_name", "ph": "M", "pid": 7, "tid": 8, "args": {"name": "loop"}}]
END
cat >other.folded <<'END'
crosses 5000
crosses;over 5000
main 14500
main;f (/src/a.py:12)_[p] 2000
main;inner 3500
over 5000
END
check "Chrome trace: a trace is imported" "$aiflame" import -q other.json -o other.data
folded other.data out.folded --of cpu
check "Chrome trace: a thread's time belongs to the innermost span" same other.folded out.folded
check "Chrome trace: info calls it a Chrome trace" sh -c "'$aiflame' info other.data | grep -E '^  imported +Chrome trace\$'"
"$aiflame" flame -o spans.svg other.data 2>spans.err
check "Chrome trace without a device: flame draws the spans, and says so" grep -q "drawing --of cpu" spans.err
check "Chrome trace without a device: the picture speaks of spans, not of CPUs and samples" sh -c "grep -q '<title>Flame graph of spans</title>' spans.svg && grep -q 'in spans of 2 threads' spans.svg && ! grep -E 'CPU|samples?\\>' spans.svg"
check "Chrome trace without a device: options about a device are refused" says "no device activity" sh -c "'$aiflame' flame --leaf kernel -o no.svg other.data; true"
check "Chrome trace without a device: export as folded stacks has the spans" sh -c "
	'$aiflame' export --format folded -o spans.exported other.data && '$aiflame' flame --of cpu -o spans.folded other.data &&
	[ \$(awk '{ n += \$NF } END { print n }' spans.exported) -gt 0 ] &&
	[ \$(awk '{ n += \$NF } END { print n }' spans.exported) = \$(awk '{ n += \$NF } END { print n }' spans.folded) ]"
check "Chrome trace without a device: export as iaprof says which profiles it is for" says "aiflame: export: iaprof's text has samples and counters of devices" sh -c "'$aiflame' export --format iaprof -o no.txt other.data; true"
# torch.profiler without a device: no run of one is known, so time is that of operators themselves.
cat >host.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "step", "pid": 7, "tid": 8, "ts": 10, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 8, "ts": 20, "dur": 50},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 8, "ts": 30, "dur": 30.5},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 7, "tid": 8, "ts": 90, "dur": 10, "args": {"correlation": 1}},
{"ph": "X", "cat": "other", "name": "not of it", "pid": 7, "tid": 9, "ts": 90, "dur": 10}]}
END
printf 'step 40000\nstep;aten::linear 19500\nstep;aten::linear;aten::mm 30500\nstep;cudaDeviceSynchronize 10000\n' >host.folded
check "torch.profiler's trace without a device: a trace is imported" "$aiflame" import -q host.json -o host.data
folded host.data out.folded --of cpu
check "torch.profiler's trace without a device: operators have their own time" same host.folded out.folded
check "torch.profiler's trace without a device: every ns is there" python3 wall.py "$aiflame" host.json host.data 10000
adds_up host
# Each of these begins before the time that is asked for, and one ends behind it.
printf 'step 2000\nstep;aten::linear 9500\nstep;aten::linear;aten::mm 14500\n' >cut.folded
folded host.data out.folded --of cpu --time 36us,62us
check "--time cuts spans where it begins and ends" same cut.folded out.folded
"$aiflame" export --time 36us,62us -o cut.pprof host.data
"$aiflame" import -q cut.pprof -o cut.data
folded cut.data out.folded --of cpu
check "exports with --time have spans as they are cut" same cut.folded out.folded
check "report --ops --time says that operators count where they begin" says "Of --time: operators that begin in it" "$aiflame" report --ops --time 5us,62us host.data
check "Chrome trace: report --ops has how often and how long in all" says "main" "$aiflame" report --ops other.data
adds_up other
if command -v clang >clang.path 2>&1; then
	printf '#include <stdlib.h>\n#include <string.h>\nint main(void) { return (int)strlen(getenv("HOME")); }\n' >x.c
	check "clang -ftime-trace: a trace is imported" sh -c "clang -O2 -ftime-trace -ftime-trace-granularity=0 -c x.c -o x.o && '$aiflame' import -q x.json -o clang.data"
	check "clang -ftime-trace: every ns is there" python3 wall.py "$aiflame" x.json clang.data
	adds_up clang
else
	skip "clang -ftime-trace: a trace is imported" "no clang"
fi
if command -v node >node.path 2>&1; then
	check "node's trace events: a trace is imported" sh -c "node --trace-event-categories v8,node --trace-event-file-pattern=node.json -e 'JSON.stringify(process.versions)' && '$aiflame' import -q node.json -o node.data"
	check "node's trace events: every ns is there" python3 wall.py "$aiflame" node.json node.data
	adds_up node
else
	skip "node's trace events: a trace is imported" "no node"
fi
# By the rules of unitrace's own writer: one category for the host, one for devices, arrows from calls to kernels.
cat >unitrace.json <<'END'
{ "traceEvents":[
{"ph": "M", "name": "process_name", "pid": 100, "ts": 1000, "args": {"name": "HOST<node1>"}},
{"ph": "M", "name": "process_name", "pid": 4294967295, "ts": 1000, "args": {"name": "DEVICE<node1>[0000:3a:00.0]"}},
{"ph": "M", "name": "thread_name", "pid": 4294967295, "tid": 4294967295, "ts": 1000, "args": {"name": "L0 Thread 101 Engine<0,0>"}},
{"ph": "X", "tid": 101, "pid": 100, "name": "forward", "cat": "cpu_op", "ts": 1000, "dur": 900, "id": 0},
{"ph": "X", "tid": 101, "pid": 100, "name": "zeCommandListAppendLaunchKernel", "cat": "cpu_op", "ts": 1010, "dur": 30, "id": 0},
{"ph": "s", "tid": 101, "pid": 100, "name": "dep", "cat": "Flow_H2D_1_0", "ts": 1020, "id": 1},
{"ph": "X", "tid": 101, "pid": 100, "name": "urEnqueueUSMMemcpy", "cat": "cpu_op", "ts": 1100, "dur": 50, "id": 0},
{"ph": "X", "tid": 101, "pid": 100, "name": "zeCommandListAppendMemoryCopy", "cat": "cpu_op", "ts": 1110, "dur": 20, "id": 0},
{"ph": "s", "tid": 101, "pid": 100, "name": "dep", "cat": "Flow_H2D_2_0", "ts": 1115, "id": 2},
{"ph": "X", "tid": 101, "pid": 100, "name": "zeEventHostSynchronize", "cat": "cpu_op", "ts": 1200, "dur": 600, "id": 0},
{"ph": "X", "tid": 4294967295, "pid": 4294967295, "name": "gemm[SIMD32 {64; 1; 1} {16; 1; 1}]", "cat": "gpu_op", "ts": 1200, "dur": 300, "args": {"id": "1"}},
{"ph": "t", "tid": 4294967295, "pid": 4294967295, "name": "dep", "cat": "Flow_H2D_1_0", "ts": 1200, "id": 1},
{"ph": "X", "tid": 4294967295, "pid": 4294967295, "name": "zeCommandListAppendMemoryCopy(D2M)[4096 bytes]", "cat": "gpu_op", "ts": 1600, "dur": 100, "args": {"id": "2"}},
{"ph": "t", "tid": 4294967295, "pid": 4294967295, "name": "dep", "cat": "Flow_H2D_2_0", "ts": 1600, "id": 2}
]}
END
cat >unitrace.folded <<'END'
forward;urEnqueueUSMMemcpy;zeCommandListAppendMemoryCopy;Memcpy DtoH_[g] 100000
forward;zeCommandListAppendLaunchKernel;gemm[SIMD32 {64: 1: 1} {16: 1: 1}]_[g] 300000
END
check "unitrace: a trace is imported" "$aiflame" import -q unitrace.json -o unitrace.data
folded unitrace.data out.folded
check "unitrace: kernels and copies stand under the calls that launched them" same unitrace.folded out.folded
check "unitrace: a device has its name, a copy its bytes" says "DEVICE<node1>[0000:3a:00.0],read,4096" "$aiflame" query --format csv unitrace.data \
	"SELECT d.name, c.kind, c.bytes FROM copies c JOIN devices d ON d.id = c.device"
folded unitrace.data out.folded --of cpu
check "unitrace: a call that waits is a wait" says "[waiting: zeEventHostSynchronize] 600000" cat out.folded
adds_up unitrace

# ---- SQLite files of GPU tools, made by their documented schemas ----------------------------------

python3 "$root/tests/e2e/import_sqlite.py" "$work" || exit 1
cat >nsys.folded <<'END'
cudaGraphLaunch;[CUDA graph 9]_[g] 1000
cudaLaunchKernel;void gemm<float>(float*)_[g] 5000
cudaMemsetAsync;Memset (Device)_[g] 1000
step;cublasSgemm_v2;main;run(int);cudaLaunchKernel;void gemm<float>(float*)_[g] 30000
step;registered range;cudaMemcpyAsync;Memcpy DtoH_[g] 7000
END
cat >nsys.cpu <<'END'
main;run(int) 3000
main;vfs_read_[k] 1000
step;cudaDeviceSynchronize;[waiting: cudaDeviceSynchronize] 85000
END
check "nsys: a report is imported" "$aiflame" import -q nsys.sqlite -o nsys.data
folded nsys.data out.folded
check "nsys: stacks have ranges, libraries, call chains, calls and kernels" same nsys.folded out.folded
folded nsys.data out.folded --of cpu
check "nsys: stacks have CPU samples and waiting" same nsys.cpu out.folded
# Ranges that were open when the recording ended; NVTX's newer table. This one ends before the last launches.
LC_ALL=C sed 's/^cudaGraphLaunch;/step;&/; s/^cudaMemsetAsync;/step;&/' nsys.folded | LC_ALL=C sort >nsys.open
for table in NVTX_EVENTS NVTX_EVENTS_V2 NVTX_EVENTS_V3; do
	python3 - nsys.sqlite "$table" <<'END'
import shutil, sqlite3, sys
shutil.copy(sys.argv[1], "open.sqlite")
db = sqlite3.connect("open.sqlite")
db.execute("UPDATE NVTX_EVENTS SET end = NULL WHERE text = 'step'")
db.execute("CREATE TABLE other AS SELECT * FROM NVTX_EVENTS")
db.execute("DROP TABLE NVTX_EVENTS")
db.execute(f"ALTER TABLE other RENAME TO {sys.argv[2]}")
db.commit()
END
	"$aiflame" import -q open.sqlite -o open.data
	folded open.data out.folded
	check "nsys: a range of $table that never ended holds what was launched in it" same nsys.open out.folded
	check "nsys: ranges of $table that never ended are counted" says "1703 IMPORT_UNENDED       1" "$aiflame" info open.data
done
check "nsys: a process has its own numbers of devices" says "4800,NVIDIA Other,80" "$aiflame" query --format csv nsys.data \
	"SELECT p.pid, d.name, d.units FROM executions e JOIN processes p ON p.id = e.process JOIN devices d ON d.id = e.device"
check "nsys: executions have registers and shared memory" says "32,1536" "$aiflame" query --format csv nsys.data "SELECT registers, shared_bytes FROM executions WHERE dur_ns = 30000"
check "nsys: copies have their bytes" says "read,4096" "$aiflame" query --format csv nsys.data "SELECT kind, bytes FROM copies"
check "nsys: the profile has the date of the report" says "1700000000001000000" "$aiflame" query nsys.data "SELECT value FROM meta WHERE key = 'start_realtime_ns'"
adds_up nsys
cat >rocpd.folded <<'END'
forward;hipLaunchKernel;gemm(float*)_[g] 1500
forward;hipMemcpyAsync;Memcpy DtoH_[g] 100
END
for v in 3 4; do
	check "rocpd, schema $v: a database is imported" "$aiflame" import -q rocpd$v.db -o rocpd$v.data
	folded rocpd$v.data out.folded
	check "rocpd, schema $v: stacks have markers, calls, kernels and copies" same rocpd.folded out.folded
	check "rocpd, schema $v: device, thread and registers are there" says "AMD Instinct Test,hip,4712,64,1024" "$aiflame" query --format csv rocpd$v.data \
		"SELECT d.name, d.runtime, l.tid, e.registers, e.shared_bytes FROM executions e JOIN launches l USING (launch) JOIN devices d ON d.id = e.device"
	adds_up rocpd$v
done
printf 'forward;hipLaunchKernel;gemm_[g] 2500\nforward;hipMemcpy;Memcpy DtoH_[g] 100\n' >rpd.folded
check "rocpd before ROCm 7: a database is imported" "$aiflame" import -q rpd.db -o rpd.data
folded rpd.data out.folded
check "rocpd before ROCm 7: stacks have calls, kernels and copies" same rpd.folded out.folded
adds_up rpd
python3 - <<'END'
import sqlite3
def changed(file, to, *sql):
    db = sqlite3.connect(to)
    sqlite3.connect(file).backup(db)
    db.execute(*sql)
    db.commit()
changed("rocpd3.db", "mangled_rocpd3.db", "UPDATE rocpd_info_kernel_symbol_00abcd SET display_name = NULL")
changed("nsys.sqlite", "mangled_nsys.sqlite", "UPDATE StringIds SET value = '_Z4gemmPf' WHERE id IN (SELECT demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL)")
# f(A<int, int>, A<1, 1>, ...): each twice as long as the one before
bomb = "_Z1f1AIiiE" + "".join(f"S_IS{c}_S{c}_E" for c in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
changed("rocpd3.db", "bomb.db", "UPDATE rocpd_info_kernel_symbol_00abcd SET display_name = ?", (bomb,))
END
for f in rocpd3.db nsys.sqlite; do
	"$aiflame" import -q mangled_$f -o mangled.data
	check "the linker's name of a kernel in $f becomes the programmer's" says "gemm(float*)" "$aiflame" query --format csv mangled.data "SELECT DISTINCT name FROM kernels"
done
"$aiflame" import -q bomb.db -o bomb.data
check "a linker's name that stands for megabytes stays as it is" says "_Z1f1AIiiES_IS0_S0_E" "$aiflame" query --format csv bomb.data "SELECT name FROM kernels"
# Each process has tables of its own: of 300 all are read, of 4,100 those that can be.
python3 - <<'END'
import sqlite3
for n in 300, 4100:
    db = sqlite3.connect(f"rocpd_of_{n}.db")
    for i in range(n):
        db.execute(f"CREATE TABLE rocpd_string_{i:04} (id, string)")
        if i < 300:
            db.execute(f"CREATE TABLE rocpd_info_process_{i:04} (id, pid, command)")
            db.execute(f"CREATE TABLE rocpd_region_{i:04} (id, pid, tid, start, end, name_id)")
            db.execute(f"INSERT INTO rocpd_string_{i:04} VALUES (1, 'hipLaunchKernel')")
            db.execute(f"INSERT INTO rocpd_info_process_{i:04} VALUES (1, {5000 + i}, 'app')")
            db.execute(f"INSERT INTO rocpd_region_{i:04} VALUES (1, 1, 1, {10 * i + 1}, {10 * i + 9}, 1)")
    db.commit()
END
for of in 300 4100; do
	check "rocpd of $of processes: a database is imported" "$aiflame" import -q rocpd_of_$of.db -o many.data
	check "rocpd of $of processes: as many as can be kept are there" says 300,300 "$aiflame" query --format csv many.data "SELECT count(DISTINCT pid), (SELECT count(*) FROM ops) FROM processes"
	[ $of = 4100 ] || check "rocpd of $of processes: none is left out" sh -c "! '$aiflame' info many.data | grep IMPORT_PROCESSES"
done
check "rocpd of 4100 processes: those left out are counted" says "1721 IMPORT_PROCESSES     4  processes of a file not read" "$aiflame" info many.data
check "SQLite from a pipe: the refusal says what to do" says "unpack it, and name the file" sh -c "'$aiflame' import -q - -o no.data <nsys.sqlite"
check "SQLite of another program: the refusal says what is read" says "neither nsys's" sh -c "python3 -c 'import sqlite3; sqlite3.connect(\"x.db\").execute(\"CREATE TABLE t (a)\")' && '$aiflame' import -q x.db -o no.data"
# A view in place of a table is code of the file's.
python3 - <<'END'
import sqlite3
db = sqlite3.connect("view.sqlite")
db.executescript("""CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ('a', x'00'), (1, 2);
CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start + 1 AS end FROM n;""")
END
check "SQLite: views are not run, wrong types are counted" sh -c "'$aiflame' import -q view.sqlite -o view.data && '$aiflame' info view.data | grep '1702 IMPORT_EVENT'"
head -c 20000 nsys.sqlite >half.sqlite
check "SQLite: half of a file is imported or refused, without a crash" sh -c "'$aiflame' import -q half.sqlite -o half.data; [ \$? -le 1 ]"
cp nsys.sqlite before.sqlite
"$aiflame" import -q nsys.sqlite -o again.data
check "SQLite: the file is as it was, and nothing lies beside it" sh -c "cmp nsys.sqlite before.sqlite && ! ls nsys.sqlite-* 2>nothing"

# ---- every format, cut short ---------------------------------------------------------------------

cut_short() { # what is left is a profile that adds up, or is refused with a word
	for seed in "$root"/tests/fuzz/found/fuzz_import-*; do
		size=$(wc -c <"$seed")
		for part in 1 2 3 5 7; do
			head -c $((size * part / 8)) "$seed" >cut
			rm -f cut.data
			"$aiflame" import -q cut -o cut.data 2>cut.err
			status=$?
			case $status in
			0) "$aiflame" info cut.data | grep -q "everything adds up" || { echo "$seed $part: does not add up"; return 1; } ;;
			1) [ -s cut.err ] || { echo "$seed $part: refused without a word"; return 1; } ;;
			*) echo "$seed $part: status $status"; return 1 ;;
			esac
		done
	done
}
check "every format cut short is imported with a loss, or refused" cut_short

# ---- what is not read is told
cp nsys.sqlite killed.sqlite && echo rows >killed.sqlite-wal
check "SQLite: what a killed writer left beside its file is read" sh -c "'$aiflame' import -q killed.sqlite -o killed.data; '$aiflame' info killed.data | grep 'its -wal file is not read'"
# Members of an object have no order: what Python's sort_keys makes of a file is the same file.
cat >mixed.py <<'END'
import json, sys
f = json.load(open("evented.json"))
json.dump(f, open("sorted.json", "w"), sort_keys=True)
for p in f["profiles"]:
    unit = p.pop("unit")
    p["unit"] = unit
json.dump(f, open("late.json", "w"))
whole = json.load(open("evented.json"))
# One wrong value each: what is not in it is there.
for name, damage in {"sample": lambda f: f["profiles"][1]["samples"].__setitem__(1, "bad"), "in_sample": lambda f: f["profiles"][1]["samples"][1].__setitem__(0, {"a": [1]}),
                     "weight": lambda f: f["profiles"][1]["weights"].__setitem__(1, None), "event": lambda f: f["profiles"][0]["events"].insert(1, [1, 2]),
                     "profile": lambda f: f["profiles"].insert(1, "bad"), "frame": lambda f: f["shared"]["frames"].__setitem__(2, 5)}.items():
    f = json.loads(json.dumps(whole))
    damage(f)
    json.dump(f, open("bad_" + name + ".json", "w"))
END
python3 mixed.py || exit 1
"$aiflame" flame --detail full --of cpu -o whole.folded evented.data
for order in sorted late; do
	"$aiflame" import -q $order.json -o back.data && folded back.data out.folded --of cpu
	check "speedscope: the order of members makes no difference, $order" same whole.folded out.folded
	check "speedscope: the order of members loses nothing, $order" sh -c "! '$aiflame' info back.data | grep IMPORT_EVENT"
done
for bad in sample in_sample weight event profile frame; do
	sum=10000005 # of evented.data: 10 ms, and 1 + 1 + 2.5 counts, the last one rounded
	case $bad in sample | in_sample | weight) sum=$((sum - 1)) ;; esac
	"$aiflame" import -q bad_$bad.json -o back.data
	check "speedscope: damage costs only the part that it is in, $bad" says $sum "$aiflame" query --format csv back.data "SELECT sum(weight_ns) FROM cpu_samples"
	check "speedscope: damage is counted, $bad" sh -c "'$aiflame' info back.data | grep -E '1702 IMPORT_EVENT ' && ! '$aiflame' info back.data | grep IMPORT_TORN"
done
"$aiflame" export --format speedscope -o there in.data
sed 's/{"name":"main"[^}]*}/5/' there >unnamed.json
check "speedscope: a frame that is none keeps its number" sh -c "! cmp -s there unnamed.json && '$aiflame' import -q unnamed.json -o back.data &&
	'$aiflame' flame --detail full -o out.folded back.data && [ \$(awk '{ n += \$NF } END { print n }' out.folded) = \$(awk '{ n += \$NF } END { print n }' in.device) ]"
# ---- names, and what is packed ---------------------------------------------------------------------

echo '[{"name": "before\u0000behind", "ph": "X", "pid": 7, "tid": 8, "ts": 10, "dur": 1}]' >zero.json
check "Chrome trace: a zero byte does not end a name" says "before�behind" sh -c "'$aiflame' import -q zero.json -o zero.data && '$aiflame' report --ops --format csv zero.data"
# Only how they begin is looked at.
printf '\3757zXZ\0abc' >t.xz && printf 'PK\003\004abc' >t.zip && python3 -c 'import tarfile; tarfile.open("t.tar.gz", "w:gz").add("zero.json")'
check "xz: the refusal says how to unpack it" says "xz -dc t.xz | aiflame import - -o FILE" sh -c "'$aiflame' import -q t.xz -o no.data; true"
check "zip: the refusal says how to unpack it" says "unzip -p t.zip | aiflame import - -o FILE" sh -c "'$aiflame' import -q t.zip -o no.data; true"
check "tar: the refusal says how to unpack it, also from a pipe" says "tar -xOf FILE | aiflame import - -o FILE" sh -c "'$aiflame' import -q - -o no.data <t.tar.gz; true"
echo what is this >what
check "a file of no known format: the refusal lists those that are known" says "unitrace or another Chrome trace" sh -c "'$aiflame' import -q what -o no.data; true"
done_testing
