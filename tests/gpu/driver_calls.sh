#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --ebpf on a real NVIDIA GPU, as root: do stacks of launches that enter the driver go on into its functions, and
# those of launches that do not, end at the runtime's call? Each kernel's first launch loads it and makes the memory of its
# threads larger, which only the OS kernel can; the thousands after it are written to memory that the device reads. Some 20 s.
# Needs nvcc, or the compiled program in WORK.  [WORK=PATH] [AIFLAME=PATH] tests/gpu/driver_calls.sh
. "$(dirname "$0")/../e2e/tap.sh"
aiflame=${AIFLAME:-$aiflame}
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
if ! "$aiflame" record -q --ebpf -o x.data true >x.out 2>&1; then
	skip "launches that enter the driver" "$(sed 's/^aiflame: //' x.out | head -1)"
	done_testing
	exit
fi
cat >enter.cu <<'END'
#include <cstdio>
template <int N> __global__ void grow(float *out, int seed)
{
	volatile float local[N];
	for (int i = 0; i < N; i++)
		local[i] = (float)(i * seed);
	out[threadIdx.x] = local[(threadIdx.x * 7 + seed) % N];
}
__global__ void small(float *out) { out[threadIdx.x] += 1; }
template <int N> static void first(float *out)
{
	grow<N><<<1, 32>>>(out, N);
	cudaDeviceSynchronize();
}
int main()
{
	float *out;
	if (cudaMalloc(&out, 4096) != cudaSuccess)
		return 1;
	small<<<1, 32>>>(out);
	cudaDeviceSynchronize();
	first<64>(out), first<1024>(out), first<4096>(out), first<16384>(out), first<32768>(out), first<65536>(out);
	for (int i = 0; i < 20000; i++) {
		small<<<1, 32>>>(out);
		if (i % 100 == 0)
			cudaDeviceSynchronize();
	}
	std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	return 0;
}
END
cp "${WORK:-/nonexistent}" enter 2>/dev/null || nvcc -O2 -o enter enter.cu || { echo "not ok 1 - the program compiles"; exit 1; }
number() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }
entered="FROM launches l JOIN stacks s ON s.id = l.stack JOIN frames f ON f.id = s.frame JOIN frame_names n ON n.frame = f.id
	JOIN kernels k ON k.id = l.kernel WHERE l.kind = 'kernel' AND f.kind = 'os'"

check "a program whose first launches enter the driver is recorded" "$aiflame" record -q --ebpf --all-launches -o d.data ./enter
"$aiflame" query d.data "SELECT k.short, n.name AS entered, count(*) AS launches $entered GROUP BY 1, 2" | sed 's/^/# /'
some() { got=$(number d.data "SELECT count(*) $entered AND k.name LIKE '%grow%'"); echo "$got of 6"; [ "$got" -ge 1 ]; }
check "first launches have the driver's function" some
theirs() { [ "$(number d.data "SELECT count(*) $entered AND n.name NOT LIKE 'nv%' AND n.name NOT LIKE 'uvm%'")" = 0 ]; }
check "all such functions are NVIDIA's" theirs
few() { got=$(number d.data "SELECT count(*) $entered AND k.name LIKE '%small%'"); echo "$got of 20001"; [ "$got" -le 200 ]; }
check "at most one in a hundred launches that only write to memory has a driver frame" few
check "the tower shows it" sh -c '"$0" flame --by launches --detail full -o d.folded d.data &&
	grep -E ";cuLaunchKernel[^;]*;(.*;)?(__GI___)?ioctl;.*sys_ioctl_.k.;(nv|uvm)[a-z_]*_.k.;.*grow" d.folded' "$aiflame"
check "everything adds up" sh -c '"$0" info d.data | grep -q "everything adds up"' "$aiflame"
"$aiflame" query d.data 'SELECT * FROM losses' | sed 's/^/# /'
[ -z "${KEEP:-}" ] || cp d.data d.folded "$KEEP"
done_testing
