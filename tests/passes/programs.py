"""Small functions built by hand, and the independent sources that derivatives are checked
against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradc.ir.ops  # noqa: F401  (fills the registry)
from gradc.ir.builder import Builder
from gradc.ir.core import Location
from gradc.ir.interp import run_function
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import TensorType, type_of
from gradc.ir.verify import verify

# (offset, weight): f'(x) h + O(h^7) is the sum of weight * (f(x + offset h) - f(x - offset h)).
STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
STEP = 1e-4


def build(body: Callable[..., Any], *types: TensorType, name: str = "f") -> FuncOp:
    """The function whose operations `body(b, *inputs)` emits; it returns a value or a list."""
    function = FuncOp.build(name, types, [f"x{k}" for k in range(len(types))])
    found = body(Builder(function.body, Location("model.py", 7, 1)), *function.args)
    function.finish(found if isinstance(found, list | tuple) else [found])
    verify(function)
    return function


def build_for(body: Callable[..., Any], *arrays: Any) -> FuncOp:
    """The same, with the types of example arguments."""
    return build(body, *map(type_of, arrays))


def run(function: FuncOp, *arrays: Any) -> tuple[np.ndarray, ...]:
    verify(function)
    return run_function(function, [np.asarray(x) for x in arrays])


def names(function: FuncOp) -> list[str]:
    """The names of the operations, without the return."""
    return [op.name for op in function.body.ops[:-1]]


def pairing(weights: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> float:
    """The real inner product of two lists of arrays: the sum of Re(conj(w) v)."""
    return sum(float(np.sum(np.real(np.conj(w) * v))) for w, v in zip(weights, values, strict=True))


def slope(function: Callable[[float], Any]) -> Any:
    """The derivative at 0 of a function of one real number, by central differences."""
    return sum(w * (function(k * STEP) - function(-k * STEP)) for k, w in STENCIL) / STEP


def difference_gradient(
    function: FuncOp, arrays: Sequence[np.ndarray], position: int, weights: Sequence[np.ndarray]
) -> np.ndarray:
    """The gradient of pairing(weights, function(arrays)) in one input, by central differences."""
    array = np.asarray(arrays[position])
    gradient = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        for direction in (1, 1j) if array.dtype.kind == "c" else (1,):

            def along(t: float, place: Any = place, direction: complex = direction) -> float:
                moved = array.copy()
                moved[place] += t * direction
                changed = [*arrays[:position], moved, *arrays[position + 1 :]]
                return pairing(weights, run_function(function, changed))

            gradient[place] += direction * slope(along)
    return gradient


def difference_tangents(
    function: FuncOp, arrays: Sequence[np.ndarray], directions: dict[int, np.ndarray]
) -> list[np.ndarray]:
    """The derivatives of all outputs along a direction in the inputs, by central differences."""

    def along(k: int) -> Callable[[float], np.ndarray]:
        def at(t: float) -> np.ndarray:
            moved = [x + t * directions[i] if i in directions else x for i, x in enumerate(arrays)]
            return run_function(function, moved)[k]

        return at

    return [slope(along(k)) for k in range(len(function.returned))]


def assert_close(found: Any, expected: Any, tolerance: float = 1e-7) -> None:
    scale = 1 + np.max(np.abs(expected), initial=0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


# ----------------------------------------------------------------- programs over smooth points


def _softmax_loss(b: Any, x: Any, w: Any) -> Any:
    z = b.dot_general(x, w, contract=((1,), (0,)))
    top = b.broadcast(b.reduce_max(z, axes=(1,)), shape=z.type.shape, dims=(0,))
    e = b.exp(b.sub(z, top))
    total = b.broadcast(b.reduce_sum(e, axes=(1,)), shape=z.type.shape, dims=(0,))
    return b.reduce_sum(b.square(b.div(e, total)), axes=(0, 1))


def _reads(b: Any, x: Any) -> Any:
    """Overlapping slices, one of them strided, and a store."""
    first = b.slice(x, starts=(0, 1), sizes=(3, 2), steps=(1, 1))
    second = b.slice(x, starts=(2, 0), sizes=(3, 2), steps=(-1, 3))
    third = b.slice(x, starts=(1, 1), sizes=(1, 1), steps=(1, 1))
    product = b.mul(b.exp(first), second)
    return [b.update_slice(product, b.sin(third), starts=(0, 1), steps=(1, 1)), first]


def _gathers(b: Any, x: Any) -> Any:
    indices = np.array([2, 0, 2, 1])
    indices.flags.writeable = False
    at = b.constant(value=indices, type=type_of(indices))
    rows = b.gather(b.tanh(x), at, axes=(0,))
    again = b.gather(x, at, axes=(0,))
    return b.scatter(b.square(again), rows, at, axes=(0,), combine="add")


def _batched(b: Any, x: Any, y: Any) -> Any:
    z = b.dot_general(x, y, contract=((2,), (1,)), batch=((0,), (0,)))
    return b.mul(b.sin(z), b.transpose(b.transpose(z, perm=(2, 1, 0)), perm=(2, 1, 0)))


def _scans(b: Any, x: Any) -> Any:
    return b.mul(b.cumsum(b.exp(x), axis=0, reverse=False), b.cumprod(x, axis=0, reverse=False))


def _shapes(b: Any, x: Any) -> Any:
    flat = b.reshape(b.sin(x), shape=(12,))
    padded = b.pad(flat, b.reduce_sum(x, axes=(0, 1)), low=(1,), high=(2,))
    return b.concatenate(padded, b.square(flat), axis=0)


def _choices(b: Any, x: Any, y: Any) -> Any:
    z = b.maximum(b.mul(x, y), b.sin(y))
    return b.select(b.gt(x, 0), b.log(b.abs(x)), b.clip(z, b.full(-1, z.type), b.full(1, z.type)))


def _reductions(b: Any, x: Any) -> Any:
    top = b.reduce_max(b.exp(x), axes=(1,))
    product = b.reduce_prod(x, axes=(0,))
    return [b.mul(top, top), b.sqrt(b.square(product)), b.reduce_min(x, axes=(0, 1))]


_RNG = np.random.default_rng(5)


def _draw(*shape: int) -> np.ndarray:
    return _RNG.uniform(0.2, 1.8, shape) * _RNG.choice([-1.0, 1.0], shape)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "softmax": (_softmax_loss, (_draw(3, 4), _draw(4, 5))),
    "reads": (_reads, (_draw(3, 4),)),
    "gathers": (_gathers, (_draw(4, 2),)),
    "batched": (_batched, (_draw(2, 3, 4), _draw(2, 4, 3))),
    "scans": (_scans, (_draw(5),)),
    "shapes": (_shapes, (_draw(3, 4),)),
    "choices": (_choices, (_draw(6), _draw(6))),
    "reductions": (_reductions, (_draw(3, 4),)),
}
