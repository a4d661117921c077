"""Builds loop-level functions of one scalar computation and runs them, interpreted and native."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradc.ir.ops  # noqa: F401
from gradc.ir.builder import Builder
from gradc.ir.interp import run_function
from gradc.ir.ops import arith, scf
from gradc.ir.ops.func import FuncOp
from gradc.ir.ops.memref import storage
from gradc.ir.program import ArraySpec, CallNative, Program
from gradc.ir.types import Dim, MemRefType, ScalarType, from_numpy, i8, index, to_numpy
from gradc.passes.lower.emit_llvm import emit
from gradc.passes.lower.expand_math import expand_math
from gradc.passes.lower.scalars import Scalar, ScalarBuilder
from gradc.runtime.executor import Executor

Body = Callable[..., Scalar]


def scalar_function(
    body: Body, dtypes: list[ScalarType], expand: bool
) -> tuple[FuncOp, ScalarType]:
    """A function of one element of each dtype, as it is in memory, and the result's dtype."""
    function = FuncOp.build("f", [storage(d) for d in dtypes])
    s = ScalarBuilder(Builder(function.body))
    operands = [s.from_storage(v, d) for v, d in zip(function.args, dtypes, strict=True)]
    result = body(s, *operands)
    function.finish([s.to_storage(result)])
    if expand:
        expand_math(function)
    return function, result.dtype


def interpret(body: Body, *arrays: np.ndarray, expand: bool = False) -> np.ndarray:
    """The scalar computation on all elements at once, in the interpreter."""
    dtypes = [from_numpy(x.dtype) for x in arrays]
    function, dtype = scalar_function(body, dtypes, expand)
    buffers = [x.view(to_numpy(storage(d))) for x, d in zip(arrays, dtypes, strict=True)]
    (found,) = run_function(function, buffers)
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    found = np.ascontiguousarray(np.broadcast_to(found, shape))
    return found if found.dtype == to_numpy(dtype) else found.view(to_numpy(dtype))


def loop_function(body: Body, dtypes: list[ScalarType], size: int) -> tuple[FuncOp, ScalarType]:
    """A function that applies the computation to vectors: inputs, one output, the arena."""
    _, dtype = scalar_function(body, dtypes, False)
    types = [MemRefType((size,), storage(d)) for d in (*dtypes, dtype)]
    function = FuncOp.build("f", [*types, MemRefType((Dim("arena"),), i8)])
    b = Builder(function.body)
    *inputs, output, _ = function.args
    bounds = [arith.constant(b, n, index) for n in (0, size, 1)]

    def element(b: Any, i: Any) -> list[Any]:
        s = ScalarBuilder(b)
        loaded = [b.memref_load(x, i) for x in inputs]
        operands = [s.from_storage(v, d) for v, d in zip(loaded, dtypes, strict=True)]
        b.memref_store(s.to_storage(body(s, *operands)), output, i)
        return []

    scf.for_(b, *bounds, body=element)
    function.finish([])
    expand_math(function)
    return function, dtype


def compiled(body: Body, dtypes: list[ScalarType], size: int) -> Callable[..., Any]:
    """The loop as native code: vectors in, the result vector out."""
    function, dtype = loop_function(body, dtypes, size)
    inputs = tuple(ArraySpec((size,), d) for d in dtypes)
    step = CallNative(emit(function), tuple(range(len(dtypes) + 1)))
    run = Executor(Program(inputs, (ArraySpec((size,), dtype),), (), (step,), 0))
    return lambda *arrays: run(*arrays)[0]


def native(body: Body, *arrays: np.ndarray) -> np.ndarray:
    """The scalar computation on vectors of one length, compiled."""
    dtypes = [from_numpy(x.dtype) for x in arrays]
    return compiled(body, dtypes, len(arrays[0]))(*arrays)
