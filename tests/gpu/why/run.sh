#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that know why their device is idle: is the right cause and the right line blamed? On an NVIDIA GPU with PyTorch, as root; or
# with pyopencl on any OpenCL device, without those that need CUDA.
#   [AIFLAME=PATH] [PYTHON=PROGRAM] [SECONDS_EACH=3] [JOBS=4] [KEEP=DIRECTORY] tests/gpu/why/run.sh [MODE/CASE...]
# Prints TAP; about 40 recordings, JOBS at a time. full: --wall and every launch; ebpf: --ebpf --off-cpu; calls: with --calls on;
# default: no options.
set -u
here=$(cd "$(dirname "$0")" && pwd)
aiflame=${AIFLAME:-$here/../../../build/src/aiflame}
python=${PYTHON:-python3}
seconds=${SECONDS_EACH:-3}
work=${KEEP:-$(mktemp -d)}
mkdir -p "$work" && cd "$work" && rm -f ./*.tap ./*.said || exit 1
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cuda=$("$python" -c 'import torch; print(torch.cuda.is_available())' 2>/dev/null)
[ "$cuda" = True ] || "$python" -c 'import pyopencl; pyopencl.create_some_context(interactive=False)' >/dev/null 2>&1 ||
	{ echo "1..0 # SKIP neither PyTorch with CUDA nor pyopencl"; exit 0; }

list() {
	cases="compute sleep item allocate compile collect gil server threads decode matmul random nested mix_host mix_python mix_locks copies"
	"$python" -c 'import torch' 2>/dev/null && cases="$cases loader"
	[ "$cuda" = True ] && cases="$cases late"
	for case in $cases; do
		echo "full/$case default/$case"
	done
	[ "$(id -u)" = 0 ] && echo ebpf/sleep ebpf/fed ebpf/server ebpf/quota ebpf/mix_host
	[ "$cuda" = True ] && echo calls/allocate calls/item calls/compile calls/mix_host
}
one() {
	mode=${1%/*} case=${1#*/} name=${1%/*}-${1#*/}
	case $mode in
	full) options="--wall -F 999 --all-launches --device-rate 0" ;;
	calls) options="--wall -F 999 --all-launches --device-rate 0 --calls on" ;;
	ebpf) options="--ebpf --off-cpu -F 999 --all-launches --device-rate 0" ;;
	*) options= ;;
	esac
	begin=$SECONDS
	# shellcheck disable=SC2086 # options are words
	timeout -k 5 100 "$aiflame" record -q $options -o "$name.data" "$python" "$here/causes.py" "$case" "$seconds" "$name.json" >"$name.out" 2>&1 &&
		"$python" "$here/check.py" "$aiflame" "${mode/calls/full}" "$name.data" "$name.json" >"$name.said" 2>&1
	status=$?
	head -1 "$name.said" 2>/dev/null | grep -q '^skip: ' && status=0
	[ $status = 0 ] && echo -n "ok - $1" >"$name.tap" || echo -n "not ok - $1" >"$name.tap"
	head -1 "$name.said" 2>/dev/null | sed -n 's/^skip: \(.*\)/ # SKIP \1/p' | tr -d '\n' >>"$name.tap"
	{
		echo
		{ cat "$name.said" 2>/dev/null || tail -5 "$name.out"; echo "$((SECONDS - begin)) s"; } | cut -c1-220 | sed 's/^/#   /'
	} >>"$name.tap"
	cat "$name.tap"
}
[ $# -gt 0 ] || set -- $(list)
for what; do
	while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-4}" ]; do wait -n; done
	one "$what" &
done
wait
echo "1..$#"
failed=$(cat ./*.tap | grep -c '^not ok')
echo "# $failed of $# failed, $SECONDS s"
[ "$failed" = 0 ]
