# SPDX-License-Identifier: Apache-2.0
"""A program that nobody prepared, for tests/gpu/inject.sh.

    inject_work.py NAME FILE

Computes the same again and again until FILE is there, and compares each result with the first, bit by bit. Prints "NAME: ready"
on stderr after the first, and at the end how many there were and how many differed, and a number that depends on the first. torch
uses torch.profiler once after that."""
import hashlib
import os
import sys
import time


def torch_train():
    import torch

    torch.use_deterministic_algorithms(True)
    x = torch.randn(256, 64, generator=torch.Generator().manual_seed(1)).cuda()

    def train_step():
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8)).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        for _ in range(20):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        return torch.cat([p.detach().flatten() for p in model.parameters()]).cpu().numpy().tobytes()

    return train_step


def torch_loader():
    """With workers, which are forked from the process that the agent is in."""
    import torch

    torch.use_deterministic_algorithms(True)
    data = torch.utils.data.TensorDataset(torch.randn(64, 512, generator=torch.Generator().manual_seed(1)))
    w = torch.randn(512, 512, generator=torch.Generator().manual_seed(2)).cuda()

    def loader_step():
        total = torch.zeros(512, device="cuda")
        for (x,) in torch.utils.data.DataLoader(data, batch_size=16, num_workers=2):
            total += (x.cuda() @ w).tanh().sum(0)
        return total.cpu().numpy().tobytes()

    return loader_step


def torch_graph():
    """Replays a graph that was captured before anybody came."""
    import torch

    x = torch.randn(128, 128, generator=torch.Generator().manual_seed(1)).cuda()
    out, graph, side = torch.empty_like(x), torch.cuda.CUDAGraph(), torch.cuda.Stream()

    def forward():
        h = x
        for _ in range(30):
            h = torch.tanh(h * 0.5 + x)
        out.copy_(h)

    with torch.cuda.stream(side):
        forward()
    side.synchronize()
    with torch.cuda.graph(graph):
        forward()

    def replay_step():
        out.zero_()
        for _ in range(10):
            graph.replay()
        return out.cpu().numpy().tobytes()

    return replay_step


def cupy():
    import cupy

    x = cupy.arange(65536, dtype=cupy.float32).reshape(256, 256) / 65536

    def cupy_step():
        h = x
        for _ in range(30):
            h = cupy.tanh(h * 0.5 + x)
        return h.get().tobytes()

    return cupy_step


def jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", ".05")
    import jax
    import jax.numpy as jnp
    import numpy

    x = jnp.arange(65536, dtype=jnp.float32).reshape(256, 256) / 65536

    @jax.jit
    def layer(h):
        return jnp.tanh(h * 0.5 + x)

    def jax_step():
        h = x
        for _ in range(30):
            h = layer(h)
        return numpy.asarray(h).tobytes()

    return jax_step


def profiled():
    """How many events on the device torch.profiler sees of one step: none where another has CUPTI."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as p:
        step()
    return sum(e.device_type.name == "CUDA" for e in p.events())


name, until = sys.argv[1:]
step = globals()[name]()
first, n, differ = step(), 0, 0
print(name + ": ready", file=sys.stderr, flush=True)
while not os.path.exists(until):
    differ += step() != first
    n += 1
events = f", {'no ' if profiled() == 0 else ''}events of its own profiler" if name == "torch_train" else ""
print(f"{name}: {'all equal' if n and not differ else f'{differ} of {n} differ'}, result {hashlib.sha256(first).hexdigest()[:12]}{events}", flush=True)
