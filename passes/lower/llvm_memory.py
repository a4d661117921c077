"""Buffers (`memref`) and library calls on them as LLVM instructions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from gradc.ir.core import Operation, Value
from gradc.ir.diagnostic import IRError
from gradc.ir.ops import blas, memref
from gradc.ir.types import ScalarType
from gradc.passes.lower.llvm_function import FunctionEmitter, element_type, emits, literal
from gradc.passes.lower.llvm_loops import Components, counted_loop
from gradc.passes.lower.llvm_module import component_types, llvm_type

INT32_MAX = 2**31 - 1


def load(e: FunctionEmitter, buffer: Value, indices: Sequence[str]) -> tuple[str, ...]:
    """Load the element at these indices: one LLVM value, two when it is complex."""
    dtype: ScalarType = buffer.type.dtype
    pointer, suffix = e.address(buffer, indices), e.aliasing(buffer)
    if not dtype.is_complex:
        return (e.assign(f"load {llvm_type(dtype)}, ptr {pointer}{suffix}"),)
    t = llvm_type(dtype.real)
    second = e.pure(f"getelementptr inbounds {t}, ptr {pointer}, i64 1")
    return tuple(e.assign(f"load {t}, ptr {p}{suffix}") for p in (pointer, second))


def store(
    e: FunctionEmitter, buffer: Value, indices: Sequence[str], components: Sequence[str]
) -> None:
    """Store an element."""
    dtype: ScalarType = buffer.type.dtype
    pointer, suffix = e.address(buffer, indices), e.aliasing(buffer)
    t = llvm_type(dtype.real if dtype.is_complex else dtype)
    e.line(f"store {t} {components[0]}, ptr {pointer}{suffix}")
    for component in components[1:]:
        second = e.pure(f"getelementptr inbounds {t}, ptr {pointer}, i64 1")
        e.line(f"store {t} {component}, ptr {second}{suffix}")


@emits(memref.Load)
def _load(e: FunctionEmitter, op: Operation) -> None:
    buffer, *indices = op.operands
    e.define(op, *load(e, buffer, [e[i] for i in indices]))


@emits(memref.Store)
def _store(e: FunctionEmitter, op: Operation) -> None:
    value, buffer, *indices = op.operands
    store(e, buffer, [e[i] for i in indices], e.values[value])


@emits(memref.View)
def _view(e: FunctionEmitter, op: Operation) -> None:
    source, offset = op.operands[:2]
    if e[offset] == "0":
        e.define(op, e[source])
    else:
        e.define(op, e.pure(f"getelementptr inbounds i8, ptr {e[source]}, i64 {e[offset]}"))


@emits(memref.Alloca)
def _alloca(e: FunctionEmitter, op: Operation) -> None:
    t: Any = op.results[0].type
    count = 1
    for size in t.shape:
        count *= size
    e.define(op, e.stack(f"[{count} x {element_type(t.dtype)}]", 64))


@emits(memref.ReinterpretCast)
def _reinterpret(e: FunctionEmitter, op: Operation) -> None:
    e.values[op.results[0]] = e.values[op.operands[0]]


@emits(memref.Copy)
def _copy(e: FunctionEmitter, op: Operation) -> None:
    source, target = op.operands
    t: Any = source.type
    rows = memref.row_major(t.shape)
    if memref.strides_of(t) == rows and memref.strides_of(target.type) == rows:
        nbytes = t.dtype.itemsize
        for size in t.shape:
            nbytes *= size
        kinds = ("ptr", "ptr", "i64", "i1")
        function = e.module.declare("llvm.memcpy.p0.p0.i64", "void", kinds)
        count = e.integer(nbytes)
        e.line(f"call void {function}(ptr {e[target]}, ptr {e[source]}, i64 {count}, i1 false)")
        return
    _copy_axes(e, source, target, t.shape, [])


def _copy_axes(
    e: FunctionEmitter, source: Value, target: Value, left: Sequence[Any], at: list[str]
) -> None:
    """One loop an axis, element by element."""
    if not left:
        store(e, target, at, load(e, source, at))
        return

    def body(index: str) -> list[Components]:
        _copy_axes(e, source, target, left[1:], [*at, index])
        return []

    counted_loop(e, "0", e.integer(left[0]), "1", body)


# ---------------------------------------------------------------------------------- library calls


def _slot(e: FunctionEmitter, type: str, value: str) -> str:
    """The address of a value: BLAS takes everything by reference."""
    place = e.stack(type)
    e.line(f"store {type} {value}, ptr {place}")
    return place


def _int_slot(e: FunctionEmitter, op: Operation, value: int) -> str:
    if value > INT32_MAX:
        raise IRError(
            f"expected matrices with sizes and strides up to {INT32_MAX}, which is the most that "
            f"BLAS takes, got {value}: split the matrix product into parts",
            op,
        )
    name = e.integer(value)
    short = name if not name.startswith("%") else e.pure(f"trunc i64 {name} to i32")
    return _slot(e, "i32", short)


def _factor_slot(e: FunctionEmitter, value: complex, dtype: ScalarType) -> str:
    t, part = component_types(dtype)[0], dtype.real
    parts = (value.real, value.imag)[: len(component_types(dtype))]
    place = e.stack(f"[{len(parts)} x {t}]")
    for k, x in enumerate(parts):
        pointer = place if k == 0 else e.assign(f"getelementptr {t}, ptr {place}, i64 1")
        e.line(f"store {t} {literal(x, part)}, ptr {pointer}")
    return place


def _layout(op: Operation, operand: int) -> tuple[bool, int]:
    """(is it transposed, the stride of the other axis) of a matrix; the result's is not."""
    t: Any = op.operands[operand].type
    found = blas.matrix_layout(t, c_only=operand == 2)
    if found is None:
        raise IRError(f"expected operand {operand} to have a matrix axis of stride 1, got {t}", op)
    return found


@emits(blas.GemmCall)
def _gemm(e: FunctionEmitter, op: Any) -> None:
    buffers = op.operands[:3]
    batch = op.attributes.get("batch", (0, 0, 0))
    left = [e[i] for i in op.operands[3:]]
    pointers = []
    for buffer, lead in zip(buffers, batch, strict=True):
        pointers.append(e.address(buffer, [*left[:lead], "0", "0"]))
        left = left[lead:]
    a, b = (buffer.type for buffer in buffers[:2])
    (m, k), n = a.shape[-2:], b.shape[-1]
    alpha = _factor_slot(e, complex(op.attributes.get("alpha", 1.0)), a.dtype)
    beta = _factor_slot(e, complex(op.attributes.get("beta", 0.0)), a.dtype)
    letter = blas.BLAS_LETTERS[a.dtype]
    size = functools.partial(_int_slot, e, op)
    if n == 1 or m == 1:
        # y = op(M) x: the matrix times a column, or the transposed matrix times a row.
        matrix, vector = (0, 1) if n == 1 else (1, 0)
        t: Any = buffers[matrix].type
        axis_in, axis_out = (-2, -2) if n == 1 else (-1, -1)
        increments = [
            max(1, memref.strides_of(buffers[v].type)[axis])
            for v, axis in ((vector, axis_in), (2, axis_out))
        ]
        transposed, lead = _layout(op, matrix)
        # A row-major matrix is the transpose of what Fortran sees; so is B for a row times B.
        flip = not transposed if n == 1 else transposed
        rows, columns = t.shape[-2:] if transposed else t.shape[:-3:-1]
        arguments = [
            _slot(e, "i8", str(ord("T" if flip else "N"))),
            size(rows), size(columns), alpha, pointers[matrix], size(lead), pointers[vector],
            size(increments[0]), beta, pointers[2], size(increments[1]),
        ]  # fmt: skip
        _call_blas(e, f"{letter}gemv", arguments)
        return
    # Row-major C = A B is column-major C^T = B^T A^T, so the operands change places.
    (at, lda), (bt, ldb), (_, ldc) = (_layout(op, k) for k in range(3))
    arguments = [
        _slot(e, "i8", str(ord("T" if bt else "N"))), _slot(e, "i8", str(ord("T" if at else "N"))),
        size(n), size(m), size(k), alpha, pointers[1], size(ldb), pointers[0], size(lda), beta,
        pointers[2], size(ldc),
    ]  # fmt: skip
    _call_blas(e, f"{letter}gemm", arguments)


def _call_blas(e: FunctionEmitter, name: str, arguments: Sequence[str]) -> None:
    function = e.module.declare(f"gradc_{name}", "void", ["ptr"] * len(arguments))
    e.line(f"call void {function}({', '.join(f'ptr {a}' for a in arguments)})")
