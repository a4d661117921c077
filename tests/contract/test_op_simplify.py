"""Each op's own rewrites: they fire where they should, keep value and gradient, and stay away
elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contract_numeric import inexact
from contract_programs import pullback, run
from test_op_transforms import same_bits

from gradc.ir.builder import Builder
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import bf16, c64, c128, f16, f32, f64, i1, i8, i32, i64, tensor, to_numpy, ui8
from gradc.passes.canonicalize import canonicalize

Build = Callable[..., Any]
CORNERS = np.array([0.0, -0.0, 1.0, -1.5, 3.25, 1e-40, 1e30, np.inf, -np.inf, np.nan])


def make(build: Build, *dtypes: Any) -> FuncOp:
    function = FuncOp.build("f", [tensor(d, len(CORNERS)) for d in dtypes])
    b = Builder(function.body)
    return function.finish([build(b, *function.args)])


def corners(dtype: Any, turn: int) -> np.ndarray:
    values = np.roll(CORNERS, turn)
    if dtype.is_complex:
        return (values + 1j * 0).astype(to_numpy(dtype))
    if dtype.is_bool:
        return values > 0
    if dtype.is_integer:
        return (np.nan_to_num(values, posinf=90, neginf=0).clip(0, 100)).astype(to_numpy(dtype))
    with np.errstate(all="ignore"):
        return values.astype(to_numpy(dtype))


def ops_left(function: FuncOp) -> list[str]:
    return [op.name for op in function.body.ops[:-1]]


# what is written, its operands' types, the operations that are left
FIRES: list[tuple[Build, tuple[Any, ...], list[str]]] = [
    (lambda b, x: b.mul(x, 1), (f32,), []),
    (lambda b, x: b.mul(1, x), (i32,), []),
    (lambda b, x: b.mul(x, -1), (f64,), ["nd.neg"]),
    (lambda b, x, y: b.mul(b.neg(x), b.neg(y)), (f64, f64), ["nd.mul"]),
    (lambda b, x: b.add(x, -0.0), (f32,), []),
    (lambda b, x: b.add(x, 0), (i64,), []),
    (lambda b, x, y: b.add(x, b.neg(y)), (f64, f64), ["nd.sub"]),
    (lambda b, x, y: b.add(b.neg(x), y), (f64, f64), ["nd.sub"]),
    (lambda b, x: b.sub(x, 0.0), (f16,), []),
    (lambda b, x, y: b.sub(x, b.neg(y)), (c64, c64), ["nd.add"]),
    (lambda b, x: b.div(x, 1), (f64,), []),
    (lambda b, x: b.div(x, -1), (f64,), ["nd.neg"]),
    (lambda b, x: b.neg(b.neg(x)), (c128,), []),
    (lambda b, x: b.power(x, 1), (f64,), []),
    (lambda b, x: b.conj(b.conj(x)), (c64,), []),
    (lambda b, x: b.conj(x), (f64,), []),
    (lambda b, x, y: b.real(b.complex(x, y)), (f32, f32), []),
    (lambda b, x, y: b.imag(b.complex(x, y)), (f32, f32), []),
    (lambda b, z: b.complex(b.real(z), b.imag(z)), (c64,), []),
    (lambda b, x, y: b.select(b.full(True, tensor(i1, len(CORNERS))), x, y), (f64, f64), []),
    (lambda b, x, y: b.select(b.full(False, tensor(i1, len(CORNERS))), x, y), (f64, f64), []),
    (lambda b, c, x: b.select(c, x, x), (i1, f64), []),
    (lambda b, c, x, y: b.select(b.logical_not(c), x, y), (i1, f64, f64), ["nd.select"]),
    (lambda b, c: b.logical_not(b.logical_not(c)), (i1,), []),
    (lambda b, x, y: b.logical_not(b.eq(x, y)), (f64, f64), ["nd.ne"]),
    (lambda b, x, y: b.logical_not(b.ne(x, y)), (f64, f64), ["nd.eq"]),
    (lambda b, c: b.logical_and(c, True), (i1,), []),
    (lambda b, c: b.logical_and(False, c), (i1,), ["nd.constant"]),
    (lambda b, c: b.logical_or(c, False), (i1,), []),
    (lambda b, c: b.logical_or(c, c), (i1,), []),
    (lambda b, x: b.convert(x, dtype=f64), (f64,), []),
    (lambda b, x: b.convert(b.convert(x, dtype=f64), dtype=f32), (f32,), []),
    (lambda b, x: b.convert(b.convert(x, dtype=f32), dtype=bf16), (bf16,), []),
    (lambda b, x: b.convert(b.convert(x, dtype=f64), dtype=i32), (i32,), []),
    (lambda b, x: b.convert(b.convert(x, dtype=c64), dtype=f32), (f32,), []),
    (lambda b, x: b.stop_gradient(b.stop_gradient(x)), (f64,), ["ad.stop_gradient"]),
]

# what must stay as it is written, since some value would change
STAYS: list[tuple[Build, tuple[Any, ...]]] = [
    (lambda b, x: b.add(x, 0.0), (f32,)),  # -0.0 + 0.0 is 0.0
    (lambda b, x: b.sub(x, -0.0), (f64,)),
    (lambda b, x: b.mul(x, 0), (f64,)),  # inf * 0 is NaN
    (lambda b, x: b.sub(x, x), (f64,)),
    (lambda b, x: b.div(x, x), (f64,)),
    (lambda b, z: b.mul(z, 1), (c64,)),  # (inf + 0i) * (1 + 0i) has a NaN
    (lambda b, x: b.power(x, 0.5), (f64,)),  # sqrt(-0.0) is -0.0, sqrt(-inf) NaN
    (lambda b, x: b.power(x, -1), (f64,)),  # the slopes differ in the last place
    (lambda b, z: b.real(b.conj(z)), (c64,)),  # the slopes differ in the sign of a zero
    (lambda b, x, y: b.logical_not(b.lt(x, y)), (f64, f64)),  # NaN >= y is false
    (lambda b, x: b.convert(b.convert(x, dtype=f32), dtype=f64), (f64,)),
    (lambda b, x: b.convert(b.convert(x, dtype=f16), dtype=bf16), (bf16,)),
    (lambda b, x: b.convert(b.convert(x, dtype=f64), dtype=i64), (i64,)),
    (lambda b, x: b.convert(b.convert(x, dtype=ui8), dtype=i8), (i8,)),
    (lambda b, x: b.convert(b.convert(x, dtype=i1), dtype=f32), (f32,)),
]


def gradient_and_value(function: FuncOp, arrays: list[np.ndarray]) -> list[np.ndarray]:
    values = run(function, arrays)
    gs = [np.full_like(x, 0.75) for x in inexact(values)]
    return values + run(pullback(function), [*arrays, *gs])


@pytest.mark.parametrize(("build", "dtypes", "left"), FIRES)
def test_rewrite_fires_and_keeps_value_and_gradient(build, dtypes, left) -> None:
    written, canonical = make(build, *dtypes), make(build, *dtypes)
    canonicalize(canonical)
    assert ops_left(canonical) == left
    arrays = [corners(d, 3 * k) for k, d in enumerate(dtypes)]
    before, after = gradient_and_value(written, arrays), gradient_and_value(canonical, arrays)
    for got, want in zip(after, before, strict=True):
        same_bits(got, want, str(left))


@pytest.mark.parametrize(("build", "dtypes"), STAYS)
def test_rewrite_that_would_change_a_value_does_not_happen(build, dtypes) -> None:
    function = make(build, *dtypes)
    before = sorted(ops_left(function))
    canonicalize(function)
    assert sorted(ops_left(function)) == before


def test_square_of_a_power() -> None:
    """x ** 2 is x * x, as NumPy computes it for a scalar exponent, in value and gradient."""
    function = make(lambda b, x: b.power(x, 2), f64)
    canonicalize(function)
    assert ops_left(function) == ["nd.square"]
    x = corners(f64, 0)
    value, slope = gradient_and_value(function, [x])
    same_bits(value, x * x, "value")
    same_bits(slope, 0.75 * (2 * x), "slope")
