# SPDX-License-Identifier: Apache-2.0
"""Training of a graph network with PyTorch Geometric on a random graph: python3 geometric.py [SECONDS]."""
import sys
import time

import torch
from torch_geometric.nn import GATConv, GCNConv

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8
torch.manual_seed(0)
nodes, edges = 50000, 800000


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GCNConv(128, 256)
        self.second = GATConv(256, 64, heads=4)
        self.third = GCNConv(256, 40)

    def forward(self, x, edge_index):
        x = self.first(x, edge_index).relu()
        x = self.second(x, edge_index).relu()
        return self.third(x, edge_index)


model = Network().cuda()
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(nodes, 128, device="cuda")
edge_index = torch.randint(0, nodes, (2, edges), device="cuda")
labels = torch.randint(0, 40, (nodes,), device="cuda")


def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x, edge_index), labels)
    loss.backward()
    optimizer.step()
    return loss


for _ in range(5):
    step()
torch.cuda.synchronize()
print("ready", file=sys.stderr, flush=True)
steps = 0
begin = time.time()
while time.time() < begin + seconds:
    loss = step().item()
    steps += 1
print(f"steps {steps} in {time.time() - begin:.2f} s, loss {loss:.4f}")
