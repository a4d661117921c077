"""Affine index maps: `affine_map<(d0, d1)[s0] -> (d0 * 2 + 1, s0)>`, with constant coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AffineExpr:
    """sum(coefficients[k] * input[k]) + constant; inputs are the dims, then the symbols."""

    coefficients: tuple[int, ...]
    constant: int = 0

    @staticmethod
    def dim(position: int, inputs: int) -> AffineExpr:
        return AffineExpr(tuple(int(k == position) for k in range(inputs)))

    @staticmethod
    def const(value: int, inputs: int) -> AffineExpr:
        return AffineExpr((0,) * inputs, value)

    def __add__(self, other: AffineExpr | int) -> AffineExpr:
        if isinstance(other, int):
            return AffineExpr(self.coefficients, self.constant + other)
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return AffineExpr(tuple(a + b for a, b in pairs), self.constant + other.constant)

    def __mul__(self, factor: int) -> AffineExpr:
        return AffineExpr(tuple(a * factor for a in self.coefficients), self.constant * factor)

    @property
    def as_dim(self) -> int | None:
        """k when the expression is exactly input k, else None."""
        if self.constant or sum(map(bool, self.coefficients)) != 1:
            return None
        position = next(k for k, c in enumerate(self.coefficients) if c)
        return position if self.coefficients[position] == 1 else None

    def evaluate(self, inputs: Sequence[int]) -> int:
        return sum(c * x for c, x in zip(self.coefficients, inputs, strict=True)) + self.constant


@dataclass(frozen=True, slots=True)
class AffineMap:
    """Maps (dims, symbols) to a tuple of affine expressions."""

    dims: int
    symbols: int
    results: tuple[AffineExpr, ...]

    @staticmethod
    def identity(rank: int) -> AffineMap:
        return AffineMap(rank, 0, tuple(AffineExpr.dim(k, rank) for k in range(rank)))

    @staticmethod
    def select(positions: Sequence[int], rank: int) -> AffineMap:
        """(d0..) -> (d[positions[0]], ...): projections and permutations."""
        return AffineMap(rank, 0, tuple(AffineExpr.dim(k, rank) for k in positions))

    @property
    def is_identity(self) -> bool:
        return self == AffineMap.identity(self.dims)

    @property
    def as_dims(self) -> tuple[int, ...] | None:
        """The dims of a projected permutation, else None."""
        positions = tuple(e.as_dim for e in self.results)
        return None if None in positions else positions  # type: ignore[return-value]

    def compose(self, inner: AffineMap) -> AffineMap:
        """self after inner: inner's results are self's dims. Only self or inner may have symbols;
        the symbols of the result are inner's, then self's."""
        if self.dims != len(inner.results):
            raise ValueError(f"cannot compose {self} with {inner}")
        inputs = inner.dims + inner.symbols + self.symbols
        parts = [
            AffineExpr(e.coefficients + (0,) * self.symbols, e.constant) for e in inner.results
        ]
        parts += [
            AffineExpr.dim(inner.dims + inner.symbols + k, inputs) for k in range(self.symbols)
        ]
        results = []
        for expr in self.results:
            total = AffineExpr.const(expr.constant, inputs)
            for coefficient, part in zip(expr.coefficients, parts, strict=True):
                if coefficient:
                    total = total + part * coefficient
            results.append(total)
        return AffineMap(inner.dims, inner.symbols + self.symbols, tuple(results))

    def spell(self, names: Sequence[str]) -> list[str]:
        """Each result written with names for the inputs: ["%i", "%j * 2 - 1"]."""
        return [_text(expr, list(names)).replace(" + -", " - ") for expr in self.results]

    def __str__(self) -> str:
        names = [f"d{k}" for k in range(self.dims)] + [f"s{k}" for k in range(self.symbols)]
        inputs = f"({', '.join(names[: self.dims])})"
        if self.symbols:
            inputs += f"[{', '.join(names[self.dims :])}]"
        return f"affine_map<{inputs} -> ({', '.join(_text(e, names) for e in self.results)})>"


def _text(expr: AffineExpr, names: list[str]) -> str:
    terms = []
    for coefficient, name in zip(expr.coefficients, names, strict=True):
        if coefficient == 1:
            terms.append(name)
        elif coefficient:
            terms.append(f"{name} * {coefficient}")
    if expr.constant or not terms:
        terms.append(str(expr.constant))
    return " + ".join(terms)
