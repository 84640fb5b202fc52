# SPDX-License-Identifier: Apache-2.0
"""Tokens of a small transformer from CUDA graphs: python3 graph_decode.py compile|capture [SECONDS].

compile: torch.compile(mode="reduce-overhead") makes the graphs; capture: torch.cuda.graph(), for two batch sizes."""
import sys
import time

import torch

how = sys.argv[1] if len(sys.argv) > 1 else "capture"
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 8
torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm, self.qkv, self.out = torch.nn.LayerNorm(n), torch.nn.Linear(n, 3 * n), torch.nn.Linear(n, n)
        self.norm2, self.up, self.down = torch.nn.LayerNorm(n), torch.nn.Linear(n, 4 * n), torch.nn.Linear(4 * n, n)
        self.n = n

    def attend(self, x, cache):
        q, k, v = self.qkv(self.norm(x)).split(self.n, dim=-1)
        cache = torch.roll(cache, 1, dims=1)
        heads = [t.unflatten(-1, (-1, 64)).transpose(1, 2) for t in (q, k + cache[..., :1, :], v)]
        return self.out(torch.nn.functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(-2))

    def forward(self, x, cache):
        x = x + self.attend(x, cache)
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Decoder(torch.nn.Module):
    def __init__(self, n=1024, layers=8, vocabulary=32000):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(vocabulary, n), torch.nn.Linear(n, vocabulary)
        self.blocks = torch.nn.ModuleList(Block(n) for _ in range(layers))
        self.register_buffer("cache", torch.randn(1, 128, n))

    def forward(self, token):
        x = self.embed(token)
        for block in self.blocks:
            x = block(x, self.cache)
        return self.head(x).argmax(-1)


def captured(model, batch):
    token = torch.zeros(batch, 1, dtype=torch.long, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            model(token)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        token.copy_(model(token))
    return graph, token


def main():
    model = Decoder().half().cuda().eval()
    if how == "compile":
        compiled = torch.compile(model, mode="reduce-overhead")
        token = torch.zeros(4, 1, dtype=torch.long, device="cuda")

        def step():
            nonlocal token
            token = compiled(token).clone()
    else:
        graphs = [captured(model, batch) for batch in (1, 4)]

        def step():
            for graph, _ in graphs:
                graph.replay()

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    print("ready", file=sys.stderr, flush=True)
    steps = 0
    begin = time.time()
    while time.time() < begin + seconds:
        step()
        torch.cuda.synchronize()
        steps += 1
    print(f"steps {steps} in {time.time() - begin:.2f} s, {1e3 * (time.time() - begin) / steps:.3f} ms a step")


with torch.no_grad():
    main()
