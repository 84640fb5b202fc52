# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer: forward, backward, optimizer.  train.py [STEPS]"""
import sys
import time

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, words=8192, width=512, heads=8, layers=6):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


def train_step(model, optimizer, tokens):
    optimizer.zero_grad()
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    return loss


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    torch.manual_seed(1)
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, 8192, (16, 257), device="cuda")
    for _ in range(5):
        train_step(model, optimizer, tokens)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        train_step(model, optimizer, tokens)
    torch.cuda.synchronize()
    print("%.3f ms a step" % ((time.perf_counter() - begin) / steps * 1000))


if __name__ == "__main__":
    main()
