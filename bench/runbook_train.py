# SPDX-License-Identifier: Apache-2.0
"""runbook_train.py OUT: trains a small transformer with PyTorch on the CPU; each step is a range called train, OUT a JSON file
with the rate and the loss. The file `fault`, where one works, says what is wrong: slow (each step twice), copy (the weights are
moved to and fro), wrong (the descent goes up)."""
import json
import os
import sys
import time

import torch

import aiflame

fault = open("fault").read().strip() if os.path.exists("fault") else ""
torch.manual_seed(1)
torch.set_num_threads(2)
STEPS, TOKENS, WIDTH = 15, 256, 128
model = torch.nn.TransformerEncoderLayer(WIDTH, 4, 512, dropout=0.0, batch_first=True)
step_of = torch.optim.SGD(model.parameters(), lr=0.05)
data = torch.randn(4, TOKENS // 4, WIDTH)
want = torch.roll(data, 1, 1)


def shuffle_weights():
    for _ in range(40):
        for p in model.parameters():
            p.data = p.data.clone().flip(0).clone().flip(0)


losses, begin = [], time.monotonic()
for step in range(STEPS):
    with aiflame.range("train"):
        for _ in range(2 if fault == "slow" else 1):
            step_of.zero_grad()
            loss = torch.nn.functional.mse_loss(model(data), want)
            (-loss if fault == "wrong" else loss).backward()
        if fault == "copy":
            shuffle_weights()
        step_of.step()
    losses.append(loss.item())
seconds = time.monotonic() - begin
with open(sys.argv[1], "w") as f:
    json.dump({"train_tok_s": STEPS * TOKENS / seconds, "loss": losses[-1], "is_learning": losses[-1] < losses[0]}, f)
