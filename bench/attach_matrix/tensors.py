# SPDX-License-Identifier: Apache-2.0
"""A small network, trained again and again from the same start, until standard input ends."""
import select
import sys

import torch

torch.set_num_threads(2)
losses = set()
over = False
while not over:
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(64, 32)
    for _ in range(20):
        loss = (net(x) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    losses.add(round(loss.item(), 5))
    over = bool(select.select([sys.stdin], [], [], 0)[0])
print(losses)
sys.exit(28)
