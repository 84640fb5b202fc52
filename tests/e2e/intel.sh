#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An Intel GPU from the launch to the stall, without one: Intel's own Level Zero driver in AUB mode compiles a kernel, gives it an
# address and takes its launches; EU-stall records of instructions at that address come from fakexe, which stands for
# the xe driver, or from simulated metrics on top of Intel's driver. Nothing is executed, so there are no times: samples
# go by launches.
. "$(dirname "$0")/tap.sh"
mock=$build/tests/mock/level_zero
fakexe=$build/tests/mock/xe/fakexe
agent=$build/src/agent/libaiflame-agent.so
export AIFLAME_STANDBY="$work/standby"
unset ZE_ENABLE_ALT_DRIVERS ZE_ENABLE_TRACING_LAYER ZE_ENABLE_LOADER_INTERCEPT ZET_ENABLE_METRICS ZE_MOCK
[ -x "$mock/ze_app" ] || { echo "1..0 # SKIP the tests were built without Level Zero's headers (libze-dev)"; exit 0; }
cp "$root/tests/e2e/level_zero.cl" one.cl
if ! command -v ocloc >/dev/null || ! ocloc compile -file one.cl -device pvc -spv_only -options "-DONE -g" -out_dir spv >ocloc.out 2>&1; then
	echo "1..0 # SKIP intel-opencl-icd, libigc1 and libigdfcl1 are not installed"
	exit 0
fi
echo "gt 0 12.60" >none.card
"$fakexe" none.card true 2>/dev/null || { echo "1..0 # SKIP seccomp cannot supervise a process here"; exit 0; }
module=$(ls "$work"/spv/*.spv)
export NEOReadDebugKeys=1 SetCommandStreamReceiver=1 ProductFamilyOverride=pvc HardwareInfoOverride=1x8x8 AUBDumpCaptureFileName=/dev/null IGC_EnableZEBinary=1
"$mock/ze_app" "$module" mm >aub.out 2>&1 || { echo "1..0 # SKIP Intel's driver has no AUB mode that works here"; exit 0; }

# Where the driver puts the kernel: the same in each process.
ZE_ENABLE_TRACING_LAYER=1 "$build/tests/mock/mini_recorder" -a "$agent" -o place.log "$mock/ze_app" "$module" mm a >mini.out 2>&1
address=$(sed -n 's/.*place code=0 device=0 .*address=0x\([0-9a-f]*\) size=[1-9].*/\1/p' place.log | head -n 1)
placed() { [ -n "$address" ] || { cat place.log; return 1; }; }
check "the compiled kernel has an address" placed
# at OFFSET: what the hardware tells of an instruction: 32 bits of its address
at() { printf '0x%x' $(((0x$address + $1) & 0xffffffff)); }
cat >pvc.card <<EOF
gt 0 12.60
pause 0 1600
records 0 100 $(at 0x228) sbid=3,active=1
records 0 20 $(at 0x278) active=2
records 0 5 $(at 0x100000) other=1
EOF
# record APP: ten launches of one function, three of another, before and while samples are taken
record() {
	timeout 60 "$fakexe" pvc.card "$aiflame" record -q --all-launches -o "$1.data" "$mock/$1" "$module" mm a pause a a a b pause a a a b pause a a a b pause >"$1.out" 2>&1 &&
		grep -q 'nothing left' "$1.out" || { cat "$1.out"; return 1; }
}
ask() { "$aiflame" query --format csv "$1.data" "$2" | tail -n +2; }
is() { got=$(ask "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }
for app in ze_app ze_app_dlopen; do
	check "$app is recorded with stalls of its kernel" record $app
	check "$app: every launch is recorded" is 13 $app "SELECT count(*) FROM launches"
	check "$app: every sample is recorded, of the kernel and of unknown code" is "440,5" $app \
		"SELECT sum(count) FILTER (WHERE kernel IS NOT NULL), sum(count) FILTER (WHERE kernel IS NULL) FROM samples"
	check "$app: counts add up" says "everything adds up" "$aiflame" info $app.data
	# shellcheck disable=SC2086
	"$aiflame" flame --by samples --leaf stall -o $app.folded $app.data
	check "$app: a stack has function, call, kernel, line, instruction and stall" grep -q \
		'^main;.*path_a;zeCommandListAppendLaunchKernel;mm_\[g\];one.cl:7_\[g\];send.ugm +0x228_\[g\];sbid_\[g\] ' $app.folded
	shares() { # 10 to 3, a sample more or less in each row
		awk '/;path_a;/ { a += $NF } /;path_b;/ { b += $NF } END { print a, b; exit !(a + b == 440 && a > 335 && a < 343) }' $app.folded
	}
	check "$app: two stacks that launch the kernel keep their shares" shares
	untimed() {
		"$aiflame" flame --leaf stall -o unasked.folded $app.data 2>unasked.err && cmp $app.folded unasked.folded && grep -q 'without times' unasked.err &&
			"$aiflame" report $app.data >first && grep -q '^kernels   100.0 %  mm     440 samples  path_a, waits: sbid 68.2 %$' first &&
			grep -q '100.0 % of stacks complete' first && ! grep -E '0 ns in|active from' first && "$aiflame" report --kernels $app.data >first && ! grep -w ns first && grep -q '440  mm' first &&
			"$aiflame" report --stacks $app.data >first && ! grep -w ns first && grep -qE '^ *(9[89]|10[0-4])  mm  .*path_b' first || { cat unasked.err first; return 1; }
	}
	check "$app: samples without times are drawn and told as samples" untimed
	check "$app: flame --by launches draws launches without times" says "launches 13, times not known, as the driver gave none: aiflame flame --by launches" sh -c \
		"'$aiflame' report $app.data && '$aiflame' flame --by launches -o l.folded $app.data && grep -q 'path_a;zeCommandListAppendLaunchKernel;mm_.g. 10$' l.folded && grep -q 'path_b;.* 3$' l.folded"
done
# Without samples there are launches alone.
alone() {
	timeout 60 "$aiflame" record --all-launches -o alone.data "$mock/ze_app" "$module" mm a b a >alone.out 2>&1 || { cat alone.out; return 1; }
	says "launches 3, times not known, as the driver gave none: aiflame flame --by launches alone.data" cat alone.out && ! grep 'nothing was executed' alone.out &&
		says "launches without times" "$aiflame" flame -o alone.folded alone.data && grep -q 'path_a;zeCommandListAppendLaunchKernel;mm_.g. 2$' alone.folded &&
		says "launches without times; see report --launches" "$aiflame" report --kernels alone.data &&
		says "have no times; draw them with --by launches" sh -c "! '$aiflame' flame --by wall -o no.svg alone.data"
}
check "launches without samples are drawn by number" alone
# What the application gave the driver, once: Intel's own compiler made the code from it.
spirv() {
	ask ze_app "SELECT hex(c.bytes) FROM codes c JOIN modules m ON m.id = c.module WHERE c.arch = 'spirv' AND m.path LIKE 'spirv %'" >kept.hex
	[ "$(wc -l <kept.hex)" = 1 ] && [ "$(cat kept.hex)" = "$(od -An -v -tx1 "$module" | tr -d ' \n' | tr a-f A-F)" ]
}
check "the SPIR-V that a module was compiled from is kept" spirv
check "the code of a module's kernel is kept" is 1 ze_app "SELECT count(*) FROM codes c JOIN modules m ON m.id = c.module JOIN modules s ON s.path = replace(m.path, 'zebin', 'spirv') WHERE m.path LIKE 'zebin %'"
without() { timeout 60 "$fakexe" pvc.card "$aiflame" record -q --no-code -o without.data "$mock/ze_app" "$module" mm a pause a pause >without.out 2>&1 && is 0 without "SELECT count(*) FROM codes WHERE arch = 'spirv'"; }
check "--no-code keeps neither code nor SPIR-V" without
# The same of an OpenCL program, which Intel's OpenCL driver takes, too; below us a layer keeps everybody from waiting for
# a GPU that is not there. What was launched counts: of these devices nobody has samples.
icd=$(find /usr/lib /usr/lib64 /usr/local/lib -name libigdrcl.so 2>/dev/null | head -n 1)
no_gpu=$build/tests/mock/libcl_no_gpu.so
# opencl NAME OPTION...
opencl() {
	name=$1
	shift
	OCL_ICD_VENDORS=$work/intel.icd timeout -k 5 60 "$aiflame" record -q --all-launches "$@" -o "$name.data" \
		sh -c 'OPENCL_LAYERS=$0:$OPENCL_LAYERS exec "$@"' "$no_gpu" "$build/tests/e2e/il_app" "$module" mm >"$name.out" 2>&1 || { cat "$name.out"; return 1; }
}
given() {
	opencl given && is 2 given 'SELECT count(*) FROM launches' && is 1 given 'SELECT count(*) FROM kernels k JOIN programs p ON p.id = k.program' || return 1
	ask given "SELECT DISTINCT hex(c.bytes) FROM codes c JOIN modules m ON m.id = c.module JOIN programs p ON p.source_name = m.path JOIN kernels k ON k.program = p.id
		WHERE c.arch = 'spirv' AND k.name = 'mm'" >given.hex
	[ "$(wc -l <given.hex)" = 1 ] && [ "$(cat given.hex)" = "$(od -An -v -tx1 "$module" | tr -d ' \n' | tr a-f A-F)" ] && is 1 given "SELECT count(*) FROM codes"
}
given_without() { opencl given_without --no-code && is '0,0' given_without 'SELECT (SELECT count(*) FROM codes), (SELECT count(source_name) FROM programs WHERE process IS NOT NULL)' && is 2 given_without 'SELECT count(*) FROM launches'; }
echo "$icd" >intel.icd
if [ -n "$icd" ] && [ -e "$no_gpu" ] && OCL_ICD_VENDORS=$work/intel.icd timeout -k 5 20 "$build/tests/e2e/il_app" "$module" mm >il.out 2>&1; then
	check "an OpenCL program's SPIR-V is kept once for two programs of it" given
	check "--no-code keeps no SPIR-V of an OpenCL program" given_without
	alone() { OCL_ICD_VENDORS=$work/intel.icd timeout -k 5 60 "$aiflame" record -q --all-launches -o alone.data "$build/tests/e2e/il_app" "$module" mm >alone.out 2>&1 && is 2 alone 'SELECT count(*) FROM launches'; }
	check "a program that does not wait for a device which never answers is not made to wait" alone
else
	skip "an OpenCL program's SPIR-V is kept once for two programs of it" "Intel's OpenCL driver, or a header of layers, is not here"
fi
towers() { "$aiflame" flame --by samples --leaf stall --detail full -o towers.folded "$1" && sed 's/;[^;]*\.cl:[0-9]*_\[g\]//; s/_\[i\];/;/g' towers.folded | LC_ALL=C sort; }
goes_round() {
	"$aiflame" export --detail full --format iaprof -o t.iaprof ze_app.data && "$aiflame" import -q t.iaprof -o again.data &&
		towers ze_app.data >1 && towers again.data >2 && grep -q 'send.ugm +0x228_.g.;sbid' 1 && grep -q 'unknown shader' 1 && diff 1 2
}
check "stacks come back from iaprof's text, but for lines and inlined frames" goes_round
# The same through Level Zero's metrics streamer.
cat >stalls <<EOF
0 $(at 0x228) SbidStall=300 Active=100
0 $(at 0x278) Active=40
0 $(at 0x100000) OtherStall=5
EOF
streamer() {
	ZE_ENABLE_ALT_DRIVERS=$mock/libze_mock.so ZE_MOCK=metrics ZE_MOCK_REAL=libze_intel_gpu.so.1 ZE_MOCK_STALLS=$work/stalls timeout 60 "$aiflame" record -q --all-launches \
		-o streamer.data "$mock/ze_app" "$module" mm a streamed1 a a a b a a a b a a a b told1 >streamer.out 2>&1 || { cat streamer.out; return 1; }
	is "440,5" streamer "SELECT sum(count) FILTER (WHERE kernel IS NOT NULL), sum(count) FILTER (WHERE kernel IS NULL) FROM samples" &&
		says "everything adds up" "$aiflame" info streamer.data && "$aiflame" flame --by samples --leaf stall -o streamer.folded streamer.data &&
		grep -q '^main;.*path_b;zeCommandListAppendLaunchKernel;mm_\[g\];one.cl:7_\[g\];send.ugm +0x228_\[g\];sbid_\[g\] ' streamer.folded
}
check "stalls that the metrics streamer samples have stacks" streamer
check "annotate lists line, instruction and what it waits for" sh -c \
	'"$1" annotate mm ze_app.data >a.out; cat a.out; grep -q "^one.cl:7$" a.out && grep -q "90.9 %.*+0x0228 .*sbid 75 %" a.out' - "$aiflame"
done_testing
