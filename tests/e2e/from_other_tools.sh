#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every row of docs/from-other-tools.md: what its middle cell says to type is taken from the page, run as it stands there
# but for names (FILE, KERNEL ...), and followed by a look at what came of it. A row without a case here fails; rows that
# cannot be run are listed with the reason and counted. No hardware of NVIDIA, Intel or IBM is in it: Level Zero is its
# real loader above a SIMULATED driver, the xe driver is simulated, and traces are made by the rules of their writers.
# Rows are tried side by side, each in a folder and among recordings of its own.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e
PATH=$(dirname "$aiflame"):$PATH
export PYTHONPATH="$root/python:$root/examples" AIFLAME="$aiflame"
python=/usr/bin/python3
top=$work jobs=0
trap 'rm -rf "$top"' EXIT
mkdir rows.d
mkfifo free && exec 9<>free
for _ in $(seq $(($(nproc) + 1))); do echo >&9; done
# own FOLDER: recordings that begin from here on are announced there
own() {
	work=$1
	mkdir -p "$work" && mkdir -m 700 "$work/run" || exit 1
	cd "$work" || exit 1
	export XDG_RUNTIME_DIR="$work/run" AIFLAME_STANDBY="$work/standby"
}
own "$top/made"
# later COMMAND...: a case or several, beside others; what they print is printed by collect, in order
later() {
	jobs=$((jobs + 1))
	read -r _ <&9
	{
		(own "$(printf '%s/rows.d/%03d' "$top" $jobs)" && "$@") >"$(printf '%s/rows.d/%03d.tap' "$top" $jobs)" 2>&1 9<&- </dev/null
		echo >&9
	} &
}
collect() {
	wait
	cat "$top"/rows.d/*.tap | awk -v n=$n '/^(not )?ok [0-9]+/ { sub(/ok [0-9]+/, "ok " ++n) } { print } END { print n >"'"$top"'/cases" }'
	n=$(cat "$top/cases")
	failed=$((failed + $(cat "$top"/rows.d/*.tap | grep -c '^not ok ')))
}

# ---- the page ----
# A row a line: their cell, ours, separated by a tab; without backticks in theirs.
sed 's/\\|/\x01/g' "$root/docs/from-other-tools.md" | awk -F ' *[|] *' '/^\| / && $2 != "theirs" { gsub("`", "", $2); print $2 "\t" $3 }' | tr '\001' '|' >"$top/rows"
: >"$top/tried"
# find_row START: the row that begins so, and none but it; into $theirs and $cell
find_row() {
	theirs=$(awk -F '\t' -v s="$1" 'index($1, s) == 1 { print $1 }' "$top/rows")
	cell=$(awk -F '\t' -v s="$1" 'index($1, s) == 1 { print $2 }' "$top/rows")
	[ "$(printf '%s\n' "$theirs" | grep -c .)" = 1 ] || { theirs=$1 cell='no such row, or several'; return 1; }
	printf '%s\n' "$theirs" >>"$top/tried"
}
# The words to type of $cell, a line each. An option alone belongs to the command before it.
words() {
	printf '%s\n' "$cell" | grep -oE '`[^`]*`' | tr -d '`' | awk '
		/^-/ { if (held ~ /^aiflame /) held = held " " $0; next }
		{ if (held != "") print held; held = $0 }
		END { if (held != "") print held }'
}
# typed COMMAND: it runs here, with what it prints in `out`; ten minutes each on a machine that is shared
typed() {
	echo "$1" >command
	timeout -k 5 600 ${env_words-} sh -c "$1" >out 2>&1 || { echo "status $? of: $1"; tail -n 12 out; return 1; }
	cat out >>all
}
# row START KIT [SED [LOOK]]: all commands of aiflame's in the row, one after the other, in a copy of the folder KIT, after
# SED has put in names; then LOOK, a condition of the shell in that folder: `out` is what the last command printed, `all`
# what all did
row() { later row_now "$@"; }
row_now() {
	find_row "$1" || { check "$1" false; return; }
	cp -r "$top/made/$2" now
	cd now || exit 1
	: >all
	words | grep '^aiflame ' | sed -E "${3:-}" >commands
	[ -s commands ] || [ -n "${4:-}" ] || check "$theirs: the page names a command" false
	while read -r command; do check "$theirs: $command" typed "$command"; done <commands
	[ -z "${4:-}" ] || check "$theirs: the command did what the page says" sh -c "$4"
}
# unrun START WHY: a row that cannot be run here
unrun_rows=0
unrun() {
	unrun_rows=$((unrun_rows + 1))
	later unrun_now "$@"
}
unrun_now() {
	find_row "$1" || { check "$1" false; return; }
	skip "$theirs" "$2"
}

# ---- what there is to try it on: folders with run.data, which is aiflame.data, too, and a program ./workload ----
export XDG_CACHE_HOME="$top/cache"
export CK_V7_PERF_MIN_DECODE_TOK_S=0.01 # how fast this machine is just now is not asked
program() { # KIT COMMAND
	printf '#!/bin/sh\nexec %s\n' "$2" >"$1/workload"
	chmod +x "$1/workload"
}
mkdir cl cpu trace book ze
program cl "\"$build/examples/matmul\" 64 8"
program cpu "\"$build/tests/e2e/runbook_app\" 60 0"
program book "\"$build/tests/e2e/runbook_app\" 120 0"
[ ! -x "$build/examples/matmul" ] || check "an OpenCL program is recorded for the page's rows" sh -c 'cd cl && "$AIFLAME" record -q --all-launches -F 999 -o run.data ./workload'
check "a program without a device is recorded for the page's rows" sh -c 'cd cpu && "$AIFLAME" record -q --cpu -o run.data ./workload'
check "a run directory is made for the page's rows" sh -c 'cd book && "$AIFLAME" runbook run -r 1 -d DIR --mode decode -- ./workload && cp -r DIR before'
python3 "$here/import_traces.py" trace && mv trace/cuda.json trace/trace.json && python3 "$here/aiu_guide.py" trace/guide.json
check "traces are imported for the page's rows" sh -c 'cd trace && "$AIFLAME" import -q -o run.data trace.json && "$AIFLAME" import -q -o aiu.data aiu.json &&
	"$AIFLAME" import -q -o guide.data guide.json'
# What Python rows run: a kernel, then the words of the row by number, w(0) the first that is no command.
cat >python_row.py <<'END'
import os, pyopencl, aiflame
context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
queue = pyopencl.CommandQueue(context)
kernel = pyopencl.Program(context, "__kernel void add_one(__global int *x) { x[get_global_id(0)]++; }").build().add_one
memory = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4096)
words = open("words").read().splitlines() if os.path.exists("words") else []
def w(n, *puts):
    for a, b in zip(puts[::2], puts[1::2]):
        assert a in words[n], words[n]
        words[n] = words[n].replace(a, b)
    return words[n]
def launch(n=3):
    for _ in range(n):
        kernel(queue, (1024,), None, memory)
    queue.finish()
def deep(n):
    return deep(n - 1) if n else launch(5)
END
{ cat python_row.py && echo 'deep(200)'; } >cl/program.py
have_python=
"$python" -c 'import pyopencl' 2>/dev/null && have_python=1
# python_row START PROGRAM [SED [LOOK]]: PROGRAM in a process that carries the agent, then the row's commands
python_row() {
	if [ -z "$have_python" ]; then
		unrun "$1" "no python3-pyopencl"
		return
	fi
	later python_row_now "$@"
}
python_row_now() {
	find_row "$1" || { check "$1" false; return; }
	cp -r "$top/made/cl" now
	cd now || exit 1
	: >all
	words | grep -v '^aiflame ' >words
	{ cat "$top/made/python_row.py" && echo "$2"; } >row.py
	check "$theirs: $(tr '\n' ' ' <words)" sh -c 'eval "$("$AIFLAME" env)" && exec timeout -k 5 60 "$0" row.py' "$python"
	words | grep '^aiflame ' | sed -E "${3:-}" >commands
	while read -r command; do check "$theirs: $command" typed "$command"; done <commands
	[ -z "${4:-}" ] || check "$theirs: the command did what the page says" sh -c "$4"
}
# An Intel GPU: Intel's own driver in AUB mode compiles a kernel and gives it an address, stalls come from the simulated xe
# driver. Where that is not installed the rows are left out.
mock=$build/tests/mock/level_zero
fakexe=$build/tests/mock/xe/fakexe
have_ze='' why_ze="no Intel driver and compiler, or no seccomp: apt-get install intel-opencl-icd libigc1 libigdfcl1 libigc-tools"
intel="env -u ZE_ENABLE_ALT_DRIVERS NEOReadDebugKeys=1 SetCommandStreamReceiver=1 ProductFamilyOverride=pvc HardwareInfoOverride=1x8x8
	AUBDumpCaptureFileName=/dev/null IGC_EnableZEBinary=1"
cp "$here/level_zero.cl" ze/one.cl
echo 'gt 0 12.60' >none.card
if [ -x "$mock/ze_app" ] && "$fakexe" none.card true 2>/dev/null && ocloc compile -file ze/one.cl -device pvc -spv_only -options "-DONE -g" -out_dir spv >ocloc.out 2>&1; then
	mv spv/*.spv ze/one.spv
	program ze "\"$mock/ze_app\" one.spv mm a pause a a b pause a pause"
	ZE_ENABLE_TRACING_LAYER=1 $intel "$build/tests/mock/mini_recorder" -a "$build/src/agent/libaiflame-agent.so" -o place.log "$mock/ze_app" ze/one.spv mm a >mini.out 2>&1
	address=$(sed -n 's/.*place code=0 device=0 .*address=0x\([0-9a-f]*\) size=[1-9].*/\1/p' place.log | head -n 1)
	if [ -n "$address" ]; then
		at() { printf '0x%x' $(((0x$address + $1) & 0xffffffff)); }
		printf 'gt 0 12.60\npause 0 1600\nrecords 0 100 %s sbid=3,active=1\nrecords 0 20 %s send=2,sync=1\n' "$(at 0x228)" "$(at 0x278)" >ze/xe.card
		have_ze=1
		xe="$intel $fakexe xe.card"
		stalls() { (cd ze && timeout 60 $xe "$aiflame" record -q --all-launches -o run.data ./workload); }
		check "an Intel GPU's stalls, of the simulated xe driver, are recorded" stalls
	fi
fi
for k in cl cpu trace ze; do [ ! -e $k/run.data ] || cp $k/run.data $k/aiflame.data; done
# ze_row START ENV [SED [LOOK]]: on it, with the words ENV before each command
ze_row() {
	if [ -z "$have_ze" ]; then
		unrun "$1" "$why_ze"
		return
	fi
	env_words=$2 start=$1
	shift 2
	row "$start" ze "$@"
	env_words=
}
# Counters of the simulated driver.
mkdir lib && echo 'int nothing;' | cc -shared -x c -o lib/libigdmd.so.1 -
printf '0 %d GpuBusy=12.5 XveActive=7 GpuTime=1000\n' 5000000000 5010000000 >ze/counters
counting="env LD_LIBRARY_PATH=$work/lib ZE_ENABLE_ALT_DRIVERS=$mock/libze_mock.so ZE_MOCK_COUNTERS=counters ZE_MOCK_STALLS=stalls"
echo '0 800000000008 SbidStall=7' >ze/stalls

# ---- iaprof and the AI Flame Graph ----
standing() { # the row's command in one terminal, the workload in another, Ctrl-C
	find_row 'sudo ./scripts/aiflamegraph.sh' && cp -r "$top/made/cl" standing && cd standing || return 1
	start=$(words | sed -n '/^aiflame record/p') carry=$(words | sed -n '/^eval/p')
	sh -c "exec $start --inject never --duration 60" >out 2>&1 &
	recorder=$!
	until "$aiflame" ctl status | grep -q aiflame.data || ! kill -0 $recorder; do sleep 0.05; done
	sh -c "$carry; ./workload"
	kill -INT $recorder
	wait $recorder
	grep -q multiply_basic run.svg || { cat out; return 1; }
}
later check "sudo ./scripts/aiflamegraph.sh: record -a --flame, a workload elsewhere, Ctrl-C" standing
row 'the same of one program' cl '' 'grep -q multiply_basic run.svg'
row 'open the SVG' cl '' 'aiflame flame -o s.svg run.data && grep -q "<script" s.svg' # svg_browser.sh clicks and searches
row FlameScope cl '' 'grep -q "<script" "$(head -n 1 out)"'
ze_row "iaprof's text" '' 's/FILE/iaprof.txt/; s/^aiflame import/aiflame export -o iaprof.txt run.data; &/; s/--format iaprof$/& -o - aiflame.data/' 'grep -q "mm" out'
ze_row 'instruction offsets at the tips' '' 's/$/ -o o.folded run.data/' 'grep -q "send.ugm +0x228" o.folded'
cat >hues.py <<'END'
import colorsys, re, sys
hues = {"C": (0, 15), "C++": (40, 60), "OS kernel": (25, 39), "Python": (325, 345), "device kernel": (170, 195)}
svg, seen = open(sys.argv[1]).read(), set()
for c, name in re.findall(r'<g class="([a-z]+4)"><rect [^>]*/><text [^>]*>([^<]*)', svg):
    r, g, b = bytes.fromhex(re.search(r"\.%s rect *{ *fill: *#([0-9a-f]{6})" % c, svg).group(1))
    hue = 360 * colorsys.rgb_to_hls(r / 255, g / 255, b / 255)[0]
    print(name, round(hue))
    assert name not in hues or hues[name][0] <= hue <= hues[name][1]
    seen.add(name)
missing = set(sys.argv[2:]) - seen
assert not missing, missing
END
colours() { # README's names for them
	cp -r "$top/made/cl" now && cd now && "$aiflame" record -q --all-launches -o colours.data "$python" program.py &&
		"$aiflame" flame --detail full -o c.svg colours.data && python3 "$top/made/hues.py" c.svg C Python 'device kernel' &&
		"$aiflame" flame --detail full -o x.svg run.data && python3 "$top/made/hues.py" x.svg C++
}
colours_row() { find_row 'colours: C red' && check "$theirs" colours; }
if [ -n "$have_python" ]; then
	later colours_row
else
	unrun 'colours: C red' 'no python3-pyopencl'
fi
if aiflame record -q --ebpf -o ebpf.data sh -c 'for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/dev/null bs=1M count=300; done' >ebpf.out 2>&1; then
	later check "colours: OS kernel orange, --ebpf" sh -c 'aiflame flame --of cpu --detail full -o k.svg "$0/ebpf.data" && python3 "$0/hues.py" k.svg "OS kernel"' "$top/made"
fi
if [ -e ebpf.data ] && [ -e "$build/tests/e2e/driver_layer.so" ]; then
	entering="sh -c 'OPENCL_LAYERS=$build/tests/e2e/driver_layer.so:\$OPENCL_LAYERS exec $build/examples/matmul 64 3000'"
	row 'OS kernel frames below device towers' cl "s,\$, -q --all-launches -o k.data $entering," 'aiflame flame -o k.folded k.data && grep -q "sys_ioctl_.k.;random_ioctl_.k.;multiply" k.folded'
else
	unrun 'OS kernel frames below device towers' 'no eBPF, or no OpenCL layers to build with'
fi
ze_row 'EU stalls on Battlemage' "$xe" 's,$, ./workload,' 'aiflame report --stalls aiflame.data | grep -q sbid'
ze_row 'custom OS kernel driver' '' '' 'aiflame query --format csv run.data "SELECT sum(count) > 0 FROM samples" | grep -qx 1'
row '-fno-omit-frame-pointer' cl '' 'aiflame report --stacks run.data | grep multiply_basic | grep -q " < main"'
row 'BTF of vmlinux' cl '' 'aiflame doctor | grep -iq btf; [ -r /sys/kernel/btf/vmlinux ] || grep -iq btf out'
python_row 'sysctl kernel.perf_event_max_stack' 'import aiflame
with aiflame.profile("deep.data", "--all-launches"): deep(200)' '' '[ "$(aiflame flame --detail full -o - --format folded deep.data | grep -o "deep (" | wc -l)" -gt 127 ]'
unrun "Vulkan's shader names" 'Vulkan is not recorded'
demo() { find_row "SYCL's three" && make -s -n -C "$root" demo BUILD="$build" N=64 REPETITIONS=2 | grep -E '^[^ ]*/src/aiflame ' >demo.sh && sh -e demo.sh && grep -q multiply_local_access demo.svg; }
later check "SYCL's three matrix multiplies: make demo" demo
unrun 'PyTorch with IPEX' 'neither is in Debian'
unrun '"a recent Golang conference"' 'tests/e2e/languages.sh compiles and records them, for minutes'
row '"can I use it continuously?"' cl 's/^aiflame record.*/timeout -s INT 2 & -o keep.data; [ $? = 124 ]/' 'aiflame info keep.data'

# ---- Level Zero's metrics ----
ze_row 'ZET_ENABLE_METRICS=1' "$counting" 's/^aiflame record$/& -q printenv ZET_ENABLE_METRICS/' 'grep -qx 1 all && grep -qx "export ZET_ENABLE_METRICS=1" all'
ze_row 'sysctl dev.i915' '' '' 'grep -q dev.xe.observation_paranoid out'
ze_row 'Metrics Discovery' "env ZE_ENABLE_ALT_DRIVERS=$mock/libze_mock.so" 's/help$/&; [ $? = 1 ]/' 'grep -q "apt-get install libigdmd1" all'
ze_row 'enumerate metric groups' "$counting" 's/GROUP/ComputeBasic/' 'grep -q ComputeBasic all && grep -q XveActive out'
ze_row 'time-based sampling' "$counting" 's,GROUP$,ComputeBasic ./workload,; s/^aiflame record/& -q --device-rate 0/' 'grep -q XveActive out'
ze_row 'event-based sampling' "$counting" 's,GROUP$,ComputeBasic ./workload,; s/^aiflame record/& -q --device-rate 0/' 'grep -q "XveActive  Stalled" out'
ze_row 'epilogs of zeModuleCreate' '' '' 'aiflame query --format csv run.data "SELECT count(*) FROM kernels k JOIN modules m ON m.id = k.module WHERE k.name = '\''mm'\''" | grep -qx 1'
ze_row 'instruction address minus base' '' 's/KERNEL/mm/; s/^aiflame flame.*/& -o o.folded/' 'grep -q "send.ugm +0x228" o.folded && grep -q "+0x0228 .*sbid" out'
ze_row 'readelf -x .text.KERNEL' '' 's/KERNEL/mm/' 'readelf -x .text.mm k.zebin >/dev/null 2>&1 &&
	python3 -c "import subprocess, sys; o = subprocess.run([\"objcopy\", \"-O\", \"binary\", \"-I\", \"elf64-little\", \"-j\", \".text.mm\", \"k.zebin\", \"text\"])" && iga64 -d -p=12p72 text | grep -q "send.ugm"'
ze_row 'readelf --debug-dump' "$xe" 's/^aiflame flame.*/& -o l.folded/; s,^aiflame record.*,& -q -o lines.data ./workload,' 'grep -q "one.cl:7" l.folded && aiflame export -o k.zebin --kernel mm lines.data && readelf --debug-dump=decodedline k.zebin 2>/dev/null | grep -q "one.cl"'
ze_row 'stall reasons' '' 's/^aiflame flame.*/& -o s.folded/' 'grep -q sbid all && grep -q sync all && grep -q "send_.g" s.folded'

# ---- torch.profiler and the guide to IBM's AIU ----
row 'rename_privateuse1_backend' trace 's/trace.json/guide.json -o aiu.data/' 'aiflame report --kernels aiu.data | grep -q add_1_transfer'
python_row 'with profile(...) as prof' 'exec(w(0) + ": launch()")' "s,python3 [.]{3},$python program.py," 'aiflame query --format csv run.data "SELECT count(*) FROM launches" | grep -qx 3'
python_row 'prof.start(), prof.stop()' 'p = aiflame.profile("steps.data", "--all-launches", schedule=aiflame.schedule(wait=0, warmup=1, active=2, repeat=1))
exec(w(0))
for i in range(4):
    launch(i + 1)
    exec(w(2))
exec(w(1))' '' 'aiflame report --steps steps.1.data | grep -q "step#2"'
python_row 'schedule(wait' 'p = aiflame.profile("s.data", schedule=eval(w(0, "...", "wait=1, warmup=1, active=2, repeat=1, skip_first=1")))
with p:
    for i in range(6):
        launch()
        p.step()' 's,WAIT:WARMUP:ACTIVE:REPEAT:SKIP,1:1:2:1:1 -o cycles.data '"$build/tests/e2e/program_app steps 100 40," 'aiflame report --steps s.1.data | grep -q "step#4" && aiflame report --steps cycles.1.data | grep -q "step#4"'
python_row 'on_trace_ready=' 'exec("p = aiflame.profile(\"r.data\", schedule=aiflame.schedule(wait=0, warmup=1, active=1, repeat=1), %s)" % w(0, "=", "=lambda p: open(\"ready\", \"w\").write(p.path)"))
p.start()
for i in range(3):
    launch()
    p.step()
p.stop()' 's,COMMAND,"touch cycle" --schedule 0:1:1:1 -o cycles.data '"$build/tests/e2e/program_app steps 100 40," 'grep -q r.1.data ready && [ -e cycle ]'
row 'tensorboard_trace_handler' trace 's/$/ run.data/; s,-o DIR -o DIR/HOST,-o logs; mkdir DIR; aiflame export -o DIR/host,' '[ -s logs/plugins/profile/*/*.xplane.pb ] && gzip -dc DIR/host.pt.trace.json.gz | grep -q cuda_runtime'
python_row 'export_chrome_trace' 'with aiflame.profile("c.data", "--all-launches") as p: launch()
exec(w(0, "FILE", "\"t.json.gz\""))' 's/FILE/u/' 'gzip -dc t.json.gz | grep -q add_one && gzip -dc u.json.gz | grep -q multiply_basic'
row 'key_averages().table' trace '' 'grep -q "gemm<float" out && [ "$(grep -c "  *[0-9.]*us " out)" -le 10 ]'
row 'the same with' trace 's/$/ --row-limit 10 guide.data/' 'head -n 14 out | diff '"$here/aiu_guide.txt"' -'
row 'record_shapes=True' trace 's/$/ aiu.data/' 'grep -qF "[[1, 384]]" out'
row 'with_stack=True' trace '' 'grep -q "train.py" out'
python_row 'record_function("NAME")' 'with aiflame.profile("n.data", "--all-launches"):
    exec("with " + w(0) + ": launch(4)")' 's/$/ n.data/' 'grep -q NAME out'
row 'Self CPU, CPU total' trace '' 'aiflame report --ops run.data | grep aten::mm | grep -q 500.007us && aiflame report --ops guide.data | grep -q model'
row 'Memcpy HtoD (...)' trace 's/ --ops --copies/ --ops; aiflame report --copies/' 'grep -q "Memcpy HtoD (Pinned -> Device)" out && aiflame report --ops guide.data | grep -q "Memset (Device)"'
row 'Runtime events' trace 's/$/ aiu.data/; s/--of cpu/& -o c.folded/' 'grep -q "waiting: aiu" c.folded && aiflame query aiu.data "SELECT name FROM ops WHERE kind = '\''runtime'\''" | grep -q aiuLaunchSuperNode'
row 'Hardware events' trace 's/ --breakdown/ guide.data; aiflame report --breakdown guide.data/' 'grep -q add_1_transfer all'
row '[memory] events' trace 's/--of memory/& -o m.folded/' '[ -s m.folded ] && aiflame report --ops --style torch run.data | grep -q "Self CPU Mem"'
row 'chrome://tracing' trace 's/chrome$/& -o c.json/' 'python3 -c "import json; assert json.load(open(\"c.json\"))[\"traceEvents\"]"'
row 'Perfetto' trace '' '[ -s run.pftrace ]'
row 'tensorboard --logdir DIR' trace 's/view$/& run.data/' 'grep -q "<script" "$(head -n 1 out)"'
row 'misaligned events' cl '' 'grep -Eq "started before their launch +0$" out && grep -q clock out'
requests() { # of a server: the recording that it runs in, then one that attaches to it; examples/profile_server.py for itself
	find_row "vLLM's" || return 1
	"$aiflame" record -q --delay 1000 -o server.data "$build/tests/e2e/program_app" steps 100000 20 >server.out 2>&1 &
	recorder=$!
	until [ -n "$("$aiflame" ctl status | awk '/server.data/')" ] || ! kill -0 $recorder; do sleep 0.05; done
	words | grep '^aiflame ctl' >commands
	[ "$(wc -l <commands)" = 2 ] || return 1
	# The server has launched when PoCL has loaded what it compiled.
	until started=$(cat /proc/$recorder/task/$recorder/children) && grep -q kcache "/proc/${started% }/maps"; do kill -0 $recorder || return 1; sleep 0.05; done
	while read -r command; do typed "$command" || return 1; sleep 1; done <commands
	"$aiflame" ctl stop server.data
	wait $recorder
	# shellcheck disable=SC2086 # words
	kill $started # it goes on without its recorder
	"$aiflame" query --format csv server.data 'SELECT count(*) > 0 FROM launches' | grep -qx 1 || { echo 'nothing between start and pause'; return 1; }
	(eval "$("$aiflame" env)" && exec "$build/tests/e2e/program_app" steps 100000 20) >server.out 2>&1 &
	server=$!
	until "$aiflame" ctl status | grep -q "^$server "; do kill -0 $server || return 1; sleep 0.05; done
	typed "$(words | grep '^aiflame record' | sed "s/PID/$server/; s/--duration 10/--duration 3/")"
	got=$?
	kill $server
	[ $got = 0 ] && "$aiflame" query --format csv aiflame.data 'SELECT count(*) > 0 FROM launches' | grep -qx 1 || { echo 'nothing while attached'; return 1; }
	[ -n "$have_python" ] || return 0
	sh -c 'eval "$("$AIFLAME" env)" && exec "$0" "$1" server own.data' "$python" "$here/program_schedule.py" >own.out 2>&1
	grep -qx '200 200 404 True' own.out || { cat own.out; return 1; }
}
if [ -x "$build/tests/e2e/program_app" ]; then
	later check "vLLM's /start_profile, /stop_profile: ctl start and pause, record -p, profile_server.py" requests
else
	unrun "vLLM's" 'no OpenCL to build with'
fi

# ---- the v7 runbook ----
if perf stat -o cpu/stat.txt true 2>/dev/null && perf record -q -e cpu-clock -g -o cpu/perf.data ./cpu/workload >perf.out 2>&1; then :; else
	printf 'a 7 5.000000: cycles:P: \n\t1000 f+0x1 (/bin/a)\n\n' >cpu/perf.data
	"$aiflame" stat ./cpu/workload >perf.out 2>cpu/stat.txt
fi
row 'perf stat' cpu 's,^aiflame stat$,& ./workload,; s/FILE/stat.txt/' 'grep -q task-clock all'
row 'perf record -F 999' cpu 's,FILE CMD,out.data ./workload,' 'aiflame report --cpu out.data | grep -q gemm'
row 'perf script, stackcollapse' cpu 's/FILE/x/' '[ -s x.folded ] && aiflame info aiflame.data'
row 'flamegraph.pl' cpu 's/FILE/x/g; s/^/aiflame flame --of cpu -o x.folded; /' 'grep -q gemm x.svg'
row 'vtune -collect hotspots' cpu 's,^aiflame record.*,& ./workload,' 'grep -q gemm all'
row 'vtune -collect memory-access' cpu 's,^aiflame stat$,& ./workload,' 'grep -qE "cache|PMU|counters" out'
row 'vtune-gui DIR' cpu '' 'grep -q gemm "$(head -n 1 out)" || grep -q "<script" "$(head -n 1 out)"'
row 'advisor --collect=roofline' cpu '' 'grep -q "multiply-add, 32 bits" out'
row 'CK_NUM_THREADS=8' cpu "s,^aiflame runbook.*,& -r 1 -- ./workload,; s,^aiflame stat.*,& printenv CK_NUM_THREADS," 'grep -qx 8 out && grep -q "\"threads\": \"8\"" runbook/config.json'
row 'make profile-v7-full' book '' 'make -s -f runbook.mk profile-v7-full RUNBOOK_CLI=./workload && [ -s runbook/hub.html ] && make -n -f runbook.mk v7-perf-gate | grep -q "runbook check"'
row 'V7_PERF_RUNTIME' book '' 'aiflame runbook make >runbook.mk && make -n -f runbook.mk profile-v7-full V7_PERF_RUNTIME=python | grep -q "python3 train.py" && make -n -f runbook.mk profile-v7-full V7_PERF_RUNTIME=cli | grep -q "./train"'
row 'V7_WITH_VTUNE' book '' 'aiflame runbook make >runbook.mk && make -n -f runbook.mk profile-v7-full | grep -q -- "--with vtune,advisor --deep" && ! make -n -f runbook.mk profile-v7-full V7_WITH_VTUNE=0 V7_VTUNE_DEEP=0 | grep -qE -- "--with vtune|--deep"'
row 'ck-cli-v7 profile' book 's,COMMAND,./workload,; s/DIR/-r 1 new/; s/-d -r 1 new/-r 1 -d new/' '[ -s new/run_index.json ]'
files() { find_row "$1" && for f in $(printf '%s' "$theirs" | tr -d ,); do [ -s "$top/made/book/DIR/$f" ] || { echo "no $f"; return 1; }; done; }
later check 'profile_summary.json ...: the files are there' files profile_summary.json
later check 'vtune_summary.json, advisor_summary.json: the files are there' files vtune_summary.json
row 'perf_gate_v7.py' book 's/$/ --cannot-tell pass/' '[ -s DIR/perf_gate_report.json ]'
row 'open_ir_visualizer.py' book '' '[ -s DIR/hub.html ]'
row '"optimize only after parity' book "s,FILE:WAY=VALUE,{}/run_index.json:.schema=ck.run.index.v1 --cannot-tell pass," 'aiflame gate --dir DIR --require false; [ $? = 5 ]'
row 'train_tok_s drop' book 's/check$/check DIR --cannot-tell pass/' 'aiflame runbook compare before DIR | grep -q decode_tok_s'
row 'regression loop' cl 's,bench$,bench -n 3 --warm-up 0 --against ./workload -- ./workload,; s,(diff|gate)$,\1 aiflame.bench/a aiflame.bench/b,; s,gate .*,&; case $? in 0 | 3 | 4) ;; *) false ;; esac,; s,ledger$,ledger DIR,; s,^aiflame bench,cp -r ../../../made/book/DIR . \&\& &,' '[ -s DIR/ledger.jsonl ]'

# ---- all of them ----
collect
every_row() { cut -f 1 "$top/rows" | sort >all.rows && sort "$top/tried" | diff all.rows -; }
check "every row of the page has a case here, and every case a row" every_row
echo "# $(wc -l <"$top/rows") rows, of which $unrun_rows could not be run here"
done_testing
