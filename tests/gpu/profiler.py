# SPDX-License-Identifier: Apache-2.0
"""A program that profiles itself with torch.profiler: prints how many device events that saw."""
import torch
from torch.profiler import ProfilerActivity, profile

x = torch.ones(256, 256, device="cuda")
for _ in range(50):
    x = x @ x
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
    for _ in range(200):
        x = torch.relu(x @ x)
    torch.cuda.synchronize()
print(sum(1 for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA))
