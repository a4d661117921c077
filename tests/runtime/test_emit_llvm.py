"""Hand-built loop-level functions: native code agrees with the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from native_harness import assert_same, both, function, ix, native

from gradc.ir.diagnostic import IRError
from gradc.ir.ops import arith, memref, scf
from gradc.ir.types import (
    MemRefType,
    c64,
    c128,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    index,
    tensor,
    ui8,
    ui32,
)
from gradc.passes.lower.emit_llvm import emit
from gradc.runtime.compile import native_compilations

SIZES = (0, 1, 2, 5, 16, 17, 100)


def elementwise(scalar, n):
    """out[i] = scalar(builder, x[i], y[i], ...) for the buffers before the last."""

    def body(b, *buffers):
        *sources, out, _arena = buffers

        def one(b, i):
            b.memref_store(scalar(b, *(b.memref_load(s, i) for s in sources)), out, i)

        scf.for_(b, ix(b, 0), ix(b, n), ix(b, 1), body=one)

    return body


@pytest.mark.parametrize("n", SIZES)
def test_add(n):
    x, y = np.arange(n) * 0.5, np.arange(n) ** 2.0
    arrays = [((n,), f64)] * 3
    (got,) = assert_same(
        both(elementwise(lambda b, x, y: b.arith_addf(x, y), n), arrays, 1, [x, y])
    )
    np.testing.assert_array_equal(got, x + y)


@pytest.mark.parametrize("dtype", [f32, f64, f16])
@pytest.mark.parametrize("name", ["addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf",
                                  "maxnumf", "minnumf"])  # fmt: skip
def test_float_binary(dtype, name):
    special = np.array([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 3e-5, 6e4])
    x, y = (
        a.ravel().astype(dtype.name.replace("f", "float")) for a in np.meshgrid(special, special)
    )
    n = x.size
    make = elementwise(lambda b, x, y: getattr(b, f"arith_{name}")(x, y), n)
    (got,) = assert_same(both(make, [((n,), dtype)] * 3, 1, [x, y]))
    if name in ("maximumf", "minimumf"):
        zero = (x == 0) & (y == 0)
        sign = (
            np.signbit(x) & np.signbit(y) if name == "maximumf" else np.signbit(x) | np.signbit(y)
        )
        np.testing.assert_array_equal(np.signbit(got[zero]), sign[zero])


@pytest.mark.parametrize("dtype", [i8, i16, i32, i64, ui8, ui32])
@pytest.mark.parametrize("name", ["addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minui",
                                  "maxui"])  # fmt: skip
def test_integer_binary(dtype, name):
    rng = np.random.default_rng(0)
    kind = np.dtype({"i": "int", "u": "uint"}[dtype.kind] + str(dtype.bits))
    about = np.iinfo(kind)
    x, y = (rng.integers(about.min, about.max, 50, kind, endpoint=True) for _ in range(2))
    make = elementwise(lambda b, x, y: getattr(b, f"arith_{name}")(x, y), 50)
    assert_same(both(make, [((50,), dtype)] * 3, 1, [x, y]))


@pytest.mark.parametrize("name", ["divsi", "remsi", "floordivsi", "divui", "remui"])
def test_integer_division(name):
    rng = np.random.default_rng(1)
    x, y = rng.integers(-50, 50, 200), rng.integers(1, 9, 200) * rng.choice([-1, 1], 200)
    make = elementwise(lambda b, x, y: getattr(b, f"arith_{name}")(x, y), 200)
    assert_same(both(make, [((200,), i64)] * 3, 1, [x, y]))


@pytest.mark.parametrize("name", ["olt", "ult", "one", "une", "oeq", "ord", "uno", "oge"])
def test_comparisons_are_bool_bytes(name):
    special = np.array([0.0, 1.0, -1.0, np.nan, np.inf])
    x, y = (a.ravel() for a in np.meshgrid(special, special))

    def scalar(b, x, y):
        return b.arith_extui(b.arith_cmpf(x, y, predicate=arith.CMPF[name]), to=i8)

    (got,) = assert_same(
        both(elementwise(scalar, 25), [((25,), f64)] * 2 + [((25,), i1)], 1, [x, y])
    )
    assert got.dtype == bool


def test_every_f64_to_f16_rounds_once():
    halves = np.arange(0, 0x7C01, dtype=np.uint16).view(np.float16).astype(np.float64)
    middles = (halves[:-1] + halves[1:]) / 2
    middles = middles[np.isfinite(middles)]
    wide = np.concatenate([halves, middles, np.nextafter(middles, np.inf), np.nextafter(middles, 0),
                           [1e300, 5e-324, 65519.99, 65520.0, np.nan]])  # fmt: skip
    wide = np.concatenate([wide, -wide])
    n = wide.size
    make = elementwise(lambda b, x: b.arith_truncf(x, to=f16), n)
    arrays = [((n,), f64), ((n,), f16)]
    (got,) = native(function(arrays, make), arrays, 1)(wide)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, wide.astype(np.float16))


def test_half_integers():
    x = np.array([0, 1, -1, 2049, 2051, 65503, 65519, 65520, -70000, 2**62 + 1])
    make = elementwise(lambda b, x: b.arith_sitofp(x, to=f16), 10)
    (got,) = both(make, [((10,), i64), ((10,), f16)], 1, [x])[1]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, x.astype(np.float16))


@pytest.mark.parametrize("dtype", [c64, c128])
def test_complex_product(dtype):
    rng = np.random.default_rng(2)
    kind = {"c64": np.complex64, "c128": np.complex128}[dtype.name]
    x, y = (rng.standard_normal(40).astype(kind) + kind(1j) * rng.standard_normal(40).astype(kind)
            for _ in range(2))  # fmt: skip

    def scalar(b, x, y):
        a, c, d, e = b.complex_re(x), b.complex_im(x), b.complex_re(y), b.complex_im(y)
        real = b.arith_subf(b.arith_mulf(a, d), b.arith_mulf(c, e))
        imaginary = b.arith_addf(b.arith_mulf(a, e), b.arith_mulf(c, d))
        return b.complex_create(real, imaginary)

    (got,) = assert_same(both(elementwise(scalar, 40), [((40,), dtype)] * 3, 1, [x, y]), 1e-6)
    np.testing.assert_allclose(got, x * y, rtol=1e-5)


def total(n, fast=True):
    attributes = {"fastmath": arith.FAST} if fast else {}

    def body(b, x, out, _arena):
        def one(b, i, running):
            return [b.arith_addf(running, b.memref_load(x, i), **attributes)]

        zero = arith.constant(b, 0.0, x.type.dtype)
        (found,) = scf.for_(b, ix(b, 0), ix(b, n), ix(b, 1), [zero], one)
        b.memref_store(found, out)

    return body


@pytest.mark.parametrize("n", [0, 1, 3, 1000])
def test_reduction(n):
    x = np.random.default_rng(3).standard_normal(n)
    (got,) = assert_same(both(total(n), [((n,), f64), ((), f64)], 1, [x]), 1e-12)
    np.testing.assert_allclose(got, x.sum(), rtol=1e-12, atol=1e-12)


def test_nested_loops_and_strides():
    def body(b, x, out, _arena):
        def row(b, i):
            def column(b, j):
                b.memref_store(b.memref_load(x, i, j), out, j, i)

            scf.for_(b, ix(b, 0), ix(b, 23), ix(b, 1), body=column)

        scf.for_(b, ix(b, 0), ix(b, 19), ix(b, 1), body=row)

    x = np.arange(19 * 23.0).reshape(19, 23)
    (got,) = assert_same(both(body, [((19, 23), f64), ((23, 19), f64)], 1, [x]))
    np.testing.assert_array_equal(got, x.T)


def test_if_gives_values():
    def scalar(b, x):
        positive = b.arith_cmpf(x, arith.constant(b, 0.0, f64), predicate=arith.CMPF["ogt"])
        (found,) = scf.if_(b, positive, lambda b: [b.arith_mulf(x, x)], lambda b: [b.arith_negf(x)])
        return found

    x = np.array([-2.0, 0.0, 3.0, np.nan])
    (got,) = assert_same(both(elementwise(scalar, 4), [((4,), f64)] * 2, 1, [x]))
    np.testing.assert_array_equal(got, [2.0, -0.0, 9.0, np.nan])


def test_if_without_else_stores():
    def body(b, x, out, _arena):
        def one(b, i):
            value = b.memref_load(x, i)
            b.memref_store(arith.constant(b, 0.0, f64), out, i)
            big = b.arith_cmpf(value, arith.constant(b, 1.0, f64), predicate=arith.CMPF["ogt"])
            scf.if_(b, big, lambda b: b.memref_store(value, out, i))

        scf.for_(b, ix(b, 0), ix(b, 50), ix(b, 1), body=one)

    x = np.linspace(0, 2, 50)
    (got,) = assert_same(both(body, [((50,), f64)] * 2, 1, [x]))
    np.testing.assert_array_equal(got, np.where(x > 1, x, 0))


def test_while_counts_collatz_steps():
    def scalar(b, x):
        zero = arith.constant(b, 0, i64)
        one, two, three = (arith.constant(b, v, i64) for v in (1, 2, 3))

        def before(b, n, steps):
            return b.arith_cmpi(n, one, predicate=arith_integers_predicate("ne")), [n, steps]

        def after(b, n, steps):
            even = b.arith_cmpi(
                b.arith_andi(n, one), zero, predicate=arith_integers_predicate("eq")
            )
            half = b.arith_shrui(n, one)
            up = b.arith_addi(b.arith_muli(n, three), one)
            return [b.arith_select(even, half, up), b.arith_addi(steps, one)]

        assert two.type is i64
        return scf.while_(b, [x, zero], before, after)[1]

    x = np.arange(1, 60)
    (got,) = assert_same(both(elementwise(scalar, 59), [((59,), i64)] * 2, 1, [x]))
    assert got[26] == 111  # 27 takes 111 steps


def arith_integers_predicate(name):
    from gradc.ir.ops.arith_integers import CMPI

    return CMPI[name]


def test_parallel_over_two_dimensions():
    def body(b, x, out, _arena):
        def one(b, i, j):
            b.memref_store(b.arith_addf(b.memref_load(x, i, j), b.memref_load(x, i, j)), out, i, j)

        ends = [ix(b, 300), ix(b, 40)]
        scf.parallel(b, [ix(b, 0)] * 2, ends, [ix(b, 1)] * 2, one, {"gradc.work": 1000})

    x = np.random.default_rng(4).standard_normal((300, 40))
    assert_same(both(body, [((300, 40), f64)] * 2, 1, [x]))


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [(0, 1000, 1), (3, 1000, 7), (5, 5, 1), (9, 2, 1), (0, 1, 100), (2, 5000, 16)],
)
def test_parallel_bounds(lower, upper, step):
    def body(b, out, _arena):
        zero, one = arith.constant(b, 0.0, f64), arith.constant(b, 1.0, f64)
        scf.for_(b, ix(b, 0), ix(b, 6000), ix(b, 1), body=lambda b, i: b.memref_store(zero, out, i))
        attributes = {"gradc.work": 100_000}

        def mark(b, i):
            b.memref_store(b.arith_addf(b.memref_load(out, i), one), out, i)

        scf.parallel(b, [ix(b, lower)], [ix(b, upper)], [ix(b, step)], mark, attributes)

    (got,) = assert_same(both(body, [((6000,), f64)], 1, []))
    wanted = np.zeros(6000)
    wanted[lower:upper:step] = 1
    np.testing.assert_array_equal(got, wanted)


def test_arena_views_and_scratch():
    """Two views over the same bytes one after the other, a view beside them, and stack scratch."""

    def body(b, x, out, arena):
        first = b.memref_view(arena, ix(b, 64), to=MemRefType((40,), f64))
        second = b.memref_view(arena, ix(b, 64), to=MemRefType((40,), f32))
        third = b.memref_view(arena, ix(b, 448), to=MemRefType((40,), f64))
        scratch = memref.alloca(b, MemRefType((3,), f64))

        def loop(body):
            scf.for_(b, ix(b, 0), ix(b, 40), ix(b, 1), body=body)

        loop(lambda b, i: b.memref_store(b.memref_load(x, i), first, i))
        loop(lambda b, i: b.memref_store(b.memref_load(first, i), third, i))
        loop(
            lambda b, i: b.memref_store(b.arith_truncf(b.memref_load(third, i), to=f32), second, i)
        )

        def last(b, i):
            b.memref_store(b.arith_extf(b.memref_load(second, i), to=f64), scratch, ix(b, 1))
            found = b.arith_addf(b.memref_load(scratch, ix(b, 1)), b.memref_load(third, i))
            b.memref_store(found, out, i)

        loop(last)

    x = np.random.default_rng(5).standard_normal(40)
    (got,) = assert_same(both(body, [((40,), f64)] * 2, 1, [x], 1024))
    np.testing.assert_array_equal(got, x.astype(np.float32) + x)


def test_copy_and_reinterpret():
    def body(b, x, flat, turned, _arena):
        b.memref_copy(memref.reinterpret_cast(b, x, (60,)), flat)
        b.memref_copy(memref.reinterpret_cast(b, x, (20, 3), (1, 20)), turned)

    x = np.arange(60.0).reshape(3, 20)
    arrays = [((3, 20), f64), ((60,), f64), ((20, 3), f64)]
    flat, turned = assert_same(both(body, arrays, 2, [x]))
    np.testing.assert_array_equal(flat, x.ravel())
    np.testing.assert_array_equal(turned, x.T)


def test_a_new_length_compiles_nothing():
    scalar = lambda b, x: b.arith_mulf(x, x)  # noqa: E731
    before = None
    for n in (100, 101, 5000):
        arrays = [((n,), f64)] * 2
        run = native(function(arrays, elementwise(scalar, n)), arrays, 1)
        x = np.arange(float(n))
        np.testing.assert_array_equal(run(x)[0], x * x)
        if before is None:
            before = native_compilations()
        assert native_compilations() == before


def test_small_sizes_are_constants_of_the_code():
    scalar = lambda b, x: b.arith_mulf(x, x)  # noqa: E731
    texts = {n: emit(function([((n,), f64)] * 2, elementwise(scalar, n))) for n in (3, 4, 17, 1000)}
    assert texts[3].text != texts[4].text
    assert texts[17].text == texts[1000].text
    assert (texts[3].numbers, texts[17].numbers, texts[1000].numbers) == ((), (17,), (1000,))


def test_emit_refuses_what_is_no_loop_level():
    def body(b, x, out, _arena):
        b.neg(b.constant(value=1.0, type=tensor(f64)))

    with pytest.raises(IRError, match="not an operation of the loop level"):
        emit(function([((3,), f64)] * 2, body))


def test_index_values_convert():
    def body(b, out, _arena):
        def one(b, i):
            b.memref_store(b.arith_index_cast(i, to=i32), out, i)

        scf.for_(b, ix(b, 0), ix(b, 30), ix(b, 1), body=one)

    (got,) = assert_same(both(body, [((30,), i32)], 1, []))
    np.testing.assert_array_equal(got, np.arange(30))
    assert index.bits == 64
