# SPDX-License-Identifier: Apache-2.0
"""A rank of a job of PyTorch with gloo: hang_gloo.py WHICH. Rank 2 leaves the all_reduce of turn 5 out (`skip`), loads data for
ever (`load`), or all meet and the job goes on (`go`)."""
import os
import sys
import time

import torch
import torch.distributed as dist


def load():
    while True:
        time.sleep(0.05)


def train(which, rank):
    x = torch.ones(1024)
    turn = 0
    while which == "go" or turn < 8:
        turn += 1
        if rank == 2 and turn == 5 and which == "skip":
            continue
        if rank == 2 and turn == 5 and which == "load":
            load()
        dist.all_reduce(x)
        time.sleep(0.01)


def finish():
    dist.barrier()


dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]),
                        init_method="file://" + os.path.abspath(os.environ["MEET"]))
train(sys.argv[1], int(os.environ["RANK"]))
finish()
