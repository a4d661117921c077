"""kernel.gemm_call: every layout, the factors, batches by index, and what BLAS must not read."""

from __future__ import annotations

import numpy as np
import pytest
from native_harness import both, function, ix, native

from gradc.ir.core import Location
from gradc.ir.diagnostic import IRError, VerificationError
from gradc.ir.ops import memref, scf
from gradc.ir.types import c64, c128, f32, f64
from gradc.passes.lower.emit_llvm import emit

TOLERANCE = {"f32": 1e-4, "f64": 1e-12, "c64": 1e-4, "c128": 1e-12}


def random(rng, shape, dtype):
    x = rng.standard_normal(shape)
    if dtype.is_complex:
        x = x + 1j * rng.standard_normal(shape)
    kind = {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}
    return x.astype(kind[dtype.name])


def gemm(a_turned, b_turned, attributes):
    """out = factor * A B + beta * start, with A and B stored transposed where asked."""

    def body(b, x, y, start, out, _arena):
        b.memref_copy(start, out)
        if a_turned:
            x = memref.reinterpret_cast(b, x, x.type.shape[::-1], (1, x.type.shape[1]))
        if b_turned:
            y = memref.reinterpret_cast(b, y, y.type.shape[::-1], (1, y.type.shape[1]))
        b.kernel_gemm_call(x, y, out, **attributes)

    return body


def test_sizes_beyond_what_blas_takes_are_refused_at_the_users_line():
    n = 2**31

    def body(b, x, y, out, _arena):
        b.location = Location("user.py", 31)
        b.kernel_gemm_call(x, y, out)

    arrays = [((n, 2), f32), ((2, 3), f32), ((n, 3), f32)]
    with pytest.raises(IRError, match="the most that BLAS takes, got 2147483648") as caught:
        emit(function(arrays, body))
    assert caught.value.op.name == "kernel.gemm_call" and "at user.py:31" in str(caught.value)


@pytest.mark.parametrize("dtype", [f32, f64, c64, c128])
@pytest.mark.parametrize(
    "sizes",
    [
        *((3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1), (40, 30, 20)),
        *((1, 30, 20), (40, 1, 20), (2, 3, 0), (0, 3, 2)),
    ],
)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_layouts(dtype, sizes, turned):
    m, n, k = sizes
    rng = np.random.default_rng(0)
    x, y = random(rng, (m, k), dtype), random(rng, (k, n), dtype)
    start = random(rng, (m, n), dtype)
    stored = [np.ascontiguousarray(z.T) if t else z for z, t in zip((x, y), turned)]
    arrays = [(z.shape, dtype) for z in (*stored, start, start)]
    body = gemm(*turned, {"alpha": 2.0, "beta": -0.5})
    (wanted,), (got,) = both(body, arrays, 1, [*stored, start])
    tolerance = TOLERANCE[dtype.name]
    np.testing.assert_allclose(got, 2 * (x @ y) - 0.5 * start, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(wanted, got, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 40, 50), (30, 1, 50), (20, 20, 20)])
@pytest.mark.parametrize("dtype", [f32, f64, c64])
def test_beta_zero_reads_nothing(sizes, dtype):
    m, n, k = sizes
    rng = np.random.default_rng(1)
    x, y = random(rng, (m, k), dtype), random(rng, (k, n), dtype)
    start = np.full((m, n), np.nan, x.dtype)
    arrays = [(z.shape, dtype) for z in (x, y, start, start)]
    _, (got,) = both(gemm(False, False, {}), arrays, 1, [x, y, start])
    np.testing.assert_allclose(got, x @ y, rtol=1e-4, atol=1e-4)


def test_batches_by_index():
    shape_x, shape_y = (2, 3, 20, 30), (3, 30, 10)

    def body(b, x, y, out, _arena):
        def one(b, i, j):
            b.kernel_gemm_call(x, y, out, i, j, j, i, j, batch=(2, 1, 2))

        scf.parallel(b, [ix(b, 0)] * 2, [ix(b, 2), ix(b, 3)], [ix(b, 1)] * 2, one)

    rng = np.random.default_rng(2)
    x, y = rng.standard_normal(shape_x), rng.standard_normal(shape_y)
    arrays = [(shape_x, f64), (shape_y, f64), ((2, 3, 20, 10), f64)]
    (wanted,), (got,) = both(body, arrays, 1, [x, y])
    np.testing.assert_allclose(got, x @ y, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(wanted, got, rtol=1e-12, atol=1e-12)


def test_strided_vectors():
    """A column of a matrix times a matrix: gemv with a stride on either side."""

    def body(b, x, y, out, _arena):
        column = memref.reinterpret_cast(b, x, (1, 30), (1, 20))
        b.kernel_gemm_call(column, y, out)

    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((30, 20)), rng.standard_normal((30, 25))
    arrays = [((30, 20), f64), ((30, 25), f64), ((1, 25), f64)]
    (_,), (got,) = both(body, arrays, 1, [x, y])
    np.testing.assert_allclose(got, x[:, :1].T @ y, rtol=1e-12)


def test_misfits_are_refused():
    def sizes(b, x, y, out, _arena):
        b.kernel_gemm_call(x, y, out)

    with pytest.raises(VerificationError, match="matrix sizes do not fit"):
        function([((3, 4), f64), ((5, 6), f64), ((3, 6), f64)], sizes)

    def strides(b, x, y, out, _arena):
        b.kernel_gemm_call(memref.reinterpret_cast(b, x, (2, 2), (4, 2)), y, out)

    with pytest.raises(VerificationError, match="a matrix axis of stride 1"):
        function([((2, 4), f64), ((2, 2), f64), ((2, 2), f64)], strides)


def test_a_large_product_is_generic_in_its_sizes():
    from gradc.passes.lower.emit_llvm import emit

    texts = []
    for n in (100, 200):
        arrays = [((n, n + 30), f32), ((n + 30, n + 60), f32), ((n, n + 60), f32)]
        made = function(arrays, lambda b, x, y, out, _arena: b.kernel_gemm_call(x, y, out))
        texts.append(emit(made).text)
        run = native(made, arrays, 1)
        rng = np.random.default_rng(n)
        x, y = (rng.standard_normal(shape).astype(np.float32) for shape, _ in arrays[:2])
        np.testing.assert_allclose(run(x, y)[0], x @ y, rtol=1e-3, atol=1e-3)
    assert texts[0] == texts[1]
