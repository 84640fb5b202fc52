# SPDX-License-Identifier: Apache-2.0
"""What a node's creation costs a program in Python: graphs of 1,000 additions, captured by PyTorch below eight functions. Prints
the median time of a node in us, captured, over ten graphs; and of the end of the capture, which instantiates."""
import statistics
import time

import torch

x = torch.zeros(16, device="cuda")


def nodes(depth):
    if depth:
        return nodes(depth - 1)
    for _ in range(1000):
        x.add_(1)
    return None


begins, ends = [], []
for _ in range(10):
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        begin = time.perf_counter()
        nodes(8)
        middle = time.perf_counter()
    ends.append((time.perf_counter() - middle) * 1e3)
    begins.append((middle - begin) * 1e3)
    graph.replay()
torch.cuda.synchronize()
print(f"us a node: captured {statistics.median(begins):.3f}, ended {statistics.median(ends):.3f}")
