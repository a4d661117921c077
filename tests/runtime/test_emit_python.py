"""The Numba source of a program compiles, runs alone, and gives what the interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest
from native_harness import function, interpreted, ix, python_function, python_outputs
from test_executor import gather

from gradc.ir.ops import arith, memref, scf
from gradc.ir.ops.arith_integers import CMPI
from gradc.ir.types import MemRefType, c128, f32, f64, i8, i32, i64
from gradc.passes.lower.emit_python import emit_python


def row_sums(b, x, y, out, arena):
    """out = (x + y) summed over rows, through a buffer in the arena, by gemm where y is."""
    held = b.memref_view(arena, ix(b, 64), to=MemRefType((20, 20), f64))
    b.memref_copy(x, held)
    b.kernel_gemm_call(x, y, held, alpha=2.0, beta=1.0)
    turned = memref.reinterpret_cast(b, held, (20, 20), (1, 20))

    def row(b, i):
        zero = arith.constant(b, 0.0, f64)

        def column(b, j, total):
            value = b.memref_load(turned, i, j)
            positive = b.arith_cmpf(value, zero, predicate=arith.CMPF["ogt"])
            (kept,) = scf.if_(b, positive, lambda b: [value], lambda b: [b.math_exp(value)])
            return [b.arith_addf(total, kept)]

        (total,) = scf.for_(b, ix(b, 0), ix(b, 20), ix(b, 1), [zero], column)
        b.memref_store(b.math_fma(total, total, zero), out, i)

    scf.parallel(b, [ix(b, 0)], [ix(b, 20)], [ix(b, 1)], row)


def integers(b, x, out, narrow, _arena):
    """Collatz steps, and a wrapped int32 product."""
    one, zero, three = (arith.constant(b, v, i64) for v in (1, 0, 3))

    def each(b, i):
        start = b.memref_load(x, i)

        def before(b, n, steps):
            return b.arith_cmpi(n, one, predicate=CMPI["sgt"]), [n, steps]

        def after(b, n, steps):
            even = b.arith_cmpi(b.arith_andi(n, one), zero, predicate=CMPI["eq"])
            up = b.arith_addi(b.arith_muli(n, three), one)
            next_one = b.arith_select(even, b.arith_shrui(n, one), up)
            return [next_one, b.arith_addi(steps, one)]

        b.memref_store(scf.while_(b, [start, zero], before, after)[1], out, i)
        small = b.arith_trunci(start, to=i32)
        big = b.arith_muli(b.arith_shli(small, arith.constant(b, 20, i32)), small)
        b.memref_store(big, narrow, i)

    scf.for_(b, ix(b, 0), ix(b, 40), ix(b, 1), body=each)


def complexes(b, z, out, _arena):
    def each(b, i):
        value = b.memref_load(z, i)
        flipped = b.complex_create(b.complex_im(value), b.complex_re(value))
        b.memref_store(flipped, out, i)

    scf.for_(b, ix(b, 0), ix(b, 9), ix(b, 1), body=each)


def polynomial(b, x, out, _arena):
    """Bits, rounding and fma in f32."""

    def each(b, i):
        value = b.memref_load(x, i)
        bits = b.arith_bitcast(b.math_roundeven(value), to=i32)
        back = b.arith_bitcast(b.arith_addi(bits, arith.constant(b, 1 << 23, i32)), to=f32)
        high = b.arith_maximumf(back, b.arith_negf(value))
        b.memref_store(b.math_fma(high, value, b.math_sqrt(b.math_absf(value))), out, i)

    scf.for_(b, ix(b, 0), ix(b, 33), ix(b, 1), body=each)


RNG = np.random.default_rng(0)
PROGRAMS = {
    "row_sums": (row_sums, [((20, 20), f64), ((20, 20), f64), ((20,), f64)], 1,
                 [RNG.standard_normal((20, 20)), RNG.standard_normal((20, 20))]),
    "integers": (integers, [((40,), i64), ((40,), i64), ((40,), i32)], 2, [np.arange(1, 41) * 77]),
    "complexes": (complexes, [((9,), c128)] * 2, 1, [np.arange(9) * (1 - 2j)]),
    "polynomial": (polynomial, [((33,), f32)] * 2, 1, [np.linspace(-9, 9, 33, dtype=np.float32)]),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "numba"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_emitted_module_runs(name, compiled):
    body, arrays, outputs, inputs = PROGRAMS[name]
    made = function(arrays, body, name)
    arena = 64 + 400 * 8
    wanted = interpreted(made, arrays, outputs, inputs, arena)
    got = python_outputs(python_function(made, compiled), arrays, outputs, inputs, arena)
    for a, b in zip(wanted, got, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=1e-5 if a.dtype == np.float32 else 1e-12)


def test_the_text_reads_like_numba_code():
    body, arrays, _, _ = PROGRAMS["complexes"]
    assert emit_python(function(arrays, body, "flip")) == (
        "import numpy as np\n"
        "from numba import njit, prange\n"
        "\n"
        "\n"
        '@njit(error_model="numpy")\n'
        "def flip(buffer, buffer2, buffer3):\n"
        "    # buffer: memref<9xcomplex<f64>>, buffer2: memref<9xcomplex<f64>>, "
        "buffer3: memref<?xi8>\n"
        "    for i in range(9):\n"
        "        v = buffer[i]\n"
        "        v2 = v.imag\n"
        "        v3 = v.real\n"
        "        v4 = np.complex128(complex(v2, v3))\n"
        "        buffer2[i] = v4\n"
    )


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "numba"])
def test_checks_raise(compiled):
    made, arrays = gather(30), [((10,), f64), ((30,), i64), ((30,), f64)]
    x, at = np.arange(10.0), np.arange(30) % 10
    run = python_function(made, compiled)
    (got,) = python_outputs(run, arrays, 1, [x, at])
    np.testing.assert_array_equal(got, x[at])
    at[7] = 12
    with pytest.raises(IndexError) as caught:
        python_outputs(run, arrays, 1, [x, at])
    assert caught.value.args == ("index 12 is out of bounds for axis 0 with size 10",)


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "numba"])
def test_checks_show_braces_and_floats(compiled):
    """Braces of the message itself, quotes, and a float, which Numba cannot format."""

    def body(b, x, out, _arena):
        value = b.memref_load(x)
        good = b.arith_cmpf(value, arith.constant(b, 0.0, f64), predicate=arith.CMPF["ogt"])
        message = "it's {{{1}}}: pivot {0} is not positive"
        b.kernel_check(good, value, ix(b, 7), exception="LinAlgError", message=message)
        b.memref_store(value, out)

    arrays = [((), f64)] * 2
    run = python_function(function(arrays, body), compiled)
    assert python_outputs(run, arrays, 1, [np.array(2.5)])[0] == 2.5
    with pytest.raises(np.linalg.LinAlgError) as caught:
        python_outputs(run, arrays, 1, [np.array(-2.5)])
    assert caught.value.args == ("it's {7}: pivot v is not positive", -2.5)


def test_a_message_without_values():
    def body(b, x, out, _arena):
        zero = arith.constant(b, 0, i64)
        good = b.arith_cmpi(b.memref_load(x), zero, predicate=CMPI["sgt"])
        b.kernel_check(good, exception="ValueError", message="a {{set}}")
        b.memref_copy(x, out)

    arrays = [((), i64)] * 2
    text = emit_python(function(arrays, body))
    assert "raise ValueError('a {set}')" in text


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "numba"])
def test_batched_products(compiled):
    """Matrices that indices select, with both factors."""
    arrays = [((2, 3, 4), f32), ((4, 5), f32), ((3, 2, 3, 5), f32)]

    def body(b, x, y, out, _arena):
        for n in (0, 1):
            at = [ix(b, n), ix(b, n + 1), ix(b, n)]
            b.kernel_gemm_call(x, y, out, *at, batch=(1, 0, 2))
            b.kernel_gemm_call(x, y, out, *at, batch=(1, 0, 2), alpha=2.0, beta=-0.5)

    x, y = RNG.standard_normal((2, 3, 4)).astype("f4"), RNG.standard_normal((4, 5)).astype("f4")
    run = python_function(function(arrays, body), compiled)
    (got,) = python_outputs(run, arrays, 1, [x, y])
    wanted = np.zeros((3, 2, 3, 5), "f4")
    for n in (0, 1):
        wanted[n + 1, n] = 1.5 * (x[n] @ y)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_fma_rounds_once():
    """Numba has no fma: the emitted helper agrees with exact arithmetic."""
    from fractions import Fraction

    from gradc.passes.lower.python_scalars import HELPERS

    space = {"np": np, "njit": lambda f: f}
    exec(HELPERS["fma"], space)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 400))
    c = -a * b * (1 + rng.choice([0, 2.0**-52, 2.0**-30], 400))
    for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True):
        assert space["fma"](x, y, z) == float(Fraction(x) * Fraction(y) + Fraction(z))
    assert i8.bits == 8
