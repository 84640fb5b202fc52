#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory of a GPU: who holds it at its peak, against PyTorch's own counters and a program that has written down what it did.
# Needs PyTorch; about two minutes. AIFLAME=PATH: another aiflame than that of the build directory.
. "$(dirname "$0")/../e2e/tap.sh"
here=$root/tests/gpu
aiflame=${AIFLAME:-$aiflame}
python3 -c 'import torch; raise SystemExit(not torch.cuda.is_available())' || { echo "1..0 # SKIP no PyTorch with a GPU"; exit 0; }
mem() { python3 "$here/memory.py" "$@"; }
# recorded NAME OPTIONS -- ARGUMENTS OF memory.py
recorded() {
	name=$1 options=
	shift
	while [ "$1" != -- ]; do options="$options $1"; shift; done
	shift
	mode=$1
	shift
	# shellcheck disable=SC2086 # options are words
	timeout -k 5 120 "$aiflame" record -q $options -o "$name.data" python3 "$here/memory.py" "$mode" "$name.truth" "$@"
}
# compares WHAT NAME MODE: the recording NAME with its truth; all numbers are printed
compares() {
	check "$1" sh -c 'python3 "$0" "$1" "$2" "$3.data" "$3.truth" >compared.out 2>&1' "$here/memory_compare.py" "$aiflame" "$3" "$2"
	sed 's/^/# /' compared.out
}

check "training is recorded" recorded train --all-launches -- train 20
compares "peak, counters and lines are PyTorch's" train train
check "PyTorch's blocks are recorded within the overhead budget" recorded budget -- train 20
compares "peak, counters and lines of large blocks are the same" budget train
export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
check "PyTorch's blocks are recorded with cudaMallocAsync below the allocator" recorded async --all-launches -- train 5
"$aiflame" report --memory --limit 8 async.data 2>&1 | sed "s/^/# /"
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
check "PyTorch's blocks are recorded with segments that grow" recorded grow --all-launches -- train 5
compares "peak, counters and lines are PyTorch's with segments that grow" grow train
unset PYTORCH_CUDA_ALLOC_CONF
check "CUDA's own calls are recorded" recorded raw --all-launches -- raw
compares "each call's bytes, and what is released" raw raw

# What it costs: small blocks, of which the allocator hands out some hundred thousand a second.
for i in 1 2 3; do
	mem many "plain$i.truth" 100000
	recorded "all$i" --all-launches -- many 100000
	recorded "some$i" -- many 100000
	mem train "plaintrain$i.truth" 100
	recorded "sometrain$i" -- train 100
done
python3 - <<'END' | sed 's/^/# /'
import json
def best(name, key): return min(json.load(open("%s%d.truth" % (name, i)))[key] for i in (1, 2, 3))
plain, all_, some = (best(n, "ns") for n in ("plain", "all", "some"))
print("a small block and its release: %.0f ns; recorded %.0f (%+.0f); within the budget of 2 %%: %.0f (%+.1f %%)"
      % (plain, all_, all_ - plain, some, 100 * (some / plain - 1)))
plain, some = best("plaintrain", "ms"), best("sometrain", "ms")
print("a training step: %.3f ms; recorded within the budget: %.3f (%+.2f %%)" % (plain, some, 100 * (some / plain - 1)))
END
no_losses() { "$aiflame" query --format csv all1.data "SELECT * FROM losses WHERE detail = 'allocations'" | tail -n +2 >lost.out; cat lost.out; [ ! -s lost.out ]; }
check "no allocation is lost" no_losses
done_testing
