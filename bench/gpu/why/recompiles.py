# SPDX-License-Identifier: Apache-2.0
"""A loop under torch.compile whose sequences have another length every 40 steps, so that it compiles again."""
import torch

from truth import Loop

device = "cuda" if torch.cuda.is_available() else "cpu"
for name in ("recompile_limit", "cache_size_limit"):
    if hasattr(getattr(torch, "_dynamo", None), "config") and hasattr(torch._dynamo.config, name):
        setattr(torch._dynamo.config, name, 1000)


class Mixer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(256, 1024), torch.nn.Linear(1024, 256)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)) * torch.sigmoid(x.mean()))


def score(model, x):
    return model(x).square().mean()


def evaluate_all():
    model = Mixer().to(device)
    compiled = torch.compile(model, dynamic=False) if hasattr(torch, "compile") else model
    with torch.no_grad():
        score(compiled, torch.randn(8, 65, 256, device=device)).item()
        loop = Loop(evaluate_all, "while")
        while loop.goes_on():
            length, is_new = 65 + loop.turns // 40, loop.turns % 40 == 0
            x = torch.randn(8, length, 256, device=device)
            if is_new:
                if device == "cuda":
                    torch.cuda.synchronize()
                with loop.in_function("score"):
                    score(compiled, x)
            value = score(compiled, x).item()
    loop.tell()
    return value


evaluate_all()
