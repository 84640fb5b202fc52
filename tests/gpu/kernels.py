# SPDX-License-Identifier: Apache-2.0
"""A kernel written in Triton, and a CUDA graph.  kernels.py [ROUNDS]"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    for _ in range(32):
        a = tl.exp(a * factor) - 1.0
    tl.store(y + i, a, mask=i < n)


def in_triton(x, y, rounds):
    for _ in range(rounds):
        scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 0.001, BLOCK=1024)


def in_a_graph(a, b, rounds):
    graph = torch.cuda.CUDAGraph()
    torch.mm(a, b)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        c = torch.mm(a, b)
        c = torch.relu(c)
        c = torch.mm(c, b)
    for _ in range(rounds):
        graph.replay()
    torch.cuda.synchronize()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    x = torch.randn(1 << 24, device="cuda")
    y = torch.empty_like(x)
    in_triton(x, y, rounds)
    a = torch.randn(2048, 2048, device="cuda", dtype=torch.float16)
    in_a_graph(a, a.clone(), rounds)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
