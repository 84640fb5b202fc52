# SPDX-License-Identifier: Apache-2.0
"""Training of a perceptron with JAX, one jitted step at a time: python3 jax_train.py [SECONDS]."""
import sys
import time

import jax
import jax.numpy as jnp

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8
key = jax.random.PRNGKey(0)
sizes = [1024, 4096, 4096, 1024]
params = [(jax.random.normal(key, (m, n)) / m**0.5, jnp.zeros(n)) for m, n in zip(sizes, sizes[1:])]


def predict(params, x):
    for w, b in params[:-1]:
        x = jax.nn.gelu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


@jax.jit
def update(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return [(w - 1e-3 * dw, b - 1e-3 * db) for (w, b), (dw, db) in zip(params, grads)], value


x = jax.random.normal(key, (4096, 1024))
y = jnp.sin(x)
for _ in range(5):
    params, value = update(params, x, y)
value.block_until_ready()
print("ready", file=sys.stderr, flush=True)
steps = 0
begin = time.time()
while time.time() < begin + seconds:
    params, value = update(params, x, y)
    steps += 1
    if steps % 10 == 0:
        value.block_until_ready()
value.block_until_ready()
print(f"steps {steps} in {time.time() - begin:.2f} s, loss {float(value):.4f}")
