"""Arguments of every layout, errors of run-time checks, sizes born at run time, threads calling at
once."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from native_harness import ARENA, assert_same, both, function, ix, native, program

from gradc.ir.builder import Builder
from gradc.ir.core import Location
from gradc.ir.diagnostic import IRError
from gradc.ir.ops import arith, scf
from gradc.ir.ops.arith_integers import CMPI
from gradc.ir.program import ArraySpec, CallNative, Program
from gradc.ir.types import Dim, MemRefType, bf16, f32, f64, i1, i8, i64, ui16
from gradc.passes.lower.emit_llvm import emit
from gradc.runtime.buffers import ArgumentError
from gradc.runtime.executor import Executor

MATRIX = [((6, 20), f64), ((6, 20), f64)]


def copy(b, x, out, _arena):
    b.memref_copy(x, out)


def matrix():
    return np.arange(120.0).reshape(6, 20)


def layouts():
    wide = np.arange(480.0).reshape(12, 40)
    raw = np.zeros(120 * 8 + 1, np.uint8)
    misaligned = raw[1:].view(np.float64).reshape(6, 20)
    misaligned[...] = matrix()
    read_only = matrix()
    read_only.flags.writeable = False
    return {
        "row-major": matrix(),
        "fortran": np.asfortranarray(matrix()),
        "transposed": np.arange(120.0).reshape(20, 6).T,
        "sliced": wide[::2, ::2],
        "reversed": matrix()[::-1, ::-1],
        "broadcast": np.broadcast_to(np.arange(20.0), (6, 20)),
        "misaligned": misaligned,
        "read-only": read_only,
        "big-endian": matrix().astype(">f8"),
        "subclass": matrix().view(np.recarray),
    }


@pytest.mark.parametrize("layout", layouts())
def test_input_layouts(layout):
    x = layouts()[layout]
    (got,) = native(function(MATRIX, copy), MATRIX, 1)(x)
    np.testing.assert_array_equal(got, np.asarray(x))
    assert type(got) is np.ndarray and got.flags.owndata and not np.shares_memory(got, x)


def test_a_size_without_a_bound_is_refused():
    place = Location("user.py", 7)
    spec = ArraySpec((3, Dim("n")), f64, location=place)
    with pytest.raises(IRError, match=r"upper bounds, got f64\[3, \?n\]") as caught:
        spec.allocated  # noqa: B018
    assert "at user.py:7" in str(caught.value)
    assert spec == ArraySpec((3, Dim("n")), f64)


def test_results_are_fresh():
    run = native(function(MATRIX, copy), MATRIX, 1)
    (first,), (second,) = run(matrix()), run(matrix() + 1)
    np.testing.assert_array_equal(first, matrix())
    np.testing.assert_array_equal(second, matrix() + 1)


def test_the_same_array_twice():
    arrays = [((40,), f64)] * 3

    def body(b, x, y, out, _arena):
        def one(b, i):
            b.memref_store(b.arith_mulf(b.memref_load(x, i), b.memref_load(y, i)), out, i)

        scf.for_(b, ix(b, 0), ix(b, 40), ix(b, 1), body=one)

    x = np.arange(40.0)
    np.testing.assert_array_equal(native(function(arrays, body), arrays, 1)(x, x)[0], x * x)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((6, 21)), r"expected input 0 to be f64\[6, 20\], got float64\[6, 21\]"),
        (np.zeros(120), r"got float64\[120\]"),
        (np.zeros((6, 20), np.float32), r"got float32\[6, 20\]"),
    ],
)
def test_wrong_arguments(bad, message):
    with pytest.raises(ArgumentError, match=message):
        native(function(MATRIX, copy), MATRIX, 1)(bad)


def test_wrong_number_of_arguments():
    with pytest.raises(ArgumentError, match="expected 1 arrays, got 2"):
        native(function(MATRIX, copy), MATRIX, 1)(matrix(), matrix())


@pytest.mark.parametrize("dtype", [i1, ui16, bf16])
def test_stored_types(dtype):
    arrays = [((30,), dtype)] * 2
    x = (np.arange(30) % 2 if dtype is i1 else np.arange(30)).astype(
        ArraySpec((), dtype).numpy_dtype
    )
    (got,) = assert_same(both(copy, arrays, 1, [x]))
    assert got.dtype == x.dtype


def test_longlong_and_long_are_one_dtype():
    arrays = [((30,), i64)] * 2
    x = np.arange(30).astype(np.longlong)
    np.testing.assert_array_equal(native(function(arrays, copy), arrays, 1)(x)[0], x)


def gather(n, parallel=False):
    """out[i] = x[at[i]] with a check of every index."""

    def body(b, x, at, out, _arena):
        def one(b, i):
            place = b.arith_index_cast(b.memref_load(at, i), to=ix(b, 0).type)
            low = b.arith_cmpi(place, ix(b, 0), predicate=CMPI["sge"])
            high = b.arith_cmpi(place, ix(b, 10), predicate=CMPI["slt"])
            b.location = Location("user.py", 12)
            message = "index {0} is out of bounds for axis 0 with size {1}"
            good = b.arith_andi(low, high)
            b.kernel_check(good, place, ix(b, 10), exception="IndexError", message=message)
            b.memref_store(b.memref_load(x, place), out, i)

        if parallel:
            work = {"gradc.work": 100_000}
            scf.parallel(b, [ix(b, 0)], [ix(b, n)], [ix(b, 1)], one, work)
        else:
            scf.for_(b, ix(b, 0), ix(b, n), ix(b, 1), body=one)

    return function([((10,), f64), ((n,), i64), ((n,), f64)], body)


@pytest.mark.parametrize("parallel", [False, True])
def test_checks_raise_with_values_and_place(parallel):
    n = 3000
    arrays = [((10,), f64), ((n,), i64), ((n,), f64)]
    run = native(gather(n, parallel), arrays, 1)
    x, at = np.arange(10.0), np.arange(n) % 10
    np.testing.assert_array_equal(run(x, at)[0], x[at])
    for places in ([(700, -3)], [(2999, 10), (1200, 77)], [(0, 2**62), (1, 11)]):
        bad = at.copy()
        for k, value in places:
            bad[k] = value
        first = bad[min(k for k, _ in places)]
        for _ in range(5):
            with pytest.raises(IndexError) as caught:
                run(x, bad)
            assert str(caught.value) == (
                f"index {first} is out of bounds for axis 0 with size 10\nat user.py:12"
            )
    np.testing.assert_array_equal(run(x, at)[0], x[at])


def test_a_check_carries_floats():
    def body(b, x, out, _arena):
        value = b.memref_load(x)
        good = b.arith_cmpf(value, arith.constant(b, 0.0, f64), predicate=arith.CMPF["ogt"])
        b.kernel_check(good, value, exception="LinAlgError", message="pivot {0} is not positive")
        b.memref_store(value, out)

    run = native(function([((), f64)] * 2, body), [((), f64)] * 2, 1)
    with pytest.raises(np.linalg.LinAlgError, match=r"pivot -2\.5 is not positive"):
        run(np.array(-2.5))
    assert run(np.array(2.5))[0] == 2.5


def compress(n):
    """out = x[x > 0], whose length is known at the end."""
    size = Dim("positive")
    types = [MemRefType((n,), f64), MemRefType((size,), f64), ARENA]
    from gradc.ir.ops.func import FuncOp

    made = FuncOp.build("compress", types)
    b = Builder(made.body)
    x, out, _arena = made.args

    def one(b, i, count):
        value = b.memref_load(x, i)
        positive = b.arith_cmpf(value, arith.constant(b, 0.0, f64), predicate=arith.CMPF["ogt"])

        def keep(b):
            b.memref_store(value, out, count)
            return [b.arith_addi(count, ix(b, 1))]

        return scf.if_(b, positive, keep, lambda b: [count])

    (count,) = scf.for_(b, ix(b, 0), ix(b, n), ix(b, 1), [ix(b, 0)], one)
    b.kernel_set_size(count, name="positive")
    return made.finish([])


def test_a_size_born_at_run_time():
    outputs = (ArraySpec((Dim("positive"),), f64, (50,)),)
    call = CallNative(emit(compress(50)), (0, 1))
    run = Executor(Program((ArraySpec((50,), f64),), outputs, (), (call,), 0))
    x = np.random.default_rng(0).standard_normal(50)
    np.testing.assert_array_equal(run(x)[0], x[x > 0])
    np.testing.assert_array_equal(run(-np.abs(x))[0], np.zeros(0))


def test_two_steps_and_a_constant():
    arrays = [((20,), f64)] * 3

    def body(b, x, y, out, _arena):
        def one(b, i):
            b.memref_store(b.arith_addf(b.memref_load(x, i), b.memref_load(y, i)), out, i)

        scf.for_(b, ix(b, 0), ix(b, 20), ix(b, 1), body=one)

    module = emit(function(arrays, body))
    spec = ArraySpec((20,), f64)
    # buffers: 0 the input, 1 and 2 the outputs, 3 the constant
    steps = (CallNative(module, (0, 3, 1)), CallNative(module, (1, 1, 2)))
    run = Executor(Program((spec,), (spec, spec), (np.full(20, 5.0),), steps, 0))
    x = np.arange(20.0)
    first, second = run(x[::-1])
    np.testing.assert_array_equal(first, x[::-1] + 5)
    np.testing.assert_array_equal(second, 2 * (x[::-1] + 5))


def test_python_threads_share_an_executor():
    arrays = [((200,), f32)] * 2

    def body(b, x, out, arena):
        held = b.memref_view(arena, ix(b, 0), to=MemRefType((200,), f32))
        b.memref_copy(x, held)
        b.memref_copy(held, out)

    run = Executor(program(function(arrays, body), arrays, 1, 800))
    failures = []

    def work(seed):
        x = np.full(200, seed, np.float32)
        for _ in range(500):
            if not np.array_equal(run(x)[0], x):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert i8.bits == 8
