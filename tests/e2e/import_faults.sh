#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files that other profilers' readers got wrong, and what is right of them: stacks, weights, units, what was left out.
. "$(dirname "$0")/tap.sh"
in=$root/tests/golden/import

# stacks FILE: imports it; the folded stacks of its CPU samples are those on standard input.
stacks() {
	cat >want
	"$aiflame" import -q -o got.data "$in/$1" && "$aiflame" flame --of cpu --detail full -o got.folded got.data &&
		LC_ALL=C sort -o got.folded got.folded && LC_ALL=C sort -o want want && diff want got.folded
}

check "perf script: a command that looks like an address is one" stacks perf-script-hex-command.txt <<END
copy_user_[k] 250000
vfs_read_[k] 250000
vfs_write_[k] 250000
END
check "perf script: a module in brackets need not be the kernel" stacks perf-script-jit-app-cache.txt <<END
demo.Main.run;demo.Hot.loop;wait;sys_wait_[k];finish_task_[k] 250000
END
cat >jit.txt <<'END'
app 7/7 [000] 5.000000: 250000 cpu-clock: 
	ffffffffc0001000 nf_hook+0x1 ([nf_tables])
	    7f0000001000 hot+0x1 ([jit])
	    5500000010a0 main+0x1 (/bin/app)

END
jit() { "$aiflame" import -q -o got.data jit.txt && [ "$("$aiflame" flame --of cpu --format folded -o - got.data)" = 'main;hot;nf_hook_[k] 250000' ]; }
check "perf script: a word in brackets is a module of the kernel where the kernel's addresses are" jit
check "perf script: no time, no blanks before frames, inlined functions, functions without a name" stacks perf-script-untimed.txt <<END
app.main;app.run_[i];app.hot_[i];read;vfs_read_[k] 1
[perf-4711.map] 2
END
check "perf script without times: samples are counted" says "3 samples" "$aiflame" import -o got.data "$in/perf-script-untimed.txt"
check "perf script without times: info says so" says IMPORT_UNTIMED "$aiflame" info got.data
check "perf script: periods are weights in the event's unit, interrupts of an idle CPU are work" stacks perf-script-cycles.txt <<END
sim;_start 1
sim;main 9
sim;work 40000
swapper;default_idle_[k];common_interrupt_[k];handle_irq_[k] 1000
END
check "perf script: cycles are no time" says "41,010 cycles" "$aiflame" import -o got.data "$in/perf-script-cycles.txt"
check "perf script: samples of idle CPUs are counted" sh -c "'$aiflame' info got.data | grep -E 'IMPORT_IDLE +1 '"
check "folded: a tab before the count" stacks tab.folded <<END
a;b 5
a;c 3
END
check "folded: how a function was compiled is no part of its name" stacks async-profiler.folded <<END
main;App.run;App.inl_[i];do_syscall_64_[k] 3
main;App.run;App.hot;__memcpy 5
END
check "flame of folded text: how a function was compiled is no part of its name" sh -c "'$aiflame' flame --format folded -o - '$in/async-profiler.folded' | grep -qx 'main;App.run;App.hot;__memcpy 5'"
check "folded: counts are no time" sh -c "'$aiflame' import -o got.data '$in/tab.folded' 2>&1 | grep -q ' 8 counts$' && ! '$aiflame' report --cpu got.data | grep -q ' ns'"
check "folded: --count says what one stands for" says "80.0 ms of CPU time" "$aiflame" import --count 10ms -o got.data "$in/tab.folded"
check "pprof: bytes are no time" sh -c "'$aiflame' import -o got.data '$in/pprof-bytes.pb.gz' 2>&1 | grep -q ' 100 bytes$'"
# unit_of VIEW...: a table of what was imported last has the bytes under a title with their unit, and no time
unit_of() { "$aiflame" report "$@" got.data >table.txt && grep -qF '(bytes)' table.txt && grep -qwF 100 table.txt && ! grep -E '[0-9] (ns|us|ms)' table.txt || { cat table.txt; return 1; }; }
for table in cpu threads processes; do
	check "pprof: bytes are no time in report --$table" unit_of --$table
done
check "pprof: report --cpu has the bytes for programs" says '"self": 100' "$aiflame" report --cpu --format json got.data
check "pprof: info has the bytes" sh -c "'$aiflame' info got.data | grep -qE '^  length +100 bytes$'"
for format in pprof speedscope; do
	check "pprof: bytes come back from an export for $format" says " 100 bytes" sh -c "'$aiflame' export --format $format -o got.$format got.data && '$aiflame' import -o back.data got.$format"
done
check "speedscope: bytes have its word in an export" says '"unit":"bytes"' cat got.speedscope
check "speedscope: values without a unit are no time" sh -c "'$aiflame' import -o got.data '$in/speedscope-counts.json' 2>&1 | grep -q ' 14 counts$'"
# What is known and not read is named.
for kind in firefox cpuprofile heapprofile; do
	check "a profile of $kind is refused with what it is" says "$(sed -n "s/^$kind //p" <<END
firefox is a profile of Firefox
cpuprofile is a CPU profile of V8
heapprofile is a heap profile of V8
END
	)" "$aiflame" import -o got.data "$in/$kind.json"
done

echo '{"traceEvents":[],"samples":[{"cpu":0,"pid":1,"tid":1,"ts":"5","sf":1}],"stackFrames":{"1":{"name":"main"}}}' >samples.json
check "a trace with nothing but CPU samples is refused with what it has" says "its CPU samples are not read" "$aiflame" import -o got.data samples.json

# Stacks without times make no time line.
"$aiflame" import -q -o got.data "$in/tab.folded"
for format in chrome perfetto firefox tensorboard; do
	check "folded: counts are no time line in $format" says "has no times" "$aiflame" export --format $format -o got.$format got.data
	check "folded: no file of $format is left" test ! -e got.$format
done

# Text in other encodings is the same text. same_as WANT: so is the import of in.txt.
same_as() { "$aiflame" import -q -o got.data in.txt && "$aiflame" report got.data >got && diff "$1" got; }
for kind in chrome folded iaprof intel_csv perf_script perf_stat perf_stat_csv perf_stat_json speedscope unitrace; do
	seed=$root/tests/fuzz/found/fuzz_import-$kind
	cp "$seed" in.txt
	check "$kind is read" "$aiflame" import -q -o got.data in.txt
	"$aiflame" report got.data >want.report
	for encoding in UTF-16LE UTF-16BE; do
		iconv -f UTF-8 -t $encoding "$seed" >in.txt
		check "$kind in $encoding" same_as want.report
	done
	{ printf '\377\376' && iconv -f UTF-8 -t UTF-16LE "$seed"; } >in.txt
	check "$kind in UTF-16 with its mark, as PowerShell writes it" same_as want.report
	{ printf '\357\273\277' && cat "$seed"; } >in.txt
	check "$kind with the mark of UTF-8" same_as want.report
done
iconv -f UTF-8 -t UTF-16LE "$in/tab.folded" >in.txt
check "UTF-16: flame says how to convert it" says "is text in UTF-16; convert it: aiflame import" "$aiflame" flame -o got.svg in.txt
"$aiflame" import -q -o piped.data "$seed"
check "flame of a profile on standard input says to name it" says "is read by its file's name" sh -c "'$aiflame' flame -o got.svg - <piped.data"
iconv -f UTF-8 -t UTF-16 "$in/tab.folded" | gzip >in.txt
check "UTF-16 that is packed: import says how to convert it" says "iconv -f UTF-16 -t UTF-8" "$aiflame" import -o got.data in.txt
done_testing
