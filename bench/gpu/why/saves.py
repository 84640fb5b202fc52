# SPDX-License-Identifier: Apache-2.0
"""Training that writes a checkpoint every 25 steps, in place: 25 steps are no step."""
import os
import tempfile

import torch

from truth import Loop

device = "cuda" if torch.cuda.is_available() else "cpu"


def snapshot(model, optimizer):
    """Copies what is saved to the host: time in which the device copies."""
    return [tensor.cpu() for tensor in [*model.state_dict().values(), *(t for s in optimizer.state.values() for t in s.values())]]


def write_checkpoint(state, path):
    torch.save(state, path)


def run_steps(path):
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(1024, 1024), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(512, 1024, device=device)
    for _ in range(3):
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    loop = Loop(run_steps, "while")
    while loop.goes_on():
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
        if loop.turns % 25 == 0:
            state = snapshot(model, optimizer)
            with loop.in_function("write_checkpoint"):
                write_checkpoint(state, path)
    loop.tell()


with tempfile.TemporaryDirectory() as folder:
    run_steps(os.path.join(folder, "last.pt"))
