"""JAX: one jitted step that keeps parameters and optimizer state in place, with XLA's convolution or with products of
shifted images, which XLA differentiates into matrix products."""

import os

import common

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_default_prng_impl", "unsafe_rbg")  # the quick generator, for dropout


def convolution(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def shifted_products(x, w):
    height, width = x.shape[1] - 2, x.shape[2] - 2
    patches = [x[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return jnp.concatenate(patches, -1) @ w.reshape(-1, w.shape[-1])


def pool(x):
    n, height, width, channels = x.shape
    x = x[:, : height // 2 * 2, : width // 2 * 2]
    return x.reshape(n, height // 2, 2, width // 2, 2, channels).max((2, 4))


def set_threads(threads):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])  # XLA has no setting of its own


def initial_parameters(model):
    shapes = {
        "mlp": [(784, 512), (512, 10)],
        "cnn": [(3, 3, 1, 32), (3, 3, 32, 64), (3, 3, 64, 64), (576, 64), (64, 10)],
    }[model]
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=s) * np.sqrt(2 / np.prod(s[:-1])) for s in shapes]
    return [(jnp.array(w, jnp.float32), jnp.zeros(w.shape[-1])) for w in weights]


def logits(model, convolve, parameters, x, key):
    dense = lambda x, p: x @ p[0] + p[1]
    if model == "mlp":
        hidden = jax.nn.relu(dense(x.reshape(len(x), -1), parameters[0]))
        if key is not None:
            hidden = jnp.where(jax.random.bernoulli(key, 0.8, hidden.shape), hidden / 0.8, 0)
        return dense(hidden, parameters[1])
    layer = lambda x, p: jax.nn.relu(convolve(x, p[0]) + p[1])
    x = pool(layer(x, parameters[0]))
    x = pool(layer(x, parameters[1]))
    x = layer(x, parameters[2]).reshape(len(x), -1)
    return dense(jax.nn.relu(dense(x, parameters[3])), parameters[4])


def adam(state, gradients, t):
    def update(parameter, first, second, gradient):
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        step = (first / (1 - 0.9**t)) / (jnp.sqrt(second / (1 - 0.999**t)) + 1e-8)
        return parameter - common.LEARNING_RATE * step, first, second

    updated = jax.tree.map(update, *state, gradients)
    return jax.tree.transpose(jax.tree.structure(gradients), jax.tree.structure((0, 0, 0)), updated)


def training(convolve):
    def prepare(model, batch_size, threads):
        set_threads(threads)
        images, labels = common.load_data()
        parameters = initial_parameters(model)
        zeros = lambda: jax.tree.map(jnp.zeros_like, parameters)

        def loss(parameters, pixels, y, key):
            x = pixels.astype(jnp.float32)[..., None] / 255
            log_probabilities = jax.nn.log_softmax(logits(model, convolve, parameters, x, key))
            return -jnp.take_along_axis(log_probabilities, y[:, None].astype(jnp.int32), 1).mean()

        @jax.jit(donate_argnums=(0,))
        def update(state, t, pixels, y):
            gradients = jax.grad(loss)(state[0], pixels, y, jax.random.key(t))
            return adam(state, gradients, t)

        draw = common.batches(batch_size)
        now = [(parameters, zeros(), zeros()), 0]

        def step():
            batch = next(draw)
            now[1] += 1
            now[0] = update(now[0], now[1], images[batch], labels[batch])

        return step, lambda: jax.block_until_ready(now[0])

    return prepare


def inference(convolve):
    def prepare(model, batch_size, threads):
        set_threads(threads)
        parameters = initial_parameters(model)
        x = jnp.array(common.inputs(batch_size))
        forward = jax.jit(lambda x: logits(model, convolve, parameters, x, None))
        return lambda: forward(x).block_until_ready()

    return prepare


def forms(make):
    both = {"convolution": make(convolution), "products": make(shifted_products)}
    return lambda model: both if model == "cnn" else {"jit": make(None)}


common.main(jax.__version__, forms(training), forms(inference))
