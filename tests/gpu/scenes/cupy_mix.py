# SPDX-License-Identifier: Apache-2.0
"""FFT, sort, elementwise, raw kernel and a matrix product in CuPy, launched back to back: python3 cupy_mix.py [SECONDS]."""
import sys
import time

import cupy

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 6
a = cupy.random.rand(2048, 2048, dtype=cupy.float32)
saxpy = cupy.ElementwiseKernel("float32 a, float32 x, float32 y", "float32 z", "z = a * x + y", "my_saxpy")
scale = cupy.RawKernel(
    'extern "C" __global__ void raw_scale(float *x, int n)'
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 0.999f; }", "raw_scale")


def spectrum(x):
    return cupy.abs(cupy.fft.fft2(x))


def rank(x):
    return cupy.sort(x.ravel())[:1000]


print("ready", file=sys.stderr, flush=True)
rounds = 0
end = time.time() + seconds
while time.time() < end:
    s = spectrum(a)
    r = rank(a)
    b = saxpy(cupy.float32(0.5), a, s.astype(cupy.float32))
    scale((a.size // 256,), (256,), (a, a.size))
    c = a @ b
    rounds += 1
    if rounds % 50 == 0:
        cupy.cuda.Stream.null.synchronize()
cupy.cuda.Stream.null.synchronize()
print("rounds", rounds)
