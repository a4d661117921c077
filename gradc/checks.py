"""check_grads: gradients against central differences of the plain Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradc import pytree
from gradc.frontend.disabling import disable_compile
from gradc.linear import jvp, vjp
from gradc.run_time_sizes import fitted

# Central differences with two steps and Richardson's extrapolation: the error is O(step^4).
_STEP = 1e-3


class GradientMismatch(AssertionError):
    """A gradient differs from the central difference; the message names the worst entry."""


def check_grads(
    function: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compare reverse-mode and forward-mode gradients with central differences, up to an order.

    args: a tuple (or list) of the arguments; every floating or complex leaf is checked, element by
        element. A result that is not a scalar is contracted with fixed random weights
    rtol, atol: default 1e-5 for double precision arguments, 1e-2 when one is of lower precision

    Differences are taken of the plain Python function (for order 2 of gradc's first derivative,
    which has been checked by then). Raises GradientMismatch naming the worst entry, TypeError for
    args that are not a tuple.
    """
    if not isinstance(args, tuple | list):
        raise TypeError(
            "expected args to be a tuple with an entry for each argument, got "
            f"{type(args).__name__}: a single argument x is given as (x,)"
        )
    args = tuple(args)
    leaves, _ = pytree.flatten(args)
    low = any(np.asarray(x).dtype.itemsize < 8 for x in leaves if _is_inexact(x))
    tolerance = 1e-2 if low else 1e-5
    rtol = tolerance if rtol is None else rtol
    atol = tolerance if atol is None else atol
    _check(function, args, order, rtol, atol, 1)


def _check(
    function: Callable[..., Any], args: tuple[Any, ...], order: int, rtol: float, atol: float,
    level: int,
) -> None:  # fmt: skip
    out, pullback = vjp(function, *args)
    rng = np.random.default_rng(level)
    weights = _random_like(out, rng)
    gradients = pullback(weights)
    numeric = _differences(function, args, weights)
    _compare(args, gradients, numeric, rtol, atol, f"order {level}, reverse mode")
    tangents = tuple(_random_like(a, rng) for a in args)
    _, tangent = jvp(function, args, tangents)
    forward = _pairing(weights, tangent)
    expected = _pairing(numeric, tangents)
    if not _close(forward, expected, rtol, atol * _scale(numeric)):
        raise GradientMismatch(
            f"order {level}, forward mode: the directional derivative is {forward:.10g}, central "
            f"differences give {expected:.10g}"
        )
    if order > 1:
        # As arguments, not as closure variables: those of library code are not read anew.
        first = partial(_pulled_back, function, weights)
        _check(first, args, order - 1, rtol, atol, level + 1)


def _pulled_back(function: Callable[..., Any], weights: Any, *args: Any) -> Any:
    """The first derivatives of `function`, weighted, with respect to all arguments."""
    result, pullback = vjp(function, *args)
    return pullback(_like_result(weights, result))


def _like_result(weights: Any, result: Any) -> Any:
    """The weights in the shapes of a traced result, whose sizes may be known only at run time."""
    return pytree.tree_map(lambda r, w: None if w is None else fitted(w, r), result, weights)


def _is_inexact(x: Any) -> bool:
    return isinstance(x, float | complex | np.ndarray | np.generic) and (
        np.asarray(x).dtype.kind in "fc" or np.asarray(x).dtype.name == "bfloat16"
    )


def _random_like(tree: Any, rng: np.random.Generator) -> Any:
    def draw(leaf: Any) -> Any:
        if not _is_inexact(leaf):
            return None
        array = np.asarray(leaf)
        value = rng.standard_normal(array.shape)
        if array.dtype.kind == "c":
            value = value + 1j * rng.standard_normal(array.shape)
        return np.asarray(value).astype(array.dtype)

    return pytree.tree_map(draw, tree)


def _pairing(weights: Any, tree: Any) -> float:
    """The real inner product of two trees: sum of Re(conj(w) x)."""
    total = 0.0
    for w, x in zip(pytree.flatten(weights)[0], pytree.flatten(tree)[0]):
        if w is not None and x is not None:
            total += float(np.sum(np.real(np.conj(_wide(w)) * _wide(x))))
    return total


def _wide(x: Any) -> Any:
    array = np.asarray(x)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _differences(function: Callable[..., Any], args: tuple[Any, ...], weights: Any) -> Any:
    """The gradient of Re(conj(weights) . function(args)), element by element."""
    leaves, structure = pytree.flatten(args)
    # Differences of low-precision functions are taken in double precision.
    wide = [_wide(x) if _is_inexact(x) else x for x in leaves]

    def value(k: int, array: Any) -> float:
        moved = [*wide[:k], array, *wide[k + 1 :]]
        moved = [x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in moved]
        with disable_compile():
            return _pairing(weights, function(*pytree.unflatten(structure, moved)))

    result: list[Any] = []
    for k, x in enumerate(wide):
        if not _is_inexact(leaves[k]):
            result.append(None)
            continue
        gradient = np.zeros(x.shape, x.dtype)
        for index in np.ndindex(x.shape):
            directions = (1.0, 1j) if x.dtype.kind == "c" else (1.0,)
            for direction in directions:
                gradient[index] += direction * _slope(value, k, x, index, direction)
        result.append(gradient)
    return pytree.unflatten(structure, result)


def _slope(value: Any, k: int, x: np.ndarray, index: Any, direction: complex) -> float:
    step = _STEP * max(1.0, abs(x[index]))

    def moved(amount: float) -> float:
        y = x.copy()
        y[index] += amount * direction
        return float(value(k, y))

    wide = (moved(step) - moved(-step)) / (2 * step)
    narrow = (moved(step / 2) - moved(-step / 2)) / step
    return (4 * narrow - wide) / 3


def _scale(tree: Any) -> float:
    sizes = [np.asarray(x).size for x in pytree.flatten(tree)[0] if x is not None]
    return float(max(1, sum(sizes)))


def _close(found: Any, expected: Any, rtol: float, atol: float) -> bool:
    return bool(abs(found - expected) <= atol + rtol * max(abs(found), abs(expected)))


def _compare(
    args: tuple[Any, ...], gradients: Any, numeric: Any, rtol: float, atol: float, what: str
) -> None:
    worst = (1.0, "")
    for path, found, expected in _entries(args, gradients, numeric):
        difference = np.abs(found - expected)
        allowed = atol + rtol * np.maximum(np.abs(found), np.abs(expected))
        ratio = np.asarray(np.where(np.isnan(difference), np.inf, difference / allowed))
        if ratio.size and ratio.max() > worst[0]:
            index = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
            place = path + (f"[{', '.join(str(int(i)) for i in index)}]" if index else "")
            worst = (
                float(ratio.max()),
                f"{what}: the gradient of {place} is {found[index]:.10g}, central differences give "
                f"{expected[index]:.10g} (tolerance {allowed[index]:.2g})",
            )
    if worst[1]:
        raise GradientMismatch(worst[1])


def _entries(args: Any, gradients: Any, numeric: Any) -> Iterator[tuple[str, Any, Any]]:
    paths: list[str] = []
    for k, argument in enumerate(args):
        paths += pytree.leaf_paths(pytree.flatten(argument)[1], f"args[{k}]")
    found = pytree.flatten(gradients)[0]
    for path, g, n in zip(paths, found, pytree.flatten(numeric)[0]):
        if n is not None:
            yield path, _wide(g), _wide(n)
