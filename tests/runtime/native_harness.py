"""Run a loop-level function in the interpreter and natively, on the same arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.builder import Builder
from gradc.ir.interp import run_function
from gradc.ir.ops import arith
from gradc.ir.ops.func import FuncOp
from gradc.ir.ops.memref import storage
from gradc.ir.program import ArraySpec, CallNative, Program
from gradc.ir.types import Dim, MemRefType, ScalarType, from_numpy, i8, index, to_numpy
from gradc.passes.lower.emit_llvm import emit
from gradc.passes.lower.emit_python import emit_python
from gradc.runtime.executor import Executor

ARENA = MemRefType((Dim("arena"),), i8)
Array = tuple[tuple[int, ...], ScalarType]


def ix(b: Builder, value: int) -> Any:
    """An index constant."""
    return arith.constant(b, value, index)


def function(arrays: Sequence[Array], body: Callable[..., Any], name: str = "main") -> FuncOp:
    """A loop-level function over row-major buffers; body(builder, *buffers, arena)."""
    types = [MemRefType(tuple(shape), storage(dtype)) for shape, dtype in arrays]
    made = FuncOp.build(name, [*types, ARENA])
    body(Builder(made.body), *made.args)
    return made.finish([])


def program(made: FuncOp, arrays: Sequence[Array], outputs: int, arena: int = 0) -> Program:
    """The last `outputs` arrays are outputs, the others inputs."""
    specs = tuple(ArraySpec(tuple(shape), dtype) for shape, dtype in arrays)
    cut = len(specs) - outputs
    call = CallNative(emit(made), tuple(range(len(specs))))
    return Program(specs[:cut], specs[cut:], (), (call,), arena)


def native(made: FuncOp, arrays: Sequence[Array], outputs: int, arena: int = 0) -> Executor:
    return Executor(program(made, arrays, outputs, arena))


def as_buffer(array: np.ndarray) -> np.ndarray:
    """The array as loop-level functions see it: the same memory, under its storage type."""
    return array.view(to_numpy(storage(from_numpy(array.dtype))))


def interpreted(
    made: FuncOp, arrays: Sequence[Array], outputs: int, inputs: Sequence[Any], arena: int = 0
) -> list[np.ndarray]:
    """The outputs as the interpreter computes them."""
    specs = [ArraySpec(tuple(shape), dtype) for shape, dtype in arrays[len(arrays) - outputs :]]
    made_outputs = [np.zeros(spec.shape, spec.numpy_dtype) for spec in specs]
    buffers = [as_buffer(x) for x in (*inputs, *made_outputs)]
    run_function(made, [*buffers, np.zeros(arena, np.int8)])
    return made_outputs


NUMBA_IMPORT = "from numba import njit, prange"
PLAIN = """
def njit(**options):
    return lambda function: function
prange = range
"""


def python_function(made: FuncOp, compiled: bool = False) -> Callable[..., Any]:
    """The function of the emitted Python module, plain or compiled by Numba when first called."""
    text = emit_python(made)
    if not compiled:
        text = text.replace(NUMBA_IMPORT, PLAIN).replace("@njit\n", "")
    space: dict[str, Any] = {}
    exec(compile(text, "<emitted>", "exec"), space)
    return space[made["sym_name"]]


def python_outputs(
    run: Callable[..., Any],
    arrays: Sequence[Array],
    outputs: int,
    inputs: Sequence[Any],
    arena: int = 0,
) -> list[np.ndarray]:
    """The outputs as a function of an emitted Python module computes them."""
    specs = [ArraySpec(tuple(shape), dtype) for shape, dtype in arrays[len(arrays) - outputs :]]
    found = [np.zeros(spec.shape, spec.numpy_dtype) for spec in specs]
    buffers = [as_buffer(np.ascontiguousarray(x).reshape(x.shape)) for x in inputs]
    buffers += [as_buffer(x) for x in found]
    with np.errstate(all="ignore"):
        run(*buffers, np.zeros(arena, np.int8))
    return found


def both(
    body: Callable[..., Any],
    arrays: Sequence[Array],
    outputs: int,
    inputs: Sequence[Any],
    arena: int = 0,
) -> tuple[list[np.ndarray], tuple[np.ndarray, ...]]:
    """(interpreted outputs, native outputs)."""
    made = function(arrays, body)
    wanted = interpreted(made, arrays, outputs, inputs, arena)
    plain = python_outputs(python_function(made), arrays, outputs, inputs, arena)
    for a, b in zip(wanted, plain, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-3 if a.dtype.itemsize < 8 else 1e-9, atol=1e-4)
    return wanted, native(made, arrays, outputs, arena)(*inputs)


def assert_same(pair: tuple[Any, Any], tolerance: float = 0.0) -> tuple[np.ndarray, ...]:
    """Native equals interpreted, NaN included; within a relative tolerance where one is given."""
    wanted, got = pair
    assert len(wanted) == len(got)
    for a, b in zip(wanted, got, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if tolerance:
            np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(b, a)
    return got
