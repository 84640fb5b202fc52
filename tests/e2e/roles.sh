#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame report --by role: device time by what kernels are for in an engine.
. "$(dirname "$0")/tap.sh"
python3 - <<'EOP'
import json
kernels = {  # name: (microseconds of each, how often)
    "void pytorch_flash::flash_fwd_kernel<64>()": (30, 4),
    "nvjet_tst_64x16_64x16_2x4_2cta_h_bz_bias_TNT": (50, 8),
    "void vllm::reshape_and_cache_flash_kernel<unsigned short>()": (5, 4),
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": (20, 3),
    "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>()": (7, 4),
    "_matmul_ogs_NNT_bf16xbf16xmxfp4": (11, 2),
    "my_own_kernel": (13, 1),
}
events, at, id = [], 1000, 0
for name, (us, times) in kernels.items():
    for _ in range(times):
        id += 1
        events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=at - 2, dur=1, args=dict(correlation=id)))
        events.append(dict(ph="X", cat="kernel", name=name, pid=0, tid=7, ts=at, dur=us, args=dict(device=0, stream=7, correlation=id)))
        at += us + 3
id += 1
events.append(dict(ph="X", cat="cuda_runtime", name="cudaMemcpyAsync", pid=1, tid=1, ts=at - 2, dur=1, args=dict(correlation=id)))
events.append(dict(ph="X", cat="gpu_memcpy", name="Memcpy HtoD (Pinned -> Device)", pid=0, tid=7, ts=at, dur=9, args={"device": 0, "stream": 7, "correlation": id, "bytes": 4096}))
json.dump(dict(traceEvents=events), open("engine.json", "w"))
EOP
"$aiflame" import -q -o engine.data engine.json || exit 1
# rows FILE EXPRESSION: r: {role: row} of report --by role
rows() {
	"$aiflame" report --by role --format json "$1" >r.json && python3 -c '
import json, sys
r = {x["role"]: x for x in json.load(open("r.json"))["rows"]}
print(r)
sys.exit(not eval(sys.argv[1]))' "$2"
}
check "report --by role adds up the kernels of each role" rows engine.data \
	"{k: v['time'] for k, v in r.items()} == {'attention': 120000, 'matrix products': 422000, 'KV cache': 20000, 'collectives': 60000, 'normalisation': 28000, 'other': 13000, 'copies': 9000}"
check "report --by role counts launches and kernels of a role" rows engine.data \
	"(r['matrix products']['launches'], r['matrix products']['kernels']) == (10, 2)"
check "report --by role names the kernel that takes most of a role" rows engine.data "r['matrix products']['kernel'].startswith('nvjet_')"
check "report --kernels --by role and --roles are report --by role" sh -c '
	"$1" report --by role engine.data >a && "$1" report --kernels --by role engine.data >b && "$1" report --roles engine.data >c && cmp a b && cmp a c' sh "$aiflame"
check "report --by role --kernel shows the roles of these kernels" sh -c '[ "$("$1" report --by role --kernel nccl --format csv engine.data | wc -l)" = 2 ]' sh "$aiflame"
check "report --stacks --by role is refused" status_is 2 "$aiflame" report --stacks --by role engine.data
if [ -n "${AIFLAME_TRACES:-}" ]; then
	for t in "$AIFLAME_TRACES"/kineto/tracelens/*.json.gz "$AIFLAME_TRACES"/tracelens/*.json.gz; do
		[ -e "$t" ] || continue
		rm -f real.data
		check "a real trace is imported: $(basename "$t")" "$aiflame" import -q -o real.data "$t"
		check "report --by role knows all but 1 % of the kernels' time of $(basename "$t")" rows real.data "r and r.get('other', {'wall_share': 0})['wall_share'] < 0.01"
	done
else
	skip "report --by role of real traces" "AIFLAME_TRACES names no folder"
fi
done_testing
