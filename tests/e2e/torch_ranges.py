# SPDX-License-Identifier: Apache-2.0
"""A stock training step in PyTorch, its parts marked with record_function.

  torch_ranges.py train [STEPS]   prints the last loss
  torch_ranges.py shapes          a training without, then with shapes in torch.profiler (record_shapes), then without it; prints the
                                  operators with shapes that torch.profiler saw
  torch_ranges.py own             two threads with profilers of their own, of which one begins and ends while the other's is on; prints
                                  the operators with shapes that they saw
  torch_ranges.py profiler        a training under torch.profiler; prints the ranges that it saw
  torch_ranges.py elsewhere       a range that another thread ends, with others before, inside and behind it
"""
import collections
import sys
import threading
import warnings

warnings.simplefilter("ignore")
import torch
from torch.profiler import record_function


def train(steps, each=lambda: None):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.ReLU(), torch.nn.Linear(96, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(128, 64), torch.randint(0, 10, (128,))
    for step in range(steps):
        with record_function(f"step {step}"):
            with record_function("forward"):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            with record_function("backward"):
                loss.backward()
            with record_function("update"):
                optimizer.step()
                optimizer.zero_grad()
        each()
    return loss.item()


what = sys.argv[1]
if what == "train":
    print("loss", train(int(sys.argv[2]) if len(sys.argv) > 2 else 20))
elif what == "profiler":
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p:
        train(20, p.step)
    names = [e.name for e in p.events()]
    print("saw", *(names.count(n) for n in ("forward", "backward", "update", "step 3")))
elif what == "shapes":
    train(3)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities):
        train(3)
    with torch.profiler.profile(activities=activities, record_shapes=True) as p:
        train(5)
    train(3)
    for row in p.key_averages(group_by_input_shape=True):
        if row.key == "aten::addmm":
            print(row.key, row.input_shapes, row.count, sep=";")
elif what == "own":
    is_on, is_over, rows = threading.Event(), threading.Event(), collections.Counter()

    def profiled(body):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as p:
            body()
        for row in p.key_averages(group_by_input_shape=True):
            if row.key == "aten::addmm":
                rows[str(row.input_shapes)] += row.count

    def outer():
        train(2)
        is_on.set()
        is_over.wait()
        train(5)

    def inner():
        is_on.wait()
        profiled(lambda: train(3))
        is_over.set()

    threads = [threading.Thread(target=profiled, args=(outer,)), threading.Thread(target=inner)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for shapes, count in rows.items():
        print("aten::addmm", shapes, count, sep=";")
elif what == "nested":
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as p:
        train(3)
        parts = torch.nested.nested_tensor([torch.ones(4, 5), torch.ones(3, 5)])
        for _ in range(5):
            parts = parts * 2.0
        train(3)
    print("last", float(parts.unbind()[0][0, 0]), sum(row.count for row in p.key_averages() if row.key == "aten::addmm"))
elif what == "elsewhere":
    for _ in range(40):
        future = torch.futures.Future()
        outer = record_function("asynchronous")
        outer.__enter__()
        outer._call_end_callbacks_on_future(future)
        outer.__exit__(None, None, None)
        t = threading.Thread(target=future.set_result, args=(torch.zeros(1),))
        t.start()
        t.join()
        with record_function("after"):
            with record_function("inside"):
                pass
    print("done")
