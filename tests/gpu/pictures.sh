#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Records the programs of docs/images on an NVIDIA GPU, with PyTorch, JAX and nvcc, and draws their pictures anew:
#   AIFLAME=PATH tests/gpu/pictures.sh DIRECTORY [PICTURE...]
# DIRECTORY/PICTURE.svg, and .txt with what `record` said; the profiles stay in $KEEP, else they are removed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
aiflame=${AIFLAME:-$root/build/src/aiflame}
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
work=${KEEP:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/local/cuda/bin
failed=0

# picture NAME TITLE FLAME-OPTIONS RECORD-OPTIONS COMMAND...
picture() {
	name=$1 title=$2 flame=$3 record=$4
	shift 4
	# shellcheck disable=SC2086 # options are words
	if (cd "$root" && timeout 120 "$aiflame" record $record -o "$work/$name.data" "$@") >"$out/$name.txt" 2>&1 &&
		"$aiflame" flame $flame --title "$title" -i "$work/$name.data" -o "$out/$name.svg" >>"$out/$name.txt" 2>&1; then
		echo "$name.svg: $(sed -n 's/.*id="quality"[^>]*>\([^<]*\)<.*/\1/p' "$out/$name.svg" | head -1)"
	else
		echo "$name failed:"
		tail -3 "$out/$name.txt"
		failed=1
	fi
}

[ $# -gt 0 ] || set -- matmul-h100 decode prefill train triton compiled graph-compiled graph-decode jax loop
for want; do
	case $want in
	matmul-h100)
		nvcc -O2 -lineinfo -o "$work/matmul" "$root/examples/cuda/matmul.cu" &&
			picture $want "Three matrix multiplies" "--leaf stall" "" "$work/matmul"
		;;
	decode) picture $want "A small Llama decodes" "" "" python3 tests/gpu/decode.py 400 ;;
	prefill) picture $want "A small Llama reads prompts" "" "" python3 tests/gpu/decode.py 40 prefill ;;
	train) picture $want "A small transformer is trained" "" "" python3 tests/gpu/train.py 10 ;;
	triton) picture $want "A kernel in Triton, and a replayed graph" "--leaf line" "" python3 tests/gpu/kernels.py 200 ;;
	compiled) picture $want "A training step under torch.compile" "--leaf kernel --time loop" "" python3 tests/gpu/scenes/compiled.py 1 ;;
	graph-compiled)
		picture $want "Tokens under torch.compile(mode=\"reduce-overhead\")" "--leaf kernel --time loop" "" \
			python3 tests/gpu/scenes/graph_decode.py compile 1
		;;
	graph-decode)
		picture $want "Tokens from two captured CUDA graphs" "--leaf kernel --time loop" "" \
			python3 tests/gpu/scenes/graph_decode.py capture 4
		;;
	jax)
		picture $want "A training step of JAX" "--range-frames only --leaf kernel --time loop" "--nvtx --device-rate 0" \
			python3 tests/gpu/scenes/jax_train.py 2
		;;
	loop) picture $want "A decode's loop: device time and idle time" "--of loop" "" python3 tests/gpu/scenes/hf_generate.py 3 ;;
	*) echo "pictures.sh: no picture '$want'" >&2; exit 2 ;;
	esac
done
exit $failed
