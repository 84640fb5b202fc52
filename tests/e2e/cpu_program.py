# SPDX-License-Identifier: Apache-2.0
"""A trainer in Python without an accelerator: prints its functions' shares of CPU time, then their sum in seconds."""
import sys
import time

took = {"gemm": 0.0, "attention": 0.0, "norm": 0.0}


def gemm(until):
    x = 0.0
    while time.thread_time() < until:
        for i in range(2000):
            x = x * 0.5 + i
    return x


def attention(until):
    x = 0.0
    while time.thread_time() < until:
        for i in range(2000):
            x += i
    return x


def norm(until):
    x = 1.0
    while time.thread_time() < until:
        for i in range(1, 2000):
            x = x / i + 1
    return x


def step():
    for part, share in ((gemm, 0.6), (attention, 0.3), (norm, 0.1)):
        begin = time.thread_time()
        part(begin + 0.02 * share)
        took[part.__name__] += time.thread_time() - begin


end = time.thread_time() + float(sys.argv[1])
while time.thread_time() < end:
    step()
whole = sum(took.values())
for name, seconds in took.items():
    print(f"{name} {100 * seconds / whole:.3f}")
print(f"sum {whole:.6f}")
