"""A classifier of handwritten digits in plain NumPy, trained with gradc's gradients.

    python examples/digits.py

The data are the 1,797 images of 8 x 8 pixels that scikit-learn brings along. A quarter of them is
held out: training never sees it, and the accuracy is measured on it. `gradc demo` runs the same
program with a progress bar, and shows what the compiler made of the loss.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradc

Params = list[dict[str, Any]]  # a layer's weights "w" (f32[inputs, outputs]) and bias "b"

SIZES = (64, 256, 128, 10)
DECAY = np.float32(1e-4)


# ------------------------------------------------------------------------------------ the model
def scores(params: Params, x: Any) -> Any:
    """The network's score for each digit: f32[images, 64] -> f32[images, 10]."""
    for layer in params[:-1]:
        x = np.maximum(x @ layer["w"] + layer["b"], 0)
    return x @ params[-1]["w"] + params[-1]["b"]


@gradc.compile
def loss(params: Params, x: Any, y: Any) -> Any:
    """Cross-entropy of one-hot labels y: f32[images, 10], and a penalty on large weights."""
    z = scores(params, x)
    z = z - np.max(z, axis=1, keepdims=True)
    log_probability = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    penalty = sum(np.sum(np.square(layer["w"])) for layer in params)
    return -np.mean(np.sum(y * log_probability, axis=1)) + DECAY * penalty


def initial_params(rng: np.random.Generator) -> Params:
    """Weights scaled for ReLU layers (He et al. 2015, equation 10), biases zero."""
    return [
        {
            "w": rng.normal(0, np.sqrt(2 / inputs), (inputs, outputs)).astype(np.float32),
            "b": np.zeros(outputs, np.float32),
        }
        for inputs, outputs in zip(SIZES, SIZES[1:])
    ]


# ------------------------------------------------------------------------------------- the data
@dataclass(frozen=True)
class Digits:
    """Images f32[n, 64] less the mean training image, labels int[n], split for good."""

    train_x: np.ndarray
    train_labels: np.ndarray
    test_x: np.ndarray
    test_labels: np.ndarray


def load(seed: int = 0) -> Digits:
    """The images, a quarter of each digit held out. ModuleNotFoundError without scikit-learn."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
    except ImportError as error:
        raise ModuleNotFoundError(
            "the digits come with scikit-learn, which is not installed: "
            "pip install 'gradc[examples]'"
        ) from error
    images, labels = load_digits(return_X_y=True)
    train_x, test_x, train_labels, test_labels = train_test_split(
        (images / 16).astype(np.float32), labels, test_size=0.25, stratify=labels, random_state=seed
    )
    mean = train_x.mean(axis=0)
    return Digits(train_x - mean, train_labels, test_x - mean, test_labels)


# ----------------------------------------------------------------------------------- the training
@dataclass(frozen=True)
class Settings:
    epochs: int = 40
    batch: int = 64
    rate: float = 3e-3
    seed: int = 0


@dataclass(frozen=True)
class Epoch:
    """What one pass over the training images gave.

    losses: one for each batch;  accuracy: on the held-out images
    gradients: calls of value_and_grad, and the seconds they took
    """

    number: int
    losses: list[float]
    accuracy: float
    gradients: int
    seconds: float


class Adam:
    """Kingma and Ba 2015, algorithm 1, with a step size for each call."""

    def __init__(self, params: Params) -> None:
        self.count = 0
        self.mean = [{name: np.zeros_like(p) for name, p in layer.items()} for layer in params]
        self.square = [{name: np.zeros_like(p) for name, p in layer.items()} for layer in params]

    def step(self, params: Params, gradients: Params, rate: float) -> None:
        """Change the parameters in place."""
        self.count += 1
        rate *= np.sqrt(1 - 0.999**self.count) / (1 - 0.9**self.count)
        for layer, gradient, mean, square in zip(params, gradients, self.mean, self.square):
            for name, g in gradient.items():
                mean[name] += 0.1 * (g - mean[name])
                square[name] += 0.001 * (g * g - square[name])
                layer[name] -= np.float32(rate) * mean[name] / (np.sqrt(square[name]) + 1e-8)


def train(digits: Digits, settings: Settings, params: Params) -> Iterator[Epoch]:
    """Train the parameters in place, batch by batch, with a step size that falls to zero."""
    rng = np.random.default_rng(settings.seed)
    one_hot = np.eye(10, dtype=np.float32)[digits.train_labels]
    optimizer = Adam(params)
    batches = len(one_hot) // settings.batch
    for epoch in range(settings.epochs):
        order = rng.permutation(len(one_hot))
        losses = []
        seconds = 0.0
        for k in range(batches):
            chosen = order[k * settings.batch : (k + 1) * settings.batch]
            x, y = digits.train_x[chosen], one_hot[chosen]
            start = time.perf_counter()
            value, gradients = loss.value_and_grad(params, x, y)
            seconds += time.perf_counter() - start
            done = (epoch * batches + k) / (settings.epochs * batches)
            optimizer.step(params, gradients, settings.rate * 0.5 * (1 + np.cos(np.pi * done)))
            losses.append(float(value))
        yield Epoch(epoch + 1, losses, accuracy(params, digits), batches, seconds)


def accuracy(params: Params, digits: Digits) -> float:
    """The share of held-out images whose highest score is at their label."""
    guesses = scores(params, digits.test_x).argmax(axis=1)
    return float(np.mean(guesses == digits.test_labels))


def main() -> None:
    settings = Settings()
    params = initial_params(np.random.default_rng(settings.seed))
    for epoch in train(load(), settings, params):
        if epoch.number % 5 == 0:
            print(
                f"epoch {epoch.number:2}: loss {np.mean(epoch.losses):.4f}, test accuracy "
                f"{epoch.accuracy:.2%}, {epoch.gradients / epoch.seconds:,.0f} gradients/s"
            )


if __name__ == "__main__":
    main()
