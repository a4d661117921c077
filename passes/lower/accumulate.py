"""Partial results of reductions: neutral elements, merging, and long sums in blocks.

A long sum of floats runs in blocks of `BLOCK` terms, which the vectoriser spreads over many partial
sums. The totals of the blocks are added in double precision (f32), or with the rounding error
carried along (f64: Knuth's two-sum, The Art of Computer Programming vol. 2, 4.2.2), so that
accuracy does not fall with the length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc.ir.builder import Builder
from gradc.ir.core import OpaqueAttribute, Value
from gradc.ir.opdef import REGISTRY, reduction
from gradc.ir.ops import arith_casts, arith_integers, scf
from gradc.ir.types import ScalarType, bf16, f16, f32, f64
from gradc.passes.lower.access import index_constant
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.scalar_value import Scalar
from gradc.passes.lower.scalars import ScalarBuilder

BLOCK = 1024
# The flags of an accumulating operation: any order of the terms, products may be fused.
REORDERED = OpaqueAttribute("#arith.fastmath<reassoc,contract>")


def partial_dtype(combine: str, dtype: ScalarType) -> ScalarType:
    """The dtype in which partial results are held: half types add and multiply in f32."""
    return f32 if dtype in (f16, bf16) and reduction(combine).reassociates else dtype


def neutral(b: Builder, combine: str, dtype: ScalarType) -> Scalar:
    """The neutral element as a partial result."""
    held = partial_dtype(combine, dtype)
    return ScalarBuilder(b).const(reduction(combine).identity(held), held)


def combine_scalars(
    b: Builder, combine: str, partial: Scalar, value: Scalar, fast: bool = False
) -> Scalar:
    """Merge a value into a partial result; `fast` allows any order of the terms."""
    s = ScalarBuilder(b)
    if value.dtype is not partial.dtype:
        value = s.convert(value, partial.dtype)
    cls = reduction(combine)
    if fast and cls.reassociates and partial.dtype.is_inexact and hasattr(Arithmetic, combine):
        # Of complex numbers only sums merge part by part.
        if cls.linear or not partial.dtype.is_complex:
            merge = getattr(Arithmetic(b, REORDERED), combine)
            pairs = zip(partial.parts, value.parts, strict=True)
            return Scalar(partial.dtype, tuple(merge(x, y, fast=True) for x, y in pairs))
    if cls.vector_op and partial.dtype in (f32, f64):
        # LLVM knows these as reductions and vectorises them; comparisons and selects it does not.
        parts = [b.create(REGISTRY[cls.vector_op], [partial.value, value.value], {})]
        return Scalar(partial.dtype, tuple(parts))
    merged: Scalar = (
        cls.merge(s, partial, value) if cls.merge else getattr(s, combine)(partial, value)
    )
    return merged


Run = Callable[[Builder, Value, list[Scalar]], list[Scalar]]


def loop(
    b: Builder, low: Value, high: Value, step: Value, starts: Sequence[Scalar], run: Run
) -> list[Scalar]:
    """scf.for that carries scalars of any dtype."""

    def body(inner: Builder, iv: Value, *parts: Value) -> Sequence[Value]:
        return flatten(run(inner, iv, _group(starts, parts)))

    results = scf.for_(b, low, high, step, flatten(starts), body)
    return _group(starts, tuple(results))


def blocked(
    b: Builder,
    low: Value,
    high: Value,
    combines: Sequence[str],
    starts: Sequence[Scalar],
    run: Run,
    long: bool,
) -> list[Scalar]:
    """A loop from low to high with partial results; `long` ones with float sums run in blocks."""
    one = index_constant(b, 1)
    sums = [
        s.dtype.is_inexact and reduction(c).linear for c, s in zip(combines, starts, strict=True)
    ]
    if not long or not any(sums):
        return loop(b, low, high, one, starts, run)
    totals = [t for s, is_sum in zip(starts, sums) for t in _total(b, s, is_sum)]
    widths = [len(_total_types(s.dtype, is_sum)) for s, is_sum in zip(starts, sums)]

    def block(inner: Builder, at: Value, carried: list[Scalar]) -> list[Scalar]:
        inner.location = b.location
        a = Arithmetic(inner)
        end = a.emit(arith_integers.AddI, at, index_constant(inner, BLOCK))
        end = a.emit(arith_integers.MinSI, end, high)
        groups = _split(carried, widths)
        begin = [
            ScalarBuilder(inner).const(0, s.dtype) if is_sum else group[0]
            for s, is_sum, group in zip(starts, sums, groups, strict=True)
        ]
        parts = loop(inner, at, end, index_constant(inner, 1), begin, run)
        merged = []
        for value, is_sum, group in zip(parts, sums, groups, strict=True):
            merged += _add_total(inner, group, value) if is_sum else [value]
        return merged

    found = loop(b, low, high, index_constant(b, BLOCK), totals, block)
    groups = _split(found, widths)
    return [
        _from_total(b, group, s.dtype) if is_sum else group[0]
        for s, is_sum, group in zip(starts, sums, groups, strict=True)
    ]


def flatten(scalars: Sequence[Scalar]) -> list[Value]:
    return [part for s in scalars for part in s.parts]


def _group(like: Sequence[Scalar], parts: Sequence[Value]) -> list[Scalar]:
    found = []
    rest = list(parts)
    for s in like:
        count = len(s.parts)
        found.append(Scalar(s.dtype, tuple(rest[:count])))
        rest = rest[count:]
    return found


def _split(scalars: list[Scalar], widths: list[int]) -> list[list[Scalar]]:
    groups = []
    at = 0
    for width in widths:
        groups.append(scalars[at : at + width])
        at += width
    return groups


def _total_types(dtype: ScalarType, is_sum: bool) -> list[ScalarType]:
    """How the running total of a sum is carried: f64 for f32 parts, (sum, error) for f64 parts."""
    if not is_sum:
        return [dtype]
    parts = 2 if dtype.is_complex else 1
    return [f64] * parts if dtype.real is f32 else [f64, f64] * parts


def _total(b: Builder, start: Scalar, is_sum: bool) -> list[Scalar]:
    if not is_sum:
        return [start]
    a = Arithmetic(b)
    found = []
    for part in start.parts:
        if start.dtype.real is f32:
            found.append(Scalar(f64, (a.cast(arith_casts.ExtF, part, f64),)))
        else:
            found += [Scalar(f64, (part,)), Scalar(f64, (a.const(0.0, f64),))]
    return found


def _add_total(b: Builder, total: list[Scalar], value: Scalar) -> list[Scalar]:
    a = Arithmetic(b)
    if value.dtype.real is f32:
        wide = [a.cast(arith_casts.ExtF, p, f64) for p in value.parts]
        return [Scalar(f64, (a.add(t.value, p),)) for t, p in zip(total, wide, strict=True)]
    found = []
    for k, x in enumerate(value.parts):
        t, error = total[2 * k].value, total[2 * k + 1].value
        s = a.add(t, x)
        other = a.sub(s, t)
        lost = a.add(a.sub(t, a.sub(s, other)), a.sub(x, other))
        found += [Scalar(f64, (s,)), Scalar(f64, (a.add(error, lost),))]
    return found


def _from_total(b: Builder, total: list[Scalar], dtype: ScalarType) -> Scalar:
    a = Arithmetic(b)
    if dtype.real is f32:
        return Scalar(dtype, tuple(a.cast(arith_casts.TruncF, t.value, f32) for t in total))
    parts = []
    for k in range(0, len(total), 2):
        t, error = total[k].value, total[k + 1].value
        # The error term of an infinite sum is NaN: the sum stands for itself then.
        finite = a.cmp("ord", error, error)
        parts.append(a.select(finite, a.add(t, error), t))
    return Scalar(dtype, tuple(parts))
