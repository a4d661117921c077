"""Parts of neural networks in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.benchmarks.workload import Arguments, Workload


def cross_entropy(logits, labels):
    """The mean over rows of minus the logarithm of softmax(logits) at the label."""
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_sums = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_sums - shifted[np.arange(len(labels)), labels])


def mlp(w1, b1, w2, b2, w3, b3, x, labels):
    """The loss of a network with two hidden layers of relu."""
    h = np.maximum(x @ w1 + b1, 0)
    h = np.maximum(h @ w2 + b2, 0)
    return cross_entropy(h @ w3 + b3, labels)


def layernorm_softmax(x, gamma, beta, labels):
    """The loss of normalised rows (Ba, Kiros and Hinton 2016), taken as logits."""
    centred = x - np.mean(x, axis=1, keepdims=True)
    variance = np.mean(centred * centred, axis=1, keepdims=True)
    return cross_entropy(centred / np.sqrt(variance + 1e-5) * gamma + beta, labels)


def attention(q, k, v):
    """The sum of squares of scaled dot-product attention (Vaswani et al. 2017).

    q, k, v (batch, heads, length, width).
    """
    scores = q @ np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    out = weights @ v
    return np.sum(out * out)


def _cross_entropy_jax(logits, labels):
    import jax
    import jax.numpy as jnp

    log_p = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(log_p, labels[:, None], axis=1))


def mlp_jax() -> Callable[..., Any]:
    import jax

    def mlp(w1, b1, w2, b2, w3, b3, x, labels):
        h = jax.nn.relu(x @ w1 + b1)
        h = jax.nn.relu(h @ w2 + b2)
        return _cross_entropy_jax(h @ w3 + b3, labels)

    return mlp


def layernorm_softmax_jax() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def layernorm_softmax(x, gamma, beta, labels):
        centred = x - jnp.mean(x, axis=1, keepdims=True)
        variance = jnp.mean(centred * centred, axis=1, keepdims=True)
        return _cross_entropy_jax(centred * jax.lax.rsqrt(variance + 1e-5) * gamma + beta, labels)

    return layernorm_softmax


def attention_jax() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def attention(q, k, v):
        scores = q @ jnp.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
        out = jax.nn.softmax(scores) @ v
        return jnp.sum(out * out)

    return attention


def mlp_torch() -> Callable[..., Any]:
    import torch
    from torch.nn import functional

    def mlp(w1, b1, w2, b2, w3, b3, x, labels):
        h = torch.relu(torch.addmm(b1, x, w1))
        h = torch.relu(torch.addmm(b2, h, w2))
        return functional.cross_entropy(torch.addmm(b3, h, w3), labels)

    return mlp


def layernorm_softmax_torch() -> Callable[..., Any]:
    from torch.nn import functional

    def layernorm_softmax(x, gamma, beta, labels):
        logits = functional.layer_norm(x, x.shape[1:], gamma, beta, 1e-5)
        return functional.cross_entropy(logits, labels)

    return layernorm_softmax


def attention_torch() -> Callable[..., Any]:
    from torch.nn import functional

    def attention(q, k, v):
        out = functional.scaled_dot_product_attention(q, k, v)
        return (out * out).sum()

    return attention


# The fused operations above are the fastest eager form; torch.compile does better with parts that
# it can fuse itself.
def layernorm_softmax_parts() -> Callable[..., Any]:
    import torch
    from torch.nn import functional

    def layernorm_softmax(x, gamma, beta, labels):
        centred = x - x.mean(1, keepdim=True)
        variance = (centred * centred).mean(1, keepdim=True)
        logits = centred * torch.rsqrt(variance + 1e-5) * gamma + beta
        return functional.cross_entropy(logits, labels)

    return layernorm_softmax


def attention_parts() -> Callable[..., Any]:
    import torch

    def attention(q, k, v):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        out = torch.softmax(scores, -1) @ v
        return (out * out).sum()

    return attention


def _weights(random: np.random.Generator, *shape: int) -> np.ndarray:
    return (random.normal(size=shape) * shape[0] ** -0.5).astype(np.float32)


def network(
    random: np.random.Generator, batch: int, inputs: int, hidden: int, classes: int
) -> Arguments:
    sizes = (inputs, hidden, hidden, classes)
    layers: list[np.ndarray] = []
    for rows, columns in zip(sizes, sizes[1:]):
        # Biases of zero would put relu at its kink wherever a row before is zero.
        bias = random.uniform(-0.1, 0.1, columns).astype(np.float32)
        layers += [_weights(random, rows, columns), bias]
    x = random.uniform(size=(batch, inputs)).astype(np.float32)
    return (*layers, x, random.integers(0, classes, batch))


def rows(random: np.random.Generator, rows: int, columns: int) -> Arguments:
    return (
        (3.0 * random.normal(size=(rows, columns)) + 1.0).astype(np.float32),
        random.uniform(0.5, 1.5, columns).astype(np.float32),
        random.normal(size=columns).astype(np.float32),
        random.integers(0, columns, rows),
    )


def heads(
    random: np.random.Generator, batch: int, heads: int, length: int, width: int
) -> Arguments:
    shape = (3, batch, heads, length, width)
    return tuple(random.normal(size=shape).astype(np.float32))


WORKLOADS = (
    Workload(
        name="mlp",
        about="a training step of a network of three layers: matrix products",
        dtype="float32",
        function=mlp,
        jax=mlp_jax,
        torch=mlp_torch,
        arguments=network,
        argnums=(0, 1, 2, 3, 4, 5),
        sizes={
            "full": {"batch": 128, "inputs": 784, "hidden": 512, "classes": 10},
            "small": {"batch": 6, "inputs": 12, "hidden": 8, "classes": 4},
        },
    ),
    Workload(
        name="attention",
        about="scaled dot-product attention: batched products around a softmax",
        dtype="float32",
        function=attention,
        jax=attention_jax,
        torch=attention_torch,
        torch_compiled=attention_parts,
        arguments=heads,
        argnums=(0, 1, 2),
        sizes={
            "full": {"batch": 4, "heads": 8, "length": 256, "width": 64},
            "small": {"batch": 2, "heads": 2, "length": 5, "width": 4},
        },
    ),
    Workload(
        name="layernorm_softmax",
        about="layer normalisation and softmax cross-entropy: reductions along rows",
        dtype="float32",
        function=layernorm_softmax,
        jax=layernorm_softmax_jax,
        torch=layernorm_softmax_torch,
        torch_compiled=layernorm_softmax_parts,
        arguments=rows,
        argnums=(0, 1, 2),
        sizes={"full": {"rows": 4096, "columns": 1024}, "small": {"rows": 7, "columns": 9}},
    ),
)
