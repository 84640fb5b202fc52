# SPDX-License-Identifier: Apache-2.0
"""Training of a transformer's layers under torch.compile: python3 compiled.py [SECONDS]."""
import sys
import time

import torch

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8
torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, activation="gelu", batch_first=True, norm_first=True, dropout=0.0)
model = torch.compile(torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
x = torch.randn(16, 512, 1024, device="cuda")


def step():
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        loss = (model(x) - x).square().mean()
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
    loss = step()
    steps += 1
    if steps % 10 == 0:
        torch.cuda.synchronize()
torch.cuda.synchronize()
print(f"steps {steps} in {time.time() - begin:.2f} s, loss {loss.item():.4f}")
