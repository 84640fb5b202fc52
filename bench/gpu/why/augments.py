# SPDX-License-Identifier: Apache-2.0
"""JAX training (flax and optax where they are) whose images a function of numpy crops and mixes between steps."""
import jax
import jax.numpy as jnp
import numpy as np

from truth import Loop

rng = np.random.default_rng(0)
images = rng.random((64, 72, 72, 3), dtype=np.float32)
labels = rng.integers(0, 10, 64)
try:
    import optax
    from flax import linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for width in (32, 64, 128):
                x = nn.relu(nn.Conv(width, (3, 3), strides=2)(x))
            return nn.Dense(10)(x.reshape(x.shape[0], -1))

    net, optimizer = Net(), optax.sgd(1e-3)
    predict = net.apply
    params = net.init(jax.random.PRNGKey(0), images[:, 4:68, 4:68])
except ImportError:
    optax = None
    sizes = (64 * 64 * 3, 512, 512, 10)
    params = [jax.random.normal(jax.random.PRNGKey(i), (m, n)) / m ** 0.5 for i, (m, n) in enumerate(zip(sizes, sizes[1:]))]

    def predict(params, x):
        x = x.reshape(x.shape[0], -1)
        for w in params[:-1]:
            x = jax.nn.relu(x @ w)
        return x @ params[-1]


def loss_of(params, x, y):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(predict(params, x)) * y, axis=-1))


@jax.jit
def update(params, state, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
    if optax:
        changes, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, changes), state, loss
    return jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, gradients), state, loss


def crop_and_mix():
    """About 10 ms of the host: crops at random, mixes each image with another, normalises."""
    at = rng.integers(0, 8, (len(images), 2))
    x = np.stack([image[i:i + 64, j:j + 64] for image, (i, j) in zip(images, at)])
    part, other = rng.beta(0.4, 0.4), rng.permutation(len(images))
    x = part * x + (1 - part) * x[other]
    y = np.eye(10, dtype=np.float32)[labels]
    return ((x - x.mean((1, 2), keepdims=True)) / (x.std((1, 2), keepdims=True) + 1e-5)).astype(np.float32), part * y + (1 - part) * y[other]


def fit(params):
    state = optimizer.init(params) if optax else None
    for _ in range(3):
        params, state, loss = update(params, state, *crop_and_mix())
    loss.block_until_ready()
    loop = Loop(fit, "while")
    while loop.goes_on():
        with loop.in_function("crop_and_mix"):
            x, y = crop_and_mix()
        params, state, loss = update(params, state, x, y)
        loss.block_until_ready()
    loop.tell()


fit(params)
