# SPDX-License-Identifier: Apache-2.0
"""JAX: attention over batches of ever other widths, so that nearly each call compiles anew, tunes its kernels, and replays a graph
that was just made. Such programs ended when they were recorded (src/agent/cuda/activity.c). jax_shapes.py SECONDS"""
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, HIDDEN, BATCH, WORDS = 256, 1024, 16, 8192


@jax.jit
def encode(p, tokens, mask):
    x = p["embed"][tokens]
    q, k, v = jnp.split(x @ p["qkv"], 3, axis=-1)
    weights = jax.nn.softmax(jnp.where(mask[:, None, :], jnp.einsum("bqd,bkd->bqk", q, k) / 16, -1e9), axis=-1)
    x = x + jnp.einsum("bqk,bkd->bqd", weights, v) @ p["out"]
    x = x + jax.nn.gelu(x @ p["up"]) @ p["down"]
    return (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)


def main():
    rng = np.random.default_rng(3)
    shapes = {"embed": (WORDS, WIDTH), "qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH)}
    p = {name: jnp.asarray(rng.standard_normal(shape, np.float32) * 0.05) for name, shape in shapes.items()}
    print("ready", file=sys.stderr, flush=True)
    end, steps, total = time.time() + float(sys.argv[1]), 0, 0.0
    while time.time() < end:
        width = 700 if not steps else int(rng.integers(33, 700))
        tokens = rng.integers(1, WORDS, (BATCH, width), dtype=np.int32)
        mask = np.arange(width) < rng.integers(1, width + 1, (BATCH, 1))
        total += float(encode(p, tokens, mask).sum())
        steps += 1
    print(f"steps {steps}, sum {total:.3f}")


main()
