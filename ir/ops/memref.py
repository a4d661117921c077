"""MLIR's `memref` dialect: loads, stores and views of buffers at the loop level.

A buffer is an ndarray in the interpreter, changed in place. Elements are stored as `storage` says:
bool as i8, unsigned integers signless, bfloat16 as i16."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.core import OpaqueAttribute, Value
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Loop
from gradc.ir.types import SCALARS as _SCALARS
from gradc.ir.types import Dim, MemRefType, ScalarType, Type, bf16, i1, i8, i16, index, to_numpy

SCRATCH_BYTES = 4096  # the most that one memref.alloca may take of the stack


def storage(dtype: ScalarType) -> ScalarType:
    """The element type under which arrays of `dtype` are buffers at the loop level."""
    if dtype is i1:
        return i8
    if dtype is bf16:
        return i16
    return _SCALARS[dtype.name[1:]] if dtype.kind == "u" else dtype


def row_major(shape: Sequence[Any]) -> tuple[Any, ...]:
    """Row-major strides in elements; only the leading size may be a Dim."""
    strides = [1]
    for size in reversed(shape[1:]):
        if isinstance(size, Dim):
            raise TypeRuleError(f"expected static sizes after the first axis, got {tuple(shape)}")
        strides.append(strides[-1] * max(1, size))
    return tuple(reversed(strides[: len(shape)]))


def strides_of(type: MemRefType) -> tuple[int, ...]:
    """The strides of a buffer type, in elements."""
    return row_major(type.shape) if type.strides is None else type.strides


def expect_buffer(t: Type, what: str = "operand 0") -> MemRefType:
    if not isinstance(t, MemRefType):
        raise TypeRuleError(f"expected {what} to be a memref, got {t}")
    return t


def expect_indices(types: Sequence[Type], count: int) -> None:
    if len(types) != count or any(t != index for t in types):
        shown = ", ".join(str(t) for t in types)
        raise TypeRuleError(f"expected {count} index operands, got ({shown})")


def _element(operands: Sequence[Value], name: Callable[[Value], str]) -> str:
    """`%buffer[%i, %j] : type` for people."""
    buffer, *indices = operands
    return f"{name(buffer)}[{', '.join(map(name, indices))}] : {buffer.type}"


class Load(Loop, name="memref.load"):
    """The element at the given indices."""

    vjp = NOT_DIFFERENTIABLE

    def pretty(op: Load, name: Callable[[Value], str]) -> str:
        return f"memref.load {_element(op.operands, name)}"

    def infer(buffer: Any, *indices: Type, nontemporal: bool = False) -> ScalarType:
        expect_indices(indices, expect_buffer(buffer).rank)
        return buffer.dtype

    def evaluate(buffer: Any, *indices: Any, nontemporal: bool = False) -> Any:
        return buffer[checked_place(buffer, indices)]


class Store(Loop, name="memref.store"):
    """Write the value (operand 0) into the buffer (operand 1) at the given indices."""

    effects = True
    vjp = NOT_DIFFERENTIABLE

    def pretty(op: Store, name: Callable[[Value], str]) -> str:
        return f"memref.store {name(op.operands[0])}, {_element(op.operands[1:], name)}"

    def infer(value: Type, buffer: Any, *indices: Type, nontemporal: bool = False) -> Any:
        expect_indices(indices, expect_buffer(buffer, "operand 1").rank)
        if value != buffer.dtype:
            raise TypeRuleError(f"expected a value of the element type of {buffer}, got {value}")
        return ()

    def evaluate(value: Any, buffer: Any, *indices: Any, nontemporal: bool = False) -> Any:
        buffer[checked_place(buffer, indices)] = value
        return ()


def checked_place(buffer: Any, indices: Sequence[Any]) -> tuple[int, ...]:
    """The place as Python ints; a program that leaves the buffer is an error, negative included."""
    place = tuple(int(i) for i in indices)
    if not all(0 <= i < n for i, n in zip(place, buffer.shape)):
        raise IndexError(f"access {list(place)} is outside of a buffer of shape {buffer.shape}")
    return place


class View(Loop, name="memref.view"):
    """A row-major buffer at a byte offset (operand 1) of an i8 buffer; `to` is its type."""

    vjp = NOT_DIFFERENTIABLE

    def infer(source: Any, *operands: Type, to: MemRefType) -> MemRefType:
        if expect_buffer(source).dtype != i8 or source.rank != 1:
            raise TypeRuleError(f"expected operand 0 to be memref<?xi8>, got {source}")
        expect_buffer(to, "the result")
        if to.strides is not None:
            raise TypeRuleError(f"expected a row-major result, got {to}")
        expect_indices(operands, 1 + sum(isinstance(n, Dim) for n in to.shape))
        return to

    def evaluate(source: Any, offset: Any, *sizes: Any, to: MemRefType) -> np.ndarray:
        dynamic = iter(sizes)
        shape = tuple(int(next(dynamic)) if isinstance(n, Dim) else n for n in to.shape)
        dtype = to_numpy(to.dtype)
        nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        part = source[int(offset) : int(offset) + nbytes]
        if part.nbytes != nbytes:
            raise IndexError(f"{to} at byte {int(offset)} leaves a buffer of {source.size} bytes")
        return part.view(dtype).reshape(shape)


class Alloca(Loop, name="memref.alloca"):
    """Uninitialised scratch on the stack, for the rest of the function; `to` is its type."""

    effects = True
    vjp = NOT_DIFFERENTIABLE

    def infer(*, to: Any, operandSegmentSizes: Any = None) -> MemRefType:
        if any(isinstance(n, Dim) for n in expect_buffer(to, "the result").shape):
            raise TypeRuleError(f"expected static sizes, got {to}")
        if to.strides is not None:
            raise TypeRuleError(f"expected a row-major result, got {to}")
        if int(np.prod(to.shape, dtype=np.int64)) * to.dtype.itemsize > SCRATCH_BYTES:
            raise TypeRuleError(f"expected at most {SCRATCH_BYTES} bytes of scratch, got {to}")
        return to

    def evaluate(*, to: MemRefType, operandSegmentSizes: Any = None) -> np.ndarray:
        return np.empty(to.shape, to_numpy(to.dtype))


class ReinterpretCast(Loop, name="memref.reinterpret_cast"):
    """The same first element under another static shape and strides; `to` is the type."""

    vjp = NOT_DIFFERENTIABLE

    def infer(
        source: Any,
        *,
        to: MemRefType,
        static_offsets: Any = None,
        static_sizes: Any = None,
        static_strides: Any = None,
        operandSegmentSizes: Any = None,
    ) -> MemRefType:
        if expect_buffer(source).dtype != expect_buffer(to, "the result").dtype:
            raise TypeRuleError(f"expected one element type, got {source} and {to}")
        if any(isinstance(n, Dim) for n in to.shape):
            raise TypeRuleError(f"expected static sizes, got {to}")
        return to

    def evaluate(source: Any, *, to: Any, **static: Any) -> np.ndarray:
        if source.size and source.ndim and not source.flags.c_contiguous:
            # Strides of `to` count elements of the memory, which a permuted array has in other
            # order.
            source = source.T if source.T.flags.c_contiguous else source
        itemsize = source.dtype.itemsize
        strides = tuple(s * itemsize for s in strides_of(to))
        return np.lib.stride_tricks.as_strided(source, to.shape, strides)


class Copy(Loop, name="memref.copy"):
    """Copy all elements of operand 0 into operand 1, of equal shape; they do not overlap."""

    effects = True
    vjp = NOT_DIFFERENTIABLE

    def infer(source: Type, target: Type) -> tuple[Type, ...]:
        a, b = expect_buffer(source), expect_buffer(target, "operand 1")
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise TypeRuleError(f"expected buffers of one shape and element type, got {a} and {b}")
        return ()

    def evaluate(source: Any, target: Any) -> tuple[Any, ...]:
        target[...] = source
        return ()


def integers(bits: int, values: Sequence[int]) -> OpaqueAttribute:
    """MLIR's dense integer array: `array<i32: 1, 1>`."""
    listed = ": " + ", ".join(str(v) for v in values) if values else ""
    return OpaqueAttribute(f"array<i{bits}{listed}>")


def alloca(b: Any, type: MemRefType) -> Value:
    """Emit scratch of the given type."""
    attributes = {"to": type, "operandSegmentSizes": integers(32, (0, 0))}
    return b.create(Alloca, (), attributes)


def reinterpret_cast(
    b: Any, source: Value, shape: Sequence[int], strides: Sequence[int] | None = None
) -> Value:
    """Emit a view of `source` from its first element, with another shape and strides.

    Strides None are row-major: the result type then has no layout, for which MLIR wants a cast of
    its own only where the verifier sees a difference; equal strides are equal types here.
    """
    to: Any = MemRefType(tuple(shape), source.type.dtype, tuple(strides) if strides else None)
    attributes = {
        "to": to,
        "static_offsets": integers(64, (0,)),
        "static_sizes": integers(64, to.shape),
        "static_strides": integers(64, strides_of(to)),
        "operandSegmentSizes": integers(32, (1, 0, 0, 0)),
    }
    return b.create(ReinterpretCast, (source,), attributes)
