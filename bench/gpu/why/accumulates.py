# SPDX-License-Identifier: Apache-2.0
"""Training that adds up gradients of four small batches for each step of the optimizer, and evaluates after each 30 steps; texts are
packed into batches in pure Python between them. The steps are the optimizer's."""
import contextlib
import random

import torch

from truth import Loop

device = "cuda" if torch.cuda.is_available() else "cpu"
random.seed(0)
TEXTS = [[random.randrange(1000) for _ in range(random.randint(20, 120))] for _ in range(500)]


def pack(length=256, rows=8):
    """Fills rows with texts, each into the first with room: some ms of Python."""
    batch = [[] for _ in range(rows)]
    for text in random.sample(TEXTS, 300):
        for row in batch:
            if len(row) + len(text) <= length:
                row.extend(word * 7 % 1000 for word in text)
                break
    return [row + [0] * (length - len(row)) for row in batch]


of_loss = contextlib.nullcontext


def loss_of(model, batch):
    with of_loss():
        ids = torch.tensor(batch, device=device)
    return torch.nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


@torch.no_grad()
def evaluate(model, batches):
    return sum(loss_of(model, batch).item() for batch in batches) / len(batches)


def optimize():
    model = torch.nn.Sequential(torch.nn.Embedding(1000, 256), torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 1000)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    held_back = [pack() for _ in range(10)]
    loss_of(model, held_back[0]).backward()
    optimizer.step()
    global of_loss
    loop = Loop(optimize, "while")
    of_loss = lambda: loop.in_function("loss_of")
    while loop.goes_on():
        total = 0.0
        for _ in range(4):
            with loop.in_function("pack"):
                batch = pack()
            loss = loss_of(model, batch) / 4
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if device == "cuda":
            torch.cuda.synchronize()
        if loop.turns % 30 == 0:
            evaluate(model, held_back)
    loop.tell()


optimize()
