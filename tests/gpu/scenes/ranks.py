# SPDX-License-Identifier: Apache-2.0
"""Ranks on two GPUs, one of which computes on its host for some ms each step, for ranks.sh:  ranks.py KIND LATE_MS SECONDS

KIND: ddp, fsdp, tensor (the two halves of a matrix product are summed), hang (rank 1 leaves out one all-reduce, and sleeps). Run by
torchrun. Rank 1 is late in straggle(). Prints "truth rank N kind K late MS steps STEPS median_ms MS host_ms MS": a step, and what
the rank's host takes of it until it waits for its device."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

WIDTH, LAYERS, LOOK = 2048, 12, 20


def straggle(ms):
    end = time.perf_counter() + ms / 1e3
    while time.perf_counter() < end:
        pass


def make_layers():
    torch.manual_seed(1)
    return nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS)]).cuda()


def make_step(kind, rank, late):
    if kind == "ddp":
        model = nn.parallel.DistributedDataParallel(make_layers(), device_ids=[rank])
    elif kind == "fsdp":
        from torch.distributed.fsdp import fully_shard

        model = make_layers()
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
    else:
        model = make_layers()
    x = torch.randn(256, WIDTH, device="cuda")
    if kind == "tensor":

        def step():
            with torch.no_grad():
                h = x
                for i, layer in enumerate(model):
                    h = layer(h)
                    if rank == 1 and i == LAYERS // 2:
                        straggle(late)
                    dist.all_reduce(h)
                    h = h / 2
            return time.perf_counter()

        return step
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    def step():
        loss = model(x).square().mean()
        if rank == 1:
            straggle(late)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter()

    return step


def main():
    kind, late, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    step = make_step("tensor" if kind == "hang" else kind, rank, late)
    ends, times, hosts, begin = torch.zeros(1, device="cuda"), [], [], time.time()
    while True:
        before = time.perf_counter()
        launched = step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - before)
        hosts.append(launched - before)
        if len(times) % LOOK == 0:
            ends.fill_(1.0 if time.time() - begin > seconds else 0.0)
            if kind == "hang" and rank == 1 and time.time() - begin > seconds:
                time.sleep(60)
            dist.broadcast(ends, 0)
            if kind != "hang" and ends.item():
                break
    times.sort()
    hosts.sort()
    print("truth rank %d kind %s late %g steps %d median_ms %.3f host_ms %.3f" % (
        rank, kind, late, len(times), times[len(times) // 2] * 1e3, hosts[len(hosts) // 2] * 1e3), flush=True)
    dist.destroy_process_group()


main()
