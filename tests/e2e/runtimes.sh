#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `record --runtime`: each name of src/agent/runtimes.def records that runtime's launches and no other's. OpenCL's are
# PoCL's; NVIDIA's and Intel's are of MOCKS (tests/mock/cuda/mock.h, tests/mock/level_zero).
. "$(dirname "$0")/tap.sh"
AIFLAME_STANDBY=$work/standby
ZE_ENABLE_ALT_DRIVERS=$build/tests/mock/level_zero/libze_mock.so
export AIFLAME_STANDBY ZE_ENABLE_ALT_DRIVERS
unset ZE_ENABLE_TRACING_LAYER ZE_ENABLE_LOADER_INTERCEPT ZET_ENABLE_METRICS CUDA_INJECTION64_PATH MOCK_CUPTI
printf 'no code at all, but two kernels of it' >mm.bin
script='device 0 clock=monotonic\nstream 0 device=0\nkernel 0 name=f\nnow\nlaunch stream=0 kernel=0 time=1 start=2 end=3\n'

opencl() { "$@" "$matmul" 64 2; }
cuda() { "$@" env LD_LIBRARY_PATH="$build/tests/mock/cuda" "$build/tests/mock/cuda/app" -n 20 "$root/tests/golden/cubin/kernels_sm90a.cubin"; }
level_zero() { "$@" "$build/tests/mock/level_zero/ze_app" mm.bin mm a; }
fake() { "$@" "$build/tests/mock/fake_app" "$(printf "$script")"; }
is_here() {
	case $1 in
	opencl) [ -x "$matmul" ] ;;
	level_zero) [ -x "$build/tests/mock/level_zero/ze_app" ] ;;
	esac
}

ids=$(sed -n 's/^AIF_RUNTIME(\([a-z_]*\),.*/\1/p' "$root/src/agent/runtimes.def")
option() { sed -n "s/^AIF_RUNTIME($1, \"\([a-z-]*\)\",.*/\1/p" "$root/src/agent/runtimes.def"; }

# launches OPTION PROGRAM: how many of the program's are recorded
launches() {
	rm -f r.data
	$2 timeout -k 5 60 "$aiflame" record -q --all-launches --runtime "$1" -o r.data >run.out 2>&1 || { cat run.out >&2; return 1; }
	[ -e r.data ] || { echo 0; return 0; }
	"$aiflame" query --format csv r.data 'SELECT count(*) FROM launches' | tail -n 1
}
has_some() { number=$(launches "$@") && [ "$number" -gt 0 ] || { echo "$number launches"; return 1; }; }
has_none() { number=$(launches "$@") && [ "$number" -eq 0 ] || { echo "$number launches"; return 1; }; }

in_help() { "$aiflame" record -h --all | grep -qx " *--runtime all$(for id in $ids; do printf '|%s' "$(option "$id")"; done)"; }
check "record -h --all lists each runtime for --runtime" in_help
for program in $ids; do
	if ! is_here "$program"; then
		skip "--runtime all records $program" "it was not built here"
		continue
	fi
	check "--runtime all records $program" has_some all "$program"
	for id in $ids; do
		if [ "$id" = "$program" ]; then
			check "--runtime $(option "$id") records $program" has_some "$(option "$id")" "$program"
		else
			check "--runtime $(option "$id") does not record $program" has_none "$(option "$id")" "$program"
		fi
	done
done
check "--runtime with another name is refused, and lists the right ones" says "level-zero" "$aiflame" record --runtime level_zero true
done_testing
