"""The scalar code of one kernel.generic, emitted piece by piece as its loops open.

An operation of the body has a level: how many loops must be open before its operands are known.
`hoist` emits what the open loops allow, so that nothing is computed inside a loop that it does not
depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.affine import AffineMap
from gradc.ir.builder import Builder
from gradc.ir.core import Operation, TypedNumber, Value
from gradc.ir.ops import scf
from gradc.ir.ops.arith import number
from gradc.ir.ops.kernel import Bounded, IndexValue, Load, Masked, Number
from gradc.ir.types import ScalarType, f32, f64, i64, index
from gradc.passes.lower.access import Array, index_constant, index_value, load
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.scalar_value import Scalar
from gradc.passes.lower.scalars import ScalarBuilder
from gradc.passes.lower.tree import Kernel


class BodyEmitter:
    """Emits `kernel`'s body; arrays and registers say where the values it loads are.

    size(b, n) gives a size as an index value, run-time sizes included.
    """

    def __init__(
        self,
        kernel: Kernel,
        arrays: dict[Value, Array],
        registers: dict[Value, Scalar],
        size: Callable[[Builder, Any], Value],
    ) -> None:
        self.kernel = kernel
        self.size = size
        self.arrays = arrays
        self.registers = registers
        self.block = kernel.op.body
        self.scalars: dict[Value, Scalar] = {}
        self.pending = list(self.block.ops[:-1])
        self.dims = {v: k for k, v in enumerate(self.block.args)}
        self.levels: dict[Value, int] = {v: k + 1 for v, k in self.dims.items()}
        for op in self.pending:
            level = self.level(op)
            for value in op.results:
                self.levels[value] = level

    def level(self, op: Operation) -> int:
        if isinstance(op, Load | IndexValue | Masked):
            skip = 0 if isinstance(op, IndexValue) else 1
            found = self.map_level(op.attributes["map"], op.operands[skip:])
            if isinstance(op, Masked):
                found = max(found, self.levels[op.operands[0]])
                for inner in op.body.ops[:-1]:
                    level = self.level(inner)
                    for value in inner.results:
                        self.levels[value] = level
                    found = max(found, level)
                for value in op.body.terminator.operands:
                    found = max(found, self.levels[value])
            return found
        return max((self.levels[v] for v in op.operands), default=0)

    def map_level(self, map: AffineMap, inputs: Sequence[Value]) -> int:
        used = [
            value
            for k, value in enumerate(inputs)
            if any(expr.coefficients[k] for expr in map.results)
        ]
        return max((self.levels[v] for v in used), default=0)

    # ------------------------------------------------------------------ emission

    def hoist(self, b: Builder, ivs: Sequence[Value]) -> None:
        """Emit everything that the open loops `ivs` allow."""
        later = []
        for op in self.pending:
            if self.levels[op.results[0]] <= len(ivs):
                self.emit(b, op, ivs)
            else:
                later.append(op)
        self.pending = later

    def finish(self, b: Builder, ivs: Sequence[Value]) -> list[Scalar]:
        """Emit the rest; the yielded scalars."""
        self.hoist(b, ivs)
        return [self.scalars[v] for v in self.block.terminator.operands]

    def emit(self, b: Builder, op: Operation, ivs: Sequence[Value]) -> None:
        b.location = op.location
        if isinstance(op, Load):
            found = self.emit_load(b, op, ivs)
        elif isinstance(op, IndexValue):
            at = self.indices(b, op.attributes["map"], op.operands, ivs)[0]
            assert at is not None
            found = index_to_number(b, at, op.attributes["dtype"])
        elif isinstance(op, Masked):
            found = self.emit_masked(b, op, ivs)
        elif isinstance(op, Bounded):
            found = self.scalars[op.operands[0]]
            at = number_to_index(b, found)
            size = self.size(b, op["size"])
            check_bounds(b, at, size, op["axis"])
            if op["extent"]:
                end = Arithmetic(b).add(at, index_constant(b, op["extent"]))
                check_bounds(b, end, size, op["axis"])
        elif "value" in op.attributes:
            found = constant_scalar(b, op.attributes["value"], op.result.type.dtype)
        else:
            s = ScalarBuilder(b)
            operands = [self.scalars[v] for v in op.operands]
            payload = op.scalar  # type: ignore[attr-defined]
            if isinstance(payload, str):
                found = getattr(s, payload)(*operands, **op.attributes)
            else:
                found = payload(s, *operands, **op.attributes)
        self.scalars[op.result] = found

    def indices(
        self, b: Builder, map: AffineMap, inputs: Sequence[Value], ivs: Sequence[Value]
    ) -> list[Value]:
        values: list[Any] = []
        for k, value in enumerate(inputs):
            if not any(expr.coefficients[k] for expr in map.results):
                values.append(None)
            elif value in self.dims:
                values.append(ivs[self.dims[value]])
            else:
                values.append(number_to_index(b, self.scalars[value]))
        return [index_value(b, expr, values) for expr in map.results]

    def emit_load(self, b: Builder, op: Load, ivs: Sequence[Value]) -> Scalar:
        value = op.operands[0]
        if value in self.registers:
            return self.registers[value]
        array = self.arrays[value]
        place = self.indices(b, op.attributes["map"], op.operands[1:], ivs)
        shape = op.attributes.get("shape", value.type.shape)
        for axis in op.attributes.get("checked", ()):
            check_bounds(b, place[axis], self.size(b, shape[axis]), axis)
        return load(b, array, array.kept(place))

    def emit_masked(self, b: Builder, op: Masked, ivs: Sequence[Value]) -> Scalar:
        a = Arithmetic(b)
        place = self.indices(b, op.attributes["map"], op.operands[1:], ivs)
        inside: Value | None = None
        for at, low, high in zip(place, op["lower"], op["upper"], strict=True):
            tests = []
            if low != 0 or high is None:
                tests.append(a.cmp("sge", at, index_constant(b, low)))
            else:
                tests.append(a.cmp("sge", at, index_constant(b, 0)))
            tests.append(a.cmp("slt", at, index_constant(b, high)))
            for test in tests:
                inside = test if inside is None else a.and_(inside, test)
        other = self.scalars[op.operands[0]]
        if inside is None:
            return self.region_value(b, op, ivs)

        def then(inner: Builder) -> Sequence[Value]:
            return self.region_value(inner, op, ivs).parts

        def orelse(inner: Builder) -> Sequence[Value]:
            return other.parts

        parts = scf.if_(b, inside, then, orelse)
        return Scalar(other.dtype, tuple(parts))

    def region_value(self, b: Builder, op: Masked, ivs: Sequence[Value]) -> Scalar:
        for inner in op.body.ops[:-1]:
            self.emit(b, inner, ivs)
        return self.scalars[op.body.terminator.operands[0]]


def check_bounds(b: Builder, at: Value, size: Value, axis: int) -> None:
    """Stop with NumPy's IndexError unless 0 <= at < size."""
    a = Arithmetic(b)
    # One unsigned comparison: a negative index is a huge unsigned number.
    inside = a.cmp("ult", at, size)
    message = f"index {{0}} is out of bounds for axis {axis} with size {{1}}"
    b.kernel_check(inside, at, size, exception="IndexError", message=message)


def number_to_index(b: Builder, scalar: Scalar) -> Value:
    wide = ScalarBuilder(b).convert(scalar, i64)
    found: Value = b.arith_index_cast(wide.value, to=index)
    return found


def index_to_number(b: Builder, at: Value, dtype: ScalarType) -> Scalar:
    wide = Scalar(i64, (b.arith_index_cast(at, to=i64),))
    return ScalarBuilder(b).convert(wide, dtype)


def constant_scalar(b: Builder, value: Any, dtype: ScalarType) -> Scalar:
    """A constant of a kernel's body. Floats that are no small whole numbers or halves become
    run-time numbers, so that a changed hyperparameter or a mean's 1/n does not change the code."""
    if dtype in (f32, f64) and not _is_plain(value):
        attribute = TypedNumber(value, f32) if dtype is f32 else number(value, f64)
        return Scalar(dtype, (b.create(Number, (), {"value": attribute}),))
    return ScalarBuilder(b).const(value, dtype)


def _is_plain(value: float) -> bool:
    doubled = value * 2
    return (
        doubled != doubled
        or abs(doubled) == float("inf")
        or (abs(value) <= 16 and doubled == int(doubled))
    )
