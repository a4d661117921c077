"""Calls of library routines on buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Loop
from gradc.ir.ops.memref import expect_buffer, expect_indices, strides_of
from gradc.ir.types import MemRefType, ScalarType, Type, c64, c128, f32, f64

# The letter in the names of BLAS's routines for each dtype that it computes with.
BLAS_LETTERS: dict[ScalarType, str] = {f32: "s", f64: "d", c64: "c", c128: "z"}


class GemmCall(Loop, name="kernel.gemm_call"):
    """C = alpha A B + beta C on matrices in buffers, through BLAS.

    Operands: a, b, c, then index values. The last two axes of each buffer are the matrix; `batch` =
    (na, nb, nc) says how many axes stand before them, which the indices (na for a, then nb, then
    nc) select. A and B have stride 1 along one matrix axis (a transposed matrix is one with its
    strides swapped), C along its last. With beta = 0 what C held before does not matter."""

    effects = True
    vjp = NOT_DIFFERENTIABLE

    def infer(
        a: Any,
        b: Type,
        c: Type,
        *indices: Type,
        batch: tuple[int, int, int] = (0, 0, 0),
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> tuple[Type, ...]:
        shapes = []
        for k, (t, lead) in enumerate(zip((a, b, c), batch, strict=True)):
            buffer = expect_buffer(t, f"operand {k}")
            if buffer.dtype not in BLAS_LETTERS or buffer.dtype != a.dtype:
                raise TypeRuleError(f"expected matrices of one f32, f64, c64 or c128, got {t}")
            if buffer.rank != lead + 2 or not all(type(n) is int for n in buffer.shape):
                raise TypeRuleError(f"expected {lead} + 2 static axes in operand {k}, got {t}")
            shapes.append(buffer.shape[lead:])
            if matrix_layout(buffer, c_only=k == 2) is None:
                raise TypeRuleError(f"expected operand {k} to have a matrix axis of stride 1: {t}")
        expect_indices(indices, sum(batch))
        (m, k1), (k2, n), out = shapes
        if k1 != k2 or out != (m, n):
            raise TypeRuleError(f"matrix sizes do not fit: {list(shapes)}")
        return ()

    def evaluate(
        a: Any,
        b: Any,
        c: Any,
        *indices: Any,
        batch: Any = (0, 0, 0),
        alpha: Any = 1.0,
        beta: Any = 0.0,
    ) -> tuple[Any, ...]:
        a, b, c = select_matrices((a, b, c), [int(i) for i in indices], batch)
        kind = c.dtype.type
        product = kind(alpha) * np.matmul(a, b)
        c[...] = product if beta == 0 else product + kind(beta) * c
        return ()


def select_matrices(
    arrays: Sequence[Any], indices: Sequence[int], batch: Sequence[int]
) -> list[np.ndarray]:
    """The matrices that leading indices select."""
    found, at = [], 0
    for array, lead in zip(arrays, batch, strict=True):
        found.append(array[tuple(indices[at : at + lead])] if lead else array)
        at += lead
    return found


def matrix_layout(t: MemRefType, c_only: bool = False) -> tuple[bool, int] | None:
    """(is it transposed, the stride of the other axis) of the last two axes, or None.

    The stride along an axis of size 1 is never used, so that axis fits any layout.
    """
    sizes: Any = t.shape[-2:]
    (rows, columns), (down, across) = sizes, strides_of(t)[-2:]
    if (columns == 1 or across == 1) and (rows == 1 or down >= columns):
        return False, down if rows > 1 else max(1, columns)
    if not c_only and (rows == 1 or down == 1) and (columns == 1 or across >= rows):
        return True, across if columns > 1 else max(1, rows)
    return None
