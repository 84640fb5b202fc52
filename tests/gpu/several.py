# SPDX-License-Identifier: Apache-2.0
"""PyTorch on two GPUs, for several.sh.

    several.py two STEPS              one process, a model on each GPU
    several.py ranks STEPS [SECONDS]  a process for each GPU; sums over both (NCCL); at least STEPS steps, and for so long

Prints what was computed in STEPS steps; "counted RANK N": calls of add_ by then, and "in all RANK N": ever."""
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

SMALL = 40  # operators of a step that launch one kernel each
LOOK = 20  # steps, after which it is agreed on whether to go on


def model(device, width):
    torch.manual_seed(width)
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)).to(device)


def on_first(m, x):
    return m(x)


def on_second(m, x):
    return m(x)


def two(steps):
    with torch.no_grad():
        first, second = model("cuda:0", 512), model("cuda:1", 768)
        x, y = torch.ones(64, 512, device="cuda:0"), torch.ones(64, 768, device="cuda:1")
        for _ in range(steps):
            x = on_first(first, x) + 1
            y = on_second(second, y) + 1
        print("first %.6g second %.6g" % (x.sum().item(), y.sum().item()), flush=True)


def step(x, w, sums):
    for _ in range(SMALL):
        x.add_(1e-6)
    sums.copy_(torch.mm(x, w)[0])
    dist.all_reduce(sums)
    x.mul_(0.99)


def rank_main(rank, store, steps, seconds):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="file://" + store, rank=rank, world_size=2)
    x = torch.full((64, 256), 1.0 + rank, device="cuda")
    w = torch.full((256, 256), 1 / 256, device="cuda")
    sums = torch.zeros(256, device="cuda")
    on = torch.ones(1, device="cuda")
    begin = time.monotonic()
    done = 0
    while True:
        step(x, w, sums)
        done += 1
        if done == steps:
            print("rank %d: %.9g %.9g\ncounted %d %d" % (rank, sums.sum().item(), x.sum().item(), rank, done * SMALL), flush=True)
        if done % LOOK == 0 and done >= steps:
            on.copy_(torch.tensor([1.0 if time.monotonic() - begin < seconds else 0.0]))
            dist.broadcast(on, 0)
            if on.item() == 0:
                break
    print("in all %d %d" % (rank, done * SMALL), flush=True)
    dist.barrier()
    torch.cuda.synchronize()
    dist.destroy_process_group()


def ranks(steps, seconds):
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as where:
        mp.spawn(rank_main, args=(os.path.join(where, "store"), steps, seconds), nprocs=2)


def main():
    steps = int(sys.argv[2])
    if sys.argv[1] == "two":
        two(steps)
    else:
        ranks(steps, float(sys.argv[3]) if len(sys.argv) > 3 else 0)


if __name__ == "__main__":
    main()
