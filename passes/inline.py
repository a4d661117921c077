"""Writing a kernel's body: the scalar code of tensor values at an affine place of the iteration
domain.

A `BodyWriter` owns one body. `scalar(value, place)` gives the scalar of a tensor value at an index:
a load if the value has an array of its own, else the defining operation's code, whose operands are
asked for in turn at the places that the operation's index maps give. Elementwise operations keep
the place, shape operations move it, pads and concatenations become `kernel.masked` regions, gathers
add data-dependent symbols to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.ir.affine import AffineExpr, AffineMap
from gradc.ir.builder import Builder
from gradc.ir.core import Block, Operation, Region, Value
from gradc.ir.opdef import Piece
from gradc.ir.ops.kernel import Bounded, IndexValue, Load, Masked, Yield
from gradc.ir.types import TensorType, index


@dataclass(frozen=True, slots=True)
class Place:
    """One component of an index: sum(coefficient * input) + constant over few inputs.

    Inputs are numbered: the domain's dims first, then the symbols that the writer has met.
    """

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0

    def plus(self, other: Place, factor: int = 1) -> Place:
        terms = dict(self.terms)
        for source, coefficient in other.terms:
            terms[source] = terms.get(source, 0) + factor * coefficient
        kept = tuple(sorted((s, c) for s, c in terms.items() if c))
        return Place(kept, self.constant + factor * other.constant)


Index = tuple[Place, ...]


def identity_index(rank: int) -> Index:
    return tuple(Place(((k, 1),)) for k in range(rank))


def move(map: AffineMap, index: Index, symbols: Sequence[Place] = ()) -> Index:
    """The index that `map` gives for an index of its dims."""
    inputs = (*index, *symbols)
    found = []
    for expr in map.results:
        place = Place((), expr.constant)
        for coefficient, source in zip(expr.coefficients, inputs, strict=True):
            if coefficient:
                place = place.plus(source, coefficient)
        found.append(place)
    return tuple(found)


def is_inlined(op: Operation) -> bool:
    """Can the op's result be computed element by element inside a kernel?"""
    kind = getattr(op, "lowering", "")
    if op.effects or len(op.results) != 1 or op.regions:  # type: ignore[attr-defined]
        return False
    if kind in ("elementwise", "gather"):
        return True
    if kind == "creation":
        return not isinstance(op.attributes.get("value"), np.ndarray)
    if kind == "store":
        return op.source_map(op) is not None  # type: ignore[attr-defined]
    return kind == "shape" and op.pieces(op) is not None  # type: ignore[attr-defined]


class BodyWriter:
    """Writes the body of one kernel over `sizes`; `has_array(value)` says what is loaded."""

    def __init__(self, sizes: tuple[Any, ...], has_array: Callable[[Value], bool]) -> None:
        self.rank = len(sizes)
        self.block = Block([index] * self.rank, [f"d{k}" for k in range(self.rank)])
        self.has_array = has_array
        self.symbols: list[Value] = []
        self.scopes: list[tuple[Builder, dict[tuple[Value, Index], Value]]] = []
        self.scopes.append((Builder(self.block), {}))
        self.loaded: dict[Value, list[Index]] = {}
        self.written: dict[Value, list[tuple[Index, bool]]] = {}

    @property
    def builder(self) -> Builder:
        return self.scopes[-1][0]

    def scalar(self, value: Value, index: Index) -> Value:
        """The scalar of `value` at `index`, written once for each place."""
        key = (value, index)
        for _, memo in self.scopes:
            if key in memo:
                return memo[key]
        op = value.defining_op
        if op is not None:
            self.builder.location = op.location
        if self.has_array(value):
            found = self.load(value, index)
        else:
            assert op is not None
            found = self.compute(op, index)
            self.written.setdefault(value, []).append((index, len(self.scopes) == 1))
        self.scopes[-1][1][key] = found
        return found

    def compute(self, op: Operation, index: Index) -> Value:
        kind = op.lowering  # type: ignore[attr-defined]
        if kind == "elementwise":
            operands = [self.scalar(v, index) for v in op.operands]
            self.builder.location = op.location
            return self.builder.create(type(op), operands, op.attributes)  # type: ignore[arg-type]
        if kind == "creation":
            return self.create(op, index)
        if kind == "gather":
            place, checked = self.gathered(op, index)
            return self.load(op.operands[0], place, checked)
        if kind == "store":
            return self.stored(op, index)
        return self.pieces(op, index)

    def create(self, op: Operation, index: Index) -> Value:
        """A constant, or a running number along an axis."""
        dtype = op.result.type.dtype
        if "value" in op.attributes:
            scalar = TensorType((), dtype)
            return self.builder.constant(value=op.attributes["value"], type=scalar)
        return self.number(index[op.attributes["axis"]], dtype)

    def number(self, place: Place, dtype: Any) -> Value:
        """The value of an index component as a number of `dtype`."""
        inputs, map, _ = self.address((place,))
        return self.builder.create(IndexValue, inputs, {"map": map, "dtype": dtype})

    def gathered(self, op: Operation, index: Index) -> tuple[Index, tuple[int, ...]]:
        """The place of a gather's element, and the array axes whose index is checked."""
        array, *indices = op.operands
        axes = op.attributes["axes"]
        rank = indices[0].type.rank if indices else 0
        inner = index[:rank]
        rest = iter(index[rank:])
        data = {axis: self.symbol(self.scalar(v, inner)) for axis, v in zip(axes, indices)}
        place = tuple(data[k] if k in data else next(rest) for k in range(array.type.rank))
        return place, tuple(sorted(axes))

    def symbol(self, scalar: Value) -> Place:
        """A place component that is a value read from data."""
        if scalar not in self.symbols:
            self.symbols.append(scalar)
        return Place(((self.rank + self.symbols.index(scalar), 1),))

    def pieces(self, op: Operation, index: Index) -> Value:
        pieces: list[Piece] = op.pieces(op)  # type: ignore[attr-defined]
        shape = op.result.type.shape
        arrays = {p.operand for p in pieces}
        fill = op.fill  # type: ignore[attr-defined]
        dynamic = [v for k, v in enumerate(op.operands) if k not in arrays and k != fill]
        symbols = self.starts(op, dynamic, op.operands[0].type.shape, shape) if dynamic else []
        if len(pieces) == 1 and fill is None:
            piece = pieces[0]
            place = move(piece.map, index, symbols)
            if checked := op.checked(op):  # type: ignore[attr-defined]
                return self.load(op.operands[piece.operand], place, checked)
            return self.scalar(op.operands[piece.operand], place)
        if fill is not None:
            found = self.scalar(op.operands[fill], ())
        else:
            found = self.builder.zeros(TensorType((), op.result.type.dtype))
        for piece in pieces:
            source = op.operands[piece.operand]

            def inside(source: Value = source, piece: Piece = piece) -> Value:
                return self.scalar(source, move(piece.map, index, symbols))

            found = self.masked(found, index, piece.lower, piece.upper, shape, inside)
        return found

    def starts(
        self, op: Operation, dynamic: Sequence[Value], shape: Sequence[Any], sizes: Sequence[Any]
    ) -> list[Place]:
        """The dynamic starts of a sub-array, checked against the array's shape."""
        found = []
        axes = [k for k, start in enumerate(op.attributes["starts"]) if start is None]
        for axis, value in zip(axes, dynamic, strict=True):
            if sizes[axis] == 0:  # nothing is read, wherever that is
                found.append(Place())
                continue
            extent = op.attributes["steps"][axis] * (sizes[axis] - 1)
            scalar = self.scalar(value, ())
            attributes = {"size": shape[axis], "extent": extent, "axis": axis}
            found.append(self.symbol(self.builder.create(Bounded, [scalar], attributes)))
        return found

    def stored(self, op: Operation, index: Index) -> Value:
        """An element of an array with a sub-array stored into it or added to it."""
        array, source, *dynamic = op.operands
        symbols = self.starts(op, dynamic, array.type.shape, source.type.shape)
        place = move(op.source_map(op), index, symbols)  # type: ignore[attr-defined]
        before = self.scalar(array, index)
        adds = op.adds  # type: ignore[attr-defined]
        other = self.builder.zeros(before.type) if adds else before
        sizes = source.type.shape
        # On an axis that the source covers as it stands nothing is outside: no bound is needed.
        covered = zip(array.type.shape, sizes, place, index, strict=True)
        bounds = [n if own == n and at == mine else None for own, n, at, mine in covered]
        found = self.masked(
            other, place, (0,) * len(sizes), sizes, bounds, lambda: self.scalar(source, place)
        )
        if not adds:
            return found
        self.builder.location = op.location
        if before.type.dtype.is_bool:
            return self.builder.logical_or(before, found)
        return self.builder.add(before, found)

    def masked(
        self,
        other: Value,
        index: Index,
        lower: Sequence[int],
        upper: Sequence[Any],
        shape: Sequence[Any],
        inside: Callable[[], Value],
    ) -> Value:
        """`inside()` where lower <= index < upper, else `other`; bounds equal to the shape are left
        out.
        """
        axes = [k for k, n in enumerate(shape) if lower[k] != 0 or upper[k] != n]
        if not axes:
            return inside()
        block = Block()
        self.scopes.append((Builder(block, self.builder.location), {}))
        value = inside()
        self.builder.create(Yield, [value], {})
        self.scopes.pop()
        inputs, map, _ = self.address(tuple(index[k] for k in axes))
        attributes = {
            "map": map,
            "lower": tuple(lower[k] for k in axes),
            "upper": tuple(upper[k] for k in axes),
        }
        return self.builder.create(Masked, [other, *inputs], attributes, [Region([block])])

    def load(self, array: Value, index: Index, checked: tuple[int, ...] = ()) -> Value:
        self.loaded.setdefault(array, []).append(index)
        inputs, map, _ = self.address(index)
        attributes: dict[str, Any] = {"map": map}
        if checked:
            attributes["checked"] = checked
            if not array.type.is_static:
                attributes["shape"] = array.type.shape
        return self.builder.create(Load, [array, *inputs], attributes)

    def address(self, index: Index) -> tuple[list[Value], AffineMap, list[int]]:
        """Operands (all dims, then the symbols used) and the map over them for an index."""
        used = sorted({s for place in index for s, _ in place.terms if s >= self.rank})
        positions = {s: self.rank + k for k, s in enumerate(used)}
        width = self.rank + len(used)
        results = []
        for place in index:
            coefficients = [0] * width
            for source, coefficient in place.terms:
                coefficients[positions.get(source, source)] = coefficient
            results.append(AffineExpr(tuple(coefficients), place.constant))
        inputs = list(self.block.args) + [self.symbols[s - self.rank] for s in used]
        return inputs, AffineMap(self.rank, len(used), tuple(results)), used

    def discard(self) -> None:
        """Give up the body: its operations must not count as users."""
        for op in self.block.ops:
            op.drop_all_uses()

    def finish(self, scalars: Sequence[Value]) -> Block:
        self.builder.create(Yield, list(scalars), {})
        return self.block
