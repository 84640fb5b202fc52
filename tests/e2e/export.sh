#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `aiflame export`: every format of a real recording and of one that the fake runtime makes (counted samples, executions that
# overlap on a stream, graphs, two devices), read back and compared with `aiflame query`; then by other programs.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/npm.sh"
. "$here/tap.sh"
fake=$build/tests/mock/fake_app
chromium=${CHROMIUM:-/usr/bin/chromium}
export AIFLAME_STANDBY="$work/standby"

cat >fake.script <<EOF
device 0 name="Fake GPU" kind=gpu units=4 clock=monotonic
device 1 name="Fake GPU" kind=gpu units=4 clock=monotonic
stream 0 device=0
stream 1 device=1 out_of_order=1
program 0
kernel 0 program=0 name=_Z5chainPfPKfi
kernel 1 program=0 name=_Z5callsPfPKfi
reason 0 name=long_scoreboard
reason 1 name=selected
code 0 name=_Z5chainPfPKfi object="$root/tests/golden/cubin/kernels_sm90a.cubin" hash=0xabcdef0123456789 symbol=19
now
window 0 device=0 start=0 end=10000000 period=132000 samples=512 lost=5 others=5
pc window=0 code=0 pc=0xc0 hits=0,300,1,52
counter 0 device=0 name=GpuBusy unit=%
counter 1 device=0 name="L3 bytes" unit=bytes
counter 2 device=0 name=threads
values counter=0 time=1000000 values=90,4096
values counter=0 time=2000000 values=95,12345678901234,7
values counter=2 time=3000000 values=8
launch stream=0 kernel=0 time=1000 stack=0x401000,0x402000 grid=64,1,1 block=8,1,1 start=1000000 end=4000000
launch stream=0 kernel=0 time=1100 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=4000000 end=5000000
launch stream=0 kernel=1 time=1200 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=5000000 end=7000000
launch stream=1 kernel=0 time=2000 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=1000000 end=4000000
launch stream=1 kernel=1 time=2100 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=2000000 end=3000000
launch stream=1 kernel=0 time=2200 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=2000000 end=6000000
launch stream=1 kernel=1 time=2300 stack=0x401010,0x402000 grid=64,1,1 block=8,1,1 start=3500000 end=9000000
sleep time=50000000
EOF
check "matmul is recorded" "$aiflame" record -q -F 200 -o real.data "$matmul" 96 2
check "a device that samples itself, with executions that overlap, is recorded" \
	"$aiflame" record -q --all-launches -o fake.data "$fake" fake.script
check "executions of the recording overlap on their streams" test "$("$aiflame" query --format csv fake.data 'SELECT count(*) FROM executions a JOIN executions b
	USING (stream) WHERE a.launch < b.launch AND a.start_ns < b.start_ns + b.dur_ns AND b.start_ns < a.start_ns + a.dur_ns' | tail -1)" -ge 4

formats=$("$aiflame" export -h | sed -n 's/^ *--format \([a-z|]*\)$/\1/p' | tr '|' ' ')
check "export -h lists the formats" test -n "$formats"
for f in $formats; do
	check "the help says in a line what $f is for" sh -c "'$aiflame' export -h | grep -Eq '^  $f  +(NAME\\.[a-z.]+|a (log )?directory)  +[a-zA-Z]'"
done
formats=$(echo "$formats" | tr ' ' '\n' | grep -vx elf) # which has no times: device binaries, below
have_protoc=$(command -v protoc || :)
# decoded FORMAT FILE: with all fields known to viewers.proto
decoded() {
	case $1 in
	pprof) type=Pprof ;; perfetto) type=Perfetto ;; otlp) type=Otlp ;; tensorboard) type=XSpace ;;
	esac
	file=$2
	[ "$1" != pprof ] || { gzip -dc "$file" >plain.pb && file=plain.pb; }
	[ "$1" != tensorboard ] || file=$(find "$file" -name '*.xplane.pb')
	protoc --proto_path="$here" --decode=$type viewers.proto <"$file" >decoded.txt && [ -s decoded.txt ] &&
		! grep -nE '^ *[0-9]+[ :]' decoded.txt
}
for data in real fake; do
	for f in $formats; do
		out=$data.$f
		if [ "$f" = iaprof ] && [ "$("$aiflame" query --format csv $data.data 'SELECT count(*) FROM samples' | tail -1)" = 0 ]; then
			skip "$data.data is exported as $f" "no samples of kernels here"
			continue
		fi
		check "$data.data is exported as $f" "$aiflame" export --format "$f" -o "$out" $data.data
		[ "$f" = sqlite ] || check "$f of $data.data has what query has" python3 "$here/export_check.py" "$aiflame" $data.data "$f" "$out"
		case $f in
		pprof | perfetto | otlp | tensorboard)
			if [ -n "$have_protoc" ]; then
				check "$f has no fields that its readers do not know" decoded "$f" "$out"
			else
				skip "$f has no fields that its readers do not know" "no protoc here"
			fi
			;;
		esac
	done
done
# A trace has operators, ranges and calls to their ends.
python3 "$here/import_traces.py" .
check "a trace is imported" "$aiflame" import -q -o trace.data cuda.json
for f in chrome perfetto firefox tensorboard; do
	check "a trace is exported as $f" "$aiflame" export --format $f -o trace.$f trace.data
	check "$f of a trace has its operators, ranges and calls" python3 "$here/export_check.py" "$aiflame" trace.data $f trace.$f
done
# Operators without numbers of their own, as those of recordings: each kernel is to stand under its own in other readers.
cat >numberless.json <<'END'
[{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":1,"dur":100,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":1,"ts":10,"dur":50,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":20,"dur":5,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":40,"args":{"device":0,"stream":7,"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":70,"dur":5,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"bias","pid":0,"tid":7,"ts":80,"dur":10,"args":{"device":0,"stream":7,"correlation":2}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":1,"tid":1,"ts":105,"dur":60,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":1,"tid":1,"ts":110,"dur":30,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":115,"dur":5,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"relu","pid":0,"tid":7,"ts":125,"dur":20,"args":{"device":0,"stream":7,"correlation":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":150,"dur":5,"args":{"correlation":4}},
{"ph":"X","cat":"kernel","name":"alone","pid":0,"tid":7,"ts":160,"dur":20,"args":{"device":0,"stream":7,"correlation":4}}]
END
"$aiflame" import -q -o numberless.data numberless.json
"$aiflame" export --format chrome -o numberless.chrome numberless.data
for data in numberless trace fake real; do
	check "PyTorch's TensorBoard plug-in finds operators, calls and kernels of $data.data" python3 "$here/torch_viewer.py" "$aiflame" $data.data $data.chrome
done
check "each kernel of operators without numbers stands under its own operator" says "3 operators, 4 calls, 3 of them in operators, 4 executions, 4 of them of calls, 1 steps" \
	python3 "$here/torch_viewer.py" "$aiflame" numberless.data numberless.chrome
# Where launches were left out, and in pauses, nothing is known of a device: it is not drawn as an idle one.
cuda=$build/tests/mock/cuda
dense() { # NAME OPTIONS...: of many launches, dear ones, so that the budget leaves some out
	name=$1
	shift
	LD_LIBRARY_PATH=$cuda MOCK_CUPTI=callback=400,record=2000 timeout -k 5 60 "$aiflame" record -q -o "$name.data" "$@" \
		"$cuda/app" -t 2 -c -g 0 -b 20000 -n 60000 "$root/tests/golden/cubin/kernels_sm90a.cubin"
}
gap_sum() { "$aiflame" query --format csv "$1.data" "SELECT coalesce(sum(end_ns - start_ns), 0) FROM windows WHERE device IS NULL AND NOT held" | tail -1; }
check "a recording that leaves launches out is made" dense left
check "the recording that leaves launches out has times without them" test "$(gap_sum left)" -gt 500000000
check "a recording that begins late is made" dense late --delay 0.5 --all-launches
check "the recording that begins late has a pause" test "$(gap_sum late)" -gt 300000000
for data in left late; do
	for f in chrome perfetto firefox tensorboard; do
		check "$data.data is exported as $f" "$aiflame" export --format $f -o $data.$f $data.data
		check "$f of $data.data shows what was not collected, and no curve there" python3 "$here/export_check.py" "$aiflame" $data.data $f $data.$f
	done
done
# A part that begins with what was captured first, and ends within the longest time without.
to=$("$aiflame" query --format csv left.data "SELECT end_ns - 1000000 FROM windows
	WHERE device IS NULL AND NOT held ORDER BY end_ns - start_ns DESC LIMIT 1" | tail -1)
"$aiflame" query --format csv left.data "SELECT DISTINCT start_ns, min(end_ns, $to) FROM windows
	WHERE device IS NULL AND NOT held AND start_ns < $to ORDER BY start_ns" | tail -n +2 | tr -d '\r' >want.csv
part_is() { "$aiflame" export --format chrome --time "0,$1" -o - left.data | grep '"cat":"not_collected"' >got.json && python3 -c "
import json
got = [json.loads(line.strip().rstrip(',')) for line in open('got.json')]
want = [list(map(int, line.split(','))) for line in open('want.csv')]
print(got, want)
assert len(got) == len(want) > 0
for g, (start, end) in zip(got, want):
	assert abs(g['ts'] * 1e3 - start) < 10 and abs(g['dur'] * 1e3 - (end - start)) < 10"; }
check "a part of a recording has the times that were not collected in it, and no others" part_is "$(echo "$to" | awk "{ printf \"%.9f\", \$1 / 1e9 }")"
# Its readers go by whole names.
name='void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)'
printf '[{"ph":"X","pid":0,"tid":7,"cat":"kernel","name":"%s","ts":1,"dur":2,"args":{"device":0,"stream":7}}]' "$name" >whole.json
"$aiflame" import -q -o whole.data whole.json
for d in brief normal full; do
	check "chrome, $d: a kernel's name is that of the trace" says "\"cat\":\"kernel\",\"name\":\"$name\"" "$aiflame" export --detail $d --format chrome -o - whole.data
done
# A copy between devices is none within one.
cat >peer.json <<'END'
[{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyPeerAsync","pid":1,"tid":1,"ts":1,"dur":5,"args":{"correlation":1}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy PtoP (Device -> Device)","pid":0,"tid":7,"ts":10,"dur":30,"args":{"device":0,"stream":7,"correlation":1,"bytes":4096}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":50,"dur":5,"args":{"correlation":2}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoD (Device -> Device)","pid":0,"tid":7,"ts":60,"dur":30,"args":{"device":0,"stream":7,"correlation":2,"bytes":4096}}]
END
"$aiflame" import -q -o peer.data peer.json
copies_of() { "$aiflame" export --format chrome -o - peer.data | sed -n 's/.*"cat":"gpu_memcpy","name":"\([^"]*\)".*/\1/p' | sort | tr '\n' ,; }
check "chrome tells copies between devices from those within one" test "$(copies_of)" = "Memcpy DtoD (Device -> Device),Memcpy PtoP (Device -> Device),"
check "report --copies tells copies between devices from those within one" says "Memcpy PtoP (Device -> Device)" "$aiflame" report --copies peer.data
# What goes out for Chrome comes in again: stacks, names, and a second time the same.
towers() { "$aiflame" flame --detail "$1" --leaf kernel --format folded -o - "$2"; }
names_of() {
	for t in threads processes devices; do "$aiflame" query --format csv "$1" "SELECT * FROM $t" || return 1; done
	"$aiflame" query --format csv "$1" "SELECT count(DISTINCT stack) FROM launches UNION ALL SELECT count(DISTINCT stack) FROM ops"
}
comes_back() { # DATA DETAIL
	"$aiflame" export --detail "$2" --format chrome -o back.json "$1.data" && "$aiflame" import -q -o back.data back.json &&
		towers "$2" "$1.data" >towers.folded && towers "$2" back.data >back.folded && [ -s towers.folded ] && diff towers.folded back.folded
}
for d in normal full; do
	check "a trace comes back from chrome with equal stacks, $d" comes_back trace $d
done
# With what the budget left out: launches stand for as many as before, and that time is no idle one.
stands_for() {
	"$aiflame" query --format csv "$1" "SELECT count(*), sum(dur_ns), round(sum(dur_ns * weight)) FROM executions" &&
		"$aiflame" query --format csv "$1" "SELECT k.name, a.kind, sum(a.time_ns), sum(a.launches) FROM attributed a LEFT JOIN kernels k ON k.id = a.kernel GROUP BY 1, 2 ORDER BY 1, 2" &&
		"$aiflame" query --format csv "$1" "SELECT count(*), sum(end_ns - start_ns), sum(launches) FROM windows WHERE device IS NULL" &&
		"$aiflame" report --kernels --format json "$1" | python3 -c "import json, sys; print(sorted((r['kernel'], r['caller'], r['launches'], r['time'], r['error']) for r in json.load(sys.stdin)['rows']))"
}
back_stands_for() {
	"$aiflame" export --format chrome -o again.json "$1.data" 2>said.txt && ! grep -v ': incomplete: ' said.txt && "$aiflame" import -q -o again.data again.json &&
		stands_for "$1.data" >stands.txt && stands_for again.data >back.txt && [ -s stands.txt ] && diff stands.txt back.txt
}
for data in left late; do
	check "$data.data comes back from chrome with launches that stand for as many, by the same callers" back_stands_for $data
done
check "a recording without times is made" dense timeless --cupti launches
launches_of() { "$aiflame" flame --by launches --format folded -o - "$1" && "$aiflame" query --format csv "$1" "SELECT l.kind, k.name, count(*), count(DISTINCT l.stack) FROM launches l LEFT JOIN kernels k ON k.id = l.kernel GROUP BY 1, 2 ORDER BY 1, 2"; }
launches_come_back() {
	"$aiflame" export --format chrome -o again.json timeless.data && "$aiflame" import -q -o again.data again.json &&
		launches_of timeless.data >launches.txt && launches_of again.data >back.txt && [ "$(wc -l <launches.txt)" -ge 5 ] && diff launches.txt back.txt
}
check "launches without times come back from chrome as launches" launches_come_back
check "an export of some kernels says that launches were left out" says "launches were left out (--overhead): again.json has only those that were captured" \
	"$aiflame" export --format chrome --kernel chain -o again.json left.data
check "an import of an export knows what was not collected" sh -c "'$aiflame' import -q -o again.data again.json && '$aiflame' info again.data | grep -q 'not collected'"
for f in perfetto tensorboard; do
	check "$f says that launches were left out" says "launches were left out (--overhead): left.$f has" "$aiflame" export --format $f -o left.$f left.data
done
check "a trace that comes back from chrome has Python frames and operators" sh -c "grep -q 'main (train.py)_\[p\].*;aten::mm;cudaLaunchKernel;' back.folded"
names_of trace.data >names.txt && names_of back.data >back.txt
check "a trace that comes back from chrome has the names of threads, processes and devices" diff names.txt back.txt
mv back.data once.data
check "a trace comes back from chrome a second time with equal stacks" comes_back once full
names_of back.data >back.txt
check "a trace that comes back a second time has the names of threads, processes and devices" diff names.txt back.txt
check "a recording comes back from chrome with equal stacks: native, inlined and calls" comes_back real normal
# A table of frames that is damaged: callers that come later or are the frame itself, numbers out of order, values of all types.
cat >frames.json <<EOF
{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":100,"sf":4294967295,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":2,"dur":3,"sf":3,"args":{"correlation":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":1,"tid":1,"ts":9,"dur":3,"sf":"2"},
{"ph":"X","cat":"cuda_runtime","name":"cudaFree","pid":1,"tid":1,"ts":19,"dur":3,"sf":{"a":[1]}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":5,"args":{"device":0,"stream":7,"correlation":7}}],
"stackFrames":{"1":{"name":"one","kind":"python","parent":1,"file":"one.py","line":-5},"3":{"name":"later","kind":"op"},
"2":{"name":"","kind":"call","parent":3},"3":{"name":"three","kind":"what","parent":1,"line":99999999999999,"category":[{}]},
"4":[1,[2]],"x":{"kind":{}},"4":{"name":"four","kind":"mark","parent":2,"args":{"a":{"b":[]}}}}}
EOF
check "a damaged table of stack frames is imported" "$aiflame" import -q -o frames.data frames.json
check "a damaged table of stack frames has what is whole of it" says "one (one.py)_[p];three;k_[g] 5000" towers full frames.data
if [ -n "$have_protoc" ]; then
	check "perfetto of a trace has no fields that its readers do not know" decoded perfetto trace.perfetto
else
	skip "perfetto of a trace has no fields that its readers do not know" "no protoc here"
fi
# Names of any bytes.
printf 'ma\377in;\376;k\303_[g] 5000\nma\303\244in;k_[g] 3000\n' >bytes.folded
check "names of any bytes are imported" "$aiflame" import -q -o bytes.data bytes.folded
check "names of any bytes are exported as csv" "$aiflame" export --format csv -o bytes.csv bytes.data
check "csv of names of any bytes is UTF-8" python3 "$here/export_check.py" "$aiflame" bytes.data csv bytes.csv
check "csv marks the bytes of a name that are no UTF-8" grep -q "ma$(printf '\357\277\275')in" bytes.csv/strings.csv
check "csv keeps the bytes of a name that are UTF-8" grep -q "ma$(printf '\303\244')in" bytes.csv/strings.csv
check "names of any bytes, and code, are exported as sqlite" sh -c "'$aiflame' export -o bytes.sqlite bytes.data && '$aiflame' export -o code.sqlite real.data"
check "Python reads sqlite of names of any bytes and of code" python3 -c "
import sqlite3
for name in 'bytes.sqlite', 'code.sqlite':
    db = sqlite3.connect(name)
    for (table,) in db.execute(\"SELECT name FROM sqlite_master WHERE type = 'table'\").fetchall():
        db.execute('SELECT * FROM ' + table).fetchall()"
for t in real.csv/*.csv; do
	t=${t##*/}
	check "query's help names ${t%.csv}" sh -c "'$aiflame' query -h | grep -qw '${t%.csv}'"
done
check "overlapping executions are on lanes of their stream" sh -c "
	python3 -c \"import json; print(sorted(e['args']['name'] for e in json.load(open('fake.chrome'))['traceEvents']
		if e['ph'] == 'M' and e['name'] == 'thread_name' and e['args']['name'].startswith('stream')))\" |
	grep -qF \"'stream 0', 'stream 1', 'stream 1 (2)', 'stream 1 (3)'\""

check "chrome has the whole name of a recorded kernel" grep -qF '"name":"chain(float*, float const*, int)"' fake.chrome
check "the ending of a file's name decides the format" sh -c "
	'$aiflame' export -o a.pb.gz fake.data && cmp a.pb.gz fake.pprof &&
	'$aiflame' export -o a.speedscope.json fake.data && cmp a.speedscope.json fake.speedscope &&
	'$aiflame' export -o a.firefox.json fake.data && cmp a.firefox.json fake.firefox &&
	'$aiflame' export -o a.json fake.data && cmp a.json fake.chrome &&
	'$aiflame' export -o a.pftrace fake.data && cmp a.pftrace fake.perfetto &&
	'$aiflame' export -o a.otlp fake.data && cmp a.otlp fake.otlp && '$aiflame' export -o a.folded fake.data && cmp a.folded fake.folded &&
	'$aiflame' export -o a.iaprof fake.data && cmp a.iaprof fake.iaprof"
check ".gz at the end of a file's name compresses" sh -c "
	'$aiflame' export -o a.json.gz fake.data && gzip -t a.json.gz && gzip -dc a.json.gz | cmp - fake.chrome &&
	'$aiflame' export -o a.speedscope.json.gz fake.data && gzip -dc a.speedscope.json.gz | cmp - fake.speedscope"
check "a file's name whose ending names no format is refused" status_is 2 "$aiflame" export -o a.png fake.data
check "a refused file's name is answered with the formats" says "pprof|speedscope|" "$aiflame" export -o a.png fake.data
check "-o - writes to standard output" sh -c "'$aiflame' export --format perfetto -o - fake.data | cmp - fake.perfetto"
check "-o - is refused for a directory of tables" says "standard output cannot be" "$aiflame" export --format csv -o - fake.data
check "export does not write over its profile" status_is 2 "$aiflame" export --format pprof -o fake.data fake.data
check "a profile that was named as its own output still is one" "$aiflame" info fake.data
# What aiflame wrote may be written anew, as whatever it is.
for f in pprof speedscope otlp folded chrome perfetto firefox iaprof sqlite; do
	check "export writes over its own output: $f" sh -c "cp fake.$f anew.out && '$aiflame' export --format $f -o anew.out fake.data && cmp anew.out fake.$f && '$aiflame' export --format folded -o anew.out fake.data"
done
check "export writes over its own compressed output, pictures and empty files" sh -c "
	'$aiflame' export -o a.json.gz fake.data && '$aiflame' flame -o a.svg fake.data && '$aiflame' flame --title 'b & c' -o a.svg fake.data && : >empty.json && '$aiflame' export -o empty.json fake.data"
somebodys() { # FILE ARGS...: is not written over
	kept=$1
	shift
	cp "$kept" somebodys && ! "$aiflame" "$@" -o somebodys fake.data 2>e.txt && grep -q "^aiflame: cannot write somebodys: it exists and is no picture or export of aiflame's; " e.txt && cmp "$kept" somebodys
}
printf '# Notes\nto be kept\n' >notes.txt
printf '{\n  "schemaVersion": 1,\n  "traceEvents": []}\n' | gzip >torch.json.gz
printf '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>\n' >logo.svg
python3 -c "import sqlite3; d = sqlite3.connect('db.sqlite'); d.execute('CREATE TABLE mine(a)')"
for file in notes.txt torch.json.gz logo.svg db.sqlite trace.data "$aiflame"; do
	check "export does not write over somebody's ${file##*/}" somebodys "$file" export --format chrome
	check "flame does not write over somebody's ${file##*/}" somebodys "$file" flame --format svg
done
check "a full disk leaves no part of an export" sh -c "
	! '$aiflame' export --format chrome -o /dev/full fake.data 2>e.txt && grep -q 'disk is full' e.txt"
check "export says that the directory of its output does not exist" says "its directory does not exist" "$aiflame" export --format otlp -o nowhere/x fake.data
check "a log directory of TensorBoard is made with the directories above it" sh -c "
	'$aiflame' export --format tensorboard -o made/above/logs fake.data && [ -s made/above/logs/plugins/profile/*/*.xplane.pb ]"
check "the directory of a trace for PyTorch's TensorBoard plug-in is made" sh -c "
	'$aiflame' export --format chrome -o made/logs/host.pt.trace.json.gz fake.data && [ -s made/logs/host.pt.trace.json.gz ]"
made_nothing() { ! "$aiflame" export --format tensorboard --max-size 1 -o unmade/above/logs fake.data 2>e.txt && grep -q 'larger than' e.txt && [ ! -e unmade ]; }
check "a log directory that could not be written is not left, nor the directories above it" made_nothing
check "folded text is drawn, and comes back as it was" sh -c "
	'$aiflame' flame fake.folded -o again.svg && '$aiflame' flame fake.folded --format folded -o again.folded && cmp again.folded fake.folded"
check "--kernel exports a part as folded text" sh -c "
	'$aiflame' export --format folded --kernel calls -o - fake.data | grep calls && ! '$aiflame' export --format folded --kernel calls -o - fake.data | grep -v calls"
check "--kernel exports a part of a time line" test "$("$aiflame" export --format chrome --kernel calls -o - fake.data | grep -c '"cat":"kernel"')" = 3
check "--device and --process export a part of a time line" test "$("$aiflame" export --format chrome --device 'Fake' --process fake_app -o - fake.data | grep -c '"cat":"kernel"')" = 7
check "--kernel is refused for tables" status_is 2 "$aiflame" export --format csv --kernel calls -o t fake.data
# Device binaries, as readelf sees them.
pocl_binary() { # KERNEL: the function that PoCL executes is in it, of the size that is known here
	"$aiflame" export --kernel "$1" -o "$1.elf" kernels.data && size=$("$aiflame" query --format csv kernels.data "SELECT size FROM codes WHERE name = '$1' AND arch <> 'elf'" | tail -1) &&
		readelf -sW "$1.elf" | grep -Eq " $size FUNC .* _pocl_kernel_$1_workgroup"
}
binaries() { "$aiflame" query --format csv kernels.data "SELECT count(*) FROM codes WHERE arch = 'elf'" | tail -1; }
# The short kernels may be sampled late, or not at all.
for times in 3 12 48; do
	"$aiflame" record -q -F 999 -o kernels.data "$matmul" 384 $times
	[ "$(binaries)" -gt 1 ] && break
done
if command -v readelf >/dev/null && [ "$(binaries)" -gt 1 ]; then
	check "PoCL's library of a kernel is a file that readelf reads" pocl_binary multiply_basic
	check "several device binaries for one file are refused, with their names" says "choose one with --kernel RE, or write all into a directory" "$aiflame" export -o several.elf --kernel multiply kernels.data
	check "several device binaries for one file leave no file" test ! -e several.elf
	all_binaries() {
		"$aiflame" export --format elf -o binaries/ kernels.data && [ "$(find binaries -name 'multiply_*-*.elf' | wc -l)" = "$(binaries)" ] &&
			cmp binaries/multiply_basic-*.elf multiply_basic.elf && for f in binaries/*; do readelf -h "$f" >/dev/null || return 1; done
	}
	check "all device binaries are written into a directory" all_binaries
	check "a kernel that no device binary has is refused, with those there are" says "no device binary has a kernel that matches --kernel nosuch; there are binaries of multiply_" "$aiflame" export -o no.elf --kernel nosuch kernels.data
	check "--time is refused for device binaries" status_is 2 "$aiflame" export -o no.elf --time 0,1 kernels.data
	check "a recording with --no-code has no device binaries, and says why" sh -c "'$aiflame' record -q --no-code -F 200 -o bare.data '$matmul' 96 2 && ! '$aiflame' export -o no.elf bare.data 2>e.txt && grep -q 'no device binary: .*--no-code' e.txt && [ ! -e no.elf ]"
else
	skip "PoCL's library of a kernel is a file that readelf reads" "no readelf, or no samples of kernels"
fi
"$aiflame" record -q -o empty.data true
for f in pprof speedscope chrome perfetto firefox tensorboard otlp folded iaprof; do
	check "$f of a time without activity makes no file and says why" sh -c "! '$aiflame' export --format $f --time 500,600 -o empty.out fake.data 2>e.txt && grep -q '; see' e.txt && [ ! -e empty.out ]"
	check "$f of a recording without activity makes no file and says why" sh -c "! '$aiflame' export --format $f -o empty.out empty.data 2>e.txt && grep -q '; see' e.txt && [ ! -e empty.out ]"
done

# ---- of a damaged profile ------------------------------------------------------------------------
# Of each kind of chunks one cannot be decoded. The kinds: launches, executions, samples, windows, CPU samples, operators.
python3 - >long.json <<'END'
import json
events = []
for at in range(0, 33000 * 200, 200): # more than one chunk has of each
    events += [dict(ph="X", cat="cpu_op", name="aten::mm", pid=1, tid=1, ts=at, dur=100),
               dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=at + 1, dur=5, args=dict(correlation=at + 1)),
               dict(ph="X", cat="cuda_runtime", name="cudaDeviceSynchronize", pid=1, tid=1, ts=at + 9, dur=50),
               dict(ph="X", cat="kernel", name="gemm", pid=0, tid=7, ts=at + 20, dur=30, args=dict(device=0, stream=7, correlation=at + 1))]
print(json.dumps(events))
END
"$aiflame" import -q -o damaged.data long.json
damaged() { # FILE KIND...
	python3 - "$@" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    for kind in sys.argv[2:]:
        assert db.execute("UPDATE chunk SET data = x'0011223344' WHERE id = (SELECT max(id) FROM chunk WHERE kind = ?)", (int(kind),)).rowcount == 1, kind
END
}
check "four chunks of a profile are damaged" damaged damaged.data 1 2 5 6
"$aiflame" import -q -o emptied.data cuda.json
damaged emptied.data 2
for f in $formats; do
	case $f in
	chrome | perfetto | firefox | csv | sqlite) parts=4 ;;
	iaprof) continue ;;     # samples only
	folded) parts=2 ;; # device time only
	*) parts=3 ;; # no operators; tensorboard no CPU time
	esac
	check "$f of a damaged profile says how many parts are missing" says "aiflame: damaged.data: $parts parts" "$aiflame" export --format "$f" -o "damaged.$f" damaged.data
	check "$f of a damaged profile says which file lacks them" grep -q "part.* damaged: what .* held is missing in damaged.$f\$" says.out
	check "$f of a damaged profile is written" status_is 0 "$aiflame" export --format "$f" -o "damaged.$f" damaged.data
done
for t in launches ops calls queue; do
	check "SQL on $t of a damaged profile says that parts are missing" says "missing above" "$aiflame" query -i damaged.data "select count(*) from $t"
done
check "an export of which nothing is left says that its part is damaged" says "part of it is damaged: what it held is missing" "$aiflame" export --format folded -o none.folded emptied.data
check "an export of a whole profile says nothing of damage" sh -c "! '$aiflame' export --format chrome -o whole.out trace.data 2>&1 | grep -v ': incomplete: '"
check "report says that damaged chunks are not in its table" says "2 damaged chunks are not in it" "$aiflame" report --kernels damaged.data
check "a picture of CPUs says that a part of the file is damaged" says "BROKEN: 1 part of the file is damaged" "$aiflame" flame --of cpu -o - damaged.data

# ---- what ends it early --------------------------------------------------------------------------
# Long enough that it can be met while it writes.
python3 -c "
print('[')
for i in range(60000):
    print('{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":3,\"args\":{\"External id\":%d}},' % (i, 10 * i, i + 1))
print('{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":3,\"dur\":5,\"args\":{\"device\":0,\"stream\":7,\"External id\":1}}]')
" >many.json
# stopped_twice WHAT PATTERN NAME COMMAND...
stopped_twice() {
	stopped=$1
	shift
	python3 "$here/stop_twice.py" "$@" >stopped.out 2>&1
	case $? in
	77) skip "$stopped" "it is always quicker than what would stop it here" ;;
	0) check "$stopped" true ;;
	*) check "$stopped" sh -c "cat stopped.out; exit 1" ;;
	esac
}
stopped_twice "two signals leave nothing of an import" 'many.data.part*' many.data "$aiflame" import -o many.data many.json
check "an import that no signal interrupts makes its profile" "$aiflame" import -q -o many.data many.json
for f in chrome perfetto sqlite; do
	stopped_twice "two signals leave nothing of an export as $f" "many.out.*.tmp" many.out "$aiflame" export --format $f -o many.out many.data
done
stopped_twice "two signals leave nothing of a directory of tables" "many.csv/*.csv*" many.csv "$aiflame" export --format csv -o many.csv many.data
check "a directory of tables that was interrupted leaves the profile, and nothing of itself" test ! -e many.csv -a -s many.data
# Without a shell's `trap '' XFSZ`, by which writing fails and nobody is killed.
for f in chrome sqlite csv; do
	check "$f that exceeds the limit of file sizes says so" sh -c "ulimit -f 100; '$aiflame' export --format $f -o limited.out many.data 2>&1 | grep -qi 'too large'"
	check "$f that exceeds the limit of file sizes leaves nothing" sh -c "! ls -d limited.out*"
done
check "an import that exceeds the limit of file sizes says so" sh -c "ulimit -f 100; '$aiflame' import -o limited.data many.json 2>&1 | grep -qi 'too large'"
check "an import that exceeds the limit of file sizes leaves nothing" sh -c "! ls -d limited.data*"

# ---- by other programs ---------------------------------------------------------------------------
if command -v go >/dev/null && go tool pprof -h 2>&1 | grep -q top; then
	check "go tool pprof shows the kernels" says "multiply_basic" go tool pprof -top -sample_index=device_time real.pprof
	check "go tool pprof groups by stall reasons" says "long_scoreboard" go tool pprof -tags fake.pprof
else
	skip "go tool pprof shows the kernels" "no go tool pprof here"
fi
if said=$(npm_packages); then
	mkdir viewers
	cp real.pprof viewers/x.pb.gz && cp real.speedscope viewers/x.speedscope.json && cp real.folded viewers/x.folded && cp real.chrome viewers/x.json
	# Nothing of a CPU in it.
	check "a time line without CPU samples is exported" "$aiflame" export --format chrome --device . -o viewers/unsampled.json real.data
	check "a time line without CPU samples has no list of them" sh -c "! grep -q '\"samples\"' viewers/unsampled.json"
	device_ns=$("$aiflame" query --format csv real.data "SELECT sum(weight_ns) FROM attributed" | tail -1)
	check "speedscope and pprof's own parser read the exports" env CHROMIUM="$chromium" node "$here/export_viewers.mjs" "$device_ns" viewers
elif [ $? -eq 77 ]; then
	skip "speedscope and pprof's own parser read the exports" "$said"
else
	check "npm ci in tests/e2e brings speedscope and pprof's own parser" sh -c 'echo "$1"; exit 1' sh "$said"
fi
done_testing
