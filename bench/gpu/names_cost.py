# SPDX-License-Identifier: Apache-2.0
"""Programs that launch as fast as they can through libraries which call NVTX once a tool is there: names_cost.py WHAT [SECONDS]

    xla    a jitted function of 200 instructions that do next to nothing, one thunk each (XLA_FLAGS takes command buffers away)
    gemm   products of small matrices by PyTorch (cuBLAS)
    conv   small convolutions by PyTorch (cuDNN)
    sort   sums and sorts by PyTorch (CUB)

Prints the median time of an instruction or of an operator in ns, over turns of some ms."""
import os
import statistics
import sys
import time

what = sys.argv[1]
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3
MANY = 200


def of_xla():
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_enable_command_buffer="
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp

    @jax.jit
    def chain(x):
        for i in range(MANY):
            x = jax.lax.optimization_barrier(x + float(i))
        return x

    x = jnp.zeros(256)

    def turn():
        chain(x).block_until_ready()

    return turn


def of_torch():
    import torch

    a, image = torch.randn(64, 64, device="cuda"), torch.randn(1, 8, 16, 16, device="cuda")
    layer = torch.nn.Conv2d(8, 8, 3).cuda()
    each = {"gemm": lambda: torch.mm(a, a), "conv": lambda: layer(image), "sort": lambda: torch.sort(a.view(-1))}[what]

    def turn():
        with torch.no_grad():
            for _ in range(MANY):
                each()
        torch.cuda.synchronize()

    return turn


turn = of_xla() if what == "xla" else of_torch()
for _ in range(20):
    turn()
time.sleep(1)
turns, end = [], time.perf_counter() + seconds
while time.perf_counter() < end:
    begin = time.perf_counter()
    turn()
    turns.append((time.perf_counter() - begin) * 1e9 / MANY)
print(f"{what} {statistics.median(turns):.1f} ns of {len(turns)} turns")
