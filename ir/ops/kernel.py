"""Kernels: what `fuse` makes of tensor operations, and what `lower` turns into loops.

`kernel.generic` is one nest over an iteration domain (MLIR's linalg.generic): its body computes
scalars from explicit loads at affine indices and yields one scalar for each output; an output is
stored at every point or reduced over the dims that its map leaves out. `kernel.fusion` holds
kernels that share outer loops; its meaning is to run them in order. Matrix products are in
contract_kernel.py.

Before `bufferize` the outputs are results (value semantics). After it the output buffers are the
trailing operands and there are no results; bodies read buffers in place of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.affine import AffineMap
from gradc.ir.core import Region, Value
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import REGISTRY, Loop, Reduce, reduction
from gradc.ir.ops.arith import attribute_type
from gradc.ir.type_rules import expect_dtype
from gradc.ir.types import (
    INTEGERS,
    Dim,
    MemRefType,
    ScalarType,
    TensorType,
    Type,
    from_numpy,
    index,
    to_numpy,
)

# Which dim of the kernel's domain each axis of an array follows; None: some other expression.
Access = tuple[int | None, ...]


def store_outputs(values: Sequence[Any], outs: Sequence[Any]) -> tuple[Any, ...]:
    """Tensor form: the values are the results. Buffer form: copy them into the output buffers."""
    if not outs:
        return tuple(values)
    for value, out in zip(values, outs, strict=True):
        out[...] = value
    return ()


class Generic(Loop, name="kernel.generic"):
    """A nest over `sizes`; block args are the indices; `outputs[k]` = (combine, map).

    combine: "" stores at every point, else the `combine` of a Reduce operation, which merges the
        points with equal map value
    map: AffineMap from the domain to the output's index (a projection or permutation)
    """

    def pretty(op: Any, name: Any) -> str:
        inputs = [name(v) for v in op.body.args]
        domain = ", ".join(f"{i} < {n}" for i, n in zip(inputs, op["sizes"], strict=True))
        targets = [
            f"{combine} [{', '.join(map.spell(inputs))}]".strip() for combine, map in op["outputs"]
        ]
        if op.operands:
            targets = [f"{name(v)} = {text}" for v, text in zip(op.operands, targets, strict=True)]
        types = ", ".join(str(v.type) for v in (*op.operands, *op.results))
        return f"kernel.generic ({domain}) -> ({', '.join(targets)}) : {types}"

    def infer(*outs: Type, sizes: Any, outputs: Any, regions: Sequence[Region]) -> Any:
        block = regions[0].block
        if any(v.type != index for v in block.args) or len(block.args) != len(sizes):
            raise TypeRuleError(f"expected {len(sizes)} index block arguments")
        yielded = block.terminator.operands
        if len(yielded) != len(outputs):
            raise TypeRuleError(f"expected {len(outputs)} yielded values, got {len(yielded)}")
        types = []
        for value, (combine, map) in zip(yielded, outputs, strict=True):
            if combine:
                _check_combine(combine)
            dims = map.as_dims
            if dims is None or (not combine and sorted(dims) != list(range(len(sizes)))):
                raise TypeRuleError(f"expected a projection (a permutation to store), got {map}")
            types.append(TensorType(tuple(sizes[d] for d in dims), value.type.dtype))
        return check_outputs(outs, types)

    def interpret(self, run: Callable[..., Any], outs: Sequence[Any]) -> tuple[Any, ...]:
        sizes = self["sizes"]
        rank = len(sizes)
        grid = [np.arange(n).reshape([-1 if k == d else 1 for k in range(rank)])
                for d, n in enumerate(sizes)]  # fmt: skip
        values = run(self.body, grid)
        results = []
        for value, (combine, map) in zip(values, self["outputs"], strict=True):
            full = np.broadcast_to(value, sizes)
            dims = map.as_dims
            axes = tuple(k for k in range(rank) if k not in dims)
            if combine:
                full = _reduced(reduction(combine), full, axes).astype(value.dtype, copy=False)
            kept = [k for k in range(rank) if k in dims]
            results.append(np.transpose(full, [kept.index(d) for d in dims]).copy())
        return store_outputs(results, outs)

    def reads(self) -> dict[Value, list[Access]]:
        """The arrays that the body loads, each with the accesses to it."""
        found: dict[Value, list[Access]] = {}
        for op in self.walk():
            if isinstance(op, Load):
                found.setdefault(op.operands[0], []).append(op.access())
        return found


def _check_combine(combine: Any) -> None:
    try:
        reduction(combine)
    except (KeyError, TypeError):
        classes = [cls for cls in REGISTRY.values() if issubclass(cls, Reduce)]
        known = ", ".join(dict.fromkeys(cls.combine for cls in classes))
        raise TypeRuleError(f"unknown combine {combine!r}; known: {known}") from None


def _reduced(cls: type[Reduce], values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    options: dict[str, Any] = {"dtype": values.dtype} if cls.reassociates else {}
    if not cls.has_identity:
        options["initial"] = cls.identity(from_numpy(values.dtype))
    return np.asarray(cls.ufunc.reduce(values, axis=axes, **options))


def check_outputs(outs: Sequence[Type], types: Sequence[TensorType]) -> tuple[Type, ...]:
    """Result types in tensor form; () in buffer form, whose operands must fit."""
    if not outs:
        return tuple(types)
    if len(outs) != len(types):
        raise TypeRuleError(f"expected {len(types)} output buffers, got {len(outs)}")
    for out, t in zip(outs, types, strict=True):
        if not isinstance(out, MemRefType) or not fits(t.shape, out.shape) or out.dtype != t.dtype:
            raise TypeRuleError(f"expected an output buffer for {t}, got {out}")
    return ()


def fits(shape: Sequence[Any], storage: Sequence[Any]) -> bool:
    """Can an array of `shape` be kept in a buffer of shape `storage`, its largest size?"""
    pairs = zip(shape, storage, strict=False)
    return len(shape) == len(storage) and all(isinstance(a, Dim) or a == b for a, b in pairs)


class Load(Loop, name="kernel.load"):
    """The element of an array at map(dims, symbols): operands (array, dims..., symbols...).

    The array is a tensor or buffer. Dims are index values, symbols rank-0 integer tensors read from
    data. `checked` lists the array axes whose index comes from data and is checked: out of range
    raises IndexError. `shape` is the array's shape where some of its sizes are known only at run
    time: buffers do not show it.
    """

    def pretty(op: Any, name: Any) -> str:
        array, *inputs = op.operands
        place = ", ".join(op["map"].spell([name(v) for v in inputs]))
        checked = op.attributes.get("checked")
        tail = f" checked {list(checked)}" if checked else ""
        return f"kernel.load {name(array)}[{place}]{tail} : {array.type}"

    def infer(
        array: Any, *inputs: Type, map: AffineMap, checked: tuple[int, ...] = (), shape: Any = ()
    ) -> Any:
        if not isinstance(array, TensorType | MemRefType):
            raise TypeRuleError(f"expected a tensor or buffer, got {array}")
        if len(map.results) != array.rank or len(inputs) != map.dims + map.symbols:
            raise TypeRuleError(f"{map} does not index {array} with {len(inputs)} inputs")
        for k, t in enumerate(inputs):
            ok = t == index if k < map.dims else isinstance(t, TensorType) and t.dtype in INTEGERS
            if not ok:
                raise TypeRuleError(f"unexpected index operand {k} of type {t}")
        return TensorType((), array.dtype)

    def access(self) -> Access:
        """The dims that the array's axes follow exactly."""
        map = self["map"]
        found: list[int | None] = []
        for expr in map.results:
            terms = [(k, c) for k, c in enumerate(expr.coefficients) if c]
            is_dim = expr.constant == 0 and len(terms) == 1 and terms[0][1] == 1
            found.append(terms[0][0] if is_dim and terms[0][0] < map.dims else None)
        return tuple(found)

    def evaluate(
        array: Any, *inputs: Any, map: AffineMap, checked: tuple[int, ...] = (), shape: Any = ()
    ) -> Any:
        place = []
        for axis, expr in enumerate(map.results):
            at: Any = np.int64(expr.constant)
            for coefficient, value in zip(expr.coefficients, inputs, strict=True):
                if coefficient:
                    at = at + coefficient * np.asarray(value).astype(np.int64)
            if axis in checked and np.any((at < 0) | (at >= array.shape[axis])):
                bad = np.asarray(at)[(at < 0) | (at >= array.shape[axis])].ravel()[0]
                raise IndexError(
                    f"index {bad} is out of bounds for axis {axis} with size {array.shape[axis]}"
                )
            # Loads in a masked region run for every point here: clip those that the mask discards.
            place.append(np.clip(at, 0, max(0, array.shape[axis] - 1)))
        if 0 in array.shape:
            points = np.broadcast_shapes(*[np.shape(p) for p in place]) if place else ()
            return np.zeros(points, array.dtype)
        return np.asarray(array)[tuple(place)]


class Bounded(Loop, name="kernel.bounded"):
    """An index read from data, checked: 0 <= value and value, value + extent < size.

    IndexError otherwise. `axis` is the array axis that it indexes, for the message.
    """

    effects = True

    def infer(value: Any, *, size: int, extent: int, axis: int) -> TensorType:
        return expect_dtype(value, INTEGERS)

    def evaluate(value: Any, *, size: int, extent: int, axis: int) -> Any:
        for at in (np.asarray(value), np.asarray(value) + extent):
            if np.any((at < 0) | (at >= size)):
                bad = at[(at < 0) | (at >= size)].ravel()[0]
                raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {size}")
        return value


class IndexValue(Loop, name="kernel.index"):
    """An affine expression of the dims as a number: `map` (with one result) of `dtype`."""

    def pretty(op: Any, name: Any) -> str:
        (expression,) = op["map"].spell([name(v) for v in op.operands])
        return f"kernel.index {expression} : {op.result.type}"

    def infer(*inputs: Type, map: AffineMap, dtype: ScalarType) -> TensorType:
        if len(map.results) != 1 or len(inputs) != map.dims + map.symbols:
            raise TypeRuleError(f"expected one expression of {len(inputs)} inputs, got {map}")
        return TensorType((), dtype)

    def evaluate(*inputs: Any, map: AffineMap, dtype: ScalarType) -> Any:
        at: Any = np.int64(map.results[0].constant)
        for coefficient, value in zip(map.results[0].coefficients, inputs, strict=True):
            if coefficient:
                at = at + coefficient * np.asarray(value)
        return np.asarray(at).astype(to_numpy(dtype))


class Masked(Loop, name="kernel.masked"):
    """The region's value where lower <= map(inputs) < upper in every component, else operand 0.

    Operands (other, dims..., symbols...). The region runs only where the condition holds: its loads
    may be out of range elsewhere.
    """

    def pretty(op: Any, name: Any) -> str:
        other, *inputs = op.operands
        expressions = op["map"].spell([name(v) for v in inputs])
        inside = ", ".join(
            f"{lower} <= {expression} < {upper}"
            for lower, expression, upper in zip(op["lower"], expressions, op["upper"], strict=True)
        )
        return f"kernel.masked ({inside}) else {name(other)} : {other.type}"

    def infer(
        other: Any, *inputs: Type, map: AffineMap, lower: Any, upper: Any, regions: Any
    ) -> TensorType:
        value = regions[0].block.terminator.operands[0]
        if value.type != other:
            raise TypeRuleError(f"the region yields {value.type}, expected {other}")
        if not len(map.results) == len(lower) == len(upper):
            raise TypeRuleError("expected one lower and one upper bound for each expression")
        return other

    def interpret(self, run: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
        inside: Any = True
        for expr, lower, upper in zip(
            self["map"].results, self["lower"], self["upper"], strict=True
        ):
            at: Any = np.int64(expr.constant)
            for coefficient, value in zip(expr.coefficients, arrays[1:], strict=True):
                if coefficient:
                    at = at + coefficient * np.asarray(value)
            inside = inside & (at >= lower) & (at < upper)
        (value,) = run(self.body, ())
        return (np.where(inside, value, arrays[0]).astype(value.dtype),)


class Yield(Loop, name="kernel.yield"):
    """Ends a kernel's region with its values."""

    effects = True
    is_terminator = True

    def infer(*types: Type) -> tuple[Type, ...]:
        return ()


class Fusion(Loop, name="kernel.fusion"):
    """Kernels run in order; all have the size of the first dim in common, or are free of it.

    Lowering merges their outer loops, so that values used only inside need no array of their own.
    """

    def infer(*outs: Type, regions: Sequence[Region]) -> Any:
        yielded = regions[0].block.terminator.operands
        return check_outputs(outs, [v.type for v in yielded])

    def interpret(self, run: Callable[..., Any], outs: Sequence[Any]) -> tuple[Any, ...]:
        return store_outputs(run(self.body, ()), outs)


class Number(Loop, name="kernel.number"):
    """A run-time number, never part of the code: `value` is an index, f32 or f64 attribute."""

    def infer(*, value: Any) -> ScalarType:
        return attribute_type(value)

    def evaluate(*, value: Any) -> Any:
        return np.asarray(getattr(value, "value", value), to_numpy(attribute_type(value)))


class Apply(Loop, name="kernel.apply"):
    """An operation that is no nest, in buffer form: `op` names it, `attributes` are its own.

    Operands: its inputs, then `outputs` output buffers. `shapes` are the inputs' shapes as tensors,
    in which sizes known at run time are Dims.
    """

    def infer(
        *types: Type, op: str, attributes: Any, outputs: int, shapes: Any
    ) -> tuple[Type, ...]:
        if op not in REGISTRY:
            raise TypeRuleError(f"unknown operation {op!r}")
        return ()

    def evaluate(
        *arrays: Any, op: str, attributes: Any, outputs: int, shapes: Any
    ) -> tuple[Any, ...]:
        evaluate = REGISTRY[op].evaluate
        assert evaluate is not None
        inputs, outs = arrays[: len(arrays) - outputs], arrays[len(arrays) - outputs :]
        found = evaluate(*inputs, **attributes)
        return store_outputs(found if isinstance(found, tuple) else (found,), outs)
