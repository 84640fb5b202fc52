# SPDX-License-Identifier: Apache-2.0
"""A small transformer that reads prompts and writes tokens, both in ranges of NVTX, and says how long each took by its own
clock.   runbook.py PROMPTS TOKENS COPIES: so many copies of its weights at each token are what nobody wants"""
import sys
import time

import torch
import torch.nn.functional as F

LAYERS, WIDTH, HEADS, PROMPT = 8, 1024, 16, 1024


class Model:
    def __init__(self):
        def matrix(rows, columns):
            return torch.randn(rows, columns, device="cuda", dtype=torch.half) / rows ** 0.5

        self.layers = [(matrix(WIDTH, 3 * WIDTH), matrix(WIDTH, WIDTH), matrix(WIDTH, 4 * WIDTH), matrix(4 * WIDTH, WIDTH))
                       for _ in range(LAYERS)]
        self.head = matrix(WIDTH, 32000)

    def step(self, x, past):
        """x: the positions to read; past: keys and values of each layer, of those before."""
        kept = []
        for i, (qkv, out, up, down) in enumerate(self.layers):
            torch.cuda.nvtx.range_push("layer %d" % i)
            q, k, v = (t.view(1, -1, HEADS, WIDTH // HEADS).transpose(1, 2)
                       for t in (F.layer_norm(x, (WIDTH,)) @ qkv).chunk(3, -1))
            if past:
                k, v = torch.cat((past[i][0], k), 2), torch.cat((past[i][1], v), 2)
            kept.append((k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=not past)
            x = x + y.transpose(1, 2).reshape(1, -1, WIDTH) @ out
            x = x + F.gelu(F.layer_norm(x, (WIDTH,)) @ up) @ down
            torch.cuda.nvtx.range_pop()
        return x[:, -1:], kept, (x[:, -1] @ self.head).argmax(-1)

    def copy_weights(self):
        self.layers = [tuple(w.clone() for w in layer) for layer in self.layers]


def main():
    prompts, tokens, copies = (int(a) for a in sys.argv[1:4])
    torch.manual_seed(1)
    torch.backends.cuda.enable_cudnn_sdp(False)  # which compiles anew for each length: 50 ms a token
    took = {"prefill": 0.0, "decode": 0.0}

    def timed(name, f, *args):
        begin = time.perf_counter()
        with torch.cuda.nvtx.range(name):
            ret = f(*args)
            torch.cuda.synchronize()
        took[name] += time.perf_counter() - begin
        return ret

    def token(x, past):
        for _ in range(copies):
            model.copy_weights()
        return model.step(x, past)

    with torch.no_grad():
        model = Model()
        prompt = torch.randn(1, PROMPT, WIDTH, device="cuda", dtype=torch.half)
        x, past, _ = model.step(prompt, None)  # what is done once is done before
        model.step(x, past)
        torch.cuda.synchronize()
        for _ in range(prompts):
            x, past, _ = timed("prefill", model.step, prompt, None)
        for _ in range(tokens):
            x, past, _ = timed("decode", token, x, past)
    for name, count in (("prefill", prompts), ("decode", tokens)):
        print(name, count, "%.6f" % took[name])


if __name__ == "__main__":
    main()
