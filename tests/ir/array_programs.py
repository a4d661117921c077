"""Small programs over arrays for the tests of this folder: build, run, differentiate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradc.ir.ops  # noqa: F401  (fills the registry)
from gradc.ir.builder import Builder
from gradc.ir.interp import run_function
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import type_of
from gradc.ir.verify import verify
from gradc.passes.backward import differentiate


def trace(build: Callable[..., Any], *arrays: Any) -> FuncOp:
    """The function `build(b, *values)` for arguments like `arrays`."""
    function = FuncOp.build("f", [type_of(x) for x in arrays])
    found = build(Builder(function.body), *function.args)
    function.finish(found if isinstance(found, tuple) else [found])
    verify(function)
    return function


def run(function: FuncOp, *arrays: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in run_function(function, [np.asarray(x) for x in arrays])]


def value(build: Callable[..., Any], *arrays: Any) -> np.ndarray:
    """The only result of `build` on arrays."""
    (found,) = run(trace(build, *arrays), *arrays)
    return found


def gradients(
    build: Callable[..., Any], *arrays: Any, wrt: Sequence[int] = (0,), g: Any = None
) -> list[np.ndarray]:
    """Gradients of the only result, whose cotangent is `g` (default ones), in arguments `wrt`."""
    backward = differentiate(
        trace(build, *arrays), wrt, name="g", keep_values=False, cotangents="arguments"
    )
    verify(backward)
    like = backward.args[-1].type
    cotangent = np.ones(like.shape) if g is None else g
    return run(backward, *arrays, np.asarray(cotangent, np.asarray(arrays[wrt[0]]).dtype))


def gradient(build: Callable[..., Any], *arrays: Any, g: Any = None) -> np.ndarray:
    return gradients(build, *arrays, g=g)[0]


def hessian(build: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    """The second derivatives of a rank-0 result in a vector: one row for each direction."""
    first = differentiate(trace(build, x), (0,), name="g", keep_values=False)
    second = differentiate(first, (0,), name="h", keep_values=False, cotangents="arguments")
    verify(second)
    return np.array([run(second, x, row)[0] for row in np.eye(len(x), dtype=x.dtype)])
