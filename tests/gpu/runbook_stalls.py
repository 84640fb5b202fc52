# SPDX-License-Identifier: Apache-2.0
"""Kernels for the rule `device memory bound` of the decision table, in ranges called train, for SECONDS:
   runbook_stalls.py memory SECONDS     adds to each of 256 Mi numbers, which no cache holds
   runbook_stalls.py arithmetic SECONDS  multiplies and adds in registers, each time the number before"""
import sys
import time

import torch

BURN = """template <typename T> T burn(T x) {
    for (int i = 0; i < 4000; i++)
        x = x * T(0.999) + T(0.5);
    return x;
}"""


def main():
    what, seconds = sys.argv[1], float(sys.argv[2])
    if what == "memory":
        numbers = torch.ones(1 << 28, device="cuda")
        work = lambda: numbers.add_(1)
    else:
        numbers = torch.ones(1 << 20, device="cuda")
        burn = torch.cuda.jiterator._create_jit_fn(BURN)
        work = lambda: burn(numbers)
    work()
    torch.cuda.synchronize()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with torch.cuda.nvtx.range("train"):
            for _ in range(20):
                work()
            torch.cuda.synchronize()


if __name__ == "__main__":
    main()
