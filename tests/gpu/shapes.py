# SPDX-License-Identifier: Apache-2.0
"""Programs that have PyTorch record the shapes of operators' inputs: what they computed and what their profiler saw, in lines that two
runs have alike.  shapes.py MODE [DEVICE]

  train      trains a small model
  threads    trains two models, each in a thread of its own, while one profiler is on; and calls backward() in another thread
  nested     computes with nested tensors between two trainings
  compiled   trains a model of torch.compile, which is compiled before the profiler is on
  compiling  trains a model of torch.compile, which is compiled while the profiler is on; with two lengths, so that shapes are symbols
  own        two threads with profilers of their own, one of which ends long before the other

Lines: "result ..."; "op NAME SHAPES COUNT" of operators; "kernel NAME COUNT" of the device's kernels; "refused ..." where PyTorch did.
"""
import collections
import sys
import threading
import warnings

warnings.simplefilter("ignore")
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

mode = sys.argv[1]
device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(64, 256), nn.LayerNorm(256), nn.Linear(256, 64)

    def forward(self, x):
        return self.last(nn.functional.gelu(self.norm(self.first(x))))


def made(seed):
    torch.manual_seed(seed)
    model = Model().to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def train(model, optimizer, steps, rows=128, backward=lambda loss: loss.backward()):
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(rows, 64, generator=generator).to(device)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = (model(x) - x).pow(2).mean()
        backward(loss)
        optimizer.step()
    return loss.item()


def in_thread(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def elsewhere(loss):
    in_thread(loss.backward)


def show(*profilers):
    """Prints what profilers saw. Calls of CUDA's runtime are left out: how often some are made is up to its memory's state."""
    ops, kernels = collections.Counter(), collections.Counter()
    for e in (e for p in profilers for e in p.events()):
        if e.device_type != torch.autograd.DeviceType.CPU:
            kernels[e.name] += 1
        elif "::" in e.name and not e.name.startswith("cuda"):
            ops[e.name, str([list(s) if isinstance(s, (list, tuple)) else [] for s in e.input_shapes or []])] += 1
    for (name, shapes), n in sorted(ops.items()):
        print("op", name, shapes, n, sep="\t")
    for name, n in sorted(kernels.items()):
        print("kernel", name, n, sep="\t")


def shapes():
    return profile(activities=activities, record_shapes=True)


if mode == "train":
    model, optimizer = made(1)
    train(model, optimizer, 5)
    with shapes() as p:
        result = train(model, optimizer, 10)
    print("result", result, train(model, optimizer, 3))
    show(p)
elif mode == "threads":
    models = [made(seed) for seed in (1, 2)]
    for m in models:
        train(*m, 5)
    results = [None, None]

    def work(i):
        results[i] = train(*models[i], 10, 64 + i)

    with shapes() as p:
        in_thread(lambda: work(0), lambda: work(1))
        result = train(*models[0], 5, 96, elsewhere)
    print("result", *results, result)
    show(p)
elif mode == "nested":
    model, optimizer = made(1)
    train(model, optimizer, 5)
    parts = torch.nested.nested_tensor([torch.ones(4, 5), torch.ones(3, 5)], device=device)
    parts = parts * 2.0
    with shapes() as p:
        train(model, optimizer, 3)
        for _ in range(5):
            parts = parts * 2.0
        result = train(model, optimizer, 3)
    print("result", result, float(parts.unbind()[0][0, 0]))
    show(p)
elif mode in ("compiled", "compiling"):
    model, optimizer = made(1)
    fast = torch.compile(model, dynamic=mode == "compiling")
    if mode == "compiled":
        train(fast, optimizer, 5)
    with shapes() as p:
        result = train(fast, optimizer, 10)
        if mode == "compiling":
            result = result, train(fast, optimizer, 10, 200)
    print("result", result)
    if mode == "compiled":
        show(p)
elif mode == "own":
    (outer, outer_optimizer), (inner, inner_optimizer) = made(1), made(2)
    for m in ((outer, outer_optimizer), (inner, inner_optimizer)):
        train(*m, 5)
    is_on, is_over = threading.Event(), threading.Event()
    results, profilers = [None, None], []

    def own(i, body):
        try:
            with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as p:
                results[i] = body()
            profilers.append(p)
        except RuntimeError as e:
            print("refused", str(e).splitlines()[0])
        is_on.set()
        is_over.set()

    def first():
        own(0, lambda: (train(outer, outer_optimizer, 5, 32), is_on.set(), is_over.wait(60), train(outer, outer_optimizer, 5, 48))[::3])

    def second():
        is_on.wait(60)
        own(1, lambda: train(inner, inner_optimizer, 5, 40))

    in_thread(first, second)
    print("result", *results)
    show(*profilers)
